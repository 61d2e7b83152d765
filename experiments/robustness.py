"""Robustness: a table is disturbed, and models of ten rules are fitted again.

Noise columns are added, rows taken away, targets exchanged, columns copied or rescaled. How far is the error from that
of the undisturbed table, on the same test rows, and which of the conditions are still there? Two conditions are the
same where they part the test rows alike, but for one in twenty.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import bgn
from experiments import data
from experiments.classrivals import within_reason
from experiments.store import Options, Run, Task
from experiments.tables import FAILED, MISSING, Cell, Measured, Table, by

REVISION = 1
PUBLISHED = {"full": None}

TABLES = ("housing", "bike", "telco_churn", "pima_diabetes")
ROWS, SIZE, ALIKE = 4000, 10, 0.95


@dataclass(frozen=True, eq=False)
class Disturbed:
    """A frame to train on, its target, the test rows' frame, and which column each of theirs was, None for noise."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    origins: dict[str, str | None]


@dataclass(frozen=True, eq=False)
class Conditions:
    """A fitted model of conditions: its answers to them, one column each, the columns it reads, and its predictions."""

    answers: NDArray[np.bool_]
    columns: set[str]
    predicted: NDArray[Any]


Fit = Callable[[Disturbed, int, int], Conditions]
"""Rows, how many rules at most, and the seed in."""


# -- disturbances ------------------------------------------------------------------------------------------------


def _noise(count: int) -> Callable[[Disturbed, np.random.Generator], Disturbed]:
    def add(table: Disturbed, rng: np.random.Generator) -> Disturbed:
        import pandas as pd

        names = [f"noise {k}" for k in range(count)]
        made = [
            pd.concat([part, pd.DataFrame(rng.normal(size=(len(part), count)), part.index, names)], axis=1)
            for part in (table.X, table.X_test)
        ]
        return Disturbed(made[0], table.y, made[1], table.origins | dict.fromkeys(names))

    return add


def _fewer(share: float) -> Callable[[Disturbed, np.random.Generator], Disturbed]:
    def drop(table: Disturbed, rng: np.random.Generator) -> Disturbed:
        chosen = rng.permutation(len(table.y))[: round(share * len(table.y))]
        return Disturbed(table.X.iloc[chosen], table.y[chosen], table.X_test, table.origins)

    return drop


def _exchanged(share: float) -> Callable[[Disturbed, np.random.Generator], Disturbed]:
    def exchange(table: Disturbed, rng: np.random.Generator) -> Disturbed:
        chosen = rng.permutation(len(table.y))[: round(share * len(table.y))]
        y = table.y.copy()
        values = np.unique(y)
        # Of two classes the other one; of numbers those of one another.
        y[chosen] = values[(y[chosen] == values[0]) * 1] if len(values) == 2 else y[rng.permutation(chosen)]
        return Disturbed(table.X, y, table.X_test, table.origins)

    return exchange


def _copied(table: Disturbed, rng: np.random.Generator) -> Disturbed:
    made = [part.assign(**{f"{name} again": part[name] for name in part.columns}) for part in (table.X, table.X_test)]
    again = {f"{name} again": name for name in table.X.columns}
    return Disturbed(made[0], table.y, made[1], table.origins | again)


def _rescaled(table: Disturbed, rng: np.random.Generator) -> Disturbed:
    numbers = [name for name in table.X.columns if table.X[name].dtype.kind in "biuf"]
    factors, shifts = 10.0 ** rng.uniform(-3, 3, len(numbers)), rng.normal(size=len(numbers))
    made = [
        part.assign(**{name: (part[name] + b) * a for name, a, b in zip(numbers, factors, shifts, strict=True)})
        for part in (table.X, table.X_test)
    ]
    return Disturbed(made[0], table.y, made[1], table.origins)


DISTURBANCES: dict[str, Callable[[Disturbed, np.random.Generator], Disturbed]] = {
    "10 noise columns": _noise(10),
    "100 noise columns": _noise(100),
    "1,000 noise columns": _noise(1000),
    "half of the rows": _fewer(0.5),
    "a tenth of the rows": _fewer(0.1),
    "5 % of the targets exchanged": _exchanged(0.05),
    "20 % of the targets exchanged": _exchanged(0.2),
    "every column twice": _copied,
    "numbers rescaled": _rescaled,
}


# -- models --------------------------------------------------------------------------------------------------------


def _bgn(setting: dict[str, Any]) -> Fit:
    def fit(table: Disturbed, size: int, seed: int) -> Conditions:
        made = bgn.BGNRegressor if table.y.dtype.kind == "f" else bgn.BGNClassifier
        model = made(max_terms=size, max_linear=0, n_jobs=1, random_state=seed, **setting).fit(table.X, table.y)
        network = model.network_
        used = {table.X.columns[k] for k in np.flatnonzero(network.layers[0].reads.any(axis=0))}
        said = model.predict if table.y.dtype.kind == "f" else model.predict_proba
        return Conditions(network.hidden(table.X_test, 0) > 0, used, said(table.X_test))

    return fit


