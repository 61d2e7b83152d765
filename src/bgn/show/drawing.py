"""Where things stand in the drawing of a network: boxes and lines, in points, before any ink.

The matplotlib figure, the report and the notebook draw the same :class:`Drawing`. Columns go from left to right:
features, hidden layers, output. Features and neurons stand in order of their share of the prediction, the largest on
top; a neuron has the colour of its term in the equation; a connection is as dark as its share of the neuron. Of many
rules those about the same columns share a box, and what is left shares one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

import numpy as np

from bgn.explain.importance import Importance
from bgn.explain.importance import importance as measure
from bgn.export.condition import describe, ends
from bgn.export.numbers import aligned, whole
from bgn.export.rounded import check_digits, rounded
from bgn.export.styles import Signs, colour
from bgn.model.network import Network
from bgn.model.readings import Condition, Terms, as_terms, as_told, network_of
from bgn.model.step import Floats
from bgn.model.term import Rule
from bgn.show.labels import shortened
from bgn.text import count_of

# Sizes in points for letters of 10 points.
_ROW, _BOX, PAD, LINE = 24.0, 18.0, 6.0, 12.0
_MOST_LINES = 8  # of a box
MOST_DRAWN = 24
"""Questions that are drawn one by one; more are drawn by the columns that they are about."""
_LETTERS = dict.fromkeys(" .,:;|'!()[]/", 3.6) | dict.fromkeys("fijltIr", 4.0) | dict.fromkeys("mwMWQ@%≥≤<>+=≈", 9.0)
_LETTERS |= dict.fromkeys("0123456789", 6.4) | {"\N{MINUS SIGN}": 9.0}


@dataclass(frozen=True)
class Sheet:
    """How much room a drawing has: letters of a name and of a line, space between columns, and boxes of a column.

    A line of several cases is broken between them where it has more letters than `case`. What `most` boxes of a column
    do not hold shares the last of them; the columns of a deep network are drawn whole.
    """

    name: int = 24
    case: int = 48
    line: int = 80
    spacing: float = 1.0
    most: int | None = None


WIDE = Sheet()


@dataclass(frozen=True)
class Box:
    """A feature (layer -1), a neuron or the output; `x` and `y` are its left edge and its middle.

    Its `text` may have several lines. A box may stand for several `members`, features or neurons by number.
    """

    kind: str
    layer: int
    index: int
    text: str
    share: float | None
    colour: str | None
    x: float
    y: float
    width: float
    height: float = _BOX
    members: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """What the box says, on one line."""
        text = " ".join(self.text.split("\n"))
        return text if self.share is None else f"{text}  {percent(self.share)}"


@dataclass(frozen=True)
class Line:
    """A connection between two boxes, by their places in ``Drawing.boxes``; it leaves `room` for its text first."""

    start: int
    end: int
    darkness: float
    colour: str | None = None
    text: str = ""
    room: float = 0.0


@dataclass(frozen=True)
class Drawing:
    """Boxes, lines and the size of the sheet, in points; y grows downwards."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    width: float
    height: float

    def ends(self, line: Line) -> tuple[float, float, float, float]:
        """Return x and y of a line's two ends."""
        start, end = self.boxes[line.start], self.boxes[line.end]
        return start.x + start.width + line.room, start.y, end.x, end.y


def percent(share: float) -> str:
    """Write a share; under half a per cent is not nothing."""
    return "<1%" if 0.0 < share < 0.005 else f"{100 * share:.0f}%"


def text_width(text: str) -> float:
    """Estimate the width of a text in points, at 10 points, on the safe side."""
    return sum(10.0 if unicodedata.east_asian_width(letter) in "WF" else _LETTERS.get(letter, 6.2) for letter in text)


def importance_of(model: Any, X: Any) -> Importance:
    """Return `X` if it is an importance already, else the importance over the rows of `X`."""
    return X if isinstance(X, Importance) else measure(model, X)


def of_rules(network: Network, values: Floats) -> Floats:
    """Return the entries of the rules among values whose last axis is of all terms."""
    return values[..., [k for k, term in enumerate(network.terms) if isinstance(term, Rule)]]


