"""A network as functions in plain Python, which need no package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from bgn.export.plan import ExportPlan, Input, Reason, plan, write_file
from bgn.export.programs.statements import Statements, indented, native_category
from bgn.text import quote_name

_LOOK = """
def _number(row, name):
    value = row.get(name)
    value = _NAN if value is None else float(value)
    if value in (math.inf, -math.inf):
        raise ValueError(f"{name!r} is infinite")
    return value
"""
_CATEGORY = """
def _category(categories, value):
    if value is None or value != value:
        return None
    if not isinstance(value, str):
        value = value if isinstance(value, bool) else float(value) + 0.0
    text = value if isinstance(value, str) else repr(value).removesuffix(".0")
    return categories.get(value, categories.get(text))
"""
_DATES = """
def _time(value, zone):
    if value is None or value != value:
        return None
    if not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    if (value.tzinfo is None) != (zone is None):
        raise ValueError(f"{value!r} must have {'no' if zone is None else 'a'} time zone")
    return value if zone is None else value.astimezone(zoneinfo.ZoneInfo(zone)).replace(tzinfo=None)


def _part(value, part, first=None, zone=None):
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(microseconds=1) / 86400000000
    value = value if isinstance(value, datetime.time) else _time(value, zone)
    if value is None:
        return _NAN
    if part == "days":
        return (value - datetime.datetime.fromisoformat(first)) // datetime.timedelta(microseconds=1) / 86400000000
    if part in ("hour", "time"):
        return (((value.hour * 60 + value.minute) * 60 + value.second) * 1000000 + value.microsecond) / 3.6e9
    return float(value.isoweekday() if part == "weekday" else getattr(value, part))
"""
_LINKS = {
    "identity": '''

def predict(row):
    """Return the prediction."""
    return score(row)
''',
    "logistic": '''

def predict(row):
    """Return the probability of CLASSES[1]."""
    total = score(row)
    odds = math.exp(-abs(total))
    return (1.0 if total >= 0.0 else odds) / (1.0 + odds)


def label(row):
    """Return the likelier class."""
    return CLASSES[score(row) > 0.0]
''',
    "softmax": '''

def predict(row):
    """Return the probabilities of CLASSES."""
    totals = score(row)
    odds = [math.exp(total - max(totals)) for total in totals]
    return [part / sum(odds) for part in odds]


def label(row):
    """Return the likeliest class."""
    totals = score(row)
    return CLASSES[totals.index(max(totals))]
''',
}


class PythonStatements(Statements):
    """Python's spelling."""

    both, either, negation = " and ", " or ", "not "

    def missing(self) -> str:
        return "_NAN"

    def choice(self, condition: str, yes: str, no: str) -> str:
        return f"({yes} if {condition} else {no})"

    def category(self, given: Input, code: int) -> str:
        return repr(native_category(given, code))

    def among(self, k: int, codes: Sequence[int], negated: bool) -> str:
        texts = [self.category(self.plan.inputs[k], code) for code in codes]
        if len(texts) == 1:
            return f"{self.names[k]} {'!=' if negated else '=='} {texts[0]}"
        return f"{self.names[k]} {'not in' if negated else 'in'} ({', '.join(texts)})"

    def no_category(self, k: int) -> str:
        return f"{self.names[k]} is None"

    def looked_up(self, k: int, values: Sequence[str], missing: str) -> str:
        texts = (self.category(self.plan.inputs[k], code) for code in range(len(values)))
        entries = [f"{text}: {value}" for text, value in zip(texts, values, strict=True)]
        return f"{self.table(entries)}.get({self.names[k]}, {missing})"

    def assign(self, name: str, value: str, kind: str = "double") -> str:
        return f"{name} = {value}"

    def add(self, name: str, value: str) -> str:
        return f"{name} += {value}"


def to_python(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    reasons: Any = None,
) -> str:
    """Write a model as a module of plain Python, which needs no package.

    Parameters
    ----------
    model : Network or fitted estimator
    path : str or path-like, optional
        File to write, whole or not at all.
    reasons : array_like or frame, optional
        Background rows: the module gets a function ``reasons(row, count=3)``, which returns the rules with the largest
        exact SHAP values, whether they hold, and these values, against the mean over those rows.

    Returns
    -------
    str
        Functions ``score`` (the raw score, the same float as `predict` computes) and ``predict``, for classes also
        ``label``. A row is a mapping from names of columns to values; None and NaN are missing values.

    Examples
    --------
    >>> import bgn
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.59]], [-63.56])], [0.505], 1.0, ["income", "age"], "value")
    >>> program = bgn.export.to_python(network)
    >>> names = {}
    >>> exec(program, names)
    >>> names["predict"]({"income": 60.0, "age": 30.0}), network.predict([[60.0, 30.0]])
    (1.505, array([1.505]))
    """
    planned = plan(model)
    return write_file(_module(planned, () if reasons is None else planned.reasons(reasons)), path)


