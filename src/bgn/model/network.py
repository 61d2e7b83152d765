"""Threshold networks as frozen values.

A :class:`Network` is a base value plus weighted yes/no questions. Every hidden neuron answers +1 when its projection
reaches its threshold and -1 otherwise (:func:`~bgn.model.step.step`); the output is linear. A network speaks the
original units of the columns it was built for, knows nothing of how it was made, and never changes.

A projection is summed over the columns that a neuron reads, in their order, one rounding per addition, so that a row
gives the same answer alone, in a block or in a table, and growth can place a threshold on the very numbers that
:meth:`Network.predict` will compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.model.above import ANSWERS
from bgn.model.decimals import whole_numbers
from bgn.model.devices import on_gpu as on_gpu
from bgn.model.layer import Layer, stacked
from bgn.model.linear_term import LinearTerm, ends_of, linear_terms_of
from bgn.model.link import LINKS, bounded, checked_link
from bgn.model.members import Members
from bgn.model.schema import Schema
from bgn.model.scores import raw_scores
from bgn.model.step import Bools, Floats, all_finite, any_output, frozen, shaped, sums_that_fit
from bgn.printable import quote_name


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Network:
    """A threshold network, in the original units of its columns.

    Parameters
    ----------
    layers : sequence of Layer
        The hidden layers, first one first; at least one. A layer of width 0 stands for "the base alone".
    output_weights : array_like, shape (width of the last layer,) or (that width, outputs)
        What each neuron of the last hidden layer adds when it fires, and takes away when it does not; one column per
        output where there are several.
    base : float, or array_like of shape (outputs,)
        The output's bias.
    feature_names : sequence of str, optional
        Names of the columns; ``x0, x1, ...`` in outputs when there are none.
    target_name : str, optional
        What is predicted.
    schema : Schema, optional
        The columns with their kinds, levels and units, instead of `feature_names` and `target_name`.
    link : {"identity", "logistic", "softmax"}, default "identity"
        What a score means: a number, the log-odds of "yes", or those of several classes.
    slopes : array_like, shape (n_inputs,) or (n_inputs, outputs), optional
        What each column adds per unit, beside the questions. With slopes a network is no longer binary activated.
    ranges : array_like, shape (n_inputs, 2), optional
        Between which values of each column its slope counts: a value beyond counts as the nearer end. None for no ends.
    bounds : (float or None, float or None), optional
        What predictions of a number do not go beyond: a score below the first predicts it, one above the second that.
    members : Members, optional
        The networks that it is the mean of; two networks are equal whatever these are.

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
    base: Any
    schema: Schema
    link: str
    slopes: Floats | None
    ranges: Floats | None
    bounds: tuple[float, float] | None
    members: Members | None

    def __init__(
        self,
        layers: Iterable[Layer],
        output_weights: ArrayLike,
        base: ArrayLike,
        feature_names: Sequence[str] | None = None,
        target_name: str | None = None,
        *,
        schema: Schema | None = None,
        link: str = "identity",
        slopes: ArrayLike | None = None,
        ranges: ArrayLike | None = None,
        bounds: tuple[float | None, float | None] | None = None,
        members: Members | None = None,
    ) -> None:
        layers = stacked(layers)
        if schema is None:
            schema = Schema.of_numbers(layers[0].n_inputs, feature_names, target_name)
        elif len(schema) != layers[0].n_inputs:
            raise ValueError(f"schema must have {layers[0].n_inputs} columns, as the first layer; got {len(schema)}.")
        ends = checked_link(link, bounds)
        weights = frozen(output_weights, "output_weights", *((2,) if link == "softmax" else (1,)))
        if len(weights) != layers[-1].width:
            wanted = f"one entry per neuron of the last layer ({layers[-1].width})"
            raise ValueError(f"output_weights must have {wanted}; got {len(weights)}.")
        bases = shaped(base, "base", weights.shape[1:])
        n_classes = 2 if link == "logistic" else bases.size if link == "softmax" else 0
        if schema.classes is not None and len(schema.classes) != n_classes:
            raise ValueError(
                f"schema names {len(schema.classes)} classes; a network with the link {link!r} tells {n_classes} apart."
            )
        sums_that_fit(bases, weights)
        steep = None if slopes is None else shaped(slopes, "slopes", (len(schema), *weights.shape[1:]))
        steep = steep if steep is not None and steep.any() else None
        vars(self).update(
            layers=layers, output_weights=weights, base=bases if bases.ndim else float(bases), schema=schema, link=link,
            slopes=steep, ranges=ends_of(ranges, steep), bounds=ends, members=members and members.of(weights.shape),
        )  # fmt: skip

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

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, made up (``x0, x1, ...``) when the network has none."""
        return self.schema.names

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns; None when there are none."""
        return self.schema.names if self.schema.named else None

    @property
    def target_name(self) -> str | None:
        """What is predicted."""
        return self.schema.target

    @property
    def n_weights(self) -> int:
        """Number of non-zero connection weights, hidden and output; biases do not count."""
        slopes = 0 if self.slopes is None else np.count_nonzero(self.slopes)
        return int(sum(layer.n_weights for layer in self.layers) + np.count_nonzero(self.output_weights) + slopes)

    @property
    def n_parameters(self) -> int:
        """Number of non-zero numbers: weights, biases, output weights, slopes and base."""
        biases = sum(np.count_nonzero(layer.bias) for layer in self.layers)
        return int(self.n_weights + biases + np.count_nonzero(self.base))

    @cached_property
    def features_used(self) -> tuple[int, ...]:
        """Columns that can reach the output through non-zero weights, in order."""
        alive = any_output(self.output_weights)
        for layer in reversed(self.layers):
            alive = layer.inputs_of(alive)
        if self.slopes is not None:
            alive = alive | any_output(self.slopes)
        return tuple(np.flatnonzero(alive).tolist())

    @property
    def max_features(self) -> int:
        """Most columns that any hidden neuron reads."""
        return max(layer.max_features for layer in self.layers)

    @property
    def plain(self) -> bool:
        """True for the paper's kind: one number, predicted from columns of numbers without gaps, by questions alone."""
        first = self.layers[0]
        whole = self.link == "identity" and self.slopes is None
        return whole and first.numeric and not first.takes_gaps and self.schema.all_numbers

    @cached_property
    def linear_terms(self) -> tuple[LinearTerm, ...]:
        """What columns add per unit, in the order in which it is added."""
        return linear_terms_of(self.slopes, self.ranges, self.schema)

    @cached_property
    def refuses_gaps(self) -> Bools:
        """Which columns a slope or a question has no answer for gaps of, unless they count as something.

        A category without levels that nothing is asked about is none of them: it is missing in every row.
        """
        refused = self.layers[0].refuses_gaps & ~self._never_asked
        return refused if self.slopes is None else refused | any_output(self.slopes)

    @cached_property
    def _never_asked(self) -> Bools:
        """The categories without levels that no question reads."""
        without = np.array([column.always_missing for column in self.schema.columns], dtype=bool)
        return without & ~self.layers[0].reads.any(axis=0) if without.any() else without

    # -- values --------------------------------------------------------------------------------------------

    def _rows(self, X: Any, encoded: bool = False, **reading: Any) -> Floats:
        """Return `X`, perhaps `encoded` by the schema already, as the first layer reads it, or say what is wrong."""
        typical = np.array([column.typical for column in self.schema.columns], np.float64)  # None is NaN
        rows = X if encoded else self.schema.encode(X, ~(self.refuses_gaps & np.isnan(typical)), **reading)
        if all_finite(rows):
            return rows
        gaps = np.isnan(rows) & self.layers[0].refuses_gaps
        return np.where(gaps, typical, rows) if gaps.any() else rows

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
            return ANSWERS["hidden"](self, X, layer)
        return self._hidden(self._rows(X), layer)

    def _hidden(self, values: Floats, layer: int = -1) -> Floats:
        for each in self.layers[: layer % self.depth + 1]:
            values = each.fire(values)
        return values

    def raw_score(self, X: Any) -> Floats:
        """Return base, slopes and questions added up for every row of a table `X`, before the link."""
        return self._raw_score(self._rows(X))

    def _raw_score(self, rows: Floats) -> Floats:
        return raw_scores(self, rows)

    @cached_property
    def summands(self) -> tuple[Floats, Floats, float]:
        """Base and output weights as whole numbers, and what to divide their sum by; as they are where 1.

        A sum of short decimals is then the float nearest to what they write, in any order.
        """
        numbers = np.vstack([np.atleast_2d(self.base), self.output_weights.reshape(-1, np.size(self.base))])
        found = None if self.slopes is not None else whole_numbers(numbers.ravel())
        if found is None:
            return np.asarray(self.base), self.output_weights, 1.0
        whole = found[0].reshape(-1, *np.shape(self.base))
        return whole[0], whole[1:], found[1]

    def predict(self, X: Any) -> Floats:
        """Return the predicted value of every row, within `bounds`; for a link other than the identity, probabilities.

        Parameters
        ----------
        X : array_like or frame, shape (rows, n_inputs)

        Returns
        -------
        ndarray of float64, shape (rows,) or (rows, outputs)
            For a CUDA tensor a tensor beside it, with the same bits.
        """
        if on_gpu(X):
            return ANSWERS["predict"](self, X)
        return self.linked(self.raw_score(X))

    def linked(self, scores: Floats) -> Floats:
        """Return what raw scores predict."""
        return bounded(LINKS[self.link](scores), self.bounds)

    def predict_encoded(self, rows: Floats, scores: bool = False) -> Floats:
        """Return what :meth:`predict`, or :meth:`raw_score`, says of rows that the schema has encoded."""
        found = self._raw_score(self._rows(rows, encoded=True))
        return found if scores else self.linked(found)

    def changed(self, **parts: Any) -> Network:
        """Return the same network but for some of its parts.

        Parameters
        ----------
        **parts
            Any that the constructor takes by these names; only a schema and bounds keep `members`.

        Examples
        --------
        >>> from bgn import Layer, Network
        >>> network = Network([Layer([[1.0]], [-65.5])], [0.5], 1.0, ["income"])
        >>> network.changed(base=2.0).predict([[70.0]])
        array([2.5])
        """
        own = ("layers", "output_weights", "base", "schema", "link", "slopes", "ranges", "bounds", "members")
        kept = own if parts.keys() <= {"schema", "bounds"} else own[:-1]
        return Network(**{name: getattr(self, name) for name in kept} | parts)

    def expanded(self) -> Network:
        """Return the network with the paper's plain weights and biases.

        A category becomes one 0/1 input per level, and a gap one more; :func:`bgn.model.expansion.expand` turns rows
        into such inputs. A network of numbers without gaps is returned as it is.
        """
        from bgn.model.expansion import expanded

        return expanded(self)

    # -- identity ------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return (
            (self.layers, self.schema, self.link, self.bounds) == (other.layers, other.schema, other.link, other.bounds)
            and np.array_equal(self.output_weights, other.output_weights)
            and np.array_equal(self.base, other.base)
            and np.array_equal(self.slopes, other.slopes)  # type: ignore[arg-type]  # None is equal to itself alone
            and np.array_equal(self.ranges, other.ranges)  # type: ignore[arg-type]
        )

    def __hash__(self) -> int:
        return hash((self.layers, self.output_weights.tobytes(), np.asarray(self.base).tobytes(), self.schema))

    def __repr__(self) -> str:
        used = self.features_used
        shown = ", ".join(quote_name(self.names[i], 60) for i in used[:6])
        shown += f" and {len(used) - 6} more" if len(used) > 6 else ""
        return (
            f"Network({self.n_inputs} inputs, widths {self.widths}, {self.n_parameters} non-zero parameters, "
            f"uses {shown or 'nothing but the base'})"
        )

    def _repr_html_(self) -> str:
        """Return the drawing that notebooks show."""
        return str(ANSWERS["picture"](self))
