"""Rows on the workers of a Dask cluster, asked through futures.

The rows are divided among the threads of the workers. A share is the result of a task, so that Dask makes it again
elsewhere when its worker is lost. The network so far travels with every request; what the neurons answer is kept
beside the rows, where the next request finds it, and is worked out again wherever it is missing.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.cell_engine import CellEngine
from bgn.engines.class_part import part_of
from bgn.engines.cluster.tasks import ClusterTasks
from bgn.engines.part import Part
from bgn.engines.protocol import NO_OUTPUT, Integers, Loss, Output
from bgn.engines.raw_rows import Plan, RawRows, Survey
from bgn.engines.requests import CellPart, Parts, RawBlock, Reply, Request, RowPart, RowSource
from bgn.model.neuron import Neuron


class RawRowsOnCluster(RawRows):
    """Raw rows that tell Dask their size; what was worked out about them does not travel."""

    def __sizeof__(self) -> int:
        return _size(self.columns, self.target, self.weight)

    def __reduce__(self) -> tuple[Any, ...]:
        return RawRowsOnCluster, (self.columns, self.target, self.weight)


@dataclass(frozen=True)
class Standing:
    """How far a layer has grown: the layers below, the neuron in every slot, the current output."""

    below: tuple[tuple[Neuron, ...], ...] = ()
    slots: tuple[Neuron | None, ...] = ()
    output: Output = NO_OUTPUT

    def after(self, request: Request[CellPart, Any]) -> Standing:
        """What holds once a request has been answered; few change anything."""
        arguments: Any = request.arguments
        if request.method is RowPart.settle:
            return replace(self, output=arguments[0])
        if request.method not in (RowPart.put, RowPart.move):
            return self
        slot, neuron = arguments if request.method is RowPart.put else (arguments[1], self.slots[arguments[0]])
        slots = [*self.slots, *[None] * (slot + 1 - len(self.slots))]
        slots[slot] = neuron
        return replace(self, slots=tuple(slots))


_NOTHING_GROWN = Standing()


class HeldRows:
    """A share of the rows on a worker and, as long as it lives there, the part that grows on it.

    Only the rows travel, to another worker or to its disk.
    """

    def __init__(self, columns: NDArray[Any], target: Integers, weight: Integers | None, loss: Loss) -> None:
        self._rows = columns, target, weight, loss
        self._grown: tuple[Standing, Part] | None = None
        self._lock = Lock()  # a request that nobody waits for any more may still be at work

    def __sizeof__(self) -> int:
        return _size(*self._rows[:3])

    def __reduce__(self) -> tuple[Any, ...]:
        return HeldRows, self._rows

    def reply(self, standing: Standing, request: Request[CellPart, Reply]) -> Reply:
        """Answer a request for the network as it stands, whatever was asked here before."""
        with self._lock:
            grown, self._grown = self._grown, None  # forgotten if anything fails
            part = self._part(standing, grown)
            reply = request.put_to(part)
            self._grown = standing.after(request), part
            return reply

    def _part(self, standing: Standing, grown: tuple[Standing, Part] | None) -> Part:
        """The part with the answers of every neuron as it stands."""
        if grown is None or grown[0].below != standing.below:
            part = part_of(*self._rows)
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
        if not part.output.same(standing.output):
            part.settle(standing.output)
        return part


class PartsOnCluster(Parts[CellPart]):
    """Parts on the workers, all asked at once."""

    def __init__(self, tasks: ClusterTasks, shares: Sequence[Any], standing: Standing = _NOTHING_GROWN) -> None:
        self._tasks, self._shares, self._standing = tasks, shares, standing

    def replies(self, request: Request[CellPart, Reply]) -> list[Reply]:
        replies: list[Reply] = []
        if request.method is not RowPart.move:  # sent with the next request
            message = pickle.dumps((self._standing, request))
            replies = self._tasks.replies(request.name, _reply, self._shares, message)
        self._standing = self._standing.after(request)
        return replies

    def next_layer(self, neurons: Sequence[Neuron]) -> PartsOnCluster:
        return PartsOnCluster(self._tasks, self._shares, Standing((*self._standing.below, tuple(neurons))))


class OnCluster(RowSource):
    """Rows on a cluster, as a source.

    `partitions` are delayed :class:`RawRowsOnCluster`. They are read when first asked, wherever Dask sees fit, and put
    together thread by thread; `check` gets what the survey found.
    """

    def __init__(
        self, tasks: ClusterTasks, partitions: Sequence[Any], weighted: bool, check: Callable[[Sequence[Survey]], None]
    ) -> None:
        self._tasks, self._partitions, self.weighted, self._check = tasks, partitions, weighted, check
        self._blocks: list[Any] = []
        self._held: tuple[Plan | None, list[Any]] = None, []

    def replies(self, request: Request[RawBlock, Reply]) -> list[Any]:
        replies = self._tasks.replies(request.name, _reply_raw, self._read(), pickle.dumps(request))
        if request.method is RawBlock.survey:
            self._check(replies)
        return replies

    def close(self) -> None:
        self._tasks.release(self._blocks)
        self._blocks = []

    def engine(self, plan: Plan, held_out: bool) -> CellEngine:
        if self._held[0] is not plan:
            self._tasks.release(self._held[1])  # whoever grew on them is done
            self._held = plan, []
        shares = self._tasks.hold("rows", _hold, self._read(), plan, held_out)
        self._held[1].extend(shares)
        return CellEngine(PartsOnCluster(self._tasks, shares), plan.loss_of(held_out))

    def _read(self) -> list[Any]:
        if not self._blocks:
            partitions = self._tasks.compute(self._partitions)
            self._tasks.replies("reading", _is_there, partitions)
            self._blocks = self._tasks.hold("join", _join, self._tasks.by_thread(partitions))
            self._tasks.release(partitions)
        return self._blocks


def _is_there(rows: RawRowsOnCluster) -> bool:
    """What a task answers when all it waits for is that another is done."""
    return True


def _join(parts: Sequence[RawRowsOnCluster]) -> RawRowsOnCluster:
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(len(part.target) for part in parts)]).tolist()
    columns = np.empty((len(parts[0].columns), ends[-1]), parts[0].columns.dtype)
    for part, start, stop in zip(parts, ends, ends[1:], strict=False):
        columns[:, start:stop] = part.columns
    target = np.concatenate([part.target for part in parts])
    weights = [part.weight for part in parts if part.weight is not None]
    return RawRowsOnCluster(columns, target, np.concatenate(weights) if weights else None)


def _reply_raw(block: RawRowsOnCluster, message: bytes) -> Any:
    return pickle.loads(message).put_to(block)


def _hold(block: RawRowsOnCluster, plan: Plan, held_out: bool) -> HeldRows:
    part = block.part(plan, held_out)
    return HeldRows(part.columns, part.target, part.weight if len(part.weight) else None, part.loss)


def _reply(rows: HeldRows, message: bytes) -> Any:
    return rows.reply(*pickle.loads(message))


def _size(*arrays: NDArray[Any] | None) -> int:
    return sum(array.nbytes for array in arrays if array is not None)
