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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain.arguments import clipped_network
from bgn.explain.evaluate import evaluate_classes
from bgn.export.condition import describe, remarks
from bgn.export.numbers import aligned, alike, number, places, share_of
from bgn.export.plan import plan
from bgn.export.programs.javascript import page_functions
from bgn.export.styles import Html, Signs, color
from bgn.model.network import Edit
from bgn.model.readings import outputs_of
from bgn.model.term import Linear
from bgn.pipelines import through_pipelines
from bgn.report import sentences, svg
from bgn.report.card import ModelCard, linear_lines
from bgn.report.charts import MOST_ROWS, class_charts, drawn_classes, effects, growth
from bgn.report.controls import changing_parts, controls, editing, starts, typical
from bgn.report.facts import (
    MEASURES,
    SHARE,
    WORST,
    Facts,
    Names,
    Rival,
    columns_shown,
    made,
    quality,
    ranges,
    written_probability,
)
from bgn.require import require
from bgn.show.drawing import Drawing, draw
from bgn.show.labels import cell, shortened, value_of
from bgn.text import clean, count_of, quote_name, visible
from bgn.whole_file import check_place, write_whole

_LARGEST = 1e150  # of numbers that are squared
_MOST_OUTPUTS = 6  # classes whose network is drawn
_MOST_BOXES = 48  # rules of a deep network that is drawn
_MOST_WEIGHTS = 5000  # of the networks of an ensemble, for the error of every prediction
_MOST_CELLS = 6  # columns of a row that is listed
_FOLDED = 20  # rules that are seen before the others are unfolded


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
        Test rows. Without them the errors are those on `X` and `y`, as the report says.
    title : str, optional, heading of the page
    digits : int, default 3
        Significant digits of what is measured, such as errors. The model's own numbers, and its rows', are whole.
    units : mapping of str to str, optional, by the names of columns and target
    labels : mapping or path, optional
        What the page calls things: ``title``, ``description``, ``target`` and ``columns``, by name, the latter two with
        ``label``, ``unit``, ``description`` and ``categories`` (a text per category); or a TOML or JSON file of these.
    edits : sequence of Edit, optional
        What an expert changed, from :func:`bgn.edit`; an estimator's own ``edits_`` unless told.
    names, names_test : sequence, optional
        What the rows of `X` and `X_test` are called, such as a key; numbers from 1 unless told.
    rows : int or bool, optional
        The most rows of the dataset in the page, those with the largest errors first; as many as fit unless given.
        False or 0 for none.
    n_training : int, optional, how many of the rows the model learnt from, where there are no test rows

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
    if rows is not None and (not isinstance(rows, int) or rows < 0):
        raise ValueError(
            f"rows must be False for none, a whole number for the most, or None for as many as fit; got {rows!r}."
        )
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 17:
        raise ValueError(f"digits must be a whole number from 1 to 17; got {digits!r}.")
    network = clipped_network(model)
    reach = np.abs(network.intercept) + np.abs(network.rule_coef).sum(axis=0)
    for term, coef in zip(network.linear, network.linear_coef, strict=True):
        reach = reach + np.abs(coef) * max(abs(term.low), abs(term.high))
    numbers: dict[str, Any] = {"model": reach} | ({"y": y, "y_test": y_test} if network.link == "identity" else {})
    for name, values in numbers.items():
        largest = np.abs(np.asarray([] if values is None else values, dtype=np.float64)).max(initial=0.0)
        if _LARGEST < largest < np.inf:
            raise ValueError(
                f"{name} has values up to {largest:.3g}; errors are squared up to {_LARGEST:g}. Rescale them."
            )
    check_place(path)
    facts = Facts.of(model, X, y, X_test, y_test, labels, units)
    log: Sequence[Edit] = getattr(model, "edits_", ()) if edits is None else edits
    counts = {"names": len(facts.rows), "names_test": len(facts.evaluation_rows) if facts.held_out else 0}
    called: list[Names] = []
    for (argument, count), given in zip(counts.items(), (names, names_test), strict=True):
        if given is not None and (isinstance(given, str) or len(given) != count):
            raise ValueError(f"{argument} must have one name per row, {count}; got {len(given)}.")
        called.append(None if given is None else [clean(str(name), 80) for name in given])
    facts = replace(facts, edits=tuple(log), names=(called[0], called[1]), n_training=n_training)
    most = None if rows is None or rows is True else int(rows)
    write_whole(path, render(facts, PageSettings(title, digits, most)).encode("utf-8"))
    return Path(path)


