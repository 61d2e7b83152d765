"""SHAP values of a network: for features, neurons and connections, against the whole of a background.

With ``v(Q)`` the mean prediction when the columns Q come from the row and the others from the background, a feature's
value is its Shapley share of ``f(x) - v(nothing)``. For one hidden layer it is exact and costs a few sorts per neuron
(:mod:`bgn.explain.shap`). Of classes the scores are explained, which add up: log-odds, or one per class.
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
from bgn.explain.crossings import fires, summand, summands
from bgn.explain.arguments import (
    background_of,
    class_labels,
    class_number,
    probabilities_of,
    rows_of,
    score_of,
    linear_values,
)
from bgn.model.network import Network, on_gpu
from bgn.model.readings import as_told, network_of, outputs_of, swapped
from bgn.model.schema import Category, Column, category_name
from bgn.model.step import Bools, Floats, any_output
from bgn.model.term import Oblique
from bgn.pipelines import through_pipelines
from bgn.require import require
from bgn.tabular import Columns, Tabular
from bgn.text import count_of, quote_category, quote_name

MAX_PLAYERS = 10
"""Most inputs whose coalitions are enumerated: of a neuron with one hidden layer, of the network with more."""

_MUCH = 1 << 20  # rows of all neurons' games, for threads to share


@through_pipelines("X", "background")
def shap_values(
    model: Any, X: Any, background: Any = None, *, method: str = "auto", n_samples: int = 512,
    random_state: int | np.random.Generator | None = None,
) -> Explanation:  # fmt: skip
    """Return the SHAP values of every row, against the whole background.

    With one hidden layer the values are exact, and cost a few sorts of the background for every neuron. A deeper
    network is exact, by enumeration, while it uses at most ten features (so is a single layer while no neuron reads
    more than ten). Beyond that permutations are sampled, with a standard error and a warning.

    Parameters
    ----------
    model : Network or fitted estimator
        With classes the scores are explained, since they add up: the log-odds of the second of two classes, or one
        score per class. `Explanation.probabilities` stands beside them.
    X : array_like, sparse matrix or frame, shape (rows, features), or one row
        The rows to explain; a single one may be a series, a mapping by name, or a sequence. Of a CUDA tensor, the exact
        values of one hidden layer are found on its GPU; the result holds arrays, with the same bits.
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
    network = as_told(network_of(model, plain=False))
    rows, drawn = rows_of(network, X, "X"), background_of(model, network, background)
    if method not in ("auto", "exact", "sampled"):
        raise ValueError(f"method must be 'auto', 'exact' or 'sampled'; got {method!r}.")
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2; got {n_samples}.")
    rng, on_device = np.random.default_rng(random_state), X if on_gpu(X) else None
    return _explained(network, rows, drawn, method, n_samples, rng, on_device)


def _explained(
    network: Network, rows: Floats, drawn: Floats, method: str, n_samples: int, rng: np.random.Generator, on_device: Any
) -> Explanation:
    """Return the SHAP values of a number, or of the scores of classes."""
    scores = outputs_of(network)
    on_device = on_device if scores[0].plain and network.depth == 1 else None
    if len(scores) == 1:
        found = explain_rows(scores[0], rows, drawn, method, n_samples, rng, on_device)
    elif not _sampling(games(_unweighted(network)), method):
        unit = explain_rows(_unweighted(network), rows, drawn, method, on_device=on_device)
        found = _with_lines(_weighted(unit, scores), network)
    else:
        seed = int(rng.integers(1 << 32))  # the same permutations for all classes
        each = (explain_rows(one, rows, drawn, method, n_samples, np.random.default_rng(seed)) for one in scores)
        found = _stacked(list(each))
    if network.link == "identity":
        held = network.bounds is not None
        return replace(found, network=network, predictions=network.predict_encoded(rows)) if held else found
    probabilities = probabilities_of(network, network._raw_score(rows))
    return replace(found, network=network, classes=class_labels(network), probabilities=probabilities)


