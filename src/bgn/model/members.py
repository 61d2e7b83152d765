"""The networks that a network is the mean of: what each of them gives the questions, and how far they lie apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bgn.model.linear_term import ends_of, linear_terms_of
from bgn.model.step import Floats, any_output, frozen

if TYPE_CHECKING:
    from bgn.model.network import Network

_MOST_ANSWERS = 1 << 22  # of neurons that are kept at a time


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Members:
    """What the networks behind a mean give its questions, one row per network.

    Parameters
    ----------
    weights : array_like, shape (networks, width) or (networks, width, outputs)
        The output weight of every neuron of the mean's last layer in every network; 0 where a network does not ask it.
    bases : array_like, shape (networks,) or (networks, outputs)
        Their bases.
    slopes : array_like, shape (networks, columns) or (networks, columns, outputs), optional
        What a column adds per unit in every network, where there are slopes.
    ranges : array_like, shape (columns, 2), optional
        Between which values of each column its slope counts, in all networks. None for no ends.

    Examples
    --------
    >>> from bgn.model.members import Members
    >>> members = Members([[0.5, 0.0], [0.0, 1.5]], [1.0, 2.0])
    >>> len(members), float(members.standard_error([4.0, 6.0]).round(3))
    (2, 1.414)
    """

    weights: Floats
    bases: Floats
    slopes: Floats | None
    ranges: Floats | None

    def __init__(self, weights: Any, bases: Any, slopes: Any = None, ranges: Any = None) -> None:
        bases = frozen(bases, "bases", 1, 2)
        vars(self).update(
            weights=frozen(weights, "weights", bases.ndim + 1), bases=bases,
            slopes=None if slopes is None else frozen(slopes, "slopes", bases.ndim + 1),
            ranges=None if slopes is None else ends_of(ranges, np.any(slopes, axis=0)),
        )  # fmt: skip

    def of(self, shape: tuple[int, ...]) -> Members:
        """Return the same, if they go with output weights of this shape."""
        if self.weights.shape[1:] != shape:
            raise ValueError(f"members must have weights of shape {shape} each; got {self.weights.shape[1:]}.")
        return self

    def __len__(self) -> int:
        return len(self.bases)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Members):
            return NotImplemented
        names = ("weights", "bases", "slopes", "ranges")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def __repr__(self) -> str:
        return f"Members({len(self)} networks)"

    def standard_error(self, values: Any) -> Any:
        """Return the standard error of a figure from its value in every network, along the first axis.

        It is their standard deviation: how far one network, which learnt from some of the rows, lies from another. The
        mean of them would vary less, were all rows drawn anew: ``python -m benchmarks.accurate spread`` finds the error
        told to be 1.4 times that, and about as far as the mean lies from the truth.

        Parameters
        ----------
        values : array_like, shape (networks, ...)

        Returns
        -------
        ndarray of float64, or float
            NaN where there is but one network.
        """
        values = np.asarray(values, np.float64)
        if len(values) < 2:
            return np.full(values.shape[1:], np.nan)
        return np.std(values, axis=0, ddof=1)

    def networks(self, mean: Network) -> list[Network]:
        """Return every network by itself; with one hidden layer, without the questions that it does not ask."""
        slopes = [None] * len(self) if self.slopes is None else self.slopes
        found = []
        for weights, base, lines in zip(self.weights, self.bases, slopes, strict=True):
            layers, asked = mean.layers, any_output(weights)
            if mean.depth == 1:
                layers, weights = (layers[0].only(np.flatnonzero(asked)),), weights[asked]
            parts = {"slopes": lines, "ranges": self.ranges}
            found.append(mean.changed(layers=layers, output_weights=weights, base=base, **parts))
        return found

    def scores(self, mean: Network, rows: Floats) -> Floats:
        """Return what every network gives rows as the mean reads them, before the link.

        Parameters
        ----------
        mean : Network
        rows : ndarray, shape (rows, columns)

        Returns
        -------
        ndarray of float64, shape (networks, rows) or (networks, rows, outputs)
        """
        at_once = max(1, _MOST_ANSWERS // max(mean.widths[-1], 1))
        blocks = [rows[k : k + at_once] for k in range(0, max(len(rows), 1), at_once)]
        return np.concatenate([self._scores(mean, block) for block in blocks], axis=1)

    def prediction_error(self, mean: Network, rows: Floats, scores: bool = False) -> Floats:
        """Return the standard error of the prediction, or of the score, of rows as the mean reads them.

        Parameters
        ----------
        mean : Network
        rows : ndarray, shape (rows, columns)
        scores : bool, default False
            Of raw scores rather than of predictions.

        Returns
        -------
        ndarray of float64, shape (rows,) or (rows, outputs)
        """
        found = self.scores(mean, rows)
        if not scores:
            found = np.stack([mean.linked(each) for each in found])
        return np.asarray(self.standard_error(found))

    def _scores(self, mean: Network, rows: Floats) -> Floats:
        answers = mean._hidden(rows)
        found = np.stack([answers @ weights for weights in self.weights]) + self.bases[:, np.newaxis]
        if self.slopes is None:
            return found
        lines = linear_terms_of(np.any(self.slopes, axis=0), self.ranges, mean.schema)
        where = [line.column for line in lines]
        values = np.stack([line.values(rows) for line in lines], axis=1)
        return found + np.stack([values @ slopes[where] for slopes in self.slopes])
