"""Raw rows to learn from: types of columns settled, the target read, incomplete rows dealt with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs import prepare
from bgn.inputs.check import fit_notes
from bgn.inputs.classes import Label
from bgn.inputs.file_format import FileFormat
from bgn.inputs.files import RawTable, open_any
from bgn.inputs.findings import Known
from bgn.inputs.frames import schema_of
from bgn.inputs.prepare import Choices
from bgn.inputs.refusal import Problems, Refused, check_there, option
from bgn.inputs.target import TargetFacts, labelled, tallied, target_of, target_values
from bgn.model.schema import Schema
from bgn.model.step import Bools, Floats
from bgn.preparation import Preparation, Prepared
from bgn.wording import count_of


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
            raise Refused("no column is left to learn from: all of them have nearly as many different words as rows.")
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
        raise Refused(f"{origin} has column names but no rows.")
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
            tally = tallied(column, every=choices.merge_rare is not None)
            found = target_of([tally], target, choices.task, choices.merge_rare)
            y, _ = target_values(column, found.classes, merged=found.merged)
    with problems.gathered():
        settled = prepare.learn(table.select([name for name in features if name not in doubtful]), choices.categorical)
    problems.tell()
    training = ~np.isnan(y) if held is None else ~(np.isnan(y) | held)
    chosen = pa.array(training if training.any() else np.ones(len(y), bool))
    told = settled.filter(chosen)
    empty, crowded = prepare.empty_columns(told), prepare.crowded_columns(told)
    where = "In the training rows, " if held is not None and held.any() else ""
    known = Known(choices.task, raw.met.header, choices.categorical, choices.merge_rare, choices.date_format)
    wary = fit_notes(table.filter(chosen), features, target, known, where)
    gone = [left_out(name, settled.column(name).null_count < len(y)) for name in empty]
    notes = [*raw.met.notes, *[found.note] * bool(found.note), *wary, *gone]
    settled = settled.drop_columns([*empty, *crowded])
    if not settled.num_columns:
        raise Refused(f"{origin} has no column with values to learn from.", *wary)
    lacking, absent = gaps_in(settled), np.isnan(y)
    holes = {name: settled.column(name).null_count for name in settled.column_names}
    holes |= {} if target is None else {target: int(np.count_nonzero(absent))}
    some, fillable, without = (int(np.count_nonzero(each)) for each in (lacking | absent, lacking & ~absent, absent))
    notes += gap_notes((len(y), some, fillable, without), holes, choices)
    usable = ~absent if choices.missing in ("keep", "impute") else ~(lacking | absent)
    met = raw.met.decimal, raw.met.written, raw.met.gaps, choices.date_format, found.merged
    reading = Preparation(Schema((), target), *met, header=raw.met.header is not False)
    return Decided(settled, y, usable, choices.missing, reading, tuple(notes), found.classes)


def left_out(name: str, elsewhere: bool = False) -> str:
    """Say that a column has no value, or none in the training rows."""
    return f"column {name!r} {'has no value in the training rows' if elsewhere else 'is empty'} and left out."


@dataclass(frozen=True)
class GapCount:
    """What rows of a block lack: how many there are, how many lack something or the target, and gaps by column.

    `values` are how many training rows have a value in each column.
    """

    rows: int
    lacking: int
    absent: int
    holes: Mapping[str, int]
    values: Mapping[str, int]

    @classmethod
    def of(cls, table: pa.Table, y: Floats, held: Bools) -> GapCount:
        """Count; what is lacking leaves columns without any value in the block aside. Rows `held` are test rows."""
        absent = np.isnan(y)
        lacks = absent | gaps_in(table.drop_columns(prepare.empty_columns(table)))
        holes = {name: table.column(name).null_count for name in table.column_names}
        training = table.filter(pa.array(~(absent | held)))
        values = {name: training.num_rows - training.column(name).null_count for name in table.column_names}
        return cls(len(y), int(np.count_nonzero(lacks)), int(np.count_nonzero(absent)), holes, values)

    @staticmethod
    def told(counts: Sequence[GapCount], choices: Choices) -> tuple[list[str], int, list[str]]:
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


def gaps_in(table: pa.Table) -> Bools:
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
        raise Refused(f"{told}; add {drop} to leave them out, or {impute} to fill them in.")
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
    y = None if choices.target is None else labelled(found.y[usable], found.classes)
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
