"""Edits: they do what they say to the rows they should, are undone to the bit, and are kept with the model."""

from __future__ import annotations

import numpy as np
import pytest

import bgn
from bgn import Layer, Network, edit
from bgn.model.term import Oblique, Projection
from bgn.persist import read
from tests.fuzz_edits import fuzz
from tests.networks import TABLE, town, town_rows, with_linear_terms

HOUSE = Network.of_layers(
    [Layer([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]], [-65.5, -20.0, 30.0, -70.0])],
    [0.5, -0.25, 0.15, 0.35], 1.0, ["income", "age"], "value",
)  # fmt: skip
ROWS = np.array([[70.0, 10.0], [66.0, 30.0], [20.0, 30.0], [80.0, 15.0], [30.0, 20.0]])


def test_many_random_edits_leave_networks_of_one_mind():
    assert fuzz(120, seed=1) > 50


def test_a_threshold_is_the_one_that_is_printed():
    start = edit(HOUSE, ROWS, HOUSE.predict(ROWS))
    assert "income <= 30" in bgn.equation(HOUSE)
    lines = bgn.equation(start.threshold(4, 35).network)
    assert "income <= 35" in lines
    done = start.threshold(1, 75.0)
    assert done.receipt.changed.tolist() == [0, 1]
    assert done.receipt.edit.before == 0.0
    assert done.receipt.edit.after == pytest.approx(0.4)
    assert repr(done.receipt) == (
        "Receipt(threshold of rule 1 set to 75: 2 of 5 predictions changed, error 0 -> 0.4)"
    )


def test_a_weight_leaves_those_alone_that_answer_no():
    start = edit(HOUSE, ROWS)
    for line in range(1, 5):
        holds = bgn.as_terms(HOUSE).holds(ROWS)[:, line - 1]
        done = start.coef(line, 7.0)
        np.testing.assert_allclose(done.receipt.change[~holds], 0.0, atol=1e-12)
        np.testing.assert_allclose(done.receipt.change[holds], 7.0 - bgn.as_terms(HOUSE).rules[line - 1].weight)
        gone = start.drop(line)
        np.testing.assert_allclose(gone.receipt.change[~holds], 0.0, atol=1e-12)
        np.testing.assert_allclose(start.drop(line, holds=True).receipt.change[holds], 0.0, atol=1e-12)
        assert gone.network.widths == (3,)
    assert start.coef(1, 0).network.widths == (3,)


def test_categories_change_sides():
    network, rows = town(), town_rows(300)
    lines = bgn.as_terms(network).rules
    place = next(k for k, term in enumerate(lines, 1) if term.condition.columns == (1,))
    done = edit(network, rows).category(place, "Rome", True)
    assert "{Lille, Nice, Rome}" in bgn.equation(done.network)
    assert {rows[k, 1] for k in done.receipt.changed} == {"Rome"}
    back = done.category(place, "Rome", False)
    np.testing.assert_array_equal(back.network.predict(rows), network.predict(rows))
    for_missing = edit(network, rows).category(place, None, True)
    assert {rows[k, 1] for k in for_missing.receipt.changed} == {None, "Berlin"}
    with pytest.raises(ValueError, match="category must be one of 'Lille'"):
        done.category(place, "Paris", True)
    with pytest.raises(ValueError, match="must name categories"):
        done.category(1, "Rome", True)


def test_rules_about_the_same_sum_merge():
    merged = edit(HOUSE, ROWS).merge(1, 2)  # 65.5 and 70 of the same column
    assert "1.70 [income >= 65.5]" in bgn.equation(merged.network)
    assert merged.receipt.changed.tolist() == [1]  # 66 was between the two
    at = edit(HOUSE).merge(1, 2, threshold=68.0)
    assert "1.70 [income >= 68]" in bgn.equation(at.network)
    against = edit(HOUSE).merge(1, 4)
    assert "0.70 [income >= 65.5]" in bgn.equation(against.network)
    with pytest.raises(ValueError, match="must compare the same sum"):
        edit(HOUSE).merge(1, 3)
    with pytest.raises(ValueError, match="must be two; got 1 twice"):
        edit(HOUSE).merge(1, 1)


def test_rules_are_added_and_columns_forbidden():
    start = edit(HOUSE, ROWS)
    more = start.add("age", ">=", 25, 2.0)
    np.testing.assert_allclose(more.receipt.change, np.where(ROWS[:, 1] >= 25, 2.0, 0.0), atol=1e-12)
    less = start.add({"age": 1.0, "income": 0.5}, "<", 40, 2.0)
    np.testing.assert_allclose(less.receipt.change, np.where(ROWS @ [0.5, 1.0] < 40, 2.0, 0.0), atol=1e-12)
    none = start.forbid("income")
    assert none.network.features_used == (1,)
    assert none.log[-1].what == "income forbidden"
    by_city = edit(town(), town_rows(100)).add("city", "in", ["Oslo"], 5.0, missing=False)
    np.testing.assert_allclose(by_city.receipt.change, np.where(town_rows(100)[:, 1] == "Oslo", 5.0, 0.0), atol=1e-12)
    with pytest.raises(ValueError, match="relation must be '>=' or '<'"):
        start.add("age", "==", 25, 2.0)
    for arguments, message in {
        ("city", "in", ("Paris",)): r"must be categories of 'city' \(it has 'Lille'.*got 'Paris'",
        ("city", ">=", 2.0): "relation of the categorical column 'city' must be 'in'; got '>='",
        ("age", "in", ("Lille",)): "relation 'in' is for one categorical column; got",
    }.items():
        with pytest.raises(ValueError, match=message):
            edit(town()).add(*arguments, 2.0)
    with pytest.raises(ValueError, match="value must be a finite number; got inf"):
        start.coef(1, np.inf)


