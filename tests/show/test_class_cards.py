"""Equations, tables and cards of classes are the model: read by another program, they say what the network predicts."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from itertools import compress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import log_loss, roc_auc_score

import bgn
from bgn import Layer, Network
from tests.networks import NASTY, TABLE, chances, class_networks, random_network, table_rows, winners
from tests.reference.class_card import chance, read_card, read_table
from tests.reference.sentence import parse


def columns_of(X: np.ndarray) -> dict:
    """Raw rows by name, as a person reads them: a category never seen counts as missing."""
    table = {}
    for column, values in zip(TABLE.columns, X.T, strict=True):
        if column.categories is None:
            table[column.name] = np.array([np.nan if value is None else value for value in values], dtype=float)
        else:
            known = [value if value in column.categories else None for value in values]
            table[column.name] = np.array(known, dtype=object)
    return table


@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from([1, 2]))
def test_a_printed_table_of_classes_is_the_network(data, depth):
    network, complete = data.draw(class_networks(depth, n_classes=3))
    X = data.draw(table_rows(complete))
    np.testing.assert_array_equal(bgn.as_terms(network).evaluate(X), network.raw_score(X))
    printed = read_table(bgn.equation(network), list(TABLE.names), 3)
    assert printed.classes == ["no", "yes", "maybe"]
    scores = [[float(number) for number in row] for row in printed.scores(columns_of(X))]
    np.testing.assert_array_equal(scores, network.raw_score(X))


@settings(deadline=None, max_examples=40)
@given(st.data(), st.sampled_from([1, 2]))
def test_a_printed_equation_of_two_classes_is_the_network(data, depth):
    network, complete = data.draw(class_networks(depth, n_classes=2))
    X = data.draw(table_rows(complete))
    text = bgn.equation(network)
    assert "log-odds of grown = yes = " in text
    assert "The probability is 1 / (1 + exp(-log-odds))" in text
    sentence = parse(text, list(TABLE.names))
    value = sentence.value(columns_of(X))
    np.testing.assert_array_equal(value, network.raw_score(X))
    np.testing.assert_allclose([chance(number) for number in value], network.predict(X), rtol=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.data(), st.sampled_from([1, 2]), st.sampled_from([1, 3, 5]))
def test_who_adds_up_a_card_gets_the_probability(data, depth, points):
    network, complete = data.draw(class_networks(depth))
    X = data.draw(table_rows(complete, least=3))
    y = np.array(network.schema.classes)[data.draw(st.lists(st.integers(0, 1), min_size=len(X), max_size=len(X)))]
    simple = bgn.simplify(network, X, y, points=points)
    assert simple.measure == "log loss"
    codes = [network.schema.classes.index(label) for label in y]
    own = np.take_along_axis(chances(simple.network, X), np.array(codes)[:, np.newaxis], axis=1)
    assert simple.after == pytest.approx(-np.log(own).mean())
    card, table = bgn.scorecard(simple.network), columns_of(X)
    if len(network.schema.classes) > 2:
        printed = read_table(str(card), list(TABLE.names), len(network.schema.classes))
        scores = printed.scores(table)
        floats = [[float(number) for number in row] for row in scores]
        np.testing.assert_array_equal(floats, simple.network.raw_score(X))
        assert [max(range(len(row)), key=row.__getitem__) for row in scores] == winners(simple.network, X).tolist()
        assert max((abs(number) for row in card.points for number in row), default=0) <= points
    elif card.points:
        printed = read_card(str(card), list(TABLE.names))
        assert max(printed.points) <= points
        odds = [printed.start + printed.unit * int(total) for total in printed.totals(table)]
        np.testing.assert_array_equal([float(number) for number in odds], simple.network.raw_score(X))
        np.testing.assert_array_equal([card.probability(t) for t in printed.totals(table)], simple.network.predict(X))
        least = np.inf if printed.predicted_from is None else printed.predicted_from
        assert (printed.totals(table) >= least).astype(int).tolist() == winners(simple.network, X).tolist()


def test_probabilities_of_a_card_rise_with_the_total():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = bgn.BGNClassifier(max_terms=5, max_linear=0, random_state=0).fit(X[:400], y[:400])
    simple = bgn.simplify(model, X[:400], y[:400], points=5, calibrate_on=(X[400:], y[400:]))
    card = bgn.scorecard(simple.network)
    chances_of = [card.probability(total) for total in range(sum(own for (own,) in card.points) + 1)]
    assert (np.diff(chances_of) > 0).all()
    shown = read_card(str(card), list(X.columns)).chances
    for total, text in shown.items():
        assert text == "above 99.9 %" or text == "below 0.1 %" or float(text[:-2]) == round(100 * chances_of[total], 1)
    assert (
        roc_auc_score(y[400:], simple.network.predict(X[400:]))
        > roc_auc_score(y[400:], model.predict_proba(X[400:])[:, 1]) - 0.01
    )
    plain = bgn.simplify(model, X[:400], y[:400], points=5).network
    assert log_loss(y[400:], simple.network.predict(X[400:])) <= log_loss(y[400:], plain.predict(X[400:]))


def test_points_of_several_classes_keep_what_is_predicted():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = bgn.BGNClassifier(max_terms=4, max_linear=0, random_state=0).fit(X, y)
    simple = bgn.simplify(model, X, y, points=5)
    assert np.mean(simple.network.predict(X).argmax(axis=1) == y) >= model.score(X, y) - 0.02
    card = bgn.scorecard(simple.network)
    first, *points = card.lines()
    totals = card.terms.holds(X) @ np.array(points) + np.array(first)
    np.testing.assert_array_equal([card.probabilities(row) for row in totals], simple.network.predict(X))
    rounder = bgn.simplify(model, X, y, digits=2).network
    np.testing.assert_allclose(200 * rounder.output_weights, np.rint(200 * rounder.output_weights), atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_points_are_as_good_as_trying_all(seed):
    """Three questions of up to two points: no points of all there are lose much less on the same counts."""
    rng = np.random.default_rng(seed)
    fires = rng.integers(0, 2, (300, 3)).astype(float)
    y = (rng.random(300) < chances_of(fires @ rng.normal(size=3) * 2)).astype(int)
    if y.min() == y.max():
        return
    network = Network.of_layers([Layer(np.eye(3), [-0.5] * 3)], rng.normal(size=3), 0.0, link="logistic")
    from bgn.explain.points import _best_points, _losses, cells_of

    cells = cells_of(network, fires, y.astype(float), 2)
    every = np.array(np.meshgrid(*[np.arange(-2.0, 3.0)] * 3)).reshape(3, -1).T
    best = _best_points(network.output_weights, cells, np.ones(3, dtype=bool), 2, None)
    # The search changes one question or two at a time: of 600 cases it ended elsewhere in two, by 0.2 % at most.
    assert _losses(best[np.newaxis], cells)[0] <= _losses(every, cells).min() * 1.01


def chances_of(scores: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-scores))


def test_nasty_names_stay_text_in_every_format():
    network = random_network(6, NASTY, second=0, target=NASTY[0])
    weights = np.random.default_rng(0).integers(-3, 4, (6, 3)) * 0.25
    schema = replace(network.schema, classes=(NASTY[0], NASTY[2], NASTY[3]))
    several = network.changed(link="softmax", output_weights=weights, base=[0.0, 0.5, 1.0], schema=schema)
    schema = replace(schema, classes=(NASTY[1], NASTY[0]))
    two = network.changed(link="logistic", output_weights=weights[:, 0] + 0.25, schema=schema, base=0.5)
    cards = [bgn.scorecard(model).format("html") for model in (several, two)]
    for written in (bgn.equation(several, "html"), *cards):
        assert "<script" not in written
        assert "alert(1)" in html.unescape(written)
    for model in (several, two):
        for form in ("text", "markdown", "latex"):
            assert bgn.equation(model, form)
            assert bgn.scorecard(model).format(form)
    tex = bgn.scorecard(several).format("latex")
    assert not re.search(r"(?<!\\)[&%_#](?![^$]*\$ (?:&|\\\\))", "".join(compress(tex, [c != "&" for c in tex])))


def test_what_has_no_points_is_refused():
    layers, weights = [Layer([[1.0], [1.0]], [0.0, 1.0])], [[0.1, 0.2], [1 / 3, 0.1]]
    network = Network.of_layers(layers, weights, [0.0, 0.0], link="softmax")
    with pytest.raises(ValueError, match=r"bgn.simplify\(model, X, y, points=5\)"):
        bgn.scorecard(network)
    numbers = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0)
    with pytest.raises(ValueError, match="calibrate_on is for classes"):
        bgn.simplify(numbers, [[1.0], [2.0]], [1.0, 2.0], points=2, calibrate_on=([[1.0]], [1.0]))
    with pytest.raises(ValueError, match="probability is for cards of two classes"):
        bgn.scorecard(numbers).probability(1)
