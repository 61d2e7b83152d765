"""What each column of a raw table holds: its kind in words, its missing values, its different values, its range.

`SurveyedColumn` looks at a column once and keeps its different values with the rows that hold each; what
:mod:`bgn.inputs.findings` says of a table it derives from these. `leaks` finds the columns that give a target away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bgn.inputs import cells
from bgn.inputs.kinds import is_crowded
from bgn.model.step import Floats
from bgn.text import clean

FEW = 10
"""Rows below which nothing is said about values that are all different."""
_YES_NO = {frozenset(pair) for pair in (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off"))}
_ID_NAME = re.compile(
    r"(?i:(^|[\W_])((p|u|uu|gu)?id|index|row|order|number|nr|no|key|rownames?)$|nummer$)|[a-z](Id|ID|No|Nr)$"
)
_SHOWN = 1000


@dataclass(frozen=True)
class ColumnFacts:
    """What a column holds.

    Parameters
    ----------
    name : str
        Its name.
    kind : str
        ``"number"``, ``"whole number"``, ``"yes/no"``, ``"category"``, ``"ordered"``, ``"date"``, ``"date as text"``,
        ``"time"``, ``"text"``, ``"id"``, ``"constant"``, ``"empty"`` or, where nothing can be learned from it, its
        type.
    missing : int
        Rows without a value.
    different : int
        Different values.
    low, high : float or str, optional
        The least and the largest number or date.
    examples : tuple of str
        Some values, the commonest first.
    unit : str
        What a text file writes with each number.
    """

    name: str
    kind: str
    missing: int
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
        self.is_number = cells.is_number(self.type) or pa.types.is_boolean(self.type)
        self.is_text = cells.is_text(self.type)
        if pa.types.is_nested(self.type) or pa.types.is_null(self.type):
            values = pa.chunked_array([pa.nulls(self.rows, pa.int8())])
        encoded = pa.concat_arrays(values.chunks or [pa.array([], values.type)]).dictionary_encode()
        self.distinct: pa.Array = encoded.dictionary
        """Different values, in the order in which they first appear."""
        self.codes: NDArray[np.int64] = np.asarray(pc.fill_null(encoded.indices, -1)).astype(np.int64)
        """Which of them each row holds; -1 for a missing value."""
        self.filled = int(np.count_nonzero(self.codes >= 0))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.distinct))

    @cached_property
    def distinct_numbers(self) -> Floats:
        return np.asarray(self.distinct.cast(pa.int8() if pa.types.is_boolean(self.type) else self.type), dtype=float)

    @cached_property
    def numbers(self) -> Floats:
        """Every row as a number, NaN for a missing value."""
        return np.append(self.distinct_numbers, np.nan)[self.codes]

    @cached_property
    def first_texts(self) -> list[str]:
        return self._as_text(self.distinct[:_SHOWN])

    @cached_property
    def texts(self) -> list[str]:
        """The different values as text; of many a long list."""
        return self._as_text(self.distinct)

    def _as_text(self, values: pa.Array) -> list[str]:
        texts = cells.as_shown(values)
        return [text.removesuffix(".0") for text in texts] if self.is_number else texts

    @cached_property
    def content(self) -> int:
        values = self.distinct.cast(pa.large_string()) if self.is_text else self.distinct
        return hash(tuple(buffer and bytes(buffer) for buffer in values.buffers()))

    @cached_property
    def date_formats(self) -> list[str]:
        """The usual formats in which all of its text is dates."""
        return cells.usual_formats(self.distinct.cast(pa.string())) if self.is_text else []

    @cached_property
    def is_crowded(self) -> bool:
        """Whether it has nearly as many different values as rows, so that a fit leaves it out where they are text."""
        return is_crowded(len(self.distinct), self.filled)

    @cached_property
    def kind(self) -> str:
        """As :class:`ColumnFacts` names it."""
        kind, different = self.type, len(self.distinct)
        # No two rows hold the same value, and nearly all hold one.
        all_different = different == self.filled >= max(FEW, 0.9 * self.rows)
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return str(kind)
        if different < 2:
            return "constant" if different else "empty"
        if cells.is_time(kind):
            return "date"
        if self.is_number:
            numbers = self.distinct_numbers
            if pa.types.is_boolean(kind) or (different == 2 and {*numbers.tolist()} == {0.0, 1.0}):
                return "yes/no"
            if not (numbers == np.floor(numbers)).all():
                return "number"
            consecutive = numbers.max() - numbers.min() < 1.5 * different  # test rows are not among them
            is_id = all_different and self.rows >= FEW and (consecutive or _ID_NAME.search(self.name))
            return "id" if is_id else "whole number"
        if not self.is_text:
            return "time" if cells.is_any_time(kind) else str(kind)
        if self.ordered:
            return "ordered"
        if different == 2 and frozenset(text.strip().lower() for text in self.texts) in _YES_NO:
            return "yes/no"
        if self.date_formats:
            return "date as text"
        if all_different:
            return "text" if float(pc.mean(pc.utf8_length(self.distinct)).as_py()) > 20 else "id"
        return "text" if self.is_crowded else "category"

    def facts(self) -> ColumnFacts:
        common = np.argsort(-self.counts, kind="stable")[:5]
        examples = tuple(clean(text, 30) for text in self._as_text(self.distinct.take(pa.array(common))))
        low: Any = None
        high: Any = None
        if len(self.distinct) and self.is_number:
            low, high = float(self.distinct_numbers.min()), float(self.distinct_numbers.max())
        elif len(self.distinct) and pa.types.is_time(self.type):
            ends = pc.min_max(self.distinct).as_py()
            low, high = (ends[end].isoformat("auto").removesuffix(":00") for end in ("min", "max"))
        elif len(self.distinct) and cells.is_time(self.type):
            ends = pc.min_max(self.distinct)
            shown = cells.as_shown(pa.array([ends["min"], ends["max"]], self.type))
            low, high = (time.removesuffix(" 00:00:00") for time in shown)
        missing, different = self.rows - self.filled, len(self.distinct)
        return ColumnFacts(self.name, self.kind, missing, different, low, high, examples, self.unit)


def survey(table: pa.Table, units: dict[str, str] | None = None) -> list[SurveyedColumn]:
    return [SurveyedColumn(name, table.column(name), (units or {}).get(name, "")) for name in table.column_names]


# -- Columns that alone predict nearly all of a target: mostly the target again, or something known only after it.

NEARLY_ALL = 0.98
"""Share of the target's variance, on rows held out, from which a column counts as a leak."""
_SAME_ORDER = 0.9999
_SAMPLE, _FEWEST, _BINS, _MOST_CLASSES = 20_000, 40, 64, 20


