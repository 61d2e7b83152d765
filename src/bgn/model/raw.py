"""The values of one column of a raw table, whatever library holds it: numbers, words, dates, durations, times of day.

Each kind is a small final class. It answers what a :class:`~bgn.model.schema.Column` may ask of it: numbers, the codes
of levels, a part of a date; what it cannot answer is a :class:`Misread`, whose words follow the column's name.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.dates import Stamps, TimePart, hours_of, in_utc, zone_name
from bgn.model.step import Bools, Floats

Level = str | float | bool

_TIMES = {
    "duration": ("durations", "pandas.to_timedelta(..., unit='s')"),
    "time": ("times of day", "datetime.time"),
}
_MOST_EXAMPLES = 3
_NO_VALUE = ("NoneType", "NAType", "NaTType", "MaskedConstant")


def level_word(level: Level) -> str:
    """Write a level: words as they are, whole numbers without a point."""
    return level if isinstance(level, str) else repr(level).removesuffix(".0")


# A number as text, or blanks alone, which made text of a column of numbers: they are read as in a file.
_NUMERAL = re.compile(r"\s*([-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)?\s*")


def _number(level: Level) -> float:
    """A level as a number; blanks are a gap."""
    return float(level) if not isinstance(level, str) or level.strip() else float("nan")


class Misread(ValueError):
    """A column does not hold what it should; the words follow its name."""


class RawValues:
    """One value per row; a gap is NaN, NaT or the code -1."""

    holds: str
    """What to say that it holds."""

    @property
    def gaps(self) -> Bools:
        """Which rows have no value."""
        return np.zeros(1, bool)

    def numbers(self) -> Floats:
        """Return the values as numbers."""
        raise Misread(f"holds {self.holds}, not numbers")

    def codes_in(self, levels: Sequence[Level]) -> Floats:
        """Return the place of every value among levels, NaN for a gap and for a level that is not there."""
        raise Misread(f"holds {self.holds}, not levels of a category")

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        """Return a part of dates; numbers are that part where the column `is_part`, and refused where it is not."""
        found = self.numbers()
        if is_part:
            return found
        what, make = _TIMES.get(part.part, ("dates", "pandas.to_datetime(..., unit='s')"))
        raise Misread(
            f"holds numbers, and held {what} at fit: numbers alone do not say which {what} they are. Make {what} of "
            f"them, for instance with {make}, or name the column {part.name!r} if they are that"
        )

    def examples(self, which: Bools) -> list[str]:
        """Return some of the values of the rows that are marked, each once."""
        return []


class Nothing(RawValues):
    """Gaps and no type."""

    holds = "nothing"

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    @property
    def gaps(self) -> Bools:
        return np.ones(self.n_rows, bool)

    def numbers(self) -> Floats:
        return np.full(self.n_rows, np.nan)

    def codes_in(self, levels: Sequence[Level]) -> Floats:
        return self.numbers()

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        return self.numbers()


class Numbers(RawValues):
    """Numbers. Those that were `loose`, objects of Python, may stand among words elsewhere in the column."""

    holds = "numbers"

    def __init__(self, values: Floats, loose: bool = False) -> None:
        self.values, self.loose = values, loose

    @property
    def gaps(self) -> Bools:
        return np.isnan(self.values)

    def numbers(self) -> Floats:
        return self.values

    @property
    def distinct(self) -> Floats:
        """The different numbers, in order; 0 for -0."""
        found = np.unique(self.values)
        return found[~np.isnan(found)] + 0.0

    def codes_in(self, levels: Sequence[Level]) -> Floats:
        distinct = self.distinct
        if len(distinct) and levels and not any(map(_reads_as_number, levels)):
            raise Misread(
                f"holds numbers, and held words at fit, such as {str(levels[0])[:40]!r}: if they stand for these, as "
                "codes do, put the words in their place"
            )
        places = np.searchsorted(distinct, self.values)  # that of NaN is behind the last
        return _places_in(levels, distinct.tolist())[places]

    def examples(self, which: Bools) -> list[str]:
        return [level_word(value) for value in np.unique(self.values[which])[:_MOST_EXAMPLES].tolist()]


class Coded(RawValues):
    """Categories: a code per row, and the levels that codes stand for.

    Those that were `loose`, objects of Python, may stand among numbers elsewhere; the type of `text` says no more than
    that they are words.
    """

    def __init__(
        self, codes: NDArray[Any], levels: Iterable[Level], *, ordered: bool = False, loose: bool = False,
        text: bool = False,
    ) -> None:  # fmt: skip
        self.codes, self.levels, self.ordered, self.loose = codes, tuple(levels), ordered, loose
        self.text = text or loose

    @property
    def gaps(self) -> Bools:
        return self.codes < 0

    @property
    def holds(self) -> str:  # type: ignore[override]
        kind = "words" if any(isinstance(level, str) for level in self.levels) else "categories"
        shown = next((level for level in self.levels if isinstance(level, str)), None)
        return kind if shown is None else f"{kind} ({shown[:40]!r})"

    def numbers(self) -> Floats:
        observed = self.observed
        strange = next((each for each in observed if isinstance(each, str) and _NUMERAL.fullmatch(each) is None), None)
        if strange is not None:
            raise Misread(f"holds words ({strange[:40]!r}), not numbers")
        there = {level: _number(level) for level in observed}
        return np.array([*(there.get(level, np.nan) for level in self.levels), np.nan])[self.codes]

    @property
    def observed(self) -> list[Level]:
        """The levels that occur, in their order."""
        there = np.zeros(len(self.levels) + 1, bool)
        there[self.codes] = True
        return [level for level, seen in zip(self.levels, there, strict=False) if seen]

    def codes_in(self, levels: Sequence[Level]) -> Floats:
        return _places_in(levels, self.levels)[self.codes]

    def examples(self, which: Bools) -> list[str]:
        words = sorted(level_word(self.levels[code]) for code in np.unique(self.codes[which]).tolist())
        return [word[:40] for word in words[:_MOST_EXAMPLES]]

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        """Return a part of dates, or times of day, that are written as ISO 8601 does."""
        observed = self.observed
        if part.part == "duration" or not all(isinstance(level, str) for level in observed):
            return super().part(part, is_part)
        clock = part.part == "time"
        try:
            values = _from_words(list(map(str, observed)), clock)
        except ValueError:
            raise Misread(f"holds {self.holds}, not {'times of day' if clock else 'dates'}") from None
        found = values.part(part)
        places = np.full(len(self.levels) + 1, -1)
        places[[self.levels.index(level) for level in observed]] = np.arange(len(observed))
        return np.append(found, np.nan)[places[self.codes]]


class Times(RawValues):
    """Dates and times, in UTC where they have a time zone."""

    holds = "dates"

    def __init__(self, stamps: NDArray[Any], zone: Any = None) -> None:
        self.stamps: Stamps = stamps.astype("M8[us]")
        self.zone = zone_name(zone)

    @property
    def gaps(self) -> Bools:
        return np.isnat(self.stamps)

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        if part.part == "duration":
            return super().part(part)
        if (self.zone is None) != (part.zone is None):
            had, has = ("one", "no") if self.zone is None else ("none", "a")
            raise Misread(f"holds times that have {has} time zone, and had {had} at fit")
        return part.of(self.stamps)


class Durations(RawValues):
    """Lengths of time, in days."""

    holds = "durations"

    def __init__(self, lengths: NDArray[Any]) -> None:
        self.days: Floats = lengths.astype("m8[us]") / np.timedelta64(1, "D")

    @property
    def gaps(self) -> Bools:
        return np.isnan(self.days)

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        return self.days if part.part == "duration" else super().part(part)


class TimesOfDay(RawValues):
    """What a clock shows, in hours."""

    holds = "times of day"

    def __init__(self, hours: Floats) -> None:
        self.hours = hours

    @property
    def gaps(self) -> Bools:
        return np.isnan(self.hours)

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        return self.hours if part.part in ("time", "hour") else super().part(part)


class Strange(RawValues):
    """What is none of the others."""

    def __init__(self, holds: str) -> None:
        self.holds = holds


def _reads_as_number(level: Level) -> bool:
    return not isinstance(level, str) or _NUMERAL.fullmatch(level) is not None


def _places_in(levels: Sequence[Level], values: Sequence[Level]) -> Floats:
    """Return where values stand among levels, by value and then by word; NaN where they do not, and one more NaN."""
    places: dict[Any, float] = {level_word(level): float(place) for place, level in enumerate(levels)}
    places |= {level: float(place) for place, level in enumerate(levels)}
    found = [places.get(value, places.get(level_word(value), np.nan)) for value in values]
    return np.array([*found, np.nan], np.float64)


# -- objects of Python -------------------------------------------------------------------------------------------


def of_objects(values: NDArray[Any]) -> RawValues:
    """Return what objects of Python hold: numbers, words, truths, dates or durations, with gaps among them."""
    types = set(map(type, values))
    sorts = {each: _sort_of(each) for each in types}
    kinds = set(sorts.values()) - {"gap"}
    gaps = {each for each, sort in sorts.items() if sort == "gap"}
    if not kinds:
        return Nothing(len(values))
    if kinds <= {"word", "number", "truth"}:
        return _numbers(values, gaps) if kinds == {"number"} else _words(values, gaps)
    if kinds == {"time"}:
        return _times(values, gaps)
    if kinds == {"duration"}:
        return Durations(_filled(values, gaps).astype("m8[us]"))
    if kinds == {"time of day"}:
        return TimesOfDay(np.array([np.nan if type(value) in gaps else hours_of(value) for value in values]))
    strange = sorted(each.__name__ for each in types if sorts[each] == "other")
    if strange:
        return Strange(f"values of the type {', '.join(strange)}")
    return Strange(" and ".join(sorted(f"{kind}s" for kind in kinds)))


def _sort_of(kind: type) -> str:
    if kind.__name__ in _NO_VALUE:
        return "gap"
    sorts: dict[str, tuple[type, ...]] = {
        "truth": (bool, np.bool_), "word": (str,), "time": (datetime.date, np.datetime64),
        "duration": (datetime.timedelta, np.timedelta64), "number": (numbers.Real, decimal.Decimal),
        "time of day": (datetime.time,),
    }  # fmt: skip
    return next((sort for sort, types in sorts.items() if issubclass(kind, types)), "other")


def _numbers(values: NDArray[Any], gaps: set[type]) -> RawValues:
    try:
        return Numbers(np.array([np.nan if type(value) in gaps else value for value in values], np.float64), loose=True)
    except (OverflowError, ValueError, TypeError):
        return Strange("numbers too large for a float64")


def _words(values: NDArray[Any], gaps: set[type]) -> Coded:
    """Words and truths, perhaps among numbers. As these are equal at times (True is 1), they are told by their word."""
    distinct = [value for value in dict.fromkeys(values) if type(value) not in gaps and value == value]
    if all(isinstance(value, str) for value in distinct):
        known: dict[Any, int] = {value: code for code, value in enumerate(distinct)}
        codes = np.fromiter((known.get(value, -1) for value in values), np.int64, len(values))
        return Coded(codes, map(str, distinct), loose=True)
    levels: dict[str, Level] = {}
    words = [None if type(value) in gaps or value != value else level_word(level_of(value)) for value in values]
    for word, value in zip(words, values, strict=True):
        if word is not None and (word not in levels or isinstance(value, str)):
            levels[word] = level_of(value)
    places: dict[str | None, int] = {word: code for code, word in enumerate(levels)}
    return Coded(np.array([places.get(word, -1) for word in words], np.int64), levels.values(), loose=True)


def level_of(value: Any) -> Level:
    """Return a word, a truth or a number as a level."""
    if isinstance(value, str):
        return str(value)
    return bool(value) if isinstance(value, bool | np.bool_) else float(value) + 0.0


def coded(codes: NDArray[Any], values: Iterable[Any], ordered: bool = False, text: bool = False) -> RawValues:
    """Return categories whose codes stand for any values; None and NaN among these are gaps."""
    values = list(values)
    sorts = {_sort_of(type(value)) for value in values}
    if not sorts <= {"gap", "word", "number", "truth"}:
        kind = next(type(value).__name__ for value in values if _sort_of(type(value)) not in ("gap", "word", "number"))
        return Strange(f"categories of the type {kind}")
    known = [k for k, value in enumerate(values) if _sort_of(type(value)) != "gap" and value == value]
    place = np.full(len(values) + 1, -1)
    place[known] = np.arange(len(known))
    return Coded(place[codes], (level_of(values[k]) for k in known), ordered=ordered, text=text)


def _times(values: NDArray[Any], gaps: set[type]) -> RawValues:
    clocks = {getattr(value, "tzinfo", None) for value in values if type(value) not in gaps}
    zones = {zone_name(each) for each in clocks}
    if len(zones) > 1:
        return Strange(f"times {'with and without a time zone' if None in zones else 'of several time zones'}")
    if zones != {None}:
        values = np.array([_in_utc(value) for value in values], dtype=object)
    return Times(_filled(values, gaps).astype("M8[us]"), *zones)


def _in_utc(value: Any) -> Any:
    return in_utc(value) if getattr(value, "tzinfo", None) is not None else value


def _from_words(words: Sequence[str], clock: bool) -> RawValues:
    """Return times of day, or dates and times, that words tell."""
    if clock:
        return TimesOfDay(np.array([hours_of(datetime.time.fromisoformat(word.strip().zfill(5))) for word in words]))
    moments = [datetime.datetime.fromisoformat(word.strip()) for word in words]
    return _times(np.array([*moments, None], dtype=object)[:-1], {type(None)})


def _filled(values: NDArray[Any], gaps: set[type]) -> NDArray[Any]:
    """Return objects with None in the place of every gap."""
    if gaps <= {type(None)}:
        return values
    return np.array([None if type(value) in gaps else value for value in values], dtype=object)
