"""What a network can predict at all, and what a rising column does to it: proofs, with rows that show them.

Extremes are the lowest and the highest prediction; certificates say of a column whether predictions only rise with it,
or only fall, or give two rows that show otherwise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.explain.arguments import columns_of, table_row, to_plain_row
from bgn.explain.crossings import compile_search, crossings
from bgn.explain.optimize.problem import (
    Domain,
    Problem,
    cut_column,
    cut_sums,
    largest_score,
    linear_terms_of,
    problem_of,
    read_domain,
)
from bgn.explain.optimize.search import Best, highest, places_along, rows_but
from bgn.inputs.arguments import monotone_columns
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.readings import is_first_positive, network_of, outputs_of, with_positive_second
from bgn.model.schema import Schema, category_name
from bgn.model.step import Floats
from bgn.model.term import Oblique, Projection
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular
from bgn.text import lower_end, people, quote_category, quote_name, upper_end

# Changes up to this, relative to all that can be added up, are roundings.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Extremes(Tabular):
    """The lowest and the highest prediction among the rows of a domain.

    Attributes
    ----------
    low, high : float
        Predictions of `low_row` and `high_row`; infinite where a linear term has no end and the network no bound.
    low_row, high_row : ndarray or None
        Rows that attain them, None (NaN where all columns are numbers) for a missing value. None where the prediction
        has no end, or no row was found in time.
    proven : bool
        Whether no row goes beyond `low` and `high`. Otherwise time ran out, or nothing confirms it: predictions lie
        within `bounds`.
    bounds : (float, float)
        What no prediction goes beyond.
    """

    low: float
    high: float
    low_row: Any
    high_row: Any
    proven: bool
    bounds: tuple[float, float]

    def _columns(self) -> Columns:
        rows = [None if row is None else to_plain_row(row) for row in (self.low_row, self.high_row)]
        ends: dict[str, Any] = {"end": ["lowest", "highest"], "prediction": [self.low, self.high]}
        return ends | {"bound": list(self.bounds), "proven": [self.proven, self.proven], "row": rows}

    def as_dict(self) -> dict[str, Any]:
        """Return the same in plain types: what JSON can hold, None for what has no end."""
        ends = {"low": self.low, "high": self.high, "least": self.bounds[0], "most": self.bounds[1]}
        rows = {"low_row": self.low_row, "high_row": self.high_row}
        plain: dict[str, Any] = {name: value if np.isfinite(value) else None for name, value in ends.items()}
        plain |= {name: None if row is None else to_plain_row(row) for name, row in rows.items()}
        return plain | {"proven": self.proven}

    def __repr__(self) -> str:
        if self.proven:
            return f"Extremes(between {lower_end(self.low)} and {upper_end(self.high)})"
        low, high = self.bounds
        ends = f"{lower_end(low)} and {upper_end(high)}"
        return f"Extremes(within {ends}; found {self.low:.6g} and {self.high:.6g} in time)"


@through_pipelines()
def extremes(
    model: Any, within: Any = "all", *, missing: bool = True, output: int | None = None, max_seconds: float = 10.0
) -> Extremes:
    """Return the lowest and the highest prediction that a model can give, with rows that attain them.

    Conditions on one column are decided exactly. Where conditions on several columns share some, all rows are tried if
    they are few; otherwise a mixed-integer program names combinations, the highest first. No proof rests on one answer
    of its solver: the row that attains a value is confirmed by the network, a combination that no row has is ruled out
    by a proof in fractions, and where combinations are too many to be listed a second program, written differently,
    must find nothing higher, to within a ten-millionth of all that can be added up. What is not confirmed is not
    ``proven``. A combination counts as none where its rows would lie within a billionth of the ranges of columns that
    are not whole numbers. Numbers without ends are searched a hundred times beyond the farthest threshold.

    Parameters
    ----------
    model : Network or fitted estimator
    within : {"all", "seen"} or mapping, default "all"
        Which rows: all that can be written down; those within the ranges seen at fit (``Column.seen``), whole numbers
        where those were whole; or bounds by column, ``(low, high)`` with None for an open end, or categories.
    missing : bool, default True
        Whether rows with missing values count, where conditions see them.
    output : int, optional
        Of a model of several classes, the one whose raw score is asked for.
    max_seconds : float, default 10
        When to stop with what was found so far, and bounds.

    Returns
    -------
    Extremes

    Examples
    --------
    >>> from bgn import Layer, Network, extremes
    >>> layer = Layer([[1.0, 0.0], [-1.0, 0.0], [0.5, 1.0]], [-3.0, 1.0, -5.0])
    >>> network = Network.of_layers([layer], [1.0, 2.0, 0.5], 4.0)
    >>> extremes(network)  # what is at least 3 is not at most 1: no row has 7.5
    Extremes(between 0.5 and 5.5)
    >>> network.predict([extremes(network).high_row])
    array([5.5])
    """
    whole, network = with_positive_second(network_of(model, plain=False)), network_of_output(model, output)
    domain = read_domain(network, within, missing)
    if not max_seconds > 0:
        raise ValueError(f"max_seconds must be positive; got {max_seconds}.")
    compile_search()
    start, sides = time.monotonic(), list[tuple[float, Floats | None, float, bool]]()
    for share, sign in ((0.5, -1.0), (1.0, 1.0)):
        column = None  # whose linear term leads a score as far as one likes
        for term, (coef, *_) in zip(network.linear, network.linear_coef, strict=True):
            ends = max(domain.low[term.column], term.low), min(domain.high[term.column], term.high)
            if column is None and np.isinf(ends[int(sign * coef > 0)]):
                column = term.column
        if column is None:
            best = highest(problem_of(network, domain, sign), start + share * max_seconds)
            sides.append(_side(network, best, sign))
        else:
            row = _far_out(network, domain, column, sign, whole.bounds) if output is None else None
            sides.append((sign * np.inf, row, sign * np.inf, True))
    rows = [None if row is None else table_row(network, row) for _, row, _, _ in sides]
    scores = np.array([sides[0][0], sides[1][0], sides[0][2], sides[1][2]])
    # What no prediction goes beyond anyway, a bound or a probability of 1, needs no proof.
    last = np.array([-np.inf, np.inf])
    if output is None:
        scores, last = whole.linked(scores), whole.linked(last)
    low, high, *bounds = scores.tolist()
    proven = all(side[3] or end == most for side, end, most in zip(sides, (low, high), last.tolist(), strict=True))
    return Extremes(low, high, rows[0], rows[1], proven, (bounds[0], bounds[1]))


def negative_note(ends: Extremes, target: Floats, remedy: str) -> str:
    """Say that predictions can be negative where no target is, and what makes them end at 0; nothing otherwise.

    >>> from bgn import Layer, Network, extremes
    >>> ends = extremes(Network.of_layers([Layer([[1.0]], [-3.0])], [1.0], 0.5))
    >>> negative_note(ends, np.array([0.0, 1.5]), "--at-least 0")
    'Predictions can be negative, down to -0.5, and no training target is: --at-least 0 makes 0 the lowest.'
    """
    if target.min() < 0 or not ends.low < -1e-9 * target.max():
        return ""
    down = f", down to {people(ends.low)}," if ends.proven and np.isfinite(ends.low) else ""
    return f"Predictions can be negative{down} and no training target is: {remedy} makes 0 the lowest."


def network_of_output(model: Any, output: int | None) -> Network:
    """Return the network of one output whose prediction is a model's raw score."""
    networks = outputs_of(with_positive_second(network_of(model, plain=False)))
    if output is None and len(networks) > 1:
        raise ValueError(f"output must be the number of a class, from 0 to {len(networks) - 1}; got None.")
    chosen = output or 0
    if isinstance(chosen, bool) or not 0 <= chosen < len(networks):
        raise ValueError(f"output must be a whole number from 0 to {len(networks) - 1}; got {output!r}.")
    return networks[chosen]