def explain_rows(
    network: Network,
    rows: Floats,
    background: Floats,
    method: str = "auto",
    n_samples: int = 512,
    rng: np.random.Generator | None = None,
    on_device: Any = None,
) -> Explanation:
    """Return the SHAP values of rows as the network reads them; `on_device` may hold the same rows on a GPU."""
    parts, connections = games(network), _connections(network)
    slots = {pair: slot for slot, pair in enumerate(map(tuple, connections.tolist()))}
    error = None
    if _sampling(parts, method):
        expected, term_values = _linear(network, rows, background)
        rng = np.random.default_rng() if rng is None else rng
        shares, error = sampled_shares(network, rows, background, n_samples, rng, term_values, slots)
    elif on_device is not None:
        exact_shares = importlib.import_module("bgn.explain.shap_gpu").exact_shares
        expected, term_values, shares = exact_shares(network, parts, on_device, background, slots)
    else:
        expected, term_values = _linear(network, rows, background)
        shares = _exact(network, parts, rows, background, slots)
    if error is not None and method == "auto":
        warnings.warn(
            f"SHAP values are sampled: {_most_players(parts)} inputs have too many coalitions (the most is "
            f"{MAX_PLAYERS}). Their standard error is at most {error.max():.3g}; raise n_samples for less, or pass "
            "method='exact'.",
            stacklevel=4,
        )
    totals = np.zeros((network.n_inputs, len(rows)))
    for feature, share in zip(connections[:, 0], shares, strict=True):
        totals[feature] += share
    found = Explanation(
        values=totals.T,
        base_value=float(network.base + expected @ network.output_weights),
        term_values=term_values,
        connections=connections,
        connection_values=shares.T,
        data=rows,
        feature_names=network.names,
        method="exact" if error is None else "sampled",
        standard_error=error,
        network=network,
        background=background,
    )
    return _with_lines(found, network)


def _with_lines(found: Explanation, network: Network) -> Explanation:
    """Return an explanation of questions with what slopes add: one column each, so all of it is that column's."""
    if not network.linear:
        return found
    mean = linear_values(network, found.background).mean(axis=0)
    straight = linear_values(network, found.data) - mean
    return replace(
        found, network=network, values=found.values + straight, linear_values=straight,
        base_value=found.base_value + mean.sum(axis=0),
    )  # fmt: skip


def _unweighted(network: Network) -> Network:
    """Return the score whose every question that reaches any output counts for 1: those of all classes follow."""
    alike = any_output(network.output_weights).astype(np.float64)
    return outputs_of(network)[0].with_linear().changed(output_weights=alike, base=0.0)


def _weighted(unit: Explanation, scores: Sequence[Network]) -> Explanation:
    """Return the exact explanation of several scores from that of the one in which all questions count alike."""
    weights = np.stack([score.output_weights for score in scores], axis=1)
    shares = unit.connection_values[:, :, np.newaxis] * weights[unit.connections[:, 1]]
    totals = np.zeros((len(unit.feature_names), len(unit.data), len(scores)))
    for place, feature in enumerate(unit.connections[:, 0]):
        totals[feature] += shares[:, place]
    expected, bases = unit.network._hidden(unit.background).mean(axis=0), np.array([each.base for each in scores])
    return replace(
        unit, values=totals.transpose(1, 0, 2), base_value=bases + expected @ weights,
        term_values=unit.term_values[:, :, np.newaxis] * weights, connection_values=shares,
    )  # fmt: skip


def _stacked(each: Sequence[Explanation]) -> Explanation:
    """Return the explanations of several scores as one, with a last axis of classes."""
    parts = ["values", "term_values", "connection_values", "standard_error"]
    parts += ["linear_values"] * (each[0].linear_values is not None)
    joined: dict[str, Any] = {name: np.stack([getattr(one, name) for one in each], axis=-1) for name in parts}
    return replace(each[0], base_value=np.array([one.base_value for one in each]), **joined)


def _most_players(parts: Sequence[Game]) -> int:
    return max((len(game.players) for game in parts), default=0)


