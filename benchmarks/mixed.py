"""Tables with categories and missing values as they are, beside copies without.

Categories and missing values (``mixed``): Ames housing and diamonds, straight into the estimator; beside it the same
settings on a copy with 0/1 columns and medians, and FIGS and a tree of as many rules on that copy. Test RMSE and
seconds of fitting.

Missing values alone (``missing``): 30 % of the cells of housing, bike and power plant taken out at random; beside the
estimator the same settings on medians, and on medians with 0/1 columns that mark missing values. Test MSE
with twenty rules; single seeds differ by some per cent either way, so compare the means of ten.

    python benchmarks/mixed.py [mixed] [missing] [--seeds 3]

The tables are found through BGN_DATA: ``mixed/ames_housing.csv.gz`` and ``mixed/diamonds.csv.gz`` below it.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

import bgn

MIXED = {
    "ames_housing": ("SalePrice", ["Order", "PID"], [40]),
    "diamonds": ("price", [], [10, 20, 40]),
}
MISSING_VALUES = ("housing", "bike", "power_plant")


def read(name: str, target: str, drop: list[str]) -> tuple[pd.DataFrame, pd.Series]:
    """Return one of the mixed tables and what is predicted."""
    folder = os.environ.get("BGN_DATA")
    if not folder:
        raise SystemExit("BGN_DATA must name the folder of the tables.")
    frame = pd.read_csv(Path(folder, "mixed", f"{name}.csv.gz")).drop(columns=drop)
    return frame.drop(columns=target), frame[target]


def copied(train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both with medians for missing values and 0/1 columns for categories."""
    numbers = train.select_dtypes("number").columns
    categorical = train.columns.difference(numbers, sort=False)
    middle = train[numbers].median()
    made = [
        frame[numbers].fillna(middle).join(pd.get_dummies(frame[categorical], dtype=float)).astype(float)
        for frame in (train, test)
    ]
    made = [frame.rename(columns={name: str(k) for k, name in enumerate(made[0].columns)}) for frame in (
        made[0], made[1].reindex(columns=made[0].columns, fill_value=0.0))]  # fmt: skip
    return made[0], made[1]


def fitted(model, X, y, X_test, y_test) -> tuple[float, float]:
    """Return the test MSE and the seconds of fitting."""
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    return float(np.mean((np.asarray(model.predict(X_test)) - np.asarray(y_test)) ** 2)), seconds


def mixed(seeds: int) -> None:
    """Compare on tables with words and gaps."""
    from imodels import FIGSRegressor

    heads = "".join(f"{column:>11}" for column in ("as it is", "copy", "FIGS", "tree"))
    print(f"{'table':<14}{'questions':>9}{'seed':>5}{heads}{'s':>7}{'s copy':>8}")
    for name, (target, drop, sizes) in MIXED.items():
        X, y = read(name, target, drop)
        for size in sizes:
            for seed in range(seeds):
                train, test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
                plain, plain_test = copied(train, test)
                settings = {"max_terms": size, "random_state": seed}
                native, seconds = fitted(bgn.BGNRegressor(**settings), train, y_train, test, y_test)
                copy, slower = fitted(bgn.BGNRegressor(**settings), plain, y_train, plain_test, y_test)
                rows = plain.to_numpy(), y_train.to_numpy(), plain_test.to_numpy(), y_test
                figs, _ = fitted(FIGSRegressor(max_rules=size), *rows)
                tree, _ = fitted(DecisionTreeRegressor(max_leaf_nodes=size + 1, random_state=seed), *rows)
                errors = "".join(f"{column**0.5:>11.1f}" for column in (native, copy, figs, tree))
                print(f"{name:<14}{size:>9}{seed:>5}{errors}{seconds:>7.1f}{slower:>8.1f}", flush=True)


def missing(seeds: int) -> None:
    """Compare on tables of which cells were taken out."""
    print(f"{'table':<14}{'seed':>5}{'as it is':>12}{'medians':>12}{'and marks':>12}")
    for name in MISSING_VALUES:
        table = bgn.datasets.load(name)
        whole, y = np.asarray(table.X, float), np.asarray(table.y, float)
        errors = []
        for seed in range(seeds):
            X = np.where(np.random.default_rng(seed).random(whole.shape) < 0.3, np.nan, whole)
            train, test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
            middle = np.nanmedian(train, axis=0)
            filled, filled_test = (np.where(np.isnan(part), middle, part) for part in (train, test))
            marked, marked_test = (
                np.hstack([made, np.isnan(part)]) for made, part in ((filled, train), (filled_test, test))
            )
            settings = {"max_terms": 20, "random_state": seed}
            errors_of_split = [
                fitted(bgn.BGNRegressor(**settings), a, y_train, b, y_test)[0]
                for a, b in ((train, test), (filled, filled_test), (marked, marked_test))
            ]
            errors.append(errors_of_split)
            print(f"{name:<14}{seed:>5}" + "".join(f"{part:>12.5g}" for part in errors_of_split), flush=True)
        print(f"{name:<14}{'mean':>5}" + "".join(f"{part:>12.5g}" for part in np.mean(errors, axis=0)), flush=True)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["mixed", "missing", []], default=[])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for table in options.what or ["mixed", "missing"]:
        {"mixed": mixed, "missing": missing}[table](options.seeds)


if __name__ == "__main__":
    main()
