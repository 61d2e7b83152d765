"""Which rows of a data file a command learns from, which rows test it, and what the saved model keeps of that.

A command that changes a model by rows of a file takes its training rows alone, so that whatever is measured on the test
rows later stays a test. Where a model does not know the file, all of its rows are training rows from then on: the
saved model no longer calls any row a test row.
"""

from __future__ import annotations

from dataclasses import dataclass

import click
import numpy as np

from bgn.cli.source import CompleteRows
from bgn.cli.terminal import note
from bgn.explain.evaluate import evaluate_predictions
from bgn.inputs.errors import InputError
from bgn.model.network import Network
from bgn.persist import HeldOut, ModelFile
from bgn.text import clean, count_of, people

learning_option = click.option(
    "--rows", "which", type=click.Choice(["train", "all"]),
    help="Rows to learn from. Of the file that was fitted to, the training rows by default; with all, the saved model "
    "has no test rows any more.",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class LearningRows:
    """The rows that a command learns from, the test rows where there are any, and what a saved model keeps of both."""

    train: CompleteRows
    test: CompleteRows | None
    held_out: HeldOut | None

    @classmethod
    def of(cls, file: ModelFile, rows: CompleteRows, which: str | None = None) -> LearningRows:
        """Divide the rows of a file, and say so where test rows are lost."""
        name, count, lost = rows.name, len(rows.X), "the saved model has no test rows"
        if rows.held is None:
            if which == "train":
                raise InputError(
                    f"--rows train: {name} is not known as the file that the model was fitted to, so all of its rows "
                    "are new. Name that file, or leave --rows out."
                )
            if file.held_out is not None:
                note(
                    f"{name} is not the file that the model was fitted to: all {count} rows are training rows now, and "
                    f"{lost}."
                )
            return cls(rows, None, rows.all_training)
        held = rows.held
        if which == "all" and held.any():
            note(f"--rows all: the {np.count_nonzero(held)} test rows are training rows now, and {lost}.")
            return cls(rows, None, rows.all_training)
        if held.all():
            raise InputError(f"{name} has test rows alone, and nothing to learn from. Use --rows all to learn from them.")
        return cls(rows.at(~held), rows.at(held) if held.any() else None, file.held_out)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows there are of each, for machines."""
        return {"training_rows": len(self.train.X), "test_rows": 0 if self.test is None else len(self.test.X)}

    @property
    def training_rows(self) -> str:
        """The rows that are learned from, in words."""
        return f"the {count_of(len(self.train.X), 'training row')} of {clean(self.train.name)}"

    @property
    def test_rows(self) -> str:
        """The rows that test, in words."""
        assert self.test is not None
        return f"the {count_of(len(self.test.X), 'test row')}"

    def test_errors(self, before: Network, after: Network) -> dict[str, float]:
        """Return the errors of two networks on the test rows; nothing where these, or their target, are not there."""
        if self.test is None or self.test.y is None:
            return {}
        return {"test_before": error_on(self.test, before), "test_after": error_on(self.test, after)}

    def tested(self, before: Network, after: Network) -> list[str]:
        """Say in a sentence what the test rows tell of two networks, where there are any."""
        measure = "mean squared error" if before.schema.classes is None else "log loss"
        found = self.test_errors(before, after)
        if not found:
            return []
        errors = tuple(people(found[name], 6) for name in ("test_before", "test_after"))
        return [f"On {self.test_rows}: {measure} {errors[0]} before, {errors[1]} after."]


def error_on(rows: CompleteRows, network: Network) -> float:
    """Return the mean squared error of a network on rows, or the log loss of classes."""
    assert rows.y is not None
    classes = network.schema.classes
    evaluation = evaluate_predictions(rows.y, network.predict_encoded(rows.X, scores=classes is not None), classes)
    return evaluation.scores["mse" if classes is None else "log_loss"]
