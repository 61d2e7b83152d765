"""A hidden layer as a frozen value: from matrices, as in the paper, or from conditions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgn.model.step import Bools, Floats, frozen, step
from bgn.model.term import Coefficient as Coefficient
from bgn.model.term import Oblique, Projection

# Beyond this many non-zero weights per neuron, on average, a layer fires by a matrix product.
_DENSE = 16


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Layer:
    """A hidden layer: neuron k fires when ``weights[k] @ inputs + bias[k] >= 0``.

    Parameters
    ----------
    weights : array_like, shape (width, inputs)
        One row per neuron.
    bias : array_like, shape (width,)
        The negative of the threshold.

    Attributes
    ----------
    neurons : tuple of Oblique
        The same as conditions. :meth:`of` builds a layer from them; those about categories have no `weights`.

    Examples
    --------
    >>> from bgn import Layer
    >>> layer = Layer(weights=[[1.0, 0.0]], bias=[-65.5])
    >>> layer.width, layer.n_inputs
    (1, 2)
    >>> layer.neurons
    (Oblique(projection=Projection(columns=(0,), coefficients=(1.0,), missing_as=None), threshold=65.5, missing=None),)
    """

    width: int
    n_inputs: int

    def __init__(self, weights: ArrayLike, bias: ArrayLike) -> None:
        dense, offsets = frozen(weights, "weights", 2), frozen(bias, "bias", 1)
        if len(offsets) != len(dense):
            raise ValueError(
                f"bias must have one entry per neuron; got {len(offsets)} for {len(dense)} rows of weights."
            )
        vars(self).update(width=len(dense), n_inputs=dense.shape[1], weights=dense, bias=offsets)

    @classmethod
    def of(cls, neurons: Iterable[Oblique], n_inputs: int) -> Layer:
        """Return the layer of some neurons, which is shown so many columns."""
        kept = tuple(_canonical(neuron, n_inputs) for neuron in neurons)
        layer = cls.__new__(cls)
        vars(layer).update(width=len(kept), n_inputs=n_inputs, neurons=kept)
        return layer

    @cached_property
    def neurons(self) -> tuple[Oblique, ...]:
        """The conditions, one per neuron."""
        neurons = []
        for weights, threshold in zip(self.weights, self.thresholds.tolist(), strict=True):
            columns = np.flatnonzero(weights)
            neurons.append(Oblique(Projection(tuple(columns.tolist()), tuple(weights[columns].tolist())), threshold))
        return tuple(neurons)

    @cached_property
    def weights(self) -> Floats:
        """The paper's matrix, one row per neuron; only where no condition is about a category."""
        if not self.numeric:
            raise AttributeError("a layer with conditions on categories has no weights; see Network.expanded().")
        weights = np.zeros((self.width, self.n_inputs))
        for row, neuron in zip(weights, self.neurons, strict=True):
            row[list(neuron.projection.columns)] = neuron.projection.coefficients
        return frozen(weights, "weights", 2)

    @cached_property
    def bias(self) -> Floats:
        """The negatives of the thresholds."""
        return frozen([-neuron.threshold for neuron in self.neurons], "bias", 1)

    @cached_property
    def thresholds(self) -> Floats:
        """What a projection must reach for its neuron to fire: ``-bias``."""
        return -self.bias + 0.0

    @cached_property
    def numeric(self) -> bool:
        """True where no condition is about a category."""
        return "weights" in vars(self) or all(neuron.projection.numeric for neuron in self.neurons)

    @cached_property
    def takes_missing(self) -> bool:
        """True where some neuron has an answer for a missing value."""
        return any(neuron.takes_missing for neuron in vars(self).get("neurons", ()))

    @cached_property
    def refuses_missing(self) -> Bools:
        """Which columns must not miss a value: those of a neuron that has no answer for it; all where none has."""
        if not self.takes_missing:
            return np.ones(self.n_inputs, dtype=bool)
        return self.inputs_of(np.array([not neuron.takes_missing for neuron in self.neurons]))

    @cached_property
    def n_weights(self) -> int:
        """Number of non-zero weights; of a categorical column every category that has one."""
        if "weights" in vars(self):
            return int(np.count_nonzero(self.weights))
        return sum(value != 0.0 for neuron in self.neurons for value in neuron.projection.numbers)

    @cached_property
    def reads(self) -> Bools:
        """Which columns each neuron reads, shape (width, n_inputs)."""
        if "weights" in vars(self):
            return self.weights != 0
        reads = np.zeros((self.width, self.n_inputs), dtype=bool)
        for row, neuron in zip(reads, self.neurons, strict=True):
            row[list(neuron.projection.columns)] = True
        return reads

    @property
    def max_features(self) -> int:
        """Most columns that a neuron reads."""
        return int(self.reads.sum(axis=1).max(initial=0))

    def inputs_of(self, chosen: Bools) -> Bools:
        """Return which columns some of the neurons read."""
        return np.asarray(self.reads[chosen].any(axis=0))

    def only(self, chosen: Iterable[Any]) -> Layer:
        """Return the layer of some of the neurons, in the order given."""
        return Layer.of([self.neurons[int(k)] for k in chosen], self.n_inputs)

    def project(self, inputs: NDArray[Any]) -> Floats:
        """Return the projection of every row by every neuron, shape (rows, width)."""
        # One contiguous column per answer; the transposed view costs the caller nothing.
        out = np.zeros((self.width, len(inputs)))
        for row, neuron in zip(out, self.neurons, strict=True):
            row[:] = neuron.projection.values(inputs)
        return out.T

    @cached_property
    def dense(self) -> bool:
        """True where it fires by a matrix product, because its conditions read many columns each."""
        return self.numeric and not self.takes_missing and self.n_weights > _DENSE * self.width

    def fire(self, inputs: NDArray[Any]) -> Floats:
        """Return the +-1 answers for every row of `inputs`, shape (rows, width)."""
        if not self.dense:
            out = np.empty((self.width, len(inputs)))
            for row, neuron in zip(out, self.neurons, strict=True):
                row[:] = np.where(neuron.holds(inputs), 1.0, -1.0)
            return out.T
        # A matrix product, and once more in the order of the columns where a rounding could matter.
        inputs = np.asarray(inputs, dtype=np.float64)
        z = inputs @ self.weights.T + self.bias
        size = np.abs(inputs).sum(axis=1)[:, np.newaxis] * np.abs(self.weights).max(axis=1) + np.abs(self.bias)
        doubt = ~(np.abs(z) > 4 * (self.n_inputs + 1) * np.finfo(np.float64).eps * size)
        for k in np.flatnonzero(doubt.any(axis=0)).tolist():
            rows = doubt[:, k]
            z[rows, k] = self.neurons[k].projection.values(inputs[rows]) + self.bias[k]
        return step(z)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layer):
            return NotImplemented
        if "weights" in vars(self) and "weights" in vars(other) and not (self.takes_missing or other.takes_missing):
            return np.array_equal(self.weights, other.weights) and np.array_equal(self.bias, other.bias)
        return self.n_inputs == other.n_inputs and self.neurons == other.neurons

    def __hash__(self) -> int:
        return hash((self.width, self.n_inputs, self.bias.tobytes()))

    def __repr__(self) -> str:
        return f"Layer(width={self.width}, n_inputs={self.n_inputs}, non_zero={self.n_weights})"


