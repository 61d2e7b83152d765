"""What a reader can try on the page: values of a row, rows of the dataset to start from, and edits of rules.

All of it is plain data for the page's script (`page.js`, `rows.js`, `edits.js`).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.explain.arguments import value_if_missing
from bgn.export.condition import describe
from bgn.export.styles import Signs
from bgn.model.network import Network
from bgn.model.readings import ReadTerm, swap_classes
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.model.term import Member, Oblique, Threshold
from bgn.report.facts import WORST, Facts, columns_shown
from bgn.text import clean, quote_category, quote_name

SEPARATOR = " \N{MIDDLE DOT} "
"""What stands between the number of a row and its key."""
_MOST_BYTES = 400_000  # of packed rows in a page
_FIRST_TRY = 50_000  # rows


def controls(facts: Facts) -> list[dict[str, Any]]:
    """Return what the what-if form offers: a number per column in use, or one menu for the categories of a column."""
    groups = {i: (name, members) for name, members in _one_hot(facts).items() for i in members}
    offered, schema = list[dict[str, Any]](), facts.network.schema
    for i in facts.used:
        column, values = schema.columns[i], facts.rows[:, i]
        control: dict[str, Any] = {
            "kind": "number", "column": i, "name": quote_name(column.name),
            "unit": clean(column.unit.strip()) if column.unit.strip() else "", "about": facts.labels.columns[i],
        }  # fmt: skip
        instead = value_if_missing(facts.network, i)
        missing = instead is not None and instead != instead  # rules decide themselves on a missing value
        if column.categories is not None:
            codes = enumerate(column.categories)
            control |= {"kind": "category", "options": _options(codes, "missing" if missing else "")}
        elif i in groups:
            name, members = groups[i]
            categories = [(j, of[1]) for j in members if (of := schema.columns[j].category_of)]
            none = (facts.rows[:, members].sum(axis=1) < 1.0).any()
            del control["column"]
            control |= {"kind": "choice", "name": quote_name(name), "columns": members, "unit": "",
                        "about": facts.labels.columns[members[0]],
                        "options": _options(categories, "none of these" if none else "")}  # fmt: skip
        else:
            known = np.sort(values[~np.isnan(values)]) if not np.isnan(values).all() else np.zeros(1)
            part = column.part_of if column.part_of and column.part_of.part in ("month", "weekday", "days") else None
            names = [part.written(float(place)) for place in range(1, 13)] if part and part.part != "days" else []
            control |= {
                "low": float(known[0]), "high": float(known[-1]), "middle": float(known[len(known) // 2]),
                "whole": bool((known == np.rint(known)).all()), "missing": missing,
                "names": [name for name in names if name], "since": part.first if part is not None else "",
            }  # fmt: skip
        if control not in offered:  # a one-hot column once
            offered.append(control)
    return offered


def _options(categories: Iterable[tuple[int, Any]], other: str) -> list[dict[str, Any]]:
    """Return the options of a menu: categories by their numbers, and perhaps one for none of them."""
    options = [{"column": code, "name": quote_category(category_name(category))} for code, category in categories]
    return [*options, *([{"column": -1, "name": other}] if other else [])]


def _one_hot(facts: Facts) -> dict[str, list[int]]:
    """Return the 0/1 columns of every category of which a row has one, or none."""
    return {
        name: members
        for name, members in facts.network.schema.category_columns.items()
        if np.isin(facts.rows[:, members], (0.0, 1.0)).all() and (facts.rows[:, members].sum(axis=1) <= 1.0).all()
    }


def typical(facts: Facts) -> list[float | None]:
    """Return a row that is made up: the median of every number, the most common category, missing where most rows are.

    A median is a value of the column, so that whole numbers stay whole.
    """
    row = list[float | None]()
    for column, values in zip(facts.network.schema.columns, facts.rows.T, strict=True):
        known = np.sort(values[~np.isnan(values)])
        if 2 * len(known) < len(values) or not len(known):
            row.append(None)
        elif column.categories is None:
            row.append(float(known[len(known) // 2]))
        else:
            codes, counts = np.unique(known, return_counts=True)
            row.append(float(codes[np.argmax(counts)]))
    for members in _one_hot(facts).values():
        counts = facts.rows[:, members].sum(axis=0)
        commonest = int(np.argmax(counts))
        none = len(facts.rows) - counts.sum() > counts[commonest]
        for k, i in enumerate(members):
            row[i] = float(k == commonest and not none)
    return row


def changing_parts(network: Network) -> dict[str, Any]:
    """Return where predictions change: the conditions of the first layer, and the linear terms."""
    first = network.layers[0]
    conditions = [
        {"columns": condition.projection.columns, "weights": condition.projection.coefficients, "bias": bias,
         "missing_as": condition.projection.missing_as}
        for condition, bias in zip(first.neurons, first.bias.tolist(), strict=True)
    ]  # fmt: skip
    linear = [
        {"column": term.column, "coef": coef, "low": term.low, "high": term.high,
         "missing_as": None if term.missing is None else float(term.missing)}
        for term, (coef, *_) in zip(network.linear, network.linear_coef.tolist(), strict=True)
    ]  # fmt: skip
    return {"conditions": conditions, "linear": linear}


@dataclass(frozen=True, eq=False)
class KnownRows:
    """All rows that have names, by their numbers where they have any; `evaluated` is where the test rows are."""

    rows: Floats
    names: list[str]
    truth: Floats
    evaluated: NDArray[np.intp]

    @classmethod
    def of(cls, facts: Facts) -> KnownRows:
        """Gather the rows of a page."""
        parts = [(facts.evaluation_rows, facts.evaluation_names, facts.evaluation_target)]
        if facts.held_out and facts.names[0] is not None:
            parts.insert(0, (facts.rows, facts.names[0], facts.target))
        rows = np.concatenate([own for own, _, _ in parts])
        truth = np.concatenate([own for _, _, own in parts])
        names = [clean(str(name)) for own, known, _ in parts for name in known or range(1, len(own) + 1)]
        order = np.arange(len(rows))
        if all(map(_number, names)):
            order = np.array(sorted(range(len(names)), key=lambda k: int(_number(names[k]))), dtype=np.intp)
        evaluated = np.argsort(order)[len(rows) - len(facts.evaluation_rows) :]
        return cls(rows[order], [names[k] for k in order], truth[order], evaluated)


def _number(name: str) -> str:
    """Return the number that a name begins with, nothing where there is none."""
    first = name.partition(SEPARATOR)[0]
    return first if first.isascii() and first.isdigit() else ""


def starts(facts: Facts, most: int | None, listed: list[int]) -> dict[str, Any] | None:
    """Return the rows for the page's script, those `listed` among them, or None where there are to be none.

    `most` rows are in the page, as many as fit where it is None; `listed` are numbers of evaluation rows.
    """
    if most == 0:
        return None
    known = KnownRows.of(facts)
    first, columns = known.evaluated[listed], columns_shown(facts)
    others = np.setdiff1d(np.arange(len(known.rows)), first)
    count = min(len(known.rows), _FIRST_TRY if most is None else most)
    while True:
        places = np.linspace(0, len(others) - 1, max(0, min(count - len(first), len(others))))
        some = np.union1d(first, others[places.round().astype(np.intp)])
        packed = _pack(facts, columns, known, some)
        if most is not None or len(packed) <= _MOST_BYTES or count <= WORST:
            break
        count = int(0.95 * count * _MOST_BYTES / len(packed))
    numbered = facts.names == (None, None) or all(map(_number, known.names))
    return {"packed": packed, "count": len(some), "of": len(known.rows), "numbered": numbered, "columns": columns,
            "which": " of the rows held out" if facts.held_out and facts.names[0] is None else ""}  # fmt: skip


def _pack(facts: Facts, shown: list[int], known: KnownRows, some: NDArray[np.intp]) -> str:
    """Return some rows column by column as JSON, compressed."""

    def short(value: float) -> float | int | None:
        """Return a number as JSON writes it shortest."""
        if value != value:
            return None
        return int(value) if float(value).is_integer() and abs(value) < 1e15 else float(value)

    columns = [list(map(short, known.rows[some, j].tolist())) for j in shown]
    labels, targets = facts.class_names if facts.classes else None, known.truth[some].tolist()
    truth = [short(value) if labels is None or value != value else labels[int(value)] for value in targets]
    content = {"names": [known.names[k] for k in some], "columns": columns, "truth": truth}
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def editing(facts: Facts, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return what the page needs to change rules; None where a network has several layers or outputs, or linear terms.

    `rows` are those of the page with their values and what is known of their targets.
    """
    network, of, shown = facts.network, facts.original.schema, facts.network.schema
    if network.below or network.link == "softmax" or network.linear or not facts.terms.rules:
        return None
    # Units by the names that the model's file has for columns.
    units = {a.name: b.unit for a, b in zip(of.columns, shown.columns, strict=True) if b.unit and b.unit != a.unit}
    if of.target and shown.target_unit and shown.target_unit != of.target_unit:
        units[of.target] = shown.target_unit
    saved = swap_classes(facts.original) if facts.turned else facts.original
    from bgn.persist import plain_content

    content = plain_content(saved.changed(members=None), units, facts.edits)
    rules = [_editable_rule(facts, term) for term in facts.terms.rules]
    return {"file": content, "rules": rules, "rows": rows}


