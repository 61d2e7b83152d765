"""A network as an ONNX graph of plain operators in double precision.

Rows lie along the last axis inside the graph, so that an operator works on contiguous columns, and comparisons of the
same shape are made together, some dozens at a time. Where sums are whole numbers they are matrix products, exact in
any order; otherwise chains of additions in the network's order.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.export.plan import (
    NOT_TEXT,
    Absent,
    ExportPlan,
    LinearInput,
    OneOf,
    PlannedComparison,
    PlannedCondition,
    Reason,
    Summation,
    check_texts,
    plan,
    write_file,
)
from bgn.model.term import OPPOSITE
from bgn.require import require

_TOGETHER = 64
_OPERATORS = {">=": "GreaterOrEqual", ">": "Greater", "<": "Less", "<=": "LessOrEqual"}


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    inputs: str | None = None,
    precision: str = "double",
    reasons: Any = None,
    count: int = 3,
) -> bytes:
    """Write a model as an ONNX graph of plain operators in double precision (opset 17, ai.onnx.ml 2).

    Parameters
    ----------
    model : Network or fitted estimator
    path : str or path-like, optional
        File to write, whole or not at all.
    inputs : {"matrix", "columns"}, optional
        ``"matrix"``: one input ``X`` of shape (rows, columns of the network), categories by the number of their level.
        ``"columns"``: one input of shape (rows, 1) per column that is read, by its name, categories as strings. The
        former unless the network reads categories.
    precision : {"double", "float"}, default "double"
        Type of numbers that are handed over. ``"float"`` rounds them to 32 bits before any comparison, which may
        change which rules hold on rows next to a threshold; what is computed from them is in double precision.
    reasons : array_like or frame, optional
        Background rows: the graph gets outputs ``reasons`` (numbers of rules, whose words are in the metadata) and
        ``amounts``, the `count` largest exact SHAP values of rules against the mean over those rows; of several
        classes those of the likeliest.
    count : int, default 3

    Returns
    -------
    bytes
        With the output ``prediction``, of shape (rows, 1), and ``score`` where it has bounds; for classes ``label``,
        ``probabilities`` and ``score``. NaN is a missing value, and an empty or unknown string; where the model refuses
        one, or a number is infinite, the prediction is NaN.

    Examples
    --------
    >>> import bgn
    >>> import numpy as np
    >>> import onnxruntime
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.59]], [-63.56])], [0.505], 1.0, ["income", "age"], "value")
    >>> session = onnxruntime.InferenceSession(bgn.export.to_onnx(network))
    >>> session.run(["prediction"], {"X": np.array([[60.0, 30.0]])})[0], network.predict([[60.0, 30.0]])
    (array([[1.505]]), array([1.505]))
    """
    planned = plan(model)
    form = inputs or ("matrix" if all(given.categories is None for given in planned.inputs) else "columns")
    check_texts(planned.texts, NOT_TEXT, "ONNX")
    for given in planned.inputs if form == "columns" else ():
        if "" in (given.categories or ()):
            raise ValueError(
                f"model has an empty string as a category of {given.name!r}, which is a missing value where ONNX reads "
                "words. Use inputs='matrix', or call the category otherwise."
            )
    if form not in ("matrix", "columns"):
        raise ValueError(f"inputs must be 'matrix' or 'columns'; got {inputs!r}.")
    if precision not in ("double", "float"):
        raise ValueError(f"precision must be 'double' or 'float'; got {precision!r}.")
    explained = () if reasons is None else planned.reasons(reasons)
    graph = Graph([*planned.network.names, planned.target])
    _read_inputs(graph, planned, form, np.float64 if precision == "double" else np.float32)
    for layer, part in enumerate(planned.layers[:-1]):  # +-1, what the next layer reads
        name, rows = _stacked(graph, _compare(graph, planned, layer, part.conditions))
        graph.values.append(graph.node("Where", name, graph.constant(1.0), graph.constant(-1.0)) if name else "")
        graph.rows.append(rows)
    total = _add_up(graph, planned)
    if planned.over != 1.0:
        total = graph.node("Div", total, graph.constant(planned.over))
    if graph.refused:
        total = graph.node("Where", graph.refused, graph.constant(np.nan), total)
    _write_outputs(graph, planned, total)
    if explained:
        _write_reasons(graph, planned, explained, min(count, len(explained)), total)
    names = [given.name for given in planned.inputs] if form == "columns" else planned.network.names
    metadata = {
        "target": planned.target,
        "columns": json.dumps(names),
        "to do before": "\n".join(planned.to_do),
        "reasons": json.dumps([reason.text for reason in explained]),
    }
    return write_file(graph.finished({name: text for name, text in metadata.items() if text not in ("", "[]")}), path)


# -- rules -------------------------------------------------------------------------------------------------------


def _compare(
    graph: Graph, planned: ExportPlan, layer: int, conditions: Sequence[PlannedCondition]
) -> list[tuple[list[int], str]]:
    """Make conditions; return groups of their places and what holds. Those that are alike are made together."""
    part, groups = planned.layers[layer], dict[tuple[Any, ...], list[int]]()
    for place, condition in enumerate(conditions):
        shape: tuple[Any, ...] = (type(condition),)
        if isinstance(condition, OneOf):
            shape = OneOf, condition.input
        elif isinstance(condition, PlannedComparison):
            summed = part.sums[condition.summation]
            slots = tuple(k if isinstance(own, tuple) else -1 for k, own, _ in summed.parts(layer))
            counts_missing = summed.missing_as is not None and not layer
            shape = slots, counts_missing, condition.relation, bool(condition.missing) and not layer
        groups.setdefault(shape, []).append(place)
    compared = []
    for shape, places in groups.items():
        for start in range(0, len(places), _TOGETHER):
            chunk = places[start : start + _TOGETHER]
            alike = [conditions[place] for place in chunk]
            compared.append((chunk, _compare_alike(graph, part.sums, layer, alike, shape)))
    return compared


def _compare_alike(
    graph: Graph, sums: Sequence[Summation], layer: int, conditions: Sequence[Any], shape: tuple[Any, ...]
) -> str:
    """Make conditions of one shape, a row each."""
    first = conditions[0]
    if isinstance(first, Absent):
        rows = [graph.rows[0][condition.input] for condition in conditions]
        return graph.node("IsNaN", graph.node("Gather", graph.values[0], graph.constant(rows, np.int64), axis=0))
    if isinstance(first, OneOf):
        held = [[*condition.chosen, condition.missing] for condition in conditions]
        return graph.node("Gather", graph.constant(held, np.bool_), graph.codes[first.input], axis=1)
    total = _add_inputs(graph, [sums[condition.summation] for condition in conditions], layer, shape[1])
    thresholds = graph.constant([[condition.threshold] for condition in conditions])
    if shape[3]:  # NaN fails every comparison
        return graph.node("Not", graph.node(_OPERATORS[OPPOSITE[first.relation]], total, thresholds))
    return graph.node(_OPERATORS[first.relation], total, thresholds)


def _stacked(graph: Graph, groups: Sequence[tuple[list[int], str]]) -> tuple[str, dict[int, int]]:
    """Return what holds as one value, if anything does, and its row for every place."""
    order = [place for places, _ in groups for place in places]
    name = graph.node("Concat", *(name for _, name in groups), axis=0) if groups else ""
    return name, {place: row for row, place in enumerate(order)}


def _hold(graph: Graph, planned: ExportPlan, rules: Sequence[int]) -> list[tuple[list[int], str]]:
    """Make rules, by their numbers (some perhaps twice); return groups of places and what holds."""
    last, held = len(planned.layers) - 1, [planned.rules[rule] for rule in rules]
    if all(len(conditions) == 1 for conditions in held):
        return _compare(graph, planned, last, [planned.last.conditions[conditions[0]] for conditions in held])
    name, rows = _stacked(graph, _compare(graph, planned, last, planned.last.conditions))
    groups = []
    for size in sorted({len(conditions) for conditions in held}):
        places = [place for place, conditions in enumerate(held) if len(conditions) == size]
        slots = [graph.constant([rows[held[place][slot]] for place in places], np.int64) for slot in range(size)]
        parts = [graph.node("Gather", name, slot, axis=0) for slot in slots]
        groups.append((places, reduce(lambda one, other: graph.node("And", one, other), parts)))
    return groups


def _add_inputs(graph: Graph, sums: Sequence[Summation], layer: int, counts_missing: bool) -> str:
    """Add up sums of the same shape, one row each."""
    total = ""
    for slot in range(len(sums[0].inputs)):
        inputs, factors = [summed.inputs[slot] for summed in sums], [summed.coefficients[slot] for summed in sums]
        missing_as = [np.nan if summed.missing_as is None else summed.missing_as[slot] for summed in sums]
        if isinstance(factors[0], tuple):
            tables = np.column_stack([np.array(factors), missing_as])  # behind the last category: a missing value
            part = graph.node("Gather", graph.constant(tables), graph.codes[inputs[0]], axis=1)
        else:
            rows = [graph.rows[layer][k] for k in inputs]
            part = graph.node("Gather", graph.values[layer], graph.constant(rows, np.int64), axis=0)
            if any(factor != 1.0 for factor in factors):
                part = graph.node("Mul", part, graph.constant([[factor] for factor in factors]))
            if counts_missing:
                counted = graph.constant([[value] for value in missing_as])
                part = graph.node("Where", graph.node("IsNaN", part), counted, part)
        total = graph.node("Add", total, part) if total else part
    return total or graph.zeros(len(sums))


# -- totals ------------------------------------------------------------------------------------------------------


def _add_up(graph: Graph, planned: ExportPlan) -> str:
    """Add up the terms: whole numbers by matrix products, exact in any order, others in the network's order."""
    intercept = np.array(planned.intercept)
    groups = _hold(graph, planned, [addend.rule for addend in planned.addends])
    yes, no = (np.array([getattr(addend, side) for addend in planned.addends]).reshape(-1, planned.outputs)
               for side in ("coef", "otherwise"))  # fmt: skip
    if planned.whole:
        total = graph.fixed(intercept + no.sum(axis=0))
        for positions, holds in groups:
            ones = graph.node("Cast", holds, to=graph.double)
            total = graph.node("Add", total, graph.node("MatMul", graph.constant((yes - no)[positions].T), ones))
        return total
    total, split = graph.fixed(intercept), dict[int, str]()
    for positions, holds in groups:
        split |= zip(positions, graph.split(holds, len(positions)), strict=True)
    position = 0
    for term in planned.terms:
        if isinstance(term, LinearInput):
            row = graph.node("Gather", graph.values[0], graph.constant([graph.rows[0][term.input]], np.int64), axis=0)
            part = graph.node("Mul", _between(graph, term, row), graph.constant([[own] for own in term.coef]))
        else:
            sides = [graph.constant(side[position][:, np.newaxis]) for side in (yes, no)]
            part, position = graph.node("Where", split[position], *sides), position + 1
        total = graph.node("Add", total, part)
    return total


