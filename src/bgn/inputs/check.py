"""``bgn.check``: a first look at a raw table, what its columns are, and what may be wrong with them."""

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
    from bgn.inputs.findings import Finding, Known
    from bgn.inputs.survey import ColumnFacts

_LINE, _NAME = 96, 28  # letters
_TITLES = ("column", "kind", "missing", "different", "values")


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
    """Look at a raw table before a fit.

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
    >>> checked = bgn.check(raw, target="miles")
    >>> [(finding.what, finding.columns) for finding in checked.findings]
    [('leak', ('id',)), ('leak', ('km',)), ('id', ('id',)), ('words', ('sex',))]
    >>> print(checked.findings[-1])
    'sex' has texts that nearly agree: 'M' = 'm '. If they mean the same, write them alike.
    """
    chosen("task", task, (None, "regression", "classification"))
    require("pyarrow", extra="parquet")
    from bgn.inputs.files import open_any

    form = FileFormat(sep, decimal, thousands, sheet, date_format, tuple(missing_values), header)
    return check_opened(*open_any(data, form), target, task, date_format)


def check_opened(
    table: RawTable, origin: str, target: str | None, task: str | None = None, date_format: str | None = None
) -> TableCheck:
    """Look at a table that is open, and close it."""
    from bgn.inputs.findings import Finding, Known, all_findings
    from bgn.inputs.survey import survey

    try:
        if target is not None:
            check_there([target], table.names, origin, table.reading.notes)
        (part, rows, step), reading = table.look(table.names), table.reading
    finally:
        table.close()
    columns = survey(part, {written.column: written.unit for written in reading.written})
    predicted = next((column for column in columns if column.name == target), None)
    # What is in doubt of a column comes before what it may be.
    findings = [Finding("reading", (name,), text, "", "serious") for name, text in reading.problems.items()]
    for finding in all_findings(columns, predicted, Known(task, reading.header, date_format=date_format)):
        if not finding.columns or not reading.problems.keys() >= {*finding.columns}:
            findings.append(finding)
    findings.sort(key=lambda finding: finding.severity != "serious")
    notes = list(reading.notes)
    if step > 1:
        looked_at = f"of {rows:,} rows one in {step} was looked at, {part.num_rows:,} in all"
        notes.insert(0, f"{looked_at}: counts and findings are of these.")
    facts = tuple(column.facts() for column in columns)
    return TableCheck(origin, rows, facts, tuple(findings), tuple(notes), target, part.num_rows)


@dataclass(frozen=True)
class TableCheck:
    """What :func:`check` has to say.

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
        return tuple(finding for finding in self.findings if finding.severity == "serious")

    def as_plain(self) -> dict[str, Any]:
        """Return plain values, as for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [self._size(), ""]
        table = [_TITLES, *map(self._cells, self.columns)]
        most = [max(len(row[k]) for row in table) for k in range(4)]
        for name, kind, missing, different, values in table:
            start = f"{name:<{most[0]}}  {kind:<{most[1]}}  {missing:>{most[2]}}  {different:>{most[3]}}  "
            space = _LINE - len(start)
            if len(values) > space:  # as many as there is space for
                whole = values[: max(0, space - 5)].rpartition(", ")[0]
                values = f"{whole}, ..." if whole else clean(values, max(12, space))
            lines.append(f"{start}{values}".rstrip())
        for title, texts in self._sections():
            lines += ["", title]
            for text in texts:
                lines += textwrap.wrap(
                    clean(text, 600), _LINE, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False
                )
        return visible("\n".join(lines))

    def to_frame(self) -> Any:
        """Return a pandas frame: one row per column, as in print.

        Returns
        -------
        pandas.DataFrame
        """
        return require("pandas", extra="cli").DataFrame(map(self._cells, self.columns), columns=list(_TITLES))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{title}</th>" for title in _TITLES)
        rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in self._cells(facts)) for facts in self.columns)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        sections = ""
        for title, texts in self._sections():
            items = "".join(f"<li>{html.escape(visible(text))}</li>" for text in texts)
            sections += f"<p>{title}</p><ul>{items}</ul>"
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p>{html.escape(self._size())}</p>{table}{sections}"

    def _size(self) -> str:
        rows, columns = self.rows, len(self.columns)
        return f"{clean(self.origin, 60)}: {rows:,} row{'s' * (rows != 1)}, {columns} column{'s' * (columns != 1)}"

    def _cells(self, facts: ColumnFacts) -> tuple[str, str, str, str, str]:
        kind = f"{facts.kind}{', ' * bool(facts.unit)}{facts.unit}{' (target)' * (facts.name == self.target)}"
        rows, missing = self.rows if self.looked_at is None else self.looked_at, "-"
        if facts.missing:
            percent = f"{min(max(100 * facts.missing / rows, 0.1), 99.9):.1f}%"
            missing = "all" if facts.missing == rows else percent
        values = ", ".join(facts.examples) + ", ..." * (facts.different > len(facts.examples))
        if facts.kind in ("number", "whole number", "date", "time") and facts.low is not None:
            low, high = (_short(end) if isinstance(end, float) else str(end) for end in (facts.low, facts.high))
            values = f"{low} to {high}"
        return quote_name(facts.name, _NAME), kind, missing, f"{facts.different:,}", values

    def _sections(self) -> list[tuple[str, list[str]]]:
        """Return the texts that follow the table, title by title."""
        others = [str(finding) for finding in self.findings if finding.severity != "serious"]
        sections = [("Serious:", list(map(str, self.serious))), ("Worth a look:", others)]
        sections.append(("How it was read:", list(self.notes)))
        filled = [(title, texts) for title, texts in sections if texts]
        return filled if self.findings else [("Nothing odd was found.", []), *filled]


def _short(value: float) -> str:
    return f"{value:.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:.6g}"


def fit_notes(table: pa.Table, features: Sequence[str], target: str | None, known: Known, where: str = "") -> list[str]:
    """Return what a user should know before a fit to some columns of a table; `where` opens what is said of columns."""
    from bgn.inputs.findings import findings_at_fit
    from bgn.inputs.survey import survey

    columns = survey(table.select([*features, *([] if target is None else [target])]))
    predicted = next((column for column in columns if column.name == target), None)
    findings = findings_at_fit(columns, predicted, known)
    wanted = [finding for finding in findings if finding.what != "id" or finding.columns[0] not in known.categorical]
    return [f"{where * bool(finding.columns)}{finding}" for finding in wanted]
