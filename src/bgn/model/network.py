"""Threshold networks as frozen values.

A :class:`Network` is a base value plus weighted yes/no questions. Every hidden neuron answers +1 when its projection
reaches its threshold and -1 otherwise (:func:`~bgn.model.step.step`); the output is linear. A network speaks the
original units of the columns it was built for, knows nothing of how it was made, and never changes.

A projection is summed over the columns that a neuron reads, in their order, one rounding per addition, so that a row
gives the same answer alone, in a block or in a table, and growth can place a threshold on the very numbers that
:meth:`Network.predict` will compute.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.model.above import ANSWERS
from bgn.model.layer import Layer, Neuron, Projection, stacked
from bgn.model.linear_term import LinearTerm, as_slopes, ends_of, linear_terms_of
from bgn.model.link import LINKS, bounded, checked_link
from bgn.model.numbers import whole_numbers
from bgn.model.schema import Column, Schema, level_word
from bgn.model.step import Bools, Floats, all_finite, any_output, frozen, shaped, sums_that_fit
from bgn.text import quote_name

# -- Base, lines and questions of a network added up, a block of rows at a time.

# Rows of a block: what a processor holds close by.
_ROWS = 1 << 14
_FEWEST = 1 << 12
# Up to so many columns a block is copied, column by column, before questions read it.
_COPIED = 64


def raw_scores(network: Network, rows: Floats) -> Floats:
    """Return base, lines and questions added up, in a fixed order, for every row as the first layer reads it.

    Parameters
    ----------
    network : Network
    rows : ndarray of float64, shape (rows, n_inputs)

    Returns
    -------
    ndarray of float64, shape (rows,) or (rows, outputs)

    Examples
    --------
    >>> import numpy as np
    >>> from bgn import Layer, Network
    >>> from bgn.model.network import raw_scores
    >>> raw_scores(Network([Layer([[1.0]], [-65.5])], [0.5], 1.0), np.array([[70.0], [60.0]]))
    array([1.5, 0.5])
    """
    base, weights, over = network.summands
    total = np.empty((len(rows), *weights.shape[1:]))
    size = _ROWS if network.n_inputs <= _COPIED // 4 and network.depth == 1 else _FEWEST
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        block = np.asfortranarray(block) if network.n_inputs <= _COPIED else block
        sums = np.empty((*weights.shape[1:], len(block)))  # one contiguous sum per output
        sums.T[:] = base
        for term in network.linear_terms:
            sums += np.multiply.outer(term.slopes if sums.ndim > 1 else term.slopes[0], term.values(block))
        for fires, weight in zip(_fired(network, block), weights, strict=True):
            sums += np.where(fires, weight[..., np.newaxis], -weight[..., np.newaxis])
        total[start : start + size] = sums.T
    return total if over == 1.0 else np.divide(total, over, out=total)


def _fired(network: Network, block: Floats) -> Iterator[np.ndarray]:
    """Yield which rows of a block fire, neuron by neuron of the last layer."""
    *below, last = network.layers
    for layer in below:
        block = layer.fire(block)
    if last.dense:
        yield from last.fire(block).T > 0
    else:
        yield from (neuron.fires(block) for neuron in last.neurons)


# -- The networks that a network is the mean of: what each of them gives the questions, and how far they lie apart.

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
    >>> from bgn.model.network import Members
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

        A category becomes one 0/1 input per level, and a gap one more; :func:`bgn.model.network.expand` turns rows
        into such inputs. A network of numbers without gaps is returned as it is.
        """
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


# -- Where a table is: in memory, or on a GPU.


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


# -- A network with categories and gaps as the paper's plain matrices over 0/1 inputs.

# Outweighs whatever the other columns of a neuron add up to.
_DECIDES = 2.0**1000