def _between(graph: Graph, linear: LinearInput, row: str) -> str:
    """Return an input, no further than the ends of its linear term, and what a missing value counts as."""
    value = row
    for end, beyond in ((linear.low, "Less"), (linear.high, "Greater")):
        if np.isfinite(end):
            bound = graph.constant([[end]])
            value = graph.node("Where", graph.node(beyond, row, bound), bound, value)
    if linear.missing_as is None:
        return value
    return graph.node("Where", graph.node("IsNaN", row), graph.constant([[linear.missing_as]]), value)


def _write_reasons(graph: Graph, planned: ExportPlan, reasons: Sequence[Reason], count: int, total: str) -> None:
    """Find the largest SHAP values of rules, of several classes those of the likeliest."""
    likeliest = graph.node("ArgMax", total, axis=0, keepdims=0) if planned.outputs > 1 else ""
    groups = _hold(graph, planned, [reason.rule for reason in reasons])
    values = []
    for positions, holds in groups:
        sides = [graph.constant([getattr(reasons[k], side) for k in positions]) for side in ("yes", "no")]
        if likeliest:
            sides = [graph.node("Gather", side, likeliest, axis=1) for side in sides]
        values.append(graph.node("Where", holds, *sides))
    order = np.argsort([position for positions, _ in groups for position in positions])
    rows = graph.node("Gather", graph.node("Concat", *values, axis=0), graph.constant(order, np.int64), axis=0)
    _, which = graph.nodes("TopK", [graph.node("Abs", rows), graph.constant([count], np.int64)], 2, axis=0)
    graph.output("reasons", graph.node("Transpose", which, perm=[1, 0]), np.int64, count)
    largest = graph.node("GatherElements", rows, which, axis=0)
    graph.output("amounts", graph.node("Transpose", largest, perm=[1, 0]), np.float64, count)


