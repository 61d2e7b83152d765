"""Which formats of programs there are, by the names that the command line knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import bgn.export as exports


@dataclass(frozen=True)
class Target:
    """A format: what writes it, the options that it takes beside a model and a path, and whether it is text."""

    function: str
    options: tuple[str, ...] = ()
    text: bool = True

    @property
    def write(self) -> Callable[..., str | bytes]:
        """The function."""
        found: Callable[..., Any] = getattr(exports, self.function)
        return found


TARGETS: dict[str, Target] = {
    "python": Target("to_python", ("reasons",)),
    "javascript": Target("to_javascript"),
    "c": Target("to_c", ("name", "integers")),
    "sql": Target("to_sql", ("dialect", "table", "keep", "form", "reasons", "count")),
    "onnx": Target("to_onnx", ("inputs", "precision", "reasons", "count"), text=False),
    "excel": Target("to_excel", ("rows",), text=False),
    "pmml": Target("to_pmml", ("reasons",)),
    "json-schema": Target("to_json_schema"),
}
