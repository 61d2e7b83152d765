"""The paper's grids, and a search over them that can be interrupted.

A combination is chosen by its validation error, mean over seeds; test errors are recorded and never decide.
Finished runs are appended to a file, one line of JSON each; a search that finds them there does not repeat them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from bgn.baselines.config import Config, Trained
from bgn.baselines.data import Split, automatic_batch_size
from bgn.baselines.training import train_stacks
from bgn.inputs.arguments import chosen
from bgn.whole_file import write_whole

_OWN: dict[str, list[dict[str, Any]]] = {
    "bnn": [{}],
    "bnn_plus": [
        {"sharpness": beta, "penalty": penalty, "penalty_strength": strength}
        for beta, penalty, strength in product((1.0, 2.0, 5.0), ("l1", "l2"), (1e-6, 1e-7))
    ],
    "bireal": [{}],
    "quantization": [{"sharpness": temperature} for temperature in (5.0, 10.0, 20.0)],
    "binaryconnect": [{}],
}


def paper_grid(
    method: str,
    rows: int | None = None,
    widths: Iterable[int] = (100, 500, 1000),
    depths: Iterable[int] = (1, 2, 3),
    learning_rates: Iterable[float] = (0.1, 0.01, 0.001),
) -> tuple[Config, ...]:
    """Return the combinations the paper tries for a method: 27, 81 or 324.

    Parameters
    ----------
    method : {"bnn", "bnn_plus", "bireal", "quantization", "binaryconnect"}
    rows : int, optional
        Rows of the whole table, test rows included, which decide the paper's batch size; without it every fit
        decides by the rows it sees.
    widths, depths, learning_rates : iterables, optional
        Fewer of them for a reduced grid.

    Returns
    -------
    tuple of Config
        With seed 0; :func:`grid_search` sets the seeds.

    Examples
    --------
    >>> from bgn.baselines import paper_grid
    >>> [len(paper_grid(method)) for method in ("bnn", "quantization", "bnn_plus")]
    [27, 81, 324]
    """
    chosen("method", method, tuple(_OWN))
    size = "auto" if rows is None else automatic_batch_size(rows)
    return tuple(
        Config(method, (width,) * depth, rate, batch_size=size, **own)
        for width, depth, rate, own in product(widths, depths, learning_rates, _OWN[method])
    )


@dataclass(frozen=True)
class Run:
    """One run of a search: a configuration with its seed, and what came of it."""

    config: Config
    validation_mse: float
    test_mse: float | None
    epochs: int
    best_epoch: int
    seconds: float
    note: str | None


@dataclass(frozen=True)
class Choice:
    """A combination with its errors, means over seeds."""

    config: Config
    validation_mse: float
    test_mse: float | None
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class GridResult:
    """All runs of a search."""

    runs: tuple[Run, ...]

    def choices(self) -> list[Choice]:
        """Return the combinations, the best mean validation error first."""
        groups: dict[Config, list[Run]] = {}
        for run in self.runs:
            groups.setdefault(replace(run.config, seed=0), []).append(run)
        found = []
        for config, runs in groups.items():
            tests = [run.test_mse for run in runs if run.test_mse is not None]
            test = math.fsum(tests) / len(tests) if tests else None
            mean = math.fsum(run.validation_mse for run in runs) / len(runs)
            found.append(Choice(config, mean, test, tuple(runs)))
        return sorted(found, key=lambda choice: choice.validation_mse)

    @property
    def best(self) -> Choice:
        """The combination with the smallest mean validation error."""
        return self.choices()[0]


def grid_search(
    configs: Sequence[Config],
    split: Split | Callable[[int], Split],
    seeds: Sequence[int] = (0, 1, 2),
    store: str | Path | None = None,
    device: str = "cpu",
) -> GridResult:
    """Train every combination with every seed, as many at once as the device takes.

    Parameters
    ----------
    configs : sequence of Config
        For example :func:`paper_grid`.
    split : Split, or a function of the seed that returns one
        The rows; a function gives every seed its own.
    seeds : sequence of int, default (0, 1, 2)
    store : path, optional
        Where finished runs are kept; give the same path again to go on after an interruption.
    device : {"cpu", "cuda", "auto"}

    Returns
    -------
    GridResult

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.baselines import Split, grid_search, paper_grid
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> split = Split.at_random(X, np.sign(X[:, 0]), seed=0)
    >>> grid = paper_grid("bireal", widths=[8], depths=[1])
    >>> result = grid_search(grid, split, seeds=(0, 1))
    >>> len(result.runs), len(result.best.runs)
    (6, 2)
    """
    parts = {seed: split if isinstance(split, Split) else split(seed) for seed in seeds}
    prints = {seed: fingerprint(part) for seed, part in parts.items()}
    wanted = [replace(config, seed=seed) for config in configs for seed in seeds]
    done = _load(store)
    keys = [_key(config, prints[config.seed]) for config in wanted]
    missing = [i for i, key in enumerate(keys) if key not in done]
    stacks = train_stacks([wanted[i] for i in missing], [parts[wanted[i].seed] for i in missing], device)
    for members, models in stacks:
        fresh = {keys[missing[k]]: _run(model) for k, model in zip(members, models, strict=True)}
        done.update(fresh)
        _append(store, fresh)
    return GridResult(tuple(done[key] for key in keys))


def fingerprint(split: Split) -> str:
    """Return a digest of the rows, so that a store never answers for other rows."""
    digest = hashlib.sha256()
    for values in (split.X, split.y, split.X_validation, split.y_validation, split.X_test, split.y_test):
        digest.update(b"none" if values is None else values.tobytes())
    return digest.hexdigest()[:16]


def _run(model: Trained) -> Run:
    """Return what is worth keeping of a model."""
    return Run(
        config=model.config,
        validation_mse=model.validation_mse,
        test_mse=model.test_mse,
        epochs=len(model.history),
        best_epoch=model.best_epoch,
        seconds=model.seconds,
        note=model.note,
    )


def _key(config: Config, rows: str) -> str:
    """Return what names a run in a store."""
    return json.dumps([rows, asdict(config)], sort_keys=True)


def _load(store: str | Path | None) -> dict[str, Run]:
    """Return the finished runs of a store; a last line cut short by an interruption goes."""
    if store is None or not Path(store).exists():
        return {}
    text = Path(store).read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        write_whole(store, whole.encode("utf-8"))
    done = {}
    for line in whole.splitlines():
        entry = json.loads(line)
        config = entry["run"].pop("config")
        config["hidden_layers"] = tuple(config["hidden_layers"])
        done[entry["key"]] = Run(config=Config(**config), **entry["run"])
    return done


def _append(store: str | Path | None, fresh: dict[str, Run]) -> None:
    """Add finished runs to a store."""
    if store is None:
        return
    Path(store).parent.mkdir(parents=True, exist_ok=True)
    with open(store, "a", encoding="utf-8") as file:
        for key, run in fresh.items():
            file.write(json.dumps({"key": key, "run": asdict(run)}) + "\n")