def _far_out(
    network: Network, domain: Domain, column: int, sign: float, bounds: tuple[float, float] | None
) -> Floats | None:
    """Return a row whose score lies beyond a bound, to which a column's linear term leads; None where there is no
    bound."""
    end = (bounds or (-np.inf, np.inf))[int(sign > 0)]
    if not np.isfinite(end):
        return None
    pairs = [*zip(network.linear, network.linear_coef[:, 0].tolist(), strict=True)]
    row, coef = domain.start.copy(), next(weight for term, weight in pairs if term.column == column)
    row[column] = 0.0
    reach = largest_score(network) + abs(end)
    others = sum(abs(weight * float(term.values(row[np.newaxis])[0])) for term, weight in pairs)
    row[column] = np.ceil(2.0 * (reach + others + 1.0) / abs(coef)) * (1.0 if sign * coef > 0 else -1.0)
    beyond = sign * (float(network.predict_encoded(row[np.newaxis])[0]) - end) >= 0
    return row if beyond and domain.low[column] <= row[column] <= domain.high[column] else None


def _side(network: Network, best: Best, sign: float) -> tuple[float, Floats | None, float, bool]:
    """Return a score, its row, the bound, and whether it is proven."""
    reach = largest_score(network)
    pairs = zip(network.linear, network.linear_coef[:, 0].tolist(), strict=True)
    reach += sum(abs(weight) * max(abs(term.low), abs(term.high)) for term, weight in pairs)
    if best.row is None:
        return -sign * np.inf, None, sign * reach, False
    score = float(network.predict_encoded(best.row[np.newaxis])[0])
    over = max(best.bound - best.value, 0.0)
    bound = score if best.proven else float(np.clip(score + sign * over, -reach, reach))
    return score, best.row, bound, best.proven


