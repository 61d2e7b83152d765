"""The parts of a model file, to plain values and back: the network, the preparation, the checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bgn.network import Floats, Layer, Network
from bgn.persist import strict
from bgn.persist.strict import ModelFileError
from bgn.preparation import PARTS, Category, Date, Number, Preparation

MOST_WEIGHTS = 20_000_000
_FEW_INPUTS = 10_000
_CHECKS = 5


def network_out(network: Network) -> dict[str, Any]:
    """Return a network neuron by neuron."""
    return {
        "inputs": network.n_inputs,
        "layers": [layer_out(layer) for layer in network.layers],
        "output_weights": network.output_weights.tolist(),
        "base": network.base,
    }


def layer_out(layer: Layer) -> list[dict[str, Any]]:
    """Return a layer neuron by neuron."""
    return [_neuron_out(weights, bias) for weights, bias in zip(layer.weights, layer.bias, strict=True)]


def _neuron_out(weights: Floats, bias: float) -> dict[str, Any]:
    # A negative zero is kept too: the round trip is exact.
    columns = np.flatnonzero((weights != 0) | np.signbit(weights))
    return {"columns": columns.tolist(), "weights": weights[columns].tolist(), "bias": float(bias)}


def preparation_out(preparation: Preparation) -> list[dict[str, Any]] | dict[str, Any]:
    """Return one object a column, with its kind and its fields; what 0.1.0 did not know only where it is known."""
    columns = [
        {"kind": type(column).__name__.lower()}
        | {name: list(value) if isinstance(value, tuple) else value for name, value in vars(column).items()}
        for column in preparation.columns
    ]
    for column in columns:
        if column.get("zone", False) is None:
            del column["zone"]
    return columns if preparation.decimal == "." else {"decimal": preparation.decimal, "columns": columns}


def checks_out(network: Network, rows: Any) -> list[dict[str, Any]]:
    """Return a few rows with their predictions; there is always one, so that a file is as long as a row is wide."""
    inputs = _threshold_rows(network) if rows is None or not len(rows) else network._rows(rows[:_CHECKS])
    with np.errstate(all="ignore"):
        pairs = zip(inputs.tolist(), network.predict(inputs).tolist(), strict=True)
    return [{"inputs": row, "prediction": prediction} for row, prediction in pairs]


def _threshold_rows(network: Network) -> Floats:
    """Make rows up from where the first layer's neurons cut each column, from its lowest cut to its highest."""
    layer = network.layers[0]
    rows = np.zeros((_CHECKS, network.n_inputs))
    for column in range(network.n_inputs):
        users = np.flatnonzero(layer.weights[:, column])
        with np.errstate(all="ignore"):
            cuts = np.sort(layer.thresholds[users] / layer.weights[users, column])
        cuts = cuts[np.isfinite(cuts)]
        if len(cuts):
            rows[:, column] = cuts[np.linspace(0, len(cuts) - 1, _CHECKS).round().astype(int)]
    return rows


def network_in(content: dict[str, Any], size: int) -> Network:
    """Build the network that a whole file of `size` bytes describes, or say what is wrong."""
    parts = strict.obj(content["network"], "network", ("inputs", "layers", "output_weights", "base"))
    inputs = strict.whole(parts["inputs"], "network.inputs", MOST_WEIGHTS)
    if inputs > max(_FEW_INPUTS, size):
        raise ModelFileError(f"network.inputs is {inputs}, more than a file of {size} bytes has rows to check for.")
    names = strict.optional(
        content["feature_names"], "feature_names", lambda value, where: strict.array(value, where, strict.text, inputs)
    )
    if names is not None and len(set(names)) < len(names):
        raise ModelFileError("feature_names must differ; one stands there twice.")
    target = strict.optional(content["target_name"], "target_name", strict.text)
    layers = layers_in(parts["layers"], "network.layers", inputs)
    if not layers:
        raise ModelFileError("network.layers must hold at least one layer.")
    weights = strict.array(parts["output_weights"], "network.output_weights", strict.number, layers[-1].width)
    try:
        return Network(layers, weights, strict.number(parts["base"], "network.base"), names, target)
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(str(error)) from None


def layers_in(value: Any, where: str, inputs: int) -> list[Layer]:
    """Build layers, each on top of the one before, or say what is wrong; memory is asked for only within the limit."""
    layers: list[Layer] = []
    left = MOST_WEIGHTS
    for number, neurons in enumerate(strict.array(value, where, lambda value, where: value)):
        left -= max(inputs, 1) * (len(neurons) if isinstance(neurons, list) else 0)
        if left < 0:
            raise ModelFileError(f"{where} holds more than {MOST_WEIGHTS} weights, zeros included.")
        layers.append(_layer_in(neurons, f"{where}[{number}]", inputs))
        inputs = layers[-1].width
    return layers


