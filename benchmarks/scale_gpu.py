"""A GPU: a cut against a sort, growth of cost with the rows, and the same fits on two CPU cores.

The section ``gpu`` of ``benchmarks/scale.py``; figures go to ``benchmarks/results/scale_gpu.json`` too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bgn import BGNRegressor, GrowthSettings
from bgn.engines.protocol import CutRequest, Output
from bgn.model.term import Projection
from bgn.whole_file import write_whole

RESULTS = Path(__file__).parent / "results" / "scale_gpu.json"
EMPTY = Output(np.zeros(0, np.int64), 0)
SETTINGS: dict[str, dict[str, Any]] = {
    "lasso": {"max_terms": 20, "replacements": 20, "direction": "lasso", "output": "stagewise"},
    "search": {"max_terms": 20, "replacements": 20},
}


def rows(number: int, columns: int = 10) -> tuple[Any, Any]:
    """Made-up rows of float32 on the GPU, and their targets."""
    import torch

    torch.manual_seed(0)
    X = torch.randn((number, columns), device="cuda")
    y = X[:, 0] + torch.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + torch.randn(number, device="cuda")
    return X, y.double()


def fastest(call: Callable[[], object], repeats: int = 5) -> float:
    """Least wall time of several calls, after one that warms; what runs on the GPU is waited for."""
    import torch

    times = []
    for _ in range(repeats + 1):
        torch.cuda.synchronize()
        started = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return min(times[1:])


def fitted(X: Any, y: Any, replacements: int = 10, **settings: Any) -> tuple[float, BGNRegressor]:
    """Seconds of a fit, and the model."""
    started = time.perf_counter()
    growth = GrowthSettings(replacements, patience=None)
    model = BGNRegressor(growth=growth, random_state=0, **settings).fit(X, y)
    return time.perf_counter() - started, model


def gpu() -> None:
    """on a CUDA GPU: a cut against torch's sort, time a neuron, speed against two cores, 100,000,000 rows"""
    import torch

    if not torch.cuda.is_available():
        print("there is no CUDA GPU here: nothing is measured")
        return
    from experiments.code import commit

    record: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "commit": commit()}
    fitted(*rows(10_000), max_terms=2)
    for part in (cut, rules, against_two_cores, largest):
        record[part.__name__] = part()
        torch.cuda.empty_cache()
        RESULTS.parent.mkdir(exist_ok=True)
        write_whole(RESULTS, (json.dumps(record, indent=1) + "\n").encode())


def cut(number: int = 100_000_000) -> dict[str, float]:
    """A cut of a two-column direction against torch's sort of its projection."""
    import torch

    from bgn.engines.gpu.engine import TensorEngine, project
    from bgn.engines.gpu.tensors import RawTensors
    from bgn.engines.raw_rows import Plan
    from bgn.grow.losses import LOSSES

    X, y = rows(number, 4)
    loss = LOSSES["squared"].over(float(y.min()), float(y.max()), number)
    engine = TensorEngine(RawTensors(X.T, y).part(Plan(0, None, loss), False), loss)
    direction = Projection((0, 2), (1.0, -0.37))
    z = project(engine.part.columns, direction)
    seconds = {
        "sort": fastest(lambda: torch.sort(z)),
        "cut": fastest(lambda: list(engine.cuts([CutRequest(EMPTY, direction)]))),
        "cut in a window": fastest(lambda: list(engine.cuts([CutRequest(EMPTY, direction, (-0.1, 0.1))]))),
    }
    for name, value in seconds.items():
        print(f"{name}, {number:,} rows: {1e3 * value:.1f} ms, {value / seconds['sort']:.2f} of the sort", flush=True)
    return seconds


def rules() -> dict[str, Any]:
    """Seconds a neuron, and the slope of its logarithm against that of the rows."""
    record: dict[str, Any] = {}
    for number in (100_000, 1_000_000, 10_000_000, 100_000_000):
        seconds, _ = min((fitted(*rows(number), max_terms=5, replacements=5) for _ in range(2)), key=lambda f: f[0])
        record[str(number)] = seconds / 5
        print(f"{number:>11,} rows x 10: {seconds / 5:.4f} s a neuron", flush=True)
    per_rule = [record[key] for key in record]
    record["slope"] = float(np.polyfit(np.log([float(key) for key in record]), np.log(per_rule), 1)[0])
    print(f"slope of log time against log rows: {record['slope']:.2f}, wanted at most 1.1")
    return record


def against_two_cores(number: int = 10_000_000) -> dict[str, Any]:
    """The same fits on the GPU, the fastest of five, and on two cores of this machine, one; networks must be equal."""
    X, y = rows(number)
    arrays = X.cpu().numpy(), y.cpu().numpy()
    record: dict[str, Any] = {}
    for name, settings in SETTINGS.items():
        quick, model = min((fitted(X, y, **settings) for _ in range(5)), key=lambda f: f[0])
        slow, other = fitted(*arrays, n_jobs=2, **settings)
        same = model.network_ == other.network_
        record[name] = {"gpu": quick, "two cores": slow, "ratio": slow / quick, "same": same}
        print(
            f"{number:,} rows x 10, {settings}: {quick:.2f} s; two cores {slow:.1f} s: {slow / quick:.0f} times; "
            f"the same network: {record[name]['same']}",
            flush=True,
        )
    return record


def largest(number: int = 100_000_000) -> dict[str, Any]:
    """A hundred million rows, width 20, 20 replacements an addition."""
    import torch

    X, y = rows(number)
    torch.cuda.reset_peak_memory_stats()
    seconds, model = fitted(X, y, max_terms=20, replacements=20)
    steps = len(model.history_.records)
    peak = torch.cuda.max_memory_allocated() / 2**30
    started = time.perf_counter()
    error = float(((model.predict(X) - y) ** 2).mean())
    print(
        f"{number:,} rows x 10, width 20, 20 replacements an addition: {seconds:.1f} s, {steps} accepted steps, "
        f"peak {peak:.1f} GiB; predicted in {time.perf_counter() - started:.2f} s, mean squared error {error:.4f}"
    )
    return {"seconds": seconds, "steps": steps, "peak GiB": peak, "mse": error}
