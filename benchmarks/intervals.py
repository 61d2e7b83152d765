"""Coverage and width of 90 % intervals over random splits, beside MAPIE's on the same model."""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.model_selection import train_test_split

import bgn
from bgn import datasets


def measured(X: np.ndarray, y: np.ndarray, seed: int, max_terms: int, folds: bool) -> list[float]:
    """Return coverage, that of the fifths of predictions, mean width, and MAPIE's widths of split and CV+."""
    train, test, targets, truth = train_test_split(X, y, random_state=seed)
    model = bgn.BGNRegressor(max_terms=max_terms, random_state=seed).fit(train, targets)
    predictions, ends = model.predict(test, interval=0.9)
    inside = (truth >= ends[:, 0]) & (truth <= ends[:, 1])
    fifth = np.searchsorted(np.quantile(predictions, [0.2, 0.4, 0.6, 0.8]), predictions, side="right")
    coverage = [inside.mean(), *(inside[fifth == k].mean() if (fifth == k).any() else np.nan for k in range(5))]
    coverage.append(float((ends[:, 1] - ends[:, 0]).mean()))
    from mapie.regression import CrossConformalRegressor, SplitConformalRegressor

    split = SplitConformalRegressor(model, confidence_level=0.9, prefit=True).conformalize(*model.validation_rows_)
    flat = split.predict_interval(test)[1][:, :, 0]
    coverage.append(float((flat[:, 1] - flat[:, 0]).mean()))
    if folds:
        plus = CrossConformalRegressor(model, confidence_level=0.9, method="plus", cv=5)
        crossed = plus.fit_conformalize(train, targets).predict_interval(test[:500])[1][:, :, 0]
        coverage.append(float((crossed[:, 1] - crossed[:, 0]).mean()))
    return coverage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--width", type=int, default=20, help="questions of the model")
    parser.add_argument("--folds", action="store_true", help="MAPIE's CV+ too, which fits five more models")
    given = parser.parse_args()
    for name in ("housing", "power_plant", "bike"):
        table = datasets.load(name)
        X, y = np.asarray(table.X, np.float64), np.asarray(table.y, np.float64)
        runs = [measured(X, y, seed, given.width, given.folds) for seed in range(given.splits)]
        means = np.nanmean(runs, axis=0)
        fifths = " ".join(f"{value:.3f}" for value in means[1:6])
        lengths = ", ".join(f"{value:.4g}" for value in means[7:])
        print(f"{name:<12} inside {means[0]:.3f}; fifths {fifths}; width {means[6]:.4g}; MAPIE {lengths}", flush=True)


if __name__ == "__main__":
    main()
