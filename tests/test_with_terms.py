"""A fitted estimator with another number of terms: a whole one, and the first stays as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bgn


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    X = np.random.default_rng(0).uniform(size=(300, 4))
    return X, 2.0 * (X[:, 0] > 0.4) + X[:, 1] * X[:, 2]


@pytest.fixture(scope="module")
def model(rows: tuple[Any, Any]) -> bgn.BGNRegressor:
    return bgn.BGNRegressor(max_terms=6, random_state=0, cv=None).fit(*rows)


def test_every_size_is_a_model_of_its_own(model: bgn.BGNRegressor, rows: tuple[Any, Any], tmp_path: Path) -> None:
    before, chosen = model.network_, model.history_.best_size
    for size in range(len(model.history_.paths[0])):
        other = model.with_terms(size)
        assert other.network_ == model.history_.network(size)
        assert (other.history_.best_size, other.history_.best_layer) == (size, 0)
        assert other.get_params() == model.get_params()
        np.testing.assert_array_equal(other.predict(rows[0]), other.network_.predict(rows[0]))
        assert bgn.equation(other) == bgn.equation(other.network_)
        bgn.save(other, tmp_path / "m.json")
        again = bgn.load(tmp_path / "m.json")
        assert again.network_ == other.network_
        assert again.with_terms(chosen).network_ == before  # larger again
    assert model.network_ is before
    assert model.history_.best_size == chosen


def test_size_and_layer_are_checked(model: bgn.BGNRegressor, rows: tuple[Any, Any]) -> None:
    most = len(model.history_.paths[0]) - 1
    with pytest.raises(ValueError, match=f"size must be one that was grown, 0 to {most}; got 99"):
        model.with_terms(99)
    for wrong in (-1, 2.0, "2", None, True):
        with pytest.raises(ValueError, match="n_terms must be a whole number, at least 0; got"):
            model.with_terms(wrong)
    with pytest.raises(ValueError, match="layer must be between 0 and 0; got 1"):
        model.with_terms(1, layer=1)
    with pytest.raises(NotFittedError):
        clone(model).with_terms(1)
    without = model.with_terms(1)
    del without.history_
    with pytest.raises(ValueError, match="the model has no history_"):
        without.with_terms(1)
    assert model.with_terms(np.int64(1)).network_ == model.history_.network(1)


def test_layers_of_deep_models(rows: tuple[Any, Any]) -> None:
    growth = bgn.GrowthSettings(patience=None)
    deep = bgn.BGNRegressor(max_layers=2, max_terms=3, random_state=0, growth=growth).fit(*rows)
    below = deep.history_.inputs[0].width
    assert deep.with_terms(2, layer=1).network_.widths == (below, 2)
    first = deep.with_terms(1, layer=0)
    assert first.network_.widths == (1,)
    assert first.history_.network() == first.network_
    assert first.with_terms(2).network_.widths == (2,)


def test_models_of_a_cluster_too(model: bgn.BGNRegressor) -> None:
    from bgn.dask import DaskBGNRegressor
    from bgn.estimator_base import take_over

    on_cluster = take_over(DaskBGNRegressor(client="a client", max_terms=6), model)
    other = on_cluster.with_terms(2)
    assert isinstance(other, DaskBGNRegressor)
    assert (other.client, on_cluster.network_) == ("a client", model.network_)
    assert other.to_local().network_ == model.history_.network(2)
