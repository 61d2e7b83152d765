"""Averages: several networks, each grown on another share of the rows, and their mean as one network.

Every member is given its rows by a hash of their content with a seed of its own, so that members do not depend on each
other: they grow side by side where rows are in memory, one after the other elsewhere, and are the same either way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from bgn.grow.history import History, LossesAtSize, Monitor, Record, Steps
from bgn.grow.network import GrowthRows, grow_network
from bgn.model.ensemble import mean_of
from bgn.model.network import Network
from bgn.model.schema import Schema

_REASONS = ("interrupted", "callback", "max_seconds")
# Linear terms are worse from so many standard errors of the difference on; the best of many settings seems better.
_SURE = 4.0


@dataclass(frozen=True, repr=False)
class EnsembleHistory(Steps):
    """The growth of several networks whose mean was taken.

    Attributes
    ----------
    members : tuple of History
        How each network grew.
    best_layer : int
        The last layer (index) of the deepest network.
    best_size : int
        Most rules that a network may have in its last layer: the chosen size of the widest, unless a smaller one
        was asked for.
    stopped : str
        Why growth ended: of all networks, or of the one that grew when it was stopped.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from bgn import BGNRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BGNRegressor(ensemble=4, max_terms=3, random_state=0).fit(X, y)
    >>> len(model.history_.members), model.history_.best_size
    (4, 3)
    >>> model.history_.network(1).widths[0] <= 4
    True
    """

    members: tuple[History, ...]
    best_layer: int
    best_size: int
    stopped: str

    @classmethod
    def of(cls, members: Sequence[History], stopped: str = "", select: str = "best") -> EnsembleHistory:
        """The history of some networks at the sizes they chose; `stopped` says why there are no more, if so."""
        members = _linear_or_not(members, select)
        layer, size = (max(getattr(member, name) for member in members) for name in ("best_layer", "best_size"))
        schema = _known_to_all([member.schema for member in members])
        reasons = list(dict.fromkeys(member.stopped for member in members))
        stopped = stopped or next((reason for reason in _REASONS if reason in reasons), ", ".join(reasons))
        return cls(tuple(member.with_schema(schema) for member in members), layer, size, stopped)

    @property
    def records(self) -> tuple[Record, ...]:
        """Every step of every network, one network after the other."""
        return tuple(record for member in self.members for record in member.records)

    @property
    def schema(self) -> Schema:
        """The columns, and what is predicted."""
        return self.members[0].schema

    @property
    def link(self) -> str:
        """What the scores mean."""
        return self.members[0].link

    @property
    def n_inputs(self) -> int:
        """Number of columns."""
        return self.members[0].n_inputs

    @property
    def n_validation(self) -> int:
        """Total weight of the rows that a network was validated on, on average."""
        return round(sum(member.n_validation for member in self.members) / len(self.members))

    @property
    def cross_validated(self) -> bool:
        """Whether the sizes were chosen by cross-validation."""
        return all(member.cross_validated for member in self.members)

    @cached_property
    def paths(self) -> tuple[tuple[LossesAtSize, ...], ...]:
        """For the last layer, the mean losses of the networks at every size; each on its own rows."""
        paths = [member.paths[member.best_layer][: member.best_size + 1] for member in self.members]
        losses = []
        for size in range(max(map(len, paths))):
            at = [path[min(size, len(path) - 1)] for path in paths]
            names = ("train_loss", "validation_loss", "validation_deviation")
            losses.append(LossesAtSize(*(math.fsum(getattr(one, name) for one in at) / len(at) for name in names)))
        return ((),) * self.best_layer + (tuple(losses),)

    def network(self, size: int | None = None, layer: int | None = None) -> Network:
        """Return the mean of the networks, each with no more than so many rules in its last layer.

        Parameters
        ----------
        size : int, optional
            Most rules; a network that chose fewer keeps those. The chosen sizes by default.
        layer : int, optional
            The last one, which is the default.

        Returns
        -------
        Network
        """
        if layer not in (None, self.best_layer):
            raise ValueError(f"layer must be {self.best_layer}, the last of an average's; got {layer}.")
        size, most = self.best_size if size is None else size, len(self.paths[-1]) - 1
        if not 0 <= size <= most:
            raise ValueError(f"size must be one that was grown, 0 to {most}; got {size}.")
        return mean_of([member.network(min(size, member.best_size)) for member in self.members])

    def with_schema(self, schema: Schema) -> EnsembleHistory:
        """The same with other words for the columns."""
        return replace(self, members=tuple(member.with_schema(schema) for member in self.members))

    def __repr__(self) -> str:
        sizes = [member.best_size for member in self.members]
        return f"EnsembleHistory({len(self.members)} networks, sizes {sizes}, stopped: {self.stopped})"


def _linear_or_not(members: Sequence[History], select: str) -> list[History]:
    """The networks as they are; all of linear terms alone, if these validate better; or every second of these, if they
    are worse by less than noise, to one network at least. All networks together tell that better than each by itself:
    they leave out different rows."""
    known = [member.linear_alone for member in members if member.linear_alone is not None]
    if len(known) == len(members):
        count, worse = len(known), [alone.worse for alone in known]
        mean = math.fsum(worse) / count
        std = math.sqrt(math.fsum((value - mean) ** 2 for value in worse) / max(count - 1, 1))
        noise = max(math.fsum(alone.noise for alone in known) / count, _SURE * std) / math.sqrt(count)
        close = mean <= noise and any(alone.worse <= alone.noise for alone in known)
        every = 1 if mean <= 0.0 else 2 if close else count + 1
        members = [member.of_lines(select) if k % every == every - 1 else member for k, member in enumerate(members)]
    return [replace(member, linear_alone=None) for member in members]


def _known_to_all(schemas: Sequence[Schema]) -> Schema:
    """The columns with what all members have seen in them; the first says what a missing value counts as."""
    columns = []
    for same_column in zip(*(schema.columns for schema in schemas), strict=True):
        first, seen = same_column[0], [column.seen for column in same_column if column.seen is not None]
        if seen:
            reach = min(low for low, _ in seen), max(high for _, high in seen)
            lacking = any(column.missing for column in same_column)
            first = replace(first, seen=reach, whole=all(column.whole for column in same_column), missing=lacking)
        columns.append(first)
    return replace(schemas[0], columns=tuple(columns))


def member_seeds(seed: int, count: int) -> list[int]:
    """A seed for every member; the first has the fit's own."""
    return [seed, *(int(np.random.SeedSequence([seed, k]).generate_state(1)[0] >> 1) for k in range(1, count))]