@dataclass(frozen=True, eq=False)
class Certificate(Tabular):
    """What one column does to the prediction, all other columns fixed.

    Attributes
    ----------
    column : str
    direction : {"increasing", "decreasing", "constant", "neither", "unordered", "unknown"}
        "increasing" where a higher value never lowers the prediction. "unordered" for a category without an order;
        "unknown" where nothing is proven: in deep networks, out of time, or where the score moves the wrong way and
        no rows were found whose prediction within bounds does.
    rise, fall : float
        By how much, at most, a higher value raises and lowers the score; NaN where that is unknown. "neither" in time
        may be told by smaller ones.
    rises, falls : (row, row) or None
        Two rows that differ in this column alone, the second higher in it, where the score rises, or falls, by so much:
        counterexamples to "decreasing" and to "increasing". Where predictions have bounds, rows whose prediction rises,
        or falls, which their score may do by less.
    """

    column: str
    direction: str
    rise: float = np.nan
    fall: float = np.nan
    rises: tuple[Any, Any] | None = None
    falls: tuple[Any, Any] | None = None

    def _columns(self) -> Columns:
        return {"column": [self.column], "direction": [self.direction], "rise": [self.rise], "fall": [self.fall]}

    def as_dict(self) -> dict[str, Any]:
        """Return the same in plain types: what JSON can hold."""
        sizes = {"rise": self.rise, "fall": self.fall}
        plain: dict[str, Any] = {"direction": self.direction}
        plain |= {name: size if np.isfinite(size) else None for name, size in sizes.items()}
        for name, pair in (("rises", self.rises), ("falls", self.falls)):
            plain[name] = None if pair is None else [to_plain_row(row) for row in pair]
        return plain

    def __repr__(self) -> str:
        known = "" if np.isnan(self.rise) else f", rise {upper_end(self.rise)}, fall {upper_end(self.fall)}"
        return f"Certificate({quote_name(self.column)}: {self.direction}{known})"


@dataclass(frozen=True, eq=False)
class Certificates(Mapping[str, Certificate], Tabular):
    """The certificates of a model's columns, by name.

    Attributes
    ----------
    certificates : dict of str to Certificate
    """

    certificates: Mapping[str, Certificate]

    def _columns(self) -> Columns:
        names = ("column", "direction", "rise", "fall")
        return {name: [getattr(certificate, name) for certificate in self.values()] for name in names}

    def __getitem__(self, name: str) -> Certificate:
        return self.certificates[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.certificates)

    def __len__(self) -> int:
        return len(self.certificates)

    def __repr__(self) -> str:
        return f"Certificates({', '.join(f'{quote_name(name)} {one.direction}' for name, one in self.items())})"


