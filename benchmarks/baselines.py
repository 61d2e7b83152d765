"""Accuracy and speed of the gradient-trained baselines, one command a figure.

    python benchmarks/baselines.py --accuracy diabetes power_plant
    python benchmarks/baselines.py --single-fit
    python benchmarks/baselines.py --stacked
    python benchmarks/baselines.py --gpu-grid --out housing.json

Tables come from the folder named by BGN_DATA. ``--accuracy`` measures on splits 0 to 9 of every table (``--splits N``
for 0 to N - 1), and with several seeds on each where ``--seeds`` says so. ``--device cuda`` (or ``auto``) moves it to a
GPU; ``--quick`` tries one setting of each method's own parameters; ``--store FOLDER`` lets an interrupted run go on.
``--gpu-grid`` is the paper's whole grid for California housing: 486 combinations, three seeds. What stands in
``benchmarks/results`` names its command.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import timing
import torch
from sklearn.linear_model import LinearRegression
from torch import nn

from bgn import datasets
from bgn.baselines import Config, GridResult, Split, grid_search, paper_grid, train_many
from bgn.baselines.data import batches
from bgn.whole_file import write_whole

METHODS = ("bnn", "bnn_plus", "bireal", "quantization", "binaryconnect")
SEEDS = (0, 1, 2)
SPLITS = 10  # 0 to 9, for every table
QUICK = {"bnn_plus": {"sharpness": 5.0, "penalty": "l1", "penalty_strength": 1e-6}, "quantization": {"sharpness": 5.0}}


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a table's rows and targets."""
    data = datasets.load(name)
    return np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)


def grid(method: str, args: argparse.Namespace, reduced: bool) -> list[Config]:
    """Return the combinations to try: the paper's, or those of widths 100 and 500 and depths 1 and 2.

    Batches are as an estimator chooses them, by the rows it is given: 64 rows on power plant, where the paper, counting
    the rows of the whole table, takes 512.
    """
    sizes = {"widths": (100, 500), "depths": (1, 2)} if reduced else {}
    configs = paper_grid(method, **sizes)
    own = QUICK.get(method, {}) if args.quick else {}
    chosen = [config for config in configs if all(getattr(config, key) == value for key, value in own.items())]
    return [replace(config, max_epochs=args.max_epochs, batch_size=args.batch_size or "auto") for config in chosen]


def least_squares(split: Split) -> float:
    """Return the test error of a linear fit to all rows that are not test rows."""
    model = LinearRegression().fit(np.vstack([split.X, split.X_validation]), np.r_[split.y, split.y_validation])
    return float(np.mean((model.predict(split.X_test) - split.y_test) ** 2))