def _sampling(parts: Sequence[Game], method: str) -> bool:
    """Whether permutations are sampled: where told, or where coalitions are too many."""
    return method == "sampled" or (method == "auto" and _most_players(parts) > MAX_PLAYERS)


def _connections(network: Network) -> NDArray[np.int64]:
    """Return the (feature, last-layer neuron) pairs that non-zero weights join, neuron by neuron."""
    reach = network.layers[0].reads
    for layer in network.layers[1:]:
        reach = layer.reads @ reach
    neurons, features = np.nonzero(reach)
    return np.column_stack([features, neurons])


def _linear(network: Network, rows: Floats, background: Floats) -> tuple[Floats, Floats]:
    """Return the mean answers of the last layer over the background, and what each neuron adds for every row."""
    expected = network._hidden(background).mean(axis=0)
    return expected, (network._hidden(rows) - expected) * network.output_weights


def _exact(network: Network, parts: list[Game], rows: Floats, background: Floats, slots: Slots) -> Floats:
    """Return the shares of the connections, one row of `slots` each: every coalition's part added up."""
    shares, table, drawn = np.zeros((len(slots), len(rows))), SortedColumns(rows), SortedColumns(background)

    def share(game: Game) -> None:
        for coalition, means in averages(network, game, table, drawn):
            add_shares(network, game, coalition, means, shares, slots)

    # One neuron's shares are its own, so that threads need not wait for each other.
    threads = cpu_count() if len(parts) * (len(rows) + len(background)) >= _MUCH else 1
    if threads > 1:
        ThreadPool(threads).each(share, parts)
    else:
        for game in parts:
            share(game)
    return shares


