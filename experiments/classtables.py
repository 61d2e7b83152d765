"""What the study of classes shows: BGN beside the best of the others, every figure, risk scores, times, a drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from experiments import classdata
from experiments.classanswers import SURE
from experiments.classrivals import EQUAL, FREE, OURS, SMALL, TWO_ONLY
from experiments.classstumps import POINTS as MOST
from experiments.panels import Panels
from experiments.store import Run
from experiments.tables import FAILED, MISSING, Cell, Figure, Measured, Table, by, run_at_all

Groups = dict[Any, list[Run]]

CARDS = "bgn_cards"
"""The method of runs that time BGN's cards beside FasterRisk's, one after the other in one process."""

IN_FOLDS = "folds "
"""What the methods of runs in five folds begin with."""


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return how often BGN leads, its figures beside the others', risk scores, several classes, and times."""
    groups = by(runs, "dataset", "method")
    folds = {(name, key[len(IN_FOLDS) :]): each for (name, key), each in groups.items() if key.startswith(IN_FOLDS)}
    names = list(dict.fromkeys(run.task.dataset for run in runs))
    two = [name for name in names if name in classdata.TWO]
    several = [name for name in names if name in classdata.SEVERAL]
    sizes = _sizes(run for run in runs if not run.task.method.startswith(IN_FOLDS))
    shown: list[Table | Figure] = []
    if two:
        shown += [
            Table("classes", "BGN beside the best of the others", GOALS, _goals(two, sizes, groups), GOAL_NOTES),
            Table("classes-leaders", "Table by table", LEADERS, _leaders(two, sizes, groups)),
            *_measured("classes", "", two, sizes, groups, SPREAD_NOTES),
            _calibration(two, sizes, groups),
            Table("classes-points", "Risk scores", POINTS, _risk_scores(two, sizes, groups), POINT_NOTES),
        ]
    if several:
        shown.append(_several("classes-several", "Accuracy, several classes", several, sizes, groups, SPREAD_NOTES))
    if folds:
        shown += _in_folds(two, several, folds)
    body = _body(names, sizes, groups, "fit_seconds")
    shown.append(Table("classes-seconds", "Seconds to fit", HEADER + tuple(names), body, TIME_NOTES))
    if two:
        panels = Panels(sizes, {key: EQUAL[key][0] for key in EQUAL}, COLOURS, *AXES)
        drawn = panels.figure(two, lambda name, key, size: within(groups.get((name, key)), size, "auc"))
        shown.append(Figure("classes-sizes", "AUC by size", drawn, (9.0, 4.6)))
    return shown


def _sizes(runs: Iterable[Run]) -> list[int]:
    """Return the sizes that runs ask for."""
    return sorted({size for run in runs for size in run.task.parameters.get("sizes", ())})


def _in_folds(two: Sequence[str], several: Sequence[str], groups: Groups) -> list[Table]:
    """Return the same figures of five folds."""
    sizes = _sizes(run for runs in groups.values() for run in runs)
    title = "Five folds: accuracy, several classes"
    return [
        Table("classes-folds", "Five folds: BGN beside the best of the others", GOALS, _goals(two, sizes, groups)),
        *_measured("classes-folds", "Five folds: ", two, sizes, groups, FOLD_NOTES),
        _several("classes-folds-several", title, several, sizes, groups, FOLD_NOTES),
    ]


def _measured(
    file: str, title: str, names: Sequence[str], sizes: Sequence[int], groups: Groups, notes: tuple[str, ...]
) -> list[Table]:
    """Return the AUC and the log loss of every model on tables of two classes."""
    return [
        Table(f"{file}-{end}", title + told, HEADER + tuple(names), _body(names, sizes, groups, figure), notes + more)
        for end, told, figure, more in (
            ("auc", "Area under the ROC curve, two classes", "auc", ()),
            ("log-loss", "Log loss, two classes", "log_loss", LOSS_NOTES),
        )
    ]


