"""Raw rows to train on: what every column of a table is, the target read, rows with missing values dealt with.

`fit` and `apply` are what :mod:`bgn.preparation` offers. `decide` settles a whole table at once; of a table that comes
in blocks `MissingCount` counts what each block lacks, and `decide_target` puts the tallies of a target together.
"""

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


def fit(data: Any, choices: Choices, form: FileFormat) -> Prepared:
    raw, origin = open_any(data, form)
    try:
        features = choices.features(raw.names, origin, notes=raw.reading.notes)
        decided = decide(raw, read_whole(raw, features, choices, origin), features, choices, origin)
    finally:
        raw.close()
    usable = decided.usable
    rows, preparation, notes = decided.prepared(usable)
    y = None if choices.target is None else to_labels(decided.y[usable], decided.classes)
    return Prepared(preparation, rows.filter(pa.array(usable)), {}, y, np.flatnonzero(usable), notes)


def apply(preparation: Preparation, data: Any, form: FileFormat) -> Prepared:
    preparation = prepare.with_format(preparation, form)
    raw, origin = open_any(data, form)
    names, first, blocks = prepare.raws(preparation.schema), 1, list[Prepared]()
    try:
        check_there(names, raw.names, origin)
        for block in raw.blocks(names):
            blocks.append(prepare.read_as_at_fit(preparation, block, None, origin, first))
            first += block.num_rows
    finally:
        raw.close()
    blocks = blocks or [prepare.read_as_at_fit(preparation, pa.table({name: pa.nulls(0) for name in names}))]
    unseen: dict[str, tuple[Any, ...]] = {}
    for prepared in blocks:
        for name, values in prepared.unseen.items():
            unseen[name] = tuple(dict.fromkeys((*unseen.get(name, ()), *values)))
    whole = pa.concat_tables([prepared.table for prepared in blocks], promote_options="permissive")
    return Prepared(preparation, whole, unseen, None, np.arange(whole.num_rows))


# -- A whole table ------------------------------------------------------------------------------------------------


def read_whole(
    raw: RawTable, features: Sequence[str], choices: Choices, origin: str, others: Sequence[str] = ()
) -> pa.Table:
    target = [] if choices.target is None else [choices.target]
    table = raw.read([*dict.fromkeys([*features, *target, *others])])
    if not table.num_rows:
        raise InputError(f"{origin} has column names but no rows.")
    return table


@dataclass(frozen=True, eq=False)
class Decided:
    """A whole raw table: its features as estimators take them, and which rows can be used.

    A target of `classes` is the number of each row's class.
    """

    table: pa.Table
    y: Floats
    usable: Bools
    missing: str
    reading: Preparation
    notes: tuple[str, ...]
    classes: tuple[Label, ...] | None = None

    def prepared(self, train: Bools) -> tuple[pa.Table, Preparation, tuple[str, ...]]:
        """Return all rows, missing values filled in if that was requested, and what the columns of some of them are."""
        table, fills = prepare.impute(self.table, train) if self.missing == "impute" else (self.table, None)
        schema = schema_of(table.filter(pa.array(train)), target=self.reading.schema.target)
        # Text may be crowded among these rows and not among all of them: no model would use it.
        if unused := [column.raw for column in schema.columns if column.always_missing]:
            table = table.drop_columns(unused)
            schema = replace(schema, columns=tuple(column for column in schema.columns if not column.always_missing))
            fills = None if fills is None else fills.drop_columns(unused)
        if not schema.columns:
            raise InputError(
                "no column is left to learn from: all of them have nearly as many different words as rows."
            )
        if fills is not None:
            typical = zip(schema.columns, schema.encode(fills)[0].tolist(), strict=True)
            schema = replace(schema, columns=tuple(replace(column, typical=value) for column, value in typical))
        return table, replace(self.reading, schema=schema), (*self.notes, *prepare.notes_on_text(schema))


