"""A network as an ES module of JavaScript, which needs no package and can stand in a page."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from bgn.export.plan import ExportPlan, Input, plan, write_file
from bgn.export.programs.statements import Statements, indented, native_category
from bgn.model.schema import Category
from bgn.text import quote_name

_HELPERS = """
const _missing = (value) => value === null || value === undefined || Number.isNaN(value);
function _cell(row, name) {
  const value = Object.prototype.hasOwnProperty.call(row, name) ? row[name] : null;
  return _missing(value) ? null : value;
}
function _number(value, name) {
  if (value === null) return NaN;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value !== "number") throw new TypeError(`${name} must be a number`);
  if (!Number.isFinite(value)) throw new RangeError(`${name} is infinite`);
  return value;
}
"""
_CATEGORY = """function _category(categories, value) {
  const text = typeof value === "boolean" ? (value ? "True" : "False") : String(value);
  return value === null ? null : categories.get(value) ?? categories.get(text) ?? null;
}
"""
_DATES = """// A Date counts as its UTC fields; a number is the part itself; a time of day may be text such as 08:30.
function _part(value, part, name, first) {
  if (part === "time" && /^\\d{1,2}:\\d\\d(:\\d\\d(\\.\\d+)?)?$/.test(value)) {
    const [hours, minutes, seconds] = (value + ":0").split(":").map(Number);
    return Math.round(((hours * 60 + minutes) * 60 + seconds) * 1e6) / 3.6e9;
  }
  if (!(value instanceof Date)) return _number(value, name);
  const time = value.getTime();
  if (part === "year") return value.getUTCFullYear();
  if (part === "month") return value.getUTCMonth() + 1;
  if (part === "day") return value.getUTCDate();
  if (part === "weekday") return (value.getUTCDay() + 6) % 7 + 1;
  if (part === "hour" || part === "time") return ((time % 86400000 + 86400000) % 86400000) * 1000 / 3.6e9;
  return (time - Date.parse(first + "Z")) * 1000 / 86400000000;
}
"""
_PREDICT = {
    "identity": """
/** The prediction. */
export function predict(row) {
  return score(row);
}
""",
    "logistic": """
/** The probability of classes[1]. */
export function predict(row) {
  const total = score(row);
  const odds = Math.exp(-Math.abs(total));
  return (total >= 0 ? 1 : odds) / (1 + odds);
}
""",
    "softmax": """
/** The probabilities of the classes. */
export function predict(row) {
  const totals = score(row);
  const most = Math.max(...totals);
  const odds = totals.map((total) => Math.exp(total - most));
  const sum = odds.reduce((one, other) => one + other, 0);
  return odds.map((part) => part / sum);
}
""",
}
_LABEL = {
    "identity": "",
    "logistic": """
/** The likelier class. */
export function label(row) {
  return classes[score(row) > 0 ? 1 : 0];
}
""",
    "softmax": """
/** The likeliest class. */
export function label(row) {
  const totals = score(row);
  return classes[totals.indexOf(Math.max(...totals))];
}
""",
}


class JavaScriptStatements(Statements):
    """JavaScript's spelling."""

    def number(self, value: float) -> str:
        return repr(value).removesuffix(".0")

    def missing(self) -> str:
        return "NaN"

    def category(self, given: Input, code: int) -> str:
        return _written(native_category(given, code))

    def among(self, k: int, codes: Sequence[int], negated: bool) -> str:
        texts = [self.category(self.plan.inputs[k], code) for code in codes]
        if len(texts) == 1:
            return f"{self.names[k]} {'!==' if negated else '==='} {texts[0]}"
        return f"{'!' * negated}[{', '.join(texts)}].includes({self.names[k]})"

    def no_category(self, k: int) -> str:
        return f"{self.names[k]} === null"

    def looked_up(self, k: int, values: Sequence[str], missing: str) -> str:
        texts = (self.category(self.plan.inputs[k], code) for code in range(len(values)))
        entries = [f"[{text}, {value}]" for text, value in zip(texts, values, strict=True)]
        return f"({self.table(entries)}.get({self.names[k]}) ?? {missing})"

    def absent(self, k: int) -> str:
        return super().absent(k).replace(" != ", " !== ")


def quoted(text: str) -> str:
    """Write text as a string of JavaScript that neither ends a script element nor a line."""
    return json.dumps(text).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def to_javascript(model: Any, path: str | os.PathLike[str] | None = None) -> str:
    """Write a model as an ES module of JavaScript, for Node and browsers.

    Parameters
    ----------
    model : Network or fitted estimator
    path : str or path-like, optional
        File to write, whole or not at all.

    Returns
    -------
    str
        Functions ``score`` (the raw score, the same float as `predict` computes) and ``predict``, for classes also
        ``label``. A row is an object with a property per column; null, undefined and NaN are gaps.

    Examples
    --------
    >>> import bgn
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.59]], [-63.56])], [0.505], 1.0, ["income", "age"], "value")
    >>> print(bgn.export.to_javascript(network))  # doctest: +ELLIPSIS
    // Predicts value. Written by bgn; needs nothing else.
    export const columns = ["income", "age"];
    ...
    /** The raw score of a row. */
    export function score(row) {
    ...
      t0 += 1010 * (income + 0.59 * age >= 63.56);
      return t0 / 1000;
    }
    ...
    """
    planned = plan(model)
    for given in planned.inputs:
        if given.made is not None and given.made.zone not in (None, "UTC"):
            raise ValueError(
                f"model reads {given.raw!r} by the clocks of {given.made.zone}, which JavaScript has no plain words "
                "for. Export a model of the parts themselves: fit to a table that has them as columns."
            )
    return write_file(_module(planned), path)