# -- What SHAP values come to: a record of shares, and what follows from it.

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
    term_values : ndarray, shape (rows, neurons)
        Linear SHAP values of the last hidden layer: what each neuron adds to the base value. They add up too.
    connections : ndarray of int, shape (connections, 2)
        Feature and last-layer neuron of every column of `connection_values`: the pairs where the feature can reach
        the neuron.
    connection_values : ndarray, shape (rows, connections)
        Share of a feature in what a neuron adds: summed over neurons they are `values`, over features
        `term_values`.
    data : ndarray, shape (rows, features)
        The rows explained, as the network reads them: a category as the number of its level, a gap as NaN.
    feature_names : tuple of str
        Names of the columns.
    method : {"exact", "sampled"}
        How the values were found.
    standard_error : ndarray of shape (rows, features), or None
        Of `values`, when sampled; None when exact.
    network : Network
        What was explained.
    background : ndarray, shape (any number of rows, features)
        What it was compared with.
    classes : tuple, or None
        The labels of the classes; None where a number is predicted. With more than two, `term_values` and
        `connection_values` have a last axis of classes, too.
    probabilities : ndarray of shape (rows, classes), or None
        What is predicted for the rows; with classes only.
    predictions : ndarray of shape (rows,), or None
        What is predicted for the rows, where bounds may keep it from being the sum.
    linear_values : ndarray, shape (rows, features), or None
        What slopes add to the base value, which is part of `values`; None where there are none. `term_values` and
        these add up to the prediction.
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
    linear_values: Floats | None = None
    predictions: Floats | None = None

    def _columns(self) -> Columns:
        if self.values.ndim == 2:
            values = {name: each.tolist() for name, each in zip(self.feature_names, self.values.T, strict=True)}
            return {"base value": [float(self.base_value)] * len(self.values), **values}
        words = [category_name(label) for label in self.classes or ()]
        return {f"{name}, {word}": self.values[:, j, k].tolist() for k, word in enumerate(words)
                for j, name in enumerate(self.feature_names)}  # fmt: skip

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
        number, whole = class_number(self.network, label, "label"), self.values.ndim == 2
        if whole and number == 1:
            return self
        parts = ["values", "term_values", "connection_values", "base_value"]
        parts += ["linear_values"] * (self.linear_values is not None)
        taken = {name: -getattr(self, name) if whole else getattr(self, name)[..., number] for name in parts}
        error = self.standard_error if whole or self.standard_error is None else self.standard_error[..., number]
        # Two classes: the network whose second class is the one asked for.
        network = swapped(self.network) if whole else score_of(self.network, label)
        classes = self.classes[::-1] if whole else None
        shown = self.probabilities[:, ::-1] if whole and self.probabilities is not None else None
        return replace(self, **taken, standard_error=error, network=network, classes=classes, probabilities=shown)

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
        if self.values.ndim == 3:
            each = [self.of_class(label).interaction_values() for label in self.classes or ()]
            return np.stack(each, axis=-1)
        n, d = self.values.shape
        pairs = np.zeros((d, d, n))
        rows, background = SortedColumns(self.data), SortedColumns(self.background)
        for game in games(self.network):
            output = self.network.output_weights[list(game.neurons)]
            weights = shapley_weights(len(game.players) - 1)
            for coalition, means in averages(self.network, game, rows, background):
                value = output @ means / 2.0
                for a, first in enumerate(game.players):
                    for b, second in enumerate(game.players[:a]):
                        inside = (coalition >> a & 1) + (coalition >> b & 1)
                        weight = weights[coalition.bit_count() - inside]
                        pairs[first, second] += (-weight if inside == 1 else weight) * value
        pairs += pairs.transpose(1, 0, 2)
        pairs[np.arange(d), np.arange(d)] = self.values.T - pairs.sum(axis=1)
        return pairs.transpose(2, 0, 1)

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
        table = self._row_table(used[:_MOST_PRINTED]) if len(self.values) == 1 else self._summary(used[:_MOST_PRINTED])
        more = len(used) - _MOST_PRINTED
        rest = [f"and {count_of(more, 'more column')}: to_frame() has all"] * (more > 0)
        return "\n".join([*self._headline(), *_aligned(table), *rest])

    def _headline(self) -> list[str]:
        """Return the lines above the table: what the values add up to."""
        sampled = "" if self.method == "exact" else ", sampled"
        rows = len(self.values)
        of = count_of(rows, "row")
        if self.values.ndim == 3:
            return [f"SHAP values of {of}: a score per class{sampled}"]
        what = "log-odds" if self.classes is not None else self.network.target_name or "prediction"
        lines = [f"SHAP values of {of}: {quote_name(what, 60)}{sampled}", f"base value {self.base_value:.6g}"]
        if rows == 1:
            total = float(self.base_value + self.values[0].sum())
            lines[-1] += f", with the values below {total:.6g}"
            if self.classes is not None and self.probabilities is not None:
                label = quote_category(category_name(self.classes[1]), 40)
                lines[-1] += f": the probability of {label} is {self.probabilities[0, 1]:.4g}"
            elif self.predictions is not None and self.predictions[0] != total:
                lines[-1] += f"; within its bounds the model predicts {self.predictions[0]:.6g}"
        return lines

    def _row_table(self, columns: list[int]) -> list[list[str]]:
        """Return a table of one row's values, the largest first."""
        heads = self._class_words() if self.values.ndim == 3 else ["SHAP value"]
        if self.values.ndim == 3:
            bases = [["base value", "", *(f"{each:.4g}" for each in self.base_value)]]
            chances = [] if self.probabilities is None else [
                ["probability", "", *(f"{each:.4g}" for each in self.probabilities[0])]
            ]  # fmt: skip
        else:
            bases, chances = [], []
        rows = [
            [quote_name(self.feature_names[j], 40), _cell(self.network.schema.columns[j], float(self.data[0, j])),
             *(f"{each:+.4g}" for each in np.atleast_1d(self.values[0, j]))]
            for j in columns
        ]  # fmt: skip
        return [["column", "value", *heads], *bases, *rows, *chances]

    def _summary(self, columns: list[int]) -> list[list[str]]:
        """Return a table of what the values of several rows are, column by column."""
        if self.values.ndim == 3:
            means = np.abs(self.values).mean(axis=0)
            head = ["mean |SHAP value|", *self._class_words()]
            names = [quote_name(name, 40) for name in self.feature_names]
            return [head, *([names[j], *(f"{each:.4g}" for each in means[j])] for j in columns)]
        head = ["column", "mean |SHAP value|", "least", "greatest"]
        return [head, *([quote_name(self.feature_names[j], 40), f"{np.abs(own).mean():.4g}", f"{own.min():+.4g}",
                         f"{own.max():+.4g}"] for j, own in ((j, self.values[:, j]) for j in columns))]  # fmt: skip

    def _class_words(self) -> list[str]:
        return [quote_category(category_name(label), 24) for label in self.classes or ()]


