"""The report's charts, each with the words that say what it shows: effects, growth, and how classes are told apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bgn.explain.arguments import mean_predictions
from bgn.explain.effects import Effect, effect_over
from bgn.explain.frontier import size_of_networks
from bgn.export.numbers import number, share_of
from bgn.model.step import Floats
from bgn.report import svg
from bgn.report.facts import Facts, written_probability
from bgn.require import require
from bgn.show.curves import band, categories_of, corners, few_wholes, histogram, stepping
from bgn.show.labels import Quantity, title, value_of
from bgn.text import clean, count_of, quote_category

# A curve may have as many steps as there are rows; a chart 300 points wide shows no more than this.
_SLOTS = 600
_FEW = 20  # steps that are worth counting
_MOST_CATEGORIES = 24  # that are drawn
_LINE_KINDS = ("first", "second", "third", "fourth", "fifth", "sixth")  # that can be told from each other
_MOST_POINTS = 400  # of a curve that is drawn
_PIECES = 101  # places along a linear term
MOST_ROWS = 1000
"""Rows that effects on probabilities are means over."""


def effects(facts: Facts, digits: int) -> list[dict[str, Any]]:
    """Return the effects of every feature in use, the most important first: on the prediction, all on one scale, or on
    probabilities, of two classes on the second's."""
    markup, curves = require("markupsafe", extra="report").Markup, _curves(facts)
    up, shown, reached = (0.0, 1.0), [], [np.zeros(0 if curves else 1)]
    for i, (curve,) in () if facts.classes else curves.items():  # one scale for all, and the ends of their bands
        known = facts.rows[~np.isnan(facts.rows[:, i]), i]
        known = known if len(known) else np.zeros(1)
        reached.append(np.array([] if curve.missing is None else [curve.missing]))
        reached.append(curve.values if not curve.has_linear_part else corners(curve, known)[1])
        reached += (band(curve, known) or ()) if curve.column.categories is None else ()
    if not facts.classes:
        low, high = float(np.concatenate(reached).min()), float(np.concatenate(reached).max())
        up = low - 0.05 * (high - low), high + 0.05 * (high - low)

    def write(value: float, unit: bool = True) -> str:
        if facts.classes:
            return written_probability(value)
        bare = facts.quantity.bare(number(float(f"{value:.{digits}g}"), digits))
        return bare + facts.quantity.suffix if unit else bare

    for i, of_feature in curves.items():
        column, values = facts.network.schema.columns[i], facts.rows[:, i]
        name, known = title(column), values[~np.isnan(values)]
        known = known if len(known) else np.zeros(1)
        if column.categories is not None:
            # One chart has room for one class: that which moves most.
            most = max(range(len(of_feature)), key=lambda k: float(np.ptp(of_feature[k].values)))
            start = "From"
            if facts.classes:
                start = f"Probability of {facts.class_names[drawn_classes(facts)[most][0]]} from"
            chart, text = _draw_categories(of_feature[most], values, name, up, write, start)
        elif facts.classes:
            chart, text = _draw_probabilities(facts, i, of_feature, name, known)
        else:
            chart, text = _draw_number(of_feature[0], known, len(known) < len(values), name, up, write)
        shown.append({
            "name": name, "share": share_of(facts.importance.relative_features[i]), "text": text, "svg": markup(chart),
            "unit": clean(column.unit.strip()) if column.unit.strip() else "", "about": facts.labels.columns[i],
        })  # fmt: skip
    return shown


def _curves(facts: Facts) -> dict[int, list[Any]]:
    """Return the effects of every feature in use: on the prediction, or on the probability of each class that is drawn.

    Those of linear terms on probabilities do not step: there are none.
    """
    if not facts.classes:
        return {i: [effect_over(facts.network, i, facts.rows)] for i in facts.used}
    rows, linear = _some_rows(facts), {term.column for term in facts.network.linear}
    return {i: [effect_over(facts.network, i, rows, k) for k, _ in drawn_classes(facts) if i not in linear]
            for i in facts.used}  # fmt: skip


