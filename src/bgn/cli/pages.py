"""``bgn report`` and ``bgn serve``: a saved model as one web page, alone or with Python behind it."""

from __future__ import annotations

import webbrowser
from dataclasses import dataclass, replace
from typing import Any

import click

import bgn
from bgn.cli.options import grouped, json_option, model_and_data, reads_data, rows_option
from bgn.cli.terminal import note, show, show_json
from bgn.explain.arguments import decode_rows
from bgn.inputs.errors import InputError
from bgn.inputs.splits import HeldOut
from bgn.model_rows import DataFile
from bgn.persist import ModelFile
from bgn.text import clean
from bgn.whole_file import check_place

_page_options = grouped(
    click.option("--title", help="Heading of the page."),
    click.option(
        "--labels", type=click.Path(), metavar="FILE",
        help="TOML or JSON file of what the page calls things: title, description, target and columns with label, "
        "unit, description and categories.",
    ),
    click.option("--key", metavar="COL", help="Column by which readers find rows, beside their number in the file."),
    rows_option,
    click.option(
        "--no-rows", is_flag=True,
        help="Leave every row of DATA out of what is written or served: values, keys, names and largest errors.",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class PageRows:
    """The rows of a file as a report takes them: training rows, test rows and their names.

    `arguments` are those of :func:`bgn.write_report` after the model. `held_out` is what the file of a model
    keeps of its test rows when it is edited on the rows ``X`` among them.
    """

    arguments: dict[str, Any]
    held_out: HeldOut | None = None

    @classmethod
    def of(cls, file: ModelFile, data: DataFile, which: str | None, key: str | None) -> PageRows:
        """Read a file, and say of which rows the model knows already."""
        why = "the report compares with"
        from bgn.report.controls import SEPARATOR  # a command starts without what it does not need

        rows = data.complete_rows(file, with_target=True, labelled_by=key)
        y = rows.target(why)
        chosen = rows.for_evaluation(which)
        names = {number: str(number) for number in rows.numbers.tolist()}
        for number, label in zip(rows.numbers.tolist(), rows.labels.tolist(), strict=False):
            whole = isinstance(label, float) and label.is_integer()
            written = "" if label is None else str(int(label)) if whole else clean(str(label), 60)
            names[number] += f"{SEPARATOR}{written}"
        of_chosen = [names[number] for number in chosen.numbers.tolist()]
        evaluation = {"X": decode_rows(file.network, chosen.X), "y": chosen.target(why), "names": of_chosen}
        if rows.test is not None and chosen.test is not None and chosen.test.all() and not rows.test.all():
            train = ~rows.test
            arguments = {f"{name}_test": value for name, value in evaluation.items()}
            arguments |= {"X": decode_rows(file.network, rows.X[train]), "y": y[train]}
            arguments["names"] = [names[number] for number in rows.numbers[train].tolist()]
            return cls(arguments, file.held_out)
        if chosen.test is None:
            return cls(evaluation, rows.all_training)
        evaluation["n_training"] = int(chosen.train.sum())
        return cls(evaluation, rows.all_training if chosen.test.any() else file.held_out)


@model_and_data
@click.option("-o", "--out", default="report.html", show_default=True, help="Where to write.")
@_page_options
@click.option(
    "--start-rows", type=click.IntRange(0), metavar="N",
    help="Most rows of DATA in the page, those with the largest errors first [default: as many as fit].",
)  # fmt: skip
@json_option
@reads_data
def report(
    file: ModelFile, data: DataFile, out: str, title: str | None, labels: str | None, key: str | None,
    which: str | None, no_rows: bool, start_rows: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Write a one-file web page about a saved MODEL, evaluated on the rows of DATA.

    Of the file that the model was fitted to, the test rows evaluate it, unless --rows says otherwise; where
    training rows evaluate it, the page says so. The page contains rows of DATA, with the columns that the model
    uses, and says how many: leave them out with --no-rows before the page goes to strangers.

    \b
    bgn report model.json houses.csv -o report.html
    bgn report model.json patients.csv --no-rows
    bgn report churn.json customers.csv --labels labels.toml --key customerID
    """
    arguments = PageRows.of(file, data, which, key).arguments
    if no_rows and start_rows:
        contrary = f"--no-rows leaves all rows out, and --start-rows {start_rows} asks for some"
        raise click.UsageError(f"{contrary}; choose one.")
    rows = False if no_rows else start_rows
    more: dict[str, Any] = {"title": title, "labels": labels, "rows": rows}
    bgn.write_report(file.model(), path=out, units=file.units, edits=file.edits, **arguments, **more)
    if rows is None or rows:
        note(f"{clean(out)} contains rows of {data.name}; --no-rows leaves them out.")
    if as_json:
        show_json({"report": out, "rows": len(arguments["y"]), "test_rows": len(arguments.get("y_test", ()))})
    else:
        show(f"report written to {clean(out)}: open it in a browser")


@model_and_data
@_page_options
@click.option("--save", metavar="FILE", help="The file that edited models are written to; without it, downloads alone.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen at [default: any free one].")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen at; others can reach it unless local."
)
@click.option("--no-browser", is_flag=True, help="Print the address, and do not open it.")
@json_option
@reads_data
def serve(
    file: ModelFile, data: DataFile, title: str | None, labels: str | None, key: str | None, which: str | None,
    no_rows: bool, save: str | None, port: int, host: str, no_browser: bool, as_json: bool,
) -> None:  # fmt: skip
    """Open the report of a saved MODEL in the browser, with Python to answer what its readers ask.

    The page is that of bgn report; here Python on this machine finds any row of DATA (not with --no-rows), explains
    predictions, proves the cheapest change of several values, and tries edits on all training rows. Only this
    machine can reach it, and only with the address that is printed. Nothing is written but the file of --save. Ctrl-C
    ends it.

    \b
    bgn serve model.json houses.csv
    bgn serve churn.json customers.csv --key customerID --labels labels.toml --save edited.json
    """
    from bgn.report.facts import Facts  # a command starts without what it does not need
    from bgn.serve import ModelApp, ModelServer

    if save is not None:
        check_place(save)
    rows = PageRows.of(file, data, which, key)
    given = rows.arguments
    if file.held_out is not None and rows.held_out != file.held_out:
        note(f"edits are tried on all {len(given['y'])} rows: they are training rows of an edited model from then on.")
    tests = (given.get("X_test"), given.get("y_test"))
    facts = Facts.of(file.model(), given["X"], given["y"], *tests, labels, file.units)
    names = (given.get("names"), given.get("names_test"))
    facts = replace(facts, names=names, n_training=given.get("n_training"), edits=file.edits)
    try:
        app = ModelApp(replace(file, held_out=rows.held_out), facts, title, save, not no_rows)
        server = ModelServer(app, host, port)
    except OSError as error:
        raise InputError(f"cannot listen at {host}, port {port}: {error.strerror}. Name another with --port.") from None
    with server:
        if not server.local:
            sees = f"can ask the model{'' if no_rows else f', and sees rows of {data.name}'}"
            note(f"{host} can be reached from other machines: whoever has the address {sees}.")
        _ = server.app.page  # so that what is wrong is printed now
        if as_json:
            show_json({"url": server.url})
        else:
            show(f"{server.url}\nCtrl-C ends it.")
        if not no_browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            if not as_json:
                show("ended")
