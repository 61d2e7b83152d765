"""A first look at a raw table: what its columns are, and what may be wrong with them."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bgn.inputs.arguments import chosen
from bgn.inputs.errors import check_there
from bgn.inputs.file_format import MISSING_VALUES, FileFormat
from bgn.require import require
from bgn.text import clean, quote_name, visible

if TYPE_CHECKING:  # what reads tables needs pyarrow, and is loaded by the functions below
    import pyarrow as pa

    from bgn.inputs.files import RawTable
    from bgn.inputs.findings import ColumnFacts, Finding, Known

_WIDTH, _NAME_WIDTH = 96, 28


@dataclass(frozen=True)
class TableCheck:
    """What :func:`check` found.

    Parameters
    ----------
    origin : str
        What the table is called.
    rows : int
        How many rows it has.
    columns : tuple of ColumnFacts
        What each column holds.
    findings : tuple of Finding
        What may be wrong, the serious first.
    notes : tuple of str
        How the file was read, where that is not all plain.
    target : str, optional
        The column to predict.
    looked_at : int, optional
        How many rows were looked at: of a table that takes much memory every second, fourth or eighth row alone.
    """

    origin: str
    rows: int
    columns: tuple[ColumnFacts, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    target: str | None = None
    looked_at: int | None = None

    @property
    def serious(self) -> tuple[Finding, ...]:
        """The findings that make a fit mislead."""
        return tuple(finding for finding in self.findings if finding.severity == "serious")

    def as_plain(self) -> dict[str, Any]:
        """Return plain values, as for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [self._size(), ""]
        table = [("column", "kind", "gaps", "different", "values"), *map(self._cells, self.columns)]
        widths = [max(len(row[k]) for row in table) for k in range(4)]
        for row in table:
            start = f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}  "
            lines.append(f"{start}{_fitting(row[4], _WIDTH - len(start))}".rstrip())
        for title, said in self._sections():
            lines += ["", title, *(line for each in said for line in _wrapped(each))]
        return visible("\n".join(lines))

    def _sections(self) -> list[tuple[str, list[str]]]:
        """Return what is said below the table, title by title."""
        others = [str(finding) for finding in self.findings if finding.severity != "serious"]
        sections = [("Serious:", [str(each) for each in self.serious]), ("Worth a look:", others)]
        sections.append(("How it was read:", list(self.notes)))
        found = [(title, said) for title, said in sections if said]
        return found if self.findings else [("Nothing odd was found.", []), *found]

    def _cells(self, facts: ColumnFacts) -> tuple[str, str, str, str, str]:
        """Return a line of the table."""
        kind = (
            f"{facts.kind}{f', {facts.unit}' if facts.unit else ''}{' (target)' if facts.name == self.target else ''}"
        )
        gaps = _share(facts.gaps, self.rows if self.looked_at is None else self.looked_at)
        return quote_name(facts.name, _NAME_WIDTH), kind, gaps, f"{facts.different:,}", _values(facts)

    def _size(self) -> str:
        rows, columns = self.rows, len(self.columns)
        return f"{clean(self.origin, 60)}: {rows:,} row{'s' * (rows != 1)}, {columns} column{'s' * (columns != 1)}"

    def to_frame(self) -> Any:
        """Return a pandas frame: one row per column, as in print.

        Returns
        -------
        pandas.DataFrame
        """
        titles = ("column", "kind", "gaps", "different", "values")
        return require("pandas", extra="cli").DataFrame(map(self._cells, self.columns), columns=list(titles))

    def _repr_html_(self) -> str:
        table = [self._cells(facts) for facts in self.columns]
        head = "".join(f"<th>{title}</th>" for title in ("column", "kind", "gaps", "different", "values"))
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in table)
        below = ""
        for title, said in self._sections():
            items = "".join(f"<li>{html.escape(visible(each))}</li>" for each in said)
            below += f"<p>{title}</p><ul>{items}</ul>"
        caption = html.escape(self._size())
        return f"<p>{caption}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _share(part: int, whole: int) -> str:
    """Return how much is missing."""
    if not part:
        return "-"
    return "all" if part == whole else f"{min(max(100 * part / whole, 0.1), 99.9):.1f}%"


def _fitting(values: str, room: int) -> str:
    """Return as many of some values as there is room for."""
    if len(values) <= room:
        return values
    whole = values[: max(0, room - 5)].rpartition(", ")[0]
    return f"{whole}, ..." if whole else clean(values, max(12, room))


