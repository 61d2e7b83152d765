"""Preparations that make numbers alone of raw columns, as files of version 1 tell them."""

from __future__ import annotations

from typing import Any

from bgn.model.schema import Column, Schema
from bgn.persist import earlier
from bgn.preparation import Preparation

Columns = tuple[tuple[Column, ...], str | None]


def number(column: str, boolean: bool = False, fill: float | None = None) -> Columns:
    """A column of numbers, or of true and false."""
    return earlier.columns_made_of({"kind": "number", "column": column, "boolean": boolean, "fill": fill}, "")


def category(column: str, values: tuple[Any, ...], fill: Any = None) -> Columns:
    """One column of 0 and 1 per word."""
    return earlier.columns_made_of({"kind": "category", "column": column, "values": [*values], "fill": fill}, "")


def date(column: str, parts: tuple[str, ...], form: str | None = None, fill: Any = None, zone: Any = None) -> Columns:
    """Parts of a date."""
    encoding = {"kind": "date", "column": column, "parts": [*parts], "format": form, "zone": zone}
    return earlier.columns_made_of(encoding | {"fill": None if fill is None else [*fill]}, "")


def prepared(*raw: Columns, decimal: str = ".", written: Any = ()) -> Preparation:
    """What reads them."""
    form = next((form for _, form in raw if form is not None), None)
    schema = Schema(tuple(column for columns, _ in raw for column in columns))
    return Preparation(schema, decimal, tuple(written), date_format=form)