# -- A graph of ONNX on its way: nodes, constants that are stored once, inputs and outputs.

_OPSETS = {"": 17, "ai.onnx.ml": 2}
_IR_VERSION = 8
_LABELS = ("LabelEncoder",)


class Graph:
    """Nodes and constants, whose names are none of those given.

    `values` holds, layer by layer, the name of what rules read, one row per input or condition, and `rows` which row
    of it that is; `codes` the numbers of categories by input; `refused` where no prediction is made, if there is such.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._prefix = ""
        while any(name.startswith(f"{self._prefix}n") or name.startswith(f"{self._prefix}c") for name in names):
            self._prefix += "_"
        self._onnx = require("onnx", extra="onnx")
        self.double = self._onnx.TensorProto.DOUBLE
        self.values: list[str] = []
        self.rows: list[dict[int, int]] = []
        self.codes: dict[int, str] = {}
        self.refused = ""
        self.one_row = ""
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._constants: dict[tuple[Any, ...], tuple[str, Any]] = {}

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of one output; return its name."""
        return self.nodes(operator, inputs, 1, **attributes)[0]

    def nodes(self, operator: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """Add a node of several outputs; return their names."""
        number = len(self._nodes)
        first = f"{self._prefix}n{number}"
        names = [first if count == 1 else f"{first}_{k}" for k in range(count)]
        domain = "ai.onnx.ml" if operator in _LABELS else ""
        # Named, since onnxruntime before version 1.22 names what it makes of nodes after them, and each name only once.
        make = self._onnx.helper.make_node
        self._nodes.append(make(operator, list(inputs), names, name=first, domain=domain, **attributes))
        return names

    def constant(self, values: ArrayLike, kind: Any = np.float64) -> str:
        """Return the name of a constant, which is stored once."""
        array = np.asarray(values, dtype=kind)
        key = (array.shape, str(array.dtype), array.tobytes() if array.dtype != object else tuple(array.ravel()))
        if key not in self._constants:
            name = f"{self._prefix}c{len(self._constants)}"
            self._constants[key] = name, self._onnx.numpy_helper.from_array(array, name)
        return self._constants[key][0]

    def split(self, name: str, count: int) -> list[str]:
        """Return the rows of a value."""
        if count == 1:
            return [name]
        return self.nodes("Split", [name, self.constant(np.ones(count), np.int64)], count, axis=0)

    def zeros(self, count: int) -> str:
        """Return rows of zeros."""
        missing = self.node("IsNaN", self.one_row)
        nothing = self.node("Cast", self.node("And", missing, self.node("Not", missing)), to=self.double)
        return self.node("Mul", nothing, self.constant(np.zeros((count, 1))))

    def in_double(self, name: str, kind: type) -> str:
        """Return a value in double precision."""
        return name if kind is np.float64 else self.node("Cast", name, to=self.double)

    def fixed(self, values: ArrayLike) -> str:
        """Return rows of numbers, one row each."""
        numbers = np.asarray(values)
        return self.node("Add", self.zeros(len(numbers)), self.constant(numbers[:, np.newaxis]))

    def input(self, name: str, kind: Any, columns: int) -> str:
        """Add an input of rows."""
        self._inputs.append(self._value(name, kind, columns))
        return name

    def output(self, title: str, name: str, kind: Any, columns: int | None) -> None:
        """Give a value a name under which it is returned; without a number of columns it has none."""
        taken = {given.name for given in self._inputs}
        while title in taken:
            title += " of bgn"
        self._nodes.append(self._onnx.helper.make_node("Identity", [name], [title]))
        self._outputs.append(self._value(title, kind, columns))

    def _value(self, name: str, kind: Any, columns: int | None) -> Any:
        helper = self._onnx.helper
        types = self._onnx.TensorProto
        number = types.STRING if kind is str else helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return helper.make_tensor_value_info(name, number, ["rows"] if columns is None else ["rows", columns])

    def finished(self, metadata: Mapping[str, str]) -> bytes:
        """Return the model, checked."""
        helper = self._onnx.helper
        used = {name for node in self._nodes for name in node.input}
        stored = [value for name, value in self._constants.values() if name in used]
        graph = helper.make_graph(self._nodes, "bgn", self._inputs, self._outputs, stored)
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="bgn")
        helper.set_model_props(model, dict(metadata))
        self._onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


