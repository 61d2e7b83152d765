"""A network as a single header in C99: no allocation, hexadecimal floats, nothing to link but the C library."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from decimal import localcontext
from typing import Any

from bgn.export.condition import bounds
from bgn.export.plan import (
    NOT_TEXT,
    Absent,
    ExportPlan,
    Input,
    OneOf,
    PlannedComparison,
    PlannedCondition,
    check_texts,
    plan,
    write_file,
)
from bgn.export.programs.statements import Statements, indented
from bgn.export.scorecard import scorecard
from bgn.model.numbers import EXACT, written
from bgn.text import clean, quote_name

_MODEL_TOP = """\
/* {about}
   Written by bgn. A row is an array of doubles, in the order of {name}_columns: a category is its number
   (see {name}_category_...), NAN is a missing value{refused}.
   Scores are the same bits as bgn computes where double arithmetic is IEEE 754, one rounding per operation: compile
   without -ffast-math, and on 32-bit x86 with -msse2 -mfpmath=sse. Contraction to fused multiply-add is switched off
   below for GCC and Clang; for other compilers switch it off (-ffp-contract=off). */
#ifndef {guard}
#define {guard}
#include <float.h>
#include <math.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "compile without -ffast-math: NaN stands for a missing value, and sums are added in order"
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
_MOST_COMPARED = 3  # categories that stand one by one
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
    """C's spelling, in which categories are numbers."""

    def number(self, value: float) -> str:
        return f"{value:.1f}" if value == int(value) and abs(value) < 1e15 else value.hex()

    def missing(self) -> str:
        return "NAN"

    def category(self, given: Input, code: int) -> str:
        return str(code)

    def among(self, k: int, codes: Sequence[int], negated: bool) -> str:
        if len(codes) <= _MOST_COMPARED:  # none of them is below 0
            tests = [f"x{k} {'!=' if negated else '=='} {code}" for code in codes or [-1]]
            return (self.both if negated else self.either).join(tests)
        held = [str(int((code in codes) is not negated)) for code in range(len(self.plan.inputs[k].names) + 1)]
        return f"{self.table(held)}[x{k}]"

    def no_category(self, k: int) -> str:
        return f"x{k} == {len(self.plan.inputs[k].names)}"

    def looked_up(self, k: int, values: Sequence[str], missing: str) -> str:
        return f"{self.table([*values, missing])}[x{k}]"

    def assign(self, name: str, value: str, kind: str = "double") -> str:
        return f"const {kind} {name} = {value};"

    def remark(self, rule: int) -> list[str]:
        return [f"/* {comment(self.plan.rule_texts[rule])} */"]


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
    >>> print("\\n".join(bgn.export.to_c(network).splitlines()[26:38]))
    /* The raw score. */
    static inline double bgn_score(const double *row) {
        double x0 = row[0];
        if (isinf(x0)) return NAN;
        if (x0 != x0) return NAN;
        double x1 = row[1];
        if (isinf(x1)) return NAN;
        if (x1 != x1) return NAN;
        double t0 = 495.0;
        /* income + 0.59 age >= 63.56 */
        t0 += 1010.0 * (x0 + 0x1.2e147ae147ae1p-1 * x1 >= 0x1.fc7ae147ae148p+5);
        return t0 / 1000.0;
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name):
        raise ValueError(f"name must be letters, digits and _, the first of them a letter; got {name!r}.")
    planned = plan(model)
    check_texts(planned.texts, NOT_TEXT, "C")
    return write_file(_integer_header(planned, model, name, decimals) if integers else _header(planned, name), path)


