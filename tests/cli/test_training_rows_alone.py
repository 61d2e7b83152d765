"""Whatever learns from a file learns from its training rows alone, through every command that writes a model.

The property: what test rows hold does not matter. Their targets are shuffled, or their values are replaced; the whole
chain of commands is run again, and every model that was saved is the same to the byte. Only what is measured on test
rows, the figures of a fit, differs. The commands and their options are those of the registry: a new one fails here
until it is tried below, or listed among those that write no model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from bgn.cli.app import bgn as registry
from bgn.cli.change import CHANGES
from bgn.inputs.splits import _TEST_SEED, edge_of, is_test, number_hashes
from bgn.model_rows import DataFile
from bgn.persist import read
from tests.command import call

ROWS = 90
CHEAP = ("--max-terms", 4, "--max-features", 1, "--replacements", 0, "--folds", 0)
TARGETS = ("cost", "ill", "grade")  # a number, yes or no, three classes
# Ways to fit, by the target that they are tried on.
FITS = [
    ("cost", ("--max-linear", 0, "--size", 3)),
    ("ill", ("--max-linear", 0, "--key", "person", "--unit", "weight=kg", "--missing", "impute")),
    ("grade", ("--max-linear", 0, "--max-terms", 2, "--validation", 0.3)),
    ("cost", ("--max-linear", 0, "--stream", "--drop", "name")),
    ("cost", ("--max-conditions", 5, "--max-linear", 0, "--min-rows", 3, "--cuts", "weight=55,70", "--pairs", "and")),
    ("grade", ("--max-conditions", 4, "--max-linear", 0)),
]
MORE_FITS = [
    ("cost", ()),
    ("ill", ("--key", "person", "--learn-key", "--seed", 3, "--test", 0.4, "--drop", "day", "--drop", "name")),
    ("cost", ("--missing", "drop", "--drop", "rare", "--categorical", "visits", "--select", "compact")),
    ("ill", ("--folds", 3, "--patience", 2, "--shrinkage", 0.1, "--threads", 1)),
    ("cost", ("--ensemble", 2, "--validation", 0.3, "--sweeps", 1)),
    ("grade", ("--max-features", 2, "--replacements", 2, "--task", "classification", "--merge-rare", 2)),
    ("grade", ("--task", "classification", "--class-weight", "balanced")),
    ("cost", ("--accurate", "--max-terms", 6, "--ensemble", 2)),
    ("cost", ("--increasing", "weight", "--decreasing", "visits", "--at-least", 0, "--at-most", 500)),
    ("ill", ("--together", "weight,visits", "--max-features", 2)),
    ("ill", ("--no-interactions",)),
    ("cost", ("--paper", "--missing", "drop", "--drop", "rare", "--max-terms", 3)),
    ("cost", ("--output", "stagewise", "--learning-rate", 0.5, "--layers", 2, "--max-linear", 0)),
    ("cost", ("--direction", "lasso", "--missing", "impute", "--max-linear", 0)),
]  # fmt: skip
NOTHING_LEFT = [item for name in ("weight", "visits", "smoker", "city") for item in ("forbid", name)]
# What is tried on a saved model: commands with options and, for `edit`, changes. Every option of theirs is there.
AFTER: dict[str, list[tuple[Any, ...]]] = {
    "simplify": [
        ("--digits", 2), ("--max-loss", 0.5, "--size", 2), ("--points", 4, "--rows", "train", "--format", "latex"),
    ],
    "edit": [
        ("forbid", "weight", "round", 2, "--cutoff", 0.5, "--rows", "train"),
        ("drop", 1, "--why", "too fine", "--size", 2),
        (*NOTHING_LEFT, "add", "weight", ">=", 60, 0.5, "add", "weight", ">=", 70, 0.75, "threshold", 1, 61,
         "weight", 1, 0.25, "merge", 1, 2, "add", "city", "in", "Nice", 9, "category", 1, "Lille", "yes",
         "and", 1, "visits", ">=", 2, "threshold", 1.1, 3, "drop", 1.1),
    ],
    "distill": [("--max-terms", 2), ("--seed", 2, "--max-terms", 1, "--rows", "train", "--size", 2)],
    "serve": [
        ("--no-browser", "--save", "{out}", "--key", "person"),
        ("--no-browser", "--rows", "train", "--size", 2, "--save", "{out}"),
    ],
}  # fmt: skip
NO_MODEL = {
    "check": "describes a file", "predict": "writes predictions", "evaluate": "measures", "show": "prints",
    "path": "prints", "explain": "writes SHAP values", "effect": "prints", "margin": "prints",
    "counterfactual": "prints", "certify": "proves", "compare": "prints", "report": "writes a page",
    "export": "writes a program, which is tried below", "data": "lists and fetches built-in datasets",
    "completion": "prints", "tutorial": "calls the others on a file of its own",
}  # fmt: skip
# Options by which nothing is learned: how a file is read, what is printed and where. The clock ends growth anywhere.
NO_LEARNING = {
    "--sep", "--decimal", "--thousands", "--sheet", "--missing-values", "--date-format", "--json", "--out", "--report",
    "--quiet", "--header", "--no-rows", "--target", "--title", "--labels", "--host", "--port", "--max-seconds",
    "--scheduler",  # the cluster, which tests/engines has
}  # fmt: skip


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Visits of 30 people: columns of every kind, three targets; which rows are test rows unless told otherwise."""
    rng = np.random.default_rng(5)
    test = is_test(number_hashes(1, ROWS, _TEST_SEED), edge_of(lambda: [number_hashes(1, ROWS, _TEST_SEED)], 0.2))
    result = pd.DataFrame({"person": rng.integers(1, 31, ROWS)})
    result["weight"] = rng.normal(65, 12, ROWS).round(1)
    result["visits"] = rng.integers(0, 9, ROWS)
    result["smoker"] = rng.integers(0, 2, ROWS)
    result["city"] = rng.choice(["Lille", "Nice", "Paris"], ROWS)
    result["day"] = pd.date_range("2021-01-05", periods=ROWS, freq="9D").strftime("%Y-%m-%d")
    result["name"] = [f"name {k}" for k in range(ROWS)]  # as many words as rows
    result["nick"] = [f"nick {k if test[k] else k % 31}" for k in range(ROWS)]  # in all rows, and not in training rows
    result["rare"] = np.where(test, rng.normal(size=ROWS).round(2), np.nan)  # nothing in training rows
    score = 3 * (result["weight"] > 66) + result["visits"] * 0.3 + (result["city"] == "Nice")
    result["cost"] = (score + rng.normal(0, 0.5, ROWS)).round(2)
    result["ill"] = np.where(score + rng.normal(0, 1, ROWS) > 3, "yes", "no")
    result["grade"] = np.array(["a", "b", "c"])[np.digitize(score + rng.normal(0, 1, ROWS), [2, 4])]
    result.loc[3::11, "weight"] = np.nan
    result.loc[5::13, "city"] = None
    return result, np.asarray(test)


