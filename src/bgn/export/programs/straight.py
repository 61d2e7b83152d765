"""Programs without loops, statement by statement: what Python, JavaScript and C have in common.

A gap is NaN in a number and one behind the last level in a category. NaN fails every comparison, so that ``s >= t``
says no where there is no sum and ``not s < t`` says yes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

from bgn.export.plan import Addend, ExportPlan, PlannedComparison, SlopedInput, Summation


class Statements:
    """The statements of a program, in a language that subclasses spell. They are written when they are first needed.

    Answers of hidden layers are called ``h0_3`` (layer, comparison), shared sums ``s0_3``, inputs ``x0``, or ``v0``
    between the ends of their slope, the sums of outputs ``t0``.
    """

    prefix = "_"

    def __init__(self, plan: ExportPlan, answers: bool = False) -> None:
        self.plan, self.answers = plan, answers
        uses = Counter(each.comparison for each in plan.addends)
        many = plan.outputs > 1 or answers
        self.kept = {each for each, count in uses.items() if count > 1 or many}
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

    def below(self, left: str, right: str) -> str:
        """Write that it is not true that left is below right."""
        return f"!({left} < {right})"

    def looked_up(self, values: Sequence[str], code: str) -> str:
        """Write the value at a place of a table, which is kept to be written once."""
        name = self.tables.setdefault(tuple(values), f"{self.prefix}table_{len(self.tables)}")
        return f"{name}[{code}]"

    def truth(self, value: bool) -> str:
        """Write yes or no."""
        return "true" if value else "false"

    def assign(self, name: str, value: str) -> str:
        """Write a new name for a value."""
        return f"const {name} = {value};"

    def add(self, name: str, value: str) -> str:
        """Write an addition to a name."""
        return f"{name} += {value};"

    # -- statements --------------------------------------------------------------------------------------------

    def body(self) -> Iterator[str]:
        """Yield the statements from inputs, which have names already, to the sums of the outputs."""
        for number, layer in enumerate(self.plan.layers):
            summed_up = (each for each in layer.comparisons if self.plan.chosen_categories(number, each) is None)
            shared = Counter(each.summation for each in summed_up)
            for place, summed in enumerate(layer.sums):
                if shared[place] > 1 and self._worth_a_name(number, summed):
                    yield self.assign(f"s{number}_{place}", self.summed(number, summed))
            last = number == len(self.plan.layers) - 1
            for place, comparison in enumerate(layer.comparisons):
                if not last or place in self.kept:
                    yield self.assign(f"h{number}_{place}", self._answer(number, comparison, shared))
        yield from self._totals(shared)

    def _worth_a_name(self, layer: int, summed: Summation) -> bool:
        plain = summed.coefficients == (1.0,) and summed.missing_as is None
        return not (plain and layer == 0)

    def _totals(self, shared: Counter[int]) -> Iterator[str]:
        plan, last = self.plan, len(self.plan.layers) - 1
        for sloped in plan.slopes:
            name, between = f"x{sloped.input}", self._between(sloped)
            if between != name:
                name = f"v{sloped.input}"
                yield self.assign(name, between)
            for output, slope in enumerate(sloped.slopes):
                if slope:
                    yield self.add(f"t{output}", self.product(slope, name))
        for addend in plan.addends:
            comparison = plan.layers[last].comparisons[addend.comparison]
            if addend.comparison in self.kept:
                yield from self._signed(addend, f"h{last}_{addend.comparison}")
            else:
                yield self.added(addend.amounts[0], self.condition(last, comparison, shared))

    def _between(self, sloped: SlopedInput) -> str:
        """Write an input, no further than the ends of its slope, and what stands in for a gap."""
        value = name = f"x{sloped.input}"
        if sloped.high < inf:
            value = self.choice(f"{name} > {self.number(sloped.high)}", self.number(sloped.high), value)
        if sloped.low > -inf:
            value = self.choice(f"{name} < {self.number(sloped.low)}", self.number(sloped.low), value)
        return value if sloped.gap is None else self.choice(f"{name} == {name}", value, self.number(sloped.gap))

    def _signed(self, addend: Addend, answer: str) -> Iterator[str]:
        for output, amount in enumerate(addend.amounts):
            if amount:
                yield self.add(f"t{output}", self.product(amount, answer))

    def added(self, amount: float, condition: str) -> str:
        """Write the addition of an amount or its negative."""
        return self.add("t0", self.choice(condition, self.number(amount), self.number(-amount)))

    def _answer(self, layer: int, comparison: PlannedComparison, shared: Counter[int]) -> str:
        return self.choice(self.condition(layer, comparison, shared), self.number(1.0), self.number(-1.0))

    def condition(self, layer: int, comparison: PlannedComparison, shared: Counter[int]) -> str:
        """Write a comparison."""
        chosen = self.plan.chosen_categories(layer, comparison)
        summed = self.plan.layers[layer].sums[comparison.summation]
        if chosen is not None:
            answers = [*chosen, bool(self.plan.gap_answer(layer, comparison))]
            return self.looked_up([self.truth(each) for each in answers], f"x{summed.inputs[0]}")
        named = shared[comparison.summation] > 1 and self._worth_a_name(layer, summed)
        left = f"s{layer}_{comparison.summation}" if named else self.summed(layer, summed)
        threshold = self.number(comparison.threshold)
        return self.below(left, threshold) if comparison.missing else f"{left} >= {threshold}"

    def summed(self, layer: int, summed: Summation) -> str:
        """Write a sum, from left to right."""
        parts = []
        for place, (each, coefficient) in enumerate(zip(summed.inputs, summed.coefficients, strict=True)):
            gap = None if summed.missing_as is None or layer else summed.missing_as[place]
            if layer:
                parts.append(self.product(float(coefficient), f"h{layer - 1}_{each}"))  # type: ignore[arg-type]
            elif isinstance(coefficient, tuple):
                missing = self.missing() if gap is None else self.number(gap)
                parts.append(self.looked_up([*map(self.number, coefficient), missing], f"x{each}"))
            elif gap is None or not self.plan.sees_gap(each):
                parts.append(self.product(coefficient, f"x{each}"))
            else:
                present = self.product(coefficient, f"x{each}") if coefficient else self.number(0.0)
                parts.append(self.choice(f"x{each} == x{each}", present, self.number(gap)))
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

    def total(self, output: int) -> str:
        """Write the raw score of an output."""
        return f"t{output}" if self.plan.over == 1.0 else f"t{output} / {self.number(self.plan.over)}"