def _draw_categories(
    curve: Effect, column: Floats, name: str, up: tuple[float, float], write: Callable[..., str], start: str
) -> tuple[str, str]:
    """Return the effect of a categorical column as a drawing, one line per category, and in words."""
    names, effects, counts = categories_of(curve, column)
    order = np.arange(len(names))
    if len(names) > _MOST_CATEGORIES:
        order = np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]
    least, most = int(np.argmin(effects)), int(np.argmax(effects))
    low, high = (f"{write(effects[k])} ({quote_category(names[k], 24)})" for k in (least, most))
    some = f"; the {len(order)} commonest of {len(names)} categories are drawn" if len(order) < len(names) else ""
    text = f"{start} {low} to {high}{some}."
    shown = [(quote_category(names[k], 16), float(effects[k]), float(counts[k])) for k in order]
    return svg.category_chart(shown, up, f"Effect of {name}. {text}"), text


def _draw_number(
    curve: Effect, known: Floats, lacks: bool, name: str, up: tuple[float, float], write: Callable[..., str]
) -> tuple[str, str]:
    """Return the effect of a number as a drawing of its steps, and in words."""
    places, values = corners(curve, known)
    least, most, joined = float(values.min()), float(values.max()), stepping(curve, known)
    steps, count = "", len(places) - 2
    if joined and not few_wholes(known):
        steps = f" in {'one step' if count == 1 else f'{count} steps' if count <= _FEW else 'many steps'}"
    between = " and ".join(map(value_of, (float(known.min()), float(known.max())))) + Quantity(curve.column.unit).suffix
    reach = f"from {write(least, False)} to {write(most)}{steps}" if least < most else f"always {write(least)}"
    text = f"Between {between}: {reach}."
    missing = curve.missing if lacks else None
    if missing is not None:
        text += f" Missing: {write(missing)} (dotted)."
    chart = _over_histogram(known, up, f"Effect of {name}. {text}")
    if missing is not None:
        chart.line([(chart.across[0], missing), (chart.across[1], missing)], "bound")
    for end in band(curve, known) or ():
        chart.line(_thin(places, end, True), "band", steps=joined)
    chart.line(_thin(places, values, joined), "first", steps=joined)
    return chart.svg("effect"), text


def _draw_probabilities(
    facts: Facts, column: int, curves: list[Effect], name: str, known: Floats
) -> tuple[str, str]:  # fmt: skip
    """Return the effects of a number on the probabilities of classes as a drawing, and in words."""
    lines, reached = [], []
    for place, (k, kind) in enumerate(drawn_classes(facts)):
        places, values = corners(curves[place], known) if curves else _probability_along(facts, column, k, known)
        lines.append((kind, places, values))
        least, most = written_probability(float(values.min())), written_probability(float(values.max()))
        reach = f"from {least} to {most}" if values.min() < values.max() else f"always {least}"
        reached.append(f"{facts.class_names[k]} {reach}")
    text = f"Probability of {'; '.join(reached)}."
    chart = _over_histogram(known, (0.0, 1.0), f"Effect of {name}. {text}")
    for kind, places, values in lines:
        chart.line(_thin(places, values, True), kind, steps=few_wholes(known) or bool(curves))
    return chart.svg("effect"), text


def _over_histogram(known: Floats, up: tuple[float, float], label: str) -> svg.Chart:
    counts, edges = histogram(known)
    ends = (min(float(known.min()), float(edges[0])), max(float(known.max()), float(edges[-1])))
    chart = svg.Chart((320, 170), ends, up, label, whole=few_wholes(known))
    chart.bars(edges.tolist(), counts.tolist())
    return chart


def _thin(places: Floats, values: Floats, steps: bool) -> list[tuple[float, float]]:
    """Return the points of a curve that paper can show: of steps the last in each slot, else the ends of all in it."""
    slots, shown = np.floor((places - places[0]) / (np.ptp(places) or 1.0) * _SLOTS), {0}
    ends = np.flatnonzero(np.diff(slots, prepend=-1.0, append=np.inf))
    for first, behind in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        own = values[first:behind]
        shown |= {behind - 1} if steps else {first, first + int(own.argmin()), first + int(own.argmax()), behind - 1}
    return [(float(places[k]), float(values[k])) for k in sorted(shown)]


