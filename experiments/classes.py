"""Classes: BGN beside the models that can be read, at equal size, and beside those that cannot.

At most 5, 10, 20 and 40 terms, splits or thresholds on tables of two classes and of several. Every model is fitted to
three quarters of the rows, settings are chosen within those alone, and the rest is for the figures.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from experiments import data
from experiments.classrivals import EQUAL, FREE, MOST_POINTS, OURS, SMALL, SURE, TWO_ONLY, Answer, within_reason
from experiments.store import Options, Run, Task
from experiments.tables import FAILED, MISSING, Cell, Figure, Measured, Panels, Table, by, run_at_all

REVISION = 1
PUBLISHED = {"full": None}

CARDS = "bgn_cards"
"""The method of runs that time BGN's cards beside FasterRisk's, one after the other in one process."""

IN_FOLDS = "folds "
"""What the methods of runs in five folds begin with."""

FOLD_SIZES = (10, 20)


def tasks(options: Options) -> list[Task]:
    """Return every model on every table that it can be fitted to: one split; with "full" three, and five folds."""
    smoke, full = options.scale == "smoke", options.scale == "full"
    tables = ("mammographic", "iris") if smoke else data.TWO + data.SEVERAL
    names = [name for name in tables if full or name not in LARGE]
    split = data.stratified_split(120 if smoke else None)
    once = [
        Task("classes", name, method, _parameters(method, smoke), seed, split)
        for name, method, seed in product(names, (*EQUAL, *FREE, CARDS), range(options.seeds or (3 if full else 1)))
        if _fits(method, name)
    ]
    if not full:
        return once
    sizes = {method: [size for size in FOLD_SIZES if size in known] for method, (_, _, known) in EQUAL.items()}
    in_folds = [
        Task("classes", name, f"{IN_FOLDS}{method}", {"sizes": sizes[method]}, fold, data.FOLD)
        for name, method, fold in product(names, EQUAL, range(data.FOLDS))
        if _fits(method, name)
    ]
    return once + in_folds


LARGE = ("telco_churn", "spambase", "phoneme", "digits")
"""Tables of thousands of rows or many columns: with "full" alone."""


def _fits(method: str, name: str) -> bool:
    """Tell whether a model is fitted to a table: not to classes it is not made for, nor for half an hour."""
    two_only = method in (*TWO_ONLY, CARDS)
    return not (two_only and name in data.SEVERAL) and (name, method) != ("digits", "ebm")


def _parameters(method: str, smoke: bool) -> dict[str, Any]:
    """Return the sizes of a model; none where it chooses its own, but for a toy."""
    if method in FREE:
        return {"most": 8} if smoke else {}
    return {"sizes": [5] if smoke else list(SMALL if method == CARDS else EQUAL[method][2])}


PACKAGES = {
    "fasterrisk": ("fasterrisk", "--no-deps fasterrisk"),
    CARDS: ("fasterrisk", "--no-deps fasterrisk"),
    "steps": ("fastsparsegams", "fastsparsegams"),
    "gbrs": ("gbrs", "pygbrs"),
}
"""Packages that an extra cannot bring to every Python: a module of each, and how it is installed."""


def cost(task: Task) -> float:
    """Return about how many seconds a run takes."""
    weights = {
        "fasterrisk": 60, "ebm": 60, "bgn": 30, "bgn_1": 20, "bgn_points": 5, "bgn_any": 12, "bgn_accurate": 80,
        "figs": 8, "steps": 20, "gbrs": 10, "lightgbm": 60, CARDS: 65,
    }  # fmt: skip
    large = {"telco_churn": 1.0, "spambase": 2.0, "phoneme": 1.0, "digits": 4.0}
    return weights.get(_model(task), 1) * large.get(task.dataset, 0.2)


def skipped(task: Task) -> str | None:
    """Return why a task cannot be done here, or None."""
    package = PACKAGES.get(_model(task))
    if package is None or find_spec(package[0]):
        return None
    return f"{EQUAL.get(_model(task), EQUAL['fasterrisk'])[0]} is not installed. Run: pip install {package[1]}"


def _model(task: Task) -> str:
    """Return the model of a task, in folds or not."""
    return task.method.removeprefix(IN_FOLDS)


def run(task: Task) -> dict[str, Any]:
    """Fit a model at every size and record what it says of the test rows."""
    rows = data.class_split(task)
    with warnings.catch_warnings():
        # Other people's packages warn of their own future; a fit that did not converge is judged by its figures.
        warnings.simplefilter("ignore")
        model = _model(task)
        if model in FREE:
            return figures_of(FREE[model][1](rows, task.parameters.get("most", 0), task.seed), rows.codes[1])
        sizes = task.parameters["sizes"]
        if model == CARDS:
            return {"within": {str(size): _cards(rows, size, task.seed) for size in sizes}}
        fit = EQUAL[model][1]
        return {"within": {str(size): figures_of(fit(rows, size, task.seed), rows.codes[1]) for size in sizes}}


def _cards(rows: data.ClassRows, size: int, seed: int) -> dict[str, float]:
    """Return how long a card of BGN and one of FasterRisk take, one after the other, in the processor's seconds."""
    return {f"{key}_seconds": EQUAL[key][1](rows, size, seed).seconds for key in ("bgn_points", "fasterrisk")}


