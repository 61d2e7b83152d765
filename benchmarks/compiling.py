"""The first fit on a machine: how long it takes, and which loops it compiles.

``python -m benchmarks.compiling`` times first and second fits, each in a process of its own, without anything on disk
at first. ``python -m benchmarks.compiling --list`` writes ``src/bgn/loops.txt`` anew.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Loops inside others that take longer than this many seconds are compiled by themselves, and so many lines before.
_LONG = 0.5
_BETWEEN = 3
LIST = Path(__file__).parents[1] / "src" / "bgn" / "loops.txt"
# Fits that a newcomer may begin with, by what they predict: of a few rows, which are cross-validated, and of many.
FITS = {
    kind: [(estimator, rows) for rows in (400, 20000)]
    for kind, estimator in {"numbers": "BGNRegressor", "classes": "BGNClassifier"}.items()
}


def fit(estimator: str, rows: int) -> None:
    """Fit a model of ten questions to made rows; print the seconds for importing and for fitting."""
    started = time.perf_counter()
    import numpy as np

    import bgn

    kind = getattr(bgn, estimator)  # loads scikit-learn, too
    imported = time.perf_counter()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 6))
    y = X[:, 0] + (X[:, 1] > 0) + 0.5 * rng.normal(size=rows)
    model = kind(max_terms=10, random_state=0)
    model.fit(X, y > 1 if estimator == "BGNClassifier" else y)
    print(imported - started, time.perf_counter() - imported)


def _timed(kind: str, rows: int, cache: str) -> tuple[float, float]:
    imported, fitted = _run(f"from benchmarks.compiling import fit; fit({kind!r}, {rows})", cache).split()
    return float(imported), float(fitted)


def _run(code: str, cache: str) -> str:
    """What a new process prints, with compiled code in a folder of its own."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    return subprocess.run([sys.executable, "-c", code], env=environment, stdout=-1, text=True, check=True).stdout


def times() -> None:
    """Print what first and second fits take, beside the import, and the processor time of the first with its import."""
    print(f"{'fit':>24} {'import':>8} {'first fit':>10} {'processor':>10} {'second process':>15}")
    for fits in FITS.values():
        for kind, rows in fits:
            with tempfile.TemporaryDirectory() as cache:
                before = os.times()
                imported, first = _timed(kind, rows, cache)
                after = os.times()
                worked = after.children_user - before.children_user + after.children_system - before.children_system
                second = _timed(kind, rows, cache)[1]
            print(f"{kind:>17} {rows:>6} {imported:8.1f} {first:10.1f} {worked:10.1f} {second:15.1f}")


def called() -> list[str]:
    """The loops that this process has asked for, with the types of their arguments."""
    from numba.core.registry import CPUDispatcher

    from bgn.compiling import write_type

    loops = []
    for name, module in sorted(sys.modules.items()):
        for kernel in list(vars(module).values()) if name.startswith("bgn.") else ():
            if isinstance(kernel, CPUDispatcher) and kernel.py_func.__module__ == name:
                place = f"{name}.{kernel.py_func.__name__}"
                loops += [" ".join([place, *map(write_type, signature)]) for signature in kernel.overloads]
    return loops


def tell(estimator: str, rows: int) -> None:
    """Fit, and print the loops that were asked for, each with the seconds it took and the loops compiled inside it."""
    from numba.core import event

    import bgn.compiling

    bgn.compiling._done |= {*FITS}  # each when it is called
    with event.install_recorder("numba:compile") as recorded:
        fit(estimator, rows)
    spans = list(_spans(recorded.buffer))
    for line in called():
        mine = [(began, ended) for began, ended, name in spans if name == line.split(" ")[0]]
        inside = {name for began, ended, name in spans for low, high in mine if low < began and ended < high}
        print(sum(ended - began for began, ended in mine), ",".join(sorted(inside)) or "-", line)


def _spans(events: Any) -> Iterator[tuple[float, float, str]]:
    """Yield when the compiler began a loop of ours, when it ended, and the loop's name."""
    begun = []
    for moment, event in events:
        kernel = event.data["dispatcher"].py_func
        if event.is_start:
            begun.append(moment)
        elif kernel.__module__.startswith("bgn."):
            yield begun.pop(), moment, f"{kernel.__module__}.{kernel.__name__}"
        else:
            begun.pop()


def write_list() -> None:
    """Find out what each kind of fit asks for, and write it down: the longest first, after the long ones inside it."""
    took, kinds, inside = dict[str, float](), dict[str, set[str]](), dict[str, set[str]]()
    for kind, fits in FITS.items():
        for estimator, rows in fits:
            code = f"from benchmarks.compiling import tell; tell({estimator!r}, {rows})"
            with tempfile.TemporaryDirectory() as cache:
                first, second = (_run(code, cache).splitlines()[1:] for _ in range(2))
            # Now that all is on disk, no loop asks for those inside.
            requested = {line.split(" ", 2)[2] for line in second}
            for line in first:
                seconds, names, loop = line.split(" ", 2)
                took[loop] = max(took.get(loop, 0.0), float(seconds))
                inside[loop] = inside.get(loop, set()) | {*names.split(",")}
                if loop in requested or float(seconds) > _LONG:
                    kinds.setdefault(loop, set()).add(kind)
    names = {loop: loop.split(" ")[0] for loop in kinds}
    within = {loop: [other for other in kinds if names[other] in inside[loop]] for loop in kinds}
    own = {loop: took[loop] - sum(took[other] for other in _outermost(within[loop], within)) for loop in kinds}
    ordered = list[str]()
    for loop in sorted(kinds, key=lambda loop: (len(within[loop]), -own[loop])):
        place = next((k for k, other in enumerate(ordered) if own[other] < own[loop]), len(ordered))
        after = max((ordered.index(other) + 1 + _BETWEEN for other in within[loop]), default=0)
        ordered.insert(max(place, after), loop)
    LIST.write_text("".join(f"{'+'.join(sorted(kinds[loop]))} {loop}\n" for loop in ordered))


def _outermost(loops: list[str], within: dict[str, list[str]]) -> list[str]:
    """Those of some loops that are inside no other of them."""
    return [loop for loop in loops if not any(loop in within[other] for other in loops)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="write src/bgn/loops.txt anew")
    write_list() if parser.parse_args().list else times()
