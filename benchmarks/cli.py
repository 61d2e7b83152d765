"""Reading and predicting speed of the command line, beside pandas.

    python benchmarks/cli.py
    python benchmarks/cli.py --rows 1000000 --columns 20 --stream 10000000

Reading is timed in turns with ``pandas.read_csv`` on the same file; the least of several turns counts. The stream is
a CSV file of the given rows, predicted by the installed command while its largest memory is watched.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.csv import write_csv

from bgn import Layer, Network, save
from bgn.inputs import prepare
from bgn.inputs.files import open_table
from bgn.table_files import table_writer


def least(turns: int, *tasks: Callable[[], object]) -> list[tuple[float, float]]:
    """Return the least seconds (wall, processor) of each task over several turns."""
    times: list[list[tuple[float, float]]] = [[] for _ in tasks]
    for _ in range(turns):
        for task, kept in zip(tasks, times, strict=True):
            wall, processor = time.perf_counter(), time.process_time()
            task()
            kept.append((time.perf_counter() - wall, time.process_time() - processor))
    return [(min(w for w, _ in kept), min(p for _, p in kept)) for kept in times]


def ten_rules(columns: int) -> Network:
    """Return a network of ten neurons that ask about two columns each."""
    generator = np.random.default_rng(1)
    weights = np.zeros((10, columns))
    for row in weights:
        row[generator.choice(columns, 2, replace=False)] = 1.0, 0.5
    names = [f"c{i}" for i in range(columns)]
    return Network.of_layers([Layer(weights, generator.normal(size=10))], generator.normal(size=10), 0.0, names, "y")


def reading(path: Path, turns: int) -> None:
    """Print the time to read a whole CSV file against pandas."""

    def ours() -> None:
        table = open_table(str(path))
        table.read(table.names)

    (our_wall, our_cpu), (pandas_wall, pandas_cpu) = least(turns, ours, lambda: pd.read_csv(path))
    print(
        f"reading, {pa.cpu_count()} threads: {our_wall:.2f} s, pandas {pandas_wall:.2f} s: {our_wall / pandas_wall:.2f}"
    )
    print(f"  processor time: {our_cpu:.2f} s, pandas {pandas_cpu:.2f} s: {our_cpu / pandas_cpu:.2f}")


def predicting(path: Path, network: Network, turns: int, folder: Path) -> None:
    """Print rows a second once the file is parsed: prepare, predict, write."""
    table = open_table(str(path))
    columns = prepare.Preparation(tuple(prepare.Number(name) for name in network.names))
    blocks = [pa.Table.from_batches([batch]) for batch in table.read(table.names).to_batches()]
    rows = sum(block.num_rows for block in blocks)
    schema = pa.schema([("prediction", pa.float64())])

    def predict(write: bool) -> None:
        with table_writer(str(folder / "out.csv"), schema) as writer:
            for block in blocks:
                predicted = network.predict(prepare.apply(columns, block).X)
                if write:
                    writer.write_table(pa.table([predicted], schema=schema))

    (plain, _), (written, _) = least(turns, lambda: predict(False), lambda: predict(True))
    print(f"predicting parsed rows: {rows / plain:,.0f} rows/s, written as CSV too: {rows / written:,.0f} rows/s")


def memory(pid: int) -> int:
    """Return the largest memory a process has had so far, in KiB; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def streaming(rows: int, network: Network, folder: Path) -> None:
    """Print speed and largest memory of the installed command on a long file."""
    path, model, out = folder / "long.csv", folder / "model.json", folder / "out.csv"
    save(network, model)
    generator = np.random.default_rng(2)
    with table_writer(str(path), pa.schema([(name, pa.float64()) for name in network.names])) as writer:
        for start in range(0, rows, 250_000):
            block = generator.normal(size=(len(network.names), min(250_000, rows - start))).round(6)
            writer.write_table(pa.table(list(block), names=list(network.names)))
    command = Path(sys.executable).parent / "bgn"
    started = time.perf_counter()
    child = subprocess.Popen([command, "predict", model, path, "-o", out])
    largest = 0
    while child.poll() is None:
        largest = max(largest, memory(child.pid))
        time.sleep(0.05)
    seconds = time.perf_counter() - started
    if child.returncode:
        raise SystemExit(f"bgn predict failed with {child.returncode}")
    print(
        f"streaming {path.stat().st_size / 2**30:.2f} GiB: {rows / seconds:,.0f} rows/s from file to file, "
        f"largest memory {largest / 2**10:.0f} MiB"
    )


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--stream", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    network = ten_rules(options.columns)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "table.csv"
        values = np.random.default_rng(0).normal(size=(options.columns, options.rows)).round(6)
        write_csv(pa.table(list(values), names=list(network.names)), path)
        del values
        print(f"{options.rows:,} rows, {options.columns} columns, {path.stat().st_size / 2**20:.0f} MiB of CSV")
        reading(path, options.turns)
        predicting(path, network, options.turns, folder)
        path.unlink()
        streaming(options.stream, network, folder)


if __name__ == "__main__":
    main()
