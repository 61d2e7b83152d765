"""How long runs will take, from how long others took: elsewhere, and here so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from experiments.store import Run, Task

# A method's own times decide once it has run for so many seconds (of those elsewhere); before, those of all methods.
_TRUSTED = 20.0
# Those of all methods decide once they have run for so many; before, those elsewhere. Short runs tell more of how long
# packages take to load than of how fast this machine is.
_TRUSTED_TOGETHER = 150.0
# Longer runs do not come first for the estimate's sake.
_SHORT = 30.0


class Estimate:
    """How long things take, from how long they took.

    Parameters
    ----------
    elsewhere : iterable of Run
        Runs that were done somewhere else: how long one took there stands for its time here, until runs here tell how
        much faster or slower this machine is, in general and with each method.
    """

    def __init__(self, elsewhere: Iterable[Run] = ()) -> None:
        self._known: dict[str, float] = {}
        self._units: dict[tuple[str, str], list[float]] = {}
        for run in elsewhere:
            self._known[run.task.key("")] = run.seconds
            unit = self._units.setdefault(_method(run.task), [0.0, 0.0])
            unit[0] += run.seconds
            unit[1] += weight(run.task)
        self._here: dict[tuple[str, str], list[float]] = {}
        self._seen: set[str] = set()

    def learn(self, runs: Iterable[Run]) -> None:
        """Take note of runs that were done here."""
        for run in runs:
            if run.error is None and run.key not in self._seen:
                self._seen.add(run.key)
                here = self._here.setdefault(_method(run.task), [0.0, 0.0])
                here[0] += run.seconds
                here[1] += self.cost([run.task])

    def cost(self, tasks: Iterable[Task]) -> float:
        """Return how long tasks took elsewhere, in seconds; in units of their studies where that is not known."""
        return float(sum(map(self._cost, tasks)))

    def seconds(self, tasks: Iterable[Task]) -> float:
        """Return how long tasks will take here, one after the other; nan as long as nothing is known."""
        spent, paid = (sum(each[k] for each in self._here.values()) for k in (0, 1))
        if not paid and not self._known:
            return float("nan")
        doubt = _TRUSTED_TOGETHER if self._known else 0.0
        speed = (spent + doubt) / (paid + doubt)
        trusted = _TRUSTED if self._known else min(_TRUSTED, paid)
        total = 0.0
        for task in tasks:
            own = self._here.get(_method(task), (0.0, 0.0))
            total += self._cost(task) * (own[0] + trusted * speed) / (own[1] + trusted)
        return total

    def wall(self, batches: Iterable[Sequence[Task]], jobs: int) -> float:
        """Return how long a person waits for batches, so many at a time: at least as long as the longest takes."""
        times = [self.seconds(batch) for batch in batches]
        return max([sum(times) / jobs, *times], default=0.0)

    def _cost(self, task: Task) -> float:
        """Return the cost of one task."""
        known = self._known.get(task.key(""))
        if known is not None:
            return known
        seconds, weights = self._units.get(_method(task), (1.0, 1.0))
        return weight(task) * (seconds / weights if weights else 1.0)


def in_order(batches: Iterable[list[Task]], estimate: Estimate) -> list[list[Task]]:
    """Return batches as they are best done: of every method the longest of the short ones, then the longest first."""
    ordered = sorted(batches, key=estimate.cost, reverse=True)
    first: dict[tuple[str, str], list[Task]] = {}
    for batch in ordered:
        if estimate.cost(batch) <= _SHORT:
            first.setdefault(_method(batch[0]), batch)
    chosen = {id(batch) for batch in first.values()}
    return [*first.values(), *(batch for batch in ordered if id(batch) not in chosen)]


def weight(task: Task) -> float:
    """Return about how long a task takes, in its study's unit."""
    module = import_module(f"experiments.{task.study}")
    return float(module.cost(task)) if hasattr(module, "cost") else 1.0


def _method(task: Task) -> tuple[str, str]:
    """Return what tasks of about the same speed share."""
    return task.study, task.method


def duration(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> [duration(seconds) for seconds in (4.2, 130, 7300)]
    ['4 s', '2 min', '2.0 h']
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def remaining(seconds: float) -> str:
    """Return how much time is left as people say it.

    Examples
    --------
    >>> [remaining(seconds) for seconds in (130, float("nan"))]
    ['2 min left', 'no estimate yet of the time left']
    """
    return "no estimate yet of the time left" if seconds != seconds else f"{duration(seconds)} left"
