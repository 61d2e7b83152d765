"""Tables out: CSV on standard output, or a file that appears only when it is whole."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.csv as pa_csv

from bgn.inputs.refusal import Refused
from bgn.whole_file import goes_through, whole_file

_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")


@contextmanager
def table_writer(out: str | None, schema: pa.Schema) -> Iterator[Any]:
    """Open a writer for a CSV, TSV or Parquet file that appears only when it is whole, or for standard output.

    A pipe or a device without one of these endings gets CSV.
    """
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
    """Write Parquet, or text: its header, which Arrow would always quote, here, and its rows by Arrow."""
    if suffix not in (".csv", ".tsv"):
        import pyarrow.parquet as pa_parquet

        return pa_parquet.ParquetWriter(stream, schema)
    sep, header = "\t" if suffix == ".tsv" else ",", io.StringIO()
    csv.writer(header, delimiter=sep, lineterminator="\n").writerow(schema.names)
    stream.write(header.getvalue().encode())
    options = pa_csv.WriteOptions(include_header=False, delimiter=sep, quoting_style="needed")
    return pa_csv.CSVWriter(stream, schema, write_options=options)
