"""From the columns of a raw table to the matrix a network reads, and the record that repeats it.

`learn` decides what each column is; `apply` makes the matrix, with NaN where a value is missing; `with_fills` decides
on the imputed values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bgn.inputs import cells
from bgn.inputs.file_format import FileFormat, Numerals
from bgn.inputs.refusal import Problems, Refused, did_you_mean, option
from bgn.model.dates import calendar_part
from bgn.model.step import Floats
from bgn.preparation import PARTS, Category, Date, Number, Preparation, Prepared

RawColumn = Number | Category | Date

_NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d[\d.,]*([eE][-+]?\d+)?\s*")


@dataclass(frozen=True)
class Choices:
    """What a user decides about a raw table; :func:`bgn.preparation.fit` says what each means."""

    target: str | None = None
    drop: Collection[str] = ()
    categorical: Collection[str] = ()
    dates: str = "refuse"
    date_format: str | None = None
    max_categories: int = 50
    missing: str = "refuse"
    task: str | None = None

    def features(self, names: Sequence[str], origin: str, units: Collection[str] = ()) -> list[str]:
        """Return the columns to learn from; name those that are not there."""
        targets = [] if self.target is None else [self.target]
        named = {"target": targets, "drop": self.drop, "categorical": self.categorical, "unit": units}
        problems = []
        for argument, wanted in named.items():
            for name in wanted:
                if name not in names:
                    told = f"{origin} has no column {name!r}; it has {', '.join(map(repr, names))}."
                    problems.append(f"{option(argument)}: {told}{did_you_mean(name, names)}")
        for argument in ("drop", "categorical"):
            if self.target in named[argument]:
                told = f"{self.target!r} is the target; name another column or predict another."
                problems.append(f"{option(argument)}: {told}")
        Problems(*problems).tell()
        features = [name for name in names if name != self.target and name not in self.drop]
        if not features:
            beside = "" if self.target is None else f" beside {self.target!r}"
            raise Refused(f"{origin} has no column left to learn from{beside}.")
        return features


def learn(table: pa.Table, choices: Choices) -> tuple[Preparation, list[str]]:
    """Return how each column becomes features, and notes on the columns that do not."""
    notes: list[str] = []
    columns: list[RawColumn] = []
    problems = Problems()
    for name in table.column_names:
        column = table.column(name)
        if column.null_count == len(column):
            notes.append(f"column {name!r} is empty and left out.")
            continue
        with problems.gathered():
            columns.append(_kind(name, column, choices))
            if isinstance(columns[-1], Category) and (words := not_numbers(columns[-1].values)):
                notes.append(f"column {name!r} is read as words, {_why(words)}")
    problems.tell()
    return Preparation(tuple(columns)), notes


def learn_blocks(
    blocks: Iterable[pa.Table], types: Mapping[str, pa.DataType], choices: Choices
) -> tuple[Preparation, list[str]]:
    """Return what `learn` does of all blocks together, from the few values of each column that decide it."""
    telling = {name: pa.chunked_array([], kind) for name, kind in types.items()}
    for block in blocks:
        for name, before in telling.items():
            both = pa.chunked_array([*before.chunks, *block.column(name).chunks], before.type)
            telling[name] = _telling(name, both, choices)
    learnt = [learn(pa.table({name: column}), choices) for name, column in telling.items()]
    columns = tuple(column for preparation, _ in learnt for column in preparation.columns)
    return Preparation(columns), [note for _, some in learnt for note in some]


def _telling(name: str, column: pa.ChunkedArray, choices: Choices) -> pa.ChunkedArray:
    """Return a few values of a column that tell `learn` as much as all of them."""
    kind, values = column.type, column.drop_null()
    if cells.is_text(kind) or (name in choices.categorical and cells.is_number(kind)):
        values = pa.chunked_array([pc.unique(values)], kind)
        if len(values) > choices.max_categories:
            _kind(name, values, choices)  # refuses it
        return values
    if cells.is_time(kind) and len(values):
        # The first, and for each part of a date the first in which it differs.
        differ = [np.flatnonzero(part != part[0])[:1].tolist() for part in _date_parts(values).values()]
        return values.take(pa.array(sorted({0}.union(*differ)), pa.int64()))
    return values.slice(0, 1)


def _kind(name: str, column: pa.ChunkedArray, choices: Choices) -> RawColumn:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    drop = option("drop", repr(name))
    if pa.types.is_boolean(kind):
        return Number(name, boolean=True)
    if cells.is_number(kind):
        return _category(name, cells.numbers(column), choices) if name in choices.categorical else Number(name)
    if cells.is_text(kind):
        return _category(name, cells.trimmed(cells.words(column)), choices)
    if cells.is_time(kind):
        if choices.dates != "expand":
            raise Refused(
                f"column {name!r} holds dates; add {option('dates', 'expand')} to use year, month, day, weekday and "
                f"hour as numbers, or {drop}."
            )
        parts = _date_parts(column)
        varies = tuple(part for part in PARTS if len(np.unique(parts[part][~np.isnan(parts[part])])) > 1)
        return Date(name, varies or ("year",), choices.date_format, zone=cells.has_zone(column))
    raise Refused(f"column {name!r} holds {kind}, which is neither number, word nor date; leave it out: {drop}.")


def _why(words: Sequence[str]) -> str:
    """Say why a column that may be meant as numbers is read as words."""
    shown, one = ", ".join(map(repr, words[:3])), len(words) == 1
    return (
        f"though most of it looks like numbers: {shown} {'does' if one else 'do'} not fit the others. If they mean "
        f"missing, say so with {option('gaps')}; if they are numbers, mend the file."
    )


def not_numbers(values: Sequence[Any]) -> list[str]:
    """Return the words among values most of which read as numbers, a comma taken for part of one."""
    words = [value for value in values if isinstance(value, str) and not _NUMBER.fullmatch(value)]
    commas = [value for value in values if isinstance(value, str) and "," in value and value not in words]
    return words + commas if 2 * len(words) < len(values) and (words or commas) else []


def _category(name: str, column: pa.ChunkedArray, choices: Choices) -> Category:
    values = sorted(value for value in pc.unique(column).to_pylist() if value is not None and value == value)
    if len(values) > choices.max_categories:
        shown = ", ".join(map(repr, values[:3]))
        raise Refused(
            f"column {name!r} holds {len(values)} different words ({shown}, ...), more than {choices.max_categories}; "
            f"leave it out ({option('drop', repr(name))}), say how dates are written ({option('date_format')}), or "
            f"raise {option('max_categories')}."
        )
    return Category(name, tuple(values))


def apply(
    preparation: Preparation, table: pa.Table, only: Collection[str] | None = None, origin: str = "", first: int = 1
) -> Prepared:
    """Make the matrix of a table, whatever the types of its columns; those not in `only` stay zero.

    What cannot be read as at fit is refused with its place: `origin` names the file, `first` is the number of the
    table's first row in it.
    """
    X = np.zeros((table.num_rows, len(preparation.names)), order="F")
    filled = np.zeros(table.num_rows, dtype=bool)
    unseen: dict[str, tuple[Any, ...]] = {}
    for column, part in slices(preparation, X):
        if only is not None and column.column not in only:
            continue
        values = table.column(column.column)
        with placed(column.column, origin, first):
            if isinstance(column, Category):
                strange = _fill_category(part, column, values, preparation.how(column.column))
                if strange:
                    unseen[column.column] = strange
            elif isinstance(column, Date):
                parts = _date_parts(values, column)
                part[:] = np.column_stack([parts[name] for name in column.parts])
            else:
                found = (
                    cells.booleans(values) if column.boolean else cells.numbers(values, preparation.how(column.column))
                )
                part[:, 0] = finite(found)
        if column.fill is not None:
            filled |= _impute(part, column)
    return Prepared(preparation, X, filled, unseen)


def apply_blocks(
    preparation: Preparation, blocks: Iterable[pa.Table], only: Collection[str] | None, origin: str
) -> Iterator[tuple[int, pa.Table, Prepared]]:
    """Yield the number of each block's first row, the block, and its matrix."""
    first = 1
    for block in blocks:
        yield first, block, apply(preparation, block, only, origin, first)
        first += block.num_rows