# -- What an ONNX graph reads: one matrix, or one input per column; missing values filled where rules see none.


def _read_inputs(graph: Graph, planned: ExportPlan, form: str, kind: type) -> None:
    """Add inputs, and make of them the rows of numbers and the numbers of categories that rules read."""
    numbers = (_read_matrix if form == "matrix" else _read_columns)(graph, planned, kind)
    filled: list[str] = []
    rows, refused = {}, []
    for k, given in enumerate(planned.inputs):
        missing = ""
        if k in numbers:
            value = numbers[k]
            if given.refuses or given.fill is not None:
                missing = graph.node("IsNaN", value)
            if given.fill is not None:
                value = graph.node("Where", missing, graph.constant(given.fill), value)
            rows[k] = len(filled)
            filled.append(value)
            refused.append(graph.node("IsInf", numbers[k]))
        elif given.refuses or given.fill is not None:
            missing = graph.node("Equal", graph.codes[k], graph.constant(len(given.names), np.int64))
            if given.fill is not None:
                fill = graph.constant(int(given.fill), np.int64)
                graph.codes[k] = graph.node("Where", missing, fill, graph.codes[k])
        refused += [missing] * given.refuses
    for name in refused:
        graph.refused = graph.node("Or", graph.refused, name) if graph.refused else name
    graph.values.append(graph.node("Concat", *filled, axis=0) if filled else "")
    graph.rows.append(rows)


