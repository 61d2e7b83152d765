"""What a reader can try on the page: values of a row, rows of the dataset to start from, and edits of rules.

All of it is plain data for the page's script (`page.js`, `rows.js`, `edits.js`).
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.explain.arguments import value_if_missing
from bgn.export.condition import describe
from bgn.export.styles import Signs
from bgn.model.network import Network
from bgn.model.readings import Term, swapped
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.report import classes
from bgn.report.facts import WORST, Facts, Names, columns_shown
from bgn.text import clean, quote_category, quote_name


def controls(facts: Facts) -> list[dict[str, Any]]:
    """Return what the what-if form offers: a number per column in use, or one menu for the levels of a category."""
    groups = {i: (name, members) for name, members in _choices(facts).items() for i in members}
    offered = []
    for i in facts.used:
        if facts.network.schema.columns[i].categories is not None:
            offered.append(_menu(facts, i))
        else:
            offered.append(_choice(facts, *groups[i]) if i in groups else _field(facts, i))
    return [control for k, control in enumerate(offered) if control not in offered[:k]]  # a category once


def _choices(facts: Facts) -> dict[str, list[int]]:
    """Return the 0/1 columns of every category of which a row has one level, or none."""
    return {
        name: members
        for name, members in facts.network.schema.category_columns.items()
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
    categories = facts.network.schema.columns[i].categories or ()
    options = [{"column": code, "name": quote_category(category_name(category))} for code, category in enumerate(categories)]
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
    gap = value_if_missing(network, i)
    return gap is not None and gap != gap


def _choice(facts: Facts, name: str, members: list[int]) -> dict[str, Any]:
    """Return a choice among the categories of a column."""
    categories = [facts.network.schema.columns[i].category_of for i in members]
    words = {i: quote_category(category_name(of[1])) for i, of in zip(members, categories, strict=True) if of}
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
    found = [_middle(values, of.categories is not None) for of, values in zip(schema.columns, facts.rows.T, strict=True)]
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
         "missing_as": each.projection.missing_as}
        for each, bias in zip(first.neurons, first.bias.tolist(), strict=True)
    ]  # fmt: skip
    lines = [
        {"column": term.column, "slope": weight, "low": term.low, "high": term.high,
         "gap": None if term.missing is None else float(term.missing)}
        for term, (weight, *_) in zip(network.linear, network.linear_coef.tolist(), strict=True)
    ]  # fmt: skip
    return {"asked": asked, "lines": lines}


SEPARATOR = " \N{MIDDLE DOT} "
"""What parts the number of a row from its key."""
_MOST_BYTES = 400_000  # of packed rows in a page
_FIRST_TRY = 50_000


@dataclass(frozen=True, eq=False)
class KnownRows:
    """All rows that have names, in the order of their numbers where they are numbers.

    Attributes
    ----------
    rows : ndarray, shape (rows, columns)
    names : list of str
    truth : ndarray, shape (rows,)
    judged : ndarray of int
        Where each of the rows to judge by is among them.
    """

    rows: Floats
    names: list[str]
    truth: Floats
    judged: NDArray[np.intp]

    @classmethod
    def of(cls, facts: Facts) -> KnownRows:
        """Gather the rows of a page."""
        parts = [(facts.judged_rows, facts.judged_names, facts.judged_target)]
        if facts.held_out and facts.names[0] is not None:
            parts.insert(0, (facts.rows, facts.names[0], facts.target))
        rows = np.concatenate([each for each, _, _ in parts])
        truth = np.concatenate([each for _, _, each in parts])
        names = [name for own, known, _ in parts for name in _names(known, len(own))]
        order = np.arange(len(rows))
        if all(map(_number, names)):
            order = np.array(sorted(range(len(names)), key=lambda k: int(_number(names[k]))), dtype=np.intp)
        judged = np.argsort(order)[len(rows) - len(facts.judged_rows) :]
        return cls(rows[order], [names[k] for k in order], truth[order], judged)


def starts(facts: Facts, most: int | None, listed: list[int]) -> dict[str, Any] | None:
    """Return the rows for the page's script, those `listed` among them, or None where there are to be none.

    `most` rows are in the page, as many as fit where it is None; `listed` are numbers of rows to judge by.
    """
    if most == 0:
        return None
    known = KnownRows.of(facts)
    first, columns = known.judged[listed], columns_shown(facts)
    count = min(len(known.rows), _FIRST_TRY if most is None else most)
    while True:
        some = _spread(len(known.rows), count, first)
        packed = _packed(facts, columns, known.rows[some], [known.names[k] for k in some], known.truth[some])
        if most is not None or len(packed) <= _MOST_BYTES or count <= WORST:
            break
        count = int(0.95 * count * _MOST_BYTES / len(packed))
    numbered = facts.names == (None, None) or all(map(_number, known.names))
    return {"packed": packed, "count": len(some), "of": len(known.rows), "numbered": numbered, "columns": columns,
            "which": " of the rows held out" if facts.held_out and facts.names[0] is None else ""}  # fmt: skip


def _spread(total: int, count: int, first: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the places of `count` of `total` rows, or of those that come first if these are more: the rest is spread
    evenly.

    Examples
    --------
    >>> _spread(10, 4, np.array([7])).tolist(), _spread(3, 3, np.array([], dtype=int)).tolist()
    ([0, 4, 7, 9], [0, 1, 2])
    """
    others = np.setdiff1d(np.arange(total), first)
    left = max(0, min(count - len(first), len(others)))
    return np.union1d(first, others[np.linspace(0, len(others) - 1, left).round().astype(np.intp)])


