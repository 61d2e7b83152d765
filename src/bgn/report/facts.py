"""What a report says, worked out as plain values before any of it is laid out."""

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
from bgn.explain.arguments import clipped_network, read_codes
from bgn.explain.evaluate import evaluate_numbers
from bgn.explain.extremes import Extremes, extremes
from bgn.explain.importance import Importance, importance
from bgn.explain.rivals import as_numbers, linear_predictions, rows_with_target, standardized, zero_if_empty
from bgn.explain.shap import MAX_PLAYERS, shap_values
from bgn.model.categories import RARE, KeptCategories
from bgn.model.network import Edit, Network
from bgn.model.readings import Terms, as_terms, as_told, is_turned, outputs_of
from bgn.model.schema import Column, category_name
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
Names = Sequence[str] | None
_CATEGORIES = 6  # of a category that the table of columns names


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
    judged_rows: Floats
    judged_target: Floats
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
        turned, original = is_turned(clipped_network(model)), as_told(clipped_network(model))
        called = PageLabels.of(original.schema, labels, units)
        nameless = KeptCategories({}, KeptCategories.of(original).nameless)
        network, coded = original.changed(schema=nameless.schema(called.schema)), read_codes(original)
        rows, target = rows_with_target(original, X, y, "X", "y")
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test go together; got one without the other.")
        held_out = X_test is not None
        tests = rows_with_target(original, X_test, y_test, "X_test", "y_test") if held_out else (rows, target)
        terms, predictions = questions_of(network), coded.predict(tests[0])
        holds = replace(terms, schema=coded.schema).holds(rows).mean(axis=0)
        measured = _mean_importance(coded, rows)
        return cls(
            model, network, coded, terms, rows, target, *tests, held_out, predictions, holds, *measured, original,
            called, turned=turned,
        )  # fmt: skip

    @property
    def classes(self) -> bool:
        """Whether classes are predicted; targets are then their numbers."""
        return self.network.link != "identity"

    @property
    def used(self) -> list[int]:
        """Columns that the network uses, the most important first."""
        return sorted(self.network.features_used, key=lambda i: -self.importance.features[i])

    @cached_property
    def outside(self) -> Bools:
        """Which values of the judged rows lie outside the range of the rows the model was made from."""
        low, high = (end(zero_if_empty(self.rows), axis=0) for end in (np.nanmin, np.nanmax))
        return np.asarray((self.judged_rows < low) | (self.judged_rows > high))

    @cached_property
    def intervals(self) -> Intervals | None:
        """How sure predictions are, where the model knows, without groups or folds."""
        found = getattr(self.model, "intervals_", None)
        if found is None or as_told(found.network) != self.original or found.folds or set(found.calibrations) != {None}:
            return None
        known = np.isfinite(found.calibrations[None].quantile(SHARE))
        return replace(found, network=self.original) if known else None  # whose classes stand as the page has them

    @cached_property
    def quantity(self) -> Quantity:
        """How numbers of the target are written."""
        return Quantity("" if self.classes else self.network.schema.target_unit)

    @property
    def judged_names(self) -> Names:
        """What the rows to judge by are called, where the author says so."""
        return self.names[1 if self.held_out else 0]

    def called(self, row: int) -> str:
        """Return what a row to judge by is called: its name, or its number, the first being 1."""
        return str(row + 1) if self.judged_names is None else self.judged_names[row]

    @cached_property
    def line_sizes(self) -> list[float]:
        """How far each linear term moves predictions from their mean, on average over the rows."""
        return [size for size, term in zip(self.importance.terms.tolist(), self.network.terms, strict=True)
                if isinstance(term, Linear)]  # fmt: skip

    @cached_property
    def shares(self) -> tuple[Floats, list[float]]:
        """The part of every rule, and of every linear term, in how far predictions move."""
        total = float(self.importance.terms.sum()) or 1.0
        return of_rules(self.network, self.importance.terms) / total, [size / total for size in self.line_sizes]

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
        return as_numbers(schema, self.rows, self.rows), as_numbers(schema, self.judged_rows, self.rows)

    @cached_property
    def standardized(self) -> tuple[Floats, Floats]:
        """The rows and those to judge by, with the former's columns centred and of size 1, whatever their scale."""
        return standardized(*self.numbers)


