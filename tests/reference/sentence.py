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
        table = {self.named.get(name, name): self._words(column) for name, column in table.items()}
        found = {name: _numbers(column, number) for name, column in table.items()}
        for name, question in self.hidden.items():
            found[name] = _numbers(self._yes(question, found, number).astype(float), number)
        return found

    def answers(self, table: dict, number: type = float) -> np.ndarray:
        """Return which questions are answered yes, shape (rows, questions)."""
        columns = self.columns(table, number)
        asked = [factor[1:-1] for _, factor in self.lines if factor.startswith("[")]
        rows = len(next(iter(columns.values())))
        return np.array([self._yes(each, columns, number) for each in asked], dtype=bool).reshape(-1, rows).T

    def value(self, table: dict, number: type = float) -> np.ndarray:
        """Return base and amounts, added up in the order of the text."""
        columns, answers = self.columns(table, number), iter(self.answers(table, number).T)
        rows = len(next(iter(columns.values())))
        total = np.array([number(self.base)] * rows)
        with localcontext(EXACT):
            for amount, factor in self.lines:
                part = next(answers) if factor.startswith("[") else columns[factor]
                total = total + (
                    np.where(part, number(amount), number(0)) if part.dtype == bool else part * number(amount)
                )
        return total

    def _words(self, column: np.ndarray) -> np.ndarray:
        if not any(isinstance(value, str) for value in column):
            return column
        return np.array([self.named.get(value, value) if isinstance(value, str) else value for value in column], object)

    # -- questions -----------------------------------------------------------------------------------------

    def _yes(self, question: str, columns: dict, number: type) -> np.ndarray:
        """Answer a question for every row; where a value is missing the answer is no, unless it says otherwise."""
        name = "|".join(re.escape(each) for each in sorted([*self.names, *self.hidden], key=len, reverse=True))
        if found := re.match(rf"({NUMBER}) (<=?) ({name}) (<=?) ({NUMBER})( or .+ is missing)?$", question):
            low, below, column, above, high, missing = found.groups()
            values, mirrored = columns[column], {"<": ">", "<=": ">="}
            inside = _over(mirrored[below], values, number(low)) & _over(above, values, number(high))
            return inside | columns.get(_absent(column), np.array(list(map(_gap, values)))) if missing else inside
        if not self.counted:
            for glue, other, together in ((" and ", " or ", and_), (" or ", " and ", or_)):
                parts = _split(question, glue)
                if len(parts) > 1 and all(_stands_alone(part, name, other) for part in parts):
                    parts = [part[1:-1] if part.startswith("(") and part.endswith(")") else part for part in parts]
                    return reduce(together, [self._yes(part, columns, number) for part in parts])
        several = len(set(re.findall(rf"(?<![\w])(?:{name})(?![\w])", question))) > 1
        counted = dict(self.counted) if several else {}
        if found := re.search(r" \((a missing .*)\)$", question):
            question, counted = question[: found.start()], counted | _counted(found[1], name)
        # What counts as a number is missing all the same, where that is asked.
        columns = columns | {_absent(each): np.array([_gap(value) for value in columns[each]]) for each in self.names
                             if _absent(each) not in columns}  # fmt: skip
        columns = columns | {
            each: np.array([number(value) if _gap(old) else old for old in columns[each]], dtype=columns[each].dtype)
            for each, value in counted.items()
        }
        gaps = {each: columns[_absent(each)] for each in self.names}
        if found := re.match(
            rf"(?:(.+), and )?(?:neither|none) of ((?:{name})(?:, (?:{name}))*) is missing$", question
        ):
            clear = ~reduce(or_, [gaps[each] for each in found[2].split(", ")])
            return clear & self._yes(found[1], columns, number) if found[1] else clear
        if found := re.match(rf"(?:(.+), and )({name}) is not missing$", question):
            return ~gaps[found[2]] & self._yes(found[1], columns, number)
        alone = re.match(rf"()((?:{name})(?: or (?:{name}))*) is missing$", question)
        if found := alone or re.match(rf"(?:(.+?),? or )((?:{name})(?: or (?:{name}))*) is missing$", question):
            open_ = reduce(or_, [gaps[each] for each in found[2].split(" or ")])
            return open_ | self._yes(found[1], columns, number) if found[1] else open_
        return self._said(question, columns, number, name)

    def _said(self, question: str, columns: dict, number: type, name: str) -> np.ndarray:
        """Answer a question that says nothing of gaps at its end."""
        if question in ("always", "never"):
            return np.full(len(next(iter(columns.values()))), question == "always")
        if found := re.match(rf"(all of |at (least|most) (\d+) of |{'|'.join(COUNTS)})(.+)$", question):
            items = _split(found[4], ", ")
            held = sum(self._choice(each, columns, name).astype(int) for each in items)
            how = ">=" if found[2] == "least" else "<="
            relation, count = COUNTS.get(found[1], (how, int(found[3] or 0)))
            return RELATIONS[relation](held, count) if found[1] != "all of " else held == len(items)
        if re.search(rf" (>=|<=|<|>) {NUMBER}", question):
            return self._compared(question, columns, number, name)
        return self._choice(question, columns, name)

    def _compared(self, question: str, columns: dict, number: type, name: str) -> np.ndarray:
        """Compare a number, or a sum, of which one threshold must be reached; choices must hold as well, or suffice."""
        yes = np.zeros(len(next(iter(columns.values()))), dtype=bool)
        for case in (case for part in _split(question, ", or ") for case in _split(part, " or ")):
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
            ends = (each.start() for each in re.finditer(r" [+-] |$", left))
            end = next(each for each in ends if each > place and _outside(left, each))
            what, place = left[place:end], end
            coefficient = number(begun[2] or 1) * (-1 if begun[1] == "-" else 1)
            if what in columns:
                parts.append(columns[what] * coefficient)
            else:
                parts.append(np.where(self._choice(what, columns, name), coefficient, number(0)))
        return reduce(add, parts)

    def _choice(self, text: str, columns: dict, name: str) -> np.ndarray:
        """Tell where a column has a value, or one of some; a name alone means 1, and after "not" 0."""
        if found := re.match(rf"(({name}) .+) (or is missing|and is not missing)$", text):
            text = f"{found[1]} {found[3].split(' is ')[0]} {found[2]} is {found[3].split(' is ')[1]}"
        for glue, together in ((" or ", or_), (" and ", and_)):
            if len(parts := _split(text, glue)) > 1:
                return reduce(together, [self._choice(each, columns, name) for each in parts])
        if text.startswith("("):
            return self._choice(text[1:-1], columns, name)
        if found := re.match(rf"({name}) is (not )?missing$", text):
            return columns[_absent(found[1])] != bool(found[2])
        if found := re.match(rf"(not )?({name})$", text):
            return np.array([bool(value == 1) is not bool(found[1]) for value in columns[found[2]]])
        if found := re.match(rf"({name}) (>=|<) (.+)$", text):
            order = self.orders[found[1]]
            among, how = [each for each in order if RELATIONS[found[2]](order.index(each), order.index(found[3]))], ""
            column = found[1]
        else:
            column, how, words = re.match(rf"({name})( = | is not | in | not in )(.+)$", text).groups()
            among = words[1:-1].split(", ") if how.endswith("in ") else [words]
        held = [(_word(value) in among) is not ("not" in how) and not _gap(value) for value in columns[column]]
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
    found = re.findall(rf"a missing ({name}) (?:counts )?as ({NUMBER})", text)
    return dict(found)


