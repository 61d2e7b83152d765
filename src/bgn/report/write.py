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
from bgn.printable import clean
from bgn.report.facts import Facts, Names
from bgn.report.page import PageSettings, render
from bgn.whole_file import check_place, write_whole

_LARGEST = 1e150


@through_pipelines("X", "X_test", targets=("y", "y_test"))
def write_report(
    model: Any, X: Any, y: ArrayLike, path: str | os.PathLike[str], *, X_test: Any = None,
    y_test: ArrayLike | None = None, title: str | None = None, digits: int = 3, units: Mapping[str, str] | None = None,
    labels: Mapping[str, Any] | str | os.PathLike[str] | None = None, edits: Sequence[Edit] | None = None,
    names: Sequence[Any] | None = None, names_test: Sequence[Any] | None = None, rows: int | bool | None = None,
    learnt: int | None = None,
) -> Path:  # fmt: skip
    """Write one HTML file that tells the whole story of a model to somebody who has no Python.

    The file opens from disk, asks nothing of any network, prints well, and holds the model itself: readers change a row
    and see the prediction, to the last bit that of ``predict``.

    It contains rows of the dataset, and its first lines say how many: the ten with the largest errors and others that
    readers can start from, with their names, the values of the columns that the model uses, and the target.
    ``rows=False`` leaves all of them out. What is left are counts, and of every column the lowest value, the median and
    the highest, or the categories that ten rows or more have.

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
    title : str, optional, heading of the page
    digits : int, default 3
        Significant digits of what is measured, such as errors. The model's own numbers, and its rows', are whole.
    units : mapping of str to str, optional, by the names of columns and target
    labels : mapping or path, optional
        What the page calls things: ``title``, ``description``, ``target`` and ``columns``, by name, the latter two with
        ``label``, ``unit``, ``description`` and ``levels`` (a word per level); or a TOML or JSON file of the same.
    edits : sequence of Edit, optional
        What an expert changed, from :func:`bgn.edit`; an estimator's own ``edits_`` unless told.
    names, names_test : sequence, optional
        What the rows of `X` and `X_test` are called, such as a key; numbers from 1 unless told.
    rows : int or bool, optional
        The most rows of the dataset in the page, those with the largest errors first; as many as fit unless given.
        False or 0 for none.
    learnt : int, optional, how many of the rows the model learnt from, where no others judge

    Returns
    -------
    pathlib.Path, where the report is

    Examples
    --------
    >>> import bgn, numpy as np, tempfile, os
    >>> model = bgn.Network([bgn.Layer([[1.0, 0.0]], [-65.5])], [0.5], 1.0, ["income", "age"], "value")
    >>> X, words = np.array([[70.0, 30.0], [20.0, 40.0]]), {"title": "What houses cost", "target": {"unit": "k$"}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = bgn.write_report(model, X, [1.5, 0.4], os.path.join(folder, "report.html"), labels=words)
    ...     "What houses cost" in written.read_text(encoding="utf-8")
    True
    """
    _check(digits, rows, model, y, y_test)
    check_place(path)
    facts = Facts.of(model, X, y, X_test, y_test, labels, units)
    log: Sequence[Edit] = getattr(model, "edits_", ()) if edits is None else edits
    facts = replace(facts, edits=tuple(log), names=_called(facts, names, names_test), learnt=learnt)
    most = None if rows is None or rows is True else int(rows)
    write_whole(path, render(facts, PageSettings(title, digits, most)).encode("utf-8"))
    return Path(path)


def _called(facts: Facts, names: Sequence[Any] | None, names_test: Sequence[Any] | None) -> tuple[Names, Names]:
    """Return names of rows as text, one per row."""
    counts = {"names": len(facts.rows), "names_test": len(facts.judged_rows) if facts.held_out else 0}
    found: list[Names] = []
    for (argument, count), told in zip(counts.items(), (names, names_test), strict=True):
        if told is not None and (isinstance(told, str) or len(told) != count):
            raise ValueError(f"{argument} must have one name per row, {count}; got {len(told)}.")
        found.append(None if told is None else [clean(str(name), 80) for name in told])
    return found[0], found[1]


def _check(digits: int, rows: int | bool | None, model: Any, y: ArrayLike, y_test: ArrayLike | None) -> None:
    """Refuse a model of another kind, and numbers whose errors cannot be measured."""
    if rows is not None and (not isinstance(rows, int) or rows < 0):
        raise ValueError(
            f"rows must be False for none, a whole number for the most, or None for as many as fit; got {rows!r}."
        )
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