def _editable_rule(facts: Facts, term: ReadTerm) -> dict[str, Any]:
    """Return what can be changed of one rule: its weight and, of every condition, its threshold or its categories."""
    network, rule, conditions = facts.network, facts.network.rules[term.index], []
    flipped, known = bool(network.rule_coef[term.index, 0] < 0), len(rule.conditions) == len(term.conditions)
    for condition, read in zip(rule.conditions, term.conditions, strict=False) if known else ():
        part: dict[str, Any] = {"threshold": None, "scale": 1.0, "categories": None}
        if isinstance(condition, Threshold):
            part["threshold"] = condition.threshold + 0.0
        elif isinstance(condition, Oblique):
            stored, printed = ([coef for coef in coefs if not isinstance(coef, tuple) and coef]
                               for coefs in (condition.projection.coefficients, read.coefficients))  # fmt: skip
            if stored:
                part["scale"] = stored[0] / printed[0]
                part["threshold"] = condition.threshold / part["scale"] + 0.0
        elif isinstance(condition, Member):
            part["categories"] = [
                {"code": code, "name": quote_category(category_name(category), 24),
                 "yes": (code in condition.categories) is not flipped}
                for code, category in enumerate(network.schema.columns[condition.column].categories or ())
            ]  # fmt: skip
            if condition.missing is not None:  # -1 is a missing value
                part["categories"].append({"code": -1, "name": "missing", "yes": condition.missing is not flipped})
        conditions.append(part)
    return {"rule": term.index, "text": describe(term, facts.terms, Signs()), "weight": term.weight,
            "flipped": flipped, "conditions": conditions}  # fmt: skip
