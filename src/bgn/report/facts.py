"""What a report says, worked out as plain values before any of it is laid out: scores, errors, columns, settings."""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.conformal import Intervals
from bgn.explain.arguments import class_labels, clipped_network, read_codes
from bgn.explain.evaluate import Evaluation, EvaluationRows, evaluate_classes, evaluate_predictions
from bgn.explain.extremes import Extremes, extremes
from bgn.explain.importance import Importance, importance
from bgn.explain.rivals import as_numbers, rival_predictions, rows_with_target, standardized, zero_if_empty
from bgn.explain.shap import MAX_PLAYERS, shap_values
from bgn.export.numbers import share_of
from bgn.model.categories import RARE, KeptCategories
from bgn.model.network import Edit, Network
from bgn.model.readings import Terms, as_terms, is_first_positive, outputs_of, with_positive_second
from bgn.model.schema import category_name
from bgn.model.step import Bools, Floats
from bgn.model.term import Linear
from bgn.report.labels import PageLabels
from bgn.show.drawing import of_rules
from bgn.show.labels import Quantity, title
from bgn.text import clean, count_of, quote_category

WORST = 10
"""Rows that the table of residuals lists."""
SHARE = 0.9
"""Share of rows whose target an interval holds."""
SECONDS = 2.0
"""Time to prove how far predictions go."""
MEASURES = {
    False: {"rmse": "typical error (RMSE)", "mae": "mean absolute error", "r2": "variance explained (R²)"},
    True: {
        "log_loss": "log loss", "auc": "AUC", "accuracy": "accuracy", "brier": "Brier score",
        "calibration_error": "calibration error",
    },
}  # fmt: skip
"""The scores that a page shows, with their titles: of numbers, and of classes."""
Names = Sequence[str] | None
_MOST_CATEGORIES = 6  # that the table of columns names
_LONGEST_LABEL = 24
_LEAST = 1e-15  # probabilities of a tree may be 0, of which there is no logarithm


