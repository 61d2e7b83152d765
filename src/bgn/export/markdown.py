"""Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bgn.export.text import Text, Written


@dataclass(frozen=True)
class Markdown(Text):
    """A Markdown table."""

    relations: ClassVar[Mapping[str, str]] = {">=": "≥", "<": "&lt;", ">": "&gt;", "<=": "≤"}

    def _named(self, written: str) -> str:
        return self.words(written)

    def words(self, words: str) -> str:
        return re.sub(r"([\\`*_{}\[\]()#+!|~$^=:@-])", r"\\\1", html.escape(words)).replace("\\=", "=")

    def asked(self, condition: str) -> str:
        return f"if {condition}"

    def scaled(self, name: str, low: str = "", high: str = "") -> str:
        return f"times {name}" if low == high == "" else super().scaled(name, low, high)

    def whole(self, parts: Written) -> str:
        lines = [f"{name} = {condition}  " for name, condition in parts.hidden]
        if lines:
            lines.append("")
        lines += [f"| {parts.target} | |", "|---:|:---|", f"| {parts.base} | always |"]
        lines += [f"| {sign} {amount} | {factor} |" for sign, amount, factor in parts.lines]
        lines += [line for note in parts.notes for line in ("", note)]
        return "\n".join(lines)
