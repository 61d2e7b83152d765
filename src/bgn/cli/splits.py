"""Which rows of a file are learnt from and which judge: by their number in the file, or by a key, whatever the columns.

Every row has a hash, of its number or of its key, and the seed; rows up to an edge are test rows. The edge is kept with
the model, and a fingerprint of the training targets, so that the rows of the same file, in whatever format, and those
of other files with the same key, are known again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgn.engines.raw_rows import Hashes, find_edge, histogram, inside_bin, row_hashes
from bgn.inputs import cells
from bgn.inputs.errors import InputError
from bgn.model.step import Floats
from bgn.persist import HeldOut

_TEST_SEED, _SAMPLE_SEED = 0x7E57, 0x5A3B1E
_STEP = 1 << 20  # rows whose numbers are hashed at a time


@dataclass(frozen=True)
class RowKeys:
    """What tells rows apart: their number, or a column in which equal rows stay together; and the seed."""

    key: str | None
    seed: int

    @property
    def columns(self) -> list[str]:
        """The columns to read."""
        return [] if self.key is None else [self.key]

    def hashes(self, first: int, table: pa.Table) -> Hashes:
        """Return the hash of every row of a block; `first` is the number of its first row, from 1."""
        if self.key is None:
            return number_hashes(first, table.num_rows, self.seed ^ _TEST_SEED)
        return key_hashes(table.column(self.key), self.seed ^ _TEST_SEED)

    def check(self, first: int, table: pa.Table) -> None:
        """Refuse rows without a key."""
        if self.key is not None and (gaps := _texts(table.column(self.key))[0]).any():
            row = first + int(np.flatnonzero(gaps)[0])
            raise InputError(f"--key: column {self.key!r} has no value in row {row}; fill it, or name another column.")


def number_hashes(first: int, count: int, seed: int) -> Hashes:
    """Return the hashes of consecutive row numbers."""
    return row_hashes([], np.arange(first, first + count, dtype=np.float64), seed)


def key_hashes(column: pa.ChunkedArray, seed: int) -> Hashes:
    """Return the hashes of keys: equal for `17` in a text file, 17 and 17.0, with blanks or without."""
    _, places, words = _texts(column)
    digests = [hashlib.blake2b(word.encode(), digest_size=6).digest() for word in words]
    numbers = np.array([int.from_bytes(digest, "little") for digest in digests], np.float64)  # whole below 2^53
    return row_hashes([], numbers[places] if len(words) else np.empty(0), seed)


def _texts(column: pa.ChunkedArray) -> tuple[NDArray[np.bool_], NDArray[np.int64], list[str]]:
    """Return which rows have no key, for every row the place of its key, and the keys as text."""
    plain = cells.plain(column)
    encoded = plain.combine_chunks().dictionary_encode()
    encoded = encoded if isinstance(encoded, pa.DictionaryArray) else pa.chunked_array(encoded).combine_chunks()
    words = [_text(value) for value in encoded.dictionary.to_pylist()]
    places = encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False).astype(np.int64)
    words.append("")
    return np.array([not word for word in words])[places], places, words


def _text(value: object) -> str:
    """Write a key the same however its file stored it."""
    text = str(value).strip().casefold().removesuffix(" 00:00:00")
    try:
        number = float(text)
    except ValueError:
        return text
    return repr(int(number)) if number.is_integer() else repr(number)


def edge_of(blocks: Callable[[], Iterable[Hashes]], share: float) -> int | None:
    """Return the hash up to which rows are test rows, nearest to a share of all; None where there are none."""
    counts = sum((histogram(hashes, None) for hashes in blocks()), np.zeros(1 << 16, np.int64))
    return find_edge(counts, lambda number: [inside_bin(hashes, None, number) for hashes in blocks()], share)


def all_numbers(rows: int, seed: int) -> Iterator[Hashes]:
    """Yield the hashes of all row numbers of a file."""
    for first in range(1, rows + 1, _STEP):
        yield number_hashes(first, min(_STEP, rows + 1 - first), seed ^ _TEST_SEED)


def held_by(hashes: Hashes, edge: int | None) -> NDArray[np.bool_]:
    """Return which rows are test rows."""
    return np.zeros(len(hashes), dtype=bool) if edge is None else hashes <= np.uint64(edge)


def sampled(first: int, count: int, share: float) -> NDArray[np.bool_]:
    """Return about a share of consecutive rows, those of either role alike."""
    return number_hashes(first, count, _SAMPLE_SEED) <= np.uint64(min(int(share * 2**64), 2**64 - 1))


def fingerprint(first: int, y: Floats, held: NDArray[np.bool_] | None = None) -> int:
    """Return what a target adds to the fingerprint of its table: a sum over rows, in whatever blocks they come.

    Rows that are `held` add nothing, so that a model file does not depend on the targets of its test rows.
    """
    numbers = np.arange(first, first + len(y), dtype=np.float64)
    hashes = row_hashes([numbers, np.isnan(y)], np.nan_to_num(y), _TEST_SEED)
    return int((hashes if held is None else hashes[~held]).sum(dtype=np.uint64))


class Recogniser:
    """Looks at the blocks of a file and tells which of its rows a model was fitted to, and which were set aside."""

    def __init__(self, told: HeldOut | None, names: Iterable[str]) -> None:
        known = told is not None and (told.key is None or told.key in names)
        self._told = told if known else None
        self._keys = RowKeys(told.key, told.seed) if told is not None and known else RowKeys(None, 0)
        self.columns = self._keys.columns
        self._held: list[NDArray[np.bool_]] = []
        self._absent: list[NDArray[np.bool_]] = []
        self._rows = self._of_all = self._of_training = 0
        self._targets = False

    def look(self, first: int, table: pa.Table, y: Floats | None) -> None:
        """Take note of the next block, and of its target where it has one."""
        self._rows += table.num_rows
        self._targets = y is not None
        self._of_all += 0 if y is None else fingerprint(first, y)
        if self._told is not None:
            held = held_by(self._keys.hashes(first, table), self._told.edge)
            self._held.append(held)
            self._absent.append(np.zeros(table.num_rows, bool) if y is None else np.isnan(y))
            self._of_training += 0 if y is None else fingerprint(first, y, held)

    @property
    def all_training(self) -> HeldOut | None:
        """What a model file keeps when all rows of this file are training rows; None where it has no target."""
        return HeldOut(0, 0.0, None, None, self._rows, self._of_all % 2**64) if self._targets else None

    @property
    def learnt(self) -> int | None:
        """How many rows were learnt from; None where nobody knows."""
        return None if self.held is None else int(np.count_nonzero(~(self.held | np.concatenate(self._absent))))

    @property
    def held(self) -> NDArray[np.bool_] | None:
        """Which rows were set aside; None where nobody knows: another file, without a key."""
        told = self._told
        if told is None or not self._held:
            return None
        # Files of earlier versions have the fingerprint of all rows, not of the training rows alone.
        known = {each % 2**64 for each in (self._of_training, self._of_all)}
        same = told.rows == self._rows and told.fingerprint in known
        return np.concatenate(self._held) if same or told.key is not None else None
