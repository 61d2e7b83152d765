"""The study of classes: rows as the protocol says, sizes as they are counted, figures as they are defined."""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from bgn.datasets import DatasetError
from experiments import STUDIES, classes, classrivals, data, runner
from experiments.classrivals import EQUAL, FREE, SURE, Answer, within_reason
from experiments.data import ClassRows, as_numbers, as_stumps, stratified_split
from experiments.store import Options, Store, Task
from experiments.tables import Figure
from tests.experiments.made_up import run_of

pd = pytest.importorskip("pandas")
needs_peers = pytest.mark.skipif(
    not all(find_spec(name) for name in ("imodels", "lightgbm", "interpret")),
    reason="the packages of the extra 'experiments' are not installed",
)
# Other people's packages warn of their own future.
pytestmark = pytest.mark.filterwarnings("ignore")


def made_rows(classes, count=200):
    """A table of numbers, words and gaps, some of which decide on the class."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=count)
    city = rng.choice(np.array(["Lille", "Nice", "Paris", None], dtype=object), count)
    score = size + (city == "Nice") + 0.5 * rng.normal(size=count)
    labels = np.array(["c", "a", "b"])[:classes]
    y = labels[np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))]
    X = pd.DataFrame(
        {"size": np.where(rng.random(count) < 0.1, np.nan, size), "city": city, "noise": rng.random(count)}
    )
    return ClassRows(X[: count // 2], y[: count // 2], X[count // 2 :], y[count // 2 :])


def models(keys):
    """Models and how many classes they are fitted to: two, and three where they can; what is missing is skipped."""
    parameters = []
    for key in keys:
        reason = classes.skipped(Task("classes", "wine", key, {}, 0, stratified_split()))
        mark = pytest.mark.skipif(reason is not None, reason=str(reason))
        parameters += [pytest.param(key, n, marks=mark) for n in (2, 3) if n == 2 or key not in classrivals.TWO_ONLY]
    return parameters


@needs_peers
@pytest.mark.parametrize(("key", "n_classes"), models(EQUAL))
def test_every_model_stays_within_its_size_and_gives_probabilities(key, n_classes):
    rows = made_rows(n_classes)
    answer = EQUAL[key][1](rows, 3, 0)
    assert 1 <= answer.size <= 3
    assert answer.probabilities.shape == (len(rows.y_test), len(rows.classes))
    np.testing.assert_allclose(answer.probabilities.sum(axis=1), 1.0)
    assert answer.probabilities.min() >= 0.0
    # three yes/no questions have at most eight answers; BGN's defaults may take straight lines, which have any number
    assert key == "bgn" or len(np.unique(answer.probabilities.round(9), axis=0)) <= 2**answer.size
    assert classes.figures_of(answer, rows.codes[1])["accuracy"] > 0.5


@needs_peers
@pytest.mark.parametrize(("key", "n_classes"), models(FREE))
def test_models_of_any_size_give_probabilities(key, n_classes):
    rows = made_rows(n_classes)
    answer = FREE[key][1](rows, 8, 0)
    assert answer.probabilities.shape == (len(rows.y_test), len(rows.classes))
    np.testing.assert_allclose(answer.probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("fit", [classrivals.tree, classrivals.tuned_tree])
def test_a_tree_has_the_requested_number_of_splits(fit):
    assert fit(made_rows(2), 4, 0).size == 4


def test_points_are_whole_and_few():
    if not find_spec("fasterrisk"):
        pytest.skip("FasterRisk is not installed")
    rows = made_rows(2)
    (X, _), (y, _) = rows.stumps, rows.codes
    optimizer = classrivals._fasterrisk().RiskScoreOptimizer(X, 2.0 * y - 1.0, k=3, lb=-5, ub=5)
    optimizer.optimize()
    _, _, points = optimizer.get_models(model_index=0)
    assert np.array_equal(points, np.rint(points))
    assert np.abs(points).max() <= classrivals.MOST_POINTS
    assert np.count_nonzero(points) <= 3


# -- rows --------------------------------------------------------------------------------------------------------


def test_rows_are_split_as_the_protocol_says():
    X, y = data.mixed_table("wine")
    rows = data.class_split(Task("classes", "wine", "tree", {}, 2, stratified_split()))
    expected = train_test_split(X, y, test_size=0.25, stratify=y, random_state=2)
    for part, wanted in zip((rows.X, rows.X_test, rows.y, rows.y_test), expected, strict=True):
        assert np.array_equal(part, wanted)
    few = data.class_split(Task("classes", "wine", "tree", {}, 2, stratified_split(60)))
    assert (len(few.y), len(few.y_test)) == (45, 15)
    with pytest.raises(ValueError, match="stratified_split makes; got 'paper'"):
        data.class_split(Task("classes", "wine", "tree", {}, 2, "paper"))


def test_every_row_is_tested_in_one_of_five_folds():
    folds = [data.class_split(Task("classes", "wine", "folds tree", {}, fold, data.FOLD)) for fold in range(5)]
    tested = np.concatenate([rows.X_test.index for rows in folds])
    assert sorted(tested) == list(range(178))
    for rows in folds:
        assert set(rows.X.index) == set(range(178)) - set(rows.X_test.index)
        assert all(abs(np.mean(rows.y_test == label) - np.mean(rows.y == label)) < 0.05 for label in range(3))


@pytest.mark.parametrize("name", data.RAW)
def test_what_gives_the_class_away_is_left_out(name):
    try:
        X, y = data.mixed_table(name)
    except DatasetError:
        pytest.skip("BGN_DATA does not name a folder with the raw tables")
    known = data.RAW[name]
    assert not {known.target, *known.left_out} & set(X.columns)
    if name in data.NUMBERS:
        assert y.dtype.kind in "if"
        return
    assert len(np.unique(y)) == (3 if name == "penguins" else 2)
    categorical = {column for column in X.columns if X[column].dtype.kind not in "biuf"}
    assert categorical == {
        "telco_churn": set(X.columns) - {"SeniorCitizen", "tenure", "MonthlyCharges", "TotalCharges"},
        "titanic": {"sex", "embarked", "deck"},
        "penguins": {"island", "sex"},
    }.get(name, set())
    missing = {"telco_churn": 11, "breast_cancer_wisconsin": 16, "pima_diabetes": 0, "spambase": 0, "phoneme": 0}
    assert X.isna().to_numpy().sum() == missing.get(name, X.isna().to_numpy().sum())


def test_a_table_that_is_not_there_or_is_another_is_named(tmp_path, monkeypatch):
    data.mixed_table.cache_clear()
    monkeypatch.setenv("BGN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BGN_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match=r"no mixed/titanic\.csv .* BGN_DATA"):
        data.mixed_table("titanic")
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "titanic.csv").write_text("survived\n1\n")
    with pytest.raises(DatasetError, match=r"SHA-256 .*, expected 81787d"):
        data.mixed_table("titanic")


@given(st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=2, max_size=12), st.data())
def test_categories_become_columns_and_missing_one_more(texts, data):
    new = data.draw(st.lists(st.sampled_from([None, "a", "b", "c", "d"]), min_size=1, max_size=6))
    frames = [pd.DataFrame({"word": pd.Series(column, dtype=object)}) for column in (texts, new)]
    if len(set(texts)) == 1:
        return
    result, other = as_numbers(*frames)
    categories = sorted({text or "" for text in texts})
    categories = categories[1:] if len(categories) == 2 else categories
    assert result.tolist() == [[float((text or "") == category) for category in categories] for text in texts]
    assert other.tolist() == [[float((text or "") == category) for category in categories] for text in new]


@given(st.lists(st.integers(-30, 30), min_size=2, max_size=80), st.lists(st.integers(-40, 40), min_size=1, max_size=9))
def test_stumps_say_which_thresholds_are_reached_and_none_is_idle(seen, new):
    if len(set(seen)) == 1:
        return
    result, other = as_stumps(np.array(seen, float)[:, None], np.array(new, float)[:, None])
    assert 1 <= result.shape[1] <= data.CUTS - 1
    assert set(result.ravel()) == {0.0, 1.0}
    assert (result.mean(axis=0) > 0).all()
    assert (result.mean(axis=0) < 1).all()
    assert len(np.unique(result, axis=1).T) == result.shape[1]
    for column, more in zip(result.T, other.T, strict=True):  # one threshold fits both
        low = max(value for value, reached in zip(seen, column, strict=True) if not reached)
        high = min(value for value, reached in zip(seen, column, strict=True) if reached)
        assert low < high
        assert all(reached for value, reached in zip(new, more, strict=True) if value >= high)
        assert not any(reached for value, reached in zip(new, more, strict=True) if value <= low)


# -- figures -----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 100), st.booleans()), min_size=1, max_size=60))
def test_the_calibration_error_is_that_of_its_definition(pairs):
    p = np.array([percent / 100 for percent, _ in pairs])
    y = np.array([hit for _, hit in pairs])
    expected = 0.0
    for k in range(10):
        rows = [i for i in range(len(p)) if (k <= p[i] * 10 < k + 1) or (k == 9 and p[i] == 1.0)]
        if rows:
            expected += len(rows) / len(p) * abs(np.mean(p[rows]) - np.mean(y[rows]))
    assert classes.calibration_error(p, y) == pytest.approx(expected, abs=1e-12)


def test_exact_probabilities_are_off_by_chance_alone():
    rng = np.random.default_rng(1)
    p = rng.random(3000)
    noise = classes.calibration_noise(p)
    assert 0.5 * noise < classes.calibration_error(p, rng.random(3000) < p) < 2.0 * noise
    assert classes.calibration_error(p, rng.random(3000) < p**2) > 5.0 * noise


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_no_probability_is_beyond_reason(values):
    p = np.array(values)
    kept = within_reason(np.column_stack([1.0 - p, p]))
    np.testing.assert_allclose(kept.sum(axis=1), 1.0)
    assert kept.min() >= SURE * 0.999
    sound = (p >= SURE) & (p <= 1.0 - SURE)
    np.testing.assert_allclose(kept[sound, 1], p[sound])


def test_scores_rank_where_they_are_given():
    y = np.array([0, 0, 1, 1, 1])
    p = np.array([0.2, 1.0, 1.0, 1.0, 0.9])
    scores = np.array([0.2, 1.1, 1.3, 1.2, 0.9])
    pair = np.column_stack([1.0 - p, p])
    assert classes.figures_of(Answer(pair, 0.0, 3, scores), y)["auc"] == roc_auc_score(y, scores)
    assert classes.figures_of(Answer(pair, 0.0, 3), y)["auc"] == roc_auc_score(y, p)
    assert "auc" not in classes.figures_of(Answer(np.eye(3)[[0, 1, 2, 0, 1]], 0.0), y)


# -- tables ------------------------------------------------------------------------------------------------------


def made(name, key, error=None, **within):
    """A run with made-up figures by size: AUC and log loss."""
    figures = {
        "within": {
            size: {"auc": auc, "log_loss": loss, "calibration_error": 0.01, "accuracy": auc, "fit_seconds": 1.0}
            for size, (auc, loss) in within.items()
        }
    }
    task = Task("classes", name, key, {"sizes": [int(size) for size in within]}, 0, stratified_split())
    return run_of(task, error, **({} if error else figures))


def test_rivals_are_the_best_by_every_figure():
    runs = [
        made("titanic", "bgn", **{"5": (0.83, 0.46)}),
        made("titanic", "bgn_1", **{"5": (0.99, 0.10)}),
        made("titanic", "tree", **{"5": (0.82, 0.45)}),
        made("titanic", "figs", **{"5": (0.84, 0.47)}),
        made("titanic", "fasterrisk", **{"5": (0.80, 0.48)}),
        made("titanic", "stumps", error="ValueError: no"),
        made("phoneme", "bgn", **{"5": (0.86, 0.40)}),
        made("phoneme", "tree", **{"5": (0.81, 0.45)}),
        made("penguins", "bgn", **{"5": (0.97, 0.10)}),
    ]
    shown = {table.name: table for table in classes.show(runs)}
    assert shown["classes-leaders"].rows == [
        ["titanic", 5, 0.83, 0.84, "FIGS", "-0.0100", 0.46, 0.45, "tree", "+0.0100"],
        ["phoneme", 5, 0.86, 0.81, "tree", "+0.0500", 0.40, 0.45, "tree", "-0.0500"],
    ]
    assert shown["classes"].rows == [[5, 2, 1, "-0.0100", 1, "+0.0100", "+0.1900"]]
    cells = {row[0]: row[2:] for row in shown["classes-auc"].rows}
    assert cells["L1 logistic regression on stumps"] == ["failed", "missing"]
    assert "BGN, our defaults" not in cells  # nothing of it was run
    assert [row[:3] for row in shown["classes-several"].rows[:1]] == [["BGN", 5, 0.97]]
    seconds = {row[0]: row[2:] for row in shown["classes-seconds"].rows}
    assert seconds["FasterRisk"] == [1.0, "missing", None]


def test_cards_are_timed_in_one_process():
    runs = [made("titanic", "bgn", **{"5": (0.83, 0.46)}), made("titanic", "bgn_points", **{"5": (0.82, 0.47)})]
    task = Task("classes", "titanic", "bgn_cards", {"sizes": [5]}, 0, stratified_split())
    figures = {"within": {"5": {"bgn_points_seconds": 0.5, "fasterrisk_seconds": 6.0}}}
    runs.append(run_of(task, **figures))
    (table,) = (part for part in classes.show(runs) if part.name == "classes-points")
    assert table.rows == [["titanic", 5, 0.83, 0.82, "missing", 0.5, 6.0, 12.0]]


def test_the_page_shows_every_table_and_figure():
    page = (Path(__file__).parents[2] / "docs" / "results" / "classes.rst").read_text(encoding="utf-8")
    figures = {"5": (0.8, 0.5)}
    runs = [made(name, key, **figures) for name in ("titanic", "penguins") for key in ("bgn", "folds bgn")]
    names = {("figure" if isinstance(part, Figure) else "table", part.name) for part in classes.show(runs)}
    shown = re.findall(r"published-(table|figure):: full/(\S+)", page)
    assert sorted(shown) == sorted(names | {("table", "classes-origin")})


def test_the_axis_of_the_figure_counts_conditions():
    plt = pytest.importorskip("matplotlib.pyplot")
    runs = [made("titanic", "bgn", **{"5": (0.83, 0.46)}), made("titanic", "figs", **{"5": (0.8, 0.5)})]
    runs[0].figures["within"]["5"] |= {"size": 5, "conditions": 11}
    runs[1].figures["within"]["5"] |= {"size": 4}
    shown = {part.name: part for part in classes.show(runs)}
    canvas = plt.figure(layout="constrained")
    shown["classes-sizes"].draw(canvas)
    drawn = {line.get_label(): line.get_xydata().tolist() for line in canvas.axes[0].lines}
    assert (drawn["BGN"], drawn["FIGS"]) == ([[11.0, 0.83]], [[4.0, 0.8]])
    assert canvas.axes[0].get_xticks().tolist() == [5, 10]
    plt.close(canvas)
    assert shown["classes-conditions"].rows == [["BGN", 5, 11.0]]


def test_a_study_with_nothing_done_has_tables():
    assert [part.name for part in classes.show([])] == ["classes-conditions", "classes-seconds"]


def test_size_is_what_a_reader_reads():
    figures = {"5": {"auc": 0.9, "size": 5, "conditions": 8}}
    older = {"5": {"auc": 0.9, "size": 5}}
    ours, others, before = (
        run_of(Task("classes", "titanic", key, {"sizes": [5]}, 0, stratified_split()), within=within)
        for key, within in (("bgn", figures), ("figs", older), ("bgn", older))
    )
    assert [classes.conditions([run], 5) for run in (ours, others, before)] == [8.0, 5.0, "missing"]
    assert classes.conditions(None, 5) == "missing"
    answer = classrivals.two_columns(made_rows(2), 3, 0)
    assert answer.conditions >= answer.size
    assert classes.figures_of(answer, made_rows(2).codes[1])["conditions"] == answer.conditions


def test_tasks_ask_every_model_what_it_can_answer():
    tasks = classes.tasks(Options("reduced"))
    wanted = {(task.dataset, task.method) for task in tasks}
    assert {name for name, method in wanted if method == "fasterrisk"} == set(data.TWO) - set(classes.LARGE)
    assert {name for name, method in wanted if method == "bgn"} == set(data.CLASS_TABLES) - set(classes.LARGE)
    assert {task.seed for task in tasks} == {0}
    full = classes.tasks(Options("full"))
    assert {task.seed for task in full if task.split == stratified_split()} == {0, 1, 2}
    folds = [task for task in full if task.split == data.FOLD]
    assert {task.seed for task in folds} == {0, 1, 2, 3, 4}
    assert all(task.method.startswith("folds ") for task in folds)
    once = {(task.dataset, task.method) for task in full if task.split == stratified_split()}
    assert len(full) - len(folds) == 3 * len(once)
    assert {name for name, _ in once - wanted} == set(classes.LARGE)
    assert wanted <= once
    assert all(len(data.checksum(task.dataset)) == 64 for task in tasks)
    assert "classes" in STUDIES


def test_what_cannot_be_done_here_is_left_out_and_said(tmp_path, monkeypatch):
    monkeypatch.setattr(classes, "find_spec", lambda name: None)
    options = Options("smoke", datasets=("iris", "mammographic"), methods=("tree", "fasterrisk"))
    tasks = [task for task in classes.tasks(options) if task.dataset == "iris" or task.method == "fasterrisk"]
    monkeypatch.setattr(classes, "tasks", lambda options: tasks)
    with Store(tmp_path / "runs") as store, (tmp_path / "log").open("w+") as log:
        work = runner.perform("classes", options, store, log=log)
        log.seek(0)
        said = log.read()
    assert "classes: 1 runs left out: FasterRisk is not installed. Run: pip install --no-deps fasterrisk" in said
    assert [task.method for task in work.missing.values()] == ["fasterrisk"]
    assert [run.task.method for run in work.done.values()] == ["tree"]
