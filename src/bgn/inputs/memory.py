"""How much memory a table takes while it is read, how much there is, and an even part of a table that is too large."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from bgn.inputs.refusal import Refused

CELL_BYTES = 64
"""What a look at a table takes beside the table, per cell: measured on text and numbers, 50 to 70."""
MOST_BYTES = 2**30
"""What a look at a table may take; of a larger one it is a look at every second row, every fourth and so on."""


def available_memory() -> int:
    """Bytes that this process can still take, as far as the system tells."""
    limits = [sys.maxsize]
    for path, name in (("/proc/meminfo", "MemAvailable:"), ("/sys/fs/cgroup/memory.max", "")):
        try:
            words = Path(path).read_text().split()
            limits.append(int(words[words.index(name) + 1]) * 1024 if name else int(words[0]))
        except (OSError, ValueError):
            pass  # no such file, or no limit
    return min(limits)


def bytes_of(table: pa.Table) -> int:
    """Return what a table takes while it is looked at."""
    return int(table.nbytes) + CELL_BYTES * table.num_rows * table.num_columns


@dataclass(frozen=True, eq=False)
class EvenPart:
    """Every so many rows of a table, from the first on.

    Parameters
    ----------
    tables : list of pyarrow.Table
    rows : int
        How many rows there are in all.
    step : int
        1 where these are all.
    """

    tables: list[pa.Table]
    rows: int
    step: int


def even_part(blocks: Iterator[pa.Table], most: int = MOST_BYTES) -> EvenPart:
    """Return as many rows of a table that comes in blocks as may be held: all, or every second, fourth, eighth.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from bgn.inputs.memory import even_part
    >>> part = even_part((pa.table({"a": [k, k + 1, k + 2]}) for k in range(0, 12, 3)), most=300)
    >>> pa.concat_tables(part.tables)["a"].to_pylist(), part.rows, part.step
    ([0, 4, 8], 12, 4)
    """
    kept, rows, step, size = list[pa.Table](), 0, 1, 0
    for block in blocks:
        some = _every(block, -rows % step, step)
        rows += block.num_rows
        kept.append(some)
        size += bytes_of(some)
        while size > most and sum(each.num_rows for each in kept) > 1:
            step *= 2
            kept = [_every(pa.concat_tables(kept, promote_options="permissive"), 0, 2)]
            size = bytes_of(kept[0])
    return EvenPart(kept, rows, step)


def _every(table: pa.Table, first: int, step: int) -> pa.Table:
    """Return every so many rows as a table of their own, which holds on to no other row."""
    return table if step == 1 else table.take(pa.array(np.arange(first, table.num_rows, step)))


def within_memory(blocks: Iterator[pa.Table], origin: str, names: Sequence[str]) -> list[pa.Table]:
    """Return all blocks of a table; refuse one that takes more than there is before it has taken it."""
    found, size, free = list[pa.Table](), 0, available_memory()
    for block in blocks:
        found.append(block)
        size += bytes_of(block)
        if size > free:
            rows = sum(each.num_rows for each in found)
            raise Refused(
                f"{origin} is too large to be read whole: {rows:,} rows of {len(names)} columns take about "
                f"{size / 1e9:.3g} GB, more follow, and {free / 1e9:.3g} GB are free. Make a Parquet file of it, whose "
                "rows can stay on disk, or leave columns out."
            )
    return found
