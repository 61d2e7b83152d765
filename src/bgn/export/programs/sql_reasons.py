"""Reason codes in SQL: the largest amount, the question that has it, then the largest of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bgn.export.plan import ReasonAmounts
from bgn.export.programs.sql_stages import Stages

if TYPE_CHECKING:
    from bgn.export.programs.sql import SqlWriter

_MOST = 500


def reason_stages(stages: Stages, writer: SqlWriter, amounts: Sequence[ReasonAmounts], count: int) -> dict[str, str]:
    """Add the stages that find the top reasons; return the columns that show them."""
    planned, number, text = writer.plan, writer.number, writer.dialect.text
    if len(amounts) > _MOST:
        raise ValueError(
            f"reasons in SQL are for up to {_MOST} questions; the model has {len(amounts)}. Use to_python."
        )
    last, none = len(planned.layers) - 1, number(-1.0)
    zero = number(0.0)
    answers = [f"h{last}_{each.comparison} > {zero}" for each in amounts]
    if planned.outputs > 1:  # the reasons of the class that is predicted
        cases = " ".join(f"WHEN t{k} = most THEN {k}" for k in range(planned.outputs))
        stages.add({"likeliest": f"CASE {cases} END"})
    values = [(_of_likeliest(each.yes, number), _of_likeliest(each.no, number)) for each in amounts]
    pairs = zip(answers, values, strict=True)
    stages.add({f"r{k}": f"CASE WHEN {yes} THEN {a} ELSE {b} END" for k, (yes, (a, b)) in enumerate(pairs)})
    shown: dict[str, str] = {}
    for rank in range(1, min(count, len(amounts)) + 1):
        left = [_left(k, rank, none) for k in range(len(amounts))]
        stages.add({f"best_{rank}": stages.greatest(left)})
        cases = " ".join(f"WHEN {size} = best_{rank} THEN {k}" for k, size in enumerate(left))
        stages.add({f"which_{rank}": f"CASE {cases} END"})
        words = " ".join(f"WHEN {k} THEN {text(each.words)}" for k, each in enumerate(amounts))
        found = " ".join(f"WHEN {k} THEN r{k}" for k in range(len(amounts)))
        said = " ".join(f"WHEN {k} THEN h{last}_{each.comparison}" for k, each in enumerate(amounts))
        shown |= {
            f"reason {rank}": f"CASE which_{rank} {words} END",
            f"answer {rank}": f"CASE WHEN (CASE which_{rank} {said} END) > {zero} THEN 'yes' ELSE 'no' END",
            f"amount {rank}": f"CASE which_{rank} {found} END",
        }
    return shown


def _of_likeliest(amounts: tuple[float, ...], number: Callable[[float], str]) -> str:
    """Write the amount of the likeliest class, which is known; the one there is where there are no classes."""
    if len(amounts) == 1:
        return number(amounts[0])
    cases = " ".join(f"WHEN {k} THEN {number(amount)}" for k, amount in enumerate(amounts))
    return f"CASE likeliest {cases} END"


def _left(k: int, rank: int, none: str) -> str:
    """Write the size of an amount, or less than any where it was found before."""
    found = " OR ".join(f"which_{earlier} = {k}" for earlier in range(1, rank))
    return f"CASE WHEN {found} THEN {none} ELSE ABS(r{k}) END" if found else f"ABS(r{k})"
