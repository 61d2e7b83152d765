"""What may be wrong with a raw table, each with advice: one small rule per finding."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bgn.inputs import cells
from bgn.inputs import findings as leaking
from bgn.inputs.cells import looks_like_a_date, read_dates, usual_formats
from bgn.inputs.errors import flag, listed, option
from bgn.inputs.kinds import is_crowded
from bgn.inputs.target import MOST_CLASSES, few_numbers, may_be_classes
from bgn.model.step import Floats
from bgn.text import clean

_MOST_CATEGORIES = 2000  # of a column whose words are compared
_NEARLY_EMPTY, _FAR = 0.9, 10
FEW_ROWS = 5
"""Rows of a class below which little can be learnt from it."""
NUMBER_NAME = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
_SAMPLE, _SAMPLE_SHARE = 100, 0.8
_MOST_CODES, _MOST_FROM_ONE = 60, 7
_WORDS = (
    "code|cd|id|type|kind|class|category|cat|group|grp|region|district|sector|branch|status|model|brand|state|country"
)
_CODE_NAME = re.compile(rf"(?i:(^|[\W_\d])({_WORDS})s?$)|[a-z](Code|Id|ID|Type|Class|Group|Status)$")
_ZIP_NAME = re.compile(r"(?i:(^|[\W_])(zip|zip_?code|plz|post_?code|postal_?code)$)")
_SENTINELS = {sign * (10.0**k - 1) for k in range(2, 7) for sign in (1, -1)} | {-9.0, -1.0}


@dataclass(frozen=True)
class Finding:
    """Something about a table that its owner should know.

    Parameters
    ----------
    what : str
        ``"leak"``, ``"id"``, ``"empty"``, ``"date"``, ``"constant"``, ``"duplicate"``, ``"words"``, ``"numbers"``,
        ``"gaps"``, ``"outlier"``, ``"reading"``, ``"header"``, ``"task"``, ``"rare"`` or ``"codes"``.
    columns : tuple of str
        The columns it is about; none when it is about rows.
    told : str
        What was found.
    advice : str
        What to do about it.
    severity : str
        ``"serious"`` where a fit would mislead, else ``"note"``.
    """

    what: str
    columns: tuple[str, ...]
    told: str
    advice: str = ""
    severity: str = "note"

    def __str__(self) -> str:
        return f"{self.told} {self.advice}".rstrip()


@dataclass(frozen=True)
class Known:
    """What a user has said already, and need not be asked again.

    Parameters
    ----------
    task : str, optional
        What the target is for.
    header : bool, optional
        Whether the first row names the columns.
    categorical : collection of str
        Columns whose numbers are names.
    merge_rare : int, optional
        Fewest rows of a class.
    date_format : str, optional
        How dates are written.
    """

    task: str | None = None
    header: bool | None = None
    categorical: Collection[str] = ()
    merge_rare: int | None = None
    date_format: str | None = None


NOTHING = Known()


def said_at_fit(
    columns: Sequence[SurveyedColumn], target: SurveyedColumn | None, known: Known = NOTHING
) -> Iterator[Finding]:
    """Yield what makes a fit mislead, such as leaks, ids and dates in doubt, and what only the user can decide."""
    if known.header is None:
        yield from _header(columns)
    if target is not None and known.merge_rare is None:
        yield from _rare_classes(target, known.task)
    others = [column for column in columns if column is not target]
    if target is not None:
        for name, share in leaking.leaks(others, target).items():
            told = f"{name!r} alone explains {share:.1%} of {target.name!r}: a leak?"
            advice = f"If it is only known afterwards, leave it out: {option('drop', repr(name))}."
            yield Finding("leak", (name,), told, advice, "serious")
    if target is not None and target.kind == "constant":
        told = f"{target.name!r}, the target, is {quoted(target.first_words)} in every row."
        yield Finding("constant", (target.name,), told, "There is nothing to learn; is it the right column?", "serious")
    for column in others:
        if column.is_text:
            yield from [*_dates(column, known.date_format)] or _many_words(column)
        elif column.kind == "id":
            told = f"{column.name!r} is different in every row, like an id ({quoted(column.first_words, 2)})."
            yield Finding("id", (column.name,), told, f"Leave it out: {option('drop', repr(column.name))}.", "serious")
    yield from _codes(column for column in others if column.name not in known.categorical)


def all_findings(
    columns: Sequence[SurveyedColumn], target: SurveyedColumn | None, known: Known = NOTHING
) -> Iterator[Finding]:
    """Yield everything that may be wrong, the serious first."""
    yield from said_at_fit(columns, target, known)
    if target is not None and known.task is None:
        yield from _task(target)
    yield from _empty(columns)
    for column in columns:
        if column.kind == "constant" and column is not target:
            told = f"{column.name!r} holds one value only ({quoted(column.first_words)})."
            yield Finding("constant", (column.name,), told, "It tells a model nothing; leave it out.")
    yield from _same_columns(columns)
    yield from _same_rows(columns)
    for column in columns:
        if column.kind in ("category", "yes/no", "text", "ordered") and column.is_text:
            yield from _near_equal_words(column)
            yield from _numbers_as_words(column)
        if column.is_number and column.kind in ("number", "whole number"):
            yield from _odd_numbers(column)


def _header(columns: Sequence[SurveyedColumn]) -> Iterator[Finding]:
    """A first row that looks as if it held values: names that are numbers or words of their own columns."""
    like = [column for column in columns if _is_value(column)]
    numbers = [float(column.name.replace(",", ".")) for column in like if not column.is_text]
    steps = np.diff(numbers)
    rising = len(numbers) > 5 and bool((steps > 0).all() or (steps < 0).all())
    if rising or (len(numbers) > 2 and np.allclose(steps, steps[0], rtol=1e-6)):  # years, wavelengths, places
        like = [column for column in like if column.is_text]
    if 2 * len(like) > len(columns):
        shown = quoted([column.name for column in like])
        told = f"most names of columns look like values of these columns ({shown}): does the first row hold data?"
        ways = f"{flag('header', False)} if there are no names, {flag('header', True)} if these are the names"
        yield Finding("header", (), told, f"Say so: {ways}.", "serious")


def _is_value(column: SurveyedColumn) -> bool:
    """Return whether the name of a column looks like one of its values."""
    if column.is_text:
        return column.name in {word.strip() for word in column.first_words}
    if not NUMBER_NAME.fullmatch(column.name) or not column.is_number or not len(column.categories):
        return False
    low, high = float(column.category_numbers.min()), float(column.category_numbers.max())
    return low - (high - low) <= float(column.name.replace(",", ".")) <= high + (high - low)


def _task(target: SurveyedColumn) -> Iterator[Finding]:
    """A target that may be amounts or classes."""
    if not target.is_number or pa.types.is_boolean(target.type):
        return
    values, rows = target.category_numbers, target.rows - target.gaps
    if may_be_classes(values.tolist(), rows):
        told = f"{target.name!r}, the target, has {few_numbers(values.tolist())} in {rows:,} rows: amounts or classes?"
        usual = " (as a fit does with two values unless told)" if len(values) == 2 else ""
        ways = f"{option('task', 'regression')} or {option('task', 'classification')}{usual}"
        yield Finding("task", (target.name,), told, f"Say which: {ways}.")


def _rare_classes(target: SurveyedColumn, task: str | None) -> Iterator[Finding]:
    """Classes of so few rows that little can be learnt from them."""
    labels = target.is_text or pa.types.is_boolean(target.type) or (target.is_number and task == "classification")
    if not labels or task == "regression" or not 2 < len(target.categories) <= MOST_CLASSES:
        return
    rare = np.flatnonzero(target.counts < FEW_ROWS)
    if not len(rare):
        return
    counts = np.sort(target.counts)
    merged = next((k for k in range(2, len(counts)) if counts[:k].sum() >= FEW_ROWS and counts[k] > counts[k - 1]), 0)
    fewest = int(counts[merged - 1]) + 1
    words = target.words
    shown = ", ".join(f"{words[k]!r} ({target.counts[k]})" for k in rare[:3].tolist()) + ", ..." * (len(rare) > 3)
    told = f"{target.name!r}, the target, has {len(rare)} class{'es' * (len(rare) > 1)} of fewer than {FEW_ROWS} rows"
    merge = f"Merge rare classes into one: {option('merge_rare', str(max(fewest, FEW_ROWS)))}"
    advice = f"{merge}, or leave those rows out." if merged else "Leave those rows out, or find more of them."
    yield Finding("rare", (target.name,), f"{told}: {shown}.", advice)


def _codes(columns: Iterable[SurveyedColumn]) -> Iterator[Finding]:
    """Whole numbers that may stand for categories: by their names, or because they count from 1 to a few."""
    found = [column for column in columns if column.kind == "whole number" and _may_be_codes(column)]
    if found:
        names = tuple(column.name for column in found)
        few = "holds whole numbers that may be" if len(found) == 1 else "hold whole numbers that may be"
        told = f"{listed(names, 6)} {few} codes of categories."
        ways = " ".join(option("categorical", repr(name)) for name in names[:1])
        yield Finding("codes", names, told, f"If so, say it of each: {ways}." if len(found) > 1 else f"If so: {ways}.")


def _may_be_codes(column: SurveyedColumn) -> bool:
    numbers, rows = column.category_numbers, column.rows - column.gaps
    if rows < FEW or len(numbers) < 3 or numbers.min() < 0:
        return False
    if _ZIP_NAME.search(column.name):
        return True
    if len(numbers) > _MOST_CODES or rows < 5 * len(numbers):
        return False
    from_one = numbers.min() == 1 and len(numbers) == numbers.max() <= _MOST_FROM_ONE
    return bool(from_one or _CODE_NAME.search(column.name))


def _many_words(column: SurveyedColumn) -> Iterator[Finding]:
    """Words that are nearly all different."""
    if column.kind != "ordered" and is_crowded(len(column.categories), filled := column.rows - column.gaps):
        told = f"{column.name!r} holds {len(column.categories):,} different words in {filled:,} rows, as ids do"
        kept = option("categorical", repr(column.name))
        advice = f"A fit leaves it out; {kept} to learn from it all the same."
        yield Finding("id", (column.name,), f"{told} ({quoted(column.first_words, 2)}).", advice)


def _dates(column: SurveyedColumn, given: str | None = None) -> Iterator[Finding]:
    """Dates that are not written as ISO 8601 or as `given`; in doubt where day and month may be the other way round."""
    name, fit = column.name, column.date_formats
    unfit = f" {option('date_format', repr(given))} does not fit all of them and is not used here." if given else ""
    others = [] if fit else _no_dates(column)
    if others:
        told = f"{name!r} holds dates but for {quoted(others)}, and is read as words.{unfit}"
        advice = f"If such cells mean missing: {option('missing_values', repr(others[0]))}; else mend them."
        yield Finding("date", (name,), told, advice, "serious")
    elif len(fit) == 1:
        unused = " A fit leaves it out until then." if is_crowded(len(column.categories), column.rows - column.gaps) else ""
        advice = f"Say how: {option('date_format', repr(fit[0]))}.{unused}"
        told = f"{name!r} holds dates written as {column.first_words[0]!r}.{unfit}"
        yield Finding("date", (name,), told, advice)
    elif fit:
        told = f"{name!r} holds dates of which day and month are in doubt ({quoted(column.first_words, 2)}).{unfit}"
        ways = " or ".join(option("date_format", repr(form)) for form in fit[:2])
        yield Finding("date", (name,), told, f"Say how they are written: {ways}.", "serious")
    elif len(column.categories) and all(map(looks_like_a_date, column.first_words)):
        told = f"{name!r} holds dates in several formats ({quoted(column.first_words)}), or days that do not exist."
        yield Finding("date", (name,), f"{told}{unfit}", "Write them in one, best as 2021-06-05.", "serious")


def _no_dates(column: SurveyedColumn) -> list[str]:
    """Return the words that are no dates among dates, where these are many more."""
    if not len(column.categories) or not sum(map(looks_like_a_date, column.first_words[:_SAMPLE])) > _SAMPLE_SHARE * min(
        _SAMPLE, len(column.categories)
    ):
        return []
    words = pc.utf8_trim_whitespace(column.categories.cast(pa.string()))
    formats = ["%Y-%m-%d", *(form for word in column.first_words[:3] for form in usual_formats(pa.array([word])))]
    read = [np.asarray(pc.is_null(read_dates(words, form))) for form in dict.fromkeys(formats)]
    fewest = min(read, key=np.count_nonzero)
    few = 0 < column.counts[fewest].sum() <= (1 - _SAMPLE_SHARE) * column.counts.sum()
    return [str(word) for word in words.filter(pa.array(fewest))[:10].to_pylist()] if few else []


def _empty(columns: Sequence[SurveyedColumn]) -> Iterator[Finding]:
    if empty := tuple(column.name for column in columns if column.kind == "empty"):
        told = f"{listed(empty)} {'has' if len(empty) == 1 else 'have'} no value at all."
        yield Finding("empty", empty, told, "A fit leaves such columns out; was the file cut?", "serious")
    scarce = [c for c in columns if len(c.categories) and c.gaps > _NEARLY_EMPTY * c.rows]
    if scarce:
        shares = ", ".join(f"{c.name!r} ({_percent(c.gaps / c.rows)})" for c in scarce[:6])
        told = f"nearly empty: {shares}{', ...' if len(scarce) > 6 else ''}."
        advice = "Does a gap mean 'none'? Then it is a value, and can stay; else leave such columns out."
        yield Finding("gaps", tuple(c.name for c in scarce), told, advice)


def _percent(share: float) -> str:
    """Return a share below one as a percentage that is below a hundred."""
    return f"{min(share, 0.999):.1%}"


def _same_columns(columns: Sequence[SurveyedColumn]) -> Iterator[Finding]:
    """Columns that hold the same, or the same by other names."""
    groups: dict[tuple[bytes, int | None], list[SurveyedColumn]] = defaultdict(list)
    for column in columns:
        if len(column.categories) > 1:
            # Where nearly every row has a value of its own, all columns look alike but for the values.
            values = column.content if len(column.categories) > column.rows / 2 else None
            groups[column.codes.tobytes(), values].append(column)
    for same in groups.values():
        if len(same) > 1:
            names = tuple(column.name for column in same)
            equal = all(column.content == same[0].content for column in same)
            how = "hold the same" if equal else "say the same in other words"
            told = f"{', '.join(map(repr, names))} {how} in every row."
            yield Finding("duplicate", names, told, f"One is enough: {option('drop', repr(names[-1]))}.")


def _same_rows(columns: Sequence[SurveyedColumn]) -> Iterator[Finding]:
    if not columns or columns[0].rows < FEW:
        return
    mixed = np.zeros(columns[0].rows, np.uint64)
    for column in columns:
        if len(column.categories) == column.rows:
            return
        mixed = (mixed ^ column.codes.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    again = len(mixed) - len(np.unique(mixed))
    if again:
        told = f"{again:,} of {len(mixed):,} rows ({_percent(again / len(mixed))}) repeat another row."
        yield Finding("duplicate", (), told, "Copies in training and test rows make errors look smaller.")


def _near_equal_words(column: SurveyedColumn) -> Iterator[Finding]:
    """Words that differ by case, blanks or marks, and letters that stand for a word that is there too."""
    if len(column.categories) > _MOST_CATEGORIES:
        return
    groups: dict[str, list[str]] = defaultdict(list)
    for word in column.words:
        groups[re.sub(r"[\W_]+", "", word).casefold() or word].append(word)
    for letter in [key for key in groups if len(key) == 1 and key.isalpha()]:
        longer = [key for key in groups if len(key) > 1 and key.startswith(letter)]
        if len(longer) == 1 and len(groups) <= 12:
            groups[longer[0]] = groups.pop(letter) + groups[longer[0]]
    alike = [words for words in groups.values() if len(words) > 1]
    if alike:
        shown = "; ".join(" = ".join(repr(word) for word in words) for words in alike[:4])
        told = f"{column.name!r} has words that nearly agree: {shown}{'; ...' if len(alike) > 4 else ''}."
        yield Finding("words", (column.name,), told, "If they mean the same, write them alike.")


def _numbers_as_words(column: SurveyedColumn) -> Iterator[Finding]:
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(column.categories), "[,$€£%]", "")
    number = np.asarray(pc.match_substring_regex(bare, r"^[-+]?\d+(\.\d*)?([eE][-+]?\d+)?$"))
    share = column.counts[number].sum() / max(1, column.counts.sum())
    coded = all(str(each).isdecimal() for each in column.categories)  # codes that begin with zeros
    if share >= 0.8 and len(column.categories) > 5 and not coded:
        others = [str(word) for word in column.categories.filter(pa.array(~number))[:10].to_pylist()]
        why = f"because of {quoted(others)}" if others else f"written in several ways ({quoted(column.first_words)})"
        told = f"{column.name!r} is {share:.0%} numbers but read as words, {why}."
        advice = f"If such cells mean missing: {option('missing_values', repr(others[0]))}." if others else "Write them alike."
        yield Finding("numbers", (column.name,), told, advice)


def _odd_numbers(column: SurveyedColumn) -> Iterator[Finding]:
    """Numbers that stand for a gap, and numbers far from all others."""
    order = np.argsort(column.category_numbers)
    numbers, counts = column.category_numbers[order], column.counts[order]
    if len(numbers) < FEW:
        return
    with np.errstate(over="ignore"):
        low, middle, high = np.quantile(column.numbers[column.codes >= 0], [0.01, 0.5, 0.99])
        least, most = low - _FAR * (high - low), high + _FAR * (high - low)
    for end, next_one in ((0, 1), (-1, -2)):
        value, beside = float(numbers[end]), float(numbers[next_one])
        spread = abs(float(numbers[1 if end else -2]) - beside)
        apart = abs(value - beside) > spread / 2 or (value < 0 <= beside and value != -1)
        if value in _SENTINELS and counts[end] > 1 and apart:
            told = f"{column.name!r} is {value:g} in {counts[end]:,} rows, apart from all other numbers: a gap?"
            yield Finding("gaps", (column.name,), told, f"Then say so: {option('missing_values', repr(f'{value:g}'))}.")
        elif high > low and not least <= value <= most:
            told = f"{column.name!r} goes to {value:.6g}, far from the others (half are at most {middle:.6g})."
            yield Finding("outlier", (column.name,), told, "Is it a slip, or another unit?")


def pending(problems: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what a reader could not settle."""
    for name, told in problems.items():
        yield Finding("reading", (name,), told, "", "serious")