def _header(planned: ExportPlan, name: str) -> str:
    refused = "an infinite number" if any(given.categories is None for given in planned.inputs) else ""
    if any(given.refuses for given in planned.inputs):
        refused += f"{' or ' * bool(refused)}a missing value that the model refuses"
    refused = refused and f"; the score of {refused} is NAN"
    about = f"Predicts {comment(quote_name(planned.target))}."
    parts = [_MODEL_TOP.format(about=about, name=name, guard=f"{name.upper()}_MODEL_H", refused=refused)]
    parts += [f"/* {comment(sentence)} */" for sentence in planned.to_do]
    parts.append(_array("char *const", f"{name}_columns", [quoted(given.name) for given in planned.inputs]))
    if planned.classes is not None:
        parts.append(_array("char *const", f"{name}_classes", list(map(quoted, planned.class_names))))
    for k, given in enumerate(planned.inputs):
        if given.categories is not None:
            tests = [f"if (!strcmp(text, {quoted(text)})) return {code}.0;" for code, text in enumerate(given.names)]
            function = f"double {name}_category_{k}(const char *text)"
            about = f"The number of a category of {name}_columns[{k}]."
            parts.append(_function(about, function, [*tests, "return NAN;"]).strip())
    statements = CStatements(planned)
    statements.prefix = f"{name}_"
    softmax, outputs = planned.link == "softmax", planned.outputs
    refusal = f"{{ for (int k = 0; k < {outputs}; k++) out[k] = NAN; return; }}" if softmax else "return NAN;"
    lines = [] if planned.inputs else ["(void)row;"]
    for k, given in enumerate(planned.inputs):
        absent, fill = statements.absent(k), statements.fill(given)
        if given.categories is None:
            lines += [f"double x{k} = row[{k}];", f"if (isinf(x{k})) {refusal}"]
        else:
            none = len(given.categories)
            lines.append(f"int x{k} = row[{k}] >= 0.0 && row[{k}] < {none}.0 ? (int)row[{k}] : {none};")
        if given.refuses:
            lines.append(f"if ({absent}) {refusal}")
        elif fill is not None:
            lines.append(f"if ({absent}) x{k} = {fill};")
    lines += [f"double t{k} = {statements.number(intercept)};" for k, intercept in enumerate(planned.intercept)]
    lines += statements.body()
    if softmax:
        lines += [f"out[{output}] = {statements.total(output)};" for output in range(outputs)]
        score = ("The raw scores, one per class.", f"void {name}_scores(const double *row, double *out)")
    else:
        lines.append(f"return {statements.total(0)};")
        score = ("The raw score.", f"double {name}_score(const double *row)")
    for values, table in statements.tables.items():
        parts.append(_array("unsigned char" if set(values) <= {"0", "1"} else "double", table, values))
    predict = _LINKS[planned.link].format(name=name, outputs=outputs)
    if planned.bounds:  # NAN is beyond none of them
        held = [f"double total = {name}_score(row);", f"return {statements.held('total')};"]
        predict = _function("The prediction.", f"double {name}_predict(const double *row)", held)
    return "\n".join(parts) + _function(*score, lines) + predict + _END


def _array(kind: str, name: str, values: Sequence[str]) -> str:
    """Write an array, which C wants to have an element."""
    return f"static const {kind} {name}[{len(values) or 1}] = {{{', '.join(values) or '0'}}};"


def _function(about: str, declared: str, lines: Sequence[str]) -> str:
    return f"\n/* {about} */\nstatic inline {declared} {{\n{indented(lines)}\n}}\n"


# -- A card of points as a C99 header without floats, for machines that have none.

_MOST = 1 << 31

_POINTS_TOP = """\
/* Points of a card that predicts {target}: {target} = {start} + {unit} x points.{within} Written by bgn; no floats.
   A row is an array of int32_t, in the order of {name}_columns: a number times {name}_scales, which must be whole, or
   the number of a category; INT32_MIN is a missing value.
   Sums of several columns are exact here; bgn adds them up in floats, and may answer otherwise where one is exactly on
   its threshold. */
#ifndef {guard}
#define {guard}
#include <stdint.h>

"""


def _integer_header(planned: ExportPlan, model: Any, name: str, decimals: int) -> str:
    """Return the header of the card that a model is."""
    card = scorecard(model)
    if card.classes:
        raise ValueError("integers=True is for cards of one total; this one has points for several classes.")
    if len(planned.layers) > 1:
        raise ValueError(f"integers=True is for networks of one hidden layer; got {len(planned.layers)}.")
    conditions = planned.last.conditions
    places = [_places(planned, k, decimals) for k in range(len(planned.inputs))]
    about = {"target": comment(quote_name(planned.target)), "name": name}
    about |= {"start": f"{card.start[0]:f}", "unit": f"{card.unit:f}", "guard": f"{name.upper()}_POINTS_H"}
    about["within"] = f" {comment(bounds(card.terms))}" if planned.bounds else ""
    parts = [_POINTS_TOP.format(**about).removesuffix("\n")]
    parts += [f"/* {comment(sentence)} */" for sentence in planned.to_do]
    parts.append(_array("char *const", f"{name}_columns", [quoted(given.name) for given in planned.inputs]))
    parts.append(_array("int32_t", f"{name}_scales", [str(10**own) for own in places] or ["1"]))
    lines = [] if planned.inputs else ["(void)row;"]
    for k, given in enumerate(planned.inputs):
        lines.append(f"int64_t x{k} = row[{k}];")
        absent, fill = f"x{k} == INT32_MIN", given.fill
        if given.categories is not None:
            parts.append(_array("char *const", f"{name}_category_{k}", list(map(quoted, given.names))))
            absent = f"x{k} < 0 || x{k} >= {len(given.categories)}"
            fill = float(len(given.categories)) if fill is None else fill
        if given.refuses:
            lines.append(f"if ({absent}) return -1;")
        elif fill is not None:
            lines.append(f"if ({absent}) x{k} = {int(written(fill).scaleb(places[k], EXACT))};")
    lines.append(f"int64_t total = {int(planned.intercept[0])};")
    for addend in planned.addends:
        tests = [_whole_condition(planned, conditions[k], places) for k in planned.rules[addend.rule]]
        lines.append(f"/* {comment(planned.rule_texts[addend.rule])} */")
        lines.append(f"total += {int(addend.coef[0])} * ({' && '.join(tests)});")
    with localcontext(EXACT):
        start, unit = int(card.start[0] * int(planned.over)), int(card.unit * int(planned.over)) or 1
    lines.append(f"return (int32_t)((total - ({start})) / {unit});")
    refused = "; -1 where the card refuses a missing value" if any(given.refuses for given in planned.inputs) else ""
    function = _function(f"The points of a row{refused}.", f"int32_t {name}_points(const int32_t *row)", lines)
    return "\n".join(parts) + "\n" + function + "\n#endif\n"


