"""Networks of the rivals' kind: steps trained by gradients, and many networks of one shape as one.

A :class:`Surrogate` says what a neuron answers and which derivative stands in for that of the step. All numbers of a
model that are trained lie in one row of a matrix (models, parameters): the optimizer is a few passes over one tensor;
:class:`Parameters` are the named views into such a matrix. The backward pass is written out: no tape, few passes over
memory, no step that waits for the device. A model never sees another's numbers.

A hidden layer is ``z = W a`` without bias, ``u = batch norm(z)``, ``h = answer(u)``; the output is linear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
    """A step trained by gradients; the subclasses say with which derivative."""

    outputs: ClassVar[tuple[float, float] | None] = (-1.0, 1.0)
    binary_weights: ClassVar[bool] = False

    def hard(self, u: Tensor) -> Tensor:
        """Return what the neuron answers in evaluation: the higher output where ``u >= 0``, else the lower."""
        fires = torch.ge(u, 0, out=torch.empty_like(u))
        return fires if self.outputs == (0.0, 1.0) else fires.mul_(2).sub_(1)

    def forward(self, u: Tensor, sharpness: Tensor) -> Tensor:
        """Return what the neuron answers in training; the hard answer but for methods that say otherwise."""
        return self.hard(u)

    def derivative(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        """Return the stand-in for d answer / d u, a new tensor; `answer` is what :meth:`forward` gave."""
        raise NotImplementedError

    def sharpness(self, start: Tensor, epoch: int) -> Tensor:
        """Return the sharpness at an epoch (1, 2, ...) of models that start with `start`."""
        return start


class IdentityStep(Surrogate):
    """BNN*, the straight-through estimator: derivative 1 everywhere."""

    def derivative(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        return torch.ones_like(u)


class ClippedStep(Surrogate):
    """BNN*, the clipped straight-through estimator: derivative 1 where ``abs(u) <= 1``, else 0."""

    def derivative(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        return u.abs().le_(1)


class SwishStep(Surrogate):
    """BNN+: answers 0 and 1, with the derivative of the SignSwish curve; `sharpness` is the paper's beta.

    The derivative is ``b s (1 - s) (2 + b u (1 - 2 s))`` with ``s = sigmoid(b u)``.
    """

    outputs = (0.0, 1.0)

    def derivative(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        scaled = u * sharpness
        s = _sigmoid(scaled)
        bend = torch.addcmul(scaled, scaled, s, value=-2).add_(2)
        return torch.addcmul(s, s, s, value=-1).mul_(bend).mul_(sharpness)


class QuadraticStep(Surrogate):
    """Bi-real*: the derivative of a parabola on either side of 0, ``max(0, 2 - 2 abs(u))``."""

    def derivative(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        return u.abs().mul_(-2).add_(2).clamp_(min=0)


class SharpeningSigmoid(Surrogate):
    """Quantization networks: a sigmoid in training, sharper every epoch, and the step it tends to in evaluation."""

    outputs = (0.0, 1.0)

    def forward(self, u: Tensor, sharpness: Tensor) -> Tensor:
        return _sigmoid(u * sharpness)

    def derivative(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        return torch.addcmul(answer, answer, answer, value=-1).mul_(sharpness)

    def sharpness(self, start: Tensor, epoch: int) -> Tensor:
        return start * epoch


class BinaryWeightRelu(Surrogate):
    """BinaryConnect: an ordinary ReLU, without a step, over weights of which only the sign is used."""

    outputs = None
    binary_weights = True

    def hard(self, u: Tensor) -> Tensor:
        return u.clamp(min=0)

    def derivative(self, u: Tensor, answer: Tensor, sharpness: Tensor) -> Tensor:
        return torch.gt(u, 0, out=torch.empty_like(u))


METHODS: dict[str, Surrogate] = {
    "bnn": ClippedStep(),
    "bnn_identity": IdentityStep(),
    "bnn_plus": SwishStep(),
    "bireal": QuadraticStep(),
    "quantization": SharpeningSigmoid(),
    "binaryconnect": BinaryWeightRelu(),
}


def penalty_gradient(kind: str, weights: Tensor) -> Tensor:
    """Return dR/dw for R1 = abs(1 - abs(w)) (``"l1"``) or R2 = (1 - abs(w))^2 (``"l2"``)."""
    if kind == "l1":
        return weights.abs().sub_(1).mul_(weights).sign_()
    return (weights - weights.sign()).mul_(2)


EPSILON = 1e-5
MOMENTUM = 0.1


@dataclass(frozen=True)
class Shape:
    """Inputs and widths of a network, (width, inputs) of its layers, and where its numbers lie in a row of parameters.

    The order is: weights of every hidden layer, output weights, then gammas, betas (layer by layer) and the base.
    Everything that pruning may touch comes first.
    """

    n_inputs: int
    widths: tuple[int, ...]

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        return tuple(zip(self.widths, (self.n_inputs, *self.widths), strict=False))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Connections of every hidden layer and of the output."""
        return (*(width * inputs for width, inputs in self.layers), self.widths[-1])

    @property
    def n_hidden(self) -> int:
        return sum(self.sizes[:-1])

    @property
    def n_connections(self) -> int:
        return sum(self.sizes)

    @property
    def n_neurons(self) -> int:
        return sum(self.widths)

    @property
    def n_parameters(self) -> int:
        return self.n_connections + 2 * self.n_neurons + 1

    def start(self, seed: int, output: str) -> Tensor:
        """Return first parameters: Kaiming-uniform weights; the output layer at zero, or as the rest."""
        generator = torch.Generator().manual_seed(seed)
        values = torch.zeros(self.n_parameters)
        fans = [*(inputs for _, inputs in self.layers), self.widths[-1]]
        drawn = zip(values[: self.n_connections].split(self.sizes), fans, strict=True)
        for weights, fan in list(drawn)[: None if output == "kaiming" else -1]:
            bound = math.sqrt(6 / fan)
            weights.copy_(torch.rand(len(weights), generator=generator).mul_(2 * bound).sub_(bound))
        values[self.n_connections : self.n_connections + self.n_neurons] = 1
        return values


