"""Counterfactuals on tables with categories and gaps, against every row there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.networks import TABLE, table_networks, table_rows, town
from tests.reference.explain import cheapest_table_row

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
            "bounds of 'city' must be a list of some of its levels, Lille, Nice, Rome, Oslo",
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