def growth(facts: Facts) -> dict[str, Any] | None:
    """Return the chart of how the last layer grew, when the model has a history."""
    history = getattr(facts.model, "history_", None)
    records = [] if history is None else [record for record in history.records if record.layer == history.best_layer]
    if history is None or not records:
        return None
    members = getattr(history, "members", ())  # of an ensemble, each with steps of its own
    path, counts = history.paths[history.best_layer], size_of_networks(history)
    last = {} if members else {record.n_terms: record for record in records if record.n_terms < len(path)}
    values = {
        "first": [(x, state.train_loss) for x, state in list(zip(counts, path, strict=True))[1:]],
        "second": [(x, state.validation_loss) for x, state in list(zip(counts, path, strict=True))[1:]],
        "bound": [(counts[size], record.bound) for size, record in sorted(last.items())],
    }
    lines = {kind: [(float(x), y) for x, y in line if math.isfinite(y)] for kind, line in values.items()}
    errors = [value for kind in ("first", "second") for _, value in lines[kind]]
    if not errors:
        return None
    log = min(errors) > 0 and max(errors) > 10 * min(errors)
    up = (0.8 * min(errors) if log else min(0.0, *errors), 1.05 * max(errors))
    chosen = counts[history.best_size]
    terms = count_of(history.best_size, "term") + " in the last layer" * bool(history.best_layer)
    text = (
        f"Up to {count_of(max(counts), 'condition')} were tried; {chosen:,} were chosen ({terms}). A condition on a "
        "sum counts once per column."
    )
    if members:
        sizes = [member.network().n_conditions for member in members]
        text = (
            f"Means over {len(members)} networks, each on its own rows; they chose {min(sizes)} to "
            f"{count_of(max(sizes), 'condition')}. The model, their mean, has {facts.network.n_conditions:,}."
        )
    measure = "Mean squared error" if history.link == "identity" else "Log loss"
    label = f"{measure} against the number of conditions. {text}"
    chart = svg.Chart((480, 260), (0.0, max(1.0, *counts)), up, label, log=log, whole=True, letter=7.8)
    chart.upright(float(chosen), "chosen")
    for kind, line in lines.items():
        chart.line(line, kind)
    swaps = [record for record in records if record.kind == "replacement" and record.n_terms in last]
    chart.dots([(float(counts[record.n_terms]), record.train_loss) for record in swaps], "swap")
    markup = require("markupsafe", extra="report").Markup
    validated = "cross-validated error" if history.cross_validated else "validation error"
    return {
        "svg": markup(chart.svg("growth")), "bound": bool(lines["bound"]), "text": text, "measure": measure,
        "validation": validated if lines["second"] else None,
        "validation_set": bool(lines["second"]) and not history.cross_validated,
    }  # fmt: skip


# -- Classes: which lines are drawn, effects on probabilities, and the charts of how well they are told apart.


def drawn_classes(facts: Facts) -> list[tuple[int, str]]:
    """Return the classes that are drawn, of two the second, each with its kind of line."""
    count = len(facts.class_names)
    return [(1, "first")] if count == 2 else list(enumerate(_LINE_KINDS[:count]))


def _some_rows(facts: Facts) -> Floats:
    """Return the rows that effects on probabilities are averaged over."""
    rows = facts.rows
    return rows if len(rows) <= MOST_ROWS else rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int)]


