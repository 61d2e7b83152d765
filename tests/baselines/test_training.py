"""Surrogates are their formulas, the written-out backward pass is autograd's, a stack is its models one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="the baselines need torch")

from bgn.baselines import Config, Split, train_many  # noqa: E402
from bgn.baselines import training as training_module  # noqa: E402
from bgn.baselines.data import Scaling, batches, shuffles  # noqa: E402
from bgn.baselines.network import METHODS, Parameters, Running, Shape, evaluate, gradients, penalty_gradient  # noqa: E402
from bgn.baselines.training import batch_size, choose_device, train_stack  # noqa: E402
from tests.reference import baselines as slow  # noqa: E402

NAMES = tuple(METHODS)


def table(rows=150, columns=4, seed=0):
    """Return rows of a rough function of two columns, with noise and a constant column."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, columns)) * [1, 10, 0.1, 3][:columns] + 5
    X[:, -1] = 2.0
    return X, 100 * np.sign(X[:, 0] - 5) + 3 * X[:, 1] + generator.normal(size=rows)


SPLIT, OTHER = (Split.at_random(*table(seed=seed), seed=seed) for seed in (0, 1))


def exactly(configs, splits, device="cpu"):
    """Train in double precision: sums in another order then change a few steps by next to nothing.

    Training is chaotic: in single precision, or after many steps, two orders of summation end in different networks.
    """
    return train_stack(configs, splits, torch.device(device), dtype=torch.float64)


def assert_close(model, other):
    """Check that two models agree up to what rounding in double precision leaves."""
    assert (model.best_epoch, len(model.history)) == (other.best_epoch, len(other.history))
    np.testing.assert_allclose(model.parameters, other.parameters, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.running, other.running, rtol=0, atol=1e-6)
    assert model.validation_mse == pytest.approx(other.validation_mse, rel=1e-6)
    assert model.test_mse == pytest.approx(other.test_mse, rel=1e-6)


def assert_follows_its_errors(model):
    """Check that rates, end and kept epoch of a model are what its configuration makes of its validation errors."""
    config, errors = model.config, [epoch.validation_mse for epoch in model.history]
    assert model.best_epoch == 1 + int(np.argmin(errors))
    assert model.validation_mse == pytest.approx(min(errors), rel=1e-9)
    assert len(errors) == min(model.best_epoch + config.patience, config.max_epochs)
    rate, waited = config.learning_rate, 0
    for k, epoch in enumerate(model.history):
        assert epoch.learning_rate == pytest.approx(rate)
        waited = 0 if errors[k] < min(errors[:k], default=np.inf) else waited + 1
        if waited > config.lr_patience:
            rate, waited = rate * config.lr_factor, 0


