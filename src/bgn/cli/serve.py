"""``bgn serve``: the report with Python behind it, for a team on one machine."""

from __future__ import annotations

import webbrowser
from dataclasses import replace

import click

from bgn.cli.report import ReportedRows, page_options
from bgn.cli.source import DataFile, json_option, model_and_data, reads_data
from bgn.cli.terminal import note, show, show_json
from bgn.inputs.errors import InputError
from bgn.persist import ModelFile
from bgn.whole_file import check_place


@model_and_data
@page_options
@click.option("--save", metavar="FILE", help="The file that edited models are written to; without it, downloads alone.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen at; any free one unless told.")
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
    rows = ReportedRows.of(file, data, which, key)
    told, kept = rows.arguments, replace(file, held_out=rows.held_out)
    if file.held_out is not None and rows.held_out != file.held_out:
        note(f"edits are tried on all {len(told['y'])} rows: they are training rows of an edited model from then on.")
    tests = (told.get("X_test"), told.get("y_test"))
    facts = Facts.of(file.model(), told["X"], told["y"], *tests, labels, file.units)
    names = (told.get("names"), told.get("names_test"))
    facts = replace(facts, names=names, learnt=told.get("learnt"), edits=file.edits)
    try:
        server = ModelServer(ModelApp(kept, facts, title, save, not no_rows), host, port)
    except OSError as error:
        raise InputError(f"cannot listen at {host}, port {port}: {error.strerror}. Name another with --port.") from None
    with server:
        sees = f"can ask the model{'' if no_rows else f', and sees rows of {data.name}'}"
        if not server.local:
            note(f"{host} can be reached from other machines: whoever has the address {sees}.")
        _ = server.app.page  # so that what is wrong is told now
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
