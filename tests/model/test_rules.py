"""Rules that people build, worth 1 where they hold and 0 or -1 elsewhere: everything computed from them equals trying
every cell. Each check knows the network by its predictions alone."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from math import factorial

import numpy as np
import pytest

import bgn
from bgn import Network, Rule
from bgn.model.ensemble import mean_of
from bgn.model.network import expand
from bgn.theory import lower_bounds, regions
from tests import export_engines
from tests.reference.explain import cheapest_listed, table_rows_of
from tests.reference.rules import cells, condition_holds, exact_scores, rule_holds
from tests.reference.sentence import parse
from tests.rule_networks import random_condition, rule_network

SEEDS = 25


def scores_are_sums(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, outputs=int(rng.choice([1, 3])), most_conditions=most)
    rows = cells(network, 300)
    scores = network.predict_encoded(rows, scores=True).reshape(len(rows), -1)
    exact = np.array([[float(score) for score in exact_scores(network, row)] for row in rows])
    assert np.allclose(scores, exact, rtol=1e-14, atol=1e-13)


def files_keep_them(rng: np.random.Generator, most: int, tmp_path) -> None:
    network = rule_network(rng, outputs=int(rng.choice([1, 3])), most_conditions=most)
    bgn.save(network, tmp_path / "model.json")
    again = bgn.load(tmp_path / "model.json")
    assert again == network
    rows = cells(network, 200)
    assert (again.predict_encoded(rows, scores=True) == network.predict_encoded(rows, scores=True)).all()


def shap_values_are_shapley_values(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, most_conditions=most, link="identity")
    every = cells(network, 400)
    X, background = every[rng.choice(len(every), 3)], every[rng.choice(len(every), 9)]
    count = network.n_inputs
    explanation = bgn.shap_values(network, table_rows_of(network, X), background=table_rows_of(network, background))

    def worth(x: np.ndarray, known: tuple[int, ...]) -> float:
        mixed = background.copy()
        mixed[:, list(known)] = x[list(known)]
        return float(network.predict_encoded(mixed).mean())

    for x, values in zip(X, explanation.values, strict=True):
        for j in range(count):
            others = [k for k in range(count) if k != j]
            value = 0.0
            for size in range(count):
                share = factorial(size) * factorial(count - size - 1) / factorial(count)
                for known in combinations(others, size):
                    value += share * (worth(x, (*known, j)) - worth(x, known))
            assert abs(values[j] - value) < 1e-9
        assert abs(values.sum() + explanation.base_value - network.predict_encoded(x[np.newaxis])[0]) < 1e-9


def effects_are_means(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, most_conditions=most, link="identity", linear=False, obliques=False)
    rows = cells(network, 60)
    for j in network.features_used:
        effect = bgn.effect(network, network.names[j], table_rows_of(network, rows))
        for value in np.unique(rows[:, j][~np.isnan(rows[:, j])])[:12]:
            mixed = rows.copy()
            mixed[:, j] = value
            at = table_rows_of(network, mixed)[0, j]
            assert abs(float(effect(at)) - network.predict_encoded(mixed).mean()) < 1e-9
    if len(network.features_used) > 1:
        pair = network.features_used[:2]
        effect = bgn.effect(network, [network.names[j] for j in pair], table_rows_of(network, rows))
        for row in rows[~np.isnan(rows[:, list(pair)]).any(axis=1)][:20]:
            mixed = rows.copy()
            mixed[:, pair] = row[list(pair)]
            a, b = table_rows_of(network, mixed)[0, list(pair)]
            assert abs(float(effect(a, b)) - network.predict_encoded(mixed).mean()) < 1e-9


def extremes_are_attained(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, most_conditions=most, link="identity", linear=False, obliques=False)
    predictions = network.predict_encoded(cells(network, 200_000))
    extremes = bgn.extremes(network, "seen", max_seconds=60)
    assert extremes.proven
    assert abs(extremes.low - predictions.min()) < 1e-9
    assert abs(extremes.high - predictions.max()) < 1e-9


def certificates_hold(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, most_conditions=most, link="identity", obliques=False)
    rows = cells(network, 4000)
    for name, certificate in bgn.certify(network, within="seen", max_seconds=60).items():
        column = network.names.index(name)
        there = rows[~np.isnan(rows[:, column])]
        values = np.unique(there[:, column])
        fall = rise = 0.0
        for row in there[:200]:
            moved = np.tile(row, (len(values), 1))
            moved[:, column] = values
            steps = np.diff(network.predict_encoded(moved), prepend=np.nan)[1:]
            fall, rise = max(fall, -steps.min(initial=0.0)), max(rise, steps.max(initial=0.0))
        assert certificate.direction not in ("increasing", "constant") or fall < 1e-9, (name, certificate)
        assert certificate.direction not in ("decreasing", "constant") or rise < 1e-9, (name, certificate)
        assert certificate.direction != "unknown", (name, certificate)


def counterfactuals_are_cheapest(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, most_conditions=most, link="identity", numbers=False)
    rows = cells(network, 2000)
    row = rows[rng.integers(len(rows))]
    if np.isnan(row).any():
        row = np.where(np.isnan(row), [column.typical for column in network.schema.columns], row)
    predictions = network.predict_encoded(rows)
    aim = float(rng.choice(predictions))
    if network.predict_encoded(row[np.newaxis])[0] >= aim:
        return
    (x,) = table_rows_of(network, row[np.newaxis])
    answer = bgn.counterfactual(network, x, at_least=aim, max_seconds=60)
    columns = network.schema.columns
    prices = np.array([1.0 if c.categories is not None else 4.0 / (c.seen[1] - c.seen[0]) for c in columns])
    _, cost = cheapest_listed(network, row, lambda values: values >= aim, prices)
    assert answer.reached == np.isfinite(cost), (answer, cost)
    assert not answer.reached or abs(answer.cost - cost) < 1e-6, (answer, cost)


def plain_weights_give_the_same(rng: np.random.Generator, most: int) -> None:
    network = rule_network(rng, most_conditions=most, outputs=int(rng.choice([1, 3])))
    rows = cells(network, 300)
    table = table_rows_of(network, rows)
    plain = network.expanded()
    assert np.allclose(plain.raw_score(expand(network, table)), network.raw_score(table), atol=1e-9)


def equations_are_read_back(rng: np.random.Generator, most: int, counted: bool = False) -> None:
    network = rule_network(rng, most_conditions=most, linear=False, counted=counted)
    terms, columns, rows = bgn.as_terms(network), network.schema.columns, cells(network, 300)
    rows = rows[~np.isnan(rows[:, sorted(terms.complete)]).any(axis=1)]  # what is filled is not in the text
    table, text = table_rows_of(network, rows), bgn.equation(network)
    assert np.allclose(terms.evaluate(table), network.raw_score(table), rtol=1e-14, atol=1e-13)
    by_name = {
        column.name: np.array([value if value is not None else None for value in values],
                              dtype=float if column.categories is None else object)
        for column, values in zip(columns, np.asarray(table, dtype=object).T, strict=True)
    }  # fmt: skip
    np.testing.assert_array_equal(parse(text, list(network.names)).answers(by_name), terms.holds(table), text)


def a_rule_is_its_conditions(rng: np.random.Generator, most: int) -> None:
    """Whatever order they come in, and however often: equal rules, which hold where each condition does."""
    network = rule_network(rng)
    given = [random_condition(network.schema, rng, set()) for _ in range(most)]
    try:
        rule = Rule(given)
    except ValueError:  # more than three that differ
        return
    for other in (Rule(given[::-1]), Rule([*given, *given]), Rule(rule.conditions)):
        assert other == rule or (other.never and rule.never)
    rows = cells(Network(0.0, [*network.rules, rule], np.ones(len(network.rules) + 1), schema=network.schema), 300)
    rows = np.vstack([rows, np.full((1, rows.shape[1]), np.nan)])
    holds = [all(condition_holds(condition, row) for condition in given) for row in rows]
    assert rule.holds(rows).tolist() == holds
    assert not (rule.never and any(holds))


def regions_are_patterns(rng: np.random.Generator, most: int) -> None:
    """Conditions are a layer, rules a layer above where some rule has several; the bounds are those of the patterns."""
    network = rule_network(rng, most_conditions=most, link="identity", linear=False)
    rows = cells(network, 200)
    table, typical = table_rows_of(network, rows), [column.typical for column in network.schema.columns]
    y = rng.choice([-1.0, 0.0, 2.5], len(rows))
    by_row = [tuple(rule_holds(rule, row, np.array(typical, float)) for rule in network.rules) for row in rows]
    first = [tuple(rule_holds(Rule(condition), row, np.array(typical, float))
                   for rule in network.rules for condition in rule.conditions) for row in rows]  # fmt: skip
    layers = [first, by_row] if any(len(rule.conditions) > 1 for rule in network.rules) else [by_row]
    reached = regions(network, table)
    assert [layer.index.max() + 1 for layer in reached] == [len(set(patterns)) for patterns in layers]
    bounds = lower_bounds(network, table, y)
    for layer, patterns, bound in zip(reached, layers, bounds, strict=False):
        same = {pattern: [k for k, own in enumerate(patterns) if own == pattern] for pattern in set(patterns)}
        assert all(len(set(layer.index[own])) == 1 for own in same.values())
        assert abs(bound - sum(np.var(y[own]) * len(own) for own in same.values()) / len(y)) < 1e-12
    assert (np.diff(bounds) >= 0.0).all()
    assert abs(bounds[-1] - np.mean((network.predict(table) - y) ** 2)) < 1e-9


def means_are_means(rng: np.random.Generator, most: int) -> None:
    first = rule_network(rng, most_conditions=most, link="identity", linear=False)
    second = first.changed(coef=-2.0 * first.coef, intercept=first.intercept + 1.5)
    rows, mean = cells(first, 200), mean_of([first, second])
    wanted = (first.predict_encoded(rows) + second.predict_encoded(rows)) / 2.0
    assert np.allclose(mean.predict_encoded(rows), wanted, atol=1e-9)
    assert np.allclose(mean.members.scores(mean, mean._rows(rows, encoded=True)).mean(axis=0), wanted, atol=1e-9)


def exported(engine: str):
    def programs_give_the_same_bits(rng: np.random.Generator, most: int) -> None:
        network = rule_network(rng, most_conditions=most, outputs=int(rng.choice([1, 3])))
        rows = cells(network, 300)
        run = {
            "python": export_engines.in_python, "javascript": export_engines.in_node, "sql": export_engines.in_sqlite,
            "c": export_engines.in_c("-std=c99", "-O0"), "onnx": export_engines.in_onnx,
        }[engine]  # fmt: skip
        wanted = network.predict_encoded(rows, scores=True).reshape(len(rows), -1)
        assert (run(network, table_rows_of(network, rows)).reshape(len(rows), -1) == wanted).all()

    return programs_give_the_same_bits


CHECKS = {
    "scores": scores_are_sums,
    "files": files_keep_them,
    "shap": shap_values_are_shapley_values,
    "effects": effects_are_means,
    "extremes": extremes_are_attained,
    "certify": certificates_hold,
    "counterfactual": counterfactuals_are_cheapest,
    "expanded": plain_weights_give_the_same,
    "equation": equations_are_read_back,
    "equation that counts missing values": partial(equations_are_read_back, counted=True),
    "canonical": a_rule_is_its_conditions,
    "regions": regions_are_patterns,
    "means": means_are_means,
    **{f"export {engine}": exported(engine) for engine in ("python", "javascript", "c", "sql", "onnx")},
}


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("check", CHECKS)
def test_rules_of_people(check: str, most: int, tmp_path) -> None:
    more = {"tmp_path": tmp_path} if check == "files" else {}
    for seed in range(SEEDS if "export" not in check else 4):
        CHECKS[check](np.random.default_rng((seed, most)), most, **more)
