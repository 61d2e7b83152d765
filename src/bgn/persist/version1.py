"""Files of version 1, which bgn 0.1.0 wrote, told in the words of version 2."""

from __future__ import annotations

from typing import Any

from bgn.inputs.file_format import USUAL_GAPS
from bgn.persist import strict

_KEYS = (
    "format", "version", "library", "kind", "feature_names", "target_name", "units", "settings", "network", "history",
    "figures", "preparation", "checks",
)  # fmt: skip
# What 0.1.0 did, which kept the numbers that growth found.
_SETTINGS = {"digits": None, "simplicity": 0.0, "categorical_features": "from_dtype"}


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
        found["preparation"] = {"decimal": ".", "gaps": list(USUAL_GAPS), "columns": columns}
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
