"""The lowest and the highest prediction that a network can give, with rows that attain them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.explain.arguments import table_row, to_plain_row
from bgn.explain.crossings import compile_search
from bgn.explain.optimize.problem import Domain, largest_score, problem_of, read_domain
from bgn.explain.optimize.search import Best, highest
from bgn.model.network import Network
from bgn.model.readings import network_of, outputs_of, with_positive_second
from bgn.model.step import Floats
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular
from bgn.text import lower_end, people, upper_end


@dataclass(frozen=True, eq=False)
class Extremes(Tabular):
    """The lowest and the highest prediction among the rows of a domain.

    Attributes
    ----------
    low, high : float
        Predictions of `low_row` and `high_row`; infinite where a slope has no end and the network no bound.
    low_row, high_row : ndarray or None
        Rows that attain them, as the table has them: levels in words, None (NaN in a table of numbers) for a gap. None
        where the prediction has no end, or no row was found in time.
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

    Questions about one column are decided exactly. Where questions about several columns share some, all rows are tried
    if they are few; otherwise a mixed-integer program names combinations of answers, the highest first. No proof rests
    on one answer of its solver: the row that attains a value is confirmed by the network, a combination that no row has
    is ruled out by a proof in fractions, and where combinations are too many to be listed a second program, written
    differently, must find nothing higher, to within a ten-millionth of all that can be added up. What is not confirmed
    is not ``proven``. A combination counts as none where its rows would lie within a billionth of the ranges of columns
    that are not whole numbers. Numbers without ends are searched a hundred times beyond the farthest threshold in their
    way.

    Parameters
    ----------
    model : Network or fitted estimator
    within : {"all", "seen"} or mapping, default "all"
        Which rows: all that can be written down; those within the ranges seen at fit (``Column.seen``), whole numbers
        where those were whole; or bounds by column, ``(low, high)`` with None for an open end, or levels of a category.
    missing : bool, default True
        Whether rows with gaps count, in columns whose gaps the questions see.
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
    >>> network = Network.of_layers([Layer([[1.0, 0.0], [-1.0, 0.0], [0.5, 1.0]], [-3.0, 1.0, -5.0])], [1.0, 2.0, 0.5], 4.0)
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

    Examples
    --------
    >>> from bgn import Layer, Network, extremes
    >>> ends = extremes(Network.of_layers([Layer([[1.0]], [-3.0])], [1.0], 0.5))
    >>> negative_note(ends, np.array([0.0, 1.5]), "--at-least 0")
    'Predictions can be negative, down to -0.5, and no training target is: --at-least 0 makes 0 the lowest.'
    >>> negative_note(ends, np.array([-0.1, 1.5]), "--at-least 0")
    ''
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