def _mean_importance(network: Network, rows: Floats) -> tuple[Importance, str]:
    """Return importances; where there are several scores, the mean over them."""
    each = [_importance(score, rows) for score in outputs_of(network)]
    parts = ("features", "connections", "terms")
    means = {name: np.mean([getattr(one, name) for one, _ in each], axis=0) for name in parts}
    return replace(each[0][0], **means), each[0][1]


def questions_of(network: Network) -> Terms:
    """Return the questions of a network as terms: of one score, or of the largest part in any class's."""
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
    found = shap_values(network, some, rows, method="sampled", n_samples=128, random_state=0)
    connections = np.zeros((network.n_inputs, len(network.terms)))
    connections[tuple(found.connections.T)] = np.abs(found.connection_values).mean(axis=0)
    features, terms = (np.abs(values).mean(axis=0) for values in (found.values, found.term_values))
    note = f"Importance was estimated on {count:,} rows by sampling: so many columns have too many coalitions."
    return Importance(features, connections, terms, network.names, "shap"), note


def quality(facts: Facts) -> list[dict[str, Any]]:
    """Return the errors of the model, the mean, a linear model and a tree of similar size, on the same rows.

    Under "rows" the values row by row whose means they are.
    """
    from sklearn.tree import DecisionTreeRegressor

    width = conditions(facts)
    rows, judged = facts.standardized
    tree = DecisionTreeRegressor(max_leaf_nodes=max(width + 1, 2), random_state=0).fit(rows, facts.target)
    size = own_size(facts)
    splits, asked = int(tree.get_n_leaves()) - 1, len(set(tree.tree_.feature) - {-2})
    linear = linear_predictions(facts.numbers[0], facts.target, facts.numbers[1])
    entries = [
        ("this model", size, facts.predictions),
        ("a tree of similar size", f"{count_of(splits, 'split')}, {count_of(asked, 'column')}", tree.predict(judged)),
        ("a linear model", count_of(facts.rows.shape[1], "column"), linear),
        ("the mean", "always the same", np.full(len(facts.judged_rows), facts.target.mean())),
    ]
    return [
        {"name": name, "size": size, **errors(facts.judged_target, guess),
         "evaluation": evaluate_numbers(facts.judged_target, guess)}
        for name, size, guess in entries
    ]  # fmt: skip


def conditions(facts: Facts) -> int:
    """Return how many conditions a reader reads: one per column of a question, one per linear term.

    As many splits has a tree of similar size.
    """
    first, *deeper = facts.network.layers
    asked = sum(len(neuron.projection.columns) for neuron in first.neurons) + sum(layer.width for layer in deeper)
    return asked + len(facts.network.linear)


def own_size(facts: Facts) -> str:
    """Say how large the model is."""
    lines = len(facts.network.linear)
    slopes = f", {count_of(lines, 'slope')}" if lines else ""
    count = sum(facts.network.widths)
    more = conditions(facts) - lines
    questions = count_of(count, "question") + (f" ({count_of(more, 'condition')})" if more != count else "")
    return f"{questions}{slopes}, {count_of(len(facts.network.features_used), 'column')}"


def errors(truth: Floats, guess: Floats) -> dict[str, float]:
    """Return root mean squared error, mean absolute error and the share of variance explained."""
    residual = truth - guess
    mse = float(np.mean(residual**2))
    variance = float(np.mean((truth - truth.mean()) ** 2))
    r2 = 1.0 - mse / variance if variance else math.nan
    return {"rmse": math.sqrt(mse), "mae": float(np.mean(np.abs(residual))), "r2": r2}


def columns_shown(facts: Facts) -> list[int]:
    """Return the columns whose values a page has of rows: those in use, the most important first, and the other 0/1
    columns of their categories."""
    used = set(facts.network.features_used)
    groups = [members for members in facts.network.schema.category_columns.values() if used.intersection(members)]
    return list(dict.fromkeys([*facts.used, *(i for members in groups for i in members)]))


