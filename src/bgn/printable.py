"""Text that is safe to show, whatever names hold: on one line, of bounded length, without unseen characters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

# Letters and marks that Unicode counts as printable and nobody can see.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_LONG = re.compile(r"'[^']{161,}'|\"[^\"]{161,}\"|\S{321,}")


def _seen(letter: str) -> bool:
    """Return whether a letter is seen and does nothing else: no control or format character, no odd blank."""
    return letter.isprintable() and letter not in _UNSEEN


def _through(text: str, write: Callable[[str], str]) -> str:
    """Return text, line by line, with everything that is not seen written otherwise."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join(
        line if line.isascii() and line.isprintable() else "".join(c if _seen(c) else write(c) for c in line)
        for line in text.split("\n")
    )


def visible(text: str) -> str:
    """Return text with a blank for every control, format or otherwise unseen character but the end of a line.

    Examples
    --------
    >>> visible("red \\x1b[31m\\u202e\\tend")
    'red  [31m  end'
    """
    return _through(text, lambda letter: " ")


def escaped(text: str) -> str:
    """Return JSON text with every unseen character but the end of a line escaped, so that it means the same.

    Examples
    --------
    >>> print(escaped('"\\u202e\\x7f"'))
    "\\u202e\\u007f"
    """
    return _through(text, lambda c: f"\\u{ord(c):04x}" if ord(c) < 0x10000 else json.dumps(c)[1:-1])


def clean(name: str, most: int | None = None) -> str:
    """Return a name on one line, whatever it holds: runs of blanks and unseen characters become one blank.

    Longer than `most` letters, it loses its middle.

    Examples
    --------
    >>> clean("net\\nincome\\u2066\\x1b")
    'net income'
    """
    written = " ".join(visible(name).split()) or "(blank)"
    return written if most is None else _cut(written, most)


def message(text: str, most: int = 800) -> str:
    """Return a message on one line of bounded length: long quotations, and then the whole, lose their middle.

    Examples
    --------
    >>> len(message(f"there is no column {'x' * 10**6!r}; rename one."))
    192
    """
    short = clean(_cut(text, 10**5))
    return _cut(_LONG.sub(lambda found: _cut(found[0], 160), short), most)


def _cut(name: str, length: int) -> str:
    """Return a name without its middle when it is longer than `length`."""
    half = (length - 1) // 2
    return name if len(name) <= length else f"{name[: length - 1 - half]}…{name[-half:]}"
