"""One row is a series, a dictionary, a frame or a sequence, in every function that explains; print shows the values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bgn

RNG = np.random.default_rng(0)
SETTINGS = {"max_terms": 3, "max_linear": 0, "random_state": 0, "cv": None}
MIXED = pd.DataFrame({
    "area": RNG.normal(50, 9, 80).round(), "city": RNG.choice(["Lille", "Nice"], 80),
    "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 300, 80), "D"), "lift": RNG.random(80) < 0.5,
})  # fmt: skip
RENT = 10 * MIXED.area + 300 * (MIXED.city == "Nice") + 50 * MIXED.sold.dt.month
NUMBERS = pd.DataFrame(RNG.normal(size=(80, 3)), columns=["a", "b", "c"])


def ways(frame: pd.DataFrame, sequence: bool = True) -> list:
    """The third row in every form."""
    row = frame.iloc[2]
    return [row, row.to_dict(), frame.iloc[[2]], *([row.to_list(), row.to_numpy(), tuple(row)] if sequence else [])]


@pytest.mark.parametrize("kind", ["mixed", "numbers", "unnamed", "pipeline", "network"])
def test_one_row_may_have_any_form(kind: str) -> None:
    frame, target = (MIXED, RENT) if kind == "mixed" else (NUMBERS, 2 * NUMBERS.a + (NUMBERS.b > 0))
    make = make_pipeline(StandardScaler(), bgn.BGNRegressor(**SETTINGS)) if kind == "pipeline" else None
    model = (make or bgn.BGNRegressor(**SETTINGS)).fit(frame.to_numpy() if kind == "unnamed" else frame, target)
    network = model.network_ if kind == "network" else None
    array = frame.to_numpy()
    rows = ways(frame) if kind != "unnamed" else [array[2], array[[2]], {"x2": 0.5, "x0": 1.0, "x1": 2.0}]
    background = frame.to_numpy() if kind == "unnamed" else frame
    wanted = float(np.max(target)) - 1.0
    values = [bgn.shap_values(network or model, row, background=background).values for row in rows]
    costs = [bgn.counterfactual(network or model, row, at_least=wanted / 2).cost for row in rows]
    margins = [bgn.margin(network or model, row).distance for row in rows]
    for several in (values, costs, margins):
        for result in several[1:] if kind != "unnamed" else several[1:2]:
            np.testing.assert_array_equal(result, several[0])
    if kind == "unnamed":  # made-up names count, whatever their order
        np.testing.assert_array_equal(values[2], bgn.shap_values(model, [1.0, 2.0, 0.5], background=background).values)


def test_named_rows_are_predicted_and_columns_are_no_rows() -> None:
    model = bgn.BGNRegressor(**SETTINGS).fit(MIXED, RENT)
    expected = model.predict(MIXED.iloc[[2]])
    for row in ways(MIXED, sequence=False):
        np.testing.assert_array_equal(model.predict(row), expected)
        np.testing.assert_array_equal(model.network_.predict(row), expected)
    with pytest.raises(ValueError, match="lacks the column 'city'"):
        model.explain({"area": 3.0, "sold": None, "lift": True})
    with pytest.raises(ValueError, match="X must be a table of rows; got one row, a dict"):
        bgn.BGNRegressor().fit({"a": 1.0}, [1.0])
    with pytest.raises(ValueError, match="X must have 4 columns"):
        model.explain(MIXED["area"])


def test_print_shows_the_values_of_a_row() -> None:
    schema = bgn.model.schema.Schema((bgn.model.schema.Column("rooms"), bgn.model.schema.Column("age")), "price")
    network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, schema=schema)
    background = [[1.0, 1.0], [3.0, 1.0], [0.0, 9.0]]
    assert str(bgn.shap_values(network, [2.0, 4.0], background)).splitlines() == [
        "SHAP values of 1 row: price",
        "base value 2.5, with the values below 4.5",
        "column  value  SHAP value",
        "rooms       2        +1.5",
        "age         4        +0.5",
    ]
    assert str(bgn.shap_values(network, [[2.0, 4.0], [0.0, 0.0]], background)).splitlines() == [
        "SHAP values of 2 rows: price",
        "base value 2.5",
        "column  mean |SHAP value|    least  greatest",
        "rooms               1.083  -0.6667      +1.5",
        "age                0.4167  -0.3333      +0.5",
    ]


def test_print_shows_classes_categories_dates_and_missing_values() -> None:
    labels = np.where(RENT.median() < RENT, "dear", "cheap")
    model = bgn.BGNClassifier(**SETTINGS).fit(MIXED, labels)
    printed = str(model.explain(MIXED.iloc[0]))
    assert "log-odds" in printed
    assert f"the probability of dear is {model.predict_proba(MIXED[:1])[0, 1]:.4g}" in printed
    three = bgn.BGNClassifier(**SETTINGS).fit(MIXED, np.array(["a", "b", "c"])[np.digitize(RENT, [700, 900])])
    printed = str(three.explain(MIXED.assign(city=None).iloc[0]))
    assert printed.splitlines()[1].split() == ["column", "value", "a", "b", "c"]
    assert printed.splitlines()[-1].startswith("probability")
    assert str(three.explain(MIXED)).startswith("SHAP values of 80 rows: a score per class")