def _several(
    file: str, title: str, names: Sequence[str], sizes: Sequence[int], groups: Groups, notes: tuple[str, ...]
) -> Table:
    """Return the accuracy of every model on tables of several classes."""
    body = _body(names, sizes, groups, "accuracy", [key for key in EQUAL if key not in TWO_ONLY])
    return Table(file, title, HEADER + tuple(names), body, notes)


ROUNDING = 1e-9
"""Figures nearer to each other than this are equal."""

HEADER = ("model", "questions")
GOALS = (
    "questions", "tables", "AUC at or above the best", "least AUC less the best", "log loss at or below the best",
    "largest log loss less the best", "one column: mean AUC less FasterRisk's",
)  # fmt: skip
GOAL_NOTES = (
    "The best: of the tree, with and without tuning, FIGS, FasterRisk, L1 logistic regression on stumps, "
    "fastsparsegams and GBRS.",
)
LEADERS = (
    "table", "questions", "AUC of BGN", "best of the others", "which", "difference", "log loss of BGN",
    "best of the others ", "which ", "difference ",
)  # fmt: skip
SPREAD_NOTES = ("Means over seeds ± their standard deviation.",)
FOLD_NOTES = ("Means over five folds ± their standard deviation.",)
LOSS_NOTES = (f"Probabilities are kept {SURE:g} away from 0 and 1, for all models.",)
BIN_NOTES = (
    "Ten bins of equal width. By chance alone: what exact probabilities like these would have on so many rows.",
)
POINTS = (
    "table", "questions", "AUC of BGN", "with whole points", "FasterRisk", "seconds, whole points",
    "seconds, FasterRisk", "times as fast",
)  # fmt: skip
POINT_NOTES = (
    f"Whole points from -{MOST} to {MOST}. Seconds: the processor's, one thread; both fitted one after the other in "
    "the same process, means over seeds.",
)
TIME_NOTES = ("The processor's seconds, one thread, means over seeds. The tuned tree's with its search.",)


def within(runs: Sequence[Run] | None, size: int | None, figure: str) -> float | str:
    """Return the mean of a figure over seeds at a size, or of a model of any size (None)."""
    if not runs:
        return MISSING
    if any(run.error is not None for run in runs):
        return FAILED
    found = [run.figures if size is None else run.figures["within"].get(str(size)) for run in runs]
    return MISSING if None in found else Measured([each[figure] for each in found])


def _body(
    names: Sequence[str], sizes: Sequence[int], groups: Groups, figure: str, keys: Sequence[str] = tuple(EQUAL)
) -> list[list[Cell]]:
    """Return a figure of every model at every size on every table."""
    equal: list[list[Cell]] = [
        [EQUAL[key][0], size, *(_cell(name, key, size, groups, figure) for name in names)]
        for size in sizes
        for key in keys
        if size in EQUAL[key][2]
    ]
    free: list[list[Cell]] = [
        [label, "any", *(_cell(name, key, None, groups, figure) for name in names)]
        for key, (label, _) in FREE.items()
        if key not in TWO_ONLY or any(name in classdata.TWO for name in names)
    ]
    return run_at_all(equal + free)


def _cell(name: str, key: str, size: int | None, groups: Groups, figure: str) -> Cell:
    """Return a figure; nothing where a model is not made for a table."""
    if key in TWO_ONLY and name in classdata.SEVERAL:
        return None
    found = within(groups.get((name, key)), size, figure)
    return float(found) if figure == "fit_seconds" and not isinstance(found, str) else found


def best(name: str, size: int, groups: Groups, figure: str) -> tuple[float, str] | None:
    """Return the best figure of the models that are not ours, and whose it is."""
    sign = -1.0 if figure == "auc" else 1.0
    found = {key: within(groups.get((name, key)), size, figure) for key in EQUAL if key not in OURS}
    known = [(sign * value, EQUAL[key][0]) for key, value in found.items() if not isinstance(value, str)]
    if not known:
        return None
    value, label = min(known)
    return float(sign * value), label


