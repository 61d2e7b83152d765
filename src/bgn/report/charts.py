"""The report's charts, each with the words that say what it shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.explain.arguments import mean_predictions
from bgn.explain.effects import Effect, effect_over
from bgn.export.numbers import number, share_of
from bgn.model.step import Floats
from bgn.report import svg
from bgn.report.classes import chance, judged_rows, words_of
from bgn.report.facts import Facts
from bgn.require import require
from bgn.show.curves import band, categories_of, corners, few_wholes, histogram, stepping
from bgn.show.labels import Quantity, title, value_of
from bgn.text import clean, quote_category

# A curve may have as many steps as there are rows; a chart 300 points wide shows no more than this.
_STEPS = 600
_FEW = 20  # steps that are worth counting
_MOST_CATEGORIES = 24  # of a category that are drawn


def effects(facts: Facts, digits: int) -> list[dict[str, Any]]:
    """Return the effect curve of every feature in use, the most important first, all on one scale."""
    markup = require("markupsafe", extra="report").Markup
    if facts.classes:
        return _probability_effects(facts)
    curves = _curves(facts)
    gaps = [each.missing for each in curves.values() if each.missing is not None]
    reached = [each for i, curve in curves.items() for each in _reached(curve, facts.rows[:, i])]
    levels = np.concatenate([*reached, gaps]) if curves else np.zeros(1)
    up = (float(levels.min()), float(levels.max()))
    room, write = 0.05 * (up[1] - up[0]), _Written(facts.quantity, digits)
    shown = []
    for i, curve in curves.items():
        name, share = title(facts.network.schema.columns[i]), share_of(facts.importance.relative_features[i])
        draw = _steps if curve.column.categories is None else _categories
        drawn, text = draw(curve, facts.rows[:, i], name, (up[0] - room, up[1] + room), write)
        shown.append({"name": name, "share": share, "text": text, "svg": markup(drawn), **_about(facts, i)})
    return shown


@dataclass(frozen=True)
class _Written:
    """How effects are written: in the target's unit, to so many digits, or as probabilities."""

    quantity: Quantity
    digits: int | None

    def bare(self, value: float) -> str:
        """Write an effect without its unit."""
        if self.digits is None:
            return chance(value)
        return self.quantity.bare(number(float(f"{value:.{self.digits}g}"), self.digits))

    def __call__(self, value: float) -> str:
        return self.bare(value) + ("" if self.digits is None else self.quantity.suffix)


def _about(facts: Facts, i: int) -> dict[str, str]:
    """Return the unit of a column and what the author says of it."""
    unit = facts.network.schema.columns[i].unit.strip()
    return {"unit": clean(unit) if unit else "", "about": facts.labels.columns[i]}


def _probability_effects(facts: Facts) -> list[dict[str, Any]]:
    """Return the effects of every feature on probabilities: of two classes on the second's, of more on each."""
    markup = require("markupsafe", extra="report").Markup
    words = words_of(facts.network)
    drawn, shown = lines_for(len(words)), []
    for i, curves in probability_curves(facts).items():
        of, column = facts.network.schema.columns[i], facts.rows[:, i]
        name, share = title(of), share_of(facts.importance.relative_features[i])
        if of.categories is not None:
            # One chart has room for one class: that which moves most.
            most = max(range(len(curves)), key=lambda k: float(np.ptp(curves[k].values)))
            start = f"Probability of {words[drawn[most][0]]} from"
            chart, text = _categories(curves[most], column, name, (0.0, 1.0), _Written(facts.quantity, None), start)
        else:
            known = column[~np.isnan(column)]
            known = known if len(known) else np.zeros(1)
            counts, edges = histogram(known)
            ends = (min(float(known.min()), float(edges[0])), max(float(known.max()), float(edges[-1])))
            steps = few_wholes(known) or bool(curves)
            each: list[Effect | None] = [*curves] or [None] * len(drawn)
            lines = [probability_corners(facts, i, k, one, known) for (k, _), one in zip(drawn, each, strict=True)]
            told = (reach(words[k], line[1]) for (k, _), line in zip(drawn, lines, strict=True))
            text = f"Probability of {'; '.join(told)}."
            drawing = svg.Chart((320, 170), ends, (0.0, 1.0), f"Effect of {name}. {text}", whole=few_wholes(known))
            drawing.bars(edges.tolist(), counts.tolist())
            for (_, kind), line in zip(drawn, lines, strict=True):
                drawing.line(_thin_steps(*line), kind, steps=steps)
            chart = drawing.svg("effect")
        shown.append({"name": name, "share": share, "text": text, "svg": markup(chart), **_about(facts, i)})
    return shown


