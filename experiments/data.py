"""The rows of a task: which table, which of its rows to train, validate and test on."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split

from bgn import GrowthSettings, datasets
from bgn.datasets import DatasetError
from bgn.datasets.build import SPECS
from bgn.datasets.fetch import RawFile, find
from experiments.store import Task

Floats = NDArray[np.float64]

TABLES = ("bike", "diabetes", "housing", "chickenpox", "istanbul", "parking", "power_plant")
"""The paper's tables, in the order of its Table 1."""

LARGE = ("bike", "housing", "parking", "power_plant")
"""Those with thousands of rows."""

MADE_UP = "made_up"
"""Rows that a study makes up, as many as stand behind a colon; the study's revision says which."""

ALONE = {"digits": None, "cv": None, "sweeps": 0, "max_linear": 0}
"""What networks that the studies compare are grown with: rules alone, one after the other, in all their digits."""


_Estimator = TypeVar("_Estimator", bound=Any)


def build(make: Callable[[], _Estimator], parameters: Mapping[str, Any]) -> _Estimator:
    """Return an estimator or a preset with some parameters, those of :class:`bgn.GrowthSettings` among the others."""
    model, others = make(), dict(parameters)
    growth = model.growth or GrowthSettings()
    own = {name: others.pop(name) for name in vars(growth) if name in others}
    return model.set_params(growth=replace(growth, **own), **others)


BUDGET = ("max_conditions", "pairs", "min_rows", "cuts")


def flat_parameters(model: Any) -> dict[str, Any]:
    """Return an estimator's parameters as :func:`build` takes them."""
    parameters: dict[str, Any] = model.get_params()
    if parameters["max_conditions"] is None:  # what belongs to a budget of conditions says nothing without one
        parameters = {name: value for name, value in parameters.items() if name not in BUDGET}
    return parameters | vars(parameters.pop("growth") or GrowthSettings())


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to train on, to validate on and to report on, and the columns' names.

    `frames` has the three as they are where a table has categories or missing values.
    """

    X: Floats
    y: Floats
    X_validation: Floats
    y_validation: Floats
    X_test: Floats
    y_test: Floats
    names: tuple[str, ...]
    frames: tuple[Any, Any, Any] | None = None

    @property
    def raw(self) -> tuple[Any, Any, Any]:
        """The columns to train on, to validate on and to report on as they are."""
        return self.frames or (self.X, self.X_validation, self.X_test)

    def mse(self, predict: object) -> dict[str, float]:
        """Return the errors of a fitted model on the validation and test rows, by name."""
        parts = {"validation_mse": (self.X_validation, self.y_validation), "test_mse": (self.X_test, self.y_test)}
        return {name: float(np.mean((predict.predict(X) - y) ** 2)) for name, (X, y) in parts.items()}  # type: ignore[attr-defined]


def paper_split(rows: int | None = None) -> str:
    """Return the name of the paper's split: a quarter for testing, a fifth of the rest for validation.

    The seed of the task is ``random_state`` both times. With `rows`, of so many rows taken at random.
    """
    return "paper" if rows is None else f"paper, {rows} rows"


def split(task: Task) -> Rows:
    """Return the rows that a task names."""
    mixed = task.dataset in NUMBERS
    if mixed:
        X, labels = mixed_table(task.dataset)
        y, names = np.asarray(labels, dtype=np.float64), tuple(X.columns)
    else:
        X, y, names = table(task.dataset)
    kind, _, size = task.split.partition(", ")
    if kind != "paper":
        raise ValueError(f"split must be one that data.paper_split makes; got {task.split!r}.")
    if size:
        chosen = np.random.default_rng(0).permutation(len(y))[: int(size.removesuffix(" rows"))]
        X, y = X.iloc[chosen] if mixed else X[chosen], y[chosen]
    rest, X_test, y_rest, y_test = train_test_split(X, y, test_size=0.25, random_state=task.seed)
    X_train, X_held, y_train, y_held = train_test_split(rest, y_rest, test_size=0.2, random_state=task.seed)
    if not mixed:
        return Rows(X_train, y_train, X_held, y_held, X_test, y_test, names)
    frames = (X_train, X_held, X_test)
    seen, held, test = as_numbers(*frames)
    return Rows(seen, y_train, held, y_held, test, y_test, names, frames)


@cache
def table(dataset: str) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return the matrix, the target and the names of a table."""
    name, _, columns = dataset.partition(":")
    data = datasets.load(name, columns=columns or None)
    return np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64), data.feature_names


def check(dataset: str) -> None:
    """Raise unless a table can be read here."""
    if dataset.partition(":")[0] == MADE_UP:
        return
    if dataset in CLASS_TABLES + NUMBERS:
        mixed_table(dataset)
    else:
        table(dataset)


