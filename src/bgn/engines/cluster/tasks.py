"""Tasks on a Dask cluster, and waiting for them: never for ever, and never without saying what for."""

from __future__ import annotations

import asyncio
import pkgutil
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

import dask
from dask.utils import parse_timedelta
from distributed import Client, Future, KilledWorker
from distributed.client import FutureCancelledError

from bgn import __version__

_LOOK = 2.0  # seconds between looks at the cluster


class ClusterTasks:
    """The calls of one fit: tasks with names of their own, on the workers that hold the rows.

    How long to wait is set in Dask's configuration: ``bgn.no-workers`` (one minute) without any worker that runs,
    ``bgn.longest-pass`` (one hour) for the replies to one request.
    """

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
        """Start one task per item, where the item is.

        Workers are not named: a task that names one that is gone may wait for ever. The tasks of a pass make a group
        of their own; a larger one Dask would take for tasks that can run anywhere, and move rows about.
        """
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
                raise RuntimeError(_killed(error, what)) from error
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
        """The workers that the scheduler knows, if it answers."""
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


def _killed(error: KilledWorker, what: str) -> str:
    return (
        f"waiting for {what}: the workers that took on the task {error.task!r} died one after the other, the last at "
        f"{error.last_worker.address}. Most often they ran out of memory; their logs know. {_MEMORY}"
    )
