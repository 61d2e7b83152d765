"""Linear terms while networks grow: the same on every engine, as least squares says, and only where they are wanted."""

from __future__ import annotations

import numpy as np
import pytest

from bgn import BGNClassifier, BGNRegressor, GrowthSettings, load, save
from bgn.engines.raw_rows import RowsInMemory
from bgn.grow.rows import assign_rows
from tests.every_engine import ENGINES


def table(rows=600, seed=0):
    """Rows of which two columns count as straight lines and one as a step."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(rows, 4)) * [1.0, 10.0, 3.0, 1.0], 2)
    y = 2.0 * X[:, 0] - 0.3 * X[:, 1] + 4.0 * (X[:, 2] > 1.0) + rng.normal(size=rows) * 0.5
    return X, y


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_every_engine_grows_the_same_lines(engine):
    X, y = table(400)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    for extra in ({}, {"sample_weight": weight}):
        settings = {"max_terms": 3, "max_linear": 2, "growth": GrowthSettings(1), "cv": None, "random_state": 0}
        here = BGNRegressor(**settings).fit(X, y, **extra)
        there = ENGINES[engine](BGNRegressor(**settings), X, y, **extra)
        assert here.network_.linear
        assert there.network_ == here.network_


def test_classes_grow_lines_on_request():
    X, _ = table(500)
    y = X[:, 0] - 0.1 * X[:, 1]
    for target in (y > 0, np.digitize(y, [-2.0, 2.0])):
        model = BGNClassifier(max_terms=4, max_linear=2, max_features=1, validation_fraction=0).fit(X, target)
        assert model.network_.linear or len(np.unique(target)) > 2
        assert (model.predict(X) == target).mean() > 0.8


def test_linear_terms_are_added_up_exactly():
    X, y = table(200)
    weight = np.arange(1, 201) % 3 + 1.0
    rows = assign_rows(RowsInMemory(X, y, weight), None, 0.0, 0)[0].train
    one, other = rows.linear_of(0, -1.0, 2.0), rows.linear_of(1, -20.0, 20.0)
    part = rows.part

    def answers(term):
        low, high, center, scale = term.place
        return [round((min(max(x, low), high) - center) * scale) for x in part.columns[term.column].tolist()]

    heavy = [int(one) for one in part.weight] if len(part.weight) else [1] * part.n_rows
    wholes = answers(one), answers(other)
    result = rows.linear_products(one, (other,))
    expected = [
        sum(w * a for w, a in zip(heavy, wholes[0], strict=True)) * one.unit,
        sum(w * a * b for w, a, b in zip(heavy, *wholes, strict=True)) * one.unit * other.unit,
        sum(w * a * a for w, a in zip(heavy, wholes[0], strict=True)) * one.unit * one.unit,
    ]
    assert result == pytest.approx(expected, rel=1e-12)
    assert max(map(abs, wholes[0])) <= 2**one.bits


def test_lines_alone_are_least_squares_on_clipped_columns():
    X, y = table(300)
    y = X[:, 0] * 2 - X[:, 1] * 0.3 + 1.0 + np.random.default_rng(2).normal(size=300) * 0.01
    model = BGNRegressor(shrinkage=0, digits=None, random_state=0).fit(X, y)
    assert model.network_.widths == (0,)
    network = model.network_
    coefs = {term.column: coef for term, (coef,) in zip(network.linear, network.linear_coef.tolist(), strict=True)}
    columns = sorted(coefs)
    design = np.column_stack([np.ones(300), X[:, columns]])
    expected = np.linalg.lstsq(design, y, rcond=None)[0]
    assert [model.network_.base, *(coefs[j] for j in columns)] == pytest.approx(expected.tolist(), abs=1e-5)


def test_rows_beyond_the_ends_count_as_the_ends():
    X, y = table(300)
    model = BGNRegressor(max_terms=6, max_linear=2, random_state=0).fit(X, y)
    (term, *_) = model.network_.linear
    row = X[:1].copy()
    row[0, term.column] = 1e9
    at_end = row.copy()
    at_end[0, term.column] = term.high
    network = model.network_.changed(layers=[model.network_.layers[0].only([])], output_weights=[])
    assert network.predict(row) == network.predict(at_end)
    assert term.low <= X[:, term.column].min()
    assert X[:, term.column].max() <= term.high


def test_sizes_count_lines_and_losses_are_those_of_the_network(tmp_path):
    X, y = table(300)
    model = BGNRegressor(max_terms=6, max_linear=3, random_state=0).fit(X, y)
    for size, snapshot in enumerate(model.history_.paths[0]):
        network = model.history_.network(size)
        assert len(snapshot.rules) + len(snapshot.linear) == size
        assert len(network.linear) == len(snapshot.linear)
        assert np.mean((network.predict(X) - y) ** 2) == pytest.approx(snapshot.train_loss, rel=1e-5)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.network_ == model.network_
    assert again.with_terms(2).network_ == model.with_terms(2).network_


def test_a_missing_value_counts_as_the_typical_value():
    X, y = table(300)
    X[::7, 0] = np.nan
    model = BGNRegressor(max_terms=4, max_linear=3, random_state=0).fit(X, y)
    terms = [term for term in model.network_.linear if term.column == 0]
    assert terms
    network = model.network_.changed(layers=[model.network_.layers[0].only([])], output_weights=[])
    typical = model.network_.schema.columns[0].typical
    assert network.predict([[np.nan, 0.0, 0.0, 0.0]]) == network.predict([[typical, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize("wrong", [-1, 1.5, "some", True])
def test_what_is_no_number_of_linear_terms_is_refused(wrong):
    with pytest.raises(ValueError, match="max_linear"):
        BGNRegressor(max_linear=wrong).fit(*table(50))


@pytest.mark.parametrize("other", [{"max_layers": 2}, {"output": "stagewise"}, {"direction": "lasso"}])
def test_lines_are_refused_where_they_cannot_be(other):
    with pytest.raises(ValueError, match="max_linear"):
        BGNRegressor(max_linear=2, **other).fit(*table(50))
    assert BGNRegressor(max_terms=2, **other).fit(*table(50)).network_.linear == ()
