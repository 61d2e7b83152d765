"""Of two classes that say yes and no people are told of yes, whatever the order of the letters; fits do not change."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgn
from bgn.explain.evaluate import evaluation_rows
from bgn.model.readings import find_positive_class, is_first_positive, swap_classes, with_positive_second
from bgn.report.facts import Facts
from tests.command import call
from tests.networks import town, town_rows
from tests.optional import pandas as pd


@pytest.mark.parametrize(
    ("labels", "which"),
    [
        (("ja", "nein"), 0), (("Nee", "JA"), 1), (("non", "oui"), 1), (("no", "sí"), 1), (("j", "n"), 0),
        (("ja", "nej"), 0), (("ano", "ne"), 0), (("evet", "hayir"), 0), (("да", "нет"), 0), (("no", "yes"), 1),
        (("event", "no event"), 0), (("mit Hund", "ohne Hund"), 0), (("churned", "not_churned"), 0),
        (("ja", "oui"), None), (("cat", "dog"), None), ((0, 1), None), ((False, True), None), (("no", "none"), None),
        (("ja", "nein", "vielleicht"), None), (("no", "not"), None), (("", "nein"), None),
    ],
)  # fmt: skip
def test_labels_that_say_yes_are_known(labels: Any, which: int | None) -> None:
    assert find_positive_class(labels) == which


@pytest.fixture(scope="module")
def network() -> bgn.Network:
    """Questions of whole points, so that both classes are equally probable for some rows."""
    given = town()
    weights = np.resize([1.0, -0.5, 0.5, -1.0, 0.5], given.widths[-1])
    changed = given.changed(output_weights=weights, base=0.5, link="logistic", bounds=None)
    return bgn.Network.of_layers(
        changed.layers, weights, 0.5, schema=_with(changed.schema, ("ja", "nein")), link="logistic"
    )


def _with(schema: Any, classes: tuple[str, str]) -> Any:
    return replace(schema, classes=classes, target="gekauft", target_unit="")


def test_an_equation_a_card_and_a_drawing_tell_of_yes(network: bgn.Network) -> None:
    other = swap_classes(network)
    assert is_first_positive(network)
    assert not is_first_positive(other)
    assert swap_classes(other) == network
    assert bgn.equation(network).startswith("log-odds of gekauft = ja = ")
    assert bgn.equation(network) == bgn.equation(other)
    assert bgn.scorecard(network).points == bgn.scorecard(with_positive_second(network)).points
    assert network._repr_html_() == other._repr_html_()
    assert "gekauft = ja" in network._repr_html_()


def test_a_card_says_from_where_on_yes_is_predicted(network: bgn.Network) -> None:
    card, rows = bgn.scorecard(network), town_rows(300)
    scores = network.raw_score(rows)
    assert (scores == 0).any()  # rows in between
    totals = np.rint((-scores - float(card.start[0])) / float(card.unit)).astype(int)
    said = np.where(scores > 0, "nein", "ja")
    assert (said[totals >= card.likely_from()] == "ja").all()
    assert (said[totals < card.likely_from()] == "nein").all()


def test_rows_are_evaluated_equally_from_either_side(network: bgn.Network) -> None:
    rows = town_rows(300)
    y = np.random.default_rng(0).choice(["ja", "nein"], 300)
    evaluated = evaluation_rows(network, rows, y)
    turned = evaluated.swap_classes()
    np.testing.assert_array_equal(
        np.array(evaluated.classes)[evaluated.predicted], np.array(turned.classes)[turned.predicted]
    )
    np.testing.assert_allclose(evaluated.probabilities, turned.probabilities[:, ::-1], atol=1e-15)
    np.testing.assert_array_equal(turned.swap_classes().predicted, evaluated.predicted)


def test_lines_to_edit_are_those_of_the_equation(network: bgn.Network) -> None:
    lines = bgn.equation(network).splitlines()
    editor = bgn.edit(network, town_rows(60), cutoff=0.5)
    for number in range(1, len(bgn.as_terms(network).rules) + 1):
        done = editor.drop(number)
        kept = [line.split("[")[1] for k, line in enumerate(lines) if "[" in line and k != number]
        assert [line.split("[")[1] for line in bgn.equation(done.network).splitlines() if "[" in line] == kept
        assert done.network.schema.classes == ("ja", "nein")
    raised = editor.coef(1, 9.5)
    assert " 9.5 [" in bgn.equation(raised.network)
    yes = 1.0 - network.predict(town_rows(60)), 1.0 - raised.network.predict(town_rows(60))
    assert (yes[1] >= yes[0] - 1e-12).all()  # an amount raises the probability of yes
    expected = np.flatnonzero((yes[0] >= 0.5) != (yes[1] >= 0.5))
    np.testing.assert_array_equal(raised.receipt.decisions, expected)


def test_fits_keep_scikit_learns_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"Jahre": rng.integers(0, 40, 200), "Stadt": rng.choice(["Ulm", "Bonn"], 200)})
    bought = X["Jahre"] + 10 * (X["Stadt"] == "Ulm") + rng.normal(0, 5, 200) > 22
    fits = [
        bgn.BGNClassifier(max_terms=3, max_linear=0, random_state=0, cv=None).fit(X, pd.Series(labels, name="gekauft"))
        for labels in (np.where(bought, "ja", "nein"), np.where(bought, "a", "b"))
    ]
    assert list(fits[0].classes_) == ["ja", "nein"]
    np.testing.assert_array_equal(fits[0].predict_proba(X), fits[1].predict_proba(X))
    assert fits[0].equation().startswith("log-odds of gekauft = ja = ")
    why, chance = fits[0].explain(X), fits[0].predict_proba(X)[:, 0]
    np.testing.assert_allclose(why.base_value + why.values.sum(axis=1), np.log(chance / (1.0 - chance)), atol=1e-9)
    assert why.classes == ("nein", "ja")
    assert bgn.effect(fits[0], "Jahre", X).target == "probability of gekauft = ja"
    evaluated = bgn.evaluate(fits[0], X, np.where(bought, "ja", "nein"))
    assert evaluated.scores["sensitivity"] == np.mean(fits[0].predict(X)[bought] == "ja")
    np.testing.assert_allclose(bgn.extremes(fits[0], "seen", missing=False).high, chance.max())
    assert fits[0].counterfactual(X.iloc[0], probability=(0.9, 1.0)).label == "ja"
    path, model = tmp_path / "ja.csv", tmp_path / "ja.json"
    X.assign(gekauft=np.where(bought, "ja", "nein")).to_csv(path, index=False)
    bgn.save(fits[0], model)
    for command in (
        ["show"],
        ["explain", path, "--row", 3],
        ["effect", path, "Jahre"],
        ["compare", path, "--groups", "Stadt"],
    ):
        assert "gekauft = ja" in call(command[0], model, *command[1:]).out
    assert "log-odds of gekauft = nein" in call("show", model, "--class", "nein").out
    assert "positive: ja" in call("evaluate", model, path).out
    assert "score and probability are those of 'nein'" in call("export", model, "--to", "sql").err
    assert "probability of ja" in call("counterfactual", model, path, "--at-least", 0.9).out
    written = bgn.write_report(fits[0], X, np.where(bought, "ja", "nein"), tmp_path / "report.html")
    assert "the probability of “ja”" in written.read_text(encoding="utf-8")
    facts = Facts.of(fits[0], X, np.where(bought, "ja", "nein"), None, None)
    sets, own = facts.intervals.predict_encoded(facts.rows, 0.9), fits[0].intervals_.predict_encoded(facts.rows, 0.9)
    np.testing.assert_array_equal(sets, own[:, ::-1])
    np.testing.assert_array_equal(facts.evaluation_target == 1, bought)
    assert bgn.load(model).predict_proba(X).tolist() == fits[0].predict_proba(X).tolist()
    assert io.StringIO(call("predict", model, path).out).readline() == "prediction\n"
