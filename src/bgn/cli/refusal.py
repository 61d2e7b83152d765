"""What is said of an input that the command cannot work with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


class Refused(Exception):
    """The input is not one the command can work with; the message is one line and says what to do."""


def named(names: Sequence[str], origin: str) -> tuple[str, ...]:
    """Return stripped names, refusing two alike; columns without one keep an empty name."""
    stripped = tuple(name.strip() for name in names)
    twice = [name for name, count in Counter(stripped).items() if count > 1 and name]
    if twice:
        raise Refused(f"{origin} has two columns named {twice[0]!r}; rename one.")
    return stripped
