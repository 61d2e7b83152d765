"""What a network's layers can reach: regions, Theorem 1, and its counterpart for classes.

Every hidden layer cuts the input space into regions, one for each pattern of +-1 answers that occurs. Rows that
share a region share everything above it, so a layer can only merge the regions of the layer below, and the best
that any output can do is predict the mean of each region. That gives Theorem 1: the variance left inside the first
layer's regions is at most that inside the second's, and so on, up to the training error itself. With classes the best
is to predict each region's shares of the classes, and what is left is their entropy, for the log loss.

Rows pass through the network a block at a time and only one bit per answer is kept, so millions of rows fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgn.inputs.target import codes_of, numbers_per_row, weights
from bgn.model.link import softmax
from bgn.model.readings import network_of
from bgn.model.step import Floats
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular

# Most numbers in one block of a layer's answers: 32 MiB of float64.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Regions(Tabular):
    """The regions that one hidden layer cuts a table into; read-only arrays.

    Regions are numbered in the order of their patterns, -1 before +1, the first neuron counting most: the numbers do
    not depend on the order of the rows.

    Attributes
    ----------
    index : ndarray of int64, shape (rows,)
        Region of every row.
    patterns : ndarray of int8, shape (regions, width)
        The +-1 answers that make each region.
    counts : ndarray of int64, shape (regions,)
        Rows in each region; their total weight (float64) when weights were given.
    """

    index: NDArray[np.int64]
    patterns: NDArray[np.int8]
    counts: NDArray[Any]

    def __post_init__(self) -> None:
        for array in (self.index, self.patterns, self.counts):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.patterns)

    def _columns(self) -> Columns:
        """One row per region: how many rows it has, and what each neuron answers."""
        answers = {f"neuron {number}": values.tolist() for number, values in enumerate(self.patterns.T, 1)}
        return {"region": range(len(self)), "rows": self.counts.tolist(), **answers}

    def __repr__(self) -> str:
        return f"Regions({len(self)} regions of {self.patterns.shape[1]} neurons, {len(self.index)} rows)"


@through_pipelines("X")
def regions(network: Any, X: Any, sample_weight: ArrayLike | None = None) -> tuple[Regions, ...]:
    """Return which region of each hidden layer every row is in.

    Parameters
    ----------
    network : Network, or a fitted estimator with ``network_``
        Of any depth.
    X : array_like or frame, shape (rows, n_inputs)
        Raw inputs; a frame's columns are taken by name when the network has names.
    sample_weight : array_like, shape (rows,), optional
        Makes `counts` total weights.

    Returns
    -------
    tuple of Regions
        One per hidden layer, first layer first. Only regions with rows in them are listed.

    Examples
    --------
    Two thresholds on one column make three regions:

    >>> from bgn import Layer, Network
    >>> from bgn.theory import regions
    >>> network = Network.of_layers([Layer([[1.0], [1.0]], [-2.0, -5.0])], [1.0, 1.0], 0.0)
    >>> (layer,) = regions(network, [[0.0], [2.0], [3.0], [9.0]])
    >>> layer
    Regions(3 regions of 2 neurons, 4 rows)
    >>> layer.index
    array([0, 1, 1, 2])
    >>> layer.patterns
    array([[-1, -1],
           [ 1, -1],
           [ 1,  1]], dtype=int8)
    >>> layer.counts
    array([1, 2, 1])
    """
    network = network_of(network, plain=False)
    if network.linear:
        raise ValueError("network must be binary activated; one with linear terms has regions of many predictions.")
    if not hasattr(X, "columns"):
        X = np.atleast_1d(np.asarray(X))
    weight = None if sample_weight is None else _weights(sample_weight, len(X))
    # One bit per answer, the first neuron in the highest bit.
    packed = [np.zeros((len(X), -(-width // 64) * 8), dtype=np.uint8) for width in network.widths]
    size = max(1, _BLOCK // max(1, network.n_inputs, *network.widths))
    for start in range(0, max(1, len(X)), size):
        rows = slice(start, start + size)
        values = network.hidden(X[rows], layer=0)
        for depth, bits in enumerate(packed):
            values = network.layers[depth].fire(values) if depth else values
            block = np.packbits(values > 0, axis=1)
            bits[rows, : block.shape[1]] = block
    return tuple(_number(bits, width, weight) for bits, width in zip(packed, network.widths, strict=True))


def _number(packed: NDArray[np.uint8], width: int, weight: Floats | None) -> Regions:
    """Return the regions of one layer from its packed answers, 64 neurons at a time."""
    index = np.zeros(len(packed), dtype=np.int64)
    for bits in packed.view(">u8").T:
        values, code = np.unique(bits.astype(np.uint64), return_inverse=True)
        index = np.unique(index * len(values) + code, return_inverse=True)[1]
    _, first, rows = np.unique(index, return_index=True, return_counts=True)
    patterns = np.unpackbits(packed[first], axis=1, count=width).astype(np.int8) * np.int8(2) - np.int8(1)
    return Regions(index, patterns, rows if weight is None else np.bincount(index, weight, minlength=len(first)))


def _weights(value: ArrayLike, rows: int) -> Floats:
    """Return one weight per row, none negative and not all zero."""
    weight = weights(value, rows)
    if rows and not weight.any():
        raise ValueError("sample_weight must not be all zero; leave out sample_weight to count every row once.")
    return weight


@through_pipelines("X", targets=("y",))
def lower_bounds(network: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Floats:
    """Return Theorem 1's bound for every hidden layer, and the mean squared error, or log loss, after them.

    No output, and no layers above, can bring the mean squared error on these rows below a layer's bound: the
    variance of `y` left inside its regions. With classes it is the mean log loss, in nats, and the bound is the entropy
    of the classes inside the regions.

    Parameters
    ----------
    network : Network, or a fitted estimator with ``network_``
        Of any depth.
    X : array_like or frame, shape (rows, n_inputs)
        Raw inputs, at least one row.
    y : array_like, shape (rows,)
        What is to be predicted: numbers, or labels of classes; where the network does not name its classes, their
        numbers from 0.
    sample_weight : array_like, shape (rows,), optional
        A row of weight 2 counts as the row twice.

    Returns
    -------
    ndarray of float64, shape (depth + 1,)
        First layer first, the network's mean squared error or log loss last. Never decreasing, not even by a
        rounding: each entry is the one before plus a sum of squares, or of divergences.

    Examples
    --------
    Here the outputs are not the means of the regions, so the error stays above the bound:

    >>> from bgn import Layer, Network
    >>> from bgn.theory import lower_bounds
    >>> network = Network.of_layers([Layer([[1.0]], [-2.0])], [1.0], 0.0)
    >>> lower_bounds(network, [[0.0], [1.0], [2.0], [3.0]], [-1.0, -2.0, 2.0, 4.0])
    array([0.625, 2.75 ])

    One region holds both classes equally often, the other one class alone; the outputs could be bolder:

    >>> classes = network.changed(link="logistic")
    >>> lower_bounds(classes, [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1]).round(3)
    array([0.347, 0.563])
    """
    network = network_of(network, plain=False)
    layers = regions(network, X)
    n_rows, numeric = len(layers[0].index), network.link == "identity"
    weight = np.ones(n_rows) if sample_weight is None else _weights(sample_weight, n_rows)
    target = numbers_per_row(y, "y", n_rows) if numeric else codes_of(network, y, n_rows)
    if not n_rows:
        raise ValueError("X must have at least one row; got none.")
    scores = network.scores_where(layers[-1].patterns.T > 0, len(layers[-1]))
    parents = [np.empty(len(layer), dtype=np.int64) for layer in layers[:-1]]
    for parent, (lower, upper) in zip(parents, pairwise(layers), strict=True):
        parent[lower.index] = upper.index
    if not numeric:
        mass = np.zeros((len(layers[0]), max(2, network.n_outputs)))
        np.add.at(mass, (layers[0].index, target.astype(np.intp)), weight)
        scores = np.hstack([np.zeros_like(scores), scores]) if network.link == "logistic" else scores
        return np.cumsum(_entropies(mass, parents, softmax(scores))) / weight.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        center = np.average(target, weights=weight)
        outputs = network.linked(scores[:, 0])
        sums = np.cumsum(_variation(layers[0].index, parents, target - center, weight, outputs - center))
    if not np.isfinite(sums).all():
        raise ValueError(f"y must have squares that float64 can hold; got {np.abs(target).max()}. Divide y first.")
    return sums / weight.sum()


def _variation(
    index: NDArray[np.int64], parents: list[NDArray[np.int64]], target: Floats, weight: Floats, outputs: Floats
) -> list[float]:
    """Return the sum of squares inside the first layer's regions, and what each layer, then the outputs, add to it."""

    def means(group: NDArray[np.int64], mass: Floats, value: Floats) -> tuple[Floats, Floats]:
        # Of a group without mass the mean is 0.
        total: Floats = np.bincount(group, mass).astype(np.float64)
        mean: Floats = np.bincount(group, mass * value).astype(np.float64)
        return total, np.divide(mean, total, out=mean, where=total > 0)

    mass, mean = means(index, weight, target)
    sums = [float(np.sum(weight * (target - mean[index]) ** 2))]
    for parent in parents:
        merged = means(parent, mass, mean)
        sums.append(float(np.sum(mass * (mean - merged[1][parent]) ** 2)))
        mass, mean = merged
    return [*sums, float(np.sum(mass * (mean - outputs) ** 2))]


def _entropies(mass: Floats, parents: list[NDArray[np.int64]], probabilities: Floats) -> list[float]:
    """Return the entropy inside the first layer's regions, and what each layer, then the outputs, add to it."""

    def log_losses(mass: Floats, probabilities: Floats) -> Floats:
        # One per region; a class without mass costs nothing.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(mass > 0, -mass * np.log(probabilities), 0.0).sum(axis=1))

    def shares(mass: Floats) -> Floats:
        total = mass.sum(axis=1, keepdims=True)
        return np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)

    sums = [float(np.sum(log_losses(mass, shares(mass))))]
    for parent in parents:
        merged = np.zeros((parent.max() + 1, mass.shape[1]))
        np.add.at(merged, parent, mass)
        gained = log_losses(mass, shares(merged)[parent]) - log_losses(mass, shares(mass))
        sums.append(float(np.sum(np.maximum(gained, 0.0))))
        mass = merged
    missed = log_losses(mass, probabilities) - log_losses(mass, shares(mass))
    return [*sums, float(np.sum(np.maximum(missed, 0.0)))]
