"""How a network grew, to plain values and back.

Each layer's neurons stand once and its snapshots, one a width, point to them. Of very many steps only the last of each
kind at every width stays, and a history that would fill the file is left out. The clock is not kept: the same fit
writes the same file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.persist import parts, strict
from bgn.persist.strict import ModelFileError

if TYPE_CHECKING:
    from bgn.grow.history import History, Record, Snapshot
    from bgn.model.neuron import Neuron

_FIELDS = ("layer", "width", "kind", "neuron", "train_mse", "validation_mse", "bound")
_MANY_STEPS = 20_000
_MOST_ENTRIES = 1_000_000
_MOST = 2**63
_MOST_SQUARED = 1e306


# -- out ----------------------------------------------------------------------------------------------------


def history_out(history: History) -> dict[str, Any] | None:
    """Return a history as plain values; None when it is too long to keep."""
    if sum(len(snapshot.neurons) for path in history.paths for snapshot in path) > _MOST_ENTRIES:
        return None
    if not _fits([len(path[-1].neurons) for path in history.paths], _reads(history.n_inputs, history.inputs)):
        return None
    return {
        "best_layer": history.best_layer,
        "best_width": history.best_width,
        "stopped": history.stopped,
        "shrinkage": history.shrinkage,
        "n_validation": history.n_validation,
        "steps": {
            "fields": list(_FIELDS),
            "values": [[_known(getattr(record, name)) for name in _FIELDS] for record in _thinned(history.records)],
        },
        "inputs": [parts.layer_out(layer) for layer in history.inputs],
        "paths": [_path_out(path) for path in history.paths],
    }


def _reads(n_inputs: int, inputs: Sequence[Layer]) -> list[int]:
    """How many columns each layer reads."""
    return [n_inputs, *(layer.width for layer in inputs)]


def _fits(widths: Sequence[int], reads: Sequence[int]) -> bool:
    """Whether the network of every width, zeros included, is one that could be saved by itself."""
    return all(width * read <= parts.MOST_WEIGHTS for width, read in zip(widths, reads, strict=True))


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _thinned(records: tuple[Record, ...]) -> list[Record]:
    if len(records) <= _MANY_STEPS:
        return list(records)
    last = {(record.layer, record.width, record.kind): record for record in records}
    return list(last.values())


def _path_out(path: Sequence[Snapshot]) -> dict[str, Any]:
    number: dict[Neuron, int] = {}
    snapshots = [
        {
            "train_mse": snapshot.train_mse,
            "validation_mse": _known(snapshot.validation_mse),
            "validation_deviation": _known(snapshot.validation_deviation),
            "base": snapshot.base,
            "neurons": [number.setdefault(neuron, len(number)) for neuron in snapshot.neurons],
            "output_weights": snapshot.output_weights.tolist(),
        }
        for snapshot in path
    ]
    neurons = [
        {
            "columns": list(neuron.projection.columns),
            "weights": list(neuron.projection.coefficients),
            "threshold": neuron.threshold,
        }
        for neuron in number
    ]
    return {"neurons": neurons, "snapshots": snapshots}


# -- in -----------------------------------------------------------------------------------------------------


def history_in(value: Any, where: str) -> dict[str, Any]:
    """Return a history's plain values, every one of its kind; whether they fit together is seen when it is built."""
    strict.obj(
        value,
        where,
        ("best_layer", "best_width", "stopped", "shrinkage", "n_validation", "steps", "inputs", "paths"),
    )
    steps = strict.obj(value["steps"], f"{where}.steps", ("fields", "values"))
    if steps["fields"] != list(_FIELDS):
        raise ModelFileError(f"{where}.steps.fields must be {', '.join(_FIELDS)}.")
    paths = strict.array(value["paths"], f"{where}.paths", _path_in)
    most = _MANY_STEPS + 2 * sum(len(path["snapshots"]) for path in paths)
    if isinstance(steps["values"], list) and len(steps["values"]) > most:
        raise ModelFileError(f"{where}.steps.values has {len(steps['values'])} steps, and its paths explain {most}.")
    return {
        "best_layer": _count(value["best_layer"], f"{where}.best_layer"),
        "best_width": _count(value["best_width"], f"{where}.best_width"),
        "stopped": strict.text(value["stopped"], f"{where}.stopped"),
        "shrinkage": strict.number(value["shrinkage"], f"{where}.shrinkage"),
        "n_validation": _count(value["n_validation"], f"{where}.n_validation"),
        "steps": strict.array(steps["values"], f"{where}.steps.values", _step_in),
        "inputs": value["inputs"],
        "paths": paths,
    }


def _count(value: Any, where: str) -> int:
    return strict.whole(value, where, _MOST)


def _square(value: Any, where: str) -> float:
    """Return a number of the size that squared errors can have: targets go up to 1e150."""
    result = strict.number(value, where)
    if abs(result) > _MOST_SQUARED:
        raise strict.refuse(where, f"a squared error of at most {_MOST_SQUARED:g}", value)
    return result


