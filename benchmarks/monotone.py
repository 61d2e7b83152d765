"""Networks that are held to something, beside the same networks that are not.

Monotone (``monotone``): housing (income up), Ames housing (quality and living area up) and telco churn (tenure down) at
10 and 20 questions over some splits: test error beside that of the unconstrained network, seconds of fitting, whether
every column is proven, and violations among random pairs of rows that differ in one such column.

Bounds (``bounds``): housing, power plant and bike sharing with predictions of at least 0: test error, seconds, and the
lowest prediction that any row can have, beside the unbounded network.

Proofs (``proofs``): an edit's receipt on 1,000,000 rows, and how exactly gaps between groups and shifts between tables
add up. Certificates and extremes are compared with brute force in ``tests/explain``.

    python benchmarks/monotone.py [monotone] [bounds] [proofs] [--splits 5] [--pairs 1000000]

The tables are found through BGN_DATA: ``mixed/ames_housing.csv.gz`` and ``mixed/telco_churn.csv.gz`` below it.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import bgn
from bgn import datasets

WANTED = {
    "housing": {"medianIncome": 1},
    "ames": {"Overall Qual": 1, "Gr Liv Area": 1},
    "telco": {"tenure": -1},
}


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns and target of one of the tables."""
    if name not in ("ames", "telco"):
        data = datasets.load(name)
        return pd.DataFrame(data.X), np.asarray(data.y, np.float64)
    folder = os.environ.get("BGN_DATA")
    if not folder:
        raise SystemExit("BGN_DATA must name the folder of the tables.")
    if name == "ames":
        frame = pd.read_csv(Path(folder, "mixed", "ames_housing.csv.gz")).drop(columns=["Order", "PID"])
        return frame.drop(columns="SalePrice"), frame["SalePrice"].to_numpy(np.float64)
    frame = pd.read_csv(Path(folder, "mixed", "telco_churn.csv.gz")).drop(columns="customerID")
    frame["TotalCharges"] = pd.to_numeric(frame["TotalCharges"], errors="coerce")
    return frame.drop(columns="Churn"), (frame["Churn"] == "Yes").to_numpy()


def fitted(classes: bool, size: int, seed: int, X: Any, y: Any, **wanted: Any) -> tuple[Any, float]:
    """Return a model and the seconds of fitting."""
    make = bgn.BGNClassifier if classes else bgn.BGNRegressor
    start = time.perf_counter()
    model = make(max_terms=size, random_state=seed, **wanted).fit(X, y)
    return model, time.perf_counter() - start


def error(model: Any, X: Any, y: Any) -> float:
    """Return the test MSE, or for classes the log loss."""
    if hasattr(model, "classes_"):
        return float(log_loss(y, model.predict_proba(X)[:, 1]))
    return float(np.mean((model.predict(X) - y) ** 2))


def violations(model: Any, X: pd.DataFrame, wanted: dict[str, int], pairs: int, seed: int) -> int:
    """Count random pairs of rows, equal but in one column, that are predicted in the wrong order."""
    network, rng, wrong = model.network_, np.random.default_rng(seed), 0
    rows = network.schema.encode(X, missing=True)
    for name, sign in wanted.items():
        column = network.names.index(name)
        known = rows[~np.isnan(rows[:, column]), column]
        span = known.max() - known.min()
        for _ in range(0, pairs, 250_000):
            low = rows[rng.integers(len(rows), size=min(pairs, 250_000))].copy()
            ends = np.sort(rng.uniform(known.min() - span, known.max() + span, (len(low), 2)), axis=1)
            ends[::2] = np.sort(rng.choice(known, (len(ends[::2]), 2)), axis=1)
            high = low.copy()
            low[:, column], high[:, column] = ends.T
            scores = [network.predict_encoded(rows, scores=True) for rows in (low, high)]
            wrong += int((sign * (scores[1] - scores[0]) < 0).sum())
    return wrong


