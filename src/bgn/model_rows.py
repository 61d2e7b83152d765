"""The rows of a data file as a saved model reads them: all that lack nothing, block by block, training and test rows.

What changes a model by rows of a file uses the training rows alone (:class:`TrainingSplit`), so that whatever is
measured on the test rows later stays a test. Where a model does not know the file, all of its rows are training rows
from then on: the saved model no longer calls any row a test row.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgn import datasets
from bgn.inputs import cells, prepare
from bgn.inputs.cells import check_format
from bgn.inputs.errors import InputError, check_characters, check_there, listed
from bgn.inputs.file_format import PLAIN_FORMAT, FileFormat
from bgn.inputs.files import ArrowTable, OpenedData, open_table
from bgn.inputs.splits import HeldOut, Recognizer
from bgn.inputs.training import encode_target, to_labels
from bgn.model.network import Network
from bgn.model.step import Bools, Floats
from bgn.persist import ModelFile
from bgn.preparation import Preparation
from bgn.text import clean, count_of, people

Note = Callable[[str], None]
"""Tells a user what is odd, and does not stop the work."""


def preparation_of(file: ModelFile) -> Preparation:
    """Return how a file's columns are read; a model made in Python knows nothing of files, and finds its columns."""
    return file.preparation or Preparation(file.network.schema)


