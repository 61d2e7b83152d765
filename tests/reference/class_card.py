"""Readers of printed cards and tables of classes: they know the text and nothing else."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from tests.reference.sentence import Sentence, parse


@dataclass
class PrintedTable:
    """A table of questions by classes: words per class, numbers of the first line, questions and their numbers."""

    classes: list[str]
    start: list[Decimal]
    amounts: list[list[Decimal]]
    questions: Sentence
    unit: Decimal

    def scores(self, table: dict, number: type = float) -> list[list[Decimal]]:
        """Return the score of every class, exactly, for every row."""
        found = []
        for answers in self.questions.answers(table, number):
            own = list(self.start)
            for held, amounts in zip(answers, self.amounts, strict=True):
                own = [total + amount for total, amount in zip(own, amounts, strict=True)] if held else own
            found.append([self.unit * total for total in own])
        return found


def read_table(text: str, names: list[str], classes: int) -> PrintedTable:
    """Read a table of questions by so many classes, printed as text."""
    *above, table, said = text.split("\n\n")
    head, always, *lines = (line.rsplit(None, classes) for line in table.splitlines())
    assert always[0].strip() == "always"
    asked = [f"  + 1 [{line[0].strip().removeprefix('if ')}]" for line in lines]
    hidden = re.sub(r"(?m)^(h\d+): (.*)$", r"\1 = [\2]", above[0]) + "\n\n" if above else ""
    questions = parse(hidden + "\n".join(["score = 0", *asked, said]), names)
    unit = re.search(r"exp\((\S+) x its total\)", said)
    numbers = [[Decimal(each) for each in line[1:]] for line in (always, *lines)]
    return PrintedTable(head[1:], numbers[0], numbers[1:], questions, Decimal(unit[1] if unit else 1))


@dataclass
class PrintedCard:
    """A card of two classes: questions, points, and the line from total to log-odds."""

    questions: Sentence
    points: list[int]
    start: Decimal
    unit: Decimal
    predicted_from: int | None
    chances: dict[int, str]

    def totals(self, table: dict) -> np.ndarray:
        """Return the total of every row."""
        return self.questions.answers(table) @ np.array(self.points, dtype=int)


def read_card(text: str, names: list[str]) -> PrintedCard:
    """Read a card of two classes, printed as text."""
    parts = text.split("\n\n")
    line, chances = parts[-2:]
    place = next(k for k, part in enumerate(parts) if part.startswith("question "))
    hidden = re.sub(r"(?m)^(h\d+): (.*)$", r"\1 = [\2]", parts[0]) + "\n\n" if place else ""
    remarks = parts[place + 1] if len(parts) - place == 4 else ""
    asked = [each.rsplit(None, 1) for each in parts[place].splitlines()[1:-1]]
    lines = [f"  + 1 [{question.strip()}]" for question, _ in asked]
    start, unit = re.search(r"= (\S+) \+ (\S+) x total$", line.splitlines()[0]).groups()
    likely = re.search(r"from a total of (\d+) on", line)
    shown = dict(each.split(None, 1) for each in chances.splitlines()[1:])
    return PrintedCard(
        parse(hidden + "\n".join(["score = 0", *lines, remarks]), names),
        [int(points) for _, points in asked],
        Decimal(start),
        Decimal(unit),
        int(likely[1]) if likely else None,
        {int(total): chance.strip() for total, chance in shown.items()},
    )


def chance(log_odds: Decimal) -> float:
    """The probability of log-odds, by a pocket calculator."""
    return 1.0 / (1.0 + math.exp(-float(log_odds)))
