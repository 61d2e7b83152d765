"""Options of ``bgn fit`` for what predictions must do."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import bgn

pytest.importorskip("click")
pytest.importorskip("pyarrow")

from tests.command import call  # the command needs both


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": rng.normal(3, 1, 300).round(2), "age": rng.integers(0, 60, 300)})
    frame["price"] = (np.sin(3 * frame["income"]) + frame["income"] - 0.02 * frame["age"]).round(3)
    frame["dear"] = np.where(frame["price"] > 2, "yes", "no")
    path = tmp_path_factory.mktemp("behaviour") / "houses.csv"
    frame.to_csv(path, index=False)
    return path


def test_signs_and_bounds(houses, tmp_path):
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    common = "fit", houses, "-t", "price", "--drop", "dear", "--size", 5, "--max-terms", 5
    wanted = "--increasing", "income", "--decreasing", "age", "--at-least", 0, "--no-interactions"
    out = call(*common, *wanted, "-o", model, "--report", page).out
    text = "the prediction never falls as income rises", "never rises as age rises", "no prediction lies below 0"
    assert "proven for every row: the prediction never falls as income rises" in out
    for item in text:
        assert item in out
        assert item in page.read_text(encoding="utf-8")
    result = bgn.load(model)
    assert result.monotonic_cst == {"income": 1, "age": -1}
    assert list(result.bounds) == [0.0, None]
    assert result.interaction_cst == "no_interactions"
    lines = call("certify", model, "--within", "all").out.splitlines()
    assert any(line.startswith("income  increasing") for line in lines)
    plain = json.loads(call(*common, *wanted, "--json").out)
    assert len(plain["proven"]) == 3


def test_a_target_never_below_0_is_not_predicted_below_it_unsaid(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (300, 2)), columns=["a", "b"])
    frame["sold"] = 10.0 * (frame["a"] & frame["b"])  # a sum of one rule each is below 0 where both are no
    frame.to_csv(tmp_path / "t.csv", index=False)
    common = "fit", tmp_path / "t.csv", "-t", "sold", "--task", "regression", "--no-interactions"
    common += "--report", tmp_path / "r.html"
    text = r"predictions can be negative, down to (-[\d.]+), and no training target is: --at-least 0 makes 0 the lowest"
    warned = re.search(text, call(*common).out)
    assert warned is not None
    assert float(warned[1]) < -1.0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert f"Predictions can be negative, down to {warned[1]}, and no training target is: bounds=(0, None)" in page
    assert "can be negative" not in call(*common, "--at-least", 0).out
    assert "can be negative" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_classes_and_groups(houses, tmp_path):
    common = "fit", houses, "-t", "dear", "--drop", "price", "--size", 3, "--max-terms", 3
    out = call(*common, "--increasing", "income", "--together", "income", "-o", tmp_path / "m.json").out
    assert "proven for every row: the probability of yes never falls as income rises" in out
    requested = bgn.load(tmp_path / "m.json").network_.layers[0].neurons
    assert {len(rule.projection.columns) for rule in requested} == {1}


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--increasing", "age", "--decreasing", "age"), 2, "both name 'age'; choose one"),
        (("--together", "age,income", "--no-interactions"), 2, "say different things; choose one"),
        (("--increasing", "incme"), 1, "Did you mean 'income'"),
        (("--at-least", "5", "--at-most", "1"), 1, "bounds must be two ends"),
    ],
)
def test_refusals(houses, options, code, message):
    assert message in call("fit", houses, "-t", "price", "--drop", "dear", *options, code=code).err
