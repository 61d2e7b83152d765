"""Files of version 1, which bgn 0.1.0 wrote, told in the words of version 2."""

from __future__ import annotations

from typing import Any

from bgn.inputs.file_format import USUAL_MISSING_VALUES
from bgn.model.dates import TimePart
from bgn.model.schema import Column, category_name
from bgn.persist import strict
from bgn.persist.strict import ModelFileError, Reader

_KEYS = (
    "format", "version", "library", "kind", "feature_names", "target_name", "units", "settings", "network", "history",
    "figures", "preparation", "checks",
)  # fmt: skip
# What 0.1.0 did, which kept the numbers that growth found.
_SETTINGS = {"digits": None, "simplicity": 0.0, "max_linear": 0, "cv": None, "categorical_features": "from_dtype"}
_SETTINGS |= dict.fromkeys(("monotonic_cst", "interaction_cst", "bounds", "task")) | {"n_networks": 1, "sweeps": 0}


def upgraded(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file of version 1 as version 2 has it; what both have in common is not looked at."""
    found = strict.record(content, "", dict.fromkeys(_KEYS, strict.anything))
    names, target = found.pop("feature_names"), found.pop("target_name")
    inputs, network = _network(found["network"])
    columns = inputs if names is None else strict.array(strict.text, inputs)(names, "feature_names")
    found |= {"schema": {"columns": columns, "target": target}, "network": network}
    if isinstance(settings := found["settings"], dict):
        found["settings"] = _SETTINGS | settings
    if isinstance(columns := found["preparation"], list):
        found["preparation"] = {"decimal": ".", "gaps": list(USUAL_MISSING_VALUES), "columns": columns}
    if isinstance(history := found["history"], dict):
        below = _layers(history.get("inputs"), "history.inputs")
        if isinstance(paths := history.get("paths"), list) and len(below) == len(paths) > 0:
            below.pop()  # 0.1.0 kept it even where growth was interrupted before that layer's first step
        found["history"] = history | {"inputs": below}
    return found


def _network(value: Any) -> tuple[int, dict[str, Any]]:
    """Return the number of inputs and the rest of a network."""
    parts = {
        "inputs": strict.whole(2**63),
        "layers": _layers,
        "output_weights": strict.anything,
        "base": strict.anything,
    }
    found = strict.record(value, "network", parts)
    return found.pop("inputs"), found


def _neuron(value: Any, where: str) -> dict[str, Any]:
    parts = {"columns": strict.anything, "weights": strict.array(strict.number), "bias": strict.number}
    found = strict.record(value, where, parts)
    return found | {"threshold": -found.pop("bias") + 0.0}


_layers = strict.array(strict.array(_neuron))


# -- preparation: every column of a table became numbers ----------------------------------------------------------

_PARTS = ("year", "month", "day", "weekday", "hour")


def _values(value: Any, where: str) -> list[Any]:
    """Return what a category held: words, or numbers."""
    words = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return strict.array(strict.text if words else strict.number)(value, where)


_KINDS: dict[str, dict[str, Reader[Any]]] = {
    "number": {"boolean": strict.boolean, "fill": strict.optional(strict.number)},
    "category": {"values": _values, "fill": strict.anything},
    "date": {
        "parts": strict.array(strict.text), "format": strict.optional(strict.text),
        "fill": strict.optional(strict.array(strict.number)), "zone": strict.optional(strict.boolean),
    },
}  # fmt: skip


def columns_of(value: Any, where: str) -> tuple[tuple[Column, ...], str | None]:
    """Return the numbers that a column became, with what is imputed for each, and how its dates were written."""
    kind = strict.obj(value, where).get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise strict.refuse(f"{where}.kind", "'number', 'category' or 'date'", kind)
    parts: dict[str, Reader[Any]] = {"kind": strict.text, "column": strict.text}
    found = strict.record(value, where, parts | _KINDS[kind], optional=("zone",))
    name, fill = found["column"], found["fill"]
    if kind == "number":
        truth = found["boolean"]
        return (Column(name, typical=fill, seen=(0.0, 1.0) if truth else None, whole=truth),), None
    if kind == "category":
        values = found["values"]
        if len(set(values)) < len(values) or (fill is not None and fill not in values):
            raise ModelFileError(f"{where} must have different values and fill one of them.")
        typical = [None if fill is None else float(each == fill) for each in values]
        pairs = zip(values, typical, strict=True)
        return tuple(Column(f"{name} = {category_name(v)}", category_of=(name, v), typical=x) for v, x in pairs), None
    if any(part not in _PARTS for part in found["parts"]):
        raise ModelFileError(f"{where}.parts must be some of {', '.join(_PARTS)}.")
    if fill is not None and len(fill) != len(found["parts"]):
        raise ModelFileError(f"{where}.fill must have {len(found['parts'])} entries; got {len(fill)}.")
    zone = "UTC" if found.get("zone") else None
    pairs = zip(found["parts"], fill or [None] * len(found["parts"]), strict=True)
    made = ((TimePart(name, part, zone=zone), x) for part, x in pairs)
    return tuple(Column(part.name, part_of=part, typical=x) for part, x in made), found["format"]
