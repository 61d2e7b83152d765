"""What the page lets an expert try: changes of questions, and the file that the changed model becomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.export.condition import describe
from bgn.export.text import Signs
from bgn.model.above import ANSWERS
from bgn.model.schema import level_word
from bgn.model.terms import Term
from bgn.model.told import swapped
from bgn.printable import quote_category
from bgn.report.facts import Facts


def editing(facts: Facts, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return what the page needs to change questions; None where a network has several layers or outputs, or slopes.

    `rows` are those of the page with their values and what is known of their targets.
    """
    network = facts.network
    if network.depth > 1 or network.link == "softmax" or network.slopes is not None or not facts.terms.terms:
        return None
    saved = swapped(facts.original) if facts.turned else facts.original
    content = ANSWERS["plain_content"](saved.changed(members=None), _units(facts), facts.edits)
    questions = [_question(facts, term) for term in facts.terms.terms]
    return {"file": content, "questions": questions, "rows": rows}


def _units(facts: Facts) -> dict[str, str]:
    """Return units by the names that the model's file has for columns."""
    of, shown = facts.original.schema, facts.network.schema
    found = {a.name: b.unit for a, b in zip(of.columns, shown.columns, strict=True) if b.unit and b.unit != a.unit}
    if of.target and shown.target_unit and shown.target_unit != of.target_unit:
        found[of.target] = shown.target_unit
    return found


def _question(facts: Facts, term: Term) -> dict[str, Any]:
    """Return what can be changed of one question: its threshold, the sides of levels and of a gap, its amount."""
    network = facts.network
    neuron, flipped = network.layers[0].neurons[term.neuron], bool(network.output_weights[term.neuron] < 0)
    stored = [each for each in neuron.projection.coefficients if not isinstance(each, tuple) and each]
    printed = [each for each in term.condition.coefficients if not isinstance(each, tuple) and each]
    found: dict[str, Any] = {
        "neuron": term.neuron, "text": describe(term.condition, facts.terms, Signs()), "amount": term.weight,
        "flipped": flipped, "threshold": None, "scale": 1.0, "levels": None,
    }  # fmt: skip
    if stored:
        scale = stored[0] / printed[0]
        found |= {"threshold": neuron.threshold / scale + 0.0, "scale": scale}
    elif len(neuron.projection.columns) == 1:
        found["levels"] = _levels(facts, term, flipped)
    return found


def _levels(facts: Facts, term: Term, flipped: bool) -> list[dict[str, Any]] | None:
    """Return the levels of a question about one category, and which it answers yes; -1 is a gap."""
    neuron = facts.network.layers[0].neurons[term.neuron]
    (column,), (values,) = neuron.projection.columns, neuron.projection.coefficients
    levels = facts.network.schema.columns[column].levels
    if not isinstance(values, tuple) or levels is None:
        return None
    yes = np.asarray(values) >= neuron.threshold
    found = [
        {"code": code, "name": quote_category(level_word(level), 24), "yes": bool(fires) is not flipped}
        for code, (level, fires) in enumerate(zip(levels, yes.tolist(), strict=True))
    ]
    if neuron.missing is not None:
        found.append({"code": -1, "name": "missing", "yes": neuron.missing is not flipped})
    return found
