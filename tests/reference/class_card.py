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
    weights: list[list[Decimal]]
    rules: Sentence
    unit: Decimal

    def scores(self, table: dict, number: type = float) -> list[list[Decimal]]:
        """Return the score of every class, exactly, for every row."""
        result = []
        for answers in self.rules.answers(table, number):
            own = list(self.start)
            for held, weights in zip(answers, self.weights, strict=True):
                own = [total + weight for total, weight in zip(own, weights, strict=True)] if held else own
            result.append([self.unit * total for total in own])
        return result


def read_table(text: str, names: list[str], classes: int) -> PrintedTable:
    """Read a table of questions by so many classes, printed as text."""
    *upper, table, said = text.split("\n\n")
    head, always, *lines = (line.rsplit(None, classes) for line in table.splitlines())
    assert always[0].strip() == "always"
    requested = [f"  + 1 [{line[0].strip().removeprefix('if ')}]" for line in lines]
    hidden = re.sub(r"(?m)^(h\d+): (.*)$", r"\1 = [\2]", upper[0]) + "\n\n" if upper else ""
    rules = parse(hidden + "\n".join(["score = 0", *requested, said]), names)
    unit = re.search(r"exp\((\S+) x its total\)", said)
    numbers = [[Decimal(item) for item in line[1:]] for line in (always, *lines)]
    return PrintedTable(head[1:], numbers[0], numbers[1:], rules, Decimal(unit[1] if unit else 1))


@dataclass
class PrintedCard:
    """A card of two classes: questions, points, and the line from total to log-odds."""

    rules: Sentence
    points: list[int]
    start: Decimal
    unit: Decimal
    predicted_from: int | None
    chances: dict[int, str]

    def totals(self, table: dict) -> np.ndarray:
        """Return the total of every row."""
        return self.rules.answers(table) @ np.array(self.points, dtype=int)


def read_card(text: str, names: list[str]) -> PrintedCard:
    """Read a card of two classes, printed as text."""
    parts = text.split("\n\n")
    line, chances = parts[-2:]
    place = next(k for k, part in enumerate(parts) if part.startswith("question "))
    hidden = re.sub(r"(?m)^(h\d+): (.*)$", r"\1 = [\2]", parts[0]) + "\n\n" if place else ""
    remarks = parts[place + 1] if len(parts) - place == 4 else ""
    requested = [item.rsplit(None, 1) for item in parts[place].splitlines()[1:-1]]
    lines = [f"  + 1 [{rule.strip()}]" for rule, _ in requested]
    start, unit = re.search(r"= (\S+) \+ (\S+) x total$", line.splitlines()[0]).groups()
    likely = re.search(r"from a total of (\d+) on", line)
    shown = dict(item.split(None, 1) for item in chances.splitlines()[1:])
    return PrintedCard(
        parse(hidden + "\n".join(["score = 0", *lines, remarks]), names),
        [int(points) for _, points in requested],
        Decimal(start),
        Decimal(unit),
        int(likely[1]) if likely else None,
        {int(total): chance.strip() for total, chance in shown.items()},
    )


def chance(log_odds: Decimal) -> float:
    """The probability of log-odds, by a pocket calculator."""
    return 1.0 / (1.0 + math.exp(-float(log_odds)))
