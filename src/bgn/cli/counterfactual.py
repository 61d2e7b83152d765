"""``bgn counterfactual``: what would have to change in a row for another prediction."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

import bgn
from bgn.cli.source import DataFile, grouped, json_option, model_and_data, one_of, preparation_of, reads_data
from bgn.cli.terminal import show, show_json
from bgn.explain.arguments import class_labels, class_number, decode_rows, probabilities_of
from bgn.inputs.errors import InputError
from bgn.model.readings import is_flag, is_turned
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.persist import ModelFile
from bgn.text import people, quote_category, quote_name

if TYPE_CHECKING:
    from bgn.explain.counterfactual import Counterfactual


_change_options = grouped(
    click.option(
        "--cost", multiple=True, metavar="COL=PRICE", help="Price of one unit of a column; 1 per spread unless told."
    ),
    click.option("--fewest", is_flag=True, help="Change as few columns as possible, whatever they cost."),
    click.option(
        "--bounds", multiple=True, metavar="COL=LOW:HIGH", help="Limits; also COL=increase, COL=decrease, COL={a,b}."
    ),
    click.option("--immutable", multiple=True, metavar="COL", help="A column that must not change."),
    click.option("--integer", multiple=True, metavar="COL", help="A further column of whole numbers."),
    click.option("--constraint", "constraints", multiple=True, metavar="TEXT", help='Such as "bedrooms <= rooms".'),
    click.option("--max-changed", type=click.IntRange(1), help="Most columns that may change."),
    click.option("--fill-missing", is_flag=True, help="Let gaps of the row be filled; they stay otherwise."),
)


@model_and_data
@click.option("--row", type=click.IntRange(1), default=1, show_default=True, help="The row to change; the first is 1.")
@click.option("--at-least", type=float, help="Lowest prediction that will do; with classes, lowest probability.")
@click.option("--at-most", type=float, help="Highest prediction that will do, likewise.")
@click.option("--to", metavar="LABEL", help="With classes, the one to be predicted, or whose probability is meant.")
@_change_options
@click.option(
    "-n", "--answers", "n", type=click.IntRange(1), default=1, help="Several answers that change other columns."
)
@click.option("--max-seconds", type=float, default=10.0, show_default=True, help="When to stop with the best so far.")
@json_option
@reads_data
def counterfactual(
    file: ModelFile,
    data: DataFile,
    row: int,
    as_json: bool,
    cost: tuple[str, ...],
    fewest: bool,
    at_least: float | None,
    at_most: float | None,
    to: str | None,
    **options: Any,
) -> None:
    """Find the cheapest change of a row of DATA that brings a saved MODEL's prediction where it is wanted.

    The answer is exact, and proven cheapest unless it says otherwise; or it is proven that no change will do. Words
    stay words (one of those known at fit), true and false stay so, and dates do not change.

    \b
    bgn counterfactual model.json houses.csv --row 17 --at-least 300
    bgn counterfactual model.json houses.csv --at-least 300 --immutable age --bounds rooms=increase --integer rooms
    bgn counterfactual churn.json customers.csv --row 17 --to No
    bgn counterfactual churn.json customers.csv --row 17 --to Yes --at-most 0.1
    """
    if cost and fewest:
        raise click.UsageError("--cost and --fewest exclude each other.")
    wanted = _wanted(file, at_least, at_most, to)
    rows = data.complete_rows(file)
    x = rows.X[rows.chosen(row)][0]
    told = decode_rows(file.network, x[None])[0]
    limits = _limits(file, x, options["bounds"], options["immutable"], options["integer"])
    costs = "fewest" if fewest else {name: float(price) for name, price in map(_pair, cost)}
    with _solver_aside():
        found = bgn.counterfactual(file.network, told, costs=costs, **(options | limits | wanted))
    now, word = _now(file, told, wanted)
    if as_json:
        label = {} if word is None else {"label_now": word}
        show_json({"row": row, "prediction_now": now, **label, **found.as_dict()})
        return
    show(f"prediction now {_prediction(now, word, wanted)}")
    if found.found and not found.changes:
        show(f"row {row} is there already: nothing has to change")
        return
    for answer in (found, *found.alternatives):
        _show(answer, wanted)


def _wanted(file: ModelFile, at_least: float | None, at_most: float | None, to: str | None) -> dict[str, Any]:
    """Return what prediction is wanted, as :func:`bgn.counterfactual` takes it."""
    network = file.network
    if network.link == "identity":
        if to is not None:
            raise InputError("--to is for classes, and the model predicts numbers; use --at-least or --at-most.")
        if at_least is None and at_most is None:
            raise click.UsageError("--at-least or --at-most must be given.")
        return {"at_least": at_least, "at_most": at_most}
    if to is None and at_least is None and at_most is None:
        raise click.UsageError(f"--to must be given, {one_of(network)}, or a probability: --at-least, --at-most.")
    wanted: dict[str, Any] = {}
    if to is not None:
        wanted["to"] = class_labels(network)[class_number(network, to, "--to")]
    elif is_turned(network):
        wanted["to"] = class_labels(network)[0]
    if at_least is not None or at_most is not None:
        wanted["probability"] = (0.0 if at_least is None else at_least, 1.0 if at_most is None else at_most)
    return wanted


def _now(file: ModelFile, row: Any, wanted: dict[str, Any]) -> tuple[float, str | None]:
    """Return what is predicted of a row: a number, or the probability of the class that is meant and the class."""
    network = file.network
    if network.link == "identity":
        return float(network.predict([row])[0]), None
    scores = network.raw_score([row])
    chances, labels = probabilities_of(network, scores)[0], class_labels(network)
    said = int(scores[0] > 0) if scores.ndim == 1 else int(scores[0].argmax())
    return float(chances[labels.index(wanted["to"]) if "to" in wanted else 1]), category_name(labels[said])


def _prediction(value: float, word: str | None, wanted: dict[str, Any]) -> str:
    """Write a prediction; of classes the one that is said, and the probability of the one that is meant."""
    if word is None:
        return people(value, 6)
    of = f" of {quote_category(category_name(wanted['to']))}" if "to" in wanted else ""
    return f"{quote_category(word)} (probability{of} {value:.1%})"


@contextmanager
def _solver_aside() -> Iterator[None]:
    """Send what the solver may write of its own to standard error: standard output holds the answer alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        if os.name == "posix":
            ctypes.CDLL(None).fflush(None)  # the solver's own buffer
        os.dup2(kept, 1)
        os.close(kept)


