"""Answers of neurons on a device, eight neurons per byte."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bgn.engines.answer_bits import tables_of
from bgn.engines.protocol import Output
from bgn.engines.regions import region_keys


class Answers:
    """The answers of some rows, one slot per neuron."""

    def __init__(self, n_rows: int, device: torch.device) -> None:
        self.n_rows = n_rows
        self.codes = torch.zeros((1, n_rows), dtype=torch.uint8, device=device)

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
        return changed

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
        tables = torch.from_numpy(region_keys(width).view(np.int64)).to(self.codes.device)
        keys = torch.zeros(self.n_rows, dtype=torch.int64, device=self.codes.device)
        for table, codes in zip(tables, self.codes, strict=False):
            keys += table.index_select(0, codes.int())
        return keys


def count(marks: Tensor) -> Tensor:
    """How many are true, eight at a time: a sum of truth values would be slow."""
    n = len(marks) // 1024 * 1024
    eights = marks[:n].view(torch.int64).view(-1, 128).sum(dim=1)  # no byte passes 128
    counted = eights.view(torch.uint8).sum()
    return counted if n == len(marks) else counted + marks[n:].sum()