def told(preparation: Preparation, form: FileFormat) -> Preparation:
    """Return a preparation for a file of which a user tells how it is written."""
    decimal = form.decimal if isinstance(form.decimal, str) else preparation.decimal
    names = {column.column for column in (*preparation.columns, *preparation.written)}
    written = (form.rewritten(preparation.how(name)) for name in sorted(names))
    return replace(preparation, decimal=decimal, written=tuple(w for w in written if w != Numerals(w.column, decimal)))


@contextmanager
def placed(column: str, origin: str, first: int) -> Iterator[None]:
    """Refuse a cell that cannot be read by naming the file, the row and the column."""
    try:
        yield
    except cells.Unreadable as error:
        row = "" if error.position is None else f"row {first + error.position}, "
        raise Refused(f"{origin}{': ' * bool(origin)}{row}column {column!r}: {error}") from None


def slices(preparation: Preparation, X: Floats) -> Iterator[tuple[RawColumn, Floats]]:
    """Yield every column with its features, a view into `X`."""
    start = 0
    for column in preparation.columns:
        stop = start + len(column.names)
        yield column, X[:, start:stop]
        start = stop


def finite(values: pa.ChunkedArray) -> Floats:
    """Return float64; missing and infinite values are NaN."""
    numbers = np.asarray(values.to_numpy(), dtype=np.float64)
    return np.where(np.isinf(numbers), np.nan, numbers) if np.isinf(numbers).any() else numbers


