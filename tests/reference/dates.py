"""Dates as text, cell by cell, from the definition."""

from __future__ import annotations

import datetime
import time


def stamp(cell: str, form: str) -> datetime.datetime | None:
    """What a cell says in a format, in UTC where it tells an offset; None where it is written otherwise."""
    try:
        found = datetime.datetime.strptime(cell, form)
        if "%j" in form and time.strptime(cell, form).tm_yday != found.timetuple().tm_yday:
            return None  # the 366th day of a year of 365
        return found.astimezone(datetime.UTC) if found.tzinfo else found
    except (ValueError, OverflowError):  # in UTC, some hours of the years 1 and 9999 are in years that there are not
        return None
