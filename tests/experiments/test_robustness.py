"""What is disturbed is what the study says, and alike is what parts the rows alike."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import robustness
from experiments.peers import ranking
from experiments.robustness import DISTURBANCES, METHODS, Conditions, Disturbed
from experiments.store import Options, Task
from tests.experiments.made_up import run_of

pd = pytest.importorskip("pandas")
# Other people's packages warn of their own future.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", params=["numbers", "classes"])
def table(request):
    """A table of which one number and one word decide."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=300), "city": rng.choice(["Nice", "Lille"], 300), "odd": rng.random(300)})
    y = 2.0 * (X["size"] > 0).to_numpy() + (X["city"] == "Nice").to_numpy()
    y = y if request.param == "numbers" else (y > 2.5).astype(int)
    return Disturbed(X[:200], y[:200], X[200:], {name: name for name in X.columns}), y[200:]


@pytest.mark.parametrize("kind", DISTURBANCES)
def test_only_what_is_named_is_disturbed(table, kind):
    whole, _ = table
    disturbed = DISTURBANCES[kind](whole, np.random.default_rng(0))
    added = len(disturbed.X.columns) - len(whole.X.columns)
    assert len(disturbed.X_test) == len(whole.X_test)
    assert list(disturbed.X.columns) == list(disturbed.X_test.columns) == list(disturbed.origins)
    if "noise" in kind:
        noise = [name for name, origin in disturbed.origins.items() if origin is None]
        assert added == len(noise) == int(kind.split()[0].replace(",", ""))
    elif kind == "every column twice":
        assert all(disturbed.X[f"{name} again"].equals(whole.X[name]) for name in whole.X.columns)
    elif "rows" in kind:
        assert len(disturbed.y) == {"half": 100, "a": 20}[kind.split()[0]]
    elif "targets" in kind:
        changed = np.mean(disturbed.y != whole.y)
        assert 0 < changed <= int(kind.split()[0]) / 100
        assert changed == int(kind.split()[0]) / 100 or whole.y.dtype.kind == "f"
    else:
        assert np.array_equal(np.argsort(disturbed.X["size"]), np.argsort(whole.X["size"]))
        assert disturbed.X["city"].equals(whole.X["city"])
        assert not np.allclose(disturbed.X["size"], whole.X["size"])


@pytest.mark.parametrize("key", METHODS)
def test_models_tell_what_they_ask_and_read(table, key):
    pytest.importorskip("imodels")
    whole, y_test = table
    conditions = METHODS[key][1](whole, robustness.SIZE, 0)
    assert {"size"} <= conditions.columns <= set(whole.X.columns)
    assert conditions.answers.shape[0] == len(y_test)
    assert 1 <= conditions.answers.shape[1] <= robustness.SIZE
    assert robustness.error(conditions.predicted, y_test) < 0.5
    again = robustness.compared(conditions, conditions, whole.origins)
    assert again == {"same_columns": 1.0, "same_questions": 1.0, "noise": 0.0}


def test_noise_and_copies_differ_from_columns():
    answers = np.zeros((4, 1), dtype=bool)
    before, after = Conditions(answers, {"a", "b"}, None), Conditions(answers, {"a again", "noise 0"}, None)
    figures = robustness.compared(before, after, {"a": "a", "b": "b", "a again": "a", "noise 0": None})
    assert figures["same_columns"] == 1 / 3
    assert figures["noise"] == 0.5


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_same_conditions_are_those_of_the_definition(first, second, seed):
    rng = np.random.default_rng(seed)
    before, after = rng.random((20, first)) < 0.2, rng.random((20, second)) < 0.2
    expected = [
        any(max(np.mean(a == b), np.mean(a != b)) >= robustness.ALIKE - 1e-12 for b in after.T) for a in before.T
    ]
    assert robustness.same_conditions(before, after) == pytest.approx(np.mean(expected))


def test_tables_show_what_is_missing_and_what_failed():
    kinds = ["10 noise columns", "half of the rows"]
    task = Task("robustness", "housing", "bgn", {"size": 10, "disturbances": kinds}, 0, "a quarter, 4000 rows")
    figures = {"error": 0.5, "same_columns": 0.8, "same_questions": 0.7, "noise": 0.1}
    runs = [run_of(task), run_of(replace(task, method="tree"), "no")]
    runs[0].figures.update(error=0.4, disturbed=dict.fromkeys(kinds, figures))
    shown = {part.name: part for part in robustness.show(runs)}
    assert shown["robustness"].rows[0] == ["10 noise columns", 1.25, "missing", "missing", "failed"]
    assert len(shown["robustness-noise"].rows) == 1
    assert shown["robustness-errors"].rows[0] == ["BGN", "none", 0.4]
    assert {task.dataset for task in robustness.tasks(Options("smoke"))} == {"pima_diabetes"}


@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=2, max_size=5))
def test_ranks_are_shared_and_add_up(errors):
    shared = ranking({str(k): [float(error) for error in row] for k, row in enumerate(errors)})
    count = len(errors)
    assert sum(shared.ranks.values()) == pytest.approx(count * (count + 1) / 2)
    assert list(shared.ranks.values()) == sorted(shared.ranks.values())


def test_the_critical_difference_is_that_of_the_books():
    five = ranking({str(k): [float(k)] * 14 for k in range(5)})  # Demsar (2006) has 2.728 for five models
    assert five.critical_difference == pytest.approx(2.728 * np.sqrt(5 * 6 / (6 * 14)), abs=1e-3)
