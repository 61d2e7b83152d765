"""Speed of the gradient-trained baselines, one command per figure; their accuracy is a study of `experiments`.

    python benchmarks/baselines.py --single-fit
    python benchmarks/baselines.py --stacked
    python benchmarks/baselines.py --gpu-grid --out housing.json

Tables come from the folder named by BGN_DATA. ``--gpu-grid`` is the paper's whole grid for California housing: 486
combinations, three seeds. What stands in ``benchmarks/results`` names its command.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import timing
import torch
from torch import nn

from bgn import datasets
from bgn.baselines import Config, Split, Trained, train_many
from bgn.baselines.data import batches
from bgn.whole_file import write_whole

sys.path.insert(0, str(Path(__file__).parents[1]))

METHODS = ("bnn", "bnn_plus", "bireal", "quantization", "binaryconnect")
SEEDS = (0, 1, 2)


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a table's rows and targets."""
    data = datasets.load(name)
    return np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)


class Step(torch.autograd.Function):
    """A step of -1 and 1 with the clipped straight-through slope, as one would write it in torch."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, u: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(u)
        return (u >= 0).to(u.dtype) * 2 - 1

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: torch.Tensor) -> torch.Tensor:
        (u,) = ctx.saved_tensors
        return gradient * (u.abs() <= 1)


class Activation(nn.Module):
    """The step as a module."""

    def forward(self, u: torch.Tensor) -> torch.Tensor:
        return Step.apply(u)


def plain_fit(config: Config, split: Split) -> float:
    """Train the same network as an ordinary torch module; return the last validation error."""
    layers: list[nn.Module] = []
    n_inputs = split.X.shape[1]
    for size in config.hidden_layers:
        layers += [nn.Linear(n_inputs, size, bias=False), nn.BatchNorm1d(size), Activation()]
        n_inputs = size
    model = nn.Sequential(*layers, nn.Linear(n_inputs, 1))
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
    for name, hidden, size in (("diabetes", (100,), 64), ("diabetes", (500, 500), 64), ("power_plant", (500,), 512)):
        X, y = table(name)
        split = Split.at_random(X, y, seed=0)
        config = Config("bnn", hidden, 0.01, batch_size=size, max_epochs=30, patience=30)
        ours = timing.seconds(lambda: train_many([config], split), 3, min)  # noqa: B023
        plain = timing.seconds(lambda: plain_fit(config, split), 3, min)  # noqa: B023
        figures[f"{name} {hidden}"] = {"seconds": ours, "plain_torch_seconds": plain, "ratio": plain / ours}
        print(f"{name:12} {hidden!s:12} {ours:6.2f} s, plain torch {plain:6.2f} s: {plain / ours:.2f} times as fast")
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
        together, separate = timing.by_turns(ways, 5)
        figures[method] = {"together_seconds": together, "apart_seconds": separate, "ratio": separate / together}
        print(
            f"{method:14} 27 models {together:6.2f} s, one after another {separate:6.2f} s: "
            f"{separate / together:.2f} times"
        )
    return figures


def gpu_grid(args: argparse.Namespace) -> dict[str, object]:
    """Run the paper's whole grid for housing on the GPU and print what it took."""
    from experiments.accuracy import grid

    torch.set_float32_matmul_precision("high" if args.tf32 else "highest")
    X, y = table("housing")
    splits = [Split.at_random(X, y, seed=seed) for seed in SEEDS]
    begun = time.perf_counter()
    figures: dict[str, object] = {}
    for method in args.methods:
        started = time.perf_counter()
        configs = [
            Config(method, seed=seed, **(parts | {"hidden_layers": tuple(parts["hidden_layers"])}))
            for parts in grid("housing", method, "full")
            for seed in SEEDS
        ]
        models = train_many(configs, [splits[config.seed] for config in configs], args.device)
        figures[method] = summary(models) | {"seconds": time.perf_counter() - started}
        print(method, json.dumps(figures[method]), flush=True)
    total = time.perf_counter() - begun
    print(f"the whole grid: {total:.0f} s")
    return {
        "methods": figures,
        "seconds": total,
        "tf32": args.tf32,
        "peak_memory_gib": torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else None,
    }


def summary(models: Sequence[Trained]) -> dict[str, object]:
    """Return figures of one method's models, and the combination with the least validation error, mean over seeds."""
    groups: dict[Config, list[Trained]] = {}
    for model in models:
        groups.setdefault(replace(model.config, seed=0), []).append(model)
    best = min(groups, key=lambda config: statistics.fmean(model.validation_mse for model in groups[config]))
    return {
        "combinations": len(groups),
        "runs": len(models),
        "mean_epochs": statistics.fmean(len(model.history) for model in models),
        "diverged": sum(model.note is not None for model in models),
        "validation_mse": statistics.fmean(model.validation_mse for model in groups[best]),
        "test_mse": statistics.fmean(model.test_mse for model in groups[best]),
        "best": asdict(best),
    }


def machine() -> dict[str, object]:
    """Return what the figures depend on besides the command."""
    from experiments.code import commit

    name = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"gpu": name, "torch": torch.__version__, "threads": torch.get_num_threads(), "commit": commit()}


def main() -> None:
    """Read the command line, run what it names, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--single-fit", action="store_true", help="one fit against a plain torch module")
    parser.add_argument("--stacked", action="store_true", help="27 small models at once against one after another")
    parser.add_argument("--gpu-grid", action="store_true", help="the paper's grid for housing")
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda", "auto"), help="where the grid runs")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--tf32", action="store_true", help="let the GPU round matrix products of the grid to TF32")
    parser.add_argument("--out", help="file for the figures, as JSON")
    args = parser.parse_args()
    figures: dict[str, object] = {}
    if args.single_fit:
        figures["single fit"] = single_fit(args)
    if args.stacked:
        figures["stacked"] = stacked(args)
    if args.gpu_grid:
        figures["grid for housing"] = gpu_grid(args)
    if not figures:
        parser.error("name at least one of --single-fit, --stacked, --gpu-grid")
    if args.out:
        command = shlex.join(["python", *sys.argv])
        written = json.dumps({"command": command} | machine() | figures, indent=2)
        write_whole(args.out, f"{written}\n".encode())


if __name__ == "__main__":
    main()
