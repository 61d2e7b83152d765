"""Raw rows to learn from: types of columns settled, the target read, incomplete rows dealt with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs import cells, prepare
from bgn.inputs.check import fit_notes
from bgn.inputs.errors import InputError, Problems, check_there, listed, option
from bgn.inputs.file_format import PLAIN, FileFormat, Numerals
from bgn.inputs.files import RawTable, open_any
from bgn.inputs.findings import Known
from bgn.inputs.kinds import schema_of
from bgn.inputs.prepare import Choices
from bgn.inputs.target import MOST_CLASSES, Label, few_numbers, may_be_classes, sorted_labels
from bgn.model.schema import Schema, category_name
from bgn.model.step import Bools, Floats
from bgn.preparation import Preparation, Prepared
from bgn.text import count_of


@dataclass(frozen=True, eq=False)
class Decided:
    """A whole raw table: its features as estimators take them, and which rows can be learnt from.

    A target of `classes` is the number of each row's class.
    """

    table: pa.Table
    y: Floats
    usable: Bools
    missing: str
    reading: Preparation
    notes: tuple[str, ...]
    classes: tuple[Label, ...] | None = None

    def learnt(self, rows: Bools) -> tuple[pa.Table, Preparation, tuple[str, ...]]:
        """Return all rows, gaps filled in if that was asked for, and what the columns of some of them are."""
        table, fills = prepare.imputed(self.table, rows) if self.missing == "impute" else (self.table, None)
        schema = schema_of(table.filter(pa.array(rows)), target=self.reading.schema.target)
        # Text may be crowded among these rows and not among all of them: no model would ask about it.
        if unused := [column.raw for column in schema.columns if column.always_missing]:
            table = table.drop_columns(unused)
            schema = replace(schema, columns=tuple(each for each in schema.columns if not each.always_missing))
            fills = None if fills is None else fills.drop_columns(unused)
        if not schema.columns:
            raise InputError("no column is left to learn from: all of them have nearly as many different words as rows.")
        if fills is not None:
            typical = zip(schema.columns, schema.encode(fills)[0].tolist(), strict=True)
            schema = replace(schema, columns=tuple(replace(column, typical=value) for column, value in typical))
        return table, replace(self.reading, schema=schema), (*self.notes, *prepare.read_as_words(schema))


def read_whole(
    raw: RawTable, features: Sequence[str], choices: Choices, origin: str, beside: Sequence[str] = ()
) -> pa.Table:
    """Read the features and the target of a whole table, and columns `beside` them."""
    target = choices.target
    table = raw.read([*dict.fromkeys([*features, *([] if target is None else [target]), *beside])])
    if not table.num_rows:
        raise InputError(f"{origin} has column names but no rows.")
    return table


def decide(
    raw: RawTable, table: pa.Table, features: Sequence[str], choices: Choices, origin: str, held: Bools | None = None
) -> Decided:
    """Decide on every column of a table that was read from `raw`, and on the rows that lack a value.

    Types are those of all rows, as the file has them. Which columns have values, and too many words, and what
    misleads, is told by rows with a target that are not `held` back as test rows.
    """
    target = choices.target
    problems, doubtful = Problems(*raw.met.problems.values()), raw.met.problems
    y, found = np.zeros(table.num_rows), TargetFacts()
    with problems.gathered():
        if target is not None and target not in doubtful:
            column = table.column(target)
            tally = tally_target(column, every=choices.merge_rare is not None)
            found = decide_target([tally], target, choices.task, choices.merge_rare)
            y, _ = encode_target(column, found.classes, merged=found.merged)
    with problems.gathered():
        settled = prepare.learn(table.select([name for name in features if name not in doubtful]), choices.categorical)
    problems.tell()
    training = ~np.isnan(y) if held is None else ~(np.isnan(y) | held)
    chosen = pa.array(training if training.any() else np.ones(len(y), bool))
    told = settled.filter(chosen)
    empty, is_crowded = prepare.empty_columns(told), prepare.crowded_columns(told)
    where = "In the training rows, " if held is not None and held.any() else ""
    known = Known(choices.task, raw.met.header, choices.categorical, choices.merge_rare, choices.date_format)
    wary = fit_notes(table.filter(chosen), features, target, known, where)
    gone = [left_out(name, settled.column(name).null_count < len(y)) for name in empty]
    notes = [*raw.met.notes, *[found.note] * bool(found.note), *wary, *gone]
    settled = settled.drop_columns([*empty, *is_crowded])
    if not settled.num_columns:
        raise InputError(f"{origin} has no column with values to learn from.", *wary)
    lacking, absent = rows_with_missing(settled), np.isnan(y)
    holes = {name: settled.column(name).null_count for name in settled.column_names}
    holes |= {} if target is None else {target: int(np.count_nonzero(absent))}
    some, fillable, without = (int(np.count_nonzero(each)) for each in (lacking | absent, lacking & ~absent, absent))
    notes += gap_notes((len(y), some, fillable, without), holes, choices)
    usable = ~absent if choices.missing in ("keep", "impute") else ~(lacking | absent)
    met = raw.met.decimal, raw.met.written, raw.met.missing_values, choices.date_format, found.merged
    reading = Preparation(Schema((), target), *met, header=raw.met.header is not False)
    return Decided(settled, y, usable, choices.missing, reading, tuple(notes), found.classes)


def left_out(name: str, elsewhere: bool = False) -> str:
    """Say that a column has no value, or none in the training rows."""
    return f"column {name!r} {'has no value in the training rows' if elsewhere else 'is empty'} and left out."


@dataclass(frozen=True)
class MissingCount:
    """What rows of a block lack: how many there are, how many lack something or the target, and gaps by column.

    `values` are how many training rows have a value in each column.
    """

    rows: int
    lacking: int
    absent: int
    holes: Mapping[str, int]
    values: Mapping[str, int]

    @classmethod
    def of(cls, table: pa.Table, y: Floats, held: Bools) -> MissingCount:
        """Count; what is lacking leaves columns without any value in the block aside. Rows `held` are test rows."""
        absent = np.isnan(y)
        lacks = absent | rows_with_missing(table.drop_columns(prepare.empty_columns(table)))
        holes = {name: table.column(name).null_count for name in table.column_names}
        training = table.filter(pa.array(~(absent | held)))
        values = {name: training.num_rows - training.column(name).null_count for name in table.column_names}
        return cls(len(y), int(np.count_nonzero(lacks)), int(np.count_nonzero(absent)), holes, values)

    @staticmethod
    def told(counts: Sequence[MissingCount], choices: Choices) -> tuple[list[str], int, list[str]]:
        """Return the columns that have values in training rows, the number of rows to learn from, and notes."""
        rows, absent = sum(each.rows for each in counts), sum(each.absent for each in counts)
        holes = {name: sum(each.holes[name] for each in counts) for name in counts[0].holes}
        names = [name for name in holes if any(each.values[name] for each in counts)]
        lacking = sum(
            each.rows if any(each.holes[name] == each.rows for name in names) else each.lacking for each in counts
        )
        found = {name: holes[name] for name in names} | {str(choices.target): absent}
        notes = [left_out(name, gaps < rows) for name, gaps in holes.items() if name not in names]
        notes += gap_notes((rows, lacking, 0, absent), found, choices)
        return names, rows - (absent if choices.missing == "keep" else lacking), notes


def rows_with_missing(table: pa.Table) -> Bools:
    """Return which rows lack a value."""
    found = np.zeros(table.num_rows, bool)
    for column in table.columns:
        if column.null_count:
            found |= np.asarray(pc.is_null(column).to_numpy())
    return found


def gap_notes(counts: tuple[int, int, int, int], holes: Mapping[str, int], choices: Choices) -> list[str]:
    """Say what becomes of rows that lack something, or refuse them.

    `counts` are all rows, those that lack something, those of them with a target, and those without one.
    """
    rows, lacking, fillable, absent = counts
    notes = list[str]()
    if choices.missing in ("refuse", "drop"):
        return [f"{incomplete(rows, lacking, holes, choices.missing)}: left out."] if lacking else []
    if choices.missing == "impute" and fillable:
        told = incomplete(rows, lacking, holes, choices.missing)
        notes.append(f"{told}: {fillable} filled in with the median or the commonest value.")
    if 0 < absent < rows:
        notes.append(f"{count_of(absent, 'row')} without {choices.target!r} {'is' if absent == 1 else 'are'} left out.")
    return notes


def incomplete(rows: int, lacking: int, holes: Mapping[str, int], missing: str) -> str:
    """Say how many rows lack a value and in which columns, or refuse them."""
    where = ", ".join(f"{name!r} {number}" for name, number in holes.items() if number)
    told = f"{lacking} of {rows} rows have missing values ({where})"
    if missing == "refuse":
        drop, impute = option("missing", "drop"), option("missing", "impute")
        raise InputError(f"{told}; add {drop} to leave them out, or {impute} to fill them in.")
    return told


def fit(data: Any, choices: Choices, form: FileFormat) -> Prepared:
    """Do what :func:`bgn.preparation.fit` says."""
    table, origin = open_any(data, form)
    try:
        features = choices.features(table.names, origin, notes=table.met.notes)
        found = decide(table, read_whole(table, features, choices, origin), features, choices, origin)
    finally:
        table.close()
    usable = found.usable
    rows, preparation, notes = found.learnt(usable)
    y = None if choices.target is None else to_labels(found.y[usable], found.classes)
    return Prepared(preparation, rows.filter(pa.array(usable)), {}, y, np.flatnonzero(usable), notes)


def apply(preparation: Preparation, data: Any, form: FileFormat) -> Prepared:
    """Do what :meth:`bgn.preparation.Preparation.apply` says."""
    preparation = prepare.told(preparation, form)
    table, origin = open_any(data, form)
    names, first, blocks = prepare.raws(preparation.schema), 1, list[Prepared]()
    try:
        check_there(names, table.names, origin)
        for block in table.blocks(names):
            blocks.append(prepare.typed(preparation, block, None, origin, first))
            first += block.num_rows
    finally:
        table.close()
    blocks = blocks or [prepare.typed(preparation, pa.table({name: pa.nulls(0) for name in names}))]
    unseen: dict[str, tuple[Any, ...]] = {}
    for each in blocks:
        for name, values in each.unseen.items():
            unseen[name] = tuple(dict.fromkeys((*unseen.get(name, ()), *values)))
    whole = pa.concat_tables([each.table for each in blocks], promote_options="permissive")
    return Prepared(preparation, whole, unseen, None, np.arange(whole.num_rows))


# -- The column to predict: numbers, or labels of classes, which are read as numbers of classes.

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


def tally_target(column: pa.ChunkedArray | pa.Array, every: bool = False) -> pa.Array:
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


def decide_target(tallies: Iterable[pa.Array], name: str, task: str | None, merge_rare: int | None = None) -> TargetFacts:
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
        raise InputError(f"{option('target')}: column {name!r} has {told}. A classifier needs at least two to tell apart.")
    if merge_rare is not None and labels is None:
        raise InputError(f"{option('merge_rare')} is for classes, and column {name!r} holds numbers; leave it out.")
    return target


def _of_numbers(found: Counter[Any], name: str, task: str | None) -> TargetFacts:
    odd = [value for value in found if not float(value).is_integer()]
    labels = tuple(int(value) for value in sorted(found)) if not odd else ()
    if task == "classification" and odd:
        raise InputError(
            f"{option('task', 'classification')}: column {name!r} holds {odd[0]:g}; classes are words, whole numbers, "
            "or true and false."
        )
    if task is not None:
        return TargetFacts(labels if task == "classification" else None)
    if not may_be_classes(labels, found.total()):
        return TargetFacts()
    if len(labels) > 2:
        raise InputError(
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
    words = {category_name(label) for label in rare}
    if not words:
        return TargetFacts(labels, note=f"no class of {name!r} has fewer than {fewest} rows: none is merged.")
    kept = [category_name(label) for label in labels if category_name(label) not in words]
    rows = sum(found[label] for label in labels if category_name(label) in words | {OTHER})
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
        raise InputError(f"{option('target')}: column {name!r} must hold numbers; it holds {told}.{more}")
    return sorted_labels(values)


def _too_many(name: str, what: str) -> InputError:
    return InputError(
        f"{option('target')}: column {name!r} holds more than {MOST_CLASSES} different {what}, too many classes to "
        f"tell apart; name another column, or put rare classes together with {option('merge_rare')}."
    )


def encode_target(
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
            rare = pc.is_in(values, value_set=pa.array([*map(category_name, merged)], values.type))
            values = pc.if_else(rare, pa.scalar(OTHER, values.type), values)
    else:
        values = cells.numbers(column, written)
    known = pa.array(list(classes), values.type)
    codes = pc.index_in(values, value_set=known).cast(pa.float64())
    strange = pc.and_not(pc.is_valid(values), pc.is_valid(codes))
    unseen = pc.unique(values.filter(strange)).to_pylist() if pc.any(strange).as_py() else []
    return np.asarray(codes.to_numpy(), np.float64), tuple(each for each in unseen if each == each)


def to_labels(codes: Floats, classes: Sequence[Label] | None) -> Any:
    """Return the labels that numbers of classes stand for; numbers as they are. Every row must have one."""
    if classes is None:
        return codes
    if np.isnan(codes).any():
        raise ValueError(f"{int(np.isnan(codes).sum())} of {len(codes)} rows have no label; leave them out first.")
    labels = np.array(list(classes), dtype=None if len({*map(type, classes)}) == 1 else object)
    return labels[codes.astype(np.intp)]
