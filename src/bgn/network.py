"""Binary activated networks as frozen values.

A :class:`Network` is a base value plus weighted yes/no questions. Every hidden neuron answers +1 when
``weights . inputs + bias >= 0`` and -1 otherwise (:func:`step`); the output is linear. A network speaks the
original units of the columns it was built for, knows nothing of how it was made, and never changes.

The projection ``weights . inputs`` is summed over the non-zero weights in the order of the columns, one
rounding a step, so that a row gives the same answer alone, in a block or in a table, and growth can place a
threshold on the very numbers that :meth:`Network.predict` will compute.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# Beyond this many non-zero weights a neuron, on average, a layer fires by a matrix product.
_DENSE = 16


def step(z: ArrayLike) -> Floats:
    """Return +1 where ``z >= 0`` and -1 elsewhere: the only activation there is.

    Parameters
    ----------
    z : array_like
        Any shape.

    Returns
    -------
    ndarray of float64

    Examples
    --------
    >>> from bgn import step
    >>> step([-0.5, 0.0, 2.0])
    array([-1.,  1.,  1.])
    """
    return np.where(np.asarray(z) >= 0, 1.0, -1.0)


def on_gpu(table: Any) -> bool:
    """Whether a table is a torch tensor on a CUDA GPU; torch is not loaded to find out."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(table, torch.Tensor) or table.device.type == "cpu":
        return False
    if table.device.type != "cuda":
        raise ValueError(
            f"X is a tensor on the device {str(table.device)!r}; tensors may be on a CUDA GPU or the CPU, because "
            "64-bit numbers are needed. Move it: X.cuda() or X.cpu()."
        )
    return True


