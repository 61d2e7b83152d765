"""The column to predict: numbers, or labels of classes, which are read as numbers of classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs import cells, prepare
from bgn.inputs.classes import MOST_CLASSES, Label, sorted_labels
from bgn.inputs.file_format import PLAIN, Numerals
from bgn.inputs.refusal import Refused, option
from bgn.model.step import Floats

TASKS = ("classes", "numbers")


def classes_of(columns: Iterable[pa.ChunkedArray], name: str, task: str | None) -> tuple[tuple[Label, ...] | None, str]:
    """Return the classes of a target, block by block, or None where it holds numbers; and what to note.

    Words, true and false are classes, and so are two different whole numbers; `task` insists on either.
    """
    found: set[Any] = set()
    kind = pa.null()
    for column in columns:
        column = cells.plain(column)
        kind = column.type if pa.types.is_null(kind) else kind
        if cells.is_number(kind):
            found.update(_wholes(column))
        elif cells.is_text(kind):
            found.update(pc.unique(cells.trimmed(column)).drop_null().to_pylist())
        else:
            found.update(column.drop_null().unique()[: MOST_CLASSES + 1].to_pylist())
        if len(found) > MOST_CLASSES or (task is None and cells.is_number(kind) and len(found) > 2):
            break
    if cells.is_number(kind):
        labels, noted = _of_numbers(found, name, task)
    elif pa.types.is_boolean(kind) and task != "numbers":
        labels, noted = sorted_labels(found), ""
    else:
        labels, noted = _of_words(kind, found, name, task), ""
    if labels is not None and len(labels) < 2:
        told = f"one class, {cells.shown(labels[0])}" if labels else "no class"
        raise Refused(f"{option('target')}: column {name!r} has {told}. A classifier needs at least two to tell apart.")
    return labels, noted


def _wholes(column: pa.ChunkedArray) -> Iterable[float]:
    """Return the different numbers of a column, a few of many, NaN and infinite ones left out."""
    values = np.unique(prepare.finite(cells.numbers(column)))
    return values[~np.isnan(values)][: MOST_CLASSES + 1].tolist()


def _of_numbers(found: set[Any], name: str, task: str | None) -> tuple[tuple[Label, ...] | None, str]:
    odd = [value for value in found if not value.is_integer()]
    if task == "numbers" or (task is None and (len(found) != 2 or odd)):
        return None, ""
    if odd:
        raise Refused(
            f"{option('task', 'classes')}: column {name!r} holds {odd[0]:g}; classes are words, whole numbers, or true "
            "and false."
        )
    if len(found) > MOST_CLASSES:
        raise _too_many(name, "numbers")
    labels = tuple(int(value) for value in sorted(found))
    if task == "classes":
        return labels, ""
    other = option("task", "numbers")
    return labels, f"{name!r} has two values, {labels[0]} and {labels[1]}: they are taken for classes; {other} if not."


def _of_words(kind: pa.DataType, found: set[Any], name: str, task: str | None) -> tuple[Label, ...]:
    values = sorted(found, key=str)
    text = cells.is_text(kind)
    odd = prepare.not_numbers(values) if text else []
    if task == "numbers" or not text or not values or (task is None and odd):
        told = cells.shown((odd or values)[0]) if values else "nothing"
        more = f" If they are labels, add {option('task', 'classes')}." if odd else ""
        raise Refused(f"{option('target')}: column {name!r} must hold numbers; it holds {told}.{more}")
    if len(found) > MOST_CLASSES:
        raise _too_many(name, "words")
    return sorted_labels(values)


def _too_many(name: str, what: str) -> Refused:
    return Refused(
        f"{option('target')}: column {name!r} holds more than {MOST_CLASSES} different {what}, too many classes to "
        "tell apart; name another column, or put classes together."
    )


def target_values(
    column: pa.ChunkedArray, classes: Sequence[Label] | None, written: Numerals = PLAIN
) -> tuple[Floats, tuple[Any, ...]]:
    """Return a target as numbers, or as numbers of classes, NaN where there is none; also labels that are no class."""
    if classes is None:
        return prepare.finite(cells.numbers(column, written)), ()
    if all(isinstance(label, bool) for label in classes):
        values: Any = pc.cast(cells.booleans(column), pa.bool_())
    elif any(isinstance(label, str) for label in classes):
        values = cells.trimmed(cells.words(column))
    else:
        values = cells.numbers(column, written)
    known = pa.array(list(classes), values.type)
    codes = pc.index_in(values, value_set=known).cast(pa.float64())
    strange = pc.and_not(pc.is_valid(values), pc.is_valid(codes))
    unseen = pc.unique(values.filter(strange)).to_pylist() if pc.any(strange).as_py() else []
    return np.asarray(codes.to_numpy(), np.float64), tuple(each for each in unseen if each == each)


def labelled(codes: Floats, classes: Sequence[Label] | None) -> Any:
    """Return the labels that numbers of classes stand for; numbers as they are."""
    if classes is None:
        return codes
    labels = np.array(list(classes), dtype=None if len({*map(type, classes)}) == 1 else object)
    return labels[codes.astype(np.intp)]
