"""The drawing of a network of many questions: those about the same columns share a box, and what is left shares one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bgn.explain.importance import Importance
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.model.terms import Terms
from bgn.show.drawing import Box, Drawing, Line, Sheet, features_of, make_box, placed

_MOST_GROUPS, _MOST_FEATURES = 14, 16


def grouped_drawing(
    network: Network,
    terms: Terms,
    importance: Importance | None,
    lines: Sequence[float] | None,
    output: Box,
    sheet: Sheet,
) -> Drawing:
    """Lay a network with one hidden layer of many questions out, group by group."""
    features = _features(network, terms, importance, sheet)
    groups = _groups(network, terms, importance, lines, sheet)
    boxes, width, height = placed([features, groups, [output]], 8.0, sheet)
    place_of = {j: place for place, box in enumerate(boxes) if box.layer < 0 for j in box.members or (box.index,)}
    last, found = len(boxes) - 1, list[Line]()
    for place, box in enumerate(boxes):
        if box.layer != 0:
            continue
        for column, part in _parts(network, terms, importance, box).items():
            found.append(Line(place_of[column], place, part))
        found.append(Line(place, last, max(box.share or 0.0, 0.15)))
    return Drawing(boxes, tuple(_merged(found)), width, height)


def gathered(columns: list[list[Box]], lines: Sequence[Line], sheet: Sheet) -> tuple[list[list[Box]], Sequence[Line]]:
    """Return the features, the questions and the output with what a sheet has no room for in one box per column.

    Lines are between boxes in the order of the columns, before and after.
    """
    if sheet.most is None or max(map(len, columns)) <= sheet.most:
        return columns, lines
    kept = [_fewest(each, word, sheet) for each, word in zip(columns, ("columns", "questions", ""), strict=True)]
    moved, start = list[int](), 0
    for column, shown in zip(columns, kept, strict=True):
        moved += [start + min(place, len(shown) - 1) for place in range(len(column))]
        start += len(shown)
    boxes = [box for column in kept for box in column]
    found = [replace(each, start=moved[each.start], end=moved[each.end]) for each in lines]
    found = [replace(each, text="", colour=None) if boxes[each.start].members else each for each in found]
    return kept, _merged(found)


def _fewest(boxes: list[Box], word: str, sheet: Sheet) -> list[Box]:
    """Return at most as many boxes as a column of the sheet has, the least important in the last one."""
    if sheet.most is None or len(boxes) <= sheet.most:
        return boxes
    kept, rest = boxes[: sheet.most - 1], boxes[sheet.most - 1 :]
    share = None if any(box.share is None for box in rest) else sum(box.share or 0.0 for box in rest)
    text, members = f"{len(rest)} other {word}", tuple(box.index for box in rest)
    return [*kept, make_box(rest[0].kind, rest[0].layer, -1, text, share, None, members, sheet)]


def _features(network: Network, terms: Terms, importance: Importance | None, sheet: Sheet) -> list[Box]:
    """Return one box per feature, the least important in one box where they are many."""
    few = replace(sheet, most=min(_MOST_FEATURES, sheet.most or _MOST_FEATURES))
    return _fewest(features_of(network, terms, importance, sheet), "columns", few)


def _groups(
    network: Network, terms: Terms, importance: Importance | None, lines: Sequence[float] | None, sheet: Sheet
) -> list[Box]:
    """Return one box per set of columns that are asked about together, the most important first, then all others."""
    sizes = np.abs(network.output_weights) if importance is None else importance.neurons
    by_columns: dict[tuple[int, ...], list[int]] = {}
    for term in terms.terms:
        by_columns.setdefault(tuple(sorted(term.condition.columns)), []).append(term.neuron)
    straight = [0.0] * len(terms.linear_terms) if lines is None else list(lines)
    total = float(sizes[[term.neuron for term in terms.terms]].sum() + sum(straight)) or 1.0
    ordered = sorted(by_columns.items(), key=lambda group: -float(sizes[group[1]].sum()))
    most = min(_MOST_GROUPS, sheet.most or _MOST_GROUPS)
    kept = ordered if len(ordered) <= most else ordered[: most - 1]
    boxes = [_group(place, neurons, _about(columns, terms), sizes, total, sheet) for place, (columns, neurons) in
             enumerate(kept)]  # fmt: skip
    if rest := [neuron for _, neurons in ordered[len(kept) :] for neuron in neurons]:
        about = f"{len(ordered) - len(kept)} other choices of columns"
        boxes.append(_group(len(boxes), rest, about, sizes, total, sheet))
    if straight:
        share = sum(straight) / total if lines is not None else None
        what = "one slope" if len(straight) == 1 else f"{len(straight)} slopes"
        boxes.append(make_box("line", 0, len(boxes), what, share, sheet=sheet))
    return boxes


def _group(place: int, neurons: list[int], about: str, sizes: Floats, total: float, sheet: Sheet) -> Box:
    count = "one question" if len(neurons) == 1 else f"{len(neurons)} questions"
    share = float(sizes[neurons].sum() / total)
    return make_box("group", 0, place, f"{count} about {about}", share, None, tuple(neurons), sheet)


def _about(columns: Sequence[int], terms: Terms) -> str:
    names = [terms.names[j] for j in columns]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _parts(network: Network, terms: Terms, importance: Importance | None, box: Box) -> dict[int, float]:
    """Return how much each column has to do with the questions of a box."""
    if box.kind == "line":
        return {each.column: 0.6 for each in terms.linear_terms}
    sums: dict[int, float] = {}
    for neuron in box.members:
        projection = network.layers[0].neurons[neuron].projection
        for j, weight in zip(projection.columns, projection.coefficients, strict=True):
            part = float(np.abs(weight).max()) if importance is None else float(importance.connections[j, neuron])
            sums[j] = sums.get(j, 0.0) + part
    total = sum(sums.values()) or 1.0
    used = set(network.features_used)
    return {j: part / total for j, part in sums.items() if j in used}


def _merged(lines: Sequence[Line]) -> list[Line]:
    """Return the lines, those between the same boxes as one."""
    found: dict[tuple[int, int], Line] = {}
    for line in lines:
        known = found.get((line.start, line.end))
        darkness = line.darkness + (0.0 if known is None else known.darkness)
        found[line.start, line.end] = replace(line, darkness=min(darkness, 1.0))
    return list(found.values())
