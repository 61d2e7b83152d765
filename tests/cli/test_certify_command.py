"""The command on proofs: ``bgn certify``, and what ``bgn show`` says of extremes."""

from __future__ import annotations

import json

import pytest

import bgn
from tests.networks import town

pytest.importorskip("click")
pytest.importorskip("pyarrow")

from tests.command import call  # the command needs both


@pytest.fixture
def model(tmp_path):
    bgn.save(town(), tmp_path / "town.json")
    return tmp_path / "town.json"


def test_what_people_read(model):
    lines = call("certify", model).out.splitlines()
    assert lines[0] == "predictions lie between 13.75 and 30.25"
    assert lines[1].startswith("  lowest where age = ")
    assert lines[3] == "age    neither, up by 5.5 and down by 1 at most"
    assert lines[4] == "city   has no order"
    assert lines[7] == "grade  increasing, by up to 2"
    lines = call("certify", model, "--column", "grade", "--no-missing").out.splitlines()
    assert lines[-1] == "grade  increasing, by up to 2"
    assert "did you mean" in call("certify", model, "--column", "grad", code=1).err.lower()


def test_what_machines_read(model):
    text = json.loads(call("certify", model, "--json", "--within", "all").out)
    assert text["extremes"]["low"] == 12.75
    assert text["extremes"]["proven"] is True
    assert text["columns"]["grade"]["direction"] == "increasing"
    low, high = text["columns"]["age"]["falls"]
    assert low[0] < high[0]
    assert low[1:] == high[1:]
    assert json.loads(call("show", model, "--json").out)["extremes"]["high"] == 30.25


def test_show_names_the_extremes_near_the_equation(model):
    done = call("show", model)
    assert done.out == bgn.equation(town()) + "\n"
    assert done.err == "note: predictions lie between 13.75 and 30.25; see bgn certify.\n"
    assert call("show", model, "--latex").err == ""


def test_a_report_names_them(tmp_path):
    from tests.networks import town_rows

    rows = town_rows(60)
    path = bgn.write_report(town(), rows, town().predict(rows), tmp_path / "r.html")
    assert "within the ranges seen lies between 13.75 and 30.25." in path.read_text(encoding="utf-8")
