"""Answers of neurons on a device, packed twice: eight neurons a byte to look residuals up, a row a bit to count."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bgn.engines.base import Integers
from bgn.engines.part import BITS
from bgn.engines.split import mix

# Bytes to hold at once when rows are counted.
_ROOM = 1 << 28


class Answers:
    """The answers of some rows, one slot a neuron."""

    def __init__(self, n_rows: int, device: torch.device) -> None:
        self.n_rows = n_rows
        self._codes = torch.zeros((1, n_rows), dtype=torch.uint8, device=device)
        self._words = torch.zeros((8, -(-n_rows // 1024) * 16), dtype=torch.int64, device=device)

    def of(self, slot: int) -> Tensor:
        """Where a slot fires."""
        return ((self._codes[slot >> 3] >> (slot & 7)) & 1).bool()

    def put(self, slot: int, fires: Tensor) -> tuple[Tensor, Tensor]:
        """Store the answers of a slot; in how many rows it fires, and in how many words answers are new."""
        while slot >= len(self._words):
            self._codes = torch.cat([self._codes, torch.zeros_like(self._codes)])
            self._words = torch.cat([self._words, torch.zeros_like(self._words)])
        self._store(slot, fires.to(torch.uint8))
        bools = torch.zeros(64 * self._words.shape[1], dtype=torch.bool, device=fires.device)
        bools[: self.n_rows] = fires
        words = _packed(bools)
        changed = (words != self._words[slot]).sum()
        self._words[slot] = words
        return count(bools), changed

    def _store(self, slot: int, bits: Tensor) -> None:
        """Write bits of 0 or 1 to the bytes."""
        row, bit = self._codes[slot >> 3], slot & 7
        torch.bitwise_or(row & (255 - (1 << bit)), bits << bit, out=row)

    def move(self, source: int, target: int) -> None:
        """Copy the answers of one slot to another."""
        self._words[target] = self._words[source]
        self._store(target, (self._codes[source >> 3] >> (source & 7)) & 1)

    def together(self, slot: int, width: int) -> Tensor:
        """For each of the first `width` slots, the number of rows where both it and `slot` fire."""
        words = self._words[:width]
        some = max(1, _ROOM // (8 * max(words.shape[1], 1)))
        return torch.cat([_ones(part & self._words[slot]).sum(dim=1) for part in words.split(some)])

    def subtracted(self, values: Tensor, weights: Integers) -> Tensor:
        """The values less what the answers, +-1, of the first slots add up to with these weights; written over."""
        groups = (len(weights) + 7) >> 3
        padded = np.zeros((groups, 8), np.int64)
        padded.ravel()[: len(weights)] = weights
        tables = torch.from_numpy((padded[:, None, :] * (2 * BITS - 1)).sum(axis=2)).to(values.device)
        for table, codes in zip(tables, self._codes, strict=False):
            values -= table.index_select(0, codes.int())
        return values

    def keys(self, width: int) -> Tensor:
        """A number for every row, the same where the first `width` slots answer the same."""
        if width > 62:
            return self._hashes(width)
        kind = torch.int16 if width < 16 else torch.int32 if width < 32 else torch.int64
        keys = torch.zeros(self.n_rows, dtype=kind, device=self._codes.device)
        for g in range((width + 7) >> 3):
            used = min(8, width - 8 * g)  # bits beyond the width hold old answers
            keys |= (self._codes[g] & ((1 << used) - 1)).to(kind) << (8 * g)
        return keys

    def _hashes(self, width: int) -> Tensor:
        groups = (width + 7) >> 3
        with np.errstate(over="ignore"):
            hashes = mix(np.arange(1, 256 * groups + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        tables = torch.from_numpy(hashes.view(np.int64).reshape(groups, 256)).to(self._codes.device)
        keys = torch.zeros(self.n_rows, dtype=torch.int64, device=self._codes.device)
        for g, table in enumerate(tables):
            used = min(8, width - 8 * g)
            keys += table.index_select(0, (self._codes[g] & ((1 << used) - 1)).int())
        return keys


def _packed(bools: Tensor) -> Tensor:
    """A bit a row, in words of 64; the order of the bits in a byte is of no concern."""
    eights = bools.view(torch.int64) * 0x0102040810204080 >> 56
    return eights.to(torch.uint8).view(torch.int64)


def count(marks: Tensor) -> Tensor:
    """How many are true, eight at a time: a sum of truth values would be slow."""
    n = len(marks) // 1024 * 1024
    eights = marks[:n].view(torch.int64).view(-1, 128).sum(dim=1)  # no byte passes 128
    counted = eights.view(torch.uint8).sum()
    return counted if n == len(marks) else counted + marks[n:].sum()


def _ones(words: Tensor) -> Tensor:
    """The number of ones in every word."""
    words = words - ((words >> 1) & 0x5555555555555555)
    words = (words & 0x3333333333333333) + ((words >> 2) & 0x3333333333333333)
    words = (words + (words >> 4)) & 0x0F0F0F0F0F0F0F0F
    return words * 0x0101010101010101 >> 56