def _probability_along(facts: Facts, column: int, k: int, known: Floats) -> tuple[Floats, Floats]:
    """Return the probability of a class along a linear term, at many places, and on both sides of thresholds."""
    network, low, high = facts.network, float(known.min()), float(known.max())
    if few_wholes(known):
        values = np.append(np.arange(low, high + 1.0), high)
        places = np.append(values[:-1] - 0.5, high + 0.5)
    else:
        first = network.layers[0].neurons
        cuts = np.array([condition.threshold / condition.projection.factors[0] for condition in first
                         if condition.projection.columns == (column,)])  # fmt: skip
        cuts = cuts[(cuts > low) & (cuts < high)]
        places = values = np.sort(np.concatenate([np.linspace(low, high, _PIECES), cuts, np.nextafter(cuts, -np.inf)]))
    return places, mean_predictions(network, k, [column], values[:, np.newaxis], _some_rows(facts))


def class_charts(facts: Facts) -> list[dict[str, Any]]:
    """Return the charts that show how well classes are told apart, each with its title and words."""
    markup, charts = require("markupsafe", extra="report").Markup, list[dict[str, Any]]()
    names, rows = facts.class_names, [(k, kind, facts.class_rows.of_class(k)) for k, kind in drawn_classes(facts)]

    def add(heading: str, text: str, up: float = 1.0) -> svg.Chart:
        chart = svg.Chart((320, 300), (0.0, 1.0), (0.0, up), f"{heading}. {text}")
        charts.append({"title": heading, "svg": chart, "text": text})
        return chart

    if roc := [(k, kind, own) for k, kind, own in rows if own.member.any() and not own.member.all()]:
        areas = ", ".join(f"{names[k]} {own.auc()[0]:.3f} (standard error {own.auc()[1]:.3f})" for k, _, own in roc)
        text = "True positive rate (upwards) against false positive rate (to the right)."
        chart = add("ROC curve", f"{text} Area under the curve: {areas}.")
        chart.line([(0.0, 0.0), (1.0, 1.0)], "bound")
        for _, kind, own in roc:
            across, up = own.roc()
            some = np.unique(np.linspace(0, len(across) - 1, min(len(across), _MOST_POINTS)).round().astype(int))
            chart.line(list(zip(across[some].tolist(), up[some].tolist(), strict=True)), kind)
    binned = [(k, kind, own.bins(10)) for k, kind, own in rows]
    errors = ", ".join(f"{names[k]} {bins.expected_error:.3f} ({bins.by_chance:.3f} by chance alone)"
                       for k, _, bins in binned)  # fmt: skip
    text = (
        "How often a class happened (upwards) against how probable it was said to be (to the right), rows in up to ten "
        f"equal groups; bars are two standard errors. On the dotted line both agree. Mean distance: {errors}."
    )
    chart = add("Calibration", text)
    chart.line([(0.0, 0.0), (1.0, 1.0)], "bound")
    for _, kind, bins in binned:
        chart.line(list(zip(bins.predicted.tolist(), bins.observed.tolist(), strict=True)), kind)
        ends = np.clip([bins.observed - 2 * bins.error, bins.observed + 2 * bins.error], 0.0, 1.0)
        for x, low, high in zip(bins.predicted.tolist(), *ends.tolist(), strict=True):
            chart.line([(x, low), (x, high)], kind)
    if len(names) == 2:
        probabilities, codes = facts.class_rows.probabilities[:, 1], facts.class_rows.codes
        counts = [np.histogram(probabilities[codes == k], 30, (0.0, 1.0))[0].astype(float) for k in (0, 1)]
        shares = [of_class / max(of_class.sum(), 1.0) for of_class in counts]
        text = (
            f"How the probability of {names[1]} is spread over the rows that are {names[1]} (blue) and over those that "
            f"are {names[0]} (orange): the further apart, the better."
        )
        chart = add("Probabilities by class", text, 1.05 * max(float(of_class.max()) for of_class in shares))
        for of_class, kind in zip(shares, ("second", "first"), strict=True):
            points = [(0.0, 0.0), *zip(np.linspace(0, 1, 31)[:-1].tolist(), of_class.tolist(), strict=True), (1.0, 0.0)]
            chart.line(points, kind, steps=True)
    return [own | {"svg": markup(own["svg"].svg("judge"))} for own in charts]
