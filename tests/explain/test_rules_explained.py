"""Networks of rules of one to three conditions: shares, pairs, certificates, margins, rounding and edits are those that
trying every cell finds."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pytest

import bgn
from bgn.model.network import Network
from bgn.model.term import Threshold
from tests.model.test_rules import CHECKS as OTHER_CHECKS
from tests.reference.explain import table_rows_of
from tests.reference.rules import cells
from tests.rule_networks import rule_network

BEFORE = ("scores", "shap", "effects", "extremes", "certify", "counterfactual")


def mean_scores(network: Network, row: np.ndarray, background: np.ndarray, term: int) -> dict[tuple[int, ...], float]:
    """What a term adds on average over the background, by the columns that come from the row."""
    alone = network.changed(terms=[network.terms[term]], coef=network.coef[[term]], link="identity", bounds=None)
    means = {}
    for size in range(network.n_inputs + 1):
        for known in combinations(range(network.n_inputs), size):
            mixed = background.copy()
            mixed[:, list(known)] = row[list(known)]
            means[known] = float(alone.predict_encoded(mixed).mean())
    return means


def shares_and_pairs_are_those_of_games(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, most_conditions=most)
    every, count = cells(network, 400), network.n_inputs
    X, background = every[rng.choice(len(every), 2)], every[rng.choice(len(every), 7)]
    explanation = bgn.shap_values(network, table_rows_of(network, X), background=table_rows_of(network, background))
    pairs = explanation.interaction_values()
    for place, row in enumerate(X):
        shares, of_pairs = np.zeros((count, len(network.terms))), np.zeros((count, count))
        for term in range(len(network.terms)):
            worth = mean_scores(network, row, background, term)
            whole = worth[tuple(range(count))] - worth[()]
            assert abs(explanation.term_values[place, term] - whole) < 1e-9
            for known in worth:
                others = [j for j in range(count) if j not in known]
                for j in others:
                    weight = factorial(len(known)) * factorial(count - len(known) - 1) / factorial(count)
                    shares[j, term] += weight * (worth[tuple(sorted((*known, j)))] - worth[known])
                for i, j in combinations(others, 2):
                    weight = factorial(len(known)) * factorial(count - len(known) - 2) / factorial(count - 1) / 2
                    one, other, both = (worth[tuple(sorted((*known, *some)))] for some in ((i,), (j,), (i, j)))
                    of_pairs[i, j] += weight * (both - one - other + worth[known])
        of_pairs += of_pairs.T
        np.fill_diagonal(of_pairs, shares.sum(axis=1) - of_pairs.sum(axis=1))
        known = np.zeros_like(shares)
        known[tuple(explanation.connections.T)] = explanation.connection_values[place]
        np.testing.assert_allclose(known, shares, atol=1e-9)
        np.testing.assert_allclose(pairs[place], of_pairs, atol=1e-9)


def certificates_are_exact(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, most_conditions=most, link="identity", linear=False, obliques=False)
    rows = cells(network, 100_000)
    for name, certificate in bgn.certify(network, within="seen", max_seconds=60).items():
        column = network.names.index(name)
        if certificate.direction == "unordered":
            continue
        there = rows[~np.isnan(rows[:, column])]
        order = np.lexsort((there[:, column], *np.delete(there, column, axis=1).T))
        count = len(np.unique(there[:, column]))
        scores = network.predict_encoded(there[order]).reshape(-1, count)
        fall = float((np.maximum.accumulate(scores, axis=1) - scores).max())
        rise = float((scores - np.minimum.accumulate(scores, axis=1)).max())
        assert abs(certificate.rise - rise) < 1e-9, (certificate, rise)
        assert abs(certificate.fall - fall) < 1e-9, (certificate, fall)


def margins_along_columns_are_nearest(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, most_conditions=most, link="identity", linear=False, obliques=False)
    rows = cells(network, 300)
    X = rows[rng.choice(len(rows), 4)]
    margin, own = bgn.margin(network, table_rows_of(network, X)), network.predict_encoded(X)
    for column in network.features_used:
        values = np.unique(rows[~np.isnan(rows[:, column]), column])
        for place, row in enumerate(X):
            if np.isnan(row[column]):
                continue
            moved = np.tile(row, (len(values), 1))
            moved[:, column] = values
            other = np.abs(network.predict_encoded(moved) - own[place]) > 1e-9
            if (kind := network.schema.columns[column]).categories is not None:
                assert margin.categories[kind.name][place].tolist() == other.tolist()
                continue
            up, down = values[other & (values > row[column])], values[other & (values < row[column])]
            assert margin.up[place, column] <= up.min(initial=np.inf)
            assert margin.down[place, column] >= down.max(initial=-np.inf)
            for end in (margin.up[place, column], margin.down[place, column]):
                if np.isfinite(end):
                    moved[0, column] = end
                    assert abs(network.predict_encoded(moved[:1])[0] - own[place]) > 1e-9


def rounding_changes_no_row(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, most_conditions=most, link="identity", linear=False)
    rows = table_rows_of(network, cells(network, 200))
    target = network.predict(rows) + rng.normal(size=len(rows))
    simple = bgn.simplify(network, rows, target, digits=2)
    np.testing.assert_array_equal(simple.free.predict(rows), network.predict(rows))
    pointed = bgn.simplify(network, rows, target, points=5).network
    gains = pointed.gains[:, 0]
    if len(gains):
        points = gains / np.abs(gains).min()
        assert any(np.allclose(points * times, np.rint(points * times), atol=1e-6) for times in range(1, 6))
        assert abs(gains).max() <= 5.001 * abs(gains).min() * 5


def edits_touch_the_rows_they_should(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, most_conditions=most, link="identity", linear=False, obliques=False)
    lines = bgn.as_terms(network).rules
    rows = cells(network, 400)
    X = table_rows_of(network, rows)
    if not lines:
        return
    start, number = bgn.edit(network, X, network.predict(X)), int(rng.integers(len(lines)))
    rows = network._rows(rows, encoded=True)  # missing values that count as something do
    line, rule = lines[number], network.terms[lines[number].place]
    holds = bgn.as_terms(network).holds(X)[:, number]
    if len(rule.conditions) > 1:
        which = int(rng.integers(len(rule.conditions)))
        gone = start.drop_condition(number + 1, which + 1)
        kept = [condition for place, condition in enumerate(rule.conditions) if place != which]
        held = np.all([condition.holds(rows) for condition in kept], axis=0)
        expected = network.coef[line.place, 0] * (1.0 - rule.otherwise) * (held & ~rule.holds(rows))
        np.testing.assert_allclose(gone.receipt.change, expected, atol=1e-9)
        with pytest.raises(ValueError, match="pass condition=1"):
            start.threshold(number + 1, 0.5)
    numeric = [j for j, column in enumerate(network.schema.columns) if column.categories is None]
    if numeric and len(rule.conditions) < 3 and not line.any_holds:
        name, below = network.names[numeric[0]], bool(rng.integers(2))
        more = start.add_condition(number + 1, name, "<" if below else ">=", 0.75)
        column = more.network._rows(rows, encoded=True)[:, numeric[0]]
        met = (column < 0.75) if below else (column >= 0.75)
        np.testing.assert_allclose(more.receipt.change, -float(line.coef[0]) * (holds & ~met), atol=1e-9)
        assert more.undo() is start
    for place, condition in enumerate(rule.conditions):
        if isinstance(condition, Threshold):
            moved = start.threshold(number + 1, 0.25, condition=place + 1)
            changed = [Threshold(one.column, 0.25, one.relation, one.missing) if one is condition else one
                       for one in rule.conditions]  # fmt: skip
            held = np.all([one.holds(rows) for one in changed], axis=0)
            gain = network.coef[line.place, 0] * (1.0 - rule.otherwise)
            difference = gain * (held.astype(float) - rule.holds(rows))
            np.testing.assert_allclose(moved.receipt.change, difference, atol=1e-9)


CHECKS = {
    "shares": shares_and_pairs_are_those_of_games,
    "certificates": certificates_are_exact,
    "margins": margins_along_columns_are_nearest,
    "rounding": rounding_changes_no_row,
    "edits": edits_touch_the_rows_they_should,
}


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("check", CHECKS)
def test_rules_are_explained_as_every_cell_says(check, most):
    for seed in range(20):
        CHECKS[check](np.random.default_rng((seed, most)), most)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(100, 2100, 100))
@pytest.mark.parametrize("check", [*CHECKS, *BEFORE])
def test_two_thousand_networks_are_explained_as_every_cell_says(check, first):
    for seed in range(first, first + 100):
        (CHECKS | OTHER_CHECKS)[check](np.random.default_rng((seed, 3)), 1 + seed % 3)
