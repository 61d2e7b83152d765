"""Rows on the workers of a Dask cluster, asked through futures.

The rows are shared out among the threads of the workers. A share is the result of a task, so that Dask makes it again
elsewhere when its worker is lost. The network so far travels with every question; what the neurons answer is kept
beside the rows, where the next question finds it, and is worked out again wherever it is missing.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Concatenate

import numpy as np
from numpy.typing import NDArray

from bgn.engines.block import Block, Plan, Survey
from bgn.engines.celled import CellEngine
from bgn.engines.cluster.calls import Calls
from bgn.engines.part import Part
from bgn.engines.protocol import Integers, Loss, Output
from bgn.engines.requests import Answer, Arguments, CellPart, RawBlock, RowPart, answer
from bgn.model.neuron import Neuron


class RawRows(Block):
    """Raw rows that tell Dask their size; what was worked out about them does not travel."""

    def __sizeof__(self) -> int:
        return _size(self.columns, self.target, self.weight)

    def __reduce__(self) -> tuple[Any, ...]:
        return RawRows, (self.columns, self.target, self.weight)


@dataclass(frozen=True)
class Standing:
    """How far a layer has grown: the layers below, the neuron in every slot, the output settled last."""

    below: tuple[tuple[Neuron, ...], ...] = ()
    slots: tuple[Neuron | None, ...] = ()
    output: Output = field(default_factory=lambda: Output(np.zeros(0, np.int64), 0))

    def after(self, request: Callable[..., Any], *arguments: Any) -> Standing:
        """What holds once a request has been answered; few change anything."""
        if request is RowPart.settle:
            return replace(self, output=arguments[0])
        if request not in (RowPart.put, RowPart.move):
            return self
        slot, neuron = arguments if request is RowPart.put else (arguments[1], self.slots[arguments[0]])
        slots = [*self.slots, *[None] * (slot + 1 - len(self.slots))]
        slots[slot] = neuron
        return replace(self, slots=tuple(slots))


class HeldRows:
    """A share of the rows on a worker and, as long as it lives there, the part that grows on it.

    Only the rows travel, to another worker or to its disk.
    """

    def __init__(self, columns: NDArray[Any], target: Integers, weight: Integers | None, loss: Loss) -> None:
        self._rows = columns, target, weight, loss
        self._grown: tuple[Standing, Part] | None = None
        self._lock = Lock()  # a question that nobody waits for any more may still be at work

    def __sizeof__(self) -> int:
        return _size(*self._rows[:3])

    def __reduce__(self) -> tuple[Any, ...]:
        return HeldRows, self._rows

    def answer(
        self, standing: Standing, request: Callable[Concatenate[CellPart, Arguments], Answer],
        *arguments: Arguments.args, **named: Arguments.kwargs,
    ) -> Answer:  # fmt: skip
        """Answer a request for the network as it stands, whatever was asked here before."""
        with self._lock:
            grown, self._grown = self._grown, None  # forgotten if anything fails
            part = self._part(standing, grown)
            told = answer(part, request, *arguments, **named)
            self._grown = standing.after(request, *arguments), part
            return told

    def _part(self, standing: Standing, grown: tuple[Standing, Part] | None) -> Part:
        """The part with the answers of every neuron as it stands."""
        if grown is None or grown[0].below != standing.below:
            part = Part(*self._rows)
            for neurons in standing.below:
                part = part.next_layer(neurons)
            grown = Standing(standing.below), part
        known, part = grown
        held = [*known.slots, *[None] * (len(standing.slots) - len(known.slots))]
        wanted = enumerate(standing.slots)
        stale = [(slot, neuron) for slot, neuron in wanted if neuron is not None and neuron != held[slot]]
        for slot, neuron in stale:
            part.put(slot, neuron)
        if stale:
            part.forget()
        now, output = part.output, standing.output
        if now.base != output.base or not np.array_equal(now.weights, output.weights):
            part.settle(output)
        return part


class PartsOnCluster:
    """Parts on the workers, all asked at once; see :class:`bgn.engines.requests.Parts`."""

    def __init__(self, calls: Calls, shares: Sequence[Any], standing: Standing | None = None) -> None:
        self._calls, self._shares = calls, shares
        self._standing = Standing() if standing is None else standing

    def ask(
        self, request: Callable[Concatenate[CellPart, Arguments], Answer], *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> list[Answer]:  # fmt: skip
        """Put a request to all parts."""
        answers: list[Answer] = []
        if request is not RowPart.move:  # sent with the next request
            message = pickle.dumps((self._standing, request, arguments))
            answers = self._calls.answers(request.__name__, _answer, self._shares, message)
        self._standing = self._standing.after(request, *arguments)
        return answers

    def next_layer(self, neurons: Sequence[Neuron]) -> PartsOnCluster:
        """The same rows with the +-1 answers of `neurons` for columns."""
        return PartsOnCluster(self._calls, self._shares, Standing((*self._standing.below, tuple(neurons))))


class OnCluster:
    """Rows on a cluster, as a source; see :class:`bgn.engines.requests.RowSource`.

    `partitions` are delayed :class:`RawRows`. They are read when first asked, wherever Dask sees fit, and put together
    thread by thread; `judge` is told what the survey found.
    """

    def __init__(
        self, calls: Calls, partitions: Sequence[Any], weighted: bool, judge: Callable[[Sequence[Survey]], None]
    ) -> None:
        self._calls, self._partitions, self.weighted, self._judge = calls, partitions, weighted, judge
        self._blocks: list[Any] = []

    def ask(
        self, request: Callable[Concatenate[RawBlock, Arguments], Answer], *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> list[Any]:  # fmt: skip
        """Put a request to all blocks."""
        answers = self._calls.answers(request.__name__, _ask, self._read(), pickle.dumps((request, arguments)))
        if request is RawBlock.survey:
            self._judge(answers)
        if request is RawBlock.sample:  # the last that raw rows are asked
            self._calls.release(self._blocks)
            self._blocks = []
        return answers

    def engine(self, plan: Plan, held_out: bool) -> CellEngine:
        """The rows that learn, or those that validate."""
        shares = self._calls.hold("rows", _hold, self._read(), plan, held_out)
        return CellEngine(PartsOnCluster(self._calls, shares), plan.loss)

    def _read(self) -> list[Any]:
        if not self._blocks:
            partitions = self._calls.compute(self._partitions)
            self._calls.answers("reading", _is_there, partitions)
            self._blocks = self._calls.hold("join", _join, self._calls.by_thread(partitions))
            self._calls.release(partitions)
        return self._blocks


def _is_there(rows: RawRows) -> bool:
    """What a task answers when all it waits for is that another is done."""
    return True


def _join(parts: Sequence[RawRows]) -> RawRows:
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(len(part.target) for part in parts)]).tolist()
    columns = np.empty((len(parts[0].columns), ends[-1]), parts[0].columns.dtype)
    for part, start, stop in zip(parts, ends, ends[1:], strict=False):
        columns[:, start:stop] = part.columns
    target = np.concatenate([part.target for part in parts])
    weights = [part.weight for part in parts if part.weight is not None]
    return RawRows(columns, target, np.concatenate(weights) if weights else None)


def _ask(block: RawRows, message: bytes) -> Any:
    request, arguments = pickle.loads(message)
    return answer(block, request, *arguments)


def _hold(block: RawRows, plan: Plan, held_out: bool) -> HeldRows:
    part = block.part(plan, held_out)
    return HeldRows(part.columns, part.target, part.weight if len(part.weight) else None, part.loss)


def _answer(rows: HeldRows, message: bytes) -> Any:
    standing, request, arguments = pickle.loads(message)
    return rows.answer(standing, request, *arguments)


def _size(*arrays: NDArray[Any] | None) -> int:
    return sum(array.nbytes for array in arrays if array is not None)
