"""From the columns of a raw table to those that estimators take, and the reading of later tables as at fit.

`learn` settles the types of a table's columns; :func:`bgn.inputs.kinds.schema_of` tells what each becomes, as it does
of any frame. `typed` reads a later table, text or not, by a schema.
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
from bgn.inputs.errors import InputError, Problems, did_you_mean, flag, option, sheet_of
from bgn.inputs.file_format import FileFormat, Numerals
from bgn.inputs.findings import NUMBER_NAME
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
        """Return the columns to learn from; name those that are not there, and the sheet that `notes` say was read."""
        targets = [] if self.target is None else [self.target]
        named = {"target": targets, "drop": self.drop, "categorical": self.categorical, "unit": units}
        problems = []
        numbers = sum(NUMBER_NAME.fullmatch(name) is not None for name in names)
        header = f" If its first row holds no names, add {flag('header', False)}." if 2 * numbers > len(names) else ""
        for argument, wanted in named.items():
            for name in wanted:
                if name not in names:
                    told = f"{origin} has no column {name!r}; it has {', '.join(map(repr, names))}."
                    problems.append(f"{option(argument)}: {told}{did_you_mean(name, names)}{header}{sheet_of(notes)}")
        for argument in ("drop", "categorical"):
            if self.target in named[argument]:
                told = f"{self.target!r} is the target; name another column or predict another."
                problems.append(f"{option(argument)}: {told}")
        Problems(*problems).tell()
        features = [name for name in names if name != self.target and name not in self.drop]
        if not features:
            beside = "" if self.target is None else f" beside {self.target!r}"
            raise InputError(f"{origin} has no column left to learn from{beside}.")
        return features


# -- at fit ------------------------------------------------------------------------------------------------------


def learn(table: pa.Table, categorical: Collection[str]) -> pa.Table:
    """Return columns of settled types: numbers that are names as codes, text without blanks around it.

    NaN and infinity are missing values. All columns that hold neither numbers, words nor dates are refused.
    """
    problems, columns = Problems(), dict[str, pa.ChunkedArray]()
    for name in table.column_names:
        with problems.gathered():
            columns[name] = _settled(name, table.column(name), name in categorical)
    problems.tell()
    return pa.table(columns)


def _settled(name: str, column: pa.ChunkedArray, forced: bool) -> pa.ChunkedArray:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if cells.is_text(kind):
        words = column if pa.types.is_dictionary(column.type) else cells.trimmed(cells.words(column))
        return words.dictionary_encode() if forced else words
    if cells.is_number(kind) and not pa.types.is_dictionary(column.type):
        found = _without_infinity(column)
        return found.cast(pa.float64(), safe=False).dictionary_encode() if forced else found
    known = pa.types.is_boolean(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind) or pa.types.is_null(kind)
    if known or cells.is_time(kind) or cells.is_number(kind):
        return column
    drop = option("drop", repr(name))
    raise InputError(f"column {name!r} holds {kind}, which is neither number, word nor date; leave it out: {drop}.")


def _without_infinity(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers with null in the place of NaN and infinity."""
    if not pa.types.is_floating(column.type) or pc.all(pc.is_finite(column)).as_py() is not False:
        return column
    return pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))


def empty_columns(table: pa.Table) -> list[str]:
    """Return the columns without any value."""
    return [name for name in table.column_names if table.column(name).null_count == table.num_rows]


def crowded_columns(table: pa.Table) -> list[str]:
    """Return the columns of text with too many words to learn from, unless they are told to be names."""
    text = {name: table.column(name).drop_null() for name in table.column_names if cells.is_text(table[name].type)}
    return [name for name, words in text.items() if is_crowded(len(words.unique()), len(words))]