def _leaders(names: Sequence[str], sizes: Sequence[int], groups: Groups) -> list[list[Cell]]:
    """Return BGN beside the best of the others, for every table and size."""
    lines: list[list[Cell]] = []
    for size, name in product(sizes, names):
        line: list[Cell] = [name, size]
        for figure in ("auc", "log_loss"):
            ours, other = within(groups.get((name, "bgn")), size, figure), best(name, size, groups, figure)
            line += [ours if isinstance(ours, str) else float(ours), *((None, None) if other is None else other)]
            line.append(None if other is None or isinstance(ours, str) else _signed(ours - other[0]))
        lines.append(line)
    return lines


def _goals(names: Sequence[str], sizes: Sequence[int], groups: Groups) -> list[list[Cell]]:
    """Return, for every size, on how many tables BGN is the best, and how far it is off at most."""
    lines: list[list[Cell]] = []
    for size in sizes:
        auc, loss = (_differences(names, size, groups, figure) for figure in ("auc", "log_loss"))
        lines.append(
            [
                size,
                len(auc),
                sum(each >= -ROUNDING for each in auc),
                _signed(min(auc)) if auc else None,
                sum(each <= ROUNDING for each in loss),
                _signed(max(loss)) if loss else None,
                _beside_fasterrisk(names, size, groups),
            ]
        )
    return lines


def _differences(names: Sequence[str], size: int, groups: Groups, figure: str) -> list[float]:
    """Return BGN's figure less the best of the others', for every table that has both."""
    found = ((within(groups.get((name, "bgn")), size, figure), best(name, size, groups, figure)) for name in names)
    return [ours - other[0] for ours, other in found if other is not None and not isinstance(ours, str)]


def _beside_fasterrisk(names: Sequence[str], size: int, groups: Groups) -> Cell:
    """Return the mean AUC of single-column questions less FasterRisk's, over the tables that have both."""
    pairs = [[within(groups.get((name, key)), size, "auc") for key in ("bgn_1", "fasterrisk")] for name in names]
    known = [ours - theirs for ours, theirs in pairs if not isinstance(ours, str) and not isinstance(theirs, str)]
    return _signed(float(np.mean(known))) if known else None


def _signed(value: float) -> str:
    """Return a difference with its sign."""
    return f"{value:+.4f}"


def _calibration(names: Sequence[str], sizes: Sequence[int], groups: Groups) -> Table:
    """Return how well probabilities are calibrated, beside what chance would do to exact ones."""
    body: list[list[Cell]] = [
        [label, "any", *(within(groups.get((name, key)), None, f"calibration_{part}") for name in names)]
        for key, (name_of, _) in FREE.items()
        for part, label in (("error", name_of), ("noise", f"{name_of}: by chance alone"))
        if part == "error" or key in OURS
    ]
    body += [
        ["BGN", size, *(within(groups.get((name, "bgn")), size, "calibration_error") for name in names)]
        for size in sizes
    ]
    header = HEADER + tuple(names)
    return Table("classes-calibration", "Calibration error, two classes", header, run_at_all(body), BIN_NOTES)


def _risk_scores(names: Sequence[str], sizes: Sequence[int], groups: Groups) -> list[list[Cell]]:
    """Return risk scores of BGN beside its own weights and FasterRisk, and how long both take in one process."""
    body: list[list[Cell]] = []
    for size, name in product([size for size in sizes if size in SMALL], names):
        line: list[Cell] = [name, size]
        line += [within(groups.get((name, key)), size, "auc") for key in ("bgn", "bgn_points", "fasterrisk")]
        times = [within(groups.get((name, CARDS)), size, f"{key}_seconds") for key in ("bgn_points", "fasterrisk")]
        ours, theirs = (each if isinstance(each, str) else float(each) for each in times)
        both = not isinstance(ours, str) and not isinstance(theirs, str)
        body.append([*line, ours, theirs, theirs / ours if both and ours else None])
    return body


COLOURS = {
    "bgn": "#0072B2", "bgn_1": "#56B4E9", "tree_tuned": "#E69F00", "figs": "#D55E00", "stumps": "#009E73",
    "fasterrisk": "#CC79A7",
}  # fmt: skip
AXES = ("questions, at most", "area under the ROC curve")
