"""Raw files to datasets: one small function each, features in order and the target last.

The paper's become matrices of numbers, as they were published. Those that are made to be read become columns, in which
codes are words and a missing value is None.
"""

from __future__ import annotations

import csv
import io
import math
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from bgn.datasets.fetch import RawFile
from bgn.model.step import Floats
from bgn.require import require

Columns = dict[str, list[object]]


def _columns(rows: Iterable[Iterable[object]]) -> Floats:
    return np.array([[float(value) for value in row] for row in rows])  # type: ignore[arg-type]


def _records(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


def _sheet(content: bytes, index: int) -> list[tuple[object, ...]]:
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
    longitude, latitude, age, total, bedrooms, people, households, income, value = table.T
    if columns == "averaged":
        averaged = (income, age, total / households, bedrooms / households, people, people / households)
        return np.column_stack([*averaged, latitude, longitude, value / 100_000])
    counts = (longitude, latitude, age, total, bedrooms, people, households)
    return np.column_stack([*counts, income * 10, value / 100_000])


def power_plant(content: bytes, columns: str) -> Floats:
    """Return the fifth shuffle."""
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


# -- datasets to read ----------------------------------------------------------------------------------------------

_SEASONS = ("winter", "spring", "summer", "fall")
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_WEATHER = ("clear", "mist", "light rain/snow", "heavy rain/snow")
_SHAPES = ("round", "oval", "lobular", "irregular")
_MARGINS = ("circumscribed", "microlobulated", "obscured", "ill-defined", "spiculated")
_DENSITIES = ("high", "iso", "low", "fat-containing")


def bike_sharing(content: bytes, columns: str) -> Columns:
    """Replace codes by words and shares of a range by units; a humidity of zero is a sensor that failed."""

    def readable(row: dict[str, str]) -> dict[str, object]:
        humidity = round(100 * float(row["hum"]))
        return {
            "season": _SEASONS[int(row["season"]) - 1],
            "year": 2011 + int(row["yr"]),
            "month": int(row["mnth"]),
            "hour": int(row["hr"]),
            "weekday": _WEEKDAYS[int(row["weekday"])],
            "holiday": "yes" if row["holiday"] == "1" else "no",
            "day_off": "yes" if row["workingday"] == "0" else "no",
            "weather": _WEATHER[int(row["weathersit"]) - 1],
            "temperature": round(47 * float(row["temp"]) - 8, 1),
            "feels_like": round(66 * float(row["atemp"]) - 16, 1),
            "humidity": humidity or None,
            "wind": round(67 * float(row["windspeed"]), 1),
            "rentals": int(row["cnt"]),
        }

    return _by_column(map(readable, _records(content)))


def mammographic(content: bytes, columns: str) -> Columns:
    """Replace codes by the words of the lexicon; leave out the assessment, which is a doctor's guess at the answer."""

    def readable(row: dict[str, str]) -> dict[str, object]:
        return {
            "age": _number(row["age"]),
            "shape": _category(row["shape"], _SHAPES),
            "margin": _category(row["margin"], _MARGINS),
            "density": _category(row["density"], _DENSITIES),
            "mass": ("benign", "malignant")[int(row["malignant"])],
        }

    return _by_column(map(readable, _records(content)))


def penguins(content: bytes, columns: str) -> Columns:
    """Put the species last."""
    measured = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")

    def readable(row: dict[str, str]) -> dict[str, object]:
        numbers = {name.rpartition("_")[0]: _number(row[name]) for name in measured}
        return {"island": row["island"], **numbers, "sex": row["sex"].lower() or None, "species": row["species"]}

    return _by_column(map(readable, _records(content)))


def _by_column(rows: Iterable[dict[str, object]]) -> Columns:
    records = list(rows)
    return {name: [record[name] for record in records] for name in records[0]}


def _number(cell: str) -> float | None:
    return None if cell in ("", "?") else float(cell)


def _category(code: str, categories: tuple[str, ...]) -> str | None:
    """Return the category that a code from 1 on stands for."""
    return None if code == "?" else categories[int(code) - 1]


# -- Every dataset as data: where it comes from, what its columns are, and which of these functions builds it.


@dataclass(frozen=True)
class Spec:
    """All that is known of a dataset before its bytes are read.

    `features` maps each choice of columns (the first is the default) to (name, unit) pairs in order. `build` makes a
    matrix of them and the target, or columns by name where some hold text.
    """

    source: RawFile | None
    build: Callable[[bytes, str], Floats | Columns]
    features: dict[str, tuple[tuple[str, str], ...]]
    target: tuple[str, str]
    rows: int
    description: str
    citation: str
    license: str


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Read ``name (unit), name, ...``; no unit is the empty string."""
    cells = [cell.strip().rstrip(")").partition(" (") for cell in text.split(",")]
    return tuple((name, unit) for name, _, unit in cells)


def _spec(name: str, entry: dict[str, Any]) -> Spec:
    places = {key: entry.pop(key, None) for key in ("file", "url", "member", "sha256")}
    features = {choice: _pairs(text) for choice, text in entry.pop("features").items()}
    source = RawFile(**places) if places["file"] else None
    return Spec(source, globals()[name], features, tuple(entry.pop("target")), **entry)


_ENTRIES = tomllib.loads((Path(__file__).parent / "specs.toml").read_text(encoding="utf-8"))
SPECS = MappingProxyType({name: _spec(name, entry) for name, entry in _ENTRIES.items()})
