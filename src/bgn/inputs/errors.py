"""What is said of a raw table that cannot be worked with."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_MOST_COMPARED = 200  # letters; comparing takes their square
_IN_SHELL: ContextVar[bool] = ContextVar("in_shell", default=False)
_SHELL_NAMES = {"categorical_features": "categorical"}  # options that a shell calls otherwise


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
    """Refusals that are gathered, to be told together."""

    def __init__(self, *problems: str) -> None:
        self._found = [*problems]

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep what is refused, and go on behind the block."""
        try:
            yield
        except InputError as error:
            self._found += error.problems

    def tell(self) -> None:
        """Refuse, unless there was nothing to refuse."""
        if self._found:
            raise InputError(*dict.fromkeys(self._found))


@contextmanager
def on_command_line() -> Iterator[None]:
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
        return f"--{_SHELL_NAMES.get(name, name).replace('_', '-')} {value}".rstrip()
    quoted = value if value[:1] in ("'", '"') else repr(value)
    return f"{name}={quoted}" if value else name


def option_of(name: str, column: str, value: str) -> str:
    """How the user at hand writes an option for one column.

    Examples
    --------
    >>> option_of("decimal", "price", ",")
    "decimal={'price': ','}"
    >>> with spoken_to_a_shell():
    ...     option_of("decimal", "price", ",")
    "--decimal 'price=,'"
    """
    return f"--{name} {column + '=' + value!r}" if _IN_SHELL.get() else f"{name}={ {column: value} }"


def listing(name: str) -> str:
    """How the user at hand gives a list in place of the usual one, which a shell's option adds to.

    Examples
    --------
    >>> listing("missing_values")
    'missing_values=[...]'
    >>> with spoken_to_a_shell():
    ...     listing("missing_values")
    '--missing-values none --missing-values WORD'
    """
    return f"{option(name)} none {option(name)} WORD" if _IN_SHELL.get() else f"{name}=[...]"


def check_characters(**marks: str | Mapping[str, str] | None) -> None:
    """Refuse a separator or a mark that is not one character; a tab may be written as in a shell."""
    for name, value in marks.items():
        for each in value.values() if isinstance(value, Mapping) else [value]:
            if each is not None and len(each.replace("\\t", "\t")) != 1:
                raise InputError(f"{option(name)} must be one character; got {each!r}.")


def flag(name: str, on: bool) -> str:
    """How the user at hand writes an option that is on or off.

    Examples
    --------
    >>> flag("header", False)
    'header=False'
    >>> with spoken_to_a_shell():
    ...     flag("header", False), flag("header", True)
    ('--no-header', '--header')
    """
    return f"--{'' if on else 'no-'}{name}" if _IN_SHELL.get() else f"{name}={on}"


def numbered_names(count: int) -> tuple[str, ...]:
    """Return the names of columns that have none in a file without a header."""
    return tuple(f"column_{number}" for number in range(1, count + 1))


def named(names: Sequence[str], origin: str, in_file: bool = False) -> tuple[str, ...]:
    """Return stripped names, refusing two alike; columns without one keep an empty name."""
    stripped = tuple(name.strip() for name in names)
    twice = [name for name, count in Counter(stripped).items() if count > 1 and name]
    if twice:
        places = {name: [k for k, each in enumerate(stripped, 1) if each == name] for name in twice[:8]}
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
        raise InputError(f"{lacks}; it has {listed(there)}.{similar}{sheet_of(notes)}")


def sheet_of(notes: Iterable[str]) -> str:
    """Return the note on the sheet of a workbook that was read, as a sentence to add; nothing of other files."""
    return "".join(f" S{note[1:]}" for note in notes if note.startswith("sheet "))


def did_you_mean(name: str, there: Sequence[str]) -> str:
    """Return a question that names what looks most like a name, or nothing.

    Examples
    --------
    >>> did_you_mean("Prise", ["rooms", "price"])
    " Did you mean 'price'?"
    >>> did_you_mean("costs", ["rooms", "monthly costs of the household"])
    " Did you mean 'monthly costs of the household'?"
    """
    lower: dict[str, str] = {}
    for each in there:
        lower.setdefault(each.strip().lower(), each)
    short = [each for each in lower if len(each) <= _MOST_COMPARED] if len(name) <= _MOST_COMPARED else []
    close = difflib.get_close_matches(name.strip().lower(), short, n=1, cutoff=0.7)
    if not close and len(bare := name.strip().lower()) > 2:  # the beginning of a long name, or a word of it
        holding = [each for each in short if each.startswith(bare)] or [each for each in short if bare in each]
        close = holding if len(holding) == 1 else []
    return f" Did you mean {lower[close[0]]!r}?" if close else ""


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return the first names, and how many more there are."""
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