def _number(name: str) -> str:
    """Return the number that a name begins with, nothing where there is none."""
    first = name.partition(SEPARATOR)[0]
    return first if first.isascii() and first.isdigit() else ""


def _names(known: Names, count: int) -> list[str]:
    return [str(k + 1) for k in range(count)] if known is None else [clean(str(name)) for name in known]


def _packed(facts: Facts, shown: list[int], rows: Floats, names: list[str], truth: Floats) -> str:
    """Return rows column by column as JSON, compressed."""
    words = classes.words_of(facts.network) if facts.classes else None
    columns = [[None if value != value else _short(value) for value in rows[:, j].tolist()] for j in shown]
    known = [None if value != value else _short(value) if words is None else words[int(value)] for value in truth]
    text = json.dumps({"names": names, "columns": columns, "truth": known}, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _short(value: float) -> float | int:
    """Return a number as JSON writes it shortest."""
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def editing(facts: Facts, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return what the page needs to change questions; None where a network has several layers or outputs, or slopes.

    `rows` are those of the page with their values and what is known of their targets.
    """
    network = facts.network
    if network.depth > 1 or network.link == "softmax" or network.linear or not facts.terms.terms:
        return None
    saved = swapped(facts.original) if facts.turned else facts.original
    if any(rule.otherwise == 0.0 for rule in saved.rules):  # the page changes rules that are worth 1 or -1
        saved = saved.changed(layers=saved.layers)
    from bgn.persist import plain_content

    content = plain_content(saved.changed(members=None), _units(facts), facts.edits)
    questions = [_question(facts, term) for term in facts.terms.terms]
    return {"file": content, "questions": questions, "rows": rows}


def _units(facts: Facts) -> dict[str, str]:
    """Return units by the names that the model's file has for columns."""
    of, shown = facts.original.schema, facts.network.schema
    found = {a.name: b.unit for a, b in zip(of.columns, shown.columns, strict=True) if b.unit and b.unit != a.unit}
    if of.target and shown.target_unit and shown.target_unit != of.target_unit:
        found[of.target] = shown.target_unit
    return found


def _question(facts: Facts, term: Term) -> dict[str, Any]:
    """Return what can be changed of one question: its threshold, the sides of levels and of a gap, its amount."""
    network = facts.network
    neuron, flipped = network.layers[0].neurons[term.neuron], bool(network.output_weights[term.neuron] < 0)
    stored = [each for each in neuron.projection.coefficients if not isinstance(each, tuple) and each]
    printed = [each for each in term.condition.coefficients if not isinstance(each, tuple) and each]
    found: dict[str, Any] = {
        "neuron": term.neuron, "text": describe(term.condition, facts.terms, Signs()), "amount": term.weight,
        "flipped": flipped, "threshold": None, "scale": 1.0, "levels": None,
    }  # fmt: skip
    if stored:
        scale = stored[0] / printed[0]
        found |= {"threshold": neuron.threshold / scale + 0.0, "scale": scale}
    elif len(neuron.projection.columns) == 1:
        found["levels"] = _categories(facts, term, flipped)
    return found


def _categories(facts: Facts, term: Term, flipped: bool) -> list[dict[str, Any]] | None:
    """Return the levels of a question about one category, and which it answers yes; -1 is a gap."""
    neuron = facts.network.layers[0].neurons[term.neuron]
    (column,), (values,) = neuron.projection.columns, neuron.projection.coefficients
    categories = facts.network.schema.columns[column].categories
    if not isinstance(values, tuple) or categories is None:
        return None
    yes = np.asarray(values) >= neuron.threshold
    found = [
        {"code": code, "name": quote_category(category_name(category), 24), "yes": bool(fires) is not flipped}
        for code, (category, fires) in enumerate(zip(categories, yes.tolist(), strict=True))
    ]
    if neuron.missing is not None:
        found.append({"code": -1, "name": "missing", "yes": neuron.missing is not flipped})
    return found
