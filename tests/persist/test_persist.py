"""Saved models: exact round trips, errors of everything else, whole files or none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes

import bgn
from bgn import GrowthSettings, Layer, ModelFileError, Network
from bgn.model.schema import Schema
from bgn.persist import read
from tests.optional import pandas as pd
from tests.raw_columns import category, date, number, prepared
from tests.round_trips import bits, timeless

KEPT = Path(__file__).parents[1] / "data"

finite = st.floats(allow_nan=False, allow_infinity=False)
outputs = st.floats(-3e307, 3e307)  # five of them at most: their sum is finite
names = st.text(st.characters(codec="utf-8"), max_size=8)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    sizes = [draw(st.integers(0, 4)), *draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))]
    layers = [
        Layer(
            np.array(draw(st.lists(finite, min_size=a * b, max_size=a * b))).reshape(b, a),
            np.array(draw(st.lists(finite, min_size=b, max_size=b))).reshape(b),
        )
        for a, b in pairwise(sizes)
    ]
    output = draw(st.lists(outputs, min_size=sizes[-1], max_size=sizes[-1]))
    features = draw(st.none() | st.lists(names, min_size=sizes[0], max_size=sizes[0], unique=True))
    return Network.of_layers(layers, output, draw(outputs), features, draw(st.none() | names))


def example() -> Network:
    layer = Layer([[1.0, 0.0, 0.0], [0.59, 1.0, 0.0], [0.0, 0.0, -1.0]], [-65.46, -63.56, 0.5])
    network = Network.of_layers([layer], [0.635, 0.505, -0.135], 2.275, ["income", "age", "kind = flat"], "value")
    return network.changed(schema=network.schema.with_categories({"kind = flat": ("kind", "flat")}))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    preparation = prepared(number("income"), number("age", fill=41.5), category("kind", ("flat",), "flat"))
    figures = {"test": {"r2": 0.5, "mse": 0.1}}
    bgn.save(example(), path, units={"income": "k$"}, figures=figures, preparation=preparation)
    return path


# -- round trips -------------------------------------------------------------------------------------------


@given(networks())
@settings(max_examples=300)
def test_round_trip_is_exact_to_the_bit(tmp_path_factory: pytest.TempPathFactory, network: Network) -> None:
    path = tmp_path_factory.getbasetemp() / "round.json"
    bgn.save(network, path)
    assert bits(bgn.load(path)) == bits(network)


def test_the_file_keeps_everything_and_can_be_read(saved: Path) -> None:
    loaded = read(saved)
    assert loaded.network == loaded.model() == example()
    assert loaded.library == bgn.__version__
    assert loaded.units == {"income": "k$"}
    assert loaded.figures == {"test": {"r2": 0.5, "mse": 0.1}}
    assert loaded.preparation == prepared(
        number("income"), number("age", fill=41.5), category("kind", ("flat",), "flat")
    )
    lines = saved.read_text().splitlines()
    term = '{"column": 0, "relation": ">=", "threshold": 65.46}'
    assert f'{{"coef": [0.635], "conditions": [{term}], "otherwise": -1.0}},' in [line.strip() for line in lines]
    assert max(map(len, lines)) <= 120
    assert len(json.loads(saved.read_text())["checks"]) == 5


def test_figures_that_are_not_finite_do_not_cost_the_model(tmp_path: Path) -> None:
    figures = {"model": {"r2": float("nan"), "mse": float("inf"), "mae": 1.5}}
    bgn.save(example(), tmp_path / "m.json", figures=figures)
    assert read(tmp_path / "m.json").figures == {"model": {"mae": 1.5}}


def test_preparations_come_back() -> None:
    preparation = prepared(
        number("a", boolean=True),
        category("b", (1.0, 2.5), 2.5),
        category("c", ("x", "y")),
        date("d", ("year", "hour"), "%d/%m/%Y", (2004.0, 12.5)),
        date("e", ("weekday",)),
    )
    from bgn.persist import parts

    kept = json.dumps(parts.preparation_out(preparation, Schema(())))
    assert parts.preparation_in(json.loads(kept), "") == preparation


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"kind": "code"}, "must be 'number', 'category' or 'date'; got 'code'"),
        ({"kind": []}, "must be 'number', 'category' or 'date'"),
        ({"boolean": 1}, "must be true or false"),
        ({"kind": "category", "values": ["flat", "flat"]}, "different values"),
        ({"kind": "category", "values": ["flat"], "fill": "tent"}, "fill one of them"),
        ({"kind": "date", "parts": ["era"], "format": None}, "parts must be some of year"),
        ({"kind": "date", "parts": ["year"], "format": None, "fill": [1.0, 2.0]}, "fill must have 1 entries; got 2"),
    ],
)
def test_preparations_of_version_1_are_checked(column: dict[str, Any], message: str) -> None:
    from bgn.persist import earlier

    plain = {"kind": "number", "column": "a", "fill": None}
    whole = plain | ({} if column.get("kind") in ("category", "date") else {"boolean": False}) | column
    with pytest.raises(ModelFileError, match=message):
        earlier.columns_made_of(whole, "preparation.columns[0]")


def test_the_rows_that_are_checked_are_made_up_and_have_their_predictions(tmp_path: Path) -> None:
    bgn.save(example(), tmp_path / "m.json")
    checks = json.loads((tmp_path / "m.json").read_text())["checks"]
    rows = np.array([check["inputs"] for check in checks])
    assert [check["prediction"] for check in checks] == example().predict(rows).tolist()


def test_large_networks_fit_in_a_file(tmp_path: Path) -> None:
    generator, sparse = np.random.default_rng(0), np.zeros((2, 30_000))
    sparse[:, [5, 29_999]] = 1.0, -2.0
    wide = Layer(generator.normal(size=(200, 300)), generator.normal(size=200))
    for network in (
        Network.of_layers([wide], generator.normal(size=200), 0),
        Network.of_layers([Layer(sparse, [0.0, 1.0])], [1.0, 2.0], 0.5),
    ):
        bgn.save(network, tmp_path / "m.json")
        assert bits(bgn.load(tmp_path / "m.json")) == bits(network)


@pytest.mark.parametrize("path", sorted(KEPT.glob("version*.json")), ids=lambda path: path.stem)
def test_files_of_earlier_versions_load_for_ever(path: Path) -> None:
    file = read(path)
    expected = json.loads(path.with_suffix(".predictions").read_text())
    X = np.array(expected["inputs"], dtype=float if file.network.schema.all_numbers else object)
    if file.network.feature_names is not None:
        X = pd.DataFrame(X, columns=list(file.network.feature_names))
    np.testing.assert_array_equal(file.network.raw_score(X), expected.get("scores", expected["predictions"]))
    if file.network.link == "identity":
        np.testing.assert_array_equal(bgn.load(path).predict(X), expected["predictions"])
    else:  # the last bits of an exponential are the processor's
        np.testing.assert_allclose(file.network.predict(X), expected["predictions"], rtol=1e-12)
    assert (file.preparation is not None) == (path.stem in ("version1_deep", "version1_regressor"))
    if file.settings is not None:
        history = bgn.load(path).history_
        assert history.network() == file.network
        for member in getattr(history, "members", (history,)):
            assert [member.network(size).depth for size in range(len(member.paths[member.best_layer]))]


# -- estimators --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted() -> Any:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    # Without validation rows the widest network is chosen.
    settings = {"max_terms": 4, "growth": GrowthSettings(max_replacements=2), "validation_fraction": 0.0}
    return bgn.BGNRegressor(**settings, random_state=np.int64(0)).fit(X, y)


def test_an_estimator_comes_back_fitted(fitted: Any, tmp_path: Path) -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    bgn.save(fitted, tmp_path / "m.json")
    loaded = bgn.load(tmp_path / "m.json")
    assert type(loaded) is bgn.BGNRegressor
    assert loaded.get_params() == fitted.get_params()
    assert bits(loaded.network_) == bits(fitted.network_)
    assert loaded.n_features_in_ == 10
    assert list(loaded.feature_names_in_) == list(X.columns)
    assert timeless(loaded.history_) == timeless(fitted.history_)
    assert loaded.history_.network(2) == fitted.history_.network(2)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.score(X, y) == fitted.score(X, y)
    bgn.save(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_the_same_fit_writes_the_same_file(fitted: Any, tmp_path: Path) -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    bgn.save(fitted, tmp_path / "a.json")
    bgn.save(clone(fitted).fit(X, y), tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_callbacks_are_not_kept(tmp_path: Path) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = bgn.BGNRegressor(max_terms=1, callbacks=[lambda record: None], random_state=0, cv=None).fit(X, y)
    bgn.save(model, tmp_path / "m.json")
    loaded = bgn.load(tmp_path / "m.json")
    assert loaded.callbacks is None
    assert loaded.fit(X, y).network_ == model.network_


def test_a_changed_network_is_saved_without_its_history(fitted: Any, tmp_path: Path) -> None:
    changed = clone(fitted)
    changed.history_, changed.network_ = fitted.history_, fitted.history_.network(1)
    bgn.save(changed, tmp_path / "m.json")
    loaded = bgn.load(tmp_path / "m.json")
    assert loaded.network_.widths == (1,)
    assert not hasattr(loaded, "history_")


def test_long_histories_are_thinned_or_left_out(fitted: Any, tmp_path: Path) -> None:
    history = fitted.history_
    record = history.records[-1]
    many = tuple(replace(record, n_terms=size, kind="replacement") for size in range(100) for _ in range(300))
    long = clone(fitted)
    long.network_, long.history_ = fitted.network_, replace(history, records=history.records + many)
    bgn.save(long, tmp_path / "m.json")
    loaded = bgn.load(tmp_path / "m.json").history_
    assert len(loaded.records) == len({(r.layer, r.n_terms, r.kind) for r in long.history_.records})
    last = replace(history.paths[0][-1], rules=history.paths[0][-1].rules * 1000)
    long.history_ = replace(history, paths=((*history.paths[0], *[last] * 300),))
    bgn.save(long, tmp_path / "m.json")
    assert not hasattr(bgn.load(tmp_path / "m.json"), "history_")


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("settings", "wings"), 2, "settings has 'wings', which this version of bgn does not know. Upgrade bgn"),
        (("settings",), None, "kind must be 'network', or 'regressor' or 'classifier' with settings"),
        ((), {"kind": "network", "settings": None}, "a network alone has none"),
        (("settings", "max_terms"), {}, "settings.max_terms must be a number; got an object of 0"),
        (("history", "best_size"), 1, "history does not lead to the network of the file"),
        (("history", "best_layer"), 9, "history does not lead to a network: layer must be between 0 and 0; got 9"),
        (("history", "paths", 0, "snapshots"), [], r"history.paths\[0\].snapshots must hold one of size 0 at least"),
        (("history", "paths", 0, "snapshots", 2, "coef"), [[1e308], [1e308]], "predict what float64 can hold"),
        (("history", "paths", 0, "snapshots", 1, "train_mse"), 1e308, "a squared error of at most 1e[+]306"),
        (("history", "paths", 0, "conditions", 0, "columns"), [1, 1], r"conditions\[0\].columns must be different"),
        (("history", "paths"), [], r"history.paths must have one entry per layer \(1\); got 0"),
        (("history", "paths", 0, "snapshots", 4, "intercept"), [0.0], "does not lead to the network of the file"),
        (
            ("history", "paths", 0, "snapshots", 4, "conditions"),
            [0, 1, 2, 99],
            r"conditions\[3\] must be a whole number from 0",
        ),
        (("history", "paths", 0, "snapshots", 4, "conditions"), [0], "conditions must have 4 entries; got 1"),
        (
            ("history", "paths", 0, "conditions", 0, "columns"),
            [10, 1],
            r"conditions\[0\].columns must be different and below 10",
        ),
        (("history", "steps", "fields"), ["layer"], "history.steps.fields must be layer, n_terms"),
        (("history", "steps", "values", 0), [0], r"history.steps.values\[0\] must have 7 entries; got 1"),
        (("history", "layers"), [[], []], r"history.paths must have one entry per layer \(3\); got 1"),
    ],
)
def test_a_changed_estimator_is_refused(
    fitted: Any, tmp_path: Path, keys: tuple[str | int, ...], value: Any, message: str
) -> None:
    bgn.save(fitted, tmp_path / "m.json")
    change(tmp_path / "m.json", *keys, value=value)
    with pytest.raises(ModelFileError, match=message):
        bgn.load(tmp_path / "m.json")


# -- refusals ----------------------------------------------------------------------------------------------


def change(path: Path, *keys: str | int, value: Any = None, drop: bool = False) -> Path:
    place = content = json.loads(path.read_text())
    for key in keys[:-1]:
        place = place[key]
    if drop:
        del place[keys[-1]]
    else:
        place.update(value) if not keys else place.__setitem__(keys[-1], value)
    path.write_text(json.dumps(content))
    return path


FIRST, SECOND = (("network", "terms", k, "conditions", 0) for k in range(2))


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("format",), "other", "it is not a bgn model"),
        (("version",), 4, r"its format is version 4; this bgn reads versions 1 to 3\. Upgrade bgn"),
        (("version",), 2, "has the unknown key 'category_of'"),
        (("version",), "1", "version must be a whole number"),
        (("version",), True, "version must be a whole number"),
        (("kind",), "pickle", "kind must be 'network', or 'regressor' or 'classifier' with settings"),
        (("surplus",), 1, "unknown key 'surplus'"),
        (("schema", "columns"), ["a"], r"terms\[1\].conditions\[0\].columns must be different and below 1"),
        (("schema", "columns"), -1, "schema.columns must be a whole number"),
        (("schema", "columns", 0), 5, r"schema.columns\[0\] must be an object; got 5"),
        (("schema", "columns", 0), {"unit": "m"}, r"schema.columns\[0\] lacks 'name'"),
        (("schema", "columns", 0), {"name": "x", "categories": [None]}, r"columns\[0\].categories\[0\] must be a cat"),
        (("schema", "columns", 0), {"name": "x", "seen": [{"float": "1"}, 2]}, "must be 'inf', '-inf' or 'nan'"),
        (("schema", "columns", 0), "age", "schema.columns must have different names"),
        (("schema", "columns", 0), "\ud800", "lone surrogates"),
        (("schema", "columns", 0), "other", "preparation does not make the features"),
        (("schema", "named"), 1, "schema.named must be true or false"),
        (("network", "link"), "probit", "network.link must be one of 'identity', 'logistic', 'softmax'; got 'probit'"),
        (("network", "intercept"), 2.275, "network.intercept must be a list; got 2.275"),
        (("network", "intercept"), [], "network.intercept must have one entry per output; got 0"),
        (("network", "intercept"), [1.0, 2.0], "network.intercept must have one entry per output; got 2"),
        ((*SECOND, "coefficients", 0), [1.0], r"coefficients\[0\] must be a number; got a list of 1"),
        ((*SECOND, "missing"), 0, "missing must be true or false"),
        ((*FIRST, "relation"), "is", "relation must be one of >=, <, >, <=, in, missing; got 'is'"),
        ((*FIRST, "relation"), [], "relation must be one of"),
        ((*FIRST, "relation"), "missing", "has the unknown key 'threshold'"),
        ((*FIRST, "column"), 3, "column must be a whole number from 0 to 2; got 3"),
        (FIRST, {"column": 0, "relation": "in", "categories": [-1]}, "must be a whole number from 0"),
        (FIRST, {"column": 0, "relation": "in", "categories": [4], "n_categories": 4}, "must be numbers below 4"),
        (("network", "terms", 0, "conditions"), [], r"terms\[0\].conditions must be 1 to 64; got 0"),
        (("network", "terms", 0, "otherwise"), 0.5, r"terms\[0\].otherwise must be 0 or -1; got 0.5"),
        (("network", "terms", 0), {"coef": [1.0], "linear": 3}, r"linear must be a whole number from 0 to 2; got 3"),
        (("network", "terms", 0), {"coef": [1.0], "linear": 0, "ends": [2, 1]}, "must be a low end and a high one"),
        (("network", "ensemble"), [], "network.ensemble must hold some networks"),
        (("network", "ensemble"), [{"intercept": [9.0], "terms": [], "coef": []}], "do not have the mean"),
        (("network", "ensemble"), [{"intercept": [9.0], "terms": [7], "coef": []}], "whole number from 0 to 2; got 7"),
        (("checks", 0, "inputs", 0), None, "the network cannot predict the rows of its checks"),
        (("network", "layers"), [[]], "column must be a whole number from 0 to -1; got 0"),
        ((*SECOND, "coefficients"), [1.0], r"terms\[1\].conditions\[0\].coefficients must have 2 entries; got 1"),
        ((*SECOND, "columns"), [0, 0], r"terms\[1\].conditions\[0\].columns must be different and below 3"),
        ((*SECOND, "columns"), [0, 3], r"terms\[1\].conditions\[0\].columns must be different and below 3"),
        ((*SECOND, "threshold"), None, "threshold must be a number; got None"),
        ((*SECOND, "threshold"), float("nan"), "the file holds NaN"),
        ((*SECOND, "threshold"), float("inf"), "the file holds Infinity"),
        ((*SECOND, "threshold"), 10**400, "a number that float64 can hold; got a huge whole number"),
        (("network", "terms", 0, "coef", 0), True, r"coef\[0\] must be a number; got True"),
        (("network", "terms", 0, "coef", 0), 0.7, "does not predict what its checks say"),
        (("network", "terms", 0, "coef"), [1.0, 2.0], r"terms\[0\].coef must have 1 entries; got 2"),
        (("network", "terms"), [{"coef": [1.7e308], "linear": k} for k in range(2)], "a number that float64 can hold"),
        (("checks", 0, "inputs"), [1.0], r"checks\[0\].inputs must have 3 entries"),
        (("figures", "test"), [], "figures must be an object"),
        (("units", "income"), 3, "units must be a string"),
        (("preparation", "decimal"), "::", "must be one character"),
        (("preparation", "columns"), ["income", "income"], "different names"),
        (("preparation", "columns"), ["income", "age"], "preparation does not make the features"),
    ],
)
def test_a_changed_file_is_refused(saved: Path, keys: tuple[str | int, ...], value: Any, message: str) -> None:
    change(saved, *keys, value=value)
    with pytest.raises(ModelFileError, match=message) as caught:
        bgn.load(saved)
    assert str(saved) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["library", "network", "checks", "settings", "preparation", "history"])
def test_a_lacking_key_is_named(saved: Path, key: str) -> None:
    change(saved, key, drop=True)
    with pytest.raises(ModelFileError, match=f"the file lacks '{key}'"):
        bgn.load(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not whole JSON"),
        (b"[]", "it is not a bgn model"),
        (b"null", "it is not a bgn model"),
        (b"\xff\xfe{", "not whole JSON in UTF-8"),
        (b"[" * 100_000, "more than 16 deep"),
        (b'{"a":' * 1_000_000, "more than 16 deep"),
        (b"[" + b"[]," * 2_500_000 + b"[]]", "more than 2000000 lists"),
        (b'{"format": "bgn model", "format": "bgn model"}', "'format' stands twice"),
        (b"1" * 5000, "not whole JSON"),
        (b'{"format": "bgn model", "version": 1e0}', "version must be a whole number"),
    ],
)
def test_nonsense_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        bgn.load(path)


def test_every_truncation_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in range(0, len(whole) - 1, 7):
        saved.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            bgn.load(saved)


def test_a_small_file_cannot_ask_for_much_memory(saved: Path) -> None:
    change(saved, "preparation", value=None)
    change(saved, "schema", "columns", value=900_000)
    with pytest.raises(ModelFileError, match=r"schema\.columns is 900000, more than a file of \d+ bytes"):
        bgn.load(saved)
    nothing = {"columns": [], "coefficients": [], "threshold": 0.0}
    change(saved, "network", "layers", value=[[nothing] * 2001])
    change(saved, "schema", "columns", value=10_000)
    with pytest.raises(ModelFileError, match=r"network\.layers holds more than 20000000 weights"):
        bgn.load(saved)
    change(saved, "network", "layers", value=[])
    change(saved, "network", "terms", value=[{"coef": [0.0], "conditions": [nothing]}] * 2001)
    with pytest.raises(ModelFileError, match=r"network holds more than 20000000 weights"):
        bgn.load(saved)
    many = {"column": 0, "relation": "in", "categories": [], "n_categories": 3_000_000}
    change(saved, "network", "terms", value=[{"coef": [0.0], "conditions": [many]}] * 2)
    with pytest.raises(ModelFileError, match=r"compares with categories of columns that have too many"):
        bgn.load(saved)


def test_what_load_would_refuse_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.5, ["\ud800"])
    with pytest.raises(ValueError, match=r"schema.columns\[0\] must be text without lone surrogates"):
        bgn.save(network, tmp_path / "m.json")
    monkeypatch.setattr("bgn.persist.strict._MOST_CONTAINERS", 10)
    with pytest.raises(ValueError, match="model cannot be saved: the file holds more than 10 lists and objects"):
        bgn.save(example(), tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


# Read in the time it takes to look at every byte once; a quadratic reader would take minutes.
SLOW = {
    "quotes": b'\\"' * 2**21,
    "unfinished strings": b'["' + b'\\"' * 2**21,
    "strings": b"[" + b'"",' * 2**20,
    "braces in strings": b'"' + b"[{" * 2**21,
}


@pytest.mark.parametrize("content", SLOW.values(), ids=SLOW)
def test_every_byte_is_looked_at_once(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.json").write_bytes(content)
    code = "import sys, bgn\ntry: bgn.load(sys.argv[1])\nexcept bgn.ModelFileError: pass"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "m.json")], check=True, timeout=60)


def test_what_is_not_a_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path / "pipe", "a pipe or a device"), ("/dev/zero", "a pipe"), (tmp_path, "a folder")):
        with pytest.raises(ModelFileError, match=f"{path} cannot be loaded: it is {what}"):
            bgn.load(path)


def test_a_gigabyte_of_nonsense_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(2**30)
    code = (
        "import resource, sys, bgn, bgn.persist\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: bgn.load(sys.argv[1])\n"
        "except bgn.ModelFileError as error: assert 'longer than' in str(error)\n"
        "else: raise SystemExit('loaded')\n"
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


def test_what_cannot_be_saved_says_so(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"model must be a bgn\.Network or a fitted estimator of bgn; got int"):
        bgn.save(3, tmp_path / "m.json")
    with pytest.raises(ValueError, match="preparation must make the network's features"):
        bgn.save(example(), tmp_path / "m.json", preparation=prepared(number("x")))
    with pytest.raises(FileNotFoundError, match=r"nowhere does not exist; make it first"):
        bgn.save(example(), tmp_path / "nowhere" / "m.json")
    with pytest.raises(FileNotFoundError):
        bgn.load(tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["units", "figures", "steps"])
def test_more_than_a_model_could_have_use_for_is_refused(tmp_path, where):
    model = bgn.BGNRegressor(max_terms=2, random_state=0, cv=None).fit(*load_diabetes(return_X_y=True))
    bgn.save(model, tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    if where == "steps":
        content["history"]["steps"]["values"] *= 15_000
    else:
        content[where] = {f"{k}": {} if where == "figures" else "m" for k in range(5000)}
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=r"steps\.values has|has 5000 entries"):
        bgn.load(tmp_path / "m.json")


# -- what does not go together -----------------------------------------------------------------------------------


def test_a_file_whose_parts_contradict_one_another_is_refused(tmp_path) -> None:
    network = Network.of_layers([Layer([[1.0, 0.5]], [-3.0])], [1.5], 0.0, ["a", "b"])
    path = tmp_path / "m.json"
    bgn.save(network, path)
    content = json.loads(path.read_text())

    def refused(why: str, **changed: object) -> None:
        path.write_text(json.dumps(content | {"checks": []} | changed))
        with pytest.raises(ModelFileError, match=why):
            bgn.load(path)

    def columns(**about: object) -> dict[str, object]:
        return content["schema"] | {"columns": [{"name": "a"} | about, "b"]}

    refused("seen must be the lowest value and the highest", schema=columns(seen=[5.0, -5.0]))
    refused("seen must be the lowest value and the highest", schema=columns(seen=[{"float": "nan"}, 1.0]))
    year = {"raw": "t", "part": "year"}
    refused("can be one of these alone", schema=columns(categories=["x", "y"], part_of=year))


def test_columns_are_bounded_whatever_the_blanks(tmp_path) -> None:
    network = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0)
    path = tmp_path / "m.json"
    bgn.save(network, path)
    content = json.loads(path.read_text()) | {"checks": []}
    for columns, blanks, why in ((10**6, 10**6, "more than a file of"), (10**6 + 1, 0, "from 0 to 1000000")):
        content["schema"]["columns"] = columns
        path.write_text(json.dumps(content) + " " * blanks)
        with pytest.raises(ModelFileError, match=why):
            bgn.load(path)


def test_a_column_without_any_value_is_saved(tmp_path) -> None:
    X = np.column_stack([np.arange(40.0), np.full(40, np.nan)])
    model = bgn.BGNRegressor(max_terms=2, cv=None, random_state=0).fit(X, X[:, 0])
    bgn.save(model, tmp_path / "m.json")
    np.testing.assert_array_equal(bgn.load(tmp_path / "m.json").predict(X), model.predict(X))
