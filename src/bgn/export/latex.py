"""LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bgn.export.text import Text, Written

_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "-": "{-}",
}  # fmt: skip


@dataclass(frozen=True)
class Latex(Text):
    """An ``align*`` that needs amsmath alone; names outside Latin letters want LuaLaTeX or XeLaTeX."""

    relations: ClassVar[Mapping[str, str]] = {">=": r"\ge", "<": "<", ">": ">", "<=": r"\le"}

    def _named(self, written: str) -> str:
        return self.words(written)

    def words(self, words: str) -> str:
        return r"\text{" + "".join(_TEX.get(letter, letter) for letter in words) + "}"

    def number(self, written: str) -> str:
        mantissa, _, exponent = written.partition("e")
        return rf"{mantissa} \times 10^{{{int(exponent)}}}" if exponent else mantissa

    def product(self, coefficient: str, name: str) -> str:
        return rf"{coefficient} \cdot {name}"

    def asked(self, condition: str) -> str:
        return rf"\mathbf{{1}}_{{\{{{condition}\}}}}"

    def scaled(self, name: str, low: str = "", high: str = "") -> str:
        return name if low == high == "" else f"{name}{self.between(low, high)}"

    def whole(self, parts: Written) -> str:
        lines = [f"{name} &= {self.asked(condition)}" for name, condition in parts.hidden]
        lines.append(f"{parts.target} &= {parts.base}")
        lines += [rf"&\quad {{}} {sign} {amount} \cdot {factor}" for sign, amount, factor in parts.lines]
        lines += [rf"&\quad {note}" for note in parts.notes]
        return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"
