"""Results with columns, as tables of pandas and of notebooks."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bgn.require import require
from bgn.text import visible

_MOST = 50
"""Rows that a notebook shows."""


Columns = Mapping[str, Sequence[Any]]


class Tabular:
    """A result with columns: `to_frame` gives them to pandas, notebooks show them as a table."""

    def _columns(self) -> Columns:
        """The columns of the table, equally long."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the same as a pandas frame.

        Returns
        -------
        pandas.DataFrame
        """
        return require("pandas", extra="cli").DataFrame(
            {name: list(values) for name, values in self._columns().items()}
        )

    def _repr_html_(self) -> str:
        """Return what notebooks show: the first rows of the table below what `repr` says."""
        columns = self._columns()
        rows = list(zip(*columns.values(), strict=True))
        head = "".join(f"<th>{_escaped(name)}</th>" for name in columns)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:_MOST])
        more = f"<p>and {len(rows) - _MOST:,} more rows</p>" if len(rows) > _MOST else ""
        first_line = _escaped(repr(self).partition("\n")[0])
        return f"<p>{first_line}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _escaped(text: object) -> str:
    return html.escape(visible(str(text)))


def _cell(value: Any) -> str:
    """A cell: numbers to six digits, at the right; nothing for what is not known."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "<td></td>"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{_escaped({True: 'yes', False: 'no'}[value] if isinstance(value, bool) else value)}</td>"
    return f"<td style='text-align:right'>{value:.6g}</td>"
