"""On pure noise no chain of commands reports a test loss better than the constant's by more than chance.

Where nothing can be learned, a model that never met its test rows is worse on them than the shares, or the mean, of its
training rows: by what it overfits. One that met them is better. Of 50 datasets of noise, each with its own seed, the
mean of the constant's loss less the model's, as the commands print both, is thus not above three standard errors. Three
quarters of the rows are test rows, so that learning from them would show.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bgn.persist import read
from tests.command import call

SEEDS = 50
TEST_ROWS = 45  # of 60
# Questions that come from few rows, with amounts near 0: what is learned afterwards decides.
FIT = (
    "--test", TEST_ROWS / 60, "--max-terms", 6, "--max-features", 1, "--replacements", 0, "--folds", 0,
    "--validation", 0, "--max-linear", 0, "--shrinkage", 100,
)  # fmt: skip
POINTS = ("simplify", "--points", 5)
Step = tuple[Any, ...]
# A step is a command and its options; each reads the model of the one before.
CHAINS: dict[str, list[Step]] = {
    "many": [
        ("edit", "forbid", "a"), ("simplify", "--max-loss", 0.5), POINTS, ("distill", "--max-terms", 2),
        ("edit", "round", 1),
    ],
    "width": [(*POINTS, "--size", 2), ("edit", "round", 2), ("simplify", "--digits", 1)],
    "distilled": [("distill", "--max-terms", 3), ("simplify", "--max-loss", 1.0)],
}  # fmt: skip


def noise(path: Path, seed: int, classes: bool) -> None:
    """Write a dataset in which nothing tells the target."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(60, 4)).round(2), columns=list("abcd"))
    rows["y"] = rng.choice(["no", "yes"], 60) if classes else rng.normal(size=60).round(2)
    rows.to_csv(path, index=False)


def gain(folder: Path, seed: int, classes: bool, steps: list[Step]) -> float:
    """How much less than the constant's the test loss is that `bgn evaluate` reports at the end of a chain."""
    data, measure = folder / "noise.csv", "log_loss" if classes else "mse"
    noise(data, seed, classes)
    model = folder / "0.json"
    card = json.loads(call("fit", data, "-t", "y", *FIT, "--seed", seed, "--json", "-o", model).out)
    for number, (command, *options) in enumerate(steps, 1):
        out = folder / f"{number}.json"
        call(command, model, data, *options, "-o", out)
        model = out
    if "all" in steps[0]:  # nothing is called a test row, whatever the first model says
        assert "60 of 60 rows" in call("evaluate", model, data).err
        kept = read(folder / "0.json").held_out
        _rewrite(model, kept)
    text = json.loads(call("evaluate", model, data, "--json").out)
    assert text["rows"] == card["rows_test"] == TEST_ROWS
    result = text["scores"][measure]
    return float(card["figures"]["majority" if classes else "mean"][measure] - result)


def _rewrite(model: Path, held_out: Any) -> None:
    """Let a model file claim test rows."""
    content = json.loads(model.read_text())
    model.write_text(json.dumps(content | {"held_out": asdict(held_out)}))


def deviations(gains: list[float]) -> float:
    """The mean gain in standard errors of it."""
    return float(np.mean(gains) / (np.std(gains, ddof=1) / np.sqrt(len(gains))))


def test_points_learn_nothing_from_noise(tmp_path: Path) -> None:
    gains = [gain(tmp_path, seed, seed % 2 == 0, [POINTS]) for seed in range(SEEDS)]
    assert deviations(gains[::2]) <= 3.0
    assert deviations(gains[1::2]) <= 3.0


@pytest.mark.exhaustive
@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("chain", CHAINS)
def test_chains_learn_nothing_from_noise(tmp_path: Path, chain: str, classes: bool) -> None:
    gains = [gain(tmp_path, seed, classes, CHAINS[chain]) for seed in range(SEEDS)]
    assert deviations(gains) <= 3.0


@pytest.mark.exhaustive
@pytest.mark.parametrize("classes", [False, True])
def test_a_leak_would_be_seen(tmp_path: Path, classes: bool) -> None:
    gains = [gain(tmp_path, seed, classes, [(*POINTS, "--rows", "all")]) for seed in range(SEEDS)]
    assert deviations(gains) > 3.0


@pytest.mark.parametrize("steps", CHAINS.values(), ids=list(CHAINS))
def test_rows_of_an_unknown_file_are_training_rows(tmp_path: Path, steps: list[Step]) -> None:
    """The same rows in another order are a file that the model does not know: it keeps no test row of either."""
    data, turned, model = tmp_path / "noise.csv", tmp_path / "turned.csv", tmp_path / "0.json"
    noise(data, 0, True)
    pd.read_csv(data)[::-1].to_csv(turned, index=False)
    call("fit", data, "-t", "y", *FIT, "-q", "-o", model)
    for number, (command, *options) in enumerate(steps):
        out = tmp_path / f"{number + 1}.json"
        err = call(command, model, turned, *options, "-o", out).err
        assert ("all 60 rows are training rows now" in err) == (number == 0)
        model = out
    assert "60 of 60 rows" in call("evaluate", model, turned).err
    assert "has no such rows" in call("evaluate", model, turned, "--rows", "test", code=1).err
    assert "does not say which rows of" in call("evaluate", model, data).err
    assert "nobody knows which rows" in call("evaluate", model, data, "--rows", "test", code=1).err
