"""Trees, pruning, the housing model and the figures: what is shown follows from what was recorded."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from bgn import Layer, Network, importance
from experiments import figures, housing_model, overview, pruning, trees
from experiments.data import paper_split
from experiments.store import Options, Task
from experiments.tables import Figure, Table, write
from tests.experiments.made_up import run_of

errors = st.lists(st.integers(1, 9).map(float), min_size=2, max_size=6)


def done(study, dataset, method, figures, seed=0, error=None, **parameters):
    """A run with made-up figures."""
    task = Task(study, dataset, method, parameters, seed, paper_split())
    return run_of(task, error, **figures)


# -- tables and methods ------------------------------------------------------------------------------------------


def test_two_distinct_values_are_not_real_numbers():
    assert overview._distinct_values(np.array([[-1.0, 1.0], [1.0, -1.0]])) == "-1, +1"
    assert overview._distinct_values(np.array([0.0, 1.0, 0.0])) == "0, 1"
    assert overview._distinct_values(np.array([0.0, -1.3, 0.5, 0.7])) == "real"


def test_a_table_is_shown_as_it_is_and_as_it_is_printed():
    shape = overview._table("diabetes")
    assert (shape["rows"], shape["columns"], shape["integers"]) == (442, 10, 0)
    tables, methods = overview.show([done("overview", "diabetes", "table", shape)])
    assert [row[:4] for row in tables.rows] == [["diabetes", "ours", 10, 0], ["diabetes", "printed", 10, "F/I"]]
    assert methods.rows[0][2] == "missing"
    assert methods.rows[1][2:] == ["real", "-1, +1", "no", "no"]


# -- trees -----------------------------------------------------------------------------------------------------


def tree_run(seed, validation, test=1.0):
    figures = {"validation_mse": validation, "test_mse": test, "splits": 7, "features": 3}
    return done("trees", "housing", "tree 3", figures, seed)


def grown_run(seed, validation, test):
    sizes = list(range(len(test)))
    conditions = [2 * size for size in sizes]
    figures = {"validation_mse": validation, "test_mse": test, "features": sizes, "conditions": conditions}
    return done("trees", "housing", "bgn", figures, seed)


@given(errors, errors, st.integers(1, 9), st.integers(1, 9))
def test_a_network_matches_a_tree_at_its_smallest_size_that_validates_as_well(first, second, low, high):
    limits, paths = (float(low), float(high)), (first, second)
    runs = [grown_run(seed, path, [10 * value for value in path]) for seed, path in enumerate(paths)]
    matched = trees.matching([tree_run(seed, limit) for seed, limit in enumerate(limits)], runs)
    sizes = [next((k for k, e in enumerate(p) if e <= limit), None) for p, limit in zip(paths, limits, strict=True)]
    if None in sizes:
        assert matched == ["not reached", None, None, None]
    else:
        reached = [path[size] for path, size in zip(paths, sizes, strict=True)]
        assert matched == pytest.approx([10 * np.mean(reached), 2 * np.mean(sizes), np.mean(sizes), np.mean(sizes)])


@given(errors, errors, st.integers(1, 9))
def test_by_test_error_the_mean_network_matches_the_mean_tree(first, second, limit):
    runs = [grown_run(seed, path, path) for seed, path in enumerate((first, second))]
    matched = trees.matching_means([tree_run(0, 0.0, float(limit))], runs)
    means = [(a + b) / 2 for a, b in zip(first, second, strict=False)]
    size = next((k for k, e in enumerate(means) if e <= limit), None)
    expected = ["not reached", None, None, None] if size is None else [means[size], 2.0 * size, size, float(size)]
    assert matched == expected


def test_the_error_within_a_size_is_that_of_the_widest_network_that_fits():
    run = grown_run(0, [4.0, 3.0, 2.0], [40.0, 30.0, 20.0])  # of 0, 2 and 4 conditions
    assert math.isnan(trees.error_within(run, 1))
    assert [trees.error_within(run, most) for most in (2, 3, 4, 9)] == [30.0, 30.0, 20.0, 20.0]


def test_trees_that_failed_or_are_missing_are_shown():
    failed = done("trees", "housing", "tree 3", {}, error="ValueError: no")
    table, *_ = trees.show([failed, grown_run(0, [1.0], [1.0])])
    cells = {(row[0], row[1], row[2]): row[3] for row in table.rows}
    assert cells["StatLib's columns", 3, "tree"] == "failed"
    assert cells["StatLib's columns", 3, "BGN, our defaults"] == "failed"
    assert cells["averaged columns", 5, "tree"] == "missing"


def test_nodes_are_the_tree():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    tree = DecisionTreeRegressor(max_depth=3).fit(X, y)
    nodes = trees.nodes(tree, ("a", "b"))

    def value(row, k=0):
        node = nodes[k]
        if "name" not in node:
            return node["value"]
        return value(row, node["below"] if row["ab".index(node["name"])] <= node["threshold"] else node["above"])

    table = X.astype(np.float32)  # as scikit-learn compares
    assert [value(row) for row in table] == pytest.approx(tree.predict(X))


# -- pruning ---------------------------------------------------------------------------------------------------

curve = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=6).map(
    lambda points: [{"weights": w, "validation_mse": float(v), "test_mse": float(t)} for w, v, t in points]
)


@given(st.lists(curve, min_size=1, max_size=3), st.integers(1, 60))
def test_within_a_number_of_weights_the_validation_rows_choose(curves, budget):
    error = pruning.at_most(curves, budget)
    small = [[point for point in curve if point["weights"] <= budget] for curve in curves]
    if not all(small):
        assert error is None
    else:
        best = [
            next(p for p in curve if p["validation_mse"] == min(q["validation_mse"] for q in curve)) for curve in small
        ]
        assert error == pytest.approx(np.mean([point["test_mse"] for point in best]))


@given(st.lists(curve, min_size=1, max_size=3))
def test_steps_that_all_seeds_took_are_averaged(curves):
    steps = pruning.by_step(curves)
    assert len(steps) == min(map(len, curves))
    last = len(steps) - 1
    assert steps[last, 1] == pytest.approx(np.mean([curve[last]["test_mse"] for curve in curves]))
    assert steps[last, 2] == pytest.approx(np.std([curve[last]["test_mse"] for curve in curves]))


def test_all_rankings_of_a_seed_prune_one_network_and_raw_targets_another():
    tasks = [task for task in pruning.tasks(Options("smoke")) if task.method in pruning.PRUNED]
    groups = {}
    for task in tasks:
        groups.setdefault(pruning.together(task), []).append(task)
    assert len(groups) == 4
    for group in groups.values():
        assert len({(task.dataset, task.seed, task.method.endswith("raw")) for task in group}) == 1
        trained = [{k: v for k, v in task.parameters.items() if k != "schedule"} for task in group]
        assert all(network == trained[0] for network in trained)


# -- the housing model -----------------------------------------------------------------------------------------

NAMES = ("longitude", "housingMedianAge", "totalBedrooms", "medianIncome")


@given(st.lists(st.tuples(*[st.integers(0, 90)] * 3), min_size=1, max_size=9))
def test_the_printed_equation_is_the_printed_one(rows):
    X = np.array([[0.0, age, 10.0 * bedrooms, income] for age, bedrooms, income in rows])
    expected = [
        1.0 + 1.27 * (income >= 65.46) + 1.01 * (0.59 * age + income >= 63.56) + 0.60 * (income >= 28.20)
        + 0.36 * (10 * bedrooms >= 622) + 0.27 * (age >= 20)
        for age, bedrooms, income in rows
    ]  # fmt: skip
    assert housing_model.printed_network(NAMES).predict(X) == pytest.approx(expected)


def test_a_search_keeps_what_validates_best_and_scikit_learns_drawing_comes_back(tmp_path):
    grid = {"max_features": [None], "criterion": ["squared_error"], "splitter": ["best", "random"]}
    task = Task("trees", "diabetes", "tree 3, searched", {"max_depth": 3, "grid": grid}, 0, paper_split(200))
    figures = trees.run(task)
    assert len(figures["tried"]) == 2
    assert figures["validation_mse"] == min(error for _, error in figures["tried"])
    run = done("trees", "housing", "tree 3, searched", figures)
    lines = trees._searched({("housing", "tree 3, searched"): [run]})
    assert lines[0][2] == figures["test_mse"]
    assert lines[0][4].endswith("split (1 of 1 seeds)")
    pytest.importorskip("matplotlib")
    marks = trees.run(replace(task, method="tree, drawn", parameters={"max_depth": 2}))["marks"]
    assert sum("samples" in mark["text"] for mark in marks) == 7
    drawn = [part for part in trees.show([done("trees", "housing", "tree, drawn", {"marks": marks})])
             if isinstance(part, Figure)]  # fmt: skip
    assert [part.name for part in drawn] == ["trees-scikit-learn"]
    (path,) = write(drawn[0], tmp_path, ("svg",))
    assert path.stat().st_size > 5_000


def test_a_recorded_model_comes_back_with_its_equation_and_shares():
    network = housing_model.printed_network(NAMES)
    X = np.random.default_rng(0).uniform(0, 90, (30, 4)) * [1, 1, 20, 1]
    kinds = {kind: housing_model.plain(importance(network, X, kind=kind)) for kind in ("shap", "paper")}
    figures = {
        "test_mse": 0.5, "features": 3, "names": list(NAMES), "importance": kinds,
        "weights": network.layers[0].weights.tolist(), "bias": network.layers[0].bias.tolist(),
        "output_weights": network.output_weights.tolist(), "base": network.base,
    }  # fmt: skip
    run = done("housing_model", "housing", "printed", figures, width=5)
    assert housing_model.network_of(run) == network
    errors, equation, drawing, shares = housing_model.show([run])
    assert [row[2] for row in errors.rows] == [0.5, *["missing"] * 6]
    grown = done("housing_model", "housing", "bgn", figures, width=7)
    assert "housing_model-bgn-7-drawing" in [shown.name for shown in housing_model.show([run, grown])]
    assert equation.rows[:2] == [["value (100 k$) = 1.00", "always"], ["+ 1.27", "medianIncome >= 65.46"]]
    assert len(equation.rows) == 6
    assert isinstance(drawing, Figure)
    assert len(shares.rows) == 8


# -- figures ---------------------------------------------------------------------------------------------------


def test_lines_end_on_the_edges_of_the_box():
    layer = Layer([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [-1.0, -0.25, -9.0])
    network = Network.of_layers([layer], [1.0, 1.0, 1.0], 0.0)
    first, second = figures._ends(network, [(0.0, 2.0), (0.0, 3.0)])
    assert sorted(zip(*first, strict=True)) == [(0.0, 1.0), (1.0, 0.0)]
    assert sorted(zip(*second, strict=True)) == [(0.25, 0.0), (0.25, 3.0)]


def test_figures_are_drawn_from_their_runs_alone(tmp_path):
    planes = {"columns": ["bmi", "bp"], "target": "progression", "max_terms": 2}
    tasks = [
        Task("figures", "diabetes", "hyperplanes", planes, 0, paper_split()),
        Task("figures", "diabetes", "building", {"max_layers": 2, "max_terms": 2}, 0, paper_split()),
        Task("figures", "diabetes", "growth", {"max_layers": 1, "max_terms": 3}, 0, paper_split()),
    ]
    runs = [run_of(task, **figures.run(task)) for task in tasks]
    shown = figures.show([*runs, done("figures", "diabetes", "growth", {}, error="ValueError: no")])
    assert isinstance(shown[0], Table)
    assert shown[0].rows == [["growth", "ValueError: no"]]
    for figure in shown[1:]:
        png, svg = write(figure, tmp_path, ("png", "svg"))
        assert png.read_bytes()[1:4] == b"PNG"
        assert "<svg" in svg.read_text()
