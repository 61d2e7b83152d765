"""The facts laid out: the values of the template, the page's script and style put into one file."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from bgn.explain.promises import promises
from bgn.export.condition import describe
from bgn.export.html import Html, colour
from bgn.export.numbers import aligned, amounts, number, places, whole
from bgn.export.plan import plan
from bgn.export.programs.javascript import page_functions
from bgn.export.remarks import ends, remarks
from bgn.export.text import Signs
from bgn.model.linear_term import LinearTerm
from bgn.model.terms import Terms, outputs_of
from bgn.printable import clean, visible
from bgn.report import classes, svg
from bgn.report import controls as offers
from bgn.report import facts as told
from bgn.report.charts import effects, growth
from bgn.report.class_charts import curves_note, judging, lines_for
from bgn.report.editing import editing
from bgn.report.facts import Facts, quality
from bgn.require import require
from bgn.show.drawing import draw, percent
from bgn.show.labels import cell, shorten, shortened
from bgn.show.labels import title as title_of

_MOST_DRAWN = 6  # classes whose network is drawn
_MOST_BOXES = 150  # questions of a network that is drawn
_FOLDED = 40  # questions that are seen before the others are unfolded


def render(facts: Facts, title: str | None, digits: int, units: Mapping[str, str] | None) -> str:
    """Return the whole report as HTML."""
    markup = require("markupsafe", extra="report").Markup
    network, terms = facts.network, facts.terms
    script = "".join(['"use strict";\n', page_functions(plan(network)), _part("page.js"), _part("edits.js")])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    measures = classes.quality(facts) if facts.classes else quality(facts)
    target, controls = _target(facts), offers.controls(facts)
    base, *weights = aligned([terms.start, *(term.amount for term in terms.terms)])
    pictures = [
        svg.drawing(draw(each, facts.importance), _drawing_label(facts), focus=True)
        for each in (outputs_of(network)[:_MOST_DRAWN] if sum(network.widths) <= _MOST_BOXES else ())
    ]
    worst = _worst(facts, digits)
    editable = editing(facts, _tried(facts, worst), units)
    page = _template().render(
        title=clean(title) if title else f"How {target} is predicted",
        target=target,
        sentence=_sentence(facts, measures[0]) + _promised(facts),
        facts=facts,
        base=Signs().number(base),
        weights=weights,
        terms=[term.condition for term in terms.terms],
        folded=_FOLDED,
        describe=lambda condition: markup(describe(condition, terms, Html(), units)),
        remarks=[markup(each) for each in remarks(terms, Html(), units)],
        lines=[_line(each, terms) for each in network.linear_terms],
        colour=colour,
        classes=_classes(facts, measures),
        columns=classes.columns_of_amounts(network, terms),
        quality=None if facts.classes else _quality(measures, digits),
        quality_note=_quality_note(facts, measures),
        judged=_judged(facts),
        sure=_sure(facts),
        drawings=[markup(each) for each in pictures],
        effects=effects(facts, digits),
        unused=", ".join(clean(name) for i, name in enumerate(network.names) if i not in network.features_used),
        controls=controls,
        growth=growth(facts),
        worst_names=[shortened(network.schema).names[i] for i in facts.used[:8]],
        worst=worst,
        data_note=_data_note(facts),
        ranges=told.ranges(facts),
        digits=digits,
        made=told.made(facts),
        css=markup(_part("page.css")),
        js=markup(script),
        script_hash=f"sha256-{digest}",
        editing=editable is not None,
        data=markup(_data(facts, [base, *weights], controls, [one["values"] for one in worst], editable)),
    )
    return visible(str(page))


@cache
def _template() -> Any:
    """Return the page's template, compiled once."""
    jinja2 = require("jinja2", extra="report")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters |= {"clean": clean, "percent": percent, "number": _number, "whole": _whole}
    return environment.from_string(_part("template.html"))


def _part(name: str) -> str:
    return files("bgn.report").joinpath(name).read_text(encoding="utf-8")


def _target(facts: Facts) -> str:
    if facts.classes:
        return clean(facts.network.target_name or "the class")
    return clean(facts.terms.target) if facts.network.target_name else "value"


def _float(value: float | None) -> float:
    return math.nan if value is None else value


def _whole(value: float) -> str:
    return Signs().number(whole(value))


def _number(value: float, digits: int) -> str:
    return Signs().number(number(value, digits + 1))