def _frozen(value: ArrayLike, name: str, ndim: int, copy: bool = True) -> Floats:
    """Return a read-only float64 copy of `value`, or itself, or say what is wrong with it."""
    array = np.array(value, dtype=np.float64) if copy else np.asarray(value, dtype=np.float64)
    array += 0.0  # -0.0 becomes 0.0, so that equal arrays hash alike
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension{'s' * (ndim > 1)}; got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; got {array[~np.isfinite(array)][0]} in it.")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False, repr=False)
class Layer:
    """A hidden layer: neuron k fires when ``weights[k] @ inputs + bias[k] >= 0``.

    Parameters
    ----------
    weights : array_like, shape (width, inputs)
        One row a neuron.
    bias : array_like, shape (width,)
        The negative of the threshold.

    Examples
    --------
    >>> from bgn import Layer
    >>> layer = Layer(weights=[[1.0, 0.0]], bias=[-65.5])
    >>> layer.width, layer.n_inputs
    (1, 2)
    """

    weights: Floats
    bias: Floats

    def __init__(self, weights: ArrayLike, bias: ArrayLike) -> None:
        self._hold(_frozen(weights, "weights", 2), _frozen(bias, "bias", 1))

    @classmethod
    def _owning(cls, weights: Floats, bias: Floats) -> Layer:
        """Make a layer of arrays that nobody else holds; large ones need not be there twice."""
        layer = cls.__new__(cls)
        layer._hold(_frozen(weights, "weights", 2, copy=False), _frozen(bias, "bias", 1, copy=False))
        return layer

    def _hold(self, weights: Floats, bias: Floats) -> None:
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bias", bias)
        if len(self.bias) != len(self.weights):
            raise ValueError(
                f"bias must have one entry a neuron; got {len(self.bias)} for {len(self.weights)} rows of weights."
            )

    @property
    def width(self) -> int:
        """Number of neurons."""
        return self.weights.shape[0]

    @property
    def n_inputs(self) -> int:
        """Number of columns the layer reads."""
        return self.weights.shape[1]

    @property
    def thresholds(self) -> Floats:
        """What ``weights . inputs`` must reach for a neuron to fire: ``-bias``."""
        return -self.bias + 0.0

    def project(self, inputs: NDArray[Any]) -> Floats:
        """Return ``weights . inputs`` for every row and neuron, shape (rows, width)."""
        # One contiguous column an answer; the transposed view costs the caller nothing.
        out = np.zeros((self.width, len(inputs)))
        for row, weights in zip(out, self.weights, strict=True):
            for count, column in enumerate(np.flatnonzero(weights)):
                term = inputs[:, column] * weights[column]
                row[:] = row + term if count else term
        return out.T

    def fire(self, inputs: NDArray[Any]) -> Floats:
        """Return the +-1 answers for every row of `inputs`, shape (rows, width)."""
        if np.count_nonzero(self.weights) > _DENSE * self.width:
            return self._fire_dense(np.asarray(inputs, dtype=np.float64))
        return step(self.project(inputs) + self.bias)

    def _fire_dense(self, inputs: Floats) -> Floats:
        """Fire by a matrix product, and once more in the order of the columns where a rounding could matter."""
        z = inputs @ self.weights.T + self.bias
        size = np.abs(inputs).sum(axis=1)[:, np.newaxis] * np.abs(self.weights).max(axis=1) + np.abs(self.bias)
        doubt = ~(np.abs(z) > 4 * (self.n_inputs + 1) * np.finfo(np.float64).eps * size)
        for neuron in np.flatnonzero(doubt.any(axis=0)):
            rows = doubt[:, neuron]
            alone = Layer(self.weights[neuron : neuron + 1], self.bias[neuron : neuron + 1])
            z[rows, neuron] = alone.project(inputs[rows])[:, 0] + self.bias[neuron]
        return step(z)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layer):
            return NotImplemented
        return np.array_equal(self.weights, other.weights) and np.array_equal(self.bias, other.bias)

    def __hash__(self) -> int:
        return hash((self.weights.tobytes(), self.bias.tobytes()))

    def __repr__(self) -> str:
        return f"Layer(width={self.width}, n_inputs={self.n_inputs}, non_zero={np.count_nonzero(self.weights)})"


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """A binary activated network, in the original units of its columns.

    Parameters
    ----------
    layers : sequence of Layer
        The hidden layers, first one first; at least one. A layer of width 0 stands for "the base alone".
    output_weights : array_like, shape (width of the last layer,)
        What each neuron of the last hidden layer adds when it fires, and takes away when it does not.
    base : float
        The output's bias.
    feature_names : sequence of str, optional
        Names of the columns; ``x0, x1, ...`` in outputs when there are none.
    target_name : str, optional
        What is predicted.

    Examples
    --------
    Worth 1.5 on incomes of 65.5 and more, 0.5 below:

    >>> from bgn import Layer, Network
    >>> network = Network([Layer([[1.0, 0.0]], [-65.5])], [0.5], 1.0, feature_names=["income", "age"])
    >>> network.predict([[65.5, 30.0], [20.0, 30.0]])
    array([1.5, 0.5])
    >>> network
    Network(2 inputs, widths (1,), 4 non-zero parameters, uses income)
    """

    layers: tuple[Layer, ...]
    output_weights: Floats
    base: float
    feature_names: tuple[str, ...] | None = field(default=None)
    target_name: str | None = None

    def __init__(
        self,
        layers: Iterable[Layer],
        output_weights: ArrayLike,
        base: float,
        feature_names: Sequence[str] | None = None,
        target_name: str | None = None,
    ) -> None:
        layers = tuple(layers)
        if not layers or not all(isinstance(layer, Layer) for layer in layers):
            raise ValueError("layers must be one or more bgn.Layer values, the first hidden layer first.")
        for number, (below, above) in enumerate(pairwise(layers), start=1):
            if above.n_inputs != below.width:
                raise ValueError(
                    f"layers[{number}] reads {above.n_inputs} inputs but layers[{number - 1}] has width {below.width}."
                )
        weights = _frozen(output_weights, "output_weights", 1)
        if len(weights) != layers[-1].width:
            raise ValueError(
                f"output_weights must have one entry a neuron of the last layer ({layers[-1].width}); "
                f"got {len(weights)}."
            )
        if not np.isfinite(base):
            raise ValueError(f"base must be finite; got {base}.")
        with np.errstate(over="ignore"):
            largest = abs(base) + np.abs(weights).sum()
        if not np.isfinite(largest):
            raise ValueError(
                "output_weights and base must add up to a number that float64 can hold, signs left aside, or "
                "predictions would be infinite. Rescale the target."
            )
        if feature_names is not None:
            feature_names = tuple(str(name) for name in feature_names)
            if len(feature_names) != layers[0].n_inputs:
                raise ValueError(
                    f"feature_names must name all {layers[0].n_inputs} columns; got {len(feature_names)} names."
                )
            if len(set(feature_names)) < len(feature_names):
                twice = next(name for name in feature_names if feature_names.count(name) > 1)
                raise ValueError(f"feature_names must differ; got {twice!r} twice. Rename one of the columns.")
        for name, value in (
            ("layers", layers),
            ("output_weights", weights),
            ("base", float(base)),
            ("feature_names", feature_names),
            ("target_name", target_name),
        ):
            object.__setattr__(self, name, value)

    # -- shape ---------------------------------------------------------------------------------------------

    @property
    def n_inputs(self) -> int:
        """Number of columns the network reads."""
        return self.layers[0].n_inputs

    @property
    def widths(self) -> tuple[int, ...]:
        """Width of every hidden layer, first one first."""
        return tuple(layer.width for layer in self.layers)

    @property
    def depth(self) -> int:
        """Number of hidden layers."""
        return len(self.layers)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, made up (``x0, x1, ...``) when the network has none."""
        return self.feature_names or tuple(f"x{i}" for i in range(self.n_inputs))

    @property
    def n_weights(self) -> int:
        """Number of non-zero connection weights, hidden and output; biases do not count."""
        hidden = sum(np.count_nonzero(layer.weights) for layer in self.layers)
        return int(hidden + np.count_nonzero(self.output_weights))

    @property
    def n_parameters(self) -> int:
        """Number of non-zero numbers: weights, biases, output weights and base."""
        biases = sum(np.count_nonzero(layer.bias) for layer in self.layers)
        return int(self.n_weights + biases + (self.base != 0))

    @cached_property
    def features_used(self) -> tuple[int, ...]:
        """Columns that can reach the output through non-zero weights, in order."""
        alive = self.output_weights != 0
        for layer in reversed(self.layers):
            alive = (layer.weights != 0)[alive].any(axis=0)
        return tuple(int(i) for i in np.flatnonzero(alive))

    @property
    def max_features(self) -> int:
        """Most non-zero weights of any hidden neuron."""
        return max((int(np.count_nonzero(layer.weights, axis=1).max(initial=0)) for layer in self.layers), default=0)

    # -- values --------------------------------------------------------------------------------------------

    def _rows(self, X: Any) -> NDArray[Any]:
        """Return `X` as a numeric table with this network's columns, or say what is wrong."""
        columns = getattr(X, "columns", None)
        if columns is not None and self.feature_names is not None:
            there = set(columns)
            missing = [name for name in self.feature_names if name not in there]
            if missing:
                raise ValueError(f"X lacks the column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}.")
            X = X[list(self.feature_names)]
        if isinstance(X, str | os.PathLike):
            raise ValueError(f"X must be a table in memory; got the path {str(X)!r}. Loop over bgn.read_blocks of it.")
        rows = np.asarray(X)
        if rows.dtype not in (np.float64, np.float32, np.int8):
            rows = rows.astype(np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_inputs:
            raise ValueError(f"X must have {self.n_inputs} columns; got shape {rows.shape}.")
        if rows.dtype.kind == "f" and not np.isfinite(rows).all():
            column = int(np.flatnonzero(~np.isfinite(rows).all(axis=0))[0])
            raise ValueError(f"X has NaN or infinity in column {self.names[column]!r}; drop or fill those rows first.")
        return rows.astype(np.float64, copy=False)

    def hidden(self, X: Any, layer: int = -1) -> Floats:
        """Return the +-1 answers of one hidden layer.

        Parameters
        ----------
        X : array_like or frame, shape (rows, n_inputs)
            Raw inputs; a frame's columns are taken by name when the network has names.
        layer : int, default -1
            Index into ``layers``: 0 is the first hidden layer, -1 the last.

        Returns
        -------
        ndarray of float64, shape (rows, width of that layer)
            For a CUDA tensor a tensor beside it.
        """
        if not -self.depth <= layer < self.depth:
            raise ValueError(f"layer must be between 0 and {self.depth - 1}, as in network.layers; got {layer}.")
        if on_gpu(X):
            return importlib.import_module("bgn.tensors").hidden(self, X, layer)
        values: Floats = self._rows(X)
        for each in self.layers[: layer % self.depth + 1]:
            values = each.fire(values)
        return values

    def predict(self, X: Any) -> Floats:
        """Return the predicted value of every row.

        Parameters
        ----------
        X : array_like or frame, shape (rows, n_inputs)

        Returns
        -------
        ndarray of float64, shape (rows,)
            For a CUDA tensor a tensor beside it, with the same bits.
        """
        if on_gpu(X):
            return importlib.import_module("bgn.tensors").predict(self, X)
        fires = self.hidden(X)
        total = np.full(len(fires), self.base)
        for column, weight in enumerate(self.output_weights):
            total += fires[:, column] * weight
        return total

    # -- identity ------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return (
            self.layers == other.layers
            and np.array_equal(self.output_weights, other.output_weights)
            and self.base == other.base
            and self.feature_names == other.feature_names
            and self.target_name == other.target_name
        )

    def __hash__(self) -> int:
        return hash((self.layers, self.output_weights.tobytes(), self.base, self.feature_names, self.target_name))

    def __repr__(self) -> str:
        clean, used = importlib.import_module("bgn.writing").clean, self.features_used
        shown = ", ".join(clean(self.names[i], 60) for i in used[:6])
        shown += f" and {len(used) - 6} more" if len(used) > 6 else ""
        return (
            f"Network({self.n_inputs} inputs, widths {self.widths}, {self.n_parameters} non-zero parameters, "
            f"uses {shown or 'nothing but the base'})"
        )

    def _repr_html_(self) -> str:
        """Return the drawing that notebooks show; loaded by name, because drawings stand far above networks."""
        return str(importlib.import_module("bgn.report").picture(self))
