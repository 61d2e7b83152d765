"""The report's charts, each with the words that say what it shows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bgn.explain.effects import Effect, effect
from bgn.export.numbers import number, whole
from bgn.export.text import Signs
from bgn.model.step import Floats
from bgn.report import svg
from bgn.report.facts import Facts
from bgn.require import require
from bgn.show.curve import corners, few_wholes, histogram
from bgn.show.drawing import percent
from bgn.show.labels import title

# A curve may have as many steps as there are rows; a chart 300 points wide shows no more than this.
_STEPS = 600


def effects(facts: Facts, digits: int) -> list[dict[str, Any]]:
    """Return the effect curve of every feature in use, the most important first, all on one scale."""
    markup = require("markupsafe", extra="report").Markup
    curves = _curves(facts)
    levels = np.concatenate([curve.levels for curve in curves.values()]) if curves else np.zeros(1)
    up = (float(levels.min()), float(levels.max()))
    room = 0.05 * (up[1] - up[0])
    shown = []
    for i, curve in curves.items():
        column = facts.rows[:, i]
        low, high = float(column.min()), float(column.max())
        places, reached = corners(curve, column)
        least, most = float(reached.min()), float(reached.max())
        name = title(facts.network.schema.columns[i])
        between = " and ".join(Signs().number(whole(end)) for end in (low, high))
        steps = "" if few_wholes(column) else f" in {_count(len(places) - 2)}"
        reach = f"from {_number(least, digits)} to {_number(most, digits)}{steps}"
        text = f"Between {between}: {reach if least < most else f'always {_number(least, digits)}'}."
        counts, edges = histogram(column)
        ends = (min(low, float(edges[0])), max(high, float(edges[-1])))
        chart = svg.Chart(
            (320, 170), ends, (up[0] - room, up[1] + room), f"Effect of {name}. {text}", whole=few_wholes(column)
        )
        chart.bars(edges.tolist(), counts.tolist())
        chart.line(_thinned(places, reached), "first", steps=True)
        share = percent(facts.importance.relative_features[i])
        shown.append({"name": name, "share": share, "text": text, "svg": markup(chart.svg("effect"))})
    return shown


def _curves(facts: Facts) -> dict[int, Effect]:
    """Return the effect of every feature in use.

    With one hidden layer, neurons that do not read a feature only add their mean: it is worked out once for all.
    """
    network, curves = facts.network, {}
    weights = network.output_weights
    means = network.hidden(facts.rows).mean(axis=0) * weights
    for i in facts.used:
        part = network
        if network.depth == 1:
            reads = network.layers[0].reads[:, i]
            part = network.changed(
                layers=[network.layers[0].only(np.flatnonzero(reads))],
                output_weights=weights[reads],
                base=network.base + means[~reads].sum(),
            )
        curve = effect(part, i, facts.rows)
        assert isinstance(curve, Effect)  # of one feature, not of a pair
        curves[i] = curve
    return curves


def _thinned(places: Floats, levels: Floats) -> list[tuple[float, float]]:
    """Return the steps of a curve that can be told apart on paper: the first, the last, and one per slot between."""
    slots = np.floor((places - places[0]) / (np.ptp(places) or 1.0) * _STEPS)
    shown = np.append(slots[1:] != slots[:-1], True)
    shown[0] = True
    return list(zip(places[shown].tolist(), levels[shown].tolist(), strict=True))


def _number(value: float, digits: int) -> str:
    return Signs().number(number(float(f"{value:.{digits}g}"), digits))


def _count(steps: int) -> str:
    return "one step" if steps == 1 else f"{steps} steps"


def growth(facts: Facts) -> dict[str, Any] | None:
    """Return the chart of how the last layer grew, when the model has a history."""
    history = getattr(facts.model, "history_", None)
    records = [] if history is None else [one for one in history.records if one.layer == history.best_layer]
    if history is None or not records:
        return None
    settled = sorted({one.width: one for one in records}.items())
    lines = {
        kind: [(float(width), getattr(one, key)) for width, one in settled if math.isfinite(getattr(one, key))]
        for kind, key in (("first", "train_mse"), ("second", "validation_mse"), ("bound", "bound"))
    }
    errors = [value for kind in ("first", "second") for _, value in lines[kind]]
    if not errors:
        return None
    log = min(errors) > 0 and max(errors) > 10 * min(errors)
    up = (0.8 * min(errors) if log else min(0.0, *errors), 1.05 * max(errors))
    text = f"Up to {settled[-1][0]} neurons were tried in the last layer; {history.best_width} were chosen."
    label = f"Mean squared error against the number of neurons. {text}"
    chart = svg.Chart((640, 280), (0.0, float(settled[-1][0])), up, label, log=log)
    chart.upright(float(history.best_width), "chosen")
    for kind, line in lines.items():
        chart.line(line, kind)
    chart.dots([(float(one.width), one.train_mse) for one in records if one.kind == "replacement"], "swap")
    markup = require("markupsafe", extra="report").Markup
    return {"svg": markup(chart.svg("growth")), "text": text, "validation": bool(lines["second"])}
