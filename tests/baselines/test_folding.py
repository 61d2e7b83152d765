"""The folded network is the trained one: same numbers, original units, zeros kept."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the baselines need torch")

from bgn import Network  # noqa: E402
from bgn.baselines import Config, ReluNetwork, Split, fold, train_many  # noqa: E402
from bgn.baselines.network import METHODS  # noqa: E402
from tests.reference import baselines as slow  # noqa: E402

NAMES = tuple(METHODS)


def split(rows=120):
    """Return rows of very different units, one column constant."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(rows, 4)) * [1e-3, 1, 1e4, 0] + [0, -3, 1e5, 7]
    return Split.at_random(X, 1e3 * X[:, 0] + np.sign(X[:, 1] + 3) + 50, seed=0)


ROWS = split()


def shaken(trained, seed=0):
    """Return a model with random batch norms: gammas negative, zero and positive, running means and variances."""
    generator = np.random.default_rng(seed)
    shape = trained.shape
    parameters = trained.parameters.copy()
    gammas = parameters[shape.n_connections : shape.n_connections + shape.n_neurons]
    gammas[:] = generator.normal(size=len(gammas))
    gammas[::4] = 0
    betas = parameters[shape.n_connections + shape.n_neurons : -1]
    betas[:] = generator.normal(size=len(betas))
    mean, variance = generator.normal(size=shape.n_neurons), generator.uniform(0, 3, size=shape.n_neurons)
    return replace(trained, parameters=parameters, running=np.concatenate([mean, variance]).astype(np.float32))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("widths", [(6,), (6, 5), (5, 4, 6)])
def test_the_fold_is_the_trained_network(name, widths):
    trained = train_many([Config(name, widths, max_epochs=3, batch_size=16, sharpness=2.0)], ROWS)[0]
    for model in (trained, shaken(trained)):
        network = fold(model)
        expected, margin = slow.margins(model, ROWS.X)
        away = margin > 1e-9 if name != "binaryconnect" else slice(None)
        predicted = network.predict(ROWS.X)
        assert np.mean(margin > 1e-9) > 0.9
        np.testing.assert_allclose(predicted[away], expected[away], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_reported_errors_are_the_folded_networks(name):
    trained = train_many([Config(name, (6, 5), max_epochs=5, batch_size=16, sharpness=2.0)], ROWS)[0]
    network = fold(trained)
    for error, X, y in (
        (trained.validation_mse, ROWS.X_validation, ROWS.y_validation),
        (trained.test_mse, ROWS.X_test, ROWS.y_test),
    ):
        assert error == pytest.approx(np.mean((network.predict(X) - y) ** 2), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_names_travel_and_zeros_stay_zeros(name):
    trained = train_many([Config(name, (6, 5), max_epochs=2, batch_size=16)], ROWS)[0]
    mask = np.ones(trained.shape.n_parameters, dtype=bool)
    mask[: trained.shape.n_connections : 3] = False
    masked = replace(trained, mask=mask, parameters=trained.parameters * mask)
    network = fold(masked, ["a", "b", "c", "d"], "y")
    assert network.n_weights == np.count_nonzero(masked.parameters[: trained.shape.n_connections])
    if name == "binaryconnect":
        assert isinstance(network, ReluNetwork)
    else:
        assert isinstance(network, Network)
        assert (network.names, network.target_name) == (("a", "b", "c", "d"), "y")


def test_a_neuron_without_gamma_is_constant():
    trained = train_many([Config("bnn", (4,), max_epochs=1, batch_size=16)], ROWS)[0]
    parameters = trained.parameters.copy()
    gamma = slice(trained.shape.n_connections, trained.shape.n_connections + 4)
    parameters[gamma] = 0
    parameters[-5:-1] = [-1, 0, 1, 2]
    fires = fold(replace(trained, parameters=parameters)).hidden(ROWS.X)
    np.testing.assert_array_equal(fires, np.tile([-1.0, 1.0, 1.0, 1.0], (len(ROWS.X), 1)))
