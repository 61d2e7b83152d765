"""Questions about parts of dates, as people write dates: the same rows, to the microsecond."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn.model.dates import DAY, HOUR, TimePart
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from bgn.show.drawing import draw

SINCE = TimePart("sold", "days", "2006-01-15")
decimals = st.builds(lambda whole, places: whole / 10**places, st.integers(-(10**5), 10**5), st.integers(0, 6))
RELATIONS = {">=": np.greater_equal, "<": np.less, ">": np.greater, "<=": np.less_equal}


@given(st.one_of(decimals, st.floats(-1e5, 1e5)), st.sampled_from(sorted(RELATIONS)))
@settings(max_examples=300)
def test_a_date_parts_the_same_times_as_its_days(value, relation):
    moment = np.datetime64(SINCE.written(value, relation in (">=", "<")).replace(" ", "T"), "us")
    times = moment + np.arange(-3, 4).astype("m8[us]")
    compare = RELATIONS[relation]
    assert compare(times, moment).tolist() == compare(SINCE.of(times), value).tolist()


@given(
    st.one_of(st.integers(0, 2399).map(lambda whole: whole / 100), st.floats(0, 24, exclude_max=True)), st.booleans()
)
def test_a_clock_parts_the_same_times_as_its_hours(value, up):
    hours, *rest = map(float, TimePart("sold", "hour").written(value, up).split(":"))
    us = round(hours * HOUR + sum(part * HOUR / 60 ** (k + 1) for k, part in enumerate(rest)))
    others = range(max(us - 3, 0), us + 4)
    assert [(time / HOUR >= value) if up else (time / HOUR <= value) for time in others] == [
        (time >= us) if up else (time <= us) for time in others
    ]


def one_rule(part, threshold, weight=1.0, whole=True):
    """A network of one question about a part of dates."""
    schema = Schema((Column(part.name, part_of=part, seen=(0.0, 5000.0), whole=whole), Column("size")), "price")
    layer = bgn.Layer.of([Oblique(Projection((0,), (1.0,)), threshold)], 2)
    return bgn.Network.of_layers([layer], [weight], 1.0, schema=schema)


@pytest.mark.parametrize(
    ("part", "threshold", "weight", "whole", "expected"),
    [
        (SINCE, 1875.0, 1.0, True, "sold >= 2011-03-05"),
        (SINCE, 1875.0, -1.0, True, "sold < 2011-03-05"),
        (SINCE, 1875.25, 1.0, False, "sold >= 2011-03-05 06:00"),
        (TimePart("sold", "days", "2006-01-15", "Asia/Tokyo"), 0.4, 1.0, False, "sold >= 2006-01-15 09:36 Asia/Tokyo"),
        (SINCE, 1e300, 1.0, False, "sold, days since 2006-01-15 >= 1e+300"),
        (TimePart("sold", "month"), 4.0, 1.0, True, "sold month >= April"),
        (TimePart("sold", "month"), 4.5, 1.0, False, "sold month >= 4.5"),
        (TimePart("sold", "weekday"), 6.0, -1.0, True, "sold weekday < Saturday"),
        (TimePart("sold", "hour"), 18.5, 1.0, False, "sold hour >= 18:30"),
        (TimePart("sold", "year"), 2011.0, 1.0, True, "sold year >= 2011"),
        (TimePart("took", "duration"), 3.5, 1.0, False, "took (days) >= 3.5"),
    ],
)
def test_thresholds_of_dates_are_dates(part, threshold, weight, whole, expected):
    network = one_rule(part, threshold, weight, whole)
    assert f"[{expected}]" in bgn.equation(network)
    escaped = expected.split(" >= ")[-1].split(" < ")[-1].replace("-", "{-}")
    assert escaped in bgn.equation(network, format="latex") or "1e" in escaped
    for format in ("markdown", "html"):
        assert expected.split()[-1] in bgn.equation(network, format=format).replace("\\", "")
    signs = expected.replace(">=", "≥")
    assert any(signs in box.label for box in draw(network).boxes) or "1e" in expected  # a long name is shortened
    (term,) = bgn.as_terms(network).rules
    assert float(term.condition.reading.cases[0].threshold) == threshold


def test_up_to_a_day_of_times_is_up_to_its_beginning():
    """A flag beside the date makes a question that counts downwards."""
    columns = (Column(SINCE.name, part_of=SINCE, seen=(0.0, 5000.0)), Column("big", seen=(0.0, 1.0), whole=True))
    oblique = Oblique(Projection((0,), (-1.0,)), -1875.0)
    network = bgn.Network.of_layers([bgn.Layer.of([oblique], 2)], [1.0], 0.0, schema=Schema(columns, "price"))
    assert "sold <= 2011-03-05 00:00" in bgn.equation(network)
    cases = Oblique(Projection((0, 1), (1.0, 365.0)), 1875.0)
    network = bgn.Network.of_layers([bgn.Layer.of([cases], 2)], [1.0], 0.0, schema=Schema(columns, "price"))
    assert "[sold >= 2011-03-05, or sold >= 2010-03-05 and big = 1]" in bgn.equation(network)


def test_growth_on_dates_says_dates():
    rng = np.random.default_rng(0)
    days = rng.integers(0, 3000, 400)
    X = pd.DataFrame({"sold": pd.Timestamp("2006-01-15") + pd.to_timedelta(days, unit="D")})
    y = np.where(days >= 1875, 3.0, 1.0)
    model = bgn.BGNRegressor(max_terms=1, max_features=1, random_state=0, cv=None).fit(X, y)
    (line,) = [line for line in bgn.equation(model).splitlines() if "sold >=" in line]
    first = pd.Timestamp(line.split(">= ")[1].rstrip("]"))
    np.testing.assert_array_equal(X.sold >= first, days >= 1875)
    assert SINCE.of(np.array([first], "M8[us]"))[0] * DAY % DAY == 0