def _values(facts: ColumnFacts) -> str:
    """Return the range of numbers and dates, or the commonest words."""
    if facts.kind in ("number", "whole number", "date", "time") and facts.low is not None:
        low, high = (_short(x) if isinstance(x, float) else str(x) for x in (facts.low, facts.high))
        return f"{low} to {high}"
    return ", ".join(facts.examples) + (", ..." if facts.different > len(facts.examples) else "")


def _wrapped(text: str) -> list[str]:
    """Return a bullet over lines that fit a terminal."""
    return textwrap.wrap(
        clean(text, 600), _WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False
    )


def check(
    data: Any,
    target: str | None = None,
    *,
    sep: str | None = None,
    decimal: str | Mapping[str, str] | None = None,
    thousands: str | Mapping[str, str] | None = None,
    missing_values: Sequence[str] = MISSING_VALUES,
    sheet: str | None = None,
    date_format: str | None = None,
    header: bool | None = None,
    task: str | None = None,
) -> TableCheck:
    """Look at a raw table before anything is learnt from it.

    Parameters
    ----------
    data : path, frame or mapping
        A CSV, TSV, Parquet or Excel file (text files may end in ``.gz``), a table of pandas, polars or pyarrow, or
        columns by name.
    target : str, optional
        The column to predict. With it, columns are looked for from which alone it follows.
    sep, decimal, thousands, missing_values, sheet, date_format, header : optional
        How a file is written, as for :func:`bgn.preparation.fit`.
    task : {"regression", "classification"}, optional
        What the target is for.

    Returns
    -------
    TableCheck
        Prints as a table of the columns and a list of findings, each with advice; ``columns`` and ``findings`` have
        the same as records.

    Examples
    --------
    >>> import bgn
    >>> raw = {"id": range(1, 61), "sex": ["M", "F", "m "] * 20, "km": range(0, 120, 2), "miles": range(0, 180, 3)}
    >>> found = bgn.check(raw, target="miles")
    >>> [(finding.what, finding.columns) for finding in found.findings]
    [('leak', ('id',)), ('leak', ('km',)), ('id', ('id',)), ('words', ('sex',))]
    >>> print(found.findings[-1])
    'sex' has words that nearly agree: 'M' = 'm '. If they mean the same, write them alike.
    """
    chosen("task", task, (None, "regression", "classification"))
    require("pyarrow", extra="parquet")
    from bgn.inputs.files import open_any

    table, origin = open_any(data, FileFormat(sep, decimal, thousands, sheet, date_format, tuple(missing_values), header))
    return check_opened(table, origin, target, task, date_format)


def check_opened(
    table: RawTable, origin: str, target: str | None, task: str | None = None, date_format: str | None = None
) -> TableCheck:
    """Look at a table that is open, and close it."""
    from bgn.inputs.findings import Known, all_findings, pending, surveyed

    try:
        if target is not None:
            check_there([target], table.names, origin, table.reading.notes)
        (whole, rows, step), met = table.look(table.names), table.reading
    finally:
        table.close()
    columns = surveyed(whole, {written.column: written.unit for written in met.written})
    predicted = next((column for column in columns if column.name == target), None)
    known = Known(task, met.header, date_format=date_format)
    # What is in doubt of a column comes before what it may be.
    doubtful = met.problems.keys()
    every = all_findings(columns, predicted, known)
    found = (each for each in every if not each.columns or not doubtful >= {*each.columns})
    findings = (*pending(met.problems), *found)
    ranked = sorted(findings, key=lambda finding: finding.severity != "serious")
    facts = tuple(column.facts() for column in columns)
    part = f"of {rows:,} rows one in {step} was looked at, {whole.num_rows:,} in all: counts and findings are of these."
    notes = (*[part] * (step > 1), *met.notes)
    return TableCheck(origin, rows, facts, tuple(ranked), notes, target, whole.num_rows)


def fit_notes(table: pa.Table, features: Sequence[str], target: str | None, known: Known, where: str = "") -> list[str]:
    """Return what a user should know before a fit to some columns of a table; `where` opens what is said of columns."""
    from bgn.inputs.findings import said_at_fit, surveyed

    columns = surveyed(table.select([*features, *([] if target is None else [target])]))
    predicted = next((column for column in columns if column.name == target), None)
    found = said_at_fit(columns, predicted, known)
    told = [each for each in found if each.what != "id" or each.columns[0] not in known.categorical]
    return [f"{where * bool(each.columns)}{each}" for each in told]


def _short(value: float) -> str:
    """Write a number in six digits, or all before the point."""
    return f"{value:.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:.6g}"