@dataclass(frozen=True, eq=False)
class Facts:
    """A model and the rows it is told about, checked, with what is worked out once and used in several places.

    Rows are as the network reads them, a category as the number of its level, a gap as NaN; `coded` is the network that
    takes them so.
    """

    model: Any
    network: Network
    coded: Network
    terms: Terms
    rows: Floats
    target: Floats
    evaluation_rows: Floats
    evaluation_target: Floats
    held_out: bool
    predictions: Floats
    holds: Floats
    importance: Importance
    importance_note: str
    original: Network
    labels: PageLabels
    edits: tuple[Edit, ...] = ()
    names: tuple[Names, Names] = (None, None)
    n_training: int | None = None
    turned: bool = False

    @classmethod
    def of(
        cls, model: Any, X: Any, y: ArrayLike, X_test: Any, y_test: ArrayLike | None, labels: Any = None,
        units: Mapping[str, str] | None = None,
    ) -> Facts:  # fmt: skip
        """Check the arguments of a report and work out what it needs."""
        turned, original = is_first_positive(clipped_network(model)), with_positive_second(clipped_network(model))
        page_labels = PageLabels.of(original.schema, labels, units)
        nameless = KeptCategories({}, KeptCategories.of(original).nameless)
        network, coded = original.changed(schema=nameless.schema(page_labels.schema)), read_codes(original)
        rows, target = rows_with_target(original, X, y, "X", "y")
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test go together; got one without the other.")
        held_out = X_test is not None
        tests = rows_with_target(original, X_test, y_test, "X_test", "y_test") if held_out else (rows, target)
        terms, predictions = terms_of(network), coded.predict(tests[0])
        holds = replace(terms, schema=coded.schema).holds(rows).mean(axis=0)
        measured = _mean_importance(coded, rows)
        return cls(
            model, network, coded, terms, rows, target, *tests, held_out, predictions, holds, *measured, original,
            page_labels, turned=turned,
        )  # fmt: skip

    @property
    def classes(self) -> bool:
        """Whether classes are predicted; targets are then their numbers."""
        return self.network.link != "identity"

    @cached_property
    def class_names(self) -> list[str]:
        """The labels of the classes as a page shows them."""
        return [quote_category(category_name(label), _LONGEST_LABEL) for label in class_labels(self.network)]

    @cached_property
    def class_rows(self) -> EvaluationRows:
        """The evaluation rows with the scores of every class."""
        rows = EvaluationRows.of_encoded(self.network, self.evaluation_rows, self.evaluation_target)
        return replace(rows, tie=int(self.turned))

    @property
    def used(self) -> list[int]:
        """Columns that the network uses, the most important first."""
        return sorted(self.network.features_used, key=lambda i: -self.importance.features[i])

    @cached_property
    def outside(self) -> Bools:
        """Which values of the judged rows lie outside the range of the rows the model was made from."""
        low, high = (end(zero_if_empty(self.rows), axis=0) for end in (np.nanmin, np.nanmax))
        return np.asarray((self.evaluation_rows < low) | (self.evaluation_rows > high))

    @cached_property
    def intervals(self) -> Intervals | None:
        """How sure predictions are, where the model knows, without groups or folds."""
        own = getattr(self.model, "intervals_", None)
        if own is None or with_positive_second(own.network) != self.original or own.folds or set(own.calibrations) != {None}:
            return None
        known = np.isfinite(own.calibrations[None].quantile(SHARE))
        return replace(own, network=self.original) if known else None  # whose classes stand as the page has them

    @cached_property
    def quantity(self) -> Quantity:
        """How numbers of the target are written."""
        return Quantity("" if self.classes else self.network.schema.target_unit)

    @property
    def evaluation_names(self) -> Names:
        """What the rows to judge by are called, where the author says so."""
        return self.names[1 if self.held_out else 0]

    def called(self, row: int) -> str:
        """Return what a row to judge by is called: its name, or its number, the first being 1."""
        return str(row + 1) if self.evaluation_names is None else self.evaluation_names[row]

    @cached_property
    def linear_sizes(self) -> list[float]:
        """How far each linear term moves predictions from their mean, on average over the rows."""
        return [size for size, term in zip(self.importance.terms.tolist(), self.network.terms, strict=True)
                if isinstance(term, Linear)]  # fmt: skip

    @cached_property
    def shares(self) -> tuple[Floats, list[float]]:
        """The part of every rule, and of every linear term, in how far predictions move."""
        total = float(self.importance.terms.sum()) or 1.0
        return of_rules(self.network, self.importance.terms) / total, [size / total for size in self.linear_sizes]

    @cached_property
    def extremes(self) -> Extremes:
        """The lowest and the highest prediction within the ranges seen at fit, or those of the rows."""
        within = {}
        for column, values in zip(self.network.schema.columns, self.rows.T, strict=True):
            known = values[~np.isnan(values)]
            if column.categories is None and (column.seen is not None or len(known)):
                within[column.name] = column.seen or (float(known.min()), float(known.max()))
        return extremes(self.network, within, max_seconds=SECONDS)

    @cached_property
    def numbers(self) -> tuple[Floats, Floats]:
        """The rows and those to judge by as numbers that any model takes: a level as 0/1, a gap as the median."""
        schema = self.network.schema
        return as_numbers(schema, self.rows, self.rows), as_numbers(schema, self.evaluation_rows, self.rows)

    @cached_property
    def standardized(self) -> tuple[Floats, Floats]:
        """The rows and those to judge by, with the former's columns centered and of size 1, whatever their scale."""
        return standardized(*self.numbers)


def _mean_importance(network: Network, rows: Floats) -> tuple[Importance, str]:
    """Return importances; where there are several scores, the mean over them."""
    measured = [_importance(output, rows) for output in outputs_of(network)]
    parts = ("features", "connections", "terms")
    means = {name: np.mean([getattr(one, name) for one, _ in measured], axis=0) for name in parts}
    return replace(measured[0][0], **means), measured[0][1]


def terms_of(network: Network) -> Terms:
    """Return the terms of a network: of one score, or of the largest part in any class's."""
    if len(outputs_of(network)) == 1:
        return as_terms(network)
    first = outputs_of(network)[0]
    return as_terms(first.changed(output_weights=np.abs(network.output_weights).max(axis=1), base=0.0))


def _importance(network: Network, rows: Floats) -> tuple[Importance, str]:
    """Return importances over all rows, or over some where all would take minutes, and words that say so."""
    inputs = network.max_features if network.depth == 1 else len(network.features_used)
    if network.depth == 1 and inputs <= MAX_PLAYERS:
        return importance(network, rows), ""
    exact = inputs <= MAX_PLAYERS
    # Deeper networks are evaluated for every pair of rows and every coalition: about two million times in all.
    count = min(len(rows), max(40, math.isqrt(2_000_000 >> inputs)) if exact else 200)
    some = rows[np.linspace(0, len(rows) - 1, count).astype(int)]
    note = f"Importance was measured on {count:,} of the {len(rows):,} rows." if count < len(rows) else ""
    if exact:
        return importance(network, some), note
    sampled = shap_values(network, some, rows, method="sampled", n_samples=128, random_state=0)
    connections = np.zeros((network.n_inputs, len(network.terms)))
    connections[tuple(sampled.connections.T)] = np.abs(sampled.connection_values).mean(axis=0)
    features, terms = (np.abs(values).mean(axis=0) for values in (sampled.values, sampled.term_values))
    note = f"Importance was estimated on {count:,} rows by sampling: so many columns have too many coalitions."
    return Importance(features, connections, terms, network.names, "shap"), note


