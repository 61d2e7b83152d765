"""Schemas and networks, to plain values and back.

A network is its intercept and its terms, each with its weights and its conditions. What is as usual is left out: a
column of which only the name is known is that name, columns without names are their number, a network without a link
predicts numbers, a condition that names no answer for missing values has none.
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
from bgn.model.term import (
    RELATIONS,
    Coefficient,
    Condition,
    Linear,
    Member,
    Missing,
    Oblique,
    Projection,
    Rule,
    Term,
    Threshold,
    condition_of,
)
from bgn.persist import strict
from bgn.persist.strict import ModelFileError, Reader

MOST_WEIGHTS = 20_000_000
MOST_COLUMNS = 1_000_000
_FEW_INPUTS = 10_000
_BYTES = 4  # that a file has at least per column of which it says nothing but that it is there: a row of its checks
_MOST_CODES = 4_000_000  # categories of all conditions that name some
_MOST_CONDITIONS = 64  # of one rule
_MOST_DIFFERENCE = 1e-3  # that rounding may put between a mean and its networks, as a share of their size

# How many categories each input of a layer has; None for a number.
Inputs = Sequence[int | None]


def inputs_of(schema: Schema) -> Inputs:
    """Return what the conditions of a first layer read."""
    return [None if column.categories is None else len(column.categories) for column in schema.columns]


def schema_out(schema: Schema) -> dict[str, Any]:
    """Return a schema as plain values."""
    unnamed = not schema.named and schema.columns == Schema.of_numbers(len(schema)).columns
    columns = len(schema) if unnamed else [*map(_column_out, schema.columns)]
    plain: dict[str, Any] = {"columns": columns, "target": schema.target}
    if schema.target_unit:
        plain["target_unit"] = schema.target_unit
    if schema.classes is not None:
        plain["classes"] = [*map(category_out, schema.classes)]
    return plain if schema.named or unnamed else plain | {"named": False}


def _column_out(column: Column) -> str | dict[str, Any]:
    names = [field.name for field in fields(Column) if field.name not in ("name", "rare")]
    plain = {name: getattr(column, name) for name in names if getattr(column, name) != getattr(Column, name)}
    if column.categories is not None:
        plain["categories"] = [*map(category_out, column.categories)]
    if column.seen is not None:
        plain["seen"] = [*map(strict.float_out, column.seen)]
    if column.category_of is not None:
        plain["category_of"] = [column.category_of[0], category_out(column.category_of[1])]
    if column.part_of is not None:
        usual = {"first": "", "zone": None}
        parts = vars(column.part_of).items()
        plain["part_of"] = {name: value for name, value in parts if value != usual.get(name, usual)}
    return {"name": column.name} | plain if plain else column.name


def category_out(category: Any) -> Any:
    """Return what :func:`category_in` reads as a category."""
    category = category.item() if isinstance(category, np.generic) else category
    return strict.float_out(category) if isinstance(category, float) else category


def category_in(value: Any, where: str) -> Category:
    """Return a category: a word, a number, true or false."""
    category = strict.any_float(value, where) if isinstance(value, dict) else strict.scalar(value, where)
    if category is None:
        raise strict.refuse(where, "a category", value)
    return category


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

    def classes(value: Any, where: str) -> tuple[Category, ...]:
        labels = tuple(strict.array(category_in)(value, where))
        if len(labels) < 2 or len(set(labels)) < len(labels):
            raise strict.refuse(where, "two or more different classes", value)
        return labels

    def read(value: Any, where: str) -> Schema:
        parts: dict[str, Reader[Any]] = {
            "columns": columns, "target": strict.optional(strict.text), "target_unit": strict.text,
            "named": strict.boolean, "classes": classes,
        }  # fmt: skip
        own = strict.record(value, where, parts, optional=("target_unit", "named", "classes"))
        if len({column.name for column in own["columns"]}) < len(own["columns"]):
            raise ModelFileError(f"{where}.columns must have different names; one stands there twice.")
        return Schema(**({"named": isinstance(value["columns"], list)} | own))

    return read


def column_in(value: Any, where: str) -> Column:
    """Build a column, or say what is wrong."""
    if isinstance(value, str):
        return Column(strict.text(value, where))
    parts: dict[str, Reader[Any]] = {
        "name": strict.text, "categories": strict.array(category_in), "ordered": strict.boolean, "unit": strict.text,
        "seen": strict.array(strict.any_float, 2), "whole": strict.boolean, "missing": strict.boolean,
        "typical": strict.number, "category_of": strict.array(category_in, 2), "part_of": _part_in,
    }  # fmt: skip
    own = strict.record(value, where, parts, optional=[*parts][1:])
    own |= {name: tuple(own[name]) for name in ("categories", "seen", "category_of") if name in own}
    if "category_of" in own and not isinstance(own["category_of"][0], str):
        raise strict.refuse(f"{where}.category_of", "a column's name and a category", value["category_of"])
    if "categories" in own and "part_of" in own:
        raise ModelFileError(f"{where} has categories and is a part of dates; it can be one of these alone.")
    low, high = own.get("seen", (0.0, 0.0))
    if not low <= high and (low, high) != (math.inf, -math.inf):  # which stands for no value at all
        raise strict.refuse(f"{where}.seen", "the lowest value and the highest", value["seen"])
    return Column(**own)


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


def condition_out(condition: Condition, inputs: Inputs = ()) -> dict[str, Any]:
    """Return a condition on these inputs as plain values."""
    if isinstance(condition, Oblique):
        coefficients = [np.asarray(own, np.float64).tolist() for own in condition.projection.coefficients]
        plain: dict[str, Any] = {"columns": list(condition.columns), "coefficients": coefficients}
        plain["threshold"] = float(condition.threshold)
        if condition.projection.missing_as is not None:
            plain["missing_as"] = [float(value) for value in condition.projection.missing_as]
    elif isinstance(condition, Threshold):
        plain = {"column": condition.column, "relation": condition.relation, "threshold": float(condition.threshold)}
    elif isinstance(condition, Member):
        plain = {"column": condition.column, "relation": "in", "categories": list(condition.categories)}
        if condition.n_categories != (inputs[condition.column] if condition.column < len(inputs) else None):
            plain["n_categories"] = condition.n_categories
    else:
        return {"column": condition.column, "relation": "missing"}
    return plain if condition.missing is None else plain | {"missing": bool(condition.missing)}


def condition_in(inputs: Inputs) -> Reader[Condition]:
    """Return the reader of conditions on these inputs."""
    oblique = oblique_in(inputs)

    def read(value: Any, where: str) -> Condition:
        if "columns" in strict.obj(value, where):
            return oblique(value, where)
        place = strict.whole(len(inputs) - 1)(value.get("column"), f"{where}.column")
        relation, own = value.get("relation"), {"column": strict.anything, "relation": strict.anything}
        if relation == "missing":
            strict.record(value, where, own)
            return Missing(place)
        if relation == "in":
            count = inputs[place]
            most = _MOST_CODES if count is None else max(count, 1)
            parts = own | {
                "categories": strict.array(strict.whole(most - 1)), "missing": strict.boolean,
                "n_categories": strict.optional(strict.whole(most)),
            }  # fmt: skip
            plain = strict.record(value, where, parts, optional=("missing", "n_categories"))
            codes, count = tuple(plain["categories"]), plain.get("n_categories", count)
            if count is not None and any(code >= count for code in codes):
                raise ModelFileError(f"{where}.categories must be numbers below {count}.")
            return Member(place, codes, plain.get("missing"), count)
        if not isinstance(relation, str) or relation not in RELATIONS:
            raise strict.refuse(f"{where}.relation", f"one of {', '.join(RELATIONS)}, in, missing", relation)
        parts = own | {"threshold": strict.number, "missing": strict.boolean}
        plain = strict.record(value, where, parts, optional=("missing",))
        return Threshold(place, plain["threshold"], relation, plain.get("missing"))

    return read


def oblique_in(inputs: Inputs) -> Reader[Oblique]:
    """Return the reader of oblique conditions on these inputs; a category has one coefficient, or one per category."""

    def read(value: Any, where: str) -> Oblique:
        plain = strict.record(value, where, parts, optional=("missing", "missing_as"))
        columns, coefficients = plain["columns"], list[Coefficient]()
        if len(set(columns)) < len(columns) or not all(column < len(inputs) for column in columns):
            raise ModelFileError(f"{where}.columns must be different and below {len(inputs)}.")
        own = strict.array(strict.anything, len(columns))(plain["coefficients"], f"{where}.coefficients")
        for k, (one, column) in enumerate(zip(own, columns, strict=True)):
            place, several = f"{where}.coefficients[{k}]", inputs[column] is not None and isinstance(one, list)
            several_in = strict.array(strict.number, inputs[column])
            coefficients.append(tuple(several_in(one, place)) if several else strict.number(one, place))
        missing_as = None
        if "missing_as" in plain:
            missing_as = tuple(strict.array(strict.number, len(columns))(plain["missing_as"], f"{where}.missing_as"))
        projection = Projection(tuple(columns), tuple(coefficients), missing_as)
        return Oblique(projection, plain["threshold"], plain.get("missing"))

    parts: dict[str, Reader[Any]] = {
        "columns": strict.array(strict.whole(MOST_WEIGHTS)), "coefficients": strict.anything,
        "threshold": strict.number, "missing": strict.boolean, "missing_as": strict.anything,
    }  # fmt: skip
    return read


def layers_in(inputs: Inputs) -> Reader[list[Layer]]:
    """Return the reader of layers, each on top of the one before; memory is asked for only within the limit."""

    def read(value: Any, where: str) -> list[Layer]:
        layers: list[Layer] = []
        below, left = inputs, MOST_WEIGHTS
        for number, conditions in enumerate(strict.array(strict.anything)(value, where)):
            left -= max(len(below), 1) * (len(conditions) if isinstance(conditions, list) else 0)
            if left < 0:
                raise ModelFileError(f"{where} holds more than {MOST_WEIGHTS} weights, zeros included.")
            read = strict.array(oblique_in(below))(conditions, f"{where}[{number}]")
            layers.append(Layer.of(read, len(below)))
            below = [None] * layers[-1].width
        return layers

    return read


def network_out(network: Network) -> dict[str, Any]:
    """Return a network term by term, without its schema."""
    inputs = [None] * network.below[-1].width if network.below else inputs_of(network.schema)
    plain: dict[str, Any] = {} if network.link == "identity" else {"link": network.link}
    if network.below:
        plain["layers"] = [[condition_out(condition) for condition in layer.neurons] for layer in network.below]
    plain |= {"intercept": network.intercept.tolist(), "terms": []}
    for term, weights in zip(network.terms, network.coef.tolist(), strict=True):
        own: dict[str, Any] = {"coef": weights}
        if isinstance(term, Rule):
            own["conditions"] = [condition_out(condition, inputs) for condition in term.conditions]
            own |= {"otherwise": term.otherwise} if term.otherwise else {}
        else:
            own["linear"] = term.column
            own |= {"ends": ends_out(term.low, term.high)} if term.clipped else {}
            if term.missing != network.schema.columns[term.column].typical:
                own["missing_as"] = None if term.missing is None else float(term.missing)
        plain["terms"].append(own)
    if network.bounds is not None:
        plain["bounds"] = ends_out(*network.bounds)
    if network.members is not None:
        plain["ensemble"] = []
        for intercept, coef in zip(network.members.intercept, network.members.coef, strict=True):
            used = np.flatnonzero(coef.any(axis=1))
            member = {"intercept": intercept.tolist(), "terms": used.tolist(), "coef": coef[used].tolist()}
            plain["ensemble"].append(member)
    return plain


def network_in(value: Any, where: str, schema: Schema, simple: bool = False) -> Network:
    """Build the network that reads the columns of a schema, or say what is wrong.

    With `simple`, a condition on a sum of one column becomes one about that column, as before version 3.
    """
    parts = ("link", "layers", "intercept", "terms", "bounds", "ensemble")
    optional = ("link", "layers", "bounds", "ensemble")
    plain = strict.record(value, where, dict.fromkeys(parts, strict.anything), optional=optional)
    link = plain.get("link", "identity")
    if not isinstance(link, str) or link not in LINKS:
        raise strict.refuse(f"{where}.link", f"one of {', '.join(map(repr, LINKS))}", link)
    intercept = strict.array(strict.number)(plain["intercept"], f"{where}.intercept")
    if not intercept or (len(intercept) > 1 and link != "softmax"):
        raise ModelFileError(f"{where}.intercept must have one entry per output; got {len(intercept)}.")
    n_classes = len(intercept) if link == "softmax" else 2
    if schema.classes is not None and len(schema.classes) != n_classes:
        raise ModelFileError(f"schema.classes must name {n_classes} classes; got {len(schema.classes)}.")
    inputs = inputs_of(schema)
    below = layers_in(inputs)(plain.get("layers", []), f"{where}.layers")
    inputs = [None] * below[-1].width if below else inputs
    read = _term_in(schema, inputs, len(intercept), simple and not below)
    pairs = strict.array(read)(plain["terms"], f"{where}.terms")
    terms = [term for term, _ in pairs]
    conditions = (condition for term in terms if isinstance(term, Rule) for condition in term.conditions)
    if sum(one.n_categories or 0 for one in conditions if isinstance(one, Member)) > _MOST_CODES:
        raise ModelFileError(f"{where}.terms compares with categories of columns that have too many.")
    bounds = ends_in(plain["bounds"], f"{where}.bounds") if "bounds" in plain else None
    coef = np.array([weights for _, weights in pairs]).reshape(len(pairs), len(intercept))
    try:
        network = Network(intercept, terms, coef, schema=schema, link=link, bounds=bounds, below=below)
        if sum(layer.width * layer.n_inputs for layer in network.layers) > MOST_WEIGHTS:
            raise ModelFileError(f"{where} holds more than {MOST_WEIGHTS} weights, zeros included.")
        if "ensemble" in plain:
            network = network.changed(members=_ensemble_in(network, plain["ensemble"], f"{where}.ensemble"))
    except ModelFileError:
        raise
    except (ValueError, NotImplementedError) as error:
        raise ModelFileError(str(error)) from None
    return network


def _term_in(schema: Schema, inputs: Inputs, outputs: int, simple: bool) -> Reader[tuple[Term, list[float]]]:
    """Return the reader of terms and their weights."""
    condition, weights = condition_in(inputs), strict.array(strict.number, outputs)

    def read(value: Any, where: str) -> tuple[Term, list[float]]:
        if "linear" in strict.obj(value, where):
            parts: dict[str, Reader[Any]] = {
                "coef": weights, "linear": strict.whole(len(schema) - 1), "ends": ends_in,
                "missing_as": strict.optional(strict.number),
            }  # fmt: skip
            plain = strict.record(value, where, parts, optional=("ends", "missing_as"))
            column, (low, high) = plain["linear"], plain.get("ends", (-math.inf, math.inf))
            return Linear(column, low, high, plain.get("missing_as", schema.columns[column].typical)), plain["coef"]
        parts = {"coef": weights, "conditions": strict.array(condition), "otherwise": strict.number}
        plain = strict.record(value, where, parts, optional=("otherwise",))
        otherwise, conditions = plain.get("otherwise", 0.0), plain["conditions"]
        if not 1 <= len(conditions) <= _MOST_CONDITIONS:
            raise ModelFileError(f"{where}.conditions must be 1 to {_MOST_CONDITIONS}; got {len(conditions)}.")
        if otherwise not in (0.0, -1.0):
            raise strict.refuse(f"{where}.otherwise", "0 or -1", otherwise)
        if simple:
            conditions = [condition_of(one) if isinstance(one, Oblique) else one for one in conditions]
        return Rule(tuple(conditions), otherwise), plain["coef"]

    return read


def _ensemble_in(network: Network, value: Any, where: str) -> Ensemble:
    """Build what the networks behind a mean give its terms, or say what is wrong."""
    count, shape = len(strict.array(strict.anything)(value, where)), network.coef.shape
    if not 1 <= count <= MOST_WEIGHTS // max(network.coef.size, 1):
        raise ModelFileError(f"{where} must hold some networks, and at most {MOST_WEIGHTS} weights; got {count}.")
    intercept, coef = np.zeros((count, shape[1])), np.zeros((count, *shape))
    weights = strict.array(strict.number, shape[1])
    parts: dict[str, Reader[Any]] = {
        "intercept": weights, "terms": strict.array(strict.whole(max(shape[0] - 1, 0))), "coef": strict.anything,
    }  # fmt: skip
    for k, one in enumerate(value):
        intercept[k], own, rows = strict.record(one, f"{where}[{k}]", parts).values()
        if len(set(own)) < len(own) or len(own) > shape[0]:
            raise ModelFileError(f"{where}[{k}].terms must be different terms.")
        rows = strict.array(weights, len(own))(rows, f"{where}[{k}].coef")
        coef[k, own] = np.array(rows).reshape(len(own), shape[1])
    for name, values, mean in (("coef", coef, network.coef), ("intercept", intercept, network.intercept)):
        most = _MOST_DIFFERENCE * float(np.abs(values).max(initial=0.0))
        if not np.allclose(values.mean(axis=0), mean, rtol=_MOST_DIFFERENCE, atol=most):
            raise ModelFileError(f"{where}: the {name} of the networks do not have the mean that the file says.")
    return Ensemble(intercept, coef)


def ends_out(low: float, high: float) -> list[float | None] | None:
    """Return the ends of a linear term, or of predictions: null for one that is open; null for both."""
    ends = [None if math.isinf(end) else end for end in (low, high)]
    return None if ends == [None, None] else ends


def ends_in(value: Any, where: str) -> tuple[float, float]:
    """Return two ends, infinite where they are open, or say what is wrong."""
    if value is None:
        return -math.inf, math.inf
    low, high = strict.array(strict.optional(strict.number), 2)(value, where)
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    if low > high:
        raise strict.refuse(where, "a low end and a high one", value)
    return low, high
