"""The scikit-learn face: every check passes, errors say what to do, all of bgn's tools take the network."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.optional import pandas as pd

torch = pytest.importorskip("torch", reason="the baselines need torch")

import bgn  # noqa: E402
from bgn.baselines import (  # noqa: E402
    BinaryConnectRegressor,
    BiRealRegressor,
    BNNPlusRegressor,
    BNNRegressor,
    QuantizationNetworkRegressor,
    Split,
    train_many,
)

BINARY = (BNNRegressor, BNNPlusRegressor, BiRealRegressor, QuantizationNetworkRegressor)
ALL = (*BINARY, BinaryConnectRegressor)
X = np.random.default_rng(0).normal(size=(150, 3))
Y = np.sign(X[:, 0]) + 0.5 * X[:, 1]


@parametrize_with_checks([cls((24,), max_epochs=15, batch_size=16, learning_rate=0.03) for cls in ALL])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", ALL)
def test_a_fit_predicts_and_tells_its_story(cls):
    model = cls((16, 8), max_epochs=30, random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.4
    assert model.best_epoch_ == 1 + int(np.argmin([epoch.validation_mse for epoch in model.history_]))
    held = model.split_
    assert (len(held.X), len(held.X_validation)) == (120, 30)
    error = np.mean((model.predict(held.X_validation) - held.y_validation) ** 2)
    assert model.validation_mse_ == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("cls", BINARY)
def test_all_of_bgns_tools_take_the_network(cls, tmp_path):
    frame = pd.DataFrame(X, columns=["age", "income", "rooms"])
    model = cls((5,), max_epochs=10, random_state=0).fit(frame, pd.Series(Y, name="value"))
    network = model.network_
    assert (network.names, network.target_name, network.widths) == (("age", "income", "rooms"), "value", (5,))
    np.testing.assert_array_equal(network.predict(frame), model.predict(frame))
    assert "income" in str(bgn.equation(network))
    bgn.save(network, tmp_path / "network.json")
    np.testing.assert_array_equal(bgn.load(tmp_path / "network.json").predict(X), network.predict(X))
    values = bgn.shap_values(network, X[:20], X)
    total = np.asarray(values.values).sum(axis=1) + values.base_value
    np.testing.assert_allclose(total, network.predict(X[:20]), rtol=1e-9, atol=1e-9)
    bounds = bgn.theory.lower_bounds(network, X, Y)
    assert np.mean((network.predict(X) - Y) ** 2) >= np.max(bounds) - 1e-9


def test_binaryconnect_says_why_it_has_no_network():
    model = BinaryConnectRegressor((5,), max_epochs=2, random_state=0).fit(X, Y)
    assert not hasattr(model, "network_")
    with pytest.raises(AttributeError, match=r"real \(ReLU\).*no binary activated network"):
        _ = model.network_


@pytest.mark.parametrize("cls", ALL)
def test_a_single_fit_is_a_stack_of_one(cls):
    held = X[100:], Y[100:]
    model = cls((8,), max_epochs=5, random_state=3).fit(X[:100], Y[:100], eval_set=held)
    other = train_many([model.trained_.config], Split(X[:100], Y[:100], *held))[0]
    np.testing.assert_array_equal(other.parameters, model.trained_.parameters)
    assert model.trained_.config.seed == 3


def test_pickles_and_clones():
    model = BNNPlusRegressor((6,), max_epochs=3, beta=2.0, penalty="l2", random_state=0).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(model).get_params() == model.get_params()


def test_parameters_of_the_methods_reach_training():
    plus = BNNPlusRegressor((4,), beta=2.0, penalty="l2", penalty_strength=0.5, max_epochs=1).fit(X, Y).trained_.config
    assert (plus.sharpness, plus.penalty, plus.penalty_strength) == (2.0, "l2", 0.5)
    assert QuantizationNetworkRegressor((4,), temperature=20, max_epochs=1).fit(X, Y).trained_.config.sharpness == 20
    assert BNNRegressor((4,), surrogate="identity", max_epochs=1).fit(X, Y).trained_.config.method == "bnn_identity"


@pytest.mark.parametrize(
    ("cls", "parameters", "message"),
    [
        (BNNRegressor, {"hidden_layers": ()}, "hidden_layers must be one or more widths"),
        (BNNRegressor, {"hidden_layers": (3, 0)}, "hidden_layers must be one or more widths"),
        (BNNRegressor, {"learning_rate": 0}, "learning_rate must be a number above 0; got 0"),
        (BNNRegressor, {"max_epochs": 0}, "max_epochs must be a whole number, at least 1; got 0"),
        (BNNRegressor, {"patience": 1.5}, "patience must be a whole number"),
        (BNNRegressor, {"batch_size": "large"}, "batch_size must be a whole number, at least 1; got 'large'"),
        (BNNRegressor, {"validation_fraction": 1.0}, "validation_fraction must lie between 0 and 1"),
        (BNNRegressor, {"output_init": "ones"}, "output_init must be one of 'zeros', 'kaiming'"),
        (BNNRegressor, {"surrogate": "soft"}, "surrogate must be one of 'clipped', 'identity'"),
        (BNNRegressor, {"device": "tpu"}, "device must be"),
        (BNNPlusRegressor, {"beta": -1}, "beta must be a number above 0"),
        (BNNPlusRegressor, {"penalty": "l3"}, "penalty must be one of 'l1', 'l2', None"),
        (QuantizationNetworkRegressor, {"temperature": float("inf")}, "temperature must be a number above 0"),
    ],
)
def test_wrong_parameters_are_named(cls, parameters, message):
    with pytest.raises(ValueError, match=message):
        cls(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["north"] * 20, "in column 'b': it holds text. Encode it"),
        ([np.nan] + [1.0] * 19, r"Input X contains NaN in column 'b' \(1 of 20 rows\)"),
        ([1e200] + [1.0] * 19, r"X has a value of 1e\+200 in column 'b'"),
    ],
)
def test_a_column_that_cannot_be_trained_on_is_named(column, message):
    X = pd.DataFrame({"a": np.arange(20.0), "b": column})
    with pytest.raises(ValueError, match=message):
        BNNRegressor().fit(X, X["a"])


def test_a_path_and_an_unknown_parameter_are_refused():
    with pytest.raises(ValueError, match=r"X must be a table in memory; got the path 'rows.parquet'"):
        BNNRegressor().fit("rows.parquet", [1.0, 2.0])
    with pytest.raises(TypeError, match=r"BNNRegressor\(\) got an unexpected keyword argument 'depth'"):
        BNNRegressor(depth=3)


def test_a_wrong_eval_set_is_named():
    with pytest.raises(ValueError, match="eval_set must be a pair"):
        BNNRegressor().fit(X, Y, eval_set=X)


def test_divergence_warns_and_still_predicts():
    wild = np.where(np.arange(len(X)) % 2, 1e25, -1e25)
    with pytest.warns(ConvergenceWarning, match="BNNRegressor diverged at epoch 1"):
        model = BNNRegressor((4,), learning_rate=0.1, scale_target=False, random_state=0).fit(X, wild)
    assert np.isfinite(model.predict(X)).all()


def test_without_torch_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import bgn\n"
        "try:\n    bgn.baselines.BNNRegressor\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "bgn's extra 'torch'" in done.stdout, done.stderr


def test_every_public_name_loads_and_is_listed():
    for name in bgn.baselines.__all__:
        assert getattr(bgn.baselines, name) is not None
    assert set(dir(bgn.baselines)) == set(bgn.baselines.__all__)
    with pytest.raises(AttributeError, match=r"module 'bgn\.baselines' has no attribute 'no_such_name'"):
        _ = bgn.baselines.no_such_name