@dataclass(frozen=True)
class Rival:
    """The model, or one beside it: its name and size, and how well it predicts."""

    name: str
    size: str
    evaluation: Evaluation


def quality(facts: Facts) -> list[Rival]:
    """Evaluate the model, a tree of similar size, a linear model and the mean on the same rows; for classes logistic
    regression, and the shares of the classes."""
    classes = class_labels(facts.network) if facts.classes else None
    train, n_columns = (facts.rows, facts.target), count_of(facts.rows.shape[1], "column")
    others = rival_predictions(facts.network.schema, train, facts.evaluation_rows, classes)
    predicted, tree = _grow_tree(facts)
    names = ("logistic regression", "the shares of the classes") if facts.classes else ("a linear model", "the mean")
    own = facts.predictions
    if facts.classes:
        own = facts.network.predict_encoded(facts.evaluation_rows, scores=True)
    entries = [
        ("this model", _own_size(facts), own),
        ("a tree of similar size", tree, predicted),
        *zip(names, (n_columns, "always the same"), others.values(), strict=True),
    ]
    return [Rival(name, size, evaluate_predictions(facts.evaluation_target, values, classes))
            for name, size, values in entries]  # fmt: skip


def _grow_tree(facts: Facts) -> tuple[Floats, str]:
    """Return what a tree with as many splits as the model has conditions predicts, and its size."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    rows, others = facts.standardized
    make = DecisionTreeClassifier if facts.classes else DecisionTreeRegressor
    target = facts.target.astype(int) if facts.classes else facts.target
    tree = make(max_leaf_nodes=max(facts.network.n_conditions + 1, 2), random_state=0).fit(rows, target)
    columns = count_of(len(set(tree.tree_.feature) - {-2}), "column")
    size = f"{count_of(int(tree.get_n_leaves()) - 1, 'split')}, {columns}"
    if not facts.classes:
        return tree.predict(others), size
    shares = np.full((len(others), len(facts.class_names)), _LEAST)
    shares[:, tree.classes_] = np.maximum(tree.predict_proba(others), _LEAST)
    return np.log(shares), size


def _own_size(facts: Facts) -> str:
    """Say how large the model is."""
    network = facts.network
    rules = len(network.rules) + sum(layer.width for layer in network.below)
    conditions = network.n_conditions - len(network.linear)
    size = count_of(rules, "question") + (f" ({count_of(conditions, 'condition')})" if conditions != rules else "")
    linear = f", {count_of(len(network.linear), 'slope')}" if network.linear else ""
    return f"{size}{linear}, {count_of(len(network.features_used), 'column')}"


def confusion(facts: Facts) -> dict[str, Any]:
    """Return how many rows of each class were taken for which, with shares of each class."""
    matrix: Any = evaluate_classes(facts.class_rows).confusion
    totals = matrix.sum(axis=1, keepdims=True)
    shares = np.divide(matrix, totals, out=np.zeros_like(matrix), where=totals > 0)
    rows = [
        {"name": name, "cells": [{"count": f"{int(n):,}", "share": share_of(p), "strength": round(100 * p)}
                                 for n, p in zip(counts, part, strict=True)]}
        for name, counts, part in zip(facts.class_names, matrix.tolist(), shares.tolist(), strict=True)
    ]  # fmt: skip
    return {"names": facts.class_names, "rows": rows}


def columns_shown(facts: Facts) -> list[int]:
    """Return the columns whose values a page has of rows: those in use, the most important first, and the other 0/1
    columns of their categories."""
    used = set(facts.network.features_used)
    groups = [members for members in facts.network.schema.category_columns.values() if used.intersection(members)]
    return list(dict.fromkeys([*facts.used, *(i for members in groups for i in members)]))


def worst(facts: Facts, most: int = WORST) -> list[dict[str, Any]]:
    """Return the rows with the largest errors, the largest first; of classes those to whose class the least
    probability was given."""
    columns: list[Any]
    if facts.classes:
        rows, names = facts.class_rows, facts.class_names
        given = rows.log_probabilities[np.arange(len(rows.codes)), rows.codes]
        order = np.argsort(given, kind="stable")[:most]
        columns = [[names[code] for code in rows.codes[order]], [names[code] for code in rows.predicted[order]],
                   [written_probability(float(np.exp(log))) for log in given[order]]]  # fmt: skip
    else:
        residual = facts.evaluation_target - facts.predictions
        order = np.argsort(-np.abs(residual), kind="stable")[:most]
        columns = [values[order].tolist() for values in (facts.evaluation_target, facts.predictions, residual)]
    return [
        {
            "row": int(i), "truth": truth, "prediction": prediction, "residual": residual,
            "values": [None if value != value else value for value in facts.evaluation_rows[i].tolist()],
        }
        for i, truth, prediction, residual in zip(order, *columns, strict=True)
    ]  # fmt: skip


def written_probability(probability: float) -> str:
    """Write a probability as a percentage with one digit after the point; next to nothing is not nothing."""
    if 0.0 < probability < 0.0005:
        return "<0.1%"
    return "100%" if probability > 0.9995 else f"{100 * probability:.1f}%"


def ranges(facts: Facts) -> list[dict[str, Any]]:
    """Return, for every column, its range and median or its commonest categories, its missing values, and how many
    evaluation rows lie outside."""
    shown = []
    for i, (column, values) in enumerate(zip(facts.network.schema.columns, facts.rows.T, strict=True)):
        known = values[~np.isnan(values)]
        codes, counts = np.unique(known, return_counts=True)
        content: dict[str, Any] = {"categories": None, "low": 0.0, "median": 0.0, "high": 0.0}
        if column.categories is not None:
            order = np.argsort(-counts, kind="stable")
            if i not in facts.network.features_used:  # a name that one row has alone is as good as the row
                order = order[counts[order] >= RARE]
            common = [quote_category(category_name(column.categories[int(code)]), _LONGEST_LABEL)
                      for code in codes[order]]  # fmt: skip
            first = common[:_MOST_CATEGORIES]
            names = ", ".join([*first, *["..."] * (len(first) < len(codes))])
            content["categories"] = names if common else f"none that {RARE} rows have"
        elif len(known):
            content |= {"low": float(known.min()), "median": float(np.median(known)), "high": float(known.max())}
        shown.append({
            "name": title(column),
            "unit": clean(column.unit) if column.unit.strip() else "",
            "about": facts.labels.columns[i],
            "distinct": len(codes),
            "missing": int(np.isnan(values).sum()),
            "outside": int(facts.outside[:, i].sum()),
            "share": float(facts.importance.relative_features[i]),
            "used": i in facts.network.features_used,
            **content,
        })  # fmt: skip
    return shown


def made(facts: Facts) -> dict[str, str]:
    """Return how the model was made: settings, sizes, versions, checksums."""
    import sklearn

    import bgn

    settings: Mapping[str, Any] = facts.model.get_params() if hasattr(facts.model, "get_params") else {}
    details = {"kind of model": type(facts.model).__name__}
    details |= {f"setting {name}": repr(value) for name, value in sorted(settings.items())}
    history = getattr(facts.model, "history_", None)
    if history is not None:
        details["growth stopped"] = str(history.stopped)
    if note := getattr(facts.model, "steps_note_", ""):
        details["steps before it"] = note
    details["rows"] = f"{len(facts.rows):,}"
    if facts.held_out:
        details["rows"] += f", and {len(facts.evaluation_rows):,} to judge by"
    details["columns"] = f"{facts.rows.shape[1]:,}, of which {len(facts.network.features_used):,} used"
    layers = ", then ".join(map(str, facts.network.widths))
    details["questions"] = layers + (f", in {facts.network.depth} layers" if facts.network.depth > 1 else "")
    details["non-zero parameters"] = f"{facts.network.n_parameters:,}"
    details["data checksum (SHA-256)"] = checksum(facts.rows, facts.target)
    if facts.held_out:
        details["checksum of the judging rows"] = checksum(facts.evaluation_rows, facts.evaluation_target)
    details["versions"] = (
        f"bgn {bgn.__version__}, NumPy {np.__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}"
    )
    return details


def checksum(rows: Floats, target: Floats) -> str:
    """Return the SHA-256 of the rows and then the target, as little-endian float64 in row order."""
    digest = hashlib.sha256()
    for array in (rows, target):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()