def _categories(
    curve: Effect, column: Floats, name: str, up: tuple[float, float], write: _Written, start: str = "From"
) -> tuple[str, str]:
    """Return the effect of a category as a drawing, one line per level, and in words."""
    words, found, counts = categories_of(curve, column)
    order = np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]
    order = order if len(words) > _MOST_CATEGORIES else np.arange(len(words))
    least, most = int(np.argmin(found)), int(np.argmax(found))
    low, high = write(found[least]), write(found[most])
    text = f"{start} {low} ({quote_category(words[least], 24)}) to {high} "
    text += (
        f"({quote_category(words[most], 24)})."
        if len(order) == len(words)
        else (f"({quote_category(words[most], 24)}); the {len(order)} commonest of {len(words)} levels are drawn.")
    )
    shown = [(quote_category(words[k], 16), float(found[k]), float(counts[k])) for k in order]
    return svg.category_chart(shown, up, f"Effect of {name}. {text}"), text


def _steps(curve: Effect, column: Floats, name: str, up: tuple[float, float], write: _Written) -> tuple[str, str]:
    """Return the effect of a number as a drawing of its steps, and in words."""
    known = column[~np.isnan(column)]
    gaps, column = len(known) < len(column) and curve.missing is not None, known if len(known) else np.zeros(1)
    low, high = float(column.min()), float(column.max())
    places, reached = corners(curve, column)
    least, most = float(reached.min()), float(reached.max())
    between = " and ".join(map(value_of, (low, high))) + Quantity(curve.column.unit).suffix
    steps = "" if few_wholes(column) or not stepping(curve, column) else f" in {_count(len(places) - 2)}"
    reach = f"from {write.bare(least)} to {write(most)}{steps}"
    text = f"Between {between}: {reach if least < most else f'always {write(least)}'}."
    if gaps and curve.missing is not None:
        text += f" Missing: {write(curve.missing)} (dotted)."
    counts, edges = histogram(column)
    ends = (min(low, float(edges[0])), max(high, float(edges[-1])))
    chart = svg.Chart((320, 170), ends, up, f"Effect of {name}. {text}", whole=few_wholes(column))
    chart.bars(edges.tolist(), counts.tolist())
    if gaps and curve.missing is not None:
        chart.line([(ends[0], curve.missing), (ends[1], curve.missing)], "bound")
    joined = stepping(curve, column)
    for end in band(curve, column) or ():
        chart.line(_thin_steps(places, end), "band", steps=joined)
    chart.line((_thin_steps if joined else _outlined)(places, reached), "first", steps=joined)
    return chart.svg("effect"), text


def _reached(curve: Effect, column: Floats) -> list[Floats]:
    """Return the effects that are drawn of a feature, and the ends of their band."""
    if curve.column.categories is not None:
        return [curve.values]
    known = column[~np.isnan(column)]
    known = known if len(known) else np.zeros(1)
    return [curve.values if not curve.has_linear_part else corners(curve, known)[1], *(band(curve, known) or ())]


def _curves(facts: Facts) -> dict[int, Effect]:
    """Return the effect of every feature in use.

    With one hidden layer, neurons that do not read a feature only add their mean: it is worked out once for all.
    """
    network, curves = facts.network, {}
    weights = network.output_weights
    means = facts.coded.hidden(facts.rows).mean(axis=0) * weights
    for i in facts.used:
        part = network
        if network.depth == 1 and network.members is None and network.bounds is None:
            reads = network.layers[0].reads[:, i]
            part = network.changed(
                layers=[network.layers[0].only(np.flatnonzero(reads))],
                output_weights=weights[reads],
                base=network.base + means[~reads].sum(),
            )
        curve = effect_over(part, i, facts.rows)
        assert isinstance(curve, Effect)  # of one feature, not of a pair
        curves[i] = curve
    return curves


def _thin_steps(places: Floats, levels: Floats) -> list[tuple[float, float]]:
    """Return the steps of a curve that can be told apart on paper: the first, the last, and one per slot between."""
    slots = _slots(places)
    shown = np.append(slots[1:] != slots[:-1], True)
    shown[0] = True
    return list(zip(places[shown].tolist(), levels[shown].tolist(), strict=True))


def _outlined(places: Floats, levels: Floats) -> list[tuple[float, float]]:
    """Return the corners of a curve of straight lines that can be told apart on paper: in a slot the ends of all."""
    shown = set[int]()
    ends = np.flatnonzero(np.diff(_slots(places), prepend=-1.0, append=np.inf))
    for first, behind in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        own = levels[first:behind]
        shown |= {first, first + int(own.argmin()), first + int(own.argmax()), behind - 1}
    return [(float(places[k]), float(levels[k])) for k in sorted(shown)]


def _slots(places: Floats) -> Floats:
    """Return in which of the slots across a chart each place lies."""
    return np.asarray(np.floor((places - places[0]) / (np.ptp(places) or 1.0) * _STEPS))


