"""Intervals: as many truths inside as promised, the same as by definition, and kept with the model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import BGNRegressor, GrowthSettings, Layer, Network
from bgn.conformal import Calibration, ranks_kept
from bgn.engines.disk.engine import Scratch
from bgn.engines.raw_rows import row_hashes
from bgn.engines.sources import RowArguments, source_of
from bgn.estimator_base import validating
from bgn.grow.rows import assign_rows

LINE = Network.of_layers([Layer([[1.0], [1.0]], [-1.0, -2.0])], [1.0, 1.5], 5.0, ["rooms"], "price")


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, (count, 1))
    return X, LINE.predict(X) + rng.normal(size=count) * (0.3 + X[:, 0])


@settings(max_examples=60)
@given(scores=st.lists(st.floats(0, 100), min_size=1, max_size=400), share=st.floats(0.01, 0.99))
def test_the_quantile_is_the_definitions(scores, share):
    result = Calibration.of(np.array(scores)).quantile(share)
    rank = math.ceil((len(scores) + 1) * share - 1e-9)
    exact = sorted(scores)[rank - 1] if rank <= len(scores) else math.inf
    if len(scores) <= 261:
        assert result == exact
    else:
        kept = ranks_kept(len(scores))
        assert exact <= result <= sorted(scores)[kept[np.searchsorted(kept, rank)] - 1] if rank <= len(scores) else True


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), weighted=st.booleans(), share=st.sampled_from([0.1, 0.2, 0.5]))
def test_the_rows_that_validate_are_known_again(seed, weighted, share):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 9, (120, 2)).astype(float), rng.integers(0, 5, 120).astype(float)
    weight = rng.integers(0, 3, 120) * rng.choice([1.0, 0.3]) if weighted else None
    chosen = validating(weight, row_hashes(X.T, y, seed), share)
    with Scratch(1) as scratch:
        source, schema = source_of(BGNRegressor(), RowArguments(X, y, weight), scratch, seed)
        parts, _ = assign_rows(source, None, share, seed, 1, columns=schema.columns)
        counts = np.ones(120) if weight is None else weight
        held = 0 if parts.validation is None else parts.validation.total / parts.unit
        assert counts[chosen].sum() == pytest.approx(held, rel=1e-6)


def test_a_fit_keeps_them_and_a_file_too(tmp_path):
    X, y = rows(800)
    model = BGNRegressor(max_terms=6, cv=None, random_state=0).fit(X, y)
    predictions, ends = model.predict(X, interval=0.9)
    np.testing.assert_array_equal(predictions, model.predict(X))
    assert ends.shape == (800, 2)
    wide = model.predict(X, interval=0.95)[1]
    assert ((wide[:, 0] <= ends[:, 0]) & (ends[:, 1] <= wide[:, 1])).all()
    bgn.save(model, tmp_path / "m.json")
    np.testing.assert_array_equal(bgn.load(tmp_path / "m.json").predict(X, interval=0.9)[1], ends)
    small = model.with_terms(1)
    assert small.intervals_.network == small.network_
    assert np.isfinite(small.predict(X, interval=0.9)[1]).all()
    again = bgn.intervals(model, *model.validation_rows_)
    np.testing.assert_array_equal(again.predict(X, 0.9), ends)
    assert len(model.validation_rows_[0]) == 160


def test_without_rows_to_tell_by_it_says_so():
    X, y = rows(100)
    model = BGNRegressor(max_terms=2, cv=None, validation_fraction=0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"no rows to tell by.*bgn\.intervals\(model, X, y\)"):
        model.predict(X, interval=0.9)
    model.intervals_ = bgn.intervals(model, *rows(300, 1))
    assert model.predict(X, interval=0.9)[1].shape == (100, 2)
    with pytest.raises(ValueError, match=r"interval must be a share between 0 and 1, such as 0\.9; got 90"):
        model.predict(X, interval=90)


def test_the_share_is_kept_overall_and_where_errors_are_large():
    calibrated = bgn.intervals(LINE, *rows(4000))
    X, y = rows(20_000, 1)
    ends = calibrated.predict(X, 0.9)
    inside = (y >= ends[:, 0]) & (y <= ends[:, 1])
    assert abs(inside.mean() - 0.9) < 0.02
    for predicted in np.unique(LINE.predict(X)):
        assert abs(inside[LINE.predict(X) == predicted].mean() - 0.9) < 0.04
    flat = bgn.intervals(LINE, *rows(4000), scaled=False).predict(X, 0.9)
    assert np.ptp(flat[:, 1] - flat[:, 0]) < 1e-9
    assert (ends[:, 1] - ends[:, 0]).mean() < (flat[:, 1] - flat[:, 0]).mean()


def test_groups_have_their_own():
    X, y = rows(2000)
    groups = np.where(X[:, 0] > 2, "large", "small")
    calibrated = bgn.intervals(LINE, X, y, groups=groups, scaled=False)
    assert repr(calibrated) == "Intervals(split, 2,000 rows, 2 groups)"
    ends = calibrated.predict([[0.5], [0.5]], 0.9, groups=["small", "large"])
    assert ends[1, 1] - ends[1, 0] > ends[0, 1] - ends[0, 0]
    with pytest.raises(ValueError, match="groups must be the group of every row"):
        calibrated.predict(X, 0.9)
    with pytest.raises(ValueError, match="of those that were calibrated"):
        calibrated.predict([[0.5]], 0.9, groups=["huge"])


def test_classes_have_sets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 1))
    yes = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0, ["a"], link="logistic")
    y = (rng.random(3000) < yes.predict(X)).astype(float)
    sets = bgn.intervals(yes, X[:1500], y[:1500]).predict(X[1500:], 0.9)
    assert sets.shape == (1500, 2)
    assert abs(sets[np.arange(1500), y[1500:].astype(int)].mean() - 0.9) < 0.12  # two predictions: sets are coarse
    layer = Layer([[1.0], [1.0]], [0.5, -0.5])
    three = Network.of_layers([layer], rng.normal(size=(2, 3)), [0.0, 0.1, 0.2], link="softmax")
    labels = np.array([rng.choice(3, p=p) for p in three.predict(X)])
    assert bgn.intervals(three, X, labels).predict(X, 0.8).shape == (3000, 3)


def test_a_classifier_has_sets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where(X[:, 0] + rng.normal(size=600) > 0, "yes", "no")
    model = bgn.BGNClassifier(max_terms=4, cv=None, random_state=0).fit(X, y)
    labels, sets = model.predict(X, interval=0.9)
    assert (labels == model.predict(X)).all()
    assert sets[np.arange(600), np.searchsorted(model.classes_, y)].mean() > 0.8


def test_cv_plus_is_the_definitions():
    X, y = rows(150)
    model = BGNRegressor(max_terms=2, random_state=0).fit(X, y)
    calibrated = bgn.intervals(model, X, y, cv=5, scaled=False)
    assert calibrated.method == "cv+"
    new = rows(20, 1)[0]
    ends = calibrated.predict(new, 0.9)
    centers = np.stack([calibrated.folds[k].predict(new) for k in calibrated.fold_of])
    n = len(y)
    low = np.sort(centers - calibrated.fold_scores[:, None], axis=0)[math.floor(0.1 * (n + 1)) - 1]
    high = np.sort(centers + calibrated.fold_scores[:, None], axis=0)[math.ceil(0.9 * (n + 1)) - 1]
    np.testing.assert_array_equal(ends, np.column_stack([low, high]))
    with pytest.raises(ValueError, match="cv needs an estimator"):
        bgn.intervals(LINE, X, y, cv=5)


def test_folds_go_through_a_file(tmp_path):
    X, y = rows(90)
    model = BGNRegressor(max_terms=2, random_state=0).fit(X, y)
    model.intervals_ = bgn.intervals(model, X, y, cv=3)
    bgn.save(model, tmp_path / "m.json")
    again = bgn.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(X, interval=0.8)[1], model.predict(X, interval=0.8)[1])


def test_mapie_says_the_same():
    mapie = pytest.importorskip("mapie.regression", reason="MAPIE is compared with where it is installed")
    X, y = rows(250)
    new = rows(50, 1)[0]
    model = BGNRegressor(max_terms=3, random_state=0).fit(*rows(300, 2))
    theirs = mapie.SplitConformalRegressor(model, confidence_level=0.9, prefit=True).conformalize(X, y)
    _, ends = theirs.predict_interval(new)
    np.testing.assert_allclose(bgn.intervals(model, X, y, scaled=False).predict(new, 0.9), ends[:, :, 0])


def test_mapie_says_the_same_of_folds():
    mapie = pytest.importorskip("mapie.regression", reason="MAPIE is compared with where it is installed")
    from sklearn.model_selection import KFold

    X, y = rows(120)
    new, model = rows(30, 1)[0], BGNRegressor(max_terms=2, random_state=0).fit(X, y)
    folds = KFold(5, shuffle=True, random_state=0)
    theirs = mapie.CrossConformalRegressor(model, confidence_level=0.9, method="plus", cv=folds)
    _, ends = theirs.fit_conformalize(X, y).predict_interval(new)
    np.testing.assert_allclose(bgn.intervals(model, X, y, cv=5, scaled=False).predict(new, 0.9), ends[:, :, 0])


def test_the_command_and_the_report(tmp_path):
    pytest.importorskip("click")
    pytest.importorskip("pyarrow")
    from tests.command import call

    X, y = rows(400)
    model = BGNRegressor(max_terms=3, cv=None, random_state=0).fit(X, y)
    bgn.save(model, tmp_path / "m.json")
    bgn.save(model.network_, tmp_path / "n.json")
    (tmp_path / "d.csv").write_text("x0\n1.5\n0.2\n")
    lines = call("predict", tmp_path / "m.json", tmp_path / "d.csv", "--interval", "0.9", "--exact").out.splitlines()
    assert lines[0] == "prediction,low,high"
    predictions, ends = model.predict([[1.5], [0.2]], interval=0.9)
    np.testing.assert_allclose(
        [list(map(float, line.split(","))) for line in lines[1:]], np.column_stack([predictions, ends])
    )
    assert (
        "saved without intervals"
        in call("predict", tmp_path / "n.json", tmp_path / "d.csv", "--interval", "0.9", code=1).err
    )
    page = bgn.write_report(model, X, y, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "each predicted by a network that was grown without it" in page
    assert '"interval":{"reach":' in page
    assert '"interval":null' in bgn.write_report(model.network_, X, y, tmp_path / "s.html").read_text(encoding="utf-8")


def test_folds_tell_where_all_rows_were_trained_on():
    """Every row is predicted by the network of the fold that it was left out of, at every width."""
    X, y = rows(300)
    growth = GrowthSettings(max_replacements=0)
    model = BGNRegressor(max_terms=4, digits=None, growth=growth, shrinkage=1.0, max_features=1, random_state=0)
    model.fit(X, y)
    assert model.history_.cross_validated
    assert model.history_.out_of_fold is None
    out_of_fold = model.out_of_fold_
    assert out_of_fold.predictions.shape == (300, len(out_of_fold.predictions[0]))
    assert sorted(out_of_fold.targets.tolist()) == pytest.approx(sorted(y.tolist()))
    for size, snapshot in enumerate(model.history_.paths[0]):
        loss = np.mean((out_of_fold.predictions[:, size] - out_of_fold.targets) ** 2)
        assert loss == pytest.approx(snapshot.validation_mse, rel=1e-6)
    small = model.with_terms(0)
    assert small.intervals_.network == small.network_
    assert not np.array_equal(small.predict(X, interval=0.9)[1], model.predict(X, interval=0.9)[1])


def test_folds_hold_their_share(tmp_path):
    X, y = rows(1000)
    model = BGNRegressor(max_terms=4, random_state=0).fit(X, y)
    new, truth = rows(20_000, 1)
    ends = model.predict(new, interval=0.9)[1]
    assert abs(((truth >= ends[:, 0]) & (truth <= ends[:, 1])).mean() - 0.9) < 0.03
    bgn.save(model, tmp_path / "m.json")
    np.testing.assert_array_equal(bgn.load(tmp_path / "m.json").predict(new, interval=0.9)[1], ends)


@pytest.mark.parametrize("classes", [2, 3])
def test_folds_of_classes_have_sets(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.digitize(X[:, 0] + rng.normal(0, 0.5, 400), [0.0, 1.0][: classes - 1])
    model = bgn.BGNClassifier(max_terms=3, max_features=1, shrinkage=1.0, random_state=0).fit(X, y)
    out_of_fold = model.out_of_fold_
    size = model.history_.best_size
    chances = out_of_fold.predictions[:, size]
    chances = chances if classes == 3 else np.stack([1 - chances, chances], axis=1)
    loss = -np.log(chances[np.arange(400), out_of_fold.targets.astype(int)]).mean()
    assert loss == pytest.approx(model.history_.paths[0][size].validation_loss, rel=1e-3)
    _, sets = model.predict(X, interval=0.9)
    assert sets[np.arange(400), y].mean() > 0.85  # few different predictions: sets are coarse


def test_the_command_and_the_report_name_sets_of_classes(tmp_path):
    pytest.importorskip("click")
    pytest.importorskip("pyarrow")
    from tests.command import call

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0, "yes", "no")
    model = bgn.BGNClassifier(max_terms=3, random_state=0).fit(X, y)
    bgn.save(model, tmp_path / "m.json")
    (tmp_path / "d.csv").write_text("x0\n2.5\n0.02\n")
    lines = call("predict", tmp_path / "m.json", tmp_path / "d.csv", "--interval", "0.9").out.splitlines()
    assert lines[0] == "prediction,classes"
    labels, sets = model.predict([[2.5], [0.02]], interval=0.9)
    joined = [" | ".join(model.classes_[members]) for members in sets]
    assert lines[1:] == [f"{label},{some}" for label, some in zip(labels, joined, strict=True)]
    assert lines[2].endswith(",no | yes")
    page = bgn.write_report(model, X, y, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "of the sets hold the true class" in page
    assert "one of these" in page


def test_with_rows_of_its_own_the_share_is_as_a_beta_distribution_has_it():
    """On average over datasets at least the level, in one of sixty rows within a few percentage points of it."""
    inside = []
    for seed in range(250):
        X, y = rows(460, seed)
        covered = bgn.intervals(LINE, X[:60], y[:60]).predict(X[60:], 0.9)
        inside.append(np.mean((y[60:] >= covered[:, 0]) & (y[60:] <= covered[:, 1])))
    deviation = math.sqrt(0.9 * 0.1 / 62 + 0.9 * 0.1 / 400)
    assert np.mean(inside) >= 0.9 - 3 * deviation / math.sqrt(len(inside))
    assert np.std(inside) == pytest.approx(deviation, rel=0.25)


@pytest.mark.parametrize("cv", [None, 3])
def test_fits_of_counts_hold_about_the_share(cv):
    """Neither kind is proven: validation rows chose the size, and folds have other networks than the model."""
    inside = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(1200, 3))
        y = rng.poisson(np.exp(0.3 + 1.2 * X[:, 0] + 0.8 * (X[:, 1] > 0.5))).astype(float)
        quick = {"max_terms": 4, "growth": GrowthSettings(0), "max_features": 1, "max_linear": 0, "n_jobs": 1}
        model = BGNRegressor(**quick, cv=cv, random_state=seed).fit(X[:300], y[:300])
        low, high = model.predict(X[300:], interval=0.8)[1].T
        inside.append(np.mean((y[300:] >= low) & (y[300:] <= high)))
    assert 0.75 <= np.mean(inside) <= 0.87
