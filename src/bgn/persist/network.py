"""Schemas, neurons, layers and networks, to plain values and back.

What is as usual is left out: a column of which only the name is known is that name, columns without names are their
number, a network without a link predicts numbers.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from bgn.model.dates import TIME_PARTS, TimePart, zone_name
from bgn.model.layer import Layer
from bgn.model.link import LINKS
from bgn.model.network import Ensemble, Network
from bgn.model.schema import Category, Column, Schema
from bgn.model.step import Floats, any_output
from bgn.model.term import Coefficient, Linear, Oblique, Projection
from bgn.persist import strict
from bgn.persist.strict import ModelFileError, Reader

MOST_WEIGHTS = 20_000_000
MOST_COLUMNS = 1_000_000
_FEW_INPUTS = 10_000
_BYTES = 4  # that a file has at least per column of which it says nothing but that it is there: a row of its checks

# How many levels each input of a layer has; None for a number.
Categories = Sequence[int | None]


def categories_of(schema: Schema) -> Categories:
    """Return what a first layer reads."""
    return [None if column.categories is None else len(column.categories) for column in schema.columns]


# -- schema ---------------------------------------------------------------------------------------------------


def schema_out(schema: Schema) -> dict[str, Any]:
    """Return a schema as plain values."""
    plain = Schema.of_numbers(len(schema), target=schema.target)
    found: dict[str, Any] = {"columns": [_column_out(column) for column in schema.columns], "target": schema.target}
    if schema.target_unit:
        found["target_unit"] = schema.target_unit
    if schema.classes is not None:
        found["classes"] = [category_out(label) for label in schema.classes]
    if not schema.named and schema.columns == plain.columns:
        return found | {"columns": len(schema)}
    return found if schema.named else found | {"named": False}


def _column_out(column: Column) -> str | dict[str, Any]:
    found = {each.name: getattr(column, each.name) for each in fields(Column) if each.name != "rare"}
    found = {name: value for name, value in found.items() if name == "name" or value != getattr(Column, name)}
    found = {
        {"categories": "levels", "category_of": "level_of"}.get(name, name): value for name, value in found.items()
    }
    if column.categories is not None:
        found["levels"] = [category_out(category) for category in column.categories]
    if column.seen is not None:
        found["seen"] = [strict.float_out(each) for each in column.seen]
    if column.category_of is not None:
        found["level_of"] = [column.category_of[0], category_out(column.category_of[1])]
    if column.part_of is not None:
        plain = {"first": "", "zone": None}
        found["part_of"] = {name: each for name, each in vars(column.part_of).items() if each != plain.get(name, plain)}
    return column.name if len(found) == 1 else found


def category_out(category: Any) -> Any:
    """Return what :func:`level_in` reads as a level."""
    category = category.item() if isinstance(category, np.generic) else category
    return strict.float_out(category) if isinstance(category, float) else category


def category_in(value: Any, where: str) -> Category:
    """Return a level: a word, a number, true or false."""
    found = strict.any_float(value, where) if isinstance(value, dict) else strict.scalar(value, where)
    if found is None:
        raise strict.refuse(where, "a level", value)
    return found


def schema_in(size: int) -> Reader[Schema]:
    """Return the reader of the schema in a file of `size` bytes."""

    def columns(value: Any, where: str) -> tuple[Column, ...]:
        if isinstance(value, list):
            if len(value) > MOST_COLUMNS:
                raise ModelFileError(f"{where} has {len(value)} columns, more than the {MOST_COLUMNS} of a model.")
            return tuple(strict.array(column_in)(value, where))
        count = strict.whole(MOST_COLUMNS)(value, where)
        if count > max(_FEW_INPUTS, size // _BYTES):
            raise ModelFileError(f"{where} is {count}, more than a file of {size} bytes has rows to check for.")
        return Schema.of_numbers(count).columns

    def read(value: Any, where: str) -> Schema:
        parts: dict[str, Reader[Any]] = {
            "columns": columns, "target": strict.optional(strict.text), "target_unit": strict.text,
            "named": strict.boolean, "classes": _classes_in,
        }  # fmt: skip
        found = strict.record(value, where, parts, optional=("target_unit", "named", "classes"))
        if len({column.name for column in found["columns"]}) < len(found["columns"]):
            raise ModelFileError(f"{where}.columns must have different names; one stands there twice.")
        return Schema(**({"named": isinstance(value["columns"], list)} | found))

    return read


def _classes_in(value: Any, where: str) -> tuple[Category, ...]:
    found = tuple(strict.array(category_in)(value, where))
    if len(found) < 2 or len(set(found)) < len(found):
        raise strict.refuse(where, "two or more different classes", value)
    return found


def column_in(value: Any, where: str) -> Column:
    """Build a column, or say what is wrong."""
    if isinstance(value, str):
        return Column(strict.text(value, where))
    parts: dict[str, Reader[Any]] = {
        "name": strict.text, "levels": strict.array(category_in), "ordered": strict.boolean, "unit": strict.text,
        "seen": strict.array(strict.any_float, 2), "whole": strict.boolean, "missing": strict.boolean,
        "typical": strict.number, "level_of": strict.array(category_in, 2), "part_of": _part_in,
    }  # fmt: skip
    found = strict.record(value, where, parts, optional=[*parts][1:])
    found |= {name: tuple(found[name]) for name in ("levels", "seen", "level_of") if name in found}
    if "level_of" in found and not isinstance(found["level_of"][0], str):
        raise strict.refuse(f"{where}.level_of", "a column's name and a level", value["level_of"])
    if "levels" in found and "part_of" in found:
        raise ModelFileError(f"{where} has levels and is a part of dates; it can be one of these alone.")
    low, high = found.get("seen", (0.0, 0.0))
    if not low <= high and (low, high) != (math.inf, -math.inf):  # which stands for no value at all
        raise strict.refuse(f"{where}.seen", "the lowest value and the highest", value["seen"])
    now = {"levels": "categories", "level_of": "category_of"}
    return Column(**{now.get(name, name): part for name, part in found.items()})


def _part_in(value: Any, where: str) -> TimePart:
    parts: dict[str, Reader[Any]] = dict.fromkeys(("raw", "part", "first", "zone"), strict.text)
    part = TimePart(**strict.record(value, where, parts, optional=("first", "zone")))
    if part.part not in TIME_PARTS:
        raise strict.refuse(f"{where}.part", f"one of {', '.join(map(repr, TIME_PARTS))}", part.part)
    if part.zone is not None and zone_name(part.zone) != part.zone:
        raise strict.refuse(f"{where}.zone", "a time zone that is known here", part.zone)
    if part.part == "days" or part.first:
        try:
            known = datetime.date.fromisoformat(part.first).isoformat() == part.first
        except ValueError:
            known = False
        if not known:
            raise strict.refuse(f"{where}.first", "a date, as '2006-01-15'", part.first)
    return part


# -- neurons and layers ---------------------------------------------------------------------------------------


def neuron_out(neuron: Oblique) -> dict[str, Any]:
    """Return a neuron as plain values; a category has a list of weights, one per level."""
    found: dict[str, Any] = {
        "columns": list(neuron.projection.columns),
        "weights": [np.asarray(each, np.float64).tolist() for each in neuron.projection.coefficients],
        "threshold": float(neuron.threshold),
    }
    if neuron.projection.missing_as is not None:
        found["gaps"] = [float(each) for each in neuron.projection.missing_as]
    return found if neuron.missing is None else found | {"missing": bool(neuron.missing)}


def neuron_in(inputs: Categories) -> Reader[Oblique]:
    """Return the reader of neurons that read these inputs."""

    def weight(value: Any, where: str, categories: int | None) -> Coefficient:
        if categories is None or not isinstance(value, list):
            return strict.number(value, where)
        return tuple(strict.array(strict.number, categories)(value, where))

    def read(value: Any, where: str) -> Oblique:
        found = strict.record(value, where, parts, optional=("missing", "gaps"))
        columns = found["columns"]
        if len(set(columns)) < len(columns) or not all(column < len(inputs) for column in columns):
            raise ModelFileError(f"{where}.columns must be different and below {len(inputs)}.")
        weights = strict.array(strict.anything, len(columns))(found["weights"], f"{where}.weights")
        coefficients = [
            weight(each, f"{where}.weights[{k}]", inputs[column])
            for k, (each, column) in enumerate(zip(weights, columns, strict=True))
        ]
        gaps = None
        if "gaps" in found:
            gaps = tuple(strict.array(strict.number, len(columns))(found["gaps"], f"{where}.gaps"))
        return Oblique(Projection(tuple(columns), tuple(coefficients), gaps), found["threshold"], found.get("missing"))

    parts: dict[str, Reader[Any]] = {
        "columns": strict.array(strict.whole(MOST_WEIGHTS)), "weights": strict.anything,
        "threshold": strict.number, "missing": strict.boolean, "gaps": strict.anything,
    }  # fmt: skip
    return read


def layer_out(layer: Layer) -> list[dict[str, Any]]:
    """Return a layer neuron by neuron."""
    return [neuron_out(neuron) for neuron in layer.neurons]


def layers_in(inputs: Categories) -> Reader[list[Layer]]:
    """Return the reader of layers, each on top of the one before; memory is asked for only within the limit."""

    def read(value: Any, where: str) -> list[Layer]:
        layers: list[Layer] = []
        below, left = inputs, MOST_WEIGHTS
        for number, neurons in enumerate(strict.array(strict.anything)(value, where)):
            left -= max(len(below), 1) * (len(neurons) if isinstance(neurons, list) else 0)
            if left < 0:
                raise ModelFileError(f"{where} holds more than {MOST_WEIGHTS} weights, zeros included.")
            layers.append(Layer.of(strict.array(neuron_in(below))(neurons, f"{where}[{number}]"), len(below)))
            below = [None] * layers[-1].width
        return layers

    return read


# -- networks -------------------------------------------------------------------------------------------------


def network_out(network: Network) -> dict[str, Any]:
    """Return a network neuron by neuron, without its schema."""
    found: dict[str, Any] = {} if network.link == "identity" else {"link": network.link}
    found |= {
        "layers": [layer_out(layer) for layer in network.layers],
        "output_weights": network.output_weights.tolist(),
        "base": np.asarray(network.base).tolist(),
    }
    found |= _linear_out(network, network.coef, "slopes" if network.linear else "")
    if network.bounds is not None:
        found["bounds"] = ends_out(*network.bounds)
    return found if network.members is None else found | {"members": members_out(network, network.members)}


def _linear_out(network: Network, coef: Floats, slopes: str = "slopes", ranges: bool = True) -> dict[str, Any]:
    """Return slopes and their ends, column by column, as files of version 2 have them."""
    steep = np.zeros((network.n_inputs, network.n_outputs))
    ends = [[-math.inf, math.inf] for _ in range(network.n_inputs)]
    for term, weights in zip(network.terms, coef, strict=True):
        if isinstance(term, Linear):
            steep[term.column] += weights
            ends[term.column] = [term.low, term.high]
    found: dict[str, Any] = {}
    if slopes:
        found["slopes"] = (steep if network.link == "softmax" else steep[:, 0]).tolist()
    if ranges and any(ends_out(*each) for each in ends):
        found["ranges"] = [ends_out(*each) for each in ends]
    return found


def network_in(value: Any, where: str, schema: Schema) -> Network:
    """Build the network that reads the columns of a schema, or say what is wrong."""
    parts = ("link", "layers", "output_weights", "base", "slopes", "ranges", "bounds", "members")
    optional = ("link", "slopes", "ranges", "bounds", "members")
    found = strict.record(value, where, dict.fromkeys(parts, strict.anything), optional=optional)
    link = found.get("link", "identity")
    if not isinstance(link, str) or link not in LINKS:
        raise strict.refuse(f"{where}.link", f"one of {', '.join(map(repr, LINKS))}", link)
    layers = layers_in(categories_of(schema))(found["layers"], f"{where}.layers")
    if not layers:
        raise ModelFileError(f"{where}.layers must hold at least one layer.")
    each: Reader[Any] = strict.number
    shape: tuple[int, ...] = ()
    if link == "softmax":
        shape = (len(strict.array(strict.number)(found["base"], f"{where}.base")),)
        each = strict.array(strict.number, *shape)
    if shape == (0,):
        raise ModelFileError(f"{where}.base must have one entry per class, and at least one.")
    if schema.classes is not None and len(schema.classes) != (shape or (2,))[0]:
        raise ModelFileError(f"schema.classes must name {(shape or (2,))[0]} classes; got {len(schema.classes)}.")
    numbers: dict[str, Any] = {"base": each(found["base"], f"{where}.base")}
    ends, slopes = [(-math.inf, math.inf)] * len(schema), np.zeros((0, *shape))
    if "ranges" in found:
        ends = strict.array(ends_in, len(schema))(found["ranges"], f"{where}.ranges")
    if "slopes" in found:
        slopes = np.array(strict.array(each, len(schema))(found["slopes"], f"{where}.slopes")).reshape(-1, *shape)
    if "bounds" in found:
        numbers["bounds"] = ends_in(found["bounds"], f"{where}.bounds")
    rows = strict.array(each, layers[-1].width)(found["output_weights"], f"{where}.output_weights")
    numbers["output_weights"] = np.array(rows).reshape(layers[-1].width, *shape)
    try:
        network = Network.of_layers(layers, schema=schema, link=link, **numbers)
        at = np.flatnonzero(any_output(slopes))
        if len(at):
            network = network.with_linear([Linear(j, *ends[j]) for j in at.tolist()], slopes[at])
        return network if "members" not in found else with_members(network, found["members"], f"{where}.members")
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(str(error)) from None


# -- The networks behind a mean, to plain values and back: of each its base, and the weights of the questions it
# asks.

_MOST_WEIGHTS = 20_000_000  # zeros included
_APART = 1e-3  # what rounding may put between a mean and its members, as a share of their size


def members_out(network: Network, members: Ensemble) -> dict[str, Any]:
    """Return members as plain values."""
    networks = []
    for intercept, coef in zip(members.intercept, members.coef, strict=True):
        one = network.changed(intercept=intercept, coef=coef)
        asked = np.flatnonzero(any_output(one.output_weights))
        found = {
            "base": np.asarray(one.base).tolist(),
            "neurons": asked.tolist(),
            "output_weights": one.output_weights[asked].tolist(),
        }
        if len(network.rules) < len(network.terms):
            found |= _linear_out(network, coef, ranges=False)
        networks.append(found)
    return {"networks": networks} | _linear_out(network, network.coef, "")


def with_members(network: Network, value: Any, where: str) -> Network:
    """Return a network that knows the members that a file tells of, or say what is wrong."""
    readers = {"networks": strict.array(strict.anything), "ranges": strict.array(ends_in, network.n_inputs)}
    found = strict.record(value, where, readers, optional=("ranges",))
    count, shape = len(found["networks"]), network.output_weights.shape
    if not 1 <= count <= _MOST_WEIGHTS // max(network.output_weights.size + network.n_inputs, 1):
        raise ModelFileError(f"{where}.networks must hold some, and at most {_MOST_WEIGHTS} weights; got {count}.")
    each: Reader[Any] = strict.array(strict.number, *shape[1:]) if shape[1:] else strict.number
    weights, bases = np.zeros((count, *shape)), np.zeros((count, *shape[1:]))
    straight = any(isinstance(one, dict) and "slopes" in one for one in found["networks"])
    own_slopes = np.zeros((network.n_inputs, network.n_outputs))
    own_slopes[[term.column for term in network.linear]] = network.linear_coef
    slopes = np.zeros((count, network.n_inputs, *shape[1:])) if straight else None
    for k, one in enumerate(found["networks"]):
        at = f"{where}.networks[{k}]"
        parts: dict[str, Reader[Any]] = {
            "base": each, "neurons": strict.array(strict.whole(max(shape[0] - 1, 0))),
            "output_weights": strict.anything, "slopes": strict.array(each, network.n_inputs),
        }  # fmt: skip
        read = strict.record(one, at, parts, optional=("slopes",))
        asked = read["neurons"]
        if len(set(asked)) < len(asked) or len(asked) > shape[0]:
            raise ModelFileError(f"{at}.neurons must be different neurons of the last layer.")
        numbers = strict.array(each, len(asked))(read["output_weights"], f"{at}.output_weights")
        weights[k, asked], bases[k] = np.array(numbers).reshape(len(asked), *shape[1:]), read["base"]
        if slopes is not None:
            slopes[k] = read.get("slopes", 0.0)
    means = [("output_weights", weights, network.output_weights), ("base", bases, network.base)]
    if slopes is not None or network.linear:
        whole = own_slopes.reshape(network.n_inputs, *shape[1:])
        means.append(("slopes", np.zeros((1, *whole.shape)) if slopes is None else slopes, whole))
    for name, own, mean in means:
        if not np.allclose(own.mean(axis=0), mean, rtol=_APART, atol=_APART * float(np.abs(own).max(initial=0.0))):
            raise ModelFileError(f"{where}: the {name} of the networks do not have the mean that the file says.")
    outputs = network.n_outputs
    parts = [weights.reshape(count, -1, outputs)]
    terms = list(network.rules)
    mean = network.rule_coef
    if slopes is not None:
        slopes = slopes.reshape(count, -1, outputs)
        ends = found.get("ranges", [(-np.inf, np.inf)] * network.n_inputs)
        at = np.flatnonzero((slopes != 0).any(axis=(0, 2))).tolist()
        own = {term.column: coef for term, coef in zip(network.linear, network.linear_coef, strict=True)}
        terms = [*(Linear(j, *ends[j]) for j in at), *terms]
        mean = np.concatenate([np.array([own.get(j, np.zeros(outputs)) for j in at]).reshape(-1, outputs), mean])
        parts.insert(0, slopes[:, at])
    members = Ensemble(bases.reshape(count, outputs), np.concatenate(parts, axis=1))
    return network.changed(terms=terms, coef=mean, members=members)


# -- The ends of a slope, to plain values and back.


def ends_out(low: float, high: float) -> list[float | None] | None:
    """Return the ends of a slope, or of predictions, null for one that is open; null for both."""
    ends = [None if math.isinf(each) else each for each in (low, high)]
    return None if ends == [None, None] else ends


def ends_in(value: Any, where: str) -> tuple[float, float]:
    """Return the ends of a slope, or of predictions, infinite where they are open, or say what is wrong."""
    if value is None:
        return -math.inf, math.inf
    low, high = strict.array(strict.anything, 2)(value, where)
    return (
        -math.inf if low is None else strict.number(low, f"{where}[0]"),
        math.inf if high is None else strict.number(high, f"{where}[1]"),
    )