@pytest.mark.parametrize("name", NAMES)
@given(u=st.lists(st.floats(-50, 50), min_size=1, max_size=20), sharpness=st.floats(0.1, 200))
@settings(max_examples=40)
def test_derivatives_equal_their_formulas(name, u, sharpness):
    u = np.array([*u, 0.0, -1.0, 1.0])
    tensor, sharp = torch.from_numpy(u)[None, :, None], torch.full((1, 1, 1), sharpness, dtype=torch.float64)
    answer = METHODS[name].forward(tensor, sharp)
    derivative = METHODS[name].derivative(tensor, answer, sharp).numpy().ravel()
    np.testing.assert_allclose(derivative, slow.derivative(name, u, sharpness), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_the_curves_they_stand_for(name):
    u = torch.linspace(-3.05, 3.1, 400, dtype=torch.float64, requires_grad=True)
    for sharpness in (1.0, 2.0, 5.0):
        (expected,) = torch.autograd.grad(slow.curve(name, u, sharpness).sum(), u)
        np.testing.assert_allclose(
            expected, slow.derivative(name, u.detach().numpy(), sharpness), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("name", ["bnn_plus", "quantization", "bireal"])
def test_derivatives_of_smooth_curves_are_finite_differences(name):
    u, step = torch.linspace(-0.9, 0.91, 101, dtype=torch.float64), 1e-6
    rise = slow.curve(name, u + step, 2.0) - slow.curve(name, u - step, 2.0)
    answer = METHODS[name].forward(u, torch.tensor(2.0))
    derivative = METHODS[name].derivative(u, answer, torch.tensor(2.0, dtype=torch.float64))
    np.testing.assert_allclose(derivative, rise / (2 * step), atol=1e-5)


def test_the_derivative_of_bnn_plus_does_not_overflow():
    u = torch.tensor([-1e30, -1e4, 1e4, 1e30])
    np.testing.assert_array_equal(METHODS["bnn_plus"].derivative(u, u, torch.tensor(5.0)), np.zeros(4))


@pytest.mark.parametrize("name", NAMES)
def test_evaluation_is_hard_and_fires_at_zero(name):
    u = torch.tensor([-2.0, -1e-30, -0.0, 0.0, 0.3])
    np.testing.assert_array_equal(METHODS[name].hard(u), slow.hard(name, u.numpy()))


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_penalty_gradients_are_autograds(kind):
    weights = torch.tensor([-1.7, -0.2, 0.3, 0.9, 2.0], dtype=torch.float64, requires_grad=True)
    config = Config("bnn_plus", penalty=kind, penalty_strength=1.0)
    (expected,) = torch.autograd.grad(slow.penalty(config, weights), weights)
    np.testing.assert_allclose(penalty_gradient(kind, weights.detach()), expected, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("widths", [(5,), (4, 3), (3, 1, 4)])
def test_the_backward_pass_is_autograds(name, widths):
    shape = Shape(3, widths)
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(2, shape.n_parameters, generator=generator, dtype=torch.float64)
    x = torch.randn(2, 9, 3, generator=generator, dtype=torch.float64)
    y = torch.randn(2, 9, 1, generator=generator, dtype=torch.float64)
    sharpness = torch.tensor([1.0, 3.0], dtype=torch.float64)[:, None, None]
    into = Parameters(shape, torch.zeros_like(rows))
    running = Running(shape, Running.start(shape).double().repeat(2, 1))
    loss = gradients(Parameters(shape, rows), into, running, x, y, METHODS[name], sharpness)
    for k in range(2):
        model = slow.module(Config(name, widths), 3, rows[k])
        for layer in model:
            layer.sharpness = sharpness[k].item()
        expected = torch.nn.functional.mse_loss(model(x[k]), y[k])
        expected.backward()
        assert loss[k].item() == pytest.approx(expected.item(), rel=1e-10)
        flat = torch.cat([parameter.grad.flatten() for parameter in slow.ordered(model)])
        np.testing.assert_allclose(into.table[k], flat, rtol=1e-8, atol=1e-10)
        norms = [layer for layer in model if isinstance(layer, torch.nn.BatchNorm1d)]
        moved = torch.cat([*(norm.running_mean for norm in norms), *(norm.running_var for norm in norms)])
        np.testing.assert_allclose(running.table[k], moved, rtol=1e-10, atol=1e-12)
        hard = evaluate(Parameters(shape, rows), running, x, METHODS[name], None, 1)[k]
        np.testing.assert_allclose(hard, model.eval()(x[k]).detach(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_training_is_torchs_own_adam_step_by_step(name):
    penalty = {"penalty": "l2", "penalty_strength": 1e-2} if name == "bnn_plus" else {}
    config = Config(name, (8, 8), 0.01, 3, batch_size=16, max_epochs=2, patience=9, sharpness=2.0, **penalty)
    trained = exactly([config], [SPLIT])[0]
    scaling = Scaling.of(SPLIT, True)
    x = torch.from_numpy(scaling.inputs(SPLIT.X))
    y = torch.from_numpy(scaling.target(SPLIT.y))[:, None]
    expected, running = slow.train(config, x, y, trained.shape.start(3, "zeros").double(), trained.best_epoch)
    np.testing.assert_allclose(trained.parameters, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(trained.running, running, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_stack_gives_what_its_models_give_alone(name):
    configs = [
        Config(name, (7, 5), rate, seed, 32, max_epochs=1 + seed, sharpness=1.0 + seed)
        for rate in (0.1, 0.01)
        for seed in range(3)
    ]
    if name == "bnn_plus":
        configs = [replace(config, penalty="l1", penalty_strength=10.0**-config.seed) for config in configs]
    splits = [SPLIT, OTHER] * 3
    together = exactly(configs, splits)
    assert [len(model.history) for model in together] == [1, 2, 3] * 2
    for config, split, model in zip(configs, splits, together, strict=True):
        assert_close(model, exactly([config], [split])[0])


@pytest.mark.parametrize("name", NAMES)
def test_every_model_of_a_stack_follows_its_own_errors(name):
    configs = [
        Config(name, (7, 5), rate, seed, 32, 40, patience=4 + seed, lr_patience=1 + seed, sharpness=1.0 + seed)
        for rate in (0.1, 0.01)
        for seed in range(4)
    ]
    for model in exactly(configs, [SPLIT, OTHER] * 4):
        assert_follows_its_errors(model)


def test_configurations_of_different_shapes_come_back_in_order():
    configs = [Config("bnn", (k,), batch_size=size, max_epochs=2) for k in (3, 4, 3) for size in (16, 32)]
    trained = train_many(configs, SPLIT)
    assert [model.config for model in trained] == configs
    assert [model.shape.widths for model in trained] == [config.hidden_layers for config in configs]


def test_the_best_epoch_is_kept_the_rate_falls_and_training_stops():
    config = Config("bireal", (20,), 0.1, batch_size=16, max_epochs=400, patience=7, lr_patience=3, lr_factor=0.5)
    trained = exactly([config], [SPLIT])[0]
    assert_follows_its_errors(trained)
    assert len(trained.history) < 400
    assert trained.history[-1].learning_rate < 0.1


def test_the_same_seed_gives_the_same_model_and_another_does_not():
    first, again, other = (train_many([Config("bnn", (6,), seed=seed, max_epochs=3)], SPLIT)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.parameters, again.parameters)
    assert not np.array_equal(first.parameters, other.parameters)


def test_a_diverging_run_stops_with_a_note_and_spoils_nothing():
    X, y = table()
    wild = Split(X[:100], np.where(np.arange(100) % 2, 1e25, -1e25), X[100:], y[100:])
    calm = Split(X[:100], y[:100], X[100:], y[100:])
    config = Config("bnn", (6,), 0.1, max_epochs=3, scale_target=False)
    ruined, fine = train_many([config, config], [wild, calm])
    assert "diverged at epoch 1" in ruined.note
    assert len(ruined.history) == 1
    assert ruined.best_epoch == 0
    assert np.isfinite(ruined.parameters).all()
    assert fine.note is None
    wilder = Split(wild.X, 1e150 * wild.y, wild.X_validation, wild.y_validation)
    ruined, fine = exactly([config, config], [wilder, calm])
    assert "diverged at epoch 1" in ruined.note
    alone = exactly([config], [calm])[0]
    np.testing.assert_allclose(fine.parameters, alone.parameters, rtol=0, atol=1e-6)


def test_raw_targets_and_a_drawn_output_layer_are_options():
    raw = train_many([Config("bnn", (6,), max_epochs=1, scale_target=False)], SPLIT)[0]
    assert (raw.scaling.target_center, raw.scaling.target_scale) == (0.0, 1.0)
    shape = Shape(3, (5,))
    output = slice(shape.n_hidden, shape.n_connections)
    assert not shape.start(0, "zeros")[output].any()
    assert shape.start(0, "kaiming")[output].abs().max() <= np.sqrt(6 / 5)
    hidden = shape.start(0, "zeros")[: shape.n_hidden]
    assert hidden.abs().max() <= np.sqrt(6 / 3)
    assert len(hidden.unique()) == shape.n_hidden


@given(rows=st.integers(1, 300), size=st.integers(1, 80))
def test_batches_cover_the_rows_and_none_is_tiny(rows, size):
    bounds = batches(rows, size)
    assert [row for low, high in bounds for row in range(low, high)] == list(range(rows))
    assert all(high - low >= min(rows, size / 4) for low, high in bounds)
    assert all(high - low < 1.25 * size for low, high in bounds)


@given(rows=st.integers(1, 60), seed=st.integers(0, 2**32 - 1), epoch=st.integers(1, 200))
def test_shuffles_are_permutations_that_do_not_depend_on_company(rows, seed, epoch):
    alone = shuffles(rows, torch.tensor([seed]), epoch)[0]
    assert sorted(alone.tolist()) == list(range(rows))
    np.testing.assert_array_equal(shuffles(rows, torch.tensor([7, seed, 9]), epoch)[1], alone)


def test_every_row_is_equally_likely_in_every_place():
    orders = torch.cat([shuffles(8, torch.arange(500), epoch) for epoch in range(1, 5)])
    counts = np.array([[(orders[:, place] == row).sum() for row in range(8)] for place in range(8)])
    assert ((counts - 250) ** 2 / 250).sum() < 100  # chi-square with 49 degrees of freedom: 1 in 20,000


def test_stacks_are_cut_to_what_pays(monkeypatch):
    monkeypatch.setattr(training_module, "most_numbers", lambda device: 2 * 32 * 6)
    configs = [Config("bnn", (6,), seed=seed, batch_size=32, max_epochs=2) for seed in range(5)]
    train_stack, stacks = training_module.train_stack, []

    def counted(members, splits, device):
        stacks.append([config.seed for config in members])
        return train_stack(members, splits, device)

    monkeypatch.setattr(training_module, "train_stack", counted)
    assert [model.config for model in train_many(configs, SPLIT)] == configs
    assert stacks == [[0, 1], [2, 3], [4]]


def test_automatic_batch_sizes_are_the_papers():
    for rows, size in ((442, 64), (9000, 64), (9001, 512)):
        held = np.ones((2, 1)), np.ones(2)
        assert batch_size(Config("bnn"), Split(np.ones((rows - 2, 1)), np.ones(rows - 2), *held)) == size


def test_the_number_of_splits_must_fit():
    with pytest.raises(ValueError, match="one Split or one per configuration"):
        train_many([Config("bnn")], [SPLIT, SPLIT])


def test_a_split_with_mismatched_rows_is_refused():
    with pytest.raises(ValueError, match="X_validation must have rows and columns as X"):
        Split(np.ones((4, 2)), np.ones(4), np.ones((3, 1)), np.ones(3))


def test_devices():
    assert choose_device("cpu").type == "cpu"
    with pytest.raises(ValueError, match="device must be 'cpu', 'cuda' or 'auto'; got 'tpu'"):
        choose_device("tpu")
    if torch.cuda.is_available():
        assert choose_device("auto").type == choose_device("cuda").type == "cuda"
    else:
        assert choose_device("auto").type == "cpu"
        with pytest.raises(RuntimeError, match="sees no CUDA device"):
            choose_device("cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_trains_as_a_cpu(name):
    configs = [Config(name, (16, 8), 0.01, seed, 32, max_epochs=2, sharpness=2.0) for seed in range(6)]
    for cpu, gpu in zip(*(exactly(configs, [SPLIT] * 6, device) for device in ("cpu", "cuda")), strict=True):
        assert_close(gpu, cpu)
    trained = train_many(configs, SPLIT, device="cuda")
    assert all(np.isfinite(model.validation_mse) for model in trained)
