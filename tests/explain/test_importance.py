"""Importance at three levels, by both definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import Layer, Network, importance
from tests.networks import mixed_networks, mixed_rows, problems, table_networks, table_rows
from tests.reference.explain import paper_matrix, shapley


@settings(deadline=None, max_examples=40)
@given(problems(), st.booleans())
def test_both_kinds_equal_their_definitions(problem, own):
    network, X, background = problem
    drawn = X if own else background
    expected = shapley(network, X, drawn)
    mean, paper = (importance(network, X, None if own else background, kind=kind) for kind in ("shap", "paper"))
    np.testing.assert_allclose(mean.features, np.abs(expected.sum(axis=2)).mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(mean.connections, np.abs(expected).mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(mean.terms, np.abs(expected.sum(axis=1)).mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(paper.connections, paper_matrix(network, X, drawn), atol=1e-10)
    np.testing.assert_allclose(paper.features, paper.connections.sum(axis=1), atol=1e-10)
    np.testing.assert_array_equal(paper.terms, mean.terms)
    assert (paper.connections >= mean.connections - 1e-10).all()
    assert (paper.features >= mean.features - 1e-10).all()


@settings(deadline=None, max_examples=40)
@given(st.data(), st.booleans())
def test_categories_and_missing_values_equal_the_definitions(data, missing):
    if missing and data.draw(st.booleans()):
        (network, _), X, background = data.draw(st.tuples(table_networks(), table_rows(most=3), table_rows()))
    else:
        network = data.draw(mixed_networks(missing=missing, one_number=True))
        X, background = (np.array(data.draw(mixed_rows(missing)), dtype=object) for _ in range(2))
    expected = shapley(network, X, background)
    measured = importance(network, X, background)
    np.testing.assert_allclose(measured.features, np.abs(expected.sum(axis=2)).mean(axis=0), rtol=1e-12, atol=1e-6)
    if network.depth == 1:
        paper = importance(network, X, background, kind="paper")
        np.testing.assert_allclose(paper.connections, paper_matrix(network, X, background), rtol=1e-12, atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.one_of(problems(), problems(depth=2)))
def test_shares_add_up(problem):
    network, X, background = problem
    measured = importance(network, X, background)
    for absolute, relative in (
        (measured.features, measured.relative_features),
        (measured.terms, measured.relative_terms),
        *zip(measured.connections.T, measured.relative_connections.T, strict=True),
    ):
        assert relative.sum() == pytest.approx(1.0 if absolute.sum() > 0 else 0.0)
        np.testing.assert_allclose(relative * absolute.sum(), absolute, atol=1e-12)


def test_one_row_against_itself_has_no_importance():
    measured = importance(Network.of_layers([Layer([[1.0, 2.0]], [0.0])], [1.0], 0.0), [[1.0, 1.0]])
    assert (measured.features == 0).all()
    assert (measured.relative_features == 0).all()
    assert repr(measured) == "Importance(nothing matters; kind 'shap')"


def test_the_two_kinds_differ_where_changes_cancel():
    """At 0.5 two neurons pull the feature in opposite directions."""
    network = Network.of_layers([Layer([[1.0, 0.0], [-1.0, 0.0]], [-1.0, 0.0])], [1.0, -1.0], 0.0)
    rows, background = [[0.5, 0.0]], [[0.0, 0.0], [1.0, 0.0]]
    assert importance(network, rows, background, kind="shap").features.tolist() == [0.0, 0.0]
    assert importance(network, rows, background, kind="paper").features.tolist() == [2.0, 0.0]


def test_bad_input_is_named():
    shallow = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0)
    deep = Network.of_layers([Layer([[1.0]], [0.0]), Layer([[1.0]], [0.0])], [1.0], 0.0)
    with pytest.raises(ValueError, match="kind must be 'shap' or 'paper'; got 'gain'"):
        importance(shallow, [[1.0]], kind="gain")
    with pytest.raises(ValueError, match="kind='paper' needs one hidden layer; got 2"):
        importance(deep, [[1.0]], kind="paper")
