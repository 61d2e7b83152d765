"""What each column of a dataset is: numbers, a category, dates, durations or times of day, and the schema of them all.

This chapter decides it for everybody: estimators, engines that read a table block by block, prepared files and the
command line. Numbers stay numbers. Text, categories, true and false become categories; dates become several numbers,
one per part that varies; durations become days. Of text with nearly as many values as rows nothing can be learned.
:class:`ColumnKind` keeps what was seen of one column, as much of it as decides; blocks of a column tell as much as the
whole. :meth:`ColumnKind.decide` says what the column becomes and why.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.inputs.errors import option
from bgn.model.dates import TimePart, calendar_part, in_zone
from bgn.model.schema import Column, Schema
from bgn.model.values import (
    AnyTable,
    Category,
    Coded,
    Misread,
    Nothing,
    Numbers,
    RawValues,
    Strange,
    Times,
    category_name,
    did_you_mean,
)

FROM_DTYPE = "from_dtype"
_VARYING = ("year", "month", "weekday", "hour")
_SIMPLE = frozenset(("number", "truth", "text"))
_PLURALS = {
    "number": "numbers", "truth": "true and false", "text": "words", "time": "dates", "duration": "durations",
    "time of day": "times of day",
}  # fmt: skip
_MARKED = re.compile(r"(?i:[\s€$£¥%+-]|eur|usd|gbp|chf)*\d[\d.,'\s]*(?i:[\s€$£¥%]|eur|usd|gbp|chf)*")
_DATED = re.compile(r"\s*(\d{4}-\d\d-\d\d([ T]\d\d:\d\d\S*)?|\d{1,2}:\d\d(:\d\d(\.\d+)?)?)\s*")
_MANY = 20  # values that look like dates; fewer make a category that can be read

Span = tuple[float, float]


def schema_of(X: Any, categorical_features: Any = FROM_DTYPE, target: str | None = None) -> Schema:
    """Decide what every column of a table of any library, or of an array, is.

    `categorical_features` names columns that are categorical whatever they hold; those of text are categorical anyway,
    unless None refuses them. Columns that hold something else, such as lists, are all named in one error.
    """
    return TableKinds.of(X, categorical_features).schema(target)


@dataclass(frozen=True)
class TableKinds:
    """What was seen of a table's columns: as much of it as decides on a schema, and no more.

    `named`: whether the table has names for them; `text`: whether text may be a categorical column.
    """

    columns: tuple[ColumnKind, ...]
    named: bool = True
    text: bool = True

    @classmethod
    def of(cls, X: Any, categorical_features: Any = FROM_DTYPE) -> TableKinds:
        """Return what a table, or a block of one, shows; both parameters are those of :func:`schema_of`."""
        table = AnyTable(X)
        if len(table.shape) != 2:
            raise ValueError(
                f"X must be a table: Expected 2D array, got {len(table.shape)}D array instead. Reshape your data with "
                "reshape(-1, 1) if it is one column, or reshape(1, -1) if it is one row."
            )
        odd = [label for label in table.labels or () if not isinstance(label, str)]
        if odd and len(odd) < len(table.labels or ()):
            raise ValueError(
                f"X must have column names that are all text, or none that is; got {odd[0]!r} among text. Rename it."
            )
        names = table.names or tuple(f"x{place}" for place in range(table.shape[1]))
        chosen = chosen_columns(categorical_features, table.names, table.shape[1])
        columns = {}
        for place, name in enumerate(names):
            values = table.column(place)
            if table.text and isinstance(values, Coded) and all_numbers(values.observed):
                # NumPy makes text of all cells where some are text.
                values = Strange(
                    "numbers as text, as NumPy makes them where a cell is text; use a frame, or dtype=object"
                )
            columns[name] = values
        forced = [names[place] for place in chosen]
        return cls.of_columns(columns, forced, table.names is not None, categorical_features is not None)

    @classmethod
    def of_columns(
        cls, columns: Mapping[str, RawValues], forced: Container[str] = (), named: bool = True, text: bool = True
    ) -> TableKinds:
        """Return what columns show; those in `forced` are categorical whatever they hold."""
        kinds = (ColumnKind.of(name, values, name in forced) for name, values in columns.items())
        return cls(tuple(kinds), named, text)

    def merged(self, *others: TableKinds) -> TableKinds:
        kinds = {column.name: column for column in self.columns}
        for column in (column for other in others for column in other.columns):
            kinds[column.name] = kinds[column.name].merged(column) if column.name in kinds else column
        return TableKinds(tuple(kinds.values()), self.named, self.text)

    @property
    def undecided(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if not column.decided_by_type)

    def schema(self, target: str | None = None) -> Schema:
        """Return the schema; all columns that cannot be used are named in one error."""
        columns: list[Column] = []
        problems: list[str] = []
        for kind in self.columns:
            try:
                made, reasons = kind.decide(self.text)
            except Misread as problem:
                problems.append(f"column {kind.name!r} {problem}")
                continue
            columns += made
            for reason in reasons:
                warnings.warn(f"column {kind.name!r} {reason}", UserWarning, stacklevel=9)
        for name, times in Counter(column.name for column in columns).items():
            if times > 1:
                problems.append(f"column {name!r} is there, and would also be made of a column of dates or durations")
        if problems:
            raise ValueError(
                f"X cannot be used: {'; '.join(problems)}. Turn such columns into numbers, text (astype(str)), "
                "dates or true and false, of one kind each, or leave them out."
            )
        return Schema(tuple(columns), target, named=self.named)


def chosen_columns(categorical_features: Any, names: tuple[str, ...] | None, n_columns: int) -> frozenset[int]:
    """Return the positions of the columns that a user says are categorical."""
    argument = "categorical_features"
    if categorical_features is None or (isinstance(categorical_features, str) and categorical_features == FROM_DTYPE):
        return frozenset()
    given = np.asarray(categorical_features, dtype=object)
    types = {bool if isinstance(entry, bool | np.bool_) else type(entry) for entry in given.ravel()}
    if given.ndim == 1 and types == {bool}:
        if len(given) != n_columns:
            raise ValueError(
                f"{argument}, a mask, must have one entry per column of X ({n_columns}); got {len(given)}."
            )
        return frozenset(np.flatnonzero(given.astype(bool)).tolist())
    if given.ndim == 1 and all(issubclass(kind, int | np.integer) and kind is not bool for kind in types):
        for place in given:
            if not 0 <= place < n_columns:
                raise ValueError(f"{argument} must be positions from 0 to {n_columns - 1}; got {place}.")
        return frozenset(map(int, given))
    if given.ndim == 1 and all(issubclass(kind, str) for kind in types):
        if names is None:
            raise ValueError(f"{argument} must be positions where columns have no names; got {str(given[0])!r}.")
        for name in given:
            if name not in names:
                raise ValueError(f"{argument}: X has no column {str(name)!r}.{did_you_mean(name, names)}")
        return frozenset(names.index(name) for name in given)
    raise ValueError(
        f"{argument} must be 'from_dtype', None, or for all columns true or false, or the positions or the names of "
        f"some; got {categorical_features!r}."
    )


@dataclass(frozen=True)
class ColumnKind:
    """What was seen of a column."""

    name: str
    kinds: frozenset[str] = frozenset()  # "number", "truth", "text", "time", "duration", "time of day"
    categorical: bool = False  # its type, or the user, says that its values are categories
    declared: bool = False  # by more than being text
    filled: int = 0  # how many rows have a value; as the values below, where these may become categories
    texts: frozenset[str] = frozenset()
    numbers: frozenset[float] = frozenset()
    truths: frozenset[bool] = frozenset()
    orders: frozenset[tuple[Category, ...] | None] = frozenset()  # declared categories; None where without order
    spans: tuple[Span, ...] = ()  # least and greatest year, month, weekday, hour, and time in microseconds
    zones: frozenset[str | None] = frozenset()  # time zones; None for times without one
    unusable: frozenset[str] = frozenset()  # what it holds that no model reads

    @classmethod
    def of(cls, name: str, values: RawValues, forced: bool = False) -> ColumnKind:
        """Return what some values show; `forced` says that they are categories whatever their type."""
        if isinstance(values, Coded):
            return cls._of_categories(name, values, forced)
        seen = cls(name, categorical=forced, declared=forced)
        if isinstance(values, Numbers):
            distinct = frozenset(values.distinct.tolist() if forced or values.loose else ())
            kinds = frozenset(["number"] if distinct or not values.loose else ())
            return replace(seen, kinds=kinds, numbers=distinct)
        if isinstance(values, Times):
            spans: tuple[Span, ...] = ()
            local = in_zone(values.values, values.zone)
            local = local[~np.isnat(local)]
            if len(local):
                parts = [*(calendar_part(local, part) for part in _VARYING), local.astype(np.int64)]
                spans = tuple((part.min().item(), part.max().item()) for part in parts)
            return replace(seen, kinds=frozenset(["time"]), zones=frozenset([values.zone]), spans=spans)
        if values.kind:
            return replace(seen, kinds=frozenset([values.kind]))
        return seen if isinstance(values, Nothing) else replace(seen, unusable=frozenset([values.holds]))

    @classmethod
    def _of_categories(cls, name: str, values: Coded, forced: bool) -> ColumnKind:
        observed = values.observed
        # Without a category, Arrow's arrays before version 25 have no order whatever their type.
        has_order = not values.loose and (values.ordered or bool(values.categories))
        all_truths = bool(values.categories) and all(isinstance(category, bool) for category in values.categories)
        texts = frozenset(category for category in observed if isinstance(category, str))
        truths = frozenset(category for category in observed if isinstance(category, bool))
        numbers = frozenset(category for category in observed if isinstance(category, float))
        seen = {"text": bool(texts), "truth": bool(truths) or all_truths, "number": bool(numbers)}
        return cls(
            name,
            kinds=frozenset(kind for kind, there in seen.items() if there),
            categorical=forced or not (values.loose or all_truths),
            declared=forced or not values.text,
            filled=int(np.count_nonzero(~values.missing)),
            texts=texts,
            numbers=numbers,
            truths=truths,
            orders=frozenset([values.categories if values.ordered else None]) if has_order else frozenset(),
        )

    @property
    def decided_by_type(self) -> bool:
        """True where its type tells all there is to know."""
        return not self.categorical and self.kinds in ({"number"}, {"truth"}, {"duration"}, {"time of day"})

    def merged(self, other: ColumnKind) -> ColumnKind:
        spans = self.spans or other.spans
        if self.spans and other.spans:
            both = zip(self.spans, other.spans, strict=True)
            spans = tuple((min(one[0], two[0]), max(one[1], two[1])) for one, two in both)
        united: dict[str, Any] = {
            name: getattr(self, name) | getattr(other, name)
            for name in (
                "kinds", "categorical", "declared", "texts", "numbers", "truths", "orders", "zones", "unusable",
            )
        }  # fmt: skip
        return replace(self, spans=spans, filled=self.filled + other.filled, **united)

    def decide(self, text: bool = True) -> tuple[tuple[Column, ...], list[str]]:
        """Return the columns that it becomes, and what its owner should know of that; `text` says whether text may be.

        A category without categories is one of which nothing can be learned. :class:`Misread` says why a column
        cannot be used.
        """
        if self.unusable:
            raise Misread(f"holds {' and '.join(sorted(self.unusable))}")
        if len(self.kinds) > 1 and not self.kinds <= _SIMPLE:
            raise Misread(f"holds {' and '.join(sorted(_PLURALS[kind] for kind in self.kinds))}")
        if not self.kinds <= _SIMPLE:
            if self.categorical:
                (kind,) = self.kinds
                raise Misread(f"holds {_PLURALS[kind]}, and categories are words, numbers, or true and false")
            return tuple(Column(part.name, part_of=part) for part in self._time_parts()), []
        if "text" in self.kinds and not text:
            raise Misread(f"holds words ({min(self.texts)[:40]!r}), which categorical_features=None refuses")
        if self.kinds == {"truth"} and text:
            return (Column(self.name, (False, True), ordered=True),), []
        if not text or not (self.categorical or "text" in self.kinds):
            return (Column(self.name),), []
        column, reasons = self._category()
        return (column,), reasons

    def _category(self) -> tuple[Column, list[str]]:
        if np.isinf([*self.numbers]).any():
            raise Misread("holds infinity, which cannot be a category")
        as_text = self.texts.union(map(category_name, self.numbers)) if self.texts else self.texts
        # Of text with nearly as many values as rows a model would learn each row by heart.
        too_many = not self.declared and is_crowded(len(as_text), self.filled)
        use = "it is not used" if too_many else "each is a category"
        dated = [
            f"holds words that look like dates or times, such as {min(self.texts)!r}; {use}. To ask for earlier and "
            "later make dates of them, for instance with pandas.to_datetime; in a text file, mend those that cannot be "
            "read."
        ] if len(self.texts) >= _MANY and all(map(_DATED.fullmatch, self.texts)) else []  # fmt: skip
        if too_many:
            return Column(self.name, ()), dated or [self._why_crowded(as_text)]
        mixed = "text" in self.kinds and len(self.kinds) > 1
        if mixed and "number" in self.kinds and not self.numbers:  # of columns of two types, in two files for instance
            raise Misread("holds numbers in one place and words in another")
        numbers = sorted(self.numbers | {float(truth) for truth in self.truths})
        reasons = [
            f"mixes words and numbers, such as {min(self.texts)[:40]!r} and {category_name([*numbers, 0.0][0])}; all "
            "are read as words. If they are meant as numbers, mend the column first."
        ] if mixed else []  # fmt: skip
        orders = [order for order in self.orders if order is not None]
        if not orders or None in self.orders:
            categories: Sequence[Category] = sorted(self.texts) if self.texts else numbers
            if mixed:
                categories = sorted(self.texts.union(map(category_name, [*self.numbers, *self.truths])))
            return Column(self.name, tuple(categories)), [*reasons, *dated]
        declared = max(orders, key=len)
        for order in orders:
            rest = iter(declared)
            if not all(category in rest for category in order):  # one behind the other
                raise Misread("has ordered categories, in several orders")
        if any(isinstance(category, str) for category in declared):
            declared = tuple(map(category_name, declared))
        return Column(self.name, tuple(dict.fromkeys(declared)), ordered=True), reasons

    def _why_crowded(self, as_text: frozenset[str]) -> str:
        numbers = [value for value in as_text if all_numbers([value.replace(",", "")])]
        others, mostly = sorted(as_text.difference(numbers)), len(numbers) > len(as_text) / 2
        what = f" {len(numbers):,} of them are numbers, and {others[0][:40]!r} is not." if mostly and others else ""
        remedy = "Leave it out"
        if mostly:
            remedy = "Make numbers of it, for instance with pandas.to_numeric(..., errors='coerce')"
        elif sum(bool(_MARKED.fullmatch(value)) for value in as_text) > len(as_text) / 2:
            remedy = "They look like numbers: bgn.preparation.fit reads files with such marks, or mend them"
        return (
            f"holds {len(as_text):,} different words in {self.filled:,} rows, too many to learn from, as ids are: it "
            f"is not used.{what} {remedy}, or name it in {option('categorical_features')} to learn from its words all "
            "the same."
        )

    def _time_parts(self) -> list[TimePart]:
        """Return the parts of dates that vary, or the year where none does; of other times days, or hours of a day."""
        if self.kinds != {"time"}:
            return [TimePart(self.name, "duration" if self.kinds == {"duration"} else "time")]
        if len(self.zones) > 1:
            raise Misread(f"holds times {'with and without a' if None in self.zones else 'of several'} time zones")
        (zone,) = self.zones
        *spans, (first, last) = self.spans or ((0.0, 0.0),)
        parts = [
            TimePart(self.name, part, zone=zone)
            for part, (low, high) in zip(_VARYING, spans, strict=False)
            if low < high
        ]
        if first < last:
            day = str(np.datetime64(int(first), "us").astype("M8[D]"))
            parts.append(TimePart(self.name, "days", day, zone))
        return parts or [TimePart(self.name, "year", zone=zone)]


def is_crowded(different: int, filled: int) -> bool:
    """Tell whether a column of text has too many values to be categories: more than half of the rows have a new one."""
    return different > max(_MANY, filled / 2)


def all_numbers(texts: Sequence[Any]) -> bool:
    """Tell whether there are values, and all of them read as numbers."""
    try:
        return bool([float(text) for text in texts])
    except ValueError:
        return False
