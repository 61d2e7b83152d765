"""A figure of one panel per table: a figure of models by their size, one line per model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

COLUMNS = 4
"""Panels side by side, at most."""


@dataclass(frozen=True)
class Panels:
    """What all panels share.

    Parameters
    ----------
    sizes : sequence of int
        Where the axis of sizes has its marks.
    labels, colours : mapping of str to str
        The models by their keys, drawn in the order of `colours`; `ours` is the broad one.
    across, upwards : str
        What the axes say.
    ours : str
    stray : str or None
        A model that may leave the panel, as it would flatten the others.
    """

    sizes: Sequence[int]
    labels: Mapping[str, str]
    colours: Mapping[str, str]
    across: str
    upwards: str
    ours: str = "bgn"
    stray: str | None = None

    def figure(
        self, names: Sequence[str], value: Callable[[str, str, int], float | str | None]
    ) -> Callable[[Any], None]:
        """Return what draws a panel per table; `value` has a table, a model and a size, and words are left out."""

        def draw(canvas: Any) -> None:
            columns = min(COLUMNS, len(names))
            panels = np.ravel(canvas.subplots(-(-len(names) // columns), columns, squeeze=False))
            for ax, name in zip(panels, names, strict=False):
                lines = {key: [_height(value(name, key, size)) for size in self.sizes] for key in self.colours}
                self._panel(ax, name, lines)
            for ax in panels[len(names) :]:
                ax.set_axis_off()
            handles, labels = panels[0].get_legend_handles_labels()
            beside = min(COLUMNS + 2, len(labels)) or 1
            canvas.legend(handles, labels, frameon=False, fontsize=7.5, loc="outside upper center", ncols=beside)
            canvas.supxlabel(self.across, fontsize=9)
            canvas.supylabel(self.upwards, fontsize=9)

        return draw

    def _panel(self, ax: Any, name: str, lines: Mapping[str, Sequence[float]]) -> None:
        """Draw one table."""
        from bgn.plots.style import plain

        plain(ax)
        for key, line in lines.items():
            at = [k for k, each in enumerate(line) if math.isfinite(each)]
            mark = {"color": self.colours[key], "markersize": 3, "linewidth": 2.4 if key == self.ours else 1.2}
            ax.plot([self.sizes[k] for k in at], [line[k] for k in at], "o-", label=self.labels[key], **mark)
        tame = [each for key, line in lines.items() if key != self.stray for each in line if math.isfinite(each)]
        if self.stray is not None and tame:
            margin = 0.1 * (max(tame) - min(tame))
            ax.set_ylim(min(tame) - margin, max(tame) + margin)
        ax.set_title(name.replace("_", " "), fontsize=10)
        ax.set(xscale="log", xticks=self.sizes, xticklabels=self.sizes)
        ax.minorticks_off()
        ax.tick_params(labelsize=8)


def _height(value: float | str | None) -> float:
    """Return a number to draw, nan for what is missing or failed."""
    return math.nan if value is None or isinstance(value, str) else float(value)
