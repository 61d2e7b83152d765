"""What a report says of classes: their scores question by question, how well they are told apart, what is confused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bgn.conformal import Intervals
from bgn.explain.arguments import class_labels
from bgn.explain.evaluate import EvaluationRows, evaluate_classes, evaluate_predictions
from bgn.explain.rivals import rival_predictions
from bgn.export.numbers import aligned, share_of
from bgn.export.styles import Signs
from bgn.model.network import Network
from bgn.model.numbers import EXACT, written
from bgn.model.readings import Terms, outputs_of
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.report.facts import SHARE, WORST, Facts, conditions, own_size
from bgn.text import count_of, quote_category

# Probabilities of a tree may be 0, of which there is no logarithm.
_LEAST = 1e-15
_MOST_WORDS = 24


def words_of(network: Network) -> list[str]:
    """Return the labels of the classes as a page shows them."""
    return [quote_category(category_name(label), _MOST_WORDS) for label in class_labels(network)]


def columns_of_amounts(network: Network, terms: Terms) -> dict[str, Any] | None:
    """Return what questions add to the score of every class, question by question, and where scores start.

    None where one score is enough, or for numbers.
    """
    outputs = outputs_of(network)
    if len(outputs) == 1:
        return None
    asked, starts, columns = [term.index for term in terms.rules], [], []
    for output in outputs:
        weights = [written(weight) for weight in output.output_weights.tolist()]
        start = written(output.base)
        for neuron, weight in enumerate(weights):
            add = neuron not in asked and bool(output.layers[-1].bias[neuron] >= 0)
            start = EXACT.add(start, weight) if add else EXACT.subtract(start, weight)
        first, *rest = aligned([start, *(EXACT.add(weights[k], weights[k]) for k in asked)])
        starts.append(Signs().number(first))
        columns.append([Signs().number(each) for each in rest])
    return {"words": words_of(network), "starts": starts, "rows": [list(row) for row in zip(*columns, strict=True)]}


def judged_rows(facts: Facts) -> EvaluationRows:
    """Return what the network says of the rows to judge by."""
    found = EvaluationRows.of_encoded(facts.network, facts.judged_rows, facts.judged_target)
    return replace(found, tie=int(facts.turned))


def quality(facts: Facts) -> list[dict[str, Any]]:
    """Return the scores of the model, a tree of similar size, logistic regression and the shares of the classes."""
    from sklearn.tree import DecisionTreeClassifier

    labels = class_labels(facts.network)
    width, count = conditions(facts), len(labels)
    rows, judged = facts.standardized
    codes = facts.target.astype(int)
    tree = DecisionTreeClassifier(max_leaf_nodes=max(width + 1, 2), random_state=0).fit(rows, codes)
    chances = np.full((len(judged), count), _LEAST)
    chances[:, tree.classes_] = np.maximum(tree.predict_proba(judged), _LEAST)
    splits, asked = int(tree.get_n_leaves()) - 1, len(set(tree.tree_.feature) - {-2})
    size = own_size(facts)
    rivals = rival_predictions(facts.network.schema, (facts.rows, facts.target), facts.judged_rows, labels)
    entries: list[tuple[str, str, Floats]] = [
        ("this model", size, facts.network.predict_encoded(facts.judged_rows, scores=True)),
        ("a tree of similar size", f"{count_of(splits, 'split')}, {count_of(asked, 'column')}", np.log(chances)),
        ("logistic regression", count_of(facts.rows.shape[1], "column"), rivals["logistic"]),
        ("the shares of the classes", "always the same", rivals["majority"]),
    ]
    found = []
    for name, told, scores in entries:
        evaluation = evaluate_predictions(facts.judged_target, scores, labels)
        own = {key: evaluation.scores[key] for key in MEASURES}
        found.append({"name": name, "size": told, **own, "evaluation": evaluation})
    return found


MEASURES = {
    "log_loss": "log loss", "auc": "AUC", "accuracy": "accuracy", "brier": "Brier score",
    "calibration_error": "calibration error",
}  # fmt: skip


def quality_table(measures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the table of scores, written."""
    longest = max(one["log_loss"] for one in measures if math.isfinite(one["log_loss"])) or 1.0
    return [
        {
            "name": one["name"],
            "size": one["size"],
            "cells": [*figures(one).values()],
            "width": round(100 * min(one["log_loss"] / longest, 1.0), 1),
        }
        for one in measures
    ]


