"""The paper's seven regression tables, by name.

``load("bike")`` looks in the folder named by the environment variable ``BGN_DATA``, then in the cache, then
downloads; every file is checked against a known SHA-256 before it is read. Each table is one entry of
``specs.SPECS``; ``fetch`` finds the bytes and ``build`` makes the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgn.datasets import fetch
from bgn.datasets.fetch import DatasetError
from bgn.datasets.specs import SPECS, Spec
from bgn.model.step import Floats

__all__ = ["Dataset", "DatasetError", "load", "names", "path"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table ready to learn from.

    Parameters
    ----------
    name : str
        The name it was loaded by.
    X : pandas.DataFrame or ndarray of float64, shape (rows, features)
        A frame with column names when pandas is installed.
    y : ndarray of float64, shape (rows,)
        The target.
    feature_names, units : tuple of str
        One entry per column; an empty unit means a code, a count without a name or a scaled figure.
    target_name, target_unit : str
        What is predicted.
    description, citation, licence : str
        What it is, whom to cite, what may be done with it.
    """

    name: str
    X: Any
    y: Floats
    feature_names: tuple[str, ...]
    target_name: str
    units: tuple[str, ...]
    target_unit: str
    description: str
    citation: str
    licence: str

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {len(self.y)} rows, {len(self.feature_names)} features, y = {self.target_name})"


def names() -> tuple[str, ...]:
    """Return the names `load` knows.

    Examples
    --------
    >>> from bgn import datasets
    >>> datasets.names()
    ('bike', 'diabetes', 'housing', 'chickenpox', 'istanbul', 'parking', 'power_plant')
    """
    return tuple(SPECS)


def load(name: str, *, columns: str | None = None) -> Dataset:
    """Return one of the paper's tables, downloading it on first use.

    Parameters
    ----------
    name : {"bike", "diabetes", "housing", "chickenpox", "istanbul", "parking", "power_plant"}
        Which one.
    columns : str, optional
        ``housing`` comes with StatLib's columns (``"statlib"``, the default) or scikit-learn's per-household
        ones (``"averaged"``); ``diabetes`` scaled (``"scaled"``, the default) or as measured (``"measured"``).

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        The file is nowhere and cannot be downloaded, or it is not the file that was published.

    Examples
    --------
    >>> from bgn import datasets
    >>> datasets.load("diabetes")
    Dataset(diabetes: 442 rows, 10 features, y = progression)
    >>> datasets.load("diabetes", columns="measured").units[:4]
    ('years', '', 'kg/m²', 'mm Hg')
    """
    spec = _spec(name)
    chosen = next(iter(spec.features)) if columns is None else columns
    if chosen not in spec.features:
        raise ValueError(f"columns of {name!r} must be one of {', '.join(map(repr, spec.features))}; got {columns!r}.")
    matrix = spec.build(fetch.read(spec.source) if spec.source else b"", chosen)
    feature_names, units = zip(*spec.features[chosen], strict=True)
    if matrix.shape != (spec.rows, len(feature_names) + 1):
        raise DatasetError(f"{name!r} came out with shape {matrix.shape}; the table has changed.")
    X, y = matrix[:, :-1].copy(), matrix[:, -1].copy()
    return Dataset(
        name=name,
        X=_frame(X, feature_names),
        y=y,
        feature_names=feature_names,
        target_name=spec.target[0],
        units=units,
        target_unit=spec.target[1],
        description=spec.description,
        citation=spec.citation,
        licence=spec.licence,
    )


def path(name: str) -> Path | None:
    """Return where the raw file of a table lies on this machine, or None.

    Examples
    --------
    >>> from bgn import datasets
    >>> datasets.path("diabetes") is None  # inside scikit-learn
    True
    """
    source = _spec(name).source
    return fetch.find(source) if source else None


def _spec(name: str) -> Spec:
    if name not in SPECS:
        raise ValueError(f"name must be one of {', '.join(map(repr, SPECS))}; got {name!r}.")
    return SPECS[name]


def _frame(X: Floats, feature_names: tuple[str, ...]) -> Any:
    """Return `X` as a frame when pandas is installed, as it is otherwise."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        return X
    return pd.DataFrame(X, columns=list(feature_names))
