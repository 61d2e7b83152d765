"""How long exact counterfactuals take, and how far from proven they are when stopped.

Run: python benchmarks/counterfactual.py
"""

from __future__ import annotations

import time

import numpy as np

from bgn import Layer, Network, counterfactual


def problem(seed: int, n_rules: int, features: int, per_rule: int = 2) -> tuple[Network, np.ndarray, float]:
    """A random one-layer network, a row, and the best prediction among 2,000 rows."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((n_rules, features))
    for row in weights:
        row[rng.permutation(features)[: rng.integers(1, per_rule + 1)]] = rng.normal(size=1)
        row[row != 0] *= rng.normal(size=np.count_nonzero(row))
    network = Network.of_layers([Layer(weights, rng.normal(size=n_rules))], rng.normal(size=n_rules), 0.0)
    rows = rng.normal(size=(2000, features))
    predictions = network.predict(rows)
    return network, rows[predictions.argsort()[1000]], float(predictions.max())


def main() -> None:
    print(f"{'network':>26} {'limits':>14} {'median s':>9} {'worst s':>8} {'found':>7} {'proven':>7} {'saving':>10}")
    for n_rules, features, repeats in ((20, 8, 20), (60, 8, 4), (100, 8, 4)):
        for label, options in (("none", {}), ("three columns", {"max_changed": 3})):
            seconds, answers = [], []
            for seed in range(repeats):
                network, x, wanted = problem(seed, n_rules, features)
                counterfactual(network, x, at_least=wanted, max_changed=1)  # compiles
                start = time.perf_counter()
                answers.append(counterfactual(network, x, at_least=wanted, max_seconds=10, **options))
                seconds.append(time.perf_counter() - start)
                assert not answers[-1].reached or network.predict([answers[-1].x])[0] >= wanted
            reached = [answer for answer in answers if answer.reached]
            proven = sum(answer.optimal for answer in answers)
            saving = max(answer.max_saving for answer in reached)
            size = f"{n_rules} neurons, {features} features"
            print(
                f"{size:>26} {label:>14} {np.median(seconds):9.2f} {max(seconds):8.2f} "
                f"{len(reached):4d}/{repeats:<2d} {proven:4d}/{repeats:<2d} {saving:10.1%}"
            )


if __name__ == "__main__":
    main()