def _over(relation: str, values: np.ndarray, threshold: object) -> np.ndarray:
    """Compare where there is a value."""
    return np.array([not _gap(value) and bool(RELATIONS[relation](value, threshold)) for value in values], dtype=bool)


def _gap(value: object) -> bool:
    return value is None or bool(value != value)


def parse(text: str, names: list[str]) -> Sentence:
    """Read one equation about columns with these names; a category by its own name.

    What stands in quotation marks is a JSON string, a name to the letter; it is read by a word without blanks instead.
    """
    quoted = dict.fromkeys(re.findall(QUOTED, text))
    words = {written: f"\ue000{place}\ue001" for place, written in enumerate(quoted)}
    text = re.sub(QUOTED, lambda found: words[found[0]], text)
    named = {json.loads(written): word for written, word in words.items()}
    found = _parse(text, [named.get(name, name) for name in names])
    return replace(found, named=named)


def _parse(text: str, names: list[str]) -> Sentence:
    *above, body = text.split("\n\n")
    hidden = dict(re.match(r"(h\d+) = \[(.+)\]$", line).groups() for line in above[0].splitlines()) if above else {}
    first, *rest = body.splitlines()
    target, _, base = first.rpartition(" = ")
    lines, counted, orders = [], {}, {}
    for line in rest:
        if found := re.match(rf"\s*([+-])\s+({NUMBER}) (.+)$", line):
            lines.append(((found[1] + found[2]).lstrip("+"), found[3]))
        elif line.startswith("In questions about several columns, "):
            counted = _counted(line, "|".join(map(re.escape, names)))
        elif found := re.match(r"(.+?): (.+ < .+)\.$", line):
            orders[found[1]] = found[2].split(" < ")
    return Sentence(target, base.strip(), lines, hidden, list(names), counted, orders)


def _numbers(column: np.ndarray, number: type) -> np.ndarray:
    """Return a column to compute with; words stay words."""
    if number is float or any(isinstance(value, str | bool) or value is None for value in column):
        return np.asarray(column)
    return np.array([Decimal(repr(float(value))) for value in column], dtype=object)


def _word(value: object) -> str:
    if _gap(value):
        return ""
    return value if isinstance(value, str) else str(value) if isinstance(value, bool) else str(int(value))