def shuffled(rows: pd.DataFrame, test: np.ndarray, target: str) -> pd.DataFrame:
    """The same with the targets of test rows in another order."""
    result = rows.copy()
    result.loc[test, target] = np.roll(rows.loc[test, target], 3)
    assert (result[target] != rows[target]).any()
    return result


def replaced(rows: pd.DataFrame, test: np.ndarray, target: str) -> pd.DataFrame:
    """The same with other values in all columns of test rows, but for the key."""
    result = shuffled(rows, test, target)
    other = {"weight": 1e6, "visits": 77, "smoker": 1, "city": "Elsewhere", "day": "1901-02-03", "name": "n"}
    for name, value in (other | {"nick": "nick 1", "rare": np.nan}).items():
        result.loc[test, name] = value
    result.loc[np.flatnonzero(test)[::2], "weight"] = np.nan
    return result


class Server:
    """Stands for the server of ``bgn serve``: asks for edits to be saved, and ends."""

    local, url = True, "http://here"
    changes: ClassVar = [{"do": "drop", "rule": 1, "why": "fewer"}]

    def __init__(self, app: Any, host: str, port: int) -> None:
        self.app = app

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def serve_forever(self, poll_interval: float) -> None:
        self.app.answer("save", {"changes": self.changes})


def content(path: Path, without: Sequence[str] = ()) -> bytes:
    """The bytes of a model file, without parts that are measured on test rows and not learned."""
    if not without:
        return path.read_bytes()
    result = json.loads(path.read_text())
    return json.dumps({name: item for name, item in result.items() if name not in without}).encode()