def _count(steps: int) -> str:
    return "one step" if steps == 1 else f"{steps} steps" if steps <= _FEW else "many steps"


def growth(facts: Facts) -> dict[str, Any] | None:
    """Return the chart of how the last layer grew, when the model has a history."""
    history = getattr(facts.model, "history_", None)
    records = [] if history is None else [one for one in history.records if one.layer == history.best_layer]
    if history is None or not records:
        return None
    members = getattr(history, "members", ())  # of an average, each with steps of its own
    settled = sorted({one.width: one for one in records}.items())
    path = list(enumerate(history.paths[history.best_layer]))[1:]
    values = {
        "first": [(width, each.train_loss) for width, each in path],
        "second": [(width, each.validation_loss) for width, each in path],
        "bound": [(width, one.bound) for width, one in settled if not members],
    }
    lines = {kind: [(float(x), y) for x, y in line if math.isfinite(y)] for kind, line in values.items()}
    errors = [value for kind in ("first", "second") for _, value in lines[kind]]
    if not errors:
        return None
    log = min(errors) > 0 and max(errors) > 10 * min(errors)
    up = (0.8 * min(errors) if log else min(0.0, *errors), 1.05 * max(errors))
    text = f"Up to {settled[-1][0]} neurons were tried in the last layer; {history.best_width} were chosen."
    if members:
        text = (
            f"Means over {len(members)} networks, each on its own rows, at most so wide; they chose "
            f"{min(each.best_width for each in members)} to {max(each.best_width for each in members)} neurons."
        )
    measure = "Mean squared error" if history.link == "identity" else "Log loss"
    label = f"{measure} against the number of neurons. {text}"
    chart = svg.Chart((480, 260), (0.0, float(settled[-1][0])), up, label, log=log, whole=True, letter=7.8)
    chart.upright(float(history.best_width), "chosen")
    for kind, line in lines.items():
        chart.line(line, kind)
    swaps = [] if members else [one for one in records if one.kind == "replacement"]
    chart.dots([(float(one.width), one.train_loss) for one in swaps], "swap")
    markup = require("markupsafe", extra="report").Markup
    validated = "cross-validated error" if history.cross_validated else "validation error"
    apart = bool(lines["second"]) and not history.cross_validated
    told = {"text": text, "validation": validated if lines["second"] else None, "measure": measure, "apart": apart}
    return {"svg": markup(chart.svg("growth")), "bound": bool(lines["bound"])} | told


# -- The report's charts of classes: ROC, calibration, scores by class, effects on probabilities.

KINDS = ("first", "second", "third", "fourth", "fifth", "sixth")
"""Lines that can be told apart."""
_POINTS = 400
_PIECES = 101  # places along a linear term
MOST_ROWS = 1000  # that effects on probabilities are averaged over


def lines_for(count: int) -> list[tuple[int, str]]:
    """Return the classes that are drawn, of two the second, each with its kind of line."""
    return [(1, "first")] if count == 2 else list(enumerate(KINDS[:count]))


def judging(facts: Facts) -> list[dict[str, Any]]:
    """Return the charts that judge classes, each with its title and words."""
    markup = require("markupsafe", extra="report").Markup
    judged, words = judged_rows(facts), words_of(facts.network)
    drawn = lines_for(len(words))
    shown = []
    for heading, make in (("ROC curve", _roc), ("Calibration", _calibration), ("Probabilities by class", _spread)):
        found = make(judged, words, drawn)
        if found is not None:
            shown.append({"title": heading, "svg": markup(found[0]), "text": found[1]})
    return shown


def _square(label: str) -> svg.Chart:
    chart = svg.Chart((320, 300), (0.0, 1.0), (0.0, 1.0), label)
    chart.line([(0.0, 0.0), (1.0, 1.0)], "bound")
    return chart


def _thin_points(across: Floats, up: Floats) -> list[tuple[float, float]]:
    """Return no more points than can be told apart."""
    some = np.unique(np.linspace(0, len(across) - 1, min(len(across), _POINTS)).round().astype(int))
    return list(zip(across[some].tolist(), up[some].tolist(), strict=True))


def _roc(judged: Any, words: list[str], drawn: list[tuple[int, str]]) -> tuple[str, str] | None:
    curves = [(k, kind, judged.of_class(k)) for k, kind in drawn]
    curves = [each for each in curves if each[2].member.any() and not each[2].member.all()]
    if not curves:
        return None
    areas = ", ".join(f"{words[k]} {one.auc()[0]:.3f} (standard error {one.auc()[1]:.3f})" for k, _, one in curves)
    text = (
        "The share of a class that is found (upwards) against the share of the others taken for it (to the right). "
        f"Area under the curve: {areas}."
    )
    chart = _square(f"ROC curve. {text}")
    for _, kind, one in curves:
        chart.line(_thin_points(*one.roc()), kind)
    return chart.svg("judge"), text


