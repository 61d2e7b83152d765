"""Datasets by name: three to read, which come with the package, and the paper's seven.

``load("bike_sharing")`` reads a file of this package. ``load("parking")`` looks in the folder named by the environment
variable ``BGN_DATA``, then in the cache, then downloads. Every file is checked against a known SHA-256 before it is
read. Each dataset is one entry of ``specs.toml``; ``fetch`` finds the bytes and ``build`` makes the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bgn.datasets import fetch
from bgn.datasets.build import SPECS, Spec
from bgn.datasets.fetch import DatasetError
from bgn.require import require

__all__ = ["Dataset", "DatasetError", "load", "names", "path"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table ready to learn from.

    Parameters
    ----------
    name : str
        The name it was loaded by.
    X : pandas.DataFrame or ndarray of float64, shape (rows, features)
        A DataFrame when pandas is installed; datasets with categorical columns need it.
    y : pandas.Series or ndarray of float64, shape (rows,)
        The target: numbers, or the class of every row. A Series, with its name, where X has categorical columns.
    feature_names, units : tuple of str
        One entry per column; an empty unit means a code, a count without a name or a scaled figure.
    target_name, target_unit : str
        What is predicted.
    description, citation, license : str
        What it is, whom to cite, what may be done with it.
    """

    name: str
    X: Any
    y: Any
    feature_names: tuple[str, ...]
    target_name: str
    units: tuple[str, ...]
    target_unit: str
    description: str
    citation: str
    license: str

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {len(self.y)} rows, {len(self.feature_names)} features, y = {self.target_name})"


def names() -> tuple[str, ...]:
    """Return the names `load` knows.

    Examples
    --------
    >>> from bgn import datasets
    >>> datasets.names()[:3]  # which are meant to be read, and come with the package
    ('bike_sharing', 'mammographic', 'penguins')
    >>> datasets.names()[3:]  # the paper's, as matrices
    ('bike', 'diabetes', 'housing', 'chickenpox', 'istanbul', 'parking', 'power_plant')
    """
    return tuple(SPECS)


def load(name: str, *, columns: str | None = None) -> Dataset:
    """Return a dataset; of the paper's, all but "bike" and "diabetes" are downloaded on first use.

    Parameters
    ----------
    name : {"bike_sharing", "mammographic", "penguins", "bike", "diabetes", "housing", "chickenpox", "istanbul", \
            "parking", "power_plant"}
        Which one. The first three have categorical columns and missing values, the others numbers alone.
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
    >>> datasets.load("mammographic")
    Dataset(mammographic: 961 rows, 4 features, y = mass)
    >>> datasets.load("mammographic").X.iloc[-1].to_dict()
    {'age': 62.0, 'shape': 'lobular', 'margin': 'obscured', 'density': 'low'}
    >>> datasets.load("diabetes")
    Dataset(diabetes: 442 rows, 10 features, y = progression)
    >>> datasets.load("diabetes", columns="measured").units[:4]
    ('years', '', 'kg/m²', 'mm Hg')
    """
    spec = _spec(name)
    chosen = next(iter(spec.features)) if columns is None else columns
    if chosen not in spec.features:
        raise ValueError(f"columns of {name!r} must be one of {', '.join(map(repr, spec.features))}; got {columns!r}.")
    built = spec.build(fetch.read(spec.source) if spec.source else b"", chosen)
    feature_names, units = zip(*spec.features[chosen], strict=True)
    X: Any
    if isinstance(built, dict):
        frame = require("pandas", extra="cli").DataFrame(built)
        X, y, shape = frame[list(feature_names)], frame[spec.target[0]], frame.shape
    else:
        X, y, shape = built[:, :-1].copy(), built[:, -1].copy(), built.shape
        if find_spec("pandas"):
            X = require("pandas", extra="cli").DataFrame(X, columns=list(feature_names))
    if shape != (spec.rows, len(feature_names) + 1):
        raise DatasetError(f"{name!r} came out with shape {shape}; the table has changed.")
    (target_name, target_unit), about = spec.target, (spec.description, spec.citation, spec.license)
    return Dataset(name, X, y, feature_names, target_name, units, target_unit, *about)


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
