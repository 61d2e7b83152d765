"""Bicycles hired per hour: six rules beside a tree and a linear model of their size. ``make demo`` runs this.

The data come with the package. A quarter of the hours is held out for testing, three times over.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, OrthogonalMatchingPursuit
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

import bgn

SIZE, SPLITS = 12, 3

data = bgn.datasets.load("bike_sharing")
X, y = data.X, data.y
# The others read numbers: a 0/1 column per category. The linear models also get one per hour and per month.
for_trees = pd.get_dummies(X, dtype=float).fillna(X["humidity"].median())
for_lines = pd.get_dummies(X.astype({"hour": str, "month": str}), dtype=float).fillna(X["humidity"].median())


def comparisons(model):
    """Count what is compared in the rules as they are printed."""
    return sum(len(re.findall(" (?:>=|<|=|in) ", line)) for line in model.equation().splitlines() if "[" in line)


def rules(X_train, y_train):
    """Return a model of at most twelve comparisons: the hour's rules may differ on days off, others name one column."""
    alone = [{name} for name in X if name not in ("hour", "day_off")]
    model = bgn.BGNRegressor(
        max_terms=6, max_linear=0, interaction_cst=[{"hour", "day_off"}, *alone], bounds=(0, np.inf), random_state=0
    ).fit(X_train, y_train)
    while comparisons(model) > SIZE:
        model = model.with_terms(len(model.network_.terms) - 1)
    return model


tree = DecisionTreeRegressor(max_leaf_nodes=SIZE + 1, random_state=0)
short_line = OrthogonalMatchingPursuit(n_nonzero_coefs=SIZE)  # forward selection
others = {
    f"tree, {SIZE} splits": (tree, for_trees),
    f"linear model, {SIZE} columns": (short_line, for_lines / for_lines.std()),
    f"linear model, all {for_lines.shape[1]} columns": (LinearRegression(), for_lines),
    "gradient boosting, 3,000 splits": (HistGradientBoostingRegressor(random_state=0), for_trees),
}
errors = {name: [] for name in ("bgn", *others)}
for split in range(SPLITS):
    train, test = train_test_split(np.arange(len(y)), random_state=split)
    model = rules(X.iloc[train], y.iloc[train])
    predictions = [model.predict(X.iloc[test])]
    with threadpool_limits(limits=1):  # so few rows are not worth threads
        predictions += [other.fit(Z.iloc[train], y.iloc[train]).predict(Z.iloc[test]) for other, Z in others.values()]
    for scores, predicted in zip(errors.values(), predictions, strict=True):
        scores.append(root_mean_squared_error(y.iloc[test], np.maximum(predicted, 0.0)))
    if split == 0:
        shown, shown_train, shown_test = model, train, test

print("How many bicycles are hired in Washington in an hour? Add up what applies:\n")
print(shown.equation())
size = f"bgn, {len(shown.network_.terms)} rules, {comparisons(shown)} comparisons"
print(f"\nHow far off is that? Root mean squared error on test rows, mean of {SPLITS} splits ± standard error:\n")
for name, scores in errors.items():
    standard_error = np.std(scores, ddof=1) / np.sqrt(SPLITS)
    print(f"    {size if name == 'bgn' else name:<34}{np.mean(scores):>6.1f} ± {standard_error:.1f}")
print("\nA comparison in a rule counts as a split of the tree, and as a column of a linear model. The linear models")
print("also get a column per hour; the linear model of the report below has one slope for the hour.")

report = shown.report(
    X.iloc[shown_train], y.iloc[shown_train], Path("report.html"), X_test=X.iloc[shown_test], y_test=y.iloc[shown_test],
    title="Bicycles hired per hour",
)  # fmt: skip
print(f"\nOpen {report.resolve()} in a browser: these rules, what they get wrong, and what if.")
print("Then your own data: bgn check yours.csv, bgn fit yours.csv --target COLUMN; or bgn tutorial.")
print("\nDo not use bgn where nobody reads the model and accuracy alone counts: gradient boosting is far ahead here.")
