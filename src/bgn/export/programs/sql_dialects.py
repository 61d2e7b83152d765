"""How databases spell names, numbers, words and parts of dates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import frexp

from bgn.model.dates import TimePart

_FAST = 1 << 53  # whole numbers up to here, and powers of ten up to 22, are floats


def _standard_number(value: float) -> str:
    written = repr(value)
    return written if "e" in written else f"{written}e0"


def _sqlite_number(value: float) -> str:
    """Write a number that SQLite reads exactly, whose own reading of decimals may be one float off.

    A decimal of up to 15 digits is a quotient of two whole numbers, which division rounds correctly; others are a whole
    number times a power of two.
    """
    exact = Decimal(repr(value))
    if (
        Fraction(exact) == Fraction(value)
        and len(exact.as_tuple().digits) <= 15
        and abs(int(exact.as_tuple().exponent)) <= 15
    ):
        return repr(value)
    places = -int(exact.as_tuple().exponent)
    whole = int(exact.scaleb(places)) if places > 0 else 0
    if 0 < places <= 22 and abs(whole) < _FAST:
        return f"({whole}.0 / 1{'0' * places}.0)"
    mantissa, exponent = frexp(value)
    whole, exponent = int(mantissa * _FAST), exponent - 53
    sign, steps = ("/" if exponent < 0 else "*"), abs(exponent)
    factors = [60] * (steps // 60) + [steps % 60] * bool(steps % 60)
    return "(" + f" {sign} ".join([f"{whole}.0", *(f"{1 << power}.0" for power in factors)]) + ")"


def _doubled(mark: str) -> Callable[[str], str]:
    return lambda text: mark + text.replace(mark, mark * 2) + mark


def _backslashed(mark: str) -> Callable[[str], str]:
    def write(text: str) -> str:
        for letter, other in (("\\", "\\\\"), (mark, "\\" + mark), ("\n", "\\n"), ("\r", "\\r")):
            text = text.replace(letter, other)
        return mark + text + mark

    return write


@dataclass(frozen=True)
class Dialect:
    """The spelling of one database."""

    double: str  # types for CAST; empty where there is no need to cast
    string: str = ""
    truth: str = ""
    number: Callable[[float], str] = _standard_number
    name: Callable[[str], str] = field(default_factory=lambda: _doubled('"'))
    text: Callable[[str], str] = field(default_factory=lambda: _doubled("'"))
    no_nan: str = "{x}"  # a number whose NaN becomes NULL
    staged: str = "AS"  # between a stage's name and its query, so that it is computed once
    infinity: str = ""  # an infinite number, where there is a way to write it
    greatest: str = "GREATEST"  # the function that returns the largest of several numbers
    ignores_case: bool = False  # whether the names of two columns may not differ in case alone
    checks_underflow: bool = False  # whether a product that rounds to 0 is an error there
    time: str = "CAST({x} AS TIMESTAMP)"
    clock: str = "CAST({x} AS TIME)"
    local: str = ""  # a time as the clocks of {zone} show it; empty where there is no plain way
    parts: Mapping[str, str] = field(default_factory=dict)  # of a local time; those not there have no plain way

    def made(self, column: str, part: TimePart) -> str:
        """Write a part of a date, or say that there is no way to."""
        template = self.parts.get(part.part, "")
        zoned = part.zone is not None and part.part != "duration"
        if not template or (zoned and not self.local):
            raise ValueError(
                f"model reads the {part.part} of {part.raw!r}{f' in {part.zone}' if zoned else ''}, which this dialect "
                "has no plain words for. Make that number before, and export a model that was fitted to it."
            )
        cast = {"duration": "{x}", "time": self.clock}.get(part.part, self.local if zoned else self.time)
        time = cast.format(x=column, zone=self.text(part.zone or ""))
        return template.format(x=time, first=part.first)


_EXTRACT = {"year": "EXTRACT(YEAR FROM {x})", "month": "EXTRACT(MONTH FROM {x})", "day": "EXTRACT(DAY FROM {x})"}
_SQLITE_HOUR = (
    "(strftime('%H', {x}) * 3600000 + strftime('%M', {x}) * 60000 + "
    "round(strftime('%f', {x}) * 1000.0)) * 1000.0 / 3600000000.0"
)

DIALECTS: dict[str, Dialect] = {
    "standard": Dialect("DOUBLE PRECISION", parts=_EXTRACT),
    "postgresql": Dialect(
        "DOUBLE PRECISION", "TEXT", "BOOLEAN",
        number=lambda value: f"({value!r}::float8)" if value < 0 else f"{value!r}::float8",
        no_nan="NULLIF({x}, 'NaN'::float8)", staged="AS MATERIALIZED", checks_underflow=True,
        local="(CAST({x} AS TIMESTAMPTZ) AT TIME ZONE {zone})",
        parts=_EXTRACT | {
            "weekday": "EXTRACT(ISODOW FROM {x})",
            "hour": "(EXTRACT(HOUR FROM {x}) * 3600000000 + EXTRACT(MINUTE FROM {x}) * 60000000 + "
                    "EXTRACT(MICROSECONDS FROM {x}))::float8 / 3.6e9::float8",
            "days": "(EXTRACT(EPOCH FROM ({x} - TIMESTAMP '{first}')) * 1000000)::float8 / 8.64e10::float8",
            "duration": "(EXTRACT(EPOCH FROM {x}) * 1000000)::float8 / 8.64e10::float8",
            "time": "(EXTRACT(EPOCH FROM {x}) * 1000000)::float8 / 3.6e9::float8",
        },
    ),
    "sqlite": Dialect(
        "REAL", "TEXT", "INTEGER", number=_sqlite_number, staged="AS MATERIALIZED", infinity="9e999",
        greatest="MAX", ignores_case=True, time="{x}", clock="{x}", parts={
            "year": "strftime('%Y', {x})", "month": "strftime('%m', {x})", "day": "strftime('%d', {x})",
            "weekday": "(strftime('%w', {x}) + 6) % 7 + 1",
            "hour": _SQLITE_HOUR, "time": _SQLITE_HOUR,
            "days": "((strftime('%s', {x}) - strftime('%s', '{first}')) * 1000.0 + "
                    "round((strftime('%f', {x}) - strftime('%S', {x})) * 1000.0)) * 1000.0 / 86400000000.0",
        },
    ),
    "duckdb": Dialect(
        "DOUBLE", "VARCHAR", "BOOLEAN", no_nan="NULLIF({x}, 'nan'::DOUBLE)", ignores_case=True,
        local="timezone({zone}, CAST({x} AS TIMESTAMPTZ))",
        parts=_EXTRACT | {
            "weekday": "isodow({x})",
            "hour": "CAST(epoch_us({x}) - epoch_us(date_trunc('day', {x})) AS DOUBLE) / 3.6e9",
            "days": "CAST(epoch_us({x}) - epoch_us(TIMESTAMP '{first}') AS DOUBLE) / 8.64e10",
            "duration": "CAST(epoch_us({x}) AS DOUBLE) / 8.64e10",
            "time": "CAST(epoch_us({x}) AS DOUBLE) / 3.6e9",
        },
    ),
    "bigquery": Dialect(
        "FLOAT64", "STRING", "BOOL", name=_backslashed("`"), text=_backslashed("'"),
        no_nan="IF(IS_NAN({x}), NULL, {x})", ignores_case=True, time="CAST({x} AS DATETIME)",
        local="DATETIME({x}, {zone})",
        parts=_EXTRACT | {
            "weekday": "MOD(EXTRACT(DAYOFWEEK FROM {x}) + 5, 7) + 1",
            "hour": "DATETIME_DIFF({x}, DATETIME_TRUNC({x}, DAY), MICROSECOND) / 3.6e9",
            "days": "DATETIME_DIFF({x}, DATETIME '{first}', MICROSECOND) / 8.64e10",
            "time": "TIME_DIFF({x}, TIME '00:00:00', MICROSECOND) / 3.6e9",
        },
    ),
    "snowflake": Dialect(
        "FLOAT", "VARCHAR", "BOOLEAN", number=lambda value: f"'{value!r}'::FLOAT",
        text=lambda text: _doubled("'")(text.replace("\\", "\\\\")),
        no_nan="NULLIF({x}, 'NaN'::FLOAT)", time="CAST({x} AS TIMESTAMP_NTZ)",
        local="CAST(CONVERT_TIMEZONE({zone}, {x}) AS TIMESTAMP_NTZ)",
        parts=_EXTRACT | {
            "weekday": "DAYOFWEEKISO({x})",
            "hour": "TIMESTAMPDIFF(MICROSECOND, DATE_TRUNC('DAY', {x}), {x})::FLOAT / '3.6e9'::FLOAT",
            "days": "TIMESTAMPDIFF(MICROSECOND, '{first}'::TIMESTAMP_NTZ, {x})::FLOAT / '8.64e10'::FLOAT",
            "time": "TIMEDIFF(MICROSECOND, '00:00:00'::TIME, {x})::FLOAT / '3.6e9'::FLOAT",
        },
    ),
}  # fmt: skip
