"""Fits whose networks have the same bits on every processor, a hash of each, and settings that play other processors.

``python -m tests.portable`` prints the hashes as JSON; those of `tests/data/portable.json` were recorded so.
``python -m tests.portable --fits coarse smooth`` prints some.
``python -m tests.portable tests ...`` runs pytest with these arguments under each setting, one after another.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

from bgn import BGNClassifier, BGNRegressor, GrowthSettings, Network
from bgn.grow.directions.pairs import logarithm, turn
from tests.networks import linear_coef_of, linear_ends_of

Rows = tuple[np.ndarray, np.ndarray]


def smooth(rows: int = 400, columns: int = 6) -> Rows:
    """Made-up rows; sums and products alone, since a sine is not the same number everywhere."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, columns))
    noise = rng.random((rows, 4)).sum(axis=1)
    return X, 10 * X[:, 0] * X[:, 1] + 20 * (X[:, 2] - 0.5) * (X[:, 2] - 0.5) + 5 * X[:, 3] + noise


def coarse(rows: int = 500) -> Rows:
    """Few values, so that gains tie and projections meet thresholds; two one-hot columns, one constant."""
    X = np.random.default_rng(1).integers(0, 4, (rows, 6)).astype(np.float64)
    X[:, 3], X[:, 4], X[:, 5] = X[:, 2] == 1, X[:, 2] == 2, 7.0
    return X, X[:, 0] * X[:, 1] - 3 * (X[:, 0] > X[:, 2]) + X[:, 3]


def uneven(rows: int = 600) -> Rows:
    """Columns of very different size and with far values."""
    X = np.random.default_rng(2).random((rows, 5))
    X = X * X / (1.001 - X) * [1e-6, 1.0, 1e3, 1e9, 1.0] + [0, -5, 0, 1e9, 0]
    return X, X[:, 2] / 100 + (X[:, 1] > -4.8) * X[:, 4]


def many(rows: int = 12_000) -> Rows:
    """So many rows that directions are sought on a sample."""
    return smooth(rows, 5)


def _weights(y: np.ndarray) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 8, len(y)) / 4


def _single(X: np.ndarray) -> np.ndarray:
    return X.astype(np.float32)


def _fit(rows: Rows, weigh: bool = False, single: bool = False, paper: bool = False, **settings: Any) -> Network:
    """Fit on some rows; `weigh` gives them fractional weights, `single` makes them float32."""
    X, y = rows
    make = BGNRegressor.as_in_paper if paper else BGNRegressor
    model = make(random_state=0, **{"cv": None, "max_linear": 0, **settings})
    return model.fit(_single(X) if single else X, y, _weights(y) if weigh else None).network_