def test_linear_terms_and_probabilities():
    steep = with_linear_terms(Network.of_layers([Layer([[1.0, 0.0]], [-1.0])], [1.0], 0.0, ["a", "b"]), [0.5, 2.0])
    X = np.array([[0.0, 1.0], [2.0, 3.0]])
    done = edit(steep, X).forbid("b")
    np.testing.assert_allclose(done.receipt.change, -2.0 * X[:, 1])
    yes = Network.of_layers([Layer([[1.0, 0.0]], [-1.0])], [1.0], 0.0, ["a", "b"], "yes", link="logistic")
    turned = edit(yes, X, [0, 1], cutoff=0.5).threshold(1, 5.0)
    assert turned.receipt.decisions.tolist() == [1]
    assert turned.receipt.edit.after > turned.receipt.edit.before


def test_the_log_goes_with_the_model(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = bgn.BGNRegressor(max_terms=3, random_state=0).fit(X, X[:, 0] > 0)
    done = edit(model, X, (X[:, 0] > 0).astype(float)).threshold(1, 0.25, why="experience <b>")
    assert type(done.model) is bgn.BGNRegressor
    assert done.model.network_ == done.network
    bgn.save(done.model, tmp_path / "m.json")
    again = bgn.load(tmp_path / "m.json")
    assert again.edits_ == done.log
    assert edit(again).round(2).log[0] == done.log[0]
    bgn.save(done.network, tmp_path / "n.json", edits=done.log)
    assert read(tmp_path / "n.json").edits == done.log
    text = bgn.write_report(again, X, X[:, 0] > 0, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "threshold of rule 1 set to 0.25" in text
    assert "experience &lt;b&gt;" in text


def test_undo_is_the_very_network_and_nothing_is_left_to_undo():
    start = edit(HOUSE, ROWS)
    done = start.round(1).coef(1, 3).drop(2)
    assert done.undo().undo().undo() is start
    assert start.network is HOUSE
    with pytest.raises(ValueError, match="nothing to undo"):
        start.undo()


def test_what_cannot_be_edited():
    deep = Network.of_layers([Layer([[1.0]], [0.0]), Layer([[1.0]], [0.0])], [1.0], 0.0)
    with pytest.raises(ValueError, match="one hidden layer and one output"):
        edit(deep)
    with pytest.raises(ValueError, match="rule must be a line of the equation, from 1 to 4; got 5"):
        edit(HOUSE).drop(5)
    with pytest.raises(ValueError, match="threshold must be a finite number"):
        edit(HOUSE).threshold(1, float("nan"))
    by_city = Network.of_layers(
        [Layer.of([Oblique(Projection((1,), ((1.0, 0.0, 0.0, 0.0),)), 1.0)], 5)], [1.0], 0.0, schema=TABLE
    )
    with pytest.raises(ValueError, match="compares no number"):
        edit(by_city).threshold(1, 3.0)


def test_the_command(tmp_path):
    pytest.importorskip("click")
    pytest.importorskip("pyarrow")
    from tests.command import call

    bgn.save(HOUSE, tmp_path / "m.json")
    (tmp_path / "d.csv").write_text("income,age,value\n70,10,1\n66,30,2\n20,30,0\n")
    done = call("edit", tmp_path / "m.json", tmp_path / "d.csv", "threshold", "1", "68", "drop", "3", "--why", "so",
                "-o", tmp_path / "e.json").out.splitlines()  # fmt: skip
    assert done[0].startswith("On the 3 training rows of ")
    assert done[1].startswith("threshold of rule 1 set to 68: 1 of 3 predictions changed")
    assert "income >= 68" in "\n".join(done)
    kept = read(tmp_path / "e.json")
    assert [change.why for change in kept.edits] == ["so", "so"]
    assert kept.network.widths == (3,)
    more = ("and", "1", "age", "<", "20", "threshold", "1.1", "71", "threshold", "1.2", "15", "drop", "1.2")
    lines = call("edit", tmp_path / "m.json", tmp_path / "d.csv", *more).out
    assert "age < 20 added to rule 1: 1 of 3 predictions changed" in lines
    assert "condition 2 of rule 1 dropped" in lines
    assert "[income >= 71]" in lines
    wrong = call("edit", tmp_path / "m.json", tmp_path / "d.csv", "threshold", "9", "68", code=1).err
    assert "from 1 to 4; got 9" in wrong
    for text, place in {("threshold", "1", "many"): "a number", ("drop", "first"): "a whole number"}.items():
        wrong = call("edit", tmp_path / "m.json", tmp_path / "d.csv", *text, code=1).err
        assert wrong.endswith(f"{' '.join(text)}: {place} must stand where {text[-1]!r} does.")
    assert "Changes are:" in call("edit", tmp_path / "m.json", tmp_path / "d.csv", "frob", code=1).err
