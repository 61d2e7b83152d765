"""What may be wrong with a raw table, each with advice: leaks, ids, dates in doubt, codes, near copies, outliers.

`findings_at_fit` yields what makes a fit mislead and what only the user can decide, `all_findings` everything that
``bgn.check`` shows. Each rule is a function of surveyed columns.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs import cells
from bgn.inputs.cells import looks_like_a_date, read_dates, usual_formats
from bgn.inputs.errors import NUMBER_NAME, flag, listed, option
from bgn.inputs.frames import LARGEST_SQUARED, LARGEST_VALUE
from bgn.inputs.survey import FEW, SurveyedColumn, leaks
from bgn.inputs.target import MOST_CLASSES, few_numbers, may_be_classes

FEW_ROWS = 5
"""Rows of a class below which little can be learned from it."""
_MARKS = re.compile(r"((?:(?<!\w)[-+])?\d+(?:[.,:/-]\d+)*)|[\W_]")  # the marks of a number, 1.5 or -1, are kept
_MOST_COMPARED = 2000  # different texts of a column
_NEARLY_EMPTY, _FAR = 0.9, 10
_SAMPLE, _SAMPLE_SHARE = 100, 0.8
_MOST_CODES, _MOST_FROM_ONE = 60, 7
_CODE_NAMES = (
    "code|cd|id|type|kind|class|category|cat|group|grp|region|district|sector|branch|status|model|brand|state|country"
)
_CODE_NAME = re.compile(rf"(?i:(^|[\W_\d])({_CODE_NAMES})s?$)|[a-z](Code|Id|ID|Type|Class|Group|Status)$")
_ZIP_NAME = re.compile(r"(?i:(^|[\W_])(zip|zip_?code|plz|post_?code|postal_?code)$)")
_SENTINELS = {sign * (10.0**k - 1) for k in range(2, 7) for sign in (1, -1)} | {-9.0, -1.0}


@dataclass(frozen=True)
class Finding:
    """Something about a table that its owner should know.

    Parameters
    ----------
    what : str
        ``"leak"``, ``"id"``, ``"empty"``, ``"date"``, ``"constant"``, ``"duplicate"``, ``"words"``, ``"numbers"``,
        ``"missing"``, ``"outlier"``, ``"reading"``, ``"header"``, ``"task"``, ``"rare"`` or ``"codes"``.
    columns : tuple of str
        The columns it is about; none when it is about rows.
    text : str
        What is the matter.
    advice : str
        What to do about it.
    severity : str
        ``"serious"`` where a fit would mislead, else ``"note"``.
    """

    what: str
    columns: tuple[str, ...]
    text: str
    advice: str = ""
    severity: str = "note"

    def __str__(self) -> str:
        return f"{self.text} {self.advice}".rstrip()


@dataclass(frozen=True)
class Known:
    """What a user has said already, so that no finding asks for it; `header`: the first row names the columns."""

    task: str | None = None
    header: bool | None = None
    categorical: Collection[str] = ()
    merge_rare: int | None = None
    date_format: str | None = None


def findings_at_fit(
    columns: Sequence[SurveyedColumn], target: SurveyedColumn | None, known: Known
) -> Iterator[Finding]:
    """Yield what makes a fit mislead, such as leaks, ids and dates in doubt, and what only the user can decide."""
    if known.header is None:
        yield from _header(columns)
    if target is not None and known.merge_rare is None:
        yield from _rare_classes(target, known.task)
    others = [column for column in columns if column is not target]
    if target is not None:
        for name, share in leaks(others, target).items():
            text = f"{name!r} alone explains {share:.1%} of {target.name!r}: a leak?"
            advice = f"If it is only known afterwards, leave it out: {option('drop', repr(name))}."
            yield Finding("leak", (name,), text, advice, "serious")
        if target.kind == "constant":
            text = f"{target.name!r}, the target, is {_quoted(target.first_texts)} in every row."
            advice = "There is nothing to learn; is it the right column?"
            yield Finding("constant", (target.name,), text, advice, "serious")
    for column in others:
        name = column.name
        if column.is_text and (dates := [*_dates(column, known.date_format)]):
            yield from dates
        elif column.is_text and column.kind != "ordered" and column.is_crowded:
            text = (
                f"{name!r} holds {len(column.distinct):,} different words in {column.filled:,} rows, as ids do "
                f"({_quoted(column.first_texts, 2)})."
            )
            advice = f"A fit leaves it out; {option('categorical', repr(name))} to learn from it all the same."
            yield Finding("id", (name,), text, advice)
        elif not column.is_text and column.kind == "id":
            text = f"{name!r} is different in every row, like an id ({_quoted(column.first_texts, 2)})."
            yield Finding("id", (name,), text, f"Leave it out: {option('drop', repr(name))}.", "serious")
    yield from _codes(column for column in others if column.name not in known.categorical)


def all_findings(columns: Sequence[SurveyedColumn], target: SurveyedColumn | None, known: Known) -> Iterator[Finding]:
    yield from findings_at_fit(columns, target, known)
    if target is not None and known.task is None:
        yield from _task(target)
    yield from _empty(columns)
    for column in columns:
        if column.kind == "constant" and column is not target:
            text = f"{column.name!r} holds one value only ({_quoted(column.first_texts)})."
            yield Finding("constant", (column.name,), text, "It tells a model nothing; leave it out.")
    yield from _same_columns(columns)
    yield from _same_rows(columns)
    for column in columns:
        if column.kind in ("category", "yes/no", "text", "ordered") and column.is_text:
            yield from _near_equal_texts(column)
            yield from _numbers_as_text(column)
        if column.is_number and column.kind in ("number", "whole number"):
            yield from _too_large(column, column is target)
            yield from _odd_numbers(column)


def _header(columns: Sequence[SurveyedColumn]) -> Iterator[Finding]:
    """A first row that looks as if it held values: names that are numbers or text of their own columns."""
    like = list[SurveyedColumn]()
    for column in columns:
        if column.is_text:
            like += [column] * (column.name in {text.strip() for text in column.first_texts})
        elif NUMBER_NAME.fullmatch(column.name) and column.is_number and len(column.distinct):
            low, high = float(column.distinct_numbers.min()), float(column.distinct_numbers.max())
            like += [column] * (low - (high - low) <= float(column.name.replace(",", ".")) <= high + (high - low))
    numbers = [float(column.name.replace(",", ".")) for column in like if not column.is_text]
    steps = np.diff(numbers)
    rising = len(numbers) > 5 and bool((steps > 0).all() or (steps < 0).all())
    if rising or (len(numbers) > 2 and np.allclose(steps, steps[0], rtol=1e-6)):  # years, wavelengths, places
        like = [column for column in like if column.is_text]
    if 2 * len(like) > len(columns):
        names = _quoted([column.name for column in like])
        text = f"most names of columns look like values of these columns ({names}): does the first row hold data?"
        ways = f"{flag('header', False)} if there are no names, {flag('header', True)} if these are the names"
        yield Finding("header", (), text, f"Say so: {ways}.", "serious")


def _task(target: SurveyedColumn) -> Iterator[Finding]:
    if not target.is_number or pa.types.is_boolean(target.type):
        return
    values, rows = target.distinct_numbers.tolist(), target.filled
    if may_be_classes(values, rows):
        text = f"{target.name!r}, the target, has {few_numbers(values)} in {rows:,} rows: amounts or classes?"
        usual = " (the default for two values)" if len(values) == 2 else ""
        ways = f"{option('task', 'regression')} or {option('task', 'classification')}{usual}"
        yield Finding("task", (target.name,), text, f"Say which: {ways}.")


def _rare_classes(target: SurveyedColumn, task: str | None) -> Iterator[Finding]:
    labels = target.is_text or pa.types.is_boolean(target.type) or (target.is_number and task == "classification")
    if not labels or task == "regression" or not 2 < len(target.distinct) <= MOST_CLASSES:
        return
    rare = np.flatnonzero(target.counts < FEW_ROWS)
    if not len(rare):
        return
    useful = 1 < len(rare) < len(target.counts) and target.counts[rare].sum() >= FEW_ROWS
    some = [f"{target.texts[k]!r} ({target.counts[k]})" for k in rare[:3].tolist()]
    classes = f"{len(rare)} class{'es' * (len(rare) > 1)} of fewer than {FEW_ROWS} rows"
    text = f"{target.name!r}, the target, has {classes}: {', '.join(some)}{', ...' * (len(rare) > 3)}."
    merge = f"Merge rare classes into one: {option('merge_rare', str(FEW_ROWS))}"
    advice = f"{merge}, or leave those rows out." if useful else "Leave those rows out, or find more of them."
    yield Finding("rare", (target.name,), text, advice)


def _codes(columns: Iterable[SurveyedColumn]) -> Iterator[Finding]:
    """Whole numbers that may stand for categories: by their names, or because they count from 1 to a few."""
    names = []
    for column in columns:
        if column.kind != "whole number":
            continue
        numbers, rows = column.distinct_numbers, column.filled
        if rows < FEW or len(numbers) < 3 or numbers.min() < 0:
            continue
        from_one = numbers.min() == 1 and len(numbers) == numbers.max() <= _MOST_FROM_ONE
        few = len(numbers) <= _MOST_CODES and rows >= 5 * len(numbers)
        if _ZIP_NAME.search(column.name) or (few and (from_one or _CODE_NAME.search(column.name))):
            names.append(column.name)
    if names:
        text = f"{listed(names, 6)} hold{'s' * (len(names) == 1)} whole numbers that may be codes of categories."
        way = option("categorical", repr(names[0]))
        advice = f"If so{', say it of each' * (len(names) > 1)}: {way}."
        yield Finding("codes", tuple(names), text, advice)


def _dates(column: SurveyedColumn, given: str | None = None) -> Iterator[Finding]:
    """Dates that are not written as ISO 8601 or as `given`; in doubt where day and month may be the other way round."""
    name, fit, first = column.name, column.date_formats, column.first_texts
    unfit = f" {option('date_format', repr(given))} does not fit all of them and is not used here." if given else ""
    others = [] if fit else _no_dates(column)
    if others:
        text = f"{name!r} holds dates but for {_quoted(others)}, and is read as words.{unfit}"
        advice = f"If such cells mean missing: {option('missing_values', repr(others[0]))}; else mend them."
        yield Finding("date", (name,), text, advice, "serious")
    elif len(fit) == 1:
        unused = " A fit leaves it out until then." if column.is_crowded else ""
        other = f"; if another column needs {given!r}, write these as 2021-06-05" if given else ""  # one serves all
        advice = f"Say how: {option('date_format', repr(fit[0]))}{other}.{unused}"
        yield Finding("date", (name,), f"{name!r} holds dates written as {first[0]!r}.{unfit}", advice)
    elif fit:
        text = f"{name!r} holds dates of which day and month are in doubt ({_quoted(first, 2)}).{unfit}"
        ways = " or ".join(option("date_format", repr(form)) for form in fit[:2])
        yield Finding("date", (name,), text, f"Say how they are written: {ways}.", "serious")
    elif len(column.distinct) and all(map(looks_like_a_date, first)):
        text = f"{name!r} holds dates in several formats ({_quoted(first)}), or days that do not exist.{unfit}"
        yield Finding("date", (name,), text, "Write them in one, best as 2021-06-05.", "serious")


def _no_dates(column: SurveyedColumn) -> list[str]:
    """Return the texts that are no dates among dates, where these are many more."""
    first, most = column.first_texts, _SAMPLE_SHARE * min(_SAMPLE, len(column.distinct))
    if not sum(map(looks_like_a_date, first[:_SAMPLE])) > most:
        return []
    texts = pc.utf8_trim_whitespace(column.distinct.cast(pa.string()))
    formats = ["%Y-%m-%d", *(form for text in first[:3] for form in usual_formats(pa.array([text])))]
    unread = [np.asarray(pc.is_null(read_dates(texts, form))) for form in dict.fromkeys(formats)]
    fewest = min(unread, key=np.count_nonzero)
    few = 0 < column.counts[fewest].sum() <= (1 - _SAMPLE_SHARE) * column.counts.sum()
    return [str(text) for text in texts.filter(pa.array(fewest))[:10].to_pylist()] if few else []


def _empty(columns: Sequence[SurveyedColumn]) -> Iterator[Finding]:
    if empty := tuple(column.name for column in columns if column.kind == "empty"):
        text = f"{listed(empty)} {'has' if len(empty) == 1 else 'have'} no value at all."
        yield Finding("empty", empty, text, "A fit leaves such columns out; was the file cut?", "serious")
    missing = {column.name: column.rows - column.filled for column in columns if len(column.distinct)}
    rows = columns[0].rows if columns else 0
    if scarce := [name for name, count in missing.items() if count > _NEARLY_EMPTY * rows]:
        some = ", ".join(f"{name!r} ({_percent(missing[name] / rows)})" for name in scarce[:6])
        text = f"nearly empty: {some}{', ...' if len(scarce) > 6 else ''}."
        advice = "Does a missing value mean 'none'? Then such columns can stay; else leave them out."
        yield Finding("missing", tuple(scarce), text, advice)


def _percent(share: float) -> str:
    return f"{min(share, 0.999):.1%}"


def _same_columns(columns: Sequence[SurveyedColumn]) -> Iterator[Finding]:
    """Columns that hold the same, or the same by other names."""
    groups: dict[tuple[bytes, int | None], list[SurveyedColumn]] = defaultdict(list)
    for column in columns:
        if len(column.distinct) > 1:
            # Where nearly every row has a value of its own, all columns look alike but for the values.
            values = column.content if len(column.distinct) > column.rows / 2 else None
            groups[column.codes.tobytes(), values].append(column)
    for same in groups.values():
        if len(same) > 1:
            names = tuple(column.name for column in same)
            equal = all(column.content == same[0].content for column in same)
            how = "hold the same" if equal else "say the same in other words"
            text = f"{', '.join(map(repr, names))} {how} in every row."
            yield Finding("duplicate", names, text, f"One is enough: {option('drop', repr(names[-1]))}.")


def _same_rows(columns: Sequence[SurveyedColumn]) -> Iterator[Finding]:
    if not columns or columns[0].rows < FEW:
        return
    mixed = np.zeros(columns[0].rows, np.uint64)
    for column in columns:
        if len(column.distinct) == column.rows:
            return
        mixed = (mixed ^ column.codes.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    again = len(mixed) - len(np.unique(mixed))
    if again:
        text = f"{again:,} of {len(mixed):,} rows ({_percent(again / len(mixed))}) repeat another row."
        yield Finding("duplicate", (), text, "Copies in training and test rows make errors look smaller.")


def _near_equal_texts(column: SurveyedColumn) -> Iterator[Finding]:
    """Texts that differ by case, blanks or marks outside numbers, and letters that stand for another text."""
    if len(column.distinct) > _MOST_COMPARED:
        return
    groups: dict[str, list[str]] = defaultdict(list)
    for text in column.texts:
        letters = _MARKS.sub(lambda part: part[1] or "", text).casefold()
        groups[letters or text].append(text)
    for letter in [key for key in groups if len(key) == 1 and key.isalpha()]:
        longer = [key for key in groups if len(key) > 1 and key.startswith(letter)]
        if len(longer) == 1 and len(groups) <= 12:
            groups[longer[0]] = groups.pop(letter) + groups[longer[0]]
    if alike := [texts for texts in groups.values() if len(texts) > 1]:
        shown = "; ".join(" = ".join(map(repr, texts)) for texts in alike[:4]) + "; ..." * (len(alike) > 4)
        text = f"{column.name!r} has texts that nearly agree: {shown}."
        yield Finding("words", (column.name,), text, "If they mean the same, write them alike.")


def _numbers_as_text(column: SurveyedColumn) -> Iterator[Finding]:
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(column.distinct), "[,$€£%]", "")
    number = np.asarray(pc.match_substring_regex(bare, r"^[-+]?\d+(\.\d*)?([eE][-+]?\d+)?$"))
    share = column.counts[number].sum() / max(1, column.counts.sum())
    codes = all(str(text).isdecimal() for text in column.distinct)  # that begin with zeros
    if share >= 0.8 and len(column.distinct) > 5 and not codes:
        others = [str(text) for text in column.distinct.filter(pa.array(~number))[:10].to_pylist()]
        why = f"because of {_quoted(others)}" if others else f"written in several ways ({_quoted(column.first_texts)})"
        text = f"{column.name!r} is {share:.0%} numbers but read as words, {why}."
        missing = f"If such cells mean missing: {option('missing_values', repr(others[0]))}." if others else ""
        yield Finding("numbers", (column.name,), text, missing or "Write them alike.")


def _too_large(column: SurveyedColumn, is_target: bool) -> Iterator[Finding]:
    """Numbers that a fit refuses, since their sums or squares leave the range of floats."""
    largest, most = float(np.abs(column.distinct_numbers).max()), LARGEST_SQUARED if is_target else LARGEST_VALUE
    if largest > most:
        text = f"{column.name!r} goes to {largest:.3g}; a fit refuses numbers beyond {most:g}."
        yield Finding("outlier", (column.name,), text, "Rescale the column, or correct those cells.", "serious")


def _odd_numbers(column: SurveyedColumn) -> Iterator[Finding]:
    """Numbers that stand for a missing value, and numbers far from all others."""
    order = np.argsort(column.distinct_numbers)
    numbers, counts, name = column.distinct_numbers[order], column.counts[order], column.name
    if len(numbers) < FEW:
        return
    with np.errstate(over="ignore"):
        low, middle, high = np.quantile(column.numbers[column.codes >= 0], [0.01, 0.5, 0.99])
        least, most = low - _FAR * (high - low), high + _FAR * (high - low)
    for end, next_one in ((0, 1), (-1, -2)):
        value, neighbor = float(numbers[end]), float(numbers[next_one])
        range_of_others = abs(float(numbers[1 if end else -2]) - neighbor)
        is_far = abs(value - neighbor) > range_of_others / 2 or (value < 0 <= neighbor and value != -1)
        if value in _SENTINELS and counts[end] > 1 and is_far:
            text = f"{name!r} is {value:g} in {counts[end]:,} rows, apart from all other numbers: a missing value?"
            yield Finding("missing", (name,), text, f"Then say so: {option('missing_values', repr(f'{value:g}'))}.")
        elif high > low and not least <= value <= most:
            text = f"{name!r} goes to {value:.6g}, far from the others (half are at most {middle:.6g})."
            yield Finding("outlier", (name,), text, "Is it a slip, or another unit?")


def _quoted(values: Sequence[str], most: int = 3) -> str:
    return ", ".join(cells.shown(value, 30) for value in values[:most]) + (", ..." if len(values) > most else "")
