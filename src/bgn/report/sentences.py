"""What a page says in sentences: what the model is, how good, how sure, and how far its predictions go."""

from __future__ import annotations

import math

import numpy as np

from bgn.explain.proofs import list_guarantees, negative_note
from bgn.explain.rivals import LEGEND, verdict
from bgn.export.numbers import number, share_of, whole
from bgn.export.styles import Signs
from bgn.report.facts import MEASURES, SECONDS, SHARE, Facts, Rival
from bgn.show.labels import shorten
from bgn.show.labels import title as title_of
from bgn.text import count_of, quote_name

_IN_SENTENCES = {"rmse": "RMSE", "mae": "mean absolute error", "r2": "R²"}  # scores of numbers
_LOG_LOSS = (
    "The log loss is the mean of minus the logarithm of the probability that was given to what happened: smaller is "
    "better."
)


def target_of(facts: Facts) -> str:
    """Return what is predicted, in words."""
    if facts.classes:
        return quote_name(facts.network.target_name or "the class")
    return quote_name(facts.terms.target) if facts.network.target_name else "value"


def evaluated_on(facts: Facts) -> str:
    """Say on which rows the model is evaluated."""
    return f"the {count_of(len(facts.evaluation_rows), 'test row' if facts.held_out else 'row')}"


def _measured(facts: Facts, value: float, digits: int = 3) -> str:
    """Write a measured number of the target with its unit."""
    return facts.quantity(number(float(f"{value:.{digits}g}"), digits + 1))


def summary(facts: Facts, model: Rival) -> str:
    """Say how large the model is, how good, between which values predictions lie and what is proven of it."""
    rules, linear, target = len(facts.terms.rules), len(facts.network.linear), target_of(facts)
    used = [title_of(facts.network.schema.columns[i]) for i in facts.used]
    shown = ", ".join(shorten([*map(quote_name, used)])[:4]) + (f" and {len(used) - 4} more" if len(used) > 4 else "")
    conditions = facts.network.n_conditions - linear
    several = f" with {count_of(conditions, 'condition')}" if conditions != rules else ""
    counted = ((rules, f"{count_of(rules, 'rule')}{several}"), (linear, count_of(linear, "linear term")))
    parts = [text for count, text in counted if count]
    about = f"Uses {' and '.join(parts)} on {count_of(len(used), 'column')} ({shown})"
    rows, scores = evaluated_on(facts), model.evaluation.scores
    if facts.classes and not parts:
        text = f"This model gives every row the same probabilities of {target}: it has no rule."
    elif facts.classes:
        area = "" if math.isnan(scores["auc"]) else f", AUC {scores['auc']:.3f}"
        names = facts.class_names
        of = f"“{names[1]}”" if len(names) == 2 else f"each of {len(names)} classes"
        text = f"{about} for the probability of {of}; accuracy {share_of(scores['accuracy'])}{area} on {rows}."
    elif not parts:
        text = f"This model always predicts the same {target}: {facts.quantity(whole(facts.terms.intercept[0]))}."
    else:
        ends, reach = facts.extremes, ""  # what was proven in time is not the same every time
        if ends.proven and (math.isinf(ends.low) or math.isinf(ends.high)):
            reach = "Its predictions have no end where columns go on without one."
        elif ends.proven:
            between = facts.quantity.between(*map(whole, _outward(ends.low, ends.high)))
            reach = f"Every prediction of a row within the ranges seen lies {between}."
        negative = negative_note(ends, facts.target, "bounds=(0, None) (on the command line, --at-least 0)")
        explained = "" if math.isnan(scores["r2"]) else f", R² {Signs().number(format(scores['r2'], '.2f'))}"
        error = f"mean absolute error {_measured(facts, scores['mae'])}{explained}"
        text = f"{about}; {error} on {rows}. {reach} {negative}".rstrip()
    proven = list_guarantees(facts.model, SECONDS, facts.network.schema)
    return text + (f" Proven for every row: {'; '.join(proven)}." if proven else "")


def _outward(low: float, high: float) -> tuple[float, float]:
    """Return two ends with about four digits, each rounded away from the other.

    >>> _outward(-12712.8, 584983.6), _outward(0.0, 0.25), _outward(-0.69003, 6.90984)
    ((-12800.0, 585000.0), (0.0, 0.25), (-0.691, 6.91))
    """
    size = max(abs(low), abs(high))
    if size < 1e-290:  # a thousandth of it may be no number
        return low, high
    unit = 10.0 ** (math.floor(math.log10(size)) - 3)
    ends = math.floor(low / unit + 1e-9) * unit, math.ceil(high / unit - 1e-9) * unit
    return float(f"{ends[0]:.12g}") + 0.0, float(f"{ends[1]:.12g}") + 0.0