@dataclass(frozen=True)
class DataFile:
    """A dataset by its name, how it is written, and who is told what is odd about its rows."""

    name: str
    form: FileFormat = PLAIN_FORMAT
    note: Note = warnings.warn

    def open(self) -> OpenedData:
        """Open a file, standard input (``-``) or a built-in dataset (``bike_sharing``, ``housing:averaged``)."""
        form = self.form
        check_characters(sep=form.sep, decimal=form.decimal, thousands=form.thousands)
        check_format(form.date_format)
        name, _, chosen = self.name.partition(":")
        if name in datasets.names():
            loaded = datasets.load(name, columns=chosen or None)
            names, units = (*loaded.feature_names, loaded.target_name), (*loaded.units, loaded.target_unit)
            X = loaded.X
            X = X.T if isinstance(X, np.ndarray) else [X[column] for column in loaded.feature_names]
            columns = [pa.array(values, from_pandas=True) for values in (*X, loaded.y)]
            known = {column: unit for column, unit in zip(names, units, strict=True) if unit}
            return OpenedData(self.name, ArrowTable(pa.table(columns, list(names))), loaded.target_name, known)
        try:
            opened = open_table(self.name, replace(form, sep=form.sep and form.sep.replace("\\t", "\t")))
        except InputError as error:
            if str(error).startswith("there is no file"):
                raise InputError(f"{error} Nor is it a table of ours: {', '.join(datasets.names())}.") from None
            raise
        return OpenedData(self.name, opened)

    def complete_rows(
        self, file: ModelFile, with_target: bool = False, labelled_by: str | None = None
    ) -> CompleteRows:  # fmt: skip
        """Return every row that a model can read, and its target where it has one; or those alone that have one.

        They may be labelled by what a further column holds.
        """
        opened, target = self.open(), file.network.target_name
        targets = [target] if target is not None and target in opened.table.names else []
        recognizer = Recognizer(file.held_out, opened.table.names)
        X, y, complete, labels = list[Floats](), list[Floats](), list[Bools](), list[Any]()
        labelled = [] if labelled_by is None else [labelled_by]
        keep = [*dict.fromkeys([*targets, *recognizer.columns, *labelled])]
        with closing(opened.table):
            rows = ModelRows(file, opened, keep, every=True, form=self.form, note=self.note)
            for first, table, encoded in rows.blocks():
                X.append(encoded.X)
                complete.append(encoded.complete)
                y += [rows.target(table.column(name), name, first) for name in targets]
                for name in labelled:
                    labels += cells.plain(table.column(name)).to_pylist()
                recognizer.look(first, table, y[-1] if targets else None)
        if not X:
            raise InputError(f"{self.name} has no rows.")
        values = np.concatenate(y) if targets else None
        whole = usable = np.concatenate(complete)
        if with_target and values is not None:
            usable = whole & np.isfinite(values)
        if not usable.any():
            raise InputError(f"{self.name} has no complete row.")
        if not usable.all():
            what = repr(target) if whole.all() else "a value"
            self.note(f"{np.count_nonzero(~usable)} of {len(usable)} rows lack {what} and are left out.")
        rows_of_file = CompleteRows(
            self.name, target, np.concatenate(X), values, np.arange(len(usable)) + 1, recognizer.test_rows,
            file.network.schema.classes, recognizer.all_training, np.array([*labels, None], object)[:-1], self.note,
        )  # fmt: skip
        return rows_of_file.at(usable)


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """The rows of a data file that lack nothing, the target where the file has it, and their numbers in the file.

    `test` says which of them are test rows of the model; None where nobody knows. A target of `classes` is the number
    of each row's class. `all_training` is what a model file keeps that was trained on every row of the data file; None
    where that cannot be said.
    """

    name: str
    target_name: str | None
    X: Floats
    y: Floats | None
    numbers: NDArray[np.int64]
    test: Bools | None = None
    classes: tuple[Any, ...] | None = None
    all_training: HeldOut | None = None
    labels: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, object))
    note: Note = warnings.warn

    def only(self, which: str | None, default: str = "all") -> CompleteRows:
        """Return test rows, training rows or all, and say so; by default all where nobody knows the others."""
        if self.test is None:
            if which in ("test", "train"):
                unknown = f"--rows {which}: nobody knows which rows of {self.name} the model was fitted to"
                raise InputError(f"{unknown}: the model's file does not say, or this is another table. Use --rows all.")
            return self
        wanted = which or (default if self.test.any() else "all")
        chosen = {"test": self.test, "train": self.train}.get(wanted, np.full(len(self.X), True))
        these = {"test": f": these are the other {np.count_nonzero(self.test)}", "train": ": these alone count here"}
        more = " (--rows all for all)" if which is None and wanted != "all" else ""
        count = int(np.count_nonzero(self.train))
        self.note(f"{count} of {len(self.X)} rows of {self.name} were used for training{these.get(wanted, '')}{more}.")
        if not chosen.any():
            raise InputError(f"--rows {which}: {self.name} has no such rows. Use --rows all.")
        return self.at(chosen)

    def for_evaluation(self, which: str | None) -> CompleteRows:
        """Return the rows to evaluate a model on, by default test rows; say so where training rows may be there."""
        if self.test is None:
            unknown = f"the model file does not say which rows of {self.name} are training rows"
            self.note(f"{unknown}: where some are, the model looks better than it is.")
        return self.only(which, "test")

    def at(self, chosen: Bools) -> CompleteRows:
        """Return some of the rows."""
        y = None if self.y is None else self.y[chosen]
        test = None if self.test is None else self.test[chosen]
        labels = self.labels[chosen] if len(self.labels) else self.labels
        return replace(self, X=self.X[chosen], y=y, numbers=self.numbers[chosen], test=test, labels=labels)

    @property
    def train(self) -> Bools:
        """Which of them are training rows, where that is known: not those without a target."""
        assert self.test is not None
        return ~self.test if self.y is None else np.asarray(~self.test & np.isfinite(self.y))

    def chosen(self, row: int | None) -> Bools:
        """Return which rows are meant: one, or all."""
        if row is not None and row not in self.numbers:
            ends = f"{self.numbers[0]} to {self.numbers[-1]}"
            raise InputError(f"--row must be a complete row of {self.name}, {ends}; got {row}.")
        return np.full(len(self.X), True) if row is None else self.numbers == row

    def target(self, why: str) -> Any:
        """The target, numbers or labels, or a refusal that says why it is needed."""
        if self.target_name is None:
            nameless = f"the model does not say what its target is called, which {why}"
            raise InputError(f"{nameless}. Fit it to a named column.")
        if self.y is None:
            raise InputError(f"{self.name} lacks the column {self.target_name!r}, which {why}.")
        return to_labels(self.y, self.classes)


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows as a network reads them, NaN where a value is missing; which of them it can predict, and in which another
    value stands in."""

    X: Floats
    complete: Bools
    filled: Bools


class ModelRows:
    """The rows of a data file as a model reads them, block by block, with everything odd said once."""

    def __init__(
        self, file: ModelFile, opened: OpenedData, keep: Sequence[str] = (), every: bool = False,
        form: FileFormat = PLAIN_FORMAT, note: Note = warnings.warn,
    ) -> None:  # fmt: skip
        self._opened, self._network, self._keep, self._note = opened, file.network, list(keep), note
        self._origin = "standard input" if opened.name == "-" else opened.name
        self._preparation = prepare.with_format(preparation_of(file), form)
        columns, used = self._preparation.schema.columns, file.network.features_used
        self._read = [j for j in range(len(columns)) if every or j in used]
        self._only = {prepare.raw_of(columns[j]) for j in self._read}
        self._used = {prepare.raw_of(columns[j]) for j in used}
        self._noted: dict[str, set[Any]] = {}
        names = opened.table.names
        check_there((*sorted(self._only), *keep), names, self._origin)
        known = {prepare.raw_of(column) for column in columns} | {file.network.target_name, *keep}
        known |= {file.held_out.key} if file.held_out is not None else set()
        if extra := [name for name in names if name not in known]:
            note(f"the model does not know the column{'s' * (len(extra) > 1)} {listed(extra)}: ignored.")

    def blocks(self) -> Iterator[tuple[int, pa.Table, EncodedRows]]:
        """Yield the rows in order: the number of the first, those columns as they are, and as the model reads them."""
        # Even a model that reads nothing must know how many rows there are.
        names, first = sorted(self._only.union(self._keep)) or [self._opened.table.names[0]], 1
        takes_missing = ~self._network.refuses_missing
        own = zip(self._network.schema.columns, self._preparation.schema.columns, strict=True)
        stand_ins = np.array([b.typical if a.typical is None else a.typical for a, b in own], np.float64)
        for table in self._opened.table.blocks(names):
            prepared = prepare.read_as_at_fit(self._preparation, table, self._only, self._origin, first)
            self._note_unseen(prepared.unseen)
            missing = np.zeros(prepared.X.shape, bool)
            missing[:, self._read] = np.isnan(prepared.X[:, self._read])
            filled = missing & ~takes_missing
            X = np.where(filled, stand_ins, prepared.X)
            X[:, [j for j in range(X.shape[1]) if j not in self._read]] = 0.0
            complete = np.asarray(~(filled & np.isnan(stand_ins)).any(axis=1))
            yield first, table, EncodedRows(X, complete, np.asarray(filled.any(axis=1) & complete))
            first += table.num_rows
        for text in self._opened.table.reading.notes:
            self._note(text)

    def target(self, column: pa.ChunkedArray, name: str, first: int) -> Floats:
        """Return the target of a block as numbers, those of classes; `first` is the number of its first row."""
        with prepare.placing_errors(name, self._origin, first):
            how, merged = self._preparation.how(name), self._preparation.merged
            values, unseen = encode_target(column, self._network.schema.classes, how, merged)
        if unseen:
            self._note_unseen({name: unseen}, "such rows have no known class")
        return values

    def _note_unseen(self, unseen: Any, so: str = "") -> None:
        for column, values in unseen.items():
            if column not in self._used and not so:
                continue
            new = [value for value in values if value not in self._noted.setdefault(column, set())]
            self._noted[column].update(new)
            counted = "none of the known" if column in self._preparation.schema.category_columns else "missing"
            for value in new[:5]:
                infinite = isinstance(value, float) and math.isinf(value)
                why = "a number beyond what a float can hold" if infinite else "which was not there at fit"
                strange = f"column {column!r} holds {cells.shown(value)}, {why}"
                self._note(f"{strange}: {so or f'counted as {counted}'}.")
            if len(new) > 5:
                self._note(f"column {column!r} holds {len(new) - 5} more values that were not there at fit.")


# -- Training rows and test rows of what changes a model.


@dataclass(frozen=True, eq=False)
class TrainingSplit:
    """The rows that a command trains on, the test rows where there are any, and what a saved model keeps of both."""

    train: CompleteRows
    test: CompleteRows | None
    held_out: HeldOut | None

    @classmethod
    def of(cls, file: ModelFile, rows: CompleteRows, which: str | None = None) -> TrainingSplit:
        """Divide the rows of a file, and say so where test rows are lost."""
        name, count, lost = rows.name, len(rows.X), "the saved model has no test rows"
        if rows.test is None:
            if which == "train":
                raise InputError(
                    f"--rows train: {name} is not known as the file that the model was fitted to, so all of its rows "
                    "are new. Name that file, or leave --rows out."
                )
            if file.held_out is not None:
                rows.note(
                    f"{name} is not the file that the model was fitted to: all {count} rows are training rows now, and "
                    f"{lost}."
                )
            return cls(rows, None, rows.all_training)
        test = rows.test
        if which == "all" and test.any():
            rows.note(f"--rows all: the {np.count_nonzero(test)} test rows are training rows now, and {lost}.")
            return cls(rows, None, rows.all_training)
        if test.all():
            only_tests = f"{name} has test rows alone, and nothing to learn from"
            raise InputError(f"{only_tests}. Use --rows all to learn from them.")
        return cls(rows.at(~test), rows.at(test) if test.any() else None, file.held_out)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows there are of each, for machines."""
        return {"training_rows": len(self.train.X), "test_rows": 0 if self.test is None else len(self.test.X)}

    @property
    def training_text(self) -> str:
        """The training rows, in words."""
        return f"the {count_of(len(self.train.X), 'training row')} of {clean(self.train.name)}"

    @property
    def test_text(self) -> str:
        """The test rows, in words."""
        return f"the {count_of(self.counts['test_rows'], 'test row')}"

    def test_errors(self, before: Network, after: Network) -> dict[str, float]:
        """Return the mean squared error of two networks on the test rows, or the log loss of classes; nothing where
        these rows, or their target, are not there."""
        from bgn.explain.evaluate import evaluate_predictions

        if self.test is None or self.test.y is None:
            return {}
        errors, classes = {}, before.schema.classes
        for name, network in {"test_before": before, "test_after": after}.items():
            predicted = network.predict_encoded(self.test.X, scores=classes is not None)
            scores = evaluate_predictions(self.test.y, predicted, classes).scores
            errors[name] = scores["mse" if classes is None else "log_loss"]
        return errors

    def test_report(self, before: Network, after: Network) -> list[str]:
        """Say in a sentence how two networks do on the test rows, where there are any."""
        measure = "mean squared error" if before.schema.classes is None else "log loss"
        if not (errors := self.test_errors(before, after)):
            return []
        first, second = (people(error, 6) for error in errors.values())
        return [f"On {self.test_text}: {measure} {first} before, {second} after."]
