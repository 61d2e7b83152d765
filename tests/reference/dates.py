"""Dates as text, cell by cell, from the definition."""

from __future__ import annotations

import datetime
import time


def stamp(cell: str, form: str) -> datetime.datetime | None:
    """What a cell says in a format, in UTC where it tells an offset; None where it is written otherwise."""
    try:
        result = datetime.datetime.strptime(cell, form)
        if "%j" in form and time.strptime(cell, form).tm_yday != result.timetuple().tm_yday:
            return None  # the 366th day of a year of 365
        return result.astimezone(datetime.UTC) if result.tzinfo else result
    except (ValueError, OverflowError):  # in UTC, some hours of the years 1 and 9999 are in years that there are not
        return None
