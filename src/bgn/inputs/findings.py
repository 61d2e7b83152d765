"""What may be wrong with a raw table, each with advice: one small rule per finding."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs import leaks as leaking
from bgn.inputs.classes import MOST_CLASSES
from bgn.inputs.column_kinds import crowded
from bgn.inputs.date_formats import looks_like_a_date, read_dates, usual_formats
from bgn.inputs.few_values import few_numbers, may_be_classes
from bgn.inputs.refusal import flag, listed, option
from bgn.inputs.survey import FEW, SurveyedColumn, quoted

_MOST_LEVELS = 2000  # of a column whose words are compared
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
    if not NUMBER_NAME.fullmatch(column.name) or not column.is_number or not len(column.levels):
        return False
    low, high = float(column.level_numbers.min()), float(column.level_numbers.max())
    return low - (high - low) <= float(column.name.replace(",", ".")) <= high + (high - low)


def _task(target: SurveyedColumn) -> Iterator[Finding]:
    """A target that may be amounts or classes."""
    if not target.is_number or pa.types.is_boolean(target.type):
        return
    values, rows = target.level_numbers, target.rows - target.gaps
    if may_be_classes(values.tolist(), rows):
        told = f"{target.name!r}, the target, has {few_numbers(values.tolist())} in {rows:,} rows: amounts or classes?"
        usual = " (as a fit does with two values unless told)" if len(values) == 2 else ""
        ways = f"{option('task', 'regression')} or {option('task', 'classification')}{usual}"
        yield Finding("task", (target.name,), told, f"Say which: {ways}.")


def _rare_classes(target: SurveyedColumn, task: str | None) -> Iterator[Finding]:
    """Classes of so few rows that little can be learnt from them."""
    labels = target.is_text or pa.types.is_boolean(target.type) or (target.is_number and task == "classification")
    if not labels or task == "regression" or not 2 < len(target.levels) <= MOST_CLASSES:
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
    numbers, rows = column.level_numbers, column.rows - column.gaps
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
    if column.kind != "ordered" and crowded(len(column.levels), filled := column.rows - column.gaps):
        told = f"{column.name!r} holds {len(column.levels):,} different words in {filled:,} rows, as ids do"
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
        advice = f"If such cells mean missing: {option('gaps', repr(others[0]))}; else mend them."
        yield Finding("date", (name,), told, advice, "serious")
    elif len(fit) == 1:
        unused = " A fit leaves it out until then." if crowded(len(column.levels), column.rows - column.gaps) else ""
        advice = f"Say how: {option('date_format', repr(fit[0]))}.{unused}"
        told = f"{name!r} holds dates written as {column.first_words[0]!r}.{unfit}"
        yield Finding("date", (name,), told, advice)
    elif fit:
        told = f"{name!r} holds dates of which day and month are in doubt ({quoted(column.first_words, 2)}).{unfit}"
        ways = " or ".join(option("date_format", repr(form)) for form in fit[:2])
        yield Finding("date", (name,), told, f"Say how they are written: {ways}.", "serious")
    elif len(column.levels) and all(map(looks_like_a_date, column.first_words)):
        told = f"{name!r} holds dates in several formats ({quoted(column.first_words)}), or days that do not exist."
        yield Finding("date", (name,), f"{told}{unfit}", "Write them in one, best as 2021-06-05.", "serious")


def _no_dates(column: SurveyedColumn) -> list[str]:
    """Return the words that are no dates among dates, where these are many more."""
    if not len(column.levels) or not sum(map(looks_like_a_date, column.first_words[:_SAMPLE])) > _SAMPLE_SHARE * min(
        _SAMPLE, len(column.levels)
    ):
        return []
    words = pc.utf8_trim_whitespace(column.levels.cast(pa.string()))
    formats = ["%Y-%m-%d", *(form for word in column.first_words[:3] for form in usual_formats(pa.array([word])))]
    read = [np.asarray(pc.is_null(read_dates(words, form))) for form in dict.fromkeys(formats)]
    fewest = min(read, key=np.count_nonzero)
    few = 0 < column.counts[fewest].sum() <= (1 - _SAMPLE_SHARE) * column.counts.sum()
    return [str(word) for word in words.filter(pa.array(fewest))[:10].to_pylist()] if few else []


def _empty(columns: Sequence[SurveyedColumn]) -> Iterator[Finding]:
    if empty := tuple(column.name for column in columns if column.kind == "empty"):
        told = f"{listed(empty)} {'has' if len(empty) == 1 else 'have'} no value at all."
        yield Finding("empty", empty, told, "A fit leaves such columns out; was the file cut?", "serious")
    scarce = [c for c in columns if len(c.levels) and c.gaps > _NEARLY_EMPTY * c.rows]
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
        if len(column.levels) > 1:
            # Where nearly every row has a value of its own, all columns look alike but for the values.
            values = column.content if len(column.levels) > column.rows / 2 else None
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
        if len(column.levels) == column.rows:
            return
        mixed = (mixed ^ column.codes.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    again = len(mixed) - len(np.unique(mixed))
    if again:
        told = f"{again:,} of {len(mixed):,} rows ({_percent(again / len(mixed))}) repeat another row."
        yield Finding("duplicate", (), told, "Copies in training and test rows make errors look smaller.")


def _near_equal_words(column: SurveyedColumn) -> Iterator[Finding]:
    """Words that differ by case, blanks or marks, and letters that stand for a word that is there too."""
    if len(column.levels) > _MOST_LEVELS:
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
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(column.levels), "[,$€£%]", "")
    number = np.asarray(pc.match_substring_regex(bare, r"^[-+]?\d+(\.\d*)?([eE][-+]?\d+)?$"))
    share = column.counts[number].sum() / max(1, column.counts.sum())
    coded = all(str(each).isdecimal() for each in column.levels)  # codes that begin with zeros
    if share >= 0.8 and len(column.levels) > 5 and not coded:
        others = [str(word) for word in column.levels.filter(pa.array(~number))[:10].to_pylist()]
        why = f"because of {quoted(others)}" if others else f"written in several ways ({quoted(column.first_words)})"
        told = f"{column.name!r} is {share:.0%} numbers but read as words, {why}."
        advice = f"If such cells mean missing: {option('gaps', repr(others[0]))}." if others else "Write them alike."
        yield Finding("numbers", (column.name,), told, advice)


def _odd_numbers(column: SurveyedColumn) -> Iterator[Finding]:
    """Numbers that stand for a gap, and numbers far from all others."""
    order = np.argsort(column.level_numbers)
    numbers, counts = column.level_numbers[order], column.counts[order]
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
            yield Finding("gaps", (column.name,), told, f"Then say so: {option('gaps', repr(f'{value:g}'))}.")
        elif high > low and not least <= value <= most:
            told = f"{column.name!r} goes to {value:.6g}, far from the others (half are at most {middle:.6g})."
            yield Finding("outlier", (column.name,), told, "Is it a slip, or another unit?")


def pending(problems: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what a reader could not settle."""
    for name, told in problems.items():
        yield Finding("reading", (name,), told, "", "serious")
