"""Losses: what is compiled agrees with its twin, and growth asks a loss no more than its protocol says."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from bgn import BGNRegressor
from bgn.engines.kernels.rows import LIMB
from bgn.grow import losses as losses
from bgn.grow import rows as grow_rows
from bgn.grow.losses import Loss, Squared
from tests.growing import same, table
from tests.optional import torch

diffs = st.lists(st.integers(-(1 << 42), 1 << 42), min_size=1, max_size=30)


@dataclass(frozen=True)
class Huber(Squared):
    """Squares up to an eighth of the targets' range, then straight lines: a loss as somebody might add it."""

    name: ClassVar[str] = "huber"
    quadratic: ClassVar[bool] = False

    @property
    def knee(self):
        return 1 << (self.grid.bits - 3)

    def residual(self, diff, target):
        return diff.clip(-self.knee, self.knee)

    def limbs(self, diff, target):
        inside = self.residual(diff, target)
        beyond = abs(diff.clip(-self.grid.limit, self.grid.limit) - inside)
        high, middle, low, last = super().limbs(inside, target)
        return high, middle, low + (2 * self.knee * (beyond >> LIMB)), last + 2 * self.knee * (beyond % (1 << LIMB))

    def add_limbs(self, diff, target, weight, start, stop, out):
        heavy = weight[start:stop] if len(weight) else 1
        for k, limb in enumerate(self.limbs(diff[start:stop], target[start:stop])):
            out[k] += (limb * heavy).sum()


@given(diffs, st.booleans(), st.data())
def test_compiled_sums_are_those_of_the_rows(values, weighted, data):
    diff = np.array(values, np.int64)
    loss = Squared.over(-1.0, 1.0, 1000)
    weight = np.array(
        data.draw(st.lists(st.integers(1, 9), min_size=len(diff), max_size=len(diff))) if weighted else []
    )
    heavy = weight.astype(np.int64) if weighted else np.ones(len(diff), np.int64)
    limbs, powers = np.zeros(4, np.int64), np.zeros(1, np.int64)
    loss.add_limbs(diff, diff, weight.astype(np.int64), 0, len(diff), limbs)
    assert limbs.tolist() == [int((limb * heavy).sum()) for limb in loss.limbs(diff, diff)]
    clipped = [int(g) for g in diff.clip(-loss.grid.limit, loss.grid.limit)]
    assert loss.total(limbs) == sum(int(w) * g * g for w, g in zip(heavy, clipped, strict=True))
    unit = 1.0 / max(1, int(abs(diff).max()))
    loss.add_powers(diff, diff, weight.astype(np.int64), unit, 0, len(diff), powers)
    assert powers[0] == int((loss.powers(diff, diff, unit).astype(np.int64) * heavy).sum())


@pytest.mark.parametrize("kind", [Squared, Huber])
def test_tensors_and_arrays_get_the_same_bits(kind):
    if torch is None:
        pytest.skip("the package 'torch' is not installed")
    loss, rng = kind.over(-2.0, 5.0, 500), np.random.default_rng(0)
    diff, target = rng.integers(-(1 << 41), 1 << 41, (2, 500))
    tensors = torch.from_numpy(diff), torch.from_numpy(target)
    np.testing.assert_array_equal(loss.diff(tensors[1]).numpy(), loss.diff(target))
    np.testing.assert_array_equal(loss.residual(*tensors).numpy(), loss.residual(diff, target))
    for ours, theirs in zip(loss.limbs(diff, target), loss.limbs(*tensors), strict=True):
        np.testing.assert_array_equal(theirs.numpy(), ours)
    powers = loss.powers(tensors[0].double(), tensors[1], 1e-12)
    np.testing.assert_array_equal(powers.numpy(), loss.powers(diff, target, 1e-12))
    weight, sums = rng.integers(1, 99, 500).astype(float), target.astype(float)
    reported = loss.explained(torch.from_numpy(weight), torch.from_numpy(sums), 2.0**-20)
    np.testing.assert_array_equal(reported.numpy(), loss.explained(weight, sums, 2.0**-20))


@pytest.mark.parametrize("kind", [Squared, Huber])
def test_the_residual_is_half_the_gradient_and_falls_no_faster_than_the_curvature(kind):
    loss = kind.over(-1.0, 1.0, 100)
    diff = np.linspace(-(1 << 37), 1 << 37, 101).astype(np.int64)
    step = 1 << 20

    def value(diff):
        return [Fraction(loss.total(np.array([limb[k] for limb in loss.limbs(diff, diff)]))) for k in range(len(diff))]

    gradient = [
        (upper - below) / (4 * step) for upper, below in zip(value(diff + step), value(diff - step), strict=True)
    ]
    np.testing.assert_allclose([float(s) for s in gradient], loss.residual(diff, diff), atol=2 * step)
    change = loss.residual(diff + step, diff) - loss.residual(diff - step, diff)
    assert (change >= 0).all()
    assert (change <= 2 * step * loss.curvature).all()


def test_a_new_loss_grows_on_every_engine(engine, monkeypatch):
    """All it takes is a class with what the protocol asks for: training losses fall, and engines agree to the bit."""
    loss: Loss = Huber.over(0.0, 1.0, 10)
    assert not loss.quadratic
    monkeypatch.setitem(losses.LOSSES, "huber", Huber)
    monkeypatch.setattr(grow_rows, "LOSSES", {"squared": Huber})
    X, y = table(200)
    y[:5] += 200.0
    model = BGNRegressor(max_terms=4, max_layers=2, shrinkage=1.0, random_state=0)
    grown, expected = engine(clone(model), X, y).history_, model.fit(X, y).history_
    assert same(grown, expected)
    for before, after in pairwise(grown.records):
        assert before.layer < after.layer or after.train_loss < before.train_loss
