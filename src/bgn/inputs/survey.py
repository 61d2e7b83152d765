"""What each column of a raw table holds: its kind, its gaps, its different values, its range."""

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
from bgn.inputs.column_kinds import crowded
from bgn.inputs.date_formats import usual_formats
from bgn.model.step import Floats
from bgn.printable import clean

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
        self.levels: pa.Array = encoded.dictionary
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
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels))

    @cached_property
    def level_numbers(self) -> Floats:
        """The different values as numbers."""
        return np.asarray(self.levels.cast(pa.int8() if pa.types.is_boolean(self.type) else self.type), dtype=float)

    @cached_property
    def numbers(self) -> Floats:
        """Every row as a number, NaN for a gap."""
        return np.append(self.level_numbers, np.nan)[self.codes]

    @cached_property
    def first_words(self) -> list[str]:
        """The first of the different values as words."""
        return self._as_words(self.levels[:_SHOWN])

    @cached_property
    def words(self) -> list[str]:
        """The different values as words; of many a long list."""
        return self._as_words(self.levels)

    def _as_words(self, levels: pa.Array) -> list[str]:
        words = cells.as_words(levels)
        return [word.removesuffix(".0") for word in words] if self.is_number else words

    @cached_property
    def content(self) -> int:
        """A hash of the different values, in their order."""
        text = self.levels.cast(pa.large_string()) if self.is_text else self.levels
        return hash(tuple(buffer and bytes(buffer) for buffer in text.buffers()))

    @cached_property
    def date_formats(self) -> list[str]:
        """The usual formats in which all of its words are dates."""
        return usual_formats(self.levels.cast(pa.string())) if self.is_text else []

    @property
    def all_different(self) -> bool:
        """Whether no two rows hold the same value, and nearly all hold one."""
        return len(self.levels) == self.rows - self.gaps >= max(FEW, 0.9 * self.rows)

    @cached_property
    def kind(self) -> str:
        """As :class:`ColumnFacts` names it."""
        if pa.types.is_nested(self.type) or pa.types.is_binary(self.type) or pa.types.is_large_binary(self.type):
            return str(self.type)
        if not len(self.levels):
            return "empty"
        if len(self.levels) == 1:
            return "constant"
        if cells.is_time(self.type):
            return "date"
        if self.is_number:
            return self._kind_of_numbers()
        if self.is_text:
            return self._kind_of_words()
        return "time" if pa.types.is_time(self.type) or pa.types.is_duration(self.type) else str(self.type)

    def _kind_of_numbers(self) -> str:
        numbers = self.level_numbers
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
        if len(self.levels) == 2 and frozenset(word.strip().lower() for word in self.words) in _YES_NO:
            return "yes/no"
        if self.date_formats:
            return "date as text"
        sentences = float(pc.mean(pc.utf8_length(self.levels)).as_py()) > 20
        if self.all_different:
            return "text" if sentences else "id"
        return "text" if crowded(len(self.levels), self.rows - self.gaps) else "category"

    def facts(self) -> ColumnFacts:
        """Return the record that people read."""
        low, high = self._range()
        common = np.argsort(-self.counts, kind="stable")[:5]
        examples = tuple(clean(word, 30) for word in self._as_words(self.levels.take(pa.array(common))))
        return ColumnFacts(self.name, self.kind, self.gaps, len(self.levels), low, high, examples, self.unit)

    def _range(self) -> tuple[Any, Any]:
        if not len(self.levels) or self.is_text or pa.types.is_nested(self.type):
            return None, None
        if self.is_number:
            return float(self.level_numbers.min()), float(self.level_numbers.max())
        if pa.types.is_time(self.type):
            ends = pc.min_max(self.levels).as_py()
            return ends["min"].isoformat("auto").removesuffix(":00"), ends["max"].isoformat("auto").removesuffix(":00")
        if not cells.is_time(self.type):
            return None, None
        ends = pc.min_max(self.levels)
        low, high = cells.as_words(pa.array([ends["min"], ends["max"]], self.type))
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
