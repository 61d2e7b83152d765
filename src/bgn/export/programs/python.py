"""A network as functions in plain Python, which need no package."""

from __future__ import annotations

import os
from typing import Any

from bgn.export.plan import ExportPlan, Input, ReasonAmounts, plan
from bgn.export.programs.straight import Statements
from bgn.model.dates import TimePart
from bgn.model.schema import category_name
from bgn.text import quote_name
from bgn.whole_file import write_whole

_LOOK = """
def _number(row, name):
    value = row.get(name)
    value = _NAN if value is None else float(value)
    if value in (math.inf, -math.inf):
        raise ValueError(f"{name!r} is infinite")
    return value
"""
_CODE = """
def _place(levels, value, none):
    if value is None or value != value:
        return none
    if not isinstance(value, str):
        value = value if isinstance(value, bool) else float(value) + 0.0
    word = value if isinstance(value, str) else repr(value).removesuffix(".0")
    return levels.get(value, levels.get(word, none))
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
    return [each / sum(odds) for each in odds]


def label(row):
    """Return the likeliest class."""
    totals = score(row)
    return CLASSES[totals.index(max(totals))]
''',
}


class PythonStatements(Statements):
    """Python's spelling."""

    def missing(self) -> str:
        return "_NAN"

    def choice(self, condition: str, yes: str, no: str) -> str:
        return f"({yes} if {condition} else {no})"

    def below(self, left: str, right: str) -> str:
        return f"not {left} < {right}"

    def truth(self, value: bool) -> str:
        return str(value)

    def assign(self, name: str, value: str) -> str:
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
        Background rows: the module gets a function ``reasons(row, count=3)``, which returns the questions with the
        largest exact SHAP values and these, against the mean answers over those rows.

    Returns
    -------
    str
        Functions ``score`` (the raw score, the same float as `predict` computes) and ``predict``, for classes also
        ``label``. A row is a mapping from names of columns to values; None and NaN are gaps.

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
    amounts = () if reasons is None else planned.reasons(reasons)
    text = _module(planned, amounts)
    if path is not None:
        write_whole(path, text.encode())
    return text


def _module(planned: ExportPlan, amounts: tuple[ReasonAmounts, ...]) -> str:
    dates = any(isinstance(each.made, TimePart) for each in planned.inputs)
    lines = [f"# Predicts {quote_name(planned.target)}. Written by bgn; needs Python alone.", "import math"]
    if dates:
        lines[1:1] = ["import datetime"]
        if any(isinstance(each.made, TimePart) and each.made.zone for each in planned.inputs):
            lines.append("import zoneinfo")
    lines += ["", '_NAN = float("nan")', f"COLUMNS = {planned.raws!r}"]
    if planned.classes is not None:
        lines.append(f"CLASSES = {planned.classes!r}")
    lines += [f"_LEVELS_{k} = {_categories(each)!r}" for k, each in enumerate(planned.inputs) if each.categories is not None]
    if amounts:
        rows = ",\n".join(f"    ({each.words!r}, {each.yes!r}, {each.no!r})" for each in amounts)
        lines.append(f"_REASONS = (\n{rows},\n)")
    helpers = ["", _LOOK, _CODE if any(map(_needs_place, planned.inputs)) else "", _DATES if dates else ""]
    lines.append("\n".join(filter(str.strip, helpers)))
    linked = _held(planned) if planned.bounds else _LINKS[planned.link]
    return "\n".join(lines) + _score(planned, amounts) + linked + (_reasons(planned) if amounts else "")


def _held(planned: ExportPlan) -> str:
    """Return the function that predicts within bounds."""
    held = PythonStatements(planned).held("total")
    return f'\n\ndef predict(row):\n    """Return the prediction."""\n    total = score(row)\n    return {held}\n'


def _needs_place(each: Input) -> bool:
    return each.categories is not None


def _categories(each: Input) -> dict[Any, int]:
    categories = each.categories or ()
    words: dict[Any, int] = {category_name(category): place for place, category in enumerate(categories)}
    return words | {category: place for place, category in enumerate(categories)}


def _read(k: int, each: Input) -> list[str]:
    """Return the lines that read an input."""
    raw = repr(each.raw)
    absent, fill = f"x{k} != x{k}", None if each.fill is None else repr(each.fill)
    if each.categories is not None:
        none = len(each.categories)
        lines, absent = [f"x{k} = _place(_LEVELS_{k}, row.get({raw}), {none})"], f"x{k} == {none}"
        fill = None if each.fill is None else repr(int(each.fill))
    elif isinstance(each.made, TimePart):
        more = [f"first={each.made.first!r}"] * bool(each.made.first) + [f"zone={each.made.zone!r}"] * bool(
            each.made.zone
        )
        lines = [f"x{k} = _part({', '.join([f'row.get({raw})', repr(each.made.part), *more])})"]
    else:
        lines = [f"x{k} = _number(row, {raw})"]
    if each.refuses:
        told = f"{each.raw!r} is missing"
        lines += [f"if {absent}:", f"    raise ValueError({told!r})"]
    elif fill is not None:
        lines += [f"if {absent}:", f"    x{k} = {fill}"]
    return lines


def _score(planned: ExportPlan, amounts: tuple[ReasonAmounts, ...]) -> str:
    written = PythonStatements(planned, answers=bool(amounts))
    lines = [line for k, each in enumerate(planned.inputs) for line in _read(k, each)]
    lines += [f"t{output} = {base!r}" for output, base in enumerate(planned.base)]
    lines += written.body()
    tables = "".join(f"\n{name} = ({', '.join(values)},)" for values, name in written.tables.items())
    tables = "\n" + tables if tables else ""
    totals = [written.total(output) for output in range(planned.outputs)]
    returned = totals[0] if planned.link != "softmax" else f"[{', '.join(totals)}]"
    told = "raw score" if planned.link != "softmax" else "raw scores"
    if not amounts:
        lines = [f'"""Return the {told}."""', *lines, f"return {returned}"]
        return tables + "\n\n\ndef score(row):\n" + "\n".join(f"    {line}" for line in lines) + "\n"
    last = len(planned.layers) - 1
    answers = ", ".join(f"h{last}_{each.comparison}" for each in amounts)
    lines.append(f"return {returned}, ({answers},)")
    body = "\n".join(f"    {line}" for line in lines)
    score = f'def score(row):\n    """Return the {told}."""\n    return _run(row)[0]\n'
    return f"{tables}\n\n\ndef _run(row):\n{body}\n\n\n{score}"


def _reasons(planned: ExportPlan) -> str:
    chosen = "totals.index(max(totals))" if planned.link == "softmax" else "0"
    return f'''

def reasons(row, count=3):
    """Return the questions that move the score most, that of the likeliest class: (question, answer, amount)."""
    totals, answers = _run(row)
    output = {chosen}
    found = [
        (words, answer > 0.0, (yes if answer > 0.0 else no)[output])
        for (words, yes, no), answer in zip(_REASONS, answers)
    ]
    return sorted(found, key=lambda each: -abs(each[2]))[:count]
'''