def _canonical(neuron: Oblique, n_inputs: int) -> Oblique:
    """Return a neuron without idle columns, its columns in order; or say what is wrong with it."""
    projection, columns = neuron.projection, neuron.projection.columns
    if len(set(columns)) < len(columns) or not all(0 <= j < n_inputs for j in columns):
        raise ValueError(f"a neuron's columns must be different and below {n_inputs}; got {columns}.")
    if not np.isfinite([neuron.threshold, *projection.numbers]).all():
        raise ValueError(f"a neuron's numbers must be finite; got {neuron}.")
    if len(projection.missing_as or columns) != len(columns):
        raise ValueError(f"missing_as must have one entry per column; got {neuron}.")
    places = sorted(range(len(columns)), key=columns.__getitem__)
    if not neuron.takes_missing:
        places = [k for k in places if projection.coefficients[k] != 0.0]
    if places == list(range(len(columns))):
        return neuron
    missing_as = None if projection.missing_as is None else tuple(projection.missing_as[k] for k in places)
    coefficients = tuple(projection.coefficients[k] for k in places)
    ordered = Projection(tuple(columns[k] for k in places), coefficients, missing_as)
    return Oblique(ordered, neuron.threshold, neuron.missing)


def stacked(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Return layers that fit on top of each other, or say which do not."""
    layers = tuple(layers)
    if not layers or not all(isinstance(layer, Layer) for layer in layers):
        raise ValueError("layers must be one or more bgn.Layer values, the first hidden layer first.")
    for number, (lower, upper) in enumerate(pairwise(layers), start=1):
        if upper.n_inputs != lower.width:
            raise ValueError(
                f"layers[{number}] reads {upper.n_inputs} inputs but layers[{number - 1}] has width {lower.width}."
            )
    return layers