@dataclass(frozen=True)
class PageSettings:
    """How a page is written: its heading, digits of what is measured, most rows in it, more scripts.

    `rows` is the most rows of the dataset that are in the page, None for as many as fit. `live` is the script of a page
    whose model answers from a server, with what the `server` offers; such a page has the rows that it lists, and the
    server the others.
    """

    title: str | None = None
    digits: int = 3
    rows: int | None = None
    live: str = ""
    server: Mapping[str, Any] | None = None


def render(facts: Facts, settings: PageSettings) -> str:
    """Return the whole report as HTML."""
    markup = require("markupsafe", extra="report").Markup
    own = map(_file, ("page.js", "rows.js", "edits.js"))
    script = "".join(['"use strict";\n', page_functions(plan(facts.original)), *own, settings.live])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    target, card, network, terms = sentences.target_of(facts), ModelCard.of(facts), facts.network, facts.terms
    models, listed, made_up = quality(facts), _largest_errors(facts, settings), typical(facts)
    table, offered, members = _quality_table(facts, models, settings.digits), controls(facts), None
    ensemble = network.members if network.link == "identity" and not network.linear else None
    if ensemble is not None and len(ensemble) > 1 and ensemble.coef.size <= _MOST_WEIGHTS:
        # What each network gives the rules, for the standard error of a prediction.
        coef = [[float(f"{value:.6g}") for value in row] for row in ensemble.coef[:, :, 0].tolist()]
        members = {"coef": coef, "intercept": ensemble.intercept[:, 0].tolist()}
    drawings = list[Drawing]()
    if not network.below or sum(network.widths) <= _MOST_BOXES:
        sizes = [float(size) for size, term in zip(facts.importance.terms, network.terms, strict=True)
                 if isinstance(term, Linear)]  # fmt: skip
        drawings = [draw(output, facts.importance, lines=sizes) for output in outputs_of(network)[:_MOST_OUTPUTS]]
    known = None if settings.live else starts(facts, settings.rows, [row["row"] for row in listed])
    tried: list[dict[str, Any]] = [{"name": "a typical row", "values": made_up, "truth": None, "text": ""}]
    tried += [{"name": f"row {row['name']}", "values": row["values"], "text": row["truth"],
               "truth": float(facts.evaluation_target[row["row"]])} for row in listed]  # fmt: skip
    editable = editing(facts, tried)
    blob = _model_data(facts, card, drawings) | {
        "controls": offered, "typical": made_up, "rows": [row["values"] for row in listed], "members": members,
        "starts": known, "editing": editable, "live": settings.server,
    }  # fmt: skip
    text = json.dumps(blob, allow_nan=False, separators=(",", ":"))
    widths = [*(layer.width for layer in network.below), len(network.rules)]
    layers = ", then ".join(count_of(width, "rule") for width in widths)
    label = f"The network: {count_of(len(facts.used), 'feature')}, {layers}, one prediction."
    unused = [name for i, name in enumerate(network.names) if i not in network.features_used]
    keyed = any(not name.isdigit() for names in facts.names for name in names or ())
    count, served = 0 if known is None else known["count"], settings.server["rows"] if settings.server else None
    classes = None
    if facts.classes:
        lines = [(facts.class_names[k], kind) for k, kind in drawn_classes(facts)]
        classes = {"names": facts.class_names, "charts": class_charts(facts), "confusion": _confusion(facts),
                   "lines": lines}  # fmt: skip
        if len(facts.rows) > MOST_ROWS:
            classes["effects"] = f"Curves are means over {MOST_ROWS:,} of the {len(facts.rows):,} rows."
    page = _template().render(
        title=clean(settings.title or facts.labels.title or f"Predicting {target}"),
        labels=facts.labels,
        target=target,
        unit=facts.quantity,
        sentence=sentences.summary(facts, models[0]),
        contained=sentences.contained(count, len(listed), keyed, served),
        facts=facts,
        card=card,
        terms=terms.rules,
        folded=_FOLDED,
        describe=lambda part: markup(describe(part, terms, Html())),
        remarks=[markup(text) for text in remarks(terms, Html())],
        lines=linear_lines(facts),
        color=color,
        classes=classes,
        columns=card.columns,
        measures=list(MEASURES[facts.classes].values()),
        quality=table,
        quality_note=sentences.quality_note(facts, models, [row["written"] for row in table]),
        evaluated_on=sentences.evaluated_on(facts),
        sure=sentences.certainty(facts),
        disagreement=sentences.disagreement(facts),
        members=members is not None,
        drawings=[markup(svg.drawing(drawing, label, focus=True)) for drawing in drawings],
        effects=effects(facts, settings.digits),
        unused=", ".join(map(quote_name, unused)),
        controls=offered,
        growth=growth(facts),
        worst_names=[shortened(network.schema).names[i] for i in facts.used[:_MOST_CELLS]],
        worst=listed,
        data_note=sentences.data_note(facts),
        ranges=ranges(facts),
        digits=settings.digits,
        made=made(facts),
        css=markup(_file("page.css")),
        js=markup(script),
        script_hash=f"sha256-{digest}",
        live=bool(settings.live),
        editing=editable is not None,
        data=markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")),
    )
    return visible(str(page))


