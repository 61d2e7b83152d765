"""What a report says, worked out as plain values before any of it is laid out."""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain.importance import Importance, importance
from bgn.explain.linear import linear_predictions, standardised
from bgn.explain.shap import MAX_PLAYERS, shap_values
from bgn.explain.subject import rows_and_target
from bgn.model.network import Network
from bgn.model.schema import level_word
from bgn.model.step import Bools, Floats
from bgn.model.terms import Terms, as_terms, network_of
from bgn.printable import clean
from bgn.show.labels import title

WORST = 10
"""Rows that the table of residuals lists."""


@dataclass(frozen=True, eq=False)
class Facts:
    """A model and the rows it is told about, checked, with what is worked out once and used in several places."""

    model: Any
    network: Network
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

    @classmethod
    def of(cls, model: Any, X: Any, y: ArrayLike, X_test: Any, y_test: ArrayLike | None) -> Facts:
        """Check the arguments of a report and work out what it needs."""
        network = network_of(model)
        rows, target = rows_and_target(network, X, y, "X", "y")
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test go together; got one without the other.")
        held_out = X_test is not None
        tests = rows_and_target(network, X_test, y_test, "X_test", "y_test") if held_out else (rows, target)
        terms, predictions = as_terms(network), network.predict(tests[0])
        holds = terms.holds(rows).mean(axis=0)
        return cls(
            model, network, terms, rows, target, *tests, held_out, predictions, holds, *_importance(network, rows)
        )

    @property
    def used(self) -> list[int]:
        """Columns that the network uses, the most important first."""
        return sorted(self.network.features_used, key=lambda i: -self.importance.features[i])

    @cached_property
    def outside(self) -> Bools:
        """Which values of the judged rows lie outside the range of the rows the model was made from."""
        return np.asarray((self.judged_rows < self.rows.min(axis=0)) | (self.judged_rows > self.rows.max(axis=0)))

    @cached_property
    def standardised(self) -> tuple[Floats, Floats]:
        """The rows and those to judge by, with the former's columns centred and of size 1, whatever their scale."""
        return standardised(self.rows, self.judged_rows)


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
    connections = np.zeros((network.n_inputs, network.widths[-1]))
    connections[tuple(found.connections.T)] = np.abs(found.connection_values).mean(axis=0)
    features, neurons = (np.abs(values).mean(axis=0) for values in (found.values, found.neuron_values))
    note = f"Importance was estimated on {count:,} rows by sampling: so many columns have too many coalitions."
    return Importance(features, connections, neurons, network.names, "shap"), note


def quality(facts: Facts) -> list[dict[str, Any]]:
    """Return the errors of the model, the mean, a linear model and a tree of similar size, on the same rows."""
    from sklearn.tree import DecisionTreeRegressor

    width = sum(facts.network.widths)
    rows, judged = facts.standardised
    tree = DecisionTreeRegressor(max_leaf_nodes=max(width + 1, 2), random_state=0).fit(rows, facts.target)
    size = f"{_count(width, 'neuron')}, {_count(len(facts.network.features_used), 'column')}"
    splits, asked = int(tree.get_n_leaves()) - 1, len(set(tree.tree_.feature) - {-2})
    linear = linear_predictions(facts.rows, facts.target, facts.judged_rows)
    entries = [
        ("this model", size, facts.predictions),
        ("a tree of similar size", f"{_count(splits, 'split')}, {_count(asked, 'column')}", tree.predict(judged)),
        ("a linear model", _count(facts.rows.shape[1], "column"), linear),
        ("the mean", "always the same", np.full(len(facts.judged_rows), facts.target.mean())),
    ]
    return [{"name": name, "size": size, **errors(facts.judged_target, guess)} for name, size, guess in entries]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def errors(truth: Floats, guess: Floats) -> dict[str, float]:
    """Return root mean squared error, mean absolute error and the share of variance explained."""
    residual = truth - guess
    mse = float(np.mean(residual**2))
    variance = float(np.mean((truth - truth.mean()) ** 2))
    r2 = 1.0 - mse / variance if variance else math.nan
    return {"rmse": math.sqrt(mse), "mae": float(np.mean(np.abs(residual))), "r2": r2}


def worst(facts: Facts) -> list[dict[str, Any]]:
    """Return the rows with the largest errors, the largest first."""
    residual = facts.judged_target - facts.predictions
    order = np.argsort(-np.abs(residual), kind="stable")[:WORST]
    return [
        {
            "row": int(i),
            "truth": float(facts.judged_target[i]),
            "prediction": float(facts.predictions[i]),
            "residual": float(residual[i]),
            "values": facts.judged_rows[i].tolist(),
        }
        for i in order
    ]


def ranges(facts: Facts) -> list[dict[str, Any]]:
    """Return, for every column, its range, its median, and how many judged rows lie outside the range."""
    return [
        {
            "name": title(of),
            "low": float(column.min()),
            "median": float(np.median(column)),
            "high": float(column.max()),
            "distinct": len(np.unique(column)),
            "outside": int(facts.outside[:, i].sum()),
            "share": float(facts.importance.relative_features[i]),
            "used": i in facts.network.features_used,
        }
        for i, (of, column) in enumerate(zip(facts.network.schema.columns, facts.rows.T, strict=True))
    ]


def controls(facts: Facts) -> list[dict[str, Any]]:
    """Return what the what-if form offers: a number per column in use, or one choice for the levels of a category."""
    groups = {
        i: (name, members)
        for name, members in facts.network.schema.level_columns.items()
        if np.isin(facts.rows[:, members], (0.0, 1.0)).all() and (facts.rows[:, members].sum(axis=1) <= 1.0).all()
        for i in members
    }
    offered = [_choice(facts, *groups[i]) if i in groups else _field(facts, i) for i in facts.used]
    return [control for k, control in enumerate(offered) if control not in offered[:k]]  # a category once


def _field(facts: Facts, i: int) -> dict[str, Any]:
    """Return a number field with its range."""
    values = facts.rows[:, i]
    about = {"low": float(values.min()), "high": float(values.max()), "whole": bool((values == np.rint(values)).all())}
    return {"kind": "number", "name": clean(facts.network.names[i]), "column": i, **about}


def _choice(facts: Facts, name: str, members: list[int]) -> dict[str, Any]:
    """Return a choice among the categories of a column."""
    levels = [facts.network.schema.columns[i].level_of for i in members]
    options = [{"column": i, "name": clean(level_word(of[1]))} for i, of in zip(members, levels, strict=True) if of]
    if (facts.rows[:, members].sum(axis=1) < 1.0).any():
        options.append({"column": -1, "name": "none of these"})
    return {"kind": "choice", "name": clean(name), "columns": members, "options": options}


def typical(facts: Facts) -> list[float]:
    """Return the row nearest to the medians, in units of each column's spread: a real row, so categories stay whole."""
    rows, _ = facts.standardised
    distance = np.abs(rows - np.median(rows, axis=0)).sum(axis=1)
    return [float(value) for value in facts.rows[int(np.argmin(distance))]]


def plain_network(network: Network) -> dict[str, Any]:
    """Return the network's numbers, zeros left out, for the page's script."""
    layers = [
        [
            {"columns": neuron.projection.columns, "weights": neuron.projection.coefficients, "bias": bias}
            for neuron, bias in zip(layer.neurons, layer.bias.tolist(), strict=True)
        ]
        for layer in network.layers
    ]
    base, output, unit = network.summands
    return {"layers": layers, "output": output.tolist(), "base": float(base), "unit": unit}


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
    told["hidden layers"] = ", ".join(map(str, facts.network.widths))
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
