"""What the page's what-if form offers, and the thresholds that it looks for changes at."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.explain.subject import gap_of
from bgn.model.network import Network
from bgn.model.schema import level_word
from bgn.model.step import Floats
from bgn.printable import clean, quote_category, quote_name
from bgn.report.facts import Facts


def controls(facts: Facts) -> list[dict[str, Any]]:
    """Return what the what-if form offers: a number per column in use, or one menu for the levels of a category."""
    groups = {i: (name, members) for name, members in _choices(facts).items() for i in members}
    offered = []
    for i in facts.used:
        if facts.network.schema.columns[i].levels is not None:
            offered.append(_menu(facts, i))
        else:
            offered.append(_choice(facts, *groups[i]) if i in groups else _field(facts, i))
    return [control for k, control in enumerate(offered) if control not in offered[:k]]  # a category once


def _choices(facts: Facts) -> dict[str, list[int]]:
    """Return the 0/1 columns of every category of which a row has one level, or none."""
    return {
        name: members
        for name, members in facts.network.schema.level_columns.items()
        if np.isin(facts.rows[:, members], (0.0, 1.0)).all() and (facts.rows[:, members].sum(axis=1) <= 1.0).all()
    }


def _field(facts: Facts, i: int) -> dict[str, Any]:
    """Return a number field with its range."""
    values = facts.rows[~np.isnan(facts.rows[:, i]), i]
    values = values if len(values) else np.zeros(1)
    about = {"low": float(values.min()), "high": float(values.max()), "whole": bool((values == np.rint(values)).all())}
    about |= {"middle": float(np.sort(values)[len(values) // 2]), "missing": _sees_gaps(facts.network, i)}
    return {"kind": "number", "column": i, **_named(facts, i), **about, **_dated(facts, i)}


def _dated(facts: Facts, i: int) -> dict[str, Any]:
    """Return what a part of a date is called: the names of months or weekdays from 1 on, or the first of its days."""
    part = facts.network.schema.columns[i].part_of
    if part is None or part.part not in ("month", "weekday", "days"):
        return {"words": [], "since": ""}
    names = [] if part.part == "days" else [part.told(float(number)) for number in range(1, 13)]
    return {"words": [name for name in names if name], "since": part.first}


def _menu(facts: Facts, i: int) -> dict[str, Any]:
    """Return a menu of the levels of a category, "missing" last where the network knows gaps in it."""
    levels = facts.network.schema.columns[i].levels or ()
    options = [{"column": code, "name": quote_category(level_word(level))} for code, level in enumerate(levels)]
    if _sees_gaps(facts.network, i):
        options.append({"column": -1, "name": "missing"})
    return {"kind": "level", "column": i, "options": options, **_named(facts, i)}


def _named(facts: Facts, i: int) -> dict[str, str]:
    """Return what a column is called, its unit and what the author says of it."""
    unit = facts.network.schema.columns[i].unit.strip()
    about = facts.labels.columns[i]
    return {"name": quote_name(facts.network.names[i]), "unit": clean(unit) if unit else "", "about": about}


def _sees_gaps(network: Network, i: int) -> bool:
    """Whether the network's questions have answers for a gap in a column."""
    gap = gap_of(network, i)
    return gap is not None and gap != gap


def _choice(facts: Facts, name: str, members: list[int]) -> dict[str, Any]:
    """Return a choice among the categories of a column."""
    levels = [facts.network.schema.columns[i].level_of for i in members]
    words = {i: quote_category(level_word(of[1])) for i, of in zip(members, levels, strict=True) if of}
    options = [{"column": i, "name": word} for i, word in words.items()]
    if (facts.rows[:, members].sum(axis=1) < 1.0).any():
        options.append({"column": -1, "name": "none of these"})
    about = {"unit": "", "about": facts.labels.columns[members[0]]}
    return {"kind": "choice", "name": quote_name(name), "columns": members, "options": options, **about}


def typical(facts: Facts) -> list[float | None]:
    """Return a row that is made up: the median of every number, the most common category, missing where most rows are.

    A median is a value of the column, so that whole numbers stay whole.
    """
    schema = facts.network.schema
    found = [_middle(values, of.levels is not None) for of, values in zip(schema.columns, facts.rows.T, strict=True)]
    for members in _choices(facts).values():
        counts = facts.rows[:, members].sum(axis=0)
        commonest = int(np.argmax(counts))
        none = len(facts.rows) - counts.sum() > counts[commonest]
        for k, i in enumerate(members):
            found[i] = float(k == commonest and not none)
    return found


def _middle(values: Floats, category: bool) -> float | None:
    """Return the median of numbers, or the most common code of a category; None where most are missing."""
    known = values[~np.isnan(values)]
    if 2 * len(known) < len(values) or not len(known):
        return None
    if not category:
        return float(np.sort(known)[len(known) // 2])
    codes, counts = np.unique(known, return_counts=True)
    return float(codes[np.argmax(counts)])


def thresholds(network: Network) -> dict[str, Any]:
    """Return where answers and slopes change: the first layer's questions, and the linear terms."""
    first = network.layers[0]
    asked = [
        {"columns": each.projection.columns, "weights": each.projection.coefficients, "bias": bias,
         "gaps": each.projection.gaps}
        for each, bias in zip(first.neurons, first.bias.tolist(), strict=True)
    ]  # fmt: skip
    lines = [{"column": each.column, "slope": each.slopes[0], "low": each.low, "high": each.high,
              "gap": None if each.gap != each.gap else each.gap} for each in network.linear_terms]  # fmt: skip
    return {"asked": asked, "lines": lines}
