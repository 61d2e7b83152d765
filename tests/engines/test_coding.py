"""Gaps and categories in engines: against brute force, and back in the words of the table."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn.engines.coding import Coding, coding_of
from bgn.engines.kernels.cuts import best_subsets
from bgn.engines.memory import MemoryEngine, Part, line_of
from bgn.engines.protocol import CutRequest
from bgn.grow.constraints import NO_CONSTRAINTS
from bgn.grow.directions.pairs import SingleLines, bins_of
from bgn.grow.losses import Squared
from bgn.model.schema import Column
from bgn.model.term import Oblique, Projection
from tests.growing import EMPTY


def gain(yes, values, weight):
    """Drop of the mean squared residual, from the definition, when both sides get means of their own."""
    mean = np.average(values, weights=weight)
    return (
        sum(
            weight[side].sum() * (np.average(values[side], weights=weight[side]) - mean) ** 2
            for side in (yes, ~yes)
            if weight[side].sum()
        )
        / weight.sum()
    )


whole_numbers = st.integers(-1000, 1000)


@given(st.data(), st.integers(1, 8), st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_subset_gains_more_than_the_one_chosen(data, categories, weighted):
    rows = data.draw(st.integers(2, 30))
    codes = np.array(data.draw(st.lists(st.integers(0, categories - 1), min_size=rows, max_size=rows)))
    values = np.array(data.draw(st.lists(whole_numbers, min_size=rows, max_size=rows)))
    weight = np.array(data.draw(st.lists(st.integers(1, 4 if weighted else 1), min_size=rows, max_size=rows)))
    count = np.bincount(codes, weight, categories).astype(np.int64)
    chosen, gains = np.zeros(categories, np.uint8), np.zeros(1)
    starts = np.array([0, categories])
    best_subsets(
        codes[None].astype(np.int32), starts, count, values * weight, int(weight.sum()), int((values * weight).sum()),
        0.0, chosen, gains,
    )  # fmt: skip
    subsets = (np.array(one)[codes] for one in product([False, True], repeat=categories))
    best = max(gain(yes, values.astype(float), weight) for yes in subsets)
    assert gains[0] == pytest.approx(best, rel=1e-9, abs=1e-9)
    if gains[0] > 0:
        assert gain(chosen[codes] > 0, values.astype(float), weight) == pytest.approx(best, rel=1e-9, abs=1e-9)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_cut_with_missing_values_on_either_side_gains_more(data):
    rows = data.draw(st.integers(3, 25))
    cells = st.one_of(st.just(np.nan), st.integers(-3, 3).map(float), st.floats(-1e3, 1e3))
    x = np.array(data.draw(st.lists(cells, min_size=rows, max_size=rows)))
    y = np.array(data.draw(st.lists(whole_numbers.map(float), min_size=rows, max_size=rows)))
    missing = np.isnan(x)
    coding = coding_of([Column("x")], np.array([missing.any()]), x[None], np.ones(rows, np.int64))
    columns, loss = coding.columns(x[None]), Squared.over(y.min(), y.max(), rows)
    engine = MemoryEngine(Part(columns, loss.targets.steps(y), None, loss), loss)
    lines = SingleLines(bins_of(engine, coding), coding, engine, NO_CONSTRAINTS).lines
    cuts = [cut for cut in engine.cuts([CutRequest(EMPTY, line) for line in lines]) if cut is not None]
    result = max((cut.gain * 4.0**-loss.grid.exponent for cut in cuts), default=0.0)
    tried = [missing]
    for threshold in np.unique(x[~missing]):
        with np.errstate(invalid="ignore"):
            tried += [x >= threshold, (x >= threshold) | missing]
    assert result == pytest.approx(max(gain(yes, y, np.ones(rows)) for yes in tried), rel=1e-6, abs=1e-9)
    for cut in cuts:  # the same rows answer yes in the table's words
        reported = coding.rule(cut.rule, engine.seen())
        z = np.empty(rows)
        line = line_of(columns, cut.rule.projection)
        z = (line[0][line[1]] * line[2][:, None]).sum(axis=0)
        assert (reported.holds(x[:, None]) == (z >= cut.rule.threshold)).all()


CODING = Coding(
    categories=(None, 3, 4, None), ordered=(False, False, True, False), typical=(0.5, 1.0, 2.0, 7.0), marked=(0, 2)
)
ENGINES_COLUMNS = 6  # the marks of columns 0 and 2 come last


@st.composite
def rules(draw):
    columns = sorted(draw(st.lists(st.integers(0, ENGINES_COLUMNS - 1), min_size=1, max_size=2, unique=True)))
    coefficients = []
    for j in columns:
        small = st.sampled_from([1.0, -2.0, 0.5])
        coefficients.append(draw(st.tuples(small, small, small, small)) if j == 1 else draw(small))
    if columns[0] in (4, 5) and len(columns) == 1:
        coefficients = [1.0]
    return Oblique(Projection(tuple(columns), tuple(coefficients)), draw(st.sampled_from([0.25, 0.75, 1.25, 2.75])))


@given(rules(), st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_a_rule_of_the_table_is_answered_alike(requested, seed):
    rng = np.random.default_rng(seed)
    raw = np.stack([
        rng.choice([-1.0, 0.0, 0.5, 2.0, np.nan], 60), rng.choice([0.0, 1.0, 2.0, np.nan], 60),
        rng.choice([0.0, 1.0, 2.0, 3.0, np.nan], 60), rng.choice([6.0, 7.0, 8.0], 60),
    ])  # fmt: skip
    columns = CODING.columns(raw)
    assert np.isfinite(columns).all()
    assert len(columns) == ENGINES_COLUMNS
    seen = [(float(column.min()), float(column.max()), True) for column in columns]
    line = line_of(columns, requested.projection)
    answers = (line[0][line[1]] * line[2][:, None]).sum(axis=0) >= requested.threshold
    if len(requested.projection.columns) == 1 and requested.projection.columns[0] >= 4 and requested.threshold > 1:
        return  # asks for nothing
    reported = CODING.rule(requested, seen)
    if (
        len(reported.projection.columns) == 1
        and len(requested.projection.columns) == 2
        and answers.all() | ~answers.any()
    ):
        return  # no cut
    assert (reported.holds(raw.T) == answers).all()