def grow_ensemble(rows: GrowthRows, monitor: Monitor) -> EnsembleHistory:
    """Grow a network per seed. When time is up, or somebody says stop, those that have grown count."""
    members = _Members(rows, monitor)
    histories = members.in_turn() if members.together == 1 else members.side_by_side()
    grown = [history for history in histories if history is not None]
    if monitor.stopped:
        grown = [history for history in grown if history.best_size > 0] or grown
    if not grown:
        raise KeyboardInterrupt
    return EnsembleHistory.of(grown, monitor.stopped, rows.settings.select)


class _Members:
    """Networks that grow on shares of the same rows, and who watches each of them."""

    def __init__(self, rows: GrowthRows, monitor: Monitor) -> None:
        self._rows, self._seeds, self._monitor, lock = rows, rows.seeds, monitor, Lock()
        self._sources = [source for source in (rows.source, rows.evaluation) if source is not None]

        def show(record: Record) -> None:
            with lock:
                assert monitor.on_record is not None
                monitor.on_record(record)

        seen = None if monitor.on_record is None else show
        numbers = range(len(rows.seeds))
        self._watches = [Monitor(None, monitor.callbacks, seen, monitor.started, member=k) for k in numbers]
        concurrent = all(source.for_threads(1) is not None for source in self._sources)
        # Callbacks are called for one network after the other.
        self.together = min(len(rows.seeds), rows.threads) if concurrent and not monitor.callbacks else 1

    def in_turn(self) -> list[History | None]:
        histories: list[History | None] = []
        for number in range(len(self._seeds)):
            for source in self._sources:
                source.kept = number + 1 < len(self._seeds)
            try:
                histories.append(self._member(number, self._rows, self._rows.threads))
            except KeyboardInterrupt:
                self._stop("interrupted")
                break
        return histories

    def side_by_side(self) -> list[History | None]:
        threads, rows = self._rows.threads // self.together, self._rows

        def grown(number: int) -> History | None:
            evaluation = rows.evaluation and rows.evaluation.for_threads(threads)
            source: Any = rows.source.for_threads(threads)
            return self._member(number, replace(rows, source=source, evaluation=evaluation), threads)

        with ThreadPoolExecutor(self.together) as pool:
            futures = [pool.submit(grown, number) for number in range(len(self._seeds))]
            try:
                wait(futures)
            except BaseException:
                self._stop("interrupted")
                wait(futures)
            return [future.result() for future in futures]

    def _member(self, number: int, rows: GrowthRows, threads: int) -> History | None:
        """Grow one network, unless it is too late; each has its share of the time that is left."""
        whole, watch, late = self._monitor, self._watches[number], number and self._monitor.out_of_time()
        if late or watch.stopped:
            return None
        if whole.max_seconds is not None:
            rounds = math.ceil((len(self._seeds) - number) / self.together)
            watch.max_seconds = whole.seconds + (whole.max_seconds - whole.seconds) / rounds
        history = grow_network(rows, self._seeds[number], threads, watch)
        if watch.stopped in ("interrupted", "callback"):
            self._stop(watch.stopped)
        return history

    def _stop(self, reason: str) -> None:
        """Tell all members, grown or not."""
        self._monitor.stopped = self._monitor.stopped or reason
        for watch in self._watches:
            watch.stopped = watch.stopped or reason