@through_pipelines()
def certify(
    model: Any, columns: Iterable[Any] | None = None, *, within: Any = "all", missing: bool = True,
    output: int | None = None, max_seconds: float = 10.0,
) -> Certificates:  # fmt: skip
    """Prove for each column whether the prediction only rises with it, only falls, or neither.

    Two rows are compared that differ in one column alone: a number, or a category with an order. Missing values have no
    place in the order. For rules the answer is exact: either no pair of rows changes the wrong way, whatever the other
    columns hold, or two rows are given that do; see :func:`bgn.extremes` for how that is decided. Deeper networks are
    "unknown". Bounds keep what rises from falling; two rows that show otherwise are looked for among 4,096.

    Parameters
    ----------
    model : Network or fitted estimator
    columns : sequence of columns, optional
        Which; those that the network uses by default.
    within, missing, output
        As in :func:`bgn.extremes`; `missing` is about the other columns.
    max_seconds : float, default 10
        Time for each column; what is not proven by then is "unknown".

    Returns
    -------
    Certificates

    Examples
    --------
    >>> from bgn import Layer, Network, certify
    >>> layer = Layer([[1.0, 0.0], [-1.0, 2.0], [1.0, 0.0]], [-3.0, 1.0, -3.0])
    >>> network = Network.of_layers([layer], [1.0, 0.5, -0.5], 4.0, ["debt", "age"])
    >>> certify(network)
    Certificates(debt neither, age increasing)
    >>> certify(network)["debt"]
    Certificate(debt: neither, rise 1, fall 1)
    >>> certify(network, within={"age": (5, 9), "debt": (0, 4)})["debt"].direction
    'increasing'
    """
    network = network_of_output(model, output)
    domain = read_domain(network, within, missing)
    chosen = network.features_used if columns is None else columns_of(network, columns, "columns")
    if not max_seconds > 0:
        raise ValueError(f"max_seconds must be positive; got {max_seconds}.")
    compile_search()
    ends = None if output is not None else network_of(model, plain=False).bounds
    return Certificates({network.names[j]: _certificate(network, domain, j, max_seconds, ends) for j in chosen})


def _certificate(
    network: Network, domain: Domain, column: int, seconds: float, ends: tuple[float, float] | None
) -> Certificate:
    """Return what one column does to the score, and so to the prediction within bounds."""
    kind, name = network.schema.columns[column], network.names[column]
    if column not in network.features_used:
        return Certificate(name, "constant", 0.0, 0.0)
    if kind.categories is not None and not kind.ordered:
        return Certificate(name, "unordered")
    if network.below:
        return Certificate(name, "unknown")
    start, none = time.monotonic(), _ROUNDING * largest_score(network)
    moves = [(sign, *_largest_rise(network, domain, column, sign, start + share * seconds))
             for sign, share in ((1.0, 0.5), (-1.0, 1.0))]  # fmt: skip
    directions = {(True, True): "constant", (True, False): "decreasing", (False, True): "increasing"}
    never = [size <= none and proven for _, size, _, proven in moves]
    direction = directions.get((never[0], never[1]), "neither")
    if any(size <= none and not proven for _, size, _, proven in moves):
        direction = "unknown"
    if ends is not None:
        bounded = network.changed(bounds=ends)
        moves = [(sign, size, pair and _move_within_bounds(bounded, domain, column, sign, pair), proven)
                 for sign, size, pair, proven in moves]  # fmt: skip
        direction = "unknown" if direction == "neither" and any(pair is None for *_, pair, _ in moves) else direction
    sizes = [size if size > none else 0.0 if proven else np.nan for _, size, _, proven in moves]
    pairs = [(table_row(network, pair[0]), table_row(network, pair[1])) if size > none and pair else None
             for _, size, pair, _ in moves]  # fmt: skip
    return Certificate(name, direction, sizes[0], sizes[1], pairs[0], pairs[1])