class Parameters:
    """Named views into a table of parameters, of their gradients, or of a mask; rows may be padded."""

    def __init__(self, shape: Shape, table: Tensor) -> None:
        models = len(table)
        padding = table.shape[1] - shape.n_parameters
        parts = table.split([*shape.sizes, *shape.widths, *shape.widths, 1, padding], dim=1)
        depth = len(shape.widths)
        self.table = table
        self.weights = [part.view(models, *size) for part, size in zip(parts, shape.layers, strict=False)]
        self.output = parts[depth].unsqueeze(1)
        self.gamma = [part.unsqueeze(1) for part in parts[depth + 1 : 2 * depth + 1]]
        self.beta = [part.unsqueeze(1) for part in parts[2 * depth + 1 : -2]]
        self.base = parts[-2].unsqueeze(2)


class Running:
    """Views into the running means and variances of the batch norms, (models, 2 x neurons)."""

    def __init__(self, shape: Shape, table: Tensor) -> None:
        parts = [part.unsqueeze(1) for part in table.split([*shape.widths, *shape.widths], dim=1)]
        self.table = table
        self.mean, self.variance = parts[: len(shape.widths)], parts[len(shape.widths) :]

    @staticmethod
    def start(shape: Shape) -> Tensor:
        return torch.cat([torch.zeros(shape.n_neurons), torch.ones(shape.n_neurons)])


def effective_weights(pieces: Parameters, surrogate: Surrogate, mask: Parameters | None) -> Sequence[Tensor]:
    """Return the hidden weights that the forward pass uses: the signs, for binary weights that are not pruned."""
    if not surrogate.binary_weights:
        return pieces.weights
    signs = [torch.ge(weights, 0, out=torch.empty_like(weights)).mul_(2).sub_(1) for weights in pieces.weights]
    return signs if mask is None else [sign * kept for sign, kept in zip(signs, mask.weights, strict=True)]