def quality_note(facts: Facts, models: list[Rival], shown: list[dict[str, str]]) -> str:
    """Say how this model does beside each of the others, on every measure shown, and on which rows."""
    notes, rival, count = list[str](), "logistic" if facts.classes else "linear", len(facts.evaluation_rows)
    fitted = f"The tree and the {rival} model were fitted to the rows they are evaluated on, which flatters them"
    if not facts.held_out and facts.n_training is None:
        notes.append(
            f"No rows were held out. {fitted}; and so it does this model, if it was grown from these rows: on new rows "
            "it may be further off."
        )
    elif not facts.held_out and not facts.n_training:
        notes.append(f"This model was not trained on these rows. {fitted}.")
    elif not facts.held_out:
        some = "these rows" if facts.n_training == count else f"{facts.n_training:,} of these {count_of(count, 'row')}"
        likely = "so that on new rows it is likely to be further off"
        notes.append(f"This model was trained on {some}, {likely}. {fitted}, too.")
    if facts.classes:
        notes.append(_LOG_LOSS)
        present = set(facts.evaluation_target.astype(int).tolist())
        lacking = [f"“{name}”" for code, name in enumerate(facts.class_names) if code not in present]
        rows = "test rows" if facts.held_out else "rows"
        notes += [f"No AUC: there are no {rows} of {', '.join(lacking)}."] if lacking else []
    titles = MEASURES[True] if facts.classes else _IN_SENTENCES
    own = models[0].evaluation
    for other, written in zip(models[1:], shown[1:], strict=True):
        notes.append(str(verdict(other.name, own, other.evaluation, titles, (shown[0], written))))
    name = "Logistic regression" if facts.classes else "The linear model"
    return " ".join([*notes, LEGEND, f"{name} has a weight for each numeric column and each category."])


def contained(count: int, listed: int, keyed: bool, served: int | None = None) -> str:
    """Say how many rows of the dataset a page contains, or its server as well, and how to leave them out.

    >>> print(contained(1, 1, False).partition(". ")[0])
    This page contains 1 row of the dataset (the values of the columns that the model uses, and the target)
    """
    if not (count if served is None else served):
        return "This page contains no rows of the dataset."
    if served is not None:
        return (
            f"This page contains {count_of(listed, 'row')} of the dataset, listed with their errors, and can look up "
            f"each of {served:,}. To leave them out, start it with --no-rows."
        )
    what = f"{'their names or keys, ' if keyed else ''}the values of the columns that the model uses, and the target"
    some = "" if count == listed else f"; {listed} of them are listed with their errors"
    return (
        f"This page contains {count_of(count, 'row')} of the dataset ({what}){some}. To leave them out, write it "
        "with rows=False (on the command line, --no-rows)."
    )


def data_note(facts: Facts) -> str:
    """Say how many rows there are, and how many lie outside."""
    behavior = "rules answer as beyond their last threshold"
    if facts.network.linear:
        behavior += ", and linear terms use the nearest end of the range"
    text = (
        f"{count_of(len(facts.rows), 'row')}, {count_of(facts.rows.shape[1], 'column')}. Beyond these ranges there "
        f"were no training rows: {behavior}."
    )
    if facts.held_out:
        outside = np.any(facts.outside, axis=1)
        have = "has" if outside.sum() == 1 else "have"
        text += f" Of the {count_of(len(outside), 'test row')}, {outside.sum():,} {have} a value outside."
    return text


def certainty(facts: Facts) -> str:
    """Say how wide intervals are, or how many classes sets hold, and how often the truth is within."""
    intervals = facts.intervals
    if intervals is None:
        return ""
    rows = count_of(intervals.calibrations[None].count, "row")
    calibrated = f"calibrated on {rows}, each predicted by a network that was grown without it"
    ends = intervals.predict_encoded(facts.evaluation_rows, SHARE)
    if facts.classes:
        sizes = ends.sum(axis=1)
        inside = ends[np.arange(len(ends)), facts.evaluation_target.astype(int)].mean()
        counted = ((sizes == 1, "hold one class"), (sizes > 1, "several"), (sizes == 0, "none"))
        parts = [f"{share_of(float(np.mean(chosen)))} {text}" for chosen, text in counted if chosen.any()]
        return (
            f"How sure it is: sets of classes for {share_of(SHARE)} of rows, {calibrated}. Of {evaluated_on(facts)}, "
            f"{', '.join(parts)}; {share_of(float(inside))} of the sets hold the true class."
        )
    inside = np.mean((facts.evaluation_target >= ends[:, 0]) & (facts.evaluation_target <= ends[:, 1]))
    width = _measured(facts, float(np.mean(ends[:, 1] - ends[:, 0])))
    return (
        f"How sure it is: intervals for {share_of(SHARE)} of rows, {calibrated}, are {width} wide on average and hold "
        f"the target of {share_of(float(inside))} of {evaluated_on(facts)}."
    )


def disagreement(facts: Facts) -> str:
    """Say how much the networks of an ensemble differ."""
    members, count = facts.network.members, len(facts.evaluation_rows)
    if members is None or len(members) < 2:
        return ""
    rows = facts.evaluation_rows[np.linspace(0, count - 1, min(count, 500)).astype(int)]
    if np.isnan(rows).any():
        rows = facts.coded._rows(rows)
    typical = float(np.mean(members.prediction_error(facts.coded, rows)))
    error = f"{100 * typical:.2g} percentage points" if facts.classes else _measured(facts, typical, 2)
    return (
        f"It is the mean of {len(members)} networks, each grown from other rows; what they predict differs by {error} "
        "on average (standard deviation). Thin lines beside the effects below are two of these up and down."
    )
