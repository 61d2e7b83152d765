"""The printed equation is the model: read by another program, it answers and adds up as the network does."""

from __future__ import annotations

from decimal import Decimal
from itertools import compress

import numpy as np
import pytest

import bgn
from bgn import Layer, Network
from bgn.model.numbers import sum_of
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.reference.sentence import EXACT, parse

# How far a sum of floats may lie from the exact sum of the printed numbers, relative to their size.
TOLERANCE = 1e-12

SCHEMA = Schema(
    (
        Column("temp"),
        Column("hr", whole=True, seen=(0.0, 23.0)),
        Column("workingday", whole=True, seen=(0.0, 1.0)),
        Column("holiday", whole=True, seen=(0.0, 1.0)),
        Column("season: winter", category_of=("season", "winter")),
        Column("wind speed"),
        Column("city", categories=("Lille", "Nice", "Rome", "Oslo")),
    ),
    target="rentals",
)


def decimals(rng: np.random.Generator, low: float, high: float, places: int) -> float:
    return float(f"{rng.uniform(low, high):.{places}f}")


def oblique(rng: np.random.Generator) -> Oblique:
    """A question of short decimals about one to three columns."""
    columns = sorted(rng.choice(7, size=rng.integers(1, 4), replace=False).tolist())
    leading = int(rng.choice(columns))
    coefficients = []
    for column in columns:
        if column == 6:
            coefficients.append(tuple(rng.choice([0.0, 0.0, 1.5, decimals(rng, -9, 9, 1)], size=4).tolist()))
        elif column == leading or column == 0:
            coefficients.append(float(rng.choice([-1.0, 1.0])))
        else:
            coefficients.append(decimals(rng, -9, 9, 2) or 0.5)
    threshold = decimals(rng, -2, 20, int(rng.integers(0, 3)))
    if not {0, 1, 5} & set(columns):
        threshold = decimals(rng, -2, 3, 1)
    return Oblique(Projection(tuple(columns), tuple(coefficients)), threshold)


def network(seed: int, size: int = 8, deeper: int = 0, places: int = 2) -> Network:
    rng = np.random.default_rng(seed)
    layers = [Layer.of([oblique(rng) for _ in range(size)], 7)]
    if deeper:
        weights = np.zeros((deeper, size))
        for row in weights:
            chosen = rng.choice(size, size=rng.integers(1, 5), replace=False)
            row[chosen] = [decimals(rng, -2, 2, 1) or 1.0 for _ in chosen]
        layers.append(Layer(weights, [decimals(rng, -2, 2, 1) for _ in range(deeper)]))
    outputs = [decimals(rng, -50, 50, places) for _ in range(layers[-1].width)]
    return Network.of_layers(layers, outputs, decimals(rng, 0, 100, places), schema=SCHEMA)


def rows_of(model: Network, seed: int) -> np.ndarray:
    """Rows as the schema has them, among them rows on every threshold of the first layer and one float beside."""
    rng = np.random.default_rng(seed)
    count = 60
    rows = np.column_stack(
        [
            rng.uniform(-5, 30, count), rng.integers(0, 24, count), *rng.integers(0, 2, (3, count)),
            rng.uniform(0, 60, count), rng.integers(0, 4, count),
        ]
    )  # fmt: skip
    parts = [rows]
    for condition in model.layers[0].neurons:
        some = rows[rng.integers(count, size=6)]
        for j, coefficient in zip(condition.projection.columns, condition.projection.coefficients, strict=True):
            if isinstance(coefficient, tuple) or SCHEMA.columns[j].whole or SCHEMA.columns[j].category_of:
                continue
            moved = some.copy()
            moved[:, j] = 0.0
            moved[:, j] = (condition.threshold - condition.projection.values(moved)) / coefficient
            moved[:, j] = [float(f"{value:.12g}") for value in moved[:, j]]
            for towards in (None, -np.inf, np.inf):
                near = moved.copy()
                near[:, j] = moved[:, j] if towards is None else np.nextafter(moved[:, j], towards)
                parts.append(near)
    return np.vstack(parts)


def raw(rows: np.ndarray) -> np.ndarray:
    """The rows as a user has them: a city by its name."""
    table = rows.astype(object)
    table[:, 6] = [SCHEMA.columns[6].categories[int(code)] for code in rows[:, 6]]
    return table


def table_of(rows: np.ndarray) -> dict:
    """The columns by the names that are printed."""
    table = dict(zip(SCHEMA.names, rows.T, strict=True)) | {"city": raw(rows)[:, 6]}
    table["season"] = np.where(table.pop("season: winter") == 1.0, "winter", "summer")
    return table


def said(model: Network, table: np.ndarray) -> np.ndarray:
    """The network's own answers, by the order of its terms."""
    fires, weights = model.hidden(table) > 0, model.output_weights
    return np.transpose([fires[:, term.index] == (weights[term.index] > 0) for term in bgn.as_terms(model).rules])


def check(model: Network, rows: np.ndarray) -> None:
    """Compare what is printed with what the network says; sums of several numbers are compared as floats."""
    table, terms = table_of(rows), bgn.as_terms(model)
    sentence = parse(bgn.equation(model), list(table))
    expected = said(model, raw(rows))
    np.testing.assert_array_equal(terms.holds(raw(rows)), expected)
    np.testing.assert_array_equal(sentence.answers(table), expected)
    if not has_sums(model):
        np.testing.assert_array_equal(sentence.answers(table, Decimal), expected)
    weights = [Decimal(weight) for weight, _ in sentence.lines]
    exact = [sum(compress(weights, row), Decimal(sentence.base)) for row in expected.tolist()]
    size = float(sum(map(abs, weights)) + abs(Decimal(sentence.base))) or 1.0
    nearest = [float(value) for value in exact]
    np.testing.assert_array_equal(model.predict(raw(rows)), nearest)
    np.testing.assert_array_equal(terms.evaluate(raw(rows)), nearest)
    np.testing.assert_allclose(sentence.value(table), nearest, rtol=0, atol=TOLERANCE * size)


