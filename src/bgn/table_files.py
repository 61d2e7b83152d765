"""Tables as files: CSV and TSV without formulas, Parquet or JSON lines, whole or not at all, or on standard output."""

from __future__ import annotations

import csv
import io
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from bgn.inputs.errors import InputError
from bgn.text import escaped
from bgn.whole_file import goes_through, whole_file

Note = Callable[[str], None]
_FORMULA = "^'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
_HARMLESS = "^(.|[-+]?([0-9]+([.,][0-9]+)*|[.,][0-9]+)([eE][-+]?[0-9]+)?%?)$"  # one sign alone, a number
_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")


class _JsonLines:
    """Writes a JSON object per row, and line."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write_table(self, table: pa.Table) -> None:
        for row in table.to_pylist():
            self._stream.write(escaped(json.dumps(row, ensure_ascii=False, default=str)).encode() + b"\n")


def without_formulas(texts: pa.Array | pa.ChunkedArray) -> tuple[Any, int]:
    """Return texts of which none is a formula to a spreadsheet, and how many had to be changed.

    >>> texts, changed = without_formulas(pa.array(["=1+1", "-3.5", "-", "-a", None, "'=x", "b"]))
    >>> texts.to_pylist(), changed
    (["'=1+1", '-3.5', '-', "'-a", None, "''=x", 'b'], 3)
    """
    begins = pc.match_substring_regex(texts, _FORMULA)
    meant = pc.fill_null(pc.and_not(begins, pc.match_substring_regex(texts, _HARMLESS)), False)
    count = pc.sum(meant).as_py() or 0
    return (pc.if_else(meant, pc.binary_join_element_wise("'", texts, ""), texts), count) if count else (texts, 0)


@contextmanager
def table_writer(
    out: str | None, schema: pa.Schema, as_json: bool = False, raw: bool = False, note: Note = warnings.warn
) -> Iterator[Any]:
    """Open a writer for a CSV, TSV or Parquet file that appears only when it is whole, or for standard output.

    A pipe or a device without one of these endings gets CSV; with `as_json` every place gets a JSON object per line.
    Text files have no formulas, unless they are `raw`.
    """
    if as_json:
        if out is None:
            yield _JsonLines(cast(BinaryIO, sys.stdout.buffer))
        else:
            with whole_file(out) as stream:
                yield _JsonLines(stream)
        return
    if out is None:
        with _writer(cast(BinaryIO, sys.stdout.buffer), schema, ".csv", raw, note) as writer:
            yield writer
        return
    suffix = Path(out).suffix.lower()
    if suffix not in _SUFFIXES:
        if not goes_through(out):
            raise InputError(f"--out must end in .csv, .tsv or .parquet; got {out!r}.")
        suffix = ".csv"
    with whole_file(out) as stream, _writer(stream, schema, suffix, raw, note) as writer:
        yield writer


def _writer(stream: BinaryIO, schema: pa.Schema, suffix: str, raw: bool, note: Note) -> Any:
    """Return what writes Parquet, or text: its header, which Arrow would always quote, here, and its rows by Arrow."""
    if suffix not in (".csv", ".tsv"):
        import pyarrow.parquet as pa_parquet

        return pa_parquet.ParquetWriter(stream, schema)
    sep, header = "\t" if suffix == ".tsv" else ",", io.StringIO()
    names = schema.names if raw else without_formulas(pa.array(schema.names, pa.string()))[0].to_pylist()
    csv.writer(header, delimiter=sep, lineterminator="\n").writerow(names)
    stream.write(header.getvalue().encode())
    return _TextLines(stream, sep, raw, note)


class _TextLines:
    """Writes rows as text by Arrow, words in quotes only where some of a block need them: it has no such style."""

    def __init__(self, stream: BinaryIO, sep: str, raw: bool, note: Note) -> None:
        self._stream, self._sep, self._raw, self._note = stream, sep, raw, note
        self._changed = 0

    def __enter__(self) -> _TextLines:
        return self

    def __exit__(self, *problem: object) -> None:
        if self._changed:
            cells = "1 cell begins" if self._changed == 1 else f"{self._changed:,} cells begin"
            self._note(f"{cells} like a formula of a spreadsheet: an apostrophe stands in front; --raw leaves it out.")

    def write_table(self, table: pa.Table) -> None:
        for place, column in enumerate(table.columns):
            if pa.types.is_string(column.type) and not self._raw:
                safe, changed = without_formulas(column)
                table, self._changed = table.set_column(place, table.field(place), safe), self._changed + changed
        texts = [column for column in table.columns if pa.types.is_string(column.type)]
        special = f'^$|[{self._sep}"\r\n]'
        needed = any(pc.any(pc.match_substring_regex(column, special)).as_py() for column in texts)
        style = "needed" if needed else "none"
        options = pa_csv.WriteOptions(include_header=False, delimiter=self._sep, quoting_style=style)
        pa_csv.write_csv(table, self._stream, options)