def _tree(table: Disturbed, size: int, seed: int) -> Conditions:
    made = DecisionTreeRegressor if table.y.dtype.kind == "f" else DecisionTreeClassifier
    X, X_test, owners = _numbers(table)
    model = made(max_leaf_nodes=size + 1, random_state=seed).fit(X, table.y)
    inner = model.tree_.children_left >= 0
    splits = zip(model.tree_.feature[inner], model.tree_.threshold[inner], strict=True)
    said = model.predict if table.y.dtype.kind == "f" else model.predict_proba
    return _of_splits(list(splits), X_test, owners, said(X_test))


def _figs(table: Disturbed, size: int, seed: int) -> Conditions:
    from imodels import FIGSClassifier, FIGSRegressor

    numbers = table.y.dtype.kind == "f"
    X, X_test, owners = _numbers(table)
    np.random.seed(seed)  # noqa: NPY002 - FIGS breaks ties by NumPy's own generator, whatever random_state is
    model = (FIGSRegressor if numbers else FIGSClassifier)(max_rules=size, random_state=seed)
    model.fit(X, table.y if numbers else np.unique(table.y, return_inverse=True)[1])

    def below(node: Any) -> list[tuple[int, float]]:
        asks = node.left is not None
        return [(node.feature, node.threshold), *below(node.left), *below(node.right)] if asks else []

    splits = [split for tree in model.trees_ for split in below(tree)]
    said = model.predict(X_test) if numbers else np.clip(model.predict(X_test, by_tree=True).sum(axis=-1), 0.0, 1.0)
    return _of_splits(splits, X_test, owners, said)


def _numbers(table: Disturbed) -> tuple[Any, Any, list[str]]:
    """Return a table as numbers alone, and the column that each of theirs comes from."""
    numbers = [
        (name, column) for name in table.X.columns for column in data.numeric_columns(table.X[name], table.X_test[name])
    ]
    seen, test = (np.column_stack([column[part] for _, column in numbers]) for part in (0, 1))
    return seen, test, [name for name, _ in numbers]


def _of_splits(splits: Sequence[tuple[int, float]], X_test: Any, owners: Sequence[str], predicted: Any) -> Conditions:
    answers = np.array([X_test[:, column] > threshold for column, threshold in splits]).reshape(len(splits), -1).T
    return Conditions(answers, {owners[column] for column, _ in splits}, predicted)


METHODS: dict[str, tuple[str, Fit]] = {
    "bgn": ("BGN", _bgn({})),
    "bgn_1": ("BGN, rules on one column", _bgn({"max_features": 1})),
    "figs": ("FIGS", _figs),
    "tree": ("tree", _tree),
}


# -- the study -----------------------------------------------------------------------------------------------------


def tasks(options: Options) -> list[Task]:
    """Return every model on every table; one task has all disturbances."""
    smoke = options.scale == "smoke"
    names = TABLES[-1:] if smoke else TABLES
    count = options.seeds or (3 if options.scale == "full" else 1)
    kinds = ["10 noise columns", "half of the rows"] if smoke else [*DISTURBANCES]
    parameters = {"size": 3 if smoke else SIZE, "disturbances": kinds}
    split = "a quarter, 120 rows" if smoke else f"a quarter, {ROWS} rows"
    return [
        Task("robustness", name, method, parameters, seed, split)
        for name, method, seed in product(names, METHODS, range(count))
    ]


def cost(task: Task) -> float:
    """Return about how many seconds a run takes."""
    rows = {"pima_diabetes": 0.3}.get(task.dataset, 1.0) if task.split.endswith(f"{ROWS} rows") else 0.05
    return rows * {"bgn": 60, "bgn_1": 40, "figs": 25, "tree": 5}[task.method]


def run(task: Task) -> dict[str, Any]:
    """Fit a model to a table as it is and to each disturbed one, and record what changed."""
    whole, y_test = _table(task)
    fit = METHODS[task.method][1]
    figures = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other people's packages warn of their own future
        before = fit(whole, task.parameters["size"], task.seed)
        for name in task.parameters["disturbances"]:
            disturbed = DISTURBANCES[name](whole, np.random.default_rng(task.seed))
            after = fit(disturbed, task.parameters["size"], task.seed)
            figures[name] = {"error": error(after.predicted, y_test)} | compared(before, after, disturbed.origins)
    return {"error": error(before.predicted, y_test), "columns": len(before.columns), "disturbed": figures}


