"""What the page of classes says in words and several cells carry: one function per claim."""

from __future__ import annotations

import math
from collections.abc import Callable

from experiments.cite import cell, number, table
from experiments.classdata import TWO
from experiments.tables import Cell
from experiments.wording import share, span

DEFAULTS, ACCURATE = "BGN, our defaults, any", "BGN, accurate(), any"
NEAR = 0.005
"""AUC that differs by no more is about the same."""


def ahead_elsewhere(model: str, besides: str) -> str:
    """Return a thousandth by which a model's AUC is at most above that of BGN's defaults, on all tables but one."""
    names = [name for name in TWO if name != besides]
    both = [[number("full/classes-auc", each, name) for each in (f"{model}, any", DEFAULTS)] for name in names]
    return format(math.ceil(1000 * max(theirs - ours for theirs, ours in both)) / 1000, ".3f")


def cards_above() -> str:
    """Return on how many tables and sizes BGN's whole points have an AUC at or above FasterRisk's."""
    both = [
        [number("full/classes-auc", f"{each}, {size}", name) for each in ("BGN, whole points", "FasterRisk")]
        for name in TWO
        for size in (5, 10)
    ]
    return f"{sum(ours >= theirs for ours, theirs in both)} of {len(both)}"


def cards_times() -> str:
    """Return how many times as fast as FasterRisk's BGN's cards are made, in one process."""
    found = table("full/classes-points")
    place = list(found.header).index("times as fast")
    return span(float(row[place]) for row in found.rows if isinstance(row[place], float))


def _figures(name: str, model: str) -> dict[str, float]:
    """Return a figure of a model of any size by table, where it is known."""
    found: dict[str, Cell] = {each: cell(f"full/classes-{name}", model, each) for each in TWO}
    return {each: float(value) for each, value in found.items() if isinstance(value, float)}


def near_the_best() -> str:
    """Return on how many tables the preset's AUC is about that of the better of EBM and LightGBM, or above."""
    ours, ebm, boosted = (_figures("auc", each) for each in (ACCURATE, "EBM, any", "LightGBM, tuned, any"))
    best = {name: max(boosted[name], ebm.get(name, -math.inf)) for name in ours}
    return share(sum(ours[name] >= best[name] - NEAR for name in ours), len(ours))


def loss_below_ebm() -> str:
    """Return on how many tables the preset's log loss is at or below EBM's, of those where an EBM was fitted."""
    ours, ebm = (_figures("log-loss", each) for each in (ACCURATE, "EBM, any"))
    both = [name for name in ours if name in ebm]
    return share(sum(ours[name] <= ebm[name] for name in both), len(both))


CLASS_CLAIMS: dict[str, Callable[[], str]] = {
    "classes-cards-above-fasterrisk": cards_above,
    "classes-cards-times": cards_times,
    "classes-ahead-elsewhere": lambda: ahead_elsewhere("LightGBM, tuned", "phoneme"),
    "classes-accurate-near": near_the_best,
    "classes-accurate-loss": loss_below_ebm,
}
"""Every claim of that page by name."""
