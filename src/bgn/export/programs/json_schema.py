"""What a row must look like, as a JSON Schema."""

from __future__ import annotations

import json
import os
from typing import Any

from bgn.export.plan import ExportPlan, Input, plan, write_file


def to_json_schema(model: Any, path: str | os.PathLike[str] | None = None) -> str:
    """Write what a row must look like for a model to predict it, as a JSON Schema (2020-12).

    Parameters
    ----------
    model : Network or fitted estimator
    path : str or path-like, optional
        File to write, whole or not at all.

    Returns
    -------
    str
        An object with a property per column that is read. Columns that may be missing, or null, are not required. A
        categorical column lists its categories; one never seen counts as missing, so send null for it.

    Examples
    --------
    >>> import bgn, json
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0]], [-65.5])], [0.5], 1.0, ["income", "age"], "value")
    >>> schema = json.loads(bgn.export.to_json_schema(network))
    >>> schema["properties"], schema["required"]
    ({'income': {'type': 'number'}}, ['income'])
    """
    planned = plan(model)
    by_raw: dict[str, list[Input]] = {}
    for given in planned.inputs:
        by_raw.setdefault(given.raw, []).append(given)
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A row to predict {planned.target} of",
        "type": "object",
        "properties": {raw: _property(planned, some) for raw, some in by_raw.items()},
        "required": [raw for raw, some in by_raw.items() if any(given.refuses for given in some)],
    }
    return write_file(json.dumps(schema, indent=2, ensure_ascii=True) + "\n", path)


def _property(planned: ExportPlan, some: list[Input]) -> dict[str, Any]:
    """Return what is said of one column of a raw dataset."""
    first, optional = some[0], not any(given.refuses for given in some)
    column = planned.network.schema.columns[first.place]
    if first.categories is not None:
        return {"enum": [*first.categories, *[None] * optional]}
    kind, more = "number", {}
    if first.made is not None and first.made.part == "duration":
        more = {"description": "in days"}
    elif first.made is not None:
        kind, more = "string", {"format": "time" if first.made.part == "time" else "date-time"}
    described = [f"in {column.unit}"] if column.unit else []
    if column.seen is not None and first.made is None:
        described.append(f"seen from {column.seen[0]!r} to {column.seen[1]!r}")
    if described:
        more["description"] = ", ".join(described)
    return {"type": [kind, "null"] if optional else kind} | more
