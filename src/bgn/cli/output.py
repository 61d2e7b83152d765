"""Tables out: CSV on standard output, or a file that appears only when it is whole."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from bgn.inputs.refusal import Refused
from bgn.printable import escaped
from bgn.whole_file import goes_through, whole_file

_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")


class _JsonLines:
    """Writes a JSON object per row, and line."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write_table(self, table: pa.Table) -> None:
        for row in table.to_pylist():
            self._stream.write(escaped(json.dumps(row, ensure_ascii=False, default=str)).encode() + b"\n")


@contextmanager
def table_writer(out: str | None, schema: pa.Schema, as_json: bool = False) -> Iterator[Any]:
    """Open a writer for a CSV, TSV or Parquet file that appears only when it is whole, or for standard output.

    A pipe or a device without one of these endings gets CSV; with `as_json` every place gets a JSON object per line.
    """
    if as_json:
        if out is None:
            yield _JsonLines(cast(BinaryIO, sys.stdout.buffer))
        else:
            with whole_file(out) as stream:
                yield _JsonLines(stream)
        return
    if out is None:
        with _writer(cast(BinaryIO, sys.stdout.buffer), schema, ".csv") as writer:
            yield writer
        return
    suffix = Path(out).suffix.lower()
    if suffix not in _SUFFIXES:
        if not goes_through(out):
            raise Refused(f"--out must end in .csv, .tsv or .parquet; got {out!r}.")
        suffix = ".csv"
    with whole_file(out) as stream, _writer(stream, schema, suffix) as writer:
        yield writer


def _writer(stream: BinaryIO, schema: pa.Schema, suffix: str) -> Any:
    """Return what writes Parquet, or text: its header, which Arrow would always quote, here, and its rows by Arrow."""
    if suffix not in (".csv", ".tsv"):
        import pyarrow.parquet as pa_parquet

        return pa_parquet.ParquetWriter(stream, schema)
    sep, header = "\t" if suffix == ".tsv" else ",", io.StringIO()
    csv.writer(header, delimiter=sep, lineterminator="\n").writerow(schema.names)
    stream.write(header.getvalue().encode())
    return nullcontext(_TextLines(stream, sep))


class _TextLines:
    """Writes rows as text by Arrow, words in quotes only where some of a block need them: it has no such style."""

    def __init__(self, stream: BinaryIO, sep: str) -> None:
        self._stream, self._sep = stream, sep

    def write_table(self, table: pa.Table) -> None:
        words = [column for column in table.columns if pa.types.is_string(column.type)]
        special = f'^$|[{self._sep}"\r\n]'
        needed = any(pc.any(pc.match_substring_regex(column, special)).as_py() for column in words)
        style = "needed" if needed else "none"
        options = pa_csv.WriteOptions(include_header=False, delimiter=self._sep, quoting_style=style)
        pa_csv.write_csv(table, self._stream, options)