# -- What each column of a raw table holds: its kind, its gaps, its different values, its range.

_YES_NO = {frozenset(pair) for pair in (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off"))}
_ID_NAME = re.compile(
    r"(?i:(^|[\W_])((p|u|uu|gu)?id|index|row|order|number|nr|no|key|rownames?)$|nummer$)|[a-z](Id|ID|No|Nr)$"
)
_SHOWN = 1000
FEW = 10
"""Rows below which nothing is said about values that are all different."""


@dataclass(frozen=True)
class ColumnFacts:
    """What a column holds.

    Parameters
    ----------
    name : str
        Its name.
    kind : str
        ``"number"``, ``"whole number"``, ``"yes/no"``, ``"category"``, ``"ordered"``, ``"date"``, ``"date as text"``,
        ``"time"``, ``"text"``, ``"id"``, ``"constant"``, ``"empty"`` or, of what cannot be learnt from, its type.
    gaps : int
        Rows without a value.
    different : int
        Different values.
    low, high : float or str, optional
        The least and the largest number or date.
    examples : tuple of str
        Some values, the commonest first.
    unit : str
        What a text file writes beside each number.
    """

    name: str
    kind: str
    gaps: int
    different: int
    low: float | str | None = None
    high: float | str | None = None
    examples: tuple[str, ...] = ()
    unit: str = ""


class SurveyedColumn:
    """A column with its different values, and which of them each row holds."""

    def __init__(self, name: str, column: pa.ChunkedArray, unit: str = "") -> None:
        self.name, self.unit, self.rows = name, unit, len(column)
        self.ordered = pa.types.is_dictionary(column.type) and bool(column.type.ordered)
        values = cells.plain(column)
        if pa.types.is_decimal(values.type):
            values = values.cast(pa.float64())
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_finite(values), values, pa.scalar(None, values.type))
        self.type = values.type
        if pa.types.is_nested(self.type) or pa.types.is_null(self.type):
            values = pa.chunked_array([pa.nulls(self.rows, pa.int8())])
        encoded = pa.concat_arrays(values.chunks or [pa.array([], values.type)]).dictionary_encode()
        self.categories: pa.Array = encoded.dictionary
        """Different values, in the order in which they first appear."""
        self.codes: NDArray[np.int64] = np.asarray(pc.fill_null(encoded.indices, -1)).astype(np.int64)
        """Which of them each row holds; -1 for a gap."""

    @property
    def gaps(self) -> int:
        """Rows without a value."""
        return int(np.count_nonzero(self.codes < 0))

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers, or true and false."""
        return cells.is_number(self.type) or pa.types.is_boolean(self.type)

    @property
    def is_text(self) -> bool:
        """Whether it holds words."""
        return cells.is_text(self.type)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many rows hold each of the different values."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.categories))

    @cached_property
    def category_numbers(self) -> Floats:
        """The different values as numbers."""
        return np.asarray(self.categories.cast(pa.int8() if pa.types.is_boolean(self.type) else self.type), dtype=float)

    @cached_property
    def numbers(self) -> Floats:
        """Every row as a number, NaN for a gap."""
        return np.append(self.category_numbers, np.nan)[self.codes]

    @cached_property
    def first_words(self) -> list[str]:
        """The first of the different values as words."""
        return self._as_words(self.categories[:_SHOWN])

    @cached_property
    def words(self) -> list[str]:
        """The different values as words; of many a long list."""
        return self._as_words(self.categories)

    def _as_words(self, categories: pa.Array) -> list[str]:
        words = cells.as_shown(categories)
        return [word.removesuffix(".0") for word in words] if self.is_number else words

    @cached_property
    def content(self) -> int:
        """A hash of the different values, in their order."""
        text = self.categories.cast(pa.large_string()) if self.is_text else self.categories
        return hash(tuple(buffer and bytes(buffer) for buffer in text.buffers()))

    @cached_property
    def date_formats(self) -> list[str]:
        """The usual formats in which all of its words are dates."""
        return usual_formats(self.categories.cast(pa.string())) if self.is_text else []

    @property
    def all_different(self) -> bool:
        """Whether no two rows hold the same value, and nearly all hold one."""
        return len(self.categories) == self.rows - self.gaps >= max(FEW, 0.9 * self.rows)

    @cached_property
    def kind(self) -> str:
        """As :class:`ColumnFacts` names it."""
        if pa.types.is_nested(self.type) or pa.types.is_binary(self.type) or pa.types.is_large_binary(self.type):
            return str(self.type)
        if not len(self.categories):
            return "empty"
        if len(self.categories) == 1:
            return "constant"
        if cells.is_time(self.type):
            return "date"
        if self.is_number:
            return self._kind_of_numbers()
        if self.is_text:
            return self._kind_of_words()
        return "time" if pa.types.is_time(self.type) or pa.types.is_duration(self.type) else str(self.type)

    def _kind_of_numbers(self) -> str:
        numbers = self.category_numbers
        if pa.types.is_boolean(self.type) or (len(numbers) == 2 and {*numbers.tolist()} == {0.0, 1.0}):
            return "yes/no"
        if not (numbers == np.floor(numbers)).all():
            return "number"
        consecutive = numbers.max() - numbers.min() < 1.5 * len(numbers)  # training rows leave gaps
        if self.all_different and self.rows >= FEW and (consecutive or _ID_NAME.search(self.name)):
            return "id"
        return "whole number"

    def _kind_of_words(self) -> str:
        if self.ordered:
            return "ordered"
        if len(self.categories) == 2 and frozenset(word.strip().lower() for word in self.words) in _YES_NO:
            return "yes/no"
        if self.date_formats:
            return "date as text"
        sentences = float(pc.mean(pc.utf8_length(self.categories)).as_py()) > 20
        if self.all_different:
            return "text" if sentences else "id"
        return "text" if is_crowded(len(self.categories), self.rows - self.gaps) else "category"

    def facts(self) -> ColumnFacts:
        """Return the record that people read."""
        low, high = self._range()
        common = np.argsort(-self.counts, kind="stable")[:5]
        examples = tuple(clean(word, 30) for word in self._as_words(self.categories.take(pa.array(common))))
        return ColumnFacts(self.name, self.kind, self.gaps, len(self.categories), low, high, examples, self.unit)

    def _range(self) -> tuple[Any, Any]:
        if not len(self.categories) or self.is_text or pa.types.is_nested(self.type):
            return None, None
        if self.is_number:
            return float(self.category_numbers.min()), float(self.category_numbers.max())
        if pa.types.is_time(self.type):
            ends = pc.min_max(self.categories).as_py()
            return ends["min"].isoformat("auto").removesuffix(":00"), ends["max"].isoformat("auto").removesuffix(":00")
        if not cells.is_time(self.type):
            return None, None
        ends = pc.min_max(self.categories)
        low, high = cells.as_shown(pa.array([ends["min"], ends["max"]], self.type))
        return low.removesuffix(" 00:00:00"), high.removesuffix(" 00:00:00")


def surveyed(table: pa.Table, units: dict[str, str] | None = None) -> list[SurveyedColumn]:
    """Return all columns of a table."""
    return [SurveyedColumn(name, table.column(name), (units or {}).get(name, "")) for name in table.column_names]


def sample(rows: int, most: int = 20_000) -> NDArray[np.int64]:
    """Return the numbers of some rows, the same ones each time, in no order."""
    return np.random.default_rng(0).permutation(rows)[:most]


def quoted(values: Sequence[str], most: int = 3) -> str:
    """Return some words as a message shows them."""
    return ", ".join(cells.shown(value, 30) for value in values[:most]) + (", ..." if len(values) > most else "")


# -- Columns that alone predict nearly all of a target: mostly the target again, or something known only after it.

NEARLY_ALL = 0.98
"""Share of the target's variance, on rows held out, from which a column counts as a leak."""
_SAME_ORDER = 0.9999
_FEWEST, _BINS, _MOST_CLASSES = 40, 64, 20


def leaks(columns: list[SurveyedColumn], target: SurveyedColumn) -> dict[str, float]:
    """Return the columns from which alone the target follows, with the share of its variance that each explains."""
    rows = sample(target.rows)
    rows = rows[target.codes[rows] >= 0]
    outputs = _outputs(target, rows)
    if len(rows) < _FEWEST or outputs is None:
        return {}
    found = {}
    for column in columns:
        if column.name == target.name or len(column.categories) < 2:
            continue
        share = explained(_cells(column, rows), outputs)
        if share < NEARLY_ALL and _same_order(column, target, rows):
            share = 1.0
        if share >= NEARLY_ALL:
            found[column.name] = share
    return found


def _outputs(target: SurveyedColumn, rows: NDArray[np.int64]) -> Floats | None:
    """Return what is to be predicted: a number, or one 0/1 column per class; nothing when it does not vary."""
    codes = target.codes[rows]
    if target.is_number:
        numbers = target.numbers[rows][:, None]
        outputs = numbers / max(float(np.abs(numbers).max(initial=0)), 1e-300)  # squares that a float can hold
    elif target.is_text and len(target.categories) <= _MOST_CLASSES:
        outputs = (codes[:, None] == np.arange(len(target.categories))).astype(float)
    else:
        return None
    return outputs if len(np.unique(codes)) > 1 else None


def _cells(column: SurveyedColumn, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a cell per row: its level, or the bin of a number that has many."""
    codes = column.codes[rows]
    if len(column.categories) <= _BINS:
        return codes + 1
    if not column.is_number:
        return np.unique(codes, return_inverse=True)[1]
    numbers = column.numbers[rows]
    edges = np.unique(np.nanquantile(numbers, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.where(np.isnan(numbers), 0, np.searchsorted(edges, numbers, side="right") + 1)


def explained(cells: NDArray[np.int64], outputs: Floats) -> float:
    """Return the share of the variance of the second half that the cells' means in the first half explain."""
    half = len(cells) // 2
    count, base = np.bincount(cells[:half], minlength=int(cells.max()) + 1), outputs[:half].mean(axis=0)
    error = variance = 0.0
    for k, output in enumerate(outputs.T):
        sums = np.bincount(cells[:half], output[:half], len(count))
        means = np.where(count > 0, sums / np.maximum(count, 1), base[k])
        error += float(np.square(output[half:] - means[cells[half:]]).sum())
        variance += float(np.square(output[half:] - output[half:].mean()).sum())
    return 1 - error / variance if variance > 0 else 0.0


def _same_order(column: SurveyedColumn, target: SurveyedColumn, rows: NDArray[np.int64]) -> bool:
    """Return whether a number rises, or falls, with the target all along: a transformation of it."""
    if not (column.is_number and target.is_number) or min(len(column.categories), len(target.categories)) <= 2:
        return False
    ours, theirs = column.numbers[rows], target.numbers[rows]
    both = ~np.isnan(ours)
    if np.count_nonzero(both) < max(_FEWEST, len(rows) // 2):
        return False
    ranks = np.array([_ranks(values[both]) for values in (ours, theirs)])
    return bool(ranks.std(axis=1).min() > 0 and abs(np.corrcoef(ranks)[0, 1]) >= _SAME_ORDER)


def _ranks(values: Floats) -> Floats:
    """Return the rank of each value; equal values share the middle of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - count / 2)[place])
