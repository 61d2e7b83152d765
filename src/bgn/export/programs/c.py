"""A network as a single header in C99: no allocation, hexadecimal floats, nothing to link but the C library."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from bgn.export.condition import bounds
from bgn.export.plan import NOT_TEXT, ExportPlan, PlannedComparison, Summation, check_words, plan
from bgn.export.programs.straight import Statements
from bgn.export.scorecard import Scorecard, scorecard
from bgn.model.numbers import EXACT, written
from bgn.model.schema import category_name
from bgn.text import clean, quote_name
from bgn.whole_file import write_whole

_MODEL_TOP = """\
/* {about}
   Written by bgn. A row is an array of doubles, in the order of {name}_columns: a category is the number of its level
   (see {name}_levels_...), NAN is a gap{refused}.
   Scores are the same bits as bgn computes where double arithmetic is IEEE 754, one rounding per operation: compile
   without -ffast-math, and on 32-bit x86 with -msse2 -mfpmath=sse. Contraction to fused multiply-add is switched off
   below for GCC and Clang; for other compilers switch it off (-ffp-contract=off). */
#ifndef {guard}
#define {guard}
#include <float.h>
#include <math.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "compile without -ffast-math: NaN stands for a gap, and sums are added in order"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 2
#error "compile so that doubles are rounded to double: on x86 -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize ("fp-contract=off")
#endif
"""
_END = """
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
"""
_LINKS = {
    "identity": """
/* The prediction. */
static inline double {name}_predict(const double *row) {{
    return {name}_score(row);
}}
""",
    "logistic": """
/* The probability of {name}_classes[1]. */
static inline double {name}_predict(const double *row) {{
    double total = {name}_score(row);
    double odds = exp(-fabs(total));
    return (total >= 0.0 ? 1.0 : odds) / (1.0 + odds);
}}

/* The place of the likelier class in {name}_classes. */
static inline int {name}_label(const double *row) {{
    return {name}_score(row) > 0.0;
}}
""",
    "softmax": """
/* The place of the likeliest class in {name}_classes. */
static inline int {name}_label(const double *row) {{
    double totals[{outputs}];
    int best = 0;
    {name}_scores(row, totals);
    for (int k = 1; k < {outputs}; k++) if (totals[k] > totals[best]) best = k;
    return best;
}}

/* The probabilities of {name}_classes. */
static inline void {name}_predict(const double *row, double *out) {{
    double most, sum = 0.0;
    {name}_scores(row, out);
    most = out[0];
    for (int k = 1; k < {outputs}; k++) if (out[k] > most) most = out[k];
    for (int k = 0; k < {outputs}; k++) {{
        out[k] = exp(out[k] - most);
        sum += out[k];
    }}
    for (int k = 0; k < {outputs}; k++) out[k] /= sum;
}}
""",
}


class CStatements(Statements):
    """C's spelling. Answers become numbers without branches, which a processor would guess wrong half of the time."""

    def number(self, value: float) -> str:
        return f"{value:.1f}" if value == int(value) and abs(value) < 1e15 else value.hex()

    def missing(self) -> str:
        return "NAN"

    def truth(self, value: bool) -> str:
        return str(int(value))

    def assign(self, name: str, value: str) -> str:
        return f"const double {name} = {value};"

    def choice(self, condition: str, yes: str, no: str) -> str:
        if (yes, no) == (self.number(1.0), self.number(-1.0)):
            return f"(double)(2 * ({condition}) - 1)"
        return f"({condition} ? {yes} : {no})"

    def added(self, amount: float, condition: str) -> str:
        return f"t0 += {self.number(amount)} * (double)(2 * ({condition}) - 1);"


def to_c(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "bgn",
    integers: bool = False,
    decimals: int = 0,
) -> str:
    """Write a model as a single C99 header without dependencies.

    Parameters
    ----------
    model : Network or fitted estimator
    path : str or path-like, optional
        File to write, whole or not at all.
    name : str, default "bgn"
        What all names in it start with.
    integers : bool, default False
        Write ``bgn_points``, without floats, of a model that is a :func:`bgn.scorecard`: a row is then an array of
        int32_t, numbers times a power of ten.
    decimals : int, default 0
        With `integers`, how many decimals of every number to keep at least; those of its thresholds are kept.

    Returns
    -------
    str
        Functions ``bgn_score`` (the raw score, the same bits as `predict` computes) and ``bgn_predict`` of an array of
        doubles, for classes also ``bgn_label``; ``bgn_columns`` names what the array holds.

    Examples
    --------
    >>> import bgn
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.59]], [-63.56])], [0.505], 1.0, ["income", "age"], "value")
    >>> print("\\n".join(bgn.export.to_c(network).splitlines()[26:37]))
    /* The raw score. */
    static inline double bgn_score(const double *row) {
        double x0 = row[0];
        if (isinf(x0)) return NAN;
        if (x0 != x0) return NAN;
        double x1 = row[1];
        if (isinf(x1)) return NAN;
        if (x1 != x1) return NAN;
        double t0 = 1000.0;
        t0 += 505.0 * (double)(2 * (x0 + 0x1.2e147ae147ae1p-1 * x1 >= 0x1.fc7ae147ae148p+5) - 1);
        return t0 / 1000.0;
    """
    check_name(name)
    planned = plan(model)
    check_words(planned.words, NOT_TEXT, "C")
    text = integer_header(planned, _card(model), name, decimals) if integers else _header(planned, name)
    if path is not None:
        write_whole(path, text.encode())
    return text


