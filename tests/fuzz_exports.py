"""Exported programs in their own engines on many rows: the same bits as the network, or the case is shown.

    python -m tests.fuzz_exports --cases 100 --rows 100000
    python -m tests.fuzz_exports --engines onnx c --cases 20

Cases are the networks of `tests.export_cases` and as many more as it takes, drawn by number. Engines that are not
installed are left out and named. A few networks run with the tests.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import numpy as np
import pytest

from bgn import Layer, Network
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests import export_engines as engines
from tests.export_cases import every_kind, expected, rows_for
from tests.networks import with_linear_terms

ENGINES: dict[str, Callable[[Network, np.ndarray], np.ndarray]] = {
    "python": engines.in_python,
    "node": engines.in_node,
    "gcc -O0": engines.in_c("-std=c99", "-O0"),
    "gcc -O3": engines.in_c("-std=gnu11", "-O3", "-march=native"),
    "sqlite": engines.in_sqlite,
    "duckdb": engines.in_duckdb,
    "onnx": engines.in_onnx,
}


_ODD = [
    *"ab 1-_.,;:'\"`\\/*?%$&#@!|~^=<>()[]{}+", "\n", "\t", "\r", "\u200b", "\u202e", "\u00a0", "é", "e\u0301", "温",
    "🙂", "\x01", "\x7f", "</script>", "*/", "--", "${x}", "%s", "NULL", "true",
]  # fmt: skip


def hostile_names(rng: np.random.Generator, count: int) -> tuple[str, ...]:
    """Some names of odd letters; databases ignore case in identifiers, so no two differ in case alone."""
    names: dict[str, str] = {}
    while len(names) < count:
        name = "".join(_ODD[k] for k in rng.integers(len(_ODD), size=rng.integers(1, 7)))
        names.setdefault(name.casefold(), name)
    return tuple(names.values())


def any_network(seed: int) -> Network:
    """A network of any kind, made from a number alone."""
    rng = np.random.default_rng(seed)
    categories = [None, ("a", "b", "c"), None, (False, True), (1.0, 2.0, 4.5), None, tuple("pqrstuv")]
    typical = [float(rng.integers(2)) if rng.random() < 0.5 else None for _ in categories]
    names, target = [f"column {j}" for j in range(len(categories))], "y"
    if seed % 2:  # whatever names can hold, next to one another
        *names, target = hostile_names(rng, len(categories) + 1)
        categories[1], categories[6] = hostile_names(rng, 3), hostile_names(rng, 7)
    columns = tuple(
        Column(name, categories=own, typical=typical[j])
        for j, (name, own) in enumerate(zip(names, categories, strict=True))
    )

    def condition() -> Oblique:
        chosen = tuple(sorted(rng.choice(len(categories), size=rng.integers(1, 4), replace=False).tolist()))
        coefficients = tuple(
            float(rng.choice([1.0, -1.0, 0.3, -0.59, rng.normal()])) if categories[j] is None
            else tuple(float(x) for x in rng.choice([0.0, 1.0, -2.6, 0.7], size=len(categories[j])))
            for j in chosen
        )  # fmt: skip
        kind, threshold = rng.integers(3), float(rng.choice([0.0, 0.5, 1.0, 1.7, rng.normal()]))
        if kind == 0:
            return Oblique(
                Projection(chosen, coefficients, tuple(rng.choice([0.0, 0.7, 1.5], len(chosen)).tolist())), threshold
            )
        return Oblique(
            Projection(chosen, coefficients), threshold, None if kind == 1 and rng.random() < 0.3 else bool(kind % 2)
        )

    layers = [Layer.of([condition() for _ in range(rng.integers(1, 30))], len(categories))]
    for _ in range(rng.integers(3)):
        weights = rng.normal(size=(rng.integers(1, 6), layers[-1].width)) * (rng.random(layers[-1].width) < 0.5)
        layers.append(Layer(weights, rng.normal(size=len(weights))))
    link = str(rng.choice(["identity", "identity", "logistic", "softmax"]))
    shape = (layers[-1].width, 3) if link == "softmax" else (layers[-1].width,)
    outputs = rng.normal(size=shape)
    linear_coef = rng.normal(size=(len(categories), *shape[1:])) if rng.random() < 0.2 else None
    if linear_coef is not None:
        linear_coef[[j for j, own in enumerate(categories) if own is not None]] = 0.0
    outputs, base = outputs.round(2) if rng.random() < 0.5 else outputs, np.round(rng.normal(size=shape[1:]), 2)
    more, ends = {}, None
    if linear_coef is not None and rng.random() < 0.7:
        ends = np.sort(rng.choice([-2.0, -0.5, 0.0, 1.25, 3.0], (len(categories), 2)), axis=1)
    if link == "identity" and rng.random() < 0.4:
        more["bounds"] = (0.0, None) if rng.random() < 0.5 else (-0.25, 1.5)
    network = Network.of_layers(layers, outputs, base, schema=Schema(columns, target), link=link, **more)
    return with_linear_terms(network, linear_coef, ends)


def cases(first: int, count: int) -> Iterator[tuple[str, Network]]:
    """Yield networks: those of every kind, then any."""
    known = list(every_kind(1000).items())
    for number in range(first, first + count):
        yield known[number] if number < len(known) else (f"any {number}", any_network(number))


def differences(name: str, network: Network, rows: np.ndarray, run: Callable[[Network, np.ndarray], np.ndarray]) -> int:
    """Return on how many rows an engine differs, and show one."""
    want = expected(network, rows)
    try:
        got = run(network, rows)
    except ValueError as refused:
        if "has an empty string as a category" not in str(refused):  # which ONNX cannot tell from a missing value
            raise
        return 0
    differ = (np.ascontiguousarray(got).view(np.int64) != np.ascontiguousarray(want).view(np.int64)).any(axis=1)
    if differ.any():
        print(
            f"{name}: {differ.sum()} rows, such as {rows[differ][0]}: {got[differ][0]}, not {want[differ][0]}",
            flush=True,
        )
    return int(differ.sum())


def finite(network: Network, rows: np.ndarray) -> np.ndarray:
    """Return the rows whose sums stay below 1e300, beyond which PostgreSQL is in error."""
    numbers = [j for j, column in enumerate(network.schema.columns) if column.categories is None]
    values = np.array([[0.0 if x is None or x != x else x for x in row] for row in rows[:, numbers].tolist()], float)
    return rows[(np.abs(values.reshape(len(rows), len(numbers))) <= 1e290).all(axis=1)]


def main() -> int:
    """Read the command line; return 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--first", "--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--engines", nargs="+", default=[*ENGINES, "postgresql"])
    given = parser.parse_args()
    wrong = 0
    with ExitStack() as stack:
        for engine in given.engines:
            started, rows_seen, networks_seen = time.perf_counter(), 0, 0
            try:
                run = ENGINES.get(engine)
                if run is None:
                    server = engines.Postgres(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
                    stack.callback(server.stop)
                    run = server
                for name, network in cases(given.first, given.cases):
                    rows = rows_for(network, given.rows if network.widths[0] < 500 else given.rows // 20, given.first)
                    rows = finite(network, rows) if engine == "postgresql" else rows
                    wrong += differences(f"{engine}, {name}", network, rows, run)
                    rows_seen, networks_seen = rows_seen + len(rows), networks_seen + 1
            except pytest.skip.Exception as reason:
                print(f"{engine}: left out, {reason}", flush=True)
                continue
            taken = time.perf_counter() - started
            print(
                f"{engine}: {networks_seen} networks, {rows_seen:,} rows, {wrong} differences so far, {taken:.0f} s",
                flush=True,
            )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