def _calibration(judged: Any, words: list[str], drawn: list[tuple[int, str]]) -> tuple[str, str]:
    found = [(k, kind, judged.of_class(k).bins(10)) for k, kind in drawn]
    errors = ", ".join(
        f"{words[k]} {bins.expected_error:.3f} ({bins.by_chance:.3f} by chance alone)" for k, _, bins in found
    )
    text = (
        "How often a class happened (upwards) against how probable it was said to be (to the right), rows in up to ten "
        f"equal groups; bars are two standard errors. On the dotted line both agree. Mean distance: {errors}."
    )
    chart = _square(f"Calibration. {text}")
    for _, kind, bins in found:
        chart.line(list(zip(bins.predicted.tolist(), bins.observed.tolist(), strict=True)), kind)
        ends = np.clip([bins.observed - 2 * bins.error, bins.observed + 2 * bins.error], 0.0, 1.0)
        for x, low, high in zip(bins.predicted.tolist(), *ends.tolist(), strict=True):
            chart.line([(x, low), (x, high)], kind)
    return chart.svg("judge"), text


def _spread(judged: Any, words: list[str], drawn: list[tuple[int, str]]) -> tuple[str, str] | None:
    if len(words) != 2:
        return None
    edges = np.linspace(0, 1, 31)
    shares = [np.histogram(judged.probabilities[judged.codes == k, 1], edges)[0].astype(float) for k in (0, 1)]
    shares = [each / max(each.sum(), 1.0) for each in shares]
    text = (
        f"How the probability of {words[1]} is spread over the rows that are {words[1]} (blue) and over those that are "
        f"{words[0]} (orange): the further apart, the better."
    )
    top = 1.05 * max(float(each.max()) for each in shares)
    chart = svg.Chart((320, 300), (0.0, 1.0), (0.0, top), f"Probabilities by class. {text}")
    for each, kind in zip(shares, ("second", "first"), strict=True):
        points = [(0.0, 0.0), *zip(edges[:-1].tolist(), each.tolist(), strict=True), (1.0, 0.0)]
        chart.line(points, kind, steps=True)
    return chart.svg("judge"), text


def curves_note(facts: Facts) -> str:
    """Say over how many rows the effects on probabilities are means, where not over all."""
    if len(facts.rows) <= MOST_ROWS:
        return ""
    return f"Curves are means over {MOST_ROWS:,} of the {len(facts.rows):,} rows."


def probability_curves(facts: Facts) -> dict[int, list[Effect]]:
    """Return the effect of every feature in use on the probability of each class that is drawn; none of those with
    linear terms, which do not step."""
    rows, network = _some_rows(facts), facts.network
    straight = [term.column for term in network.linear]
    curves: dict[int, list[Effect]] = {i: [] for i in facts.used}
    for i in set(facts.used).difference(straight):
        found = [effect_over(network, i, rows, k) for k, _ in lines_for(len(words_of(network)))]
        curves[i] = [each for each in found if isinstance(each, Effect)]
    return curves


def probability_corners(
    facts: Facts, column: int, number: int, curve: Effect | None, known: Floats
) -> tuple[Floats, Floats]:
    """Return where the probability of a class steps along a column, and its levels from there on.

    Along a linear term it is a curve, which is worked out at many places, and on both sides of thresholds.
    """
    network = facts.network
    if curve is not None:
        return corners(curve, known)
    low, high = float(known.min()), float(known.max())
    if few_wholes(known):
        values = np.append(np.arange(low, high + 1.0), high)
        places = np.append(values[:-1] - 0.5, high + 0.5)
    else:
        alone = [each for each in network.layers[0].neurons if each.projection.columns == (column,)]
        cuts = np.array([each.threshold / each.projection.factors[0] for each in alone])
        cuts = cuts[(cuts > low) & (cuts < high)]
        places = values = np.sort(np.concatenate([np.linspace(low, high, _PIECES), cuts, np.nextafter(cuts, -np.inf)]))
    return places, mean_predictions(network, number, [column], values[:, np.newaxis], _some_rows(facts))


def _some_rows(facts: Facts) -> Floats:
    """Return the rows that effects on probabilities are averaged over."""
    rows = facts.rows
    return rows if len(rows) <= MOST_ROWS else rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int)]


def reach(word: str, reached: Floats) -> str:
    """Say from where to where the probability of a class goes."""
    least, most = float(reached.min()), float(reached.max())
    return f"{word} from {chance(least)} to {chance(most)}" if least < most else f"{word} always {chance(least)}"
