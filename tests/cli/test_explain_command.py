"""``bgn counterfactual``: as installed once, in process for its many options."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bgn
from bgn import Layer, Network
from tests.command import call, run
from tests.raw_columns import category, date, number, prepared

PATIENT = ("--max-seconds", 600)  # a busy machine may compile for longer than the ten seconds there are by default
PREPARATION = prepared(
    number("rooms"),
    category("kind", ("flat", "house")),
    date("sold", ("year",)),
    number("garden", boolean=True),
    number("floor area"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("counterfactual")
    weights = np.zeros((5, 6))
    for rule, column in enumerate((0, 2, 3, 4, 5)):
        weights[rule, column] = 1.0
    network = Network.of_layers(
        [Layer(weights, [-3.0, -0.5, -2020.5, -0.5, -80.0])],
        [10.0, 1.0, 100.0, 4.0, 6.0],
        500.0,
        PREPARATION.schema.names,
        "price",
    )
    bgn.save(network, path / "model.json", preparation=PREPARATION)
    pd.DataFrame(
        {
            "rooms": [2.0, 4.0, np.nan, 1.0],
            "kind": ["flat", "house", "flat", "castle"],
            "sold": ["2019-01-02", "2020-05-31", "2020-06-01", "2021-12-24"],
            "garden": [False, True, False, True],
            "floor area": [50.0, 90.0, 70.0, 60.0],
        }
    ).to_csv(path / "houses.csv", index=False)
    return path


def ask(folder: Path, *options: object, code: int = 0) -> str:
    done = call("counterfactual", folder / "model.json", folder / "houses.csv", *PATIENT, *options, code=code)
    return done.err if code else done.out


def test_the_installed_command(folder: Path) -> None:
    requested = ("counterfactual", folder / "model.json", folder / "houses.csv", *PATIENT)
    assert run(*requested, "--at-least", 400).out == ask(folder, "--at-least", 400)
    assert "--row must be a complete row" in call(*requested, "--at-least", 400, "--row", 9, code=1).err


def test_table_and_json(folder: Path) -> None:
    lines = ask(folder, "--at-least", 400).splitlines()
    assert lines == [
        "prediction now 379",
        "prediction then 407 at cost 2, proven cheapest",
        "  rooms   2 -> 3",
        "  garden  0 -> 1",
    ]
    plain = json.loads(ask(folder, "--at-least", 399, "--json"))
    assert plain["row"] == 1
    assert plain["prediction_now"] == 379
    assert plain["prediction"] >= 399
    assert plain["changes"] == {"rooms": {"from": 2.0, "to": 3.0}}
    assert plain["optimal"]


def test_limits(folder: Path) -> None:
    stuck = ("--immutable", "rooms", "--immutable", "kind", "--bounds", "floor area=:70")
    assert ask(folder, "--at-least", 399, *stuck).splitlines()[1] == "unreachable: the best attainable is 387"
    plain = json.loads(ask(folder, "--at-least", 391, "--bounds", "rooms=decrease", "--fewest", "--json"))
    assert plain["changes"] == {"floor area": {"from": 50.0, "to": 80.0}}
    plain = json.loads(ask(folder, "--at-least", 399, "--cost", "rooms=1000", "--json"))
    assert plain["cost"] == 31
    assert not json.loads(ask(folder, "--at-least", 700, "--json"))["reached"]
    assert ask(folder, "--at-least", 385, "-n", 3).count("prediction then") == 3
    constrained = ("--constraint", "rooms <= 2.5", "--integer", "rooms", "--max-changed", 1)
    assert "unreachable" in ask(folder, "--at-least", 399, *constrained)
    assert "no row obeys" in ask(folder, "--at-least", 399, "--constraint", "rooms >= rooms + 1")


def test_text_stay_text(folder: Path) -> None:
    plain = json.loads(ask(folder, "--at-least", 381, "--immutable", "rooms", "--immutable", "garden", "--json"))
    assert plain["changes"] == {"kind = flat": {"from": 1.0, "to": 0.0}, "kind = house": {"from": 0.0, "to": 1.0}}


def test_text_not_known_at_fit_stay(folder: Path) -> None:
    plain = json.loads(ask(folder, "--row", 4, "--at-least", 100, "--json"))
    assert "kind = house" not in plain["changes"]


def test_refusals(folder: Path) -> None:
    assert "--row must be a complete row" in ask(folder, "--at-least", 1, "--row", 3, code=1)
    assert "--at-least or --at-most must be given" in ask(folder, code=2)
    assert "exclude each other" in ask(folder, "--at-least", 1, "--fewest", "--cost", "rooms=1", code=2)
    assert "write COL=VALUE; got 'rooms'" in ask(folder, "--at-least", 1, "--cost", "rooms", code=1)
    assert "--bounds must be COL=LOW:HIGH" in ask(folder, "--at-least", 1, "--bounds", "rooms=low", code=1)
    assert "immutable must name a column" in ask(folder, "--at-least", 1, "--immutable", "hue", code=1)