def draw(
    model: Any,
    importance: Importance | None = None,
    digits: int | None = None,
    lines: Sequence[float] | None = None,
    sheet: Sheet = WIDE,
) -> Drawing:
    """Lay a network of one output out.

    Without importances, from :func:`bgn.importance`, features keep their order and show no percentage, a neuron's share
    is that of its output weight, and a connection's that of its weight, whatever the units. Numbers are whole;
    with fewer `digits` the output says so. `lines` is how far each linear term moves predictions, in the measure of the
    importances. More than :data:`MOST_DRAWN` questions of one layer are drawn by the columns that they are about.
    `sheet` is how much room there is.

    Examples
    --------
    >>> import bgn
    >>> from bgn.show.drawing import draw
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0], [1.0, 0.5]], [-3.0, -4.0])], [0.25, 0.75], 1.0, ["a", "b"])
    >>> [box.label for box in draw(network).boxes]
    ['a', 'b', 'a + 0.5 b ≥ 4  75%', 'a ≥ 3  25%', '0.0 + Σ']
    """
    network = as_told(network_of(model, plain=False))
    exact = as_terms(network)
    check_digits(digits)
    terms = exact if digits is None else rounded(exact, digits)
    note = f" (rounded to {count_of(digits or 0, 'digit')})" if terms != exact else ""
    terms = replace(terms, schema=shortened(terms.schema, sheet.name))
    base, *weights = map(Signs().number, aligned([terms.start, *(term.amount for term in terms.terms)]))
    title = "" if terms.schema.target is None else f"{terms.target} {'≈' if note else '='} "
    output = make_box("output", network.depth, 0, f"{title}{base} + Σ{note}", sheet=sheet)
    if network.depth == 1 and len(terms.terms) > MOST_DRAWN:
        return grouped_drawing(network, terms, importance, lines, output, sheet)
    columns = [features_of(network, terms, importance, sheet)]
    columns += [[_neuron(each, terms, sheet) for each in conditions] for conditions in terms.hidden]
    columns += [_term_boxes(network, terms, importance, lines, sheet), [output]]
    slopes = [slope_of(weight) for _, weight in terms.linear_terms]
    room = max((text_width(f"+{weight}") for weight in [*weights, *slopes]), default=0.0) + 4.0
    boxes = tuple(box for column in columns for box in column)
    found: Sequence[Line] = _lines(network, terms, boxes, importance, weights, room)
    if network.depth == 1:
        columns, found = gathered(columns, found, sheet)
    boxes, width, height = placed(columns, room, sheet)
    return Drawing(boxes, tuple(found), width, height)


def slope_of(weight: float) -> str:
    """Write what a linear term adds per unit, its sign included."""
    return ("+" if weight > 0 else Signs().number("-")) + whole(abs(weight))


def make_box(
    kind: str, layer: int, index: int, text: str, share: float | None = None, ink: str | None = None,
    members: tuple[int, ...] = (), sheet: Sheet = WIDE,
) -> Box:  # fmt: skip
    """Return a box with its size but no place yet."""
    lines = _lines_of(text, sheet)
    widest = max(map(text_width, lines)) + (0.0 if share is None else text_width(f"  {percent(share)}"))
    height = _BOX + LINE * (len(lines) - 1)
    return Box(kind, layer, index, "\n".join(lines), share, ink, 0.0, 0.0, widest + 2 * PAD, height, members)


def _lines_of(text: str, sheet: Sheet) -> list[str]:
    """Break a long question between its cases, and a long case between its words; what is left out is marked."""
    lines: list[str] = []
    for part in text.split(", or "):
        part = f"or {part}" if lines else part
        if lines and len(lines[-1]) + len(part) < sheet.case:
            lines[-1] += f", {part}"
        else:
            lines = [*lines[:-1], *(f"{line}," for line in lines[-1:]), part]
    broken = [each for line in lines for each in wrap(line, sheet.line, break_on_hyphens=False) or [line]]
    return broken if len(broken) <= _MOST_LINES else [*broken[: _MOST_LINES - 1], f"{broken[_MOST_LINES - 1]} …"]


def features_of(network: Network, terms: Terms, importance: Importance | None, sheet: Sheet) -> list[Box]:
    """Return one box per feature that the network uses, the most important first."""
    if importance is None:
        return [make_box("feature", -1, i, terms.names[i], sheet=sheet) for i in network.features_used]
    shares = importance.relative_features.tolist()
    used = sorted(network.features_used, key=lambda i: -shares[i])
    return [make_box("feature", -1, i, terms.names[i], shares[i], sheet=sheet) for i in used]


def _neuron(condition: Condition, terms: Terms, sheet: Sheet) -> Box:
    """Return the box of a neuron below the last layer."""
    name = terms.hidden_names[condition.layer, condition.neuron]
    text = f"{name}: {describe(condition, terms, Signs())}"
    return make_box("neuron", condition.layer, condition.neuron, text, sheet=sheet)


