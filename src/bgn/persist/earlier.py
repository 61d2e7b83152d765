"""Files of earlier versions, told in the words of version 3: version 1 first in those of version 2.

Version 1 is what bgn 0.1.0 wrote: numbers alone, and a table's columns as each became some of them. In version 2 a
network is layers of neurons with output weights and a base, slopes beside them, and levels and gaps are what categories
and missing values are called since. What all versions have in common is not looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bgn.inputs.file_format import USUAL_MISSING_VALUES
from bgn.model.dates import TimePart
from bgn.model.schema import Column, Schema, category_name
from bgn.persist import strict
from bgn.persist.network import schema_out
from bgn.persist.strict import ModelFileError, Reader

Plain = dict[str, Any]


def upgraded(content: Plain, version: int) -> Plain:
    """Return the content of a file of version 1 or 2 as version 3 has it."""
    content = _from_version_1(content) if version == 1 else content
    found, schema = dict(content), content.get("schema")
    n_inputs = 0
    if isinstance(schema, dict):
        columns = schema.get("columns")
        n_inputs = len(columns) if isinstance(columns, list) else columns if isinstance(columns, int) else 0
        found["schema"] = schema | {"columns": _columns(columns, "schema.columns")}
    found["network"] = _network(content.get("network"), "network", n_inputs)
    if isinstance(settings := content.get("settings"), dict):
        found["settings"] = _settings(settings)
    if isinstance(history := content.get("history"), dict):
        found["history"] = _history(history, "history")
    if isinstance(preparation := content.get("preparation"), dict | list):
        found["preparation"] = _preparation(preparation, "preparation")
    if isinstance(intervals := content.get("intervals"), dict):
        found["intervals"] = _intervals(intervals, "intervals", n_inputs)
    return found


def _renamed(value: Any, where: str, names: Mapping[str, str]) -> Any:
    """Return an object with some keys renamed; what is no object is refused elsewhere."""
    if not isinstance(value, dict):
        return value
    for new in names.values():
        if new in value:
            raise ModelFileError(f"{where} has the unknown key {new!r}.")
    return {names.get(key, key): part for key, part in value.items()}


# -- version 2: settings and columns ------------------------------------------------------------------------------

_GROWTH = ("max_replacements", "sweeps", "patience", "simplicity")  # parameters of their own once
_PARAMETERS = {"max_width": "max_terms", "n_networks": "ensemble"}


def _settings(value: Plain) -> Plain:
    found = _renamed(value, "settings", _PARAMETERS)
    own = {name: found.pop(name) for name in _GROWTH if name in found}
    return found | {"growth": own} if own else found


def _columns(value: Any, where: str) -> Any:
    if not isinstance(value, list):
        return value
    names = {"levels": "categories", "level_of": "category_of"}
    return [_renamed(column, f"{where}[{k}]", names) for k, column in enumerate(value)]


def _preparation(value: Plain | list[Any], where: str) -> Plain:
    """Return a preparation whose columns are those of a network; in version 1 they say how each was made."""
    value = {"decimal": ".", "columns": value} if isinstance(value, list) else value
    found = _renamed(value, where, {"gaps": "missing_values"})
    if isinstance(columns := found.get("columns"), list):
        made: list[Any] = []
        for k, column in enumerate(columns):
            if isinstance(column, dict) and "kind" in column:
                own, form = columns_made_of(column, f"{where}.columns[{k}]")
                made += schema_out(Schema(own))["columns"]
                found["date_format"] = form if found.get("date_format") is None else found["date_format"]
            else:
                made += _columns([column], f"{where}.columns")
        found["columns"] = made
    return found


def _intervals(value: Plain, where: str, n_inputs: int) -> Plain:
    found = _renamed(value, where, {"spread": "scale"})
    if "scale" in found:
        found["scale"] = _renamed(found["scale"], f"{where}.spread", {"centres": "centers"})
    if isinstance(folds := found.get("folds"), list):
        found["folds"] = [_network(fold, f"{where}.folds[{k}]", n_inputs) for k, fold in enumerate(folds)]
    return found


# -- version 2: networks ------------------------------------------------------------------------------------------


def _oblique(value: Any, where: str) -> Any:
    return _renamed(value, where, {"weights": "coefficients", "gaps": "missing_as"})


_layers = strict.array(strict.array(_oblique))


def _network(value: Any, where: str, n_inputs: int) -> Plain:
    """Return a network term by term: its linear terms by column, then the neurons of its last layer."""
    parts: dict[str, Reader[Any]] = dict.fromkeys(("link", "output_weights", "base", "bounds"), strict.anything)
    parts |= {"layers": _layers, "slopes": strict.anything, "ranges": strict.anything, "members": strict.anything}
    optional = ("link", "slopes", "ranges", "bounds", "members")
    found = strict.record(value, where, parts, optional=optional)
    if not (layers := found["layers"]):
        raise ModelFileError(f"{where}.layers must hold at least one layer.")
    several = found.get("link") == "softmax"
    weights = strict.array(_of_outputs(several), len(layers[-1]))(found["output_weights"], f"{where}.output_weights")
    members, ends = _members(found.get("members"), f"{where}.members", several, n_inputs)
    slopes = _slopes(found, where, several, n_inputs)
    ends = strict.array(strict.anything, n_inputs)(found["ranges"], f"{where}.ranges") if "ranges" in found else ends
    linear = sorted({*slopes, *(column for one in members for column in one["slopes"])})
    base = _of_outputs(several)(found["base"], f"{where}.base")
    none = [0.0] * len(base)
    terms: list[Plain] = [
        {"coef": slopes.get(column, none), "linear": column, "ends": ends[column] if ends else None}
        for column in linear
    ]
    terms += [
        {"coef": coef, "conditions": [neuron], "otherwise": -1.0}
        for coef, neuron in zip(weights, layers[-1], strict=True)
    ]
    plain: Plain = {name: found[name] for name in ("link", "bounds") if name in found}
    plain |= {"layers": layers[:-1], "intercept": base, "terms": terms}
    if "members" in found:
        plain["ensemble"] = [
            {
                "intercept": one["base"],
                "terms": [*map(linear.index, one["slopes"]), *(len(linear) + k for k in one["neurons"])],
                "coef": [*one["slopes"].values(), *one["output_weights"]],
            }
            for one in members
        ]
    return plain


def _of_outputs(several: bool) -> Reader[list[float]]:
    """Return the reader of a number for each output: a list of them, or one number alone."""
    return strict.array(strict.number) if several else lambda value, where: [strict.number(value, where)]


def _slopes(found: Plain, where: str, several: bool, n_inputs: int) -> dict[int, list[float]]:
    """Return what columns add per unit, by column, where that is anything."""
    if "slopes" not in found:
        return {}
    slopes = strict.array(_of_outputs(several), n_inputs)(found["slopes"], f"{where}.slopes")
    return {column: slope for column, slope in enumerate(slopes) if any(slope)}


def _members(value: Any, where: str, several: bool, n_inputs: int) -> tuple[list[Plain], list[Any]]:
    """Return what the networks behind a mean give its neurons and columns, and the ends of their slopes."""
    if value is None:
        return [], []
    readers = {"networks": strict.array(strict.anything), "ranges": strict.array(strict.anything, n_inputs)}
    found = strict.record(value, where, readers, optional=("ranges",))
    one = _of_outputs(several)
    parts: dict[str, Reader[Any]] = {
        "base": one, "neurons": strict.array(strict.whole(2**63)), "output_weights": strict.array(one),
        "slopes": strict.anything,
    }  # fmt: skip
    members = []
    for k, network in enumerate(found["networks"]):
        own = strict.record(network, f"{where}.networks[{k}]", parts, optional=("slopes",))
        members.append(own | {"slopes": _slopes(own, f"{where}.networks[{k}]", several, n_inputs)})
    return members, found.get("ranges", [])


def _history(value: Plain, where: str) -> Plain:
    """Return how a network grew, or each of several."""
    found = _renamed(value, where, {"best_width": "best_size", "members": "networks", "inputs": "layers"})
    if isinstance(stopped := found.get("stopped"), str):
        found["stopped"] = _PARAMETERS.get(stopped, stopped)
    if isinstance(networks := found.get("networks"), list):
        found["networks"] = [
            _history(one, f"{where}.members[{k}]") if isinstance(one, dict) else one for k, one in enumerate(networks)
        ]
        return found
    if "layers" in found:
        found["layers"] = _layers(found["layers"], f"{where}.inputs")
    steps = found.get("steps")
    if isinstance(steps, dict) and isinstance(fields := steps.get("fields"), list):
        names = {"width": "n_terms", "neuron": "term"}
        found["steps"] = steps | {"fields": [names.get(str(field), field) for field in fields]}
    if isinstance(paths := found.get("paths"), list):
        found["paths"] = [_path(path, f"{where}.paths[{k}]") for k, path in enumerate(paths)]
    return found


def _path(value: Any, where: str) -> Any:
    found = _renamed(value, where, {"neurons": "conditions"})
    if not isinstance(found, dict):
        return found
    if isinstance(neurons := found.get("conditions"), list):
        found["conditions"] = [_oblique(neuron, f"{where}.neurons[{k}]") for k, neuron in enumerate(neurons)]
    if isinstance(snapshots := found.get("snapshots"), list):
        found["snapshots"] = [_snapshot(one, f"{where}.snapshots[{k}]") for k, one in enumerate(snapshots)]
    return found


def _snapshot(value: Any, where: str) -> Any:
    names = {"base": "intercept", "neurons": "conditions", "output_weights": "coef", "linear_terms": "linear"}
    found = _renamed(value, where, names)
    if not isinstance(found, dict):
        return found
    if isinstance(base := found.get("intercept"), int | float):  # one output, whose numbers stood alone
        found["intercept"] = [base]
        if isinstance(weights := found.get("coef"), list):
            found["coef"] = [[weight] for weight in weights]
    return found


# -- version 1 ----------------------------------------------------------------------------------------------------

_KEYS = (
    "format", "version", "library", "kind", "feature_names", "target_name", "units", "settings", "network", "history",
    "figures", "preparation", "checks",
)  # fmt: skip
# What 0.1.0 did, which kept the numbers that growth found.
_SETTINGS = {"digits": None, "simplicity": 0.0, "max_linear": 0, "cv": None, "categorical_features": "from_dtype"}
_SETTINGS |= dict.fromkeys(("monotonic_cst", "interaction_cst", "bounds", "task")) | {"n_networks": 1, "sweeps": 0}


def _from_version_1(content: Plain) -> Plain:
    """Return the content of a file of version 1 as version 2 has it."""
    found = strict.record(content, "", dict.fromkeys(_KEYS, strict.anything))
    names, target = found.pop("feature_names"), found.pop("target_name")
    parts: dict[str, Reader[Any]] = {
        "inputs": strict.whole(2**63), "layers": _biased_layers, "output_weights": strict.anything,
        "base": strict.anything,
    }  # fmt: skip
    network = strict.record(found["network"], "network", parts)
    inputs = network.pop("inputs")
    columns = inputs if names is None else strict.array(strict.text, inputs)(names, "feature_names")
    found |= {"schema": {"columns": columns, "target": target}, "network": network}
    if isinstance(settings := found["settings"], dict):
        found["settings"] = _SETTINGS | settings
    if isinstance(columns := found["preparation"], list):
        found["preparation"] = {"decimal": ".", "gaps": list(USUAL_MISSING_VALUES), "columns": columns}
    if isinstance(history := found["history"], dict):
        below = _biased_layers(history.get("inputs"), "history.inputs")
        if isinstance(paths := history.get("paths"), list) and len(below) == len(paths) > 0:
            below.pop()  # 0.1.0 kept it even where growth was interrupted before that layer's first step
        found["history"] = history | {"inputs": below}
    return found


def _biased(value: Any, where: str) -> Plain:
    parts = {"columns": strict.anything, "weights": strict.array(strict.number), "bias": strict.number}
    found = strict.record(value, where, parts)
    return found | {"threshold": -found.pop("bias") + 0.0}


_biased_layers = strict.array(strict.array(_biased))


# -- version 1: every column of a table became numbers ------------------------------------------------------------

_PARTS = ("year", "month", "day", "weekday", "hour")


def _values(value: Any, where: str) -> list[Any]:
    """Return what a category held: words, or numbers."""
    words = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return strict.array(strict.text if words else strict.number)(value, where)


_KINDS: dict[str, dict[str, Reader[Any]]] = {
    "number": {"boolean": strict.boolean, "fill": strict.optional(strict.number)},
    "category": {"values": _values, "fill": strict.anything},
    "date": {
        "parts": strict.array(strict.text), "format": strict.optional(strict.text),
        "fill": strict.optional(strict.array(strict.number)), "zone": strict.optional(strict.boolean),
    },
}  # fmt: skip


def columns_made_of(value: Plain, where: str) -> tuple[tuple[Column, ...], str | None]:
    """Return the numbers that a column became, with what is imputed for each, and how its dates were written."""
    kind = value["kind"]
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
        typical = [None if fill is None else float(one == fill) for one in values]
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