def _table(task: Task) -> tuple[Disturbed, NDArray[Any]]:
    """Return the rows that a task names, and the target of the test rows: numbers, or classes as whole numbers."""
    import pandas as pd

    if task.dataset in data.CLASS_TABLES:
        X, labels = data.mixed_table(task.dataset)
        y = np.unique(labels, return_inverse=True)[1]
    else:
        values, y, names = data.table(task.dataset)
        X = pd.DataFrame(values, columns=list(names))
    most = int(task.split.removeprefix("a quarter, ").removesuffix(" rows"))
    chosen = np.random.default_rng(0).permutation(len(y))[:most]
    classes = y[chosen] if y.dtype.kind != "f" else None
    parts = train_test_split(X.iloc[chosen], y[chosen], test_size=0.25, stratify=classes, random_state=task.seed)
    return Disturbed(parts[0], parts[2], parts[1], {name: name for name in X.columns}), parts[3]


def error(predicted: Any, y: NDArray[Any]) -> float:
    """Return the mean squared error, or the log loss of classes."""
    if y.dtype.kind == "f":
        return float(np.mean((np.ravel(predicted) - y) ** 2))
    return float(log_loss(y, within_reason(predicted), labels=[0, 1]))


def compared(before: Conditions, after: Conditions, origins: dict[str, str | None]) -> dict[str, float]:
    """Return how alike two models' columns and conditions are, and the share of columns that are noise."""
    read = {origins[name] for name in after.columns if origins[name] is not None}
    noise = sum(origins[name] is None for name in after.columns)
    union = len(before.columns | read) + noise
    return {
        "same_columns": len(before.columns & read) / union if union else 1.0,
        "same_questions": same_conditions(before.answers, after.answers),
        "noise": noise / max(1, len(after.columns)),
    }


def same_conditions(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> float:
    """Return the share of conditions that come back: yes for no is the same, and one row in twenty may differ.

    Examples
    --------
    >>> import numpy as np
    >>> first = np.array([[True, False], [True, True], [False, False]])
    >>> same_questions(first, ~first[:, :1])
    0.5
    """
    if not before.shape[1]:
        return 1.0
    signs, others = 2.0 * before - 1.0, 2.0 * after - 1.0
    alike = (1.0 + np.abs(signs.T @ others) / len(signs)) / 2.0
    return float(np.mean(alike.max(axis=1, initial=0.0) >= ALIKE))


# -- what is shown ---------------------------------------------------------------------------------------------------


def show(runs: Sequence[Run]) -> list[Table]:
    """Return errors beside those of the undisturbed tables, columns and conditions that stay, and every error."""
    groups = by(runs, "method")
    names = list(dict.fromkeys(run.task.dataset for run in runs))
    kinds = list(dict.fromkeys(name for run in runs for name in run.task.parameters["disturbances"]))
    header = ("disturbance", *(label for label, _ in METHODS.values()))
    shares = (
        ("robustness", "Error as a multiple of that of the undisturbed table", "ratio", RATIO_NOTES),
        ("robustness-columns", "Columns in common, as a share of all that either reads", "same_columns", MEAN_NOTES),
        ("robustness-questions", "Share of the conditions that come back", "same_questions", CONDITION_NOTES),
        ("robustness-noise", "Share of noise among the columns that are read", "noise", MEAN_NOTES),
    )
    shown = []
    for name, title, figure, notes in shares:
        kept = [kind for kind in kinds if figure != "noise" or "noise" in kind]
        body: list[list[Cell]] = [
            [kind, *(_share(groups.get(key), kind, figure) for key in METHODS)] for kind in kept
        ]  # fmt: skip
        shown.append(Table(name, title, header, body, notes))
    groups = by(runs, "dataset", "method")
    body = [
        [label, kind or "none", *(_error(groups.get((name, key)), kind) for name in names)]
        for kind in (None, *kinds)
        for key, (label, _) in METHODS.items()
    ]
    return [*shown, Table("robustness-errors", "Test errors", ("model", "disturbance", *names), body, ERROR_NOTES)]


MEAN_NOTES = ("Means over tables and seeds ± the standard deviation over them.",)
RATIO_NOTES = (*MEAN_NOTES, "1 where nothing changes; mean squared errors of numbers, log losses of classes.")
CONDITION_NOTES = (*MEAN_NOTES, "The same where they part the test rows alike, but for at most one in twenty.")
ERROR_NOTES = ("Means over seeds ± their standard deviation: mean squared errors of numbers, log losses of classes.",)


def _share(runs: Sequence[Run] | None, kind: str, figure: str) -> float | str:
    """Return the mean of a figure of a disturbance over tables and seeds."""
    if not runs or any(run.error is not None for run in runs):
        return FAILED if runs else MISSING
    figures = [run.figures["disturbed"][kind] | {"whole": run.figures["error"]} for run in runs]
    return Measured([values["error"] / values["whole"] if figure == "ratio" else values[figure] for values in figures])


def _error(runs: Sequence[Run] | None, kind: str | None) -> float | str:
    """Return the mean error over seeds."""
    if not runs or any(run.error is not None for run in runs):
        return FAILED if runs else MISSING
    return Measured([run.figures["error"] if kind is None else run.figures["disturbed"][kind]["error"] for run in runs])
