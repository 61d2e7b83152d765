"""Answers of neurons on a device: eight neurons a byte to look residuals up; a row a bit, where rows are counted."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bgn.engines.part import BITS, SIGNS
from bgn.engines.protocol import Integers, Output
from bgn.engines.row_hashes import mix

# Bytes to hold at once when rows are counted.
_ROOM = 1 << 28


class Answers:
    """The answers of some rows, one slot a neuron."""

    def __init__(self, n_rows: int, device: torch.device) -> None:
        self.n_rows = n_rows
        self.codes = torch.zeros((1, n_rows), dtype=torch.uint8, device=device)
        self._words = torch.zeros((8, -(-n_rows // 1024) * 16), dtype=torch.int64, device=device)
        self._unpacked: set[int] = set()  # slots whose words are of old answers
        self._ones_in = torch.from_numpy(BITS.sum(axis=1).astype(np.uint8)).to(device)  # of every byte

    def of(self, slot: int) -> Tensor:
        """Where a slot fires."""
        return (self.codes[slot >> 3] & (1 << (slot & 7))).bool()

    def bits(self, slot: int) -> Tensor:
        """The bytes that hold a slot's answers, made where there are none yet."""
        while slot >> 3 >= len(self.codes):
            self.codes = torch.cat([self.codes, torch.zeros_like(self.codes)])
        return self.codes[slot >> 3]

    def put(self, slot: int, fires: Tensor) -> Tensor:
        """Store the answers of a slot; true if any changed."""
        before, bit = self.bits(slot), slot & 7
        codes = (before & (255 - (1 << bit))).bitwise_or_(fires.view(torch.uint8) << bit)
        changed = (codes != before).any()
        before.copy_(codes)
        self._unpacked.add(slot)
        return changed

    def move(self, source: int, target: int) -> None:
        """Copy the answers of one slot to another."""
        self.put(target, self.of(source))

    def together(self, slot: int, width: int) -> Tensor:
        """For each of the first `width` slots, the number of rows where both it and `slot` fire."""
        while slot >= len(self._words):
            self._words = torch.cat([self._words, torch.zeros_like(self._words)])
        for other in sorted(self._unpacked & {slot, *range(width)}):
            self._words[other] = _packed(self.of(other), 64 * self._words.shape[1])
            self._unpacked.remove(other)
        words = self._words[:width]
        some = max(1, _ROOM // (32 * max(words.shape[1], 1)))
        return torch.cat([self._ones(part & self._words[slot]) for part in words.split(some)])

    def _ones(self, words: Tensor) -> Tensor:
        """The number of ones in every line of words."""
        return self._ones_in.index_select(0, words.view(torch.uint8).int().flatten()).view(len(words), -1).sum(dim=1)

    def subtracted(self, target: Tensor, output: Output) -> Tensor:
        """The target less what the answers of each row add up to."""
        tables = torch.from_numpy(tables_of(output)).to(target.device)
        values = target - tables[0].index_select(0, self.codes[0].int())
        for table, codes in zip(tables[1:], self.codes[1:], strict=False):
            values -= table.index_select(0, codes.int())
        return values

    def keys(self, width: int) -> Tensor:
        """A number for every row, the same where the first `width` slots answer the same."""
        if width > 62:
            return self._hashes(width)
        kind = torch.uint8 if width <= 8 else torch.int16 if width < 16 else torch.int32 if width < 32 else torch.int64
        keys = self.codes[0].to(kind)
        for g in range(1, (width + 7) >> 3):
            keys |= self.codes[g].to(kind) << (8 * g)
        return keys & ((1 << width) - 1)  # bits beyond the width hold old answers

    def _hashes(self, width: int) -> Tensor:
        groups = (width + 7) >> 3
        with np.errstate(over="ignore"):
            hashes = mix(np.arange(1, 256 * groups + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        tables = torch.from_numpy(hashes.view(np.int64).reshape(groups, 256)).to(self._words.device)
        keys = torch.zeros(self.n_rows, dtype=torch.int64, device=self._words.device)
        for g, table in enumerate(tables):
            used = min(8, width - 8 * g)
            keys += table.index_select(0, (self.codes[g] & ((1 << used) - 1)).int())
        return keys


def tables_of(output: Output) -> Integers:
    """For every group of eight neurons, one at least, what each of their 256 answers adds; the base is in the first."""
    padded = np.zeros((max(1, (len(output.weights) + 7) >> 3), 8), np.int64)
    padded.ravel()[: len(output.weights)] = output.weights
    tables = padded @ SIGNS
    tables[0] += output.base
    return tables


def _packed(fires: Tensor, room: int) -> Tensor:
    """A bit a row, with `room` for so many; the order of the bits in a byte is of no concern."""
    bytes_ = torch.nn.functional.pad(fires.view(torch.uint8), (0, room - len(fires)))
    return (bytes_.view(torch.int64) * 0x0102040810204080 >> 56).to(torch.uint8).view(torch.int64)


def count(marks: Tensor) -> Tensor:
    """How many are true, eight at a time: a sum of truth values would be slow."""
    n = len(marks) // 1024 * 1024
    eights = marks[:n].view(torch.int64).view(-1, 128).sum(dim=1)  # no byte passes 128
    counted = eights.view(torch.uint8).sum()
    return counted if n == len(marks) else counted + marks[n:].sum()
