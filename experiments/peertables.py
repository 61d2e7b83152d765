"""What the study of peers shows: who leads at equal size, every error, ranks, sizes and times, and a drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

from experiments.data import TABLES
from experiments.panels import Panels
from experiments.ranks import ranking
from experiments.store import Run
from experiments.tables import FAILED, MISSING, Cell, Figure, Measured, Table, by, mean, run_at_all

BUDGETS = (5, 10, 20, 40)


EQUAL = {
    "bgn": "BGN, our defaults",
    "bgn_questions": "BGN, questions alone",
    "bgn_1": "BGN, questions about one column",
    "tree": "tree, best first",
    "hstree": "tree, shrunk (HSTree)",
    "figs": "FIGS",
    "stumps": "XGBoost stumps",
    "rules": "RuleFit, rules alone",
    "rules_lines": "RuleFit with linear terms",
    "lines": "Lasso: linear terms alone",
    "aplr": "APLR",
    "cubist": "Cubist",
    "mars": "MARS",
    "pilot": "PILOT",
}
BY_COLUMNS = {"bgn": "BGN, our defaults, columns counted", "bgn_questions": "BGN, questions alone, columns counted"}
OURS = ("bgn", "bgn_questions", "bgn_1")
WITH_LINES = ("rules_lines", "lines", "aplr", "cubist", "mars", "pilot")

FREE = {
    "bgn": ("BGN, our defaults", "questions and linear terms"),
    "bgn_accurate": ("BGN, accurate()", "questions and linear terms"),
    "tree": ("tree", "splits"),
    "figs": ("FIGS, up to 50 splits", "splits"),
    "rulefit": ("RuleFit, 30 terms", "conditions and terms"),
    "ebm": ("EBM without pairs", "table entries"),
    "ebm_pairs": ("EBM, default", "table entries"),
    "stumps": ("XGBoost stumps", "different stumps"),
    "boosting": ("LightGBM, tuned", "splits"),
    "gam": ("pyGAM", "coefficients"),
    "lasso": ("least squares / LassoCV", "terms"),
    "aplr": ("APLR", "terms"),
    "cubist": ("Cubist", "conditions and slopes"),
    "mars": ("MARS, up to 20 terms", "columns of terms"),
    "pilot": ("PILOT", "splits and slopes"),
}
NONE = "none"
"""In place of a figure where a family has no member so small."""

Groups = dict[Any, list[Run]]


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return who leads at equal size, ranks, errors at equal and at any size, sizes, times, and a figure."""
    groups = by(runs, "dataset", "method")
    names = list(dict.fromkeys(run.task.dataset for run in runs))
    budgets = [b for b in BUDGETS if any(str(b) in run.figures.get("within", {}) for run in runs)]
    header = ("model", *names)
    equal = [
        Table(f"peers-equal-{budget}", f"Test MSE with at most {budget} conditions", header, body, EQUAL_NOTES, True)
        for budget, body in ((budget, _equal(names, budget, groups)) for budget in budgets)
    ]
    free = [
        Table("peers", "Test MSE at any size", header, _free(names, groups, "test_mse"), FREE_NOTES, lowest=True),
        Table("peers-sizes", "Sizes", ("model", "what is counted", *names), _sizes(names, groups)),
        Table("peers-seconds", "Seconds to fit", header, _free(names, groups, "fit_seconds"), FIT_NOTES),
        Table(
            "peers-predict-seconds", "Microseconds to predict a row", header,
            _free(names, groups, "microseconds_a_row"), ("The best of three times all test rows.",),
        ),
    ]  # fmt: skip
    leaders = Table(
        "peers-leaders", "BGN beside the best of the others, at equal size", LEADERS,
        _leaders(names, budgets, groups), LEADER_NOTES,
    )  # fmt: skip
    ranks = Table("peers-ranks", "Mean ranks over the paper's tables", ("model", *map(_limit, budgets), "any size"),
                  *_ranks([name for name in names if name in TABLES], budgets, groups))  # fmt: skip
    # RuleFit begins far above the others and would flatten them.
    panels = Panels(budgets, EQUAL, COLOURS, *AXES, stray="rules_lines")
    drawn = panels.figure(names, lambda name, key, budget: within(groups.get((name, f"equal {key}")), budget))
    figure = Figure("peers-equal", "Test error by size", drawn, (9.0, 6.4))
    return [leaders, ranks, *equal, *free, figure]


def _limit(budget: int) -> str:
    return f"at most {budget}"


LEADERS = (
    "table", "conditions", "BGN", "best of the others without lines", "which", "BGN / those",
    "best of the others with lines", "which ", "BGN / those ", "BGN, columns counted", "BGN / all others",
)  # fmt: skip
LEADER_NOTES = (
    "BGN as it comes. Last two columns: a question about two columns counted as two, beside the best of all others.",
)
EQUAL_NOTES = (
    "Means over seeds ± their standard deviation; the lowest is bold. A condition is a split, a stump that differs "
    "from the others, a condition of a rule, a hinge or a neuron. Linear terms count as a condition each, and are no "
    "thresholds. Columns counted: a neuron of two columns counts as two; other models' conditions name one each. "
    "None: the family has no member so small, with some seed at least.",
)
FREE_NOTES = (
    "Means over seeds ± their standard deviation; the lowest is bold; size and settings chosen on the validation rows. "
    "Cells without a deviation are of seed 0 alone.",
)
FIT_NOTES = ("The processor's seconds, one thread; of the chosen setting alone.",)


# -- figures of runs ---------------------------------------------------------------------------------------------


