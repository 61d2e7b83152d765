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
from bgn.cli.source import complete_rows, file_options, preparation_of
from bgn.cli.tables import Refused
from bgn.cli.terminal import show, show_json
from bgn.preparation import Category, Date, Number
from bgn.writing import clean

if TYPE_CHECKING:
    from bgn.explain.counterfactual import Counterfactual


@click.command()
@click.argument("model", type=click.Path())
@click.argument("data")
@click.option("--row", type=click.IntRange(1), default=1, show_default=True, help="The row to change; the first is 1.")
@click.option("--at-least", type=float, help="Lowest prediction that will do.")
@click.option("--at-most", type=float, help="Highest prediction that will do.")
@click.option("--cost", multiple=True, metavar="COL=PRICE", help="Price of one unit of a column; 1 unless told.")
@click.option("--fewest", is_flag=True, help="Change as few columns as possible, whatever they cost.")
@click.option(
    "--bounds", multiple=True, metavar="COL=LOW:HIGH", help="Limits of a column; also COL=increase, COL=decrease."
)
@click.option("--immutable", multiple=True, metavar="COL", help="A column that must not change.")
@click.option("--integer", multiple=True, metavar="COL", help="A column of whole numbers.")
@click.option("--constraint", multiple=True, metavar="TEXT", help='Such as "bedrooms <= rooms".')
@click.option("--max-changed", type=click.IntRange(1), help="Most columns that may change.")
@click.option("-n", "--answers", type=click.IntRange(1), default=1, help="Several answers that change other columns.")
@click.option("--max-seconds", type=float, default=10.0, show_default=True, help="When to stop with the best so far.")
@click.option("--json", "as_json", is_flag=True, help="For machines.")
@file_options
def counterfactual(
    model: str,
    data: str,
    row: int,
    at_least: float | None,
    at_most: float | None,
    cost: tuple[str, ...],
    fewest: bool,
    bounds: tuple[str, ...],
    immutable: tuple[str, ...],
    integer: tuple[str, ...],
    constraint: tuple[str, ...],
    max_changed: int | None,
    answers: int,
    max_seconds: float,
    as_json: bool,
    sep: str | None,
    decimal: str | None,
    sheet: str | None,
) -> None:
    """Find the cheapest change of a row of DATA that brings a saved MODEL's prediction where it is wanted.

    The answer is exact, and proven cheapest unless it says otherwise; or it is proven that no change will do. Words
    stay words (one of those known at fit), true and false stay so, and dates do not change.

    \b
    bgn counterfactual model.json houses.csv --row 17 --at-least 300
    bgn counterfactual model.json houses.csv --at-least 300 --immutable age --bounds rooms=increase --integer rooms
    """
    from bgn.persist import read

    if cost and fewest:
        raise click.UsageError("--cost and --fewest exclude each other.")
    if at_least is None and at_most is None:
        raise click.UsageError("--at-least or --at-most must be given.")
    file = read(model)
    X, _, numbers = complete_rows(file, data, sep, decimal, sheet)
    if row not in numbers:
        raise Refused(f"--row must be a complete row of {data}, {numbers[0]} to {numbers[-1]}; got {row}.")
    x = X[numbers == row][0]
    limits = _limits(file, x, bounds, immutable, integer)
    with _solver_aside():
        found = bgn.counterfactual(
            file.network, x, at_least=at_least, at_most=at_most, max_changed=max_changed, n=answers,
            costs="fewest" if fewest else {name: float(price) for name, price in map(_pair, cost)},
            constraints=list(constraint), max_seconds=max_seconds, **limits,
        )  # fmt: skip
    now = float(file.network.predict(x[None])[0])
    if as_json:
        show_json({"row": row, "prediction_now": now, **found.as_dict()})
        return
    show(f"prediction now {now:.6g}")
    for answer in (found, *found.alternatives):
        _show(answer)


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


def _show(answer: Counterfactual) -> None:
    """Print one answer."""
    if not answer.found:
        said = "unreachable: the best attainable is" if answer.unreachable else "none found in time; the nearest is"
        show(f"{said} {answer.prediction:.6g}" if answer.x is not None else "unreachable: no row obeys the limits")
        return
    proof = "proven cheapest" if answer.optimal else f"at most {answer.gap:.1%} dearer than the cheapest"
    show(f"prediction then {answer.prediction:.6g} at cost {answer.cost:.6g}, {proof}")
    widest = max((len(clean(name)) for name in answer.changes), default=0)
    for name, (old, new) in answer.changes.items():
        show(f"  {clean(name):<{widest}}  {old:.10g} -> {new:.10g}")


def _pair(text: str) -> tuple[str, str]:
    """Split ``COL=VALUE`` at the last equals sign, so that ``season = winter=3`` works."""
    name, sign, value = text.rpartition("=")
    if not sign or not name:
        raise Refused(f"write COL=VALUE; got {text!r}.")
    return name, value


def _limits(
    file: Any, x: Any, bounds: tuple[str, ...], immutable: tuple[str, ...], integer: tuple[str, ...]
) -> dict[str, Any]:
    """Return what may change, and how, from the options and from how the columns were prepared at fit."""
    limits: dict[str, Any] = {}
    for name, text in map(_pair, bounds):
        low, _, high = text.partition(":")
        try:
            limits[name] = text if text in ("increase", "decrease") else tuple(
                float(end) if end.strip() else None for end in (low, high)
            )  # fmt: skip
        except ValueError:
            raise Refused(f"--bounds must be COL=LOW:HIGH, COL=increase or COL=decrease; got {text!r}.") from None
    still: list[str] = []
    whole, groups = list(integer), []
    for column in preparation_of(file).columns:
        if isinstance(column, Date) or column.column in immutable:
            still += column.names
        elif isinstance(column, Category):
            places = [file.network.names.index(name) for name in column.names]
            if x[places].sum() == 1:
                groups.append(column.names)
            else:  # a word that was not there at fit
                still += column.names
        elif isinstance(column, Number) and column.boolean:
            whole.append(column.column)
            limits.setdefault(column.column, (0, 1))
    still += [name for name in immutable if name not in still and name not in _columns(file)]
    return {"bounds": limits, "immutable": still, "integer": whole, "one_hot": groups}


def _columns(file: Any) -> list[str]:
    return [column.column for column in preparation_of(file).columns]