def _module(planned: ExportPlan) -> str:
    """Return the text of the module."""
    target = quote_name(planned.target).replace("<", "\\u003c")  # no script element ends in a comment, either
    parts = [f"// Predicts {target}. Written by bgn; needs nothing else."]
    parts.append(f"export const columns = [{', '.join(map(quoted, planned.raws))}];")
    if planned.classes is not None:
        parts.append(f"export const classes = [{', '.join(map(_written, planned.classes))}];")
    statements = JavaScriptStatements(planned)
    statements.call_inputs_by_their_columns()
    for k, given in enumerate(planned.inputs):
        if given.categories is not None:  # by value and by name
            codes = {quoted(name): code for code, name in enumerate(given.names)}
            codes |= {_written(category): code for code, category in enumerate(given.categories)}
            pairs = ", ".join(f"[{text}, {statements.category(given, code)}]" for text, code in codes.items())
            parts.append(f"const _categories_{k} = new Map([{pairs}]);")
    lines = _lines(statements, [line for k, given in enumerate(planned.inputs) for line in _read(k, given, statements)])
    helpers = _HELPERS + (_CATEGORY if any(given.categories is not None for given in planned.inputs) else "")
    helpers += _DATES if any(given.made is not None for given in planned.inputs) else ""
    scores = "raw score" if planned.link != "softmax" else "raw scores"
    body = _function("score", [*lines, f"return {statements.totals()};"])
    score = f"\n/** The {scores} of a row. */\nexport {body}\n"
    return "\n".join([*parts, *_tables(statements)]) + helpers + score + _predict(statements) + _LABEL[planned.link]


def page_functions(planned: ExportPlan) -> str:
    """Return functions ``score``, ``answers`` and ``predict`` of a row as the network reads it, for a page.

    A row is an array with the number of each category, and null for a missing value; answers are 1 where a rule holds
    and -1 where not, null where it has no weight. The statements are those of the module.
    """
    statements = JavaScriptStatements(planned, keep_all=True)
    parts, reading = [], []
    for k, given in enumerate(planned.inputs):
        value, fill = f"row[{given.place}]", statements.fill(given)
        if given.categories is not None:
            texts = ", ".join(statements.category(given, code) for code in range(len(given.categories)))
            parts.append(f"const _categories_{k} = [{texts}];")
            value, fill = f"_categories_{k}[{value}]", fill or "null"
        reading.append(f"const x{k} = {value} ?? {fill or 'NaN'};")
    lines, numbers = _lines(statements, reading), planned.rule_numbers
    signs = [f"r{numbers[k]} ? 1 : -1" if k in numbers else "null" for k in range(len(planned.network.rules))]
    lines.append(f"return {{ total: {statements.totals()}, answers: [{', '.join(signs)}] }};")
    predict = _predict(statements).replace("export ", "")
    parts += [*_tables(statements), _function("run", lines), "const score = (row) => run(row).total;" + predict]
    parts.append("return { score, predict, answers: (row) => run(row).answers };")
    return "const bgnModel = (() => {\n" + "\n".join(parts) + "\n})();\n"


def _lines(statements: JavaScriptStatements, reading: list[str]) -> list[str]:
    """Return the statements from reading a row to the sums of the outputs."""
    numbers = map(statements.number, statements.plan.intercept)
    return [*reading, *(f"let t{output} = {number};" for output, number in enumerate(numbers)), *statements.body()]


def _tables(statements: JavaScriptStatements) -> list[str]:
    return [f"const {name} = new Map([{', '.join(entries)}]);" for entries, name in statements.tables.items()]


def _function(name: str, lines: list[str]) -> str:
    return f"function {name}(row) {{\n{indented(lines, '  ')}\n}}"


def _predict(statements: JavaScriptStatements) -> str:
    """Return the function that predicts, within bounds where there are."""
    if not statements.plan.bounds:
        return _PREDICT[statements.plan.link]
    lines = ["const total = score(row);", f"return {statements.held('total')};"]
    return f"\n/** The prediction. */\nexport {_function('predict', lines)}\n"


def _written(category: Category) -> str:
    return quoted(category) if isinstance(category, str) else json.dumps(category)


def _read(k: int, given: Input, statements: JavaScriptStatements) -> list[str]:
    """Return the lines that read an input."""
    variable, raw = statements.names[k], quoted(given.raw)
    cell = f"_cell(row, {raw})"
    if given.categories is not None:
        value = f"_category(_categories_{k}, {cell})"
    elif given.made is not None:
        first = f", {quoted(given.made.first + 'T00:00:00')}" if given.made.first else ""
        value = f"_part({cell}, {quoted(given.made.part)}, {raw}{first})"
    else:
        value = f"_number({cell}, {raw})"
    lines, fill = [f"let {variable} = {value};"], statements.fill(given)
    if given.refuses:
        lines.append(f"if ({statements.absent(k)}) throw new Error({quoted(f'{given.raw} is missing')});")
    elif fill is not None:
        lines.append(f"if ({statements.absent(k)}) {variable} = {fill};")
    return lines
