"""Counterfactuals: against exhaustive search over cells, on categories and missing values against every row, and with
linear terms against a fine grid, on one column exactly."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.networks import TABLE, table_networks, table_rows, town, with_linear_terms
from tests.optional import pandas as pd
from tests.reference.explain import cheapest_cell, cheapest_table_row

counterfactual = partial(bgn.counterfactual, max_seconds=600)  # a busy machine takes its time


def random_problem(seed):
    """A small network, a row and limits of every kind, as arguments for both sides."""
    rng = np.random.default_rng(seed)
    d, depth = int(rng.integers(1, 5)), int(rng.choice([1, 1, 1, 2]))
    n_conditions = int(rng.integers(1, 5))
    grid = rng.random() < 0.5
    weights = np.zeros((n_conditions, d))
    for row in weights:
        read = rng.permutation(d)[: rng.integers(1, 4)]
        row[read] = rng.choice([1.0, -1.0, 0.5, 2.0, rng.uniform(0.2, 1.5)], len(read))
    x = rng.integers(-3, 4, d).astype(float) if grid else rng.normal(size=d).round(2) * 2
    on = Layer(weights, np.zeros(n_conditions)).project(rng.integers(-3, 4, (n_conditions, d)).astype(float)).diagonal()
    layers = [Layer(weights, -(on if grid else on + rng.normal(size=n_conditions).round(2)))]
    if depth == 2:
        inner = rng.choice([1.0, -1.0, 2.0, 0.0, 0.5], (int(rng.integers(1, 4)), n_conditions))
        layers.append(Layer(inner, rng.choice([0.0, 1.0, -1.0, 0.3], len(inner))))
    output = rng.choice([1.0, -1.0, 0.5, 2.0], layers[-1].width) * rng.choice([1.0, rng.random()])
    network = Network.of_layers(layers, output, float(rng.normal()), [f"c{i}" for i in range(d)])

    low, high, integer, groups = np.full(d, -8.0), np.full(d, 8.0), np.zeros(d, dtype=bool), []
    options = {"bounds": dict.fromkeys(range(d), (-8.0, 8.0))}
    if d >= 3 and rng.random() < 0.3:
        x[:2] = np.eye(2)[rng.integers(2)]
        groups, options["one_hot"] = [(0, 1)], [(0, 1)]
        low[:2], high[:2], integer[:2] = 0.0, 1.0, True
        options["bounds"][0] = options["bounds"][1] = (0, 1)
    if rng.random() < 0.3:
        column = int(rng.integers(len(groups) * 2, d))
        x[column] = np.rint(x[column])
        integer[column], options["integer"] = True, [f"c{column}"]
    if rng.random() < 0.4:
        column = d - 1
        direction = rng.choice(["increase", "decrease", "immutable", "box"])
        if direction == "immutable":
            options["immutable"] = [column]
            low[column] = high[column] = x[column]
        elif direction == "box":
            low[column], high[column] = np.sort(rng.integers(-4, 5, 2)).astype(float)
            options["bounds"][column] = (low[column], high[column])
        else:
            options["bounds"][column] = str(direction)
            low[column], high[column] = (x[column], 1000.0) if direction == "increase" else (-1000.0, x[column])
    constraints = []
    if d >= 2 and rng.random() < 0.3:
        options["constraints"] = [f"c{d - 1} <= c{d - 2}"]
        constraints.append((np.eye(d)[d - 1] - np.eye(d)[d - 2], 0.0))
        if rng.random() < 0.5:
            options["constraints"].append(({"c0": 2.0, f"c{d - 1}": 1.0}, ">=", -3))
            constraints.append((-2 * np.eye(d)[0] - np.eye(d)[d - 1], 3.0))
    costs = np.ones(d) if rng.random() < 0.5 else rng.uniform(0.2, 3.0, d).round(2)
    options["costs"] = None if (costs == 1).all() else costs
    max_changed = options["max_changed"] = None if rng.random() < 0.6 else int(rng.integers(1, 4))
    values = np.unique(network.predict(rng.uniform(-6, 6, (200, d))))
    wanted = rng.choice(["at_least", "at_most", "between"])
    pick = float(rng.choice(values)) + (float(rng.choice([0.0, 0.1, -0.1])) if rng.random() < 0.5 else 0.0)
    least, most = (
        (pick, np.inf) if wanted == "at_least" else (-np.inf, pick) if wanted == "at_most" else (pick, pick + 0.3)
    )
    options["at_least"] = least if np.isfinite(least) else None
    options["at_most"] = most if np.isfinite(most) else None
    limits = {
        "costs": costs, "low": low, "high": high, "integer": integer, "groups": groups, "constraints": constraints,
        "max_changed": max_changed,
    }  # fmt: skip
    return network, x, least, most, options, limits


def assert_obeys(answer, network, x, least, most, limits):
    """Every limit, checked on the answer itself, and the prediction fed back."""
    row = answer.x
    prediction = network.predict([row])[0]
    assert answer.prediction == prediction
    if answer.reached:
        assert least <= prediction <= most
        assert answer.cost == pytest.approx(np.abs(row - x) @ limits["costs"])
    assert (row >= limits["low"]).all()
    assert (row <= limits["high"]).all()
    assert (row[limits["integer"]] == np.rint(row[limits["integer"]])).all()
    for group in limits["groups"]:
        assert sorted(row[list(group)]) == [0.0] * (len(group) - 1) + [1.0]
    for a, b in limits["constraints"]:
        assert a @ row <= b + 1e-12
    grouped = {column: group for group in limits["groups"] for column in group}
    changed = {grouped.get(column, column) for column in np.flatnonzero(row != x)}
    assert limits["max_changed"] is None or len(changed) <= limits["max_changed"]
    assert answer.changes == {f"c{i}": (x[i], row[i]) for i in np.flatnonzero(row != x)}


@pytest.mark.parametrize("block", [0, 1, 2, *(pytest.param(k, marks=pytest.mark.exhaustive) for k in range(3, 10))])
def test_equal_to_exhaustive_search_over_cells(block):
    for seed in range(50 * block, 50 * block + 50):
        network, x, least, most, options, limits = random_problem(seed)
        answer = counterfactual(network, x, **options)
        best, miss = cheapest_cell(network, x, least, most, **limits)
        assert answer.optimal, seed
        assert answer.reached == np.isfinite(best), seed
        if answer.x is not None:
            assert_obeys(answer, network, x, least, most, limits)
        if answer.reached:
            assert best - 1e-2 <= answer.cost <= best + 1e-5, seed
            assert answer.max_saving == 0
        else:
            assert answer.unreachable, seed
            away = np.inf if answer.x is None else max(least - answer.prediction, answer.prediction - most)
            assert away == pytest.approx(miss, abs=1e-9), seed


HOUSE = Network.of_layers(
    [Layer([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [-2.0, -5.0, -10.0])],
    [1.0, 0.5, 0.25],
    3.0,
    ["rooms", "age", "floor area"],
)


def test_strict_thresholds_to_the_last_bit():
    down = counterfactual(HOUSE, [2.0, 0.0, 0.0], at_most=1.25)
    assert down.x.tolist() == [np.nextafter(2.0, 0.0), 0.0, 0.0]
    up = counterfactual(HOUSE, [0.0, 0.0, 0.0], at_least=3.25)
    assert up.x.tolist() == [2.0, 0.0, 0.0]
    whole = counterfactual(HOUSE, [2.0, 0.0, 0.0], at_most=1.25, integer=["rooms"])
    assert whole.x.tolist() == [1.0, 0.0, 0.0]
    assert whole.changes == {"rooms": (2.0, 1.0)}


def test_an_integer_sum_below_its_threshold():
    """Three whole columns whose sum must fall below 6: not 6, not 5.999999."""
    network = Network.of_layers([Layer([[1.0, 1.0, 1.0]], [-6.0])], [1.0], 0.0)
    for limit in (None, 3):
        answer = counterfactual(network, [3.0, 2.0, 1.0], at_most=0.0, integer=[0, 1, 2], max_changed=limit)
        assert answer.cost == 1.0
        assert answer.optimal
    low = dict.fromkeys(range(3), (0, 1))
    answer = counterfactual(network, [3.0, 2.0, 1.0], at_most=0.0, integer=[0, 1, 2], bounds=low)
    assert answer.x.tolist() == [1.0, 1.0, 1.0]


def test_fewest_features_first():
    network = Network.of_layers([Layer(np.eye(3), [-1.0, -1.0, -100.0])], [1.0, 1.0, 2.0], 0.0)
    cheap = counterfactual(network, [0.0, 0.0, 0.0], at_least=0.0)
    few = counterfactual(network, [0.0, 0.0, 0.0], at_least=0.0, costs="fewest")
    assert cheap.x.tolist() == [1.0, 1.0, 0.0]
    assert few.x.tolist() == [0.0, 0.0, 100.0]
    assert few.optimal
    three = counterfactual(network, [0.0, 0.0, 0.0], at_least=4.0, costs="fewest")
    assert three.x.tolist() == [1.0, 1.0, 100.0]


def test_several_answers_change_different_columns():
    network = Network.of_layers([Layer(np.eye(3), [-1.0, -2.0, -3.0])], [1.0, 1.0, 1.0], 0.0, ["a", "b", "c"])
    answer = counterfactual(network, [0.0, 0.0, 0.0], at_least=-1.0, n=5)
    assert [list(reply.changes) for reply in (answer, *answer.alternatives)] == [["a"], ["b"], ["c"]]
    assert [reply.cost for reply in (answer, *answer.alternatives)] == [1.0, 2.0, 3.0]
    pairs = counterfactual(network, [0.0, 0.0, 0.0], at_least=1.0, n=5)
    assert [list(reply.changes) for reply in (pairs, *pairs.alternatives)] == [["a", "b"], ["a", "c"], ["b", "c"]]
    none = counterfactual(network, [1.0, 0.0, 0.0], at_least=-1.0, n=3)
    assert none.changes == {}
    assert none.alternatives == ()
    assert answer.as_dict()["alternatives"][0]["changes"] == {"b": {"from": 0.0, "to": 2.0}}


def test_limits_by_name():
    answer = counterfactual(
        HOUSE,
        {"rooms": 1.0, "age": 1.0, "floor area": 5.0},
        at_least=4.5,
        bounds={"rooms": "increase", "age": (None, 2.0), 2: (0, 8)},
        constraints=["2*rooms - floor area <= 1e0", "age + rooms >= -3 + age"],
    )
    assert answer.optimal
    home_size, age, area = answer.x
    assert home_size + age >= 5
    assert home_size >= 1
    assert age <= 2
    assert 0 <= area <= 8
    assert 2 * home_size - area <= 1
    assert answer.prediction == HOUSE.predict([answer.x])[0] == 4.25 + 0.0 or answer.prediction >= 4.5


def test_rows_of_every_kind():
    x = {"age": 1.0, "rooms": 1.0, "floor area": 5.0}
    frame = pd.DataFrame([x])
    wanted = counterfactual(HOUSE, [1.0, 1.0, 5.0], at_least=4.0).x.tolist()
    for row in (x, frame, frame.iloc[0], np.array([[1.0, 1.0, 5.0]])):
        assert counterfactual(HOUSE, row, at_least=4.0).x.tolist() == wanted


def test_unreachable_comes_with_the_best_attainable():
    answer = counterfactual(HOUSE, [0.0, 0.0, 0.0], at_least=4.0, bounds={"rooms": (0, 1), "floor area": (0, 20)})
    assert not answer.reached
    assert answer.unreachable
    assert answer.prediction == HOUSE.predict([answer.x])[0] == 2.75
    assert repr(answer) == "Counterfactual(unreachable: the best attainable is 2.75)"
    between = counterfactual(HOUSE, [0.0, 0.0, 0.0], at_least=1.5, at_most=1.7)
    assert between.prediction in (1.25, 1.75)
    nothing = counterfactual(HOUSE, [0.0, 0.0, 0.0], at_least=4.0, constraints="0*rooms >= 1")
    assert nothing.x is None
    assert nothing.unreachable
    assert repr(nothing) == "Counterfactual(unreachable: no row obeys the limits)"
    assert nothing.as_dict()["prediction"] is None


def test_nothing_may_change():
    still = {"immutable": ["rooms", "age", "floor area"]}
    assert counterfactual(HOUSE, [0.0, 0.0, 0.0], at_least=4.0, **still).prediction == 1.25
    for costs in (None, "fewest"):
        same = counterfactual(HOUSE, [0.0, 0.0, 0.0], at_most=4.0, costs=costs, **still)
        assert same.reached
        assert same.cost == 0
    base = Network.of_layers([Layer(np.empty((0, 1)), [])], [], 2.0)
    assert counterfactual(base, [1.0], at_least=3.0).unreachable
    assert counterfactual(base, [1.0], at_least=1.0).reached


def test_a_row_outside_its_bounds_comes_in():
    answer = counterfactual(HOUSE, [9.0, 0.0, 0.0], at_least=0.0, bounds={"rooms": (0, 3)})
    assert answer.x.tolist() == [3.0, 0.0, 0.0]


def test_equality_constraints():
    answer = counterfactual(HOUSE, [1.0, 1.0, 5.0], at_least=4.0, constraints="rooms == age")
    assert answer.x[0] == pytest.approx(answer.x[1], abs=1e-6)
    assert answer.cost == pytest.approx(3.0, abs=1e-6)


def test_one_hot_groups_stay_one_hot():
    network = Network.of_layers(
        [Layer([[1, 0, 0, 0], [0, 1, 0, 1.0], [0, 0, 1, 0]], [-0.5, -3.0, -0.5])], [1.0, 2.0, 0.25], 0.0, list("abcx")
    )
    limits = {"one_hot": [("a", "b", "c")], "bounds": {"x": (0, 2)}}
    answer = counterfactual(network, [1.0, 0.0, 0.0, 1.0], at_least=0.5, **limits)
    assert answer.x.tolist() == [0.0, 1.0, 0.0, 2.0]
    assert counterfactual(network, [1.0, 0.0, 0.0, 1.0], at_least=0.5, max_changed=2, **limits).reached
    assert counterfactual(network, [1.0, 0.0, 0.0, 1.0], at_least=0.5, max_changed=1, **limits).unreachable


def random_network(seed, n_conditions, features):
    rng = np.random.default_rng(seed)
    weights = np.zeros((n_conditions, features))
    for row in weights:
        row[rng.permutation(features)[:2]] = rng.normal(size=2)
    network = Network.of_layers([Layer(weights, rng.normal(size=n_conditions))], rng.normal(size=n_conditions), 0.0)
    rows = rng.normal(size=(500, features))
    return network, rows[0], network.predict(rows).max()


def test_when_time_is_up_the_distance_from_the_optimum_is_known():
    network, x, wanted = random_network(0, 100, 12)
    answer = counterfactual(network, x, at_least=wanted, max_seconds=0.6)
    assert not answer.unreachable
    if answer.reached:
        assert network.predict([answer.x])[0] >= wanted
        assert answer.optimal == (answer.max_saving == 0)
        assert 0 <= answer.max_saving <= 1


def test_twenty_rules_and_eight_features_are_solved():
    network, x, wanted = random_network(1, 20, 8)
    answer = counterfactual(network, x, at_least=wanted)
    assert answer.optimal
    assert network.predict([answer.x])[0] >= wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "at_least or at_most must be given"),
        ({"at_least": 2.0, "at_most": 1.0}, "at_least must not be above at_most; got 2.0 and 1.0"),
        ({"at_least": 1.0, "n": 0}, "n must be at least 1; got 0"),
        ({"at_least": 1.0, "max_seconds": 0}, "max_seconds must be positive; got 0"),
        ({"at_least": 1.0, "max_changed": 0}, "max_changed must be at least 1; got 0"),
        ({"at_least": 1.0, "costs": [1.0, 1.0, 0.0]}, "costs must be a positive number for each of the 3 columns"),
        ({"at_least": 1.0, "costs": "cheap"}, "or 'fewest'; got 'cheap'"),
        ({"at_least": 1.0, "costs": {"hue": 1.0}}, "costs must name a column"),
        ({"at_least": 1.0, "bounds": {"rooms": 3}}, "bounds of 'rooms' must be"),
        ({"at_least": 1.0, "bounds": {"rooms": (3, 2)}}, "bounds of 'rooms' must have low <= high"),
        ({"at_least": 1.0, "immutable": "rooms"}, "immutable must be a list of columns; got the text 'rooms'"),
        ({"at_least": 1.0, "integer": ["age"]}, "integer has 'age', but x has 0.5 there"),
        ({"at_least": 1.0, "one_hot": [("rooms", "age")]}, "one_hot group rooms, age must have a single 1 in x"),
        ({"at_least": 1.0, "constraints": ["rooms < age"]}, "needs one of '<=', '>=' and '==' once"),
        ({"at_least": 1.0, "constraints": ["rooms <= hue"]}, "cannot be read from 'hue' on; the columns are"),
        ({"at_least": 1.0, "constraints": ["rooms <= 2*"]}, "cannot be read from"),
        ({"at_least": 1.0, "constraints": ["rooms age <= 2"]}, "cannot be read from 'age"),
        ({"at_least": 1.0, "constraints": [" <= 2"]}, "lacks a side"),
        ({"at_least": 1.0, "constraints": [({"rooms": 1}, "<", 2)]}, "it must be '<=', '>=' or '=='"),
        ({"at_least": 1.0, "constraints": [3]}, "constraints has 3, which cannot be read"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        counterfactual(HOUSE, [1.0, 0.5, 0.0], **options)


def test_bad_rows_are_named():
    with pytest.raises(ValueError, match="x lacks the column 'age'"):
        counterfactual(HOUSE, {"rooms": 1.0, "floor area": 2.0}, at_least=1.0)
    with pytest.raises(ValueError, match="x must be one row; got 2"):
        counterfactual(HOUSE, np.zeros((2, 3)), at_least=1.0)
    shared = {"one_hot": [("rooms", "age"), ("age", "floor area")]}
    with pytest.raises(ValueError, match="one_hot groups must not share columns"):
        counterfactual(HOUSE, [1.0, 0.0, 1.0], at_least=1.0, **shared)


def test_wanted_predictions_and_limits_that_cannot_be_are_refused():
    network = Network.of_layers([Layer([[1.0]], [-1.0])], [1.0], 0.0, ["a"])
    with pytest.raises(ValueError, match="at_least must be a finite number; got nan"):
        counterfactual(network, [0.0], at_least=float("nan"))
    with pytest.raises(ValueError, match="at_most must be a finite number; got inf"):
        counterfactual(network, [0.0], at_most=np.inf)
    with pytest.raises(ValueError, match=r"immutable has 'a', but x has .* there, outside its bounds"):
        counterfactual(network, [0.0], at_least=1, bounds={"a": (2, 3)}, immutable=["a"])


def test_zero_is_the_neatest_number():
    weights = [[-1.0, 0.0, 1.0], [0.0, -3.0, 0.0]]
    network = Network.of_layers([Layer(weights, [0.0, 1.0])], [1.0, 1.0], 0.0, ["a", "b", "c"])
    answer = counterfactual(network, [2.0, 4.0, 0.0], at_least=2, immutable=["c"])
    assert answer.changes["a"] == (2.0, 0.0)


PRICES = np.array([1 / 2.25, 1.0, 1 / 1.25, 1.0, 1.0])  # a quarter of the ranges seen, and 1 per change of level


@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from([1, 2]), st.booleans(), st.booleans())
def test_equal_to_trying_every_row(data, depth, fill, priced):
    network, _ = data.draw(table_networks(depth, most=3))
    (x,) = data.draw(table_rows(most=1))
    wanted = float(data.draw(st.sampled_from(np.unique(network.predict(data.draw(table_rows(least=3)))).tolist())))
    prices = PRICES * ([2.0, 0.5, 1.0, 3.0, 0.25] if priced else 1.0)
    row = TABLE.encode([x], missing=True)[0]
    costs = dict(zip(TABLE.names, prices.tolist(), strict=True)) if priced else None
    answer = bgn.counterfactual(network, x, at_least=wanted, costs=costs, fill_missing=fill, max_seconds=600)
    best = cheapest_table_row(network, row, wanted, prices, fill=range(5) if fill else ())
    assert answer.optimal
    assert answer.reached == np.isfinite(best)
    if not answer.reached:
        assert answer.unreachable
        return
    assert answer.cost == pytest.approx(best, abs=1e-6)
    assert network.predict([answer.x])[0] == answer.prediction >= wanted
    changes = {TABLE.names[j]: (None if row[j] != row[j] else x[j], new) for j, new in enumerate(answer.x)
            if new != (None if row[j] != row[j] else x[j])}  # fmt: skip
    assert answer.changes == changes
    assert all(new is not None for _, new in answer.changes.values())
    assert fill or not any(old is None for old, _ in answer.changes.values())


def test_a_category_changes_as_one_within_its_bounds():
    network = town()
    x = [1.0, "Rome", 2.0, False, "low"]
    now = float(network.predict([x])[0])
    answer = bgn.counterfactual(network, x, at_least=now + 2.0, immutable=["age", "owner", "rooms"])
    assert repr(answer) == "Counterfactual(city Rome -> Lille: 20.5 at cost 1, optimal)" or answer.changes
    free = bgn.counterfactual(network, x, at_least=now + 2.0, immutable=["age", "owner", "rooms", "grade"])
    assert free.changes["city"][1] in ("Lille", "Nice")
    nice = bgn.counterfactual(
        network, x, at_least=now + 2.0, immutable=["age", "owner", "rooms", "grade"], bounds={"city": ["Rome", "Nice"]}
    )
    assert not nice.reached or nice.changes["city"] == ("Rome", "Nice")
    fallen = bgn.counterfactual(network, x, at_least=99.0, bounds={"grade": "decrease"})
    assert fallen.unreachable
    assert fallen.as_dict()["x"][1] in TABLE.columns[1].categories


def test_numbers_stay_in_the_range_seen_and_whole_by_default():
    schema = Schema((Column("rooms", seen=(1.0, 9.0), whole=True), Column("area", seen=(20.0, 60.0))))
    conditions = [Oblique(Projection((0,), (1.0,)), 4.5), Oblique(Projection((1,), (1.0,)), 70.0)]
    network = Network.of_layers([Layer.of(conditions, 2)], [1.0, 2.0], 10.0, schema=schema)
    first = bgn.counterfactual(network, [2.0, 40.0], at_least=9.0)
    assert (first.changes, first.cost) == ({"rooms": (2.0, 5.0)}, 1.5)
    assert bgn.counterfactual(network, [2.0, 40.0], at_least=9.0, integer=[]).changes == {"rooms": (2.0, 4.5)}
    assert bgn.counterfactual(network, [2.0, 40.0], at_least=11.0).unreachable
    far = bgn.counterfactual(network, [2.0, 40.0], at_least=11.0, bounds={"area": (None, None)})
    assert (far.changes, far.cost) == ({"area": (40.0, 70.0)}, 3.0)
    rows = [[1.0, 0.0], [5.0, 30.0]]
    assert bgn.counterfactual(network, [2.0, 40.0], at_least=9.0, background=rows).cost == 1.5
    assert bgn.counterfactual(network, [2.0, 40.0], at_least=9.0, costs={"rooms": 2.0}).cost == 6.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"bounds": {"city": (0, 1)}},
            "bounds of 'city' must be a list of some of its categories, Lille, Nice, Rome, Oslo",
        ),
        ({"bounds": {"city": "increase"}}, "bounds of 'city' must be a list"),
        ({"integer": ["city"]}, "integer has 'city', a category"),
        ({"constraints": "city <= 2"}, "constraints speaks of 'city', a category"),
        ({"constraints": "rooms <= age"}, "constraints speaks of 'age', which is missing in x"),
        ({"fill_missing": ["town"]}, "fill_missing must name a column"),
        ({"costs": {"city": 0.0}}, "costs must be a positive number"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        bgn.counterfactual(town(), [None, "Rome", 2.0, False, "low"], at_least=20.0, **options)


NUMBERS = st.integers(-3, 3).map(float)


@st.composite
def cases(draw):
    """A network of two columns with slopes between ends, a row, and a goal."""
    linear_coef = [draw(st.sampled_from([-1.5, 0.5, 2.0])), draw(st.sampled_from([0.0, 1.0]))]
    ranges = [[draw(NUMBERS) - 2.0, 3.0], [-1.0, draw(NUMBERS) + 3.0]]
    weights = [[draw(st.sampled_from([1.0, 0.0])), 1.0], [1.0, 0.0]]
    layer = Layer(weights, [draw(NUMBERS), draw(NUMBERS)])
    network = with_linear_terms(Network.of_layers([layer], [draw(NUMBERS), draw(NUMBERS)], 0.0), linear_coef, ranges)
    return network, np.array([draw(NUMBERS), draw(NUMBERS)]), draw(st.integers(-40, 40)) / 4.0


@settings(max_examples=40, deadline=None)
@given(cases(), st.booleans())
def test_no_row_of_a_grid_is_cheaper(case, upwards):
    network, x, wanted = case
    goal = {"at_least": wanted} if upwards else {"at_most": wanted}
    answer = counterfactual(network, x, bounds={"x0": (-6, 6), "x1": (-6, 6)}, **goal)
    grid = np.array([*product(np.linspace(-6, 6, 97), repeat=2)])
    predicted = network.predict(grid)
    good = predicted >= wanted if upwards else predicted <= wanted
    assert answer.optimal
    if answer.reached:
        row = np.array(answer.x, dtype=float)
        reached = network.predict(row[np.newaxis])[0]
        assert reached >= wanted if upwards else reached <= wanted
        assert answer.cost == pytest.approx(np.abs(row - x).sum())
        costs = np.abs(grid[good] - x).sum(axis=1)
        assert answer.cost <= costs.min(initial=np.inf) * (1 + 1e-6) + 1e-9
    else:
        assert not good.any()


def test_a_linear_term_is_followed_to_the_last_bit():
    network = with_linear_terms(Network.of_layers([Layer.of([], 1)], [], 1.0), [0.1], [[0.0, 50.0]])
    answer = counterfactual(network, [3.0], at_least=4.3)
    assert answer.optimal
    (value,) = answer.x
    assert network.predict([[value]])[0] >= 4.3
    assert value == pytest.approx(33.0, rel=1e-9)
    assert counterfactual(network, [3.0], at_least=6.1).unreachable


def digits(value: float) -> int:
    return len(repr(float(value)).replace("-", "").replace(".", "").strip("0"))


@pytest.mark.parametrize("link", ["identity", "logistic"])
def test_a_change_is_written_in_few_digits_that_will_do(link):
    rng = np.random.default_rng(0)
    n_rounded = 0
    for _ in range(12):
        layer = Layer([[1.0, 0.0], [1.0, 0.7]], rng.normal(0, 20, 2))
        linear_coef, base = rng.normal(0, 0.07, 2), -rng.uniform(1, 3)
        network = with_linear_terms(
            Network.of_layers([layer], rng.normal(0, 0.4, 2), base, link=link), linear_coef, [[-200.0, 200.0]] * 2
        )
        wanted = {"at_least": 1.0} if link == "identity" else {"probability": (0.77, 1.0)}
        answer = counterfactual(
            network, rng.normal(0, 30, 2).round(1), costs=[1.0, 1.3], bounds={0: (-200, 200), 1: (-200, 200)}, **wanted
        )
        if not answer.reached or answer.rounded is None:
            continue
        n_rounded, short = n_rounded + 1, answer.rounded
        reached = network.predict([short.x])[0]
        assert reached == short.prediction >= (1.0 if link == "identity" else 0.77)
        assert answer.cost < short.cost <= 1.0021 * answer.cost
        assert short.max_saving == pytest.approx(1.0 - answer.cost / short.cost)
        for name, (_, new) in short.changes.items():
            assert digits(new) <= min(6, digits(answer.changes[name][1]))
        assert f"optimal to within {max(short.max_saving, 0.001):.1%}" in repr(answer)
        assert answer.as_dict()["rounded"]["changes"] == short.as_dict()["changes"]
    assert n_rounded > 5
