"""The rows a network grows on, in three roles, wherever they live."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from bgn.engines.coding import Coding, coding_of, rare_categories
from bgn.engines.memory import MemoryEngine, ThreadPool, part_of
from bgn.engines.protocol import Integers, Loss, RawBlock, RowSource
from bgn.engines.raw_rows import Plan, Sample, Survey, weight_exponent
from bgn.engines.reduce import Engine
from bgn.grow.losses import LOSSES, held_to
from bgn.inputs.splits import Hashes, find_edge
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique

# Directions are screened on at most this many different rows.
SAMPLE_ROWS = 16384
# Layers are drafted on so many rows per rule, and at least on so many in all, unless these would hold more values
# than this, where there are so many times as many rows.
DRAFT_ROWS, LEAST_DRAFT, MOST_DRAFTED, DRAFTED_FROM = 640, 2 * SAMPLE_ROWS, 1 << 25, 2
# All of at most so many different rows learn, where each is there so often on average.
_FEW, _OFTEN = 50, 10
# Up to so many rows are cross-validated by default, in so many folds: a fifth of them would decide nothing.
FEW_ROWS, _AUTO_FOLDS = 6000, 5
# Of a table with more values than this, rows times columns, there are fewer folds, and fewer penalties compete.
_MANY_VALUES, _FOLDS_OF_MANY = 1 << 21, 3
# How many folds, "auto", none, or the hashes of the rows that learn and of those that validate, fold by fold.
Folding = int | str | None | list[tuple[Hashes, Hashes]]
# The least and the greatest value of every column, and whether all are whole.
Reach = list[tuple[float, float, bool]]
# More threads than this wait for each other longer than they work on so few rows.
_MOST_SEARCHERS = 6


@dataclass(frozen=True)
class RowSets:
    """The same rules on three sets of rows: to learn from, to choose by, and a sample to search on, if one does."""

    train: Engine
    validation: Engine | None
    sample: MemoryEngine | None
    coding: Coding | None = None  # how their columns come of the table's; None behind a layer
    unit: float = 1.0  # the weight of one row
    threads: int = 1
    folds: tuple[RowSets, ...] = ()  # to choose by, where there are no rows apart: all but a share, and that share
    reach: Reach | None = None  # of columns over all rows to learn from, those left out of a share included
    draft: MemoryEngine | None = None  # a part of very many rows, to draft layers on
    rare: tuple[
        tuple[int, ...], ...
    ] = ()  # by column of the table, the categories that few of the rows to learn from have

    @property
    def wide(self) -> bool:
        """Whether there are so many values, rows times columns, that choosing by folds must be brief."""
        return self.train.total / self.unit * self.train.n_columns > _MANY_VALUES

    def ends(self, column: int) -> tuple[float, float]:
        """The least and the greatest value that rows to learn from have."""
        return (self.train.seen() if self.reach is None else self.reach)[column][:2]

    @property
    def followers(self) -> list[Engine]:
        """The engines that follow what the training rows decide."""
        return [rows for rows in (self.validation, self.sample) if rows is not None and rows is not self.train]

    def drafted(self) -> RowSets:
        """The rows to draft layers on: nobody validates, and columns reach as far as in all of them."""
        assert self.draft is not None
        reach = self.train.seen() if self.reach is None else self.reach
        return replace(self, train=self.draft, validation=None, reach=reach, draft=None)

    def next_layer(self, rules: Sequence[Oblique]) -> RowSets:
        """The same rows behind a finished layer."""
        train = self.train.next_layer(rules)
        sample = train if self.sample is self.train else self.sample and self.sample.next_layer(rules)
        assert sample is None or isinstance(sample, MemoryEngine)
        validation = self.validation and self.validation.next_layer(rules)
        draft = self.draft and self.draft.next_layer(rules)
        return RowSets(train, validation, sample, None, self.unit, self.threads, draft=draft)


def assign_rows(
    source: RowSource,
    evaluation: RowSource | None,
    validation_fraction: float,
    seed: int,
    threads: int = 1,
    loss: Callable[[float, float, int], Loss] | None = None,
    columns: Sequence[Column] | None = None,
    cv: Folding = None,
    always: bool = False,
    bounds: tuple[float, float] | None = None,
    drafted: int = 0,
) -> tuple[RowSets, int]:
    """Give every row its role by its content; also returns the power of two that row weights were scaled by. `threads`
    search the sample, where it is apart from the rows. `loss` makes the loss from the reach of the targets and the
    weight of the rows, squares by default; `columns` are the table's, numbers by default. With `cv` no rows are set
    apart: they validate in turn, fold by fold. The share that would validate is left out `always`, or only where there
    is no `evaluation`. Sources that are `kept` can be asked again. Rows that validate are judged by predictions within
    `bounds`. Of very many rows a part is set up to draft layers of `drafted` rules on."""
    plan, scaled, has_missing, cv = _plan(
        source, evaluation, always or evaluation is None, validation_fraction, seed, loss or LOSSES["squared"].over, cv,
        drafted,
    )  # fmt: skip
    drawn = _together(source.ask(RawBlock.sample, plan))
    draws = len(drawn.hashes) > SAMPLE_ROWS
    sample = _some_of(drawn, np.arange(SAMPLE_ROWS)) if draws else drawn
    if columns is None:
        columns = Schema.of_numbers(len(has_missing)).columns
    coding = coding_of(columns, has_missing, sample.columns, sample.weight)
    rare = rare_categories(columns, drawn.columns, drawn.weight, 2.0**scaled)
    plan = replace(plan, coding=coding, validation_loss=held_to(plan.loss, bounds))
    train = source.engine(plan, False)
    left_out = source.engine(plan, True) if plan.edge is not None else None
    reach: Reach | None = None
    if always and left_out is not None:
        both = zip(train.seen(), left_out.seen(), strict=True)
        reach = [(min(a[0], b[0]), max(a[1], b[1]), a[2] and b[2]) for a, b in both]
    validation = left_out
    if evaluation is not None:
        validation = evaluation.engine(Plan(seed, None, plan.loss_of(True), coding=plan.coding), False)
        if not evaluation.kept:
            evaluation.close()
    if not source.kept:
        source.close()
    folds = _folds(sample, plan, cv, 2.0**scaled, threads) if cv else ()
    searched = train if plan.limit is None and isinstance(train, MemoryEngine) else _engine_of(sample, plan, threads)
    draft = _engine_of(drawn, plan, threads) if draws else None
    return RowSets(train, validation, searched, plan.coding, 2.0**scaled, threads, folds, reach, draft, rare), scaled


def _plan(
    source: RowSource, evaluation: RowSource | None, alone: bool, validation_fraction: float, seed: int,
    loss: Callable[[float, float, int], Loss], cv: Folding, drafted: int,
) -> tuple[Plan, int, NDArray[np.bool_], Folding]:  # fmt: skip
    """What becomes of every row; the power of two that weights are scaled by; columns with missing values; folds."""
    exponent = weight_exponent(source) if source.weighted else None
    surveys = source.ask(RawBlock.survey, seed, exponent)
    survey = reduce(Survey.merged, surveys)
    total, counts, n_columns = survey.total, survey.counts, len(survey.missing)
    if exponent == 0 and total == survey.n_rows:
        exponent = None  # all weights are one
    if total == 0:
        raise ValueError("sample_weight is zero for every row, which leaves nothing to learn from.")
    everything = surveys if evaluation is None else [*surveys, *evaluation.ask(RawBlock.survey, seed, None)]
    low, high = min(one.low for one in everything), max(one.high for one in everything)
    plan = Plan(seed, exponent, loss(low, high, total))
    rows = total / 2 ** (exponent or 0)
    alone = alone and not _few_and_often(counts, rows)
    folds = cv if alone else None
    if alone and isinstance(cv, str):
        many = rows * n_columns > _MANY_VALUES
        folds = (_FOLDS_OF_MANY if many else _AUTO_FOLDS) if validation_fraction > 0 and rows <= FEW_ROWS else None
    if alone and folds is None:
        edge = find_edge(counts, lambda bin: source.ask(RawBlock.inside, seed, exponent, bin), validation_fraction)
        plan = replace(plan, edge=edge)
    draft, most = _draft_rows(drafted, n_columns), SAMPLE_ROWS
    answers = source.ask(RawBlock.smallest, seed, exponent, plan.edge, max(most, DRAFTED_FROM * draft) + 1)
    smallest = np.unique(np.concatenate(answers))
    if len(smallest) > most:
        most = draft if 0 < DRAFTED_FROM * draft < len(smallest) else most
        plan = replace(plan, limit=int(smallest[most]))
        if folds is not None:
            raise ValueError(f"cv must be None, or 'auto', where more than {SAMPLE_ROWS} rows are different.")
    return plan, exponent or 0, survey.missing, folds


def _draft_rows(rules: int, columns: int) -> int:
    """How many rows draft a layer of so many rules: none where there are too many columns."""
    rows = max(LEAST_DRAFT, DRAFT_ROWS * rules)
    return rows if rules and rows * columns <= MOST_DRAFTED else 0


def _folds(sample: Sample, plan: Plan, cv: Folding, unit: float, threads: int) -> tuple[RowSets, ...]:
    """The rows so many times, each time with other rows to validate on; folds without either kind are left out."""
    assert cv is not None
    assert not isinstance(cv, str)
    if isinstance(cv, int):
        dealt = _dealt(sample, cv)
        shares = [(dealt != fold, dealt == fold) for fold in range(cv)]
    else:
        shares = [(np.isin(sample.hashes, learn), np.isin(sample.hashes, validate)) for learn, validate in cv]
    validation_plan = replace(plan, loss=plan.loss_of(True))
    inside = threads if sample.columns.size > _MANY_VALUES else 1  # side by side they have little left to share

    def fold(share: Sequence[NDArray[np.bool_]]) -> RowSets:
        some = [_some_of(sample, np.flatnonzero(chosen)) for chosen in share]
        train, validation = _engine_of(some[0], plan, inside), _engine_of(some[1], validation_plan, inside)
        return RowSets(train, validation, train, plan.coding, unit)

    there = [share for share in shares if all(chosen.any() for chosen in share)]
    return tuple(ThreadPool(threads).map(fold, there))


def _dealt(sample: Sample, number: int) -> Integers:
    """A fold for every row, by its content: as many as there are folds, next to each other by their target, go to
    different ones."""
    order = np.lexsort((sample.hashes, sample.target))
    group = np.empty(len(order), np.int64)
    group[order] = np.arange(len(order)) // number
    dealt = np.empty(len(order), np.int64)
    within = np.lexsort((sample.hashes, group))
    dealt[within] = (np.arange(len(order)) + group[within] % number) % number
    return dealt


def _some_of(sample: Sample, rows: Integers) -> Sample:
    columns = np.take(sample.columns, rows, axis=1)
    return Sample(sample.hashes[rows], columns, sample.target[rows], sample.weight[rows])


def _few_and_often(counts: Integers, rows: float) -> bool:
    """True for a few different rows, each there many times: to set one aside is to leave a group unseen."""
    different = np.count_nonzero(counts)
    return bool(different <= _FEW and rows >= _OFTEN * different)


def _together(parts: Sequence[Sample]) -> Sample:
    one = parts[0].hashes
    if len(parts) == 1 and (one[1:] > one[:-1]).all():  # they are
        return replace(parts[0], columns=np.ascontiguousarray(parts[0].columns))
    hashes, first, number = np.unique(
        np.concatenate([part.hashes for part in parts]), return_index=True, return_inverse=True
    )
    weight = np.zeros(len(hashes), np.int64)
    np.add.at(weight, number, np.concatenate([part.weight for part in parts]))
    columns = np.concatenate([part.columns for part in parts], axis=1)[:, first]
    target = np.concatenate([part.target for part in parts])[first]
    return Sample(hashes, np.ascontiguousarray(columns), target, weight)


def _engine_of(sample: Sample, plan: Plan, threads: int) -> MemoryEngine:
    heavy = None if np.all(sample.weight == 1) else sample.weight
    columns = sample.columns if plan.coding is None else plan.coding.columns(sample.columns)
    part = part_of(columns, sample.target, heavy, plan.loss, min(threads, _MOST_SEARCHERS))
    return MemoryEngine(part, plan.loss)
