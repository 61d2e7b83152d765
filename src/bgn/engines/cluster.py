"""Rows on the workers of a Dask cluster: tasks and waiting for them, the engine, and collections as partitions.

The rows are divided among the threads of the workers. A share is the result of a task, so that Dask makes it again
elsewhere when its worker is lost. The network so far travels with every request; what the rules answer is kept
beside the rows, where the next request finds it, and is worked out again wherever it is missing. Waiting never lasts
for ever, and an error says what it waited for.
"""

from __future__ import annotations

import asyncio
import pickle
import pkgutil
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, pairwise
from operator import truth
from threading import Lock
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.utils import parse_timedelta
from distributed import Client, Future, KilledWorker
from distributed.client import FutureCancelledError
from numpy.typing import NDArray

from bgn import __version__
from bgn.engines.memory import Part, part_of
from bgn.engines.protocol import (
    NO_OUTPUT,
    CellPart,
    Floats,
    Integers,
    Loss,
    Output,
    Parts,
    RawBlock,
    Reply,
    Request,
    RowPart,
    RowSource,
)
from bgn.engines.raw_rows import Plan, RawRows, Survey
from bgn.engines.reduce import CellEngine
from bgn.inputs.dask_tables import Layout, aligned, layout_of, no_rows, whole_rows
from bgn.inputs.frames import LARGEST_VALUE
from bgn.inputs.kinds import FROM_DTYPE, ColumnKind, TableKinds, chosen_columns
from bgn.inputs.target import Classes, Label, labels_in, tally
from bgn.model.schema import Schema
from bgn.model.term import Oblique
from bgn.model.values import rows_where
from bgn.require import require

_LOOK = 2.0  # seconds between looks at the cluster