def expanded(network: Network) -> Network:
    """Return the network that says of :func:`expand`\\ 's rows what `network` says of the rows themselves.

    Parameters
    ----------
    network : Network

    Returns
    -------
    Network
        Of plain weights and biases; `network` itself where it has neither categories nor gaps.

    Examples
    --------
    >>> from bgn import Layer, Network
    >>> from bgn.model.layer import Neuron, Projection
    >>> from bgn.model.schema import Column, Schema, level_word
    >>> layer = Layer.of([Neuron(Projection((0,), ((0.0, 1.0),)), 1.0, missing=True)], 1)
    >>> network = Network([layer], [0.5], 1.0, schema=Schema((Column("city", levels=("Lille", "Nice")),)))
    >>> plain = expanded(network)
    >>> plain.names
    ('city = Lille', 'city = Nice', 'city is missing')
    >>> X = [["Nice"], ["Lille"], [None]]
    >>> network.predict(X), plain.predict(expand(network, X))
    (array([1.5, 0.5, 1.5]), array([1.5, 0.5, 1.5]))
    """
    first, gaps = network.layers[0], network.layers[0].takes_gaps
    if first.numeric and not gaps and network.schema.all_numbers:
        return network
    columns: list[Column] = []
    starts: list[int] = []
    for column in network.schema.columns:
        starts.append(len(columns))
        if column.levels is None:
            columns.append(column)
        for level in column.levels or ():
            columns.append(Column(f"{column.name} = {level_word(level)}", level_of=(column.name, level)))
        columns += [Column(f"{column.name} is missing")] * gaps
    weights = np.zeros((first.width, len(columns)))
    for row, neuron in zip(weights, first.neurons, strict=True):
        projection = neuron.projection
        for place, (j, coefficient) in enumerate(zip(projection.columns, projection.coefficients, strict=True)):
            values = np.atleast_1d(coefficient)
            row[starts[j] : starts[j] + len(values)] = values
            if projection.gaps is not None:
                gap = projection.gaps[place]
                row[starts[j] + len(values)] = gap if isinstance(coefficient, tuple) else gap * (coefficient or 1.0)
            elif gaps:
                row[starts[j] + len(values)] = _DECIDES if neuron.missing else -_DECIDES
    schema = replace(network.schema, columns=tuple(columns), named=True)
    layers = (Layer.of(map(_neuron, weights, first.neurons), len(columns)), *network.layers[1:])
    straight: dict[str, Any] = as_slopes(_straight(network, starts), len(columns), np.shape(network.base))
    straight |= {"link": network.link, "bounds": network.bounds}
    return Network(layers, network.output_weights, network.base, schema=schema, **straight)


def _straight(network: Network, starts: list[int]) -> list[LinearTerm]:
    """Return the linear terms over the expanded columns: a gap is a zero there, and its mark makes up for that."""
    found = []
    for term in network.linear_terms:
        found.append(replace(term, column=starts[term.column]))
        nothing, gap = term.between(np.array([0.0, np.nan])).tolist()
        if network.layers[0].takes_gaps and not network.layers[0].refuses_gaps[term.column]:
            slopes = tuple(slope * (gap - nothing) for slope in term.slopes)
            found.append(LinearTerm(starts[term.column] + 1, slopes))
    return found


def _neuron(weights: Floats, neuron: Neuron) -> Neuron:
    """Return a neuron with these weights, which are added up in order, and the threshold of another."""
    used = np.flatnonzero(weights)
    return Neuron(Projection(tuple(used.tolist()), tuple(weights[used].tolist())), neuron.threshold)


def expand(network: Network, X: Any) -> Floats:
    """Return rows as the inputs of the expanded network.

    Parameters
    ----------
    network : Network
        The network that `X` belongs to, not the expanded one.
    X : array_like or frame

    Returns
    -------
    ndarray of float64
    """
    rows, gaps = network._rows(X), network.layers[0].takes_gaps
    if network.layers[0].numeric and not gaps and network.schema.all_numbers:
        return rows
    parts = []
    for values, column in zip(rows.T, network.schema.columns, strict=True):
        gap = np.isnan(values)
        if column.levels is None:
            parts.append(np.where(gap, 0.0, values))
        else:
            parts += [(values == code).astype(np.float64) for code in range(len(column.levels))]
        if gaps:
            parts.append(gap.astype(np.float64))
    return np.stack(parts, axis=1) if parts else np.zeros((len(rows), 0))


# -- What an expert changed in a network: a line of the log that goes with it.


@dataclass(frozen=True)
class Edit:
    """What one change was, and what it did: a line of the log that is saved with a model.

    Attributes
    ----------
    what : str
        The change in words.
    why : str
        The expert's reason; empty where none was given.
    rows : int
        Rows that it was tried on.
    changed : int
        Rows whose prediction changed.
    decisions : int or None
        Rows whose decision changed, where there is a cutoff.
    before, after : float or None
        Mean squared error, or mean log loss of a probability, before and after; None without targets.
    """

    what: str
    why: str = ""
    rows: int = 0
    changed: int = 0
    decisions: int | None = None
    before: float | None = None
    after: float | None = None
