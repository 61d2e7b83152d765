"""The shell on targets with classes: found out, fitted, judged, explained, on disk too."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

import bgn
from bgn.inputs.errors import InputError
from bgn.inputs.training import decide_target, encode_target, tally_target, to_labels
from bgn.model.schema import Column, Schema
from tests.command import call, exact_csv

ROWS = 300


def customers() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    months, plan = rng.integers(1, 60, ROWS), rng.choice(["monthly", "yearly"], ROWS)
    risk = 2.0 * (months < 12) + 1.5 * (plan == "monthly") - 1.5 + rng.logistic(size=ROWS)
    kind = np.array(["cat", "dog", "eel"])[np.digitize(months + rng.normal(0, 2, ROWS), [20, 40])]
    left = np.where(risk > 0, "yes", "no")
    return pd.DataFrame(
        {"months": months, "plan": plan, "left": left, "flag": risk > 0, "digit": (risk > 0) * 1, "pet": kind}
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("classes") / "customers.csv"
    customers().to_csv(path, index=False)
    return path


DROPPED = {"left": "flag digit pet", "flag": "left digit pet", "digit": "left flag pet", "pet": "left flag digit"}


def fitted(table: Path, target: str, *more: object, code: int = 0) -> Any:
    drop = [label for name in DROPPED[target].split() for label in ("--drop", name)]
    out = table.with_name(f"{target}.json")
    done = call("fit", table, "-t", target, *drop, "--size", 3, "--max-terms", 3, "-o", out, *more, code=code)
    return out, done


@pytest.fixture(scope="module")
def left(table: Path) -> Path:
    return fitted(table, "left", "--max-linear", 0)[0]


@pytest.fixture(scope="module")
def pet(table: Path) -> Path:
    return fitted(table, "pet", "--max-linear", 0)[0]


@pytest.mark.parametrize(
    ("target", "labels"),
    [("left", ["no", "yes"]), ("flag", [False, True]), ("digit", [0, 1]), ("pet", ["cat", "dog", "eel"])],
)
def test_classes_are_known_out(table: Path, target: str, labels: list[Any]) -> None:
    out, done = fitted(table, target)
    model = bgn.load(out)
    assert isinstance(model, bgn.BGNClassifier)
    assert model.classes_.tolist() == labels
    assert ("they are taken for classes; --task regression if not" in done.err) == (target == "digit")
    for name in ("log loss", "AUC", "accuracy", "logistic regression", "the commonest class"):
        assert name in done.out
    assert "MSE" not in done.out


def test_numbers_can_be_insisted_on_and_classes_too(table: Path) -> None:
    out, done = fitted(table, "digit", "--task", "regression")
    assert isinstance(bgn.load(out), bgn.BGNRegressor)
    assert "MSE" in done.out
    drop = ["--drop", "left", "--drop", "flag", "--drop", "digit", "--drop", "pet"]
    done = call("fit", table, "-t", "months", *drop, "--size", 2, "--max-terms", 2, "--json")
    assert "train_mse" in json.loads(done.out)
    assert "column 'left' must hold numbers" in fitted(table, "left", "--task", "regression", code=1)[1].err
    assert "--paper is an algorithm for numbers" in fitted(table, "left", "--paper", code=1)[1].err
    refused = fitted(table, "digit", "--task", "regression", "--class-weight", "balanced", code=1)[1].err
    assert "--class-weight is for classes" in refused


def test_the_card_for_machines(table: Path) -> None:
    done = fitted(table, "left", "--json", "--class-weight", "balanced")[1]
    card = json.loads(done.out)
    assert set(card["figures"]) == {"model", "logistic", "majority"}
    assert set(card["classes"]) == {"no", "yes"}
    assert {"train_log_loss", "validation_log_loss", "log_loss_by_size"} <= set(card)
    assert not any("mse" in name for name in card)
    assert 0.5 < card["figures"]["model"]["auc"] <= 1.0
    assert bgn.load(table.with_name("left.json")).class_weight == "balanced"


def test_labels_and_probabilities_are_those_of_python(table: Path, left: Path, pet: Path) -> None:
    for path in (left, pet):
        said = call("predict", path, table, "--proba", "--exact", "--keep", "months").out
        result = exact_csv(io.BytesIO(said.encode()))
        file = bgn.persist.read(path)
        X, model = file.preparation.apply(customers()).frame(), file.model()
        assert result["prediction"].tolist() == model.predict(X).tolist()
        names = [f"probability of {label}" for label in model.classes_]
        np.testing.assert_array_equal(result[names], model.predict_proba(X))
    assert list(pd.read_csv(io.StringIO(call("predict", left, table).out))) == ["prediction"]


def test_a_saved_model_is_evaluated(table: Path, left: Path, pet: Path) -> None:
    done = call("evaluate", left, table, "--threshold", 0.3)
    assert "sensitivity at 0.3" in done.out
    assert "rows of" in done.err
    plain = json.loads(call("evaluate", left, table, "--rows", "all", "--json").out)
    file = bgn.persist.read(left)
    X = file.preparation.apply(customers()).frame()
    expected = bgn.evaluate(file.model(), X, customers()["left"])
    assert plain["scores"] == pytest.approx(dict(expected.scores))
    assert plain["confusion"] == expected.confusion.tolist()
    assert plain["rows"] == ROWS
    assert "recall of eel" in call("evaluate", pet, table).out
    other = table.with_name("odd.csv")
    customers().assign(left="maybe").to_csv(other, index=False)
    assert "column 'left' holds 'maybe', which was not there at fit" in call("predict", left, other).err


def test_explanations_speak_of_scores_and_probabilities(table: Path, left: Path, pet: Path) -> None:
    said = call("explain", left, table, "--row", 3).out
    assert "mean log-odds of left = yes" in said
    assert "probability: no" in said
    assert "score of pet = dog" in call("explain", pet, table, "--row", 3, "--class", "dog").out
    assert "and 3 classes" in call("explain", pet, table).out
    plain = json.loads(call("explain", left, table, "--row", 3, "--json").out)
    score = plain["base_value"] + sum(plain["values"].values())
    assert plain["probabilities"]["yes"] == pytest.approx(1 / (1 + np.exp(-score)))
    assert "mean probability of left = yes" in call("effect", left, table, "months").out
    assert "--class must say of which class" in call("effect", pet, table, "months", code=1).err
    assert "mean probability of pet = cat" in call("effect", pet, table, "months", "--class", "cat").out
    assert "--class must be one of the classes" in call("effect", pet, table, "months", "--class", "cow", code=1).err


def test_where_a_line_is_effects_are_of_the_score_and_points_name_the_remedy(table: Path) -> None:
    linear = table.with_name("straight.json")
    fitted(table, "pet", "-o", linear)
    assert bgn.load(linear).network_.linear
    assert "mean score of pet = cat" in call("effect", linear, table, "months", "--class", "cat").out
    assert "fit with --max-linear 0" in call("simplify", linear, table, "--points", 5, code=1).err


def test_points_are_chosen_on_the_rows_as_the_model_reads_them(table: Path, left: Path) -> None:
    text = json.loads(call("simplify", left, table, "--points", 5, "--json").out)
    for before, rows in (("before", "train"), ("test_before", "test")):
        result = json.loads(call("evaluate", left, table, "--rows", rows, "--json").out)
        assert text[before] == pytest.approx(result["scores"]["log_loss"])
        assert text["training_rows" if rows == "train" else "test_rows"] == result["rows"]


def test_a_change_of_class_is_known(table: Path, left: Path) -> None:
    chances = pd.read_csv(io.StringIO(call("predict", left, table, "--proba").out))
    row = int(chances["probability of yes"].idxmax()) + 1
    assert "prediction then no" in call("counterfactual", left, table, "--row", row, "--to", "no").out
    result = json.loads(call("counterfactual", left, table, "--row", row, "--at-most", 0.4, "--json").out)
    assert result["prediction"] <= 0.4
    assert result["label_now"] == "yes"
    assert "--to must be given" in call("counterfactual", left, table, code=2).err


def test_the_other_commands_know_classes(table: Path, left: Path, pet: Path, tmp_path: Path) -> None:
    for path in (left, pet):
        assert "log loss by size" in call("path", path).out
        call("report", path, table, "-o", tmp_path / "report.html")
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        for names in ("ROC curve", "Calibration", "log loss", "false positive rate"):
            assert names in text
        assert "points" in call("simplify", path, table, "--points", 5, "-o", tmp_path / "points.json").out
        assert "prediction" in call("predict", tmp_path / "points.json", table).out
        assert "log loss" in call("fit", table, "-t", "left", "--size", 1, "--max-terms", 1, "--drop", "flag").out
    assert "--proba: the model predicts numbers" in _of_numbers(table, "predict", "--proba")
    assert "--to is for classes" in _of_numbers(table, "counterfactual", "--to", "no")
    assert "--threshold is for two classes" in _of_numbers(table, "evaluate", "--threshold", 0.5)


def _of_numbers(table: Path, command: str, *options: object) -> str:
    path = table.with_name("numbers.json")
    if not path.exists():
        layer = bgn.Layer([[1.0]], [-20.0])
        bgn.save(bgn.Network.of_layers([layer], [1.0], 0.0, ["months"], "digit"), path)
    return call(command, path, table, *options, code=1).err


@pytest.mark.parametrize("weight", [(), ("--class-weight", "balanced")])
def test_rows_on_disk_give_the_same_network(tmp_path: Path, weight: tuple[str, ...]) -> None:
    table = tmp_path / "customers.parquet"
    write_table(pa.table(customers()), table, row_group_size=70)
    for target in ("left", "digit", "pet", "flag"):
        whole, _ = fitted(table, target, "--no-stream", *weight)
        kept = whole.rename(whole.with_name("whole.json"))
        streamed, _ = fitted(table, target, "--stream", *weight)
        first, second = bgn.persist.read(kept), bgn.persist.read(streamed)
        assert first.network == second.network
        assert first.held_out == second.held_out
        assert second.model().classes_.tolist() == first.model().classes_.tolist()


def test_what_cannot_be_trained_says_so(tmp_path: Path) -> None:
    rows = customers()
    path = tmp_path / "odd.csv"
    odd = rows.assign(left=["rare", *rows["left"].tolist()[1:]])
    odd.to_csv(path, index=False)
    assert "the class 'rare' has" in fitted(path, "left", code=1)[1].err
    rows.assign(left="yes").to_csv(path, index=False)
    assert "A classifier needs at least two to tell apart" in fitted(path, "left", code=1)[1].err
    single = tmp_path / "single.parquet"
    rows.assign(left="yes", odd=[[1]] * len(rows)).to_parquet(single)
    text = fitted(single, "left", code=1)[1].err
    assert all(item in text for item in ("2 problems", "column 'left' has one class, 'yes'", "column 'odd' holds list"))
    text = fitted(path, "left", "--key", "nope", "--drop", "nor this", code=1)[1].err
    assert all(item in text for item in ("2 problems", "--key", "--drop"))
    rows.assign(left=[f"w{k}" for k in range(ROWS)]).to_csv(path, index=False)
    assert "too many classes to tell apart" in fitted(path, "left", code=1)[1].err


@pytest.mark.parametrize(
    ("values", "task", "labels"),
    [
        ([0, 1, 1, None], None, (0, 1)),
        ([0.0, 1.0, 1.0], None, (0, 1)),
        ([0, 1, 2], None, None),
        ([0, 1, 2], "classification", (0, 1, 2)),
        ([0, 1], "regression", None),
        ([0.5, 1.0], None, None),
        ([True, None, False], None, (False, True)),
        (["b ", "a", None, "b"], None, ("a", "b")),
    ],
)
def test_what_a_target_holds(values: list[Any], task: str | None, labels: Any) -> None:
    column = pa.chunked_array([values])
    result = decide_target([tally_target(column)], "y", task).classes
    assert result == labels
    codes, unseen = encode_target(column, result)
    assert unseen == ()
    known = np.array([value is not None for value in values])
    np.testing.assert_array_equal(np.isnan(codes), ~known)
    if result is not None:
        read = to_labels(codes[known], result).tolist()
        assert read == [item.strip() if isinstance(item, str) else item for item in values if item is not None]


def test_labels_that_are_no_classes_are_refused() -> None:
    names = tally_target(pa.chunked_array([["1", "2", "3", "n.b."]]))
    with pytest.raises(InputError, match=r"task='classification': column 'y' holds 0.5; classes are words, whole"):
        decide_target([tally_target(pa.chunked_array([[0.5, 1.0]]))], "y", "classification")
    with pytest.raises(InputError, match=r"holds 'n.b.'. If they are labels, add task='classification'"):
        decide_target([names], "y", None)
    assert decide_target([names], "y", "classification").classes == ("1", "2", "3", "n.b.")


def test_a_small_model_of_classes_is_grown_and_compared(left: Path, table: Path) -> None:
    plain = json.loads(call("distill", left, table, "--max-terms", 2, "--json").out)
    assert plain["n_conditions_before"] == bgn.persist.read(left).network.n_conditions
    assert plain["n_conditions"] > 0
    text = plain["fidelity"]
    assert text["agreement"] > 0.8
    lines = call("compare", left, table, "--groups", "plan").out.splitlines()
    assert lines[0].startswith("mean log-odds of left = yes, plan = monthly (")


def test_rows_far_from_another_class_are_shown_so(left: Path, table: Path) -> None:
    text = [call("margin", left, table, "--row", row).out for row in range(1, 9)]
    assert any(item.startswith("no other prediction is near") for item in text)
    assert not all(item.startswith("no other prediction is near") for item in text)


def test_of_several_classes_one_is_requested_about(pet: Path, table: Path) -> None:
    assert "--class must say of which class" in call("certify", pet, code=1).err
    assert call("certify", pet, "--class", "eel").out.startswith("score of pet = eel: values lie between ")
    assert "--class must say of which class" in call("compare", pet, table, "--groups", "plan", code=1).err
    lines = call("compare", pet, table, "--groups", "plan", "--class", "cat").out.splitlines()
    assert lines[0].startswith("mean score of pet = cat, plan = monthly (")
    left = table.with_name("left.json")
    if left.exists():
        assert "leave it out" in call("certify", left, "--class", "yes", code=1).err


def test_linear_lines_of_classes_are_shown_of(table: Path) -> None:
    layer = bgn.Layer([[1.0]], [-20.0])
    schema = Schema((Column("months"),), "pet", classes=("cat", "dog", "eel"))
    rules = bgn.Network.of_layers([layer], [[1.0, 0.0, -1.0]], [0.0, 0.0, 0.0], schema=schema, link="softmax")
    network = rules.with_linear([bgn.Linear(0, 0.0, 60.0)], [[0.1, 0.0, -0.1]])
    path = table.with_name("lines.json")
    bgn.save(network, path)
    assert bgn.equation(network).count("The probability of a class is exp(its score)") == 1
    text = call("margin", path, table)
    assert "not where the class does" in text.err
    assert text.out.startswith(f"how far {ROWS} rows are")


def test_a_model_is_shown_by_the_class_that_is_requested_for(left: Path, pet: Path) -> None:
    turned, plain = call("show", left, "--class", "no").out, call("show", left).out
    assert turned.startswith("log-odds of left = no = ")
    assert plain.startswith("log-odds of left = yes = ")
    assert call("show", pet, "--class", "eel").out.startswith("score of pet = eel = ")
    about = json.loads(call("show", pet, "--json").out)
    assert list(about["classes"]) == ["cat", "dog", "eel"]
    assert about["classes"]["cat"]["terms"]
    assert "must be one of the classes" in call("show", left, "--class", "maybe", code=1).err