def _read_matrix(graph: Graph, planned: ExportPlan, kind: type) -> dict[int, str]:
    """Read one matrix, categories by their numbers; one behind the last for a missing value and for none of them."""
    matrix = graph.in_double(graph.input("X", kind, planned.network.n_inputs), kind)
    matrix = graph.node("Transpose", matrix, perm=[1, 0])
    numbers = {}
    for k, given in enumerate(planned.inputs):
        row = graph.node("Gather", matrix, graph.constant([given.place], np.int64), axis=0)
        graph.one_row = graph.one_row or row
        if given.categories is None:
            numbers[k] = row
            continue
        zero, count = graph.constant(0.0), graph.constant(float(len(given.categories)))
        inside = graph.node("And", graph.node("GreaterOrEqual", row, zero), graph.node("Less", row, count))
        whole = graph.node("Cast", graph.node("Where", inside, row, count), to=7)  # int64
        graph.codes[k] = graph.node("Reshape", whole, graph.constant([-1], np.int64))
    graph.one_row = graph.one_row or graph.node("Gather", matrix, graph.constant([0], np.int64), axis=0)
    return numbers


def _read_columns(graph: Graph, planned: ExportPlan, kind: type) -> dict[int, str]:
    """Read one input per column, categories as strings."""
    numbers, flat, row_of_all = {}, graph.constant([-1], np.int64), graph.constant([1, -1], np.int64)
    for k, given in enumerate(planned.inputs):
        name = graph.input(given.name, kind if given.categories is None else str, 1)
        if given.categories is None:
            row = graph.in_double(graph.node("Reshape", name, row_of_all), kind)
            numbers[k], graph.one_row = row, graph.one_row or row
            continue
        count = len(given.names)
        codes = graph.node("LabelEncoder", name, keys_strings=given.names, values_int64s=list(range(count)),
                           default_int64=count)  # fmt: skip
        graph.codes[k] = graph.node("Reshape", codes, flat)
        if not graph.one_row:
            graph.one_row = graph.node("Reshape", graph.node("Cast", graph.codes[k], to=graph.double), row_of_all)
    if not planned.inputs:  # something to count rows by
        name = graph.input(planned.network.names[0], kind, 1)
        graph.one_row = graph.in_double(graph.node("Reshape", name, row_of_all), kind)
    return numbers


