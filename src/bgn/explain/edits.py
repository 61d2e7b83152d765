"""The changes that an expert may make to a network, each a function from a network to a network.

Questions are named by their line in the equation, the first being 1; thresholds and amounts are those that it prints.
An amount that changes leaves rows alone that answer no: the base moves with it. Amounts are added as decimals, so that
short ones stay short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from bgn.explain.subject import column_of, gap_of
from bgn.model.decimals import EXACT, written
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.neuron import Coefficient, Neuron, Projection
from bgn.model.terms import Term, as_terms

_RELATIONS = (">=", "<")


def line(network: Network, question: Any) -> Term:
    """Return the term in one line of the equation."""
    terms = as_terms(network).terms
    if isinstance(question, bool) or not isinstance(question, int | np.integer) or not 1 <= question <= len(terms):
        raise ValueError(f"question must be a line of the equation, from 1 to {len(terms)}; got {question!r}.")
    return terms[int(question) - 1]


def _half(amount: Decimal) -> float:
    return float(EXACT.divide(amount, Decimal(2)))


def _finite(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number; got {value!r}.")
    return float(value)


def with_neurons(network: Network, neurons: Iterable[Neuron], weights: Any, base: float) -> Network:
    """Return a network of one layer with other neurons."""
    return network.changed(layers=[Layer.of(neurons, network.n_inputs)], output_weights=weights, base=base)


def _replaced(network: Network, number: int, neuron: Neuron) -> Network:
    neurons = list(network.layers[0].neurons)
    neurons[number] = neuron
    return with_neurons(network, neurons, network.output_weights, network.base)


def threshold(network: Network, question: int, value: float) -> Network:
    """Return the network with another threshold in a question."""
    term, value = line(network, question), _finite(value, "threshold")
    neuron = network.layers[0].neurons[term.neuron]
    factors = [each for each in neuron.projection.coefficients if not isinstance(each, tuple) and each]
    if not factors:
        raise ValueError(f"question {question} asks of no number, and has no threshold. Change the side of a level.")
    printed = [each for each in term.condition.coefficients if not isinstance(each, tuple) and each]
    return _replaced(network, term.neuron, replace(neuron, threshold=value * (factors[0] / printed[0]) + 0.0))


def amount(network: Network, question: int, value: float) -> Network:
    """Return the network with another amount for a question; rows that answer no stay as they are."""
    term, wanted = line(network, question), written(_finite(value, "amount"))
    weights = network.output_weights.copy()
    weights[term.neuron] = float(np.sign(weights[term.neuron])) * _half(wanted)
    moved = EXACT.divide(EXACT.subtract(wanted, term.amount), Decimal(2))
    base = float(EXACT.add(written(network.base), moved))
    if not wanted:
        return drop(network, question)
    return network.changed(output_weights=weights, base=base)


def drop(network: Network, question: int, answer: bool = False) -> Network:
    """Return the network without a question, as if it were always answered no, or yes."""
    term = line(network, question)
    half = EXACT.divide(term.amount, Decimal(2))
    base = (EXACT.add if answer else EXACT.subtract)(written(network.base), half)
    kept = [k for k in range(network.widths[0]) if k != term.neuron]
    neurons = [network.layers[0].neurons[k] for k in kept]
    return with_neurons(network, neurons, network.output_weights[kept], float(base))


def level(network: Network, question: int, word: Any, yes: bool) -> Network:
    """Return the network with a level, or with None the gap, of a question about one category on another side."""
    term = line(network, question)
    neuron, flipped = network.layers[0].neurons[term.neuron], network.output_weights[term.neuron] < 0
    fires = bool(yes) is not bool(flipped)
    if len(neuron.projection.columns) != 1 or (word is None and neuron.missing is None):
        raise ValueError(f"question {question} must ask of one category, or have an answer for gaps; it does not.")
    column = network.schema.columns[neuron.projection.columns[0]]
    if word is None:
        return _replaced(network, term.neuron, replace(neuron, missing=fires))
    values = neuron.projection.coefficients[0]
    if not isinstance(values, tuple) or column.levels is None:
        raise ValueError(f"question {question} asks of {column.name!r}, a number. Change its threshold.")
    if word not in column.levels:
        raise ValueError(f"level must be one of {', '.join(map(repr, column.levels))}; got {word!r}.")
    there = [value for value in values if (value >= neuron.threshold) == fires]
    apart = neuron.threshold if fires else neuron.threshold - 1.0
    value = there[0] if there else apart
    changed = tuple(value if each == word else old for each, old in zip(column.levels, values, strict=True))
    return _replaced(
        network, term.neuron, replace(neuron, projection=replace(neuron.projection, coefficients=(changed,)))
    )


def merge(network: Network, first: int, second: int, value: float | None = None) -> Network:
    """Return the network with two questions about the same sum made one: the first asks, both are worth."""
    one, other = line(network, first), line(network, second)
    if one.neuron == other.neuron:
        raise ValueError(f"questions to merge must be two; got {first} twice.")
    asked, also = (network.layers[0].neurons[each.neuron] for each in (one, other))
    opposite = also.projection == _turned(asked.projection)
    if also.projection != asked.projection and not opposite:
        raise ValueError(f"questions {first} and {second} must compare the same sum to be merged; they do not.")
    weights = [written(float(network.output_weights[each.neuron])) for each in (one, other)]
    joined = float((EXACT.subtract if opposite else EXACT.add)(*weights))
    found = network.output_weights.copy()
    found[one.neuron] = joined
    kept = [k for k in range(network.widths[0]) if k != other.neuron]
    merged = with_neurons(network, [network.layers[0].neurons[k] for k in kept], found[kept], network.base)
    if value is None or not joined:
        return merged
    place = kept.index(one.neuron)
    lines = [k for k, term in enumerate(as_terms(merged).terms, start=1) if term.neuron == place]
    return threshold(merged, lines[0], value)


def _turned(projection: Projection) -> Projection:
    """Return a projection with all signs turned."""
    coefficients: tuple[Coefficient, ...] = tuple(
        tuple(-value for value in each) if isinstance(each, tuple) else -each for each in projection.coefficients
    )
    return replace(projection, coefficients=coefficients)


def add(network: Network, asked: Any, relation: str, value: Any, amount: float, missing: bool = False) -> Network:
    """Return the network with one more question.

    `asked` is a column, or coefficients by column, whose sum stands in `relation` to the threshold `value`; or a
    category, with ``"in"`` and levels.
    """
    worth = _finite(amount, "amount")
    sums = dict(asked) if isinstance(asked, Mapping) else {asked: 1.0}
    columns = [column_of(network, name, "asked") for name in sums]
    kinds = [network.schema.columns[j] for j in columns]
    if relation == "in":
        levels = kinds[0].levels if len(kinds) == 1 else None
        wanted = [value] if isinstance(value, str) else list(value)
        if levels is None or any(each not in levels for each in wanted):
            raise ValueError(f"value must be levels of one category; got {value!r} of {list(sums)}.")
        projection, cut = Projection(tuple(columns), (tuple(float(each in wanted) for each in levels),)), 1.0
    else:
        if relation not in _RELATIONS or any(kind.levels is not None for kind in kinds):
            raise ValueError(f"relation must be '>=' or '<' for numbers, 'in' for a category; got {relation!r}.")
        factors = [_finite(each, "coefficient") for each in sums.values()]
        if not all(factors):
            raise ValueError(f"asked must have coefficients other than 0; got {sums!r}.")
        projection, cut = Projection(tuple(columns), tuple(factors)), _finite(value, "value")
    gaps = [gap_of(network, j) for j in columns]
    sees = any(gap is not None and gap != gap for gap in gaps)
    fires = missing if relation != "<" else not missing
    neuron = Neuron(projection, cut, fires if sees or (network.layers[0].takes_gaps and None in gaps) else None)
    half = EXACT.divide(written(worth), Decimal(2))
    weights = np.append(network.output_weights, float(half) if relation != "<" else -float(half))
    base = float(EXACT.add(written(network.base), half))
    return with_neurons(network, [*network.layers[0].neurons, neuron], weights, base)


def forbid(network: Network, column: Any, answers: Mapping[int, bool] | None = None) -> Network:
    """Return the network without all questions about a column, and without its slope.

    `answers` says, by neuron, what a question counts as answered with; no unless told.
    """
    j = column_of(network, column, "column")
    kept, base = [], written(network.base)
    for k, neuron in enumerate(network.layers[0].neurons):
        if j in neuron.projection.columns:
            weight = written(float(network.output_weights[k]))
            yes = (answers or {}).get(k, network.output_weights[k] < 0)
            base = (EXACT.add if yes else EXACT.subtract)(base, weight)
        else:
            kept.append(k)
    slopes = None if network.slopes is None else np.where(np.arange(network.n_inputs) == j, 0.0, network.slopes)
    neurons = [network.layers[0].neurons[k] for k in kept]
    return with_neurons(network, neurons, network.output_weights[kept], float(base)).changed(slopes=slopes)


def round_to(network: Network, digits: int) -> Network:
    """Return the network with amounts, start and thresholds of so many significant digits."""
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 17:
        raise ValueError(f"digits must be a whole number from 1 to 17; got {digits!r}.")
    terms, weights, neurons = as_terms(network), network.output_weights.copy(), list(network.layers[0].neurons)
    base = written(_short(terms.base, digits))
    for term in terms.terms:
        half = written(_half(written(_short(float(term.amount), digits))))
        weights[term.neuron] = float(np.sign(weights[term.neuron])) * float(half)
        base = EXACT.add(base, half)
        neuron = neurons[term.neuron]
        if any(not isinstance(each, tuple) and each for each in neuron.projection.coefficients):
            neurons[term.neuron] = replace(neuron, threshold=_short(neuron.threshold, digits))
    idle = [k for k in range(network.widths[0]) if k not in {term.neuron for term in terms.terms}]
    kept = [k for k in range(network.widths[0]) if k not in idle]  # questions about nothing are in the base already
    return with_neurons(network, [neurons[k] for k in kept], weights[kept], float(base))


def _short(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")
