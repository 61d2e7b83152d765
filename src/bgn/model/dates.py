"""Dates as numbers: their year, month, weekday and hour, and the days since the first of them; times of day as hours.

A time with a time zone counts as the clocks of that zone show it; one without counts as it is written.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from bgn.model.step import Floats

Stamps = NDArray[np.datetime64]

DAY = 86_400_000_000
"""Microseconds."""

HOUR = DAY // 24
"""Microseconds."""

_NAMES = {
    "month": (
        "January", "February", "March", "April", "May", "June",
        "July", "August", "September", "October", "November", "December",
    ),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}  # fmt: skip
_FURTHEST = 1e5  # days, beyond which floats do not tell microseconds apart

TIME_PARTS = ("year", "month", "day", "weekday", "hour", "days", "duration", "time")

_CALENDAR: dict[str, Callable[[Stamps], NDArray[Any]]] = {
    "year": lambda stamps: stamps.astype("M8[Y]").astype(np.int64) + 1970,
    "month": lambda stamps: stamps.astype("M8[M]").astype(np.int64) % 12 + 1,
    "day": lambda stamps: (stamps.astype("M8[D]") - stamps.astype("M8[M]").astype("M8[D]")).astype(np.int64) + 1,
    "weekday": lambda stamps: (stamps.astype("M8[D]").astype(np.int64) + 3) % 7 + 1,
    "hour": lambda stamps: (stamps - stamps.astype("M8[D]").astype("M8[us]")).astype(np.int64) / HOUR,
}


def calendar_part(stamps: Stamps, part: str) -> Floats:
    """Return the year, month, day, weekday (Monday = 1) or hour (with minutes as a fraction) of times."""
    return np.where(np.isnat(stamps), np.nan, _CALENDAR[part](stamps))


@dataclass(frozen=True)
class TimePart:
    """A number that is made of a column of dates, durations or times of day.

    Examples
    --------
    >>> from bgn.model.dates import TimePart
    >>> [TimePart("sold", "month").name, TimePart("sold", "days", "2006-01-15").name, TimePart("took", "duration").name]
    ['sold month', 'sold, days since 2006-01-15', 'took (days)']
    """

    raw: str  # that column's name
    part: str  # one of TIME_PARTS: "days" since `first`, a "duration" in days, a "time" of day in hours
    first: str = ""  # the first date, as 2006-01-15
    zone: str | None = None  # the time zone whose clocks count; None where the times had none

    @property
    def name(self) -> str:
        """What a person would call it."""
        if self.part == "days":
            return f"{self.raw}, days since {self.first}"
        unit = {"duration": "(days)", "time": "(hours)"}.get(self.part, self.part)
        return f"{self.raw} {unit}"

    def of(self, stamps: Stamps) -> Floats:
        """Return the part of times in UTC or, where there is no zone, as they are written."""
        local = in_zone(stamps, self.zone)
        if self.part != "days":
            return calendar_part(local, "hour" if self.part == "time" else self.part)
        return np.where(np.isnat(local), np.nan, (local - np.datetime64(self.first, "us")).astype(np.int64) / DAY)

    def written(self, value: float, up: bool = True) -> str | None:
        """Return what a person writes for a value; None where that is the number itself.

        A value between two microseconds is the later of the two or, with ``up=False``, the earlier: times from the
        one on, or up to the other, are those that reach the value, or do not exceed it.

        Examples
        --------
        >>> from bgn.model.dates import TimePart
        >>> [TimePart("sold", "days", "2006-01-15").written(days) for days in (31.0, 0.75)]
        ['2006-02-15', '2006-01-15 18:00']
        >>> TimePart("sold", "month").written(4.0), TimePart("opens", "time").written(8.5)
        ('April', '08:30')
        """
        names = _NAMES.get(self.part, ())
        if value in range(1, len(names) + 1):
            return names[int(value) - 1]
        if self.part in ("hour", "time") and 0.0 <= value < 24.0:
            return _clock(_reached(value, HOUR, up))
        if self.part == "days" and abs(value) <= _FURTHEST:
            day, rest = divmod(_reached(value, DAY, up), DAY)
            date = str(np.datetime64(self.first, "D") + np.timedelta64(day, "D"))
            return f"{date} {_clock(rest)}" if rest else date
        return None


def _reached(value: float, unit: int, up: bool) -> int:
    """Return the first microsecond that is `value` units or more or, with ``up=False``, the last that is not more."""
    near = [round(value * unit) + step for step in range(-8, 9)]  # as `of` divides, in floats
    if up:
        return next(us for us in near if float(us) / unit >= value)
    return next(us for us in reversed(near) if float(us) / unit <= value)


def _clock(us: int) -> str:
    """Return the time of day, with seconds where there are any."""
    minutes, rest = divmod(us, HOUR // 60)
    seconds = f"{rest / 1e6:09.6f}".rstrip("0").rstrip(".")
    return f"{minutes // 60:02}:{minutes % 60:02}" + (f":{seconds}" if rest else "")


def hours_of(time: datetime.time) -> float:
    """Return a time of day in hours."""
    seconds = (60 * time.hour + time.minute) * 60 + time.second
    return (1_000_000 * seconds + time.microsecond) / HOUR


def in_utc(moment: datetime.datetime) -> datetime.datetime:
    """Return a time in UTC where it has a time zone, without it."""
    return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)


def zone_name(zone: Any) -> str | None:
    """Return what to call a time zone; an offset without a place counts in UTC."""
    if zone is None:
        return None
    name = str(getattr(zone, "key", None) or getattr(zone, "zone", None) or zone)
    try:
        return ZoneInfo(name).key
    except (ValueError, OSError, KeyError):
        return "UTC"


def in_zone(stamps: Stamps, zone: str | None) -> Stamps:
    """Return what the clocks of a time zone show at times in UTC."""
    if zone in (None, "UTC"):
        return stamps

    def offset(stamp: np.datetime64) -> int:
        moment: Any = stamp.item()
        try:
            there = moment.replace(tzinfo=datetime.UTC).astimezone(ZoneInfo(zone))
            return int(there.utcoffset() / datetime.timedelta(microseconds=1))
        except (AttributeError, OverflowError):  # a missing value, or a year that no calendar of Python has
            return 0

    days, place = np.unique(stamps.astype("M8[D]"), return_inverse=True)
    starts = days.astype("M8[us]")
    offsets = np.array([[offset(day), offset(day + np.timedelta64(DAY, "us"))] for day in starts]).reshape(-1, 2)
    shift = offsets[place, 0]
    for row in np.flatnonzero((offsets[:, 0] != offsets[:, 1])[place]):  # clocks are changed on that day
        shift[row] = offset(stamps[row])
    return stamps + shift.astype("m8[us]")
