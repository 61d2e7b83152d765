"""Exported programs against `predict`, per row and in one run; and SQL on a million rows inside DuckDB.

``python benchmarks/export.py`` times `predict`, the ONNX graph in onnxruntime on one thread and the C header compiled
by gcc -O3, by turns, on networks of 10 to 1,000 neurons over the same rows, and checks that all give the same bits.
Then it times the SELECT of a network of 50 questions on 1,000,000 rows in DuckDB.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from timing import by_turns, seconds_once

from bgn import Layer, Network, export
from tests.export_engines import coded, compiled, session_of


def network_of(size: int, short: bool, columns: int = 10) -> Network:
    """A network as growth leaves them: every other question about two columns."""
    rng = np.random.default_rng(size)
    weights = np.zeros((size, columns))
    for k, row in enumerate(weights):
        row[rng.choice(columns, size=1 + k % 2, replace=False)] = [1.0, round(float(rng.normal()), 2) or 0.5][
            : 1 + k % 2
        ]
    outputs = rng.normal(size=size)
    names = [f"c{j}" for j in range(columns)]
    return Network.of_layers(
        [Layer(weights, rng.normal(size=size).round(3))], outputs.round(3) if short else outputs, 0.5, names
    )


def in_c(network: Network, X: np.ndarray, folder: str) -> Callable[[], np.ndarray]:
    """Return a call of the compiled header."""
    library, rows = compiled(network, folder, "-O3"), coded(network, X)
    out, pointer = np.empty(len(X)), ctypes.POINTER(ctypes.c_double)
    arguments = (
        rows.ctypes.data_as(pointer),
        ctypes.c_long(len(X)),
        ctypes.c_int(rows.shape[1]),
        out.ctypes.data_as(pointer),
    )

    def call() -> np.ndarray:
        library.run(*arguments)
        return out

    return call


def compare(sizes: tuple[int, ...], count: int) -> None:
    """Print seconds per row, and how many times faster than `predict` the others are."""
    print(f"{'neurons':>8} {'numbers':>8} {'predict, us per row':>20} {'onnxruntime':>12} {'C':>8}   (times as fast)")
    for size in sizes:
        for short in (True, False):
            network, X = network_of(size, short), np.random.default_rng(0).normal(size=(count, 10))
            session = session_of(export.to_onnx(network))
            with tempfile.TemporaryDirectory() as folder:
                calls = [
                    lambda: network.predict(X),  # noqa: B023
                    lambda: session.run(["prediction"], {"X": X})[0][:, 0],  # noqa: B023
                    in_c(network, X, folder),
                ]
                want, *others = [call().copy() for call in calls]
                assert all((other.view(np.int64) == want.view(np.int64)).all() for other in others)
                own, *rest = by_turns(calls, 15)
            onnx, c = (own / other for other in rest)
            kind = "short" if short else "long"
            print(f"{size:>8} {kind:>8} {own / count * 1e6:>20.3f} {onnx:>12.2f} {c:>8.2f}", flush=True)


def million(count: int) -> None:
    """Print how long DuckDB takes to score many rows by 50 questions."""
    import duckdb

    for short in (True, False):
        network = network_of(50, short)
        X = np.random.default_rng(0).normal(size=(count, 10))
        with duckdb.connect() as database:
            given = {name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(network.names)}
            database.register("given", given)
            database.execute("CREATE TABLE rows AS SELECT * FROM given")
            query = f"CREATE OR REPLACE TABLE scored AS {export.to_sql(network, dialect='duckdb')}"
            taken = min(seconds_once(lambda: database.execute(query)) for _ in range(3))  # noqa: B023
            total = database.execute("SELECT count(*), avg(prediction) FROM scored").fetchone()
            own = min(seconds_once(lambda: network.predict(X)) for _ in range(2))  # noqa: B023
        assert total[0] == count
        assert abs(total[1] - network.predict(X).mean()) < 1e-9
        kind = "short" if short else "long"
        print(f"DuckDB, {count:,} rows, 50 questions, {kind} numbers: {taken:.2f} s (predict {own:.2f} s)", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000, help="rows per call")
    parser.add_argument("--million", type=int, default=1_000_000, help="rows in DuckDB")
    parser.add_argument("--widths", type=int, nargs="+", default=[10, 30, 100, 300, 1000])
    given = parser.parse_args()
    compare(tuple(given.widths), given.rows)
    million(given.million)


if __name__ == "__main__":
    main()