@cache
def checksum(dataset: str) -> str:
    """Return the SHA-256 of the raw table, which loading checks; of the numbers when scikit-learn ships it."""
    if dataset.partition(":")[0] == MADE_UP:
        return hashlib.sha256(MADE_UP.encode()).hexdigest()
    if dataset in RAW:
        return RAW[dataset].sha256
    if dataset in SHIPPED:
        from sklearn import datasets as shipped

        X, y = getattr(shipped, f"load_{dataset}")(return_X_y=True)
        return hashlib.sha256(np.column_stack([X, y]).tobytes()).hexdigest()
    name = dataset.partition(":")[0]
    if name not in SPECS:
        raise ValueError(f"dataset must be one of {', '.join(SPECS)}; got {name!r}.")
    source = SPECS[name].source
    if source is not None:
        return source.sha256
    X, y, _ = table(dataset)
    return hashlib.sha256(np.column_stack([X, y]).tobytes()).hexdigest()


# -- Mixed tables: with categories and missing values, most of them with classes.


Pair = tuple[Floats, Floats]

CUTS = 20
"""A column is cut at this many quantiles less one; one with fewer values, between any two of them."""


@dataclass(frozen=True)
class MixedTable:
    """A table with categories: its target, columns to leave out, and the SHA-256 of the file, uncompressed."""

    target: str
    left_out: tuple[str, ...]
    sha256: str


RAW = {
    "telco_churn": MixedTable(
        "Churn", ("customerID",), "16320c9c1ec72448db59aa0a26a0b95401046bef5d02fd3aeb906448e3055e91"
    ),
    "titanic": MixedTable(
        "survived",
        ("alive", "class", "who", "adult_male", "embark_town", "alone"),
        "81787d320d7f7b03df935e91de8bd19e11d45c5bbcab86ef4d4a76dc91b7d4f2",
    ),
    "mammographic": MixedTable(
        "malignant", ("birads",), "e9af55a1365d901d3625ed340a0e76a918fdaec372da82ad54ce0f5083b2026d"
    ),
    "breast_cancer_wisconsin": MixedTable(
        "class", ("id",), "028af8cfcd063ef1bc2ea80728935a8d7b66f8947a8623e99e22019617eb7aa9"
    ),
    "pima_diabetes": MixedTable("diabetes", (), "604bdfaeaecb2c035c3ca112979410b579d4cbfb8029b6c513c9e7fc55b253f4"),
    "spambase": MixedTable("spam", (), "ae16da99a8e404f0d0bcb6b002a0922852b30c2d2a9aab3134b0c1e38193e4f7"),
    "phoneme": MixedTable("oral", (), "9040190c00265d4f44b9e8508a5140611608944a5617401e306ccc1604d7e486"),
    "penguins": MixedTable("species", (), "e07636bd8af74260099ea2f8678e2eabbf35def579940cc76f67061ee16c06c1"),
    "ames_housing": MixedTable(
        "SalePrice", ("Order", "PID"), "490d17d6d673c693de750981f4cb5b44c7594854c6da45dc85628dc0cffbb1b2"
    ),
    "diamonds": MixedTable("price", (), "243996d7650e84e190a88d505b44c3a0be1bcfc7b4f32606d60d103a51494b9e"),
}
"""Tables that are read from a file, and what is left out: ids, copies of the target and of other columns."""

SHIPPED = ("wine", "digits", "iris")
"""Tables that scikit-learn ships."""

TWO = tuple(RAW)[:7]
"""Tables of two classes."""

SEVERAL = ("penguins", *SHIPPED)
"""Tables of more."""

CLASS_TABLES = TWO + SEVERAL