def _places(planned: ExportPlan, k: int, least: int) -> int:
    """Return how many decimals of a number are kept: as many as its thresholds have."""
    if planned.inputs[k].categories is not None:
        return 0
    comparisons = (condition for condition in planned.last.conditions if isinstance(condition, PlannedComparison))
    thresholds = [own.threshold for own in comparisons if planned.last.sums[own.summation].inputs == (k,)]
    return max([least, *map(_decimals, thresholds), _decimals(planned.inputs[k].fill or 0.0)])


def _decimals(value: float) -> int:
    return max(0, -int(written(value).normalize(EXACT).as_tuple().exponent))


def _whole_condition(planned: ExportPlan, condition: PlannedCondition, places: list[int]) -> str:
    """Write a condition on whole numbers: all in it times a power of ten."""
    if isinstance(condition, Absent):
        return f"x{condition.input} == INT32_MIN"
    if isinstance(condition, OneOf):
        relation = "!=" if condition.missing else "=="
        tests = [f"x{condition.input} {relation} {code}" for code in condition.listed or [-2]]
        text = (" && " if condition.missing else " || ").join(tests)
        return f"({text})" if len(tests) > 1 else text
    summed, threshold = planned.last.sums[condition.summation], condition.threshold
    power = max(map(_decimals, [threshold, *(summed.missing_as or ())]), default=0)
    for k, factor in zip(summed.inputs, summed.coefficients, strict=True):
        power = max(power, max(map(_decimals, factor if isinstance(factor, tuple) else (factor,))) + places[k])

    def scaled(value: float, less: int = 0) -> int:
        return int(written(value).scaleb(power - less, EXACT))

    parts, absent, sizes = [], [], []
    for k, factor, missing_as in summed.parts(0):
        names = planned.inputs[k].categories
        missing = f"x{k} == {len(names)}" if names is not None else f"x{k} == INT32_MIN"
        if isinstance(factor, tuple):
            values, part = list(map(scaled, factor)), "0"
            sizes.append(max(map(abs, values)))
            for code, value in reversed([*enumerate(values)]):
                part = f"(x{k} == {code} ? {value} : {part})" if value else part
        else:
            whole = scaled(factor, places[k])
            sizes.append(abs(whole))
            part = f"x{k}" if whole == 1 else f"{whole} * x{k}"
        if missing_as is not None and planned.sees_missing(k):
            known = scaled(missing_as) == 0 and names is not None
            part = part if known else f"({missing} ? {scaled(missing_as)} : {part})"
        elif planned.sees_missing(k):
            absent.append(missing)
        parts.append(part)
    if max(sum(sizes), abs(scaled(threshold)) >> 31, *map(scaled, summed.missing_as or (0.0,))) >= _MOST:
        raise ValueError(
            "integers=True needs coefficients and thresholds of fewer digits, so that sums fit 64 bits; use "
            "bgn.simplify(model, X, y, points=10).network, or the version with floats."
        )
    test = f"{' + '.join(parts) or '0'} {condition.relation} {scaled(threshold)}"
    if not absent:
        return test
    if condition.missing:
        return f"({' || '.join([*absent, test])})"
    return " && ".join([*(text.replace("==", "!=") for text in absent), test])


# -- Text that is harmless in C, whatever it holds.

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
