"""A risk score for breast tumours, beside a tree and a linear model of its size: what ``make demo`` runs.

The 569 tumours come with scikit-learn, so that nothing is downloaded. A quarter of them is set aside, five times over.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import bgn

QUESTIONS, SPLITS = 10, 5

table = load_breast_cancer(as_frame=True)
X = table.data[[name for name in table.data if name.startswith("worst")]]  # the largest cells of each tumour
y = table.target.map({0: "malignant", 1: "benign"}).rename("tumour")


def risk_score(X_train, y_train):
    """Ten yes/no questions about one column each, worth whole points up to five."""
    model = bgn.BGNClassifier(max_width=QUESTIONS, max_features=1, max_linear=0, random_state=0).fit(X_train, y_train)
    return model, bgn.simplify(model, X_train, y_train, points=5).network


def tree(X_train, y_train):
    """A tree that asks as many questions."""
    return DecisionTreeClassifier(max_leaf_nodes=QUESTIONS + 1, random_state=0).fit(X_train, y_train)


def linear(X_train, y_train):
    """Logistic regression on at most as many columns: the first that the L1 path takes up."""
    scaled = StandardScaler().fit_transform(X_train)
    for strength in np.geomspace(1.0, 0.001, 50):
        path = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=strength, random_state=0)
        columns = X_train.columns[path.fit(scaled, y_train).coef_[0] != 0]
        if len(columns) <= QUESTIONS:
            break
    return columns, make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train[columns], y_train)


scores = {"this card": [], f"a tree of {QUESTIONS} questions": [], f"a linear model of {QUESTIONS} columns": []}
for split in range(SPLITS):
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=split)
    model, card = risk_score(X_train, y_train)
    columns, line = linear(X_train, y_train)
    told = (card.predict(X_test), tree(X_train, y_train).predict_proba(X_test)[:, 1])
    for found, risks in zip(scores.values(), (*told, line.predict_proba(X_test[columns])[:, 1]), strict=True):
        malignant = y_test == "malignant"
        found.append((roc_auc_score(malignant, risks), accuracy_score(malignant, risks > 0.5)))
    if split == 0:
        shown = model, card, (X_train, y_train), (X_test, y_test)

print("Is a breast tumour malignant? Add up the points of the questions answered yes:\n")
print(bgn.scorecard(shown[1]))
print(f"\nOn tumours set aside, mean of {SPLITS} splits:\n")
print(f"    {'':<28}{'AUC':>7}{'right':>8}")
for name, found in scores.items():
    auc, right = np.mean(found, axis=0)
    print(f"    {name:<28}{auc:>7.3f}{right:>8.1%}")
print("\nThe linear model is better still: this table is nearly linear. It takes ten multiplications, the card none.")

model, _, (X_train, y_train), (X_test, y_test) = shown
report = model.report(X_train, y_train, Path("report.html"), X_test=X_test, y_test=y_test, title="Breast tumours")
print(f"\nOpen {report.resolve()} in a browser: the same model before it was rounded to points, and what if.")
print("Go on with a table of your own: bgn check yours.csv, bgn fit yours.csv --target COLUMN; or bgn tutorial.")
