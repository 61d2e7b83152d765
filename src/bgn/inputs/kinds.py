"""What a raw column holds, as much of it as decides how it is read; parts of a column tell as much as the whole."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.inputs.errors import option
from bgn.model.dates import TimePart, calendar_part, in_zone
from bgn.model.schema import Column
from bgn.model.values import (
    Coded,
    Durations,
    Category,
    Misread,
    Nothing,
    Numbers,
    RawValues,
    Times,
    TimesOfDay,
    category_name,
)

_VARYING = ("year", "month", "weekday", "hour")
_SIMPLE = frozenset(("number", "truth", "word"))
_TOLD = {
    "number": "numbers", "truth": "true and false", "word": "words", "time": "dates", "duration": "durations",
    "time of day": "times of day",
}  # fmt: skip
_MARKED = re.compile(r"(?i:[\s€$£¥%+-]|eur|usd|gbp|chf)*\d[\d.,'\s]*(?i:[\s€$£¥%]|eur|usd|gbp|chf)*")
_DATED = re.compile(r"\s*(\d{4}-\d\d-\d\d([ T]\d\d:\d\d\S*)?|\d{1,2}:\d\d(:\d\d(\.\d+)?)?)\s*")
_MANY = 20  # words that look like dates; fewer make a category that can be read

Span = tuple[float, float]


@dataclass(frozen=True)
class ColumnKind:
    """What was seen of a column.

    Parameters
    ----------
    name : str
    kinds : frozenset of str
        Which of ``"number"``, ``"truth"``, ``"word"``, ``"time"``, ``"duration"`` and ``"time of day"`` it holds.
    category : bool
        Whether its type, or the user, says that its values are categories.
    declared : bool
        Whether they are categories by more than being text.
    filled : int
        How many rows have a value, where values may become levels.
    words, numbers, truths : frozenset
        The different values, where they may become levels.
    orders : frozenset
        The declared levels of ordered categories, a tuple each; None stands for categories without an order.
    spans : tuple of (float, float)
        The least and the greatest year, month, weekday and hour, and those of the times in microseconds.
    zones : frozenset
        The time zones of its times; None stands for times without one.
    strange : frozenset of str
        What it holds that nobody can learn from.
    """

    name: str
    kinds: frozenset[str] = frozenset()
    category: bool = False
    declared: bool = False
    filled: int = 0
    words: frozenset[str] = frozenset()
    numbers: frozenset[float] = frozenset()
    truths: frozenset[bool] = frozenset()
    orders: frozenset[tuple[Category, ...] | None] = frozenset()
    spans: tuple[Span, ...] = ()
    zones: frozenset[str | None] = frozenset()
    strange: frozenset[str] = frozenset()

    @classmethod
    def of(cls, name: str, values: RawValues, forced: bool = False) -> ColumnKind:
        """Return what some values tell; `forced` says that they are categories whatever their type."""
        found = cls(name, category=forced, declared=forced)
        if isinstance(values, Numbers):
            keep = forced or values.loose
            distinct = frozenset(values.distinct.tolist() if keep else ())
            return replace(
                found, kinds=frozenset(["number"] if len(distinct) or not values.loose else ()), numbers=distinct
            )
        if isinstance(values, Coded):
            return found._with_categories(values)
        if isinstance(values, Times):
            return replace(found, kinds=frozenset(["time"]), zones=frozenset([values.zone]), spans=_spans(values))
        if isinstance(values, Durations):
            return replace(found, kinds=frozenset(["duration"]))
        if isinstance(values, TimesOfDay):
            return replace(found, kinds=frozenset(["time of day"]))
        return found if isinstance(values, Nothing) else replace(found, strange=frozenset([values.holds]))

    def _with_categories(self, values: Coded) -> ColumnKind:
        observed = values.observed
        # Without a level, Arrow's arrays before version 25 have no order whatever their type.
        says_order = not values.loose and (values.ordered or bool(values.categories))
        truth = bool(values.categories) and all(isinstance(category, bool) for category in values.categories)
        words = frozenset(category for category in observed if isinstance(category, str))
        truths = frozenset(category for category in observed if isinstance(category, bool))
        numbers = frozenset(category for category in observed if isinstance(category, float))
        kinds = {"word": words, "truth": truths or truth, "number": numbers}
        return replace(
            self,
            kinds=frozenset(kind for kind, there in kinds.items() if there),
            category=self.category or not (values.loose or truth),
            declared=self.declared or not values.text,
            filled=int(np.count_nonzero(~values.missing)),
            words=words,
            numbers=numbers,
            truths=truths,
            orders=frozenset([values.categories if values.ordered else None]) if says_order else frozenset(),
        )

    @property
    def settled(self) -> bool:
        """True where its type tells all there is to know."""
        return not self.category and self.kinds in ({"number"}, {"truth"}, {"duration"}, {"time of day"})

    def merged(self, other: ColumnKind) -> ColumnKind:
        """Return what both tell of one column."""
        spans = self.spans or other.spans
        if self.spans and other.spans:
            both = zip(self.spans, other.spans, strict=True)
            spans = tuple((min(one[0], two[0]), max(one[1], two[1])) for one, two in both)
        together: dict[str, Any] = {
            name: getattr(self, name) | getattr(other, name)
            for name in ("kinds", "category", "declared", "words", "numbers", "truths", "orders", "zones", "strange")
        }
        return replace(self, spans=spans, filled=self.filled + other.filled, **together)

    def columns(self, words: bool) -> tuple[Column, ...]:
        """Return what it becomes, or say why it cannot be learnt from; `words` says whether words may be."""
        if self.strange:
            raise Misread(f"holds {' and '.join(sorted(self.strange))}")
        if len(self.kinds) > 1 and not self.kinds <= _SIMPLE:
            raise Misread(f"holds {' and '.join(sorted(_TOLD[kind] for kind in self.kinds))}")
        if not self.kinds <= _SIMPLE:
            if self.category:
                kind = _TOLD[next(iter(self.kinds))]
                raise Misread(f"holds {kind}, and categories are words, numbers, or true and false")
            return self._parts()
        if "word" in self.kinds and not words:
            raise Misread(f"holds words ({min(self.words)[:40]!r}), which categorical_features=None refuses")
        if self.kinds == {"truth"} and words:
            return (Column(self.name, (False, True), ordered=True),)
        if not words or not (self.category or "word" in self.kinds):
            return (Column(self.name),)
        return (self._category(),)

    def _category(self) -> Column:
        if np.isinf([*self.numbers]).any():
            raise Misread("holds infinity, which cannot be a level")
        if self.is_crowded:
            return self._left_out()
        mixed = "word" in self.kinds and len(self.kinds) > 1
        if mixed and "number" in self.kinds and not self.numbers:  # of columns of two types, in two files for instance
            raise Misread("holds numbers in one place and words in another")
        numbers = sorted(self.numbers | {float(truth) for truth in self.truths})
        if mixed:
            example = category_name([*numbers, 0.0][0])
            warnings.warn(
                f"column {self.name!r} mixes words and numbers, such as {min(self.words)[:40]!r} and {example}; all "
                "are read as words. If they are meant as numbers, mend the column first.",
                UserWarning,
                stacklevel=10,
            )
        categories: Sequence[Category] = sorted(self.words) if self.words else numbers
        if mixed:
            categories = sorted(self.words.union(map(category_name, self.numbers), map(category_name, self.truths)))
        orders = [order for order in self.orders if order is not None]
        if not orders or None in self.orders:
            self._warn_of_dates()
            return Column(self.name, tuple(categories))
        declared = max(orders, key=len)
        if not all(_inside(order, declared) for order in orders):
            raise Misread("has ordered levels, in several orders")
        wordy = any(isinstance(category, str) for category in declared)
        return Column(self.name, tuple(dict.fromkeys(map(category_name, declared) if wordy else declared)), ordered=True)

    @property
    def is_crowded(self) -> bool:
        """True for text with nearly as many words as rows, of which a model would learn each row by heart."""
        return not self.declared and is_crowded(len(self._as_words), self.filled)

    @property
    def _as_words(self) -> frozenset[str]:
        return self.words.union(map(category_name, self.numbers)) if self.words else self.words

    def _left_out(self) -> Column:
        """Return a category without levels, and say why."""
        if not self._warn_of_dates():
            words = self._as_words
            numbers = [word for word in words if _is_number(word)]
            others, most = sorted(words.difference(numbers)), len(numbers) > len(words) / 2
            told = f" {len(numbers):,} of them are numbers, and {others[0][:40]!r} is not." if most and others else ""
            remedy = "Make numbers of it, for instance with pandas.to_numeric(..., errors='coerce')" if most else ""
            if not most and sum(bool(_MARKED.fullmatch(word)) for word in words) > len(words) / 2:
                remedy = "They look like numbers: bgn.preparation.fit reads files with such marks, or mend them"
            warnings.warn(
                f"column {self.name!r} holds {len(words):,} different words in {self.filled:,} rows, too many to "
                f"learn from, as ids are: it is not used.{told} {remedy or 'Leave it out'}, or name it in "
                f"{option('categorical_features')} to learn from its words all the same.",
                UserWarning,
                stacklevel=11,
            )
        return Column(self.name, ())

    def _warn_of_dates(self) -> bool:
        """Say that words may be meant as dates, if they are."""
        dated = len(self.words) >= _MANY and all(map(_DATED.fullmatch, self.words))
        if dated:
            use = "it is not used" if self.is_crowded else "each is a level of a category"
            warnings.warn(
                f"column {self.name!r} holds words that look like dates or times, such as {min(self.words)!r}; {use}. "
                "To ask for earlier and later make dates of them, for instance with "
                "pandas.to_datetime; in a text file, mend those that cannot be read.",
                UserWarning,
                stacklevel=11,
            )
        return dated

    def _parts(self) -> tuple[Column, ...]:
        """Return the parts of dates that vary, or the year where none does; of other times days, or hours of a day."""
        if self.kinds in ({"duration"}, {"time of day"}):
            parts = [TimePart(self.name, "duration" if self.kinds == {"duration"} else "time")]
        else:
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
            parts = parts or [TimePart(self.name, "year", zone=zone)]
        return tuple(Column(part.name, part_of=part) for part in parts)


def is_crowded(different: int, filled: int) -> bool:
    """Tell whether words are too many to be levels: more than half of the rows have one that is new."""
    return different > max(_MANY, filled / 2)


def _is_number(word: str) -> bool:
    try:
        float(word.replace(",", ""))
    except ValueError:
        return False
    return True


def _spans(values: Times) -> tuple[Span, ...]:
    local = in_zone(values.stamps, values.zone)
    local = local[~np.isnat(local)]
    if not len(local):
        return ()
    parts = [*(calendar_part(local, part) for part in _VARYING), local.astype(np.int64)]
    return tuple((part.min().item(), part.max().item()) for part in parts)


def _inside(few: Sequence[Category], many: Sequence[Category]) -> bool:
    """Return whether levels stand among others in the same order."""
    rest = iter(many)
    return all(category in rest for category in few)
