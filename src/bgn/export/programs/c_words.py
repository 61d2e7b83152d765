"""Words that are harmless in C, whatever they hold."""

from __future__ import annotations

import re

from bgn.printable import clean

_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;<>=+\-()]")


def quoted(text: str) -> str:
    """Write text as a string of C: anything but plain letters as octal bytes, so that no trigraph or escape arises.

    Examples
    --------
    >>> from bgn.export.programs.c_words import quoted
    >>> print(quoted('a "b" ??/'))
    "a \\042b\\042 \\077\\077\\057"
    """
    return '"' + "".join(c if _PLAIN.fullmatch(c) else "".join(f"\\{b:03o}" for b in c.encode()) for c in text) + '"'


def comment(text: str) -> str:
    """Write text so that it neither ends a comment nor joins lines."""
    return re.sub(r"[*/\\?]", " ", clean(text)).encode("ascii", "replace").decode().replace("?", ".")


def check_name(name: str) -> None:
    """Refuse what C cannot call a function."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name):
        raise ValueError(f"name must be letters, digits and _, the first of them a letter; got {name!r}.")
