"""Rows in memory that threads share, and sums over their columns; nothing here knows of neurons in slots."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.cells import Line, line_of
from bgn.engines.kernels import rows as kernels
from bgn.engines.memory.threads import ThreadPool
from bgn.engines.protocol import Floats, Integers, Loss
from bgn.model.neuron import Neuron, Projection

# From so many rows, or values, on threads share directions and columns, and from so many rows on rows.
_ROWS_FOR_SHARING = 1 << 12
_VALUES_FOR_SHARING = 1 << 21
_ROWS_FOR_THREADS = 1 << 16
_ROWS_PER_THREAD = 1 << 17  # more threads would wait for each other longer than they work
_COLUMNS_FOR_SHARING = 1 << 9
# More pieces of rows than threads: one that wakes late finds something left to do.
_PIECES = 4
_NO_WEIGHT = np.empty(0, np.int64)
_LINES = 3  # to remember


class SharedRows:
    """Rows, and what is asked of their columns (what has no docstring: :class:`~bgn.engines.requests.RowPart`).

    Parameters
    ----------
    columns : array, shape (columns, rows)
        Each column contiguous; float64, float32 or int8.
    target : int64 array
        Whole steps of the loss's grid of targets.
    weight : int64 array or None
        Whole, positive row weights; None when all are one.
    loss : Loss
    threads : int
    below : uint8 array, shape (groups, rows), optional
        The columns as bits, where they are the answers of a layer.
    """

    def __init__(
        self, columns: NDArray[Any], target: Integers, weight: Integers | None, loss: Loss, threads: int = 1,
        below: NDArray[np.uint8] | None = None,
    ) -> None:  # fmt: skip
        self.columns, self.target, self.loss, self.below = columns, target, loss, below
        self.weight = _NO_WEIGHT if weight is None else weight
        self.n_columns, self.n_rows = columns.shape
        enough = self.n_rows >= _ROWS_FOR_SHARING or columns.size >= _VALUES_FOR_SHARING
        by_rows = self.n_rows >= _ROWS_FOR_THREADS
        if by_rows and self.n_columns < _COLUMNS_FOR_SHARING:
            threads = min(threads, max(2, self.n_rows // _ROWS_PER_THREAD))
        self.threads = threads if enough else 1
        self._pool = ThreadPool(self.threads) if self.threads > 1 else None
        pieces = _PIECES * self.threads if self.threads > 1 and by_rows else 1
        edges = np.linspace(0, self.n_rows, pieces + 1)
        self._spans = list(pairwise(edges.astype(int).tolist()))
        self._lines: list[tuple[Projection, Line]] = []

    def each(self, work: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        """Run `work` on every item, on the threads there are."""
        items = list(items)
        if self._pool is None or len(items) < 2:
            return [work(item) for item in items]
        return self._pool.each(work, items)

    def _gathered(self, empty: Callable[[], Any], add: Callable[[tuple[int, int], Any], Any]) -> list[Any]:
        """Have every span of rows added to what its thread holds, `empty` at first; return what each thread holds."""
        left = deque(self._spans)

        def share(_: int) -> Any:
            held = None
            while left:
                try:
                    span = left.popleft()
                except IndexError:  # somebody else was faster
                    break
                held = empty() if held is None else held
                add(span, held)
            return held

        return [held for held in self.each(share, range(min(self.threads, len(left)))) if held is not None]

    def _sum(self, shape: int | tuple[int, ...], kernel: Callable[..., Any], *arguments: Any) -> Integers:
        """Run a kernel that adds to sums on every span of rows; return the sums."""
        parts = self._gathered(lambda: np.zeros(shape, np.int64), lambda span, out: kernel(*arguments, *span, out))
        return parts[0] if len(parts) == 1 else np.asarray(sum(parts))

    def _by_column(
        self, shape: int | tuple[int, ...], kernel: Callable[..., Any], centre: Floats, scale: Floats, *arguments: Any
    ) -> Integers:
        """Run one that adds to sums of every column, centred and scaled; threads share columns where these are many."""
        columns = self.columns
        if self._pool is None or self.n_columns < _COLUMNS_FOR_SHARING:
            return self._sum(shape, kernel, columns, centre, scale, *arguments)
        out, edges = np.zeros(shape, np.int64), np.linspace(0, len(columns), _PIECES * self.threads + 1).astype(int)

        def part(some: slice) -> None:
            kernel(columns[some], centre[some], scale[some], *arguments, 0, self.n_rows, out[some])

        self.each(part, [slice(*ends) for ends in pairwise(edges.tolist())])
        return out

    def _fill(self, kernel: Callable[..., Any], *arguments: Any) -> Integers:
        """Run a kernel that writes one integer per row."""
        out = np.empty(self.n_rows, np.int64)
        self.each(lambda span: kernel(*arguments, *span, out), self._spans)
        return out

    def _total(self, values: Integers) -> int:
        """The weighted sum of `values`, one per row."""
        return int(values @ self.weight if len(self.weight) else values.sum())

    def _column_sums(self, centre: Floats, scale: Floats, values: Integers) -> Integers:
        """Sum of every integer column times `values`."""
        if self.below is None:
            return self._by_column(self.n_columns, kernels.column_sums, centre, scale, values)
        return self._signed_sums(values) * signs(centre, scale)

    def _signed_sums(self, values: Integers) -> Integers:
        """Sum of every column of +-1 times `values`: what the rows that fire hold, less what the others do."""
        return 2 * self._sum(self.n_columns, kernels.fired_sums, self.below, values, self.n_columns) - values.sum()

    def column_squares(self, centre: Floats, scale: Floats) -> Integers:
        return self._by_column((self.n_columns, 2), kernels.column_squares, centre, scale, self.weight)

    def gram(self, column: int, centre: Floats, scale: Floats) -> Integers:
        if self.below is None:
            return self._products(centre, scale, self._column(column, centre, scale))
        values = self.columns[column].astype(np.int64)
        sums = self._signed_sums(values * self.weight if len(self.weight) else values)
        sign = signs(centre, scale)
        whole = sums.astype(object) * sign.astype(object) * int(sign[column])
        return np.stack([whole >> 31, whole & 0x7FFFFFFF], axis=1).astype(np.int64)

    def _column(self, j: int, centre: Floats, scale: Floats) -> Integers:
        """One column as integers."""
        return np.rint((self.columns[j].astype(np.float64) - centre[j]) * scale[j]).astype(np.int64)

    def _products(self, centre: Floats, scale: Floats, other: Integers) -> Integers:
        """Limbs of every integer column times another."""
        return self._by_column((self.n_columns, 2), kernels.column_products, centre, scale, other, self.weight)

    def line(self, projection: Projection) -> Line:
        """What kernels need to project the rows; where categories are looked up, the last few are remembered."""
        if projection.numeric:
            return self.columns, *projection.arrays
        found = next((line for known, line in self._lines if known is projection or known == projection), None)
        if found is None:
            found = line_of(self.columns, projection)
            self._lines = [*self._lines[1 - _LINES :], (projection, found)]
        return found

    def answers(self, neurons: Sequence[Neuron]) -> NDArray[np.int8]:
        """The +-1 answers of `neurons`, one row per neuron."""
        columns = np.empty((len(neurons), self.n_rows), np.int8)
        z = np.empty(self.n_rows)
        for row, neuron in zip(columns, neurons, strict=True):
            kernels.project(*line_of(self.columns, neuron.projection), 0, self.n_rows, z)
            row[:] = np.where(z >= neuron.threshold, 1, -1)
        return columns


def signs(centre: Floats, scale: Floats) -> Integers:
    """What a +1 is as an integer, for columns of +-1; zero where all rows hold the same."""
    return np.where(centre == 0.0, scale, 0.0).astype(np.int64)


def told_of(column: NDArray[Any]) -> tuple[float, float, bool]:
    """The least and the greatest value of a column, and whether all are whole numbers."""
    if len(column) == 0:
        return np.inf, -np.inf, True
    return float(column.min()), float(column.max()), bool((column == np.rint(column)).all())
