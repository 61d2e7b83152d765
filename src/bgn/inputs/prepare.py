"""Raw tables, text or not, as columns that estimators take: types at fit, and later tables read as at fit.

`to_plain_types` gives every column of a table one of the types that :mod:`bgn.inputs.kinds` knows, which then decides
what the column becomes, as it does for any frame. `read_as_at_fit` reads a later table by that schema, so that one
row alone means what it meant among others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs import cells
from bgn.inputs.errors import InputError, Problems, did_you_mean, header_of, option, sheet_of
from bgn.inputs.file_format import FileFormat, Numerals
from bgn.inputs.kinds import is_crowded
from bgn.model.readings import is_flag
from bgn.model.schema import Category, Column, Schema, category_name
from bgn.model.step import Bools, Floats
from bgn.preparation import Preparation, Prepared

_NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d[\d.,]*([eE][-+]?\d+)?\s*")


@dataclass(frozen=True)
class Choices:
    """What a user decides about a raw table; :func:`bgn.preparation.fit` says what each means."""

    target: str | None = None
    drop: Collection[str] = ()
    categorical: Collection[str] = ()
    date_format: str | None = None
    missing: str = "keep"
    task: str | None = None
    merge_rare: int | None = None

    def features(
        self, names: Sequence[str], origin: str, units: Collection[str] = (), notes: Iterable[str] = ()
    ) -> list[str]:
        """Return the columns to train on; name those that are not there, and the sheet that `notes` say was read."""
        targets = [] if self.target is None else [self.target]
        named = {"target": targets, "drop": self.drop, "categorical": self.categorical, "unit": units}
        problems = []
        for argument, columns in named.items():
            for name in columns:
                if name not in names:
                    problems.append(
                        f"{option(argument)}: {origin} has no column {name!r}; it has {', '.join(map(repr, names))}."
                        f"{did_you_mean(name, names)}{header_of(names)}{sheet_of(notes)}"
                    )
        for argument in ("drop", "categorical"):
            if self.target in named[argument]:
                problems.append(
                    f"{option(argument)}: {self.target!r} is the target; name another column or predict another."
                )
        Problems(*problems).tell()
        features = [name for name in names if name != self.target and name not in self.drop]
        if not features:
            but = "" if self.target is None else f" beside {self.target!r}"
            raise InputError(f"{origin} has no column left to learn from{but}.")
        return features


# -- at fit ------------------------------------------------------------------------------------------------------


def to_plain_types(table: pa.Table, categorical: Collection[str]) -> pa.Table:
    """Return columns of plain types: numbers that are names as codes, text without blanks around it.

    NaN and infinity are missing values. All columns that hold neither numbers, text nor dates are refused.
    """
    problems, columns = Problems(), dict[str, pa.ChunkedArray]()
    for name in table.column_names:
        column, coded, forced = table.column(name), pa.types.is_dictionary(table.column(name).type), name in categorical
        kind = column.type.value_type if coded else column.type
        if cells.is_text(kind):
            text = column if coded else cells.trimmed(cells.to_text(column))
            columns[name] = text.dictionary_encode() if forced else text
        elif cells.is_number(kind) and not coded:
            finite = _without_infinity(column)
            columns[name] = finite.cast(pa.float64(), safe=False).dictionary_encode() if forced else finite
        elif pa.types.is_null(kind) or cells.is_any_time(kind) or cells.is_number(kind) or pa.types.is_boolean(kind):
            columns[name] = column
        else:
            with problems.gathered():
                raise InputError(
                    f"column {name!r} holds {kind}, which is neither number, word nor date; leave it out: "
                    f"{option('drop', repr(name))}."
                )
    problems.tell()
    return pa.table(columns)


def _without_infinity(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_floating(column.type) or pc.all(pc.is_finite(column)).as_py() is not False:
        return column
    return pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))


def empty_columns(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if table.column(name).null_count == table.num_rows]


def crowded_columns(table: pa.Table) -> list[str]:
    """Return the columns of text with too many values to be categories, unless a user says that they are."""
    text = {name: table.column(name).drop_null() for name in table.column_names if cells.is_text(table[name].type)}
    return [name for name, values in text.items() if is_crowded(len(values.unique()), len(values))]


def notes_on_text(schema: Schema) -> list[str]:
    """Say which columns are read as text, though most of them look like numbers."""
    notes = []
    for column in schema.columns:
        if texts := non_numbers(column.categories or ()):
            notes.append(
                f"column {column.name!r} is read as words, though most of it looks like numbers: "
                f"{', '.join(map(repr, texts[:3]))} {'does' if len(texts) == 1 else 'do'} not fit the others. If they "
                f"mean missing, say so with {option('missing_values')}; if they are numbers, mend the file."
            )
    return notes


def non_numbers(values: Sequence[Any]) -> list[str]:
    """Return the text among values most of which read as numbers, a comma taken for part of one."""
    texts = [value for value in values if isinstance(value, str) and not _NUMBER.fullmatch(value)]
    commas = [value for value in values if isinstance(value, str) and "," in value and value not in texts]
    return texts + commas if 2 * len(texts) < len(values) and (texts or commas) else []


def impute(table: pa.Table, train: Bools) -> tuple[pa.Table, pa.Table]:
    """Return columns with a value where one is missing, and a row of those values.

    They are the median of the training rows, or their commonest value.
    """
    columns, fills = dict[str, Any](), dict[str, Any]()
    for name in table.column_names:
        column = table.column(name)
        known = column.filter(pa.array(train)).drop_null()
        if not len(known):
            raise InputError(
                f"column {name!r} has no value in the rows to learn from; leave it out with {option('drop')}."
            )
        fill = _typical_value(known)
        fills[name] = pa.array([fill.as_py()], fill.type)
        if column.null_count:
            coded = pa.types.is_dictionary(column.type)
            plain = cells.plain(column)
            plain = plain.cast(pa.float64(), safe=False) if cells.is_number(column.type) else plain
            filled = pc.fill_null(plain, fill.cast(plain.type))
            column = filled.dictionary_encode() if coded else filled
        columns[name] = column
    return pa.table(columns), pa.table(fills)


def _typical_value(known: pa.ChunkedArray) -> pa.Scalar:
    """Return the middle of numbers or times, the commonest of other values and the first of several."""
    if cells.is_number(known.type):
        return pa.scalar(float(np.median(cells.numbers(known).to_numpy())))
    if cells.is_any_time(known.type):
        return known.take(pc.sort_indices(known))[len(known) // 2]
    plain = cells.plain(known)
    counts = sorted(plain.value_counts().to_pylist(), key=lambda count: (-count["counts"], count["values"]))
    return pa.scalar(counts[0]["values"], plain.type)


# -- later -------------------------------------------------------------------------------------------------------


def with_format(preparation: Preparation, form: FileFormat) -> Preparation:
    """Return a preparation for a file of which a user says how it is written."""
    decimal = form.decimal if isinstance(form.decimal, str) else preparation.decimal
    names = {*map(raw_of, preparation.schema.columns), *(numerals.column for numerals in preparation.written)}
    written = (form.rewritten(preparation.how(name)) for name in sorted(names))
    written = (numerals for numerals in written if numerals != Numerals(numerals.column, decimal))
    return replace(preparation, decimal=decimal, written=tuple(written))


def raw_of(column: Column) -> str:
    return column.raw if column.category_of is None else column.category_of[0]


def raws(schema: Schema) -> list[str]:
    return [*dict.fromkeys(map(raw_of, schema.columns))]


def read_as_at_fit(
    preparation: Preparation, table: pa.Table, only: Collection[str] | None = None, origin: str = "", first: int = 1
) -> Prepared:
    """Read a table as at fit, whatever the types of its columns; those not in `only` are missing.

    What cannot be read as at fit is refused with its place: `origin` names the file, `first` is the number of the
    table's first row in it.
    """
    columns, unseen = dict[str, Any](), dict[str, tuple[Any, ...]]()
    by_raw: dict[str, list[Column]] = {}
    for column in preparation.schema.columns:
        by_raw.setdefault(raw_of(column), []).append(column)
    for raw, members in by_raw.items():
        if only is not None and raw not in only:
            columns |= {column.raw: pa.nulls(table.num_rows) for column in members}
            continue
        # 0/1 columns may stand for a category each.
        flags = tuple(column.category_of[1] for column in members if column.category_of is not None)
        categories = members[0].categories or flags
        with placing_errors(raw, origin, first):
            values = _as_at_fit(members, categories, table.column(raw), preparation)
        if pa.types.is_floating(values.type) and pc.any(pc.is_inf(values)).as_py():
            unseen[raw] = tuple(pc.unique(values.filter(pc.is_inf(values))).to_pylist())
            values = _without_infinity(values)
        if categories:
            known = {*categories, *map(category_name, categories)}
            others = [value for value in pc.unique(values).to_pylist() if value not in known and value is not None]
            unseen |= {raw: tuple(others)} if others else {}
        for column in members:
            of = column.category_of
            columns[column.raw] = (
                values if of is None else pc.equal(values, pa.scalar(of[1], values.type)).cast(pa.float64())
            )
    return Prepared(preparation, pa.table(columns), unseen)


def _as_at_fit(
    members: Sequence[Column], categories: tuple[Category, ...], values: pa.ChunkedArray, preparation: Preparation
) -> pa.ChunkedArray:
    column = members[0]
    part, written = column.part_of, preparation.how(raw_of(column))
    if part is not None and part.part == "duration":
        return cells.durations(values)
    if part is not None and part.part == "time":
        return cells.times_of_day(values)
    if part is not None:
        # Files of 0.1.0, which knew no days, may not tell whether there was a time zone.
        has_days = any(member.part_of and member.part_of.part == "days" for member in members)
        zone = part.zone is not None if part.zone is not None or has_days else None
        stamps = cells.stamps(values, preparation.date_format, zone)
        return stamps if part.zone is None else stamps.cast(pa.timestamp("us", "UTC"))
    if categories and all(isinstance(category, bool) for category in categories):
        return cells.booleans(values).cast(pa.int8()).cast(pa.bool_())
    if any(isinstance(category, str) for category in categories) or (not categories and column.categories is not None):
        text = cells.to_text(values)  # blanks around a word make no other word
        known = pc.is_in(text, value_set=pa.array(map(category_name, categories), pa.string()))
        return text if pc.all(known).as_py() else pc.if_else(known, text, cells.trimmed(text))
    try:
        return cells.numbers(values, written)
    except cells.Unreadable:
        if categories or not is_flag(column):
            raise
        return cells.booleans(values)


@contextmanager
def placing_errors(column: str, origin: str, first: int) -> Iterator[None]:
    """Refuse a cell that cannot be read by naming the file, the row and the column."""
    try:
        yield
    except cells.Unreadable as error:
        row = "" if error.position is None else f"row {first + error.position}, "
        raise InputError(f"{origin}{': ' * bool(origin)}{row}column {column!r}: {error}") from None


def finite_numbers(values: pa.ChunkedArray) -> Floats:
    """Return float64; missing and infinite values are NaN."""
    numbers = np.asarray(values.to_numpy(), dtype=np.float64)
    return np.where(np.isinf(numbers), np.nan, numbers) if np.isinf(numbers).any() else numbers


def one_hot_schema(schema: Schema) -> Schema:
    """Return the columns as numbers alone: one of 0 and 1 per category of a column, truths as 0 and 1."""
    columns: list[Column] = []
    for column in schema.columns:
        if column.categories is None:
            columns.append(column)
        elif column.categories == (False, True):
            columns.append(replace(column, categories=None, ordered=False, seen=(0.0, 1.0), whole=True))
        else:
            for code, category in enumerate(column.categories):
                typical = None if column.typical is None else float(column.typical == code)
                name, of = f"{column.name} = {category_name(category)}", (column.name, category)
                columns.append(Column(name, category_of=of, typical=typical))
    return replace(schema, columns=tuple(columns))