def decide(
    raw: RawTable, table: pa.Table, features: Sequence[str], choices: Choices, origin: str, test: Bools | None = None
) -> Decided:
    """Decide on every column of a table that was read from `raw`, and on the rows that lack a value.

    Types are those of all rows, as the file has them. Rows with a target that are not `test` rows decide which columns
    have values, and too much text, and what misleads.
    """
    target = choices.target
    problems, doubtful = Problems(*raw.reading.problems.values()), raw.reading.problems
    y, facts = np.zeros(table.num_rows), TargetFacts()
    with problems.gathered():
        if target is not None and target not in doubtful:
            column = table.column(target)
            tally = tally_target(column, every=choices.merge_rare is not None)
            facts = decide_target([tally], target, choices.task, choices.merge_rare)
            y, _ = encode_target(column, facts.classes, merged=facts.merged)
    with problems.gathered():
        names = [name for name in features if name not in doubtful]
        columns = prepare.to_plain_types(table.select(names), choices.categorical)
    problems.tell()
    train = ~np.isnan(y) if test is None else ~(np.isnan(y) | test)
    chosen = pa.array(train if train.any() else np.ones(len(y), bool))
    empty = prepare.empty_columns(columns.filter(chosen))
    crowded = prepare.crowded_columns(columns.filter(chosen))
    where = "In the training rows, " if test is not None and test.any() else ""
    known = Known(choices.task, raw.reading.header, choices.categorical, choices.merge_rare, choices.date_format)
    wary = fit_notes(table.filter(chosen), features, target, known, where)
    unused = [note_left_out(name, columns.column(name).null_count < len(y)) for name in empty]
    columns = columns.drop_columns([*empty, *crowded])
    if not columns.num_columns:
        raise InputError(f"{origin} has no column with values to learn from.", *wary)
    incomplete, absent = rows_with_missing(columns), np.isnan(y)
    by_column = {name: columns.column(name).null_count for name in columns.column_names}
    by_column |= {} if target is None else {target: int(np.count_nonzero(absent))}
    lacks = (incomplete | absent, incomplete & ~absent, absent)
    some, fillable, without = (int(np.count_nonzero(rows)) for rows in lacks)
    notes = [*raw.reading.notes, *[facts.note] * bool(facts.note), *wary, *unused]
    notes += missing_notes((len(y), some, fillable, without), by_column, choices)
    usable = ~absent if choices.missing in ("keep", "impute") else ~(incomplete | absent)
    met = raw.reading.decimal, raw.reading.written, raw.reading.missing_values, choices.date_format, facts.merged
    reading = Preparation(Schema((), target), *met, header=raw.reading.header is not False)
    return Decided(columns, y, usable, choices.missing, reading, tuple(notes), facts.classes)


# -- Rows that lack a value ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MissingCount:
    """What rows of a block lack: how many there are, how many lack something or the target, missing values by column.

    `values` are how many training rows have a value in each column.
    """

    rows: int
    incomplete: int
    absent: int
    missing: Mapping[str, int]
    values: Mapping[str, int]

    @classmethod
    def of(cls, table: pa.Table, y: Floats, test: Bools) -> MissingCount:
        """Count; columns without any value in the block make no row incomplete."""
        absent = np.isnan(y)
        lacks = absent | rows_with_missing(table.drop_columns(prepare.empty_columns(table)))
        missing = {name: table.column(name).null_count for name in table.column_names}
        train = table.filter(pa.array(~(absent | test)))
        values = {name: train.num_rows - train.column(name).null_count for name in table.column_names}
        return cls(len(y), int(np.count_nonzero(lacks)), int(np.count_nonzero(absent)), missing, values)

    @staticmethod
    def summarize(counts: Sequence[MissingCount], choices: Choices) -> tuple[list[str], int, list[str]]:
        """Return the columns that have values in training rows, the number of rows to train on, and notes."""
        rows, absent = sum(count.rows for count in counts), sum(count.absent for count in counts)
        missing = {name: sum(count.missing[name] for count in counts) for name in counts[0].missing}
        names = [name for name in missing if any(count.values[name] for count in counts)]
        incomplete = sum(
            count.rows if any(count.missing[name] == count.rows for name in names) else count.incomplete
            for count in counts
        )
        by_column = {name: missing[name] for name in names} | {str(choices.target): absent}
        notes = [note_left_out(name, number < rows) for name, number in missing.items() if name not in names]
        notes += missing_notes((rows, incomplete, 0, absent), by_column, choices)
        return names, rows - (absent if choices.missing == "keep" else incomplete), notes


