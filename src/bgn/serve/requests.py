"""What a request to the application holds, read strictly: anything else is refused in a sentence for its reader."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.text import clean, message, quote_name

_MOST_LETTERS = 500


class BadRequest(ValueError):
    """A request that cannot be answered, and why."""


def parse(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body holds."""

    def refuse_constant(name: str) -> None:
        raise ValueError(f"{name} is not a number")

    try:
        content = json.loads(body.decode("utf-8"), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The request is not JSON: {message(str(error), 120)}.") from None
    if not isinstance(content, dict):
        raise BadRequest("The request must be a JSON object.")
    return content


def check_keys(content: Mapping[str, Any], *known: str) -> None:
    """Refuse keys that mean nothing."""
    if unknown := [str(name) for name in content if name not in known]:
        raise BadRequest(f"{clean(unknown[0], 40)!r} is not known here; a request may have {', '.join(known)}.")


def read_number(value: Any, what: str) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRequest(f"{what} must be a number; got {shown(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadRequest(f"{what} must be a number that can be computed with.")
    return number


def read_whole(value: Any, what: str, low: int, high: int) -> int:
    """Return a whole number within ends."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadRequest(f"{what} must be a whole number from {low} to {high}; got {shown(value)}.")
    return value


def read_text(value: Any, what: str) -> str:
    """Return a text of bounded length."""
    if not isinstance(value, str) or len(value) > _MOST_LETTERS:
        raise BadRequest(f"{what} must be a text of at most {_MOST_LETTERS} letters.")
    return value


def read_row(value: Any, network: Network) -> Floats:
    """Return a row as the network encodes it: a category as its number, NaN for a missing value."""
    columns = network.schema.columns
    if not isinstance(value, list) or len(value) != len(columns):
        raise BadRequest(f"row must have {len(columns)} values, one per column.")
    row = np.full(len(columns), np.nan)
    for j, (column, cell) in enumerate(zip(columns, value, strict=True)):
        if cell is None:
            continue
        row[j] = read_number(cell, quote_name(column.name, 60))
        if column.categories is not None and row[j] not in range(len(column.categories)):
            raise BadRequest(f"{quote_name(column.name, 60)} has no category number {shown(cell)}.")
    return row


def shown(value: Any) -> str:
    """Return a value as a message quotes it."""
    return message(json.dumps(value, default=str)[:200], 60)
