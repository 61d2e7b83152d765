"""``bgn tutorial``: from a table to a report and a program, command by command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import join
from typing import NamedTuple

import click
import numpy as np

from bgn.cli.terminal import show, show_json
from bgn.whole_file import whole_file


class Lesson(NamedTuple):
    """A command and why one would type it."""

    why: str
    command: tuple[str, ...]


def _lessons(folder: Path) -> Iterator[Lesson]:
    """Yield the lessons, in order; the files that they read and write are in a folder."""
    table, model = str(folder / "patients.csv"), str(folder / "model.json")
    yield Lesson(
        "Look at the table first: what its columns are, and what may be wrong with them.",
        ("check", table, "--target", "diagnosis"),
    )
    yield Lesson(
        "Learn to tell the diagnosis by at most eight yes/no questions, each about one column. A fifth of the rows is\n"
        "set aside, and the card below is measured on it. The first fit on a machine compiles, which takes a while.",
        ("fit", table, "--target", "diagnosis", "--size", "8", "--max-features", "1", "--max-linear", "0", "-o", model),
    )
    yield Lesson(
        "Would five questions do? The file has every size. Choose by the cross-validated errors, not by test rows, or\n"
        "these are no test any more. 'bgn show' with --size 5 prints the smaller model.",
        ("path", model),
    )
    yield Lesson(
        "How good are five? The test rows, a fifth of the file, tell: no command has learned from them.",
        ("evaluate", model, table, "--size", "5"),
    )
    yield Lesson("Why did the first patient get this prediction?", ("explain", model, table, "--row", "1"))
    yield Lesson(
        "What is the least that would have to be different for another one? The answer is proven.",
        ("counterfactual", model, table, "--row", "1", "--to", "benign"),
    )
    yield Lesson("What does one column do, on average?", ("effect", model, table, "worst area"))
    yield Lesson(
        "A card to add up by hand: whole points, and what their total means. The points are learned from the training\n"
        "rows; the test rows measure the card.",
        ("simplify", model, table, "--points", "5"),
    )
    yield Lesson("A page to hand on: one file, no server.", ("report", model, table, "-o", str(folder / "report.html")))
    yield Lesson(
        "The same predictions where the rows are.",
        ("export", model, "--to", "sql", "--table", "patients", "-o", str(folder / "model.sql")),
    )


@click.command()
@click.argument("folder", type=click.Path(file_okay=False), default="bgn-tutorial")
@click.option("--no-pause", is_flag=True, help="Do not wait for a key; nor does it where nobody types.")
@click.option("--json", "as_json", is_flag=True, help="Only the commands and why one would type them, for machines.")
@click.pass_context
def tutorial(ctx: click.Context, folder: str, no_pause: bool, as_json: bool) -> None:
    """Walk through a table that comes with scikit-learn, from a first look to a report: ten commands, run for you.

    569 breast tumours, ten measurements of each (the largest values that were seen), and whether they were malignant.
    The files are written to FOLDER, bgn-tutorial unless told.

    \b
    bgn tutorial
    bgn tutorial /tmp/walk --no-pause
    """
    place = Path(folder)
    lessons = list(_lessons(place))
    if as_json:
        show_json([{"why": each.why.replace("\n", " "), "command": join(("bgn", *each.command))} for each in lessons])
        return
    place.mkdir(parents=True, exist_ok=True)
    _write_table(place / "patients.csv")
    show(f"569 breast tumours, ten measurements of each, are now in {place / 'patients.csv'}.")
    for number, lesson in enumerate(lessons, 1):
        show(f"\n{number}. {lesson.why}\n\n$ {join(('bgn', *lesson.command))}\n")
        if sys.stdin.isatty() and not no_pause:
            click.pause("(press a key to run it)")
        ctx.find_root().command.main(list(lesson.command), "bgn", standalone_mode=False)
    show(f"\nOpen {place / 'report.html'} in a browser. Then take a table of your own: bgn check yours.csv")


def _write_table(path: Path) -> None:
    """Write the ten largest measurements and the diagnosis as CSV."""
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    chosen = [j for j, name in enumerate(table.feature_names) if name.startswith("worst")]
    words = np.array(["malignant", "benign"])[table.target]
    lines = [",".join([*(str(table.feature_names[j]) for j in chosen), "diagnosis"])]
    lines += [",".join([*(f"{value:.6g}" for value in row[chosen]), word])
              for row, word in zip(table.data, words, strict=True)]  # fmt: skip
    with whole_file(path) as stream:
        stream.write("\n".join([*lines, ""]).encode())