def _module(planned: ExportPlan, reasons: tuple[Reason, ...]) -> str:
    parts = [given.made for given in planned.inputs if given.made is not None]
    statements = PythonStatements(planned, keep_all=bool(reasons))
    statements.call_inputs_by_their_columns()
    lines = [f"# Predicts {quote_name(planned.target)}. Written by bgn; needs Python alone."]
    lines += ["import datetime"] * bool(parts) + ["import math"]
    lines += ["import zoneinfo"] * any(part.zone for part in parts)
    lines += ["", '_NAN = float("nan")', f"COLUMNS = {planned.raws!r}"]
    if planned.classes is not None:
        lines.append(f"CLASSES = {planned.classes!r}")
    categorical = [(k, given) for k, given in enumerate(planned.inputs) if given.categories is not None]
    for k, given in categorical:  # by name and by value
        known: dict[Any, Any] = {name: native_category(given, code) for code, name in enumerate(given.names)}
        known |= {category: native_category(given, code) for code, category in enumerate(given.categories or ())}
        lines.append(f"_CATEGORIES_{k} = {known!r}")
    if reasons:
        rows = ",\n".join(f"    ({reason.text!r}, {reason.yes!r}, {reason.no!r})" for reason in reasons)
        lines.append(f"_REASONS = (\n{rows},\n)")
    helpers = [_LOOK] + [_CATEGORY] * bool(categorical) + [_DATES] * bool(parts)
    linked = _LINKS[planned.link]
    if planned.bounds:
        body = ['"""Return the prediction."""', "total = score(row)", f"return {statements.held('total')}"]
        linked = f"\n\ndef predict(row):\n{indented(body)}\n"
    program = "\n".join(lines) + "\n" + "\n".join(helpers) + _score(statements, reasons) + linked
    return program + _reasons(planned, reasons)


def _score(statements: PythonStatements, reasons: tuple[Reason, ...]) -> str:
    planned = statements.plan
    lines = [line for k, given in enumerate(planned.inputs) for line in _read(k, given, statements)]
    lines += [f"t{output} = {intercept!r}" for output, intercept in enumerate(planned.intercept)]
    lines += statements.body()
    tables = "".join(f"\n{name} = {{{', '.join(entries)}}}" for entries, name in statements.tables.items())
    tables = "\n" + tables if tables else ""
    scores = "raw score" if planned.link != "softmax" else "raw scores"
    if not reasons:
        body = indented([f'"""Return the {scores}."""', *lines, f"return {statements.totals()}"])
        return f"{tables}\n\n\ndef score(row):\n{body}\n"
    held = ", ".join(f"r{reason.rule}" for reason in reasons)
    body = indented([*lines, f"return {statements.totals()}, ({held},)"])
    score = f'def score(row):\n    """Return the {scores}."""\n    return _run(row)[0]\n'
    return f"{tables}\n\n\ndef _run(row):\n{body}\n\n\n{score}"


def _read(k: int, given: Input, statements: PythonStatements) -> list[str]:
    """Return the lines that read an input."""
    name, raw = statements.names[k], repr(given.raw)
    if given.categories is not None:
        line = f"{name} = _category(_CATEGORIES_{k}, row.get({raw}))"
    elif given.made is not None:
        more = [f"{part}={getattr(given.made, part)!r}" for part in ("first", "zone") if getattr(given.made, part)]
        line = f"{name} = _part({', '.join([f'row.get({raw})', repr(given.made.part), *more])})"
    else:
        line = f"{name} = _number(row, {raw})"
    if given.refuses:
        return [line, f"if {statements.absent(k)}:", f"    raise ValueError({f'{given.raw!r} is missing'!r})"]
    fill = statements.fill(given)
    return [line] if fill is None else [line, f"if {statements.absent(k)}:", f"    {name} = {fill}"]


def _reasons(planned: ExportPlan, reasons: tuple[Reason, ...]) -> str:
    chosen = "totals.index(max(totals))" if planned.link == "softmax" else "0"
    return f'''

def reasons(row, count=3):
    """Return the rules that move the score most, that of the likeliest class: (rule, whether it holds, SHAP value)."""
    totals, holding = _run(row)
    output = {chosen}
    values = [(rule, holds, (yes if holds else no)[output]) for (rule, yes, no), holds in zip(_REASONS, holding)]
    return sorted(values, key=lambda value: -abs(value[2]))[:count]
''' * bool(reasons)
