"""``bgn fit``: a dataset in, a model and its card out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import click

import bgn
from bgn.cli.options import DatasetName, file_options, grouped, missing_values_option, open_data
from bgn.cli.terminal import note, show_json
from bgn.inputs.delimited import available_memory
from bgn.inputs.errors import InputError
from bgn.inputs.file_format import FileFormat
from bgn.inputs.files import OpenedData
from bgn.inputs.prepare import Choices
from bgn.inputs.training import TASKS, to_labels
from bgn.model.categories import RARE
from bgn.model_rows import DataFile
from bgn.preparation import MISSING
from bgn.require import require
from bgn.text import clean, quote_category, quote_name, visible
from bgn.whole_file import check_place, goes_through

if TYPE_CHECKING:
    from bgn.summary import FitSummary
    from bgn.training_rows import Clustered, Streamed, TrainingRequest, TrainingRows

SIZE = 10
"""Terms of a first model: as many as a person reads."""
_MANY_RARE = 20  # rare categories in a column, from which on they may tell who the rows are
INTERRUPTED = 130  # what a shell says of a program that Ctrl-C ended
_LEGENDS = {
    "mse": "R2: share of the variance explained. MSE: mean squared error, RMSE its root. MAE: mean absolute error",
    "log_loss": "log loss: how wrong the probabilities are, 0 at best. AUC: how well they order the rows, 1 at best",
}  # fmt: skip


class FiniteRange(click.FloatRange):
    """A number in a range, and a number at all: NaN is in every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class AutoOr(click.ParamType):
    """``auto``, or a number of one kind."""

    def __init__(self, kind: type[int] | type[float], name: str) -> None:
        self.kind, self.name = kind, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "auto":
            return value
        try:
            return self.kind(value)
        except ValueError:
            return self.fail(f"must be a {self.name} or 'auto'; got {value!r}.", param, ctx)


def _units(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.rpartition("=") for text in value]
    if wrong := [text for text, (name, _, unit) in zip(value, pairs, strict=True) if not name or not unit]:
        raise click.BadParameter(f"must read COL=UNIT; got {wrong[0]!r}.")
    return {name: unit for name, _, unit in pairs}


