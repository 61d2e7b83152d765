"""Importance at three levels, by both definitions; differences between groups and datasets, which add up and are
Shapley values by definition."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network, compare_groups, compare_tables, importance
from bgn.explain.arguments import read_codes
from tests.networks import (
    mixed_networks,
    mixed_rows,
    problems,
    table_networks,
    table_rows,
    town,
    town_rows,
    with_linear_terms,
)
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


def by_definition(network, first, second):
    """Shares of questions and columns: every pair of rows, every order of exchanging their columns."""
    shares = np.zeros((network.widths[-1], network.n_inputs))
    coded, used = read_codes(network), network.features_used
    for low, high in product(first, second):
        for order in permutations(used):
            row = low.copy()
            before = coded.hidden(row[np.newaxis])[0]
            for column in order:
                row[column] = high[column]
                after = coded.hidden(row[np.newaxis])[0]
                shares[:, column] += (after - before) * network.output_weights
                before = after
    return shares / (len(first) * len(second) * max(len(list(permutations(used))), 1))


def adds_up(comparison):
    size = 1.0 + np.abs(comparison.network.output_weights).sum() + np.abs(comparison.terms).sum()
    assert abs(comparison.difference - (comparison.means[1] - comparison.means[0])) <= 1e-12 * size
    assert abs(comparison.columns.sum() - comparison.difference) <= 1e-12 * size
    assert abs(comparison.terms.sum() - comparison.difference) <= 1e-12 * size
    np.testing.assert_allclose(comparison.shares.sum(axis=1), comparison.terms, rtol=0, atol=1e-12 * size)


@settings(max_examples=30)
@given(case=problems(max_features=3))
def test_shares_are_those_of_the_definition(case):
    network, X, background = case
    comparison = compare_tables(network, background[:4], X)
    adds_up(comparison)
    np.testing.assert_allclose(comparison.shares, by_definition(network, background[:4], X), rtol=0, atol=1e-12)


@settings(max_examples=20)
@given(data=st.data(), depth=st.sampled_from([1, 2]))
def test_tables_with_categories_and_missing_values(data, depth):
    network, complete = data.draw(table_networks(depth=depth, most=3))
    tables = [data.draw(table_rows(complete, most=3)) for _ in range(2)]
    comparison = compare_tables(network, *tables)
    adds_up(comparison)
    first, second = (network._rows(table) for table in tables)
    np.testing.assert_allclose(comparison.shares, by_definition(network, first, second), rtol=0, atol=1e-12)


def test_linear_terms_links_and_classes():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 2)), rng.choice(["u", "v"], 60)
    layer = Layer([[1.0, 0.0], [1.0, 0.5]], [0.0, 0.3])
    steep = with_linear_terms(Network.of_layers([layer], [1.0, 0.5], 0.0, ["a", "b"]), [0.0, 2.0])
    comparison = compare_groups(steep, X, groups)
    adds_up(comparison)
    assert comparison.terms[0] == pytest.approx(2 * (X[groups == "v", 1].mean() - X[groups == "u", 1].mean()))
    yes = Network.of_layers([layer], [1.0, 0.5], 0.0, ["a", "b"], link="logistic")
    comparison = compare_groups(yes, X, groups)
    adds_up(comparison)
    assert comparison.means[0] == pytest.approx(yes.raw_score(X)[groups == "u"].mean())
    many = Network.of_layers([layer], np.eye(2), [0.0, 1.0], ["a", "b"], link="softmax")
    adds_up(compare_groups(many, X, groups, output=1))
    with pytest.raises(ValueError, match="output must be the number of a class"):
        compare_groups(many, X, groups)


def test_many_rows_add_up_to_the_last_digit():
    rng = np.random.default_rng(0)
    network, X = town(), town_rows(70_000)
    comparison = compare_groups(network, X, rng.integers(0, 2, len(X)))
    assert abs(comparison.columns.sum() - (comparison.means[1] - comparison.means[0])) < 1e-12
    assert abs(comparison.terms.sum() - (comparison.means[1] - comparison.means[0])) < 1e-12


def test_groups_by_name_with_missing_values_and_of_many():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": [0.0, 2.0, 2.0, 0.0], "who": ["x", "y", None, "z"]})
    network = Network.of_layers([Layer([[1.0]], [-1.0])], [1.0], 0.0, ["a"])
    comparison = compare_groups(network, X, "who", between=("x", "y"))
    assert (comparison.difference, comparison.rows, comparison.names) == (2.0, (1, 1), ("x", "y"))
    assert repr(comparison) == "Comparison(y - x: +2 = a +2)"
    assert comparison.as_dict()["columns"] == {"a": 2.0}
    with pytest.raises(ValueError, match="between must name two of the groups 'x', 'y', 'z'"):
        compare_groups(network, X, "who")
    with pytest.raises(ValueError, match="X has no column 'whom'"):
        compare_groups(network, X, "whom")
    with pytest.raises(ValueError, match="one entry per row of X, 4"):
        compare_groups(network, X, [1, 2])


def test_the_figure_has_a_bar_per_part():
    pytest.importorskip("matplotlib")
    comparison = compare_tables(town(), town_rows(50, 1), town_rows(50, 2))
    ax = bgn.plots.comparison(comparison, most=3)
    assert ax.get_yticklabels()[-1].get_text().endswith("others")
    assert "mean score of b less that of a" in ax.get_xlabel()
    bars = bgn.plots.comparison(comparison, by="terms", most=50).patches
    assert sum(bar.get_width() for bar in bars) == pytest.approx(comparison.difference)
    with pytest.raises(ValueError, match="by must be 'columns' or 'terms'"):
        bgn.plots.comparison(comparison, by="rows")


def test_the_command(tmp_path):
    pytest.importorskip("click")
    pytest.importorskip("pyarrow")
    import json

    from tests.command import call

    network = Network.of_layers(
        [Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, ["rooms", "age"], "price"
    )
    bgn.save(network, tmp_path / "m.json")
    (tmp_path / "a.csv").write_text("rooms,age,who\n1,1,x\n3,1,x\n3,3,y\n4,4,y\n")
    (tmp_path / "b.csv").write_text("rooms,age\n3,3\n4,4\n")
    lines = call("compare", tmp_path / "m.json", tmp_path / "a.csv", "--groups", "who").out.splitlines()
    assert lines[0] == "mean prediction, who = x (2 rows): 2.5"
    assert [line.split() for line in lines[2:]] == [["rooms", "+1.375"], ["age", "+0.625"], ["difference", "+2"]]
    printed = call("compare", tmp_path / "m.json", tmp_path / "a.csv", "--with", tmp_path / "b.csv", "--json").out
    assert json.loads(printed)["difference"] == 1.0
    text = call("compare", tmp_path / "m.json", tmp_path / "a.csv", "--groups", "who", "--terms").out
    assert "rooms ≥ 2" in text
    assert "name a column with --groups" in call("compare", tmp_path / "m.json", tmp_path / "a.csv", code=2).err
    wrong = call("compare", tmp_path / "m.json", tmp_path / "a.csv", "--groups", "age", code=1).err
    assert "--between must name two of the groups" in wrong