def _show(answer: Counterfactual, wanted: dict[str, Any]) -> None:
    """Print one answer."""
    shown = answer if answer.told is None else answer.told  # in few digits
    told = _prediction(shown.prediction, None if shown.label is None else category_name(shown.label), wanted)
    if not answer.found:
        best = "unreachable: the best attainable is" if answer.optimal else "unreachable: the nearest found is"
        said = f"{best if answer.unreachable else 'none found in time; the nearest is'} {told}"
        none = "unreachable: no row obeys the limits" if answer.unreachable else "none found in time"
        show(said if answer.x is not None else none)
        return
    proof = "proven cheapest" if shown.optimal else f"at most {shown.gap:.1%} dearer than the cheapest"
    if answer.optimal and shown is not answer:
        proof = f"proven cheapest to within {max(shown.gap, 0.001):.1%}"
    show(f"prediction then {told} at cost {people(shown.cost)}, {proof}")
    widest = max((len(quote_name(name)) for name in shown.changes), default=0)
    for name, (old, new) in shown.changes.items():
        show(f"  {quote_name(name):<{widest}}  {_written(old)} -> {_written(new)}")


def _written(value: Any) -> str:
    """Write what a column holds."""
    if value is None:
        return "missing"
    return f"{value:.10g}" if isinstance(value, float) else quote_category(category_name(value))


def _pair(text: str) -> tuple[str, str]:
    """Split ``COL=VALUE`` at the last equals sign, so that ``season = winter=3`` works."""
    name, sign, value = text.rpartition("=")
    if not sign or not name:
        raise InputError(f"write COL=VALUE; got {text!r}.")
    return name, value


def _bounds(text: str) -> str | tuple[Any, ...]:
    """Read the limits of a column: two ends, of which each may be left out, levels, or a direction."""
    if text in ("increase", "decrease"):
        return text
    if text.startswith("{") and text.endswith("}"):
        return tuple(word.strip() for word in text[1:-1].split(","))
    low, _, high = text.partition(":")
    try:
        return tuple(float(end) if end.strip() else None for end in (low, high))
    except ValueError:
        raise InputError(
            f"--bounds must be COL=LOW:HIGH, COL={{a,b}}, COL=increase or COL=decrease; got {text!r}."
        ) from None


def _limits(
    file: ModelFile, x: Floats, bounds: tuple[str, ...], immutable: tuple[str, ...], integer: tuple[str, ...]
) -> dict[str, Any]:
    """Return what may change, and how, from the options and from what the columns are."""
    limits: dict[str, Any] = {name: _bounds(text) for name, text in map(_pair, bounds)}
    schema = preparation_of(file).schema
    still = [name for name in immutable if name not in schema.category_columns and name not in schema.raws]
    whole, groups = list(integer), []
    for name, places in schema.category_columns.items():
        members = [schema.names[j] for j in places]
        if name not in immutable and x[places].sum() == 1:
            groups.append(members)
        else:  # or a word that was not there at fit
            still += members
    for column, seen, value in zip(schema.columns, file.network.schema.columns, x.tolist(), strict=True):
        if column.category_of is not None:
            continue
        if column.part_of is not None or column.raw in immutable:
            still.append(column.name)
        elif (column.whole or seen.whole) and column.categories is None and value.is_integer():
            whole.append(column.name)
            if is_flag(column):
                limits.setdefault(column.name, (0, 1))
    return {"bounds": limits, "immutable": [*dict.fromkeys(still)], "integer": whole, "one_hot": groups}
