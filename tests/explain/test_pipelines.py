"""Pipelines, searches and transformed targets are seen through: explained and printed in the table's own columns."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV, Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import bgn
from bgn import Layer, Network, theory
from bgn.model.rescaled import Source, rescaled
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from bgn.pipelines import see_through
from tests.networks import with_linear_terms

rng = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "age": rng.integers(18, 80, 300).astype(float),
        "income": rng.lognormal(10, 1, 300).round(2),
        "rooms": rng.integers(1, 7, 300).astype(float),
        "city": rng.choice(["Lille", "Nice", "Rome"], 300),
    }
)
y = (X.age >= 40) * 3.0 + (X.income > 30000) * 2.0 + X.rooms * 0.5 + (X.city == "Nice") * 4.0 + rng.normal(size=300) / 9
NUMBERS = ["age", "income", "rooms"]
SCALERS = [
    StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False), MinMaxScaler(), MaxAbsScaler(),
    RobustScaler(), RobustScaler(with_centering=False), "passthrough", FunctionTransformer(),
    make_pipeline(SimpleImputer(), StandardScaler()), make_pipeline(MinMaxScaler(), None, StandardScaler()),
    make_pipeline(StandardScaler(), SelectKBest(f_regression, k=2)),
    make_column_transformer((MinMaxScaler(), [True, False, True]), remainder="passthrough"),
]  # fmt: skip
BY_NAME = make_column_transformer(
    (StandardScaler(), ["income"]), (RobustScaler(), slice("rooms", "rooms")), ("passthrough", [0])
)


def small(**settings):
    return bgn.BGNRegressor(**{"max_terms": 5, "random_state": 0, "n_jobs": 1, "cv": None, "max_linear": 0, **settings})


@pytest.fixture(scope="module")
def encoded():
    """A pipeline that undoes in part: scaled numbers, a category as 0/1 columns."""
    steps = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["city"]), (StandardScaler(), NUMBERS), verbose_feature_names_out=False
    )
    return Pipeline([("columns", steps), ("scale", MinMaxScaler()), ("net", small())]).fit(X, y)


def network_of(model):
    return see_through(model).model.network_


@pytest.mark.parametrize(
    ("scaler", "table"),
    [(scaler, X[NUMBERS]) for scaler in (*SCALERS, BY_NAME)] + [(scaler, X[NUMBERS].to_numpy()) for scaler in SCALERS],
)
def test_a_scaler_is_undone(scaler, table):
    pipeline = make_pipeline(scaler, small()).fit(table, y)
    seen = see_through(pipeline)
    assert seen.whole
    network = seen.model.network_
    assert set(network.names) <= set(NUMBERS if hasattr(table, "columns") else ["x0", "x1", "x2"])
    assert np.array_equal(network.predict(seen.rows(table)), pipeline.predict(table))
    assert np.array_equal(network.predict(table), pipeline.predict(table))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-50, 50), min_size=3, max_size=12, unique=True),
    st.sampled_from([StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler]),
    st.sampled_from([0.01, 1.0, 3.7, 1e6]),
    st.sampled_from([-1.0, 1.0, 2.0]),
)
def test_thresholds_that_rows_lie_on_stay_where_they_are(whole, scaler, unit, coefficient):
    column = np.array(whole, dtype=float)[:, np.newaxis] * unit
    fitted = scaler().fit(column)
    scaled = fitted.transform(column)
    for threshold in (coefficient * scaled[:, 0]).tolist():
        network = Network.of_layers([Layer([[coefficient]], [-threshold])], [1.0], 0.0)
        (source,) = see_through_steps(fitted)
        undone = rescaled(network, [source], Schema.of_numbers(1, ["x"]))
        assert np.array_equal(undone.predict(column), network.predict(scaled))


def see_through_steps(fitted):
    from bgn.pipelines import trace

    return trace("step", fitted, fitted.n_features_in_, fitted.n_features_in_)


def test_missing_values_and_categories_stay_what_they_are():
    schema = Schema((Column("age", typical=0.5), Column("hour"), Column("city", categories=("Lille", "Nice", "Rome"))))
    layer = Layer.of(
        [
            Oblique(Projection((0,), (1.0,)), 0.25),
            Oblique(Projection((1,), (-1.0,)), -0.5, missing=True),
            Oblique(Projection((1,), (0.0,)), 1.0, missing=True),
            Oblique(Projection((2,), ((0.0, 1.0, 1.0),)), 1.0, missing=False),
            Oblique(Projection((1, 2), (1.0, (0.0, -0.25, 0.25)), missing_as=(0.75, 0.125)), 0.5),
            Oblique(Projection((1, 2), (0.0, (0.0, 1.0, 1.0)), missing_as=(1.0, 0.0)), 1.0),
            Oblique(Projection((0, 1), (2.0, 0.0), missing_as=(0.0, 0.5)), 0.5),
        ],
        3,
    )
    network = Network.of_layers([layer], [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], 0.0, schema=schema)
    sources = [Source(2, (("-", 40.0), ("/", 8.0)), filled=44.0), Source(1, (("/", 24.0),)), Source(0)]
    table = np.array([[c, h, a] for c in (0, 1, 2, np.nan) for h in (5, 6, 12, 18, np.nan) for a in (41, 42, np.nan)])
    scaled = np.column_stack([(np.where(np.isnan(table[:, 2]), 44.0, table[:, 2]) - 40.0) / 8.0, table[:, 1] / 24.0,
                              table[:, 0]])  # fmt: skip
    columns = (schema.columns[2], Column("hour"), Column("age", typical=44.0))
    undone = rescaled(network, sources, Schema(columns))
    rows = [[None if np.isnan(c) else ("Lille", "Nice", "Rome")[int(c)], h, a] for c, h, a in table]
    texts = [[a, h, row[0]] for row, (a, h, _) in zip(rows, scaled, strict=True)]
    assert np.array_equal(undone.predict(rows), network.predict(texts))
    assert [condition.threshold for condition in undone.layers[0].neurons[:3]] == [42.0, -12.0, 1.0]


def test_linear_terms_are_undone():
    network = with_linear_terms(Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 2.0), [3.0])
    undone = rescaled(network, [Source(0, (("-", 10.0), ("/", 4.0)))], Schema.of_numbers(1, ["x"]))
    assert undone.linear_coef.tolist() == [[0.75]]
    assert undone.predict([[18.0]]) == network.predict([[2.0]])


def test_lines_are_undone_up_to_rounding():
    pipeline = make_pipeline(StandardScaler(), small(max_linear=2)).fit(X[NUMBERS], y)
    seen = see_through(pipeline)
    assert seen.model.network_.linear
    predicted = seen.model.network_.predict(seen.rows(X[NUMBERS]))
    np.testing.assert_allclose(predicted, pipeline.predict(X[NUMBERS]), rtol=1e-9)
    assert "per unit of" in bgn.equation(pipeline)


def test_an_imputer_is_undone_with_its_missing_values():
    holes = X[NUMBERS].copy()
    holes.iloc[::5, 0] = np.nan
    pipeline = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), small()).fit(holes, y)
    network = network_of(pipeline)
    assert network.schema.columns[0].typical == holes.age.median()
    assert np.array_equal(network.predict(holes), pipeline.predict(holes))


def test_the_equation_speaks_the_tables_units(encoded):
    pipeline = make_pipeline(MinMaxScaler(), small(max_terms=1, max_features=1)).fit(X[["age"]], y)
    text = bgn.equation(pipeline)
    assert "[age >= 4" in text
    assert text.endswith("Numbers are in the table's own units: scaling was undone, exact up to rounding.")
    text = bgn.equation(encoded)
    assert "city = Nice" in text
    assert text.endswith("The column city = Nice is as the step 'onehotencoder' (OneHotEncoder) made it.")
    assert bgn.equation(make_pipeline("passthrough", small()).fit(X[NUMBERS], y)).endswith("]")
    for format in ("latex", "markdown", "html"):
        assert "OneHotEncoder" in bgn.equation(encoded, format=format)


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (PCA(2), "pca0"),
        (PolynomialFeatures(2, include_bias=False), "age"),
        (QuantileTransformer(n_quantiles=20), "age"),
        (MinMaxScaler(clip=True), "age"),
        (FunctionTransformer(np.cbrt), "functiontransformer0"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_what_cannot_be_undone_is_named(step, name):
    pipeline = make_pipeline(RobustScaler(), step, StandardScaler(), small()).fit(X[NUMBERS].abs(), y)
    seen = see_through(pipeline)
    kind = type(step).__name__
    assert bgn.equation(pipeline).endswith(f"Columns are as the step '{kind.lower()}' ({kind}) made them.")
    assert not seen.whole
    assert name in seen.model.network_.names
    assert np.array_equal(seen.model.network_.predict(seen.rows(X[NUMBERS])), pipeline.predict(X[NUMBERS]))
    with pytest.raises(ValueError, match=rf"'{kind.lower()}' \({kind}\).*Save its estimator instead"):
        bgn.save(pipeline, "never.json")


def test_everything_takes_the_table_itself(encoded, tmp_path):
    network = network_of(encoded)
    predicted = encoded.predict(X)
    assert np.allclose(bgn.as_terms(encoded).evaluate(see_through(encoded).rows(X)), predicted)
    explanation = bgn.shap_values(encoded, X[:5], background=X)
    assert explanation.feature_names == network.names == ("age", "income", "rooms", *network.names[3:])
    assert np.allclose(explanation.base_value + explanation.values.sum(axis=1), predicted[:5])
    assert np.array_equal(explanation.data[:, 0], X.age[:5])
    assert bgn.importance(encoded, X).features.shape == (network.n_inputs,)
    assert (np.abs(bgn.effect(encoded, "age", X).breakpoints) < 1000).all()
    assert bgn.margin(encoded, X[:3]).up.shape == (3, network.n_inputs)
    wanted = float(np.quantile(predicted, 0.8))
    for row in (X.iloc[0], dict(X.iloc[0]), X[:1]):
        assert bgn.counterfactual(encoded, row, at_least=wanted).prediction >= wanted
    simple = bgn.simplify(encoded, X, y, points=5)
    assert str(bgn.scorecard(simple.network))
    assert simple.before == pytest.approx(np.mean((predicted - y) ** 2))
    sizes = bgn.frontier(encoded, X, y, X, y)
    assert sizes.errors["test"][sizes.chosen] == pytest.approx(np.mean((predicted - y) ** 2))
    assert theory.lower_bounds(encoded, X, y)[-1] == pytest.approx(np.mean((predicted - y) ** 2))
    assert len(theory.regions(encoded, X)[0].index) == len(X)
    page = bgn.write_report(encoded, X, y, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "OneHotEncoder" in page


def test_figures_take_the_table_itself(encoded):
    pytest.importorskip("matplotlib").use("agg")
    assert "age" in bgn.plots.effect(encoded, "age", X).get_xlabel()
    assert "income" in bgn.plots.regions(encoded, X, ("age", "income")).get_ylabel()
    assert any("age" in label.get_text() for label in bgn.plots.importance(encoded, X).get_yticklabels())
    bgn.plots.network(encoded, X)
    bgn.plots.growth(encoded)
    bgn.plots.frontier(encoded, X, y)
    bgn.plots.tree_comparison(encoded, X, y, X, y)


def test_searches_and_targets_are_seen_through():
    table = X[NUMBERS]
    inner = make_pipeline(StandardScaler(), small())
    search = GridSearchCV(inner, {"bgnregressor__max_terms": [2, 3]}, cv=2).fit(table, y)
    assert np.array_equal(network_of(search).predict(table), search.predict(table))
    plain = RandomizedSearchCV(small(), {"max_terms": [2, 3]}, n_iter=2, cv=2, random_state=0).fit(table, y)
    assert see_through(plain).model is plain.best_estimator_
    assert bgn.equation(plain) == bgn.equation(plain.best_estimator_)
    both = TransformedTargetRegressor(search.best_estimator_, transformer=MinMaxScaler()).fit(table, y)
    nested = make_pipeline(RobustScaler(), TransformedTargetRegressor(both, transformer=StandardScaler())).fit(table, y)
    for model in (both, nested):
        assert see_through(model).whole
        assert np.allclose(network_of(model).predict(table), model.predict(table), rtol=0, atol=1e-9)
        assert bgn.simplify(model, table, y).before == pytest.approx(np.mean((model.predict(table) - y) ** 2))


def test_a_target_that_cannot_be_undone_is_named():
    model = TransformedTargetRegressor(small(), func=np.log1p, inverse_func=np.expm1).fit(X[NUMBERS], y - y.min())
    text = bgn.equation(model)
    assert text.startswith("log1p(prediction) = ")
    assert text.endswith("The target is log1p(prediction): what was done to it could not be undone.")
    assert np.allclose(np.expm1(network_of(model).predict(X[NUMBERS])), model.predict(X[NUMBERS]))
    assert bgn.simplify(model, X[NUMBERS], y - y.min()).before < 1.0
    model = TransformedTargetRegressor(small(), transformer=QuantileTransformer(n_quantiles=20)).fit(X[NUMBERS], y)
    assert "QuantileTransformer(prediction) = " in bgn.equation(model)


@pytest.mark.parametrize(
    ("model", "texts"),
    [
        (make_pipeline(StandardScaler(), small()), "got a Pipeline whose BGNRegressor is not. Call fit"),
        (make_pipeline(StandardScaler(), Ridge()), r"the last step of this Pipeline is 'ridge' \(Ridge\). Fit a bgn"),
        (GridSearchCV(small(), {}), "model must be fitted; got a GridSearchCV whose GridSearchCV is not"),
        (GridSearchCV(small(), {"max_terms": [1]}, cv=2, refit=False).fit(X[["age"]], y), "refit=False. Fit it with"),
        (TransformedTargetRegressor(small()), "whose TransformedTargetRegressor is not. Call fit first"),
        (TransformedTargetRegressor(Ridge()).fit(X[["age"]], y), "got a TransformedTargetRegressor around a Ridge"),
        (LassoCV(), "got LassoCV. Call fit first"),
    ],
    ids=range(7),
)  # fmt: skip
def test_errors_name_what_is_inside(model, texts):
    for use in (bgn.equation, bgn.as_terms, lambda model: bgn.margin(model, X[["age"]])):
        with pytest.raises(TypeError, match=texts):
            use(model)


def test_a_pipeline_that_is_undone_whole_is_saved_and_predicts_the_table(tmp_path):
    pipeline = make_pipeline(StandardScaler(), small()).fit(X[NUMBERS], y)
    bgn.save(pipeline, tmp_path / "model.json")
    loaded = bgn.load(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(X[NUMBERS]), pipeline.predict(X[NUMBERS]))


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_a_frame_may_be_shown_to_what_was_fitted_to_an_array():
    array = X[NUMBERS].to_numpy()
    steps = make_column_transformer((PCA(1), [0, 1]), ("passthrough", [2]))
    pipeline = make_pipeline(steps, small()).fit(array, y)
    seen = see_through(pipeline)
    assert np.array_equal(seen.rows(array), seen.rows(X[NUMBERS]))
    assert "differ by up to" in bgn.equation(pipeline, digits=1, rows=array)
    assert "made" in bgn.equation(pipeline, digits=1, rows=array)


def test_one_column_read_twice_is_one_column():
    steps = make_column_transformer((StandardScaler(), ["age"]), (MinMaxScaler(), ["age", "income"]))
    pipeline = make_pipeline(steps, small()).fit(X, y)
    network = network_of(pipeline)
    assert network.names == ("age", "income")
    assert np.array_equal(network.predict(X), pipeline.predict(X))
    twice = make_column_transformer((SimpleImputer(fill_value=1.0, strategy="constant"), ["age"]),
                                    (SimpleImputer(), ["age", "income"]))  # fmt: skip
    pipeline = make_pipeline(twice, small()).fit(X, y)
    seen = see_through(pipeline)
    assert np.array_equal(seen.model.network_.predict(seen.rows(X)), pipeline.predict(X))
