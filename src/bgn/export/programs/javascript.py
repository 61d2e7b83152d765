"""A network as an ES module of JavaScript, which needs no package and can stand in a page."""

from __future__ import annotations

import json
import os
from typing import Any

from bgn.export.plan import ExportPlan, Input, plan
from bgn.export.programs.straight import Statements
from bgn.model.dates import TimePart
from bgn.model.schema import Category, category_name
from bgn.text import quote_name
from bgn.whole_file import write_whole

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
_PLACE = """function _place(levels, value, none) {
  if (value === null) return none;
  const word = typeof value === "boolean" ? (value ? "True" : "False") : String(value);
  const found = levels.get(value) ?? levels.get(word);
  return found === undefined ? none : found;
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
  return odds.map((each) => each / sum);
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
      t0 += (x0 + 0.59 * x1 >= 63.56 ? 505 : -505);
      return t0 / 1000;
    }
    ...
    """
    planned = plan(model)
    _check_zones(planned)
    text = module(planned)
    if path is not None:
        write_whole(path, text.encode())
    return text


def _check_zones(planned: ExportPlan) -> None:
    for each in planned.inputs:
        if isinstance(each.made, TimePart) and each.made.zone not in (None, "UTC"):
            raise ValueError(
                f"model reads {each.raw!r} by the clocks of {each.made.zone}, which JavaScript has no plain words for. "
                "Export a model of the parts themselves: fit to a table that has them as columns."
            )


def module(planned: ExportPlan) -> str:
    """Return the text of the module."""
    target = quote_name(planned.target).replace("<", "\\u003c")  # no script element ends in a comment, either
    parts = [f"// Predicts {target}. Written by bgn; needs nothing else."]
    parts.append(f"export const columns = [{', '.join(map(quoted, planned.raws))}];")
    if planned.classes is not None:
        parts.append(f"export const classes = [{', '.join(map(_category, planned.classes))}];")
    for k, each in enumerate(planned.inputs):
        if each.categories is not None:
            parts.append(f"const _levels_{k} = {_map({category: place for place, category in enumerate(each.categories)})};")
    written = JavaScriptStatements(planned)
    lines = _lines(written, [line for k, each in enumerate(planned.inputs) for line in _read(k, each)])
    parts += _tables(written)
    helpers = _HELPERS + (_PLACE if any(each.categories is not None for each in planned.inputs) else "")
    helpers += _DATES if any(isinstance(each.made, TimePart) for each in planned.inputs) else ""
    told = "raw score" if planned.link != "softmax" else "raw scores"
    score = f"\n/** The {told} of a row. */\nexport {_function('score', [*lines, f'return {_returned(written)};'])}\n"
    return "\n".join(parts) + helpers + score + _predict(written) + _LABEL[planned.link]


def page_functions(planned: ExportPlan) -> str:
    """Return functions ``score``, ``answers`` and ``predict`` of a row as the network reads it, for a page.

    A row is an array with the number of a category's level, and null for a gap; answers are those of the last layer,
    null where a neuron has no weight. The statements are those of the module.
    """
    written = JavaScriptStatements(planned, answers=True)
    lines, last = _lines(written, [_read_code(k, each) for k, each in enumerate(planned.inputs)]), len(planned.layers)
    asked = planned.asked_last
    answers = [f"h{last - 1}_{asked[k]}" if k in asked else "null" for k in range(planned.network.widths[-1])]
    lines.append(f"return {{ total: {_returned(written)}, answers: [{', '.join(answers)}] }};")
    predict = _predict(written).replace("export ", "")
    parts = [*_tables(written), _function("run", lines), "const score = (row) => run(row).total;" + predict]
    parts.append("return { score, predict, answers: (row) => run(row).answers };")
    return "const bgnModel = (() => {\n" + "\n".join(parts) + "\n})();\n"


def _lines(written: JavaScriptStatements, reading: list[str]) -> list[str]:
    """Return the statements from reading a row to the sums of the outputs."""
    bases = [f"let t{output} = {written.number(base)};" for output, base in enumerate(written.plan.base)]
    return [*reading, *bases, *written.body()]


def _tables(written: JavaScriptStatements) -> list[str]:
    return [f"const {name} = [{', '.join(values)}];" for values, name in written.tables.items()]


def _function(name: str, lines: list[str]) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"function {name}(row) {{\n{body}\n}}"


def _returned(written: JavaScriptStatements) -> str:
    totals = [written.total(output) for output in range(written.plan.outputs)]
    return f"[{', '.join(totals)}]" if written.plan.link == "softmax" else totals[0]


def _predict(written: JavaScriptStatements) -> str:
    """Return the function that predicts, within bounds where there are."""
    if not written.plan.bounds:
        return _PREDICT[written.plan.link]
    lines = ["const total = score(row);", f"return {written.held('total')};"]
    return f"\n/** The prediction. */\nexport {_function('predict', lines)}\n"


def _read_code(k: int, each: Input) -> str:
    """Return the line that reads an input of a row as the network reads it."""
    if each.categories is not None:
        absent = str(len(each.categories) if each.fill is None else int(each.fill))
    else:
        absent = "NaN" if each.fill is None else repr(each.fill)
    return f"const x{k} = row[{each.place}] ?? {absent};"


def _category(category: Category) -> str:
    return quoted(category) if isinstance(category, str) else json.dumps(category)


def _map(places: dict[Category, int]) -> str:
    """Write the places of levels, by value and by word."""
    words = {quoted(category_name(category)): place for category, place in places.items()}
    pairs = words | {_category(category): place for category, place in places.items()}
    return f"new Map([{', '.join(f'[{category}, {place}]' for category, place in pairs.items())}])"


def _read(k: int, each: Input) -> list[str]:
    """Return the lines that read an input."""
    cell, name = f"_cell(row, {quoted(each.raw)})", quoted(each.raw)
    absent, fill = f"x{k} !== x{k}", None if each.fill is None else repr(each.fill)
    if each.categories is not None:
        value, absent = f"_place(_levels_{k}, {cell}, {len(each.categories)})", f"x{k} === {len(each.categories)}"
        fill = None if each.fill is None else repr(int(each.fill))
    elif isinstance(each.made, TimePart):
        first = f", {quoted(each.made.first + 'T00:00:00')}" if each.made.first else ""
        value = f"_part({cell}, {quoted(each.made.part)}, {name}{first})"
    else:
        value = f"_number({cell}, {name})"
    lines = [f"let x{k} = {value};"]
    if each.refuses:
        lines.append(f"if ({absent}) throw new Error({quoted(f'{each.raw} is missing')});")
    elif fill is not None:
        lines.append(f"if ({absent}) x{k} = {fill};")
    return lines