def _largest_rise(
    network: Network, domain: Domain, column: int, sign: float, deadline: float
) -> tuple[float, tuple[Floats, Floats] | None, bool]:
    """Return the largest rise of the score as a column rises, or fall where `sign` is -1; two rows; and if proven."""
    coefs, ends = linear_terms_of(network, sign)
    coef = float(coefs[column])
    low, high = max(domain.low[column], ends[column, 0]), min(domain.high[column], ends[column, 1])
    if coef > 0 and not np.isfinite([low, high]).all():  # two rows at some distance show it
        pair = np.tile(domain.start, (2, 1))
        pair[:, column] = np.clip(domain.start[column], domain.low[column], domain.high[column])
        pair[:, column] += (-1.0, 0.0) if np.isfinite(domain.high[column]) else (0.0, 1.0)
        return np.inf, (pair[0], pair[1]), True
    here = np.arange(network.n_inputs) == column
    # What moves this column alone: the others that do so stay fixed, and need no missing value of this one.
    domain = replace(domain, missing=np.where(here, False, domain.missing))
    problem = _readers_problem(network, column, sign, domain, np.where(here, coefs, 0.0), ends)
    single = domain.categories[column] is None and not domain.low[column] < domain.high[column]  # it has but one value
    if single or (coef <= 0 and _never_rises(problem, column)):
        return 0.0, None, True
    if (others := rows_but(problem.bounded(), column)) is not None:
        pair, proven = _rise_most(problem.bounded(), column, others), True
    else:
        best = highest(_doubled(problem, column), deadline)
        if best.row is None:
            return 0.0, None, False  # two rows with the same value there always are
        pair, proven = np.tile(best.row[:-1], (2, 1)), best.proven
        pair[1, column] = best.row[-1]
    scores = network.predict_encoded(pair)
    return sign * float(scores[1] - scores[0]), (pair[0], pair[1]), proven


def _readers_problem(
    network: Network, column: int, sign: float, domain: Domain, coefs: Floats, ends: Floats
) -> Problem:
    """Return the problem of what reads one column alone: the rules with a condition on it, and its linear term."""
    first, deeper, weights = network.layers[0], tuple[Layer, ...](), network.output_weights
    readers = [k for k in np.flatnonzero(first.reads[:, column]).tolist() if network.depth > 1 or weights[k] != 0.0]
    if network.depth > 1:  # a rule holds where all of its conditions do: with them come those on other columns
        rules = network.layers[1]
        kept = [k for k in np.flatnonzero(rules.reads[:, readers].any(axis=1)) if weights[k] != 0.0]
        readers = np.flatnonzero(rules.reads[kept].any(axis=0)).tolist()
        place = {condition: number for number, condition in enumerate(readers)}
        deeper = (Layer.of(_moved([rules.neurons[k] for k in kept], place), len(readers)),)
        weights = weights[kept]
    else:
        weights = weights[readers]
    conditions = tuple(first.neurons[k] for k in readers)
    return Problem(conditions, sign * weights, coefs, domain, deeper, linear_range=ends)


def _moved(conditions: Iterable[Oblique], place: Mapping[int, int]) -> list[Oblique]:
    """Return conditions that read other columns in some columns' place: sums are taken in the same order."""
    return [
        replace(
            one, projection=replace(one.projection, columns=tuple(place.get(column, column) for column in one.columns))
        )
        for one in conditions
    ]


def _never_rises(problem: Problem, column: int) -> bool:
    """Whether the column's pieces and those of every sum, each by itself, only fall as it rises: a sufficient test."""
    if problem.deeper:
        return False
    domain = problem.bounded().domain
    alone = cut_column(problem.conditions, domain, column)
    if (np.diff(alone.signs @ problem.weights[alone.conditions]) > 0).any():
        return False
    for cut in cut_sums(problem.conditions, domain):
        coefficient = cut.projection.coefficients[cut.projection.columns.index(column)]
        steps = np.diff(coefficient) if isinstance(coefficient, tuple) else np.array([coefficient])
        jumps = np.diff(cut.signs[: cut.missing] @ problem.weights[cut.conditions])
        if not (((steps >= 0).all() and (jumps <= 0).all()) or ((steps <= 0).all() and (jumps >= 0).all())):
            return False
    return True


