"""Errors about what a user hands over, in the user's own words: options as Python or the command line writes them.

An :class:`InputError` has a line per problem, each of which says what to do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from bgn.model.values import did_you_mean

NUMBER_NAME = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
_ON_COMMAND_LINE: ContextVar[bool] = ContextVar("on_command_line", default=False)
_COMMAND_LINE_NAMES = {"categorical_features": "categorical"}  # options that have another name there


class InputError(ValueError):
    """The input is not one to work with; each of its problems is told in a line that says what to do.

    Examples
    --------
    >>> print(InputError("column 'a' holds dates.", "column 'b' is empty."))
    2 problems:
    - column 'a' holds dates.
    - column 'b' is empty.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return self.problems[0]
        return "\n- ".join([f"{len(self.problems)} problems:", *self.problems])


class Problems:
    """Problems that are gathered, to be raised together."""

    def __init__(self, *problems: str) -> None:
        self._problems = [*problems]

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep the problems of a block, and go on behind it."""
        try:
            yield
        except InputError as error:
            self._problems += error.problems

    def tell(self) -> None:
        if self._problems:
            raise InputError(*dict.fromkeys(self._problems))


@contextmanager
def on_command_line() -> Iterator[None]:
    """Let messages name options as the command line writes them."""
    before = _ON_COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _ON_COMMAND_LINE.reset(before)


def option(name: str, value: str = "") -> str:
    """How the user at hand writes an option: ``--drop 'id'`` on the command line, ``drop='id'`` in Python.

    Examples
    --------
    >>> option("dates", "expand"), option("max_categories"), option("merge_rare", "5")
    ("dates='expand'", 'max_categories', 'merge_rare=5')
    >>> with on_command_line():
    ...     option("dates", "expand"), option("max_categories")
    ('--dates expand', '--max-categories')
    """
    if _ON_COMMAND_LINE.get():
        return f"--{_COMMAND_LINE_NAMES.get(name, name).replace('_', '-')} {value}".rstrip()
    quoted = value if value[:1] in ("'", '"') or value.isdecimal() else repr(value)
    return f"{name}={quoted}" if value else name


def option_of(name: str, column: str, value: str) -> str:
    """How the user at hand writes an option for one column: ``--decimal 'price=,'``, ``decimal={'price': ','}``."""
    return f"--{name} {column + '=' + value!r}" if _ON_COMMAND_LINE.get() else f"{name}={ {column: value} }"


def listing(name: str) -> str:
    """How the user at hand gives a list in place of the usual one, which an option on the command line adds to."""
    return f"{option(name)} none {option(name)} WORD" if _ON_COMMAND_LINE.get() else f"{name}=[...]"


def flag(name: str, on: bool) -> str:
    """How the user at hand writes an option that is on or off: ``--no-header``, ``header=False``."""
    return f"--{'' if on else 'no-'}{name}" if _ON_COMMAND_LINE.get() else f"{name}={on}"


def check_characters(**marks: str | Mapping[str, str] | None) -> None:
    """Refuse a separator or a mark that is not one character; a tab may be written as on the command line."""
    for name, value in marks.items():
        for mark in value.values() if isinstance(value, Mapping) else [value]:
            if mark is not None and len(mark.replace("\\t", "\t")) != 1:
                raise InputError(f"{option(name)} must be one character; got {mark!r}.")


# -- Names of columns, and notes on some ---------------------------------------------------------------------------


def numbered_names(count: int) -> tuple[str, ...]:
    return tuple(f"column_{number}" for number in range(1, count + 1))


def named(names: Sequence[str], origin: str, in_file: bool = False) -> tuple[str, ...]:
    """Return stripped names, refusing two alike; columns without one keep an empty name."""
    stripped = tuple(name.strip() for name in names)
    twice = [name for name, count in Counter(stripped).items() if count > 1 and name]
    if twice:
        places = {name: [k for k, other in enumerate(stripped, 1) if other == name] for name in twice[:8]}
        other = f", or add {flag('header', False)} if the first line holds values" if in_file else ""
        raise InputError(
            *(f"{origin} has two columns named {name!r}, number {first} and {second}; rename one{other}."
              for name, (first, second, *_) in places.items())
        )  # fmt: skip
    return stripped


def check_there(wanted: Iterable[str], there: Sequence[str], origin: str, notes: Iterable[str] = ()) -> None:
    """Refuse a table that lacks a column, by the names of its columns; `notes` say which sheet was read."""
    if missing := [name for name in wanted if name not in there]:
        lacks = f"{origin} lacks the column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"
        similar = "".join(did_you_mean(name, there) for name in missing)
        raise InputError(f"{lacks}; it has {listed(there)}.{similar}{header_of(there)}{sheet_of(notes)}")


def header_of(names: Sequence[str]) -> str:
    """Return what to do where most names of columns are numbers, as a sentence to add; nothing of other names."""
    numbers = sum(NUMBER_NAME.fullmatch(name) is not None for name in names)
    return f" If its first row holds no names, add {flag('header', False)}." if 2 * numbers > len(names) else ""


def sheet_of(notes: Iterable[str]) -> str:
    """Return the note on the sheet of a workbook that was read, as a sentence to add; nothing of other files."""
    return "".join(f" S{note[1:]}" for note in notes if note.startswith("sheet "))


def listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def first_places(places: Sequence[int]) -> str:
    return ", ".join(map(str, places[:5])) + (", ..." if len(places) > 5 else "")


def unnamed_note(places: Sequence[int]) -> list[str]:
    """Say which columns are left out because they have no name; columns count from 1."""
    if not places:
        return []
    column, are = ("column", "is") if len(places) == 1 else ("columns", "are")
    left_out = f"{column} {first_places(places)} of the file {are} left out"
    return [f"{left_out}: there is no name in the header. Name what is to be used."]
