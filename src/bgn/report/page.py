"""One HTML file that tells the whole story of a model: checked, laid out and written.

The facts become the values of `template.html`; the page's script and style are put into the same file, and what the
script reads stands there as JSON.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain.arguments import clipped_network
from bgn.export.condition import describe, remarks
from bgn.export.numbers import aligned, alike, number, places, share_of
from bgn.export.plan import plan
from bgn.export.programs.javascript import page_functions
from bgn.export.styles import Html, Signs, colour
from bgn.model.network import Edit
from bgn.model.readings import outputs_of
from bgn.pipelines import through_pipelines
from bgn.report import classes, sentences, svg
from bgn.report import controls as offers
from bgn.report import facts as told
from bgn.report.card import ModelCard, lines_of
from bgn.report.charts import curves_note, effects, growth, judging, lines_for
from bgn.report.controls import editing, starts
from bgn.report.facts import Facts, Names, quality
from bgn.require import require
from bgn.show.drawing import Drawing, draw
from bgn.show.labels import cell, shortened, value_of
from bgn.text import clean, count_of, quote_name, visible
from bgn.whole_file import check_place, write_whole

_LARGEST = 1e150


@through_pipelines("X", "X_test", targets=("y", "y_test"))
def write_report(
    model: Any, X: Any, y: ArrayLike, path: str | os.PathLike[str], *, X_test: Any = None,
    y_test: ArrayLike | None = None, title: str | None = None, digits: int = 3, units: Mapping[str, str] | None = None,
    labels: Mapping[str, Any] | str | os.PathLike[str] | None = None, edits: Sequence[Edit] | None = None,
    names: Sequence[Any] | None = None, names_test: Sequence[Any] | None = None, rows: int | bool | None = None,
    n_training: int | None = None,
) -> Path:  # fmt: skip
    """Write one HTML file that tells the whole story of a model to somebody who has no Python.

    The file opens from disk, asks nothing of any network, prints well, and holds the model itself: readers change a row
    and see the prediction, to the last bit that of ``predict``.

    It contains rows of the dataset, and its first lines say how many: the ten with the largest errors and others that
    readers can start from, with their names, the values of the columns that the model uses, and the target.
    ``rows=False`` leaves all of them out. What is left are counts, and of every column the lowest value, the median and
    the highest, or the categories that ten rows or more have.

    Parameters
    ----------
    model : Network or fitted estimator
        With an estimator the report also shows how it grew and its settings.
    X, y : array_like or frame
        The rows that the model was made from, and so importance, effects, ranges and the models to compare with.
    path : str or path
        Where to write; a file that is there is replaced, and only once the new one is whole.
    X_test, y_test : array_like or frame, optional
        Rows to judge by. Without them the errors are those on `X` and `y`, as the report says.
    title : str, optional, heading of the page
    digits : int, default 3
        Significant digits of what is measured, such as errors. The model's own numbers, and its rows', are whole.
    units : mapping of str to str, optional, by the names of columns and target
    labels : mapping or path, optional
        What the page calls things: ``title``, ``description``, ``target`` and ``columns``, by name, the latter two with
        ``label``, ``unit``, ``description`` and ``levels`` (a word per level); or a TOML or JSON file of the same.
    edits : sequence of Edit, optional
        What an expert changed, from :func:`bgn.edit`; an estimator's own ``edits_`` unless told.
    names, names_test : sequence, optional
        What the rows of `X` and `X_test` are called, such as a key; numbers from 1 unless told.
    rows : int or bool, optional
        The most rows of the dataset in the page, those with the largest errors first; as many as fit unless given.
        False or 0 for none.
    n_training : int, optional, how many of the rows the model learnt from, where no others judge

    Returns
    -------
    pathlib.Path, where the report is

    Examples
    --------
    >>> import bgn, numpy as np, tempfile, os
    >>> model = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0]], [-65.5])], [0.5], 1.0, ["income", "age"], "value")
    >>> X, words = np.array([[70.0, 30.0], [20.0, 40.0]]), {"title": "What houses cost", "target": {"unit": "k$"}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = bgn.write_report(model, X, [1.5, 0.4], os.path.join(folder, "report.html"), labels=words)
    ...     "What houses cost" in written.read_text(encoding="utf-8")
    True
    """
    _check(digits, rows, model, y, y_test)
    check_place(path)
    facts = Facts.of(model, X, y, X_test, y_test, labels, units)
    log: Sequence[Edit] = getattr(model, "edits_", ()) if edits is None else edits
    facts = replace(facts, edits=tuple(log), names=_called(facts, names, names_test), n_training=n_training)
    most = None if rows is None or rows is True else int(rows)
    write_whole(path, render(facts, PageSettings(title, digits, most)).encode("utf-8"))
    return Path(path)


def _called(facts: Facts, names: Sequence[Any] | None, names_test: Sequence[Any] | None) -> tuple[Names, Names]:
    """Return names of rows as text, one per row."""
    counts = {"names": len(facts.rows), "names_test": len(facts.judged_rows) if facts.held_out else 0}
    found: list[Names] = []
    for (argument, count), given in zip(counts.items(), (names, names_test), strict=True):
        if given is not None and (isinstance(given, str) or len(given) != count):
            raise ValueError(f"{argument} must have one name per row, {count}; got {len(given)}.")
        found.append(None if given is None else [clean(str(name), 80) for name in given])
    return found[0], found[1]


def _check(digits: int, rows: int | bool | None, model: Any, y: ArrayLike, y_test: ArrayLike | None) -> None:
    """Refuse a model of another kind, and numbers whose errors cannot be measured."""
    if rows is not None and (not isinstance(rows, int) or rows < 0):
        raise ValueError(
            f"rows must be False for none, a whole number for the most, or None for as many as fit; got {rows!r}."
        )
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 17:
        raise ValueError(f"digits must be a whole number from 1 to 17; got {digits!r}.")
    network = clipped_network(model)
    reach = np.abs(network.intercept) + np.abs(network.rule_coef).sum(axis=0)
    reach = reach + sum(
        np.abs(weights) * max(abs(term.low), abs(term.high))
        for term, weights in zip(network.linear, network.linear_coef, strict=True)
    )
    targets = {"y": y, "y_test": y_test} if network.link == "identity" else {}
    _measurable({"model": reach, **targets})


def _measurable(numbers: Mapping[str, ArrayLike | None]) -> None:
    """Refuse targets or predictions whose squared errors float64 cannot hold."""
    for name, values in numbers.items():
        largest = np.abs(np.asarray([] if values is None else values, dtype=np.float64)).max(initial=0.0)
        if _LARGEST < largest < np.inf:
            raise ValueError(
                f"{name} has values up to {largest:.3g}; errors are squared up to {_LARGEST:g}. Rescale them."
            )


_MOST_OUTPUTS = 6  # classes whose network is drawn
_MOST_BOXES = 48  # questions of a deep network that is drawn
_MOST_WEIGHTS = 5000  # of the networks of an average, for the error of every prediction
_MOST_CELLS = 6  # columns of a row that is told
_FOLDED = 20  # questions that are seen before the others are unfolded


@dataclass(frozen=True)
class PageSettings:
    """How a page is written: its heading, digits of what is measured, most rows in it, more scripts.

    `rows` is the most rows of the dataset that are in the page, None for as many as fit. `live` is the script of a page
    whose model answers from a server, with what it is `told`; such a page has the rows that it lists, and the server
    the others.
    """

    title: str | None = None
    digits: int = 3
    rows: int | None = None
    live: str = ""
    told: Mapping[str, Any] | None = None


def render(facts: Facts, settings: PageSettings) -> str:
    """Return the whole report as HTML."""
    markup = require("markupsafe", extra="report").Markup
    own = map(_part, ("page.js", "rows.js", "edits.js"))
    script = "".join(['"use strict";\n', page_functions(plan(facts.original)), *own, settings.live])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    measures = classes.quality(facts) if facts.classes else quality(facts)
    quality_shown = None if facts.classes else _quality(facts, measures, settings.digits)
    target, controls, card = sentences.target_of(facts), offers.controls(facts), ModelCard.of(facts)
    drawings, worst = _drawings(facts), _worst(facts, settings)
    known = None if settings.live else starts(facts, settings.rows, [one["row"] for one in worst])
    editable = editing(facts, _tried(facts, worst))
    page = _template().render(
        title=clean(settings.title or facts.labels.title or f"How {target} is predicted"),
        labels=facts.labels,
        target=target,
        unit=facts.quantity,
        sentence=sentences.sentence(facts, measures[0]) + sentences.promised(facts),
        contained=_contained(facts, settings, known, worst),
        facts=facts,
        card=card,
        terms=[term.condition for term in facts.terms.rules],
        folded=_FOLDED,
        describe=lambda condition: markup(describe(condition, facts.terms, Html())),
        remarks=[markup(each) for each in remarks(facts.terms, Html())],
        lines=lines_of(facts),
        colour=colour,
        classes=_classes(facts, measures),
        columns=card.columns,
        quality=quality_shown,
        quality_note=sentences.quality_note(
            facts, measures, quality_shown or [classes.figures(one) for one in measures]
        ),
        judged=sentences.judged(facts),
        sure=sentences.sure(facts),
        spread=sentences.spread(facts),
        members=_members(facts) is not None,
        drawings=[markup(svg.drawing(each, _drawing_label(facts), focus=True)) for each in drawings],
        effects=effects(facts, settings.digits),
        unused=", ".join(quote_name(facts.network.names[i]) for i in _unused(facts)),
        controls=controls,
        growth=growth(facts),
        worst_names=[shortened(facts.network.schema).names[i] for i in facts.used[:_MOST_CELLS]],
        worst=worst,
        data_note=sentences.data_note(facts),
        ranges=told.ranges(facts),
        digits=settings.digits,
        made=told.made(facts),
        css=markup(_part("page.css")),
        js=markup(script),
        script_hash=f"sha256-{digest}",
        live=bool(settings.live),
        editing=editable is not None,
        data=markup(_data(facts, settings, card, controls, worst, editable, drawings, known)),
    )
    return visible(str(page))


@cache
def _template() -> Any:
    """Return the page's template, compiled once."""
    jinja2 = require("jinja2", extra="report")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters |= {"clean": clean, "percent": share_of, "number": _number, "value": value_of}
    return environment.from_string(_part("template.html"))


def _part(name: str) -> str:
    return files("bgn.report").joinpath(name).read_text(encoding="utf-8")


def _float(value: float | None) -> float:
    return math.nan if value is None else value


def _number(value: float, digits: int) -> str:
    return Signs().number(number(value, digits + 1))


def _unused(facts: Facts) -> list[int]:
    return [i for i in range(facts.network.n_inputs) if i not in facts.network.features_used]


def _quality(facts: Facts, measures: list[dict[str, Any]], digits: int) -> list[dict[str, Any]]:
    """Return the table of errors, written."""
    longest = max(one["rmse"] for one in measures) or 1.0
    scale = [max(longest, *(one["mae"] for one in measures))]
    return [
        one
        | {key: facts.quantity.bare(alike([one[key]], scale, digits)[0]) for key in ("rmse", "mae")}
        | {"r2": "-" if math.isnan(one["r2"]) else Signs().number(f"{round(one['r2'], 3) + 0.0:.3f}")}
        | {"width": round(100 * one["rmse"] / longest, 1)}
        for one in measures
    ]


def _drawings(facts: Facts) -> list[Drawing]:
    """Return the drawings of the network, one per score, where they can be read."""
    network = facts.network
    if network.depth > 1 and sum(network.widths) > _MOST_BOXES:
        return []
    return [draw(each, facts.importance, lines=facts.line_sizes) for each in outputs_of(network)[:_MOST_OUTPUTS]]


def _drawing_label(facts: Facts) -> str:
    widths = ", then ".join(count_of(width, "question") for width in facts.network.widths)
    return f"The network: {count_of(len(facts.used), 'feature')}, {widths}, one prediction."


def _contained(
    facts: Facts, settings: PageSettings, known: dict[str, Any] | None, worst: list[dict[str, Any]]
) -> str:  # fmt: skip
    """Say how many rows of the dataset are in the page."""
    if settings.live:
        return sentences.served(settings.told or {}, len(worst))
    keyed = any(not name.isdigit() for names in facts.names for name in names or ())
    return sentences.contained(0 if known is None else known["count"], len(worst), keyed)


def _worst(facts: Facts, settings: PageSettings) -> list[dict[str, Any]]:
    """Return the table of largest errors, written."""
    most = told.WORST if settings.rows is None else min(settings.rows, told.WORST)
    if not most:
        return []
    digits, typical, shown = settings.digits, offers.typical(facts), told.columns_shown(facts)
    write: Callable[[float], str]
    if facts.classes:
        found, write = classes.worst(facts, most), str
    else:
        found = told.worst(facts, most)
        scale = [max(abs(one["truth"]) for one in found) or 1.0]

        def write(value: float) -> str:
            return facts.quantity.bare(alike([value], scale, digits + 1)[0])

    keys = ("truth", "prediction", "residual")
    return [
        one
        | {key: write(one[key]) for key in keys}
        | {"name": facts.called(one["row"]), "cells": _cells(facts, one["values"])}
        | {"values": [value if i in shown else typical[i] for i, value in enumerate(one["values"])]}
        for one in found
    ]


def _tried(facts: Facts, worst: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the page that edits are tried on: a typical one, and those with the largest errors."""
    typical: dict[str, Any] = {"name": "a typical row", "values": offers.typical(facts), "truth": None, "told": ""}
    found = [typical]
    for one in worst:
        truth = float(facts.judged_target[one["row"]])
        found.append({"name": f"row {one['name']}", "values": one["values"], "truth": truth, "told": one["truth"]})
    return found


def _cells(facts: Facts, values: list[float | None]) -> list[str]:
    """Write a row to be looked at: 31.415000000000003, which arithmetic left behind, is 31.415."""
    columns = facts.network.schema.columns
    return [cell(columns[i], float(f"{_float(values[i]):.12g}")) for i in facts.used[:_MOST_CELLS]]


def _classes(facts: Facts, measures: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return what the page says of classes alone; None for numbers."""
    if not facts.classes:
        return None
    words = classes.words_of(facts.network)
    return {
        "words": words,
        "titles": list(classes.MEASURES.values()),
        "quality": classes.quality_table(measures),
        "charts": judging(facts),
        "confusion": classes.confusion(facts),
        "effects": curves_note(facts),
        "lines": [(words[k], kind) for k, kind in lines_for(len(words))],
    }


def _interval(facts: Facts) -> dict[str, Any] | None:
    """Return what the page needs to say how sure a prediction is."""
    found = facts.intervals
    if found is None:
        return None
    spread = found.spread
    points = ([0.0], [1.0]) if spread is None else (spread.centres.tolist(), spread.sizes.tolist())
    return {"reach": found.calibrations[None].quantile(told.SHARE), "at": points[0], "sizes": points[1]}


def _members(facts: Facts) -> dict[str, Any] | None:
    """Return what the networks of an average give its questions, for the standard error of a prediction."""
    members = facts.network.members
    plain = members is not None and facts.network.link == "identity" and not facts.network.linear
    if members is None or not plain or len(members) < 2 or members.coef.size > _MOST_WEIGHTS:
        return None
    short = [[float(f"{each:.6g}") for each in row] for row in members.coef[:, :, 0].tolist()]
    return {"weights": short, "bases": members.intercept[:, 0].tolist()}


def _scale(facts: Facts) -> list[float] | None:
    """Return the least and the greatest number on the scale of predictions; None for classes, and where all agree."""
    if facts.classes:
        return None
    ends = [float(each) for part in (facts.target, facts.predictions) for each in (part.min(), part.max())]
    return [min(ends), max(ends)] if min(ends) < max(ends) else None


def _details(facts: Facts, card: ModelCard, drawings: list[Drawing]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return what is said of each question, and of each group of questions that is drawn as one."""
    adds = "Adds" if len(outputs_of(facts.network)) == 1 else "Adds up to"
    shares, terms, unit = facts.shares[0], facts.terms, " points" if card.points else facts.quantity.suffix
    single = [
        f"{adds} {add.removeprefix('+')}{unit} if {describe(term.condition, terms, Signs())}. Its share: "
        f"{share_of(shares[term.index])}. Answered yes in {share_of(holds)} of the rows "
        f"({round(holds * len(facts.rows)):,})."
        for term, add, holds in zip(terms.rules, card.adds, facts.holds, strict=True)
    ]
    boxes = [box for each in drawings[:1] for box in each.boxes if box.kind == "group"]
    moved = "of how far predictions move from their mean"
    groups = [{"neurons": box.members, "detail": f"{' '.join(box.text.split())}: {share_of(box.share or 0.0)} {moved}."}
              for box in boxes]  # fmt: skip
    return single, groups


def _data(
    facts: Facts, settings: PageSettings, card: ModelCard, controls: list[dict[str, Any]], worst: list[dict[str, Any]],
    editable: dict[str, Any] | None, drawings: list[Drawing], known: dict[str, Any] | None,
) -> str:  # fmt: skip
    """Return what the page's script reads, as JSON that cannot end its own element."""
    details, groups = _details(facts, card, drawings)
    several = len(outputs_of(facts.network)) > 1
    fires = [] if several else (facts.network.output_weights > 0).tolist()
    terms = [
        {"neuron": term.index, "adds": add, "detail": detail, "fires": several or fires[term.index]}
        for term, add, detail in zip(facts.terms.rules, card.numbers, details, strict=True)
    ]
    written = aligned([facts.terms.intercept[0], *(term.coef[0] for term in facts.terms.rules)])
    blob = {
        "network": offers.thresholds(facts.network),
        "bounds": [end if math.isfinite(end) else None for end in facts.network.bounds or ()] or None,
        "controls": controls,
        "terms": terms,
        "groups": groups,
        "typical": offers.typical(facts),
        "rows": [one["values"] for one in worst],
        "places": places(written),
        "addPlaces": card.decimals,
        "points": card.points is not None,
        "unit": facts.quantity.suffix,
        "scale": _scale(facts),
        "classes": classes.words_of(facts.network) if facts.classes else None,
        "turned": facts.turned,
        "interval": _interval(facts),
        "members": _members(facts),
        "starts": known,
        "editing": editable,
        "live": settings.told,
    }
    text = json.dumps(blob, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
