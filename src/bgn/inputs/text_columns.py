"""Columns of text: which cells say missing, and what the others are, decided once for a whole file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs import cells
from bgn.inputs.file_format import FileFormat, Numerals
from bgn.inputs.numerals import DoubtfulColumns, Met
from bgn.inputs.refusal import listed, listing, option_of
from bgn.printable import clean

_MOST_TOLD = 6  # columns, and words of each, that a note names
GapCounts = dict[str, dict[str, int]]
"""How often each word says missing, column by column."""


def without_gaps(table: pa.Table, gaps: Sequence[str]) -> tuple[pa.Table, GapCounts]:
    """Return columns of text with null where a cell says missing."""
    words = pa.array(["", *gaps], pa.string())
    columns = {name: cells.without_gaps(table.column(name), words) for name in table.column_names}
    counts = {name: said for name, (_, said) in columns.items() if said}
    return pa.table({name: column for name, (column, _) in columns.items()}), counts


def guessed(table: pa.Table, form: FileFormat, separator: str) -> tuple[pa.Table, Met]:
    """Return columns of text as what all of their cells can be read as, and what was met on the way."""
    table, gaps = without_gaps(table, form.gaps)
    doubtful = DoubtfulColumns(separator, form.decimal if isinstance(form.decimal, str) else None)
    columns, told_of = {}, form.decimal if isinstance(form.decimal, Mapping) else {}
    codes = [name for name in table.column_names if name not in told_of and cells.are_codes(table.column(name))]
    for name in table.column_names:
        text, (decimal, thousands) = table.column(name), form.marks(name)
        if name in codes:
            columns[name] = text
            continue
        columns[name] = cells.guess(text, decimal or ".", form.date_format)
        if columns[name] is text:
            doubtful.add(name, _different(text), (decimal, thousands))
    if doubtful.need_points:
        for name, column in columns.items():
            text, number = table.column(name), pa.types.is_floating(column.type)
            if number and form.marks(name)[0] is None and pc.any(pc.match_substring(text, ".")).as_py():
                doubtful.add_plain(name, _different(text))
    settled, met = doubtful.settle()
    for written in settled:
        if written != Numerals(written.column):
            columns[written.column] = cells.numbers(table.column(written.column), written)
    infinite = [name for name, column in columns.items() if _beyond_floats(column)]
    told = (
        f"column{'s' * (len(infinite) > 1)} {listed(infinite)}: numbers beyond what a float can hold count as missing."
    )
    notes = (*_gap_notes(gaps), *_code_notes(codes), *met.notes, *([told] if infinite else []), *_break_notes(columns))
    return pa.table(columns), replace(met, notes=notes, gaps=form.gaps)


def _different(text: pa.ChunkedArray) -> pa.Array:
    """Return the different cells of a column, blanks around them left out."""
    return pc.unique(pc.utf8_trim_whitespace(text.drop_null()))


def _beyond_floats(column: pa.ChunkedArray) -> bool:
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_inf(column)).as_py())


def _break_notes(columns: Mapping[str, pa.ChunkedArray]) -> list[str]:
    """Say which columns have line breaks in their cells: all that an open quote swallows looks like that."""
    words = {name: column for name, column in columns.items() if cells.is_text(column.type)}
    found = [name for name, text in words.items() if pc.any(pc.match_substring_regex(text, r"[\r\n]")).as_py()]
    told = f"column{'s' * (len(found) > 1)} {listed(found)}: some cells have line breaks. If that is not meant, a quote"
    return [f"{told} is left open, and rows are missing."] if found else []


def _code_notes(codes: Sequence[str]) -> list[str]:
    """Say which columns of digits are read as words."""
    if not codes:
        return []
    column = "column" if len(codes) == 1 else "columns"
    remedy = f"{option_of('decimal', codes[0], '.')} if they are numbers"
    return [f"{column} {listed(codes)}: codes that begin with zeros are read as words ({remedy})."]


def _gap_notes(gaps: GapCounts) -> list[str]:
    """Say which words count as missing, and where."""
    if not gaps:
        return []
    most = sorted(gaps, key=lambda name: -sum(gaps[name].values()))[:_MOST_TOLD]
    told = [f"{_words(gaps[name])} in {clean(name, 40)!r}" for name in gaps if name in most]
    more = [f"others in {len(gaps) - len(most)} more columns"] if len(gaps) > len(most) else []
    remedy = f"If one of these is a value, list those that are none: {listing('gaps')}."
    return [f"read as missing: {'; '.join(told + more)}. {remedy}"]


def _words(said: Mapping[str, int]) -> str:
    """Return words with how often each was met."""
    words = [f"{word!r} ({count:,})" for word, count in said.items()]
    return ", ".join(words[:_MOST_TOLD]) + (f" and {len(words) - _MOST_TOLD} others" if len(words) > _MOST_TOLD else "")
