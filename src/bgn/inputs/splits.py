"""Which rows train, validate and test: by a hash, never by chance or by where a row stands.

Validation rows are chosen by a hash of what a row holds. The test rows of a file are chosen by a hash of the number of
the row in the file, or of a key, whatever the columns: rows up to an edge are test rows. The edge is kept with the
model (:class:`HeldOut`), and a fingerprint of the training targets. So the rows of the same file, in whatever format,
and those of other files with the same key, are recognized later (:class:`Recognizer`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bgn.inputs.errors import InputError
from bgn.model.step import Bools, Floats

if TYPE_CHECKING:
    import pyarrow as pa

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]
# Hashes that fall in one bin, their weights, and the largest hash below the bin (None where there is none).
Inside = tuple[Hashes, Integers, int | None]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_BIN_BITS = 16
_TEST_SEED, _SAMPLE_SEED = 0x7E57, 0x5A3B1E
_STEP = 1 << 20  # rows whose numbers are hashed at a time


def mix(h: Hashes) -> Hashes:
    """The finalizer of splitmix64: every bit of the input moves every bit of the output."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def hash_values(columns: Sequence[NDArray[Any]], seed: int) -> Hashes:
    """Return a 64-bit hash of every row's values; both zeros are the same, and so are all NaN."""
    with np.errstate(over="ignore"):
        hashes = mix(np.array([seed], dtype=np.uint64) + _GOLDEN)
        for column in columns:
            values = column.astype(np.float64) + 0.0
            values[np.isnan(values)] = np.nan
            hashes = mix((hashes ^ values.view(np.uint64)) * _GOLDEN + _GOLDEN)
        return hashes


def histogram(hashes: Hashes, weight: Integers | None) -> Integers:
    """Weight of the hashes in each of 2^16 bins."""
    bins = (hashes >> np.uint64(64 - _BIN_BITS)).astype(np.int64)
    return np.bincount(bins, weight, 1 << _BIN_BITS).astype(np.int64)


def inside_bin(hashes: Hashes, weight: Integers | None, number: int) -> Inside:
    """What :func:`find_edge` needs to know of one bin."""
    bins = hashes >> np.uint64(64 - _BIN_BITS)
    here, below = bins == np.uint64(number), hashes[bins < np.uint64(number)]
    heavy = np.ones(int(here.sum()), np.int64) if weight is None else weight[here]
    return hashes[here], heavy, int(below.max()) if len(below) else None


def find_edge(counts: Integers, fetch: Callable[[int], list[Inside]], share: float) -> int | None:
    """The hash up to which rows weigh nearest to `share` of all; equal rows stay together.

    `counts` are the bins of all rows, `fetch` returns a bin, part by part. None when no row, or every row, would
    be marked.
    """
    reached = np.cumsum(counts)
    total = int(reached[-1])
    wanted = share * float(total)
    if share <= 0 or total == 0:
        return None
    number = int(np.searchsorted(reached, wanted, side="right"))
    parts = fetch(number)
    hashes, where = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    weights = np.zeros(len(hashes), np.int64)
    np.add.at(weights, where, np.concatenate([part[1] for part in parts]))
    before = int(reached[number] - counts[number])
    ends = [(before + int(w), int(h)) for h, w in zip(hashes, np.cumsum(weights), strict=True)]
    below = [part[2] for part in parts if part[2] is not None]
    if below:
        ends.insert(0, (before, max(below)))
    ends = [end for end in ends if end[0] < total]
    return min(ends, key=lambda end: (abs(end[0] - wanted), end[0]))[1] if ends else None


def few_of(hashes: Hashes, number: int, last: bool = False) -> NDArray[np.intp]:
    """Where the so many smallest hashes are, or the largest; of equal ones the first, or the last."""
    where = np.arange(len(hashes))
    if len(hashes) > number > 0:  # most need not be put in order
        edge = np.partition(hashes, -number if last else number - 1)[-number if last else number - 1]
        where = np.flatnonzero(hashes >= edge if last else hashes <= edge)
    order = np.argsort(hashes[where], kind="stable")
    return np.sort(where[order[max(len(order) - number, 0) :] if last else order[:number]])


def edge_of(blocks: Callable[[], Iterable[Hashes]], share: float) -> int | None:
    """Return the hash up to which rows are test rows, nearest to a share of all; None where there are none."""
    counts = sum((histogram(hashes, None) for hashes in blocks()), np.zeros(1 << _BIN_BITS, np.int64))
    return find_edge(counts, lambda number: [inside_bin(hashes, None, number) for hashes in blocks()], share)


# -- Rows of a file: told apart by their number, or by a key.


@dataclass(frozen=True)
class HeldOut:
    """Which rows of a data file are the test rows of a model: those whose hash is not above the edge.

    They are told apart by a key, a column, or by their number in the file; `rows` counts incomplete ones, too. The
    fingerprint, by which the same file is recognized in whatever format, is a hash of the targets of its training rows,
    row by row; files of earlier versions have that of all rows.
    """

    seed: int
    share: float
    key: str | None
    edge: int | None
    rows: int
    fingerprint: int