def figures_of(answer: Answer, y: Any) -> dict[str, Any]:
    """Return the figures of a model on test rows whose classes are the whole numbers `y`."""
    kept = within_reason(answer.probabilities)
    classes = kept.shape[1]
    figures = {
        "log_loss": float(log_loss(y, kept, labels=np.arange(classes))),
        "accuracy": float(accuracy_score(y, answer.probabilities.argmax(axis=1))),
        "fit_seconds": answer.seconds,
        "size": answer.size,
        "conditions": answer.size if answer.conditions is None else answer.conditions,
        "setting": answer.setting,
    }
    if classes > 2:
        return figures
    second = answer.probabilities[:, 1]
    scores = second if answer.scores is None else answer.scores
    return figures | {
        "auc": float(roc_auc_score(y, scores)),
        "calibration_error": calibration_error(second, y),
        "calibration_noise": calibration_noise(second),
    }


def calibration_error(probabilities: Any, y: Any, bins: int = 10) -> float:
    """Return the expected calibration error: the mean, over rows, of how far their bin is off.

    A bin holds the rows whose probability lies within one tenth; it is off by the difference between the mean
    probability of its rows and the share of them that are of the class.

    Examples
    --------
    >>> import numpy as np
    >>> round(calibration_error(np.array([0.1, 0.1, 0.9, 0.9]), np.array([0, 0, 1, 0])), 6)
    0.25
    """
    place = np.minimum((np.asarray(probabilities) * bins).astype(np.intp), bins - 1)
    off = np.bincount(place, weights=probabilities - np.asarray(y, dtype=float), minlength=bins)
    return float(np.abs(off).sum() / len(place))


def calibration_noise(probabilities: Any, draws: int = 200) -> float:
    """Return the calibration error that exactly these probabilities would have by chance: the mean of some draws."""
    rng = np.random.default_rng(0)
    errors = [calibration_error(probabilities, rng.random(len(probabilities)) < probabilities) for _ in range(draws)]
    return float(np.mean(errors))


# -- what is shown -------------------------------------------------------------------------------------------------

