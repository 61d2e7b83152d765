"""What is called proven holds of every row there is, whatever a solver says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import bgn
from bgn import Layer, Network
from bgn.explain.counterfactual import search as change
from bgn.explain.optimize import program, region, search
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.fuzz_proofs import CHECKS, certificates_hold, counterfactual_holds, extremes_hold, is_proven, random_network

ENDS = {"a": (1, 3), "b": (-2, 6), "c": (-6, -5)}
WHOLE = Schema(tuple(Column(name, whole=True, seen=ends) for name, ends in ENDS.items()))


@pytest.fixture
def no_lists(monkeypatch):
    """Rows and regions are never few enough to be tried: the solver decides what comes next."""
    for module in (search, change):
        monkeypatch.setattr(module, "_ROWS", 0)
    monkeypatch.setattr(program, "_REGIONS", 0)


@pytest.mark.parametrize("check", CHECKS)
def test_small_networks(check):
    for case in range(60):
        CHECKS[check](np.random.default_rng((0, case)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("check", CHECKS)
def test_many_small_networks(check, seed):
    assert sum(is_proven(check, seed, case) for case in range(100)) >= 97  # some weights are too small beside others


def hold_unless_unproven(seed, cases):
    for case in range(cases):
        extremes_hold(random_network(np.random.default_rng((seed, case))), sure=False)
        certificates_hold(random_network(np.random.default_rng((seed, case)), depth=1, most=3), sure=False)
        counterfactual_holds(np.random.default_rng((seed, case)), sure=False)


def test_small_networks_by_programs(no_lists):
    hold_unless_unproven(40, 12)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(41, 44))
def test_many_small_networks_by_programs(no_lists, seed):
    hold_unless_unproven(seed, 60)


def test_three_whole_numbers_in_one_condition(request):
    network = Network.of_layers([Layer([[2.0, 2.0, -1.0]], [-6.0])], [1.0], 0.0, schema=WHOLE)
    for _ in range(2):
        answer = bgn.extremes(network, "seen")
        assert (answer.low, answer.high, answer.proven) == (-1.0, 1.0, True)
        assert {certificate.direction for certificate in bgn.certify(network, within="seen").values()} == {
            "increasing",
            "decreasing",
        }
        request.getfixturevalue("no_lists")


def test_a_solver_that_finds_nothing_where_there_is_something_proves_nothing(no_lists, monkeypatch):
    network, x = Network.of_layers([Layer([[2.0, 2.0, -1.0]], [-6.0])], [1.0], 0.0, schema=WHOLE), [1.0, -2.0, -5.0]
    calls = []

    def lies(real):
        """Every second answer is that there is nothing."""

        def solver(*args, **kwargs):
            calls.append(real)
            return SimpleNamespace(status=2, x=None) if len(calls) % 2 else real(*args, **kwargs)

        return solver

    monkeypatch.setattr(program, "milp", lies(program.milp))
    for start in range(4):
        calls[:] = [None] * start
        answer = bgn.extremes(network, "seen")
        assert not answer.proven or (answer.low, answer.high) == (-1.0, 1.0)
        calls[:] = [None] * start
        reached = bgn.counterfactual(network, x, at_least=1.0)
        assert reached.reached or not reached.unreachable


def test_shares_that_a_solver_makes_up_prove_nothing(no_lists, monkeypatch):
    real, rng = region.linprog, np.random.default_rng(0)

    def made_up(*args, **kwargs):
        answer = real(*args, **kwargs)
        if answer.status == 0 and len(answer.get("ineqlin", {}).get("marginals", ())):
            answer.ineqlin.marginals = -rng.random(len(answer.ineqlin.marginals))
        return answer

    monkeypatch.setattr(region, "linprog", made_up)
    for case in range(10):
        extremes_hold(random_network(np.random.default_rng((60, case)), most=3), sure=False)


def test_weights_that_a_solver_cannot_distinguish_are_not_proven(no_lists):
    layer = Layer([[1.0, 1.0], [1.0, -1.0], [1.0, 2.0]], [0.0, 0.0, -1.0])
    assert not bgn.extremes(Network.of_layers([layer], [1e9, 1.0, 1.0], 0.0)).proven


def test_the_same_weights_are_proven_where_regions_are_listed():
    layer = Layer([[1.0, 1.0], [1.0, -1.0], [1.0, 2.0]], [0.0, 0.0, -1.0])
    answer = bgn.extremes(Network.of_layers([layer], [1e9, 1.0, 1.0], 0.0))
    assert answer.proven
    assert answer.high == 1e9 + 2.0


def test_a_number_that_is_filled_and_moved_changes_once():
    schema = Schema((Column("a", seen=(0.0, 10.0), typical=2.0), Column("b", seen=(0.0, 10.0), typical=2.0)))
    layer = Layer.of([Oblique(Projection((0,), (1.0,)), 5.0, missing=False)], 2)
    network = Network.of_layers([layer], [1.0], 0.0, schema=schema)
    answer = bgn.counterfactual(network, [None, 1.0], at_least=1.0, fill_missing=True, max_changed=1)
    assert answer.reached
    assert list(answer.changes) == ["a"]
    assert answer.x.tolist() == [5.0, 1.0]


def test_a_missing_value_is_filled_within_bounds():
    schema = Schema((Column("city", categories=("Lille", "Nice"), typical=0.0),))
    projection = Projection((0,), ((0.0, 1.0),))
    network = Network.of_layers([Layer.of([Oblique(projection, 1.0, False)], 1)], [1.0], 0.0, schema=schema)
    assert bgn.counterfactual(network, [None], at_least=1.0, fill_missing=True).changes == {"city": (None, "Nice")}
    bounded = {"fill_missing": True, "bounds": {"city": ["Lille"]}}
    assert bgn.counterfactual(network, [None], at_least=1.0, **bounded).unreachable
