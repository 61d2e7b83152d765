"""Beyond the paper: BGN beside the models people use today, at equal size and at any size.

At equal size: at most 5, 10, 20 and 40 threshold conditions (splits of trees, stumps that differ, conditions of rules,
neurons) and linear terms, counted once by conditions and once by the columns that they name. Every family offers its
candidates (``rivals``, and BGN's here); of those within a limit, the one with the least validation error is tested. All
are fitted to the training rows alone, on one thread.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range

from bgn import BGNRegressor
from experiments import data, rivals
from experiments.data import Rows
from experiments.rivals import Candidate, Family, timed
from experiments.store import Options, Run, Task
from experiments.tables import FAILED, MISSING, Cell, Figure, Measured, Panels, Table, by, mean, run_at_all

REVISION = 1
PUBLISHED = {"full": None}

TABLES = data.TABLES + data.NUMBERS
LARGE = (*data.LARGE, "diamonds")

BUDGETS = (5, 10, 20, 40)

# -- BGN as this study grows it ------------------------------------------------------------------------------------

FEW = 2000
"""With fewer training rows sizes are chosen by cross-validation, as by default."""


def at_sizes(**setting: Any) -> Family:
    """Return the family of networks of a size and its halves, four times, each grown anew."""

    def family(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
        sizes = sorted({max(1, round(most / 2**k)) for k in range(5)})
        return (_grown(BGNRegressor(max_terms=size, **setting), rows, seed) for size in sizes)

    return family


def default(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield BGN as it comes."""
    yield _grown(BGNRegressor(max_terms=min(50, most)), rows, seed)


