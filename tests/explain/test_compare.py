"""Gaps between groups and tables: they add up, and are Shapley values by definition."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network, compare_groups, compare_tables
from bgn.explain.arguments import read_codes
from tests.networks import problems, table_networks, table_rows, town, town_rows, with_linear_terms


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
    assert [line.split() for line in lines[2:]] == [["rooms", "+1.375"], ["age", "+0.625"], ["gap", "+2"]]
    printed = call("compare", tmp_path / "m.json", tmp_path / "a.csv", "--with", tmp_path / "b.csv", "--json").out
    assert json.loads(printed)["difference"] == 1.0
    text = call("compare", tmp_path / "m.json", tmp_path / "a.csv", "--groups", "who", "--terms").out
    assert "rooms ≥ 2" in text
    assert "name a column with --groups" in call("compare", tmp_path / "m.json", tmp_path / "a.csv", code=2).err
    wrong = call("compare", tmp_path / "m.json", tmp_path / "a.csv", "--groups", "age", code=1).err
    assert "--between must name two of the groups" in wrong
