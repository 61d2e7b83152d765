"""What a page says in sentences: what the model is, how good, how sure, and how far its predictions go."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bgn.explain.certify import list_guarantees
from bgn.explain.extremes import negative_note
from bgn.explain.rivals import LEGEND, verdict
from bgn.export.numbers import number, share_of, whole
from bgn.report import classes
from bgn.report import facts as told
from bgn.report.facts import Facts
from bgn.show.labels import shorten
from bgn.show.labels import title as title_of
from bgn.text import count_of, quote_name


def target_of(facts: Facts) -> str:
    """Return what is predicted, in words."""
    if facts.classes:
        return quote_name(facts.network.target_name or "the class")
    return quote_name(facts.terms.target) if facts.network.target_name else "value"


def measured(facts: Facts, value: float, digits: int = 3) -> str:
    """Write a measured number of the target with its unit."""
    return facts.quantity(number(float(f"{value:.{digits}g}"), digits + 1))


def judged(facts: Facts) -> str:
    """Say which rows judge."""
    return f"the {count_of(len(facts.judged_rows), 'row')} {'held out' if facts.held_out else 'given'}"


def sentence(facts: Facts, measure: Mapping[str, Any]) -> str:
    """Say what the model is."""
    count, used = len(facts.terms.rules), [title_of(facts.network.schema.columns[i]) for i in facts.used]
    target = target_of(facts)
    shown = ", ".join(shorten([*map(quote_name, used)])[:4]) + (f" and {len(used) - 4} more" if len(used) > 4 else "")
    about = f"{'one column' if len(used) == 1 else f'{len(used)} columns'} ({shown})"
    if facts.classes:
        return classes.sentence(facts, measure, judged(facts), target, about)
    if not count and not facts.terms.linear:
        return f"This model always predicts the same {target}: {facts.quantity(whole(facts.terms.intercept[0]))}."
    asked = "one yes/no question" if count == 1 else f"{count} yes/no questions"
    parts = [f"a fixed amount for each of {asked} answered yes"] if count else []
    if straight := len(facts.terms.linear):
        parts.append(f"so much per unit of {'one column' if straight == 1 else f'{straight} columns'}")
    explained = f" and explains {share_of(measure['r2'])} of its variance" if measure["r2"] > 0 else ""
    negative = negative_note(facts.extremes, facts.target, "bounds=(0, None) (on the command line, --at-least 0)")
    return (
        f"This model predicts {target} as a base value plus {' and '.join(parts)}, about {about}; on {judged(facts)} "
        f"it is off by {measured(facts, measure['mae'])} on average{explained}. {_reach(facts)} {negative}".rstrip()
    )


def _reach(facts: Facts) -> str:
    """Say between which values all predictions lie, whatever the row."""
    ends = facts.extremes
    if not ends.proven:  # what was proven in time is not the same every time
        return ""
    if math.isinf(ends.low) or math.isinf(ends.high):
        return "Its predictions have no end where columns go on without one."
    low, high = _outward(ends.low, ends.high)
    between = facts.quantity.between(whole(low), whole(high))
    return f"Every prediction of a row within the ranges seen lies {between}."


def _outward(low: float, high: float) -> tuple[float, float]:
    """Return two ends with about four digits, each rounded away from the other: what lies between them still does.

    Examples
    --------
    >>> _outward(-12712.8, 584983.6), _outward(0.0, 0.25), _outward(-0.69003, 6.90984)
    ((-12800.0, 585000.0), (0.0, 0.25), (-0.691, 6.91))
    """
    size = max(abs(low), abs(high))
    if size < 1e-290:  # a thousandth of it may be no number
        return low, high
    unit = 10.0 ** (math.floor(math.log10(size)) - 3)
    ends = math.floor(low / unit + 1e-9) * unit, math.ceil(high / unit - 1e-9) * unit
    return float(f"{ends[0]:.12g}") + 0.0, float(f"{ends[1]:.12g}") + 0.0


def promised(facts: Facts) -> str:
    """Say what is proven of what the model was told to do."""
    found = list_guarantees(facts.model, told.SECONDS, facts.network.schema)
    return f" Proven for every row: {'; '.join(found)}." if found else ""


def quality_note(facts: Facts, measures: list[dict[str, Any]], shown: list[dict[str, str]]) -> str:
    """Say how this model does beside each of the others, on every measure shown, and which rows judged."""
    notes = [] if facts.held_out else [_learnt(facts)]
    if facts.classes:
        notes += [classes.LOG_LOSS, *classes.without_rows(facts)]
    titles = classes.MEASURES if facts.classes else TITLES
    (model, ours), *others = ((one["evaluation"], figures) for one, figures in zip(measures, shown, strict=True))
    for one, (rival, theirs) in zip(measures[1:], others, strict=True):
        notes.append(str(verdict(one["name"], model, rival, titles, (ours, theirs))))
    name = "Logistic regression" if facts.classes else "The linear model"
    return " ".join([*notes, LEGEND, f"{name} has a slope for each numeric column and a weight for each category."])


TITLES = {"rmse": "RMSE", "mae": "mean absolute error", "r2": "R²"}
"""What the measures of a model of numbers are called in a sentence."""


def contained(count: int, listed: int, keyed: bool) -> str:
    """Say how many rows of the dataset a page contains, and how to leave them out.

    Examples
    --------
    >>> print(contained(0, 0, False))
    This page contains no rows of the dataset.
    >>> print(contained(1, 1, False).partition(". ")[0])
    This page contains 1 row of the dataset (the values of the columns that the model uses, and the target)
    """
    if not count:
        return "This page contains no rows of the dataset."
    what = f"{'their names or keys, ' if keyed else ''}the values of the columns that the model uses, and the target"
    some = "" if count == listed else f"; {listed} of them are listed with their errors"
    return (
        f"This page contains {told.count_of(count, 'row')} of the dataset ({what}){some}. To leave them out, write it "
        "with rows=False (on the command line, --no-rows)."
    )


def served(answers: Mapping[str, Any], listed: int) -> str:
    """Say how many rows of the dataset a page contains whose server answers for others."""
    if not answers.get("rows"):
        return contained(0, 0, False)
    return (
        f"This page contains {told.count_of(listed, 'row')} of the dataset, listed with their errors, and can look up "
        f"each of {answers['rows']:,}. To leave them out, start it with --no-rows."
    )


def _learnt(facts: Facts) -> str:
    """Say that no rows were held out, and what that does to the figures."""
    rival, count = "logistic" if facts.classes else "linear", len(facts.judged_rows)
    fitted = f"The tree and the {rival} model were fitted to the very rows they are judged on, which flatters them"
    if facts.n_training is None:
        return (
            f"No rows were held out. {fitted}; and so it does this model, if it was grown from these rows: on new rows "
            "it may be further off."
        )
    if not facts.n_training:
        return f"This model did not learn from these rows. {fitted}."
    some = "these rows" if facts.n_training == count else f"{facts.n_training:,} of these {count_of(count, 'row')}"
    return f"This model learnt from {some}, so that on new rows it is likely to be further off. {fitted}, too."


def data_note(facts: Facts) -> str:
    """Say how many rows there are, and how many lie outside."""
    level = "rules answer as beyond their last threshold"
    if facts.network.linear:
        level += ", and linear terms use the nearest end of the range"
    text = (
        f"{count_of(len(facts.rows), 'row')}, {count_of(facts.rows.shape[1], 'column')}. Beyond these ranges there "
        f"were no training rows: {level}."
    )
    if facts.held_out:
        outside = np.any(facts.outside, axis=1)
        have = "has" if outside.sum() == 1 else "have"
        text += f" Of the {count_of(len(outside), 'held-out row')}, {outside.sum():,} {have} a value outside."
    return text


def sure(facts: Facts) -> str:
    """Say how wide intervals are, and how often they hold the truth."""
    found = facts.intervals
    if found is None:
        return ""
    if facts.classes:
        return classes.sure(facts, found, judged(facts), calibrated_on(found.calibrations[None].count))
    ends = found.predict_encoded(facts.judged_rows, told.SHARE)
    inside = np.mean((facts.judged_target >= ends[:, 0]) & (facts.judged_target <= ends[:, 1]))
    width = float(np.mean(ends[:, 1] - ends[:, 0]))
    rows = found.calibrations[None].count
    return (
        f"How sure it is: intervals for {share_of(told.SHARE)} of rows, {calibrated_on(rows)}, are "
        f"{measured(facts, width)} wide on average and hold the target of {share_of(float(inside))} of {judged(facts)}."
    )


def calibrated_on(rows: int) -> str:
    """Say which rows intervals come from: set apart, or predicted in turn by networks that were grown without them."""
    return f"calibrated on {count_of(rows, 'row')}, each predicted by a network that was grown without it"


def spread(facts: Facts) -> str:
    """Say how far the networks of an average lie apart."""
    members = facts.network.members
    if members is None or len(members) < 2:
        return ""
    rows = facts.judged_rows[np.linspace(0, len(facts.judged_rows) - 1, min(len(facts.judged_rows), 500)).astype(int)]
    found = members.prediction_error(facts.coded, replace_gaps(facts, rows))
    typical = float(np.mean(found))
    error = f"{100 * typical:.2g} percentage points" if facts.classes else measured(facts, typical, 2)
    return (
        f"It is the mean of {len(members)} networks, each grown from other rows; what they predict differs by {error} "
        "on average (standard deviation). Thin lines beside the effects below are two of these up and down."
    )


def replace_gaps(facts: Facts, rows: Any) -> Any:
    """Return encoded rows as the coded network reads them."""
    return facts.coded._rows(rows) if np.isnan(rows).any() else rows
