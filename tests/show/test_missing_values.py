"""The printed equation says what missing values, categories and those never seen count as, and no more than needed."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network, Rule, Threshold
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.networks import TABLE, table_networks, table_rows
from tests.reference.sentence import parse

UNSEEN = "A category never seen counts as missing."


def as_read(X, schema, text):
    """A raw table by the names that are printed; a level never seen is a gap where the text says so."""
    gone = [
        [
            None if UNSEEN in text and column.categories is not None and value not in column.categories else value
            for value in values
        ]
        for column, values in zip(schema.columns, X.T, strict=True)
    ]
    return {
        column.name: np.array(values, dtype=float if column.categories is None else object)
        for column, values in zip(schema.columns, gone, strict=True)
    }


@given(st.data())
def test_the_text_answers_as_the_network_on_rows_with_missing_values(data):
    network, complete = data.draw(table_networks(depth=data.draw(st.sampled_from([1, 2]))))
    X = data.draw(table_rows(complete))
    terms = bgn.as_terms(network)
    expected = np.transpose(
        [(network.hidden(X)[:, term.index] > 0) == (network.output_weights[term.index] > 0) for term in terms.rules]
    ).reshape(len(X), -1)
    text = bgn.equation(network)
    np.testing.assert_array_equal(terms.holds(X), expected, text)
    np.testing.assert_array_equal(parse(text, list(TABLE.names)).answers(as_read(X, TABLE, text)), expected, text)
    np.testing.assert_allclose(parse(text, list(TABLE.names)).value(as_read(X, TABLE, text)), network.predict(X))


CITY = Column("city", categories=("Lille", "Nice", "Rome", "Oslo", "Bari"))
GRADE = Column("grade", categories=("low", "fair", "good", "best"), ordered=True)
SMOKER, HOUR = Column("smoker", categories=(False, True)), Column("hr", unit="h")
LATITUDE, LONGITUDE = Column("latitude"), Column("longitude")
NOTE = "In conditions on several columns, a missing {} counts as {}."


@pytest.mark.parametrize(
    ("columns", "oblique", "weight", "expected"),
    [
        ([HOUR], Oblique(Projection((0,), (1.0,)), 30.0, True), 1.0, "hr >= 30 h or hr is missing"),
        ([HOUR], Oblique(Projection((0,), (0.0,)), 1.0, True), 1.0, "hr is missing"),
        ([HOUR], Oblique(Projection((0,), (0.0,)), 1.0, True), -1.0, "hr is not missing"),
        ([CITY], Oblique(Projection((0,), ((1.0, 1.0, 0.0, 0.0, 0.0),)), 1.0, True), 1.0,
         "city in {Lille, Nice} or city is missing"),
        ([CITY], Oblique(Projection((0,), ((1.0, 1.0, 0.0, 0.0, 0.0),)), 1.0, True), -1.0,
         "city in {Rome, Oslo, Bari}"),
        ([CITY], Oblique(Projection((0,), ((0.0, 1.0, 1.0, 1.0, 1.0),)), 1.0, True), 1.0,
         "city is not Lille or city is missing"),
        ([CITY], Oblique(Projection((0,), ((0.0, 1.0, 1.0, 1.0, 1.0),)), 1.0, False), 1.0,
         "city is not Lille and city is not missing"),
        ([CITY], Oblique(Projection((0,), ((1.0,) * 5,)), 1.0, False), 1.0, "city is not missing"),
        ([GRADE], Oblique(Projection((0,), ((0.0, 1.0, 2.0, 3.0),)), 2.0, False), 1.0, "grade >= good"),
        ([GRADE], Oblique(Projection((0,), ((0.0, 1.0, 2.0, 3.0),)), 2.0), -1.0, "grade < good"),
        ([GRADE], Oblique(Projection((0,), ((0.0, 1.0, 2.0, 3.0),)), 3.0), 1.0, "grade = best"),
        ([GRADE], Oblique(Projection((0,), ((0.0, 1.0, 1.0, 0.0),)), 1.0, True), 1.0,
         "grade in {fair, good} or grade is missing"),
        ([SMOKER], Oblique(Projection((0,), ((0.0, 1.0),)), 1.0), 1.0, "smoker = True"),
        ([SMOKER], Oblique(Projection((0,), ((0.0, 1.0),)), 1.0, True), -1.0, "smoker = False"),
        ([HOUR, CITY], Oblique(Projection((0, 1), (1.0, (-6.0, -6.0, 0.0, 0.0, 0.0)), (12.0, 0.0)), 10.0), 1.0,
         "hr >= 16 h, or hr >= 10 h and (city not in {Lille, Nice} or city is missing)"),
        ([HOUR, CITY], Oblique(Projection((0, 1), (1.0, (-6.0, -6.0, 0.0, 0.0, 0.0)), (12.0, -6.0)), 10.0), 1.0,
         "hr >= 16 h, or hr >= 10 h and city in {Rome, Oslo, Bari}"),
        ([CITY, SMOKER], Oblique(Projection((0, 1), ((1.0, 0.0, 0.0, 0.0, 0.0), (0.0, 1.0)), (1.0, 0.0)), 2.0), 1.0,
         "(city = Lille or city is missing) and smoker = True"),
        ([LATITUDE, LONGITUDE], Oblique(Projection((0, 1), (1.0, 0.905), (34.26, -118.5)), -72.5), -1.0,
         "latitude + 0.905 longitude < -72.5"),
    ],
)  # fmt: skip
def test_conditions_name_missing_values_where_there_are_some(columns, oblique, weight, expected):
    network = Network.of_layers([Layer.of([oblique], len(columns))], [weight], 0.0, schema=Schema(tuple(columns)))
    assert bgn.equation(network).splitlines()[1].endswith(f"[{expected}]")
    for form in ("latex", "markdown", "html"):
        assert bgn.equation(network, form)


@given(
    st.lists(st.booleans(), min_size=5, max_size=5).filter(lambda categories: 0 < sum(categories) < 5),
    st.sampled_from([-100.0, 100.0]), st.booleans(), st.booleans(),
    st.sampled_from([None, (12.0, 0.0), (12.0, 1.0), True, False]),
)  # fmt: skip
def test_a_category_that_decides_for_all_numbers_seen_stands_alone(categories, by, up, way, missing):
    schema = Schema((replace(HOUR, seen=(0.0, 23.0), typical=10.0), replace(CITY, typical=0.0)))
    weights = (1.0 if up else -1.0, tuple(by * category for category in categories))
    counts = (missing[0], missing[1] * by) if isinstance(missing, tuple) else None
    oblique = Oblique(Projection((0, 1), weights, counts), by / 2.0, missing if isinstance(missing, bool) else None)
    network = Network.of_layers([Layer.of([oblique], 2)], [1.0 if way else -1.0], 0.0, schema=schema)
    cities = [*CITY.categories, *([] if missing is None else [None, "Paris"])]
    hours = [0.0, 10.0, 23.0, *([] if missing is None else [np.nan])]
    X = np.array([[hour, city] for hour in hours for city in cities], dtype=object)
    text = bgn.equation(network)
    expected = (network.hidden(X)[:, :1] > 0) == way
    np.testing.assert_array_equal(parse(text, ["hr", "city"]).answers(as_read(X, schema, text)), expected, text)
    assert "hr" not in re.sub(r"(neither of )?(hr, city|hr or city)", "", text.splitlines()[1])
    assert "For values of hr from 0 to 23, as seen in training." in text


def test_what_a_missing_value_counts_as_is_said_once_or_with_the_condition():
    schema = Schema((LATITUDE, LONGITUDE, CITY, GRADE))
    pair = Oblique(Projection((0, 1), (1.0, 0.905), (34.26, -118.5)), -72.5)
    other = Oblique(Projection((0, 1), (1.0, -0.5), (34.26, -110.0)), 3.0)
    grade = Oblique(Projection((3,), ((0.0, 1.0, 2.0, 3.0),)), 2.0, True)
    network = Network.of_layers([Layer.of([pair, other, grade], 4)], [3.0, 2.0, 1.0], 0.0, schema=schema)
    assert bgn.equation(network).splitlines()[1:] == [
        "           +  6 [latitude + 0.905 longitude >= -72.5 (a missing longitude counts as -118.5)]",
        "           +  4 [latitude - 0.5 longitude >= 3 (a missing longitude counts as -110)]",
        "           +  2 [grade >= good or grade is missing]",
        NOTE.format("latitude", "34.26"),
        "grade: low < fair < good < best.",
        UNSEEN,
    ]


PAIR = Projection((0, 1), (1.0, 0.905))
COUNTED = replace(PAIR, missing_as=(34.26, -118.5))


@pytest.mark.parametrize(
    ("conditions", "weight", "expected"),
    [
        ((Oblique(COUNTED, -72.5), Threshold(0, 30.0, ">=", False)), 1.0,
         "latitude >= 30 and (latitude + 0.905 longitude >= -72.5 (a missing latitude counts as 34.26))"),
        ((Oblique(COUNTED, -72.5), Threshold(2, 3.0, ">=", False)), 1.0,
         "latitude + 0.905 longitude >= -72.5 and hr >= 3 h"),
        ((Oblique(PAIR, -72.5, False), Threshold(2, 3.0, ">=", False)), -1.0,
         "(latitude + 0.905 longitude < -72.5 or latitude or longitude is missing) or hr < 3 h or hr is missing"),
    ],
)  # fmt: skip
def test_what_a_rule_says_of_missing_values_is_about_one_condition_in_brackets(conditions, weight, expected):
    schema = Schema((LATITUDE, LONGITUDE, HOUR))
    network = Network(0.0, [Rule(conditions)], [weight], schema=schema)
    text = bgn.equation(network)
    assert text.splitlines()[1].endswith(f"[{expected}]")
    X = np.array([[value if value is not None else np.nan for value in row] for row in
                  product((20.0, 34.0, 40.0, None), (-130.0, -110.0, None), (2.0, 3.0, None))])  # fmt: skip
    answers = parse(text, list(schema.names)).answers(as_read(X, schema, text))
    np.testing.assert_array_equal(answers, bgn.as_terms(network).holds(X), text)