def _file(name: str) -> str:
    return files("bgn.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    """Return the page's template, compiled once."""
    jinja2 = require("jinja2", extra="report")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)

    def rounded(value: float, digits: int) -> str:
        return Signs().number(number(value, digits + 1))

    environment.filters |= {"clean": clean, "percent": share_of, "number": rounded, "value": value_of}
    return environment.from_string(_file("template.html"))


def _quality_table(facts: Facts, models: list[Rival], digits: int) -> list[dict[str, Any]]:
    """Return the table of scores as it is written, with a bar for the first of them."""
    first, table = next(iter(MEASURES[facts.classes])), []
    longest = max(score for model in models if math.isfinite(score := model.evaluation.scores[first])) or 1.0
    for model in models:
        scores = {name: model.evaluation.scores[name] for name in MEASURES[facts.classes]}
        written = {name: "-" if math.isnan(score) else Signs().number(f"{round(score, 3) + 0.0:.3f}")
                   for name, score in scores.items()}  # fmt: skip
        if not facts.classes:  # errors in the unit of the target, with as many digits as the largest
            scale = [max(other.evaluation.scores[name] for other in models for name in ("rmse", "mae")) or 1.0]
            written |= {name: facts.quantity.bare(alike([scores[name]], scale, digits)[0]) for name in ("rmse", "mae")}
        bar = round(100 * min(scores[first] / longest, 1.0), 1)
        table.append({"name": model.name, "size": model.size, "written": written, "bar": bar})
    return table


