"""Where things stand in the drawing of a network: boxes and lines, in points, before any ink.

The matplotlib figure, the report and the notebook draw the same :class:`Drawing`. Columns go from left to right:
features, hidden layers, output. Features and rules stand in order of their share of the prediction, the largest on
top; a rule has the color of its term in the equation; a connection is as dark as its share of the rule. Of many
rules those about the same columns share a box, and what is left shares one.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from textwrap import wrap
from typing import Any

import numpy as np

from bgn.explain.importance import Importance
from bgn.explain.importance import importance as measure
from bgn.export.condition import describe, describe_conditions, describe_linear
from bgn.export.numbers import aligned, check_digits, round_terms, share_of, whole
from bgn.export.styles import Signs, color
from bgn.model.network import Network
from bgn.model.readings import ReadCondition, ReadTerm, Terms, as_terms, network_of, with_positive_second
from bgn.model.step import Floats
from bgn.model.term import Rule
from bgn.show.labels import shortened
from bgn.text import count_of

# Sizes in points for letters of 10 points.
_ROW, _BOX, PAD, LINE = 24.0, 18.0, 6.0, 12.0
_JOINED, BRACKET = 20.0, 10.0
"""From one condition of a rule to the next, and the width of the bracket that joins them."""
_MOST_LINES = 8  # of a box
MOST_DRAWN = 24
"""Rules that are drawn one by one; more are drawn by the columns that they are about."""
_MOST_GROUPS, _MOST_FEATURES = 14, 16
_LETTERS = dict.fromkeys(" .,:;|'!()[]/", 3.6) | dict.fromkeys("fijltIr", 4.0) | dict.fromkeys("mwMWQ@%≥≤<>+=≈", 9.0)
_LETTERS |= dict.fromkeys("0123456789", 6.4) | {"\N{MINUS SIGN}": 9.0}


@dataclass(frozen=True)
class Sheet:
    """How large a drawing may be: letters of a name and of a line, space between columns, and boxes of a column.

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

    Its `text` may have several lines. A box may stand for several `members`, features or neurons by number. One that is
    `joined` is a box per line, the conditions of a rule, and a bracket on their right.
    """

    kind: str
    layer: int
    index: int
    text: str
    share: float | None
    color: str | None
    x: float
    y: float
    width: float
    height: float = _BOX
    members: tuple[int, ...] = ()
    joined: bool = False

    @property
    def middles(self) -> list[float]:
        """The heights of its lines."""
        count, step = self.text.count("\n") + 1, _JOINED if self.joined else LINE
        return [self.y + step * (place - (count - 1) / 2) for place in range(count)]

    @property
    def rectangles(self) -> list[tuple[float, float, float, float]]:
        """Left and upper edge, width and height of its boxes: one, or one per condition."""
        if not self.joined:
            return [(self.x, self.y - self.height / 2, self.width, self.height)]
        return [(self.x, y - _BOX / 2, self.width - BRACKET, _BOX) for y in self.middles]

    @property
    def bracket(self) -> list[tuple[float, float, float, float]]:
        """The lines of the bracket that joins the boxes of conditions: x and y of both ends."""
        if not self.joined:
            return []
        right, first, last = self.x + self.width, self.middles[0], self.middles[-1]
        hooks = [(right - BRACKET, y, right - BRACKET / 2, y) for y in self.middles]
        middle = right - BRACKET / 2
        return [*hooks, (middle, first, middle, last), (middle, self.y, right, self.y)]

    @property
    def label(self) -> str:
        """What the box says, on one line."""
        text = " ".join(self.text.split("\n"))
        return text if self.share is None else f"{text}  {share_of(self.share)}"


@dataclass(frozen=True)
class Line:
    """A connection between two boxes, by their places in ``Drawing.boxes``; its text stands in the first `margin`."""

    start: int
    end: int
    darkness: float
    color: str | None = None
    text: str = ""
    margin: float = 0.0


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
        return start.x + start.width + line.margin, start.y, end.x, end.y


def text_width(text: str) -> float:
    """Estimate the width of a text in points, at 10 points, on the safe side."""
    return sum(10.0 if unicodedata.east_asian_width(letter) in "WF" else _LETTERS.get(letter, 6.2) for letter in text)


def _of_conditions(box: Box, texts: Sequence[str], glue: str) -> Box:
    """Return a box as one box per condition of a rule, joined by a bracket."""
    lines = [texts[0], *(f"{glue} {text}" for text in texts[1:])]
    widths = list(map(text_width, lines))
    widths[0] += 0.0 if box.share is None else text_width(f"  {share_of(box.share)}")
    height = _BOX + _JOINED * (len(lines) - 1)
    return replace(box, text="\n".join(lines), width=max(widths) + 2 * PAD + BRACKET, height=height, joined=True)


def of_rules(network: Network, values: Floats) -> Floats:
    """Return the entries of the rules among values whose last axis is of all terms."""
    return values[..., [place for place, term in enumerate(network.terms) if isinstance(term, Rule)]]


def importance_of(model: Any, X: Any) -> Importance:
    """Return `X` if it is an importance already, else the importance over the rows of `X`."""
    return X if isinstance(X, Importance) else measure(model, X)


def draw(
    model: Any,
    importance: Importance | None = None,
    digits: int | None = None,
    lines: Sequence[float] | None = None,
    sheet: Sheet = WIDE,
) -> Drawing:
    """Lay a network of one output out.

    Without importances, from :func:`bgn.importance`, features keep their order and show no percentage, a rule's share
    is that of its weight, and a connection's that of its coefficient, whatever the units. Numbers are whole; with fewer
    `digits` the output says so. `lines` is how far each linear term moves predictions, in the measure of the
    importances. More than :data:`MOST_DRAWN` rules of one layer are drawn by the columns that they are about.

    Examples
    --------
    >>> import bgn
    >>> from bgn.show.drawing import draw
    >>> layer = bgn.Layer([[1.0, 0.0], [1.0, 0.5]], [-3.0, -4.0])
    >>> network = bgn.Network.of_layers([layer], [0.25, 0.75], 1.0, ["a", "b"])
    >>> [box.label for box in draw(network).boxes]
    ['a', 'b', 'a + 0.5 b ≥ 4  75%', 'a ≥ 3  25%', '0.0 + Σ']
    """
    network = with_positive_second(network_of(model, plain=False))
    exact = as_terms(network)
    if exact.classes:
        raise ValueError(
            f"model must have one output; got {len(exact.classes)}. Draw one of bgn.model.readings.outputs_of."
        )
    check_digits(digits)
    terms = exact if digits is None else round_terms(exact, digits)
    note = f" (rounded to {count_of(digits or 0, 'digit')})" if terms != exact else ""
    terms = replace(terms, schema=shortened(terms.schema, sheet.name))
    return _Plan(network, terms, importance, lines, sheet).drawing(note)


@dataclass(frozen=True)
class _Plan:
    """What is drawn: a network's terms, what is known of their importance, and how large the sheet is."""

    network: Network
    terms: Terms
    importance: Importance | None
    lines: Sequence[float] | None
    sheet: Sheet

    def drawing(self, note: str) -> Drawing:
        terms, depth = self.terms, self.depth
        numbers = aligned([terms.intercept[0], *(term.coef[0] for term in terms.rules)])
        intercept, *weights = map(Signs().number, numbers)
        title = "" if terms.schema.target is None else f"{terms.target} {'≈' if note else '='} "
        output = self.box("output", depth, 0, f"{title}{intercept} + Σ{note}")
        if depth == 1 and len(terms.rules) > MOST_DRAWN:
            return self.drawing_of_groups(output)
        columns = [self.features()]
        for layer in terms.hidden:
            columns.append([
                self.box("neuron", part.layer, part.number,
                         f"{terms.hidden_names[part.layer, part.number]}: {describe(part, terms, Signs())}")
                for part in layer
            ])  # fmt: skip
        columns += [self.term_boxes(), [output]]
        added = [*(f"+{weight}" for weight in weights), *map(_per_unit, terms.linear)]
        margin = max(map(text_width, added), default=0.0) + 4.0
        lines: Sequence[Line] = self.connections([box for column in columns for box in column], added, margin)
        if depth == 1:
            columns, lines = self.gathered(columns, lines)
        boxes, width, height = self.placed(columns, margin)
        return Drawing(boxes, tuple(lines), width, height)

    @property
    def depth(self) -> int:
        """The number of columns of rules and of conditions below them."""
        return len(self.network.below) + 1

    @cached_property
    def sizes(self) -> Floats:
        """How much every rule of the network moves predictions."""
        return of_rules(
            self.network, np.abs(self.network.coef[:, 0]) if self.importance is None else self.importance.terms
        )

    @cached_property
    def total(self) -> float:
        """How much all terms move predictions."""
        rules = float(self.sizes[[term.index for term in self.terms.rules]].sum())
        return rules + sum(self.lines or ()) or 1.0

    def box(
        self, kind: str, layer: int, index: int, text: str, share: float | None = None, ink: str | None = None,
        members: tuple[int, ...] = (),
    ) -> Box:  # fmt: skip
        """Return a box with its size but no place yet, its text broken between cases, and long cases between words."""
        cases: list[str] = []
        for part in text.split(", or "):
            part = f"or {part}" if cases else part
            if cases and len(cases[-1]) + len(part) < self.sheet.case:
                cases[-1] += f", {part}"
            else:
                cases = [*cases[:-1], *(f"{line}," for line in cases[-1:]), part]
        broken = [line for case in cases for line in wrap(case, self.sheet.line, break_on_hyphens=False) or [case]]
        if len(broken) > _MOST_LINES:
            broken = [*broken[: _MOST_LINES - 1], f"{broken[_MOST_LINES - 1]} …"]
        widest = max(map(text_width, broken)) + (0.0 if share is None else text_width(f"  {share_of(share)}"))
        height = _BOX + LINE * (len(broken) - 1)
        return Box(kind, layer, index, "\n".join(broken), share, ink, 0.0, 0.0, widest + 2 * PAD, height, members)

    def features(self) -> list[Box]:
        """Return one box per feature that the network uses, the most important first."""
        used = list(self.network.features_used)
        known = [] if self.importance is None else self.importance.relative_features.tolist()
        shares: dict[int, float] = dict(enumerate(known))
        used.sort(key=lambda i: -shares.get(i, 0.0))
        return [self.box("feature", -1, i, self.terms.names[i], shares.get(i)) for i in used]

    def term_boxes(self) -> list[Box]:
        """Return one box per rule and per linear term, the most important first."""
        # Beside linear terms of unknown size, a share of the rules alone would mislead.
        known, boxes = self.lines is not None or not self.terms.linear, []
        for position, term in enumerate(self.terms.rules):
            share = float(self.sizes[term.index] / self.total)
            texts, glue = describe_conditions(term, self.terms, Signs(), {})
            box = self.box("neuron", self.depth - 1, term.index, f" {glue} ".join(texts), share if known else None,
                           color(position))  # fmt: skip
            if len(texts) > 1 and max(map(len, texts)) <= self.sheet.line:
                box = _of_conditions(box, texts, glue)
            boxes.append((share, box))
        for place, term in enumerate(self.terms.linear, start=1):
            share = 0.0 if self.lines is None else self.lines[place - 1] / self.total
            text = describe_linear(term.linear, self.terms, Signs())  # type: ignore[arg-type]
            boxes.append((share, self.box("line", self.depth, place, text, share if known else None)))
        return [box for _, box in sorted(boxes, key=lambda pair: -pair[0])]

    def placed(self, columns: Sequence[Sequence[Box]], margin: float) -> tuple[tuple[Box, ...], float, float]:
        """Put the columns side by side, each stretched to the height; return the boxes, the width and the height.

        The `margin` between the terms and the output is for weights.
        """
        heights = [sum(box.height + _ROW - _BOX for box in column) for column in columns]
        height, boxes, x = max(_ROW, *heights), list[Box](), 0.0
        for column, own in zip(columns, heights, strict=True):
            width, y = max((box.width for box in column), default=0.0), 0.0
            for box in column:
                half = (box.height + _ROW - _BOX + (height - own) / len(column)) / 2.0
                boxes.append(replace(box, x=x, y=y + half, width=width))
                y += 2.0 * half
            # Lines fan out: more where more rows meet.
            fan = self.sheet.spacing * min(70.0 + 3.0 * len(column), 150.0)
            x += width + max(fan, margin + 30.0 * self.sheet.spacing if column is columns[-2] else 0.0)
        return tuple(boxes), boxes[-1].x + boxes[-1].width, height

    def connections(self, boxes: Sequence[Box], added: Sequence[str], margin: float) -> tuple[Line, ...]:
        """Return the connections into conditions and linear terms, then those from them to the output."""
        terms = self.terms
        places = {(box.layer, box.index): place for place, box in enumerate(boxes)}
        lines, last = [], len(boxes) - 1
        for condition in terms.conditions:
            parts, end = self.parts(condition), places[condition.layer, condition.number]
            total = sum(parts.values()) or 1.0
            lines += [Line(places[condition.layer - 1, column], end, part / total) for column, part in parts.items()]
        for place, term in enumerate(terms.linear, start=1):
            box = places[self.depth, place]
            lines.append(Line(places[-1, term.linear.column], box, 1.0))  # type: ignore[union-attr]
            lines.append(Line(box, last, 0.6, None, _per_unit(term), margin))
        for position, (term, text) in enumerate(zip(terms.rules, added, strict=False)):
            start = places[term.condition.layer, term.index]
            lines.append(Line(start, last, 1.0, color(position), text, margin))
        return tuple(lines)

    def parts(self, condition: ReadCondition) -> dict[int, float]:
        """Return how much each input has to do with a condition: of a category its weightiest value."""
        if self.importance is not None and self.depth == 1:
            sizes = of_rules(self.network, self.importance.connections)[
                list(condition.columns), condition.number
            ].tolist()
        else:
            sizes = [float(np.abs(coefficient).max()) for coefficient in condition.coefficients]
        return dict(zip(condition.columns, sizes, strict=True))

    # -- many rules, or a small sheet ----------------------------------------------------------------------

    def drawing_of_groups(self, output: Box) -> Drawing:
        """Lay many rules out by the columns that they are about."""
        features = self.fewest(self.features(), "columns", min(_MOST_FEATURES, self.sheet.most or _MOST_FEATURES))
        boxes, width, height = self.placed([features, self.groups(), [output]], 8.0)
        place_of = {j: place for place, box in enumerate(boxes) if box.layer < 0 for j in box.members or (box.index,)}
        used, lines = set(self.network.features_used), list[Line]()
        by_index = {term.index: term for term in self.terms.rules}
        for place, box in enumerate(boxes):
            if box.layer != 0:
                continue
            sums = Counter[int]()
            for condition in (condition for index in box.members for condition in by_index[index].conditions):
                sums.update(self.parts(condition))
            total = sum(sums.values()) or 1.0
            shares = {column: part / total for column, part in sums.items() if column in used}
            if box.kind == "line":
                shares = {term.linear.column: 0.6 for term in self.terms.terms if term.linear is not None}
            lines += [Line(place_of[column], place, share) for column, share in shares.items()]
            lines.append(Line(place, len(boxes) - 1, max(box.share or 0.0, 0.15)))
        return Drawing(boxes, tuple(_merge_lines(lines)), width, height)

    def groups(self) -> list[Box]:
        """Return one box per set of columns that rules are about, the most important first, then all others."""
        by_columns: dict[tuple[int, ...], list[int]] = {}
        for term in self.terms.rules:
            by_columns.setdefault(tuple(sorted(term.columns)), []).append(term.index)
        ordered = sorted(by_columns.items(), key=lambda group: -float(self.sizes[group[1]].sum()))
        most, boxes = min(_MOST_GROUPS, self.sheet.most or _MOST_GROUPS), list[Box]()
        kept = ordered if len(ordered) <= most else ordered[: most - 1]
        groups = []
        for columns, rules in kept:
            *names, last = (self.terms.names[j] for j in columns)
            groups.append((f"{', '.join(names)} and {last}" if names else last, rules))
        if rest := [rule for _, rules in ordered[len(kept) :] for rule in rules]:
            groups.append((f"{len(ordered) - len(kept)} other choices of columns", rest))
        for place, (about, rules) in enumerate(groups):
            share = float(self.sizes[rules].sum() / self.total)
            text = f"{count_of(len(rules), 'rule')} about {about}"
            boxes.append(self.box("group", 0, place, text, share, None, tuple(rules)))
        if linear := len(self.terms.linear):
            known = None if self.lines is None else sum(self.lines) / self.total
            boxes.append(self.box("line", 0, len(boxes), count_of(linear, "linear term"), known))
        return boxes

    def gathered(self, columns: list[list[Box]], lines: Sequence[Line]) -> tuple[list[list[Box]], Sequence[Line]]:
        """Return features, rules and output, with what does not fit on a sheet in one box per column.

        Lines are between boxes in the order of the columns, before and after.
        """
        most = self.sheet.most
        if most is None or max(map(len, columns)) <= most:
            return columns, lines
        kinds = ("columns", "rules", "")
        kept = [self.fewest(column, kind, most) for column, kind in zip(columns, kinds, strict=True)]
        moved, start = list[int](), 0
        for column, shown in zip(columns, kept, strict=True):
            moved += [start + min(place, len(shown) - 1) for place in range(len(column))]
            start += len(shown)
        boxes = [box for column in kept for box in column]
        ends = [replace(line, start=moved[line.start], end=moved[line.end]) for line in lines]
        ends = [replace(line, text="", color=None) if boxes[line.start].members else line for line in ends]
        return kept, _merge_lines(ends)

    def fewest(self, boxes: list[Box], kind: str, most: int) -> list[Box]:
        """Return at most as many boxes, the least important in the last one."""
        if len(boxes) <= most:
            return boxes
        kept, rest = boxes[: most - 1], boxes[most - 1 :]
        share = None if any(box.share is None for box in rest) else sum(box.share or 0.0 for box in rest)
        text, members = f"{len(rest)} other {kind}", tuple(box.index for box in rest)
        return [*kept, self.box(rest[0].kind, rest[0].layer, -1, text, share, None, members)]


def _per_unit(term: ReadTerm) -> str:
    """Write what a linear term adds per unit, its sign included."""
    return ("+" if term.coef[0] > 0 else Signs().number("-")) + whole(abs(term.coef[0]))


def _merge_lines(lines: Sequence[Line]) -> list[Line]:
    """Return the lines, those between the same boxes as one."""
    merged: dict[tuple[int, int], Line] = {}
    for line in lines:
        known = merged.get((line.start, line.end))
        merged[line.start, line.end] = replace(
            line, darkness=min(line.darkness + (known.darkness if known else 0), 1.0)
        )
    return list(merged.values())
