"""Reading JSON from strangers: limits before parsing, types after, one kind of error.

A reader takes a value and `where` it stands in the file, so that an error can name the place, and returns what it
means. Readers of lists and objects are made from the readers of what is in them.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import numpy as np

MOST_BYTES = 64 * 2**20
_MOST_DEPTH = 16
_MOST_CONTAINERS = 2_000_000
# A string, or what begins like one and never ends; no mark in it, and never read twice.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_OTHER = re.compile(rb"[^\[\]{}]+")

Value = TypeVar("Value")
Reader = Callable[[Any, str], Value]


class ModelFileError(ValueError):
    """A file is not a model this version can read; the message says why."""


def raw_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return what a file holds; one that is too long, and whatever is not a file, is not even opened."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise ModelFileError(f"it is {'a folder' if stat.S_ISDIR(mode) else 'a pipe or a device'}, not a file.")
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise ModelFileError(f"the file is longer than {MOST_BYTES} bytes, the most a model may take.")
    return raw


def parse(raw: bytes) -> Any:
    """Return the value of JSON in UTF-8, refusing what is too deep, ambiguous or not JSON."""
    marks = _OTHER.sub(b"", _STRING.sub(b"", raw))
    if marks.count(b"[") + marks.count(b"{") > _MOST_CONTAINERS:
        raise ModelFileError(f"the file holds more than {_MOST_CONTAINERS} lists and objects.")
    opened = np.isin(np.frombuffer(marks, dtype=np.uint8), np.frombuffer(b"[{", dtype=np.uint8))
    depth = np.cumsum(np.where(opened, np.int32(1), np.int32(-1)))
    if depth.max(initial=0) > _MOST_DEPTH:
        raise ModelFileError(f"the file nests lists and objects more than {_MOST_DEPTH} deep.")
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_unambiguous, parse_constant=_refuse_constant)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        begun = raw.lstrip()[:1] in (b"{", b"")
        hint = "" if begun else " It does not begin as a model file does: is it a dataset? MODEL comes before DATA."
        raise ModelFileError(f"the file is not whole JSON in UTF-8: {error}.{hint}") from None


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ModelFileError(f"the key {short(twice)} stands twice in one object.")
    return value


def _refuse_constant(name: str) -> Any:
    raise ModelFileError(f"the file holds {name}, which no model may.")


def short(value: Any) -> str:
    """Show a value in an error without letting it fill the screen."""
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    text = ascii(value) if not isinstance(value, int) or abs(value) < 10**30 else "a huge whole number"
    return text if len(text) <= 60 else text[:57] + "..."


def refuse(where: str, wanted: str, value: Any) -> ModelFileError:
    """Return the error for a value of the wrong kind."""
    return ModelFileError(f"{where} must be {wanted}; got {short(value)}.")


def anything(value: Any, where: str) -> Any:
    """Return a value that is read elsewhere."""
    return value


def obj(value: Any, where: str) -> dict[str, Any]:
    """Return an object, whatever it holds."""
    if not isinstance(value, dict):
        raise refuse(where, "an object", value)
    return value


def record(value: Any, where: str, fields: Mapping[str, Reader[Any]], optional: Collection[str] = ()) -> dict[str, Any]:
    """Return an object with exactly the keys of `fields`, each read as it says; those in `optional` may be absent."""
    entries = obj(value, where)
    for key in fields:
        if key not in entries and key not in optional:
            raise ModelFileError(f"{where or 'the file'} lacks {key!r}.")
    for key in entries:
        if key not in fields:
            raise ModelFileError(f"{where or 'the file'} has the unknown key {short(key)}.")
    place = f"{where}." if where else ""
    return {key: read(entries[key], place + key) for key, read in fields.items() if key in entries}


def mapping(reader: Reader[Value]) -> Reader[dict[str, Value]]:
    """Return the reader of objects with any keys."""
    return lambda value, where: {key: reader(entry, where) for key, entry in obj(value, where).items()}


def array(reader: Reader[Value], length: int | None = None) -> Reader[list[Value]]:
    """Return the reader of lists, of any length or one."""

    def read(value: Any, where: str) -> list[Value]:
        if not isinstance(value, list):
            raise refuse(where, "a list", value)
        if length is not None and len(value) != length:
            raise ModelFileError(f"{where} must have {length} entries; got {len(value)}.")
        return [reader(entry, f"{where}[{index}]") for index, entry in enumerate(value)]

    return read


def optional(reader: Reader[Value]) -> Reader[Value | None]:
    """Return the reader that also takes null, as None."""
    return lambda value, where: None if value is None else reader(value, where)


def whole(most: int) -> Reader[int]:
    """Return the reader of whole numbers from 0 to `most`."""

    def read(value: Any, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise refuse(where, f"a whole number from 0 to {most}", value)
        return value

    return read


def number(value: Any, where: str) -> float:
    """Return a finite float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise refuse(where, "a number", value)
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise refuse(where, "a number that float64 can hold", value)
    return result


def any_float(value: Any, where: str) -> float:
    """Return a float; JSON has no infinities and no NaN, which stand as ``{"float": "inf"}``."""
    if isinstance(value, dict):
        (name,) = record(value, where, {"float": text}).values()
        if name not in ("inf", "-inf", "nan"):
            raise refuse(f"{where}.float", "'inf', '-inf' or 'nan'", name)
        return float(name)
    return number(value, where)


def float_out(value: float) -> Any:
    """Return what :func:`any_float` reads as `value`."""
    return float(value) if math.isfinite(value) else {"float": repr(float(value))}


def boolean(value: Any, where: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise refuse(where, "true or false", value)
    return value


def text(value: Any, where: str) -> str:
    """Return a string that can be written anywhere."""
    if not isinstance(value, str):
        raise refuse(where, "a string", value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise refuse(where, "text without lone surrogates", value) from None
    return value


def scalar(value: Any, where: str) -> str | float | int | bool | None:
    """Return a string, a number, true, false or null."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value, where)
    finite = number(value, where)
    return value if isinstance(value, int) else finite


# -- How a model file is laid out: JSON that a person can read.

_LINE = 118


def layout(value: Any, margin: str = "", taken: int = 0) -> str:
    """Write JSON with one short thing per line: a term, a check, a column; long lists of numbers fill their lines.

    Of the first line some letters are `taken`, by a key.
    """
    compact = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(margin) + taken + len(compact) <= _LINE or not isinstance(value, (list, dict)) or not value:
        return compact
    inner, lines = margin + "  ", list[str]()
    if isinstance(value, dict):
        for key, part in value.items():
            key = f"{json.dumps(key, ensure_ascii=False)}: "
            lines.append(key + layout(part, inner, len(key)))
    else:
        flat = not any(isinstance(part, (list, dict)) for part in value)
        for part in (layout(part, inner) for part in value):
            if flat and lines and len(inner) + len(lines[-1]) + len(part) + 3 <= _LINE:
                lines[-1] += f", {part}"
            else:
                lines.append(part)
    left, right = "{}" if isinstance(value, dict) else "[]"
    return f"{left}\n" + ",\n".join(inner + line for line in lines) + f"\n{margin}{right}"
