"""``bgn edit``: an expert's changes to a saved model, with a receipt for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

import bgn
from bgn.cli.learning import LearningRows, learning_option
from bgn.cli.source import DataFile, json_option, model_and_data, reads_data
from bgn.cli.terminal import show, show_json
from bgn.explain.edit import Editor
from bgn.explain.arguments import decode_rows
from bgn.inputs.errors import InputError
from bgn.persist import ModelFile, save
from bgn.persist.parts import edits_out
from bgn.text import clean

_FORMS = """threshold N VALUE, amount N VALUE, level N LEVEL yes|no, drop N, merge N M, forbid COL, round DIGITS, \
add COL '>=' VALUE AMOUNT"""


def _yes(word: str) -> bool:
    if word not in ("yes", "no"):
        raise ValueError(f"a level is answered yes or no; got {word!r}.")
    return word == "yes"


# By name: how many words follow, and what they do.
_CHANGES: dict[str, tuple[int, Callable[..., Editor]]] = {
    "threshold": (2, lambda on, n, value, why: on.threshold(int(n), float(value), why)),
    "amount": (2, lambda on, n, value, why: on.amount(int(n), float(value), why)),
    "level": (3, lambda on, n, category, yes, why: on.category(int(n), _category(on, category), _yes(yes), why)),
    "drop": (1, lambda on, n, why: on.drop(int(n), why=why)),
    "merge": (2, lambda on, n, m, why: on.merge(int(n), int(m), why=why)),
    "forbid": (1, lambda on, column, why: on.forbid(column, why)),
    "round": (1, lambda on, digits, why: on.round(int(digits), why)),
    "add": (4, lambda on, column, relation, value, amount, why: on.add(
        column, relation, value.split(",") if relation == "in" else float(value), float(amount), why=why)),
}  # fmt: skip


def _category(on: Editor, word: str) -> Any:
    """Return the level that a word stands for; "missing" for a gap."""
    if word == "missing":
        return None
    known = {str(category): category for column in on.network.schema.columns for category in column.categories or ()}
    return known.get(word, word)


@model_and_data
@click.argument("changes", nargs=-1, required=True)
@click.option("--why", default="", help="The reason, kept with the model.")
@click.option("--cutoff", type=float, help="Predictions from here on are decisions for yes, whose changes are counted.")
@click.option("-o", "--out", help="Where to write the edited model.")
@learning_option
@json_option
@reads_data
def edit(
    file: ModelFile, data: DataFile, changes: tuple[str, ...], why: str, cutoff: float | None, out: str | None,
    which: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Change a saved MODEL as an expert says, and tell what that does to the training rows of DATA.

    What is told of each change, and kept with the model, is about training rows, so that nobody chooses by test rows;
    these measure the result. The rows of another file than the model was fitted to are all training rows.

    CHANGES are one or more of: threshold N VALUE, amount N VALUE, level N LEVEL yes|no, drop N, merge N M, forbid COL,
    round DIGITS, add COL RELATION VALUE AMOUNT. N is the line of a question in the equation, the first being 1, as it
    is when its turn comes.

    \b
    bgn edit model.json houses.csv threshold 1 65 --why "the bracket begins there" -o edited.json
    bgn edit model.json houses.csv forbid sex round 3 -o edited.json
    """
    rows = LearningRows.of(file, data.complete_rows(file, judged=True), which)
    X = decode_rows(file.network, rows.train.X)
    y = None if rows.train.y is None else rows.train.target("")
    editor = bgn.edit(file.network, X, y, cutoff=cutoff)
    words, lines = list(changes), list[str]()
    while words:
        name = words.pop(0)
        if name not in _CHANGES or len(words) < _CHANGES[name][0]:
            raise InputError(f"{name}: not a change that is known, or words are missing. Changes are: {_FORMS}.")
        count, change = _CHANGES[name]
        try:
            editor = change(editor, *words[:count], why)
        except ValueError as error:
            raise InputError(f"{name} {' '.join(words[:count])}: {error}") from None
        words = words[count:]
        lines.append(str(editor.receipt))
    log = (*file.edits, *editor.log)
    if out is not None:
        known: dict[str, Any] = {"preparation": file.preparation, "held_out": rows.held_out, "edits": log}
        save(editor.network, out, units=file.units, **known)
    if as_json:
        plain = {"edits": edits_out(editor.log), "equation": bgn.equation(editor.network, units=file.units)}
        show_json(plain | rows.counts | rows.test_errors(file.network, editor.network))
        return
    show(f"On {rows.training_rows}:")
    for line in (*lines, *rows.tested(file.network, editor.network)):
        show(line)
    show(bgn.equation(editor.network, units=file.units))
    if out is not None:
        show(f"model written to {clean(out)}")
