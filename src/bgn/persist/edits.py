"""The log of edits, to plain values and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bgn.model.edits import Edit
from bgn.persist import strict
from bgn.persist.strict import Reader

_MOST_ROWS = 10**12


def edits_out(log: Sequence[Edit]) -> list[dict[str, Any]]:
    """Return a log as plain values; what is unknown is left out."""
    return [{name: value for name, value in asdict(edit).items() if value not in (None, "")} for edit in log]


def edits_in(value: Any, where: str) -> tuple[Edit, ...]:
    """Build a log, or say what is wrong."""
    count = strict.whole(_MOST_ROWS)
    parts: dict[str, Reader[Any]] = {
        "what": strict.text, "why": strict.text, "rows": count, "changed": count, "decisions": count,
        "before": strict.number, "after": strict.number,
    }  # fmt: skip

    def entry(each: Any, place: str) -> Edit:
        return Edit(**strict.record(each, place, parts, optional=("why", "decisions", "before", "after")))

    return tuple(strict.array(entry)(value, where))