def rows_with_missing(table: pa.Table) -> Bools:
    rows = np.zeros(table.num_rows, bool)
    for column in table.columns:
        if column.null_count:
            rows |= np.asarray(pc.is_null(column).to_numpy())
    return rows


def note_left_out(name: str, elsewhere: bool = False) -> str:
    return f"column {name!r} {'has no value in the training rows' if elsewhere else 'is empty'} and left out."


def missing_notes(counts: tuple[int, int, int, int], by_column: Mapping[str, int], choices: Choices) -> list[str]:
    """Say what becomes of rows that lack something, or refuse them.

    `counts` are all rows, those that lack something, those of them with a target, and those without one.
    """
    rows, incomplete, fillable, absent = counts
    where = ", ".join(f"{name!r} {number}" for name, number in by_column.items() if number)
    lack = f"{incomplete} of {rows} rows have missing values ({where})"
    if choices.missing == "refuse" and incomplete:
        drop, impute = option("missing", "drop"), option("missing", "impute")
        raise InputError(f"{lack}; add {drop} to leave them out, or {impute} to fill them in.")
    if choices.missing in ("refuse", "drop"):
        return [f"{lack}: left out."] if incomplete else []
    notes = list[str]()
    if choices.missing == "impute" and fillable:
        notes.append(f"{lack}: {fillable} filled in with the median or the commonest value.")
    if 0 < absent < rows:
        notes.append(f"{count_of(absent, 'row')} without {choices.target!r} {'is' if absent == 1 else 'are'} left out.")
    return notes


# -- The column to predict: numbers, or labels of classes, which are read as numbers of classes.

TASKS = ("regression", "classification")
OTHER = "other"
"""The class into which rare ones are merged."""


@dataclass(frozen=True)
class TargetFacts:
    """What a column to predict holds: labels in order, None for numbers; rare labels that count as ``"other"``."""

    classes: tuple[Label, ...] | None = None
    merged: tuple[Label, ...] = ()
    note: str = ""


def tally_target(column: pa.ChunkedArray | pa.Array, every: bool = False) -> pa.Array:
    """Return the different values of a target, or of a block of one, with how many rows hold each.

    Of very many values these are some, unless `every` one is wanted.
    """
    column = cells.plain(column)
    if cells.is_number(column.type):
        numbers = prepare.finite_numbers(cells.numbers(column))
        column = pa.array(numbers[~np.isnan(numbers)])
    elif cells.is_text(column.type):
        column = cells.trimmed(column)
    counts = column.drop_null().value_counts()
    return counts if every else counts[: 2 * MOST_CLASSES]


def decide_target(
    tallies: Iterable[pa.Array], name: str, task: str | None, merge_rare: int | None = None
) -> TargetFacts:
    """Return what a target holds, from the tally of each block.

    Text, true and false are classes, and so are two different whole numbers; `task` insists on either. A few whole
    numbers may be quantities or classes: which they are is for the user to say.
    """
    rows_of = Counter[Any]()
    kind = pa.null()
    for tally in tallies:
        values, counts = tally.flatten()
        kind = values.type if pa.types.is_null(kind) else kind
        rows_of.update(dict(zip(values.to_pylist(), counts.to_pylist(), strict=True)))
        if len(rows_of) > MOST_CLASSES and merge_rare is None:
            break
    column = f"{option('target')}: column {name!r}"
    if cells.is_number(kind):
        target = _of_numbers(rows_of, name, task)
    elif pa.types.is_boolean(kind) and task != "regression":
        target = TargetFacts(sorted_labels(rows_of))
    else:
        values = sorted(rows_of, key=str)
        odd = prepare.non_numbers(values) if cells.is_text(kind) else []
        if task == "regression" or not cells.is_text(kind) or not values or (task is None and odd):
            holds = "dates" if cells.is_time(kind) else cells.shown((odd or values)[0]) if values else "nothing"
            more = f" If they are labels, add {option('task', 'classification')}." if odd else ""
            raise InputError(f"{column} must hold numbers; it holds {holds}.{more}")
        target = TargetFacts(sorted_labels(values))
    if target.classes is not None and merge_rare is not None:
        target = _merged(target.classes, rows_of, name, merge_rare)
    labels = target.classes
    if labels is None:
        if merge_rare is not None:
            raise InputError(f"{option('merge_rare')} is for classes, and column {name!r} holds numbers; leave it out.")
    elif len(labels) > MOST_CLASSES:
        raise InputError(
            f"{column} holds more than {MOST_CLASSES} different {'numbers' if cells.is_number(kind) else 'words'}, too "
            f"many classes to tell apart; name another column, or put rare classes together with "
            f"{option('merge_rare')}."
        )
    elif len(labels) < 2:
        has = f"one class, {cells.shown(labels[0])}" if labels else "no class"
        raise InputError(f"{column} has {has}. A classifier needs at least two to tell apart.")
    return target


