"""Programs without loops, statement by statement: what Python, JavaScript and C have in common.

A missing value is NaN in a number and one behind the last category in a categorical column. NaN fails every comparison,
so that ``s >= t`` is false where there is no sum and ``not s < t`` is true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

from bgn.export.plan import Addend, ExportPlan, Input, LinearInput, PlannedComparison, Summation


class Statements:
    """The statements of a program, in a language that subclasses spell. They are written when they are first needed.

    What holds in hidden layers is called ``h0_3`` (layer, comparison), shared sums ``s0_3``, inputs ``x0``, or ``v0``
    between the ends of their linear term, the sums of outputs ``t0``.
    """

    prefix = "_"

    def __init__(self, plan: ExportPlan, keep_all: bool = False) -> None:
        self.plan = plan
        uses = Counter(addend.comparison for addend in plan.addends)
        self.kept = {comparison for comparison, count in uses.items() if count > 1 or plan.outputs > 1 or keep_all}
        self.tables: dict[tuple[str, ...], str] = {}

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

    def not_below(self, left: str, right: str) -> str:
        """Write that it is not true that left is below right."""
        return f"!({left} < {right})"

    def looked_up(self, values: Sequence[str], code: str) -> str:
        """Write the value at a place of a table, which is kept to be written once."""
        name = self.tables.setdefault(tuple(values), f"{self.prefix}table_{len(self.tables)}")
        return f"{name}[{code}]"

    def truth(self, value: bool) -> str:
        """Write true or false."""
        return "true" if value else "false"

    def assign(self, name: str, value: str) -> str:
        """Write a new name for a value."""
        return f"const {name} = {value};"

    def add(self, name: str, value: str) -> str:
        """Write an addition to a name."""
        return f"{name} += {value};"

    def add_if(self, condition: str, yes: float, no: float) -> str:
        """Write the addition of one number or another."""
        return self.add("t0", self.choice(condition, self.number(yes), self.number(no)))

    # -- statements --------------------------------------------------------------------------------------------

    def body(self) -> Iterator[str]:
        """Yield the statements from inputs, which have names already, to the sums of the outputs."""
        last = len(self.plan.layers) - 1
        for number, layer in enumerate(self.plan.layers):
            sums = (part for part in layer.comparisons if self.plan.chosen_categories(number, part) is None)
            shared = Counter(part.summation for part in sums)
            for place, summed in enumerate(layer.sums):
                if shared[place] > 1 and self._needs_name(number, summed):
                    yield self.assign(f"s{number}_{place}", self.summed(number, summed))
            for place, comparison in enumerate(layer.comparisons):
                if number < last or place in self.kept:
                    condition = self.condition(number, comparison, shared)
                    sign = self.choice(condition, self.number(1.0), self.number(-1.0))
                    yield self.assign(f"h{number}_{place}", sign)
        for term in self.plan.terms:
            if isinstance(term, LinearInput):
                name, between = f"x{term.input}", self._between(term)
                if between != name:
                    name = f"v{term.input}"
                    yield self.assign(name, between)
                for output, coef in enumerate(term.coef):
                    if coef:
                        yield self.add(f"t{output}", self.product(coef, name))
            elif term.comparison in self.kept:
                yield from self._add_kept(term, f"h{last}_{term.comparison}")
            else:
                condition = self.condition(last, self.plan.last.comparisons[term.comparison], shared)
                yield self.add_if(condition, term.coef[0], term.otherwise[0])

    def _needs_name(self, layer: int, summed: Summation) -> bool:
        return layer > 0 or summed.coefficients != (1.0,) or summed.missing_as is not None

    def _between(self, linear: LinearInput) -> str:
        """Write an input, no further than the ends of its linear term, and what a missing value counts as."""
        value = name = f"x{linear.input}"
        if linear.high < inf:
            value = self.choice(f"{name} > {self.number(linear.high)}", self.number(linear.high), value)
        if linear.low > -inf:
            value = self.choice(f"{name} < {self.number(linear.low)}", self.number(linear.low), value)
        missing_as = linear.missing_as
        return value if missing_as is None else self.choice(f"{name} == {name}", value, self.number(missing_as))

    def _add_kept(self, addend: Addend, sign: str) -> Iterator[str]:
        for output, (yes, no) in enumerate(zip(addend.coef, addend.otherwise, strict=True)):
            if yes and no == -yes:
                yield self.add(f"t{output}", self.product(yes, sign))
            elif yes:
                condition = f"{sign} > {self.number(0.0)}"
                yield self.add(f"t{output}", self.choice(condition, self.number(yes), self.number(no)))

    def condition(self, layer: int, comparison: PlannedComparison, shared: Counter[int]) -> str:
        """Write a comparison."""
        chosen = self.plan.chosen_categories(layer, comparison)
        summed = self.plan.layers[layer].sums[comparison.summation]
        if chosen is not None:
            truths = [*chosen, bool(self.plan.holds_if_missing(comparison))]
            return self.looked_up(list(map(self.truth, truths)), f"x{summed.inputs[0]}")
        named = shared[comparison.summation] > 1 and self._needs_name(layer, summed)
        left = f"s{layer}_{comparison.summation}" if named else self.summed(layer, summed)
        threshold = self.number(comparison.threshold)
        return self.not_below(left, threshold) if comparison.missing else f"{left} >= {threshold}"

    def summed(self, layer: int, summed: Summation) -> str:
        """Write a sum, from left to right."""
        parts = []
        for k, coefficient, missing_as in summed.parts(layer):
            name = f"h{layer - 1}_{k}" if layer else f"x{k}"
            if isinstance(coefficient, tuple):
                missing = self.missing() if missing_as is None else self.number(missing_as)
                parts.append(self.looked_up([*map(self.number, coefficient), missing], name))
            elif missing_as is None or not self.plan.sees_missing(k):
                parts.append(self.product(coefficient, name))
            else:
                present = self.product(coefficient, name) if coefficient else self.number(0.0)
                parts.append(self.choice(f"{name} == {name}", present, self.number(missing_as)))
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
        """Write what an input counts as where it is missing, if it does: a number, or that of a category."""
        if given.fill is None:
            return None
        return self.number(given.fill) if given.categories is None else str(int(given.fill))

    def total(self, output: int) -> str:
        """Write the raw score of an output."""
        return f"t{output}" if self.plan.over == 1.0 else f"t{output} / {self.number(self.plan.over)}"

    def totals(self) -> str:
        """Write the raw score, or an array of those of several classes."""
        totals = [self.total(output) for output in range(self.plan.outputs)]
        return f"[{', '.join(totals)}]" if self.plan.link == "softmax" else totals[0]


def indented(lines: Sequence[str], by: str = "    ") -> str:
    """Return lines as the body of a function."""
    return "\n".join(by + line for line in lines)