def leaks(columns: Sequence[SurveyedColumn], target: SurveyedColumn) -> dict[str, float]:
    """Return the columns from which alone the target follows, with the share of its variance that each explains."""
    rows = np.random.default_rng(0).permutation(target.rows)[:_SAMPLE]  # the same ones each time
    rows = rows[target.codes[rows] >= 0]
    outputs = _outputs(target, rows)
    if len(rows) < _FEWEST or outputs is None:
        return {}
    shares = {}
    for column in columns:
        if column.name == target.name or len(column.distinct) < 2:
            continue
        share = explained(_cells(column, rows), outputs)
        if share < NEARLY_ALL and _same_order(column, target, rows):
            share = 1.0
        if share >= NEARLY_ALL:
            shares[column.name] = share
    return shares


def _outputs(target: SurveyedColumn, rows: NDArray[np.int64]) -> Floats | None:
    """Return what is to be predicted: a number, or one 0/1 column per class; nothing when it does not vary."""
    codes = target.codes[rows]
    if target.is_number:
        numbers = target.numbers[rows][:, None]
        outputs = numbers / max(float(np.abs(numbers).max(initial=0)), 1e-300)  # squares that a float can hold
    elif target.is_text and len(target.distinct) <= _MOST_CLASSES:
        outputs = (codes[:, None] == np.arange(len(target.distinct))).astype(float)
    else:
        return None
    return outputs if len(np.unique(codes)) > 1 else None


def _cells(column: SurveyedColumn, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a cell per row: its level, or the bin of a number that has many."""
    codes = column.codes[rows]
    if len(column.distinct) <= _BINS:
        return codes + 1
    if not column.is_number:
        return np.unique(codes, return_inverse=True)[1]
    numbers = column.numbers[rows]
    edges = np.unique(np.nanquantile(numbers, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.where(np.isnan(numbers), 0, np.searchsorted(edges, numbers, side="right") + 1)


def explained(cells: NDArray[np.int64], outputs: Floats) -> float:
    """Return the share of the variance of the second half that the cells' means in the first half explain."""
    half = len(cells) // 2
    count, mean = np.bincount(cells[:half], minlength=int(cells.max()) + 1), outputs[:half].mean(axis=0)
    error = variance = 0.0
    for k, output in enumerate(outputs.T):
        sums = np.bincount(cells[:half], output[:half], len(count))
        means = np.where(count > 0, sums / np.maximum(count, 1), mean[k])
        error += float(np.square(output[half:] - means[cells[half:]]).sum())
        variance += float(np.square(output[half:] - output[half:].mean()).sum())
    return 1 - error / variance if variance > 0 else 0.0


def _same_order(column: SurveyedColumn, target: SurveyedColumn, rows: NDArray[np.int64]) -> bool:
    """Return whether a number rises, or falls, with the target all along: a transformation of it."""
    if not (column.is_number and target.is_number) or min(len(column.distinct), len(target.distinct)) <= 2:
        return False
    both = ~np.isnan(column.numbers[rows])
    if np.count_nonzero(both) < max(_FEWEST, len(rows) // 2):
        return False
    ranks = list[Floats]()
    for values in (column.numbers[rows][both], target.numbers[rows][both]):
        _, place, count = np.unique(values, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(count) - count / 2)[place])  # equal values share the middle of theirs
    both_ranks: Any = np.array(ranks)
    return bool(both_ranks.std(axis=1).min() > 0 and abs(np.corrcoef(both_ranks)[0, 1]) >= _SAME_ORDER)