def _card(model: Any) -> Scorecard:
    """Return the card that a model is."""
    card = scorecard(model)
    if not isinstance(card, Scorecard):
        raise ValueError("integers=True is for cards of one total; this one has points for several classes.")
    return card


def _header(planned: ExportPlan, name: str) -> str:
    refused = "an infinite number" if any(each.categories is None for each in planned.inputs) else ""
    if any(each.refuses for each in planned.inputs):
        refused += f"{' or ' * bool(refused)}a gap that the model refuses"
    refused = refused and f"; the score of {refused} is NAN"
    about = f"Predicts {comment(quote_name(planned.target))}."
    parts = [_MODEL_TOP.format(about=about, name=name, guard=f"{name.upper()}_MODEL_H", refused=refused)]
    parts += [f"/* {comment(sentence)} */" for sentence in planned.to_do]
    names = ", ".join(quoted(each.name) for each in planned.inputs)
    parts.append(f"static const char *const {name}_columns[{max(len(planned.inputs), 1)}] = {{{names or '0'}}};")
    if planned.classes is not None:
        words = ", ".join(map(quoted, planned.class_words))
        parts.append(f"static const char *const {name}_classes[{len(planned.classes)}] = {{{words}}};")
    for k, each in enumerate(planned.inputs):
        if each.categories is not None:
            parts.append(_categories(name, k, tuple(map(category_name, each.categories))))
    written = CStatements(planned)
    written.prefix = f"{name}_"
    body = _body(planned, written)
    for values, table in written.tables.items():
        kind = "unsigned char" if set(values) <= {"0", "1"} else "double"
        parts.append(f"static const {kind} {table}[{len(values)}] = {{{', '.join(values)}}};")
    return (
        "\n".join(parts)
        + _score(planned, name, body)
        + (_held(written, name) if planned.bounds else _LINKS[planned.link].format(name=name, outputs=planned.outputs))
        + _END
    )


def _held(written: CStatements, name: str) -> str:
    """Write the function that predicts within bounds; NAN is beyond none of them."""
    lines = [f"double total = {name}_score(row);", f"return {written.held('total')};"]
    body = "\n".join(f"    {line}" for line in lines)
    return f"\n/* The prediction. */\nstatic inline double {name}_predict(const double *row) {{\n{body}\n}}\n"


def _categories(name: str, k: int, words: tuple[str, ...]) -> str:
    """Write the function that finds the number of a level, NAN for none of them."""
    tests = "\n".join(f"    if (!strcmp(word, {quoted(word)})) return {place}.0;" for place, word in enumerate(words))
    return (
        f"/* The number of a word of {name}_columns[{k}]. */\n"
        f"static inline double {name}_levels_{k}(const char *word) {{\n{tests}\n    return NAN;\n}}"
    )


def _body(planned: ExportPlan, written: CStatements) -> list[str]:
    lines, refusal = [], "return NAN;"
    if planned.link == "softmax":
        refusal = f"{{ for (int k = 0; k < {planned.outputs}; k++) out[k] = NAN; return; }}"
    for k, each in enumerate(planned.inputs):
        absent, fill = f"x{k} != x{k}", None if each.fill is None else written.number(each.fill)
        if each.categories is None:
            lines += [f"double x{k} = row[{k}];", f"if (isinf(x{k})) {refusal}"]
        else:
            none, absent = len(each.categories), f"x{k} == {len(each.categories)}"
            lines.append(f"int x{k} = row[{k}] >= 0.0 && row[{k}] < {none}.0 ? (int)row[{k}] : {none};")
            fill = None if each.fill is None else str(int(each.fill))
        if each.refuses:
            lines.append(f"if ({absent}) {refusal}")
        elif fill is not None:
            lines.append(f"if ({absent}) x{k} = {fill};")
    lines += [f"double t{output} = {written.number(base)};" for output, base in enumerate(planned.base)]
    return [*lines, *written.body()]


