"""A SELECT built up in stages, each a named query over the one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bgn.export.programs.sql_dialects import Dialect

_MOST_ARGUMENTS = 100  # of a function; SQLite has room for 127


class Stages:
    """Queries ``stage_0``, ``stage_1``, ..., each with all columns of the one before and some more.

    Columns of the table are kept under names of their own, which collide with none of ours; so does the table's.
    """

    def __init__(self, dialect: Dialect, table: tuple[str, ...], keep: tuple[str, ...]) -> None:
        self.dialect, self.keep = dialect, keep
        self._source = ".".join(map(dialect.name, table))
        self._stage = "stage"
        while table[-1].casefold().startswith(self._stage):
            self._stage = f"bgn_{self._stage}"
        self._known: list[str] = []
        self._queries: list[str] = []

    def add(self, columns: Mapping[str, str], replaces: bool = False) -> None:
        """Add a stage with some more columns; with `replaces` they take the place of those of the same names."""
        if not columns and self._queries:
            return
        kept = [name for name in self._known if name not in columns]
        if not self._queries:
            kept = [f"{self.dialect.name(name)} AS keep_{k}" for k, name in enumerate(self.keep)]
        made = [f"{written} AS {name}" for name, written in columns.items()]
        listed = ",\n    ".join(filter(None, [", ".join(kept), *made])) or "1 AS one"
        source = f"{self._stage}_{len(self._queries) - 1}" if self._queries else self._source
        self._queries.append(f"SELECT\n    {listed}\n  FROM {source}")
        own = [] if replaces else list(columns)
        first = [f"keep_{k}" for k in range(len(self.keep))] if not self._known and len(self._queries) == 1 else []
        self._known += [*first, *own]

    def greatest(self, values: Sequence[str]) -> str:
        """Write the largest of some values."""
        parts = list(values)
        while len(parts) > 1:
            groups = [parts[k : k + _MOST_ARGUMENTS] for k in range(0, len(parts), _MOST_ARGUMENTS)]
            parts = [each[0] if len(each) == 1 else f"{self.dialect.greatest}({', '.join(each)})" for each in groups]
        return parts[0]

    def select(self, outputs: Mapping[str, str]) -> str:
        """Write the whole: what was kept, and the outputs by name."""
        name = self.dialect.name
        taken, listed = set(self.keep), [f"keep_{k} AS {name(each)}" for k, each in enumerate(self.keep)]
        for title, written in outputs.items():
            while title in taken:
                title += " of bgn"
            taken.add(title)
            listed.append(f"{written} AS {name(title)}")
        stages = ",\n".join(
            f"{self._stage}_{k} {self.dialect.staged} (\n  {query}\n)" for k, query in enumerate(self._queries)
        )
        columns = ",\n  ".join(listed)
        return f"WITH {stages}\nSELECT\n  {columns}\nFROM {self._stage}_{len(self._queries) - 1}"
