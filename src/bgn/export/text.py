"""Plain text, for a terminal and for figures; every other format is a subclass of :class:`Text`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bgn.printable import quote_category, quote_name

_WIDEST = 30  # letters of an amount, beyond which amounts do not stand in a column


@dataclass(frozen=True)
class Written:
    """The parts of an equation, already written in one format.

    `lines` holds a sign, an amount and what it is multiplied by; `hidden` names of conditions and the conditions;
    `notes` say what gaps count as and what was rounded, if anything.
    """

    target: str
    base: str
    lines: list[tuple[str, str, str]]
    hidden: list[tuple[str, str]]
    notes: list[str]


@dataclass(frozen=True)
class Text:
    """Plain text for a terminal, one term per line. A format overrides what it writes otherwise."""

    relations: ClassVar[Mapping[str, str]] = {">=": ">=", "<": "<", ">": ">", "<=": "<="}

    def name(self, name: str) -> str:
        """Write the name of a column or of the target."""
        return self._named(quote_name(name))

    def category(self, word: str) -> str:
        """Write a category or a class."""
        return self._named(quote_category(word))

    def _named(self, written: str) -> str:
        """Write what is quoted where it must be."""
        return written

    def words(self, words: str) -> str:
        """Write words of our own."""
        return words

    def number(self, written: str) -> str:
        """Write a number that is plain text already."""
        return written

    def product(self, coefficient: str, name: str) -> str:
        """Write a summand of a question."""
        return f"{coefficient} {name}"

    def case(self, written: str) -> str:
        """Write one of several cases of a question, best kept on a line."""
        return written

    def asked(self, condition: str) -> str:
        """Write a condition as the factor that is 1 where it holds."""
        return f"[{condition}]"

    def scaled(self, name: str, low: str = "", high: str = "") -> str:
        """Write a column as a factor; where it has ends, between these."""
        return name if low == high == "" else f"{self.words('per unit of ')}{name}{self.between(low, high)}"

    def between(self, low: str, high: str) -> str:
        """Write the ends of a line, one of which may be missing."""
        said = f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}"
        return self.words(f" ({said})")

    def whole(self, parts: Written) -> str:
        """Lay the equation out."""
        lines = [f"{name} = {self.asked(condition)}" for name, condition in parts.hidden]
        if lines:
            lines.append("")
        widest = max(len(parts.base), *(len(amount) for _, amount, _ in parts.lines), 0)
        widest = widest if widest <= _WIDEST else 0
        lines.append(f"{parts.target} = {parts.base:>{widest}}")
        margin = " " * len(parts.target)
        lines += [f"{margin} {sign} {amount:>{widest}} {factor}" for sign, amount, factor in parts.lines]
        return "\n".join([*lines, *parts.notes])


@dataclass(frozen=True)
class Signs(Text):
    """Plain text with mathematical signs, for figures."""

    relations: ClassVar[Mapping[str, str]] = {">=": "≥", "<": "<", ">": ">", "<=": "≤"}

    def number(self, written: str) -> str:
        return written.replace("-", "\N{MINUS SIGN}")
