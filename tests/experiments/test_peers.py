"""Sizes of other people's models are counted as the definitions say, and choices look at validation rows alone."""

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Lasso
from sklearn.tree import DecisionTreeRegressor, export_text

from experiments import peers, rivals
from experiments.data import Rows, paper_split
from experiments.rivals import Candidate, RuleTable, parse_rule
from experiments.store import Task
from tests.experiments.made_up import run_of

NEEDED = ("imodels", "xgboost", "lightgbm", "pygam", "interpret", "aplr", "cubist", "pilot", "pymars")
needs_peers = pytest.mark.skipif(
    not all(find_spec(name) for name in NEEDED),
    reason="the packages of the extra 'experiments' are not installed",
)
# Other people's packages warn of their own future.
pytestmark = [needs_peers, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def rows():
    """A table with steps, an interaction and a line."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (240, 3)) / 2
    y = 3.0 * (X[:, 0] > 2) + (X[:, 1] > 3) * (X[:, 2] > 1) + 0.3 * X[:, 1] + rng.normal(0, 0.2, 240)
    return Rows(X[:140], y[:140], X[140:190], y[140:190], X[190:], y[190:], ("a", "b", "c"))


MANY = [pytest.param(key, marks=pytest.mark.exhaustive) for key in list(peers.EQUAL)[3:]]


@pytest.mark.parametrize("key", [*list(peers.EQUAL)[:3], *MANY])
def test_every_family_stays_within_its_limit_and_predicts(rows, key):
    if key in peers.PACKAGES and not find_spec(peers.PACKAGES[key]):
        pytest.skip(f"{peers.PACKAGES[key]} is not installed")
    candidates = list(peers.EQUAL[key](rows, 0, 4))
    if key != "cubist":  # whose least rule may have a slope per column, and conditions
        assert candidates
    if key not in ("rules", "rules_lines", *peers.WITH_LINES, "bgn"):  # which may take several at once
        assert {candidate.conditions for candidate in candidates} >= {1, 2}
    for candidate in candidates:
        assert 0 <= candidate.conditions <= 4
        assert candidate.conditions <= candidate.named_columns <= 2 * candidate.conditions
        predicted = np.ravel(candidate.predict(rows.X_test))
        assert predicted.shape == rows.y_test.shape
        if key not in (*peers.WITH_LINES, "bgn"):  # n yes/no questions have at most 2 to the n answers
            assert len(np.unique(np.round(predicted, 5))) <= 2**candidate.size


def test_splits_of_a_tree_are_the_lines_of_its_text_that_ask(rows):
    for leaves in (2, 3, 7, 20):
        tree = DecisionTreeRegressor(max_leaf_nodes=leaves).fit(rows.X, rows.y)
        splits = [line for line in export_text(tree).splitlines() if "<=" in line]
        assert rivals.splits(tree) == len(splits)


def test_splits_of_figs_are_what_it_says_itself(rows):
    from imodels import FIGSRegressor

    for size in (1, 3, 9):
        model = FIGSRegressor(max_rules=size).fit(rows.X, rows.y)
        assert rivals.figs_splits(model) == model.complexity_ == str(model).count("≤")


def test_stumps_that_ask_the_same_count_once(rows):
    import xgboost

    model = xgboost.XGBRegressor(max_depth=1, n_estimators=30, learning_rate=0.3, n_jobs=1).fit(rows.X, rows.y)
    counts = rivals.distinct_stumps(model)
    dump = model.get_booster().get_dump()
    conditions = [text.split("[")[1].split("]")[0] for text in dump]
    assert counts == [len(set(conditions[: k + 1])) for k in range(len(conditions))]
    assert counts[-1] < len(counts)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(-4, 4)), min_size=1, max_size=6),
    st.lists(st.tuples(*[st.integers(-5, 5)] * 3), min_size=1, max_size=20),
)
def test_a_parsed_rule_holds_where_its_text_does(conditions, points):
    text = " and ".join(f"X{j} {'>' if greater else '<='} {cut / 2}" for j, greater, cut in conditions)
    X = np.array(points, dtype=float)
    rule = parse_rule(text)
    named = {f"X{j}": X[:, j] for j in range(3)}
    expected = np.logical_and.reduce([eval(part, {}, named) for part in text.split(" and ")])
    assert np.array_equal(RuleTable((rule,), None).transform(X)[:, 0] == 1, expected)
    assert len(rule) == len({(j, greater) for j, greater, _ in conditions})


@pytest.mark.parametrize("linear", [False, True])
def test_rules_with_the_lassos_weights_predict_as_rulefit_does(rows, linear):
    from imodels import RuleFitRegressor
    from imodels.util.extract import extract_rulefit

    settings = {"n_estimators": 8, "tree_size": 4, "memory_par": 0.1, "random_state": 0}
    model = RuleFitRegressor(**settings, include_linear=linear, alpha=0.02, max_rules=None).fit(rows.X, rows.y)
    rules = extract_rulefit(rows.X, rows.y, ["X0", "X1", "X2"], **settings)
    table = RuleTable(tuple(map(parse_rule, rules)), rows.X if linear else None)
    lasso = Lasso(alpha=0.02, max_iter=2000).fit(table.transform(rows.X), rows.y)
    ours = table.predictor(lasso.coef_, float(lasso.intercept_))
    np.testing.assert_allclose(ours(rows.X_test), model.predict(rows.X_test), rtol=1e-6)
    conditions, terms = table.count(lasso.coef_)
    assert conditions + terms == model.complexity_
    assert terms == 0 or linear


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3), st.integers(0, 20), st.integers(0, 20)), min_size=1),
    st.integers(4, 12),
)
def test_what_validates_best_within_the_limit_is_tested(offered, budget):
    candidates = [
        Candidate(str(k), size, terms, lambda X, k=k: np.full(len(X), float(k)), 0.0)
        for k, (size, terms, _, _) in enumerate(offered)
    ]
    errors = [float(error) for *_, error, _ in offered]
    kept, left = peers.fitting(candidates, errors, budget)
    assert peers.fitting(candidates, errors, budget, columns=True) == (kept, left)  # that name one column each
    allowed = [k for k, (size, terms, *_) in enumerate(offered) if size + terms <= budget]
    assert [int(candidate.setting) for candidate in kept] == allowed
    if allowed:
        rows = Rows(*(np.zeros((2, 1)), np.zeros(2)) * 3, ("a",))
        chosen = peers.best_figures(kept, left, rows)
        best = min(allowed, key=lambda k: errors[k])
        assert chosen["setting"] == str(best)
        assert chosen["test_mse"] == best**2


@given(st.integers(1, 300))
def test_sizes_hold_the_limit_and_its_halves(most):
    sizes = rivals.sizes_up_to(most)
    assert sizes == sorted(set(sizes))
    assert {most, round(most / 2), round(most / 4)} - {0} <= set(sizes)
    assert set(peers.BUDGETS) <= set(rivals.sizes_up_to(40))


def test_lines_of_the_lasso_are_no_conditions(rows):
    for candidate in rivals.lines(rows, 0, 2):
        assert candidate.size == 0
        assert 1 <= candidate.linear_terms <= 2


def test_an_ebm_counts_its_table_entries(rows):
    (model,) = rivals.ebm(rows, 0, 4)
    assert model.size >= 3 * 4


def made(name, key, error=None, **within):
    """A run of a family at equal size with made-up errors by budget."""
    figures = {"within": {b: {"test_mse": value} for b, value in within.items()}} if error is None else {}
    task = Task("peers", name, f"equal {key}", {"most": 40}, 0, paper_split())
    return run_of(task, error, **figures)


def test_rivals_with_thresholds_and_with_lines_are_separate():
    runs = [
        made("bike", "bgn", **{"5": 2.0}),
        made("bike", "bgn_questions", **{"5": 2.25}),
        made("bike", "cubist", **{"3": 0.5}),
        made("bike", "tree", **{"5": 4.0}),
        made("bike", "figs", **{"5": 2.5}),
        made("bike", "lines", **{"5": 1.0}),
        made("bike", "stumps", error="ValueError: no"),
    ]
    runs[0].figures["within_columns"] = {"5": {"test_mse": 3.0}}
    shown = {part.name: part for part in peers.show(runs)}
    canvas = plt.figure(layout="constrained")
    shown["peers-equal"].draw(canvas)
    drawn = {line.get_label(): line.get_xydata().tolist() for line in canvas.axes[0].lines}
    assert drawn["BGN, our defaults"] == [[5.0, 3.0]]  # a condition on two columns counts as two
    assert drawn["tree, best first"] == [[5.0, 4.0]]
    assert canvas.get_supxlabel() == "conditions, at most; one on two columns counts as two"
    plt.close(canvas)
    assert shown["peers-leaders"].rows == [
        ["bike", 5, 2.0, 2.5, "FIGS", 0.8, 1.0, "Lasso: linear terms alone", 2.0, 3.0, 3.0]
    ]
    cells = dict(shown["peers-equal-5"].rows)
    assert cells["XGBoost stumps"] == "failed"
    assert "RuleFit, rules alone" not in cells  # nothing of it was run
    assert cells["Cubist"] == "none"
    assert cells["BGN, our defaults, columns counted"] == 3.0
    ranks = dict(row[:2] for row in shown["peers-ranks"].rows)
    assert [*ranks.items()][:2] == [("Lasso: linear terms alone", 1.0), ("BGN, our defaults", 2.0)]
    assert ranks["Cubist"] == 6.0
    assert "XGBoost stumps" not in ranks


def test_ours_are_new_runs_and_theirs_the_old_ones():
    tasks = peers.tasks(peers.Options("full"))
    assert {task.seed for task in tasks} == {0, 1, 2}
    for task in tasks:
        assert ("grown" in task.parameters) == task.method.split()[1].startswith("bgn")
    slow = {(task.dataset, task.method) for task in peers.tasks(peers.Options("reduced"))} & {
        (name, method) for name in peers.LARGE for method in peers.SLOW
    }
    assert not slow


def test_categories_reach_bgn_as_they_are_and_others_as_numbers():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=240), "city": rng.choice(["Nice", "Lille", "Paris"], 240)})
    y = frame["size"].to_numpy() + 3.0 * (frame["city"] == "Nice").to_numpy() + 0.1 * rng.normal(size=240)
    frames = (frame[:140], frame[140:190], frame[190:])
    from experiments.data import as_numbers

    X, X_validation, X_test = as_numbers(*frames)
    rows = Rows(X, y[:140], X_validation, y[140:190], X_test, y[190:], ("size", "city"), frames)
    (candidate,) = peers.default(rows, 0, 6)
    assert candidate.raw
    assert peers.best_figures([candidate], [0.0], rows)["test_mse"] < 0.5
    (line,) = [model for model in rivals.lasso(rows, 0, 8) if model.setting == "LassoCV"]
    assert peers.best_figures([line], [0.0], rows)["test_mse"] < 0.5
