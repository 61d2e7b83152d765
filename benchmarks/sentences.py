"""The printed equation against the network: thirty networks on the paper's seven tables, 100,000 rows each.

``python benchmarks/sentences.py`` reads what `bgn.equation` prints with a parser that knows the text alone, and counts
rows on which an answer differs and on which the sum is not what `predict` returns. Rows are drawn from the table, half
of them with columns mixed; to them come rows exactly on every threshold and one float beside. Floats are compared on
all rows; decimals on some of those drawn and on the rows made for thresholds, apart, because a sum of two numbers may
tie in decimals and not in floats.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from decimal import Decimal
from itertools import compress
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import bgn
from bgn import BGNRegressor, GrowthSettings, Network, datasets
from bgn.model.schema import Column, Schema
from tests.reference.sentence import Sentence, parse

TABLES = ("diabetes", "chickenpox", "istanbul", "bike", "housing", "parking", "power_plant")


def networks() -> Iterator[tuple[str, Network, np.ndarray]]:
    """Yield networks of 5, 10 and 50 neurons of every table, a deep one each, two of the paper's, and their rows."""
    for name in TABLES:
        data = datasets.load(name)
        X, y = np.asarray(data.X, float), np.asarray(data.y, float)
        grown = BGNRegressor(growth=GrowthSettings(patience=None), max_linear=0, random_state=0).fit(X, y).history_
        for size in (5, 10, 50):
            yield f"{name}, {size}", grown.network(min(size, len(grown.paths[0]) - 1)), X
        deep = BGNRegressor(max_layers=2, max_terms=12, max_linear=0, random_state=0).fit(X, y).history_
        yield f"{name}, deep", deep.network(layer=len(deep.paths) - 1, width=len(deep.paths[-1]) - 1), X
    for name in ("diabetes", "housing"):
        data = datasets.load(name)
        X, y = np.asarray(data.X, float), np.asarray(data.y, float)
        yield (
            f"{name}, paper",
            BGNRegressor.as_in_paper(max_layers=1, max_terms=8, random_state=0).fit(X, y).network_,
            X,
        )


def on_thresholds(network: Network, X: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    """Rows on every threshold of the first layer, by each of its columns of numbers in turn, and one float beside."""
    parts = []
    for condition in network.layers[0].neurons:
        for j, coefficient in zip(condition.projection.columns, condition.projection.factors, strict=True):
            if network.schema.columns[j].whole:
                continue
            rows = X[rng.integers(len(X), size=count)].copy()
            rows[:, j] = 0.0
            rows[:, j] = (condition.threshold - condition.projection.values(rows)) / coefficient
            for towards in (rows[:, j], -np.inf, np.inf):
                shifted = rows.copy()
                shifted[:, j] = np.nextafter(rows[:, j], towards)
                parts.append(shifted)
    return np.vstack(parts) if parts else X[:0]


def differences(sentence: Sentence, network: Network, rows: np.ndarray, number: type) -> int:
    """Rows on which some answer differs."""
    fires, terms = network.hidden(rows) > 0, bgn.as_terms(network).rules
    expected = np.transpose([fires[:, term.index] == (network.output_weights[term.index] > 0) for term in terms])
    table = {f"x{j}": column for j, column in enumerate(rows.T)}
    return int((sentence.answers(table, number) != expected).any(axis=1).sum())


def wrong_sums(sentence: Sentence, network: Network, rows: np.ndarray) -> int:
    """Rows whose printed amounts, added up exactly for the answers in floats, are not the prediction to the bit."""
    answers = sentence.answers({f"x{j}": column for j, column in enumerate(rows.T)})
    weights, base = [Decimal(weight) for weight, _ in sentence.lines], Decimal(sentence.base)
    patterns, which = np.unique(answers, axis=0, return_inverse=True)
    exact = np.array([float(sum(compress(weights, pattern), base)) for pattern in patterns.tolist()])
    return int((exact[which.ravel()] != network.predict(rows)).sum())


def main() -> None:
    """Count and print, then the share over all networks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--decimal-rows", type=int, default=2000)
    args = parser.parse_args()
    otherwise = made = 0
    for name, grown, X in networks():
        rng = np.random.default_rng(0)
        names = [f"x{j}" for j in range(grown.n_inputs)]
        columns = tuple(Column(n, seen=c.seen, whole=c.whole) for n, c in zip(names, grown.schema.columns, strict=True))
        network = grown.changed(schema=Schema(columns, "prediction"))
        sentence = parse(bgn.equation(network), names)
        drawn = X[rng.integers(len(X), size=args.rows)]
        half = drawn[args.rows // 2 :]
        for column in half.T:
            rng.shuffle(column)
        ties = on_thresholds(network, X, rng, 5)
        rows = np.vstack([drawn, ties])
        floats, sums = differences(sentence, network, rows, float), wrong_sums(sentence, network, rows)
        some = drawn[rng.integers(len(drawn), size=args.decimal_rows)]
        drawn_differences = differences(sentence, network, some, Decimal)
        tie_differences = differences(sentence, network, ties, Decimal) if len(ties) else 0
        print(
            f"{name:22} floats {floats} of {len(rows)}, sums {sums}, decimals {drawn_differences} of {len(some)}, "
            f"on thresholds {tie_differences} of {len(ties)}",
            flush=True,
        )
        otherwise, made = otherwise + tie_differences, made + len(ties)
    print(f"{100 * otherwise / made:.0f} % of {made} rows made to lie on thresholds are answered otherwise by decimals")


if __name__ == "__main__":
    main()