def accurate(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield the preset for accuracy, whose networks choose their validation rows among the training rows."""
    model = BGNRegressor.accurate()
    yield _grown(model.set_params(max_terms=min(model.max_terms, most)), rows, seed, held=False)


def _grown(model: BGNRegressor, rows: Rows, seed: int, held: bool = True) -> Candidate:
    """Fit a model, and count its rules, its linear terms and the columns of both."""
    seen, validation, _ = rows.raw
    given = {"eval_set": (validation, rows.y_validation)} if held and len(rows.y) >= FEW else {}
    model.set_params(n_jobs=1, random_state=seed)
    seconds = timed(lambda: model.fit(seen, rows.y, **given))
    network = model.network_
    terms = len(network.linear)
    columns = int(np.count_nonzero(network.layers[0].reads)) + terms
    return Candidate(f"at most {model.max_terms}", sum(network.widths), terms, model.predict, seconds, columns, True)


EQUAL: dict[str, Family] = {
    "bgn": at_sizes(),
    "bgn_questions": at_sizes(max_linear=0),
    "bgn_1": at_sizes(max_linear=0, max_features=1),
    "tree": rivals.best_first_trees,
    "hstree": rivals.shrunken_trees,
    "figs": rivals.figs,
    "stumps": rivals.stumps,
    "rules": rivals.rules_only,
    "rules_lines": rivals.rules_and_lines,
    "lines": rivals.lines,
    "aplr": rivals.aplr,
    "cubist": rivals.cubist,
    "mars": rivals.mars,
    "pilot": rivals.pilot,
}
FREE: dict[str, Family] = {
    "bgn": default,
    "bgn_accurate": accurate,
    "tree": rivals.tree,
    "figs": rivals.free_figs,
    "rulefit": rivals.rulefit,
    "ebm": rivals.ebm,
    "ebm_pairs": rivals.ebm_pairs,
    "stumps": rivals.free_stumps,
    "boosting": rivals.boosting,
    "gam": rivals.gam,
    "lasso": rivals.lasso,
    "aplr": rivals.aplr_default,
    "cubist": rivals.cubist_default,
    "mars": rivals.mars_default,
    "pilot": rivals.pilot_default,
}
REDUCED = ("diabetes", "housing", "chickenpox", "istanbul")
"""The tables of what is done in an hour: of the large ones housing alone."""

SLOW = ("free ebm", "free ebm_pairs", "free bgn_accurate", "free rulefit", "free aplr", "equal aplr")
"""With "full" alone on large tables, where they take minutes each."""

PACKAGES = {"pilot": "pilot", "mars": "pymars"}
"""Packages that not every Python has a wheel of."""


def tasks(options: Options) -> list[Task]:
    """Return every family on every table, at equal size and at any; "reduced": one seed, four tables, nothing slow."""
    smoke, full = options.scale == "smoke", options.scale == "full"
    names = ("bike",) if smoke else TABLES if full else REDUCED
    split = data.paper_split(150 if smoke else None)
    equal, free = (5, 8) if smoke else (max(BUDGETS), 2**16)
    return [
        Task("peers", name, method, _parameters(method, most), seed, split)
        for kind, families, most in (("equal", EQUAL, equal), ("free", FREE, free))
        for name, method, seed in product(
            names, (f"{kind} {family}" for family in families), range(options.seeds or (3 if full else 1))
        )
        if not _left_out(name, method, seed, options.scale)
    ]


LEFT_OUT = (("ames_housing", "free gam"), ("ames_housing", "free ebm_pairs"), ("diamonds", "free ebm_pairs"))
"""What does not end within a quarter of an hour: 300 splines, and pairs of so many columns or rows."""

ONCE = (("parking", "free bgn_accurate"),)
"""What takes so long that it has one seed."""


def _left_out(name: str, method: str, seed: int, scale: str) -> bool:
    """Tell what is left out for its time; tables with words, and the slowest models on large tables, have one seed."""
    slow = method in SLOW and name in LARGE
    once = name in data.NUMBERS or (method == "free ebm_pairs" and name in LARGE) or (name, method) in ONCE
    return (name, method) in LEFT_OUT or (slow and scale == "reduced") or (once and seed > 0 and scale == "full")


def _parameters(method: str, most: int) -> dict[str, Any]:
    """Return the largest size; of ours, that each size is grown anew, with all that is the default today."""
    return {"most": most} | ({"grown": "anew"} if method.split()[1].startswith("bgn") else {})


def cost(task: Task) -> float:
    """Return about how many seconds a run takes."""
    if task.split != data.paper_split():
        return 0.3
    weights = {
        "equal figs": 30, "equal stumps": 30, "equal rules": 10, "equal rules_lines": 10, "equal bgn": 60,
        "equal bgn_questions": 40, "equal bgn_1": 30, "equal mars": 20, "equal aplr": 30, "free mars": 25,
        "free aplr": 60, "free rulefit": 110, "free ebm": 110, "free ebm_pairs": 480, "free bgn_accurate": 250,
        "free bgn": 10, "free boosting": 20, "free stumps": 20,
    }  # fmt: skip
    small = 0.4 if task.method.split()[1] in ("figs", "stumps", "rulefit", "ebm", "ebm_pairs", "rules_lines") else 0.1
    size = {"parking": 2.0, "diamonds": 2.0, "ames_housing": 1.0}.get(task.dataset, 1.0)
    return weights.get(task.method, 3) * (size if task.dataset in (*LARGE, "ames_housing") else small)


def skipped(task: Task) -> str | None:
    """Return why a task cannot be done here, or None."""
    package = PACKAGES.get(task.method.split()[1])
    if package is None or find_spec(package):
        return None
    return f"the package {package} of the extra 'experiments' is not installed"


def run(task: Task) -> dict[str, Any]:
    """Fit a family and record what validates best, within each limit or at all."""
    rows = data.split(task)
    kind, _, family = task.method.partition(" ")
    with warnings.catch_warnings():
        # Other people's packages warn of their own future; a fit that did not converge is judged by its error.
        warnings.simplefilter("ignore")
        begun = time.process_time()
        candidates = list((EQUAL if kind == "equal" else FREE)[family](rows, task.seed, task.parameters["most"]))
        taken = {"family_seconds": time.process_time() - begun, "candidates": len(candidates)}
        errors = [mse(candidate, rows, 1) for candidate in candidates]
        if kind == "free":
            return best_figures(candidates, errors, rows) | taken
        limits = [limit for limit in BUDGETS if limit <= task.parameters["most"]]
        figures = {
            name: {
                str(limit): best_figures(*kept, rows)
                for limit in limits
                if (kept := fitting(candidates, errors, limit, columns))[0]
            }
            for name, columns in (("within", False), ("within_columns", True))
            if not columns or any(candidate.columns is not None for candidate in candidates)
        }
    return figures | taken


def fitting(
    candidates: Sequence[Candidate], errors: Sequence[float], limit: int, columns: bool = False
) -> tuple[list[Candidate], list[float]]:
    """Return the candidates with at most so many conditions, a linear term counted as one, and their errors.

    With `columns`, those whose conditions and linear terms name at most so many columns.
    """
    sizes = [candidate.named_columns if columns else candidate.conditions for candidate in candidates]
    kept = [k for k, size in enumerate(sizes) if size <= limit]
    return [candidates[k] for k in kept], [errors[k] for k in kept]


def best_figures(candidates: Sequence[Candidate], errors: Sequence[float], rows: data.Rows) -> dict[str, Any]:
    """Return the figures of the candidate with the least error, of equal ones the first."""
    best = int(np.argmin(errors))
    chosen = candidates[best]
    X_test = rows.raw[2] if chosen.raw else rows.X_test
    times = [rivals.timed(lambda: chosen.predict(X_test)) for _ in range(3)]
    return {
        "setting": chosen.setting,
        "size": chosen.size,
        "linear_terms": chosen.linear_terms,
        "columns": chosen.named_columns,
        "validation_mse": float(errors[best]),
        "test_mse": mse(chosen, rows, 2),
        "fit_seconds": chosen.fit_seconds,
        "microseconds_a_row": 1e6 * min(times) / len(rows.y_test),
    }


def mse(candidate: Candidate, rows: data.Rows, part: int) -> float:
    """Return the mean squared error on the rows to train on (0), to validate on (1) or to report on (2)."""
    X = (rows.raw if candidate.raw else (rows.X, rows.X_validation, rows.X_test))[part]
    y = (rows.y, rows.y_validation, rows.y_test)[part]
    return float(np.mean((np.ravel(candidate.predict(X)) - y) ** 2))


# -- what is shown -------------------------------------------------------------------------------------------------

EQUAL_LABELS = {
    "bgn": "BGN, our defaults",
    "bgn_questions": "BGN, rules alone",
    "bgn_1": "BGN, rules on one column",
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
BY_COLUMNS = {"bgn": "BGN, our defaults, columns counted", "bgn_questions": "BGN, rules alone, columns counted"}
OURS = ("bgn", "bgn_questions", "bgn_1")
WITH_LINES = ("rules_lines", "lines", "aplr", "cubist", "mars", "pilot")

FREE_LABELS = {
    "bgn": ("BGN, our defaults", "rules and linear terms"),
    "bgn_accurate": ("BGN, accurate()", "rules and linear terms"),
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
    "cubist": ("Cubist", "conditions and linear terms"),
    "mars": ("MARS, up to 20 terms", "columns of terms"),
    "pilot": ("PILOT", "splits and linear terms"),
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
                  *_ranks([name for name in names if name in data.TABLES], budgets, groups))  # fmt: skip
    # RuleFit begins far above the others and would flatten them.
    panels = Panels(budgets, EQUAL_LABELS, COLORS, *AXES, stray="rules_lines")

    def value(name: str, key: str, budget: int) -> float | str:
        """Return the error with at most so many conditions as a reader reads them: ours with columns counted."""
        part = "within_columns" if key in BY_COLUMNS else "within"
        return within(groups.get((name, f"equal {key}")), budget, part=part)

    drawn = panels.figure(names, value)
    figure = Figure("peers-equal", "Test error by size", drawn, (9.0, 6.4))
    return [leaders, ranks, *equal, *free, figure]


def _limit(budget: int) -> str:
    return f"at most {budget}"


LEADERS = (
    "table", "conditions", "BGN", "best of the others without lines", "which", "BGN / those",
    "best of the others with lines", "which ", "BGN / those ", "BGN, columns counted", "BGN / all others",
)  # fmt: skip
LEADER_NOTES = (
    "BGN as it comes. Last two columns: a condition on two columns counted as two, beside the best of all others.",
)
EQUAL_NOTES = (
    "Means over seeds ± their standard deviation; the lowest is bold. A condition is a split, a stump that differs "
    "from the others, a condition of a rule, a hinge or a neuron. Linear terms count as a condition each, and are no "
    "thresholds. Columns counted: a neuron of two columns counts as two, as a reader reads it; conditions of other "
    "models name one each. None: the family has no member so small, with some seed at least.",
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
        errors = {key: _plain(within(groups.get((name, f"equal {key}")), budget)) for key in EQUAL_LABELS}
        line: list[Cell] = [name, budget, _finite(errors["bgn"])]
        others = [key for key in EQUAL_LABELS if key not in OURS]
        for keys in ([key for key in others if key not in WITH_LINES], list(WITH_LINES)):
            best = min(keys, key=lambda key, errors=errors: errors[key])
            known = math.isfinite(errors[best])
            line += [_finite(errors[best]), EQUAL_LABELS[best] if known else None]
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
    lines = [("within", EQUAL_LABELS), ("within_columns", BY_COLUMNS)]
    body: list[list[Cell]] = [
        [label, *(within(groups.get((name, f"equal {key}")), budget, part=part) for name in names)]
        for part, labels in lines
        for key, label in labels.items()
    ]
    return run_at_all(body[:2] + body[len(EQUAL_LABELS) :] + body[2 : len(EQUAL_LABELS)])


def _free(names: Sequence[str], groups: Groups, figure: str) -> list[list[Cell]]:
    """Return a figure of every family on every table."""
    return run_at_all(
        [label, *(_measured(groups.get((name, f"free {key}")), figure) for name in names)]
        for key, (label, _) in FREE_LABELS.items()
    )


def _measured(runs: Sequence[Run] | None, figure: str) -> float | str:
    """Return the mean of a figure over seeds, of errors with their spread, and how many where they are fewer."""
    value = mean(runs, figure)
    if figure != "test_mse" or runs is None or isinstance(value, str):
        return value
    return Measured([run.figures[figure] for run in runs])


def _sizes(names: Sequence[str], groups: Groups) -> list[list[Cell]]:
    """Return conditions plus linear terms of every family on every table."""
    body: list[list[Cell]] = []
    for key, (label, counted) in FREE_LABELS.items():
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
        labels = {key: label for key, (label, _) in FREE_LABELS.items()} if budget is None else EQUAL_LABELS
        errors = {}
        for key, label in labels.items():
            runs = [groups.get((name, f"{'free' if budget is None else 'equal'} {key}")) for name in names]
            cells = [mean(group, "test_mse") if budget is None else within(group, budget) for group in runs]
            if not any(cell in (MISSING, FAILED) for cell in cells):  # of a family that is whole
                errors[label] = [_plain(cell) for cell in cells]
        ranks = ranking(errors) if len(errors) > 1 and names else None
        columns.append({} if ranks is None else ranks.ranks)
        if ranks is not None:
            size = "at any size" if budget is None else f"with at most {budget}"
            differences.append(f"{ranks.critical_difference:.1f} {size} ({len(ranks.ranks)} models)")
    every = dict.fromkeys([*EQUAL_LABELS.values(), *(label for label, _ in FREE_LABELS.values())])
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

COLORS = {
    "bgn": "#0072B2", "tree": "#E69F00", "figs": "#D55E00", "stumps": "#009E73", "rules_lines": "#7F7F7F",
    "aplr": "#CC79A7", "cubist": "#B8A000",
}  # fmt: skip
AXES = ("conditions, at most; one on two columns counts as two", "test mean squared error")


# -- mean ranks over tables, and by how much they must differ to mean something (Friedman, Nemenyi) -----------------


@dataclass(frozen=True)
class Ranking:
    """Mean ranks, 1 for the best, over so many tables.

    Parameters
    ----------
    ranks : dict of str to float
        By model, the best first.
    tables : int
    """

    ranks: dict[str, float]
    tables: int

    @property
    def critical_difference(self) -> float:
        """By how much two mean ranks must differ for a Nemenyi test at the level of 5 %."""
        models = len(self.ranks)
        quantile = studentized_range.ppf(0.95, models, np.inf) / np.sqrt(2.0)
        return float(quantile * np.sqrt(models * (models + 1) / (6.0 * self.tables)))

    def differ(self, model: str, other: str) -> bool:
        """Tell whether two models differ by that much."""
        return abs(self.ranks[model] - self.ranks[other]) > self.critical_difference


def ranking(errors: Mapping[str, Sequence[float]]) -> Ranking:
    """Return the mean ranks of models by their errors, one per table; equal ones share their ranks, infinite ones last.

    Examples
    --------
    >>> found = ranking({"a": [1.0, 2.0, 1.0, 5.0], "b": [3.0, 3.0, 1.0, 9.0]})
    >>> found.ranks, found.tables, round(found.critical_difference, 3)
    ({'a': 1.125, 'b': 1.875}, 4, 0.98)
    """
    matrix = np.array(list(errors.values()), dtype=float).reshape(len(errors), -1)
    means = np.mean(rankdata(matrix, axis=0), axis=1)
    order = np.argsort(means, kind="stable")
    names = list(errors)
    return Ranking({names[k]: float(means[k]) for k in order}, matrix.shape[1])
