"""Figures of benchmarks inside sentences: ``:measured:`benchmarks/scale_gpu | largest > seconds | .1f```.

The first part names a file of ``benchmarks/results``, the second the keys that lead to a number there, the third how to
write it; ``ms`` before a format stands for a thousand times the number. A list is written as a range.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "benchmarks" / "results"


@cache
def _record(name: str) -> Any:
    """Return a file of figures."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in FOLDER.glob("*.json")))
        raise ValueError(f"no record benchmarks/results/{name}.json; there are {known}.")
    return json.loads(path.read_text(encoding="utf-8"))


def recorded(name: str, keys: str, form: str = "") -> str:
    """Return a figure of a benchmark as a sentence writes it.

    Examples
    --------
    >>> recorded("printed", "disk > fit seconds")
    '665'
    >>> recorded("printed", "export > onnx, times as fast", ".1f")
    '1.2 to 3.6'
    """
    found = _record(name)
    for key in (each.strip() for each in keys.split(">")):
        if not isinstance(found, dict) or key not in found:
            raise ValueError(f"benchmarks/results/{name}.json has no {keys!r}: {key!r} is not there.")
        found = found[key]
    if isinstance(found, dict | str | bool):
        raise ValueError(f"benchmarks/results/{name}.json, {keys!r}, is no number.")
    factor = 1000.0 if form.startswith("ms") else 1.0
    values = [format(factor * each if factor > 1 else each, form.removeprefix("ms")) for each in _listed(found)]
    return values[0] if len(set(values)) == 1 else f"{values[0]} to {values[-1]}"


def _listed(found: Any) -> list[float]:
    """Return a number as a list of one."""
    return found if isinstance(found, list) else [found]
