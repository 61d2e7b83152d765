"""The formulas of a workbook. They name cells of sheets of our own, and never anything that a user named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from bgn.export.plan import ExportPlan, PlannedComparison, SlopedInput


def at(column: int, row: int) -> str:
    """Return the name of a cell, columns counted from 0 and rows from 1.

    Examples
    --------
    >>> from bgn.export.programs.excel_formulas import at
    >>> at(0, 1), at(25, 4), at(26, 4), at(702, 1)
    ('A1', 'Z4', 'AA4', 'AAA1')
    """
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row}"


def _number(value: float) -> str:
    return repr(value).removesuffix(".0").replace("e", "E")


class Formulas:
    """Formulas of a plan, row by row."""

    def __init__(self, planned: ExportPlan) -> None:
        self.plan = planned
        self._starts = [0]
        for layer in planned.layers:
            self._starts.append(self._starts[-1] + len(layer.comparisons))

    def column(self, layer: int, place: int) -> int:
        """Return the column of a question's answers."""
        return self._starts[layer] + place

    # -- inputs ------------------------------------------------------------------------------------------------

    def code(self, k: int, row: int) -> str:
        """Return the number of a category's level, from 1 on; 0 for a gap."""
        each, letter, cell = self.plan.inputs[k], at(k, 1)[:-1], f"Input!{at(k, row)}"
        known = each.levels or ()
        levels = f"Levels!${letter}$2:${letter}${len(known) + 1}"
        if each.level_kind == "truths":  # which are numbers to some spreadsheets, and words to none
            cases = "".join(f"IF({cell}={str(level).upper()}(),{place}," for place, level in enumerate(known, start=1))
            found = f"IF(ISBLANK({cell}),0,{cases}0{')' * len(known)})"
        else:
            same = f"EXACT({levels},{cell})" if each.level_kind == "words" else f"({levels}={cell})"
            found = f"IF(ISBLANK({cell}),0,SUMPRODUCT({same}*(ROW({levels})-1)))"
        return f"={found}" if each.fill is None else f"=IF({found}=0,{int(each.fill) + 1},{found})"

    def _value(self, k: int, row: int) -> str:
        each = self.plan.inputs[k]
        cell = f"Input!{at(k, row)}"
        return cell if each.fill is None else f"IF(ISNUMBER({cell}),{cell},{_number(each.fill)})"

    def _there(self, k: int, row: int) -> str:
        """Return whether an input has a value; empty where it always has."""
        each = self.plan.inputs[k]
        if each.fill is not None:
            return ""
        return f"Codes!{at(k, row)}>0" if each.levels is not None else f"ISNUMBER(Input!{at(k, row)})"

    # -- questions ---------------------------------------------------------------------------------------------

    def answer(self, layer: int, comparison: PlannedComparison, row: int) -> str:
        """Return the formula of an answer, 1 or -1."""
        summed = self.plan.layers[layer].sums[comparison.summation]
        parts = []
        for place, (k, coefficient) in enumerate(zip(summed.inputs, summed.coefficients, strict=True)):
            gap = None if summed.gaps is None else summed.gaps[place]
            if layer:
                value = f"Questions!{at(self.column(layer - 1, k), row)}"
                parts.append(_times(float(coefficient), value))  # type: ignore[arg-type]
            elif isinstance(coefficient, tuple):
                values = ",".join([_number(0.0 if gap is None else gap), *map(_number, coefficient)])
                parts.append(f"CHOOSE(Codes!{at(k, row)}+1,{values})")
            else:
                part, there = _times(coefficient, self._value(k, row)), self._there(k, row)
                parts.append(f"IF({there},{part},{_number(gap)})" if gap is not None and there else part)
        test = f"IF({'+'.join(parts) or '0'}>={_number(comparison.threshold)},1,-1)"
        needed = [] if layer or summed.gaps is not None else [self._there(k, row) for k in summed.inputs]
        needed = [each for each in needed if each]
        if not needed:
            return f"={test}"
        present = needed[0] if len(needed) == 1 else f"AND({','.join(needed)})"
        return f"=IF({present},{test},{1 if comparison.missing else -1})"

    # -- outputs -----------------------------------------------------------------------------------------------

    def score(self, output: int, row: int) -> str:
        """Return the raw score of an output, an empty word where a gap is refused."""
        plan, last = self.plan, len(self.plan.layers) - 1
        width = len(plan.layers[last].comparisons)
        total = _number(plan.base[output])
        for sloped in plan.slopes:
            if sloped.slopes[output]:
                total += f"+{_times(sloped.slopes[output], self._between(sloped, row))}"
        if width:
            first, end = self.column(last, 0), self.column(last, width - 1)
            amounts = f"Amounts!${at(0, 1)[:-1]}${output + 1}:${at(width - 1, 1)[:-1]}${output + 1}"
            total += f"+SUMPRODUCT(Questions!{at(first, row)}:{at(end, row)},{amounts})"
        total = total if plan.over == 1.0 else f"({total})/{_number(plan.over)}"
        needed = [self._there(k, row) for k, each in enumerate(plan.inputs) if each.refuses]
        return f'IF(AND({",".join(needed)}),{total},"")' if needed else total

    def _between(self, sloped: SlopedInput, row: int) -> str:
        """Return an input, no further than the ends of its slope, and what stands in for a gap."""
        value = there = self._value(sloped.input, row)
        if sloped.high < inf:
            value = f"IF({there}>{_number(sloped.high)},{_number(sloped.high)},{value})"
        if sloped.low > -inf:
            value = f"IF({there}<{_number(sloped.low)},{_number(sloped.low)},{value})"
        present = self._there(sloped.input, row)
        return f"IF({present},{value},{_number(sloped.gap)})" if sloped.gap is not None and present else value

    def _held(self, score: str) -> str:
        """Return what a raw score, by its cell, predicts within bounds."""
        value = score
        for sign, end in self.plan.bounds:
            value = f"IF({score}{sign}{_number(end)},{_number(end)},{value})"
        return f'=IF({score}="","",{value})'

    def outputs(self) -> Iterator[tuple[str, Callable[[int], str]]]:
        """Yield titles and formulas of what stands beside a row."""
        plan, first = self.plan, len(self.plan.inputs)
        if plan.link == "identity":
            if not plan.bounds:
                yield plan.target, lambda row: f"={self.score(0, row)}"
                return
            yield plan.target, lambda row: self._held(at(first + 1, row))
            yield "score", lambda row: f"={self.score(0, row)}"
            return
        names = [f"score of {word}" for word in plan.class_words] if plan.link == "softmax" else ["score"]
        for output, title in enumerate(names):
            yield title, lambda row, output=output: f"={self.score(output, row)}"  # type: ignore[misc]

        if plan.link == "logistic":

            def chance(row: int) -> str:
                cell = at(first, row)
                return f'=IF({cell}="","",IF({cell}>=0,1/(1+EXP(-{cell})),EXP({cell})/(1+EXP({cell}))))'

            yield f"probability of {plan.class_words[1]}", chance
            return

        def share(output: int) -> Callable[[int], str]:
            def formula(row: int) -> str:
                some = f"{at(first, row)}:{at(first + plan.outputs - 1, row)}"
                own = at(first + output, row)
                return f'=IF({own}="","",EXP({own}-MAX({some}))/SUMPRODUCT(EXP({some}-MAX({some}))))'

            return formula

        for output, word in enumerate(plan.class_words):
            yield f"probability of {word}", share(output)


def _times(coefficient: float, value: str) -> str:
    if coefficient == 1.0:
        return value
    return f"-{value}" if coefficient == -1.0 else f"{_number(coefficient)}*{value}"