def has_sums(model: Network) -> bool:
    return any(condition.reading is None for condition in bgn.as_terms(model).conditions)


@pytest.mark.parametrize("seed", range(40))
def test_the_printed_text_is_the_network(seed: int) -> None:
    model = network(seed)
    check(model, rows_of(model, seed))


@pytest.mark.parametrize("seed", range(15))
def test_the_printed_text_of_a_deep_network_is_the_network(seed: int) -> None:
    model = network(seed, size=5, deeper=4)
    check(model, rows_of(model, seed))


def test_a_case_beyond_the_values_seen_is_what_must_hold_or_is_enough() -> None:
    given = [((1, 2), (1.0, 20.0), 26.0), ((1, 2), (-1.0, 20.0), 4.0), ((1, 2), (1.0, -5.0), 10.0)]
    layer = Layer.of([Oblique(Projection(columns, weights), cut) for columns, weights, cut in given], 7)
    model = Network.of_layers([layer], [3.0, 2.0, 1.0], 0.0, schema=SCHEMA)
    lines = [line.partition(" [")[2][:-1] for line in bgn.equation(model).splitlines()[1:]]
    assert lines == [
        "hr >= 6 and workingday = 1",
        "hr <= 16 and workingday = 1",
        "hr >= 15, or hr >= 10 and workingday = 0",
        "",
    ]
    assert bgn.equation(model).endswith("\nFor values of hr from 0 to 23, as seen in training.")
    opposite = Network.of_layers([layer], [-3.0, -2.0, -1.0], 0.0, schema=SCHEMA)
    assert "[hr < 6 or workingday = 0]" in bgn.equation(opposite)
    check(model, rows_of(model, 0))


def test_what_decides_for_all_numbers_seen_stands_alone() -> None:
    given = [((1, 2), (1.0, 50.0), 26.0), ((1, 2), (1.0, -50.0), -5.0)]
    layer = Layer.of([Oblique(Projection(columns, weights), cut) for columns, weights, cut in given], 7)
    for weights in ([3.0, 2.0], [-3.0, -2.0]):
        model = Network.of_layers([layer], weights, 0.0, schema=SCHEMA)
        lines = [line.partition(" [")[2][:-1] for line in bgn.equation(model).splitlines()[1:]]
        which = weights[0] > 0
        assert lines[:2] == [f"workingday = {int(which)}", f"workingday = {int(not which)}"]
        check(model, rows_of(model, 0))


@pytest.mark.parametrize("layers", [1, 2])
def test_the_printed_text_of_a_grown_network_is_the_network(layers: int) -> None:
    rng = np.random.default_rng(layers)
    hr, temp, workingday = rng.integers(0, 24, 300), rng.normal(15, 8, 300).round(1), rng.integers(0, 2, 300)
    X = np.column_stack([hr, temp, workingday]).astype(float)
    y = 3.0 * (hr + 6.0 * workingday > 12) + 2.0 * (temp + 5.0 * workingday > 10) + rng.normal(0, 0.3, 300)
    model = bgn.BGNRegressor(max_terms=6, max_layers=layers, max_linear=0, random_state=0).fit(X, y).network_
    near = [X]
    for condition in model.layers[0].neurons:
        for j in set(condition.projection.columns) & {1}:
            on = X[:40].copy()
            on[:, j] = 0.0
            coefficient = condition.projection.coefficients[condition.projection.columns.index(j)]
            on[:, j] = (condition.threshold - condition.projection.values(on)) / coefficient
            for towards in (on[:, j], -np.inf, np.inf):
                near.append(on.copy())
                near[-1][:, j] = np.nextafter(on[:, j], towards)
    rows = np.vstack(near)
    table = dict(zip(model.names, rows.T, strict=True))
    sentence = parse(bgn.equation(model), list(table))
    np.testing.assert_array_equal(sentence.answers(table), said(model, rows))
    np.testing.assert_allclose(model.predict(rows), sentence.value(table), rtol=TOLERANCE, atol=TOLERANCE)
    exact = [sum(compress((Decimal(weight) for weight, _ in sentence.lines), row), Decimal(sentence.base))
             for row in said(model, rows).tolist()]  # fmt: skip
    np.testing.assert_array_equal(model.predict(rows), [float(value) for value in exact])


def test_long_and_extreme_numbers_are_printed_whole() -> None:
    numbers = [1 / 3, 1e300, 5e-324, 0.1 + 0.2, 123456789.123456789]
    model = Network.of_layers([Layer(np.ones((5, 1)), [-number for number in numbers])], numbers, -0.0, ["x"])
    rows = np.array(
        [[number] for value in numbers for number in (np.nextafter(value, -np.inf), value, np.nextafter(value, np.inf))]
    )
    sentence = parse(bgn.equation(model), ["x"])
    np.testing.assert_array_equal(sentence.answers({"x": rows[:, 0]}), said(model, rows))
    assert sorted(Decimal(weight) for weight, _ in sentence.lines) == sorted(
        2 * Decimal(repr(number)) for number in numbers
    )
    assert EXACT.add(Decimal(sentence.base), sum_of(Decimal(repr(number)) for number in numbers)) == 0
    whole = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 1.0, ["x"])
    assert bgn.equation(whole) == "prediction = 0\n           + 2 [x >= 0]"
