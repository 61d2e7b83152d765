"""Speed and memory of exact SHAP values, as ratios against one sort and against shap's exact explainer.

Run: python benchmarks/shap_values.py
"""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
from timing import seconds

from bgn import Layer, Network, shap_values

ROWS, N_RULES, FEATURES = 20_000, 60, 8


def problem(rows: int) -> tuple[Network, np.ndarray, np.ndarray]:
    """A network of two-feature neurons, rows and a background of as many."""
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(rows, FEATURES)), rng.normal(size=(rows, FEATURES))
    weights = np.zeros((N_RULES, FEATURES))
    for row in weights:
        row[rng.permutation(FEATURES)[:2]] = rng.normal(size=2)
    return Network.of_layers([Layer(weights, rng.normal(size=N_RULES))], rng.normal(size=N_RULES), 0.0), X, background


def peak(rows: int) -> int:
    """Most bytes allocated while explaining `rows` rows against as many."""
    network, X, background = problem(rows)
    tracemalloc.start()
    shap_values(network, X, background)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def main() -> None:
    network, X, background = problem(ROWS)
    values = np.random.default_rng(1).normal(size=(N_RULES, 2, ROWS))
    ours = seconds(lambda: shap_values(network, X, background))
    sort = seconds(lambda: np.sort(values))
    print(f"all values, {ROWS:,} rows x {ROWS:,} background rows x {N_RULES} neurons: {ours:.3f} s")
    print(f"one np.sort of {N_RULES} x 2 x {ROWS:,}: {sort:.4f} s; ratio {ours / sort:.1f} (wanted: at most 15)")

    import shap

    few = 3
    masker = shap.maskers.Independent(background, max_samples=ROWS)
    explainer = shap.explainers.Exact(network.predict, masker)
    start = time.perf_counter()
    theirs = explainer(X[:few]).values
    per_row = (time.perf_counter() - start) / few
    assert np.allclose(theirs, shap_values(network, X[:few], background).values, atol=1e-8)
    print(
        f"shap.explainers.Exact, same background: {per_row:.3f} s a row against {ours / ROWS:.2e} s; "
        f"{per_row / (ours / ROWS):,.0f} times (wanted: at least 1,000)"
    )
    small, large = peak(ROWS), peak(4 * ROWS)
    print(
        f"peak memory {small / 1e6:.0f} MB at {ROWS:,} rows, {large / 1e6:.0f} MB at four times as many: "
        f"{large / small:.2f} times (wanted: 4, linear)"
    )


if __name__ == "__main__":
    main()