def _layer_in(value: Any, where: str, inputs: int) -> Layer:
    neurons = strict.array(value, where, _neuron_in)
    weights = np.zeros((len(neurons), inputs))
    for index, (columns, values, _) in enumerate(neurons):
        if any(column >= inputs for column in columns) or len(set(columns)) != len(columns):
            raise ModelFileError(f"{where}[{index}].columns must be different and below {inputs}.")
        weights[index, columns] = values
    return Layer._owning(weights, np.array([bias for _, _, bias in neurons], dtype=np.float64))


def _neuron_in(value: Any, where: str) -> tuple[list[int], list[float], float]:
    neuron = strict.obj(value, where, ("columns", "weights", "bias"))
    columns = strict.array(
        neuron["columns"], f"{where}.columns", lambda value, where: strict.whole(value, where, MOST_WEIGHTS)
    )
    weights = strict.array(neuron["weights"], f"{where}.weights", strict.number, len(columns))
    return columns, weights, strict.number(neuron["bias"], f"{where}.bias")


def preparation_in(value: Any, where: str) -> Preparation:
    """Build a preparation, or say what is wrong."""
    parts = {"decimal": ".", "columns": value} if isinstance(value, list) else value
    parts = strict.obj(parts, where, ("decimal", "columns"))
    decimal = strict.text(parts["decimal"], f"{where}.decimal")
    if len(decimal) != 1:
        raise strict.refuse(f"{where}.decimal", "one character", decimal)
    return Preparation(tuple(strict.array(parts["columns"], where, _column_in)), decimal)


def _column_in(value: Any, where: str) -> Number | Category | Date:
    kind = strict.obj(value, where).get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise strict.refuse(f"{where}.kind", "'number', 'category' or 'date'", kind)
    return _KINDS[kind](value, where)


def _number_in(value: dict[str, Any], where: str) -> Number:
    strict.obj(value, where, ("kind", "column", "boolean", "fill"))
    fill = strict.optional(value["fill"], f"{where}.fill", strict.number)
    return Number(strict.text(value["column"], where), strict.boolean(value["boolean"], where), fill)


def _category_in(value: dict[str, Any], where: str) -> Category:
    strict.obj(value, where, ("kind", "column", "values", "fill"))
    words = isinstance(value["values"], list) and all(isinstance(each, str) for each in value["values"])
    values: Any = tuple(strict.array(value["values"], f"{where}.values", strict.text if words else strict.number))
    fill = value["fill"]
    if len(set(values)) < len(values) or (fill is not None and fill not in values):
        raise ModelFileError(f"{where} must have different values and fill one of them.")
    return Category(strict.text(value["column"], where), values, None if fill is None else values[values.index(fill)])


def _date_in(value: dict[str, Any], where: str) -> Date:
    value = strict.obj({"zone": None} | value, where, ("kind", "column", "parts", "format", "fill", "zone"))
    names = tuple(strict.array(value["parts"], f"{where}.parts", strict.text))
    if any(name not in PARTS for name in names):
        raise ModelFileError(f"{where}.parts must be some of {', '.join(PARTS)}.")
    fill = strict.optional(
        value["fill"], f"{where}.fill", lambda each, place: tuple(strict.array(each, place, strict.number, len(names)))
    )
    form = strict.optional(value["format"], f"{where}.format", strict.text)
    zone = strict.optional(value["zone"], f"{where}.zone", strict.boolean)
    return Date(strict.text(value["column"], where), names, form, fill, zone)


_KINDS: dict[str, Callable[[Any, str], Number | Category | Date]] = {
    "number": _number_in,
    "category": _category_in,
    "date": _date_in,
}


def verify(network: Network, value: Any) -> None:
    """Refuse a network that does not predict what the file says it does."""

    def pair(value: Any, where: str) -> tuple[list[float], float]:
        check = strict.obj(value, where, ("inputs", "prediction"))
        row = strict.array(check["inputs"], f"{where}.inputs", strict.number, network.n_inputs)
        return row, strict.number(check["prediction"], f"{where}.prediction")

    checks = strict.array(value, "checks", pair)
    if not checks:
        return
    with np.errstate(all="ignore"):
        found = network.predict(np.array([row for row, _ in checks]).reshape(len(checks), network.n_inputs))
        expected = np.array([prediction for _, prediction in checks])
        # Exact for sparse layers; a dense one is summed by a matrix product, whose order is the machine's.
        same = np.allclose(found, expected, rtol=1e-9, atol=0.0)
    if not same:
        raise ModelFileError("the network does not predict what its checks say; the file was changed.")
