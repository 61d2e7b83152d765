"""Growth on very many rows: a draft of them finds the questions, all of them say how much each answer counts.

Which question helps most hardly depends on whether a hundred thousand rows tell or a hundred million, but what it costs
to find out does. So a layer is drafted on a part of the rows, replacements included, and after every addition all rows
take it over: they refit its outputs, and judge whether their own loss falls. Where it does not, growth goes on with all
rows. Which rows draft follows from their content, so that it is the same wherever they live.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bgn.engines.protocol import Floats, Output, Ramp
from bgn.grow.fits import changed
from bgn.grow.layer import LayerGrowth
from bgn.grow.output import Full
from bgn.grow.sweeps import PlannedGrowth
from bgn.model.neuron import Neuron

# Where the loss of all rows is so many times as large beside the draft's as at first, that fits too well to tell more.
_ABOUT = 1.25


class Draft(LayerGrowth):
    """Growth on a part of the rows, of which nothing is kept but the layer."""

    def advance(self) -> bool:
        """Add a question or a linear term, and try to replace others; False where nothing is gained."""
        if not self._add():
            return False
        self._replace()
        return True

    @property
    def neurons(self) -> tuple[Neuron, ...]:
        """What the layer asks, in short numbers where these are wanted."""
        return tuple(self._asked)

    @property
    def loss(self) -> float:
        """The mean loss of the rows that draft."""
        return self._train_loss()

    def _note(self, slot: int, kind: str) -> None:
        """All rows tell of what they take over."""

    def _keep(self) -> None:
        """Nobody chooses among drafts."""


class PlannedDraft(Draft, PlannedGrowth):
    """A draft that takes the neurons of its first widths from a plan."""


class DraftedGrowth(LayerGrowth):
    """Growth that takes over what a draft finds, width by width, and goes on by itself where that does not help."""

    rule: Full

    def __init__(self, draft: Draft, *parts: Any) -> None:
        self._draft: Draft | None = draft
        super().__init__(*parts)
        self._beside = max(self._train_loss() / draft.loss, 1.0) if draft.loss > 0.0 else math.inf

    def _add(self) -> bool:
        if self._draft is not None:
            if self._tells(self._draft) and self._draft.advance() and self._take_over(self._draft):
                return True
            self._go_on()
        return super()._add()

    def _replace(self) -> None:
        if self._draft is None:
            super()._replace()

    def _tells(self, draft: Draft) -> bool:
        """Whether a draft can tell what is left to explain: its loss beside that of all rows is about what it was."""
        return self._train_loss() <= _ABOUT * self._beside * draft.loss

    def _take_over(self, draft: Draft) -> bool:
        """Ask what the draft asks, or at least its last question beside one's own; False, and nothing has changed,
        where neither lowers the loss of all rows."""
        known, ramps = self.state.neurons, self._ramps(draft.state.ramps)
        if ramps is None:
            return False
        alone = (*known, *draft.neurons[len(known) :])
        for neurons, start in ((draft.neurons, _start(draft.state.output, ramps)), (alone, None)):
            state = self.rule.take_over(self.rows.train, self.state, neurons, ramps, start)
            if state is not None:
                break
        else:
            return False
        kind, slot = ("linear", len(ramps) - 1) if len(neurons) == len(known) else ("addition", len(known))
        self.state, self._asked = state, [*neurons]
        if self.rows.validation is not None:
            for place in changed(known, neurons):
                self.rows.validation.put(place, neurons[place])
        self._follow(None)
        self._note(slot, kind)
        return True

    def _ramps(self, drafted: tuple[Ramp, ...]) -> tuple[Ramp, ...] | None:
        """The lines of a draft as all rows measure them."""
        known = self.state.ramps
        found = [self.rows.train.ramp_of(each.column, each.low, each.high) for each in drafted[len(known) :]]
        return None if None in found else (*known, *(each for each in found if each is not None))

    def _follow(self, slot: int | None) -> None:
        """Bring the rows that validate up to date; the sample follows the draft while there is one."""
        if self._draft is None:
            super()._follow(slot)
        elif self.rows.validation is not None:
            self._validation_total = self.rows.validation.settle(self.state.output)

    def _go_on(self) -> None:
        """Leave the draft, and search for all rows from here on."""
        self._draft = None
        for slot, neuron in enumerate(self.state.neurons):
            for rows in self.rows.followers:
                rows.put(slot, neuron)
        self._follow(None)
        for slot, neuron in enumerate(self.state.neurons):
            self.finder.learn(slot, neuron.projection)


def _start(drafted: Output, ramps: tuple[Ramp, ...]) -> Floats:
    """The outputs of a draft as all rows measure its lines: the base, the weights, the slopes."""
    slopes = drafted.slopes.astype(np.float64)
    for k, (theirs, ours) in enumerate(zip(drafted.ramps, ramps, strict=True)):
        slopes[k] *= theirs.per_unit / ours.per_unit
    base = np.asarray(drafted.base, np.float64)[None]
    return np.concatenate([base, drafted.weights.astype(np.float64), slopes])
