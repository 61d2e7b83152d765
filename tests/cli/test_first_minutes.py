"""What a newcomer meets in the first minutes: short answers, slips with the order of files, a program that is tried."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.command import call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of customers with gaps and words, and a model of whether they leave."""
    path, rng = tmp_path_factory.mktemp("first"), np.random.default_rng(0)
    table = pd.DataFrame({"months": rng.integers(0, 70, 240), "plan": rng.choice(["fibre", 'a "b", c', None], 240)})
    odds = (table["months"] < 20) * 2.0 + (table["plan"] == "fibre") - 1.5
    table["left"] = np.where(rng.random(240) < 1 / (1 + np.exp(-odds)), "yes", "no")
    table.to_csv(path / "t.csv", index=False)
    growth = ("--max-terms", 25, "--folds", 0, "--shrinkage", 1, "--patience", 50)
    call("fit", path / "t.csv", "-t", "left", *growth, "-q", "-o", path / "m.json")
    return path


def test_a_path_is_short(folder: Path) -> None:
    lines = call("path", folder / "m.json").out.splitlines()
    every = json.loads(call("path", folder / "m.json", "--json").out)["path"]
    sizes = [int(line.split()[0]) for line in lines[2:-1]]
    assert sizes[:11] == list(range(11))
    assert sizes[-1] == every[-1]["n_terms"]
    assert len(sizes) < len(every)
    assert lines[-1].endswith("--json has every size")


def test_probabilities_are_shown_in_percent(folder: Path) -> None:
    assert "note: probabilities lie between " in call("show", folder / "m.json").err
    assert "%" in call("certify", folder / "m.json").out.splitlines()[0]


def test_a_row_that_is_there_already(folder: Path) -> None:
    said = call("predict", folder / "m.json", folder / "t.csv").out.split()[1]
    text = call("counterfactual", folder / "m.json", folder / "t.csv", "--row", 1, "--to", said).out
    assert text.splitlines()[1] == "row 1 is there already: nothing has to change"


def test_sql_is_tried_where_it_is_written(folder: Path) -> None:
    export = ("export", folder / "m.json", "--to", "sql", "--table", "t", "-o", folder / "m.sql")
    assert "run in SQLite on 240 rows: all as the model" in call(*export, "--check", folder / "t.csv").err
    plain = json.loads(call(*export, "--check", folder / "t.csv", "--json").out)
    assert (plain["rows_checked"], plain["rows_that_differ"]) == (240, 0)
    wrong = call("export", folder / "m.json", "--to", "c", "--check", folder / "t.csv", code=2).err
    assert "--check is no option of --to c" in wrong


def test_files_in_the_wrong_order(folder: Path) -> None:
    err = call("predict", folder / "t.csv", folder / "m.json", code=1).err
    assert "is it a dataset? MODEL comes before DATA" in err
    assert "A model file is no table" in call("check", folder / "m.json", code=1).err


def test_nothing_to_learn_is_said(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n")
    assert "has column names but no rows" in call("fit", tmp_path / "t.csv", "-t", "y", code=1).err
    pd.DataFrame({"a": range(0, 90, 3), "y": 4}).to_csv(tmp_path / "t.csv", index=False)
    fit = call("fit", tmp_path / "t.csv", "-t", "y", "--max-terms", 2)
    assert "'y', the target, is '4' in every row" in fit.err
    assert "0 conditions (0 rules), 1 number in all" in fit.out
