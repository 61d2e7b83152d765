"""The column to predict: numbers, or labels of classes, which are read as numbers of classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs import cells, prepare
from bgn.inputs.classes import MOST_CLASSES, Label, sorted_labels
from bgn.inputs.few_values import few_numbers, may_be_classes
from bgn.inputs.file_format import PLAIN, Numerals
from bgn.inputs.refusal import Refused, listed, option
from bgn.model.schema import level_word
from bgn.model.step import Floats

TASKS = ("regression", "classification")
OTHER = "other"
"""The class into which rare ones are merged."""


@dataclass(frozen=True)
class TargetFacts:
    """What a column to predict holds.

    Parameters
    ----------
    classes : tuple, optional
        The labels, in order; None where it holds numbers.
    merged : tuple
        Rare labels that count as the class ``"other"``; where the labels were numbers, numbers.
    note : str
        What a user may want to know.
    """

    classes: tuple[Label, ...] | None = None
    merged: tuple[Label, ...] = ()
    note: str = ""


def tallied(column: pa.ChunkedArray | pa.Array, every: bool = False) -> pa.Array:
    """Return the different values of a target, or of a block of one, with how many rows hold each.

    Of very many values these are some, unless `every` one is asked for.
    """
    column = cells.plain(column)
    if cells.is_number(column.type):
        numbers = prepare.finite(cells.numbers(column))
        column = pa.array(numbers[~np.isnan(numbers)])
    elif cells.is_text(column.type):
        column = cells.trimmed(column)
    counts = column.drop_null().value_counts()
    return counts if every else counts[: 2 * MOST_CLASSES]


def target_of(tallies: Iterable[pa.Array], name: str, task: str | None, merge_rare: int | None = None) -> TargetFacts:
    """Return what a target holds, from the tally of each block.

    Words, true and false are classes, and so are two different whole numbers; `task` insists on either. A few whole
    numbers may be amounts or classes: which they are is for the user to say.
    """
    found = Counter[Any]()
    kind = pa.null()
    for tally in tallies:
        values, counts = tally.flatten()
        kind = values.type if pa.types.is_null(kind) else kind
        found.update(dict(zip(values.to_pylist(), counts.to_pylist(), strict=True)))
        if len(found) > MOST_CLASSES and merge_rare is None:
            break
    if cells.is_number(kind):
        target = _of_numbers(found, name, task)
    elif pa.types.is_boolean(kind) and task != "regression":
        target = TargetFacts(sorted_labels(found))
    else:
        target = TargetFacts(_of_words(kind, found, name, task))
    if target.classes is not None and merge_rare is not None:
        target = _merged(target.classes, found, name, merge_rare)
    if (labels := target.classes) is not None and len(labels) > MOST_CLASSES:
        raise _too_many(name, "numbers" if cells.is_number(kind) else "words")
    if labels is not None and len(labels) < 2:
        told = f"one class, {cells.shown(labels[0])}" if labels else "no class"
        raise Refused(f"{option('target')}: column {name!r} has {told}. A classifier needs at least two to tell apart.")
    if merge_rare is not None and labels is None:
        raise Refused(f"{option('merge_rare')} is for classes, and column {name!r} holds numbers; leave it out.")
    return target


def _of_numbers(found: Counter[Any], name: str, task: str | None) -> TargetFacts:
    odd = [value for value in found if not float(value).is_integer()]
    labels = tuple(int(value) for value in sorted(found)) if not odd else ()
    if task == "classification" and odd:
        raise Refused(
            f"{option('task', 'classification')}: column {name!r} holds {odd[0]:g}; classes are words, whole numbers, "
            "or true and false."
        )
    if task is not None:
        return TargetFacts(labels if task == "classification" else None)
    if not may_be_classes(labels, found.total()):
        return TargetFacts()
    if len(labels) > 2:
        raise Refused(
            f"{option('task')} is needed: {name!r} has {few_numbers(labels)} in {found.total():,} rows. Are they "
            f"amounts or classes? Add {option('task', 'regression')} or {option('task', 'classification')}."
        )
    return TargetFacts(labels, note=two_values(name, labels))


def two_values(name: str, labels: Sequence[int]) -> str:
    """Say that two whole numbers are classes, and how to have it otherwise."""
    other = option("task", "regression")
    return f"{name!r} has two values, {labels[0]} and {labels[1]}: they are taken for classes; {other} if not."


def _merged(labels: tuple[Label, ...], found: Counter[Any], name: str, fewest: int) -> TargetFacts:
    """Return classes of which those of fewer rows are one."""
    rare = [label for label in labels if found[label] < fewest]
    rare = [label for label in rare if label != OTHER]
    words = {level_word(label) for label in rare}
    if not words:
        return TargetFacts(labels, note=f"no class of {name!r} has fewer than {fewest} rows: none is merged.")
    kept = [level_word(label) for label in labels if level_word(label) not in words]
    rows = sum(found[label] for label in labels if level_word(label) in words | {OTHER})
    told = f"{len(words)} class{'es' * (len(words) > 1)} of fewer than {fewest} rows ({listed(sorted(words))})"
    return TargetFacts(
        tuple(sorted({*kept, OTHER})),
        sorted_labels(rare),
        f"{told} of {name!r} {'are' if len(words) > 1 else 'is'} merged into {OTHER!r}, which has {rows:,} rows.",
    )


def _of_words(kind: pa.DataType, found: Iterable[Any], name: str, task: str | None) -> tuple[Label, ...]:
    values = sorted(found, key=str)
    text = cells.is_text(kind)
    odd = prepare.not_numbers(values) if text else []
    if task == "regression" or not text or not values or (task is None and odd):
        told = cells.shown((odd or values)[0]) if values else "nothing"
        more = f" If they are labels, add {option('task', 'classification')}." if odd else ""
        raise Refused(f"{option('target')}: column {name!r} must hold numbers; it holds {told}.{more}")
    return sorted_labels(values)


def _too_many(name: str, what: str) -> Refused:
    return Refused(
        f"{option('target')}: column {name!r} holds more than {MOST_CLASSES} different {what}, too many classes to "
        f"tell apart; name another column, or put rare classes together with {option('merge_rare')}."
    )


def target_values(
    column: pa.ChunkedArray,
    classes: Sequence[Label] | None,
    written: Numerals = PLAIN,
    merged: Sequence[Label] = (),
) -> tuple[Floats, tuple[Any, ...]]:
    """Return a target as numbers, or as numbers of classes, NaN where there is none; also labels that are no class.

    Labels that are `merged` count as the class of the rare ones.
    """
    if classes is None:
        return prepare.finite(cells.numbers(column, written)), ()
    if all(isinstance(label, bool) for label in classes):
        values: Any = pc.cast(cells.booleans(column), pa.bool_())
    elif any(isinstance(label, str) for label in classes):
        numbers = merged and not any(isinstance(label, str) for label in merged)
        values = cells.trimmed(cells.words(cells.numbers(column, written) if numbers else column))
        if merged:
            rare = pc.is_in(values, value_set=pa.array([*map(level_word, merged)], values.type))
            values = pc.if_else(rare, pa.scalar(OTHER, values.type), values)
    else:
        values = cells.numbers(column, written)
    known = pa.array(list(classes), values.type)
    codes = pc.index_in(values, value_set=known).cast(pa.float64())
    strange = pc.and_not(pc.is_valid(values), pc.is_valid(codes))
    unseen = pc.unique(values.filter(strange)).to_pylist() if pc.any(strange).as_py() else []
    return np.asarray(codes.to_numpy(), np.float64), tuple(each for each in unseen if each == each)


def labelled(codes: Floats, classes: Sequence[Label] | None) -> Any:
    """Return the labels that numbers of classes stand for; numbers as they are. Every row must have one."""
    if classes is None:
        return codes
    if np.isnan(codes).any():
        raise ValueError(f"{int(np.isnan(codes).sum())} of {len(codes)} rows have no label; leave them out first.")
    labels = np.array(list(classes), dtype=None if len({*map(type, classes)}) == 1 else object)
    return labels[codes.astype(np.intp)]
