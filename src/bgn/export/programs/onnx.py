"""A network as an ONNX graph of plain operators in double precision.

Rows lie along the last axis inside the graph, so that an operator works on contiguous columns, and questions of the
same shape are asked together, some dozens at a time. Where sums are whole numbers they are matrix products, exact in
any order; otherwise chains of additions in the network's order.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.export.plan import (
    NOT_TEXT,
    ExportPlan,
    Input,
    PlannedComparison,
    ReasonAmounts,
    SlopedInput,
    Summation,
    check_words,
    plan,
)
from bgn.model.schema import category_name
from bgn.require import require
from bgn.whole_file import write_whole

_TOGETHER = 64


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
        Type of numbers that are handed over. ``"float"`` rounds them to 32 bits before any question is asked, which may
        change the answers of rows next to a threshold; what is computed from them is in double precision.
    reasons : array_like or frame, optional
        Background rows: the graph gets outputs ``reasons`` (numbers of questions, whose words are in the metadata) and
        ``amounts``, the `count` largest exact SHAP values of questions against the mean answers over those rows; of
        several classes those of the likeliest.
    count : int, default 3

    Returns
    -------
    bytes
        With the output ``prediction``, of shape (rows, 1), and ``score`` where it has bounds; for classes ``label``,
        ``probabilities`` and ``score``. NaN is a gap, and an empty or unknown string; where the model refuses one, or
        a number is infinite, the prediction is NaN.

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
    wanted = inputs or ("matrix" if all(each.categories is None for each in planned.inputs) else "columns")
    check_words(planned.words, NOT_TEXT, "ONNX")
    for each in planned.inputs if wanted == "columns" else ():
        if "" in (each.categories or ()):
            raise ValueError(
                f"model has an empty string as a category of {each.name!r}, which is a missing value where ONNX reads "
                "words. Use inputs='matrix', or call the category otherwise."
            )
    if wanted not in ("matrix", "columns"):
        raise ValueError(f"inputs must be 'matrix' or 'columns'; got {inputs!r}.")
    if precision not in ("double", "float"):
        raise ValueError(f"precision must be 'double' or 'float'; got {precision!r}.")
    amounts = () if reasons is None else planned.reasons(reasons)
    content = _graph(planned, wanted, precision, amounts, count)
    if path is not None:
        write_whole(path, content)
    return content


def _graph(planned: ExportPlan, inputs: str, precision: str, amounts: Sequence[ReasonAmounts], count: int) -> bytes:
    graph = Graph([*planned.network.names, planned.target])
    read_inputs(graph, planned, inputs, precision)
    for number in range(len(planned.layers) - 1):
        _hidden_layer(graph, planned, number)
    total = (_whole_total if planned.whole else _chained_total)(graph, planned)
    if planned.over != 1.0:
        total = graph.node("Div", total, graph.constant(planned.over))
    if graph.refused:
        total = graph.node("Where", graph.refused, graph.constant(np.nan), total)
    outputs_of_scores(graph, planned, total)
    if amounts:
        _reasons(graph, planned, amounts, min(count, len(amounts)), total)
    metadata = {
        "target": planned.target,
        "columns": json.dumps([each.name for each in planned.inputs] if inputs == "columns" else planned.network.names),
        "to do before": "\n".join(planned.to_do),
        "reasons": json.dumps([each.words for each in amounts]),
    }
    return graph.finished({name: text for name, text in metadata.items() if text not in ("", "[]")})


# -- questions ---------------------------------------------------------------------------------------------------


def _shape(planned: ExportPlan, layer: int, comparison: PlannedComparison) -> tuple[Any, ...]:
    """Return what comparisons that are asked together have in common."""
    summed = planned.layers[layer].sums[comparison.summation]
    slots = tuple(
        k if isinstance(each, tuple) else -1 for k, each in zip(summed.inputs, summed.coefficients, strict=True)
    )
    return slots, summed.missing_as is not None and not layer, bool(comparison.missing) and not layer


def _asked(graph: Graph, planned: ExportPlan, layer: int, places: Sequence[int]) -> list[tuple[list[int], str]]:
    """Ask comparisons, by their numbers (some perhaps twice); return groups of positions and their answers."""
    comparisons = planned.layers[layer].comparisons
    groups: dict[tuple[Any, ...], list[int]] = {}
    for position, place in enumerate(places):
        groups.setdefault(_shape(planned, layer, comparisons[place]), []).append(position)
    found = []
    for (_, gaps, missing), positions in groups.items():
        for start in range(0, len(positions), _TOGETHER):
            chunk = positions[start : start + _TOGETHER]
            some = [comparisons[places[position]] for position in chunk]
            summed = _sums(graph, [planned.layers[layer].sums[each.summation] for each in some], layer, gaps)
            thresholds = graph.constant([[each.threshold] for each in some])
            if missing:  # NaN is not below
                found.append((chunk, graph.node("Not", graph.node("Less", summed, thresholds))))
            else:
                found.append((chunk, graph.node("GreaterOrEqual", summed, thresholds)))
    return found


def _sums(graph: Graph, sums: Sequence[Summation], layer: int, gaps: bool) -> str:
    """Add up sums of the same shape, one row each."""
    total = ""
    for slot in range(len(sums[0].inputs)):
        inputs, factors = [each.inputs[slot] for each in sums], [each.coefficients[slot] for each in sums]
        if isinstance(factors[0], tuple):
            codes = graph.codes[inputs[0]]
            behind = [np.nan if each.missing_as is None else each.missing_as[slot] for each in sums]  # the last level: a gap
            tables = np.column_stack([np.array(factors), behind])
            part = graph.node("Gather", graph.constant(tables), codes, axis=1)
        else:
            rows = [graph.rows[layer][k] for k in inputs]
            part = graph.node("Gather", graph.values[layer], graph.constant(rows, np.int64), axis=0)
            if any(each != 1.0 for each in factors):
                part = graph.node("Mul", part, graph.constant([[each] for each in factors]))
            if gaps:
                counted = graph.constant([[each.missing_as[slot]] for each in sums])  # type: ignore[index]
                part = graph.node("Where", graph.node("IsNaN", part), counted, part)
        total = graph.node("Add", total, part) if total else part
    return total or graph.zeros(len(sums))


def _hidden_layer(graph: Graph, planned: ExportPlan, layer: int) -> None:
    """Make the answers of a layer, +-1, what the next one reads."""
    groups = _asked(graph, planned, layer, range(len(planned.layers[layer].comparisons)))
    answers = [graph.node("Where", answer, graph.constant(1.0), graph.constant(-1.0)) for _, answer in groups]
    order = [position for positions, _ in groups for position in positions]
    graph.values.append(graph.node("Concat", *answers, axis=0) if answers else "")
    graph.rows.append({position: row for row, position in enumerate(order)})


# -- totals ------------------------------------------------------------------------------------------------------


def _whole_total(graph: Graph, planned: ExportPlan) -> str:
    """Add up whole numbers, by matrix products: exact in any order."""
    amounts = np.array([each.amounts for each in planned.addends]).reshape(-1, planned.outputs)
    total = graph.base(np.array(planned.base) - amounts.sum(axis=0))
    places = [each.comparison for each in planned.addends]
    for positions, answer in _asked(graph, planned, len(planned.layers) - 1, places):
        weights = graph.constant(2.0 * amounts[positions].T)
        part = graph.node("MatMul", weights, graph.node("Cast", answer, to=graph.double))
        total = graph.node("Add", total, part)
    return total


def _chained_total(graph: Graph, planned: ExportPlan) -> str:
    """Add up one after the other, in the network's order."""
    total = graph.base(np.array(planned.base))
    for sloped in planned.slopes:
        row = graph.node("Gather", graph.values[0], graph.constant([graph.rows[0][sloped.input]], np.int64), axis=0)
        row = _between(graph, sloped, row)
        total = graph.node("Add", total, graph.node("Mul", row, graph.constant([[each] for each in sloped.slopes])))
    answers: dict[int, str] = {}
    for positions, answer in _asked(
        graph, planned, len(planned.layers) - 1, [each.comparison for each in planned.addends]
    ):
        answers |= zip(positions, graph.split(answer, len(positions)), strict=True)
    for position, addend in enumerate(planned.addends):
        amounts = np.array(addend.amounts)[:, np.newaxis]
        part = graph.node("Where", answers[position], graph.constant(amounts), graph.constant(-amounts))
        total = graph.node("Add", total, part)
    return total


