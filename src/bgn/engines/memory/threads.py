"""Threads that share small pieces of work, without the waiting that futures bring."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any


class ThreadPool:
    """Some threads, this one among them, that work off lists of items.

    Whoever is free takes the next item, so a thread that is late to wake keeps nobody waiting. The threads end with the
    pool.

    Parameters
    ----------
    threads : int

    Examples
    --------
    >>> ThreadPool(2).each(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, threads: int) -> None:
        self._others = threads - 1
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        for _ in range(self._others):
            threading.Thread(target=_serve, args=(self._jobs,), daemon=True).start()
        weakref.finalize(self, _dismiss, self._jobs, self._others)

    def each(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Run `work` on every item; the answers in the order of the items."""
        job = _Job(work, items)
        for _ in range(min(self._others, len(items) - 1)):
            self._jobs.put(job)
        done = job.work_off()
        for _ in range(len(items) - done):
            job.ended.get()
        if job.problems:
            raise job.problems[0]
        return job.answers


class _Job:
    """Items, what to do with each, and what came of it."""

    def __init__(self, work: Callable[[Any], Any], items: Sequence[Any]) -> None:
        self._work, self._items = work, items
        self._left = deque(range(len(items)))
        self.answers: list[Any] = [None] * len(items)
        self.problems: list[BaseException] = []
        self.ended: SimpleQueue[None] = SimpleQueue()

    def work_off(self, tell: bool = False) -> int:
        """Do items until none is left; return how many, or tell of each."""
        done = 0
        while self._left:
            try:
                k = self._left.popleft()
            except IndexError:  # somebody else was faster
                break
            try:
                self.answers[k] = self._work(self._items[k])
            except BaseException as problem:
                self.problems.append(problem)
            done += 1
            if tell:
                self.ended.put(None)
        return done


def _serve(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job.work_off(tell=True)
        del job


def _dismiss(jobs: SimpleQueue[_Job | None], threads: int) -> None:
    for _ in range(threads):
        jobs.put(None)
