"""What was saved loads, and is the same: predictions, every width of the history, what is printed, the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
import bgn.grow.search as search
from bgn import BGNClassifier, BGNRegressor, GrowthSettings
from tests import fuzz_models, fuzz_round_trips
from tests.fuzz_round_trips import KINDS, same_report, table
from tests.round_trips import bits, scratch, through_a_file

SETTINGS = st.fixed_dictionaries(
    {
        "max_layers": st.integers(1, 3),
        "max_terms": st.integers(1, 6),
        "direction": st.sampled_from(["search", "search", "debiased", "lasso"]),
        "output": st.sampled_from(["full", "full", "stagewise"]),
        "shrinkage": st.sampled_from(["auto", 0.0, 5.0, 100.0]),
        "growth": st.none() | st.builds(GrowthSettings, max_replacements=st.integers(0, 2)),
        "validation_fraction": st.sampled_from([0.0, 0.2]),
        "cv": st.sampled_from([None, "auto"]),
        "select": st.sampled_from(["best", "compact"]),
        "random_state": st.integers(0, 9),
    }
)
WEIGHTS = st.sampled_from([None, np.array([1, 2, 0, 5]), np.array([0.1, 1.0, 2.5, 1e-3])])


@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    st.integers(4, 40),
    SETTINGS,
    WEIGHTS,
)
@settings(max_examples=40)
def test_whatever_was_saved_loads(seed: int, kinds: list[str], rows: int, chosen: dict[str, Any], weights: Any) -> None:
    X, y = table(seed, tuple(kinds), rows)
    some = None if weights is None else np.resize(weights, rows)
    model = BGNRegressor(**chosen, n_jobs=1).fit(X, y, sample_weight=some)
    with scratch() as folder:
        loaded = through_a_file(model, folder)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    same_report(model, loaded, X, y)


def equal_rules() -> BGNRegressor:
    """Return a fit whose history counts neurons that its network has put together."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (60, 2)).astype(float)
    y = X[:, 0] * 2 + X[:, 1] + rng.normal(size=60) * 0.3
    growth = GrowthSettings(max_replacements=0)
    return BGNRegressor(max_terms=4, max_layers=2, growth=growth, shrinkage=5.0, random_state=3).fit(X, y)


def test_rules_put_together_are_counted_one_by_one_by_the_history(tmp_path: Path) -> None:
    model = equal_rules()
    assert model.network_.widths[-1] < model.history_.best_size
    loaded = through_a_file(model, tmp_path)
    assert loaded.history_.best_size == model.history_.best_size


def test_a_fit_interrupted_before_a_layer_began_keeps_only_what_was_grown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build, layers = search._finder, []

    def finder(*about: Any) -> Any:
        layers.append(1)
        if len(layers) == 2:
            raise KeyboardInterrupt
        return build(*about)

    monkeypatch.setattr(search, "_finder", finder)
    with pytest.warns(UserWarning, match="interrupted"):
        model = equal_rules()
    assert len(model.history_.paths) == 1
    assert model.history_.inputs == ()
    through_a_file(model, tmp_path)


def test_a_history_too_wide_to_be_saved_is_left_out_and_the_model_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, y = table(0, ("fine", "few values"), 60)
    settings = {"max_terms": 6, "max_linear": 0, "growth": GrowthSettings(max_replacements=0), "random_state": 0}
    model = BGNRegressor(**settings, select="compact", cv=None).fit(X, y)
    assert model.history_.best_size < len(model.history_.paths[0]) - 1
    assert through_a_file(model, tmp_path).history_
    monkeypatch.setattr("bgn.persist.network.MOST_WEIGHTS", model.network_.layers[0].weights.size)
    for loaded in (bgn.load(tmp_path / "model.json"), through_a_file(model, tmp_path)):
        assert bits(loaded.network_) == bits(model.network_)
        assert not hasattr(loaded, "history_")


@pytest.fixture(scope="module")
def classifier() -> BGNClassifier:
    X, y = table(1, ("fine", "few values"), 60)
    return BGNClassifier(max_terms=2, random_state=0).fit(X, y > np.median(y))


LABELS = {
    "words": ["no", "yes", "dunno"], "numbers": [3, 1, 2], "wide": [1.0, -0.0, 1e300], "truths": [True, False],
}  # fmt: skip


@pytest.mark.parametrize("labels", list(LABELS))
@pytest.mark.parametrize("layers", [1, 2])
def test_classes_come_back(tmp_path: Path, labels: str, layers: int) -> None:
    X, y = table(1, ("fine", "few values"), 90)
    known = np.array(LABELS[labels])
    y = known[np.digitize(y, np.quantile(y, np.linspace(0, 1, len(known) + 1)[1:-1]))]
    weight = {known[0].item(): 2.5}
    model = BGNClassifier(max_terms=3, max_layers=layers, class_weight=weight, n_jobs=1, random_state=0).fit(X, y)
    loaded = through_a_file(model, tmp_path)
    assert loaded.class_weight == weight
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.with_terms(1).predict(X), model.with_terms(1).predict(X))
    content = json.loads((tmp_path / "model.json").read_text())
    assert content["kind"] == "classifier"
    assert "mse" not in json.dumps(content["history"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "regressor"}, "kind is 'regressor', and the network's link 'logistic' is that of another"),
        ({"kind": "network"}, "kind must be 'network', or 'regressor' or 'classifier' with settings"),
        ({"settings": {"class_weight": [["no", "x"]]}}, r"settings.class_weight\[0\]\[1\] must be a number; got 'x'"),
        ({"settings": {"class_weight": [["no"]]}}, r"settings.class_weight\[0\] must have 2 entries; got 1"),
        ({"settings": {"class_weights": None}}, "settings has 'class_weights', which this version"),
        ({"schema": {"columns": 2, "target": None}}, "schema lacks 'classes', the labels that a classifier predicts"),
    ],
)
def test_what_is_no_classifier_is_refused(
    tmp_path: Path, classifier: BGNClassifier, changes: dict[str, Any], message: str
) -> None:
    path = tmp_path / "model.json"
    bgn.save(classifier, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(bgn.ModelFileError, match=message):
        bgn.load(path)


def test_fits_of_every_kind_come_back() -> None:
    assert fuzz_round_trips.run(18).total() == 18


def test_damaged_files_are_refused_or_predict() -> None:
    loaded = fuzz_models.run(400, reports=0.02)
    assert loaded.cases == 400
    assert 0 < loaded.loaded < 200
    assert loaded.longest_message < 500
    assert loaded.peak < 300 * 1024
