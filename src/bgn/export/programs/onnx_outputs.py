"""What an ONNX graph returns: a number, or labels and probabilities."""

from __future__ import annotations

import numpy as np

from bgn.export.plan import ExportPlan
from bgn.export.programs.onnx_graph import Graph


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