def within(runs: Sequence[Run] | None, budget: int, figure: str = "test_mse", part: str = "within") -> float | str:
    """Return the mean of a figure over seeds within a limit."""
    if not runs:
        return MISSING
    if any(run.error is not None for run in runs):
        return FAILED
    if any(str(budget) not in run.figures.get(part, {}) for run in runs):
        return NONE
    return Measured([run.figures[part][str(budget)][figure] for run in runs])


def _plain(value: float | str) -> float:
    """Return a figure as a number, infinite where there is none."""
    return math.inf if isinstance(value, str) else float(value)


def _leaders(names: Sequence[str], budgets: Sequence[int], groups: Groups) -> list[list[Cell]]:
    """Return, for every table and limit, ours beside the best model without and with lines."""
    lines: list[list[Cell]] = []
    for name, budget in product(names, budgets):
        errors = {key: _plain(within(groups.get((name, f"equal {key}")), budget)) for key in EQUAL}
        line: list[Cell] = [name, budget, _finite(errors["bgn"])]
        others = [key for key in EQUAL if key not in OURS]
        for keys in ([key for key in others if key not in WITH_LINES], list(WITH_LINES)):
            best = min(keys, key=lambda key, errors=errors: errors[key])
            known = math.isfinite(errors[best])
            line += [_finite(errors[best]), EQUAL[best] if known else None]
            line.append(_finite(errors["bgn"] / errors[best]) if known else None)
        counted = _plain(within(groups.get((name, "equal bgn")), budget, part="within_columns"))
        best_of_all = min(errors[key] for key in others)
        line += [_finite(counted), _finite(counted / best_of_all) if math.isfinite(best_of_all) else None]
        lines.append(line)
    return lines


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _equal(names: Sequence[str], budget: int, groups: Groups) -> list[list[Cell]]:
    """Return the errors of every family on every table within a limit."""
    lines = [("within", EQUAL), ("within_columns", BY_COLUMNS)]
    body: list[list[Cell]] = [
        [label, *(within(groups.get((name, f"equal {key}")), budget, part=part) for name in names)]
        for part, labels in lines
        for key, label in labels.items()
    ]
    return run_at_all(body[:2] + body[len(EQUAL) :] + body[2 : len(EQUAL)])


def _free(names: Sequence[str], groups: Groups, figure: str) -> list[list[Cell]]:
    """Return a figure of every family on every table."""
    return run_at_all(
        [label, *(_measured(groups.get((name, f"free {key}")), figure) for name in names)]
        for key, (label, _) in FREE.items()
    )


def _measured(runs: Sequence[Run] | None, figure: str) -> float | str:
    """Return the mean of a figure over seeds, of errors with their spread, and how many where they are fewer."""
    found = mean(runs, figure)
    if figure != "test_mse" or runs is None or isinstance(found, str):
        return found
    return Measured([run.figures[figure] for run in runs])


def _sizes(names: Sequence[str], groups: Groups) -> list[list[Cell]]:
    """Return conditions plus linear terms of every family on every table."""
    body: list[list[Cell]] = []
    for key, (label, counted) in FREE.items():
        line: list[Cell] = [label, counted]
        for name in names:
            runs = groups.get((name, f"free {key}"))
            parts = [mean(runs, figure) for figure in ("size", "linear_terms")]
            line.append(sum(float(part) for part in parts) if not isinstance(parts[0], str) else parts[0])
        body.append(line)
    return [[round(cell) if isinstance(cell, float) else cell for cell in line] for line in run_at_all(body)]


def _ranks(names: Sequence[str], budgets: Sequence[int], groups: Groups) -> tuple[list[list[Cell]], list[str]]:
    """Return the mean ranks of all families at every limit and at any size, and what they say."""
    columns, differences = [], []
    for budget in (*budgets, None):
        labels = {key: label for key, (label, _) in FREE.items()} if budget is None else EQUAL
        errors = {}
        for key, label in labels.items():
            runs = [groups.get((name, f"{'free' if budget is None else 'equal'} {key}")) for name in names]
            cells = [mean(each, "test_mse") if budget is None else within(each, budget) for each in runs]
            if not any(cell in (MISSING, FAILED) for cell in cells):  # of a family that is whole
                errors[label] = [_plain(cell) for cell in cells]
        found = ranking(errors) if len(errors) > 1 and names else None
        columns.append({} if found is None else found.ranks)
        if found is not None:
            size = "at any size" if budget is None else f"with at most {budget}"
            differences.append(f"{found.critical_difference:.1f} {size} ({len(found.ranks)} models)")
    every = dict.fromkeys([*EQUAL.values(), *(label for label, _ in FREE.values())])
    order = sorted(every, key=lambda label: min(column.get(label, math.inf) for column in columns))
    body: list[list[Cell]] = [
        [label, *(column.get(label) for column in columns)]
        for label in order
        if any(label in column for column in columns)
    ]
    note = (
        f"1 is the best; means over the paper's {len(names)} tables, of models that were run on all of them; where a "
        "family has no member so small it comes last. Two mean ranks differ by more than chance (Nemenyi, 5 %) where "
        f"they are further apart than {', '.join(differences)}."
    )
    return body, [note]


# -- a drawing ---------------------------------------------------------------------------------------------------

COLOURS = {
    "bgn": "#0072B2", "tree": "#E69F00", "figs": "#D55E00", "stumps": "#009E73", "rules_lines": "#7F7F7F",
    "aplr": "#CC79A7", "cubist": "#B8A000",
}  # fmt: skip
AXES = ("conditions, at most", "test mean squared error")
