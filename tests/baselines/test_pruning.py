"""Pruning: exact counts, rankings as a plain twin ranks, zeros that stay zero, an untouched estimator."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="the baselines need torch")

from bgn.baselines import (  # noqa: E402
    BinaryConnectRegressor,
    BiRealRegressor,
    BNNPlusRegressor,
    BNNRegressor,
    Config,
    QuantizationNetworkRegressor,
    Split,
    prune,
    prune_many,
    train_many,
)
from bgn.baselines.pruning import PRUNINGS, batch_gradients, halve  # noqa: E402
from tests.reference import baselines as slow  # noqa: E402

CLASSES = (
    BNNRegressor,
    BNNPlusRegressor,
    BiRealRegressor,
    QuantizationNetworkRegressor,
    BinaryConnectRegressor,
)
X = np.random.default_rng(0).normal(size=(120, 4))
Y = np.sign(X[:, 0]) + X[:, 1]


@pytest.fixture(scope="module")
def fitted():
    # Raw targets of some size: on standardised ones the output weights are so small that a global cut empties them.
    common = {"batch_size": 32, "max_epochs": 12, "learning_rate": 0.05, "random_state": 1}
    raw = {"output_init": "kaiming", "scale_target": False}
    return {cls: cls((12, 7), **common, **raw).fit(X, 20 * Y) for cls in CLASSES}


@given(data=st.data(), sizes=st.lists(st.integers(1, 12), min_size=2, max_size=4), layerwise=st.booleans())
def test_halving_ranks_as_the_twin(data, sizes, layerwise):
    total = sum(sizes)
    scores = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=total, max_size=total)))
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=total, max_size=total)))
    alive[np.cumsum([0, *sizes[:-1]])] = True
    left = halve(scores, alive, tuple(sizes), layerwise)
    expected = slow.halve(scores, alive, sizes, layerwise)
    assert (left is None) == (expected is None)
    if left is not None:
        np.testing.assert_array_equal(left, expected)


@pytest.mark.parametrize("method", PRUNINGS)
@pytest.mark.parametrize("cls", CLASSES)
def test_every_round_has_exactly_half_the_weights(fitted, cls, method):
    model = fitted[cls]
    before = model.trained_.parameters.copy()
    sizes = np.array(model.trained_.shape.sizes)
    left = sizes if method.startswith("layer") else sizes.sum(keepdims=True)
    rounds = list(prune(model, method, random_state=0))
    assert rounds
    for number, small in enumerate(rounds, start=1):
        left = np.maximum(left // 2, 1)
        parameters = small.trained.parameters[: sizes.sum()]
        assert small.round == number
        assert small.n_weights == left.sum() == np.count_nonzero(parameters) == small.trained.mask[: sizes.sum()].sum()
        assert small.learning_rate == pytest.approx(0.05 / 10**number)
        held = model.split_
        error = np.mean((small.predict(held.X_validation) - held.y_validation) ** 2)
        assert small.validation_mse == pytest.approx(error, rel=1e-9)
        if cls is not BinaryConnectRegressor:
            assert small.network.n_weights == small.n_weights
    if method.startswith("layer"):
        assert rounds[-1].n_weights == len(sizes)
    np.testing.assert_array_equal(model.trained_.parameters, before)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("method", PRUNINGS[:5])
def test_the_first_cut_keeps_the_highest_scores(fitted, cls, method):
    model = fitted[cls]
    sizes = model.trained_.shape.sizes
    scores = np.abs(model.trained_.parameters[: sum(sizes)].astype(float))
    if method == "global_scaled":
        parts = np.split(scores, np.cumsum(sizes)[:-1])
        scores = np.concatenate([part / np.sqrt(np.mean(part[part > 0] ** 2)) for part in parts])
    if method.endswith("gradient"):
        scores *= np.abs(slow.gradient(model.trained_, model.split_))
    left = next(prune(model, method)).trained.mask[: sum(sizes)]
    edges = np.cumsum(sizes)[:-1] if method.startswith("layer") else []
    for score, kept in zip(np.split(scores, edges), np.split(left, edges), strict=True):
        assert kept.sum() == max(1, len(kept) // 2)
        assert score[kept].min() >= score[~kept].max() - 1e-9 * score.max()  # of equal ones, rounding picks


@pytest.mark.parametrize("cls", CLASSES)
def test_gradients_for_pruning_are_autograds(fitted, cls):
    model = fitted[cls]
    expected = slow.gradient(model.trained_, model.split_)
    np.testing.assert_allclose(batch_gradients(model.trained_, model.split_), expected, rtol=1e-8, atol=1e-10)


def test_survivors_shrink_only_and_training_moves_them(fitted):
    masks = [small.trained.mask for small in prune(fitted[BNNPlusRegressor], "global_magnitude", schedule="constant")]
    assert all((~later | before).all() for before, later in pairwise(masks))
    first = next(prune(fitted[BNNPlusRegressor], "global_magnitude", schedule="constant"))
    kept = first.trained.mask
    assert not np.array_equal(first.trained.parameters[kept], fitted[BNNPlusRegressor].trained_.parameters[kept])


def test_the_constant_schedule_divides_once(fitted):
    rates = [small.learning_rate for small in prune(fitted[BNNRegressor], "layer_magnitude", "constant")]
    assert rates == pytest.approx([0.005] * len(rates))


def test_chance_follows_its_seed(fitted):
    model = fitted[BNNRegressor]
    first, again, other = (next(prune(model, "random", random_state=seed)).trained.mask for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_binaryconnect_has_no_network_to_show(fitted):
    small = next(prune(fitted[BinaryConnectRegressor]))
    with pytest.raises(AttributeError, match="real \\(ReLU\\)"):
        _ = small.network


def test_a_global_cut_that_empties_a_layer_ends_it():
    model = BNNPlusRegressor((12,), max_epochs=2, batch_size=32, random_state=0).fit(X, 1e-3 * Y)
    assert list(prune(model, "global_magnitude")) == []


def test_wrong_names_are_refused_at_once(fitted):
    with pytest.raises(ValueError, match="method must be one of 'global_magnitude'"):
        prune(fitted[BNNRegressor], "magnitude")
    with pytest.raises(ValueError, match="schedule must be one of 'paper', 'constant'"):
        prune(fitted[BNNRegressor], schedule="cosine")
    with pytest.raises(ValueError, match="not fitted"):
        prune(BNNRegressor())


def test_networks_pruned_side_by_side_are_those_pruned_alone():
    """The first cuts take the same connections; training amplifies roundings, so that later ones may not."""
    X = np.random.default_rng(0).normal(size=(120, 3))
    split = Split.at_random(X, X[:, 0] + X[:, 1], seed=0)
    configs = [Config("bnn_plus", (8, 8), learning_rate=rate, seed=3, max_epochs=2) for rate in (0.1, 0.01)]
    models = train_many(configs, split)
    ways = [("layer_magnitude", "paper"), ("global_gradient", "constant")]
    together = prune_many(models, [split] * 2, ways)
    for model, way, rounds in zip(models, ways, together, strict=True):
        (alone,) = prune_many([model], [split], [way])
        assert np.array_equal(rounds[0].mask, alone[0].mask)
        assert rounds[0].config == alone[0].config
        assert rounds[0].config.learning_rate == model.config.learning_rate / 10
        left = [int(small.mask[: small.shape.n_connections].sum()) for small in rounds]
        assert left[0] == model.shape.n_connections // 2
        assert left == sorted(left, reverse=True)
    with pytest.raises(ValueError, match="method must be"):
        prune_many(models, [split] * 2, [("magic", "paper")] * 2)
