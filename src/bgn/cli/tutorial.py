"""``bgn tutorial`` and ``bgn completion``: ten commands to begin with, and a shell that completes names."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import join
from typing import Any

import click
import numpy as np
from click.shell_completion import get_completion_class

from bgn.cli.options import json_option
from bgn.cli.terminal import show, show_json
from bgn.whole_file import whole_file


@click.command()
@click.argument("folder", type=click.Path(file_okay=False), default="bgn-tutorial")
@click.option("--no-pause", is_flag=True, help="Do not wait for a key; nor does it where nobody types.")
@click.option("--json", "as_json", is_flag=True, help="Print the commands and why one would type them as JSON.")
@click.pass_context
def tutorial(ctx: click.Context, folder: str, no_pause: bool, as_json: bool) -> None:
    """Walk through a table that comes with scikit-learn, from a first look to a report: ten commands, run for you.

    569 breast tumours, ten measurements of each (the largest values that were seen), and whether they were malignant.
    The files are written to FOLDER [default: bgn-tutorial].

    \b
    bgn tutorial
    bgn tutorial /tmp/walk --no-pause
    """
    place = Path(folder)
    lessons = _lessons(place)
    if as_json:
        show_json([{"why": why.replace("\n", " "), "command": join(("bgn", *command))} for why, command in lessons])
        return
    place.mkdir(parents=True, exist_ok=True)
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    chosen = [j for j, name in enumerate(table.feature_names) if name.startswith("worst")]
    diagnoses = np.array(["malignant", "benign"])[table.target]
    lines = [",".join([*(str(table.feature_names[j]) for j in chosen), "diagnosis"])]
    lines += [",".join([*(f"{value:.6g}" for value in row[chosen]), diagnosis])
              for row, diagnosis in zip(table.data, diagnoses, strict=True)]  # fmt: skip
    with whole_file(place / "patients.csv") as stream:
        stream.write("\n".join([*lines, ""]).encode())
    show(f"569 breast tumours, ten measurements of each, are now in {place / 'patients.csv'}.")
    for number, (why, command) in enumerate(lessons, 1):
        show(f"\n{number}. {why}\n\n$ {join(('bgn', *command))}\n")
        if sys.stdin.isatty() and not no_pause:
            click.pause("(press a key to run it)")
        ctx.find_root().command.main(list(command), "bgn", standalone_mode=False)
    show(f"\nOpen {place / 'report.html'} in a browser. Then take a table of your own: bgn check yours.csv")


def _lessons(folder: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return why one would type each command, and the command, in order; their files are in a folder."""
    table, model, page, program = (str(folder / name) for name in
                                   ("patients.csv", "model.json", "report.html", "model.sql"))  # fmt: skip
    small = ("--size", "8", "--max-features", "1", "--max-linear", "0")
    return [
        ("Look at the table first: what its columns are, and what may be wrong with them.",
         ("check", table, "--target", "diagnosis")),
        ("Learn to tell the diagnosis by at most eight rules, each about one column. A fifth of the rows\n"
         "are test rows, and the card below is measured on them. The first fit compiles, which takes a while.",
         ("fit", table, "--target", "diagnosis", *small, "-o", model)),
        ("Would five rules do? The file has every size. Choose by the cross-validated errors, not by test rows,\n"
         "or these are no test any more. 'bgn show' with --size 5 prints the smaller model.",
         ("path", model)),
        ("How good are five? The test rows, a fifth of the file, tell: no command has learned from them.",
         ("evaluate", model, table, "--size", "5")),
        ("Why did the first patient get this prediction?", ("explain", model, table, "--row", "1")),
        ("What is the least that would have to be different for another one? The answer is proven.",
         ("counterfactual", model, table, "--row", "1", "--to", "benign")),
        ("What does one column do, on average?", ("effect", model, table, "worst area")),
        ("A card to add up by hand: whole points, and what their total means. The points are learned from the\n"
         "training rows; the test rows measure the card.",
         ("simplify", model, table, "--points", "5")),
        ("A page to hand on: one file, no server.", ("report", model, table, "-o", page)),
        ("The same predictions where the rows are.",
         ("export", model, "--to", "sql", "--table", "patients", "-o", program)),
    ]  # fmt: skip


_HOW = {
    "bash": 'eval "$(bgn completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(bgn completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "bgn completion fish > ~/.config/fish/completions/bgn.fish",
}


@click.command(epilog="\b\n" + "\n".join(_HOW.values()))
@click.argument("shell", type=click.Choice(list(_HOW)))
@json_option
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print what makes a SHELL complete the commands and options of bgn, files and built-in tables."""
    maker: Any = get_completion_class(shell)
    script = maker(ctx.find_root().command, {}, "bgn", "_BGN_COMPLETE").source()
    if as_json:
        show_json({"shell": shell, "use": _HOW[shell].partition("   #")[0], "script": script})
    else:
        click.echo(script)
