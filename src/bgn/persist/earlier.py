"""Files of earlier versions, in the words of version 3: version 1 first in those of version 2.

Version 1 is what bgn 0.1.0 wrote: numbers alone, and a table's columns as each became some of them. In version 2 a
network is layers of neurons with output weights and a base, with slopes, and levels and gaps are what categories and
missing values are called since. What all versions have in common is not looked at here.
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
    content = dict(_from_version_1(content) if version == 1 else content)
    n_inputs = 0
    if isinstance(schema := content.get("schema"), dict):
        columns = schema.get("columns")
        n_inputs = len(columns) if isinstance(columns, list) else columns if isinstance(columns, int) else 0
        content["schema"] = schema | {"columns": _columns(columns, "schema.columns")}
    content["network"] = _network(content.get("network"), "network", n_inputs)
    if isinstance(settings := content.get("settings"), dict):
        settings = _renamed(settings, "settings", _PARAMETERS)
        growth = {name: settings.pop(name) for name in _GROWTH if name in settings}
        content["settings"] = settings | ({"growth": growth} if growth else {})
    if isinstance(history := content.get("history"), dict):
        content["history"] = _history(history, "history")
    if isinstance(preparation := content.get("preparation"), dict | list):
        content["preparation"] = _preparation(preparation, "preparation")
    if isinstance(intervals := content.get("intervals"), dict):
        intervals = content["intervals"] = _renamed(intervals, "intervals", {"spread": "scale"})
        if "scale" in intervals:
            intervals["scale"] = _renamed(intervals["scale"], "intervals.spread", {"centres": "centers"})
        if isinstance(folds := intervals.get("folds"), list):
            networks = (_network(fold, f"intervals.folds[{k}]", n_inputs) for k, fold in enumerate(folds))
            intervals["folds"] = list(networks)
    return content


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


def _columns(value: Any, where: str) -> Any:
    if not isinstance(value, list):
        return value
    names = {"levels": "categories", "level_of": "category_of"}
    return [_renamed(column, f"{where}[{k}]", names) for k, column in enumerate(value)]


def _preparation(value: Any, where: str) -> Plain:
    """Return a preparation whose columns are those of a network; in version 1 they say how each was made."""
    value = {"decimal": ".", "columns": value} if isinstance(value, list) else value
    value = _renamed(value, where, {"gaps": "missing_values"})
    if isinstance(columns := value.get("columns"), list):
        value["columns"] = []
        for k, column in enumerate(columns):
            if isinstance(column, dict) and "kind" in column:
                own, form = columns_made_of(column, f"{where}.columns[{k}]")
                value["columns"] += schema_out(Schema(own))["columns"]
                value["date_format"] = form if value.get("date_format") is None else value["date_format"]
            else:
                value["columns"] += _columns([column], f"{where}.columns")
    return value


# -- version 2: networks ------------------------------------------------------------------------------------------


def _oblique(value: Any, where: str) -> Any:
    return _renamed(value, where, {"weights": "coefficients", "gaps": "missing_as"})


_layers = strict.array(strict.array(_oblique))


def _network(value: Any, where: str, n_inputs: int) -> Plain:
    """Return a network term by term: its linear terms by column, then the conditions of its last layer."""
    parts: dict[str, Reader[Any]] = dict.fromkeys(("link", "output_weights", "base", "bounds"), strict.anything)
    parts |= {"layers": _layers, "slopes": strict.anything, "ranges": strict.anything, "members": strict.anything}
    optional = ("link", "slopes", "ranges", "bounds", "members")
    old = strict.record(value, where, parts, optional=optional)
    if not (layers := old["layers"]):
        raise ModelFileError(f"{where}.layers must hold at least one layer.")
    # A number for each output: a list of them, or one number alone.
    several = old.get("link") == "softmax"
    numbers: Reader[list[float]] = strict.array(strict.number)
    numbers = numbers if several else lambda value, where: [strict.number(value, where)]
    weights = strict.array(numbers, len(layers[-1]))(old["output_weights"], f"{where}.output_weights")

    def linear_in(own: Plain, where: str) -> dict[int, list[float]]:
        # What columns add per unit, where that is anything.
        if "slopes" not in own:
            return {}
        per_unit = strict.array(numbers, n_inputs)(own["slopes"], f"{where}.slopes")
        return {column: coef for column, coef in enumerate(per_unit) if any(coef)}

    members, ends = list[Plain](), list[Any]()
    if old.get("members") is not None:
        readers = {"networks": strict.array(strict.anything), "ranges": strict.array(strict.anything, n_inputs)}
        ensemble = strict.record(old["members"], f"{where}.members", readers, optional=("ranges",))
        ends = ensemble.get("ranges", [])
        fields: dict[str, Reader[Any]] = {
            "base": numbers, "neurons": strict.array(strict.whole(2**63)), "output_weights": strict.array(numbers),
            "slopes": strict.anything,
        }  # fmt: skip
        for k, network in enumerate(ensemble["networks"]):
            place = f"{where}.members.networks[{k}]"
            own = strict.record(network, place, fields, optional=("slopes",))
            members.append(own | {"slopes": linear_in(own, place)})
    linear_coef = linear_in(old, where)
    ends = strict.array(strict.anything, n_inputs)(old["ranges"], f"{where}.ranges") if "ranges" in old else ends
    linear = sorted({*linear_coef, *(column for one in members for column in one["slopes"])})
    intercept = numbers(old["base"], f"{where}.base")
    terms: list[Plain] = []
    for column in linear:
        coef = linear_coef.get(column, [0.0] * len(intercept))
        terms.append({"coef": coef, "linear": column, "ends": ends[column] if ends else None})
    for coef, condition in zip(weights, layers[-1], strict=True):
        terms.append({"coef": coef, "conditions": [condition], "otherwise": -1.0})
    plain: Plain = {name: old[name] for name in ("link", "bounds") if name in old}
    plain |= {"layers": layers[:-1], "intercept": intercept, "terms": terms}
    if "members" in old:
        plain["ensemble"] = [
            {
                "intercept": one["base"],
                "terms": [*map(linear.index, one["slopes"]), *(len(linear) + k for k in one["neurons"])],
                "coef": [*one["slopes"].values(), *one["output_weights"]],
            }
            for one in members
        ]
    return plain


def _history(value: Plain, where: str) -> Plain:
    """Return how a network grew, or each of several."""
    value = _renamed(value, where, {"best_width": "best_size", "members": "networks", "inputs": "layers"})
    if isinstance(stopped := value.get("stopped"), str):
        value["stopped"] = _PARAMETERS.get(stopped, stopped)
    if isinstance(networks := value.get("networks"), list):
        value["networks"] = [
            _history(one, f"{where}.members[{k}]") if isinstance(one, dict) else one for k, one in enumerate(networks)
        ]
        return value
    if "layers" in value:
        value["layers"] = _layers(value["layers"], f"{where}.inputs")
    steps = value.get("steps")
    if isinstance(steps, dict) and isinstance(fields := steps.get("fields"), list):
        names = {"width": "n_terms", "neuron": "term"}
        value["steps"] = steps | {"fields": [names.get(str(field), field) for field in fields]}
    if isinstance(paths := value.get("paths"), list):
        value["paths"] = [_path(path, f"{where}.paths[{k}]") for k, path in enumerate(paths)]
    return value


def _path(value: Any, where: str) -> Any:
    value = _renamed(value, where, {"neurons": "conditions"})
    if not isinstance(value, dict):
        return value
    if isinstance(conditions := value.get("conditions"), list):
        value["conditions"] = [_oblique(one, f"{where}.neurons[{k}]") for k, one in enumerate(conditions)]
    if isinstance(snapshots := value.get("snapshots"), list):
        value["snapshots"] = [_snapshot(one, f"{where}.snapshots[{k}]") for k, one in enumerate(snapshots)]
    return value


def _snapshot(value: Any, where: str) -> Any:
    names = {"base": "intercept", "neurons": "conditions", "output_weights": "coef", "linear_terms": "linear"}
    value = _renamed(value, where, names)
    # Numbers of one output stood alone.
    if isinstance(value, dict) and isinstance(intercept := value.get("intercept"), int | float):
        value["intercept"] = [intercept]
        if isinstance(weights := value.get("coef"), list):
            value["coef"] = [[weight] for weight in weights]
    return value


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
    content = strict.record(content, "", dict.fromkeys(_KEYS, strict.anything))
    names, target = content.pop("feature_names"), content.pop("target_name")
    parts: dict[str, Reader[Any]] = {
        "inputs": strict.whole(2**63), "layers": _biased_layers, "output_weights": strict.anything,
        "base": strict.anything,
    }  # fmt: skip
    network = strict.record(content["network"], "network", parts)
    inputs = network.pop("inputs")
    columns = inputs if names is None else strict.array(strict.text, inputs)(names, "feature_names")
    content |= {"schema": {"columns": columns, "target": target}, "network": network}
    if isinstance(settings := content["settings"], dict):
        content["settings"] = _SETTINGS | settings
    if isinstance(columns := content["preparation"], list):
        content["preparation"] = {"decimal": ".", "gaps": list(USUAL_MISSING_VALUES), "columns": columns}
    if isinstance(history := content["history"], dict):
        below = _biased_layers(history.get("inputs"), "history.inputs")
        if isinstance(paths := history.get("paths"), list) and len(below) == len(paths) > 0:
            below.pop()  # 0.1.0 kept it even where growth was interrupted before that layer's first step
        content["history"] = history | {"inputs": below}
    return content


def _biased(value: Any, where: str) -> Plain:
    parts = {"columns": strict.anything, "weights": strict.array(strict.number), "bias": strict.number}
    own = strict.record(value, where, parts)
    return own | {"threshold": -own.pop("bias") + 0.0}


_biased_layers = strict.array(strict.array(_biased))


# -- version 1: every column of a table became numbers ------------------------------------------------------------

_PARTS = ("year", "month", "day", "weekday", "hour")


def _values(value: Any, where: str) -> list[Any]:
    """Return what a category held: texts, or numbers."""
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return strict.array(strict.text if texts else strict.number)(value, where)


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
    own = strict.record(value, where, parts | _KINDS[kind], optional=("zone",))
    name, fill = own["column"], own["fill"]
    if kind == "number":
        truth = own["boolean"]
        return (Column(name, typical=fill, seen=(0.0, 1.0) if truth else None, whole=truth),), None
    if kind == "category":
        values = own["values"]
        if len(set(values)) < len(values) or (fill is not None and fill not in values):
            raise ModelFileError(f"{where} must have different values and fill one of them.")
        typical = [None if fill is None else float(one == fill) for one in values]
        pairs = zip(values, typical, strict=True)
        return tuple(Column(f"{name} = {category_name(v)}", category_of=(name, v), typical=x) for v, x in pairs), None
    if any(part not in _PARTS for part in own["parts"]):
        raise ModelFileError(f"{where}.parts must be some of {', '.join(_PARTS)}.")
    if fill is not None and len(fill) != len(own["parts"]):
        raise ModelFileError(f"{where}.fill must have {len(own['parts'])} entries; got {len(fill)}.")
    zone = "UTC" if own.get("zone") else None
    pairs = zip(own["parts"], fill or [None] * len(own["parts"]), strict=True)
    made = ((TimePart(name, part, zone=zone), x) for part, x in pairs)
    return tuple(Column(part.name, part_of=part, typical=x) for part, x in made), own["format"]
