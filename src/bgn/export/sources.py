"""Where a program gets a number of a row from: a number, a word, whether it is one word, a part of a date.

A network reads one number per column. A table beside it has what people keep: words, dates, gaps. What stands between
them is said once, here, for the formats that can do it themselves and for the sentence of those that cannot.
"""

from __future__ import annotations

from dataclasses import dataclass

from bgn.model.dates import TimePart
from bgn.model.network import Network
from bgn.model.schema import Column, Level, level_word
from bgn.preparation import Category, Date, Preparation
from bgn.preparation import Number as PreparedNumber
from bgn.printable import clean


@dataclass(frozen=True)
class Indicator:
    """1 where a column of words holds one of them, else 0."""

    raw: str
    level: Level


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
    made : TimePart or Indicator, optional
        How it is made of the table's column; None where it is that column.
    fill : float, optional
        What a gap counts as, before any question sees it.
    refuses : bool
        Whether there is no prediction where it is missing.
    """

    place: int
    name: str
    raw: str
    levels: tuple[Level, ...] | None = None
    made: TimePart | Indicator | None = None
    fill: float | None = None
    refuses: bool = False

    @property
    def level_kind(self) -> str:
        """What the levels are: ``"words"``, ``"numbers"`` or ``"truths"``; words where there are several kinds."""
        levels = self.levels if self.levels is not None else (getattr(self.made, "level", ""),)
        if all(isinstance(level, bool) for level in levels):
            return "truths"
        return "words" if any(isinstance(level, str | bool) for level in levels) else "numbers"

    def to_do(self) -> str:
        """Return the sentence that says how to make it of a raw table; empty where nothing is to be done."""
        name, raw = clean(self.name), clean(self.raw)
        if isinstance(self.made, Indicator):
            return f"{name}: 1 where {raw} is {clean(level_word(self.made.level))}, 0 where it is anything else."
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
        }
        return f"{name}: {told[self.made.part]}{zone}."


def inputs_of(network: Network, preparation: Preparation | None, columns: tuple[int, ...]) -> tuple[Input, ...]:
    """Return what a program reads for some of a network's columns."""
    everywhere = network.slopes is not None
    refused = [everywhere or bool(each) for each in network.layers[0].refuses_gaps]
    prepared = _prepared(preparation) if preparation is not None else None
    found = []
    for place in columns:
        column = network.schema.columns[place]
        if prepared is not None:
            found.append(_of_file(place, column, prepared))
        else:
            fill = column.typical if refused[place] else None
            lacking = refused[place] and fill is None
            found.append(Input(place, column.name, column.raw, column.levels, column.part_of, fill, lacking))
    return tuple(found)


def _of_file(place: int, column: Column, prepared: dict[str, Input]) -> Input:
    """Return a column as a file's preparation makes it."""
    if column.name not in prepared:
        raise ValueError(f"preparation must make all columns of the network; it does not make {column.name!r}.")
    given = prepared[column.name]
    return Input(place, column.name, given.raw, None, given.made, given.fill, given.fill is None)


def _prepared(preparation: Preparation) -> dict[str, Input]:
    """Return what a preparation makes, by name."""
    found: dict[str, Input] = {}
    for column in preparation.columns:
        if isinstance(column, PreparedNumber):
            truth = Indicator(column.column, True) if column.boolean else None
            found[column.column] = Input(-1, column.column, column.column, None, truth, column.fill)
        elif isinstance(column, Category):
            values: tuple[Level, ...] = column.values
            for name, level in zip(column.names, values, strict=True):
                fill = None if column.fill is None else float(level == column.fill)
                found[name] = Input(-1, name, column.column, None, Indicator(column.column, level), fill)
        else:
            assert isinstance(column, Date)
            fills = column.fill or (None,) * len(column.parts)
            zone = "UTC" if column.zone else None
            for name, part, given in zip(column.names, column.parts, fills, strict=True):
                made = TimePart(column.column, part, zone=zone)
                found[name] = Input(-1, name, column.column, None, made, given)
    return found
