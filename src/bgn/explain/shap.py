"""SHAP values of a network: what columns, and terms, add to a prediction, against the whole of a background.

With ``v(Q)`` the mean prediction when the columns Q come from the row and the others from the background, a column's
value is its Shapley share of ``f(x) - v(nothing)``. A network is a sum of terms, so the shares of every term are
computed by themselves: those of a rule follow from how many background rows make it hold, which are counted exactly at
the cost of a few sorts. Of classes the scores are explained, which add up: log-odds, or one per class.

Inside, arrays have a last axis of outputs; one output is one entry of it.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import factorial
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from bgn.compiling import compiled
from bgn.engines.memory import ThreadPool
from bgn.explain.arguments import background_of, class_labels, class_number, probabilities_of, rows_of, score_of
from bgn.explain.crossings import fires, summand, summands
from bgn.model.network import Network, on_gpu
from bgn.model.readings import network_of, outputs_of, swap_classes, with_positive_second
from bgn.model.schema import Category, Column, category_name
from bgn.model.step import Bools, Floats
from bgn.model.term import Condition, Oblique, Rule
from bgn.pipelines import through_pipelines
from bgn.require import require
from bgn.tabular import Columns, Tabular
from bgn.text import count_of, quote_category, quote_name

MAX_PLAYERS = 10
"""Most columns whose coalitions are enumerated: of a rule, of the whole of a deep network."""

_MUCH = 1 << 20  # rows of all games, for threads to share


@through_pipelines("X", "background")
def shap_values(
    model: Any, X: Any, background: Any = None, *, method: str = "auto", n_samples: int = 512,
    random_state: int | np.random.Generator | None = None,
) -> Explanation:  # fmt: skip
    """Return the SHAP values of every row, against the whole background.

    The values are exact, and cost a few sorts of the background for every rule, while no rule reads more than ten
    columns; of a deep network, while it uses at most ten columns. Beyond that permutations are sampled, with a standard
    error and a warning.

    Parameters
    ----------
    model : Network or fitted estimator
        With classes the scores are explained, since they add up: the log-odds of the second of two classes, or one
        score per class. `Explanation.probabilities` are the predictions.
    X : array_like, sparse matrix or frame, shape (rows, features), or one row
        The rows to explain; a single one may be a series, a mapping by name, or a sequence. Exact values of a CUDA
        tensor are computed on its GPU, unless the network is deep; the result holds arrays, with the same bits.
    background : array_like or frame, shape (any number of rows, features)
        What a feature is compared with when it is unknown; all rows are used. May be left out when the model has
        ``background_``.
    method : {"auto", "exact", "sampled"}, default "auto"
        "exact" and "sampled" force one or the other.
    n_samples : int, default 512
        Number of sampled permutations, each walked both ways.
    random_state : int, Generator or None
        For the sampled permutations.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from bgn import Layer, Network, shap_values
    >>> network = Network.of_layers([Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> explanation = shap_values(network, [[2.0, 4.0]], background=[[1.0, 1.0], [3.0, 1.0], [0.0, 9.0]])
    >>> explanation.values.round(3)
    array([[1.5, 0.5]])
    >>> float(explanation.base_value + explanation.values.sum()), float(network.predict([[2.0, 4.0]])[0])
    (4.5, 4.5)
    """
    network = with_positive_second(network_of(model, plain=False))
    rows, background = rows_of(network, X, "X"), background_of(model, network, background)
    if method not in ("auto", "exact", "sampled"):
        raise ValueError(f"method must be 'auto', 'exact' or 'sampled'; got {method!r}.")
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2; got {n_samples}.")
    plain = outputs_of(network)[0].plain and network.depth == 1
    shares = explain_rows(
        network, rows, background, method, n_samples, np.random.default_rng(random_state),
        X if plain and on_gpu(X) else None,
    )  # fmt: skip
    one = network.link != "softmax"

    def shown(values: Any) -> Any:
        return values[..., 0] if one and values is not None else values

    classes, probabilities, predictions = None, None, None
    if network.link != "identity":
        classes, probabilities = class_labels(network), probabilities_of(network, network._raw_score(rows))
    elif network.bounds is not None:
        predictions = network.predict_encoded(rows)
    return Explanation(
        values=shown(shares.values), base_value=float(shares.base[0]) if one else shares.base,
        term_values=shown(shares.term_values), connections=shares.connections,
        connection_values=shown(shares.connection_values), data=rows, feature_names=network.names,
        method="exact" if shares.standard_error is None else "sampled", standard_error=shown(shares.standard_error),
        network=network, background=background, classes=classes, probabilities=probabilities, predictions=predictions,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class TermShares:
    """What columns and terms add to the scores of rows, all outputs at once."""

    values: Floats  # (rows, columns, outputs)
    base: Floats  # (outputs,): mean scores over the background
    term_values: Floats  # (rows, terms, outputs)
    connections: NDArray[np.int64]  # (connections, 2): column and term of every entry of `connection_values`
    connection_values: Floats  # (rows, connections, outputs)
    standard_error: Floats | None  # of `values`, when sampled


def explain_rows(
    network: Network, rows: Floats, background: Floats, method: str = "auto", n_samples: int = 512,
    rng: np.random.Generator | None = None, on_device: Any = None,
) -> TermShares:  # fmt: skip
    """Return the shares of rows as the network reads them; `on_device` may hold the same rows on a GPU."""
    gains, parts, pairs = gains_of(network), games(network), list[tuple[int, int]]()
    reach = np.eye(network.n_inputs, dtype=bool)
    for layer in network.below:
        reach = layer.reads @ reach
    for k, term in enumerate(network.terms):
        read = np.flatnonzero(reach[list(term.columns)].any(axis=0)) if isinstance(term, Rule) else term.columns
        pairs += [(int(column), k) for column in read]
    connections = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    slots = {pair: slot for slot, pair in enumerate(pairs)}
    most_players = max((len(game.players) for game in parts), default=0)
    sampling = method == "sampled" or (method == "auto" and most_players > MAX_PLAYERS)
    if on_device is not None and not sampling:
        exact_shares = importlib.import_module("bgn.explain.shap_gpu").exact_shares
        expected, worth, shares = exact_shares(network, parts, on_device, background, slots)
    else:
        expected, worth = term_worth(network, background).mean(axis=0), term_worth(network, rows)
        shares = np.zeros((len(slots), len(rows)))
        if not sampling:
            table, drawn = SortedColumns(rows), SortedColumns(background)

            def share(game: Game) -> None:
                for coalition, counts in coalition_counts(network, game, table, drawn):
                    add_shares(game, coalition, counts, shares, slots)

            # The shares of a rule are its own, so that threads need not wait for each other.
            threads = cpu_count() if len(parts) * (len(rows) + len(background)) >= _MUCH else 1
            if threads > 1:
                ThreadPool(threads).map(share, parts)
            else:
                for game in parts:
                    share(game)
    term_values = (worth - expected)[:, :, np.newaxis] * gains
    error = None
    if sampling:
        rng = np.random.default_rng() if rng is None else rng
        if network.n_outputs > 1:
            rng = np.random.default_rng(int(rng.integers(1 << 32)))
        parts_of, error = sampled_shares(network, rows, background, n_samples, rng, term_values, slots)
    else:
        parts_of = (shares / len(background))[:, :, np.newaxis] * gains[connections[:, 1], np.newaxis]
    for slot, (_, k) in enumerate(pairs):
        if not isinstance(network.terms[k], Rule):  # all of it is that column's
            parts_of[slot] = term_values[:, k]
    if error is not None and method == "auto":
        warnings.warn(
            f"SHAP values are sampled: {most_players} inputs have too many coalitions (the most is "
            f"{MAX_PLAYERS}). Their standard error is at most {error.max():.3g}; raise n_samples for less, or pass "
            "method='exact'.",
            stacklevel=4,
        )
    values = np.zeros((network.n_inputs, len(rows), network.n_outputs))
    for column, part in zip(connections[:, 0], parts_of, strict=True):
        values[column] += part
    base = network.resting_score + expected @ gains
    return TermShares(values.transpose(1, 0, 2), base, term_values, connections, parts_of.transpose(1, 0, 2), error)


def gains_of(network: Network) -> Floats:
    """Return what every term adds per unit of what it is worth, a rule that holds being worth 1: (terms, outputs)."""
    otherwise = [term.otherwise if isinstance(term, Rule) else 0.0 for term in network.terms]
    return network.coef * (1.0 - np.array(otherwise).reshape(-1, 1))


def term_worth(network: Network, rows: Floats) -> Floats:
    """Return what every term is worth, a rule 1 where it holds and else 0; shape (rows, terms)."""
    worth, holding = np.empty((len(network.terms), len(rows))), network._holding(rows)
    for own, term in zip(worth, network.terms, strict=True):
        own[:] = next(holding) if isinstance(term, Rule) else term.values(rows)
    return worth.T


# -- What users get: a record of shares, and what follows from it.

_MOST_PRINTED = 20  # columns


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Tabular):
    """Why a network predicts what it predicts, row by row.

    ``print`` shows the values of one row, or a summary of several.

    Attributes
    ----------
    values : ndarray, shape (rows, features), or (rows, features, classes) where there are more than two
        SHAP values: ``base_value + values.sum(axis=1)`` is the prediction; where it has bounds, the score before them;
        with classes the score, which for two classes is the log-odds of the second.
    base_value : float, or ndarray of shape (classes,)
        Mean prediction, or score, over the background.
    term_values : ndarray, shape (rows, terms)
        What each of ``network.terms`` adds to the base value. They add up to the prediction, too.
    connections : ndarray of int, shape (connections, 2)
        Feature and term of every column of `connection_values`: the pairs where the feature can reach the term.
    connection_values : ndarray, shape (rows, connections)
        Share of a feature in what a term adds: summed over terms they are `values`, over features `term_values`.
    data : ndarray, shape (rows, features)
        The rows explained, as the network reads them: a category as its number, a missing value as NaN.
    feature_names : tuple of str
        Names of the columns.
    method : {"exact", "sampled"}
        How the values were computed.
    standard_error : ndarray of shape (rows, features), or None
        Of `values`, when sampled; None when exact.
    network : Network
        What was explained.
    background : ndarray, shape (any number of rows, features)
        What it was compared with.
    classes : tuple, or None
        The labels of the classes; None where a number is predicted. With more than two, `term_values`,
        `connection_values` and `standard_error` have a last axis of classes, too.
    probabilities : ndarray of shape (rows, classes), or None
        What is predicted for the rows; with classes only.
    predictions : ndarray of shape (rows,), or None
        What is predicted for the rows, where bounds may keep it from being the sum.
    """

    values: Floats
    base_value: Any
    term_values: Floats
    connections: NDArray[np.int64]
    connection_values: Floats
    data: Floats
    feature_names: tuple[str, ...]
    method: str
    standard_error: Floats | None
    network: Network
    background: Floats
    classes: tuple[Category, ...] | None = None
    probabilities: Floats | None = None
    predictions: Floats | None = None

    def _columns(self) -> Columns:
        if self.values.ndim == 2:
            values = {name: own.tolist() for name, own in zip(self.feature_names, self.values.T, strict=True)}
            return {"base value": [float(self.base_value)] * len(self.values), **values}
        return {f"{name}, {category_name(label)}": self.values[:, j, k].tolist()
                for k, label in enumerate(self.classes or ()) for j, name in enumerate(self.feature_names)}  # fmt: skip

    def of_class(self, label: Any) -> Explanation:
        """Return the explanation of one class's score; of two classes, of the log-odds of either.

        Parameters
        ----------
        label : str, number or bool
            One of `classes`.

        Returns
        -------
        Explanation
            With `values` of shape (rows, features), as plots take it.
        """
        if self.classes is None:
            raise ValueError("of_class needs classes; this explanation is of a number.")
        number, names = class_number(self.network, label, "label"), ("values", "term_values", "connection_values")
        if self.values.ndim == 3:
            parts = {name: getattr(self, name)[..., number] for name in (*names, "base_value")}
            error = None if self.standard_error is None else self.standard_error[..., number]
            network = score_of(self.network, label)
            return replace(self, **parts, standard_error=error, network=network, classes=None, probabilities=None)
        if number == 1:
            return self
        parts = {name: -getattr(self, name) for name in (*names, "base_value")}
        probabilities = None if self.probabilities is None else self.probabilities[:, ::-1]
        network, classes = swap_classes(self.network), self.classes[::-1]  # whose second class is the requested one
        return replace(self, **parts, network=network, classes=classes, probabilities=probabilities)

    def interaction_values(self) -> Floats:
        """Return exact SHAP interaction values, shape (rows, features, features); with K > 2 classes, (..., classes).

        Off the diagonal stands half the interaction of a pair, on it what the feature does alone; a row's matrix sums
        to its `values` along either axis.

        Returns
        -------
        ndarray of float64
        """
        if self.method != "exact":
            raise ValueError("interaction_values needs method='exact'; these values were sampled.")
        gains = gains_of(self.network)
        values = self.values.reshape(*self.values.shape[:2], gains.shape[1])
        n, d, outputs = values.shape
        pairs = np.zeros((d, d, n, outputs))
        rows, background = SortedColumns(self.data), SortedColumns(self.background)
        for game in games(self.network):
            weights = shapley_weights(len(game.players) - 1)
            for coalition, counts in coalition_counts(self.network, game, rows, background):
                value = np.tensordot(counts / len(self.background), gains[list(game.terms)] / 2.0, axes=(0, 0))
                for a, first in enumerate(game.players):
                    for b, second in enumerate(game.players[:a]):
                        inside = (coalition >> a & 1) + (coalition >> b & 1)
                        weight = weights[coalition.bit_count() - inside]
                        pairs[first, second] += (-weight if inside == 1 else weight) * value
        pairs += pairs.transpose(1, 0, 2, 3)
        pairs[np.arange(d), np.arange(d)] = values.transpose(1, 0, 2) - pairs.sum(axis=1)
        return pairs.transpose(2, 0, 1, 3).reshape(n, d, d, *self.values.shape[2:])

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation`` of the features' values, so that shap's plots work.

        Returns
        -------
        shap.Explanation
        """
        shap = require("shap", extra="shap")
        return shap.Explanation(
            values=self.values.copy(),
            base_values=np.tile(self.base_value, (len(self.values), 1) if self.values.ndim == 3 else len(self.values)),
            data=self.data.copy(),
            feature_names=list(self.feature_names),
        )

    def __repr__(self) -> str:
        rows, features = self.values.shape[:2]
        shape = f"{count_of(rows, 'row')}, {count_of(features, 'feature')}"
        if self.values.ndim == 3:
            return f"Explanation({shape}, {self.values.shape[2]} classes, {self.method})"
        return f"Explanation({shape}, base value {self.base_value:.6g}, {self.method})"

    def __str__(self) -> str:
        """Return what `print` shows: every value of one row, or by column the mean and the range over several rows."""
        size = np.abs(self.values).reshape(*self.values.shape[:2], -1).sum(axis=2).mean(axis=0)
        used = [int(j) for j in np.argsort(-size, kind="stable") if size[j] > 0]
        table = self._table(used[:_MOST_PRINTED])
        sizes = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = []
        for first, *rest in table:
            cells = (text.rjust(size) for text, size in zip(rest, sizes[1:], strict=True))
            lines.append("  ".join([first.ljust(sizes[0]), *cells]))
        if (more := len(used) - _MOST_PRINTED) > 0:
            lines.append(f"and {count_of(more, 'more column')}: to_frame() has all")
        return "\n".join([*self._headline(), *lines])

    def _headline(self) -> list[str]:
        """Return the lines before the table: what the values add up to."""
        sampled = "" if self.method == "exact" else ", sampled"
        of = count_of(len(self.values), "row")
        if self.values.ndim == 3:
            return [f"SHAP values of {of}: a score per class{sampled}"]
        what = "log-odds" if self.classes is not None else self.network.target_name or "prediction"
        lines = [f"SHAP values of {of}: {quote_name(what, 60)}{sampled}", f"base value {self.base_value:.6g}"]
        if len(self.values) == 1:
            total = float(self.base_value + self.values[0].sum())
            lines[-1] += f", with the values below {total:.6g}"
            if self.classes is not None and self.probabilities is not None:
                label = quote_category(category_name(self.classes[1]), 40)
                lines[-1] += f": the probability of {label} is {self.probabilities[0, 1]:.4g}"
            elif self.predictions is not None and self.predictions[0] != total:
                lines[-1] += f"; within its bounds the model predicts {self.predictions[0]:.6g}"
        return lines

    def _table(self, columns: list[int]) -> list[list[str]]:
        """Return a table of one row's values, or of what those of several are, column by column."""
        names, classes = [quote_name(name, 40) for name in self.feature_names], self.values.ndim == 3
        heads = [quote_category(category_name(label), 24) for label in self.classes or ()]
        if len(self.values) == 1:
            bases, probabilities = [], []
            if classes:
                bases = [["base value", "", *(f"{value:.4g}" for value in self.base_value)]]
            if classes and self.probabilities is not None:
                probabilities = [["probability", "", *(f"{value:.4g}" for value in self.probabilities[0])]]
            rows = [
                [names[j], _cell(self.network.schema.columns[j], float(self.data[0, j])),
                 *(f"{value:+.4g}" for value in np.atleast_1d(self.values[0, j]))]
                for j in columns
            ]  # fmt: skip
            return [["column", "value", *(heads if classes else ["SHAP value"])], *bases, *rows, *probabilities]
        means, low, high = np.abs(self.values).mean(axis=0), self.values.min(0), self.values.max(0)
        if classes:
            return [
                ["mean |SHAP value|", *heads],
                *([names[j], *(f"{mean:.4g}" for mean in means[j])] for j in columns),
            ]
        rows = [[names[j], f"{means[j]:.4g}", f"{low[j]:+.4g}", f"{high[j]:+.4g}"] for j in columns]
        return [["column", "mean |SHAP value|", "least", "greatest"], *rows]


def _cell(column: Column, value: float) -> str:
    """Write what a row holds in a column."""
    if value != value:
        return "missing"
    if column.categories is not None:
        return quote_category(category_name(column.categories[int(value)]), 40)
    return (column.part_of and column.part_of.written(value)) or f"{value:.6g}"


# -- With how many background rows rules hold when some of their columns are known and the others are not.

Ints = NDArray[np.int64]
Slots = dict[tuple[int, int], int]

# At most this many rows are evaluated at a time where a background row stands beside every row.
_BLOCK = 1 << 16
_FEWEST_CELLS = 64


@dataclass(frozen=True)
class Game:
    """Players (columns) and the terms, all rules, whose worth they share."""

    players: tuple[int, ...]
    terms: tuple[int, ...]


def games(network: Network) -> list[Game]:
    """Return the games whose values, times the gains of their rules, add up to the network's."""
    alive = [k for k, term in enumerate(network.terms) if isinstance(term, Rule) and network.coef[k].any()]
    if not network.below:
        rules: list[Any] = [network.terms[k] for k in alive]  # one condition has its columns in the order of its sum
        return [Game(rule.conditions[0].columns if len(rule.conditions) == 1 else rule.columns, (k,))
                for rule, k in zip(rules, alive, strict=True)]  # fmt: skip
    return [Game(network.features_used, tuple(alive))]


def coalition_counts(
    network: Network, game: Game, rows: SortedColumns, background: SortedColumns
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield every coalition, one bit per player, and with how many background rows rules hold: (rules, rows)."""
    for coalition in range(1 << len(game.players)):
        known = [player for bit, player in enumerate(game.players) if coalition >> bit & 1]
        if not network.below:
            rule: Any = network.terms[game.terms[0]]
            yield coalition, holding_counts(rule.conditions, known, rows, background)[np.newaxis]
        else:
            yield coalition, mixed_sums(network, known, rows.rows, background.rows)[:, list(game.terms)].T


def add_shares(game: Game, coalition: int, counts: Any, shares: Any, slots: Slots) -> None:
    """Add the part of one coalition, counts per rule of the game, to the shares of the connections.

    `shares` has one row per connection, at the place that `slots` has: arrays and tensors alike.
    """
    weights, size = shapley_weights(len(game.players)), coalition.bit_count()
    for bit, player in enumerate(game.players):
        weight = weights[size - 1] if coalition >> bit & 1 else -weights[size]
        for term, count in zip(game.terms, counts, strict=True):
            if (player, term) in slots:
                shares[slots[player, term]] += weight * count


@cache
def shapley_weights(players: int) -> tuple[float, ...]:
    """Return the weight of joining a coalition of each size, 0 to players - 1.

    It depends on the players of a rule alone, since other columns change nothing; a pair joins as one of one fewer.
    """
    return tuple(factorial(size) * factorial(players - size - 1) / factorial(players) for size in range(players))


def holding_counts(
    conditions: Sequence[Condition], known: Sequence[int], rows: SortedColumns, background: SortedColumns
) -> Ints:
    """Return for every row how many background rows make all conditions hold when the `known` columns are the row's."""
    inside = set(known)
    of_row = [condition for condition in conditions if inside.issuperset(condition.columns)]
    others = [condition for condition in conditions if not inside.issuperset(condition.columns)]
    mixed = [condition for condition in others if not inside.isdisjoint(condition.columns)]
    if drawn := [condition for condition in others if inside.isdisjoint(condition.columns)]:
        background = background.only(Rule(tuple(drawn)).holds(background.by_column))
    if not mixed:
        counts = np.full(len(rows.rows), len(background.rows))
    elif len(mixed) == 1 and isinstance(mixed[0], Oblique):
        places = [place for place, column in enumerate(mixed[0].columns) if column in inside]
        counts = _mixed_counts(mixed[0], places, rows, background)
    else:
        counts, rule = np.empty(len(rows.rows), dtype=np.int64), Rule(tuple(mixed))
        for start, block in _mixed_blocks(list(inside), rows.rows, background.rows):
            counts[start : start + len(block)] = [np.count_nonzero(rule.holds(table)) for table in block]
    return np.where(Rule(tuple(of_row)).holds(rows.by_column), counts, 0) if of_row else counts


def _mixed_counts(condition: Oblique, places: list[int], rows: SortedColumns, background: SortedColumns) -> Ints:
    """Return for every row how many background rows make a sum reach its threshold, summands at some places known."""
    size, threshold, counts = len(condition.columns), condition.threshold, np.empty(len(rows.rows), dtype=np.int64)
    if size == 2:
        own, other = places[0], 1 - places[0]
        fixed, drawn = summand(condition, own, rows.by_column), background.largest_first(condition, other)
        count_merged(fixed, rows.order(condition, own), drawn, threshold, counts)
        return counts
    fixed, drawn = rows.summands(condition), background.summands(condition)
    given = np.isin(np.arange(size), places)
    if count_in_cells(fixed, drawn, given, threshold, max(_FEWEST_CELLS, len(drawn)), counts):
        return counts
    open_places = np.flatnonzero(~given)
    drawn = np.ascontiguousarray(drawn.T[open_places])
    drawn = drawn[:, np.lexsort(drawn)]
    new = np.ones(drawn.shape[1], dtype=bool)
    new[1:] = (drawn[:, 1:] != drawn[:, :-1]).any(axis=0)
    sums, times = drawn[:, new].sum(axis=0), np.diff(np.flatnonzero(new), append=drawn.shape[1])
    order = np.argsort(sums)
    distinct, beyond = drawn[:, new].T[order], np.append(np.cumsum(times[order][::-1])[::-1], 0)
    count_windowed(fixed, open_places, distinct, sums[order], beyond, threshold, counts)
    return counts


class SortedColumns:
    """Rows kept column by column; what sorts a column of numbers is kept from its first use."""

    def __init__(self, rows: Floats) -> None:
        self.rows = rows
        self.by_column = np.ascontiguousarray(rows.T).T
        self._orders: dict[int, Ints] = {}
        self._sorted: dict[int, Floats] = {}
        self._last: tuple[Oblique, Floats] | None = None

    def only(self, chosen: Bools) -> SortedColumns:
        """Return some of the rows."""
        return SortedColumns(self.rows[chosen])

    def summands(self, condition: Oblique) -> Floats:
        """Return what every column that a condition reads adds to its sum, (rows, columns); the last is kept."""
        known = self._last
        if known is None or known[0] is not condition:
            known = self._last = condition, np.ascontiguousarray(summands(condition, self.by_column).T)
        return known[1]

    def order(self, condition: Oblique, place: int) -> Ints:
        """Return the rows' numbers, the smallest summand of the column at a place of a sum first."""
        column, factor = condition.columns[place], condition.projection.coefficients[place]
        if isinstance(factor, tuple) or condition.takes_missing:
            return np.argsort(summand(condition, place, self.by_column))
        if column not in self._orders:
            self._orders[column] = np.argsort(self.by_column[:, column])
        return self._orders[column][:: 1 if factor > 0 else -1]

    def largest_first(self, condition: Oblique, place: int) -> Floats:
        """Return the summands of the column at a place of a sum, sorted downwards."""
        column, factor = condition.columns[place], condition.projection.coefficients[place]
        if isinstance(factor, tuple) or condition.takes_missing:
            return np.sort(summand(condition, place, self.by_column))[::-1]
        if column not in self._sorted:
            self._sorted[column] = np.sort(self.by_column[:, column])
        return (self._sorted[column] * factor)[:: -1 if factor > 0 else 1]


def _mixed_blocks(known: list[int], rows: Floats, background: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield tables of the background with the known columns of a row, (some rows, background rows, columns), and where
    these rows begin."""
    at_once = max(1, _BLOCK // max(len(background), 1))
    for start in range(0, len(rows), at_once):
        block = rows[start : start + at_once]
        mixed = np.tile(background, (len(block), 1))
        mixed[:, known] = np.repeat(block[:, known], len(background), axis=0)
        yield start, mixed.reshape(len(block), *background.shape)


def mixed_sums(network: Network, known: list[int], rows: Floats, background: Floats) -> Floats:
    """Return what terms are worth in all with the known columns from a row and the rest from each background row:
    (rows, terms)."""
    sums = np.empty((len(rows), len(network.terms)))
    for start, block in _mixed_blocks(known, rows, background):
        worth = term_worth(network, block.reshape(-1, rows.shape[1]))
        sums[start : start + len(block)] = worth.reshape(*block.shape[:2], -1).sum(axis=1)
    return sums


# -- Compiled loops that count the background rows with which a row makes a condition hold: arrays in, arrays out.

# A bound on the relative error of a short sum, per term, with room to spare.
_ROUNDING = 4 * np.finfo(np.float64).eps
# Rows that a cell may hold, where no more than others.
_CROWDED = 256


@compiled
def count_merged(fixed: Floats, order: np.ndarray, drawn: Floats, threshold: float, counts: np.ndarray) -> None:
    """Count, for every ``fixed[row]``, the entries of `drawn` with ``fixed + drawn >= threshold``; O(rows + drawn).

    `order` sorts `fixed` upwards and `drawn` is sorted downwards; `counts` is written.
    """
    reach = 0
    for row in order:
        while reach < len(drawn) and fixed[row] + drawn[reach] >= threshold:
            reach += 1
        counts[row] = reach


@compiled
def count_windowed(
    fixed: Floats, places: np.ndarray, drawn: Floats, sums: Floats, from_here: np.ndarray, threshold: float,
    counts: np.ndarray,
) -> None:  # fmt: skip
    """Count, for every row of `fixed`, the rows of `drawn` that make it hold when put in columns `places`.

    `drawn` holds distinct rows sorted by their `sums`; ``from_here[i]`` is how many background rows stand at `i` or
    later. Sums that clear the threshold by more than a rounding error are counted; the few others are summed anew in
    the network's order. Infinite entries, which stand for missing values, decide by themselves and are in no doubt.
    """
    largest = 0.0
    for row in range(len(drawn)):
        size = np.abs(drawn[row]).sum()
        if size < np.inf or not np.isinf(drawn[row]).any():
            largest = max(largest, size)
    terms = np.empty(fixed.shape[1])
    for row in range(len(fixed)):
        terms[:] = fixed[row]
        for place in places:
            terms[place] = 0.0
        doubt = _ROUNDING * len(terms) * (np.abs(terms).sum() + largest + abs(threshold))
        wanted = threshold - terms.sum()
        at = np.searchsorted(sums, wanted - doubt)
        count = 0
        while at < len(sums) and sums[at] <= wanted + doubt:
            for place, value in zip(places, drawn[at]):  # noqa: B905 (numba knows no strict)
                terms[place] = value
            if fires(terms, threshold):
                count += from_here[at] - from_here[at + 1]
            at += 1
        counts[row] = count + from_here[at]


@compiled
def count_in_cells(
    fixed: Floats, drawn: Floats, known: np.ndarray, threshold: float, n_cells: int, counts: np.ndarray
) -> bool:
    """Count, for every row of `fixed`, the rows of `drawn` that make it hold when put in the columns not `known`.

    The background's sums are put in cells of equal width, without sorting. All in the cells above a row's are counted
    and those in its own looked at; sums within a rounding error of the threshold are made anew in the network's order.
    An infinite summand, which stands for a missing value, decides by itself. Cost: a few steps per row of either table,
    unless one cell holds many rows: then nothing is counted and False is returned.
    """
    n, m, n_columns = len(fixed), len(drawn), len(known)
    sums, largest, always = np.empty(m), 0.0, 0
    low, high, finite = np.inf, -np.inf, 0
    for row in range(m):
        total, size = 0.0, 0.0
        for column in range(n_columns):
            if not known[column]:
                total += drawn[row, column]
                size += abs(drawn[row, column])
        sums[row] = total
        if size < np.inf:
            low, high, finite, largest = min(low, total), max(high, total), finite + 1, max(largest, size)
        elif total == np.inf:
            always += 1
        elif total != -np.inf:
            return False  # summands that overflow
    scale = (n_cells - 1) / (high - low) if high > low else 0.0
    if not scale * max(abs(low), abs(high)) < np.inf:
        return False
    first = np.zeros(n_cells + 1, np.int64)  # where each cell begins
    for row in range(m):
        if abs(sums[row]) < np.inf:
            first[int((sums[row] - low) * scale) + 1] += 1
    if finite and first.max() > max(_CROWDED, 64 * finite // n_cells):
        return False
    for cell in range(n_cells):
        first[cell + 1] += first[cell]
    place, order = first.copy(), np.empty(m, np.int64)
    for row in range(m):
        if abs(sums[row]) < np.inf:
            cell = int((sums[row] - low) * scale)
            order[place[cell]] = row
            place[cell] += 1
    terms = np.empty(n_columns)
    for row in range(n):
        total, size = 0.0, 0.0
        for column in range(n_columns):
            if known[column]:
                total += fixed[row, column]
                size += abs(fixed[row, column])
        if size == np.inf:
            if abs(total) < np.inf or total != total:
                return False
            counts[row] = m if total > 0 else 0
            continue
        doubt = _ROUNDING * n_columns * (size + largest + abs(threshold))
        wanted = threshold - total
        begin = int(min(max((wanted - doubt - low) * scale, 0.0), n_cells - 1.0))
        end = int(min(max((wanted + doubt - low) * scale, -1.0), n_cells - 1.0))
        count = always + first[n_cells] - first[end + 1]
        for at in range(first[begin], first[end + 1]):
            other = order[at]
            if sums[other] > wanted + doubt:
                count += 1
            elif sums[other] >= wanted - doubt:
                for column in range(n_columns):
                    terms[column] = fixed[row, column] if known[column] else drawn[other, column]
                count += fires(terms, threshold)
        counts[row] = count
    return True


# -- SHAP values by sampled permutations, for networks whose coalitions are too many to enumerate.


def sampled_shares(
    network: Network, rows: Floats, background: Floats, samples: int, rng: np.random.Generator, term_values: Floats,
    slots: Slots,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the values of the connections, one row of `slots` each, and the standard error of the columns' values.

    A sample is a background row and an order in which the players turn from its values to the row's, walked forwards
    and backwards. Background rows come in a shuffled cycle, so that none counts twice before all have counted once.
    """
    players = np.array(network.features_used, dtype=np.int64)
    alive = [k for k, term in enumerate(network.terms) if isinstance(term, Rule) and network.coef[k].any()]
    gains = gains_of(network)[alive]
    total = np.zeros((len(players), len(alive), len(rows)))
    squares = np.zeros((len(players), len(rows), network.n_outputs))
    start = np.array([], dtype=np.int64)
    for _ in range(samples):
        if len(start) == 0:
            start = rng.permutation(len(background))
        drawn, start = background[start[0]], start[1:]
        order = rng.permutation(len(players))
        one = np.zeros_like(total)
        for way in (order, order[::-1]):
            mixed = np.repeat(drawn[np.newaxis, np.newaxis], len(players) + 1, axis=0).repeat(len(rows), axis=1)
            for position, player in enumerate(players[way], start=1):
                mixed[position:, :, player] = rows[:, player]
            worth = term_worth(network, mixed.reshape(-1, rows.shape[1]))[:, alive]
            worth = worth.reshape(len(players) + 1, len(rows), len(alive))
            one[way] += np.diff(worth, axis=0).transpose(0, 2, 1) / 2.0
        total += one
        squares += np.einsum("kc,pkn->pnc", gains, one) ** 2
    mean = total / samples
    variance = squares / samples - np.einsum("kc,pkn->pnc", gains, mean) ** 2
    player_error = np.sqrt(np.maximum(variance, 0.0) / max(samples - 1, 1))
    reaches = np.array([[(p, k) in slots for k in alive] for p in players]).reshape(len(players), len(alive))
    # What the estimates miss of a rule's known value goes to the players that reach it, most where they err most.
    values = mean[..., np.newaxis] * gains[:, np.newaxis]
    share = player_error[:, np.newaxis] ** 2 * reaches[:, :, np.newaxis, np.newaxis]
    of_all = share.sum(axis=0)
    even = (reaches / np.maximum(reaches.sum(axis=0), 1))[:, :, np.newaxis, np.newaxis]
    share = np.where(of_all > 0, share / np.where(of_all > 0, of_all, 1.0), even)
    values += share * (term_values.transpose(1, 0, 2)[alive] - values.sum(axis=0))
    shares = np.zeros((len(slots), len(rows), network.n_outputs))
    for player, rule in np.argwhere(reaches):
        shares[slots[players[player], alive[rule]]] = values[player, rule]
    error = np.zeros((len(rows), network.n_inputs, network.n_outputs))
    error[:, players] = player_error.transpose(1, 0, 2)
    return shares, error
