"""What the page of peers says in words and several cells carry: one function per claim."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from experiments.cite import number, table
from experiments.classdata import NUMBERS
from experiments.data import LARGE, TABLES
from experiments.tables import Cell
from experiments.wording import percent, share, span

SMALL = tuple(name for name in TABLES if name not in LARGE)
ACCURATE = "BGN, accurate()"
TIMED_TOGETHER = ("bike", "housing")
"""Large tables on which EBM with pairs and the preset for accuracy were fitted side by side on one machine."""


def _leaders(names: Iterable[str]) -> list[dict[str, Cell]]:
    """Return the rows of the table of leaders that are of some tables, by column."""
    found = table("full/peers-leaders")
    return [dict(zip(found.header, row, strict=True)) for row in found.rows if row[0] in names]


def _ratios(names: Iterable[str], kind: str) -> list[float]:
    """Return BGN's errors over those of the best of all others, by conditions or with columns counted."""
    ratios = []
    for row in _leaders(names):
        others = [float(row[f"best of the others {end} lines"] or "inf") for end in ("without", "with")]
        ratios.append(float(row["BGN" if kind == "conditions" else "BGN, columns counted"] or "nan") / min(others))
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


def share_of_time(model: str, other: str, names: Iterable[str]) -> str:
    """Return which share of another model's processor time a model takes to fit, in per cent."""
    times = [number("full/peers-seconds", model, name) / number("full/peers-seconds", other, name) for name in names]
    return span((100 * each for each in times), unit=" %")


def questions_lead(names: Iterable[str]) -> str:
    """Return in how many cells BGN of questions alone has a lower error than all models that are not BGN."""
    cells = [(str(row["table"]), int(float(row["conditions"] or 0)), row) for row in _leaders(names)]
    found = []
    for name, size, row in cells:
        others = [float(row[f"best of the others {end} lines"] or "inf") for end in ("without", "with")]
        found.append(number(f"full/peers-equal-{size}", "BGN, questions alone", name) < min(others))
    return share(sum(found), len(found))


def any_size(model: str, names: Iterable[str]) -> str:
    """Return from what to what size a model of any size has."""
    return span((number("full/peers-sizes", model, name) for name in names), ",.0f")


PEER_CLAIMS: dict[str, Callable[[], str]] = {
    "peers-lead": lambda: leads(LARGE, "conditions"),
    "peers-below-the-next": lambda: below_the_next(LARGE, "conditions"),
    "peers-columns-lead": lambda: leads(LARGE, "columns"),
    "peers-columns-above": lambda: above_at_most(LARGE, "columns"),
    "peers-small-lead": lambda: leads(SMALL, "conditions"),
    "peers-small-above": lambda: above_at_most(SMALL, "conditions"),
    "peers-default-below-tree": lambda: beside("BGN, our defaults", "tree", LARGE),
    "peers-default-below-ebm": lambda: beside("BGN, our defaults", "EBM without pairs", LARGE),
    "peers-default-below-pairs": lambda: beside("BGN, our defaults", "EBM, default", LARGE),
    "peers-default-below-lightgbm": lambda: beside("BGN, our defaults", "LightGBM, tuned", LARGE),
    "peers-default-size": lambda: any_size("BGN, our defaults", LARGE),
    "peers-cubist-size": lambda: any_size("Cubist", LARGE),
    "peers-tree-size": lambda: any_size("tree", LARGE),
    "peers-lightgbm-size": lambda: any_size("LightGBM, tuned", LARGE),
    "peers-small-default-below-lasso": lambda: beside("BGN, our defaults", "least squares / LassoCV", SMALL),
    "peers-ebm-times": lambda: faster("BGN, our defaults", "EBM without pairs", LARGE),
    "peers-figs-times": lambda: faster("BGN, our defaults", "FIGS, up to 50 splits", LARGE),
    "peers-lightgbm-times": lambda: faster("BGN, our defaults", "LightGBM, tuned", LARGE),
    "peers-mixed-lead": lambda: leads(NUMBERS, "conditions"),
    "peers-mixed-above": lambda: above_at_most(NUMBERS, "conditions"),
    "peers-questions-lead": lambda: questions_lead(LARGE),
    "peers-accurate-below-lightgbm": lambda: beside(ACCURATE, "LightGBM, tuned", LARGE),
    "peers-accurate-below-pairs": lambda: beside(ACCURATE, "EBM, default", LARGE),
    "peers-mixed-accurate-below-lightgbm": lambda: beside(ACCURATE, "LightGBM, tuned", NUMBERS),
    "peers-mixed-accurate-below-ebm": lambda: beside(ACCURATE, "EBM without pairs", NUMBERS),
    "peers-accurate-below-lasso": lambda: beside(ACCURATE, "least squares / LassoCV", SMALL),
    "peers-accurate-size": lambda: any_size(ACCURATE, LARGE),
    "peers-accurate-time": lambda: share_of_time(ACCURATE, "EBM, default", TIMED_TOGETHER),
}
"""Every claim of these pages by name."""
