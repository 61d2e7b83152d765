"""A score to be driven as high as it goes: questions with weights, slopes, and the rows that count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bgn.explain.attainable.domain import Domain
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.neuron import Neuron
from bgn.model.step import Floats

# A column without ends is searched this many times farther than the farthest threshold in its way.
_FAR = 100.0
# Where questions about the same two numbers meet farther away, it is searched up to so many times.
_FARTHEST = 1e6


@dataclass(frozen=True, eq=False)
class ScoreProblem:
    """What is to be made as large as possible.

    Attributes
    ----------
    neurons : tuple of Neuron
        The first layer's questions; then `limits` more, which must be answered yes.
    weights : ndarray
        What each neuron of the last layer is worth.
    slopes : ndarray, shape (columns,)
    domain : Domain
    deeper : tuple of Layer
        The layers above the first.
    limits : int
    """

    neurons: tuple[Neuron, ...]
    weights: Floats
    slopes: Floats
    domain: Domain
    deeper: tuple[Layer, ...] = ()
    limits: int = 0

    @property
    def width(self) -> int:
        """Number of questions that count."""
        return len(self.neurons) - self.limits

    @property
    def columns(self) -> list[int]:
        """The columns that matter."""
        read = {column for neuron in self.neurons for column in neuron.projection.columns}
        return sorted(read | set(np.flatnonzero(self.slopes).tolist()))

    def answers(self, row: Floats) -> Floats:
        """Return how the questions and the limits answer a row, +-1."""
        return np.array([1.0 if neuron.fires(row[np.newaxis])[0] else -1.0 for neuron in self.neurons])

    def value(self, row: Floats) -> float:
        """Return what is made large, at a row."""
        answers = self.answers(row)[np.newaxis, : self.width]
        for layer in self.deeper:
            answers = layer.fire(answers)
        columns = np.flatnonzero(self.slopes)
        return float(answers[0] @ self.weights + row[columns] @ self.slopes[columns])

    def parts(self) -> Iterator[ScoreProblem]:
        """Yield problems that share no column and add up to this one."""
        if self.deeper:
            yield self
            return
        root = {column: column for column in self.columns}

        def find(column: int) -> int:
            while root[column] != column:
                column = root[column]
            return column

        for neuron in self.neurons:
            for column in neuron.projection.columns[1:]:
                root[find(column)] = find(neuron.projection.columns[0])
        for top in sorted({find(column) for column in root}):
            own = [k for k, neuron in enumerate(self.neurons)
                   if neuron.projection.columns and find(neuron.projection.columns[0]) == top]  # fmt: skip
            slopes = np.array([slope if j in root and find(j) == top else 0.0 for j, slope in enumerate(self.slopes)])
            kept = [k for k in own if k < self.width]
            yield replace(
                self, neurons=tuple(self.neurons[k] for k in own), weights=self.weights[kept], slopes=slopes,
                limits=len(own) - len(kept),
            )  # fmt: skip

    def bounded(self) -> ScoreProblem:
        """Return the problem with ends where a column has none: far beyond every threshold."""
        reach = np.zeros(len(self.slopes))
        for ends in (self.domain.low, self.domain.high):
            reach = np.maximum(reach, np.where(np.isfinite(ends), np.abs(ends), 0.0))
        for several in (False, True):
            known = reach.copy()
            for neuron in self.neurons:
                if (len(neuron.projection.columns) > 1) == several:
                    for column, away in _thrown(neuron, known):
                        reach[column] = max(reach[column], away)
        far = np.maximum(
            _FAR * (reach + 1.0), np.minimum(2.0 * _met(self.neurons, len(reach)), _FARTHEST * (reach + 1.0))
        )
        low = np.where(np.isfinite(self.domain.low), self.domain.low, np.minimum(-far, self.domain.high - far))
        high = np.where(np.isfinite(self.domain.high), self.domain.high, np.maximum(far, self.domain.low + far))
        return replace(self, domain=replace(self.domain, low=low, high=high))


def _met(neurons: Sequence[Neuron], count: int) -> Floats:
    """Return how far from 0 the thresholds of two questions about the same two numbers meet, by column."""
    found, lines = np.zeros(count), dict[tuple[int, ...], list[list[float]]]()
    for neuron in neurons:
        if len(neuron.projection.columns) == 2 and neuron.projection.numeric:
            lines.setdefault(neuron.projection.columns, []).append([*neuron.projection.factors, neuron.threshold])
    for columns, rows in lines.items():
        a, b, c = np.array(rows).T
        across = np.multiply.outer(a, b) - np.multiply.outer(b, a)
        for column, factor in zip(columns, (b, a), strict=True):
            met = np.abs(np.multiply.outer(c, factor) - np.multiply.outer(factor, c))
            met = np.divide(met, np.abs(across), out=np.zeros_like(met), where=across != 0)
            found[column] = max(found[column], float(met.max()))
    return found


def _thrown(neuron: Neuron, reach: Floats) -> Iterator[tuple[int, float]]:
    """Yield for every number that a neuron reads how far from 0 its threshold may lie."""
    pairs = list(zip(neuron.projection.columns, neuron.projection.coefficients, strict=True))
    sizes = [max(map(abs, each), default=0.0) if isinstance(each, tuple) else abs(each) * reach[j] for j, each in pairs]
    for (column, each), size in zip(pairs, sizes, strict=True):
        if not isinstance(each, tuple) and each != 0.0:
            yield column, (abs(neuron.threshold) + sum(sizes) - size) / abs(each)


def problem_of(network: Network, domain: Domain, sign: float) -> ScoreProblem:
    """Return the problem of a network's highest score, or of its lowest where `sign` is -1."""
    first, weights = network.layers[0], sign * network.output_weights
    slopes = np.zeros(network.n_inputs) if network.slopes is None else sign * network.slopes
    if network.depth > 1:
        return ScoreProblem(first.neurons, weights, slopes, domain, network.layers[1:])
    kept = [k for k in range(first.width) if weights[k] != 0.0]
    return ScoreProblem(tuple(first.neurons[k] for k in kept), weights[kept], slopes, domain)
