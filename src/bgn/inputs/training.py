"""Raw rows to learn from: kinds of columns decided, the target read, incomplete rows dealt with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgn.inputs import prepare
from bgn.inputs.check import serious_notes
from bgn.inputs.classes import Label
from bgn.inputs.file_format import FileFormat
from bgn.inputs.files import RawTable, open_any
from bgn.inputs.prepare import Choices
from bgn.inputs.refusal import Problems, Refused, check_there, option
from bgn.inputs.target import classes_of, labelled, target_values
from bgn.model.step import Floats
from bgn.preparation import Preparation, Prepared


@dataclass(frozen=True, eq=False)
class Decided:
    """A whole raw table as numbers, NaN where one is missing, and which of its rows can be learnt from.

    A target of `classes` is the number of each row's class.
    """

    table: pa.Table
    preparation: Preparation
    X: Floats
    y: Floats
    usable: NDArray[np.bool_]
    notes: tuple[str, ...]
    classes: tuple[Label, ...] | None = None

    def imputed(self, learn: NDArray[np.bool_]) -> Preparation:
        """Learn what is imputed from some rows, and put it in the place of every NaN of `X`."""
        preparation = prepare.with_fills(self.preparation, self.X[learn])
        prepare.fill(preparation, self.X)
        return preparation


def decide(
    raw: RawTable, features: Sequence[str], choices: Choices, origin: str, beside: Sequence[str] = ()
) -> Decided:
    """Read a whole table; decide on every column, and on the rows that lack a value. Columns `beside` are read too."""
    target = choices.target
    table = raw.read([*dict.fromkeys([*features, *([] if target is None else [target]), *beside])])
    problems, doubtful = Problems(*raw.met.problems.values()), raw.met.problems
    y, classes, noted = np.zeros(table.num_rows), None, ""
    with problems.gathered():
        if target is not None and target not in doubtful:
            column = table.column(target)
            classes, noted = classes_of([column], target, choices.task)
            y, _ = target_values(column, classes)
    with problems.gathered():
        known = [name for name in features if name not in doubtful]
        preparation, notes = prepare.learn(table.select(known), choices)
    problems.tell()
    preparation = replace(preparation, decimal=raw.met.decimal, written=raw.met.written, gaps=raw.met.gaps)
    notes = [*raw.met.notes, *[noted] * bool(noted), *serious_notes(table, features, target), *notes]
    if not preparation.columns:
        raise Refused(f"{origin} has no column with values to learn from.")
    X = prepare.apply(preparation, table).X
    lacking, holes = np.isnan(X).any(axis=1), holes_of(preparation, X, y, target)
    usable = ~np.isnan(y) if choices.missing == "impute" else ~(lacking | np.isnan(y))
    if count := int(np.count_nonzero(lacking | np.isnan(y))):
        told = incomplete(len(y), count, holes, choices.missing)
        filled = int(np.count_nonzero(lacking & usable))
        if choices.missing == "drop":
            notes.append(f"{told}: left out.")
        elif filled:
            notes.append(f"{told}: {filled} filled in with the median or the commonest value.")
        if choices.missing == "impute" and target is not None and holes[target]:
            notes.append(f"{holes[target]} rows without {target!r} are left out.")
    return Decided(table, preparation, X, y, usable, tuple(notes), classes)


def holes_of(preparation: Preparation, X: Floats, y: Floats, target: str | None) -> dict[str, int]:
    """Return how many values each raw column lacks."""
    parts = [(column.column, part[:, 0]) for column, part in prepare.slices(preparation, X)]
    targets = [] if target is None else [(target, y)]
    return {name: int(np.count_nonzero(np.isnan(values))) for name, values in parts + targets}


def incomplete(rows: int, lacking: int, holes: Mapping[str, int], missing: str) -> str:
    """Say how many rows lack a value and in which columns, or refuse them."""
    where = ", ".join(f"{name!r} {number}" for name, number in holes.items() if number)
    told = f"{lacking} of {rows} rows have missing values ({where})"
    if missing == "refuse":
        drop, impute = option("missing", "drop"), option("missing", "impute")
        raise Refused(f"{told}; add {drop} to leave them out, or {impute} to fill them in.")
    return told


def fit(data: Any, choices: Choices, form: FileFormat) -> Prepared:
    """Do what :func:`bgn.preparation.fit` says."""
    table, origin = open_any(data, form)
    try:
        found = decide(table, choices.features(table.names, origin), choices, origin)
    finally:
        table.close()
    usable = found.usable
    filled = np.asarray(np.isnan(found.X).any(axis=1))[usable]
    preparation = found.imputed(usable) if choices.missing == "impute" else found.preparation
    y = None if choices.target is None else labelled(found.y[usable], found.classes)
    return Prepared(preparation, found.X[usable], filled, {}, y, np.flatnonzero(usable), found.notes)


def apply(preparation: Preparation, data: Any, form: FileFormat) -> Prepared:
    """Do what :meth:`bgn.preparation.Preparation.apply` says."""
    preparation = prepare.told(preparation, form)
    table, origin = open_any(data, form)
    names = [column.column for column in preparation.columns]
    try:
        check_there(names, table.names, origin)
        blocks = [each for _, _, each in prepare.apply_blocks(preparation, table.blocks(names), None, origin)]
    finally:
        table.close()
    unseen: dict[str, tuple[Any, ...]] = {}
    for each in blocks:
        for name, values in each.unseen.items():
            unseen[name] = tuple(dict.fromkeys((*unseen.get(name, ()), *values)))
    X = np.concatenate([np.empty((0, len(preparation.names))), *(each.X for each in blocks)])
    filled = np.concatenate([np.empty(0, dtype=bool), *(each.filled for each in blocks)])
    return Prepared(preparation, X, filled, unseen, None, np.arange(len(X)))