def _sentence(facts: Facts, measure: Mapping[str, Any]) -> str:
    """Say what the model is."""
    count, used = len(facts.terms.terms), [title_of(facts.network.schema.columns[i]) for i in facts.used]
    target = _target(facts)
    shown = ", ".join(shorten(used)[:4]) + (f" and {len(used) - 4} more" if len(used) > 4 else "")
    about = f"{'one column' if len(used) == 1 else f'{len(used)} columns'} ({shown})"
    if facts.classes:
        return classes.sentence(facts, measure, _judged(facts), target, about)
    if not count and not facts.terms.linear_terms:
        return f"This model always predicts the same {target}: {Signs().number(whole(facts.terms.start))}."
    asked = "one yes/no question" if count == 1 else f"{count} yes/no questions"
    parts = [f"a fixed amount for each of {asked} answered yes"] if count else []
    if straight := len(facts.terms.linear_terms):
        parts.append(f"so much per unit of {'one column' if straight == 1 else f'{straight} columns'}")
    explained = f" and explains {percent(measure['r2'])} of its variance" if measure["r2"] > 0 else ""
    off = _number(float(f"{measure['mae']:.3g}"), 3)
    return (
        f"This model predicts {target} as a base value plus {' and '.join(parts)}, about "
        f"{about}; on {_judged(facts)} it is off by {off} on average{explained}. {_reach(facts)}"
    )


def _line(term: LinearTerm, terms: Terms) -> dict[str, Any]:
    """Return a linear term as the card shows it."""
    markup = require("markupsafe", extra="report").Markup
    words = Html().scaled(Html().name(title_of(terms.schema.columns[term.column])), *ends(term))
    slopes = [Signs().number(("+" if slope > 0 else "") + whole(slope)) for slope in term.slopes]
    return {"slopes": slopes, "words": markup(words)}


def _reach(facts: Facts) -> str:
    """Say between which values all predictions lie, whatever the row."""
    ends = facts.extremes
    if not ends.proven:  # what was proven in time is not the same every time
        return ""
    if math.isinf(ends.low) or math.isinf(ends.high):
        return "Its predictions have no end where columns go on without one."
    return f"No row within the ranges seen is predicted outside {_number(ends.low, 5)} to {_number(ends.high, 5)}."


def _promised(facts: Facts) -> str:
    """Say what is proven of what the model was told to do."""
    found = promises(facts.model, told.SECONDS)
    return f" Proven for every row: {'; '.join(found)}." if found else ""


def _judged(facts: Facts) -> str:
    return f"the {len(facts.judged_rows):,} rows {'held out' if facts.held_out else 'given'}"


def _quality(measures: list[dict[str, Any]], digits: int) -> list[dict[str, Any]]:
    """Return the table of errors, written."""
    longest = max(one["rmse"] for one in measures) or 1.0
    scale = [max(longest, *(one["mae"] for one in measures))]
    return [
        one
        | {key: amounts([one[key]], scale, digits)[0] for key in ("rmse", "mae")}
        | {"r2": "-" if math.isnan(one["r2"]) else Signs().number(f"{round(one['r2'], 3) + 0.0:.3f}")}
        | {"width": round(100 * one["rmse"] / longest, 1)}
        for one in measures
    ]


def _quality_note(facts: Facts, measures: list[dict[str, Any]]) -> str:
    """Say honestly which model is best."""
    note = ""
    if not facts.held_out:
        note = (
            f"No rows were held out. The tree and the {'logistic' if facts.classes else 'linear'} model were fitted to "
            "the very rows they are judged on, which flatters them; and so it does this model, if it was grown from "
            "these rows. "
        )
    if facts.classes:
        return classes.quality_note(facts, measures, note)
    best = min(measures, key=lambda one: one["rmse"])
    if best is measures[0]:
        return note + "Of these four, this model has the smallest error."
    gap = 1.0 - best["rmse"] / measures[0]["rmse"] if measures[0]["rmse"] else 0.0
    return f"{note}Here {best['name']} has a smaller error, by {percent(gap)}: consider it."


def _drawing_label(facts: Facts) -> str:
    widths = ", then ".join(f"{width} questions" for width in facts.network.widths)
    return f"The network: {len(facts.used)} features, {widths}, one prediction."


