"""Tables with words and gaps as they are, beside copies without.

Words and gaps (``words``): Ames housing and diamonds, straight into the estimator; beside it the same settings on a
copy with 0/1 columns and medians, and FIGS and a tree of as many questions on that copy. Test RMSE and seconds of
fitting.

Gaps alone (``gaps``): 30 % of the cells of housing, bike and power plant taken out at random; beside the estimator the
same settings on medians, and on medians with 0/1 columns that mark the gaps. Test MSE with twenty questions; single
seeds differ by some per cent either way, so judge by the mean of ten.

    python benchmarks/mixed.py [words] [gaps] [--seeds 3]

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

WORDS = {
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
    """Return both with medians for gaps and 0/1 columns for words."""
    numbers = train.select_dtypes("number").columns
    words = train.columns.difference(numbers, sort=False)
    middle = train[numbers].median()
    made = [
        pd.concat([each[numbers].fillna(middle), pd.get_dummies(each[words], dtype=float)], axis=1).astype(float)
        for each in (train, test)
    ]
    made = [each.rename(columns={name: str(k) for k, name in enumerate(made[0].columns)}) for each in (
        made[0], made[1].reindex(columns=made[0].columns, fill_value=0.0))]  # fmt: skip
    return made[0], made[1]


def fitted(model, X, y, X_test, y_test) -> tuple[float, float]:
    """Return the test MSE and the seconds of fitting."""
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    return float(np.mean((np.asarray(model.predict(X_test)) - np.asarray(y_test)) ** 2)), seconds


def words(seeds: int) -> None:
    """Compare on tables with words and gaps."""
    from imodels import FIGSRegressor

    heads = "".join(f"{each:>11}" for each in ("as it is", "copy", "FIGS", "tree"))
    print(f"{'table':<14}{'questions':>9}{'seed':>5}{heads}{'s':>7}{'s copy':>8}")
    for name, (target, drop, widths) in WORDS.items():
        X, y = read(name, target, drop)
        for width in widths:
            for seed in range(seeds):
                train, test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
                plain, plain_test = copied(train, test)
                settings = {"max_terms": width, "random_state": seed}
                native, seconds = fitted(bgn.BGNRegressor(**settings), train, y_train, test, y_test)
                copy, slower = fitted(bgn.BGNRegressor(**settings), plain, y_train, plain_test, y_test)
                rows = plain.to_numpy(), y_train.to_numpy(), plain_test.to_numpy(), y_test
                figs, _ = fitted(FIGSRegressor(max_rules=width), *rows)
                tree, _ = fitted(DecisionTreeRegressor(max_leaf_nodes=width + 1, random_state=seed), *rows)
                errors = "".join(f"{each**0.5:>11.1f}" for each in (native, copy, figs, tree))
                print(f"{name:<14}{width:>9}{seed:>5}{errors}{seconds:>7.1f}{slower:>8.1f}", flush=True)


def gaps(seeds: int) -> None:
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
            filled, filled_test = (np.where(np.isnan(each), middle, each) for each in (train, test))
            marked, marked_test = (
                np.hstack([made, np.isnan(each)]) for made, each in ((filled, train), (filled_test, test))
            )
            settings = {"max_terms": 20, "random_state": seed}
            found = [
                fitted(bgn.BGNRegressor(**settings), a, y_train, b, y_test)[0]
                for a, b in ((train, test), (filled, filled_test), (marked, marked_test))
            ]
            errors.append(found)
            print(f"{name:<14}{seed:>5}" + "".join(f"{each:>12.5g}" for each in found), flush=True)
        print(f"{name:<14}{'mean':>5}" + "".join(f"{each:>12.5g}" for each in np.mean(errors, axis=0)), flush=True)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["words", "gaps", []], default=[])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for each in options.what or ["words", "gaps"]:
        {"words": words, "gaps": gaps}[each](options.seeds)


if __name__ == "__main__":
    main()