@dataclass(frozen=True)
class RowKeys:
    """What tells rows apart: their number, or a column in which equal rows stay together; and the seed."""

    key: str | None
    seed: int

    @property
    def columns(self) -> list[str]:
        return [] if self.key is None else [self.key]

    def hashes(self, first: int, table: pa.Table) -> Hashes:
        """Return the hash of every row of a block; `first` is the number of its first row, from 1."""
        if self.key is None:
            return number_hashes(first, table.num_rows, self.seed ^ _TEST_SEED)
        return key_hashes(table.column(self.key), self.seed ^ _TEST_SEED)

    def number_blocks(self, rows: int) -> Iterator[Hashes]:
        for first in range(1, rows + 1, _STEP):
            yield number_hashes(first, min(_STEP, rows + 1 - first), self.seed ^ _TEST_SEED)

    def check(self, first: int, table: pa.Table) -> None:
        """Refuse rows without a key."""
        if self.key is not None and (missing := _key_texts(table.column(self.key))[0]).any():
            row = first + int(np.flatnonzero(missing)[0])
            raise InputError(f"--key: column {self.key!r} has no value in row {row}; fill it, or name another column.")


def number_hashes(first: int, count: int, seed: int) -> Hashes:
    return hash_values([np.arange(first, first + count, dtype=np.float64)], seed)


def key_hashes(column: pa.ChunkedArray, seed: int) -> Hashes:
    """Return the hashes of keys: equal for `17` in a text file, 17 and 17.0, with blanks or without."""
    _, places, texts = _key_texts(column)
    digests = [hashlib.blake2b(text.encode(), digest_size=6).digest() for text in texts]
    numbers = np.array([int.from_bytes(digest, "little") for digest in digests], np.float64)  # whole below 2^53
    return hash_values([numbers[places]], seed)


def _key_texts(column: pa.ChunkedArray) -> tuple[Bools, NDArray[np.int64], list[str]]:
    """Return which rows have no key, for every row the place of its key, and the keys as text, the same however the
    file stored them."""
    import pyarrow as pa  # engines hash rows without it

    from bgn.inputs import cells

    plain = cells.plain(column)
    encoded = plain.combine_chunks().dictionary_encode()
    encoded = encoded if isinstance(encoded, pa.DictionaryArray) else pa.chunked_array(encoded).combine_chunks()
    texts = []
    for value in encoded.dictionary.to_pylist():
        text = str(value).strip().casefold().removesuffix(" 00:00:00")
        try:
            number = float(text)
            text = repr(int(number)) if number.is_integer() else repr(number)
        except ValueError:
            pass
        texts.append(text)
    places = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)
    texts.append("")
    return np.array([not text for text in texts])[places], places, texts


def is_test(hashes: Hashes, edge: int | None) -> Bools:
    return np.zeros(len(hashes), dtype=bool) if edge is None else hashes <= np.uint64(edge)


def sample_rows(first: int, count: int, share: float) -> Bools:
    """Return about a share of consecutive rows, training and test rows in the same measure."""
    return number_hashes(first, count, _SAMPLE_SEED) <= np.uint64(min(int(share * 2**64), 2**64 - 1))


def fingerprint(first: int, y: Floats, left_out: Bools | None = None) -> int:
    """Return what a target adds to the fingerprint of its file: a sum over rows, in whatever blocks they come.

    Rows that are `left_out` add nothing, so that a model file does not depend on the targets of its test rows.
    """
    numbers = np.arange(first, first + len(y), dtype=np.float64)
    hashes = hash_values([numbers, np.isnan(y), np.nan_to_num(y)], _TEST_SEED)
    return int((hashes if left_out is None else hashes[~left_out]).sum(dtype=np.uint64))


class Recognizer:
    """Looks at the blocks of a file and knows which of its rows a model was trained on, and which are its test rows."""

    def __init__(self, held_out: HeldOut | None, names: Iterable[str]) -> None:
        known = held_out is not None and (held_out.key is None or held_out.key in names)
        self._held_out = held_out if known else None
        self._keys = RowKeys(held_out.key, held_out.seed) if held_out is not None and known else RowKeys(None, 0)
        self.columns = self._keys.columns
        self._tests: list[Bools] = []
        self._lacking: list[Bools] = []
        self._rows = self._of_all = self._of_training = 0
        self._targets = False

    def look(self, first: int, table: pa.Table, y: Floats | None) -> None:
        """Take note of the next block, and of its target where it has one."""
        self._rows += table.num_rows
        self._targets = y is not None
        self._of_all += 0 if y is None else fingerprint(first, y)
        if self._held_out is not None:
            test = is_test(self._keys.hashes(first, table), self._held_out.edge)
            self._tests.append(test)
            self._lacking.append(np.zeros(table.num_rows, bool) if y is None else np.isnan(y))
            self._of_training += 0 if y is None else fingerprint(first, y, test)

    @property
    def all_training(self) -> HeldOut | None:
        """What a model file keeps when all rows of this file are training rows; None where it has no target."""
        return HeldOut(0, 0.0, None, None, self._rows, self._of_all % 2**64) if self._targets else None

    @property
    def n_training(self) -> int | None:
        """How many rows are training rows; None where nobody knows."""
        test = self.test_rows
        return None if test is None else int(np.count_nonzero(~(test | np.concatenate(self._lacking))))

    @property
    def test_rows(self) -> Bools | None:
        """Which rows are test rows; None where nobody knows: another file, without a key."""
        if self._held_out is None or not self._tests:
            return None
        # Files of earlier versions have the fingerprint of all rows, not of the training rows alone.
        known = {total % 2**64 for total in (self._of_training, self._of_all)}
        same = self._held_out.rows == self._rows and self._held_out.fingerprint in known
        return np.concatenate(self._tests) if same or self._held_out.key is not None else None
