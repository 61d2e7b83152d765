"""Models as frozen values: an intercept plus weighted terms.

A :class:`Network` adds the weight of every term times what the term is worth (:mod:`bgn.model.term`) to an intercept,
for one output or several: weights always have the shape (terms, outputs). It speaks the original units of the columns
that it was built for, knows nothing of how it was made, and never changes.

The paper's networks are the same: a neuron of the last hidden layer is a rule that is worth +1 or -1, and a deep
network has hidden layers below, whose answers its rules read. :attr:`Network.layers` shows any network without linear
terms as the paper has it.

Sums are added up in the order of the terms, one rounding per addition, so that a row gives the same prediction alone,
in a block or in a table, and growth can place a threshold on the very numbers that :meth:`Network.predict` will
compute.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.model.layer import Layer, stacked
from bgn.model.link import LINKS, bounded, checked_link
from bgn.model.numbers import whole_numbers
from bgn.model.schema import Column, Schema, category_name
from bgn.model.step import Bools, Floats, all_finite, frozen
from bgn.model.term import Linear, Member, Oblique, Projection, Rule, Term, Threshold, condition_of
from bgn.text import quote_name

# Rows of a block: what a processor holds close by.
_ROWS = 1 << 14
_FEWEST = 1 << 12
# Up to so many columns a block is copied, column by column, before rules read it.
_COPIED = 64
# From so many columns per rule on, on average, all rules are answered by one matrix product.
_DENSE = 16


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Network:
    """An intercept plus weighted terms, in the original units of the columns.

    Parameters
    ----------
    intercept : float, or array_like of shape (outputs,)
        The score where no term counts.
    terms : sequence of Rule or Linear
        What is added up, in this order.
    coef : array_like, shape (terms,) or (terms, outputs)
        The weight of every term in every output.
    feature_names : sequence of str, optional
        Names of the columns; ``x0, x1, ...`` in outputs when there are none.
    target_name : str, optional
        What is predicted.
    schema : Schema, optional
        The columns with their kinds, categories and units, instead of `feature_names` and `target_name`.
    link : {"identity", "logistic", "softmax"}, default "identity"
        What a score means: a number, the log-odds of "yes", or those of several classes.
    bounds : (float or None, float or None), optional
        What predictions of a number do not go beyond: a score below the first predicts it, one above the second that.
    below : sequence of Layer, optional
        Of a deep network the hidden layers, first one first, whose +-1 answers the rules read in place of columns.
    members : Ensemble, optional
        The networks that it is the mean of; two networks are equal whatever these are.

    Examples
    --------
    Worth 1.5 on incomes of 65.5 and more, 0.5 below:

    >>> from bgn import Network, Rule, Threshold
    >>> network = Network(0.5, [Rule(Threshold(0, 65.5))], [1.0], feature_names=["income", "age"])
    >>> network.predict([[65.5, 30.0], [20.0, 30.0]])
    array([1.5, 0.5])
    >>> network
    Network(2 inputs, widths (1,), 4 non-zero parameters, uses income)
    """

    intercept: Floats
    terms: tuple[Term, ...]
    coef: Floats
    schema: Schema
    link: str
    bounds: tuple[float, float] | None
    below: tuple[Layer, ...]
    members: Ensemble | None

    def __init__(
        self,
        intercept: ArrayLike,
        terms: Iterable[Term],
        coef: ArrayLike,
        feature_names: Sequence[str] | None = None,
        target_name: str | None = None,
        *,
        schema: Schema | None = None,
        link: str = "identity",
        bounds: tuple[float | None, float | None] | None = None,
        below: Iterable[Layer] = (),
        members: Ensemble | None = None,
    ) -> None:
        terms = tuple(terms)
        if not all(isinstance(term, Rule | Linear) for term in terms):
            raise ValueError("terms must be bgn.Rule and bgn.Linear values.")
        layers = stacked(below) if below else ()
        n_inputs = max((column for term in terms for column in term.columns), default=-1) + 1
        if schema is not None or feature_names is not None:
            n_inputs = len(feature_names or () if schema is None else schema)
        schema = _schema_of(layers[0].n_inputs if layers else n_inputs, schema, feature_names, target_name)
        ends = checked_link(link, bounds)
        bases = np.atleast_1d(frozen(intercept, "intercept", 0, 1))
        weights = frozen(coef, "coef", 1, 2)
        if weights.ndim == 1 and (len(bases) == 1 or not len(terms)):
            weights = frozen(weights.reshape(-1, len(bases)), "coef", 2)
        if weights.shape != (len(terms), len(bases)):
            raise ValueError(
                f"coef must have one row per term ({len(terms)}) and one column per output ({len(bases)}); "
                f"got shape {weights.shape}."
            )
        if link != "softmax" and len(bases) != 1:
            raise ValueError(f"a network with the link {link!r} has one output; got an intercept of {len(bases)}.")
        readable = {Rule: layers[-1].width if layers else len(schema), Linear: len(schema)}
        for term in terms:
            if any(not 0 <= column < readable[type(term)] for column in term.columns):
                raise ValueError(f"a term must read columns below {readable[type(term)]}; got {term}.")
        n_classes = 2 if link == "logistic" else len(bases) if link == "softmax" else 0
        if schema.classes is not None and len(schema.classes) != n_classes:
            raise ValueError(
                f"schema names {len(schema.classes)} classes; a network with the link {link!r} tells {n_classes} apart."
            )
        with np.errstate(over="ignore"):
            if not np.isfinite(np.abs(bases) + np.abs(weights).sum(axis=0)).all():
                raise ValueError(
                    "output_weights and base must add up to a number that float64 can hold, signs left aside, or "
                    "predictions would be infinite. Rescale the target."
                )
        if members is not None and members.coef.shape[1:] != weights.shape:
            raise ValueError(f"members must have weights of shape {weights.shape} each; got {members.coef.shape[1:]}.")
        vars(self).update(
            intercept=bases, coef=weights, schema=schema, link=link, bounds=ends, below=layers,
            terms=tuple(_with_schema(term, schema, bool(layers)) for term in terms),
            members=members,
        )  # fmt: skip

    @classmethod
    def of_layers(
        cls,
        layers: Iterable[Layer],
        output_weights: ArrayLike,
        base: ArrayLike,
        feature_names: Sequence[str] | None = None,
        target_name: str | None = None,
        *,
        schema: Schema | None = None,
        **parts: Any,
    ) -> Network:
        """Return the network of the paper's layers, whose last one is added up.

        Parameters
        ----------
        layers : sequence of Layer
            The hidden layers, first one first; at least one. A layer of width 0 stands for "the base alone".
        output_weights : array_like, shape (width of the last layer,) or (that width, outputs)
            What each neuron of the last hidden layer adds when it fires, and takes away when it does not.
        base : float, or array_like of shape (outputs,)
            The output's bias.
        feature_names, target_name, schema, **parts
            As in the constructor.

        Examples
        --------
        >>> from bgn import Layer, Network
        >>> network = Network.of_layers([Layer([[1.0, 0.0]], [-65.5])], [0.5], 1.0, feature_names=["income", "age"])
        >>> network.predict([[65.5, 30.0], [20.0, 30.0]])
        array([1.5, 0.5])
        """
        layers = stacked(layers)
        schema = _schema_of(layers[0].n_inputs, schema, feature_names, target_name)
        weights = frozen(output_weights, "output_weights", *((2,) if parts.get("link") == "softmax" else (1, 2)))
        if len(weights) != layers[-1].width:
            wanted = f"one entry per neuron of the last layer ({layers[-1].width})"
            raise ValueError(f"output_weights must have {wanted}; got {len(weights)}.")
        bases = frozen(base, "base", weights.ndim - 1)
        if bases.shape != weights.shape[1:]:
            raise ValueError(f"base must have shape {weights.shape[1:]}; got {bases.shape}.")
        deep = len(layers) > 1
        rules = [Rule((condition if deep else condition_of(condition),), -1.0) for condition in layers[-1].neurons]
        network = cls(bases, rules, weights.reshape(-1, bases.size), schema=schema, below=layers[:-1], **parts)
        if network._dense:
            vars(network)["layers"] = layers
        return network

    # -- shape ---------------------------------------------------------------------------------------------

    @property
    def n_inputs(self) -> int:
        """Number of columns the network reads."""
        return len(self.schema)

    @property
    def n_outputs(self) -> int:
        """Number of scores: one, or one per class where there are more than two."""
        return len(self.intercept)

    @property
    def n_conditions(self) -> int:
        """Size: how many conditions a reader reads; a linear term counts as one."""
        below = sum(condition.size for layer in self.below for condition in layer.neurons)
        return below + sum(term.size for term in self.terms)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The terms that are rules, in order."""
        return tuple(term for term in self.terms if isinstance(term, Rule))

    @cached_property
    def _linear_places(self) -> list[int]:
        return [k for k, term in enumerate(self.terms) if isinstance(term, Linear) and self.coef[k].any()]

    @cached_property
    def linear(self) -> tuple[Linear, ...]:
        """The linear terms that have a weight, in order."""
        return tuple(self.terms[k] for k in self._linear_places)  # type: ignore[misc]

    @cached_property
    def rule_coef(self) -> Floats:
        """The weights of the rules, shape (rules, outputs)."""
        return self.coef[[isinstance(term, Rule) for term in self.terms]].reshape(-1, self.n_outputs)

    @cached_property
    def linear_coef(self) -> Floats:
        """The weights of the linear terms, shape (linear terms, outputs)."""
        return self.coef[self._linear_places]

    @cached_property
    def gains(self) -> Floats:
        """How much higher each rule makes the score where it holds than where it does not, shape (rules, outputs)."""
        return self.rule_coef * np.array([1.0 - rule.otherwise for rule in self.rules]).reshape(-1, 1)

    @cached_property
    def resting_score(self) -> Floats:
        """The score where no rule holds, linear terms left out, shape (outputs,)."""
        otherwise = np.array([rule.otherwise for rule in self.rules]).reshape(-1, 1)
        return self.intercept + (otherwise * self.rule_coef).sum(axis=0)

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The hidden layers as the paper has them, first one first: the last one's neurons are the rules.

        Where a rule has several conditions, these are a layer of their own, and a neuron above it fires where all hold.
        """
        if not self._joins:
            n_inputs = self.below[-1].width if self.below else self.n_inputs
            return (*self.below, Layer.of([rule.conditions[0].as_oblique() for rule in self.rules], n_inputs))
        obliques = [[condition.as_oblique() for condition in rule.conditions] for rule in self.rules]
        places = {one: k for k, one in enumerate(dict.fromkeys(one for own in obliques for one in own))}
        joined = []
        for own in obliques:
            read = sorted(places[one] for one in own)
            joined.append(Oblique(Projection(tuple(read), (1.0,) * len(read)), len(read) - 1.0))
        return Layer.of(places, self.n_inputs), Layer.of(joined, len(places))

    @cached_property
    def _joins(self) -> bool:
        """Whether some rule has several conditions."""
        return any(len(rule.conditions) > 1 for rule in self.rules)

    @property
    def widths(self) -> tuple[int, ...]:
        """Width of every hidden layer, first one first."""
        return tuple(layer.width for layer in self.layers)

    @property
    def depth(self) -> int:
        """Number of hidden layers; rules of several conditions count as a second one."""
        return len(self.below) + 1 + self._joins

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
        return int(sum(layer.n_weights for layer in self.layers) + np.count_nonzero(self.coef))

    @property
    def n_parameters(self) -> int:
        """Number of non-zero numbers: weights, biases, output weights and intercept."""
        biases = sum(np.count_nonzero(layer.bias) for layer in self.layers)
        return int(self.n_weights + biases + np.count_nonzero(self.intercept))

    @cached_property
    def features_used(self) -> tuple[int, ...]:
        """Columns that can reach the output through non-zero weights, in order."""
        alive = np.asarray(self.rule_coef.any(axis=1))
        for layer in reversed(self.layers):
            alive = layer.inputs_of(alive)
        alive[[term.column for term in self.linear]] = True
        return tuple(np.flatnonzero(alive).tolist())

    @property
    def max_features(self) -> int:
        """Most columns that any hidden neuron reads."""
        return max(layer.max_features for layer in self.layers)

    @property
    def plain(self) -> bool:
        """True for the paper's kind: one number, predicted from columns of numbers without missing ones, by rules."""
        first = self.layers[0]
        whole = self.link == "identity" and len(self.rules) == len(self.terms)
        return whole and first.numeric and not first.takes_missing and self.schema.all_numbers

    @cached_property
    def refuses_missing(self) -> Bools:
        """Which columns a term has no answer for missing values of, unless they count as something.

        A categorical column without categories that no rule reads is none of them: it is missing in every row.
        """
        refused = self.layers[0].refuses_missing & ~self._never_read
        refused[[term.column for term in self.terms if isinstance(term, Linear)]] = True
        return refused

    @cached_property
    def _never_read(self) -> Bools:
        """The categorical columns without categories that no rule reads."""
        empty = np.array([column.always_missing for column in self.schema.columns], dtype=bool)
        return empty & ~self.layers[0].reads.any(axis=0) if empty.any() else empty

    # -- values --------------------------------------------------------------------------------------------

    def _rows(self, X: Any, encoded: bool = False, **reading: Any) -> Floats:
        """Return `X`, perhaps `encoded` by the schema already, as the first layer reads it, or say what is wrong."""
        typical = np.array([column.typical for column in self.schema.columns], np.float64)  # None is NaN
        rows = X if encoded else self.schema.encode(X, ~(self.refuses_missing & np.isnan(typical)), **reading)
        if all_finite(rows):
            return rows
        filled = np.isnan(rows) & self.layers[0].refuses_missing
        return np.where(filled, typical, rows) if filled.any() else rows

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
            from bgn.model import gpu  # torch is loaded already

            return gpu.hidden(self, X, layer)  # type: ignore[return-value]
        values = self._rows(X)
        for one in self.layers[: layer % self.depth + 1]:
            values = one.fire(values)
        return values

    @cached_property
    def _dense(self) -> bool:
        """True where all rules are answered by one matrix product, because they read many columns each."""
        sums = [rule.conditions[0] for rule in self.rules if len(rule.conditions) == 1]
        read = sum(len(condition.columns) for condition in sums)
        return len(sums) == len(self.rules) < read / _DENSE and self.layers[-1].dense

    def _holding(self, rows: Floats) -> Iterator[Bools]:
        """Yield on which rows a rule holds, rule by rule."""
        for layer in self.below:
            rows = layer.fire(rows)
        if self._dense:
            yield from self.layers[-1].fire(rows).T > 0
        else:
            yield from (rule.holds(rows) for rule in self.rules)

    def term_values(self, rows: Floats) -> Iterator[Floats]:
        """Yield what a term is worth on rows as the network reads them, term by term."""
        holding = self._holding(rows)
        for term in self.terms:
            yield np.where(next(holding), 1.0, term.otherwise) if isinstance(term, Rule) else term.values(rows)

    def scores(self, rows: Floats) -> Floats:
        """Return intercept and weighted terms added up, for rows as the network reads them, shape (rows, outputs)."""
        total = np.empty((len(rows), self.n_outputs))
        size = _ROWS if self.n_inputs <= _COPIED // 4 and not self.below else _FEWEST
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            block = np.asfortranarray(block) if self.n_inputs <= _COPIED else block
            total[start : start + size] = self.scores_where(self._holding(block), len(block), block)
        return total

    def scores_where(self, holding: Iterable[Bools], count: int, rows: Floats | None = None) -> Floats:
        """Return the scores of rows, given on which each rule holds; without `rows`, linear terms are left out."""
        intercept, coef, over = self.addends
        sums = np.empty((len(intercept), count))  # one contiguous sum per output
        sums.T[:] = intercept
        rules = iter(holding)
        for term, weights in zip(self.terms, coef[:, :, np.newaxis], strict=True):
            if isinstance(term, Rule):
                sums += np.where(next(rules), weights, term.otherwise * weights)
            elif rows is not None:
                sums += weights * term.values(rows)
        return sums.T if over == 1.0 else sums.T / over

    @cached_property
    def addends(self) -> tuple[Floats, Floats, float]:
        """Intercept and weights as whole numbers, and what to divide their sum by; as they are where 1."""
        # A sum of short decimals is then the float nearest to what they write, in any order.
        whole = None if len(self.rules) < len(self.terms) else whole_numbers(np.append(self.intercept, self.coef))
        if whole is None:
            return self.intercept, self.coef, 1.0
        return whole[0][: self.n_outputs], whole[0][self.n_outputs :].reshape(self.coef.shape), whole[1]

    def raw_score(self, X: Any) -> Floats:
        """Return intercept and weighted terms added up for every row, before the link.

        Parameters
        ----------
        X : array_like or frame, shape (rows, n_inputs)

        Returns
        -------
        ndarray of float64, shape (rows,), or (rows, classes) where there are more than two
        """
        return self._raw_score(self._rows(X))

    def _raw_score(self, rows: Floats) -> Floats:
        scores = self.scores(rows)
        return scores if self.link == "softmax" else scores[:, 0]

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
            from bgn.model import gpu  # torch is loaded already

            return gpu.predict(self, X)  # type: ignore[return-value]
        return self.linked(self.raw_score(X))

    def linked(self, scores: Floats) -> Floats:
        """Return what raw scores predict."""
        return bounded(LINKS[self.link](scores), self.bounds)

    def predict_encoded(self, rows: Floats, scores: bool = False) -> Floats:
        """Return what :meth:`predict`, or :meth:`raw_score`, says of rows that the schema has encoded."""
        raw = self._raw_score(self._rows(rows, encoded=True))
        return raw if scores else self.linked(raw)

    def changed(self, **parts: Any) -> Network:
        """Return the same network but for some parts of the constructor; only a schema and bounds keep `members`.

        Examples
        --------
        >>> from bgn import Network, Rule, Threshold
        >>> network = Network(0.5, [Rule(Threshold(0, 65.5))], [1.0], ["income"])
        >>> network.changed(intercept=2.0).predict([[70.0]])
        array([3.])
        """
        old = ("layers", "output_weights", "base")
        if parts.keys() & set(old):
            kept = (*old, "schema", "link", "bounds")
            rules = Network.of_layers(**{name: getattr(self, name) for name in kept} | parts)
            return rules.with_linear(self.linear, self.linear_coef) if self.linear else rules
        if len(parts.get("schema", self.schema)) != self.n_inputs and "terms" not in parts:
            raise ValueError(f"schema must have {self.n_inputs} columns, as before; got {len(parts['schema'])}.")
        own = {"intercept", "terms", "coef", "schema", "link", "bounds", "below", "members"}
        own -= set() if parts.keys() <= {"schema", "bounds"} else {"members"}
        return Network(**{name: getattr(self, name) for name in own} | parts)

    def with_linear(self, terms: Sequence[Linear] = (), coef: ArrayLike = ()) -> Network:
        """Return the same rules with these linear terms before them, instead of its own.

        Examples
        --------
        >>> from bgn import Linear, Network, Rule, Threshold
        >>> network = Network(0.5, [Rule(Threshold(0, 65.5))], [1.0], ["income"])
        >>> network.with_linear([Linear(0, high=100.0)], [0.25]).predict([[70.0], [104.0]])
        array([19. , 26.5])
        """
        weights = frozen(coef, "coef", 1, 2).reshape(len(terms), self.n_outputs)
        return self.changed(terms=[*terms, *self.rules], coef=np.concatenate([weights, self.rule_coef]))

    def expanded(self) -> Network:
        """Return the network with the paper's plain weights and biases, which predicts the same of :func:`expand`.

        A categorical column becomes one 0/1 input per category, and a missing value one more. A network of numbers
        without missing values is returned as it is.

        Examples
        --------
        >>> from bgn import Member, Network, Rule
        >>> from bgn.model.network import expand
        >>> from bgn.model.schema import Column, Schema
        >>> schema = Schema((Column("city", categories=("Lille", "Nice")),))
        >>> network = Network(0.5, [Rule(Member(0, (1,), missing=True))], [1.0], schema=schema)
        >>> plain = network.expanded()
        >>> plain.names
        ('city = Lille', 'city = Nice', 'city is missing')
        >>> X = [["Nice"], ["Lille"], [None]]
        >>> network.predict(X), plain.predict(expand(network, X))
        (array([1.5, 0.5, 1.5]), array([1.5, 0.5, 1.5]))
        """
        return _expanded(self)

    # -- as the paper has it: what a neuron adds where it fires, and takes away where it does not -----------------

    @property
    def output_weights(self) -> Floats:
        whole = np.array([rule.otherwise for rule in self.rules]).reshape(-1, 1)
        half = np.where(whole, self.rule_coef, self.rule_coef / 2.0)
        return half if self.link == "softmax" else half[:, 0]

    @property
    def base(self) -> Any:
        rests = np.array([rule.otherwise == 0.0 for rule in self.rules], dtype=bool)
        base = self.intercept + (self.rule_coef[rests] / 2.0).sum(axis=0) if rests.any() else self.intercept
        return base if self.link == "softmax" else float(base[0])

    # -- identity ------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        names = ("below", "terms", "schema", "link", "bounds")
        return (
            all(getattr(self, name) == getattr(other, name) for name in names)
            and np.array_equal(self.coef, other.coef)
            and np.array_equal(self.intercept, other.intercept)
        )

    def __hash__(self) -> int:
        return hash((self.terms, self.coef.tobytes(), self.intercept.tobytes(), self.schema))

    def __repr__(self) -> str:
        used = self.features_used
        shown = ", ".join(quote_name(self.names[i], 60) for i in used[:6])
        shown += f" and {len(used) - 6} more" if len(used) > 6 else ""
        return (
            f"Network({self.n_inputs} inputs, widths {self.widths}, {self.n_parameters} non-zero parameters, "
            f"uses {shown or 'nothing but the base'})"
        )

    def _repr_html_(self) -> str:
        from bgn.report.svg import picture  # the one thing that a network asks of a room above

        return str(picture(self))