def _cell(column: Column, value: float) -> str:
    """Write what a row holds in a column."""
    if value != value:
        return "missing"
    if column.categories is not None:
        return quote_category(category_name(column.categories[int(value)]), 40)
    return (column.part_of and column.part_of.told(value)) or f"{value:.6g}"


def _aligned(table: list[list[str]]) -> list[str]:
    """Return the lines of a table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for first, *others in table:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    return lines


# -- What neurons answer on average when some of their inputs are known and the others come from a background.

Ints = NDArray[np.int64]
Slots = dict[tuple[int, ...], int]

# A deeper network is evaluated on at most this many rows at a time.
_BLOCK = 1 << 16
_FEWEST_CELLS = 64


@dataclass(frozen=True)
class Game:
    """Players (columns) and the last-layer neurons whose answers they share."""

    players: tuple[int, ...]
    neurons: tuple[int, ...]


class SortedColumns:
    """Rows kept column by column; what sorts a column of numbers is remembered from the first time it is asked for."""

    def __init__(self, rows: Floats) -> None:
        self.rows = rows
        self.by_column = np.ascontiguousarray(rows.T).T
        self._orders: dict[int, Ints] = {}
        self._sorted: dict[int, Floats] = {}
        self._last: tuple[Oblique, Floats] | None = None

    def summands(self, neuron: Oblique) -> Floats:
        """Return what every column that a neuron reads adds to its sum, (rows, columns); the last is remembered."""
        known = self._last
        if known is None or known[0] is not neuron:
            known = self._last = neuron, np.ascontiguousarray(summands(neuron, self.by_column).T)
        return known[1]

    def order(self, neuron: Oblique, place: int) -> Ints:
        """Return the rows' numbers, the smallest summand of the column at a place of a neuron's projection first."""
        column, factor = neuron.projection.columns[place], neuron.projection.coefficients[place]
        if isinstance(factor, tuple) or neuron.takes_missing:
            return np.argsort(summand(neuron, place, self.by_column))
        if column not in self._orders:
            self._orders[column] = np.argsort(self.by_column[:, column])
        return self._orders[column][:: 1 if factor > 0 else -1]

    def largest_first(self, neuron: Oblique, place: int) -> Floats:
        """Return the summands of the column at a place of a neuron's projection, sorted downwards."""
        column, factor = neuron.projection.columns[place], neuron.projection.coefficients[place]
        if isinstance(factor, tuple) or neuron.takes_missing:
            return np.sort(summand(neuron, place, self.by_column))[::-1]
        if column not in self._sorted:
            self._sorted[column] = np.sort(self.by_column[:, column])
        return (self._sorted[column] * factor)[:: -1 if factor > 0 else 1]


def games(network: Network) -> list[Game]:
    """Return the games whose values, weighted by the output, add up to the network's."""
    alive = tuple(np.flatnonzero(network.output_weights).tolist())
    if network.depth == 1:
        return [Game(network.layers[0].neurons[k].projection.columns, (k,)) for k in alive]
    return [Game(network.features_used, alive)]


