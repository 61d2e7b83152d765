"""Small layers that are nearly the best of their width: growth goes back down and up again, several times.

A layer grown one neuron at a time is a local optimum. Taken down again, a neuron of little use at a time, and grown
anew, with random neurons replaced at every width, it passes every width once more and finds a better layer at many of
them (as floating search does for subsets of features: Pudil et al. 1994). That is done on the sample of the rows that
directions are screened on, the same wherever rows live, so that its cost does not depend on their number. All rows then
grow the layers that the sweeps found, width by width: directions are kept, thresholds are cut exactly.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.engines.protocol import Cut, Output, Question
from bgn.grow.history import Record
from bgn.grow.layer import LayerGrowth, Monitor
from bgn.grow.output import Full, State
from bgn.model.neuron import Neuron, Projection

# Layers wider than this are grown once, and from here on.
MOST_SWEPT = 20
# The sweeps go so much higher than the widest layer that is wanted.
_BEYOND = 3
# Of the time there is left, what they may take.
_SHARE_OF_TIME = 0.6
# "auto": so many sweeps, divided by the width; one where layers grow on.
_SWEPT_WIDTHS = 60


@dataclass(frozen=True)
class Planned:
    """A neuron that sweeps found: its direction, where to cut it, and the contrast of outputs it was found by."""

    projection: Projection
    window: tuple[float, float]
    contrast: tuple[int, ...]

    @classmethod
    def of(cls, cut: Cut, output: Output) -> Planned:
        """Cut between the same rows: a window between them holds no other cut of theirs."""
        middle = cut.neuron.threshold / 2
        return cls(cut.neuron.projection, (cut.below / 2 + middle, cut.above / 2 + middle), output.contrast)


@dataclass(frozen=True)
class SweepPlan:
    """The neurons of a layer at every width, and whether somebody interrupted the search for them."""

    layers: tuple[tuple[Planned, ...], ...]
    interrupted: bool


def how_many(sweeps: int | str, max_width: int) -> int:
    """The number of sweeps, where "auto" leaves it open."""
    if not isinstance(sweeps, str):
        return sweeps
    return 1 if max_width > MOST_SWEPT else max(1, _SWEPT_WIDTHS // max_width)


def highest(max_width: int) -> int:
    """The width that sweeps turn back at."""
    return min(max_width, MOST_SWEPT) + _BEYOND


class _Shrinkable(LayerGrowth):
    """Growth that can take neurons out again."""

    rule: Full

    def _take_out(self, slot: int) -> None:
        """Take the neuron out of a slot; the last one takes its place."""
        last = self.state.width - 1
        self.state = self.rule.removed(self.rows.train, self.state, slot)
        otherwise = last in self._otherwise and slot < last
        for slots in (self._otherwise, self._to_put):
            slots.difference_update((slot, last))
            slots.update((slot,) if otherwise else ())
        self._asked[slot] = self._asked[last]
        self._asked.pop()
        for rows in self.rows.followers:
            if slot < last:
                rows.move(last, slot)
        if slot < last:
            self.finder.learn(slot, self.state.neurons[slot].projection)
        self._follow(None)


class Sweeper(_Shrinkable):
    """Growth up and down a sample of the rows, which remembers the best layer of every width."""

    def __init__(self, *parts: Any) -> None:
        self._found: dict[Neuron, Planned] = {}
        super().__init__(*parts)
        self._best: dict[int, State] = {0: self.state}

    def plan(self, sweeps: int) -> SweepPlan:
        """Grow, then go down and up again so many times; the neurons of the best layer of every width.

        The first sweep passes every width, the others the upper half, where there is most to find.
        """
        try:
            self._up()
            for number in range(sweeps):
                self._down(self.settings.max_width // 2 if number else 2)
                self._up()
        except KeyboardInterrupt:
            self.monitor.stopped = "interrupted"
        found = [self._best[width] for width in range(len(self._best))]
        layers = tuple(tuple(self._found[neuron] for neuron in state.neurons) for state in found)
        return SweepPlan(layers, self.monitor.stopped == "interrupted")

    def _up(self) -> None:
        while self.state.width < self.settings.max_width and not self.monitor.out_of_time():
            if not self._add():
                return
            self._replace()
            self._compare()

    def _down(self, low: int) -> None:
        while self.state.width > max(low, 2) and not self.monitor.out_of_time():
            self._take_out(self._least_useful())
            self._replace()
            self._compare()

    def _least_useful(self) -> int:
        """Of a random half of the neurons, the one that costs least: always the same one would lead back up."""
        costs = self.rule.costs(self.state)
        some = self.rng.permutation(self.state.width)[: (self.state.width + 1) // 2]
        return int(some[np.argmin(costs[some])])

    def _compare(self) -> None:
        """Go on from the best layer of this width, be it this one or an earlier one."""
        best = self._best.get(self.state.width)
        if best is None or self.rule.objective(self.state) < self.rule.objective(best):
            self._best[self.state.width] = self.state
        else:
            self._return_to(best)

    def _return_to(self, state: State) -> None:
        """Go back to an earlier layer of the same width."""
        for slot, (now, then) in enumerate(zip(self.state.neurons, state.neurons, strict=True)):
            if now is not then:
                self.rows.train.put(slot, then)
                for rows in self.rows.followers:
                    rows.put(slot, then)
                self.finder.learn(slot, then.projection)
        self.state = state
        self._asked = [*state.neurons]
        self.rows.train.settle(state.output)
        self._follow(None)

    def _shorten(self, slot: int, found: Cut | int, output: Output) -> None:
        if not isinstance(found, int):
            self._found[found.neuron] = Planned.of(found, output)
        super()._shorten(slot, found, output)

    def _note(self, slot: int, kind: str) -> None:
        """Show the progress, and no more."""
        known = self._train_loss(), math.nan, math.nan, self.monitor.seconds
        self.monitor.tell(Record(self.layer, self.state.width, kind, slot, *known))

    def _keep(self) -> None:
        """Plans need no snapshots."""


class PlannedGrowth(_Shrinkable):
    """Growth that takes the neurons of every width from a plan, and goes on by itself where that ends."""

    def __init__(self, layers: tuple[tuple[Planned, ...], ...], *parts: Any) -> None:
        self._plan = layers
        self._planned: list[Planned] = []  # for every slot
        self._silent = False
        super().__init__(*parts)

    def _add(self) -> bool:
        """Bring the layer to what is planned for the next width; what all rows refuse is made up for as ever."""
        width = self.state.width + 1
        if width >= len(self._plan):
            return super()._add()
        missing = Counter(self._plan[width])
        for slot in reversed(range(width - 1)):
            if missing[self._planned[slot]] > 0:
                missing[self._planned[slot]] -= 1
            else:
                self._take_out(slot)
        for planned in missing.elements():
            self._silent = self.state.width + 1 < width
            if not self._ask(planned) and not super()._add():
                return False
            self._planned.append(planned)
        return True

    def _replace(self) -> None:
        if self.state.width >= len(self._plan):
            super()._replace()

    def _ask(self, planned: Planned) -> bool:
        """Add a planned neuron, cut exactly."""
        output = self.state.output
        output = output.seen(planned.contrast) if planned.contrast else output
        (cut,) = self.rows.train.cuts([Question(output, planned.projection, planned.window)])
        return cut is not None and self._accept(self.state.width, cut, "addition", output)

    def _take_out(self, slot: int) -> None:
        super()._take_out(slot)
        self._planned[slot] = self._planned[-1]
        self._planned.pop()

    def _note(self, slot: int, kind: str) -> None:
        """Tell of widths that are complete."""
        if not self._silent:
            super()._note(slot, kind)


def watch_for(monitor: Monitor) -> Monitor:
    """Watches sweeps: they may take a share of the time that is left, and are shown, but are not told to callbacks."""
    limit = None
    if monitor.max_seconds is not None:
        spent = monitor.seconds
        limit = spent + _SHARE_OF_TIME * (monitor.max_seconds - spent)
    return Monitor(limit, (), monitor.on_record, monitor.started)