def worst(facts: Facts, most: int = WORST) -> list[dict[str, Any]]:
    """Return the rows with the largest errors, the largest first."""
    residual = facts.judged_target - facts.predictions
    order = np.argsort(-np.abs(residual), kind="stable")[:most]
    return [
        {
            "row": int(i),
            "truth": float(facts.judged_target[i]),
            "prediction": float(facts.predictions[i]),
            "residual": float(residual[i]),
            "values": [None if value != value else value for value in facts.judged_rows[i].tolist()],
        }
        for i in order
    ]


def ranges(facts: Facts) -> list[dict[str, Any]]:
    """Return, for every column, its range and median or its levels, its gaps, and how many judged rows lie outside."""
    return [_range(facts, i, of, column) for i, (of, column) in enumerate(
        zip(facts.network.schema.columns, facts.rows.T, strict=True))]  # fmt: skip


def _range(facts: Facts, i: int, of: Column, column: Floats) -> dict[str, Any]:
    """Return what one column holds; of a category the commonest levels, the commonest first."""
    known = column[~np.isnan(column)]
    codes, counts = np.unique(known, return_counts=True)
    about: dict[str, Any] = {"levels": None, "low": 0.0, "median": 0.0, "high": 0.0}
    if of.categories is not None:
        order = np.argsort(-counts, kind="stable")
        if i not in facts.network.features_used:  # a name that one row has alone is as good as the row
            order = order[counts[order] >= RARE]
        common = [quote_category(category_name(of.categories[int(code)]), 24) for code in codes[order]]
        told = [*common[:_CATEGORIES], *["..."] * (len(common[:_CATEGORIES]) < len(codes))]
        about["levels"] = ", ".join(told) if common else f"none that {RARE} rows have"
    elif len(known):
        about |= {"low": float(known.min()), "median": float(np.median(known)), "high": float(known.max())}
    return {
        "name": title(of),
        "unit": clean(of.unit) if of.unit.strip() else "",
        "about": facts.labels.columns[i],
        "distinct": len(codes),
        "missing": int(np.isnan(column).sum()),
        "outside": int(facts.outside[:, i].sum()),
        "share": float(facts.importance.relative_features[i]),
        "used": i in facts.network.features_used,
        **about,
    }


def made(facts: Facts) -> dict[str, str]:
    """Return how the model was made: settings, sizes, versions, checksums."""
    import sklearn

    import bgn

    settings: Mapping[str, Any] = facts.model.get_params() if hasattr(facts.model, "get_params") else {}
    told = {"kind of model": type(facts.model).__name__}
    told |= {f"setting {name}": repr(value) for name, value in sorted(settings.items())}
    history = getattr(facts.model, "history_", None)
    if history is not None:
        told["growth stopped"] = str(history.stopped)
    if note := getattr(facts.model, "steps_note_", ""):
        told["steps before it"] = note
    told["rows"] = f"{len(facts.rows):,}" + (f", and {len(facts.judged_rows):,} to judge by" if facts.held_out else "")
    told["columns"] = f"{facts.rows.shape[1]:,}, of which {len(facts.network.features_used):,} used"
    layers = ", then ".join(map(str, facts.network.widths))
    told["questions"] = layers + (f", in {facts.network.depth} layers" if facts.network.depth > 1 else "")
    told["non-zero parameters"] = f"{facts.network.n_parameters:,}"
    told["data checksum (SHA-256)"] = checksum(facts.rows, facts.target)
    if facts.held_out:
        told["checksum of the judging rows"] = checksum(facts.judged_rows, facts.judged_target)
    told["versions"] = (
        f"bgn {bgn.__version__}, NumPy {np.__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}"
    )
    return told


def checksum(rows: Floats, target: Floats) -> str:
    """Return the SHA-256 of the rows and then the target, as little-endian float64 in row order."""
    digest = hashlib.sha256()
    for array in (rows, target):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()
