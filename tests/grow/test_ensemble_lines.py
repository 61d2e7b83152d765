"""Averages of networks with straight lines: slopes are averaged, and all lines of a column end at the same values."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import BGNRegressor, GrowthSettings, Layer, Network
from bgn.grow.ensemble import EnsembleHistory
from bgn.grow.history import History, LinearAlone, Snapshot
from bgn.model.ensemble import mean_of
from bgn.model.schema import Schema
from bgn.show.curves import band, corners
from tests.every_engine import ENGINES
from tests.networks import linear_coef_of, with_linear_terms
from tests.round_trips import bits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = 3 * X[:, 0] - 2 * X[:, 1] + np.where(X[:, 2] >= 0.3, 4.0, 0.0) + RNG.normal(0, 0.5, 300)
SMALL: dict[str, Any] = {"max_terms": 6, "growth": GrowthSettings(max_replacements=0), "random_state": 0, "ensemble": 3}
ENDS = np.array([[-2.0, 1.5], [0.0, 4.0]])


@st.composite
def _networks(draw: Any) -> list[Network]:
    """Networks of two columns whose lines, where they have any, end at the same values; some slopes cancel out."""
    short, result = st.integers(-2000, 2000).map(lambda k: k / 1000), []
    for _ in range(draw(st.integers(1, 5))):
        size = draw(st.integers(0, 2))
        cuts = draw(st.lists(st.sampled_from([0.0, 0.5]), min_size=size, max_size=size))
        weights = draw(st.lists(short, min_size=size, max_size=size))
        coefs = [draw(st.sampled_from([0.0, 0.5, -0.5])), draw(st.one_of(short, st.just(0.0)))]
        layer = Layer(np.tile([1.0, -1.0], (size, 1)), cuts)
        result.append(with_linear_terms(Network.of_layers([layer], weights, draw(short)), coefs, ENDS))
    return result


@given(networks=_networks())
@settings(max_examples=60, deadline=None)
def test_the_mean_is_the_mean(networks: list[Network]) -> None:
    mean = mean_of(networks)
    rows = np.array([[a, b] for a in (-3.0, -2.0, -0.25, 1.5, 9.0) for b in (-1.0, 0.5, 4.0, 5.0)])
    several = [network.predict(rows) for network in networks]
    assert mean.members is not None
    assert np.allclose(mean.predict(rows), np.mean(several, axis=0), atol=1e-3 if len(several) == 3 else 1e-12)
    assert np.allclose(mean.members.scores(mean, rows), several, rtol=0, atol=1e-12)
    again = mean.members.networks(mean)
    assert all(np.allclose(a.predict(rows), b, atol=1e-12) for a, b in zip(again, several, strict=True))


def test_linear_terms_that_cancel_out_are_kept_in_the_networks(tmp_path: Any) -> None:
    first = with_linear_terms(Network.of_layers([Layer.of([], 2)], [], 1.0), [0.5, 0.0], ENDS)
    mean = mean_of([first, with_linear_terms(first, [-0.5, 0.0], ENDS)])
    bgn.save(mean, tmp_path / "mean.json")
    loaded = bgn.load(tmp_path / "mean.json")
    assert mean.linear == loaded.linear == ()
    assert loaded.members == mean.members
    rows = np.array([[-9.0, 0.0], [0.0, 0.0], [9.0, 0.0]])
    assert np.array_equal(loaded.members.scores(loaded, rows), [[0.0, 1.0, 1.75], [2.0, 1.0, 0.25]])


def test_lines_that_end_elsewhere_are_refused() -> None:
    first = with_linear_terms(Network.of_layers([Layer.of([], 1)], [], 0.0, ["rooms"]), [1.0], [[0.0, 5.0]])
    with pytest.raises(ValueError, match=r"same ends.*'rooms'"):
        mean_of([first, with_linear_terms(first, linear_coef_of(first), [[0.0, 6.0]])])


@pytest.mark.parametrize("held", [None, (X[:50], Y[:50])], ids=["left out", "eval_set"])
def test_lines_reach_over_all_rows_to_learn_from(held: Any) -> None:
    model = BGNRegressor(**SMALL).fit(X[50:], Y[50:], eval_set=held)
    networks = [member.network() for member in model.history_.members]
    lines = [line for network in networks for line in network.linear]
    assert len({line.column for line in lines}) < len(lines)  # some are in several networks
    for line in lines:
        known = X[50:, line.column]
        assert line.low <= known.min() < known.max() <= line.high
        assert max(known.min() - line.low, line.high - known.max()) <= 0.01 * np.ptp(known)
    assert {(line.column, line.low, line.high) for line in model.network_.linear} == {
        (line.column, line.low, line.high) for line in lines
    }
    far = np.concatenate([X, 10 * X])
    several = [network.predict(far) for network in networks]
    assert np.allclose(model.predict(far), np.mean(several, axis=0), atol=1e-3)
    assert np.allclose(model.predict(far, return_std=True)[1], np.std(several, axis=0, ddof=1))


@cache
def fitted(validated: bool) -> BGNRegressor:
    """What every engine must give."""
    return BGNRegressor(**SMALL, n_jobs=1).fit(X[50:], Y[50:], eval_set=(X[:50], Y[:50]) if validated else None)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "memory"])
def test_ensembles_with_lines_on_every_engine(engine: str) -> None:
    for validated in (False, True)[: 1 if engine == "dask" else 2]:  # a cluster is slow with few rows
        wanted, held = fitted(validated), (X[:50], Y[:50]) if validated else None
        result = ENGINES[engine](BGNRegressor(**SMALL, n_jobs=2), X[50:], Y[50:], eval_set=held)
        assert wanted.network_.linear
        assert bits(result.network_) == bits(wanted.network_)
        assert result.network_.members == wanted.network_.members


def test_missing_values_count_as_the_same_in_all_networks() -> None:
    table = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    model = BGNRegressor(**SMALL).fit(table, Y)
    several = [member.network().predict(table) for member in model.history_.members]
    assert model.network_.linear
    assert np.allclose(model.predict(table), np.mean(several, axis=0), atol=1e-3)
    assert np.allclose(model.predict(table, return_std=True)[1], np.std(several, axis=0, ddof=1))


def test_explanations() -> None:
    model = BGNRegressor(**SMALL).fit(X, Y)
    network, rows = model.network_, X[:40]
    explained = bgn.shap_values(network, rows, rows)
    assert np.allclose(explained.base_value + explained.values.sum(axis=1), network.predict(rows), atol=1e-9)
    assert network.members is not None
    networks = network.members.networks(network)
    several = [bgn.shap_values(one, rows, rows).values for one in networks]
    assert np.allclose(np.mean(several, axis=0), explained.values, atol=2e-3)
    result = bgn.effect(network, 0, rows)
    places = np.array([-9.0, -1.0, 0.0, 0.7, 9.0])
    ones = [bgn.effect(one, 0, rows)(places) for one in networks]
    assert result.standard_error is None
    assert np.allclose(result(places), np.mean(ones, axis=0), atol=2e-3)
    assert np.allclose(result.errors(places), np.std(ones, axis=0, ddof=1))
    where, middle = corners(result, rows[:, 0])
    ends = band(result, rows[:, 0])
    assert ends is not None
    inside = (where[:-1] == where[1:]).argmin()  # between two corners: the same from either side
    place = (where[inside] + where[inside + 1]) / 2
    assert np.isclose(np.interp(place, where, middle), result(place))
    assert np.interp(place, where, ends[1] - middle) == pytest.approx(2 * result.errors(place), rel=0.05)
    with pytest.raises(ValueError, match="errors need an ensemble"):
        bgn.effect(networks[0], 0, rows).errors(places)


def test_proofs() -> None:
    model = BGNRegressor(**SMALL).fit(X, Y)
    network = model.network_
    ends = bgn.extremes(network)
    far = np.random.default_rng(2).normal(0, 3, (2000, 4))
    assert ends.proven
    assert ends.low - 1e-9 <= network.predict(far).min() <= network.predict(far).max() <= ends.high + 1e-9
    wanted = float(np.quantile(network.predict(X), 0.9))
    low = X[np.argmin(network.predict(X))]
    result = bgn.counterfactual(network, low, at_least=wanted, costs=[1.0] * 4)
    assert result.optimal
    assert network.predict(result.x[np.newaxis])[0] >= wanted
    good = X[network.predict(X) >= wanted]
    assert result.cost <= np.abs(good - low).sum(axis=1).min() + 1e-9


def _grown(worse: float, noise: float) -> History:
    """A member whose lines alone validate so much worse."""
    path = (Snapshot((), np.zeros(0), 0.0, 1.0, 1.0), Snapshot((), np.zeros(0), 1.0, 0.9, 0.9))
    alone = LinearAlone(path[:1], (), "patience", 5.0, worse, noise)
    return History((), (path,), (), 1, 0, 1, "patience", 1.0, 30, Schema.of_numbers(1), linear_alone=alone)


@pytest.mark.parametrize(
    ("worse", "noise", "linear"),
    [
        ([-0.1, 0.0, -0.2, 0.1], 0.1, [0, 1, 2, 3]),
        ([0.1, 0.0, 0.2, 0.1], 0.1, [1, 3]),
        ([0.2, 0.22, 0.2, 0.18], 0.1, []),
        ([6.0, 6.2, 37.0, 34.0], 0.1, []),
    ],
    ids=["better", "noise", "worse", "far worse"],
)
def test_all_networks_decide_on_lines_together(worse: list[float], noise: float, linear: list[int]) -> None:
    result = EnsembleHistory.of([_grown(one, noise) for one in worse])
    assert [k for k, member in enumerate(result.members) if member.shrinkage == 5.0] == linear
    assert all(member.linear_alone is None for member in result.members)
