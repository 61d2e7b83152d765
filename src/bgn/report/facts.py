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
from bgn.explain.evaluate import Evaluation, EvaluationRows, evaluate_predictions
from bgn.explain.importance import Importance, importance
from bgn.explain.proofs import Extremes, extremes
from bgn.explain.rivals import as_numbers, rival_predictions, rows_with_target, standardized, zero_if_empty
from bgn.explain.shap import MAX_PLAYERS, shap_values
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
    """A model and its rows, checked, with what is worked out once and used in several places.

    Rows are encoded as the network reads them; `coded` is the network that takes them so. Where the model file has the
    predicted class first, the page is `turned`: its classes are in the other order.
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
        terms = as_terms(network)
        holds = replace(terms, schema=coded.schema).holds(rows).mean(axis=0)
        return cls(
            model, network, coded, terms, rows, target, *tests, held_out, coded.predict(tests[0]), holds,
            *_measure_importance(coded, rows), original, page_labels, turned=turned,
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
        """Which values of the evaluation rows lie outside the range of the training rows."""
        low, high = (end(zero_if_empty(self.rows), axis=0) for end in (np.nanmin, np.nanmax))
        return np.asarray((self.evaluation_rows < low) | (self.evaluation_rows > high))

    @cached_property
    def intervals(self) -> Intervals | None:
        """How sure predictions are, where the model knows, without groups or folds."""
        own = getattr(self.model, "intervals_", None)
        if own is None or with_positive_second(own.network) != self.original:
            return None
        if own.folds or set(own.calibrations) != {None} or not np.isfinite(own.calibrations[None].quantile(SHARE)):
            return None
        return replace(own, network=self.original)  # whose classes stand as the page has them

    @cached_property
    def quantity(self) -> Quantity:
        """How numbers of the target are written."""
        return Quantity("" if self.classes else self.network.schema.target_unit)

    @property
    def evaluation_names(self) -> Names:
        """The names of the evaluation rows, where the author gives them."""
        return self.names[1 if self.held_out else 0]

    @cached_property
    def shares(self) -> tuple[Floats, list[float]]:
        """The part of every rule, and of every linear term, in how far predictions move."""
        parts, terms = self.importance.relative_terms, self.network.terms
        linear = [part for part, term in zip(parts.tolist(), terms, strict=True) if isinstance(term, Linear)]
        return of_rules(self.network, parts), linear

    @cached_property
    def extremes(self) -> Extremes:
        """The lowest and the highest prediction within the ranges seen at fit, or those of the rows."""
        within = {}
        for column, values in zip(self.network.schema.columns, self.rows.T, strict=True):
            known = values[~np.isnan(values)]
            if column.categories is None and (column.seen is not None or len(known)):
                within[column.name] = column.seen or (float(known.min()), float(known.max()))
        return extremes(self.network, within, max_seconds=SECONDS)


def _measure_importance(network: Network, rows: Floats) -> tuple[Importance, str]:
    """Return importances over all rows, or over some where all would take minutes, and a sentence that says so.

    With several scores they are means over these.
    """
    inputs = len(network.features_used) if network.below else network.max_features
    exact, count, note, measured = inputs <= MAX_PLAYERS, len(rows), "", []
    if network.below or not exact:
        # Deeper networks are evaluated for every pair of rows and every coalition: about two million times in all.
        count = min(count, max(40, math.isqrt(2_000_000 >> inputs)) if exact else 200)
        note = f"Importance was measured on {count:,} of the {len(rows):,} rows." if count < len(rows) else ""
    some = rows[np.linspace(0, len(rows) - 1, count).astype(int)]
    for output in outputs_of(network):
        if exact:
            measured.append(importance(output, some))
            continue
        sampled = shap_values(output, some, rows, method="sampled", n_samples=128, random_state=0)
        connections = np.zeros((network.n_inputs, len(network.terms)))
        connections[tuple(sampled.connections.T)] = np.abs(sampled.connection_values).mean(axis=0)
        features, terms = (np.abs(values).mean(axis=0) for values in (sampled.values, sampled.term_values))
        measured.append(Importance(features, connections, terms, network.names, "shap"))
        note = f"Importance was estimated on {count:,} rows by sampling: so many columns have too many coalitions."
    parts = ("features", "connections", "terms")
    means = {name: np.mean([getattr(one, name) for one in measured], axis=0) for name in parts}
    return replace(measured[0], **means), note


@dataclass(frozen=True)
class Rival:
    """The model, or one beside it: its name and size, and how well it predicts."""

    name: str
    size: str
    evaluation: Evaluation


def quality(facts: Facts) -> list[Rival]:
    """Evaluate the model, a tree of similar size, a linear model and the mean on the same rows; for classes logistic
    regression, and the shares of the classes. The tree has as many splits as the model has conditions."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    network, rows, n_columns = facts.network, facts.evaluation_rows, count_of(facts.rows.shape[1], "column")
    classes = class_labels(network) if facts.classes else None
    linear, constant = rival_predictions(network.schema, (facts.rows, facts.target), rows, classes).values()
    names = ("logistic regression", "the shares of the classes") if facts.classes else ("a linear model", "the mean")
    rules, n_linear = len(network.rules) + sum(layer.width for layer in network.below), len(network.linear)
    parts = ", ".join(count_of(count, what) for count, what in ((rules, "rule"), (n_linear, "linear term")) if count)
    size = count_of(network.n_conditions, "condition") + (f" ({parts})" if parts else "")
    own = network.predict_encoded(rows, scores=True) if facts.classes else facts.predictions
    make = DecisionTreeClassifier if facts.classes else DecisionTreeRegressor
    target = facts.target.astype(int) if facts.classes else facts.target
    train, test = standardized(*(as_numbers(network.schema, part, facts.rows) for part in (facts.rows, rows)))
    tree = make(max_leaf_nodes=max(network.n_conditions + 1, 2), random_state=0).fit(train, target)
    n_splits, n_read = int(tree.get_n_leaves()) - 1, len(set(tree.tree_.feature) - {-2})
    if facts.classes:
        shares = np.full((len(test), len(facts.class_names)), _LEAST)
        shares[:, tree.classes_] = np.maximum(tree.predict_proba(test), _LEAST)
    entries = [
        ("this model", f"{size}, {count_of(len(network.features_used), 'column')}", own),
        ("a tree of similar size", f"{count_of(n_splits, 'condition')} (splits), {count_of(n_read, 'column')}",
         np.log(shares) if facts.classes else tree.predict(test)),
        (names[0], f"{count_of(train.shape[1], 'condition')} (linear terms), {n_columns}", linear),
        (names[1], "0 conditions", constant),
    ]  # fmt: skip
    return [Rival(name, size, evaluate_predictions(facts.evaluation_target, values, classes))
            for name, size, values in entries]  # fmt: skip


def columns_shown(facts: Facts) -> list[int]:
    """Return the columns whose values a page has of rows: those in use, the most important first, and the other 0/1
    columns of their categories."""
    used = set(facts.network.features_used)
    groups = [members for members in facts.network.schema.category_columns.values() if used.intersection(members)]
    return list(dict.fromkeys([*facts.used, *(i for members in groups for i in members)]))


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
    """Return how the model was made."""
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
        details["rows"] += f", and {len(facts.evaluation_rows):,} test rows"
    details["columns"] = f"{facts.rows.shape[1]:,}, of which {len(facts.network.features_used):,} used"
    network = facts.network
    layers = ", then ".join(map(str, (*(layer.width for layer in network.below), len(network.rules))))
    details["rules"] = layers + (f", in {len(network.below) + 1} layers" if network.below else "")
    details["conditions to read"] = f"{network.n_conditions:,}"
    details["non-zero parameters"] = f"{facts.network.n_parameters:,}"
    details["data checksum (SHA-256)"] = checksum(facts.rows, facts.target)
    if facts.held_out:
        details["checksum of the test rows"] = checksum(facts.evaluation_rows, facts.evaluation_target)
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