def _largest_errors(facts: Facts, settings: PageSettings) -> list[dict[str, Any]]:
    """Return the rows with the largest errors as the page lists them; of classes those to whose class the least
    probability was given."""
    most = WORST if settings.rows is None else min(settings.rows, WORST)
    if facts.classes:
        rows, labels = facts.class_rows, facts.class_names
        given = rows.log_probabilities[np.arange(len(rows.codes)), rows.codes]
        order = np.argsort(given, kind="stable")[:most]
        texts = [[labels[rows.codes[i]], labels[rows.predicted[i]], written_probability(float(np.exp(given[i])))]
                 for i in order]  # fmt: skip
    else:
        residual = facts.evaluation_target - facts.predictions
        order = np.argsort(-np.abs(residual), kind="stable")[:most]
        scale = [float(np.abs(facts.evaluation_target[order]).max(initial=0.0)) or 1.0]
        numbers = np.stack([facts.evaluation_target, facts.predictions, residual], axis=1)[order].tolist()
        texts = [[facts.quantity.bare(alike([value], scale, settings.digits + 1)[0]) for value in own]
                 for own in numbers]  # fmt: skip
    made_up, shown, names, listed = typical(facts), columns_shown(facts), facts.evaluation_names, []
    for i, (truth, prediction, error) in zip(order.tolist(), texts, strict=True):
        values = facts.evaluation_rows[i].tolist()
        # 31.415000000000003, which arithmetic left behind, is 31.415.
        cells = [cell(facts.network.schema.columns[j], float(f"{values[j]:.12g}")) for j in facts.used[:_MOST_CELLS]]
        known = [made_up[j] if j not in shown else None if value != value else value for j, value in enumerate(values)]
        listed.append({"row": i, "name": str(i + 1) if names is None else names[i], "truth": truth,
                       "prediction": prediction, "residual": error, "cells": cells, "values": known})  # fmt: skip
    return listed


def _confusion(facts: Facts) -> dict[str, Any]:
    """Return how many rows of each class were taken for which, with shares of each class."""
    matrix: Any = evaluate_classes(facts.class_rows).confusion
    totals = matrix.sum(axis=1, keepdims=True)
    shares = np.divide(matrix, totals, out=np.zeros_like(matrix), where=totals > 0)
    rows = [
        {"name": name, "cells": [{"count": f"{int(n):,}", "share": share_of(p), "strength": round(100 * p)}
                                 for n, p in zip(counts, part, strict=True)]}
        for name, counts, part in zip(facts.class_names, matrix.tolist(), shares.tolist(), strict=True)
    ]  # fmt: skip
    return {"names": facts.class_names, "rows": rows}


def _model_data(facts: Facts, card: ModelCard, drawings: list[Drawing]) -> dict[str, Any]:
    """Return what the page's script reads of the model."""
    network, terms, shares = facts.network, facts.terms, facts.shares[0]
    adds, unit = "Adds up to" if terms.classes else "Adds", " points" if card.points else facts.quantity.suffix
    rules = []
    for term, add, value, holds in zip(terms.rules, card.adds, card.numbers, facts.holds, strict=True):
        detail = (
            f"{adds} {add.removeprefix('+')}{unit} if {describe(term, terms, Signs())}. Its share: "
            f"{share_of(shares[term.index])}. It holds for {share_of(holds)} of the rows "
            f"({round(holds * len(facts.rows)):,})."
        )
        fires = bool(max(network.rule_coef[term.index].tolist(), key=abs) > 0)
        rules.append({"rule": term.index, "adds": value, "detail": detail, "fires": fires})
    groups = [
        {"rules": box.members, "detail": f"{' '.join(box.text.split())}: {share_of(box.share or 0.0)} of how far "
         "predictions move from their mean."}
        for drawing in drawings[:1] for box in drawing.boxes if box.kind == "group"
    ]  # fmt: skip
    intervals, interval = facts.intervals, None
    if intervals is not None:
        scale = intervals.scale
        points = ([0.0], [1.0]) if scale is None else (scale.centers.tolist(), scale.sizes.tolist())
        interval = {"reach": intervals.calibrations[None].quantile(SHARE), "at": points[0], "sizes": points[1]}
    ends = [float(end) for part in (facts.target, facts.predictions) for end in (part.min(), part.max())]
    return {
        "network": changing_parts(network),
        "bounds": [end if math.isfinite(end) else None for end in network.bounds or ()] or None,
        "terms": rules,
        "groups": groups,
        "places": places(aligned([terms.intercept[0], *(term.coef[0] for term in terms.rules)])),
        "addPlaces": card.decimals,
        "points": card.points is not None,
        "unit": facts.quantity.suffix,
        # The least and the greatest number on the scale of predictions.
        "scale": None if facts.classes or min(ends) == max(ends) else [min(ends), max(ends)],
        "classes": facts.class_names if facts.classes else None,
        "turned": facts.turned,
        "interval": interval,
    }