def figures(one: Mapping[str, Any]) -> dict[str, str]:
    """Return the scores of a model as the table shows them."""
    return {key: "-" if math.isnan(one[key]) else f"{one[key]:.3f}" for key in MEASURES}


LOG_LOSS = (
    "The log loss is the mean of minus the logarithm of the probability that was given to what happened: smaller is "
    "better."
)


def without_rows(facts: Facts) -> list[str]:
    """Say which classes have no test rows, for which no AUC is known; nothing where each has some."""
    words, there = words_of(facts.network), set(facts.judged_target.astype(int).tolist())
    lacking = [f"“{word}”" for code, word in enumerate(words) if code not in there]
    rows = "test rows" if facts.held_out else "rows"
    return [f"No AUC: there are no {rows} of {', '.join(lacking)}."] if lacking else []


def sure(facts: Facts, found: Intervals, judged: str, calibrated: str) -> str:
    """Say how many classes the sets hold, and how often the truth is among them."""
    sets = found.predict_encoded(facts.judged_rows, SHARE)
    inside = sets[np.arange(len(sets)), facts.judged_target.astype(int)].mean()
    sizes = sets.sum(axis=1)
    parts = [f"{share_of(float(np.mean(chosen)))} {words}" for chosen, words in (
        (sizes == 1, "hold one class"), (sizes > 1, "several"), (sizes == 0, "none")) if chosen.any()]  # fmt: skip
    return (
        f"How sure it is: sets of classes for {share_of(SHARE)} of rows, {calibrated}. Of {judged}, "
        f"{', '.join(parts)}; {share_of(float(inside))} of the sets hold the true class."
    )


def confusion(facts: Facts) -> dict[str, Any]:
    """Return how many rows of each class were taken for which, with shares of each class."""
    found: Any = evaluate_classes(judged_rows(facts)).confusion
    totals = found.sum(axis=1, keepdims=True)
    shares = np.divide(found, totals, out=np.zeros_like(found), where=totals > 0)
    words = words_of(facts.network)
    rows = [
        {"word": word, "cells": [{"count": f"{int(n):,}", "share": share_of(p), "strength": round(100 * p)}
                                 for n, p in zip(counts, part, strict=True)]}
        for word, counts, part in zip(words, found.tolist(), shares.tolist(), strict=True)
    ]  # fmt: skip
    return {"words": words, "rows": rows}


def worst(facts: Facts, most: int = WORST) -> list[dict[str, Any]]:
    """Return the rows to whose class the least probability was given, the least first."""
    judged = judged_rows(facts)
    words, given = words_of(facts.network), judged.log_probabilities[np.arange(len(judged.codes)), judged.codes]
    order = np.argsort(given, kind="stable")[:most]
    return [
        {
            "row": int(i),
            "truth": words[judged.codes[i]],
            "prediction": words[judged.predicted[i]],
            "residual": chance(float(np.exp(given[i]))),
            "values": [None if value != value else value for value in facts.judged_rows[i].tolist()],
        }
        for i in order
    ]


def chance(probability: float) -> str:
    """Write a probability as a percentage with one digit after the point; next to nothing is not nothing."""
    if 0.0 < probability < 0.0005:
        return "<0.1%"
    return "100%" if probability > 0.9995 else f"{100 * probability:.1f}%"


def sentence(facts: Facts, measure: Mapping[str, Any], judged: str, target: str, about: str) -> str:
    """Say what the model is."""
    words = words_of(facts.network)
    count, straight = len(facts.terms.rules), len(facts.network.linear)
    if not count and not straight:
        return f"This model gives every row the same probabilities of {target}: it asks no question."
    questions = "one yes/no question" if count == 1 else f"{count} yes/no questions"
    parts = [f"a fixed amount for each of {questions} answered yes"] if count else []
    if straight:
        parts.append(f"so much per unit of {'one column' if straight == 1 else f'{straight} columns'}")
    adds = f"the probability of “{words[1]}”" if len(words) == 2 else f"the probability of each of {len(words)} classes"
    area = "" if math.isnan(measure["auc"]) else f", AUC {measure['auc']:.3f}"
    return (
        f"This model predicts {target}: {adds} follows from a base value plus {' and '.join(parts)}, about {about}. On "
        f"{judged} it is right {share_of(measure['accuracy'])} of the time{area}."
    )