# -- What an ONNX graph returns: a number, or labels and probabilities.


def _write_outputs(graph: Graph, planned: ExportPlan, total: str) -> None:
    """Add outputs made of the raw scores, one row per output of the network."""
    scores = graph.node("Transpose", total, perm=[1, 0])
    if planned.link == "identity":
        held = scores
        for sign, end in planned.bounds:
            bound = graph.constant(end)
            held = graph.node("Where", graph.node("Less" if sign == "<" else "Greater", scores, bound), bound, held)
        graph.output("prediction", held, np.float64, 1)
        if planned.bounds:
            graph.output("score", scores, np.float64, 1)
        return
    one, zero = graph.constant(1.0), graph.constant(0.0)
    if planned.link == "logistic":
        odds = graph.node("Exp", graph.node("Neg", graph.node("Abs", scores)))
        top = graph.node("Where", graph.node("GreaterOrEqual", scores, zero), one, odds)
        yes = graph.node("Div", top, graph.node("Add", odds, one))
        probabilities = graph.node("Concat", graph.node("Sub", one, yes), yes, axis=1)
        place = graph.node("Cast", graph.node("Greater", scores, zero), to=7)  # int64
        place = graph.node("Reshape", place, graph.constant([-1], np.int64))
    else:
        odds = graph.node("Exp", graph.node("Sub", scores, graph.node("ReduceMax", scores, axes=[1], keepdims=1)))
        axis = graph.constant([1], np.int64)
        probabilities = graph.node("Div", odds, graph.node("ReduceSum", odds, axis, keepdims=1))
        place = graph.node("ArgMax", scores, axis=1, keepdims=0)
    kind, labels = _labels(planned)
    label = graph.node("Gather", graph.constant(labels, object if kind is str else kind), place, axis=0)
    graph.output("label", label, kind, None)
    graph.output("probabilities", probabilities, np.float64, max(planned.outputs, 2))
    graph.output("score", scores, np.float64, planned.outputs)


def _labels(planned: ExportPlan) -> tuple[type, list]:
    """Return the labels and their type: strings, whole numbers or others."""
    classes = planned.classes or ()
    if any(isinstance(label, str) for label in classes):
        return str, list(planned.class_names)
    if all(isinstance(label, bool) for label in classes):
        return np.bool_, list(classes)
    whole = all(float(label).is_integer() for label in classes)
    return (np.int64, [int(label) for label in classes]) if whole else (np.float64, list(classes))
