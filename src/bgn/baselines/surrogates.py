"""What a hidden neuron answers while it is trained, and the slope that stands in for the step's.

The step has no useful derivative. Every method therefore answers one thing forwards and passes back the slope of
another, smooth curve. A method is one small class: its output levels, its answer in training, the slope that
replaces the derivative, and how sharp both are at a given epoch. In every evaluation the answer is hard.

Arguments are tensors of shape (models, rows, neurons); a sharpness has one entry per model, shape (models, 1, 1).
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor


def _sigmoid(x: Tensor) -> Tensor:
    """Return the sigmoid, each entry rounded the same wherever it stands.

    On a CPU the last few entries of a tensor take another path and round differently; they are made zeros that
    nobody reads, so that a model gives the same bits alone and among others.
    """
    lanes = 64
    if x.device.type != "cpu" or x.numel() % lanes == 0:
        return torch.sigmoid(x)
    padded = x.new_zeros(-(-x.numel() // lanes) * lanes)
    padded[: x.numel()] = x.flatten()
    return padded.sigmoid_()[: x.numel()].view(x.shape)


class Surrogate:
    """A step trained by gradients; the subclasses say with which slope."""

    levels: ClassVar[tuple[float, float] | None] = (-1.0, 1.0)
    binary_weights: ClassVar[bool] = False

    def hard(self, u: Tensor) -> Tensor:
        """Return what the neuron answers in evaluation: the higher level where ``u >= 0``, else the lower."""
        fires = torch.ge(u, 0, out=torch.empty_like(u))
        return fires if self.levels == (0.0, 1.0) else fires.mul_(2).sub_(1)

    def forward(self, u: Tensor, sharpness: Tensor) -> Tensor:
        """Return what the neuron answers in training; the hard answer but for methods that say otherwise."""
        return self.hard(u)

    def slope(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        """Return the stand-in for d answer / d u, a new tensor; `answer` is what :meth:`forward` gave."""
        raise NotImplementedError

    def sharpness(self, start: Tensor, epoch: int) -> Tensor:
        """Return the sharpness at an epoch (1, 2, ...) of models that start with `start`."""
        return start


class StraightThrough(Surrogate):
    """BNN*: the slope of the line, 1 everywhere."""

    def slope(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        """Return 1."""
        return torch.ones_like(u)


class ClippedStraightThrough(Surrogate):
    """BNN*: the slope of the line between -1 and 1, nothing outside."""

    def slope(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        """Return 1 where ``abs(u) <= 1``, else 0."""
        return u.abs().le_(1)


class SwishStep(Surrogate):
    """BNN+: answers 0 and 1, with the slope of the SignSwish curve; `sharpness` is the paper's beta."""

    levels = (0.0, 1.0)

    def slope(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        """Return ``b s (1 - s) (2 + b u (1 - 2 s))`` with ``s = sigmoid(b u)``."""
        scaled = u * sharpness
        s = _sigmoid(scaled)
        bend = torch.addcmul(scaled, scaled, s, value=-2).add_(2)
        return torch.addcmul(s, s, s, value=-1).mul_(bend).mul_(sharpness)


class QuadraticStep(Surrogate):
    """Bi-real*: the slope of a parabola on either side of 0, a triangle."""

    def slope(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        """Return ``max(0, 2 - 2 abs(u))``."""
        return u.abs().mul_(-2).add_(2).clamp_(min=0)


class SharpeningSigmoid(Surrogate):
    """Quantization networks: a sigmoid in training, sharper every epoch, and the step it tends to in evaluation."""

    levels = (0.0, 1.0)

    def forward(self, u: Tensor, sharpness: Tensor) -> Tensor:
        """Return ``sigmoid(T u)``."""
        return _sigmoid(u * sharpness)

    def slope(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        """Return ``T s (1 - s)`` with ``s`` the answer."""
        return torch.addcmul(answer, answer, answer, value=-1).mul_(sharpness)

    def sharpness(self, start: Tensor, epoch: int) -> Tensor:
        """Return the temperature, `start` times the number of the epoch."""
        return start * epoch


class BinaryWeightRelu(Surrogate):
    """BinaryConnect: an ordinary ReLU, over weights of which only the sign is used."""

    levels = None
    binary_weights = True

    def hard(self, u: Tensor) -> Tensor:
        """Return ``max(0, u)``: there is no step here."""
        return u.clamp(min=0)

    def slope(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        """Return 1 where ``u > 0``, else 0."""
        return torch.gt(u, 0, out=torch.empty_like(u))


METHODS: dict[str, Surrogate] = {
    "bnn": ClippedStraightThrough(),
    "bnn_identity": StraightThrough(),
    "bnn_plus": SwishStep(),
    "bireal": QuadraticStep(),
    "quantization": SharpeningSigmoid(),
    "binaryconnect": BinaryWeightRelu(),
}


def penalty_slope(kind: str, weights: Tensor) -> Tensor:
    """Return dR/dw for R1 = abs(1 - abs(w)) (``"l1"``) or R2 = (1 - abs(w))^2 (``"l2"``)."""
    if kind == "l1":
        return weights.abs().sub_(1).mul_(weights).sign_()
    return (weights - weights.sign()).mul_(2)