def _between(graph: Graph, sloped: SlopedInput, row: str) -> str:
    """Return an input, no further than the ends of its slope, and what stands in for a gap."""
    value = row
    for end, beyond in ((sloped.low, "Less"), (sloped.high, "Greater")):
        if np.isfinite(end):
            bound = graph.constant([[end]])
            value = graph.node("Where", graph.node(beyond, row, bound), bound, value)
    if sloped.gap is None:
        return value
    return graph.node("Where", graph.node("IsNaN", row), graph.constant([[sloped.gap]]), value)


def _reasons(graph: Graph, planned: ExportPlan, amounts: Sequence[ReasonAmounts], count: int, total: str) -> None:
    """Find the largest SHAP values of questions, of several classes those of the likeliest."""
    likeliest = graph.node("ArgMax", total, axis=0, keepdims=0) if planned.outputs > 1 else ""
    groups = _asked(graph, planned, len(planned.layers) - 1, [each.comparison for each in amounts])
    values = []
    for positions, answer in groups:
        yes, no = ([getattr(amounts[k], side) for k in positions] for side in ("yes", "no"))
        sides = [graph.constant(side) for side in (yes, no)]
        if likeliest:
            sides = [graph.node("Gather", side, likeliest, axis=1) for side in sides]
        values.append(graph.node("Where", answer, *sides))
    order = np.argsort([position for positions, _ in groups for position in positions])
    rows = graph.node("Gather", graph.node("Concat", *values, axis=0), graph.constant(order, np.int64), axis=0)
    size = graph.node("Abs", rows)
    _, which = graph.nodes("TopK", [size, graph.constant([count], np.int64)], 2, axis=0)
    graph.output("reasons", graph.node("Transpose", which, perm=[1, 0]), np.int64, count)
    found = graph.node("GatherElements", rows, which, axis=0)
    graph.output("amounts", graph.node("Transpose", found, perm=[1, 0]), np.float64, count)