def _score(planned: ExportPlan, name: str, body: list[str]) -> str:
    written = CStatements(planned)
    lines = list(body) if planned.inputs else ["(void)row;", *body]
    if planned.link == "softmax":
        lines += [f"out[{output}] = {written.total(output)};" for output in range(planned.outputs)]
        told, kind, rest = "The raw scores, one per class.", f"void {name}_scores", ", double *out"
    else:
        lines.append(f"return {written.total(0)};")
        told, kind, rest = "The raw score.", f"double {name}_score", ""
    first = f"\n/* {told} */\nstatic inline {kind}(const double *row{rest}) {{\n"
    return first + "\n".join(f"    {line}" for line in lines) + "\n}\n"


# -- A card of points as a C99 header without floats, for machines that have none.

_MOST = 1 << 31

_POINTS_TOP = """\
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
    missing_as: tuple[int, ...] | None
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
    parts = [_POINTS_TOP.format(**about, guard=f"{name.upper()}_POINTS_H")]
    parts += [f"/* {comment(sentence)} */\n" for sentence in planned.to_do]
    parts.append(f"static const char *const {name}_columns[{count}] = {{{columns or '0'}}};\n")
    parts.append(f"static const int32_t {name}_scales[{count}] = {{{scales or '1'}}};\n")
    for k, each in enumerate(planned.inputs):
        if each.categories is not None:
            words = ", ".join(quoted(category_name(category)) for category in each.categories)
            parts.append(f"static const char *const {name}_levels_{k}[{len(each.categories)}] = {{{words}}};\n")
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
    if planned.inputs[k].categories is not None:
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
        if each.categories is not None:
            absent = f"x{k} < 0 || x{k} >= {len(each.categories)}"
        if each.refuses:
            lines.append(f"if ({absent}) return -1;")
        elif each.fill is not None:
            fill = each.fill if each.categories is not None else written(each.fill).scaleb(places[k], EXACT)
            lines.append(f"if ({absent}) x{k} = {int(fill)};")
        elif each.categories is not None:
            lines.append(f"if ({absent}) x{k} = {len(each.categories)};")
    return lines


def _whole(planned: ExportPlan, summed: Summation, comparison: PlannedComparison, places: list[int]) -> _Whole:
    """Return a comparison times a power of ten, so that all in it is whole."""
    numbers = [comparison.threshold, *(summed.missing_as or ())]
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
    gaps = None if summed.missing_as is None else tuple(map(scaled, summed.missing_as))
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
    chosen = planned.chosen_categories(0, comparison)
    if chosen is not None:
        answers = [*chosen, bool(planned.gap_answer(0, comparison))]
        tests = [f"x{summed.inputs[0]} == {code}" for code, yes in enumerate(answers) if yes]
        return " || ".join(tests) or "0"
    whole = _whole(planned, summed, comparison, places)
    parts, absent = [], []
    for place, (k, factor) in enumerate(zip(summed.inputs, whole.factors, strict=True)):
        categories = planned.inputs[k].categories
        missing = f"x{k} == {len(categories)}" if categories is not None else f"x{k} == INT32_MIN"
        if isinstance(factor, tuple):
            part = "0"
            for code, value in reversed([*enumerate(factor)]):
                part = f"(x{k} == {code} ? {value} : {part})" if value else part
        else:
            part = f"x{k}" if factor == 1 else f"{factor} * x{k}"
        if whole.missing_as is not None and planned.sees_gap(k):
            known = whole.missing_as[place] == 0 and categories is not None
            part = part if known else f"({missing} ? {whole.missing_as[place]} : {part})"
        elif planned.sees_gap(k):
            absent.append(missing)
        parts.append(part)
    test = f"{' + '.join(parts) or '0'} >= {whole.threshold}"
    if not absent:
        return test
    return f"({' || '.join(absent)}) ? {int(bool(comparison.missing))} : {test}"


# -- Words that are harmless in C, whatever they hold.

_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;<>=+\-()]")


def quoted(text: str) -> str:
    """Write text as a string of C: anything but plain letters as octal bytes, so that no trigraph or escape arises.

    Examples
    --------
    >>> from bgn.export.programs.c import quoted
    >>> print(quoted('a "b" ??/'))
    "a \\042b\\042 \\077\\077\\057"
    """
    return '"' + "".join(c if _PLAIN.fullmatch(c) else "".join(f"\\{b:03o}" for b in c.encode()) for c in text) + '"'


def comment(text: str) -> str:
    """Write text so that it neither ends a comment nor joins lines."""
    return re.sub(r"[*/\\?]", " ", clean(text)).encode("ascii", "replace").decode().replace("?", ".")


def check_name(name: str) -> None:
    """Refuse what C cannot call a function."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name):
        raise ValueError(f"name must be letters, digits and _, the first of them a letter; got {name!r}.")
