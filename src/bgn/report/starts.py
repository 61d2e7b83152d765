"""The rows that readers of a page can start from, packed: what the model reads of them, what they are called, and the
truth. A page holds them all where they are few enough, otherwise as many as fit, evenly spread."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np

from bgn.model.step import Floats
from bgn.printable import clean
from bgn.report import classes
from bgn.report.facts import Facts, Names

BETWEEN = " \N{MIDDLE DOT} "
"""What parts the number of a row from its key."""
_MOST_BYTES = 400_000  # of packed rows in a page
_FIRST_TRY = 50_000


def starts(facts: Facts, most: int | None) -> dict[str, Any] | None:
    """Return the rows for the page's script, or None where there are to be none."""
    if most == 0:
        return None
    rows, names, truth = all_starts(facts)
    count = len(rows) if most is None else min(most, len(rows))
    count = min(count, _FIRST_TRY)
    while True:
        some = np.unique(np.linspace(0, len(rows) - 1, count).round().astype(int))
        packed = _packed(facts, rows[some], [names[k] for k in some], truth[some])
        if most is not None or len(packed) <= _MOST_BYTES or count <= 10:
            break
        count = int(0.95 * count * _MOST_BYTES / len(packed))
    numbered = facts.names == (None, None) or all(map(_number, names))
    return {"packed": packed, "count": len(some), "of": len(rows), "numbered": numbered, "columns": facts.used,
            "which": " of the rows held out" if facts.held_out and facts.names == (None, None) else ""}  # fmt: skip


def all_starts(facts: Facts) -> tuple[Floats, list[str], Floats]:
    """Return all rows that have names, in the order of their numbers where they are numbers."""
    parts = [(facts.judged_rows, facts.judged_names, facts.judged_target)]
    if facts.held_out and facts.names[0] is not None:
        parts.insert(0, (facts.rows, facts.names[0], facts.target))
    rows = np.concatenate([each for each, _, _ in parts])
    truth = np.concatenate([each for _, _, each in parts])
    names = [name for own, told, _ in parts for name in _names(told, len(own))]
    if all(map(_number, names)):
        order = sorted(range(len(names)), key=lambda k: int(_number(names[k])))
        return rows[order], [names[k] for k in order], truth[order]
    return rows, names, truth


def _number(name: str) -> str:
    """Return the number that a name begins with, nothing where there is none."""
    first = name.partition(BETWEEN)[0]
    return first if first.isascii() and first.isdigit() else ""


def _names(told: Names, count: int) -> list[str]:
    return [str(k + 1) for k in range(count)] if told is None else [clean(str(name)) for name in told]


def _packed(facts: Facts, rows: Floats, names: list[str], truth: Floats) -> str:
    """Return rows column by column as JSON, compressed."""
    words = classes.words_of(facts.network) if facts.classes else None
    columns = [[None if value != value else _short(value) for value in rows[:, j].tolist()] for j in facts.used]
    known = [None if value != value else _short(value) if words is None else words[int(value)] for value in truth]
    text = json.dumps({"names": names, "columns": columns, "truth": known}, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _short(value: float) -> float | int:
    """Return a number as JSON writes it shortest."""
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