NUMBERS = ("ames_housing", "diamonds")
"""Tables with categories whose target is a number."""


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows to train on and to report on: frames as they are, and labels."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The labels, in order."""
        return np.unique(self.y)

    @cached_property
    def codes(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The places of the labels among the classes, of the rows to train on and to report on."""
        return np.searchsorted(self.classes, self.y), np.searchsorted(self.classes, self.y_test)

    @cached_property
    def numbers(self) -> Pair:
        """The columns as numbers alone; missing values get the median of the training rows."""
        X, X_test = as_numbers(self.X, self.X_test)
        return X, X_test

    @cached_property
    def stumps(self) -> Pair:
        """A 0/1 column per threshold of those numbers."""
        return as_stumps(*self.numbers)


def stratified_split(rows: int | None = None) -> str:
    """Return the name of the split: a quarter for testing, each class in its share, by the seed of the task.

    With `rows`, of so many rows taken at random.
    """
    return "stratified" if rows is None else f"stratified, {rows} rows"


FOLDS = 5
FOLD = "a fold of five"
"""The name of the split into folds, each class in its share: the seed of the task says which fold is for testing."""


def class_split(task: Task) -> ClassRows:
    """Return the rows that a task names, of a mixed table."""
    X, y = mixed_table(task.dataset)
    kind, _, size = task.split.partition(", ")
    if kind not in ("stratified", FOLD):
        raise ValueError(f"split must be FOLD or one that stratified_split makes; got {task.split!r}.")
    if size:
        chosen = np.random.default_rng(0).permutation(len(y))[: int(size.removesuffix(" rows"))]
        X, y = X.iloc[chosen], y[chosen]
    if kind == FOLD:
        seen, test = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))[task.seed]
        return ClassRows(X.iloc[seen], y[seen], X.iloc[test], y[test])
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=task.seed)
    return ClassRows(X, y, X_test, y_test)


@cache
def mixed_table(name: str) -> tuple[Any, NDArray[Any]]:
    """Return the columns of a table and its labels."""
    import pandas as pd

    if name in SHIPPED:
        from sklearn import datasets

        shipped = getattr(datasets, f"load_{name}")(as_frame=True)
        return shipped.data, shipped.target.to_numpy()
    frame = pd.read_csv(io.BytesIO(_content(name)), na_values=["?", " "])
    known = RAW[name]
    return frame.drop(columns=[known.target, *known.left_out]), frame[known.target].to_numpy()


def _content(name: str) -> bytes:
    """Return the checked bytes of a file of the package, or of one below the folder that ``BGN_DATA`` names."""
    file = f"mixed/{name}.csv"
    places = (find(RawFile(place, None, f"{name}.csv", RAW[name].sha256)) for place in (f"{name}.csv", file))
    path = next(filter(None, places), None)
    if path is None:
        raise DatasetError(
            f"no {file} (or {file}.gz) in the folder named by the environment variable BGN_DATA; put it there."
        )
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if (seen := hashlib.sha256(content).hexdigest()) != RAW[name].sha256:
        raise DatasetError(f"{path} has SHA-256 {seen}, expected {RAW[name].sha256}; put the whole table there.")
    return content


def as_numbers(X: Any, *others: Any) -> tuple[Floats, ...]:
    """Return frames as numbers: medians for missing values, a 0/1 column per category, missing being one more.

    Medians and categories are those of the first frame.

    Examples
    --------
    >>> import pandas as pd
    >>> seen = pd.DataFrame({"age": [1.0, None, 3.0, 5.0], "city": ["Nice", "Lille", None, "Nice"]})
    >>> new = pd.DataFrame({"age": [None], "city": ["Paris"]})
    >>> for part in as_numbers(seen, new):
    ...     print(part.tolist())
    [[1.0, 0.0, 0.0, 1.0], [3.0, 0.0, 1.0, 0.0], [3.0, 1.0, 0.0, 0.0], [5.0, 0.0, 0.0, 1.0]]
    [[3.0, 0.0, 0.0, 0.0]]
    """
    columns = [column for name in X.columns for column in numeric_columns(X[name], *(frame[name] for frame in others))]
    return tuple(np.column_stack(parts) for parts in zip(*columns, strict=True))


def numeric_columns(seen: Any, *others: Any) -> list[tuple[Floats, ...]]:
    """Return the columns of numbers that stand for one column of frames, each in as many parts as there are frames."""
    if seen.dtype.kind in "biuf":
        middle = seen.median()
        return [tuple(column.fillna(middle).to_numpy(float) for column in (seen, *others))]
    texts = [column.astype(object).where(column.notna(), "").to_numpy() for column in (seen, *others)]
    categories = sorted(set(texts[0]))
    kept = categories[1:] if len(categories) == 2 else categories  # of two, one column says it all
    return [tuple((part == category).astype(float) for part in texts) for category in kept]


def as_stumps(X: Floats, X_test: Floats) -> Pair:
    """Return 0/1 columns that say which thresholds of the first rows' columns are reached.

    Examples
    --------
    >>> import numpy as np
    >>> seen, new = as_stumps(np.array([[1.0], [2.0], [4.0]]), np.array([[3.0], [0.0]]))
    >>> seen.tolist(), new.tolist()
    ([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]])
    """
    columns: list[tuple[Any, Any]] = []
    for seen, new in zip(X.T, X_test.T, strict=True):
        values = np.unique(seen)
        cuts = (values[1:] + values[:-1]) / 2
        if len(values) > CUTS:
            cuts = np.unique(np.quantile(seen, np.arange(1, CUTS) / CUTS, method="higher"))
            cuts = cuts[cuts > values[0]]  # where the least value is frequent, all rows would reach it
        columns += [(seen >= cut, new >= cut) for cut in cuts]
    return np.column_stack([seen for seen, _ in columns]) * 1.0, np.column_stack([new for _, new in columns]) * 1.0
