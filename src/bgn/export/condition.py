"""The wording of a condition, decided once for every format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from operator import ge, gt, le, lt

from bgn.export.numbers import whole
from bgn.export.styles import Text
from bgn.model.linear_term import LinearTerm
from bgn.model.readings import (
    Case,
    Cases,
    Choice,
    Condition,
    Count,
    Terms,
    counted_gaps,
    is_flag,
    named_choices,
    named_columns,
    summed_categories,
)
from bgn.model.schema import Column, category_name
from bgn.text import quote_category

_DATE = len("2006-01-15")
_RELATIONS = {">=": ge, "<": lt, ">": gt, "<=": le}
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
    >>> terms = as_terms(Network.of_layers([layer], [3.0, 2.0, 1.0], 0.0, schema=schema))
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
        reading, glue = self.condition.reading, " or "
        if isinstance(reading, Cases):
            text, glue = self._cases(reading), ", or " if len(reading.cases) > 1 else " or "
        elif isinstance(reading, Count):
            text = self._count(reading)
        else:
            text = f"{self._sum()} {self._compared(self.condition.relation, self.condition.threshold)}"
        told = [each for each in counted_gaps(self.condition) if each[0] not in self.terms.counted_as]
        told = [each for each in told if each[0] not in self.terms.complete]
        if told:
            how = counting(told, self.terms, self.style, self.units)
            return text + self.style.words(" (") + how + self.style.words(")")
        answer, gaps = self._gaps()
        if not gaps:
            return text
        if isinstance(reading, Count) and not reading.choices:  # always or never, gaps aside
            return text if answer is (reading.least == 0) else gaps
        return text + self.style.words(glue if answer else ", and ") + gaps

    def _gaps(self) -> tuple[bool, str]:
        """Return the answer where there is a gap and the question does not say it yet, and words for it."""
        condition, style = self.condition, self.style
        gappy = [] if condition.layer else [j for j in condition.columns if j not in self.terms.complete]
        if isinstance(condition.reading, Cases) and condition.gaps is not None:
            gappy = [j for j in gappy if j == condition.reading.column]
        if isinstance(condition.reading, Count) and len(condition.columns) == 1:
            gappy = []  # a gap is among its choices
        names = [style.name(self._name(j)) for j in gappy]
        if condition.gap_answer:
            return True, style.words(" or ").join(names) + style.words(" is missing") if names else ""
        if condition.missing is None or not names or len(condition.columns) == 1:
            return False, ""
        if len(names) == 1:
            return False, names[0] + style.words(" is not missing")
        of = style.words("neither of " if len(names) == 2 else "none of ")
        return False, of + style.words(", ").join(names) + style.words(" is missing")

    # -- a number ------------------------------------------------------------------------------------------

    def _cases(self, reading: Cases) -> str:
        """Write thresholds of a number: that of most rows, then others and where they hold.

        Where no number that was seen decides, what does comes first.
        """
        style, deciding = self.style, self._deciding(reading)
        first, *others = reading.cases
        text = f"{style.name(self._name(reading.column))} {self._compared(first.relation, first.threshold)}"
        if not others:
            return text
        text += "" if deciding else self._seen(first)
        *firsts, last = [text, *(self._case(case, not deciding) for case in others)]
        told = style.words(" ").join(map(style.case, [*(each + style.words(",") for each in firsts), last]))
        if deciding is None:
            return told
        return self._choice(deciding) + style.words(" (in all rows seen; exactly: ") + told + style.words(")")

    def _case(self, case: Case, seen: bool) -> str:
        where = self._joined("and", case.where, alone="where")
        compared = self._compared(case.relation, case.threshold) + (self._seen(case) if seen else "")
        return f"{self.style.words('or ')}{compared}{self.style.words(' where ')}{where}"

    def _seen(self, case: Case) -> str:
        """Say of one case of several that no number that was seen answers it yes, or that all do."""
        held = self._held(case)
        return "" if held is None else self.style.words(" (all seen)" if held else " (none seen)")

    def _held(self, case: Case) -> bool | None:
        """The answer of a case for every number that was seen; None where it differs, or nobody knows."""
        leading, threshold = self.condition.leading, float(case.threshold)
        seen = None if leading is None or self.condition.layer else self.terms.schema.columns[leading].seen
        held = {None} if seen is None else {bool(_RELATIONS[case.relation](each, threshold)) for each in seen}
        return held.pop() if len(held) == 1 else None

    def _deciding(self, reading: Cases) -> Choice | None:
        """The one choice that decides for all numbers seen, where the number is compared with none of them."""
        held = [self._held(case) for case in reading.cases]
        if len(held) != 2 or None in held or held[0] is held[1] or len(reading.cases[1].where) != 1:
            return None
        (choice,) = reading.cases[1].where
        categories = self.terms.schema.columns[choice.column].categories
        others = tuple(k for k in range(2 if categories is None else len(categories)) if k not in choice.values)
        told = choice if held[1] else Choice(choice.column, others, not choice.missing)
        return replace(told, missing=told.missing and choice.column not in self.terms.complete)

    def _compared(self, relation: str, threshold: float | Decimal) -> str:
        """Write a relation and a threshold."""
        leading = None if self.condition.layer else self.condition.leading
        if leading is not None and self._dated:
            told = self.style.words(_moment(float(threshold), self.terms.schema.columns[leading], relation))
        else:
            told = _measured(threshold, leading, self.terms, self.style, self.units)
        return f"{self.style.relations[relation]} {told}"

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

    # -- 0/1 columns, categories, answers from below -------------------------------------------------------

    def _count(self, reading: Count) -> str:
        """Write a question about choices: and, or, or how many of them."""
        least, choices, style = reading.least, reading.choices, self.style
        if not choices:
            return style.words("never" if least else "always")
        count = len(choices)
        if count > 1 and any(all(self._counted(each, value) for each in choices) for value in (0, 1)):
            among = style.words(", ").join(style.name(self.terms.names[each.column]) for each in choices)
            return style.words(_how_many(least, count, choices[0].values[0])) + among
        named = self._categories_of_one(reading)
        if named:
            return named
        if least in (1, count):
            return self._joined("and" if least == count else "or", choices)
        among = style.words(", ").join(f"{self._choice(each, ',')}" for each in choices)
        return style.words(f"at least {least} of ") + among

    def _categories_of_one(self, reading: Count) -> str:
        """Write a question about several 0/1 columns of one category by its levels; nothing where it is another."""
        style, first = self.style, reading.least == 1
        if self.condition.layer or len(reading.choices) == 1 or reading.least not in (1, len(reading.choices)):
            return ""
        categories = [self.terms.schema.columns[each.column].category_of or ("", "") for each in reading.choices]
        title = categories[0][0]
        if any(each.values != (int(first),) or each.missing for each in reading.choices) or any(
            of != title or not of for of, _ in categories
        ):
            return ""
        if any(self._asks_gap(each.column) or (not first and self._tells_gap(each.column)) for each in reading.choices):
            return ""  # of a missing value it is not plain whether it is in none
        among = style.words(", ").join(style.category(category_name(category)) for _, category in categories)
        return f"{style.name(title)}{style.words(' in {' if first else ' not in {')}{among}{style.words('}')}"

    def _counted(self, choice: Choice, value: int) -> bool:
        """Tell whether a choice is that a 0/1 column is 1 or, with a `value` of 0, that it is not: 0 or missing."""
        column = None if self.condition.layer else self.terms.schema.columns[choice.column]
        if column is None or column.categories is not None or column.category_of is not None or self._asks_gap(choice.column):
            return False
        told = self._tells_gap(choice.column)
        return is_flag(column) and choice.values == (value,) and (not told or choice.missing is (value == 0))

    def _tells_gap(self, column: int) -> bool:
        """Tell whether choices of a column answer for its missing values; otherwise the question does at its end."""
        alone = self.condition.missing is not None and len(self.condition.columns) == 1
        return (alone or self.condition.gaps is not None) and column not in self.terms.complete

    def _asks_gap(self, column: int) -> bool:
        """Tell whether a question asks of a column of numbers whether it is missing, and no more."""
        return dict(zip(self.condition.columns, self.condition.coefficients, strict=True))[column] == 0.0

    def _joined(self, glue: str, choices: Sequence[Choice], alone: str = "") -> str:
        """Write several choices of which all hold, or any."""
        among = [self._choice(each, glue if len(choices) > 1 else alone) for each in choices]
        return self.style.words(f" {glue} ").join(among)

    def _choice(self, choice: Choice, glue: str = "") -> str:
        """Write which values a column has, in brackets where what is joined by `glue` would be misread.

        After "where" a gap is told without the name: with it, it would be one more case.
        """
        style, negated = self.style, choice.values == (0,)
        if self.condition.layer:
            name = style.name(self.terms.hidden_names[self.condition.layer - 1, choice.column])
            return style.words("not ") + name if negated else name
        column = self.terms.schema.columns[choice.column]
        title, told = style.name(self._name(choice.column)), choice.column not in self.terms.complete
        if not choice.values:
            return title + style.words(" is missing")
        if column.categories is not None:
            return self._among(column, choice, glue, told)
        if self._asks_gap(choice.column) or choice.values == (0, 1):
            return title + style.words(" is not missing")
        text = f"{title}{style.words(f' = {choice.values[0]}')}"
        if column.category_of is not None:
            of, category = column.category_of
            text = f"{style.name(of)}{style.words(' is not ' if negated else ' = ')}{style.category(category_name(category))}"
            glue = "," if glue == "where" else glue  # the category's column is another than the one that is missing
            if negated and not choice.missing and self._tells_gap(choice.column):
                return self._or_missing(text, title, glue, "and", " is not missing")
        return self._or_missing(text, title, glue) if choice.missing else text

    def _or_missing(self, text: str, title: str, glue: str, how: str = "or", what: str = " is missing") -> str:
        """Add to a choice what it says of a gap."""
        if glue == "where":
            return text + self.style.words(f" {how}{what}")
        text = f"{text}{self.style.words(f' {how} ')}{title}{self.style.words(what)}"
        return text if glue in ("", how) else self.style.words("(") + text + self.style.words(")")

    def _among(self, column: Column, choice: Choice, glue: str, told: bool) -> str:
        """Write some levels of a category, or those that are left out where that is shorter."""
        style, title = self.style, self.style.name(column.name)
        categories, values = list(map(category_name, column.categories or ())), choice.values
        if len(values) == len(categories) and not choice.missing:
            return title + style.words(" is not missing")
        edge = ordered_edge(column, choice)
        left_out = len(categories) - len(values)
        # A gap is not in a set, but it is not plain that it is in none.
        excluded = told and not choice.missing and self.condition.takes_missing
        negated = edge is None and left_out > 0 and left_out + 2 * excluded < len(values)
        chosen = [word for code, word in enumerate(categories) if (code in values) is not negated]
        if edge is not None:
            text = f"{title} {style.relations[edge[0]]} {style.category(categories[edge[1]])}"
        elif len(chosen) == 1:
            text = f"{title}{style.words(' is not ' if negated else ' = ')}{style.category(chosen[0])}"
        else:
            among = style.words(", ").join(map(style.category, chosen))
            text = f"{title}{style.words(' not in {' if negated else ' in {')}{among}{style.words('}')}"
        if choice.missing:
            return self._or_missing(text, title, glue)
        return self._or_missing(text, title, glue, "and", " is not missing") if negated and excluded else text

    # -- a sum ---------------------------------------------------------------------------------------------

    def _sum(self) -> str:
        """Write what is compared with the threshold."""
        parts, minus = "", self.style.number("-")
        for written, coefficient in self._summands():
            if abs(coefficient) != 1.0:
                written = self.style.product(self.style.number(whole(abs(coefficient))), written)
            sign = minus if coefficient < 0 else "+"
            parts += f" {sign} {written}" if parts else (minus if coefficient < 0 else "") + written
        return parts or self.style.number("0")

    def _summands(self) -> Iterator[tuple[str, float]]:
        """Yield what is added up, with its coefficients: columns, levels of categories, answers from below."""
        condition, terms, style = self.condition, self.terms, self.style
        for place, (j, coefficient) in enumerate(zip(condition.columns, condition.coefficients, strict=True)):
            gap = 0.0 if condition.gaps is None else condition.gaps[place]
            if not isinstance(coefficient, tuple):
                yield self._summand(j, coefficient), gap if coefficient == 0.0 else coefficient
                continue
            for choice, value in summed_categories(condition, place):
                if j in terms.complete:
                    choice = replace(choice, missing=False)
                if choice.values or choice.missing:
                    yield style.words("(") + self._choice(choice) + style.words(")"), value

    def _summand(self, j: int, coefficient: float) -> str:
        """Write what a coefficient is multiplied by: an answer from below, a column, a level, or that it is missing."""
        style, terms = self.style, self.terms
        if self.condition.layer:
            return style.name(terms.hidden_names[self.condition.layer - 1, j])
        name, category = style.name(terms.names[j]), terms.schema.columns[j].category_of
        if coefficient == 0.0:
            return style.words("(") + name + style.words(" is missing)")
        if category is None or self._tells_gap(j):  # what counts as something is the column, not the category
            return name
        of, word = style.name(category[0]), style.category(category_name(category[1]))
        return style.words("(") + of + style.words(" = ") + word + style.words(")")


def _moment(value: float, column: Column, relation: str) -> str:
    """Write a threshold of a part of dates as people write dates; nothing where that is a number."""
    part = column.part_of
    told = None if part is None else part.told(value, relation in (">=", "<"))
    if part is None or told is None:
        return ""
    if part.part == "days" and len(told) == _DATE and not column.whole and relation in (">", "<="):
        told += " 00:00"  # not the end of the day
    return f"{told} {part.zone}" if part.zone and part.part in ("days", "hour") else told


def ordered_edge(column: Column, choice: Choice) -> tuple[str, int] | None:
    """Return the relation and the level by which a choice of several ordered levels is told; None where it is none."""
    values, last = choice.values, len(column.categories or ()) - 1
    if not column.ordered or len(values) < 2 or values[-1] - values[0] != len(values) - 1:
        return None
    if values[-1] == last:
        return ">=", values[0]
    return ("<", values[-1] + 1) if values[0] == 0 else None


def _measured(value: float | Decimal, j: int | None, terms: Terms, style: Text, units: Mapping[str, str]) -> str:
    """Write a number of a column with its unit; 1000 USD is multiplied."""
    written = style.number(whole(value))
    if j is None:
        return written
    column = terms.schema.columns[j]
    unit = (units.get(column.name) or column.unit).strip()
    if not unit:
        return written
    times = " \N{MULTIPLICATION SIGN} " if unit[0].isdigit() else " "
    return written + style.words(times + quote_category(unit))


def counting(gaps: Iterable[tuple[int, float]], terms: Terms, style: Text, units: Mapping[str, str]) -> str:
    """Write what missing numbers count as."""
    parts = [
        f"{style.words('a missing ')}{style.name(terms.names[j])}{style.words(' as ' if count else ' counts as ')}"
        f"{_measured(gap, j, terms, style, units)}"
        for count, (j, gap) in enumerate(gaps)
    ]
    return style.words(", ").join(parts)


def _how_many(least: int, count: int, value: int) -> str:
    """Say how many of some 0/1 columns are 1, where at least `least` of `count` have a value."""
    if count == 2:
        return _OF_TWO[least, value]
    if not value:
        return "none of " if least == count else f"at most {count - least} of "
    return "all of " if least == count else f"at least {least} of "


# -- What is said once, below an equation, of all its questions: bounds, what gaps count as, and the order of
# levels.


def remarks(terms: Terms, style: Text | None = None, units: Mapping[str, str] | None = None) -> list[str]:
    """Return the sentences without which the questions of an equation could not be answered on every row.

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> from bgn.model.layer import Neuron, Projection
    >>> from bgn.model.schema import Column, Schema
    >>> schema = Schema((Column("age"), Column("grade", levels=("low", "fair", "high"), ordered=True)))
    >>> asked = [Neuron(Projection((0, 1), (1.0, (0.0, 5.0, 5.0)), gaps=(38.5, 0.0)), 40.0)]
    >>> asked += [Neuron(Projection((1,), ((0.0, 1.0, 2.0),)), 1.0, missing=True)]
    >>> terms = as_terms(Network.of_layers([Layer.of(asked, 2)], [1.0, 2.0], 0.0, schema=schema))
    >>> for each in remarks(terms):
    ...     print(each)
    In questions about several columns, a missing age counts as 38.5.
    grade: low < fair < high.
    A level never seen counts as missing.
    """
    style = style or Text()
    said = [within] if (within := bounds(terms, style)) else []
    if terms.counted_as:
        told = counting(terms.counted_as.items(), terms, style, units or {})
        said.append(style.words("In questions about several columns, ") + told + style.words("."))
    if any(term.clipped for term in terms.linear_terms):
        said.append(style.words("A value beyond the ends in brackets counts as the nearer end."))
    lacking = [term for term in terms.linear_terms if term.column not in terms.complete or terms.may_lack(term.column)]
    lines = {term.column: term.gap for term in lacking}
    if known := [(column, gap) for column, gap in lines.items() if not math.isnan(gap)]:
        words = counting(known, terms, style, units or {})
        said.append(style.words("In what is added per unit, ") + words + style.words("."))
    gaps, ordered = False, {}
    for condition in (each for each in terms.conditions if each.layer == 0):
        gaps |= _tells_gaps(condition, terms)
        for choice in named_choices(condition):
            if ordered_edge(terms.schema.columns[choice.column], choice) is not None:
                ordered[choice.column] = terms.schema.columns[choice.column]
    for _, column in sorted(ordered.items()):
        categories = f" {style.relations['<']} ".join(style.category(category_name(category)) for category in column.categories or ())
        said.append(f"{style.name(column.name)}{style.words(': ')}{categories}{style.words('.')}")
    return [*said, style.words("A level never seen counts as missing.")] if gaps else said


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
    below, above = (style.number(whole(each)) if math.isfinite(each) else "" for each in (low, high))
    if below and above:
        more = [style.words(", one above "), above, style.words(" as "), above, style.words(".")]
        return "".join([style.words("A sum below "), below, style.words(" counts as "), below, *more])
    side, end = ("below", below) if below else ("above", above)
    return "".join([style.words(f"A sum {side} "), end, style.words(" counts as "), end, style.words(".")]) * bool(end)


def ends(term: LinearTerm) -> tuple[str, str]:
    """Write the ends of a linear term, nothing where there is none."""
    low, high = ("" if math.isinf(each) else whole(each) for each in (term.low, term.high))
    return low, high


def _tells_gaps(condition: Condition, terms: Terms) -> bool:
    """Tell whether a question may name the gap of a category."""
    several = condition.missing is not None and len(condition.columns) > 1  # then the gaps of all are named
    named = set(condition.columns) if several else named_columns(condition)
    columns = {j: terms.schema.columns[j].categories for j in named - terms.complete}
    columns = {j: categories for j, categories in columns.items() if categories not in (None, (False, True))}
    if not condition.takes_missing or not columns:
        return False
    if condition.reading is None or several:
        return True
    told = [choice for choice in named_choices(condition) if choice.column in columns]
    return any(choice.missing or 2 * len(choice.values) > len(columns[choice.column] or ()) for choice in told)
