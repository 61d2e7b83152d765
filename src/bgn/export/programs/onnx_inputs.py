"""What an ONNX graph reads: one matrix, or one input per column; gaps filled where questions see none."""

from __future__ import annotations

import numpy as np

from bgn.export.plan import ExportPlan
from bgn.export.programs.onnx_graph import Graph
from bgn.export.sources import Input
from bgn.model.schema import level_word


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
            none = graph.constant(len(each.levels or ()), np.int64)
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
        if each.levels is None:
            found[k] = row
        else:
            graph.codes[k] = _codes(graph, row, len(each.levels))
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
        given = graph.input(each.name, kind if each.levels is None else str, 1)
        if each.levels is None:
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
    words = [level_word(level) for level in each.levels or ()]
    found = graph.node(
        "LabelEncoder", given, keys_strings=words, values_int64s=list(range(len(words))), default_int64=len(words)
    )
    return graph.node("Reshape", found, graph.constant([-1], np.int64))