# -- A graph of ONNX on its way: nodes, constants that are stored once, inputs and outputs.

_OPSETS = {"": 17, "ai.onnx.ml": 2}
_IR_VERSION = 8
_LABELS = ("LabelEncoder",)


class Graph:
    """Nodes and constants, whose names are none of those given.

    `values` holds, layer by layer, the name of what questions read, one row per input or answer, and `rows` which row
    of it each is; `codes` the numbers of levels by input; `refused` where no prediction is made, if there is such.
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
        """Return rows of zeros, as many as asked for."""
        gap = self.node("IsNaN", self.one_row)
        nothing = self.node("Cast", self.node("And", gap, self.node("Not", gap)), to=self.double)
        return self.node("Mul", nothing, self.constant(np.zeros((count, 1))))

    def base(self, values: ArrayLike) -> str:
        """Return rows of numbers, one row each."""
        numbers = np.asarray(values)
        return self.node("Add", self.zeros(len(numbers)), self.constant(numbers[:, np.newaxis]))

    def input(self, name: str, kind: Any, columns: int) -> str:
        """Add an input of rows."""
        self._inputs.append(self._value(name, kind, columns))
        return name

    def output(self, title: str, name: str, kind: Any, columns: int | None) -> None:
        """Give a value a name under which it is returned; without a number of columns it has none."""
        taken = {each.name for each in self._inputs}
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


# -- What an ONNX graph reads: one matrix, or one input per column; gaps filled where questions see none.


def read_inputs(graph: Graph, planned: ExportPlan, inputs: str, precision: str) -> None:
    """Add inputs, and make of them the rows of numbers and the numbers of levels that questions read."""
    kind = np.float64 if precision == "double" else np.float32
    numbers = _matrix(graph, planned, kind) if inputs == "matrix" else _columns(graph, planned, kind)
    filled: list[str] = []
    rows = {}
    for k, each in enumerate(planned.inputs):
        if k in numbers:
            value, gap = numbers[k], graph.node("IsNaN", numbers[k]) if each.refuses or each.fill is not None else ""
            if each.fill is not None:
                value = graph.node("Where", gap, graph.constant(each.fill), value)
            rows[k] = len(filled)
            filled.append(value)
            infinite = graph.node("IsInf", numbers[k])
            graph.refused = graph.node("Or", graph.refused, infinite) if graph.refused else infinite
        else:
            none = graph.constant(len(each.categories or ()), np.int64)
            gap = graph.node("Equal", graph.codes[k], none) if each.refuses or each.fill is not None else ""
            if each.fill is not None:
                fill = graph.constant(int(each.fill), np.int64)
                graph.codes[k] = graph.node("Where", gap, fill, graph.codes[k])
        if each.refuses:
            graph.refused = graph.node("Or", graph.refused, gap) if graph.refused else gap
    graph.values.append(graph.node("Concat", *filled, axis=0) if filled else "")
    graph.rows.append(rows)


def _matrix(graph: Graph, planned: ExportPlan, kind: type) -> dict[int, str]:
    """Read one matrix, categories by the number of their level."""
    network = planned.network
    table = graph.input("X", kind, network.n_inputs)
    if kind is not np.float64:
        table = graph.node("Cast", table, to=graph.double)
    table = graph.node("Transpose", table, perm=[1, 0])
    found = {}
    for k, each in enumerate(planned.inputs):
        row = graph.node("Gather", table, graph.constant([each.place], np.int64), axis=0)
        graph.one_row = graph.one_row or row
        if each.categories is None:
            found[k] = row
        else:
            graph.codes[k] = _codes(graph, row, len(each.categories))
    graph.one_row = graph.one_row or graph.node("Gather", table, graph.constant([0], np.int64), axis=0)
    return found


def _codes(graph: Graph, row: str, count: int) -> str:
    """Return the numbers of levels; one behind the last for a gap and what is no level."""
    inside = graph.node(
        "And",
        graph.node("GreaterOrEqual", row, graph.constant(0.0)),
        graph.node("Less", row, graph.constant(float(count))),
    )
    whole = graph.node("Cast", graph.node("Where", inside, row, graph.constant(float(count))), to=7)  # int64
    return graph.node("Reshape", whole, graph.constant([-1], np.int64))


def _columns(graph: Graph, planned: ExportPlan, kind: type) -> dict[int, str]:
    """Read one input per column, categories as strings."""
    found = {}
    for k, each in enumerate(planned.inputs):
        given = graph.input(each.name, kind if each.categories is None else str, 1)
        if each.categories is None:
            row = graph.node("Reshape", given, graph.constant([1, -1], np.int64))
            row = row if kind is np.float64 else graph.node("Cast", row, to=graph.double)
            found[k], graph.one_row = row, graph.one_row or row
        else:
            graph.codes[k] = _from_words(graph, given, each)
            if not graph.one_row:
                number = graph.node("Cast", graph.codes[k], to=graph.double)
                graph.one_row = graph.node("Reshape", number, graph.constant([1, -1], np.int64))
    if not planned.inputs:  # something to count rows by
        given = graph.input(planned.network.names[0], kind, 1)
        row = graph.node("Reshape", given, graph.constant([1, -1], np.int64))
        graph.one_row = row if kind is np.float64 else graph.node("Cast", row, to=graph.double)
    return found


def _from_words(graph: Graph, given: str, each: Input) -> str:
    words = [category_name(category) for category in each.categories or ()]
    found = graph.node(
        "LabelEncoder", given, keys_strings=words, values_int64s=list(range(len(words))), default_int64=len(words)
    )
    return graph.node("Reshape", found, graph.constant([-1], np.int64))


# -- What an ONNX graph returns: a number, or labels and probabilities.


def outputs_of_scores(graph: Graph, planned: ExportPlan, total: str) -> None:
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
    if planned.link == "logistic":
        yes = _logistic(graph, scores)
        no = graph.node("Sub", graph.constant(1.0), yes)
        probabilities = graph.node("Concat", no, yes, axis=1)
        place = graph.node("Cast", graph.node("Greater", scores, graph.constant(0.0)), to=7)  # int64
        place = graph.node("Reshape", place, graph.constant([-1], np.int64))
    else:
        probabilities = _softmax(graph, scores)
        place = graph.node("ArgMax", scores, axis=1, keepdims=0)
    kind, classes = _labels(planned)
    graph.output(
        "label",
        graph.node("Gather", graph.constant(classes, object if kind is str else kind), place, axis=0),
        kind,
        None,
    )
    graph.output("probabilities", probabilities, np.float64, max(planned.outputs, 2))
    graph.output("score", scores, np.float64, planned.outputs)


def _labels(planned: ExportPlan) -> tuple[type, list]:
    """Return the labels and their type: strings, whole numbers or others."""
    classes = planned.classes or ()
    if any(isinstance(each, str) for each in classes):
        return str, list(planned.class_words)
    if all(isinstance(each, bool) for each in classes):
        return np.bool_, list(classes)
    whole = all(float(each).is_integer() for each in classes)
    return (np.int64, [int(each) for each in classes]) if whole else (np.float64, list(classes))


def _logistic(graph: Graph, scores: str) -> str:
    odds = graph.node("Exp", graph.node("Neg", graph.node("Abs", scores)))
    above = graph.node("GreaterOrEqual", scores, graph.constant(0.0))
    top = graph.node("Where", above, graph.constant(1.0), odds)
    return graph.node("Div", top, graph.node("Add", odds, graph.constant(1.0)))


def _softmax(graph: Graph, scores: str) -> str:
    most = graph.node("ReduceMax", scores, axes=[1], keepdims=1)
    odds = graph.node("Exp", graph.node("Sub", scores, most))
    return graph.node("Div", odds, graph.node("ReduceSum", odds, graph.constant([1], np.int64), keepdims=1))