class ClusterTasks:
    """The calls of one fit: tasks with names of their own, on the workers that hold the rows. How long to wait is set
    in Dask's configuration: ``bgn.no-workers`` (one minute) without any worker that runs, ``bgn.longest-pass`` (one
    hour) for the replies to one request."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._fit, self._number = uuid.uuid4().hex[:8], count()
        self._held: dict[str, Future] = {}
        self._no_workers = parse_timedelta(dask.config.get("bgn.no-workers", "60s"))
        self._longest = parse_timedelta(dask.config.get("bgn.longest-pass", "1h"))

    def check_workers(self) -> None:
        """Make sure that the workers know bgn, and the same: one that cannot read a task dies of it."""
        ask, name = dask.delayed(pkgutil.resolve_name, pure=False), self.name("version")
        try:
            (there,) = self.results("version", [ask("bgn:__version__", dask_key_name=name)])
        except ImportError as error:
            raise ImportError(f"the workers of {self._where} cannot import bgn ({error}). Install it there.") from None
        if there != __version__:
            raise ImportError(f"the workers of {self._where} have bgn {there}; install {__version__}, as here.")

    # -- tasks ---------------------------------------------------------------------------------------------

    def name(self, what: str) -> str:
        """A name for tasks, which the dashboard shows as ``bgn-what``."""
        return f"bgn-{what.replace('_', '-')}-{self._fit}-{next(self._number)}"

    def compute(self, tasks: Sequence[Any]) -> list[Future]:
        """Start to compute something delayed that stays on the workers."""
        return self._keep(self.client.compute(list(tasks)))

    def hold(self, what: str, function: Callable[..., Any], items: Sequence[Any], *arguments: Any) -> list[Future]:
        """Start to make something of every item that stays on the workers."""
        return self._keep(self._submit(what, function, items, *arguments))

    def replies(self, what: str, function: Callable[..., Any], items: Sequence[Any], *arguments: Any) -> list[Any]:
        """What `function` makes of every item, here."""
        return self._collect(self._submit(what, function, items, *arguments), what)

    def results(self, what: str, tasks: Sequence[Any]) -> list[Any]:
        """What something delayed amounts to, here."""
        return self._collect(self.client.compute(list(tasks)), what)

    def _submit(self, what: str, function: Callable[..., Any], items: Sequence[Any], *arguments: Any) -> list[Future]:
        """Start one task per item, where the item is. Workers are not named: a task that names one that is gone may
        wait for ever. The tasks of a pass make a group of their own; a larger one Dask would take for tasks that can
        run anywhere, and move rows about."""
        name = self.name(what)
        keys = [(name, k) for k in range(len(items))]
        return self.client.map(partial(_call, function, arguments), items, key=keys, pure=False)

    def by_thread(self, futures: Sequence[Future]) -> list[list[Future]]:
        """Results that are done, in lists: one for every thread of the workers that hold them."""
        where, threads = self.client.who_has(futures), self.client.nthreads()
        homes: dict[str, list[Future]] = {}
        for future in futures:
            homes.setdefault(next(iter(where.get(future.key, ())), ""), []).append(future)
        shares = [(held, threads.get(home, 1)) for home, held in homes.items()]
        return [held[k::number] for held, number in shares for k in range(min(number, len(held)))]

    def _keep(self, futures: list[Future]) -> list[Future]:
        self._held |= {str(future.key): future for future in futures}
        return futures

    def release(self, futures: Sequence[Future] | None = None) -> None:
        """Let the workers forget shares, or all of them."""
        for future in list(self._held.values()) if futures is None else futures:
            self._held.pop(str(future.key)).release()

    # -- waiting -------------------------------------------------------------------------------------------

    def _collect(self, futures: list[Future], what: str) -> list[Any]:
        loop: Any = self.client.loop
        gathering = asyncio.run_coroutine_threadsafe(self.client.gather(futures, asynchronous=True), loop.asyncio_loop)
        try:
            return self._wait(gathering, futures, f"{what!r}, {len(futures)} tasks")
        except BaseException:  # nobody will want these answers, so nobody should work on them
            with suppress(OSError):
                if self.client.status == "running":
                    self.client.cancel(futures)
            raise

    def _wait(self, gathering: Any, futures: list[Future], what: str) -> list[Any]:
        """Wait, looking at the cluster every now and then."""
        started = somebody = time.monotonic()
        while True:
            try:
                return gathering.result(timeout=_LOOK)
            except KilledWorker as error:
                raise RuntimeError(
                    f"waiting for {what}: the workers that took on the task {error.task!r} died one after the other, "
                    f"the last at {error.last_worker.address}. Most often they ran out of memory; their logs know. "
                    f"{_MEMORY}"
                ) from error
            except MemoryError as error:
                raise MemoryError(f"a worker ran out of memory while working on {what}. {_MEMORY}") from error
            except (FutureCancelledError, asyncio.CancelledError) as error:
                raise RuntimeError(self._lost(what)) from error
            except TimeoutError:
                if gathering.done():
                    raise
            now, workers = time.monotonic(), self._workers()
            if any(worker["status"] == "running" for worker in workers.values()):
                somebody = now
            if now - somebody > self._no_workers:
                raise RuntimeError(self._nobody(what, workers))
            if now - started > self._longest:
                left = sum(not future.done() for future in futures)
                raise TimeoutError(
                    f"waited {now - started:.0f} s for {what}; {left} are still missing. If that is what they take, "
                    "raise 'bgn.longest-pass' in dask.config."
                )

    def _workers(self) -> dict[str, Any]:
        try:
            return self.client.scheduler_info()["workers"] if self.client.status == "running" else {}
        except OSError:
            return {}

    def _nobody(self, what: str, workers: dict[str, Any] | None = None) -> str:
        if workers:
            state = f"all {len(workers)} workers of {self._where} have been paused, as Dask does when memory runs short"
            return f"waiting for {what}: {state}, for {self._no_workers:.0f} s. {_MEMORY}"
        return (
            f"waiting for {what}: {self._where} has had no workers for {self._no_workers:.0f} s. Start some, or raise "
            "'bgn.no-workers' in dask.config."
        )

    def _lost(self, what: str) -> str:
        if self.client.status != "running":
            return f"waiting for {what}: the connection to {self._where} was lost."
        return (
            f"waiting for {what}: rows were lost with their worker and cannot be made again, or somebody cancelled "
            "them. Data that was scattered exists once; let tasks read or make it (dask.dataframe.read_parquet, "
            "dask.array.from_array)."
        )

    @property
    def _where(self) -> str:
        scheduler = self.client.scheduler
        return f"the scheduler at {scheduler.address}" if scheduler is not None else "the scheduler"


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], item: Any) -> Any:
    return function(item, *arguments)


_MEMORY = (
    "Give the workers more memory, start more of them, or use float32 columns; a worker needs about twice the size "
    "of its share of the rows while they are read."
)


class RawRowsOnCluster(RawRows):
    """Raw rows that tell Dask their size; what was worked out about them does not travel."""

    def __sizeof__(self) -> int:
        return _size(self.columns, self.target, self.weight)

    def __reduce__(self) -> tuple[Any, ...]:
        return RawRowsOnCluster, (self.columns, self.target, self.weight)


@dataclass(frozen=True)
class Standing:
    """How far a layer has grown: the layers below, the rule in every slot, the current output."""

    below: tuple[tuple[Oblique, ...], ...] = ()
    slots: tuple[Oblique | None, ...] = ()
    output: Output = NO_OUTPUT

    def after(self, request: Request[CellPart, Any]) -> Standing:
        """What holds once a request has been answered; few change anything."""
        arguments: Any = request.arguments
        if request.method is RowPart.settle:
            return replace(self, output=arguments[0])
        if request.method not in (RowPart.put, RowPart.move):
            return self
        slot, rule = arguments if request.method is RowPart.put else (arguments[1], self.slots[arguments[0]])
        slots = [*self.slots, *[None] * (slot + 1 - len(self.slots))]
        slots[slot] = rule
        return replace(self, slots=tuple(slots))


_NOTHING_GROWN = Standing()


class HeldRows:
    """A share of the rows on a worker and, as long as it lives there, the part that grows on it. Only the rows travel,
    to another worker or to its disk."""

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
        """The part with the answers of every rule as it stands."""
        if grown is None or grown[0].below != standing.below:
            part = part_of(*self._rows)
            for rules in standing.below:
                part = part.next_layer(rules)
            grown = Standing(standing.below), part
        known, part = grown
        held = [*known.slots, *[None] * (len(standing.slots) - len(known.slots))]
        wanted = enumerate(standing.slots)
        stale = [(slot, rule) for slot, rule in wanted if rule is not None and rule != held[slot]]
        for slot, rule in stale:
            part.put(slot, rule)
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

    def next_layer(self, rules: Sequence[Oblique]) -> PartsOnCluster:
        return PartsOnCluster(self._tasks, self._shares, Standing((*self._standing.below, tuple(rules))))


class OnCluster(RowSource):
    """Rows on a cluster, as a source. `partitions` are delayed :class:`RawRowsOnCluster`. They are read when first
    asked, wherever Dask sees fit, and put together thread by thread; `check` gets what the survey found."""

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
            self._tasks.replies("reading", truth, partitions)
            self._blocks = self._tasks.hold("join", _join, self._tasks.by_thread(partitions))
            self._tasks.release(partitions)
        return self._blocks


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


_AS_THEY_ARE = {"enforce_metadata": False, "transform_divisions": False, "align_dataframes": False}


def schema_on_cluster(
    tasks: ClusterTasks, X: Any, categorical_features: Any = FROM_DTYPE, target: str | None = None, weight: Any = None
) -> Schema:
    """Decide what every column of a collection is; the workers look at those whose type does not tell.
    `categorical_features` is as for :func:`bgn.inputs.kinds.schema_of`. Rows of `weight` 0 tell nothing."""
    X = whole_rows(X)
    types = TableKinds.of(no_rows(X), categorical_features)
    if not types.undecided:
        return types.schema(target)
    # What Dask knows of categories before it has read them may not be so.
    decided = (kind if kind.decided_by_type else ColumnKind(kind.name) for kind in types.columns)
    kinds = replace(types, columns=tuple(decided))
    categorical = categorical_features
    if types.named:
        names = tuple(column.name for column in types.columns)
        chosen = chosen_columns(categorical, names, len(names))
        X, categorical = X[list(types.undecided)], sorted(names[place] for place in chosen) if types.text else None
    look = dask.delayed(_kinds_of, pure=False)
    if weight is None:
        parts = _delayed(X)
    else:
        parts = _together(tasks, {"X": X, "sample_weight": aligned(X, weight, "sample_weight")})
    return kinds.merged(*tasks.results("kinds", [look(part, categorical) for part in parts])).schema(target)


def _kinds_of(rows: Any, categorical_features: Any) -> TableKinds:
    """What a partition tells: X alone, or X and the weights of its rows."""
    if isinstance(rows, tuple | list):
        X, weight = rows
        rows = rows_where(X, np.asarray(weight, dtype=np.float64) > 0)
    return TableKinds.of(rows, categorical_features)


def rows_on_cluster(
    tasks: ClusterTasks,
    given: Any,
    check: Callable[[Sequence[Survey]], None],
    schema: Schema | None = None,
) -> OnCluster:
    """Check what can be checked without reading, and say how every partition is to be read. `given` has `X`, `y`,
    `weight` and, where targets are labels, `classes`. With a schema, columns may hold all that it can encode, and
    missing values; without, they must hold finite numbers."""
    X, classes = whole_rows(given.X), given.classes
    layout = layout_of(X, numbers=schema is None)
    others = {"y": given.y} if given.weight is None else {"y": given.y, "sample_weight": given.weight}
    tables = {"X": X} | {name: aligned(X, other, name) for name, other in others.items()}
    read, name = dask.delayed(read_rows, pure=False), tasks.name("partition")
    partitions = [
        read(number, layout, rows, schema, classes, dask_key_name=f"{name}-{number}")
        for number, rows in enumerate(_together(tasks, tables))
    ]
    weighted = given.weight is not None or (classes is not None and classes.weights is not None)
    return OnCluster(tasks, partitions, weighted, check)


def labels_on_cluster(tasks: ClusterTasks, y: Any) -> list[Counter[Label]]:
    """How many rows have each of the different labels, partition by partition."""
    count = dask.delayed(_labels, pure=False)
    return tasks.results("labels", [count(part) for part in _delayed(y)])


def tallies_on_cluster(tasks: ClusterTasks, y: Any) -> Iterator[tuple[list[Any], int]]:
    """Yield what :func:`bgn.inputs.target.tally` says of every partition; the first is asked before the others."""
    count, parts = dask.delayed(tally, pure=False), _delayed(y)
    yield from tasks.results("targets", [count(part) for part in parts[:1]])
    yield from tasks.results("targets", [count(part) for part in parts[1:]])


def _labels(y: Any) -> Counter[Label]:
    """How many rows of a partition have each of its different labels."""
    if not len(y):
        return Counter()
    labels = labels_in(y)
    codes = Classes(labels).codes(y).astype(np.intp)
    return Counter(dict(zip(labels, np.bincount(codes, minlength=len(labels)).tolist(), strict=True)))


def _together(tasks: ClusterTasks, tables: dict[str, Any]) -> list[Any]:
    """The rows of X with what belongs to them, partition by partition."""
    frames = [pieces for pieces in tables.values() if not isinstance(pieces, da.Array)]
    if len(frames) == len(tables) and len({pieces.npartitions for pieces in frames}) == 1:
        return _delayed(dd.map_partitions(_side_by_side, *frames, **_AS_THEY_ARE, meta=frames[0]._meta))
    parts = {name: _delayed(table) for name, table in tables.items()}
    if len({len(pieces) for pieces in parts.values()}) > 1:
        parts = _cut_alike(tasks, parts)
    return list(zip(*parts.values(), strict=True))


def _side_by_side(*parts: Any) -> tuple[Any, ...]:
    return parts


def _cut_alike(tasks: ClusterTasks, parts: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns cut where X is, by counting rows: for numbers of partitions that differ, of lengths that are unknown."""
    count, cut = dask.delayed(len, pure=False), dask.delayed(_cut, pure=False)
    lengths = iter(tasks.results("lengths", [count(part) for pieces in parts.values() for part in pieces]))
    edges = {name: np.cumsum([0, *(next(lengths) for _ in pieces)]) for name, pieces in parts.items()}
    alike = {"X": parts["X"]}
    for name, pieces in parts.items():
        if edges[name][-1] != edges["X"][-1]:
            raise ValueError(f"X has {edges['X'][-1]} rows and {name} has {edges[name][-1]}.")
        if name != "X":
            alike[name] = [cut(pieces[k : m + 1], *ends) for k, m, *ends in _pieces(edges["X"], edges[name])]
    return alike


