"""Growth of cost with the rows, and rows that outgrow memory: time and peak memory, printed.

Run: python benchmarks/scale.py [SECTION ...] [--gigabytes G], with ``--help`` for the sections. Everything when nothing
is named.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scale_gpu import gpu

from bgn import BGNRegressor, GrowthSettings

COLUMNS = 10
SECTIONS: dict[str, Callable[[], None]] = {}
OPTIONS = argparse.Namespace()


def section(call: Callable[[], None]) -> Callable[[], None]:
    """Make a function without arguments a section that can be named on the command line."""
    SECTIONS[call.__name__] = call
    return call


def made_up(rows: int, seed: int = 0, at_once: int = 1 << 18) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield columns and targets of made-up rows, some at a time."""
    rng = np.random.default_rng(seed)
    for start in range(0, rows, at_once):
        X = rng.random((min(at_once, rows - start), COLUMNS))
        noise = 0.1 * rng.standard_normal(len(X))
        yield X, 3 * X[:, 0] + np.sin(6 * X[:, 1]) + 4 * X[:, 2] * X[:, 3] + noise


# -- growth of cost -------------------------------------------------------------------------------------------


@section
def rows() -> None:
    """time a neuron from 1e5 to 1e7 rows in memory, on one core, and the slope of its logarithm"""
    seconds = {}
    for number in (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000):
        X, y = (np.concatenate(parts) for parts in zip(*made_up(number), strict=True))
        clock: list[float] = []
        watch = [lambda record, clock=clock: clock.append(time.process_time())]
        model = BGNRegressor(
            max_terms=6, growth=GrowthSettings(2, patience=None), n_jobs=1, callbacks=watch, random_state=0
        ).fit(X, y)
        seconds[number] = (clock[-1] - clock[0]) / (model.history_.records[-1].width - 1)
        print(f"{number:>11,} rows: {seconds[number]:8.3f} s a neuron, replacements included", flush=True)
    exponent = np.polyfit(np.log([*seconds]), np.log([*seconds.values()]), 1)[0]
    print(f"slope of log time against log rows, 1e5 to 1e7: {exponent:.2f}, wanted at most 1.1")


# -- larger than memory ---------------------------------------------------------------------------------------

_DISK = """
import sys, time
import bgn
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 2**20
path, out = sys.argv[1:]
model = bgn.BGNRegressor(max_terms=5, random_state=0)
imported, started = peak(), time.perf_counter()
model.fit(path, target="y" if path.endswith(".parquet") else -1)
fitted = time.perf_counter()
print(f"fit: {fitted - started:.0f} s, peak memory {peak():.2f} GiB, {imported:.2f} of it imports, wanted under 1.5")
print(f"     {model.network_}; {len(model.history_.records)} neurons taken in")
columns = model.network_.feature_names or range(model.n_features_in_)
with open(out, "wb") as file:
    for block in bgn.read_blocks(path, columns):
        model.network_.predict(block).tofile(file)
print(f"predict to a file: {time.perf_counter() - fitted:.0f} s, peak memory {peak():.2f} GiB, wanted under 1.5")
bgn.save(model, out + ".json")
"""


@section
def disk() -> None:
    """rows on disk, as .npy and as Parquet: seconds and peak memory of a fit (width 5) and of predictions"""
    number = int(OPTIONS.gigabytes * 1e9 / (8 * (COLUMNS + 1)))
    with tempfile.TemporaryDirectory(dir=os.environ.get("BGN_SCRATCH")) as folder:
        for write in (write_array, write_parquet):
            started = time.perf_counter()
            path = write(Path(folder), number)
            size, seconds = path.stat().st_size / 1e9, time.perf_counter() - started
            print(f"{path.name}: {number:,} rows x {COLUMNS}, {size:.2f} GB, made in {seconds:.0f} s", flush=True)
            subprocess.run([sys.executable, "-c", _DISK, path, f"{path}.predicted"], check=True)
            path.unlink()
        models = {path.read_text().partition('"layers"')[2] for path in Path(folder).glob("*.json")}
        print(f"both networks {'have the same' if len(models) == 1 else 'DIFFER in their'} weights")


def write_array(folder: Path, number: int) -> Path:
    """A `.npy` file whose last column is the target."""
    path, start = folder / "rows.npy", 0
    array = np.lib.format.open_memmap(path, "w+", np.float64, (number, COLUMNS + 1))
    for X, y in made_up(number):
        array[start : start + len(y), :-1], array[start : start + len(y), -1] = X, y
        start += len(y)
    return path


def write_parquet(folder: Path, number: int) -> Path:
    """A Parquet file with groups of 2^18 rows."""
    import pyarrow as pa
    import pyarrow.parquet as pa_parquet

    path, names = folder / "rows.parquet", [f"x{j}" for j in range(COLUMNS)]
    schema = pa.schema([(name, pa.float64()) for name in [*names, "y"]])
    with pa_parquet.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
        for X, y in made_up(number):
            writer.write_table(pa.table(dict(zip(names, X.T, strict=True)) | {"y": y}))
    return path


@section
def dask() -> None:
    """two Dask workers of one thread against one, 2e7 rows x 10; what a pass costs when rows are few"""
    from scale_dask import measure  # here, because the other sections run without Dask

    measure()


section(gpu)


def main() -> None:
    """Run the sections named, or all."""
    about = "\n".join(f"  {name:8} {call.__doc__}" for name, call in SECTIONS.items())
    parser = argparse.ArgumentParser(
        description="Sections:\n" + about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION")
    parser.add_argument("--gigabytes", type=float, default=8.0, help="size of the rows on disk")
    chosen = parser.parse_args(namespace=OPTIONS).sections
    for name in chosen or SECTIONS:
        if name not in SECTIONS:
            parser.error(f"no section {name!r}; there are {', '.join(SECTIONS)}")
        print(f"-- {name}: {SECTIONS[name].__doc__}", flush=True)
        SECTIONS[name]()


if __name__ == "__main__":
    main()