def _term_boxes(
    network: Network, terms: Terms, importance: Importance | None, lines: Sequence[float] | None, sheet: Sheet
) -> list[Box]:
    """Return one box per neuron of the last layer and per linear term, the most important first."""
    weights = np.abs(network.output_weights) if importance is None else of_rules(network, importance.terms)
    straight = [0.0] * len(terms.linear_terms) if lines is None else list(lines)
    total = weights[[term.neuron for term in terms.terms]].sum() + sum(straight) or 1.0
    boxes = []
    for position, term in enumerate(terms.terms):
        text, share = describe(term.condition, terms, Signs()), float(weights[term.neuron] / total)
        # Beside slopes whose size is not known, a share of the questions alone would mislead.
        known = share if lines is not None or not terms.linear_terms else None
        box = make_box("neuron", network.depth - 1, term.neuron, text, known, colour(position), sheet=sheet)
        boxes.append((share, box))
    for place, ((line, _), size) in enumerate(zip(terms.linear_terms, straight, strict=True)):
        text = Signs().scaled(terms.names[line.column], *ends(line))
        text = text if text.startswith("per unit") else f"per unit of {text}"
        known = size / total if lines is not None else None
        boxes.append((size / total, make_box("line", network.depth, place + 1, text, known, sheet=sheet)))
    return [box for _, box in sorted(boxes, key=lambda pair: -pair[0])]


def placed(columns: Sequence[Sequence[Box]], room: float, sheet: Sheet) -> tuple[tuple[Box, ...], float, float]:
    """Put the columns side by side, each spread over the height; return the boxes, the width and the height.

    Between the terms and the output there is `room` for amounts.
    """
    tall = [sum(box.height + _ROW - _BOX for box in column) for column in columns]
    height, found, x = max(_ROW, *tall), list[Box](), 0.0
    for column, own in zip(columns, tall, strict=True):
        width, y = max((box.width for box in column), default=0.0), 0.0
        for box in column:
            room_above = (box.height + _ROW - _BOX + (height - own) / len(column)) / 2.0
            found.append(replace(box, x=x, y=y + room_above, width=width))
            y += 2.0 * room_above
        # Room for lines to fan out: more where more rows meet.
        fan = sheet.spacing * min(70.0 + 3.0 * len(column), 150.0)
        x += width + max(fan, room + 30.0 * sheet.spacing if column is columns[-2] else 0.0)
    last = found[-1]
    return tuple(found), last.x + last.width, height


def _lines(
    network: Network,
    terms: Terms,
    boxes: Sequence[Box],
    importance: Importance | None,
    weights: Sequence[str],
    room: float,
) -> tuple[Line, ...]:
    """Return the connections into neurons and slopes, then those from them to the output."""
    places = {(box.layer, box.index): place for place, box in enumerate(boxes)}
    conditions = [each for layer in terms.hidden for each in layer] + [term.condition for term in terms.terms]
    found = []
    for condition in conditions:
        line = network.layers[condition.layer].neurons[condition.neuron].projection
        weight_of = dict(zip(line.columns, line.coefficients, strict=True))
        parts = np.array([np.abs(weight_of[j]).max() for j in condition.columns])  # of a category its weightiest level
        if importance is not None and network.depth == 1:
            parts = of_rules(network, importance.connections)[list(condition.columns), condition.neuron]
        total, end = parts.sum() or 1.0, places[condition.layer, condition.neuron]
        for column, part in zip(condition.columns, parts.tolist(), strict=True):
            found.append(Line(places[condition.layer - 1, column], end, darkness=part / total))
    last = len(boxes) - 1
    for place, (straight, slope) in enumerate(terms.linear_terms):
        box = places[network.depth, place + 1]
        found.append(Line(places[-1, straight.column], box, 1.0))
        found.append(Line(box, last, 0.6, None, slope_of(slope), room))
    for position, (term, weight) in enumerate(zip(terms.terms, weights, strict=True)):
        start = places[term.condition.layer, term.neuron]
        found.append(Line(start, last, 1.0, colour(position), f"+{weight}", room))
    return tuple(found)


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
    sizes = np.abs(network.output_weights) if importance is None else of_rules(network, importance.terms)
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
        return {each.column: 0.6 for each, _ in terms.linear_terms}
    sums: dict[int, float] = {}
    for neuron in box.members:
        projection = network.layers[0].neurons[neuron].projection
        for j, weight in zip(projection.columns, projection.coefficients, strict=True):
            part = float(np.abs(weight).max()) if importance is None else float(of_rules(network, importance.connections)[j, neuron])
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