def _pieces(wanted: NDArray[Any], there: NDArray[Any]) -> Iterator[tuple[int, int, int, int]]:
    """For every piece that is wanted: its first and its last partition, and where it begins and ends in them."""
    last = len(there) - 2
    for start, stop in pairwise(wanted.tolist()):
        k = min(int(np.searchsorted(there, start, side="right")) - 1, last)
        m = max(k, min(int(np.searchsorted(there, stop, side="left")) - 1, last))
        yield k, m, start - int(there[k]), stop - int(there[k])


def _delayed(collection: Any) -> list[Any]:
    """The partitions, one after the other. Those of a frame are the ones that its user sees, of which only the columns
    that matter are read. Dask's own optimiser would put some of them together, more of a few columns than of many."""
    if isinstance(collection, da.Array):
        return list(collection.to_delayed().ravel())
    simplify = getattr(collection, "simplify", lambda: collection)
    return list(simplify().to_delayed(optimize_graph=False))


# -- on a worker -------------------------------------------------------------------------------------------------


def read_rows(
    number: int, layout: Layout, rows: tuple[Any, ...], schema: Schema | None = None, classes: Classes | None = None
) -> RawRowsOnCluster:
    """Take a partition (X, y, perhaps weights) column by column, or name the column that holds something else."""
    X, y, weight = rows if len(rows) == 3 else (*rows, None)
    names = tuple(X.columns) if hasattr(X, "columns") else None
    n_columns = len(names) if names is not None else np.shape(X)[1]
    if names != layout.names or n_columns != layout.n_columns:
        raise ValueError(
            f"Partition {number} of X has the columns {names or n_columns}, not {layout.names or layout.n_columns}."
        )
    columns = _numbers_of(X, layout, number) if schema is None else _encoded(X, layout, number, schema)
    name_of = layout.name if schema is None else schema.names.__getitem__
    for j, column in enumerate(columns):
        largest = float(np.fmax.reduce(np.abs(column), initial=0.0))
        if largest > LARGEST_VALUE:
            raise ValueError(
                f"X has a value of {largest:.3g} in column {name_of(j)!r} of partition {number}; "
                f"beyond {LARGEST_VALUE:g} sums overflow. Rescale the column."
            )
    target = _column(y if classes is None else classes.codes(y), "y", number, len(X))
    heavy = None if weight is None else _column(weight, "sample_weight", number, len(X))
    if heavy is not None and (heavy < 0).any():
        raise ValueError(f"sample_weight has negative values in partition {number}, the least {heavy.min():g}.")
    return RawRowsOnCluster(columns, target, heavy if classes is None else classes.weighted(target, heavy))


