"""What SHAP values come to: a record of shares, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.explain.classes import class_number, score_of
from bgn.explain.shap.coalitions import SortedColumns, averages, games, shapley_weights
from bgn.model.network import Network
from bgn.model.schema import Column, Level, level_word
from bgn.model.step import Floats
from bgn.model.told import swapped
from bgn.printable import quote_category, quote_name
from bgn.require import require
from bgn.tabular import Columns, Tabular
from bgn.wording import count_of

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
    neuron_values : ndarray, shape (rows, neurons)
        Linear SHAP values of the last hidden layer: what each neuron adds to the base value. They add up too.
    connections : ndarray of int, shape (connections, 2)
        Feature and last-layer neuron of every column of `connection_values`: the pairs where the feature can reach
        the neuron.
    connection_values : ndarray, shape (rows, connections)
        Share of a feature in what a neuron adds: summed over neurons they are `values`, over features
        `neuron_values`.
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
        The labels of the classes; None where a number is predicted. With more than two, `neuron_values` and
        `connection_values` have a last axis of classes, too.
    probabilities : ndarray of shape (rows, classes), or None
        What is predicted for the rows; with classes only.
    predictions : ndarray of shape (rows,), or None
        What is predicted for the rows, where bounds may keep it from being the sum.
    linear_values : ndarray, shape (rows, features), or None
        What slopes add to the base value, which is part of `values`; None where there are none. `neuron_values` and
        these add up to the prediction.
    """

    values: Floats
    base_value: Any
    neuron_values: Floats
    connections: NDArray[np.int64]
    connection_values: Floats
    data: Floats
    feature_names: tuple[str, ...]
    method: str
    standard_error: Floats | None
    network: Network
    background: Floats
    classes: tuple[Level, ...] | None = None
    probabilities: Floats | None = None
    linear_values: Floats | None = None
    predictions: Floats | None = None

    def _columns(self) -> Columns:
        if self.values.ndim == 2:
            values = {name: each.tolist() for name, each in zip(self.feature_names, self.values.T, strict=True)}
            return {"base value": [float(self.base_value)] * len(self.values), **values}
        words = [level_word(label) for label in self.classes or ()]
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
        parts = ["values", "neuron_values", "connection_values", "base_value"]
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
                label = quote_category(level_word(self.classes[1]), 40)
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
        return [quote_category(level_word(label), 24) for label in self.classes or ()]


def _cell(column: Column, value: float) -> str:
    """Write what a row holds in a column."""
    if value != value:
        return "missing"
    if column.levels is not None:
        return quote_category(level_word(column.levels[int(value)]), 40)
    return (column.part_of and column.part_of.told(value)) or f"{value:.6g}"


def _aligned(table: list[list[str]]) -> list[str]:
    """Return the lines of a table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for first, *others in table:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    return lines
