"""Changes of an expert as a page sends them, done again by the library: lines keep the numbers that they began with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bgn.explain.edit import Editor
from bgn.model.network import Network
from bgn.model.terms import as_terms
from bgn.serve import asked
from bgn.serve.asked import BadRequest


def replayed(editor: Editor, changes: Sequence[Mapping[str, Any]], network: Network) -> Editor:
    """Return the editor after all changes."""
    neurons: list[int | None] = [term.neuron for term in as_terms(network).terms]
    for change in changes:
        asked.only(change, "do", "question", "value", "level", "yes", "why")
        question = asked.whole(change.get("question"), "question", 1, len(neurons))
        neuron = neurons[question - 1]
        if neuron is None:
            raise BadRequest(f"Question {question} was dropped before.")
        line = [term.neuron for term in as_terms(editor.network).terms].index(neuron) + 1
        editor = _done(editor, change, line, neuron)
        if change.get("do") == "drop":
            neurons = [None if each == neuron else each - 1 if each is not None and each > neuron else each
                       for each in neurons]  # fmt: skip
    return editor


def _done(editor: Editor, change: Mapping[str, Any], line: int, neuron: int) -> Editor:
    """Return the editor after one change of a line."""
    what, why = change.get("do"), asked.words(change.get("why", ""), "why")
    if what == "drop":
        return editor.drop(line, why=why)
    if what == "threshold":
        return editor.threshold(line, asked.number(change.get("value"), "threshold"), why)
    if what == "amount":
        return editor.amount(line, asked.number(change.get("value"), "amount"), why)
    if what == "level":
        columns = editor.network.layers[0].neurons[neuron].projection.columns
        levels = editor.network.schema.columns[columns[0]].levels
        if len(columns) != 1 or levels is None:
            raise BadRequest("This question is not about one category.")
        code = asked.whole(change.get("level"), "level", -1, len(levels) - 1)
        return editor.level(line, None if code < 0 else levels[code], asked.truth(change.get("yes"), "yes"), why)
    raise BadRequest("A change is one of threshold, amount, level and drop.")