def read_as_words(schema: Schema) -> list[str]:
    """Say which columns are read as words, though most of them look like numbers."""
    notes = []
    for column in schema.columns:
        if words := not_numbers(column.categories or ()):
            shown, one = ", ".join(map(repr, words[:3])), len(words) == 1
            notes.append(
                f"column {column.name!r} is read as words, though most of it looks like numbers: {shown} "
                f"{'does' if one else 'do'} not fit the others. If they mean missing, say so with {option('missing_values')}; if "
                "they are numbers, mend the file."
            )
    return notes


def not_numbers(values: Sequence[Any]) -> list[str]:
    """Return the words among values most of which read as numbers, a comma taken for part of one."""
    words = [value for value in values if isinstance(value, str) and not _NUMBER.fullmatch(value)]
    commas = [value for value in values if isinstance(value, str) and "," in value and value not in words]
    return words + commas if 2 * len(words) < len(values) and (words or commas) else []


def imputed(table: pa.Table, learnt: Bools) -> tuple[pa.Table, pa.Table]:
    """Return columns with a value where one is missing, and a row of those values.

    They are the median of the rows `learnt` from, or their commonest value.
    """
    columns, fills = dict[str, Any](), dict[str, Any]()
    for name in table.column_names:
        column = table.column(name)
        known = column.filter(pa.array(learnt)).drop_null()
        if not len(known):
            told = f"column {name!r} has no value in the rows to learn from"
            raise InputError(f"{told}; leave it out with {option('drop')}.")
        fill = _fill(known)
        column = column.cast(pa.float64(), safe=False) if column.null_count and cells.is_number(column.type) else column
        coded = pa.types.is_dictionary(column.type)
        filled = pc.fill_null(cells.plain(column), fill.cast(cells.plain(column).type)) if column.null_count else column
        columns[name] = filled.dictionary_encode() if coded and column.null_count else filled
        fills[name] = pa.array([fill.as_py()], fill.type)
    return pa.table(columns), pa.table(fills)