def averages(
    network: Network, game: Game, rows: SortedColumns, background: SortedColumns
) -> Iterator[tuple[int, Floats]]:
    """Yield every coalition, one bit per player, and the mean answers of the game's neurons, shape (neurons, rows)."""
    for coalition in range(1 << len(game.players)):
        if network.depth == 1:
            counts = coalition_counts(network.layers[0].neurons[game.neurons[0]], coalition, rows, background)
            yield coalition, (2.0 * counts / len(background.rows) - 1.0)[np.newaxis]
        else:
            known = [player for bit, player in enumerate(game.players) if coalition >> bit & 1]
            yield coalition, mixed_answers(network, known, rows.rows, background.rows)[list(game.neurons)]


def add_shares(network: Network, game: Game, coalition: int, means: Any, shares: Any, slots: Slots) -> None:
    """Add the part of one coalition, mean answers per neuron of the game, to the shares of the connections.

    `shares` has one row per connection, found by `slots`: arrays and tensors alike.
    """
    weights, size = shapley_weights(len(game.players)), coalition.bit_count()
    for bit, player in enumerate(game.players):
        factor = weights[size - 1] if coalition >> bit & 1 else -weights[size]
        for neuron, mean in zip(game.neurons, means, strict=True):
            if (player, neuron) in slots:
                shares[slots[player, neuron]] += float(factor * network.output_weights[neuron]) * mean


def coalition_counts(neuron: Oblique, coalition: int, rows: SortedColumns, background: SortedColumns) -> Ints:
    """Return for every row how many background rows make a first-layer neuron fire.

    A bit of `coalition` per column that the neuron reads tells whether the row's value is known.
    """
    size, threshold = len(neuron.projection.columns), neuron.threshold
    if coalition == 0:
        return np.full(len(rows.rows), np.count_nonzero(neuron.fires(background.by_column)))
    if coalition == (1 << size) - 1:
        return np.where(neuron.fires(rows.by_column), len(background.rows), 0)
    counts = np.empty(len(rows.rows), dtype=np.int64)
    if size == 2:
        known, other = coalition - 1, 2 - coalition
        fixed, drawn = summand(neuron, known, rows.by_column), background.largest_first(neuron, other)
        count_merged(fixed, rows.order(neuron, known), drawn, threshold, counts)
        return counts
    fixed, drawn = rows.summands(neuron), background.summands(neuron)
    given = np.array([bool(coalition >> place & 1) for place in range(size)])
    if count_in_cells(fixed, drawn, given, threshold, max(_FEWEST_CELLS, len(drawn)), counts):
        return counts
    places = np.flatnonzero(~given)
    drawn = np.ascontiguousarray(drawn.T[places])
    drawn = drawn[:, np.lexsort(drawn)]
    new = np.ones(drawn.shape[1], dtype=bool)
    new[1:] = (drawn[:, 1:] != drawn[:, :-1]).any(axis=0)
    sums, times = drawn[:, new].sum(axis=0), np.diff(np.flatnonzero(new), append=drawn.shape[1])
    order = np.argsort(sums)
    distinct, above = drawn[:, new].T[order], np.append(np.cumsum(times[order][::-1])[::-1], 0)
    count_windowed(fixed, places, distinct, sums[order], above, threshold, counts)
    return counts


