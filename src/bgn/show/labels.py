"""How names, numbers and units are written on pages and figures: short names that still differ, values, units."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from bgn.export.condition import describe
from bgn.export.numbers import whole
from bgn.export.styles import Signs
from bgn.model.readings import as_terms, network_of
from bgn.model.schema import Column, Schema, category_name
from bgn.text import Quoted, clean, quote_category, quote_name


def shorten(names: Sequence[str], length: int = 24) -> tuple[str, ...]:
    """Return names of at most about `length` letters that still differ: long ones lose their middle.

    Examples
    --------
    >>> shorten(["income", "a very long name that ends in one", "a very long name that ends in two"], 12)
    ('income', 'a very…n one', 'a very…n two')
    >>> shorten(["a very long name", "a very wrong name"], 9)
    ('a ve…name (1)', 'a ve…name (2)')
    """
    return _distinct([quote_category(name, length) for name in names])


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    # Those that occur several times get a number.
    times = Counter(names)
    taken = {name for name in names if times[name] == 1}
    written = []
    for name in names:
        if times[name] > 1:
            name = Quoted(next(text for text in (f"{name} ({n})" for n in count(1)) if text not in taken))
            taken.add(name)
        written.append(name)
    return tuple(written)


def shortened(schema: Schema, length: int = 24) -> Schema:
    """Return the same columns, and their categories, by short names; one that stands for a category is called by both.

    Examples
    --------
    >>> from bgn.model.schema import Column, Schema
    >>> shortened(Schema((Column("an extraordinarily long name"), Column("x", category_of=("city", "Nice"))))).names
    ('an extraordi…y long name', 'city = Nice')
    """
    columns = []
    for column in schema.columns:
        if column.category_of is not None:
            of, category = column.category_of
            of, text = quote_name(of, length // 2), quote_category(category_name(category), length // 2)
            columns.append(replace(column, name=Quoted(f"{of} = {text}"), category_of=(of, text)))
            continue
        part = column.part_of and replace(column.part_of, raw=quote_name(column.part_of.raw, length))
        categories = None if column.categories is None else shorten([*map(category_name, column.categories)], length)
        columns.append(replace(column, name=quote_name(column.name, length), categories=categories, part_of=part))
    names = _distinct([column.name for column in columns])
    columns = [replace(column, name=name) for column, name in zip(columns, names, strict=True)]
    return replace(schema, columns=tuple(columns), target=schema.target and quote_name(schema.target, length))


def title(column: Column) -> str:
    """Return the name of a column as conditions have it; one that stands for a category is called by both."""
    if column.category_of is None:
        return quote_name(column.name)
    return Quoted(f"{quote_name(column.category_of[0])} = {quote_category(category_name(column.category_of[1]))}")


def cell(column: Column, value: float) -> str:
    """Write what a row holds in a column: a number whole, a category, a time as a clock shows it, or missing.

    Examples
    --------
    >>> from bgn.model.schema import Column
    >>> city = Column("city", categories=("Lille", "Nice"))
    >>> cell(city, 1.0), cell(city, float("nan")), cell(Column("age"), 31.5)
    ('Nice', 'missing', '31.5')
    """
    if value != value:
        return "missing"
    if time := column.part_of and column.part_of.written(value):
        return time
    if column.categories is None:
        return Signs().number(whole(value))
    return quote_category(category_name(column.categories[int(value)]))


def just_below(value: float) -> str:
    """Write the number of few digits that a value is the next float below; nothing where it is none.

    Examples
    --------
    >>> import math
    >>> just_below(math.nextafter(3.1234, 0)), just_below(-5e-324), just_below(3.1234), just_below(0.1 + 0.2)
    ('3.1234', '0', '', '')
    """
    short = whole(math.nextafter(value, math.inf))
    return short if len(short) < len(whole(value)) - 5 else ""


def term_labels(model: Any, length: int = 24) -> list[str]:
    """Return every term as text, names of at most about `length` letters; rules that add nothing are blank."""
    terms = as_terms(model)
    terms = replace(terms, schema=shortened(terms.schema, length))
    labels = [""] * len(network_of(model, plain=False).terms)
    for term in terms.terms:
        linear = term.linear and f"{quote_name(terms.names[term.linear.column])} (linear)"
        labels[term.place] = linear or describe(term, terms, Signs())
    return labels


def value_of(value: float) -> str:
    """Write a value of a column, without the last digits of what a computer made of it.

    Examples
    --------
    >>> value_of(4.999000000000001), value_of(2011.0), value_of(-124.35)
    ('4.999', '2011', '−124.35')
    """
    return Signs().number(whole(float(f"{value:.10g}")))


@dataclass(frozen=True)
class Quantity:
    """The unit of a target, and how numbers in it are written.

    Examples
    --------
    >>> from bgn.show.labels import Quantity
    >>> cars, prices = Quantity("cars"), Quantity("100000 USD")
    >>> cars("1188.5"), cars.bare("1188.5"), prices("2.31"), Quantity("%")("12")
    ('1,188.5 cars', '1,188.5', '2.31 × 100000 USD', '12%')
    >>> cars.between("0", "1188"), cars.title
    ('between 0 and 1,188 cars', ' (cars)')
    """

    unit: str = ""

    def bare(self, written: str) -> str:
        # Thousands are set off by commas.
        parts = re.fullmatch(r"([+-]?)(\d{4,})(\.\d+)?", written)
        return Signs().number(written if parts is None else f"{parts[1]}{int(parts[2]):,}{parts[3] or ''}")

    def __call__(self, written: str) -> str:
        return self.bare(written) + self.suffix

    def between(self, low: str, high: str) -> str:
        return f"between {self.bare(low)} and {self(high)}"

    @property
    def suffix(self) -> str:
        """What stands behind a number."""
        unit = clean(self.unit) if self.unit.strip() else ""
        if unit in ("", "%"):
            return unit
        return f" \N{MULTIPLICATION SIGN} {unit}" if unit[0].isdigit() else f" {unit}"

    @property
    def title(self) -> str:
        """What stands behind the name of a column of numbers."""
        return f" ({clean(self.unit)})" if self.unit.strip() else ""