def _rise_most(problem: Problem, column: int, rows: Floats) -> Floats:
    """Return the two rows with the largest rise along a column, the other columns as in any of some rows."""
    places = places_along(problem, column, rows)
    trials = np.repeat(rows, places.shape[1], axis=0)
    trials[:, column] = places.ravel()
    low, high = (-np.inf, np.inf) if problem.linear_range is None else problem.linear_range[column]
    coef, flat = float(problem.linear_coef[column]), replace(problem, linear_coef=np.zeros(len(problem.linear_coef)))
    values = flat.values(trials) + (coef * np.clip(trials[:, column], low, high) if coef else 0.0)
    values = values.reshape(places.shape)
    best, after = np.unravel_index((values - np.minimum.accumulate(values, axis=1)).argmax(), values.shape)
    before = int(values[best, : after + 1].argmin())
    pair = np.repeat(rows[best][np.newaxis], 2, axis=0)
    pair[:, column] = places[best, before], places[best, after]
    return pair


def _doubled(problem: Problem, column: int) -> Problem:
    """Return the problem whose highest score is the largest rise: one more column, which is the higher value."""
    domain, copy = problem.domain, len(problem.linear_coef)
    twice: dict[str, Any] = {
        name: np.append(getattr(domain, name), getattr(domain, name)[column])
        for name in ("low", "high", "whole", "missing", "start")
    }
    categories = domain.categories[column]
    after = replace(domain, **twice, categories=(*domain.categories, categories))
    order = Projection((column, copy), (-1.0, 1.0))
    if categories is not None:
        codes = np.arange(max(categories) + 1.0)
        order = Projection((column, copy), (tuple((-codes).tolist()), tuple(codes.tolist())))
    deeper = []
    for layer in problem.deeper:
        copies = _moved(layer.neurons, {k: k + layer.n_inputs for k in range(layer.n_inputs)})
        deeper.append(Layer.of([*layer.neurons, *copies], 2 * layer.n_inputs))
    return Problem(
        (*problem.conditions, *_moved(problem.conditions, {column: copy}), Oblique(order, 0.0)),
        np.concatenate([-problem.weights, problem.weights]),
        np.append(np.where(np.arange(copy) == column, -problem.linear_coef, 0.0), problem.linear_coef[column]),
        after,
        tuple(deeper),
        n_required=1,
        linear_range=None if problem.linear_range is None else
        np.vstack([problem.linear_range, problem.linear_range[column]]),
    )  # fmt: skip


# -- Two rows, equal but in one column, whose predictions within bounds move as their scores do.

_ROWS = 4096


def _move_within_bounds(
    network: Network, domain: Domain, column: int, sign: float, pair: tuple[Floats, Floats]
) -> tuple[Floats, Floats] | None:
    """Return two rows, the second higher in a column, whose predictions rise, or fall where `sign` is -1.

    The pair itself, whose scores do, or one of rows on both sides of the thresholds; None where none does.
    """
    rng, rows = np.random.default_rng(0), np.tile(pair[0], (_ROWS, 1))
    for other in network.features_used:
        if other != column:
            moved = rng.random(_ROWS) < 0.5
            rows[moved, other] = rng.choice(_values(network, domain, other, rows[:64]), int(moved.sum()))
    low, high = rows.copy(), rows.copy()
    values = _values(network, domain, column, rows)
    values = values[~np.isnan(values)]  # missing values have no place in the order
    ends = np.sort(np.random.default_rng(1).choice(values, (len(rows), 2)), axis=1)
    ends[::2] = pair[0][column], pair[1][column]
    low[:, column], high[:, column] = ends.T
    low[0], high[0] = pair
    moves = sign * (network.predict_encoded(high) - network.predict_encoded(low))
    best = int(moves.argmax())
    return (low[best], high[best]) if moves[best] > _ROUNDING * largest_score(network) else None


