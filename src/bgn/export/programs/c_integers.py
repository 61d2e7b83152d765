"""A card of points as a C99 header without floats, for machines that have none."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

from bgn.export.plan import ExportPlan, PlannedComparison, Summation
from bgn.export.programs.c_words import comment, quoted
from bgn.export.remarks import bounds
from bgn.export.scorecard import Scorecard
from bgn.model.decimals import EXACT, written
from bgn.model.schema import level_word
from bgn.printable import quote_name

_MOST = 1 << 31

_TOP = """\
/* Points of a card that predicts {target}: {target} = {start} + {unit} x points.{within} Written by bgn; no floats.
   A row is an array of int32_t, in the order of {name}_columns: a number times {name}_scales, which must be whole, or
   the number of a category's level; INT32_MIN is a gap.
   Sums of several columns are exact here; bgn adds them up in floats, and may answer otherwise where one is exactly on
   its threshold. */
#ifndef {guard}
#define {guard}
#include <stdint.h>

"""


@dataclass(frozen=True)
class _Whole:
    """A comparison of whole numbers: factors of inputs, what their gaps add, and a threshold."""

    factors: tuple[int | tuple[int, ...], ...]
    gaps: tuple[int, ...] | None
    threshold: int


def integer_header(planned: ExportPlan, card: Scorecard, name: str, decimals: int) -> str:
    """Return the header."""
    if len(planned.layers) > 1:
        raise ValueError(f"integers=True is for networks of one hidden layer; got {len(planned.layers)}.")
    places = [_places(planned, k, decimals) for k in range(len(planned.inputs))]
    columns = ", ".join(quoted(each.name) for each in planned.inputs)
    scales = ", ".join(str(10**each) for each in places)
    count = max(len(planned.inputs), 1)
    about = {"target": comment(quote_name(planned.target)), "name": name}
    about |= {"start": f"{card.start:f}", "unit": f"{card.unit:f}"}
    about["within"] = f" {comment(bounds(card.terms))}" if planned.bounds else ""
    parts = [_TOP.format(**about, guard=f"{name.upper()}_POINTS_H")]
    parts += [f"/* {comment(sentence)} */\n" for sentence in planned.to_do]
    parts.append(f"static const char *const {name}_columns[{count}] = {{{columns or '0'}}};\n")
    parts.append(f"static const int32_t {name}_scales[{count}] = {{{scales or '1'}}};\n")
    for k, each in enumerate(planned.inputs):
        if each.levels is not None:
            words = ", ".join(quoted(level_word(level)) for level in each.levels)
            parts.append(f"static const char *const {name}_levels_{k}[{len(each.levels)}] = {{{words}}};\n")
    lines = _reading(planned, places) if planned.inputs else ["(void)row;"]
    lines += [f"int64_t total = {int(planned.base[0])};"]
    for addend in planned.addends:
        comparison = planned.layers[0].comparisons[addend.comparison]
        lines.append(f"total += {int(addend.amounts[0])} * (2 * ({_question(planned, comparison, places)}) - 1);")
    with localcontext(EXACT):
        start, unit = int(card.start * int(planned.over)), int(card.unit * int(planned.over)) or 1
    lines.append(f"return (int32_t)((total - ({start})) / {unit});")
    body = "\n".join(f"    {line}" for line in lines)
    refused = "; -1 where the card refuses a gap" if any(each.refuses for each in planned.inputs) else ""
    parts.append(f"\n/* The points of a row{refused}. */\n")
    parts.append(f"static inline int32_t {name}_points(const int32_t *row) {{\n{body}\n}}\n\n#endif\n")
    return "".join(parts)


def _places(planned: ExportPlan, k: int, least: int) -> int:
    """Return how many decimals of a number are kept: as many as its thresholds have."""
    if planned.inputs[k].levels is not None:
        return 0
    found = [least]
    for comparison in planned.layers[0].comparisons:
        summed = planned.layers[0].sums[comparison.summation]
        if summed.inputs == (k,):
            found.append(_decimals(comparison.threshold))
    fill = planned.inputs[k].fill
    return max([*found, 0 if fill is None else _decimals(fill)])


def _decimals(value: float) -> int:
    return max(0, -int(written(value).normalize(EXACT).as_tuple().exponent))


def _reading(planned: ExportPlan, places: list[int]) -> list[str]:
    lines = []
    for k, each in enumerate(planned.inputs):
        lines.append(f"int64_t x{k} = row[{k}];")
        absent = f"x{k} == INT32_MIN"
        if each.levels is not None:
            absent = f"x{k} < 0 || x{k} >= {len(each.levels)}"
        if each.refuses:
            lines.append(f"if ({absent}) return -1;")
        elif each.fill is not None:
            fill = each.fill if each.levels is not None else written(each.fill).scaleb(places[k], EXACT)
            lines.append(f"if ({absent}) x{k} = {int(fill)};")
        elif each.levels is not None:
            lines.append(f"if ({absent}) x{k} = {len(each.levels)};")
    return lines


def _whole(planned: ExportPlan, summed: Summation, comparison: PlannedComparison, places: list[int]) -> _Whole:
    """Return a comparison times a power of ten, so that all in it is whole."""
    numbers = [comparison.threshold, *(summed.gaps or ())]
    power = max(map(_decimals, numbers), default=0)
    for k, factor in zip(summed.inputs, summed.coefficients, strict=True):
        some = factor if isinstance(factor, tuple) else (factor,)
        power = max(power, max(map(_decimals, some)) + places[k])

    def scaled(value: float, less: int = 0) -> int:
        whole: Decimal = written(value).scaleb(power - less, EXACT)
        return int(whole)

    factors = tuple(
        tuple(scaled(each) for each in factor) if isinstance(factor, tuple) else scaled(factor, places[k])
        for k, factor in zip(summed.inputs, summed.coefficients, strict=True)
    )
    gaps = None if summed.gaps is None else tuple(map(scaled, summed.gaps))
    size = sum(max(map(abs, each)) if isinstance(each, tuple) else abs(each) for each in factors)
    if max(size, abs(scaled(comparison.threshold)) >> 31, *(gaps or (0,))) >= _MOST:
        raise ValueError(
            "integers=True needs coefficients and thresholds of fewer digits, so that sums fit 64 bits; use "
            "bgn.simplify(model, X, y, points=10).network, or the version with floats."
        )
    return _Whole(factors, gaps, scaled(comparison.threshold))


def _question(planned: ExportPlan, comparison: PlannedComparison, places: list[int]) -> str:
    """Write a comparison of whole numbers."""
    summed = planned.layers[0].sums[comparison.summation]
    chosen = planned.chosen_levels(0, comparison)
    if chosen is not None:
        answers = [*chosen, bool(planned.gap_answer(0, comparison))]
        tests = [f"x{summed.inputs[0]} == {code}" for code, yes in enumerate(answers) if yes]
        return " || ".join(tests) or "0"
    whole = _whole(planned, summed, comparison, places)
    parts, absent = [], []
    for place, (k, factor) in enumerate(zip(summed.inputs, whole.factors, strict=True)):
        levels = planned.inputs[k].levels
        missing = f"x{k} == {len(levels)}" if levels is not None else f"x{k} == INT32_MIN"
        if isinstance(factor, tuple):
            part = "0"
            for code, value in reversed([*enumerate(factor)]):
                part = f"(x{k} == {code} ? {value} : {part})" if value else part
        else:
            part = f"x{k}" if factor == 1 else f"{factor} * x{k}"
        if whole.gaps is not None and planned.sees_gap(k):
            known = whole.gaps[place] == 0 and levels is not None
            part = part if known else f"({missing} ? {whole.gaps[place]} : {part})"
        elif planned.sees_gap(k):
            absent.append(missing)
        parts.append(part)
    test = f"{' + '.join(parts) or '0'} >= {whole.threshold}"
    if not absent:
        return test
    return f"({' || '.join(absent)}) ? {int(bool(comparison.missing))} : {test}"
