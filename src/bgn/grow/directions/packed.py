"""Counts of eight neurons' answers in one number of 64 bits, compiled."""

from __future__ import annotations

import numpy as np

from bgn.compiling import compiled

_FULL = 255
# The bits of every byte, each in a byte of its own.
_SPREAD = np.array([sum((code >> b & 1) << 8 * b for b in range(8)) for code in range(256)], np.uint64)


@compiled
def count_together(codes, cells, fullest, out):
    """Add to ``out[cell, bit]`` the number of rows in a cell whose code has the bit.

    The eight counts of a cell share a number of 64 bits, which is emptied before any of its bytes runs over; none does
    when the `fullest` cell has few rows.
    """
    packed, held = np.empty(len(out), np.uint64), np.empty(len(out), np.uint8)
    packed[:] = 0
    held[:] = 0
    if fullest <= _FULL:
        for i in range(len(cells)):
            packed[cells[i]] += _SPREAD[codes[i]]
    else:
        for i in range(len(cells)):
            cell = np.int64(cells[i])
            packed[cell] += _SPREAD[codes[i]]
            held[cell] += 1
            if held[cell] == _FULL:
                held[cell] = 0
                unpack(packed, cell, out)
    for cell in range(len(out)):
        unpack(packed, cell, out)


@compiled
def unpack(packed, cell, out):
    """Add a cell's eight counts to `out` and empty them."""
    for b in range(8):
        out[cell, b] += np.int64((packed[cell] >> np.uint64(8 * b)) & np.uint64(_FULL))
    packed[cell] = 0
