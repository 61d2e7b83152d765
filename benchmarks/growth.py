"""Accuracy, speed, memory and start-up of growth, each line beside what it is measured against.

Run: python benchmarks/growth.py [paper | parking | tiny | large | compact | speed | whole | memory | start ...]

Everything when nothing is named. The tables are found through BGN_DATA or downloaded. The protocol of the accuracy
lines: a quarter of the rows for testing, a fifth of the rest for validation (``train_test_split`` with the seed as
``random_state``, twice), mean squared error on the test rows, mean over the seeds.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from timing import by_turns
from timing import seconds as seconds_of

from bgn import BGNRegressor, GrowthSettings, datasets
from bgn.engines.raw_rows import RowsInMemory
from bgn.grow.directions.lasso import Lasso
from bgn.grow.layer import LayerGrowth, LayerSettings, Monitor
from bgn.grow.refit import Stagewise
from bgn.grow.rows import assign_rows

sys.path.insert(0, str(Path(__file__).parents[1]))


def splits(name: str, seeds: Iterable[int]) -> Iterable[tuple[int, tuple[np.ndarray, ...]]]:
    """Yield train, validation and test rows for each seed."""
    data = datasets.load(name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y, dtype=float)
    for seed in seeds:
        rest, X_test, y_rest, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
        X_train, X_val, y_train, y_val = train_test_split(rest, y_rest, test_size=0.2, random_state=seed)
        yield seed, (X_train, y_train, X_val, y_val, X_test, y_test)


def accuracy(
    name: str, seeds: Iterable[int], make: Callable[..., BGNRegressor], limit: float | None = None, against: str = ""
) -> None:
    """Fit on every split and print the mean test error, beside the limit where there is one."""
    errors, sizes, seconds = [], [], []
    for seed, (X, y, X_val, y_val, X_test, y_test) in splits(name, seeds):
        started = time.perf_counter()
        model = make(random_state=seed).fit(X, y, eval_set=(X_val, y_val))
        seconds.append(time.perf_counter() - started)
        errors.append(np.mean((model.predict(X_test) - y_test) ** 2))
        sizes.append("+".join(map(str, model.network_.widths)))
    mean = np.mean(errors)
    goal = ""
    if limit is not None:
        verdict = "reached" if mean <= limit else f"not reached: {mean / limit:.2f} times"
        goal = f"{against} {limit:g}: {verdict}   "
    print(f"{name:12} {mean:10.4g}   {goal}(widths {' '.join(sizes)}; {np.mean(seconds):.1f} s a fit)", flush=True)


def paper() -> None:
    """The paper's algorithm against its printed figures."""
    print("As in the paper, seeds 0-2")
    for name, limit in (("power_plant", 17.2), ("housing", 0.32), ("bike", 3574)):
        accuracy(name, range(3), BGNRegressor.as_in_paper, limit, "printed")


def parking() -> None:
    """The one printed figure that stagewise growth does not explain."""
    from experiments.accuracy import LARGE
    from experiments.data import build

    wide = {"max_terms": 1000, "patience": 100, "max_replacements": 0, "shrinkage": 1.0}
    for setting in (wide, LARGE):
        print(f"Parking, output weights refitted, {setting}, seed 0")
        accuracy("parking", [0], lambda setting=setting, **more: build(BGNRegressor, setting | more), 6955, "printed")


def tiny() -> None:
    """Default settings on the small tables, LassoCV on the same rows beside them."""
    print("Default settings on the small tables, seeds 0-9")
    for name in ("diabetes", "chickenpox", "istanbul"):
        accuracy(name, range(10), BGNRegressor)
        linear = [
            np.mean((make_pipeline(StandardScaler(), LassoCV()).fit(X, y).predict(X_test) - y_test) ** 2)
            for _, (X, y, _, _, X_test, y_test) in splits(name, range(10))
        ]
        print(f"{'':12} {np.mean(linear):10.4g}   LassoCV on the same training rows")


def large() -> None:
    """Accuracy when size is no concern."""
    from experiments.accuracy import LARGE
    from experiments.data import build

    larger = LARGE | {"max_terms": 1500, "shrinkage": 500.0, "patience": 100}  # longer than the study's setting
    print(f"Size no concern, {larger}, seeds 0-2")
    for name, limit in (("power_plant", 13.2), ("housing", 0.26), ("bike", 2900)):
        accuracy(name, range(3), lambda **more: build(BGNRegressor, larger | more), limit, "wanted")


def compact() -> None:
    """Few neurons and no linear terms, beside growing once."""
    for size in (5, 10, 20):
        print(f"max_linear=0, at most {size} neurons, seeds 0-2; then sweeps=0")
        for name in ("housing", "bike", "power_plant", "parking"):
            for sweeps in ("auto", 0):
                setting = {"max_terms": size, "max_linear": 0, "growth": GrowthSettings(sweeps=sweeps)}
                accuracy(name, range(3), lambda s=setting, **more: BGNRegressor(**s, **more))


def fastest(call: Callable[[], object], repeats: int) -> float:
    """Least wall time of several calls, after one that compiles and warms."""
    return seconds_of(call, repeats, min)