_behavior_options = grouped(
    click.option(
        "--increasing", multiple=True, metavar="COL",
        help="Predictions must never fall as this column rises; of two classes, the score of the second. Again for "
        "more.",
    ),
    click.option(
        "--decreasing", multiple=True, metavar="COL", help="Predictions must never rise as this column rises."
    ),
    click.option(
        "--together", multiple=True, metavar="COL,COL",
        help="Columns that one rule may read together; again for more sets. Columns that no set names are one more.",
    ),
    click.option("--no-interactions", is_flag=True, help="One column per rule."),
    click.option("--at-least", type=float, help="No prediction may lie below this."),
    click.option("--at-most", type=float, help="No prediction may lie above this."),
)  # fmt: skip
_column_options = grouped(
    click.option("-t", "--target", metavar="COL", help="Column to predict; built-in tables know theirs."),
    click.option(
        "--task", type=click.Choice(TASKS),
        help="What the target is for [default: classes for words, true and false, and two different whole numbers].",
    ),
    click.option(
        "--merge-rare", type=click.IntRange(1), metavar="N",
        help="Merge all classes of fewer than N rows into one class, 'other'.",
    ),
    click.option("--drop", multiple=True, metavar="COL", help="Leave this column out; again for more."),
    click.option("--categorical", multiple=True, metavar="COL", help="Read the numbers of this column as names."),
    click.option(
        "--date-format", metavar="FORMAT", help="How dates are written, such as %d/%m/%Y [default: ISO 8601]."
    ),
    click.option(
        "--missing", type=click.Choice(MISSING), default="keep", show_default=True,
        help="What to do with rows that lack a value; \"keep\" learns from missing values.",
    ),
    click.option(
        "--unit", "units", multiple=True, metavar="COL=UNIT", callback=_units, help="Unit to print; again for more."
    ),
    click.option(
        "--test", type=FiniteRange(0, 0.9), default=0.2, show_default=True,
        help="Share of the rows to keep as test rows.",
    ),
    click.option(
        "--key", metavar="COL",
        help="Choose test rows by this column, equal ones together, and not by their number; it is no input.",
    ),
    click.option("--learn-key", is_flag=True, help="Learn from the column of --key, too."),
)  # fmt: skip
# Their names are those of the parameters of BGNRegressor; what is not given is left to the estimator.
_growth_options = grouped(
    click.option(
        "--size", type=click.IntRange(1),
        help=f"Most terms to keep: small models are easier to read [default: {SIZE}]; with --paper and "
        "--accurate, no limit.",
    ),
    click.option(
        "--max-terms", type=click.IntRange(1),
        help="Most terms of a layer to grow [default: --size]. More tell what a larger model would buy, and --size "
        "then keeps the first of them.",
    ),
    click.option("--max-features", type=click.IntRange(1), help="Most columns that a condition may read."),
    click.option("--layers", "max_layers", type=click.IntRange(1), help="Most hidden layers."),
    click.option(
        "--direction", type=click.Choice(["search", "debiased", "lasso"]),
        help="How the columns of a condition are found.",
    ),
    click.option("--output", type=click.Choice(["full", "stagewise"]), help="How output weights are set."),
    click.option("--shrinkage", type=AutoOr(float, "number"), help="Ridge penalty of full outputs: a number or auto."),
    click.option("--learning-rate", type=float, help="Step of stagewise outputs."),
    click.option("--max-linear", type=AutoOr(int, "whole number"), help="Most linear terms: a number or auto."),
    click.option(
        "--replacements", "max_replacements", type=click.IntRange(0),
        help="Most attempts to replace a rule after each addition.",
    ),
    click.option(
        "--sweeps", type=click.IntRange(0),
        help="How often growth goes back down and up again for better small models [default: more for fewer terms].",
    ),
    click.option(
        "--patience", type=click.IntRange(1), help="Stop after so many terms without a better validation error."
    ),
    click.option(
        "--select", type=click.Choice(["best", "compact"]), help="Size to keep: the best, or the smallest near it."
    ),
    click.option(
        "--validation", "validation_fraction", type=FiniteRange(0, 0.9),
        help="Share of the training rows to validate on.",
    ),
    click.option(
        "--folds", "cv", type=click.IntRange(0),
        help="Cross-validate in so many folds instead of using a validation set; 0 for never [default: 5 up to 6,000 "
        "rows].",
    ),
    click.option(
        "--ensemble", type=click.IntRange(1),
        help="Grow so many networks, each without another share of the rows, and take their mean; --size is of each.",
    ),
    click.option("--max-seconds", type=FiniteRange(0, min_open=True), help="Stop growing after so long."),
    click.option(
        "--class-weight", type=click.Choice(["balanced"]),
        help="Give all classes the same weight in total; probabilities are then those of such a table.",
    ),
)  # fmt: skip
_machine_options = grouped(
    click.option("--threads", "n_jobs", type=click.IntRange(1), help="Threads to use [default: all cores]."),
    click.option(
        "--stream/--no-stream", default=None,
        help="Whether the rows of a Parquet file stay on disk [default: those of a file too large for the memory].",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Fit on the Dask cluster at tcp://...; Parquet alone."),
    click.option(
        "--seed", "random_state", type=click.IntRange(0), default=0, show_default=True,
        help="Seed of every random choice.",
    ),
    click.option(
        "--accurate", is_flag=True,
        help="The mean of eight wide networks, for accuracy whatever the size; other options still override.",
    ),
    click.option("--paper", is_flag=True, help="The paper's algorithm, as its text has it; other options override."),
)  # fmt: skip
_result_options = grouped(
    click.option("-o", "--out", metavar="FILE", help="Save the model as JSON."),
    click.option("--report", metavar="FILE", help="Write a one-file web page about the model."),
    click.option(
        "--no-rows",
        is_flag=True,
        help="Leave every row of DATA out of the page of --report, and notes, which may quote cells, out of --json.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the card as JSON."),
    click.option("-q", "--quiet", is_flag=True, help="No progress and no notes."),
)


@click.command()
@click.argument("data", type=DatasetName(), required=False)
@_column_options
@_growth_options
@_behavior_options
@_machine_options
@_result_options
@file_options
@missing_values_option
def fit(data: str | None, **options: Any) -> None:
    """Fit a model to DATA and show its card.

    DATA is a CSV, TSV, Parquet or Excel file, - for CSV on standard input, or a built-in dataset (see bgn data list;
    housing:averaged picks other columns). Categories, dates and missing values need no preparation: [season = winter],
    [sold month >= 7], [age is missing]. Only --paper and directions other than search take numbers alone: each word is
    then a column of 0 and 1.

    \b
    bgn fit houses.csv --target price --out model.json
    bgn fit houses.xlsx -t price --size 20 --unit income=k$
    bgn fit rents.csv -t rent --date-format %d/%m/%Y --drop id --report rents.html
    bgn fit customers.csv -t churn --size 5 --decreasing tenure
    bgn fit bike_sharing --size 6
    bgn fit bike --paper --json
    bgn fit huge.parquet -t price --scheduler tcp://10.0.0.1:8786
    """
    if data is None:
        raise click.UsageError(
            "DATA is needed: a file, as in 'bgn fit houses.csv --target price', or a built-in dataset, as in 'bgn fit "
            "bike_sharing' (bgn data list). For a first look, 'bgn tutorial' walks through a table that is there."
        )
    form = FileFormat(**{field.name: options[field.name] for field in fields(FileFormat)})
    source = open_data(DataFile(data, form, note))
    options["target"] = options["target"] or source.target
    if options["target"] is None:
        raise click.UsageError(f"--target is needed: which of {', '.join(map(repr, source.table.names))} to predict?")
    _check_places(data, options)
    if options["report"]:
        require("jinja2", extra="report")
    choices = Choices(**{field.name: options[field.name] for field in fields(Choices)})
    if (key := options["key"]) in source.table.names and key != choices.target and not options["learn_key"]:
        choices = replace(choices, drop=(*choices.drop, key))
    one_hot = (options["direction"] or ("lasso" if options["paper"] else "search")) != "search"
    if one_hot and choices.missing == "keep":
        choices = replace(choices, missing="refuse")
    from bgn.training_rows import TrainingRequest, fit_rows  # a command starts without numba

    request = TrainingRequest(source, choices, options["test"], options["random_state"], options["units"], key, one_hot)
    rows = _open_rows(request, options)
    for text in () if options["quiet"] else rows.notes:
        note(text)
    started = time.perf_counter()
    size = options["size"] or (None if options["paper"] or options["accurate"] else SIZE)
    model = _make_estimator(rows.classes is not None, options)
    if options["max_terms"] is None and size is not None:
        # What suits a large model need not suit the part of it that is shown: linear terms, the ridge penalty.
        model.max_terms = size
    model.set_params(verbose=int(sys.stderr.isatty() and not options["quiet"]))
    model, kept = fit_rows(model, rows, options["target"], size)
    _write(model, source, kept, time.perf_counter() - started, options)


def _check_places(data: str, options: dict[str, Any]) -> None:
    """Refuse what cannot be written before an hour's work, not after, and to write over the data or another file."""
    seen: dict[str, str] = {}
    for name, path in {"the data": data, "--out": options["out"], "--report": options["report"]}.items():
        try:
            if path is not None and name != "the data":
                check_place(path)
        except OSError as error:
            raise InputError(f"{name}: {error}") from None
        if path is not None and path != "-" and not goes_through(path):
            other = seen.setdefault(os.path.realpath(path), name)
            if other != name:
                raise InputError(f"{other} and {name} are the same file, {path!r}; name another.")


def _open_rows(request: TrainingRequest, options: dict[str, Any]) -> TrainingRows | Streamed | Clustered:
    """Read the training rows, or leave them where they are."""
    from bgn.training_rows import Clustered, Streamed, too_large, training_rows

    if options["scheduler"]:
        if options["stream"]:
            contrary = "--stream keeps rows on this disk and --scheduler sends them to a cluster; choose one."
            raise click.UsageError(contrary)
        return Clustered(request, options["scheduler"])
    why = too_large(request.source, available_memory()) if options["stream"] is None else None
    if why and not options["quiet"]:
        note(why)
    return Streamed(request) if options["stream"] or why else training_rows(request)


def _make_estimator(classes: bool, options: dict[str, Any]) -> Any:
    """Make the estimator that the options describe."""
    from bgn.estimators import BGNClassifier, BGNRegressor
    from bgn.grow.search import GrowthSettings

    if classes and options["paper"]:
        raise InputError("--paper is an algorithm for numbers, and the target has classes; leave it out.")
    if not classes and options["class_weight"]:
        contrary = "--class-weight is for classes, and the target holds numbers"
        raise InputError(f"{contrary}; add --task classification if they stand for classes.")
    make: Callable[..., Any] = BGNClassifier if classes else BGNRegressor
    known = make().get_params()
    if options["accurate"]:
        if options["paper"]:
            raise InputError("--accurate and --paper are two ways to grow; choose one.")
        make = make.accurate  # type: ignore[attr-defined]
    make = BGNRegressor.as_in_paper if options["paper"] else make
    chosen = {name: options[name] for name in known if options.get(name) is not None}
    rising, falling = options["increasing"], options["decreasing"]
    if both := set(rising) & set(falling):
        raise click.UsageError(f"--increasing and --decreasing both name {min(both)!r}; choose one.")
    if options["together"] and options["no_interactions"]:
        raise click.UsageError("--together and --no-interactions say different things; choose one.")
    if rising or falling:
        chosen["monotonic_cst"] = dict.fromkeys(rising, 1) | dict.fromkeys(falling, -1)
    if options["together"] or options["no_interactions"]:
        groups = [{name.strip() for name in names.split(",")} for names in options["together"]]
        chosen["interaction_cst"] = groups or "no_interactions"
    if (ends := (options["at_least"], options["at_most"])) != (None, None):
        chosen["bounds"] = ends
    chosen |= {} if classes else {"task": "regression"}
    if options["cv"] == 0 or (options["cv"] is None and options["validation_fraction"] is not None):
        chosen["cv"] = None
    model = make(**chosen)
    growth = model.growth or GrowthSettings()
    given = {name: options[name] for name in vars(growth) if options.get(name) is not None}
    return model.set_params(growth=replace(growth, **given)) if given else model


def _write(model: Any, source: OpenedData, rows: TrainingRows, seconds: float, options: dict[str, Any]) -> None:
    """Write what is wanted, show the card."""
    from bgn.explain.rivals import compare_with_rivals
    from bgn.summary import summarize

    network, preparation = model.network_, rows.preparation
    written_units = {written.column: written.unit for written in preparation.written if written.unit}
    units = {**(source.units or {}), **written_units, **options["units"]}
    encoded = (network.schema.encode(X, missing=True) for X in (rows.X, rows.evaluation[0]))
    train, test = zip(encoded, (rows.y, rows.evaluation[1]), strict=True)
    rivals = compare_with_rivals(network, train, test)
    y, y_test = (to_labels(codes, rows.classes) for codes in (rows.y, rows.y_test))
    page: dict[str, Any] = {"X_test": rows.X_test, "y_test": y_test} if len(y_test) else {"n_training": len(y)}
    if rows.numbers is not None:
        page["names_test" if len(y_test) else "names"] = rows.numbers[1 if len(y_test) else 0]
    kept: dict[str, Any] = {"preparation": preparation, "figures": rivals.figures, "held_out": rows.held_out}
    in_page = False if options["no_rows"] else None
    writers: dict[str, Callable[[str], Any]] = {
        "out": lambda path: bgn.save(model, path, units=units, **kept),
        "report": lambda path: bgn.write_report(model, rows.X, y, path, units=units, **page, rows=in_page),
    }
    files, problems = {}, []
    for option, write in writers.items():
        if options[option]:
            try:
                write(options[option])
                files["model" if option == "out" else option] = options[option]
            except OSError as error:  # the card says what was grown all the same
                problems.append(f"--{option} {options[option]}: {error.strerror or error}; it was not written.")
    for column in () if options["quiet"] else (network.schema.columns[j] for j in network.features_used):
        if column.categories is not None and len(column.rare) > _MANY_RARE:
            note(
                f"the model reads {column.name!r}, and fewer than {RARE} training rows have "
                f"{len(column.rare)} of its {len(column.categories)} categories: whoever has the model can read these. "
                f"--drop {column.name!r} leaves the column out."
            )
    summary = summarize(model, source.name, rows, rivals, units, seconds, files)
    if options["as_json"]:
        show_json((replace(summary, notes=()) if options["no_rows"] else summary).as_dict())
    else:
        show_card(summary)
    if problems:
        raise InputError(" ".join(problems))
    if model.history_.stopped == "interrupted":
        raise SystemExit(INTERRUPTED)


def show_card(summary: FitSummary) -> None:
    """Print what a fit came to."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from bgn.explain.rivals import LEGEND, NAMES, SHOWN, written_score

    console = Console(highlight=False)

    def line(text: str = "", style: str = "") -> None:
        console.print(Text(visible(text), style), soft_wrap=True)

    line(f"{quote_name(summary.target)} from {clean(summary.data)}", "bold")
    line(f"\n{summary.equation}\n")
    count, scores = summary.rows_evaluated, SHOWN[summary.loss]
    some = f"{count} of " if count < (summary.rows_test or summary.rows_train) else ""
    train = "training and validation" if summary.has_validation_set else "training"
    sheet = Table(box=None, pad_edge=False)
    sheet.add_column()
    for title in (*scores.values(), "size"):
        sheet.add_column(title, justify="right")
    for model, figures in summary.figures.items():
        written = (written_score(name, figures[name]) for name in scores)
        sheet.add_row(Text(NAMES[model]), *written, f"{summary.conditions[model]:,}")
    line(f"on {some}{summary.rows_test} test rows:" if summary.rows_test else f"on {some}the {train} rows:")
    console.print(sheet)
    unit = "" if summary.unit is None or summary.loss != "mse" else f"; RMSE and MAE in {clean(summary.unit)}"
    line(f"({_LEGENDS[summary.loss]}{unit})")
    line("(size: the conditions that a reader reads; one on a sum counts once per column, a linear term as one)")
    if summary.classes_without_rows:
        rows = "test rows" if summary.rows_test else "rows"
        line(f"(No AUC: there are no {rows} of {', '.join(map(quote_category, summary.classes_without_rows))}.)")
    line()
    for text in (*summary.verdicts, f"({LEGEND})"):
        line(text)
    if not summary.rows_test:
        line(f"(These are {train} rows: on new rows every model is likely to do worse.)")
    line()
    if sizes := summary.other_sizes():
        line("\n".join(sizes) + "\n")
    for text in summary.facts():
        line(text)
    for text in summary.warnings():
        line(f"warning: {text}", "yellow")