def _fill(known: pa.ChunkedArray) -> pa.Scalar:
    """Return the middle of numbers or times, the commonest of other values and the first of several."""
    if cells.is_number(known.type):
        return pa.scalar(float(np.median(cells.numbers(known).to_numpy())))
    if cells.is_time(known.type) or pa.types.is_duration(known.type) or pa.types.is_time(known.type):
        return known.take(pc.sort_indices(known))[len(known) // 2]
    plain = cells.plain(known)
    counts = sorted(plain.value_counts().to_pylist(), key=lambda each: (-each["counts"], each["values"]))
    return pa.scalar(counts[0]["values"], plain.type)


# -- later -------------------------------------------------------------------------------------------------------


def told(preparation: Preparation, form: FileFormat) -> Preparation:
    """Return a preparation for a file of which a user tells how it is written."""
    decimal = form.decimal if isinstance(form.decimal, str) else preparation.decimal
    names = {*(raw_of(column) for column in preparation.schema.columns), *(w.column for w in preparation.written)}
    written = (form.rewritten(preparation.how(name)) for name in sorted(names))
    return replace(preparation, decimal=decimal, written=tuple(w for w in written if w != Numerals(w.column, decimal)))


def raw_of(column: Column) -> str:
    """Return the name of the column of a raw table that a column is read from."""
    return column.raw if column.category_of is None else column.category_of[0]


def raws(schema: Schema) -> list[str]:
    """Return the names of the columns of a raw table."""
    return [*dict.fromkeys(map(raw_of, schema.columns))]


def typed(
    preparation: Preparation, table: pa.Table, only: Collection[str] | None = None, origin: str = "", first: int = 1
) -> Prepared:
    """Read a table as at fit, whatever the types of its columns; those not in `only` are missing.

    What cannot be read as at fit is refused with its place: `origin` names the file, `first` is the number of the
    table's first row in it.
    """
    columns, unseen = dict[str, Any](), dict[str, tuple[Any, ...]]()
    for raw, members in _by_raw(preparation.schema).items():
        if only is not None and raw not in only:
            columns |= {column.raw: pa.nulls(table.num_rows) for column in members}
            continue
        with placed(raw, origin, first):
            found = _as_at_fit(members, table.column(raw), preparation)
        if strange := _strange(found, _categories(members)):
            unseen[raw] = strange
        for column in members:
            of = column.category_of
            flag = None if of is None else pc.equal(found, pa.scalar(of[1], found.type)).cast(pa.float64())
            columns[column.raw] = found if flag is None else flag
    return Prepared(preparation, pa.table(columns), unseen)


def _by_raw(schema: Schema) -> dict[str, list[Column]]:
    """Return the columns that are read from each column of a raw table."""
    found: dict[str, list[Column]] = {}
    for column in schema.columns:
        found.setdefault(raw_of(column), []).append(column)
    return found


def _categories(members: Sequence[Column]) -> tuple[Category, ...]:
    """Return the levels of a category, of which 0/1 columns may stand for one each; none for numbers and dates."""
    return members[0].categories or tuple(column.category_of[1] for column in members if column.category_of is not None)


def _as_at_fit(members: Sequence[Column], values: pa.ChunkedArray, preparation: Preparation) -> pa.ChunkedArray:
    """Read a raw column as what it was."""
    column, categories = members[0], _categories(members)
    part, written = column.part_of, preparation.how(raw_of(column))
    if part is not None and part.part == "duration":
        return cells.durations(values)
    if part is not None and part.part == "time":
        return cells.times_of_day(values)
    if part is not None:
        # Files of 0.1.0, which knew no days, may not tell whether there was a time zone.
        known = part.zone is not None or any(each.part_of and each.part_of.part == "days" for each in members)
        stamps = cells.stamps(values, preparation.date_format, part.zone is not None if known else None)
        return stamps if part.zone is None else stamps.cast(pa.timestamp("us", "UTC"))
    if categories or column.categories is not None:
        return _like(categories, values, written)
    try:
        return _without_infinity(cells.numbers(values, written))
    except cells.Unreadable:
        if not is_flag(column):
            raise
        return cells.booleans(values)


def _like(categories: Sequence[Category], values: pa.ChunkedArray, written: Numerals) -> pa.ChunkedArray:
    """Read a column as words, truths or numbers, whichever the levels are; blanks around a word make no other word."""
    if categories and all(isinstance(category, bool) for category in categories):
        return cells.booleans(values).cast(pa.int8()).cast(pa.bool_())
    if categories and not any(isinstance(category, str) for category in categories):
        return _without_infinity(cells.numbers(values, written))
    words = cells.words(values)
    known = pc.is_in(words, value_set=pa.array(map(category_name, categories), pa.string()))
    return words if pc.all(known).as_py() else pc.if_else(known, words, cells.trimmed(words))


def _strange(values: pa.ChunkedArray, categories: Sequence[Category]) -> tuple[Any, ...]:
    """Return the values that are none of the levels, where there are levels."""
    if not categories:
        return ()
    known = {*categories, *map(category_name, categories)}
    return tuple(each for each in pc.unique(values).to_pylist() if each not in known and each is not None)


@contextmanager
def placed(column: str, origin: str, first: int) -> Iterator[None]:
    """Refuse a cell that cannot be read by naming the file, the row and the column."""
    try:
        yield
    except cells.Unreadable as error:
        row = "" if error.position is None else f"row {first + error.position}, "
        raise InputError(f"{origin}{': ' * bool(origin)}{row}column {column!r}: {error}") from None


def finite(values: pa.ChunkedArray) -> Floats:
    """Return float64; missing and infinite values are NaN."""
    numbers = np.asarray(values.to_numpy(), dtype=np.float64)
    return np.where(np.isinf(numbers), np.nan, numbers) if np.isinf(numbers).any() else numbers


# -- numbers alone -----------------------------------------------------------------------------------------------


def in_numbers(schema: Schema) -> Schema:
    """Return the columns as numbers alone: one of 0 and 1 per level of a category, truths as 0 and 1."""
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
