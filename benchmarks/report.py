"""Time to write a report, in seconds and against the time to predict and explain the same rows.

Run: python benchmarks/report.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from timing import seconds

from bgn import Layer, Network, shap_values, write_report

ROWS, N_RULES, FEATURES = 20_000, 60, 20


def problem() -> tuple[Network, np.ndarray, np.ndarray]:
    """A network of one- and two-feature neurons, rows, and a noisy target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    weights = np.zeros((N_RULES, FEATURES))
    for k, row in enumerate(weights):
        row[rng.permutation(FEATURES)[: 1 + k % 2]] = rng.normal(size=1 + k % 2)
    network = Network.of_layers([Layer(weights, rng.normal(size=N_RULES))], rng.normal(size=N_RULES), 0.0)
    return network, X, network.predict(X) + 0.3 * rng.normal(size=ROWS)


def main() -> None:
    network, X, y = problem()
    explained = seconds(lambda: (network.predict(X), shap_values(network, X, X)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        written = seconds(lambda: write_report(network, X, y, path))
        size = path.stat().st_size
    print(f"report of {N_RULES} neurons, {FEATURES} features, {ROWS:,} rows: {written:.2f} s (wanted: under 10)")
    print(f"predict and SHAP values: {explained:.3f} s; ratio {written / explained:.1f} (wanted: under 10)")
    print(f"size {size / 1e6:.2f} MB (wanted: under 2)")


if __name__ == "__main__":
    main()