def accuracy(name: str, args: argparse.Namespace) -> dict[str, dict[str, object]]:
    """Print every method's mean test error, and that of least squares; the splits are the same for every table.

    One combination is chosen by its mean validation error over all splits and seeds.
    """
    X, y = table(name)
    figures: dict[str, dict[str, object]] = {}
    seeds, each = range(args.splits * args.seeds), args.seeds
    splits = [Split.at_random(X, y, seed=k) for k in range(args.splits)]
    print(f"{name} least squares  test MSE {statistics.fmean(map(least_squares, splits)):8.2f}", flush=True)
    for method in args.methods:
        begun = time.perf_counter()
        configs = grid(method, args, reduced=True)
        store = Path(args.store) / f"{name}-{method}.jsonl" if args.store else None
        best = grid_search(configs, lambda seed: splits[seed // each], seeds, store, args.device).best
        seconds = time.perf_counter() - begun
        tests = [run.test_mse for run in best.runs]
        means = [statistics.fmean(tests[k : k + each]) for k in range(0, len(tests), each)]
        figures[method] = {
            "test_mse": best.test_mse,
            "standard_error": statistics.stdev(means) / len(means) ** 0.5,
            "validation_mse": best.validation_mse,
            "seconds": seconds,
            "best": asdict(best.config),
        }
        shown = f"{best.config.hidden_layers}, rate {best.config.learning_rate}"
        print(
            f"{name} {method:14} test MSE {best.test_mse:8.2f} +- {figures[method]['standard_error']:.2f}, "
            f"{seconds:.0f} s, {shown}",
            flush=True,
        )
    return figures


class Step(torch.autograd.Function):
    """A step of -1 and 1 with the clipped straight-through slope, as one would write it in torch."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, u: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(u)
        return (u >= 0).to(u.dtype) * 2 - 1

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, slope: torch.Tensor) -> torch.Tensor:
        (u,) = ctx.saved_tensors
        return slope * (u.abs() <= 1)


class Activation(nn.Module):
    """The step as a module."""

    def forward(self, u: torch.Tensor) -> torch.Tensor:
        return Step.apply(u)


def plain_fit(config: Config, split: Split) -> float:
    """Train the same network as an ordinary torch module; return the last validation error."""
    layers: list[nn.Module] = []
    width = split.X.shape[1]
    for size in config.hidden_layers:
        layers += [nn.Linear(width, size, bias=False), nn.BatchNorm1d(size), Activation()]
        width = size
    model = nn.Sequential(*layers, nn.Linear(width, 1))
    optimiser = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.1, patience=5)
    x, y, x_held, y_held = (
        torch.tensor((part - part.mean(0)) / part.std(0), dtype=torch.float32)
        for part in (split.X, split.y[:, None], split.X_validation, split.y_validation[:, None])
    )
    bounds = batches(len(x), int(config.batch_size))
    error = float("nan")
    for _ in range(config.max_epochs):
        model.train()
        order = torch.randperm(len(x))
        for low, high in bounds:
            optimiser.zero_grad()
            rows = order[low:high]
            nn.functional.mse_loss(model(x[rows]), y[rows]).backward()
            optimiser.step()
        model.eval()
        with torch.no_grad():
            error = nn.functional.mse_loss(model(x_held), y_held).item()
        plateau.step(error)
    return error


def single_fit(args: argparse.Namespace) -> dict[str, object]:
    """Print how long one fit takes, beside an ordinary torch module with the same layers and batches."""
    figures: dict[str, object] = {}
    for name, widths, size in (("diabetes", (100,), 64), ("diabetes", (500, 500), 64), ("power_plant", (500,), 512)):
        X, y = table(name)
        split = Split.at_random(X, y, seed=0)
        config = Config("bnn", widths, 0.01, batch_size=size, max_epochs=30, patience=30)
        ours = timing.seconds(lambda: train_many([config], split), 3, min)  # noqa: B023
        plain = timing.seconds(lambda: plain_fit(config, split), 3, min)  # noqa: B023
        figures[f"{name} {widths}"] = {"seconds": ours, "plain_torch_seconds": plain, "ratio": plain / ours}
        print(f"{name:12} {widths!s:12} {ours:6.2f} s, plain torch {plain:6.2f} s: {plain / ours:.2f} times as fast")
    return figures


def stacked(args: argparse.Namespace) -> dict[str, object]:
    """Print how long 27 small models take at once and one after another."""
    X, y = table("diabetes")
    split = Split.at_random(X, y, seed=0)
    figures: dict[str, object] = {}
    for method in args.methods:
        configs = [
            Config(method, (100,), rate, seed, batch_size=64, max_epochs=30, patience=30, sharpness=5.0)
            for rate in (0.1, 0.01, 0.001)
            for seed in range(9)
        ]
        ways = [lambda: train_many(configs, split), lambda: [train_many([c], split) for c in configs]]  # noqa: B023
        together, apart = timing.by_turns(ways, 5)
        figures[method] = {"together_seconds": together, "apart_seconds": apart, "ratio": apart / together}
        print(
            f"{method:14} 27 models {together:6.2f} s, one after another {apart:6.2f} s: {apart / together:.2f} times"
        )
    return figures


def gpu_grid(args: argparse.Namespace) -> dict[str, object]:
    """Run the paper's whole grid for housing on the GPU and print what it took."""
    torch.set_float32_matmul_precision("high" if args.tf32 else "highest")
    X, y = table("housing")
    begun = time.perf_counter()
    figures: dict[str, object] = {}
    for method in args.methods:
        started = time.perf_counter()
        configs = grid(method, args, reduced=False)
        store = Path(args.store) / f"housing-{method}.jsonl" if args.store else None
        device = "cuda" if args.device == "cpu" else args.device
        result = grid_search(configs, lambda seed: Split.at_random(X, y, seed=seed), SEEDS, store, device)
        figures[method] = summary(result) | {"seconds": time.perf_counter() - started}
        print(method, json.dumps(figures[method]), flush=True)
    total = time.perf_counter() - begun
    print(f"the whole grid: {total:.0f} s")
    return {
        "methods": figures,
        "seconds": total,
        "tf32": args.tf32,
        "peak_memory_gib": torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else None,
    }


def summary(result: GridResult) -> dict[str, object]:
    """Return the figures of one method's search that are worth recording."""
    best = result.best
    return {
        "combinations": len(result.choices()),
        "runs": len(result.runs),
        "mean_epochs": statistics.fmean(run.epochs for run in result.runs),
        "diverged": sum(run.note is not None for run in result.runs),
        "validation_mse": best.validation_mse,
        "test_mse": best.test_mse,
        "best": asdict(best.config),
    }


def machine() -> dict[str, object]:
    """Return what the figures depend on besides the command."""
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"gpu": name, "torch": torch.__version__, "threads": torch.get_num_threads()}


def main() -> None:
    """Read the command line, run what it names, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--accuracy", metavar="TABLE", nargs="+", default=(), help="test errors on tables, reduced grid"
    )
    parser.add_argument("--splits", type=int, default=SPLITS, help="splits for --accuracy, from 0 on, at least 2")
    parser.add_argument("--seeds", type=int, default=1, help="runs of a combination on each split for --accuracy")
    parser.add_argument("--single-fit", action="store_true", help="one fit against a plain torch module")
    parser.add_argument("--stacked", action="store_true", help="27 small models at once against one after another")
    parser.add_argument("--gpu-grid", action="store_true", help="the paper's grid for housing on a GPU")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda", "auto"))
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--quick", action="store_true", help="one setting of each method's own parameters")
    parser.add_argument("--max-epochs", type=int, default=200)
    parser.add_argument("--batch-size", type=int, help="rows in a batch; by the rows given if not named")
    parser.add_argument("--tf32", action="store_true", help="let the GPU round matrix products of the grid to TF32")
    parser.add_argument("--store", help="folder of finished runs, to go on after an interruption")
    parser.add_argument("--out", help="file for the figures, as JSON")
    args = parser.parse_args()
    figures: dict[str, object] = {}
    for name in args.accuracy:
        figures[f"accuracy {name}"] = accuracy(name, args)
    if args.single_fit:
        figures["single fit"] = single_fit(args)
    if args.stacked:
        figures["stacked"] = stacked(args)
    if args.gpu_grid:
        figures["grid for housing"] = gpu_grid(args)
    if not figures:
        parser.error("name at least one of --accuracy, --single-fit, --stacked, --gpu-grid")
    if args.out:
        command = shlex.join(["python", *sys.argv])
        written = json.dumps({"command": command} | machine() | figures, indent=2)
        write_whole(args.out, f"{written}\n".encode())


if __name__ == "__main__":
    main()
