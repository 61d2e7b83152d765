"""The rows of the dataset that a page contains: what the model reads of them, what they are called, and the truth.

Readers can start from any of them. Those with the largest errors, which the page lists, come first; then as many as
fit, evenly spread. A page without rows has neither.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.step import Floats
from bgn.printable import clean
from bgn.report import classes
from bgn.report.facts import WORST, Facts, Names, columns_shown

BETWEEN = " \N{MIDDLE DOT} "
"""What parts the number of a row from its key."""
_MOST_BYTES = 400_000  # of packed rows in a page
_FIRST_TRY = 50_000


@dataclass(frozen=True, eq=False)
class KnownRows:
    """All rows that have names, in the order of their numbers where they are numbers.

    Attributes
    ----------
    rows : ndarray, shape (rows, columns)
    names : list of str
    truth : ndarray, shape (rows,)
    judged : ndarray of int
        Where each of the rows to judge by is among them.
    """

    rows: Floats
    names: list[str]
    truth: Floats
    judged: NDArray[np.intp]

    @classmethod
    def of(cls, facts: Facts) -> KnownRows:
        """Gather the rows of a page."""
        parts = [(facts.judged_rows, facts.judged_names, facts.judged_target)]
        if facts.held_out and facts.names[0] is not None:
            parts.insert(0, (facts.rows, facts.names[0], facts.target))
        rows = np.concatenate([each for each, _, _ in parts])
        truth = np.concatenate([each for _, _, each in parts])
        names = [name for own, known, _ in parts for name in _names(known, len(own))]
        order = np.arange(len(rows))
        if all(map(_number, names)):
            order = np.array(sorted(range(len(names)), key=lambda k: int(_number(names[k]))), dtype=np.intp)
        judged = np.argsort(order)[len(rows) - len(facts.judged_rows) :]
        return cls(rows[order], [names[k] for k in order], truth[order], judged)


def starts(facts: Facts, most: int | None, listed: list[int]) -> dict[str, Any] | None:
    """Return the rows for the page's script, those `listed` among them, or None where there are to be none.

    `most` rows are in the page, as many as fit where it is None; `listed` are numbers of rows to judge by.
    """
    if most == 0:
        return None
    known = KnownRows.of(facts)
    first, columns = known.judged[listed], columns_shown(facts)
    count = min(len(known.rows), _FIRST_TRY if most is None else most)
    while True:
        some = _spread(len(known.rows), count, first)
        packed = _packed(facts, columns, known.rows[some], [known.names[k] for k in some], known.truth[some])
        if most is not None or len(packed) <= _MOST_BYTES or count <= WORST:
            break
        count = int(0.95 * count * _MOST_BYTES / len(packed))
    numbered = facts.names == (None, None) or all(map(_number, known.names))
    return {"packed": packed, "count": len(some), "of": len(known.rows), "numbered": numbered, "columns": columns,
            "which": " of the rows held out" if facts.held_out and facts.names[0] is None else ""}  # fmt: skip


def _spread(total: int, count: int, first: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the places of `count` of `total` rows, or of those that come first if these are more: the rest is spread
    evenly.

    Examples
    --------
    >>> _spread(10, 4, np.array([7])).tolist(), _spread(3, 3, np.array([], dtype=int)).tolist()
    ([0, 4, 7, 9], [0, 1, 2])
    """
    others = np.setdiff1d(np.arange(total), first)
    left = max(0, min(count - len(first), len(others)))
    return np.union1d(first, others[np.linspace(0, len(others) - 1, left).round().astype(np.intp)])


def _number(name: str) -> str:
    """Return the number that a name begins with, nothing where there is none."""
    first = name.partition(BETWEEN)[0]
    return first if first.isascii() and first.isdigit() else ""


def _names(known: Names, count: int) -> list[str]:
    return [str(k + 1) for k in range(count)] if known is None else [clean(str(name)) for name in known]


def _packed(facts: Facts, shown: list[int], rows: Floats, names: list[str], truth: Floats) -> str:
    """Return rows column by column as JSON, compressed."""
    words = classes.words_of(facts.network) if facts.classes else None
    columns = [[None if value != value else _short(value) for value in rows[:, j].tolist()] for j in shown]
    known = [None if value != value else _short(value) if words is None else words[int(value)] for value in truth]
    text = json.dumps({"names": names, "columns": columns, "truth": known}, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _short(value: float) -> float | int:
    """Return a number as JSON writes it shortest."""
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
