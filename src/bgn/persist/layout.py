"""How a model file is laid out: JSON that a person can read."""

from __future__ import annotations

import json
from typing import Any

_LINE = 110


def layout(value: Any, margin: str = "") -> str:
    """Write JSON with one short thing per line: a neuron, a check, a column; long lists of numbers fill their lines."""
    compact = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(margin) + len(compact) <= _LINE or not isinstance(value, (list, dict)) or not value:
        return compact
    inner = margin + "  "
    if isinstance(value, dict):
        lines = [f"{json.dumps(key, ensure_ascii=False)}: {layout(each, inner)}" for key, each in value.items()]
    else:
        lines = [layout(each, inner) for each in value]
        if not any(isinstance(each, (list, dict)) for each in value):
            lines = _filled(lines, _LINE - len(inner))
    left, right = "{}" if isinstance(value, dict) else "[]"
    return f"{left}\n" + ",\n".join(inner + line for line in lines) + f"\n{margin}{right}"


def _filled(cells: list[str], room: int) -> list[str]:
    """Return lines as full of cells as they may be, with room for a comma after each."""
    lines = cells[:1]
    for cell in cells[1:]:
        if len(lines[-1]) + len(cell) + 3 <= room:
            lines[-1] += f", {cell}"
        else:
            lines.append(cell)
    return lines