Groups = dict[Any, list[Run]]


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return how often BGN leads, its figures beside the others', risk scores, several classes, and times."""
    groups = by(runs, "dataset", "method")
    folds = {(name, key[len(IN_FOLDS) :]): group for (name, key), group in groups.items() if key.startswith(IN_FOLDS)}
    names = list(dict.fromkeys(run.task.dataset for run in runs))
    two = [name for name in names if name in data.TWO]
    several = [name for name in names if name in data.SEVERAL]
    sizes = _sizes(run for run in runs if not run.task.method.startswith(IN_FOLDS))
    shown: list[Table | Figure] = []
    if two:
        shown += [
            Table("classes", "BGN beside the best of the others", GOALS, _goals(two, sizes, groups), GOAL_NOTES),
            Table("classes-leaders", "Table by table", LEADERS, _leaders(two, sizes, groups)),
            *_measured("classes", "", two, sizes, groups, DEVIATION_NOTES),
            _calibration(two, sizes, groups),
            Table("classes-points", "Risk scores", POINTS, _risk_scores(two, sizes, groups), POINT_NOTES),
        ]
    if several:
        shown.append(_several("classes-several", "Accuracy, several classes", several, sizes, groups, DEVIATION_NOTES))
    if folds:
        shown += _in_folds(two, several, folds)
    body = _body(names, sizes, groups, "fit_seconds")
    counted = run_at_all(
        [EQUAL[key][0], size, *(_counted(name, key, size, groups) for name in names)]
        for key, size in product(("bgn", "bgn_1", "bgn_points"), sizes)
        if size in EQUAL[key][2]
    )
    title = "Conditions of BGN's models"
    shown.append(Table("classes-conditions", title, COUNTED + tuple(names), counted, COUNTED_NOTES))
    shown.append(Table("classes-seconds", "Seconds to fit", HEADER + tuple(names), body, TIME_NOTES))
    if two:
        panels = Panels(sizes, {key: EQUAL[key][0] for key in EQUAL}, COLORS, *AXES)
        drawn = panels.figure(
            two,
            lambda name, key, size: within(groups.get((name, key)), size, "auc"),
            lambda name, key, size: conditions(groups.get((name, key)), size),
        )
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
        Table(f"{file}-{end}", title + measure, (*HEADER, *names), _body(names, sizes, groups, figure), notes + more)
        for end, measure, figure, more in (
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

HEADER = ("model", "size")
GOALS = (
    "size", "tables", "AUC at or above the best", "least AUC less the best", "log loss at or below the best",
    "largest log loss less the best", "one column: mean AUC less FasterRisk's",
)  # fmt: skip
GOAL_NOTES = (
    "The best: of the tree, with and without tuning, FIGS, FasterRisk, L1 logistic regression on stumps, "
    "fastsparsegams and GBRS. Size: terms, splits or thresholds, at most.",
)
COUNTED = ("model", "terms, at most")
COUNTED_NOTES = (
    "Means over seeds ± their standard deviation: how many conditions a reader reads, one per comparison, two where a "
    "sum of two columns is compared, one per linear term. A split or a threshold of the other models is one condition.",
)
LEADERS = (
    "table", "size", "AUC of BGN", "best of the others", "which", "difference", "log loss of BGN",
    "best of the others ", "which ", "difference ",
)  # fmt: skip
DEVIATION_NOTES = ("Means over seeds ± their standard deviation.",)
FOLD_NOTES = ("Means over five folds ± their standard deviation.",)
LOSS_NOTES = (f"Probabilities are kept {SURE:g} away from 0 and 1, for all models.",)
BIN_NOTES = (
    "Ten bins of equal width. By chance alone: what exact probabilities like these would have on so many rows.",
)
POINTS = (
    "table", "size", "AUC of BGN", "with whole points", "FasterRisk", "seconds, whole points",
    "seconds, FasterRisk", "times as fast",
)  # fmt: skip
POINT_NOTES = (
    f"Whole points from -{MOST_POINTS} to {MOST_POINTS}. Seconds: the processor's, one thread; both fitted one after "
    "the other in the same process, means over seeds.",
)
TIME_NOTES = ("The processor's seconds, one thread, means over seeds. The tuned tree's with its search.",)


def within(runs: Sequence[Run] | None, size: int | None, figure: str) -> float | str:
    """Return the mean of a figure over seeds at a size, or of a model of any size (None)."""
    if not runs:
        return MISSING
    if any(run.error is not None for run in runs):
        return FAILED
    values = [run.figures if size is None else run.figures["within"].get(str(size)) for run in runs]
    return MISSING if None in values else Measured([value[figure] for value in values])


def conditions(runs: Sequence[Run] | None, size: int) -> float | str:
    """Return how many conditions models of at most so many terms have on average.

    A term of the others is a condition; of BGN's models older runs did not count them.
    """
    ours = bool(runs) and runs[0].task.method in OURS
    noted = not ours or all("conditions" in run.figures.get("within", {}).get(str(size), {}) for run in runs)
    return within(runs, size, "conditions" if ours else "size") if noted else MISSING


def _counted(name: str, key: str, size: int, groups: Groups) -> Cell:
    """Return how many conditions a model has; nothing where it is not made for a table."""
    return None if key in TWO_ONLY and name in data.SEVERAL else conditions(groups.get((name, key)), size)


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
        if key not in TWO_ONLY or any(name in data.TWO for name in names)
    ]
    return run_at_all(equal + free)


def _cell(name: str, key: str, size: int | None, groups: Groups, figure: str) -> Cell:
    """Return a figure; nothing where a model is not made for a table."""
    if key in TWO_ONLY and name in data.SEVERAL:
        return None
    value = within(groups.get((name, key)), size, figure)
    return float(value) if figure == "fit_seconds" and not isinstance(value, str) else value


def best(name: str, size: int, groups: Groups, figure: str) -> tuple[float, str] | None:
    """Return the best figure of the models that are not ours, and whose it is."""
    sign = -1.0 if figure == "auc" else 1.0
    figures = {key: within(groups.get((name, key)), size, figure) for key in EQUAL if key not in OURS}
    known = [(sign * value, EQUAL[key][0]) for key, value in figures.items() if not isinstance(value, str)]
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
                sum(difference >= -ROUNDING for difference in auc),
                _signed(min(auc)) if auc else None,
                sum(difference <= ROUNDING for difference in loss),
                _signed(max(loss)) if loss else None,
                _less_fasterrisk(names, size, groups),
            ]
        )
    return lines


def _differences(names: Sequence[str], size: int, groups: Groups, figure: str) -> list[float]:
    """Return BGN's figure less the best of the others', for every table that has both."""
    pairs = ((within(groups.get((name, "bgn")), size, figure), best(name, size, groups, figure)) for name in names)
    return [ours - other[0] for ours, other in pairs if other is not None and not isinstance(ours, str)]


def _less_fasterrisk(names: Sequence[str], size: int, groups: Groups) -> Cell:
    """Return the mean AUC of single-column rules less FasterRisk's, over the tables that have both."""
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
        ours, theirs = (time if isinstance(time, str) else float(time) for time in times)
        both = not isinstance(ours, str) and not isinstance(theirs, str)
        body.append([*line, ours, theirs, theirs / ours if both and ours else None])
    return body


COLORS = {
    "bgn": "#0072B2", "bgn_1": "#56B4E9", "tree_tuned": "#E69F00", "figs": "#D55E00", "stumps": "#009E73",
    "fasterrisk": "#CC79A7",
}  # fmt: skip
AXES = ("conditions: splits, thresholds, those of rules; a linear term is one", "area under the ROC curve")
