"""Tables out: CSV on standard output, or a file that appears only when it is whole."""

from __future__ import annotations

import csv
import io
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.csv as pa_csv

from bgn.cli.tables import Refused


@contextmanager
def whole_file(out: str) -> Iterator[Path]:
    """Give a name to write to beside `out`; what stands there takes the place of `out` when all went well."""
    target = Path(os.path.realpath(out))
    if not target.parent.is_dir():
        raise Refused(f"the folder {target.parent} does not exist; make it first.")
    if target.is_dir():
        raise Refused(f"{out!r} is a folder; name a file in it.")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def table_writer(out: str | None, schema: pa.Schema) -> Iterator[Any]:
    """Open a writer for a CSV, TSV or Parquet file that appears only when it is whole, or for standard output."""
    if out is None:
        with _text_writer(cast(BinaryIO, sys.stdout.buffer), schema, ",") as writer:
            yield writer
        return
    suffix = Path(out).suffix.lower()
    if suffix not in (".csv", ".tsv", ".parquet", ".pq"):
        raise Refused(f"--out must end in .csv, .tsv or .parquet; got {out!r}.")
    with whole_file(out) as temporary, temporary.open("xb") as stream, _writer(stream, schema, suffix) as writer:
        yield writer


def _writer(stream: BinaryIO, schema: pa.Schema, suffix: str) -> Any:
    if suffix in (".csv", ".tsv"):
        return _text_writer(stream, schema, "\t" if suffix == ".tsv" else ",")
    import pyarrow.parquet as pa_parquet

    return pa_parquet.ParquetWriter(stream, schema)


def _text_writer(stream: BinaryIO, schema: pa.Schema, sep: str) -> Any:
    """Write the header, which Arrow would always quote, and leave the rows to Arrow."""
    header = io.StringIO()
    csv.writer(header, delimiter=sep, lineterminator="\n").writerow(schema.names)
    stream.write(header.getvalue().encode())
    options = pa_csv.WriteOptions(include_header=False, delimiter=sep, quoting_style="needed")
    return pa_csv.CSVWriter(stream, schema, write_options=options)
