"""``bgn margin`` and ``bgn counterfactual``: how far another prediction is, and what change reaches one."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import bgn
from bgn.cli.options import grouped, json_option, model_and_data, one_of, reads_data, rows_option
from bgn.cli.terminal import note, show, show_columns, show_json
from bgn.explain.arguments import class_labels, class_number, decode_rows, one_hot_limits, probabilities_of
from bgn.export.numbers import number
from bgn.inputs.errors import InputError
from bgn.model.readings import is_first_positive, is_flag
from bgn.model.schema import Column, category_name
from bgn.model.step import Floats
from bgn.model_rows import CompleteRows, DataFile, preparation_of
from bgn.persist import ModelFile
from bgn.show.labels import cell, just_below
from bgn.text import clean, count_of, lower_end, people, quote_category, quote_name, upper_end

if TYPE_CHECKING:
    from bgn.explain.counterfactual import Counterfactual
    from bgn.explain.margin import Margin

_NEAREST = 5  # rows that a person is shown; --json has all
_ROUNDING = 1e-9  # distances up to this are none
_LINEAR = "no threshold is near; linear terms change the prediction with every value"


@model_and_data
@click.option("--row", type=click.IntRange(1), help="This row alone, column by column; the first is 1.")
@rows_option
@json_option
@reads_data
def margin(file: ModelFile, data: DataFile, row: int | None, which: str | None, as_json: bool) -> None:
    """Say how far the rows of DATA are from the nearest threshold that would change a saved MODEL's prediction.

    Without --row: a summary, column by column, and the rows that are nearest (every row with --json). A row is near in
    the column whose change is smallest relative to that column's standard deviation in DATA. With --row: to where each
    column must rise or fall for the prediction to change.

    \b
    bgn margin model.json houses.csv
    bgn margin model.json houses.csv --row 17
    """
    from bgn.explain.margin import margin_over  # a command starts light

    rows = data.complete_rows(file).only(which)
    rows = rows.at(rows.chosen(row)) if row is not None else rows
    change = "score" if file.network.linear and file.network.link != "identity" else None
    if change is not None:
        note("the model has linear terms: this tells where a condition changes, not where the class does.")
    whole = {j for j, column in enumerate(file.network.schema.columns) if column.whole}
    margins = margin_over(file.network, decode_rows(file.network, rows.X), change=change, whole=whole)
    if row is not None:
        lines = _turning_points(file, rows.X[0], margins)
    else:
        lines, nearness = _nearest_columns(file, rows, margins)
    if as_json:
        show_json(lines)
    elif row is not None:
        _show_turning_points(file, lines)
    else:
        _show_nearest(lines, nearness, bool(file.network.linear))


def _turning_points(file: ModelFile, row: Floats, margins: Margin) -> list[dict[str, Any]]:
    """Return a line per column: what it holds, and where the prediction would be another."""
    lines, network = [], file.network
    for j in network.features_used:
        column, value = network.schema.columns[j], float(row[j])
        up, down = float(margins.up[0, j]), float(margins.down[0, j])
        places = {"up_to": up, "down_to": down}
        ends: dict[str, Any] = {name: end if math.isfinite(end) else None for name, end in places.items()}
        if not network.schema.all_numbers:
            changing = margins.categories[column.name][0] if column.categories else ()
            others = zip(column.categories or (), changing, strict=True)
            ends["or_at"] = ", ".join(category_name(category) for category, changes in others if changes) or None
        plain = column.categories is None and value == value
        lines.append({"column": column.name, "at": value if plain else cell(column, value), **ends})
    return lines


def _show_turning_points(file: ModelFile, lines: list[dict[str, Any]]) -> None:
    """Print for each column what it holds and where another prediction begins; nothing there reads as a dash."""
    if not lines:
        show("no column matters: every prediction is the base value")
        return
    ends = [name for name in lines[0] if name not in ("column", "at")]
    if all(line[name] is None for line in lines for name in ends):
        alone = "no other prediction is near: whatever one column becomes, the others as they are, it stays the same"
        show(alone if not file.network.linear else _LINEAR)

    def written_end(column: Column, name: str, value: float | str | None) -> str:
        """Write where another prediction begins; the number next below a threshold reads as below that."""
        if value is None or isinstance(value, str):
            return "-" if value is None else quote_category(value)
        if column.part_of is not None:
            return cell(column, value)
        if short := just_below(value):
            return f"below {short}"
        return upper_end(value) if name == "up_to" else lower_end(value)  # rounded so that it is reached

    columns = dict(zip(file.network.names, file.network.schema.columns, strict=True))
    table = [["column", "at", *(name.replace("_", " ") for name in ends)]]
    for line in lines:
        column = columns[line["column"]]
        at = cell(column, line["at"]) if isinstance(line["at"], float) else clean(str(line["at"]))
        table.append([quote_name(line["column"]), at, *(written_end(column, name, line[name]) for name in ends)])
    show_columns(table)


def _nearest_columns(file: ModelFile, rows: CompleteRows, margins: Margin) -> tuple[list[dict[str, Any]], Floats]:
    """Return a line per row with the column in which it is nearest, and how near, in standard deviations of that."""
    used, std = list(file.network.features_used), np.nanstd(rows.X, axis=0)
    lines, nearness = list[dict[str, Any]](), list[float]()
    for place, distances in zip(rows.numbers.tolist(), margins.distance, strict=True):
        shares = [(distances[j] / std[j] if std[j] > 0 else math.inf, j) for j in used]
        share, nearest = min(shares, default=(math.inf, 0))
        near = math.isfinite(share) and math.isfinite(distances[nearest])
        name, value = (file.network.names[nearest], float(distances[nearest])) if near else (None, None)
        lines.append({"row": place, "column": name, "distance": value})
        nearness.append(float(share))
    return lines, np.array(nearness)


def _show_nearest(lines: list[dict[str, Any]], nearness: Floats, linear: bool) -> None:
    """Print how often each column is the one in which a row is nearest, how near, and the nearest rows."""
    by_column: dict[str, list[float]] = {}
    for line in lines:
        if line["column"] is not None:
            by_column.setdefault(line["column"], []).append(line["distance"])
    if not by_column:
        show(_LINEAR if linear else "no number matters: nothing that one of them could do changes a prediction")
        return
    rows = f"{count_of(len(lines), 'row')} {'is' if len(lines) == 1 else 'are'}"
    show(f"how far {rows} from another prediction, in the column where that is nearest")
    table = [["column", "rows", "a tenth within", "half within"]]
    for name in sorted(by_column, key=lambda name: -len(by_column[name])):
        tenth, half = np.quantile(by_column[name], [0.1, 0.5]).tolist()
        table.append([quote_name(name), f"{len(by_column[name]) / len(lines):.0%}", number(tenth, 3), number(half, 3)])
    if rest := len(lines) - sum(map(len, by_column.values())):
        table.append(["none", f"{rest / len(lines):.0%}", "-", "-"])
    show_columns(table, left=1)
    nearest = [lines[k] for k in np.argsort(nearness, kind="stable")[:_NEAREST] if lines[k]["column"] is not None]
    texts = []
    for line in nearest:
        # A row can stand on a threshold, and miss it by the last digit of a float.
        away = f"{number(line['distance'], 3)} away" if line["distance"] > _ROUNDING else "on a threshold"
        texts.append(f"{line['row']} ({quote_name(line['column'])} {away})")
    show(f"nearest row{'s' * (len(nearest) > 1)}: {', '.join(texts)}")
    show("--row N for one of them, column by column; --json for all")


_change_options = grouped(
    click.option(
        "--cost", multiple=True, metavar="COL=PRICE", help="Price of one unit of a column [default: 1 per spread]."
    ),
    click.option("--fewest", is_flag=True, help="Change as few columns as possible, whatever they cost."),
    click.option(
        "--bounds", multiple=True, metavar="COL=LOW:HIGH", help="Limits; also COL=increase, COL=decrease, COL={a,b}."
    ),
    click.option("--immutable", multiple=True, metavar="COL", help="A column that must not change."),
    click.option("--integer", multiple=True, metavar="COL", help="A further column of whole numbers."),
    click.option("--constraint", "constraints", multiple=True, metavar="TEXT", help='Such as "bedrooms <= rooms".'),
    click.option("--max-changed", type=click.IntRange(1), help="Most columns that may change."),
    click.option("--fill-missing", is_flag=True, help="Let missing values of the row be filled in."),
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
    file: ModelFile, data: DataFile, row: int, as_json: bool, cost: tuple[str, ...], fewest: bool,
    at_least: float | None, at_most: float | None, to: str | None, **options: Any,
) -> None:  # fmt: skip
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
    network, wanted = file.network, _wanted(file, at_least, at_most, to)
    rows = data.complete_rows(file)
    x = rows.X[rows.chosen(row)][0]
    options |= _limits(file, x, options["bounds"], options["immutable"], options["integer"])
    values = decode_rows(network, x[None])[0]
    costs = "fewest" if fewest else {name: float(price) for name, price in map(_split_pair, cost)}
    with _solver_on_stderr():
        answer = bgn.counterfactual(network, values, costs=costs, **(options | wanted))
    label, now = None, float("nan")
    if network.link == "identity":
        now = float(network.predict([values])[0])
    else:
        scores = network.raw_score([values])
        labels, predicted = class_labels(network), int(scores[0] > 0) if scores.ndim == 1 else int(scores[0].argmax())
        now = float(probabilities_of(network, scores)[0][labels.index(wanted["to"]) if "to" in wanted else 1])
        label = category_name(labels[predicted])
    if as_json:
        class_now = {} if label is None else {"label_now": label}
        show_json({"row": row, "prediction_now": now, **class_now, **answer.as_dict()})
        return
    show(f"prediction now {_written_prediction(now, label, wanted)}")
    if answer.reached and not answer.changes:
        show(f"row {row} is there already: nothing has to change")
        return
    for one in (answer, *answer.alternatives):
        _show_answer(one, wanted)


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
    elif is_first_positive(network):
        wanted["to"] = class_labels(network)[0]
    if at_least is not None or at_most is not None:
        wanted["probability"] = (0.0 if at_least is None else at_least, 1.0 if at_most is None else at_most)
    return wanted


def _limits(
    file: ModelFile, x: Floats, bounds: tuple[str, ...], immutable: tuple[str, ...], integer: tuple[str, ...]
) -> dict[str, Any]:
    """Return what may change, and how, from the options and from what the columns are."""
    limits: dict[str, Any] = {}
    for name, text in map(_split_pair, bounds):
        low, _, high = text.partition(":")
        if text.startswith("{") and text.endswith("}"):
            limits[name] = tuple(category.strip() for category in text[1:-1].split(","))
        elif text in ("increase", "decrease"):
            limits[name] = text
        else:
            try:
                limits[name] = tuple(float(end) if end.strip() else None for end in (low, high))
            except ValueError:
                raise InputError(
                    f"--bounds must be COL=LOW:HIGH, COL={{a,b}}, COL=increase or COL=decrease; got {text!r}."
                ) from None
    schema = preparation_of(file).schema
    still, groups = one_hot_limits(schema, x, immutable)
    integers = list(integer)
    for column, seen, value in zip(schema.columns, file.network.schema.columns, x.tolist(), strict=True):
        whole_number = (column.whole or seen.whole) and column.categories is None and value.is_integer()
        if whole_number and column.category_of is None and column.name not in still:
            integers.append(column.name)
            if is_flag(column):
                limits.setdefault(column.name, (0, 1))
    return {"bounds": limits, "immutable": still, "integer": integers, "one_hot": groups}


def _split_pair(text: str) -> tuple[str, str]:
    """Split ``COL=VALUE`` at the last equals sign, so that ``season = winter=3`` works."""
    name, sign, value = text.rpartition("=")
    if not sign or not name:
        raise InputError(f"write COL=VALUE; got {text!r}.")
    return name, value


@contextmanager
def _solver_on_stderr() -> Iterator[None]:
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


def _written_prediction(value: float, label: str | None, wanted: dict[str, Any]) -> str:
    """Write a prediction; of classes the predicted one, and the probability of the one that is meant."""
    if label is None:
        return people(value, 6)
    of = f" of {quote_category(category_name(wanted['to']))}" if "to" in wanted else ""
    return f"{quote_category(label)} (probability{of} {value:.1%})"


def _show_answer(answer: Counterfactual, wanted: dict[str, Any]) -> None:
    """Print one answer."""
    shown = answer if answer.rounded is None else answer.rounded  # in few digits
    label = None if shown.label is None else category_name(shown.label)
    prediction = _written_prediction(shown.prediction, label, wanted)
    if not answer.reached:
        if answer.x is None:
            show("unreachable: no row obeys the limits" if answer.unreachable else "none found in time")
            return
        best = "unreachable: the best attainable is" if answer.optimal else "unreachable: the nearest found is"
        show(f"{best if answer.unreachable else 'none found in time; the nearest is'} {prediction}")
        return
    proof = "proven cheapest" if shown.optimal else f"at most {shown.max_saving:.1%} dearer than the cheapest"
    if answer.optimal and shown is not answer:
        proof = f"proven cheapest to within {max(shown.max_saving, 0.001):.1%}"
    show(f"prediction then {prediction} at cost {people(shown.cost)}, {proof}")
    widest = max((len(quote_name(name)) for name in shown.changes), default=0)
    for name, (old, new) in shown.changes.items():
        show(f"  {quote_name(name):<{widest}}  {_written_value(old)} -> {_written_value(new)}")


def _written_value(value: Any) -> str:
    """Write what a column holds."""
    if value is None:
        return "missing"
    return f"{value:.10g}" if isinstance(value, float) else quote_category(category_name(value))
