"""Raw tables to matrices: one small function per table, features in order and the target last."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from datetime import date, datetime

import numpy as np

from bgn.model.step import Floats
from bgn.require import require


def _columns(rows: Iterable[Iterable[object]]) -> Floats:
    return np.array([[float(value) for value in row] for row in rows])  # type: ignore[arg-type]


def _records(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


def _sheet(content: bytes, index: int) -> list[tuple[object, ...]]:
    """Return the rows of one sheet of a workbook."""
    book = require("openpyxl", extra="cli").load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    try:
        return list(book.worksheets[index].iter_rows(values_only=True))
    finally:
        book.close()


def _weekday(day: date) -> int:
    """Sunday is 1, Saturday 7."""
    return day.isoweekday() % 7 + 1


def bike(content: bytes, columns: str) -> Floats:
    """Drop the row number, the date and the two parts of the target."""
    left_out = {"instant", "dteday", "casual", "registered"}
    return _columns([value for name, value in row.items() if name not in left_out] for row in _records(content))


def parking(content: bytes, columns: str) -> Floats:
    """Number the car parks in the order of their codes; split the time stamp."""
    rows = _records(content)
    number = {code: index for index, code in enumerate(sorted({row["SystemCodeNumber"] for row in rows}))}

    def split(row: dict[str, str]) -> list[object]:
        when = datetime.fromisoformat(row["LastUpdated"])
        hours = when.hour + when.minute / 60 + when.second / 3600
        half_hour = math.floor(2 * hours + 0.5) / 2
        place = number[row["SystemCodeNumber"]]
        return [place, _weekday(when), when.month, when.day, half_hour, row["Capacity"], row["Occupancy"]]

    return _columns(map(split, rows))


def chickenpox(content: bytes, columns: str) -> Floats:
    """Replace the date by year - 2004, month and week of the month."""

    def split(row: dict[str, str]) -> list[object]:
        when = datetime.strptime(row["Date"], "%d/%m/%Y")
        return [when.year - 2004, when.month, (when.day - 1) // 7 + 1, *list(row.values())[1:]]

    return _columns(map(split, _records(content)))


def housing(content: bytes, columns: str) -> Floats:
    """Income in thousands of dollars, value in hundreds of thousands; or scikit-learn's averages."""
    table = _columns(csv.reader(io.StringIO(content.decode("ascii"))))
    longitude, latitude, age, rooms, bedrooms, people, households, income, value = table.T
    if columns == "averaged":
        averaged = (income, age, rooms / households, bedrooms / households, people, people / households)
        return np.column_stack([*averaged, latitude, longitude, value / 100_000])
    counts = (longitude, latitude, age, rooms, bedrooms, people, households)
    return np.column_stack([*counts, income * 10, value / 100_000])


def power_plant(content: bytes, columns: str) -> Floats:
    """Return the fifth shuffle, as it stands."""
    return _columns(_sheet(content, 4)[1:])


def istanbul(content: bytes, columns: str) -> Floats:
    """Split the date, leave out the index in lira, turn returns into per cent, drop the last two rows."""

    def split(row: tuple[object, ...]) -> list[object]:
        when, _, target, *others = row
        assert isinstance(when, datetime)
        percent = [value * 100 for value in (*others, target)]  # type: ignore[operator]
        return [when.year, _weekday(when), when.month, when.day, *percent]

    return _columns(map(split, _sheet(content, 0)[2:-2]))


def diabetes(content: bytes, columns: str) -> Floats:
    """Return scikit-learn's copy, scaled as usual or as measured."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=columns == "scaled")
    if columns == "measured":
        X = X.round(4)  # as the file has them: some versions read the last digit badly
    return np.column_stack([X, y])
