"""A network as an ONNX graph of plain operators in double precision.

Rows lie along the last axis inside the graph, so that an operator works on contiguous columns, and questions of the
same shape are asked together, some dozens at a time. Where sums are whole numbers they are matrix products, exact in
any order; otherwise chains of additions in the network's order.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from bgn.export.plan import ExportPlan, PlannedComparison, ReasonAmounts, SlopedInput, Summation, plan
from bgn.export.programs.onnx_graph import Graph
from bgn.export.programs.onnx_inputs import read_inputs
from bgn.export.programs.onnx_outputs import outputs_of_scores
from bgn.export.sources import NOT_TEXT, check_words
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
    >>> network = bgn.Network([bgn.Layer([[1.0, 0.59]], [-63.56])], [0.505], 1.0, ["income", "age"], "value")
    >>> session = onnxruntime.InferenceSession(bgn.export.to_onnx(network))
    >>> session.run(["prediction"], {"X": np.array([[60.0, 30.0]])})[0], network.predict([[60.0, 30.0]])
    (array([[1.505]]), array([1.505]))
    """
    planned = plan(model)
    wanted = inputs or ("matrix" if all(each.levels is None for each in planned.inputs) else "columns")
    check_words(planned.words, NOT_TEXT, "ONNX")
    for each in planned.inputs if wanted == "columns" else ():
        if "" in (each.levels or ()):
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
    return slots, summed.gaps is not None and not layer, bool(comparison.missing) and not layer


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
            behind = [np.nan if each.gaps is None else each.gaps[slot] for each in sums]  # the last level: a gap
            tables = np.column_stack([np.array(factors), behind])
            part = graph.node("Gather", graph.constant(tables), codes, axis=1)
        else:
            rows = [graph.rows[layer][k] for k in inputs]
            part = graph.node("Gather", graph.values[layer], graph.constant(rows, np.int64), axis=0)
            if any(each != 1.0 for each in factors):
                part = graph.node("Mul", part, graph.constant([[each] for each in factors]))
            if gaps:
                counted = graph.constant([[each.gaps[slot]] for each in sums])  # type: ignore[index]
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