def _values(network: Network, domain: Domain, column: int, rows: Floats) -> Floats:
    """Return values of a column on both sides of where conditions turn, and a missing one where it may be."""
    missing = [np.nan] if domain.missing[column] else []
    categories = domain.categories[column]
    if categories is not None:
        return np.array([*map(float, categories), *missing])
    first = network.layers[0]
    readers = [first.neurons[k] for k in np.flatnonzero(first.reads[:, column])]
    edges = np.unique(np.concatenate([rows[:1, column], *(crossings(reader, column, rows[:64]) for reader in readers)]))
    edges = edges[np.isfinite(edges)]  # a condition on missing values alone turns nowhere
    low, high = domain.low[column], domain.high[column]
    values = np.concatenate([edges, np.nextafter(edges, -np.inf), edges + 1.0, edges - 1.0, [low, high]])
    if domain.whole[column]:
        values = np.concatenate([np.floor(values), np.ceil(values)])
    values = values[np.isfinite(values) & (values >= low) & (values <= high)]
    return np.array([*(values if len(values) else rows[:1, column]), *missing])


# -- What an estimator was told its predictions must do: proven for its network, and kept by what is made of that.


def list_guarantees(model: Any, max_seconds: float = 5.0, names: Schema | None = None) -> list[str]:
    """Return sentences on what is proven of a fitted estimator for every row, of what was required of it.

    What is not proven in `max_seconds` each, or does not hold after an edit, is left out; `names` are what columns and
    classes are called, if not as in the model.

    >>> from bgn import BGNRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = BGNRegressor(max_terms=4, random_state=0, monotonic_cst=[1, 0], bounds=(-5, None)).fit(X, X.sum(axis=1))
    >>> list_guarantees(model)
    ['the prediction never falls as x0 rises', 'no prediction lies below -5']
    """
    network = getattr(model, "network_", None)
    if network is None or network.link == "softmax":
        return []
    sentences, turned, network = [], is_first_positive(network), with_positive_second(network)
    names = network.schema if names is None else names
    what = "the prediction"
    if names.classes is not None:
        what = f"the probability of {quote_category(category_name(names.classes[1]))}"
    wanted = monotone_columns(getattr(model, "monotonic_cst", None), network.schema)
    for name, shown, sign in zip(network.names, names.names, wanted, strict=True):
        if sign := -sign if turned else sign:
            direction = certify(network, [name], max_seconds=max_seconds)[name].direction
            if direction in ("constant", "increasing" if sign > 0 else "decreasing"):
                sentences.append(f"{what} never {'falls' if sign > 0 else 'rises'} as {quote_name(shown)} rises")
    low, high = network.bounds or (-math.inf, math.inf)
    sentences += [f"no prediction lies below {low:g}"] * math.isfinite(low)
    return sentences + [f"no prediction lies above {high:g}"] * math.isfinite(high)


def requested_signs(model: Any) -> tuple[int, ...]:
    """Return what is required of a fitted estimator by column: 1, -1 or 0; nothing where nothing is."""
    network = getattr(model, "network_", None)
    return () if network is None else monotone_columns(getattr(model, "monotonic_cst", None), network.schema)


def weight_signs(network: Network, wanted: tuple[int, ...]) -> Floats | None:
    """Return the signs that the weights of a network's rules must have for what columns want, 0 for either; None where
    no column wants anything."""
    if not any(wanted) or network.below:
        return None
    required = []
    for rule in network.rules:
        signs = set()
        for condition in (one.as_oblique() for one in rule.conditions):
            for column, coefficient in zip(condition.columns, condition.projection.coefficients, strict=True):
                steps = np.diff(coefficient) if isinstance(coefficient, tuple) else np.array([coefficient])
                if wanted[column]:
                    signs |= {int(sign) * wanted[column] for sign in np.sign(steps) if sign}
        required.append(float(signs.pop()) if len(signs) == 1 else 0.0)
    return np.array(required)
