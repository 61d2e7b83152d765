"""Writing a report to disk."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain.subject import clipped_network
from bgn.model.edits import Edit
from bgn.pipelines import through_pipelines
from bgn.report.facts import Facts
from bgn.report.page import render
from bgn.whole_file import check_place, write_whole

_LARGEST = 1e150


@through_pipelines("X", "X_test", targets=("y", "y_test"))
def write_report(
    model: Any,
    X: Any,
    y: ArrayLike,
    path: str | os.PathLike[str],
    *,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    title: str | None = None,
    digits: int = 3,
    units: Mapping[str, str] | None = None,
    edits: Sequence[Edit] | None = None,
) -> Path:
    """Write one HTML file that tells the whole story of a model to somebody who has no Python.

    The file opens from disk, asks nothing of any network, prints well, and holds the model itself: readers change a row
    and see the prediction, to the last bit that of ``predict``. Of the data it holds ranges, counts and ten rows with
    the largest errors; leave it at home if those are secret.

    Parameters
    ----------
    model : Network or fitted estimator
        With an estimator the report also shows how it grew and its settings.
    X, y : array_like or frame
        The rows that the model was made from, and so importance, effects, ranges and the models to compare with.
    path : str or path
        Where to write; a file that is there is replaced, and only once the new one is whole.
    X_test, y_test : array_like or frame, optional
        Rows to judge by. Without them the errors are those on `X` and `y`, as the report says.
    title : str, optional
        Heading of the page.
    digits : int, default 3
        Significant digits of what is measured, such as errors. The model's own numbers, and its rows', are whole.
    units : mapping of str to str, optional
        Units by column name, written after thresholds.
    edits : sequence of Edit, optional
        What an expert changed, from :func:`bgn.edit`; an estimator's own ``edits_`` unless told.

    Returns
    -------
    pathlib.Path
        Where the report is.

    Examples
    --------
    >>> import bgn, numpy as np, tempfile, os
    >>> model = bgn.Network([bgn.Layer([[1.0, 0.0]], [-65.5])], [0.5], 1.0, ["income", "age"], "value")
    >>> X = np.array([[70.0, 30.0], [20.0, 40.0], [80.0, 50.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = bgn.write_report(model, X, [1.5, 0.4, 1.6], os.path.join(folder, "report.html"))
    ...     "What if" in written.read_text(encoding="utf-8")
    True
    """
    _check(digits, model, y, y_test)
    check_place(path)
    log: Sequence[Edit] = getattr(model, "edits_", ()) if edits is None else edits
    facts = replace(Facts.of(model, X, y, X_test, y_test), edits=tuple(log))
    write_whole(path, render(facts, title, digits, units).encode("utf-8"))
    return Path(path)


def _check(digits: int, model: Any, y: ArrayLike, y_test: ArrayLike | None) -> None:
    """Refuse a model of another kind, and numbers whose errors cannot be measured."""
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 17:
        raise ValueError(f"digits must be a whole number from 1 to 17; got {digits!r}.")
    network = clipped_network(model)
    reach = np.ravel(np.abs(network.base) + np.abs(network.output_weights).sum(axis=0))
    reach = reach + sum(np.abs(each.slopes) * max(abs(each.low), abs(each.high)) for each in network.linear_terms)
    targets = {"y": y, "y_test": y_test} if network.link == "identity" else {}
    _measurable({"model": reach, **targets})


def _measurable(numbers: Mapping[str, ArrayLike | None]) -> None:
    """Refuse targets or predictions whose squared errors float64 cannot hold."""
    for name, values in numbers.items():
        largest = np.abs(np.asarray([] if values is None else values, dtype=np.float64)).max(initial=0.0)
        if _LARGEST < largest < np.inf:
            raise ValueError(
                f"{name} has values up to {largest:.3g}; errors are squared up to {_LARGEST:g}. Rescale them."
            )
