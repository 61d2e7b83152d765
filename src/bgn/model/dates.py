"""Dates as numbers: their year, month, weekday and hour, and the days since the first of them.

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

TIME_PARTS = ("year", "month", "day", "weekday", "hour", "days", "duration")

_CALENDAR: dict[str, Callable[[Stamps], NDArray[Any]]] = {
    "year": lambda stamps: stamps.astype("M8[Y]").astype(np.int64) + 1970,
    "month": lambda stamps: stamps.astype("M8[M]").astype(np.int64) % 12 + 1,
    "day": lambda stamps: (stamps.astype("M8[D]") - stamps.astype("M8[M]").astype("M8[D]")).astype(np.int64) + 1,
    "weekday": lambda stamps: (stamps.astype("M8[D]").astype(np.int64) + 3) % 7 + 1,
    "hour": lambda stamps: (stamps - stamps.astype("M8[D]").astype("M8[us]")).astype(np.int64) / 3.6e9,
}


def calendar_part(stamps: Stamps, part: str) -> Floats:
    """Return the year, month, day, weekday (Monday = 1) or hour (with minutes as a fraction) of times, NaN for a gap.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.model.dates import calendar_part
    >>> calendar_part(np.array(["2006-01-15T18:30", "NaT"], "M8[us]"), "hour")
    array([18.5,  nan])
    """
    return np.where(np.isnat(stamps), np.nan, _CALENDAR[part](stamps))


@dataclass(frozen=True)
class TimePart:
    """A number that is made of a column of dates or durations.

    Parameters
    ----------
    raw : str
        That column's name.
    part : str
        ``"year"``, ``"month"``, ``"day"``, ``"weekday"``, ``"hour"``, ``"days"`` since `first`, or ``"duration"``, in
        days.
    first : str, default ""
        The first date, as ``2006-01-15``.
    zone : str, optional
        The time zone whose clocks count; None where the times had none.

    Examples
    --------
    >>> from bgn.model.dates import TimePart
    >>> [TimePart("sold", "month").name, TimePart("sold", "days", "2006-01-15").name, TimePart("took", "duration").name]
    ['sold month', 'sold, days since 2006-01-15', 'took (days)']
    """

    raw: str
    part: str
    first: str = ""
    zone: str | None = None

    @property
    def name(self) -> str:
        """What a person would call it."""
        if self.part == "days":
            return f"{self.raw}, days since {self.first}"
        return f"{self.raw} (days)" if self.part == "duration" else f"{self.raw} {self.part}"

    def of(self, stamps: Stamps) -> Floats:
        """Return the part of times in UTC or, where there is no zone, as they are written."""
        local = in_zone(stamps, self.zone)
        if self.part != "days":
            return calendar_part(local, self.part)
        return np.where(np.isnat(local), np.nan, (local - np.datetime64(self.first, "us")).astype(np.int64) / DAY)


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
    days, place = np.unique(stamps.astype("M8[D]"), return_inverse=True)
    offsets = np.array([[_offset(day, zone), _offset(day + DAY, zone)] for day in days.astype("M8[us]")]).reshape(-1, 2)
    shift = offsets[place, 0]
    for row in np.flatnonzero((offsets[:, 0] != offsets[:, 1])[place]):  # clocks are changed on that day
        shift[row] = _offset(stamps[row], zone)
    return stamps + shift.astype("m8[us]")


def _offset(stamp: np.datetime64, zone: Any) -> int:
    """Return how many microseconds clocks are ahead of UTC."""
    moment: Any = stamp.item()
    try:
        there = moment.replace(tzinfo=datetime.UTC).astimezone(ZoneInfo(zone))
        return int(there.utcoffset() / datetime.timedelta(microseconds=1))
    except (AttributeError, OverflowError):  # a gap, or a year that no calendar of Python has
        return 0
