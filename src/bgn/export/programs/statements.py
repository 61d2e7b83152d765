"""Programs without loops, statement by statement: what Python, JavaScript and C have in common.

A missing value is NaN in a number. NaN fails every comparison, so that ``s >= t`` is false where there is no sum and
``not s < t`` is true.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

from bgn.export.plan import Absent, Addend, ExportPlan, Input, LinearInput, OneOf, PlannedCondition, Summation
from bgn.model.schema import Category
from bgn.model.term import OPPOSITE

# What no variable is called in Python or JavaScript, or is called by the functions around the statements.
_RESERVED = {*keyword.kwlist, *re.findall(r"\w+", """
    arguments case catch const debugger default delete do enum eval export extends false function implements instanceof
    interface let new null package private protected public static super switch this throw true typeof undefined var
    void yield row ValueError float Math Number Error NaN Infinity
""")}  # fmt: skip
_OURS = re.compile(r"[hrstvx]\d+(_\d+)?")


class Statements:
    """The statements of a program, in a language that subclasses spell. They are written when they are first needed.

    Inputs are called by their columns where that is a plain name, otherwise ``x0``; conditions of hidden layers
    ``h0_3`` (layer, condition), shared sums ``s0_3``, rules that are needed more than once ``r3``, inputs between the
    ends of a linear term ``v0``, the sums of outputs ``t0``.
    """

    both, either, negation, equals = " && ", " || ", "!", "=="
    prefix = "_"

    def __init__(self, plan: ExportPlan, keep_all: bool = False) -> None:
        self.plan = plan
        uses = Counter(addend.rule for addend in plan.addends)
        self.kept = {rule for rule, count in uses.items() if count > 1 or plan.outputs > 1 or keep_all}
        self.tables: dict[tuple[str, ...], str] = {}
        self.names = [f"x{k}" for k in range(len(plan.inputs))]

    def call_inputs_by_their_columns(self) -> None:
        """Take the names of columns for variables, where they are plain."""
        for k, given in enumerate(self.plan.inputs):
            name = re.sub(r"[ .-]", "_", given.name)
            plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name) and not _OURS.fullmatch(name)
            if plain and name not in _RESERVED and name not in self.names:
                self.names[k] = name

    # -- spelling ----------------------------------------------------------------------------------------------

    def number(self, value: float) -> str:
        """Write a number so that it is read as the same float."""
        return repr(value)

    def missing(self) -> str:
        """Write what stands for no number."""
        return self.number(float("nan"))

    def choice(self, condition: str, yes: str, no: str) -> str:
        """Write the one or the other."""
        return f"({condition} ? {yes} : {no})"

    def category(self, given: Input, code: int) -> str:
        """Write a category as inputs have it."""
        raise NotImplementedError

    def among(self, k: int, codes: Sequence[int], negated: bool) -> str:
        """Write that an input is one of some categories, or none of them."""
        raise NotImplementedError

    def no_category(self, k: int) -> str:
        """Write that an input, a category, is missing."""
        raise NotImplementedError

    def looked_up(self, k: int, values: Sequence[str], missing: str) -> str:
        """Write the number that the category of an input stands for."""
        raise NotImplementedError

    def table(self, entries: Sequence[str]) -> str:
        """Return the name of a table, which is kept to be written once."""
        return self.tables.setdefault(tuple(entries), f"{self.prefix}table_{len(self.tables)}")

    def assign(self, name: str, value: str, kind: str = "double") -> str:
        """Write a new name for a value."""
        return f"const {name} = {value};"

    def add(self, name: str, value: str) -> str:
        """Write an addition to a name."""
        return f"{name} += {value};"

    def remark(self, rule: int) -> list[str]:
        """Write what a rule says, where variables do not have the names of columns."""
        return []

    def worth(self, condition: str, yes: float, no: float) -> str:
        """Write what is added where a condition holds, and where not."""
        if not no:
            return f"{self.number(yes)} * {condition if condition.isidentifier() else f'({condition})'}"
        return self.choice(condition, self.number(yes), self.number(no))

    # -- statements --------------------------------------------------------------------------------------------

    def body(self) -> Iterator[str]:
        """Yield the statements from inputs, which have names already, to the sums of the outputs."""
        last = len(self.plan.layers) - 1
        for number, layer in enumerate(self.plan.layers):
            shared = Counter(getattr(condition, "summation", None) for condition in layer.conditions)
            named = {k for k, summed in enumerate(layer.sums) if shared[k] > 1
                     and (number or summed.coefficients != (1.0,) or summed.missing_as is not None)}  # fmt: skip
            for k in sorted(named):
                yield self.assign(f"s{number}_{k}", self.summed(number, layer.sums[k]))
            texts = [self.condition(number, condition, named) for condition in layer.conditions]
            for k, text in enumerate(texts if number < last else ()):
                yield self.assign(f"h{number}_{k}", self.choice(text, self.number(1.0), self.number(-1.0)))
        bracketed = [f"({text})" if self.either in text else text for text in texts]
        rules = [texts[held[0]] if len(held) == 1 else self.both.join(bracketed[k] for k in held)
                 for held in self.plan.rules]  # fmt: skip
        for rule in sorted(self.kept):
            yield self.assign(f"r{rule}", rules[rule], "int")
            rules[rule] = f"r{rule}"
        for place, term in enumerate(self.plan.terms):
            if isinstance(term, Addend):
                yield from self.remark(term.rule)
                values = [self.worth(rules[term.rule], *pair) if any(pair) else ""
                          for pair in zip(term.coef, term.otherwise, strict=True)]  # fmt: skip
            else:
                name = self._between(term)
                if self.plan.outputs > 1 and name != self.names[term.input]:
                    yield self.assign(f"v{place}", name)
                    name = f"v{place}"
                values = [self.product(coef, name) if coef else "" for coef in term.coef]
            yield from (self.add(f"t{output}", value) for output, value in enumerate(values) if value)

    def _between(self, linear: LinearInput) -> str:
        """Write an input, no further than the ends of its linear term, and what a missing value counts as."""
        value = name = self.names[linear.input]
        if linear.high < inf:
            value = self.choice(f"{name} > {self.number(linear.high)}", self.number(linear.high), value)
        if linear.low > -inf:
            value = self.choice(f"{name} < {self.number(linear.low)}", self.number(linear.low), value)
        missing_as = linear.missing_as
        return value if missing_as is None else self.choice(self.absent(linear.input), self.number(missing_as), value)

    def absent(self, k: int) -> str:
        """Write that an input is missing."""
        name = self.names[k]
        return f"{name} != {name}" if self.plan.inputs[k].categories is None else self.no_category(k)

    def condition(self, layer: int, condition: PlannedCondition, named: set[int]) -> str:
        """Write a condition, without brackets."""
        if isinstance(condition, Absent):
            return self.absent(condition.input)
        if isinstance(condition, OneOf):
            return self.among(condition.input, condition.listed, condition.missing)
        summed = self.plan.layers[layer].sums[condition.summation]
        left = f"s{layer}_{condition.summation}" if condition.summation in named else self.summed(layer, summed)
        threshold = self.number(condition.threshold)
        text = f"{left} {condition.relation} {threshold}"
        if not condition.missing:
            return text
        if not layer and summed.coefficients == (1.0,):
            return f"{text}{self.either}{self.absent(summed.inputs[0])}"
        return f"{self.negation}({left} {OPPOSITE[condition.relation]} {threshold})"

    def summed(self, layer: int, summed: Summation) -> str:
        """Write a sum, from left to right."""
        parts = []
        for k, coefficient, missing_as in summed.parts(layer):
            name = f"h{layer - 1}_{k}" if layer else self.names[k]
            if isinstance(coefficient, tuple):
                missing = self.missing() if missing_as is None else self.number(missing_as)
                parts.append(self.looked_up(k, list(map(self.number, coefficient)), missing))
            elif missing_as is None or not self.plan.sees_missing(k):
                parts.append(self.product(coefficient, name))
            else:
                present = self.product(coefficient, name) if coefficient else self.number(0.0)
                parts.append(self.choice(self.absent(k), self.number(missing_as), present))
        return " + ".join(parts) or self.number(0.0)

    def product(self, coefficient: float, name: str) -> str:
        """Write a name times a coefficient."""
        if coefficient == 1.0:
            return name
        return f"-{name}" if coefficient == -1.0 else f"{self.number(coefficient)} * {name}"

    def held(self, total: str) -> str:
        """Write what a raw score, by its name, predicts within bounds."""
        value = total
        for sign, end in self.plan.bounds:
            value = self.choice(f"{total} {sign} {self.number(end)}", self.number(end), value)
        return value

    def fill(self, given: Input) -> str | None:
        """Write what an input counts as where it is missing, if it does: a number or a category."""
        if given.fill is None:
            return None
        return self.number(given.fill) if given.categories is None else self.category(given, int(given.fill))

    def total(self, output: int) -> str:
        """Write the raw score of an output."""
        return f"t{output}" if self.plan.over == 1.0 else f"t{output} / {self.number(self.plan.over)}"

    def totals(self) -> str:
        """Write the raw score, or an array of those of several classes."""
        totals = [self.total(output) for output in range(self.plan.outputs)]
        return f"[{', '.join(totals)}]" if self.plan.link == "softmax" else totals[0]


def native_category(given: Input, code: int) -> Category:
    """Return a category as programs compare it: as it is, or its name where the column has texts."""
    return given.names[code] if given.category_kind == "texts" else (given.categories or ())[code]


def indented(lines: Sequence[str], by: str = "    ") -> str:
    """Return lines as the body of a function."""
    return "\n".join(by + line for line in lines)