def _numbers_of(X: Any, layout: Layout, number: int) -> NDArray[Any]:
    columns = np.empty((layout.n_columns, len(X)), layout.dtype)
    for j, column in enumerate(columns):
        where = f"X in column {layout.name(j)!r} of partition {number}"
        column[:] = _numbers(X[:, j] if layout.names is None else X.iloc[:, j], layout.dtype, where)
    return columns


def _encoded(X: Any, layout: Layout, number: int, schema: Schema) -> NDArray[Any]:
    try:
        rows = schema.encode(X, missing=True)
    except ValueError as error:
        raise ValueError(f"Partition {number}: {error}") from None
    return np.ascontiguousarray(rows.T, layout.dtype if schema.all_numbers else np.float64)


def _cut(parts: Sequence[Any], start: int, stop: int) -> Any:
    if hasattr(parts[0], "iloc"):
        return require("pandas", extra="dask").concat(parts).iloc[start:stop]
    return np.concatenate(parts)[start:stop]


def _column(values: Any, name: str, number: int, length: int) -> Floats:
    if len(values) != length:
        raise ValueError(f"Partition {number}: X has {length} rows and {name} has {len(values)}.")
    return np.array(_numbers(values, np.float64, f"{name} in partition {number}"))


def _numbers(values: Any, dtype: Any, where: str) -> NDArray[Any]:
    """The values as finite numbers."""
    try:
        if hasattr(values, "to_numpy"):  # a series, perhaps of a dtype that has a value for nothing
            numbers = values.to_numpy(dtype=dtype, na_value=np.nan)
        else:
            numbers = np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Input {where} does not hold numbers: {error}") from None
    if not (fine := np.isfinite(numbers)).all():
        kind = "NaN" if np.isnan(numbers).any() else "infinity"
        variable, _, place = where.partition(" ")
        raise ValueError(
            f"Input {variable} contains {kind} {place} ({(~fine).sum()} of {len(numbers)} rows). Drop or fill them."
        )
    return numbers