def mixed_answers(network: Network, known: list[int], rows: Floats, background: Floats) -> Floats:
    """Return the mean last-layer answers with the known columns from a row and the rest from the background."""
    means = np.empty((network.widths[-1], len(rows)))
    at_once = max(1, _BLOCK // len(background))
    for start in range(0, len(rows), at_once):
        block = rows[start : start + at_once]
        mixed = np.tile(background, (len(block), 1))
        mixed[:, known] = np.repeat(block[:, known], len(background), axis=0)
        fires = network._hidden(mixed).reshape(len(block), len(background), -1)
        means[:, start : start + at_once] = fires.mean(axis=1).T
    return means


@cache
def shapley_weights(players: int) -> tuple[float, ...]:
    """Return the weight of joining a coalition of each size, 0 to players - 1: it depends on the players alone.

    A column that a neuron does not read changes nothing, so the sum over all coalitions of all columns collapses to
    the neuron's own: a one-feature neuron gets weight 1. A pair joins as one of one player fewer.
    """
    return tuple(factorial(size) * factorial(players - size - 1) / factorial(players) for size in range(players))


# -- Compiled loops that count the background rows with which a row makes a neuron fire: arrays in, arrays out.

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
    fixed: Floats, places: np.ndarray, drawn: Floats, sums: Floats, above: np.ndarray, threshold: float,
    counts: np.ndarray,
) -> None:  # fmt: skip
    """Count, for every row of `fixed`, the rows of `drawn` that make it fire when put in columns `places`.

    `drawn` holds distinct rows sorted by their `sums`; ``above[i]`` is how many background rows stand at `i` or
    later. Sums that clear the threshold by more than a rounding error are counted; the few others are summed anew in
    the network's order. Infinite entries, which stand for gaps, decide by themselves and are in no doubt.
    """
    spread = 0.0
    for row in range(len(drawn)):
        size = np.abs(drawn[row]).sum()
        if size < np.inf or not np.isinf(drawn[row]).any():
            spread = max(spread, size)
    terms = np.empty(fixed.shape[1])
    for row in range(len(fixed)):
        terms[:] = fixed[row]
        for place in places:
            terms[place] = 0.0
        doubt = _ROUNDING * len(terms) * (np.abs(terms).sum() + spread + abs(threshold))
        wanted = threshold - terms.sum()
        at = np.searchsorted(sums, wanted - doubt)
        count = 0
        while at < len(sums) and sums[at] <= wanted + doubt:
            for place, value in zip(places, drawn[at]):  # noqa: B905 (numba knows no strict)
                terms[place] = value
            if fires(terms, threshold):
                count += above[at] - above[at + 1]
            at += 1
        counts[row] = count + above[at]


@compiled
def count_in_cells(
    fixed: Floats, drawn: Floats, known: np.ndarray, threshold: float, n_cells: int, counts: np.ndarray
) -> bool:
    """Count, for every row of `fixed`, the rows of `drawn` that make it fire when put in the columns not `known`.

    The background's sums are put in cells of equal width, without sorting. All in the cells above a row's are counted
    and those in its own looked at; sums within a rounding error of the threshold are made anew in the network's order.
    An infinite summand, which stands for a gap, decides by itself. Cost: a few steps per row of either table, unless
    one cell holds many rows: then nothing is counted and False is returned.
    """
    n, m, width = len(fixed), len(drawn), len(known)
    sums, spread, always = np.empty(m), 0.0, 0
    low, high, finite = np.inf, -np.inf, 0
    for row in range(m):
        total, size = 0.0, 0.0
        for column in range(width):
            if not known[column]:
                total += drawn[row, column]
                size += abs(drawn[row, column])
        sums[row] = total
        if size < np.inf:
            low, high, finite, spread = min(low, total), max(high, total), finite + 1, max(spread, size)
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
    terms = np.empty(width)
    for row in range(n):
        total, size = 0.0, 0.0
        for column in range(width):
            if known[column]:
                total += fixed[row, column]
                size += abs(fixed[row, column])
        if size == np.inf:
            if abs(total) < np.inf or total != total:
                return False
            counts[row] = m if total > 0 else 0
            continue
        doubt = _ROUNDING * width * (size + spread + abs(threshold))
        wanted = threshold - total
        begin = int(min(max((wanted - doubt - low) * scale, 0.0), n_cells - 1.0))
        end = int(min(max((wanted + doubt - low) * scale, -1.0), n_cells - 1.0))
        count = always + first[n_cells] - first[end + 1]
        for at in range(first[begin], first[end + 1]):
            other = order[at]
            if sums[other] > wanted + doubt:
                count += 1
            elif sums[other] >= wanted - doubt:
                for column in range(width):
                    terms[column] = fixed[row, column] if known[column] else drawn[other, column]
                count += fires(terms, threshold)
        counts[row] = count
    return True


