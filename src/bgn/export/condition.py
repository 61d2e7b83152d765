"""The wording of a condition, decided once for every format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from bgn.export.numbers import whole
from bgn.export.text import Text
from bgn.model.question import Case, Cases, Choice, Condition, Count
from bgn.model.schema import Column, level_word
from bgn.model.terms import Terms
from bgn.printable import clean

# "At least this many of two" by what the 0/1 columns are: both 1, or both 0.
_OF_TWO = {(1, 1): "either of ", (2, 1): "both of ", (1, 0): "not both of ", (2, 0): "neither of "}


def describe(
    condition: Condition, terms: Terms, style: Text | None = None, units: Mapping[str, str] | None = None
) -> str:
    """Write a condition of `terms` in words and numbers; `units`, by name, go before those of the schema.

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> from bgn.model.schema import Column, Schema
    >>> schema = Schema((Column("hour"), Column("winter", level_of=("season", "winter"))))
    >>> layer = Layer([[0.0, 1.0], [0.0, -1.0], [1.0, -5.5]], [-0.5, 0.5, -10.25])
    >>> terms = as_terms(Network([layer], [3.0, 2.0, 1.0], 0.0, schema=schema))
    >>> for term in terms.terms:
    ...     print(describe(term.condition, terms))
    season = winter
    season is not winter
    hour >= 10.25, or >= 15.75 where season = winter
    """
    return _Wording(condition, terms, Text() if style is None else style, units or {}).whole()


@dataclass(frozen=True)
class _Wording:
    """A condition on its way to words."""

    condition: Condition
    terms: Terms
    style: Text
    units: Mapping[str, str]

    def whole(self) -> str:
        """Write the question, and what it answers where there is a gap."""
        reading, style = self.condition.reading, self.style
        if isinstance(reading, Cases):
            text = self._cases(reading)
        elif isinstance(reading, Count):
            text = self._count(reading)
        else:
            text = f"{self._sum()} {self._compared(self.condition.relation, self.condition.threshold)}"
        if self.condition.missing and text != style.words("always"):
            gaps = style.words(" or ").join(style.name(self.terms.names[j]) for j in self.condition.columns)
            glue = style.words(", or " if isinstance(reading, Cases) and len(reading.cases) > 1 else " or ")
            text += f"{glue if text else ''}{gaps}{style.words(' is missing')}"
        return text

    # -- a number ------------------------------------------------------------------------------------------

    def _cases(self, reading: Cases) -> str:
        """Write thresholds of a number: that of most rows, then others and where they hold."""
        style = self.style
        first, *others = reading.cases
        text = f"{style.name(self.terms.names[reading.column])} {self._compared(first.relation, first.threshold)}"
        if not others:
            return text
        *firsts, last = [text, *map(self._case, others)]
        return style.words(" ").join(map(style.case, [*(each + style.words(",") for each in firsts), last]))

    def _case(self, case: Case) -> str:
        where = self.style.words(" and ").join(map(self._choice, case.where))
        compared = self._compared(case.relation, case.threshold)
        return f"{self.style.words('or ')}{compared}{self.style.words(' where ')}{where}"

    def _compared(self, relation: str, threshold: float | Decimal) -> str:
        """Write a relation, a threshold and its unit; 1000 USD is multiplied.

        A column of dates would write its thresholds as dates here.
        """
        written = f"{self.style.relations[relation]} {self.style.number(whole(threshold))}"
        leading = None if self.condition.layer else self.condition.leading
        if leading is None:
            return written
        column = self.terms.schema.columns[leading]
        unit = clean(self.units.get(column.name) or column.unit or " ").replace("(blank)", "")
        if unit:
            unit = f" \N{MULTIPLICATION SIGN} {unit}" if unit[0].isdigit() else f" {unit}"
        return written + (self.style.words(unit) if unit else "")

    # -- 0/1 columns, categories, answers from below -------------------------------------------------------

    def _count(self, reading: Count) -> str:
        """Write a question about choices: and, or, or how many of them."""
        least, choices, style = reading.least, reading.choices, self.style
        if not choices:
            return self._always() if not least else self._never()
        values = {each.values for each in choices}
        count = len(choices)
        if count > 1 and len(values) == 1 and not self.condition.layer and all(map(self._plain, choices)):
            among = style.words(", ").join(style.name(self.terms.names[each.column]) for each in choices)
            return style.words(_how_many(least, count, choices[0].values[0])) + among
        named = self._levels_of_one(reading)
        if named:
            return named
        if least in (1, count):
            return style.words(" and " if least == count else " or ").join(map(self._choice, choices))
        among = style.words(", ").join(map(self._choice, choices))
        return style.words(f"at least {least} of ") + among

    def _levels_of_one(self, reading: Count) -> str:
        """Write a question about several 0/1 columns of one category by its levels; nothing where it is another."""
        style, first = self.style, reading.least == 1
        if self.condition.layer or len(reading.choices) == 1 or reading.least not in (1, len(reading.choices)):
            return ""
        levels = [self.terms.schema.columns[each.column].level_of or ("", "") for each in reading.choices]
        title = levels[0][0]
        if any(each.values != (int(first),) for each in reading.choices) or any(
            of != title or not of for of, _ in levels
        ):
            return ""
        among = style.words(", ").join(style.name(level_word(level)) for _, level in levels)
        return f"{style.name(title)}{style.words(' in {' if first else ' not in {')}{among}{style.words('}')}"

    def _always(self) -> str:
        if self.condition.missing is False:
            gaps = [self.style.name(self.terms.names[j]) for j in self.condition.columns]
            return self.style.words(" and ").join(gap + self.style.words(" is not missing") for gap in gaps)
        return self.style.words("always")

    def _never(self) -> str:
        return "" if self.condition.missing else self.style.words("never")

    def _plain(self, choice: Choice) -> bool:
        """Tell whether a choice is about a 0/1 column that is not a level of a category."""
        column = self.terms.schema.columns[choice.column]
        return column.levels is None and column.level_of is None

    def _choice(self, choice: Choice) -> str:
        """Write which values a column has."""
        style, negated = self.style, choice.values == (0,)
        if self.condition.layer:
            name = style.name(self.terms.hidden_names[self.condition.layer - 1, choice.column])
            return style.words("not ") + name if negated else name
        column = self.terms.schema.columns[choice.column]
        if column.levels is not None:
            return self._among(column, choice)
        if column.level_of is None:
            return f"{style.name(column.name)}{style.words(f' = {choice.values[0]}')}"
        title, level = column.level_of
        return f"{style.name(title)}{style.words(' is not ' if negated else ' = ')}{style.name(level_word(level))}"

    def _among(self, column: Column, choice: Choice) -> str:
        """Write some levels of a category, or those that are left out where that is shorter."""
        style, levels = self.style, list(map(level_word, column.levels or ()))
        # "Not in" would take in a gap, and a level never seen.
        negated = 2 * len(choice.values) > len(levels) and self.condition.missing is not False
        chosen = [word for code, word in enumerate(levels) if (code in choice.values) is not negated]
        if len(chosen) == 1:
            return f"{style.name(column.name)}{style.words(' is not ' if negated else ' = ')}{style.name(chosen[0])}"
        among = style.words(", ").join(map(style.name, chosen))
        return f"{style.name(column.name)}{style.words(' not in {' if negated else ' in {')}{among}{style.words('}')}"

    # -- a sum ---------------------------------------------------------------------------------------------

    def _sum(self) -> str:
        """Write what is compared with the threshold."""
        parts, minus = "", self.style.number("-")
        for name, coefficient in self._summands():
            written = self.style.name(name)
            if abs(coefficient) != 1.0:
                written = self.style.product(self.style.number(whole(abs(coefficient))), written)
            sign = minus if coefficient < 0 else "+"
            parts += f" {sign} {written}" if parts else (minus if coefficient < 0 else "") + written
        return parts or self.style.number("0")

    def _summands(self) -> Iterator[tuple[str, float]]:
        """Yield what is added up, with its coefficients: columns, levels of categories, answers from below."""
        condition, terms = self.condition, self.terms
        for j, coefficient in zip(condition.columns, condition.coefficients, strict=True):
            if condition.layer:
                name = terms.hidden_names[condition.layer - 1, j]
            else:
                column = terms.schema.columns[j]
                level = column.level_of
                name = column.name if level is None else f"({level[0]} = {level_word(level[1])})"
            if not isinstance(coefficient, tuple):
                yield name, coefficient
            else:
                words = map(level_word, terms.schema.columns[j].levels or ())
                pairs = zip(words, coefficient, strict=True)
                yield from ((f"({name} = {word})", value) for word, value in pairs if value)


def _how_many(least: int, count: int, value: int) -> str:
    """Say how many of some 0/1 columns are 1, where at least `least` of `count` have a value."""
    if count == 2:
        return _OF_TWO[least, value]
    if not value:
        return "none of " if least == count else f"at most {count - least} of "
    return "all of " if least == count else f"at least {least} of "