def _schema_of(
    n_inputs: int, schema: Schema | None, feature_names: Sequence[str] | None, target_name: str | None
) -> Schema:
    if schema is None:
        return Schema.of_numbers(n_inputs, feature_names, target_name)
    if len(schema) != n_inputs:
        raise ValueError(f"schema must have {n_inputs} columns, as the first layer; got {len(schema)}.")
    return schema


def _with_schema(term: Term, schema: Schema, deep: bool) -> Term:
    """Return a term that knows of its columns what the schema does, or say which category there is not."""
    if isinstance(term, Linear):
        typical = schema.columns[term.column].typical
        return term if term.missing == typical else replace(term, missing=typical)
    if deep:  # whose rules read the layer below
        return term
    conditions = list(term.conditions)
    for k, condition in enumerate(conditions):
        if isinstance(condition, Oblique) or schema.columns[condition.column].categories is None:
            continue
        column = schema.columns[condition.column]
        if isinstance(condition, Threshold):
            raise ValueError(f"{column.name!r} is a categorical column; compare it by bgn.Member; got {condition}.")
        count = len(column.categories or ())
        if isinstance(condition, Member) and not all(0 <= code < count for code in condition.categories):
            raise ValueError(f"categories must be numbers below {count}, as {column.name!r} has; got {condition}.")
        conditions[k] = condition if condition.n_categories == count else replace(condition, n_categories=count)
    return term if tuple(conditions) == term.conditions else replace(term, conditions=tuple(conditions))