def _output(pieces: Parameters, answer: Tensor) -> Tensor:
    """Return the linear output, (models, rows, 1).

    A product and a sum rather than a matrix-vector product, which rounds differently for one model and for many.
    """
    return (answer * pieces.output).sum(2, keepdim=True).add_(pieces.base)


def gradients(
    pieces: Parameters,
    into: Parameters,
    running: Running,
    x: Tensor,
    y: Tensor,
    surrogate: Surrogate,
    sharpness: Tensor,
    mask: Parameters | None = None,
) -> Tensor:
    """Write the gradient of every model's mean squared error on its batch to `into`, and return the errors.

    `running` is updated with the batch's means and variances; `x` and `y` hold a batch per model. Only binary weights
    need the mask.
    """
    rows = x.shape[1]
    weights = effective_weights(pieces, surrogate, mask)
    kept = _forward(weights, pieces, running, x, surrogate, sharpness)
    answer = kept[-1][-1]
    error = _output(pieces, answer).sub_(y)
    loss = torch.mul(error, error).mean((1, 2))
    error.mul_(2 / rows)
    torch.sum(error, 1, keepdim=True, out=into.base)
    torch.sum(answer * error, 1, keepdim=True, out=into.output)
    back = error * pieces.output
    for k in reversed(range(len(weights))):
        below, normal, scale, u, answer = kept.pop()
        du = surrogate.derivative(u, answer, sharpness).mul_(back)
        torch.sum(du, 1, keepdim=True, out=into.beta[k])
        torch.sum(torch.mul(du, normal, out=u), 1, keepdim=True, out=into.gamma[k])
        du.sub_(into.beta[k] / rows).addcmul_(normal, into.gamma[k], value=-1 / rows)
        dz = du.mul_(scale.mul_(pieces.gamma[k]))
        torch.bmm(dz.transpose(1, 2), below, out=into.weights[k])
        if k:
            back = torch.bmm(dz, weights[k])
    return loss


def _forward(
    weights: Sequence[Tensor], pieces: Parameters, running: Running, x: Tensor, surrogate: Surrogate, sharpness: Tensor
) -> list[tuple[Tensor, ...]]:
    """Return what the way back needs of every layer: its input, normalised sums, their scale, `u` and the answer."""
    rows = x.shape[1]
    kept: list[tuple[Tensor, ...]] = []
    for k, layer in enumerate(weights):
        below = kept[-1][-1] if kept else x
        z = torch.bmm(below, layer.transpose(1, 2))
        mean = z.mean(1, keepdim=True)
        z.sub_(mean)
        variance = torch.mul(z, z).mean(1, keepdim=True)
        scale = (variance + EPSILON).rsqrt_()
        z.mul_(scale)
        u = torch.addcmul(pieces.beta[k], z, pieces.gamma[k])
        kept.append((below, z, scale, u, surrogate.forward(u, sharpness)))
        running.mean[k].lerp_(mean, MOMENTUM)
        running.variance[k].lerp_(variance.mul_(rows / max(rows - 1, 1)), MOMENTUM)
    return kept


def evaluate(
    pieces: Parameters, running: Running, x: Tensor, surrogate: Surrogate, mask: Parameters | None, most: int
) -> Tensor:
    """Return every model's hard output on its rows, shape (models, rows, 1).

    Works through the rows in slices, so that no tensor holds more than about `most` numbers.
    """
    weights = effective_weights(pieces, surrogate, mask)
    scales = [
        gamma * (variance + EPSILON).rsqrt() for gamma, variance in zip(pieces.gamma, running.variance, strict=True)
    ]
    shifts = [beta - mean * s for beta, mean, s in zip(pieces.beta, running.mean, scales, strict=True)]
    size = max(64, most // (len(x) * max(layer.shape[1] for layer in weights)))
    outputs = []
    for answer in x.split(size, dim=1):
        for layer, scale, shift in zip(weights, scales, shifts, strict=True):
            answer = surrogate.hard(torch.bmm(answer, layer.transpose(1, 2)).mul_(scale).add_(shift))
        outputs.append(_output(pieces, answer))
    return torch.cat(outputs, dim=1)
