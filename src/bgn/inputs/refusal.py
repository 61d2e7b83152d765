"""What is said of a raw table that cannot be worked with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_IN_SHELL: ContextVar[bool] = ContextVar("in_shell", default=False)


class Refused(ValueError):
    """The input is not one to work with; the message is one line and says what to do."""


@contextmanager
def spoken_to_a_shell() -> Iterator[None]:
    """Let messages name options as a shell writes them."""
    before = _IN_SHELL.set(True)
    try:
        yield
    finally:
        _IN_SHELL.reset(before)


def option(name: str, value: str = "") -> str:
    """How the user at hand writes an option: ``--drop 'id'`` in a shell, ``drop='id'`` in Python.

    Examples
    --------
    >>> option("dates", "expand"), option("max_categories")
    ("dates='expand'", 'max_categories')
    >>> with spoken_to_a_shell():
    ...     option("dates", "expand"), option("max_categories")
    ('--dates expand', '--max-categories')
    """
    if _IN_SHELL.get():
        return f"--{name.replace('_', '-')} {value}".rstrip()
    quoted = value if value[:1] in ("'", '"') else repr(value)
    return f"{name}={quoted}" if value else name


def check_characters(**marks: str | None) -> None:
    """Refuse a separator or a decimal mark that is not one character; a tab may be written as in a shell."""
    for name, value in marks.items():
        if value is not None and len(value.replace("\\t", "\t")) != 1:
            raise Refused(f"{option(name)} must be one character; got {value!r}.")


def named(names: Sequence[str], origin: str) -> tuple[str, ...]:
    """Return stripped names, refusing two alike; columns without one keep an empty name."""
    stripped = tuple(name.strip() for name in names)
    twice = [name for name, count in Counter(stripped).items() if count > 1 and name]
    if twice:
        raise Refused(f"{origin} has two columns named {twice[0]!r}; rename one.")
    return stripped


def check_there(wanted: Iterable[str], there: Sequence[str], origin: str) -> None:
    """Refuse a table that lacks a column, by the names of its columns."""
    if missing := [name for name in wanted if name not in there]:
        lacks = f"{origin} lacks the column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"
        raise Refused(f"{lacks}; it has {listed(there)}.")


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return the first names, and how many more there are."""
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