def monotone(splits: int, pairs: int) -> None:
    """Compare with unconstrained networks."""
    heads = (("questions", 9), ("free", 12), ("monotone", 12), ("rise", 8), ("s free", 8), ("s", 7), ("proven", 8))
    print(f"{'table':<9}{''.join(f'{head:>{size}}' for head, size in heads)}{'wrong pairs':>13}")
    rises, seconds = [], []
    for name, wanted in WANTED.items():
        X, y = table(name)
        for size in (10, 20):
            figures, proven, wrong = [], True, 0
            for seed in range(splits):
                train, test, y_train, y_test = train_test_split(X, y, random_state=seed)
                free, free_s = fitted(name == "telco", size, seed, train, y_train)
                held, held_s = fitted(name == "telco", size, seed, train, y_train, monotonic_cst=wanted)
                figures.append((error(free, test, y_test), error(held, test, y_test), free_s, held_s))
                answers = bgn.certify(held, list(wanted), max_seconds=60)
                for answer in answers.values():
                    direction = "increasing" if wanted[answer.column] > 0 else "decreasing"
                    proven &= answer.direction in ("constant", direction)
                wrong += violations(held, train, wanted, pairs, seed)
            free_error, held_error, free_s, held_s = np.mean(figures, axis=0)
            rises.append(held_error / free_error - 1)
            seconds.append(held_s / free_s)
            print(f"{name:<9}{size:>9}{free_error:>12.6g}{held_error:>12.6g}{rises[-1]:>+8.2%}{free_s:>8.2f}"
                  f"{held_s:>7.2f}{'yes' if proven else 'NO':>8}{wrong:>13,}", flush=True)  # fmt: skip
    ratio = np.exp(np.mean(np.log(seconds)))
    print(f"mean rise of the error {np.mean(rises):+.2%}; time beside unconstrained {ratio:.2f}")


def bounds(splits: int) -> None:
    """Compare with unbounded networks."""
    heads = ("questions", "free", "bounded", "rise", "s free", "s", "least free", "least")
    print(f"\n{'table':<12}{''.join(f'{head:>11}' for head in heads)}")
    for name in ("housing", "power_plant", "bike"):
        X, y = table(name)
        for size in (10, 20):
            figures = []
            for seed in range(splits):
                train, test, y_train, y_test = train_test_split(X, y, random_state=seed)
                free, free_s = fitted(False, size, seed, train, y_train)
                held, held_s = fitted(False, size, seed, train, y_train, bounds=(0, None))
                lows = [bgn.extremes(network).bounds[0] for network in (free, held)]
                figures.append((error(free, test, y_test), error(held, test, y_test), free_s, held_s, *lows))
            means, least = np.mean(figures, axis=0), np.min(figures, axis=0)[-1]
            errors = "".join(f"{network:>11.5g}" for network in means[:2])
            print(f"{name:<12}{size:>11}{errors}{means[1] / means[0] - 1:>+11.1%}{means[2]:>11.2f}{means[3]:>11.2f}"
                  f"{means[4]:>11.4g}{least:>11.4g}", flush=True)  # fmt: skip


def proofs() -> None:
    """Time a receipt on a million rows; see how exactly gaps and shifts add up."""
    X, y = table("housing")
    model, _ = fitted(False, 20, 0, X, y)
    many = np.asarray(X, np.float64)[np.random.default_rng(0).integers(len(X), size=1_000_000)]
    targets = model.predict(many)
    editor = bgn.edit(model, many, targets)
    start = time.perf_counter()
    after = editor.coef(1, 0.5)
    seconds = time.perf_counter() - start
    print(f"\nreceipt on 1,000,000 rows: {seconds:.2f} s, {len(after.receipt.changed):,} predictions changed; undone: "
          f"{after.undo().network == editor.network}")  # fmt: skip
    worst = 0.0
    for column in X.columns:
        groups = np.asarray(X[column]) > np.median(X[column])
        difference = bgn.compare_groups(model, X, groups)
        shift = bgn.compare_tables(model, X[groups], X[~groups])
        for answer in (difference, shift):
            worst = max(worst, *(abs(float(part.sum()) - answer.difference) for part in (answer.columns, answer.terms)))
    print(f"gaps and shifts add up within {worst:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["monotone", "bounds", "proofs"])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=1_000_000, help="random pairs per column and split")
    given = parser.parse_args()
    if "monotone" in given.parts:
        monotone(given.splits, given.pairs)
    if "bounds" in given.parts:
        bounds(given.splits)
    if "proofs" in given.parts:
        proofs()


if __name__ == "__main__":
    main()
