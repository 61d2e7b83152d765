"""The words of a condition: one reading of a model (:mod:`bgn.model.readings`) written in the style of any format.

Equations, cards, figures, reports and the comments of exported programs all take their words from :func:`describe`;
:func:`remarks` says once, below them, what missing values count as, what predictions do not go beyond, and the like.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

from bgn.export.numbers import whole
from bgn.export.styles import Text
from bgn.model.readings import Cases, Choice, Count, ReadCondition, ReadTerm, Terms, is_flag
from bgn.model.schema import Column, category_name
from bgn.model.term import MIRRORED, Linear
from bgn.text import quote_category

_DATE = len("2006-01-15")
# "At least this many of two" by what the 0/1 columns are: both 1, or both 0.
_OF_TWO = {(1, 1): "either of ", (2, 1): "both of ", (1, 0): "not both of ", (2, 0): "neither of "}


def describe(
    condition: ReadCondition | ReadTerm, terms: Terms, style: Text | None = None,
    units: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """Write a condition of `terms`, or all those of a rule, in words and numbers.

    `units`, by name, go before those of the schema.

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> from bgn.model.schema import Column, Schema
    >>> schema = Schema((Column("hour"), Column("winter", category_of=("season", "winter"))))
    >>> layer = Layer([[0.0, 1.0], [0.0, -1.0], [1.0, -5.5]], [-0.5, 0.5, -10.25])
    >>> terms = as_terms(Network.of_layers([layer], [3.0, 2.0, 1.0], 0.0, schema=schema))
    >>> for term in terms.terms:
    ...     print(describe(term, terms))
    season = winter
    season is not winter
    hour >= 15.75, or hour >= 10.25 and season is not winter
    """
    style, units = Text() if style is None else style, units or {}
    if isinstance(condition, ReadCondition):
        return _Wording(condition, terms, style, units).whole()
    texts, glue = describe_conditions(condition, terms, style, units)
    return style.prose(f" {glue} ").join(texts)


def describe_conditions(
    condition: ReadTerm, terms: Terms, style: Text, units: Mapping[str, str]
) -> tuple[list[str], str]:
    """Write the conditions of a rule one by one, and what stands between them: "and" or "or"."""
    glue, other = ("or", "and") if condition.any_holds else ("and", "or")
    texts: list[str] = []
    rest = list(condition.conditions)
    while rest:
        first, *rest = rest
        others = () if condition.any_holds else rest
        second = next((part for part in others if _bound_from_both_sides(first, part)), None)
        wording, plain_wording = _Wording(first, terms, style, units), _Wording(first, terms, Text(), {})
        if second is None:
            text, plain = wording.whole(), plain_wording.whole()
        else:
            rest.remove(second)
            text, plain = wording.between(second), plain_wording.between(second)
        # Brackets where "and" and "or" would be misread, or what is said of missing values; what is in quotation marks
        # and braces is one thing.
        bare = re.sub(r'"(?:[^"\\\\]|\\\\.)*"|\{[^}]*\}', "", plain)
        mixed = re.search(rf" {other} |, | \(a missing ", bare) or wording.several_missing
        several = len(condition.conditions) > 1 and (rest or texts)
        texts.append(style.prose("(") + text + style.prose(")") if mixed and several else text)
    return texts, glue


def _bound_from_both_sides(first: ReadCondition, second: ReadCondition) -> bool:
    """Tell whether two conditions are one threshold each of the same number, one from below and one from above."""
    sides = []
    for condition in (first, second):
        reading = condition.reading
        if condition.layer or not isinstance(reading, Cases) or len(reading.cases) > 1 or len(condition.columns) > 1:
            return False
        sides.append((reading.column, reading.cases[0].relation[0]))
    return sides[0][0] == sides[1][0] and sides[0][1] != sides[1][1]


@dataclass(frozen=True)
class _Wording:
    """A condition on its way to words."""

    condition: ReadCondition
    terms: Terms
    style: Text
    units: Mapping[str, str]

    def whole(self) -> str:
        """Write the condition, and whether it holds where a value is missing."""
        condition, reading, glue = self.condition, self.condition.reading, " or "
        if isinstance(reading, Cases):
            text, glue = self._cases(reading), ", or " if len(reading.cases) > 1 or reading.counts else " or "
        elif isinstance(reading, Count):
            text = self._count(reading)
        else:
            text = f"{self._sum()} {self._compared(condition.relation, condition.threshold)}"
        unsaid = [(column, number) for column, number in condition.counted_missing
                  if column not in self.terms.counted_as and column not in self.terms.complete]  # fmt: skip
        if unsaid:
            counted = count_missing(unsaid, self.terms, self.style, self.units)
            return text + self.style.prose(" (") + counted + self.style.prose(")")
        holds, missing = self._missing()
        if not missing:
            return text
        if isinstance(reading, Count) and not reading.choices:  # always or never, missing values aside
            return text if holds is (reading.least == 0) else missing
        return text + self.style.prose(glue if holds else ", and ") + missing

    def between(self, other: ReadCondition) -> str:
        """Write a number between two thresholds, its own and that of another condition."""
        low, high = sorted((self.condition, other), key=lambda condition: condition.relation[0] == "<")
        style, sides = self.style, []
        for condition in (low, high):
            wording = replace(self, condition=condition)
            assert isinstance(condition.reading, Cases)
            case = condition.reading.cases[0]
            sides.append((wording, case.relation, wording._threshold(case.relation, case.threshold)))
        (wording, low_relation, least), (_, high_relation, most) = sides
        name = style.name(wording._name(wording.condition.columns[0]))
        text = f"{least} {style.relations[MIRRORED[low_relation]]} {name} {style.relations[high_relation]} {most}"
        seen = wording.condition.columns[0] not in self.terms.complete
        missing = low.holds_if_missing and high.holds_if_missing and seen
        return text + style.prose(" or ") + name + style.prose(" is missing") if missing else text

    @property
    def several_missing(self) -> bool:
        """Tell whether its words end with columns of which any may be missing, "a or b is missing"."""
        return bool(self.condition.holds_if_missing) and len(self._missing_columns) > 1

    @property
    def _missing_columns(self) -> list[int]:
        """The columns that may be missing and of which the words do not say it yet."""
        condition, reading = self.condition, self.condition.reading
        if condition.layer or (isinstance(reading, Count) and len(condition.columns) == 1):
            return []  # a missing value is among its choices
        columns = [j for j in condition.columns if j not in self.terms.complete]
        if isinstance(reading, Cases) and condition.missing_as is not None:
            return [j for j in columns if j == reading.column]
        return columns

    def _missing(self) -> tuple[bool, str]:
        """Return whether it holds where a value is missing and the words do not say it yet, and words for it."""
        condition, style = self.condition, self.style
        names = [style.name(self._name(j)) for j in self._missing_columns]
        if condition.holds_if_missing:
            return True, style.prose(" or ").join(names) + style.prose(" is missing") if names else ""
        if condition.missing is None or not names or len(condition.columns) == 1:
            return False, ""
        if len(names) == 1:
            return False, names[0] + style.prose(" is not missing")
        none = style.prose("neither of " if len(names) == 2 else "none of ")
        return False, none + style.prose(", ").join(names) + style.prose(" is missing")

    # -- a number ------------------------------------------------------------------------------------------

    def _cases(self, reading: Cases) -> str:
        """Write thresholds of a number, of which one must be reached, and what must hold as well or is enough."""
        style, parts, alone = self.style, list[str](), len(reading.cases) == 1
        for case in reading.cases:
            text = f"{style.name(self._name(reading.column))} {self._compared(case.relation, case.threshold)}"
            if case.required is not None:
                text += style.prose(" and ") + self._count(case.required, bracketed=True)
            parts.append(text)
        if reading.sufficient is not None:
            parts.append(self._count(reading.sufficient, bracketed=True))
        if alone:
            return style.prose(" or " if reading.cases[0].required is None else ", or ").join(parts)
        first, *others = parts
        *firsts, last = [first, *(style.prose("or ") + part for part in others)]
        return style.prose(" ").join(map(style.case, [*(part + style.prose(",") for part in firsts), last]))

    def _compared(self, relation: str, threshold: float | Decimal) -> str:
        """Write a relation and a threshold."""
        return f"{self.style.relations[relation]} {self._threshold(relation, threshold)}"

    def _threshold(self, relation: str, threshold: float | Decimal) -> str:
        leading = None if self.condition.layer else self.condition.leading
        if leading is not None and self._dated:
            return self.style.prose(_moment(float(threshold), self.terms.schema.columns[leading], relation))
        return _measured(threshold, leading, self.terms, self.style, self.units)

    @cached_property
    def _dated(self) -> bool:
        """True where every threshold is one of a part of dates that people write otherwise than as a number."""
        reading = self.condition.reading
        if not isinstance(reading, Cases):
            return False
        column = self.terms.schema.columns[reading.column]
        return all(_moment(float(case.threshold), column, case.relation) for case in reading.cases)

    def _name(self, j: int) -> str:
        """Return what a column is called: days since the first date are compared with dates, hours with times."""
        part = self.terms.schema.columns[j].part_of
        dated = part is not None and part.part in ("days", "time") and self._dated
        return part.raw if part is not None and dated else self.terms.names[j]

    # -- 0/1 columns, categories, conditions of the layer below --------------------------------------------

    def _count(self, reading: Count, bracketed: bool = False) -> str:
        """Write a count of choices, perhaps in brackets: and, or, or how many of them."""
        least, choices, style = reading.least, reading.choices, self.style
        if bracketed and len(choices) > 1:
            return style.prose("(") + self._count(reading) + style.prose(")")
        if not choices:
            return style.prose("never" if least else "always")
        count = len(choices)
        if count > 1 and any(all(self._counted(choice, value) for choice in choices) for value in (0, 1)):
            among = style.prose(", ").join(style.name(self.terms.names[choice.column]) for choice in choices)
            return style.prose(_how_many(least, count, choices[0].values[0])) + among
        if text := self._categories_of_one(reading):
            return text
        if least in (1, count):
            return self._joined("and" if least == count else "or", choices, alone="," if bracketed else "")
        among = style.prose(", ").join(f"{self._choice(choice, ',')}" for choice in choices)
        return style.prose(f"at least {least} of ") + among

    def _categories_of_one(self, reading: Count) -> str:
        """Write a count of several 0/1 columns of one category by its values; nothing where it is another."""
        style, first, choices = self.style, reading.least == 1, reading.choices
        if self.condition.layer or len(choices) == 1 or reading.least not in (1, len(choices)):
            return ""
        categories = [self.terms.schema.columns[choice.column].category_of or ("", "") for choice in choices]
        title = categories[0][0]
        if not title or any(of != title for of, _ in categories):
            return ""
        if any(choice.values != (int(first),) or choice.missing for choice in choices):
            return ""
        if any(self._about_missing(choice.column) or (not first and self._says_missing(choice.column))
               for choice in choices):  # fmt: skip
            return ""  # of a missing value it is not plain whether it is in none
        among = style.prose(", ").join(style.category(category_name(category)) for _, category in categories)
        return f"{style.name(title)}{style.prose(' in {' if first else ' not in {')}{among}{style.prose('}')}"

    def _counted(self, choice: Choice, value: int) -> bool:
        """Tell whether a choice is that a 0/1 column is 1 or, with a `value` of 0, that it is not: 0 or missing."""
        column = None if self.condition.layer else self.terms.schema.columns[choice.column]
        if column is None or column.categories is not None or column.category_of is not None:
            return False
        missing_fits = not self._says_missing(choice.column) or choice.missing is (value == 0)
        return not self._about_missing(choice.column) and is_flag(column) and choice.values == (value,) and missing_fits

    def _says_missing(self, column: int) -> bool:
        """Tell whether choices of a column say what a missing value is; otherwise the condition does at its end."""
        alone = self.condition.missing is not None and len(self.condition.columns) == 1
        return (alone or self.condition.missing_as is not None) and column not in self.terms.complete

    def _about_missing(self, column: int) -> bool:
        """Tell whether a condition is about whether a number is missing, and no more."""
        return dict(zip(self.condition.columns, self.condition.coefficients, strict=True))[column] == 0.0

    def _joined(self, glue: str, choices: Sequence[Choice], alone: str = "") -> str:
        """Write several choices of which all hold, or any."""
        among = [self._choice(choice, glue if len(choices) > 1 else alone) for choice in choices]
        return self.style.prose(f" {glue} ").join(among)

    def _choice(self, choice: Choice, glue: str = "") -> str:
        """Write which values a column has, in brackets where what is joined by `glue` would be misread."""
        style, negated = self.style, choice.values == (0,)
        if self.condition.layer:
            name = style.name(self.terms.hidden_names[self.condition.layer - 1, choice.column])
            return style.prose("not ") + name if negated else name
        column = self.terms.schema.columns[choice.column]
        title, seen_missing = style.name(self._name(choice.column)), choice.column not in self.terms.complete
        if not choice.values:
            return title + style.prose(" is missing")
        if column.categories is not None:
            return self._among(column, choice, glue, seen_missing)
        if self._about_missing(choice.column) or choice.values == (0, 1):
            return title + style.prose(" is not missing")
        text = f"{title}{style.prose(f' = {choice.values[0]}')}"
        if column.category_of is not None:
            of, category = column.category_of
            equals = style.prose(" is not " if negated else " = ")
            text = f"{style.name(of)}{equals}{style.category(category_name(category))}"
            if negated and not choice.missing and self._says_missing(choice.column):
                return self._or_missing(text, title, glue, "and", " is not missing")
        return self._or_missing(text, title, glue) if choice.missing else text

    def _or_missing(self, text: str, title: str, glue: str, how: str = "or", what: str = " is missing") -> str:
        """Add to a choice whether a missing value is among it."""
        text = f"{text}{self.style.prose(f' {how} ')}{title}{self.style.prose(what)}"
        return text if glue in ("", how) else self.style.prose("(") + text + self.style.prose(")")

    def _among(self, column: Column, choice: Choice, glue: str, seen_missing: bool) -> str:
        """Write some values of a category, or those that are left out where that is shorter."""
        style, title = self.style, self.style.name(column.name)
        names, values = list(map(category_name, column.categories or ())), choice.values
        if len(values) == len(names) and not choice.missing:
            return title + style.prose(" is not missing")
        edge = ordered_edge(column, choice)
        left_out = len(names) - len(values)
        # A missing value is not in a set, but it is not plain that it is in none.
        excluded = seen_missing and not choice.missing and self.condition.takes_missing
        negated = edge is None and left_out > 0 and left_out + 2 * excluded < len(values)
        chosen = [name for code, name in enumerate(names) if (code in values) is not negated]
        if edge is not None:
            text = f"{title} {style.relations[edge[0]]} {style.category(names[edge[1]])}"
        elif len(chosen) == 1:
            text = f"{title}{style.prose(' is not ' if negated else ' = ')}{style.category(chosen[0])}"
        else:
            among = style.prose(", ").join(map(style.category, chosen))
            text = f"{title}{style.prose(' not in {' if negated else ' in {')}{among}{style.prose('}')}"
        if choice.missing:
            return self._or_missing(text, title, glue)
        return self._or_missing(text, title, glue, "and", " is not missing") if negated and excluded else text

    # -- a sum ---------------------------------------------------------------------------------------------

    def _sum(self) -> str:
        """Write what is compared with the threshold."""
        parts, minus = "", self.style.number("-")
        for text, coefficient in self._summands():
            if abs(coefficient) != 1.0:
                text = self.style.product(self.style.number(whole(abs(coefficient))), text)
            sign = minus if coefficient < 0 else "+"
            parts += f" {sign} {text}" if parts else (minus if coefficient < 0 else "") + text
        return parts or self.style.number("0")

    def _summands(self) -> Iterator[tuple[str, float]]:
        """Yield what is added up, with its coefficients: columns, categories, conditions of the layer below."""
        condition, terms, style = self.condition, self.terms, self.style
        for place, (j, coefficient) in enumerate(zip(condition.columns, condition.coefficients, strict=True)):
            missing = 0.0 if condition.missing_as is None else condition.missing_as[place]
            if not isinstance(coefficient, tuple):
                yield self._summand(j, coefficient), missing if coefficient == 0.0 else coefficient
                continue
            for choice, value in condition.summed_categories(place):
                choice = replace(choice, missing=choice.missing and j not in terms.complete)
                if choice.values or choice.missing:
                    yield style.prose("(") + self._choice(choice) + style.prose(")"), value

    def _summand(self, j: int, coefficient: float) -> str:
        """Write what a coefficient is multiplied by: a condition below, a column, a category, or that it is missing."""
        style, terms = self.style, self.terms
        if self.condition.layer:
            return style.name(terms.hidden_names[self.condition.layer - 1, j])
        name, category_of = style.name(terms.names[j]), terms.schema.columns[j].category_of
        if coefficient == 0.0:
            return style.prose("(") + name + style.prose(" is missing)")
        if category_of is None or self._says_missing(j):  # what counts as something is the column, not the category
            return name
        of, category = style.name(category_of[0]), style.category(category_name(category_of[1]))
        return style.prose("(") + of + style.prose(" = ") + category + style.prose(")")


def _moment(value: float, column: Column, relation: str) -> str:
    """Write a threshold of a part of dates as people write dates; nothing where that is a number."""
    part = column.part_of
    text = None if part is None else part.written(value, relation in (">=", "<"))
    if part is None or text is None:
        return ""
    if part.part == "days" and len(text) == _DATE and not column.whole and relation in (">", "<="):
        text += " 00:00"  # not the end of the day
    return f"{text} {part.zone}" if part.zone and part.part in ("days", "hour") else text


def ordered_edge(column: Column, choice: Choice) -> tuple[str, int] | None:
    """Return the relation and the category that a choice of several ordered ones begins or ends at; None for others."""
    values, last = choice.values, len(column.categories or ()) - 1
    if not column.ordered or len(values) < 2 or values[-1] - values[0] != len(values) - 1:
        return None
    if values[-1] == last:
        return ">=", values[0]
    return ("<", values[-1] + 1) if values[0] == 0 else None


def _measured(value: float | Decimal, j: int | None, terms: Terms, style: Text, units: Mapping[str, str]) -> str:
    """Write a number of a column with its unit; 1000 USD is multiplied."""
    text = style.number(whole(value))
    if j is None:
        return text
    column = terms.schema.columns[j]
    unit = (units.get(column.name) or column.unit).strip()
    if not unit:
        return text
    times = " \N{MULTIPLICATION SIGN} " if unit[0].isdigit() else " "
    return text + style.prose(times + quote_category(unit))


def _how_many(least: int, count: int, value: int) -> str:
    """Say how many of some 0/1 columns are 1, where at least `least` of `count` have a value."""
    if count == 2:
        return _OF_TWO[least, value]
    if not value:
        return "none of " if least == count else f"at most {count - least} of "
    return "all of " if least == count else f"at least {least} of "


def describe_linear(term: Linear, terms: Terms, style: Text | None = None) -> str:
    """Write what the coefficient of a linear term is multiplied by.

    Examples
    --------
    >>> from bgn import Linear, Network, as_terms
    >>> terms = as_terms(Network(1.0, [Linear(0, 18.0, 70.0)], [0.5], ["age"]))
    >>> describe_linear(terms.linear[0].linear, terms)
    'per unit of age (18 to 70)'
    """
    style = style or Text()
    return style.prose("per unit of ") + style.name(terms.names[term.column]) + ends(term, style)


def ends(term: Linear, style: Text | None = None, unit: str = "") -> str:
    """Write the ends of a linear term in brackets, perhaps with their unit; nothing where there is none."""
    low, high = ("" if math.isinf(end) else whole(end) for end in (term.low, term.high))
    if not low and not high:
        return ""
    between = f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}"
    return (style or Text()).prose(f" ({between}{unit})")


# -- What is said once, below an equation, of all its conditions.


def remarks(terms: Terms, style: Text | None = None, units: Mapping[str, str] | None = None) -> list[str]:
    """Return the sentences without which the conditions of an equation could not be read on every row.

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> from bgn.model.term import Oblique, Projection
    >>> from bgn.model.schema import Column, Schema
    >>> schema = Schema((Column("age"), Column("grade", categories=("low", "fair", "high"), ordered=True)))
    >>> rules = [Oblique(Projection((0, 1), (1.0, (0.0, 5.0, 5.0)), missing_as=(38.5, 0.0)), 40.0)]
    >>> rules += [Oblique(Projection((1,), ((0.0, 1.0, 2.0),)), 1.0, missing=True)]
    >>> terms = as_terms(Network.of_layers([Layer.of(rules, 2)], [1.0, 2.0], 0.0, schema=schema))
    >>> for sentence in remarks(terms):
    ...     print(sentence)
    In conditions on several columns, a missing age counts as 38.5.
    grade: low < fair < high.
    A category never seen counts as missing.
    """
    style, columns = style or Text(), terms.schema.columns
    said = [within] if (within := bounds(terms, style)) else []
    for j in sorted({condition.simplified for condition in terms.conditions if condition.simplified is not None}):
        low, high = (whole(end) for end in columns[j].seen or ())
        said.append(
            style.prose("For values of ") + style.name(terms.names[j]) + style.prose(" from ") + style.number(low)
            + style.prose(" to ") + style.number(high) + style.prose(", as seen in training.")
        )  # fmt: skip
    if terms.counted_as:
        text = count_missing(terms.counted_as.items(), terms, style, units or {})
        said.append(style.prose("In conditions on several columns, ") + text + style.prose("."))
    linear = [term.linear for term in terms.terms if term.linear is not None]
    if any(term.clipped for term in linear):
        said.append(style.prose("A value beyond the ends in brackets counts as the nearer end."))
    filled = {term.column: term.missing for term in linear if term.missing is not None}
    lacking = {j: number for j, number in filled.items() if j not in terms.complete or columns[j].missing}
    if lacking:
        text = count_missing(lacking.items(), terms, style, units or {})
        said.append(style.prose("In what is added per unit, ") + text + style.prose("."))
    says_missing, ordered = False, {}
    for condition in (condition for condition in terms.conditions if condition.layer == 0):
        says_missing |= _names_missing(condition, terms)
        for choice in condition.choices:
            if ordered_edge(columns[choice.column], choice) is not None:
                ordered[choice.column] = columns[choice.column]
    for _, column in sorted(ordered.items()):
        names = [style.category(category_name(category)) for category in column.categories or ()]
        text = f" {style.relations['<']} ".join(names)
        said.append(f"{style.name(column.name)}{style.prose(': ')}{text}{style.prose('.')}")
    return [*said, style.prose("A category never seen counts as missing.")] if says_missing else said


def count_missing(counted: Iterable[tuple[int, float]], terms: Terms, style: Text, units: Mapping[str, str]) -> str:
    """Write what missing numbers count as."""
    parts = [
        f"{style.prose('a missing ')}{style.name(terms.names[j])}{style.prose(' as ' if place else ' counts as ')}"
        f"{_measured(number, j, terms, style, units)}"
        for place, (j, number) in enumerate(counted)
    ]
    return style.prose(", ").join(parts)


def bounds(terms: Terms, style: Text | None = None) -> str:
    """Say what sums beyond the bounds count as; nothing where there are no bounds.

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> from bgn.export.condition import bounds
    >>> bounds(as_terms(Network.of_layers([Layer([[1.0]], [-2.0])], [1.0], 0.5, bounds=(0, 1.2))))
    'A sum below 0 counts as 0, one above 1.2 as 1.2.'
    """
    style, (low, high) = style or Text(), terms.bounds or (-math.inf, math.inf)
    least, most = (style.number(whole(end)) if math.isfinite(end) else "" for end in (low, high))
    first = [style.prose("A sum below "), least, style.prose(" counts as "), least] * bool(least)
    start, middle = (", one above ", " as ") if least else ("A sum above ", " counts as ")
    second = [style.prose(start), most, style.prose(middle), most] * bool(most)
    return "".join([*first, *second, style.prose(".")]) if first or second else ""


def _names_missing(condition: ReadCondition, terms: Terms) -> bool:
    """Tell whether a condition may name the missing value of a category."""
    several = condition.missing is not None and len(condition.columns) > 1  # then missing values of all are named
    named = set(condition.columns) if several else condition.named
    columns = {j: terms.schema.columns[j].categories for j in named - terms.complete}
    columns = {j: categories for j, categories in columns.items() if categories not in (None, (False, True))}
    if not condition.takes_missing or not columns:
        return False
    if condition.reading is None or several:
        return True
    choices = [choice for choice in condition.choices if choice.column in columns]
    return any(choice.missing or 2 * len(choice.values) > len(columns[choice.column] or ()) for choice in choices)