def _worst(facts: Facts, digits: int) -> list[dict[str, Any]]:
    """Return the table of largest errors, written."""
    if facts.classes:
        return [one | {"cells": _cells(facts, one["values"])} for one in classes.worst(facts)]
    rows, told_of = told.worst(facts), ("truth", "prediction", "residual")
    scale = [max(abs(one["truth"]) for one in rows) or 1.0]
    return [
        one
        | {key: Signs().number(amounts([one[key]], scale, digits + 1)[0]) for key in told_of}
        | {"cells": _cells(facts, one["values"])}
        for one in rows
    ]


def _tried(facts: Facts, worst: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the page that edits are tried on: a typical one, and those with the largest errors."""
    typical: dict[str, Any] = {"name": "a typical row", "values": offers.typical(facts), "truth": None, "told": ""}
    found = [typical]
    for one in worst:
        truth = float(facts.judged_target[one["row"]])
        found.append({"name": f"row {one['row']}", "values": one["values"], "truth": truth, "told": one["truth"]})
    return found


def _cells(facts: Facts, values: list[float | None]) -> list[str]:
    return [cell(facts.network.schema.columns[i], _float(values[i])) for i in facts.used[:8]]


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


def _data_note(facts: Facts) -> str:
    """Say how many rows there are, and how many lie outside."""
    text = (
        f"{len(facts.rows):,} rows, {facts.rows.shape[1]} columns. Beyond these ranges the model has seen nothing; its "
        "prediction stays at the level of the last threshold."
    )
    if facts.held_out:
        outside = np.any(facts.outside, axis=1)
        text += f" Of the {len(outside):,} held-out rows, {outside.sum():,} have a value outside."
    return text


def _interval(facts: Facts) -> dict[str, Any] | None:
    """Return what the page needs to say how sure a prediction is."""
    found = facts.intervals
    if found is None:
        return None
    spread = found.spread
    points = ([0.0], [1.0]) if spread is None else (spread.centres.tolist(), spread.sizes.tolist())
    return {"reach": found.calibrations[None].quantile(told.SHARE), "at": points[0], "sizes": points[1]}


def _sure(facts: Facts) -> str:
    """Say how wide intervals are, and how often they hold the truth."""
    found = facts.intervals
    if found is None:
        return ""
    if facts.classes:
        return classes.sure(facts, found, _judged(facts))
    ends = found.predict_encoded(facts.judged_rows, told.SHARE)
    inside = np.mean((facts.judged_target >= ends[:, 0]) & (facts.judged_target <= ends[:, 1]))
    width = float(np.mean(ends[:, 1] - ends[:, 0]))
    rows = found.calibrations[None].count
    return (
        f"How sure it is: intervals for {percent(told.SHARE)} of rows, made from {rows:,} rows that it did not learn "
        f"from, are {_number(float(f'{width:.3g}'), 3)} wide on average and hold {percent(float(inside))} of "
        f"{_judged(facts)}."
    )


def _data(
    facts: Facts, numbers: list[str], controls: list[dict[str, Any]], rows: list[Any], editable: dict[str, Any] | None
) -> str:
    """Return what the page's script reads, as JSON that cannot end its own element."""
    shares, terms = facts.importance.relative_neurons, facts.terms
    adds = "Adds" if len(outputs_of(facts.network)) == 1 else "Adds up to"
    details = [
        f"{adds} {weight} if {describe(term.condition, terms, Signs())}. Its share: "
        f"{percent(shares[term.neuron])}. Answered yes in {percent(holds)} of the rows "
        f"({round(holds * len(facts.rows)):,})."
        for term, weight, holds in zip(terms.terms, numbers[1:], facts.holds, strict=True)
    ]
    several = len(outputs_of(facts.network)) > 1
    fires = [] if several else (facts.network.output_weights > 0).tolist()
    blob = {
        "network": offers.thresholds(facts.network),
        "bounds": [end if math.isfinite(end) else None for end in facts.network.bounds or ()] or None,
        "controls": controls,
        "terms": [
            {"neuron": term.neuron, "weight": term.weight, "detail": detail, "fires": several or fires[term.neuron]}
            for term, detail in zip(terms.terms, details, strict=True)
        ],
        "typical": offers.typical(facts),
        "rows": rows,
        "places": places(numbers),
        "classes": classes.words_of(facts.network) if facts.classes else None,
        "interval": _interval(facts),
        "editing": editable,
    }
    text = json.dumps(blob, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
