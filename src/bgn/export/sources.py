"""Where a program gets a number of a row from: a number, the number of a word, a part of a date.

A network reads one number per column. A table beside it has what people keep: words, dates, gaps. What stands between
them is said once, here, for the formats that can do it themselves and for the sentence of those that cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bgn.model.dates import TimePart
from bgn.model.network import Network
from bgn.model.schema import Level, level_word
from bgn.printable import quote_category, quote_name

NOT_TEXT = "\0\ud800-\udfff"
"""What ends strings or is no text at all, as `check_words` takes it."""


@dataclass(frozen=True)
class Input:
    """A number that a program reads from a row.

    Attributes
    ----------
    place : int
        The network's column.
    name : str
        Of that column.
    raw : str
        Of the table's column that it is made of; the same where nothing is to be done.
    levels : tuple, optional
        The levels of a category, whose number is what the network reads.
    made : TimePart, optional
        How it is made of the table's column; None where it is that column.
    level_of : (str, level), optional
        For a column of 0 and 1 that stands for a level of a category: the category, and that level.
    fill : float, optional
        What a gap counts as, before any question sees it.
    refuses : bool
        Whether there is no prediction where it is missing.
    """

    place: int
    name: str
    raw: str
    levels: tuple[Level, ...] | None = None
    made: TimePart | None = None
    level_of: tuple[str, Level] | None = None
    fill: float | None = None
    refuses: bool = False

    @property
    def level_kind(self) -> str:
        """What the levels are: ``"words"``, ``"numbers"`` or ``"truths"``; words where there are several kinds."""
        levels = self.levels or ("",)
        if all(isinstance(level, bool) for level in levels):
            return "truths"
        return "words" if any(isinstance(level, str | bool) for level in levels) else "numbers"

    def to_do(self) -> str:
        """Return the sentence that says how to make it of a raw table; empty where nothing is to be done."""
        name, raw = quote_name(self.name), quote_name(self.raw)
        if self.level_of is not None:
            category, level = quote_name(self.level_of[0]), quote_category(level_word(self.level_of[1]))
            return f"{name}: 1 where {category} is {level}, 0 where it is anything else."
        if self.made is None:
            return ""
        zone = "" if self.made.zone is None else f", by the clocks of {self.made.zone}"
        told = {
            "year": f"the year of {raw}",
            "month": f"the month of {raw}, 1 to 12",
            "day": f"the day of the month of {raw}",
            "weekday": f"the weekday of {raw}, 1 for Monday to 7",
            "hour": f"the hour of {raw}, minutes as a fraction",
            "days": f"days from {self.made.first} to {raw}, with a fraction",
            "duration": f"{raw} in days, with a fraction",
            "time": f"{raw} in hours, minutes as a fraction",
        }
        return f"{name}: {told[self.made.part]}{zone}."


def check_words(words: Iterable[str], refused: str, target: str) -> None:
    """Refuse words with a character of the set `refused`, which a target would lose or take for their end.

    Examples
    --------
    >>> check_words(["a", "b\\0"], "\\0", "SQL")
    Traceback (most recent call last):
    ...
    ValueError: SQL has no place for the character '\\x00' of "b\\u0000". Call the column or category otherwise.
    """
    for word in words:
        if found := re.search(f"[{refused}]", word):
            raise ValueError(
                f"{target} has no place for the character {found[0]!r} of {quote_name(word, 80)}. "
                "Call the column or category otherwise."
            )


def inputs_of(network: Network, columns: tuple[int, ...]) -> tuple[Input, ...]:
    """Return what a program reads for some of a network's columns."""
    found = []
    for place in columns:
        column = network.schema.columns[place]
        refused, sloped = bool(network.layers[0].refuses_gaps[place]), bool(network.refuses_gaps[place])
        fill = column.typical if refused else None
        made = {"levels": column.levels, "made": column.part_of, "level_of": column.level_of}
        refuses = sloped and column.typical is None
        found.append(Input(place, column.name, column.raw, **made, fill=fill, refuses=refuses))  # type: ignore[arg-type]
    return tuple(found)
