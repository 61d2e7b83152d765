"""The report's charts of classes: ROC, calibration, scores by class, effects on probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.explain.classes import mean_predictions
from bgn.explain.effects import Effect, effect_over
from bgn.model.step import Floats
from bgn.report import svg
from bgn.report.classes import chance, judged_rows, words_of
from bgn.report.facts import Facts
from bgn.require import require
from bgn.show.curves import corners, few_wholes

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
    for title, make in (("ROC curve", _roc), ("Calibration", _calibration), ("Probabilities by class", _spread)):
        found = make(judged, words, drawn)
        if found is not None:
            shown.append({"title": title, "svg": markup(found[0]), "text": found[1]})
    return shown


def _square(label: str) -> svg.Chart:
    chart = svg.Chart((320, 300), (0.0, 1.0), (0.0, 1.0), label)
    chart.line([(0.0, 0.0), (1.0, 1.0)], "bound")
    return chart


def _thinned(across: Floats, up: Floats) -> list[tuple[float, float]]:
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
        chart.line(_thinned(*one.roc()), kind)
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
    shares = [np.histogram(judged.probabilities[judged.is_class(k), 1], edges)[0].astype(float) for k in (0, 1)]
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
    straight = [term.column for term in network.linear_terms]
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
