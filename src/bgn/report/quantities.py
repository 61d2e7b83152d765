"""Numbers of the target as people write them: thousands set apart, and the unit behind."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bgn.export.numbers import whole
from bgn.export.text import Signs
from bgn.printable import clean

_PLAIN = re.compile(r"([+-]?)(\d{4,})(\.\d+)?")


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
    >>> from bgn.report.quantities import Quantity
    >>> cars, prices = Quantity("cars"), Quantity("100000 USD")
    >>> cars("1188.5"), cars.bare("1188.5"), prices("2.31"), Quantity("%")("12")
    ('1,188.5 cars', '1,188.5', '2.31 × 100000 USD', '12%')
    >>> cars.between("0", "1188"), cars.title
    ('between 0 and 1,188 cars', ' (cars)')
    """

    unit: str = ""

    def bare(self, written: str) -> str:
        """Return a number that is written already with its thousands set apart."""
        found = _PLAIN.fullmatch(written)
        if found is not None:
            written = f"{found[1]}{int(found[2]):,}{found[3] or ''}"
        return Signs().number(written)

    def __call__(self, written: str) -> str:
        """Return the same with the unit."""
        return self.bare(written) + self.suffix

    def between(self, low: str, high: str) -> str:
        """Say that something lies between two numbers."""
        return f"between {self.bare(low)} and {self(high)}"

    @property
    def suffix(self) -> str:
        """What stands behind a number."""
        unit = clean(self.unit) if self.unit.strip() else ""
        if not unit:
            return ""
        return unit if unit == "%" else f" \N{MULTIPLICATION SIGN} {unit}" if unit[0].isdigit() else f" {unit}"

    @property
    def title(self) -> str:
        """What stands behind the name of a column of numbers."""
        return f" ({clean(self.unit)})" if self.unit.strip() else ""