def diabetes() -> Rows:
    """The table that scikit-learn ships."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X.round(4), y  # older versions read its decimals less well


def _classes(rows: Any, number: int, weighted: bool = False, **changes: Any) -> Network:
    """The network of a classifier, of as many classes as even shares of the targets."""
    X, y = rows
    classes = (np.argsort(np.argsort(y, kind="stable"), kind="stable") * number) // len(y)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(y)) if weighted else None
    settings = {
        "max_terms": 12,
        "growth": GrowthSettings(max_replacements=3),
        "cv": None,
        "n_jobs": 1,
        "random_state": 0,
    }
    return BGNClassifier(**settings | changes).fit(X, classes, weight).network_


PAPER = GrowthSettings(max_replacements=None, sweeps=0, patience=8)
FITS: dict[str, Callable[[], Network]] = {
    "diabetes": lambda: _fit(diabetes()),
    "diabetes, compact": lambda: _fit(diabetes(), select="compact", shrinkage=1.0),
    "diabetes, as in the paper": lambda: _fit(diabetes(), paper=True, max_terms=25, growth=PAPER),
    "diabetes, three features": lambda: _fit(diabetes(), max_features=3, max_terms=20, shrinkage=10.0),
    "diabetes, debiased, weighted": lambda: _fit(diabetes(), True, direction="debiased"),
    "diabetes, linear terms": lambda: _fit(diabetes(), max_linear="auto", max_terms=8, cv=3),
    "smooth, linear terms": lambda: _fit(smooth(), True, max_linear=3, max_terms=10),
    "smooth": lambda: _fit(smooth()),
    "smooth, deep": lambda: _fit(smooth(), max_layers=3, max_terms=15, shrinkage=1.0),
    "smooth, four features": lambda: _fit(smooth(), max_features=4, max_terms=20, shrinkage=1.0),
    "smooth, as in the paper, weighted": lambda: _fit(smooth(), True, paper=True, max_terms=20, growth=PAPER),
    "smooth, float32, weighted": lambda: _fit(smooth(), True, True, shrinkage=1.0),
    "smooth, small steps": lambda: _fit(smooth(), output="stagewise", learning_rate=0.1, max_terms=60),
    "smooth, cross-validated": lambda: _fit(smooth(), max_terms=10, growth=GrowthSettings(2), cv=3),
    "coarse": lambda: _fit(coarse()),
    "coarse, deep, weighted": lambda: _fit(coarse(), True, max_layers=2, max_terms=12, shrinkage=1.0),
    "coarse, three features, float32": lambda: _fit(coarse(), False, True, max_features=3, max_terms=12, shrinkage=1.0),
    "uneven": lambda: _fit(uneven()),
    "uneven, debiased, no limit": lambda: _fit(uneven(), direction="debiased", max_features=None, shrinkage=1.0),
    "two classes": lambda: _classes(smooth(), 2),
    "two classes, cross-validated": lambda: _classes(smooth(), 2, cv=2, max_terms=15, growth=GrowthSettings(1)),
    "three classes, cross-validated, weighted": lambda: _classes(
        coarse(), 3, True, cv=2, max_terms=15, growth=GrowthSettings(max_replacements=0)
    ),
    "three classes, deep, weighted": lambda: _classes(coarse(), 3, True, max_layers=2, max_terms=6),
    "diabetes, within a budget": lambda: _fit(diabetes(), max_conditions=12, max_linear="auto", cv=3),
    "smooth, within a budget, float32, weighted": lambda: _fit(smooth(), True, True, max_conditions=10),
    "three classes, within a budget": lambda: _classes(coarse(), 3, growth=None, max_conditions=8, cv=2),
    "many": lambda: _fit(many(), max_terms=10, growth=GrowthSettings(4)),
    "many, weighted, float32": lambda: _fit(many(), True, True, max_terms=8, growth=GrowthSettings(2)),
}


def digest(network: Network) -> str:
    """A hash over the bytes of all weights, biases, output weights, the base, and slopes with their ends if any."""
    parts = [part for layer in network.layers for part in (layer.weights, layer.bias)]
    ends = linear_ends_of(network)
    numbers = [*parts, network.rule_coef, network.intercept, *[linear_coef_of(network)] * bool(network.linear)]
    numbers += [ends] * bool(np.isfinite(ends).any())
    bits = b"".join(np.ascontiguousarray(part, "<f8").tobytes() for part in numbers)
    return hashlib.sha256(str(network.widths).encode() + bits).hexdigest()


def digests(names: Iterable[str] = FITS) -> dict[str, str]:
    """The hash of some fits' networks, and one of the sines, cosines and logarithms that growth uses."""
    numbers = [*(x for k in range(2000) for x in turn(k / 300)), *map(logarithm, range(1, 2000))]
    functions = {"functions": hashlib.sha256(np.array(numbers, "<f8").tobytes()).hexdigest()}
    return functions | {name: digest(FITS[name]()) for name in names}


# -- other processors ---------------------------------------------------------------------------------------------


def vectors(names: str = "") -> str:
    """NumPy's names for the vector instructions that it chooses here, from some name on."""
    extensions: list[str] = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    return " ".join(name for name in extensions if not names or name.startswith(tuple(names.split())))


def settings() -> dict[str, dict[str, str]]:
    """Environments in which libraries choose other instructions, or another number of threads."""
    threads = {f"OMP_NUM_THREADS={k}": {"OMP_NUM_THREADS": str(k)} for k in (1, 2)}
    if platform.machine() not in ("x86_64", "AMD64"):
        return threads
    torch = [{"ATEN_CPU_CAPABILITY": "avx2"}, {"ATEN_CPU_CAPABILITY": "default"}, {"MKL_CBWR": "COMPATIBLE"}]
    blas = [{"OPENBLAS_CORETYPE": "Haswell"}, {"OPENBLAS_CORETYPE": "Nehalem"}]
    plain = [
        {"NPY_DISABLE_CPU_FEATURES": vectors("AVX512 X86_V4")},
        {"NPY_DISABLE_CPU_FEATURES": vectors(), "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"},
        {"NUMBA_CPU_NAME": "generic"},
    ]
    return threads | {" ".join(map("=".join, setting.items())): setting for setting in (*torch, *blas, *plain)}


def oldest() -> dict[str, str]:
    """All settings at once that need nothing compiled anew."""
    merged = {key: value for setting in settings().values() for key, value in setting.items()}
    return {key: value for key, value in merged.items() if not key.startswith("NUMBA")}


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep the processor busy with so many other processes."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def suite(arguments: list[str]) -> int:
    """Run pytest under each setting and on a busy machine; the number of settings under which something failed."""
    failed = []
    with tempfile.TemporaryDirectory() as compiled:
        for name, setting in {**settings(), "other processes": {}}.items():
            if "NUMBA_CPU_NAME" in setting:
                setting = setting | {"NUMBA_CACHE_DIR": compiled}
            print(f"== {name}", flush=True)
            with load(0 if setting else 2 * (os.cpu_count() or 1)):
                done = subprocess.run([sys.executable, "-m", "pytest", *arguments], env=os.environ | setting)
            failed += [name] if done.returncode else []
    print(f"failed under: {', '.join(failed) or 'none of the settings'}")
    return len(failed)


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            print(json.dumps(digests(), indent=1))
        case ["--fits", *names]:
            print(json.dumps(digests(names), indent=1))
        case arguments:
            sys.exit(suite(arguments))
