"""An engine that finds cuts by cells, over parts in memory, on disk or on a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bgn.engines.cells import Best, PrunedCells, Sieve, best_inside, joined_rows, merge, prune
from bgn.engines.merged import MergedEngine
from bgn.engines.protocol import Cut, Question
from bgn.engines.regions import merge_regions
from bgn.engines.requests import CellPart
from bgn.model.neuron import Neuron

# Surviving cells are split where their rows are, until they hold no more weight than this.
ROWS_TO_FETCH = 1 << 20
_MOST_TO_SPLIT = 1 << 14  # cells are numbered in 16 bits


class CellEngine(MergedEngine[CellPart]):
    """Rows in parts that sort themselves into cells; see :mod:`bgn.engines.cells`."""

    def cuts(self, questions: Sequence[Question]) -> Iterable[Cut | None]:
        """Answer each question with its best cut; None where there is none."""
        questions = [*map(self._without_narrow_window, questions)]
        asked = [k for k, question in enumerate(questions) if self.can_project(question.projection)]
        sieves = [self._sieve(questions[k]) for k in asked]
        found: list[Cut | None] = [None] * len(questions)
        if not asked:
            return found
        answers = zip(*self.parts.ask(CellPart.cells, sieves), strict=True)
        tables = [merge(cells) for cells in answers]
        totals = [int(cells[1][:, 0].sum()) for cells in tables]
        pruned = [
            prune(cells, self.total, total, bounded=sieve.bounded)
            for cells, total, sieve in zip(tables, totals, sieves, strict=True)
        ]
        for k, total, best in zip(asked, totals, self._look_inside(sieves, pruned, totals), strict=True):
            found[k] = self._cut(questions[k].projection, total, best)
        return found

    def _look_inside(self, sieves: list[Sieve], pruned: list[PrunedCells], totals: list[int]) -> list[Best]:
        """Try the cuts inside the surviving cells: split them while they hold too many rows to fetch, then fetch."""
        best = [each.best for each in pruned]
        open_ = [k for k, each in enumerate(pruned) if each.survivors]
        for k in open_:
            while self._too_many(pruned[k]):
                sieves[k], pruned[k] = self._split(sieves[k], pruned[k], totals[k])
            best[k] = pruned[k].best
        open_ = [k for k in open_ if pruned[k].survivors]
        if open_:
            survives = [pruned[k].survives for k in open_]
            answers = zip(*self.parts.ask(CellPart.inside, [sieves[k] for k in open_], survives), strict=True)
            for k, rows in zip(open_, answers, strict=True):
                best[k] = best_inside(joined_rows(rows), pruned[k], self.total, totals[k])
        return best

    def _too_many(self, pruned: PrunedCells) -> bool:
        """True when the surviving cells hold too many rows to fetch, and are few enough to split."""
        if self.total <= ROWS_TO_FETCH or pruned.survivors > _MOST_TO_SPLIT:
            return False
        return pruned.weight_inside > ROWS_TO_FETCH

    def _split(self, sieve: Sieve, pruned: PrunedCells, total: int) -> tuple[Sieve, PrunedCells]:
        """Split the surviving cells where their rows are."""
        finer = sieve.inside(pruned)
        cells = merge([answer for (answer,) in self.parts.ask(CellPart.cells, [finer])])
        return finer, prune(cells, self.total, total, pruned.best, pruned.prefix[pruned.chosen])

    def next_layer(self, neurons: Sequence[Neuron]) -> CellEngine:
        return CellEngine(self.parts.next_layer(neurons), self.loss)

    def _explained(self, shift: int) -> int:
        """By how much the best score of each region lowers the loss, a whole number of ``2**shift`` for each."""
        _, sums = merge_regions(self.parts.ask(CellPart.regions, len(self.output.weights)))
        weight, target_sum = sums.astype(np.float64).T if self.loss.outputs == 1 else (sums.sum(1) * 1.0, sums * 1.0)
        return int(self.loss.explained(weight, target_sum, 2.0**-shift).astype(np.int64).sum())