def _of_numbers(rows_of: Counter[Any], name: str, task: str | None) -> TargetFacts:
    odd = [value for value in rows_of if not float(value).is_integer()]
    labels = tuple(int(value) for value in sorted(rows_of)) if not odd else ()
    if task == "classification" and odd:
        raise InputError(
            f"{option('task', 'classification')}: column {name!r} holds {odd[0]:g}; classes are words, whole numbers, "
            "or true and false."
        )
    if task is not None:
        return TargetFacts(labels if task == "classification" else None)
    if not may_be_classes(labels, rows_of.total()):
        return TargetFacts()
    if len(labels) > 2:
        raise InputError(
            f"{option('task')} is needed: {name!r} has {few_numbers(labels)} in {rows_of.total():,} rows. Are they "
            f"amounts or classes? Add {option('task', 'regression')} or {option('task', 'classification')}."
        )
    other = option("task", "regression")
    note = f"{name!r} has two values, {labels[0]} and {labels[1]}: they are taken for classes; {other} if not."
    return TargetFacts(labels, note=note)


def _merged(labels: tuple[Label, ...], rows_of: Counter[Any], name: str, fewest: int) -> TargetFacts:
    """Return classes of which those of fewer rows are one."""
    rare = [label for label in labels if rows_of[label] < fewest and label != OTHER]
    names = {category_name(label) for label in rare}
    if not names:
        return TargetFacts(labels, note=f"no class of {name!r} has fewer than {fewest} rows: none is merged.")
    kept = [category_name(label) for label in labels if category_name(label) not in names]
    rows = sum(rows_of[label] for label in labels if category_name(label) in names | {OTHER})
    classes = f"{len(names)} class{'es' * (len(names) > 1)} of fewer than {fewest} rows ({listed(sorted(names))})"
    return TargetFacts(
        tuple(sorted({*kept, OTHER})),
        sorted_labels(rare),
        f"{classes} of {name!r} {'are' if len(names) > 1 else 'is'} merged into {OTHER!r}, which has "
        f"{count_of(rows, 'row')}.",
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
        return prepare.finite_numbers(cells.numbers(column, written)), ()
    if all(isinstance(label, bool) for label in classes):
        values: Any = pc.cast(cells.booleans(column), pa.bool_())
    elif any(isinstance(label, str) for label in classes):
        numbers = merged and not any(isinstance(label, str) for label in merged)
        values = cells.trimmed(cells.to_text(cells.numbers(column, written) if numbers else column))
        if merged:
            rare = pc.is_in(values, value_set=pa.array([*map(category_name, merged)], values.type))
            values = pc.if_else(rare, pa.scalar(OTHER, values.type), values)
    else:
        values = cells.numbers(column, written)
    codes = pc.index_in(values, value_set=pa.array(list(classes), values.type)).cast(pa.float64())
    strange = pc.and_not(pc.is_valid(values), pc.is_valid(codes))
    unseen = pc.unique(values.filter(strange)).to_pylist() if pc.any(strange).as_py() else []
    return np.asarray(codes.to_numpy(), np.float64), tuple(label for label in unseen if label == label)


def to_labels(codes: Floats, classes: Sequence[Label] | None) -> Any:
    """Return the labels that numbers of classes stand for; numbers as they are. Every row must have one."""
    if classes is None:
        return codes
    if np.isnan(codes).any():
        raise ValueError(f"{int(np.isnan(codes).sum())} of {len(codes)} rows have no label; leave them out first.")
    labels = np.array(list(classes), dtype=None if len({*map(type, classes)}) == 1 else object)
    return labels[codes.astype(np.intp)]