def _write(rows: pd.DataFrame, path: Path) -> None:
    if path.suffix == ".csv":
        rows.to_csv(path, index=False)
    else:
        rows.assign(day=pd.to_datetime(rows["day"])).to_parquet(path, index=False, row_group_size=20)


def fitted(folder: Path, target: str, options: Sequence[Any], change: Any) -> tuple[Path, Path, Path]:
    """Fit to a table and to the same with other test rows; the models are the same. Return both tables and a model."""
    rows, _ = table()
    rows = rows.drop(columns=[name for name in TARGETS if name != target])
    kind = ".parquet" if "--stream" in options else ".csv"
    one, other, model, again = (folder / name for name in (f"one{kind}", f"other{kind}", "model.json", "again.json"))
    _write(rows, one)
    cheap = () if "--max-conditions" in options else CHEAP
    call("fit", one, "-t", target, *cheap, *options, "-q", "-o", model)
    held = DataFile(str(one), note=print).complete_rows(read(model))
    test = np.zeros(ROWS, bool)
    test[held.numbers - 1] = held.test
    assert 5 <= test.sum() <= 45
    _write(change(rows, test, target), other)
    call("fit", other, "-t", target, *cheap, *options, "-q", "-o", again)
    measured = ["figures"] if change is shuffled else ["figures", "checks"]
    assert content(model, measured) == content(again, measured)
    assert read(model).figures != read(again).figures
    return one, other, model


@pytest.mark.parametrize("change", [shuffled, pytest.param(replaced, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(("target", "options"), FITS)
def test_models_do_not_depend_on_test_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, options: Sequence[Any], change: Any
) -> None:
    one, other, model = fitted(tmp_path, target, options, change)
    monkeypatch.setattr("bgn.serve.ModelServer", Server)
    for command, ways in AFTER.items():
        for way in ways:
            if target == "grade" and command in ("edit", "serve"):
                continue  # of models of one score
            result = []
            for data in (one, other):
                out = tmp_path / "out.json"
                filled = [str(out) if item == "{out}" else item for item in way]
                call(command, model, data, *filled, *(() if "{out}" in way else ("-o", out)))
                result.append(content(out))
                assert read(out).held_out == read(model).held_out
                out.unlink()
            assert result[0] == result[1], (command, way)


def test_what_test_rows_hold_does_not_matter(tmp_path: Path) -> None:
    fitted(tmp_path, *FITS[0], replaced)


@pytest.mark.exhaustive
@pytest.mark.parametrize("change", [shuffled, replaced])
@pytest.mark.parametrize(("target", "options"), MORE_FITS)
def test_fits_do_not_depend_on_test_rows(tmp_path: Path, target: str, options: Sequence[Any], change: Any) -> None:
    fitted(tmp_path, target, options, change)


def names_of(command: str) -> set[str]:
    """The long names of the options of a command."""
    params = registry.commands[command].params
    return {max(param.opts, key=len) for param in params if param.param_type_name == "option"}


def test_every_command_and_option_is_tried() -> None:
    assert set(registry.commands) == {"fit", *AFTER, *NO_MODEL}
    tried = {command: {str(name) for way in ways for name in way} for command, ways in AFTER.items()}
    tried["fit"] = {str(name) for _, way in (*FITS, *MORE_FITS, ("", CHEAP)) for name in way}
    for command, names in tried.items():
        missing = names_of(command) - names - NO_LEARNING
        assert not missing, f"bgn {command}: try {missing} above, or list it among NO_LEARNING"
    assert set(CHANGES) <= tried["edit"]
