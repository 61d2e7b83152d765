"""What the pages of peers, classes and robustness say in words and several cells carry: one function per claim."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from experiments.cite import cell, number, table
from experiments.classdata import TWO
from experiments.data import LARGE, TABLES
from experiments.tables import Cell
from experiments.wording import percent, share, span, words

SMALL = tuple(name for name in TABLES if name not in LARGE)

# -- peers ---------------------------------------------------------------------------------------------------------


def _leaders(names: Iterable[str]) -> list[dict[str, Cell]]:
    """Return the rows of the table of leaders that are of some tables, by column."""
    found = table("full/peers-leaders")
    return [dict(zip(found.header, row, strict=True)) for row in found.rows if row[0] in names]


def _ratios(names: Iterable[str], kind: str) -> list[float]:
    """Return BGN's error over the best of others: questions among models without lines, or as it comes among all."""
    ratios = []
    for row in _leaders(names):
        others = [float(row[f"best of the others {end} lines"] or "inf") for end in ("without", "with")]
        if kind == "questions":
            ratios.append(float(row["BGN, questions alone"] or "nan") / others[0])
        else:
            ratios.append(float(row["BGN" if kind == "defaults" else "BGN, columns counted"] or "nan") / min(others))
    return ratios


def leads(names: Iterable[str], kind: str) -> str:
    """Return in how many cells of tables and sizes BGN has the lowest error."""
    ratios = _ratios(names, kind)
    return share(sum(ratio < 1.0 for ratio in ratios), len(ratios))


def below_the_next(names: Iterable[str], kind: str) -> str:
    """Return by how many per cent BGN lies below the best of the others where it leads."""
    return span((percent(ratio) for ratio in _ratios(names, kind) if ratio < 1.0), unit=" %")


def above_at_most(names: Iterable[str], kind: str) -> str:
    """Return by how many per cent BGN lies above the best of the others at most."""
    return f"{max(0.0, -percent(max(_ratios(names, kind)))):.0f} %"


def beside(model: str, other: str, names: Iterable[str]) -> str:
    """Return on how many tables a model of any size has a lower error than another."""
    found = [number("full/peers", model, name) < number("full/peers", other, name) for name in names]
    return share(sum(found), len(found))


def faster(model: str, other: str, names: Iterable[str]) -> str:
    """Return how many times as long as a model another takes to fit."""
    times = [number("full/peers-seconds", other, name) / number("full/peers-seconds", model, name) for name in names]
    return span(times, ".0f" if min(times) >= 2 else ".1f")


def any_size(model: str, names: Iterable[str]) -> str:
    """Return from what to what size a model of any size has."""
    return span((number("full/peers-sizes", model, name) for name in names), ",.0f")


# -- classes -------------------------------------------------------------------------------------------------------


def _any(file: str, model: str, name: str) -> float:
    return number(f"full/classes-{file}", f"{model}, any", name)


def within_of_best(least: float) -> str:
    """Return on how many tables of two classes the AUC of accurate() is so near to the better of EBM and LightGBM."""
    found = [
        max(_any("auc", "EBM", name), _any("auc", "LightGBM, tuned", name)) - _any("auc", "BGN, accurate()", name)
        for name in TWO
    ]
    return share(sum(each <= least for each in found), len(found))


def loss_below_ebm() -> str:
    """Return on how many tables of two classes accurate() has a log loss at or below an EBM's."""
    found = [_any("log-loss", "BGN, accurate()", name) <= _any("log-loss", "EBM", name) for name in TWO]
    return share(sum(found), len(found))


def points() -> dict[str, list[float]]:
    """Return, over tables and sizes, the AUC that points cost, and that they are above FasterRisk's; and seconds."""
    rows = [row for row in table("full/classes-points").rows if not any(isinstance(each, str) for each in row[1:])]
    return {
        "lost": [float(row[2]) - float(row[3]) for row in rows],  # type: ignore[arg-type]
        "above": [float(row[3]) - float(row[4]) for row in rows],  # type: ignore[arg-type]
        "times": [float(row[6]) / float(row[5]) for row in rows],  # type: ignore[arg-type]
    }


def points_above() -> str:
    """Return in how many cells whole points have at least FasterRisk's AUC."""
    found = points()["above"]
    return share(sum(each >= 0 for each in found), len(found))


def several_above_tree(size: int) -> str:
    """Return on how many tables of several classes BGN's accuracy is at or above both trees' and FIGS'."""
    found = table("full/classes-several")
    held = []
    for name in found.header[2:]:
        own = number(found_name := "full/classes-several", f"BGN, {size}", name)
        others = [cell(found_name, f"{label}, {size}", name) for label in ("tree", "FIGS")]
        held.append(all(isinstance(each, str) or each is None or own >= float(each) for each in others))
    return share(sum(held), len(held))


# -- robustness ----------------------------------------------------------------------------------------------------


def least_affected(model: str) -> str:
    """Return under how many disturbances a model's errors rise least."""
    found = table("reduced/robustness")
    place = list(found.header).index(model)
    rows = [[float(each) for each in row[1:]] for row in found.rows]  # type: ignore[arg-type]
    return f"{words(sum(row[place - 1] == min(row) for row in rows))} of the {words(len(rows))}"


PEER_CLAIMS: dict[str, Callable[[], str]] = {
    "peers-questions-lead": lambda: leads(LARGE, "questions"),
    "peers-questions-below": lambda: below_the_next(LARGE, "questions"),
    "peers-defaults-lead": lambda: leads(LARGE, "defaults"),
    "peers-defaults-below": lambda: below_the_next(LARGE, "defaults"),
    "peers-columns-lead": lambda: leads(LARGE, "columns"),
    "peers-columns-above": lambda: above_at_most(LARGE, "columns"),
    "peers-small-lead": lambda: leads(SMALL, "defaults"),
    "peers-small-above": lambda: above_at_most(SMALL, "defaults"),
}
"""Every claim of these pages by name."""
