"""A reader of printed equations, written from the grammar in ``docs/show.rst``: it knows the text and nothing else.

`number` says what to compute with: ``float`` (comparisons are float64's, sums in the order of the text) or ``Decimal``,
which takes a float for the decimal that ``repr`` writes, as a person with a pocket calculator would.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import reduce
from operator import add, and_, ge, gt, le, lt, or_

import numpy as np

RELATIONS = {">=": ge, "<": lt, ">": gt, "<=": le}
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"
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

    def columns(self, table: dict, number: type) -> dict:
        """Return the table with h1, h2, ... beside its columns."""
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

    # -- questions -----------------------------------------------------------------------------------------

    def _yes(self, question: str, columns: dict, number: type) -> np.ndarray:
        """Answer a question for every row."""
        rows = len(next(iter(columns.values())))
        if question in ("always", "never"):
            return np.full(rows, question == "always")
        name = "|".join(re.escape(each) for each in sorted([*self.names, *self.hidden], key=len, reverse=True))
        if found := re.match(rf"(all of |at (least|most) (\d+) of |{'|'.join(COUNTS)})(.+)$", question):
            items = found[4].split(", ")
            held = sum(self._choice(each, columns, name).astype(int) for each in items)
            how = ">=" if found[2] == "least" else "<="
            relation, count = COUNTS.get(found[1], (how, int(found[3] or 0)))
            return RELATIONS[relation](held, count) if found[1] != "all of " else held == len(items)
        if re.search(r" (>=|<=|<|>) ", question):
            return self._compared(question, columns, number, name)
        glue, together = (" and ", and_) if " and " in question else (" or ", or_)
        return reduce(together, [self._choice(each, columns, name) for each in question.split(glue)])

    def _compared(self, question: str, columns: dict, number: type, name: str) -> np.ndarray:
        """Compare a number, case by case, or a sum."""
        first, *cases = question.split(", or ")
        left, relation, threshold = re.match(rf"(.+?) (>=|<=|<|>) ({NUMBER})", first).groups()
        with localcontext(EXACT):
            values = self._sum(left, columns, number, name)
            yes = RELATIONS[relation](values, number(threshold))
            for case in cases:
                relation, threshold, where = re.match(rf"(>=|<=|<|>) ({NUMBER}).*? where (.+)$", case).groups()
                holds = reduce(and_, [self._choice(each, columns, name) for each in where.split(" and ")])
                yes = np.where(holds, RELATIONS[relation](values, number(threshold)), yes)
        return np.asarray(yes, dtype=bool)

    def _sum(self, left: str, columns: dict, number: type, name: str) -> np.ndarray:
        summand = rf"(?:({NUMBER}) )?(?:({name})|\(({name}) = (.+?)\))(?= [+-] |$)"
        parts, place = [], 0
        while place < len(left):
            sign, *_ = re.match(r" ?([+-]?) ?", left[place:]).groups()
            place += re.match(r" ?([+-]?) ?", left[place:]).end()
            found = re.match(summand, left[place:])
            place += found.end()
            coefficient = number(found[1] or 1) * (-1 if sign == "-" else 1)
            if found[2]:
                parts.append(columns[found[2]] * coefficient)
            else:
                held = np.array([_word(value) == found[4] for value in columns[found[3]]])
                parts.append(np.where(held, coefficient, number(0)))
        return reduce(add, parts)

    def _choice(self, text: str, columns: dict, name: str) -> np.ndarray:
        """Tell where a column has a value, or one of some; a name alone means 1, and after "not" 0."""
        if found := re.match(rf"(not )?({name})$", text):
            return np.array([bool(value == 1) is not bool(found[1]) for value in columns[found[2]]])
        column, how, words = re.match(rf"({name})( = | is not | in | not in )(.+)$", text).groups()
        among = words[1:-1].split(", ") if how.endswith("in ") else [words]
        return np.array([(_word(value) in among) is not ("not" in how) for value in columns[column]])


def parse(text: str, names: list[str]) -> Sentence:
    """Read one equation about columns with these names; a category by its own name."""
    *above, body = text.split("\n\n")
    hidden = dict(re.match(r"(h\d+) = \[(.+)\]$", line).groups() for line in above[0].splitlines()) if above else {}
    first, *rest = body.splitlines()
    target, _, base = first.rpartition(" = ")
    lines = []
    for line in rest:
        sign, amount, factor = re.match(rf"\s*([+-])\s+({NUMBER}) (.+)$", line).groups()
        lines.append(((sign + amount).lstrip("+"), factor))
    return Sentence(target, base.strip(), lines, hidden, list(names))


def _numbers(column: np.ndarray, number: type) -> np.ndarray:
    """Return a column to compute with; words stay words."""
    if number is float or isinstance(column[0], str):
        return np.asarray(column)
    return np.array([Decimal(repr(float(value))) for value in column], dtype=object)


def _word(value: object) -> str:
    return value if isinstance(value, str) else str(int(value))
