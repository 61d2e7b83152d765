"""Losses of classes: the fixed point beside the real functions, loops beside their twins, arrays beside tensors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_softmax, softmax

from bgn.engines.kernels import losses as fixed_point
from bgn.engines.kernels.losses import FINE
from bgn.grow.losses import Logistic, Softmax
from tests.optional import torch

reals = st.floats(-60, 60)
KINDS = [(Logistic, 2), (Softmax, 2), (Softmax, 3), (Softmax, 10)]


def made(kind, classes, rows=200, seed=0, weight=1000):
    loss, rng = kind.over(0.0, classes - 1.0, weight), np.random.default_rng(seed)
    shape = (rows,) if loss.outputs == 1 else (loss.outputs, rows)
    diff = np.rint(rng.normal(0, 4, shape) * 2.0**loss.grid.exponent).astype(np.int64)
    diff.ravel()[:6] = 0, 1, -1, 1 << 60, -(1 << 60), 32 << loss.grid.exponent
    return loss, diff, rng.integers(0, classes, rows)


@given(st.lists(reals, min_size=1, max_size=50))
def test_the_fixed_point_is_next_to_the_real_functions(values):
    fine = np.rint(np.array(values) * 2.0**FINE).astype(np.int64)
    x, close = fine / 2.0**FINE, 2.0**-30
    assert np.abs(fixed_point.logistic(fine) / 2.0**FINE - expit(-x)).max() < close
    assert np.abs(fixed_point.softplus(fine) / 2.0**FINE - np.logaddexp(0.0, -x)).max() < close
    assert np.abs(fixed_point.decay(abs(fine)) / 2.0**FINE - np.exp(-abs(x))).max() < close


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=50))
def test_the_logarithm_is_a_few_roundings_off(values):
    x = np.array(values)
    expected = np.array([math.log(one) for one in values])
    np.testing.assert_allclose(fixed_point.logarithm(x), expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(("kind", "classes"), KINDS)
def test_residuals_and_losses_are_those_of_the_definition(kind, classes):
    loss, diff, target = made(kind, classes)
    scores = np.clip(-diff / 2.0**loss.grid.exponent, -2048, 2048)
    if loss.outputs == 1:
        expected, losses = target - expit(scores), np.logaddexp(0.0, np.where(target == 1, -scores, scores))
    else:
        expected = (np.arange(classes)[:, None] == target) - softmax(scores, axis=0)
        losses = -log_softmax(scores, axis=0)[target, np.arange(len(target))]
    np.testing.assert_allclose(loss.residual(diff, target) / 2.0**loss.grid.exponent, expected, atol=2.0**-30)
    limbs = np.array([limb.astype(object).sum() for limb in loss.limbs(diff, target)])
    assert loss.mean(loss.total(limbs), len(target)) == pytest.approx(losses.mean(), abs=1e-9)
    largest = int(np.abs(diff).max())
    powers = int(loss.powers(diff, target, 1.0 / largest).sum())
    deviation = loss.in_units(loss.deviation(powers, largest, loss.total(limbs), len(target)))
    assert deviation == pytest.approx(losses.std(), rel=1e-3)


@pytest.mark.parametrize(("kind", "classes"), KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_loops_agree_with_arrays(kind, classes, weighted):
    loss, diff, target = made(kind, classes, seed=1)
    weight = np.random.default_rng(2).integers(1, 9, len(target)) if weighted else np.empty(0, np.int64)
    heavy = weight if weighted else np.ones(len(target), np.int64)
    residual, added = np.zeros_like(diff), np.zeros(4, np.int64)
    for span in ((0, 70), (70, 70), (70, len(target))):
        loss.fill_residual(diff, target, weight, *span, residual, added)
    np.testing.assert_array_equal(residual, loss.residual(diff, target))
    limbs, powers, unit = np.zeros(4, np.int64), np.zeros(1, np.int64), 1e-12
    loss.add_limbs(diff, target, weight, 0, len(target), limbs)
    assert limbs.tolist() == added.tolist() == [int((limb * heavy).sum()) for limb in loss.limbs(diff, target)]
    loss.add_powers(diff, target, weight, unit, 0, len(target), powers)
    assert powers[0] == int((loss.powers(diff, target, unit).astype(np.int64) * heavy).sum())


@pytest.mark.parametrize(("kind", "classes"), KINDS)
def test_tensors_and_arrays_get_the_same_bits(kind, classes):
    if torch is None:
        pytest.skip("the package 'torch' is not installed")
    loss, diff, target = made(kind, classes, seed=3)
    tensors = torch.from_numpy(diff), torch.from_numpy(target)
    np.testing.assert_array_equal(loss.diff(tensors[1]).numpy(), loss.diff(target))
    np.testing.assert_array_equal(loss.residual(*tensors).numpy(), loss.residual(diff, target))
    for ours, theirs in zip(loss.limbs(diff, target), loss.limbs(*tensors), strict=True):
        np.testing.assert_array_equal(theirs.numpy(), ours)
    powers = loss.powers(tensors[0].double(), tensors[1], 1e-12)
    small = diff.astype(np.float64).astype(np.int64)  # what a float holds of it
    np.testing.assert_array_equal(powers.numpy(), loss.powers(small, target, 1e-12))
    rng = np.random.default_rng(4)
    sums = rng.integers(0, 50, (40, classes)).astype(float)
    sums[0], sums[1, 1:] = 1.0, 0.0
    weight = sums.sum(axis=1)
    own = sums[:, 1] if loss.outputs == 1 else sums
    reported = loss.explained(torch.from_numpy(weight), torch.from_numpy(own), 2.0**-30)
    np.testing.assert_array_equal(reported.numpy(), loss.explained(weight, own, 2.0**-30))


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=10))
def test_what_shares_explain_is_what_the_best_scores_save(groups):
    """No score of a group loses less than its entropy, and the log-odds of its shares lose just that."""
    groups = [group for group in groups if sum(group)] or [(1, 1)]
    loss = Logistic.over(0.0, 1.0, 1000)
    weight, yes = np.array([sum(group) for group in groups]) * 1.0, np.array([group[1] for group in groups]) * 1.0
    saved = loss.in_units(float(loss.explained(weight, yes, 2.0**-10).sum()) * 2.0**10)
    best = 0.0
    for n, s in zip(weight, yes, strict=True):
        entropy = -sum(k * math.log(k / n) for k in (s, n - s) if k)
        best += n * math.log(2.0) - entropy
    assert saved == pytest.approx(best, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize(("kind", "classes"), KINDS[:3])
def test_the_residual_is_half_the_gradient_and_falls_no_faster_than_the_curvature(kind, classes):
    loss = kind.over(0.0, classes - 1.0, 100)
    rows, step = 81, 1 << (loss.grid.exponent - 8)
    scores = np.linspace(-9, 9, rows)
    diff = np.rint(scores * 2.0**loss.grid.exponent).astype(np.int64)
    target = np.arange(rows) % classes
    if loss.outputs > 1:
        diff = np.stack([diff * (k == 0) + (k << 20) for k in range(loss.outputs)])
    move = np.zeros_like(diff)
    (move if loss.outputs == 1 else move[0])[:] = step

    def value(diff):
        limbs = loss.limbs(diff, target)
        return [Fraction(loss.total(np.array([limb[k] for limb in limbs]))) for k in range(rows)]

    gradient = [
        (upper - below) / (4 * step) for upper, below in zip(value(diff + move), value(diff - move), strict=True)
    ]
    own = loss.residual(diff, target) if loss.outputs == 1 else loss.residual(diff, target)[0]
    np.testing.assert_allclose([float(one) for one in gradient], own, atol=step)
    change = loss.residual(diff + move, target) - loss.residual(diff - move, target)
    own = change if loss.outputs == 1 else change[0]
    assert (own >= -1).all()
    assert (own <= 2 * step * loss.curvature + 2).all()
