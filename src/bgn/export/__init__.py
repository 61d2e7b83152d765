"""A model written for somewhere else: one file per format, each built from the model's terms or its plan.

Equations and cards are made of the model's terms: a class beside :class:`bgn.export.styles.Text`, and its line in
:data:`bgn.export.styles.FORMATS`. Programs are made of the model's plan (:mod:`bgn.export.plan`): a
function ``to_...`` in a file of its own in ``programs``, its line here and in :data:`bgn.export.TARGETS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bgn.export as exports
from bgn.require import lazy_names

if TYPE_CHECKING:
    from bgn.export.programs.c import to_c as to_c
    from bgn.export.programs.excel import to_excel as to_excel
    from bgn.export.programs.javascript import to_javascript as to_javascript
    from bgn.export.programs.json_schema import to_json_schema as to_json_schema
    from bgn.export.programs.onnx import to_onnx as to_onnx
    from bgn.export.programs.pmml import to_pmml as to_pmml
    from bgn.export.programs.python import to_python as to_python
    from bgn.export.programs.sql import to_sql as to_sql

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "bgn.export.programs.c": "to_c",
        "bgn.export.programs.excel": "to_excel",
        "bgn.export.programs.javascript": "to_javascript",
        "bgn.export.programs.json_schema": "to_json_schema",
        "bgn.export.programs.onnx": "to_onnx",
        "bgn.export.programs.pmml": "to_pmml",
        "bgn.export.programs.python": "to_python",
        "bgn.export.programs.sql": "to_sql",
    },
)


# -- Which formats of programs there are, by the names that the command line knows.


@dataclass(frozen=True)
class Target:
    """A format: what writes it, the options that it takes beside a model and a path, and whether it is text."""

    function: str
    options: tuple[str, ...] = ()
    text: bool = True

    @property
    def write(self) -> Callable[..., str | bytes]:
        """The function."""
        return getattr(exports, self.function)


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