# -- The networks that a network is the mean of: what each of them gives the terms, and how far they lie apart.

_MOST_ANSWERS = 1 << 22  # of terms that are kept at a time


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Ensemble:
    """What the networks behind a mean give its terms, one row per network; 0 where one does not have a term.

    The intercept has the shape (networks, outputs), and `coef` the shape (networks, terms, outputs).

    Examples
    --------
    >>> from bgn.model.network import Ensemble
    >>> ensemble = Ensemble([[1.0], [2.0]], [[[0.5], [0.0]], [[0.0], [1.5]]])
    >>> len(ensemble), float(ensemble.standard_error([4.0, 6.0]).round(3))
    (2, 1.414)
    """

    intercept: Floats
    coef: Floats

    def __init__(self, intercept: Any, coef: Any) -> None:
        vars(self).update(intercept=frozen(intercept, "intercept", 2), coef=frozen(coef, "coef", 3))

    def __len__(self) -> int:
        return len(self.intercept)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ensemble):
            return NotImplemented
        return np.array_equal(self.intercept, other.intercept) and np.array_equal(self.coef, other.coef)

    def __repr__(self) -> str:
        return f"Ensemble({len(self)} networks)"

    def standard_error(self, values: Any) -> Any:
        """Return the standard error of a figure from its value in every network, along the first axis; NaN for one.

        It is their standard deviation: how far one network, which was fitted to some of the rows, lies from another.
        The mean of them would vary less, were all rows drawn anew: ``python -m benchmarks.accurate spread`` finds the
        error given to be 1.4 times that, and about as far as the mean lies from the truth.
        """
        values = np.asarray(values, np.float64)
        if len(values) < 2:
            return np.full(values.shape[1:], np.nan)
        return np.std(values, axis=0, ddof=1)

    def networks(self, mean: Network) -> list[Network]:
        """Return every network by itself; with one hidden layer, without the terms that it does not have."""
        networks = []
        for intercept, coef in zip(self.intercept, self.coef, strict=True):
            kept = [k for k, term in enumerate(mean.terms) if coef[k].any() or (mean.below and isinstance(term, Rule))]
            networks.append(mean.changed(intercept=intercept, terms=[mean.terms[k] for k in kept], coef=coef[kept]))
        return networks

    def scores(self, mean: Network, rows: Floats) -> Floats:
        """Return what every network gives rows as the mean reads them, before the link: (networks, rows[, classes])."""
        at_once = max(1, _MOST_ANSWERS // max(len(mean.terms), 1))
        scores = np.empty((len(self), len(rows), mean.n_outputs))
        for start in range(0, len(rows), at_once):
            block = rows[start : start + at_once]
            values = np.array(list(mean.term_values(block))).reshape(len(mean.terms), len(block)).T
            for own, coef, intercept in zip(scores, self.coef, self.intercept, strict=True):
                own[start : start + at_once] = values @ coef + intercept
        return scores if mean.link == "softmax" else scores[..., 0]

    def prediction_error(self, mean: Network, rows: Floats, scores: bool = False) -> Floats:
        """Return the standard error of the prediction, or of the score, of rows as the mean reads them."""
        values = self.scores(mean, rows)
        if not scores:
            values = np.stack([mean.linked(own) for own in values])
        return np.asarray(self.standard_error(values))


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


# -- A network with categories and missing values as the paper's plain matrices over 0/1 inputs.

# Outweighs whatever the other columns of a condition add up to.
_DECIDES = 2.0**1000


def _expanded(network: Network) -> Network:
    first, marked = network.layers[0], network.layers[0].takes_missing
    if first.numeric and not marked and network.schema.all_numbers:
        return network
    columns: list[Column] = []
    starts: list[int] = []
    for column in network.schema.columns:
        starts.append(len(columns))
        if column.categories is None:
            columns.append(column)
        for category in column.categories or ():
            columns.append(Column(f"{column.name} = {category_name(category)}", category_of=(column.name, category)))
        columns += [Column(f"{column.name} is missing")] * marked
    obliques = []
    for condition in first.neurons:
        projection, weights = condition.projection, np.zeros(len(columns))
        for place, (j, coefficient) in enumerate(zip(projection.columns, projection.coefficients, strict=True)):
            values = np.atleast_1d(coefficient)
            weights[starts[j] : starts[j] + len(values)] = values
            if projection.missing_as is not None:
                missing = projection.missing_as[place]
                counted = missing if isinstance(coefficient, tuple) else missing * (coefficient or 1.0)
                weights[starts[j] + len(values)] = counted
            elif marked:
                weights[starts[j] + len(values)] = _DECIDES if condition.missing else -_DECIDES
        used = np.flatnonzero(weights)
        obliques.append(Oblique(Projection(tuple(used.tolist()), tuple(weights[used].tolist())), condition.threshold))
    plain = Network.of_layers(
        (Layer.of(obliques, len(columns)), *network.layers[1:]), network.output_weights, network.base,
        schema=replace(network.schema, columns=tuple(columns), named=True), link=network.link, bounds=network.bounds,
    )  # fmt: skip
    # A missing value is a zero here, and its mark makes up for that in a linear term.
    terms, coef = list[Linear](), list[Floats]()
    for term, own in zip(network.linear, network.linear_coef, strict=True):
        terms.append(replace(term, column=starts[term.column], missing=None))
        coef.append(own)
        if marked and not first.refuses_missing[term.column]:
            zero, missing = term.between(np.array([0.0, np.nan])).tolist()
            terms.append(Linear(starts[term.column] + 1))
            coef.append(own * (missing - zero))
    return plain.with_linear(terms, coef) if terms else plain


def expand(network: Network, X: Any) -> Floats:
    """Return rows of a network as the inputs of :meth:`Network.expanded`."""
    rows, marked = network._rows(X), network.layers[0].takes_missing
    if network.layers[0].numeric and not marked and network.schema.all_numbers:
        return rows
    parts = []
    for values, column in zip(rows.T, network.schema.columns, strict=True):
        missing = np.isnan(values)
        if column.categories is None:
            parts.append(np.where(missing, 0.0, values))
        else:
            parts += [(values == code).astype(np.float64) for code in range(len(column.categories))]
        if marked:
            parts.append(missing.astype(np.float64))
    return np.stack(parts, axis=1) if parts else np.zeros((len(rows), 0))


# -- What an expert changed in a network: a line of the log that goes with it.


@dataclass(frozen=True)
class Edit:
    """What one change was, and what it did: a line of the log that is saved with a model.

    Attributes
    ----------
    what, why : str
        The change in words, and the expert's reason; empty where none was given.
    rows, changed : int
        Rows that it was tried on, and those whose prediction changed.
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