@compiled
def count_differing(
    fixed: Floats, drawn: Floats, known: np.ndarray, place: int, threshold: float, counts: np.ndarray
) -> None:
    """Count, for every row of `fixed`, the rows of `drawn` whose answer changes with the summand in column `place`.

    Columns where `known` is true come from `fixed`, the others from `drawn`, and `place` from one and then the other.
    A loop over pairs of rows.
    """
    terms = np.empty(fixed.shape[1])
    for row in range(len(fixed)):
        count = 0
        for other in range(len(drawn)):
            for column in range(len(terms)):
                terms[column] = fixed[row, column] if known[column] else drawn[other, column]
            terms[place] = fixed[row, place]
            before = fires(terms, threshold)
            terms[place] = drawn[other, place]
            count += before != fires(terms, threshold)
        counts[row] = count


# -- SHAP values by sampled permutations, for networks whose coalitions are too many to enumerate.


def sampled_shares(
    network: Network, rows: Floats, background: Floats, samples: int, rng: np.random.Generator, term_values: Floats,
    slots: Slots,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the shares of the connections, one row of `slots` each, and the standard error of the features' values.

    A sample is a background row and an order in which the players turn from its values to the row's, walked forwards
    and backwards. Background rows come in a shuffled cycle, so that none counts twice before all have counted once.
    """
    players, neurons = np.array(network.features_used, dtype=np.int64), np.flatnonzero(network.output_weights)
    weights = network.output_weights[neurons]
    total = np.zeros((len(players), len(neurons), len(rows)))
    squares = np.zeros((len(players), len(rows)))
    start = np.array([], dtype=np.int64)
    for _ in range(samples):
        if len(start) == 0:
            start = rng.permutation(len(background))
        drawn, start = background[start[0]], start[1:]
        order = rng.permutation(len(players))
        forth, back = (_walk(network, neurons, players, each, rows, drawn) for each in (order, order[::-1]))
        one = (forth + back) / 2.0
        total += one
        squares += np.einsum("k,pkn->pn", weights, one) ** 2
    mean = total / samples
    variance = squares / samples - np.einsum("k,pkn->pn", weights, mean) ** 2
    player_error = np.sqrt(np.maximum(variance, 0.0) / max(samples - 1, 1))
    reaches = np.array([[(p, k) in slots for k in neurons] for p in players]).reshape(len(players), len(neurons))
    values = _settle(mean * weights[:, np.newaxis], player_error, term_values.T[neurons], reaches)
    shares, error = np.zeros((len(slots), len(rows))), np.zeros((len(rows), network.n_inputs))
    for player, neuron in np.argwhere(reaches):
        shares[slots[players[player], neurons[neuron]]] = values[player, neuron]
    error[:, players] = player_error.T
    return shares, error


def _walk(network: Network, neurons: Ints, players: Ints, order: Ints, rows: Floats, drawn: Floats) -> Floats:
    """Return what each player changes when it turns from the drawn row's value to the row's, in the given order."""
    mixed = np.repeat(drawn[np.newaxis, np.newaxis], len(players) + 1, axis=0).repeat(len(rows), axis=1)
    for position, player in enumerate(players[order], start=1):
        mixed[position:, :, player] = rows[:, player]
    fires = network._hidden(mixed.reshape(-1, rows.shape[1]))[:, neurons]
    fires = fires.reshape(len(players) + 1, len(rows), len(neurons))
    changes = np.empty((len(players), len(neurons), len(rows)))
    changes[order] = np.diff(fires, axis=0).transpose(0, 2, 1)
    return changes


def _settle(values: Floats, error: Floats, expected: Floats, reaches: Bools) -> Floats:
    """Spread what the estimates miss of a neuron's known sum over the players that reach it, most where they err most.

    `values` are per player, neuron and row; `error` per player and row; `expected` per neuron and row; `reaches` per
    player and neuron.
    """
    share = error[:, np.newaxis] ** 2 * reaches[:, :, np.newaxis]
    total = share.sum(axis=0)
    even = (reaches / np.maximum(reaches.sum(axis=0), 1))[:, :, np.newaxis]
    share = np.where(total > 0, share / np.where(total > 0, total, 1.0), even)
    return values + share * (expected - values.sum(axis=0))