def _maybe(value: Any, where: str) -> float:
    """Return a squared error, NaN for null."""
    return math.nan if value is None else _square(value, where)


def _step_in(value: Any, where: str) -> dict[str, Any]:
    kinds: tuple[Callable[[Any, str], Any], ...] = (
        _count, _count, strict.text, _count, _square, _maybe, _maybe,
    )  # fmt: skip
    cells = strict.array(value, where, lambda cell, place: cell, len(_FIELDS))
    return {name: kind(cell, f"{where}.{name}") for name, kind, cell in zip(_FIELDS, kinds, cells, strict=True)}


def _path_in(value: Any, where: str) -> dict[str, Any]:
    strict.obj(value, where, ("neurons", "snapshots"))
    neurons = strict.array(value["neurons"], f"{where}.neurons", _neuron_in)
    snapshots = strict.array(value["snapshots"], f"{where}.snapshots", lambda each, place: each)
    if not snapshots:
        raise ModelFileError(f"{where}.snapshots must hold one of width 0 at least.")
    return {
        "neurons": neurons,
        "snapshots": [
            _snapshot_in(each, f"{where}.snapshots[{width}]", width, len(neurons))
            for width, each in enumerate(snapshots)
        ],
    }


def _snapshot_in(value: Any, where: str, width: int, neurons: int) -> dict[str, Any]:
    strict.obj(
        value, where, ("train_mse", "validation_mse", "validation_deviation", "base", "neurons", "output_weights")
    )
    found: dict[str, Any] = {
        "train_mse": _square(value["train_mse"], f"{where}.train_mse"),
        "validation_mse": _maybe(value["validation_mse"], f"{where}.validation_mse"),
        "validation_deviation": _maybe(value["validation_deviation"], f"{where}.validation_deviation"),
        "base": strict.number(value["base"], f"{where}.base"),
        "neurons": strict.array(
            value["neurons"], f"{where}.neurons", lambda each, place: strict.whole(each, place, neurons - 1), width
        ),
        "output_weights": strict.array(value["output_weights"], f"{where}.output_weights", strict.number, width),
    }
    if not math.isfinite(abs(found["base"]) + sum(map(abs, found["output_weights"]))):
        raise ModelFileError(f"{where} must predict what float64 can hold; its base and output_weights add up to more.")
    return found


def _neuron_in(value: Any, where: str) -> tuple[tuple[int, ...], tuple[float, ...], float]:
    strict.obj(value, where, ("columns", "weights", "threshold"))
    columns = strict.array(value["columns"], f"{where}.columns", _count)
    if len(set(columns)) < len(columns):
        raise ModelFileError(f"{where}.columns must be different.")
    weights = strict.array(value["weights"], f"{where}.weights", strict.number, len(columns))
    return tuple(columns), tuple(weights), strict.number(value["threshold"], f"{where}.threshold")


def history_of(plain: Mapping[str, Any], network: Network) -> History | None:
    """Build the history of `network`, or say why it is not its history; None when it is too long to keep."""
    from bgn.grow.history import History, Record, Snapshot
    from bgn.model.neuron import Neuron, Projection

    inputs = parts.layers_in(plain["inputs"], "history.inputs", network.n_inputs)
    if len(inputs) == len(plain["paths"]) > 0:
        inputs.pop()  # 0.1.0 kept what feeds a layer even where growth was interrupted before that layer's first step
    reads = _reads(network.n_inputs, inputs)
    if len(plain["paths"]) != len(reads):
        raise ModelFileError(f"history.paths must have one entry a layer ({len(reads)}); got {len(plain['paths'])}.")
    if not _fits([len(path["snapshots"]) - 1 for path in plain["paths"]], reads):
        return None
    paths = []
    for number, path in enumerate(plain["paths"]):
        if any(column >= reads[number] for columns, _, _ in path["neurons"] for column in columns):
            raise ModelFileError(f"history.paths[{number}].neurons must read columns below {reads[number]}.")
        neurons = [Neuron(Projection(columns, weights), threshold) for columns, weights, threshold in path["neurons"]]
        paths.append(
            tuple(
                Snapshot(
                    tuple(neurons[index] for index in each["neurons"]), np.array(each["output_weights"]), each["base"],
                    each["train_mse"], each["validation_mse"], each["validation_deviation"],
                )
                for each in path["snapshots"]
            )
        )  # fmt: skip
    records = tuple(Record(*(step[name] for name in _FIELDS), *[math.nan]) for step in plain["steps"])
    history = History(
        records, tuple(paths), tuple(inputs), network.n_inputs,
        plain["best_layer"], plain["best_width"], plain["stopped"], plain["shrinkage"], plain["n_validation"],
        network.feature_names, network.target_name,
    )  # fmt: skip
    try:
        grown = history.network()
    except (ValueError, IndexError) as error:
        raise ModelFileError(f"history does not lead to a network: {error}") from None
    if grown != network:
        raise ModelFileError("history does not lead to the network of the file.")
    return history
