"""A reader of printed equations, written from the grammar in ``docs/show.rst``: it knows the text and nothing else.

`number` says what to compute with: ``float`` (comparisons are float64's, sums in the order of the text) or ``Decimal``,
which takes a float for the decimal that ``repr`` writes, as a person with a pocket calculator would.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal, localcontext
from functools import reduce
from operator import add, and_, ge, gt, le, lt, or_

import numpy as np

RELATIONS = {">=": ge, "<": lt, ">": gt, "<=": le}
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"
QUOTED = r'"(?:[^"\\]|\\.)*"'
COUNTS = {
    "either of ": (">=", 1), "both of ": (">=", 2), "neither of ": ("<=", 0),
    "not both of ": ("<=", 1), "none of ": ("<=", 0),
}  # fmt: skip
EXACT = Context(prec=2000, Emax=10_000, Emin=-10_000)


@dataclass
class Sentence:
    """One equation: its base, its lines as (amount, question or column), and the answers h1, h2, ... by name."""

    target: str
    base: str
    lines: list[tuple[str, str]]
    hidden: dict[str, str]
    names: list[str]
    counted: dict[str, str]
    orders: dict[str, list[str]]
    named: dict[str, str] = field(default_factory=dict)

    def columns(self, table: dict, number: type) -> dict:
        """Return the table with h1, h2, ... beside its columns."""
        # Where a name is quoted, its column and the words in columns are called as the text is read.
        table = {self.named.get(name, name): self._tokens(column) for name, column in table.items()}
        result = {name: _numbers(column, number) for name, column in table.items()}
        for name, rule in self.hidden.items():
            result[name] = _numbers(self._yes(rule, result, number).astype(float), number)
        return result

    def answers(self, table: dict, number: type = float) -> np.ndarray:
        """Return which questions are answered yes, shape (rows, questions)."""
        columns = self.columns(table, number)
        requested = [factor[1:-1] for _, factor in self.lines if factor.startswith("[")]
        rows = len(next(iter(columns.values())))
        return np.array([self._yes(item, columns, number) for item in requested], dtype=bool).reshape(-1, rows).T

    def value(self, table: dict, number: type = float) -> np.ndarray:
        """Return base and amounts, added up in the order of the text."""
        columns, answers = self.columns(table, number), iter(self.answers(table, number).T)
        rows = len(next(iter(columns.values())))
        total = np.array([number(self.base)] * rows)
        with localcontext(EXACT):
            for weight, factor in self.lines:
                part = next(answers) if factor.startswith("[") else columns[factor]
                total = total + (
                    np.where(part, number(weight), number(0)) if part.dtype == bool else part * number(weight)
                )
        return total

    def _tokens(self, column: np.ndarray) -> np.ndarray:
        if not any(isinstance(value, str) for value in column):
            return column
        return np.array([self.named.get(value, value) if isinstance(value, str) else value for value in column], object)

    # -- questions -----------------------------------------------------------------------------------------

    def _yes(self, rule: str, columns: dict, number: type) -> np.ndarray:
        """Answer a question for every row; where a value is missing the answer is no, unless it says otherwise."""
        name = "|".join(re.escape(item) for item in sorted([*self.names, *self.hidden], key=len, reverse=True))
        if result := re.match(rf"({NUMBER}) (<=?) ({name}) (<=?) ({NUMBER})( or .+ is missing)?$", rule):
            low, below, column, upper, high, missing = result.groups()
            values, mirrored = columns[column], {"<": ">", "<=": ">="}
            inside = _over(mirrored[below], values, number(low)) & _over(upper, values, number(high))
            return inside | columns.get(_absent(column), np.array(list(map(_missing, values)))) if missing else inside
        several = len(set(re.findall(rf"(?<![\w])(?:{name})(?![\w])", rule))) > 1
        counted = dict(self.counted) if several else {}
        rule, *note = _split(rule, " (a missing ")  # in brackets it is about the condition in them
        counted |= _counted("a missing " + note[0], name) if note else {}
        # What counts as a number in a rule does so in all its parts; it is missing all the same, where that is asked.
        unknown = [item for item in self.names if _absent(item) not in columns]
        columns = columns | {_absent(item): np.array([_missing(value) for value in columns[item]]) for item in unknown}
        columns = columns | {
            item: np.array(
                [number(value) if _missing(old) else old for old in columns[item]], dtype=columns[item].dtype
            )
            for item, value in counted.items()
        }
        for glue, other, together in ((" and ", " or ", and_), (" or ", " and ", or_)):
            parts = _split(rule, glue)
            if len(parts) > 1 and all(_stands_alone(part, name, other) for part in parts):
                parts = [part[1:-1] if part.startswith("(") and part.endswith(")") else part for part in parts]
                return reduce(together, [self._yes(part, columns, number) for part in parts])
        missing_values = {item: columns[_absent(item)] for item in self.names}
        if result := re.match(rf"(?:(.+), and )?(?:neither|none) of ((?:{name})(?:, (?:{name}))*) is missing$", rule):
            clear = ~reduce(or_, [missing_values[item] for item in result[2].split(", ")])
            return clear & self._yes(result[1], columns, number) if result[1] else clear
        if result := re.match(rf"(?:(.+), and )({name}) is not missing$", rule):
            return ~missing_values[result[2]] & self._yes(result[1], columns, number)
        alone = re.match(rf"()((?:{name})(?: or (?:{name}))*) is missing$", rule)
        if result := alone or re.match(rf"(?:(.+?),? or )((?:{name})(?: or (?:{name}))*) is missing$", rule):
            open_ = reduce(or_, [missing_values[item] for item in result[2].split(" or ")])
            return open_ | self._yes(result[1], columns, number) if result[1] else open_
        return self._said(rule, columns, number, name)

    def _said(self, rule: str, columns: dict, number: type, name: str) -> np.ndarray:
        """Answer a question that says nothing of gaps at its end."""
        if rule in ("always", "never"):
            return np.full(len(next(iter(columns.values()))), rule == "always")
        if result := re.match(rf"(all of |at (least|most) (\d+) of |{'|'.join(COUNTS)})(.+)$", rule):
            items = _split(result[4], ", ")
            held = sum(self._choice(item, columns, name).astype(int) for item in items)
            how = ">=" if result[2] == "least" else "<="
            relation, count = COUNTS.get(result[1], (how, int(result[3] or 0)))
            return RELATIONS[relation](held, count) if result[1] != "all of " else held == len(items)
        if re.search(rf" (>=|<=|<|>) {NUMBER}", rule):
            return self._compared(rule, columns, number, name)
        return self._choice(rule, columns, name)

    def _compared(self, rule: str, columns: dict, number: type, name: str) -> np.ndarray:
        """Compare a number, or a sum, of which one threshold must be reached; choices must hold as well, or suffice."""
        yes = np.zeros(len(next(iter(columns.values()))), dtype=bool)
        for case in (case for part in _split(rule, ", or ") for case in _split(part, " or ")):
            first, *needed = _split(case, " and ")
            places = re.finditer(rf" (>=|<=|<|>) ({NUMBER})", first)
            compared = next((place for place in places if _outside(first, place.start())), None)
            if compared is None:  # choices; what stands in a summand's brackets is no threshold
                yes |= self._several(case, columns, name)
                continue
            with localcontext(EXACT):
                values = self._sum(first[: compared.start()], columns, number, name)
                holds = _over(compared[1], values, number(compared[2]))
            for choice in needed:
                holds = holds & self._several(choice, columns, name)
            yes |= np.asarray(holds, dtype=bool)
        return yes

    def _several(self, text: str, columns: dict, name: str) -> np.ndarray:
        """Answer choices, perhaps in brackets, and perhaps how many of them must hold."""
        inner = text[1:-1] if text.startswith("(") and _outside(text[1:-1], len(text) - 2) else text
        return self._said(inner, columns, float, name)

    def _sum(self, left: str, columns: dict, number: type, name: str) -> np.ndarray:
        parts, place = [], 0
        while place < len(left):
            begun = re.match(rf" ?([+-]?) ?(?:({NUMBER}) )?", left[place:])
            place += begun.end()
            ends = (item.start() for item in re.finditer(r" [+-] |$", left))
            end = next(item for item in ends if item > place and _outside(left, item))
            what, place = left[place:end], end
            coefficient = number(begun[2] or 1) * (-1 if begun[1] == "-" else 1)
            if what in columns:
                parts.append(columns[what] * coefficient)
            else:
                parts.append(np.where(self._choice(what, columns, name), coefficient, number(0)))
        return reduce(add, parts)

    def _choice(self, text: str, columns: dict, name: str) -> np.ndarray:
        """Tell where a column has a value, or one of some; a name alone means 1, and after "not" 0."""
        if result := re.match(rf"(({name}) .+) (or is missing|and is not missing)$", text):
            text = f"{result[1]} {result[3].split(' is ')[0]} {result[2]} is {result[3].split(' is ')[1]}"
        for glue, together in ((" or ", or_), (" and ", and_)):
            if len(parts := _split(text, glue)) > 1:
                return reduce(together, [self._choice(item, columns, name) for item in parts])
        if text.startswith("("):
            return self._choice(text[1:-1], columns, name)
        if result := re.match(rf"({name}) is (not )?missing$", text):
            return columns[_absent(result[1])] != bool(result[2])
        if result := re.match(rf"(not )?({name})$", text):
            return np.array([bool(value == 1) is not bool(result[1]) for value in columns[result[2]]])
        if result := re.match(rf"({name}) (>=|<) (.+)$", text):
            order = self.orders[result[1]]
            among, how = [item for item in order if RELATIONS[result[2]](order.index(item), order.index(result[3]))], ""
            column = result[1]
        else:
            column, how, tokens = re.match(rf"({name})( = | is not | in | not in )(.+)$", text).groups()
            among = tokens[1:-1].split(", ") if how.endswith("in ") else [tokens]
        held = [(_text(value) in among) is not ("not" in how) and not _missing(value) for value in columns[column]]
        return np.array(held, dtype=bool)


def _stands_alone(text: str, name: str, other: str) -> bool:
    """Tell whether a text is one condition of a rule: in brackets, or a comparison without "where" and lists."""
    if len(_split(text, other)) > 1 or len(_split(text, " where ")) > 1 or text.endswith(","):
        return False
    compared = rf"(?:{NUMBER} <=? )?(?:{name}) (?:>=|<=|<|>|=|is|in|not in) .+$"
    return (
        bool(re.match(compared, text))
        or (text.startswith("(") and text.endswith(")"))
        or bool(re.search(rf" (?:>=|<=|<|>) {NUMBER}$", text))
    )


def _absent(name: str) -> tuple[str, str]:
    """Return under which key it is kept where a column has gaps."""
    return name, "is missing"


def _outside(text: str, place: int) -> bool:
    """Tell whether a place of a text is in no brackets."""
    before = text[:place]
    return before.count("(") + before.count("{") == before.count(")") + before.count("}")


def _split(text: str, glue: str) -> list[str]:
    """Split a text where it is in no brackets."""
    parts, depth, last = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "({") - (letter in ")}")
        if not depth and place >= last and text.startswith(glue, place):
            parts.append(text[last:place])
            last = place + len(glue)
    return [*parts, text[last:]]


def _counted(text: str, name: str) -> dict[str, str]:
    """Read what missing numbers count as."""
    result = re.findall(rf"a missing ({name}) (?:counts )?as ({NUMBER})", text)
    return dict(result)


def _over(relation: str, values: np.ndarray, threshold: object) -> np.ndarray:
    """Compare where there is a value."""
    return np.array(
        [not _missing(value) and bool(RELATIONS[relation](value, threshold)) for value in values], dtype=bool
    )


def _missing(value: object) -> bool:
    return value is None or bool(value != value)


def parse(text: str, names: list[str]) -> Sentence:
    """Read one equation about columns with these names; a category by its own name.

    What stands in quotation marks is a JSON string, a name to the letter; it is read by a word without blanks instead.
    """
    quoted = dict.fromkeys(re.findall(QUOTED, text))
    tokens = {written: f"\ue000{place}\ue001" for place, written in enumerate(quoted)}
    text = re.sub(QUOTED, lambda result: tokens[result[0]], text)
    named = {json.loads(written): token for written, token in tokens.items()}
    result = _parse(text, [named.get(name, name) for name in names])
    return replace(result, named=named)


def _parse(text: str, names: list[str]) -> Sentence:
    *upper, body = text.split("\n\n")
    hidden = dict(re.match(r"(h\d+) = \[(.+)\]$", line).groups() for line in upper[0].splitlines()) if upper else {}
    first, *rest = body.splitlines()
    target, _, base = first.rpartition(" = ")
    lines, counted, orders = [], {}, {}
    for line in rest:
        if result := re.match(rf"\s*([+-])\s+({NUMBER}) (.+)$", line):
            lines.append(((result[1] + result[2]).lstrip("+"), result[3]))
        elif line.startswith("In conditions on several columns, "):
            counted = _counted(line, "|".join(map(re.escape, names)))
        elif result := re.match(r"(.+?): (.+ < .+)\.$", line):
            orders[result[1]] = result[2].split(" < ")
    return Sentence(target, base.strip(), lines, hidden, list(names), counted, orders)


def _numbers(column: np.ndarray, number: type) -> np.ndarray:
    """Return a column to compute with; words stay words."""
    if number is float or any(isinstance(value, str | bool) or value is None for value in column):
        return np.asarray(column)
    return np.array([Decimal(repr(float(value))) for value in column], dtype=object)


def _text(value: object) -> str:
    if _missing(value):
        return ""
    return value if isinstance(value, str) else str(value) if isinstance(value, bool) else str(int(value))
