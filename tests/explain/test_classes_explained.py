"""Explanations of classes: scores that add up, exact means of probabilities, proven changes of class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine

import bgn
from bgn import Layer, Network
from bgn.model.readings import outputs_of
from tests.networks import TABLE, chances, class_networks, table_rows, town, town_rows, winners
from tests.reference.explain import cheapest_table_row

PRICES = np.array([1 / 2.25, 1.0, 1 / 1.25, 1.0, 1.0])
NUMBERS = {0: (-3.0, 6.0), 2: (0.0, 5.0)}


def churn(base: float = -4.0) -> Network:
    network = town()
    return network.changed(link="logistic", base=base, schema=replace(network.schema, classes=("No", "Yes")))


def three() -> Network:
    network, weights = town(), np.random.default_rng(0).normal(size=(8, 3)).round(2)
    schema = replace(network.schema, classes=("a", "b", "c"))
    return network.changed(link="softmax", output_weights=weights, base=[0.0, 1.0, -1.0], schema=schema)


@settings(deadline=None, max_examples=15)
@given(st.data(), st.sampled_from([1, 2]))
def test_shap_values_add_up_to_the_scores(data, depth):
    network, complete = data.draw(class_networks(depth))
    X, background = data.draw(table_rows(complete)), data.draw(table_rows(complete))
    result = bgn.shap_values(network, X, background)
    scores = network.raw_score(X)
    np.testing.assert_allclose(result.base_value + result.values.sum(axis=1), scores, atol=1e-9)
    np.testing.assert_allclose(result.base_value + result.term_values.sum(axis=1), scores, atol=1e-9)
    np.testing.assert_allclose(result.base_value, network.raw_score(background).mean(axis=0), atol=1e-9)
    np.testing.assert_array_equal(result.probabilities, chances(network, X))
    for number, label in enumerate(result.classes):
        sign = -1.0 if scores.ndim == 1 and number == 0 else 1.0
        score = outputs_of(network)[number if scores.ndim == 2 else 0]
        own, alone = result.of_class(label), bgn.shap_values(score, X, background)
        np.testing.assert_allclose(own.values, sign * alone.values, atol=1e-9)
        np.testing.assert_allclose(own.connection_values, sign * alone.connection_values, atol=1e-9)
        np.testing.assert_allclose(own.interaction_values(), sign * alone.interaction_values(), atol=1e-9)


def test_sampled_shap_values_of_classes_come_near_and_add_up():
    network, X, background = three(), town_rows(5), town_rows(20, seed=1)
    exact = bgn.shap_values(network, X, background)
    result = bgn.shap_values(network, X, background, method="sampled", n_samples=200, random_state=0)
    assert result.standard_error.shape == exact.values.shape == (5, 5, 3)
    assert (np.abs(result.values - exact.values) <= 6 * result.standard_error + 1e-9).all()
    np.testing.assert_allclose(result.base_value + result.values.sum(axis=1), network.raw_score(X))


def test_importance_of_several_classes_is_their_mean():
    network, X = three(), town_rows(30)
    for kind in ("shap", "paper"):
        result = bgn.importance(network, X, kind=kind)
        part = [bgn.importance(score, X, kind=kind) for score in outputs_of(network)]
        np.testing.assert_allclose(result.features, np.mean([one.features for one in part], axis=0))
        np.testing.assert_allclose(result.by_class, np.transpose([one.features for one in part]))
    assert bgn.importance(churn(), X).by_class is None


@settings(deadline=None, max_examples=40)
@given(st.data(), st.sampled_from([1, 2]))
def test_effects_are_means_of_probabilities(data, depth):
    network, complete = data.draw(class_networks(depth))
    background = data.draw(table_rows(complete))
    number = data.draw(st.integers(0, len(network.schema.classes) - 1))
    column, second = data.draw(st.permutations(range(5)))[:2]
    label = network.schema.classes[number]

    def mean(**values):
        rows = background.copy()
        for place, value in values.items():
            rows[:, int(place[1:])] = value
        return chances(network, rows)[:, number].mean()

    def values_of(j):
        if TABLE.columns[j].categories is not None:
            return list(TABLE.columns[j].categories)
        result = bgn.effect(network, j, background, of=label).breakpoints
        edges = [[part, np.nextafter(part, -np.inf)] for part in result if abs(part) < 1e6]
        return [float(part) for pair in edges for part in pair] + [-7.0, 0.3, 9.0]

    result = bgn.effect(network, column, background, of=label)
    for value in values_of(column):
        assert result([value])[0] == pytest.approx(mean(**{f"c{column}": value}), abs=1e-12)
    if result.missing is not None:
        assert result.missing == pytest.approx(mean(**{f"c{column}": None}), abs=1e-12)
    pair = bgn.effect(network, (column, second), background, of=label)
    for first, other in zip(values_of(column), values_of(second), strict=False):
        expected_mean = mean(**{f"c{column}": first, f"c{second}": other})
        assert pair([first], [other])[0] == pytest.approx(expected_mean, abs=1e-12)


def test_an_effect_on_the_score_is_that_of_the_score():
    background = town_rows(20)
    for network, label, score in ((churn(), None, outputs_of(churn())[0]), (three(), "c", outputs_of(three())[2])):
        result = bgn.effect(network, "age", background, of=label, scale="score")
        alone = bgn.effect(score, "age", background)
        np.testing.assert_array_equal(result.values, alone.values)
    opposite = bgn.effect(churn(), "age", background, of="No", scale="score")
    assert opposite.target == "log-odds of price = No"
    np.testing.assert_allclose(opposite.values, -bgn.effect(churn(), "age", background, scale="score").values)


@settings(deadline=None, max_examples=50)
@given(st.data(), st.sampled_from([1, 2]), st.sampled_from([None, (0.5, 1.0), (0.6, 1.0), (0.3, 0.45), (0.0, 0.2)]))
def test_counterfactuals_equal_trying_every_row(data, depth, probability):
    network, _ = data.draw(class_networks(depth, most=3))
    (x,) = data.draw(table_rows(most=1))
    number = data.draw(st.integers(0, len(network.schema.classes) - 1))
    label = network.schema.classes[number]

    def wanted(rows):
        if probability is None:
            return winners(network, rows) == number
        result = chances(network, rows)[:, number]
        return (result >= probability[0]) & (result <= probability[1])

    answer = bgn.counterfactual(network, x, to=label, probability=probability, max_seconds=600)
    best = cheapest_table_row(network, TABLE.encode([x], missing=True)[0], None, PRICES, wanted=wanted)
    assert answer.optimal
    assert answer.reached == np.isfinite(best)
    assert answer.unreachable != answer.reached
    if answer.x is not None:
        raw = np.array([answer.x], dtype=object)
        assert answer.prediction == chances(network, raw)[0, number]
        assert answer.label == network.schema.classes[winners(network, raw)[0]]
        assert wanted(raw)[0] == answer.reached
    if answer.reached:
        assert answer.cost == pytest.approx(best, abs=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.data(), st.sampled_from([1, 2]))
def test_margins_to_another_class(data, depth):
    network, complete = data.draw(class_networks(depth))
    X = data.draw(table_rows(complete))
    result, score = bgn.margin(network, X), bgn.margin(network, X, change="score")
    assert (result.euclidean >= score.euclidean - 1e-9)[result.exact & score.exact].all()
    codes, here = TABLE.encode(X, missing=True), winners(network, X)
    rng = np.random.default_rng(0)
    for i, row in enumerate(X):
        for name, other in result.categories.items():
            j = TABLE.names.index(name)
            moved = np.array([row] * len(TABLE.columns[j].categories), dtype=object)
            moved[:, j] = TABLE.columns[j].categories
            expected = (winners(network, moved) != here[i]) & ~np.isnan(codes[i, j])
            np.testing.assert_array_equal(other[i], expected)
        for j in NUMBERS:
            if np.isnan(codes[i, j]):
                continue
            up, down = result.up[i, j], result.down[i, j]
            moved = np.array([row] * 2, dtype=object)
            moved[:, j] = [up if np.isfinite(up) else row[j], down if np.isfinite(down) else row[j]]
            assert (winners(network, moved) != here[i]).tolist() == [np.isfinite(up), np.isfinite(down)]
            between = rng.uniform(max(down, -50.0), min(up, 50.0), 40)
            moved = np.array([row] * 40, dtype=object)
            moved[:, j] = np.clip(between, np.nextafter(down, np.inf), np.nextafter(up, -np.inf))
            assert (winners(network, moved) == here[i]).all()
        free = [j for j in NUMBERS if not np.isnan(codes[i, j])]
        if free and result.exact[i] and result.euclidean[i] > 1e-6:
            moved = np.array([row] * 200, dtype=object)
            steps = rng.normal(size=(200, len(free)))
            steps /= np.linalg.norm(steps, axis=1, keepdims=True)
            reach = min(result.euclidean[i] * (1 - 1e-5), 50.0)
            moved[:, free] = codes[i, free] + steps * reach * rng.random((200, 1))
            assert (winners(network, moved) == here[i]).all()


def test_equal_scores_are_the_first_class():
    layer = Layer([[1.0]], [-2.0])
    two = Network.of_layers(
        [layer], [0.5], -0.5, ["age"], link="logistic"
    )  # log-odds of 0 from 2 on: still the first class
    assert bgn.counterfactual(two, [0.0], to=1).unreachable
    assert bgn.counterfactual(two, [0.0], probability=(0.5, 1.0)).x.tolist() == [2.0]
    several = Network.of_layers(
        [layer], [[0.5, 1.0, 1.0]], [0.5, 0.0, 0.0], ["age"], link="softmax"
    )  # 1, 1, 1 from 2 on
    assert bgn.counterfactual(several, [0.0], to=1).unreachable
    assert np.isinf(bgn.margin(several, [[0.0]]).euclidean).all()
    assert bgn.margin(several, [[0.0]], change="score").euclidean == [2.0]
    ahead = several.changed(output_weights=[[0.5, 1.0, 1.125]])
    result = bgn.counterfactual(ahead, [0.0], to=2)
    assert (result.label, result.cost, result.optimal) == (2, 2.0, True)


def test_a_grown_classifier_is_explained():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = bgn.BGNClassifier(max_terms=4, random_state=0).fit(X, y)
    result = bgn.shap_values(model, X.iloc[:5], X)
    np.testing.assert_allclose(result.base_value + result.values.sum(axis=1), model.decision_function(X.iloc[:5]))
    np.testing.assert_array_equal(result.probabilities, model.predict_proba(X.iloc[:5]))
    change = bgn.counterfactual(model, X.iloc[0], to=2)
    assert change.optimal
    assert winners(model.network_, change.x[np.newaxis]).tolist() == [2]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: bgn.counterfactual(three(), town_rows(1)[0], to="d"), "to must be one of the classes 'a', 'b', 'c'"),
        (lambda: bgn.counterfactual(three(), town_rows(1)[0]), "to must be given: the class that is wanted"),
        (lambda: bgn.counterfactual(three(), town_rows(1)[0], at_least=1.0), "Use to or probability"),
        (lambda: bgn.counterfactual(town(), town_rows(1)[0], to="a"), "Use at_least or at_most"),
        (lambda: bgn.counterfactual(churn(), town_rows(1)[0], probability=(0.5, 0.2)), "the lower one first"),
        (lambda: bgn.counterfactual(churn(), town_rows(1)[0], probability=0.5), r"a pair such as \(0.5, 1\)"),
        (lambda: bgn.effect(three(), "age", town_rows(3)), "of must name one of the classes, 'a', 'b', 'c'"),
        (lambda: bgn.effect(churn(), "age", town_rows(3), scale="odds"), "'probability' or 'score'; got 'odds'"),
        (lambda: bgn.effect(town(), "age", town_rows(3), of="a"), "of names a class; the model predicts a number"),
        (lambda: bgn.effect(town(), "age", town_rows(3), scale="score"), "scale is for classes"),
        (lambda: bgn.margin(town(), town_rows(3), change="class"), "change is for classes"),
        (lambda: bgn.margin(churn(), town_rows(3), change="label"), "'class' or 'score'; got 'label'"),
        (lambda: bgn.shap_values(town(), town_rows(3), town_rows(3)).of_class("a"), "of_class needs classes"),
    ],
)
def test_bad_arguments_are_named(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