def grown(rows: int, size: int, threads: int) -> LayerGrowth:
    """A stagewise layer of two-feature rules on made-up rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 8))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.normal(size=rows)
    engines, _ = assign_rows(RowsInMemory(X, y, threads=threads), None, 0.0, 0)
    growth = LayerGrowth(
        engines, Lasso(engines.train, 2), Stagewise(1.0), LayerSettings(size, 0, None),
        np.random.default_rng(0), Monitor(), 0,
    )  # fmt: skip
    growth.grow()
    return growth


def attempts(growth: LayerGrowth) -> None:
    """Look for a replacement of each rule; what is found is not put in."""
    for slot in range(growth.state.n_rules):
        output = growth.fitter.without(growth.state, slot)
        directions = growth.finder.propose(output, growth.fitter.others(growth.rows.train, growth.state, slot))
        for cut in growth.rows.train.cuts(directions):
            if cut is not None:
                growth.fitter.step(growth.rows.train, growth.state, slot, cut, 1.0)


def speed() -> None:
    """A replacement attempt against a sort; a neuron against the paper's definitions; threads; growth of cost."""
    per_attempt = {}
    for rows, limit in ((10_000, None), (20_000, 0.2), (100_000, None), (1_000_000, 0.1)):
        growth = grown(rows, 10, 1)
        z = np.random.default_rng(1).normal(size=rows)
        repeats = max(10, 2_000_000 // rows)
        sort = fastest(lambda z=z: np.argsort(z, kind="stable"), repeats)
        per_attempt[rows] = fastest(lambda g=growth: attempts(g), repeats) / growth.state.n_rules
        ratio = per_attempt[rows] / sort
        wanted = "" if limit is None else f", wanted {limit}"
        print(f"replacement attempt, {rows:>9,} rows: {ratio:.3f} of numpy's stable argsort{wanted}", flush=True)
        if rows == 1_000_000:
            threaded = grown(rows, 10, 2)
            one, two = by_turns([lambda g=growth: attempts(g), lambda g=threaded: attempts(g)], 20)
            print(f"two threads, {rows:,} rows: {one / two:.2f} times one, wanted 1.6")
    exponent = np.polyfit(np.log(list(per_attempt)), np.log(list(per_attempt.values())), 1)[0]
    print(f"slope of log time against log rows, 1e4 to 1e6: {exponent:.2f}, wanted at most 1.1")
    literal()


def literal() -> None:
    """Seconds a neuron, against the definitions written out with scikit-learn's Lasso and a loop over splits.

    Without replacements, a neuron is looked for once. As in the paper, it is looked for again with every replacement
    that is tried, in the literal program as in ours: the time to look once is compared, all else included.
    """
    from experiments.timing import literal_neuron

    _, (X, y, *_) = next(iter(splits("power_plant", [0])))
    residual = y - y.mean()
    for name, replacements in (("without replacements", 0), ("as in the paper", None)):
        growth = GrowthSettings(max_replacements=replacements, sweeps=0, patience=None)
        limits = {"max_layers": 1, "max_terms": 50, "growth": growth}
        model = BGNRegressor.as_in_paper(**limits, n_jobs=1, random_state=0)
        slow, quick = by_turns([lambda: literal_neuron(X, residual), lambda m=model: m.fit(X, y)], 10)
        with patch.object(Lasso, "propose", autospec=True, side_effect=Lasso.propose) as look:
            model.fit(X, y)
        ratio = slow / (quick / look.call_count)
        print(f"a neuron on power plant, {name}: {ratio:,.0f} times faster than the literal program, wanted 1,000")


def whole() -> None:
    """The whole of the paper's algorithm on housing."""
    _, (X, y, X_val, y_val, *_) = next(iter(splits("housing", [0])))
    started = time.perf_counter()
    model = BGNRegressor.as_in_paper(random_state=0).fit(X, y, eval_set=(X_val, y_val))
    minutes = (time.perf_counter() - started) / 60
    sizes = [len(path) - 1 for path in model.history_.paths]
    print(f"as_in_paper on housing: {minutes:.1f} minutes, widths grown {sizes}; the paper: 156.5; wanted under 3")


_MEMORY = """
import numpy as np
from bgn import BGNRegressor, GrowthSettings
rng = np.random.default_rng(0)
BGNRegressor(max_terms=2).fit(rng.normal(size=(100, 20)), rng.normal(size=100))
X = rng.normal(size=(1_000_000, 20))
y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
before = peak()
BGNRegressor(max_terms=50, growth=GrowthSettings(max_replacements=0, patience=None), random_state=0).fit(X, y)
print((peak() - before) * 1024 / X.nbytes)
"""


def memory() -> None:
    """Peak memory of a fit of 1,000,000 x 20 rows, width 50, above what holds X and y already."""
    ratio = float(subprocess.run([sys.executable, "-c", _MEMORY], capture_output=True, text=True, check=True).stdout)
    print(f"1,000,000 x 20 rows, width 50: {ratio:.2f} times the size of X above it, wanted at most 2.5")


_START = """
import time
from sklearn.datasets import load_diabetes
from bgn import BGNRegressor
X, y = load_diabetes(return_X_y=True)
started = time.perf_counter()
BGNRegressor(random_state=0).fit(X, y)
print(time.perf_counter() - started)
"""


def start() -> None:
    """Wall time of a fit of diabetes and of the process around it, without and with compiled code in the cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for label, wanted in (("first fit on a machine", 20), ("the next process's", 2), ("the next process's", 2)):
            started = time.perf_counter()
            fit = subprocess.run([sys.executable, "-c", _START], env=environment, check=True, capture_output=True)
            process = time.perf_counter() - started
            print(f"{label}: {float(fit.stdout):.1f} s, wanted under {wanted}; with imports {process:.1f} s")


ALL = (start, speed, whole, memory, compact, tiny, paper, large, parking)
SECTIONS = {section.__name__: section for section in ALL}


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(SECTIONS)
    for unknown in set(chosen) - set(SECTIONS):
        sys.exit(f"no section {unknown!r}; there are {', '.join(SECTIONS)}")
    for section in chosen:
        SECTIONS[section]()
        print(f"[{section}: peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB]\n")