def _fill_category(part: Floats, column: Category, values: pa.ChunkedArray, written: Numerals) -> tuple[Any, ...]:
    """Set the 0/1 columns of one category; return values that were not there at fit."""
    wordy = not column.values or isinstance(column.values[0], str)
    known = pa.array(column.values, pa.string() if wordy else pa.float64())
    values = cells.words(values) if wordy else cells.numbers(values, written)
    missing = np.asarray(pc.is_null(values, nan_is_null=True).to_numpy(), dtype=bool)
    found = pc.index_in(values, value_set=known)
    if wordy and found.null_count > values.null_count:  # blanks around a word make no other word
        found = pc.coalesce(found, pc.index_in(pc.utf8_trim_whitespace(values), value_set=known))
    code = np.asarray(pc.fill_null(found, -1).to_numpy())
    rows = np.flatnonzero(code >= 0)
    part[rows, code[rows]] = 1.0
    part[missing] = np.nan
    strange = (code < 0) & ~missing
    return tuple(pc.unique(values.filter(pa.array(strange))).to_pylist()) if strange.any() else ()


def _date_parts(values: pa.ChunkedArray, column: Date | None = None) -> dict[str, Floats]:
    """Return the parts of dates as numbers, NaN for a missing date."""
    form, zone = (None, None) if column is None else (column.format, column.zone)
    stamp = np.asarray(cells.stamps(values, form, zone).to_numpy()).astype("M8[us]")
    return {part: calendar_part(stamp, part) for part in PARTS}


def _impute(part: Floats, column: RawColumn) -> NDArray[np.bool_]:
    """Replace the NaNs of one column's features by the imputed values; return which rows had them."""
    holes = np.isnan(part[:, 0])
    if isinstance(column, Category):
        part[holes] = [float(value == column.fill) for value in column.values]
    else:
        part[holes] = column.fill
    return np.asarray(holes)


def with_fills(preparation: Preparation, X: Floats) -> Preparation:
    """Return the preparation with imputed values learnt from `X`: medians, and the commonest word."""
    columns: list[RawColumn] = []
    for column, part in slices(preparation, X):
        known = part[~np.isnan(part[:, 0])]
        if not len(known):
            raise Refused(
                f"column {column.column!r} has no value in the rows to learn from; leave it out with {option('drop')}."
            )
        if isinstance(column, Category):
            columns.append(replace(column, fill=column.values[int(known.sum(axis=0).argmax())]))
        elif isinstance(column, Date):
            columns.append(replace(column, fill=tuple(np.median(known, axis=0).tolist())))
        else:
            columns.append(replace(column, fill=float(np.median(known))))
    return replace(preparation, columns=tuple(columns))


def fill(preparation: Preparation, X: Floats) -> None:
    """Put the imputed values of a preparation in the place of every NaN."""
    for column, part in slices(preparation, X):
        _impute(part, column)
