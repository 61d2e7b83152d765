"""The equation of a model as text, LaTeX, Markdown or HTML, from its terms.

Each format is a small class that knows how to write a name, a relation and the whole; the wording of a condition is
decided once, in :func:`describe`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from bgn.terms import Condition, Terms, as_terms
from bgn.writing import amounts, clean, colour, number


def one_hot(condition: Condition, names: tuple[str, ...]) -> tuple[str, str, bool] | None:
    """Return (column, value, wanted) when a first-layer condition asks about one category of a column, else None."""
    if condition.layer or len(condition.columns) != 1 or " = " not in names[condition.columns[0]]:
        return None
    above = condition.relation in (">=", ">")
    zero, one = condition.holds(np.array([[0.0], [1.0]])[:, [0] * (condition.columns[0] + 1)])
    if zero == one:
        return None
    column, value = names[condition.columns[0]].split(" = ", 1)
    return column, value, above


@dataclass(frozen=True)
class Written:
    """The parts of an equation, already written in one format."""

    target: str
    base: str
    weights: list[str]
    conditions: list[str]
    hidden: list[tuple[str, str]]


def describe(
    condition: Condition,
    terms: Terms,
    style: Text | None = None,
    digits: int = 3,
    units: Mapping[str, str] | None = None,
) -> str:
    """Write a condition in words and numbers.

    Parameters
    ----------
    condition : Condition
        One of `terms`.
    terms : Terms
        Where it comes from.
    style : Text, optional
        How to write; plain text unless told.
    digits : int, default 3
        Significant digits.
    units : mapping of str to str, optional
        Units of columns, by name.

    Returns
    -------
    str

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> terms = as_terms(Network([Layer([[1.0], [-1.0]], [-0.5, 0.5])], [1.0, 1.0], 0.0, ["season = winter"]))
    >>> [describe(term.condition, terms) for term in terms.terms]
    ['season = winter', 'season is not winter']
    """
    style = Text() if style is None else style
    if not condition.columns:
        return style.words("always" if condition.holds(np.zeros((1, 1)))[0] else "never")
    if condition.layer:
        logic = _logic(condition, terms, style)
        if logic is not None:
            return logic
    category = one_hot(condition, terms.names)
    if category is not None:
        title, value, wanted = category
        return f"{style.name(title)}{style.words(' = ' if wanted else ' is not ')}{style.name(value)}"
    parts = ""
    for column, coefficient in zip(condition.columns, condition.coefficients, strict=True):
        written = style.name(_input_name(condition.layer, column, terms))
        if abs(coefficient) != 1.0:
            written = style.product(style.number(number(abs(coefficient), digits)), written)
        minus = style.number("-")
        sign = minus if coefficient < 0 else "+"
        parts += f" {sign} {written}" if parts else (minus if coefficient < 0 else "") + written
    threshold = style.number(number(condition.threshold, digits))
    unit = (units or {}).get(terms.names[condition.leading or 0]) if condition.layer == 0 else None
    return f"{parts} {style.relations[condition.relation]} {threshold}" + (style.words(_unit(unit)) if unit else "")


def _unit(unit: str) -> str:
    """Return a unit as it stands after a number: 1000 USD is multiplied."""
    unit = clean(unit)
    return f" \N{MULTIPLICATION SIGN} {unit}" if unit[0].isdigit() else f" {unit}"


def hidden_names(terms: Terms) -> dict[tuple[int, int], str]:
    """Return the names h1, h2, ... of the neurons below the last layer, by layer and neuron."""
    conditions = (each for layer in terms.hidden for each in layer)
    return {(each.layer, each.neuron): f"h{i}" for i, each in enumerate(conditions, start=1)}


def _input_name(layer: int, column: int, terms: Terms) -> str:
    """Name an input of a layer: a column of the table, or a neuron of the layer below."""
    if layer:
        return hidden_names(terms)[layer - 1, column]
    name = terms.names[column]
    return f"({name})" if " = " in name else name


def _logic(condition: Condition, terms: Terms, style: Text) -> str | None:
    """Write a condition on one or two answers of the layer below with and, or, not; None when it reads more."""
    names = [style.name(_input_name(condition.layer, column, terms)) for column in condition.columns]
    if len(names) > 2:
        return None
    table = np.zeros((2 ** len(names), max(condition.columns) + 1))
    table[:, list(condition.columns)] = list(product((0.0, 1.0), repeat=len(names)))
    yes = [tuple(row) for row in table[condition.holds(table)][:, list(condition.columns)]]
    if len(yes) in (0, len(table)):
        return style.words("always" if yes else "never")
    fixed = {i: values.pop() for i in range(len(names)) if len(values := {row[i] for row in yes}) == 1}
    if fixed and len(yes) == 2 ** (len(names) - len(fixed)):
        literals, glue = fixed, " and "
    else:
        # Three of four rows: everything but the one row that says no.
        no = next(row for row in product((0.0, 1.0), repeat=2) if row not in yes)
        literals, glue = {i: 1.0 - value for i, value in enumerate(no)}, " or "
    written = [names[i] if value else style.words("not ") + names[i] for i, value in literals.items()]
    return style.words(glue).join(written)


@dataclass(frozen=True)
class Text:
    """Plain text for a terminal, one term a line."""

    relations: ClassVar[Mapping[str, str]] = {">=": ">=", "<": "<", ">": ">", "<=": "<="}

    def name(self, name: str) -> str:
        return clean(name)

    def words(self, words: str) -> str:
        return words

    def number(self, written: str) -> str:
        return written

    def product(self, coefficient: str, name: str) -> str:
        return f"{coefficient} {name}"

    def whole(self, parts: Written) -> str:
        """Lay the equation out."""
        lines = [f"{name} = [{condition}]" for name, condition in parts.hidden]
        if lines:
            lines.append("")
        widest = max(map(len, [parts.base, *parts.weights]))
        lines.append(f"{parts.target} = {parts.base:>{widest}}")
        margin = " " * len(parts.target)
        lines += [
            f"{margin} + {w:>{widest}} [{condition}]"
            for w, condition in zip(parts.weights, parts.conditions, strict=True)
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Signs(Text):
    """Plain text with mathematical signs, for figures."""

    relations: ClassVar[Mapping[str, str]] = {">=": "≥", "<": "<", ">": ">", "<=": "≤"}

    def number(self, written: str) -> str:
        return written.replace("-", "\N{MINUS SIGN}")


_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "-": "{-}",
}  # fmt: skip


@dataclass(frozen=True)
class Latex(Text):
    """LaTeX: an ``align*`` that needs amsmath alone; names outside Latin letters want LuaLaTeX or XeLaTeX."""

    relations: ClassVar[Mapping[str, str]] = {">=": r"\ge", "<": "<", ">": ">", "<=": r"\le"}

    def name(self, name: str) -> str:
        return self.words(clean(name))

    def words(self, words: str) -> str:
        return r"\text{" + "".join(_TEX.get(letter, letter) for letter in words) + "}"

    def number(self, written: str) -> str:
        mantissa, _, exponent = written.partition("e")
        return rf"{mantissa} \times 10^{{{int(exponent)}}}" if exponent else mantissa

    def product(self, coefficient: str, name: str) -> str:
        return rf"{coefficient} \cdot {name}"

    def whole(self, parts: Written) -> str:
        lines = [rf"{name} &= \mathbf{{1}}_{{\{{{condition}\}}}}" for name, condition in parts.hidden]
        lines.append(rf"{parts.target} &= {parts.base}")
        lines += [
            rf"&\quad {{}} + {weight} \cdot \mathbf{{1}}_{{\{{{condition}\}}}}"
            for weight, condition in zip(parts.weights, parts.conditions, strict=True)
        ]
        return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"


@dataclass(frozen=True)
class Markdown(Text):
    """A Markdown table."""

    relations: ClassVar[Mapping[str, str]] = {">=": "≥", "<": "&lt;", ">": "&gt;", "<=": "≤"}

    def name(self, name: str) -> str:
        return self.words(clean(name))

    def words(self, words: str) -> str:
        return re.sub(r"([\\`*_{}\[\]()#+!|~$^=:@-])", r"\\\1", html.escape(words)).replace("\\=", "=")

    def whole(self, parts: Written) -> str:
        lines = [f"{name} = {condition}  " for name, condition in parts.hidden]
        if lines:
            lines.append("")
        lines += [f"| {parts.target} | |", "|---:|:---|", f"| {parts.base} | always |"]
        lines += [
            f"| + {weight} | if {condition} |"
            for weight, condition in zip(parts.weights, parts.conditions, strict=True)
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Html(Text):
    """A small HTML table that takes the page's own colours; the coefficients' colours are those of the figures."""

    relations: ClassVar[Mapping[str, str]] = {">=": "≥", "<": "&lt;", ">": "&gt;", "<=": "≤"}

    def name(self, name: str) -> str:
        return f"<b>{html.escape(clean(name))}</b>"

    def words(self, words: str) -> str:
        return html.escape(words)

    def number(self, written: str) -> str:
        return written.replace("-", "\N{MINUS SIGN}")

    def product(self, coefficient: str, name: str) -> str:
        return f"{coefficient} {name}"

    def whole(self, parts: Written) -> str:
        cell = '<td style="text-align:left;padding:2px 8px;overflow-wrap:anywhere">'
        figure = '<td style="text-align:right;padding:2px 8px;white-space:nowrap;border-left:6px solid {}">{}</td>'
        rows = [f"{figure.format('transparent', name + ' =')}{cell}{text}</td>" for name, text in parts.hidden]
        rows.append(f"{figure.format('currentColor', parts.base)}{cell}always</td>")
        rows += [
            f"{figure.format(colour(i), '+ ' + weight)}{cell}if {condition}</td>"
            for i, (weight, condition) in enumerate(zip(parts.weights, parts.conditions, strict=True))
        ]
        body = "".join(f'<tr style="background:none">{row}</tr>' for row in rows)
        caption = f'<caption style="text-align:left;padding:2px 8px;caption-side:top">{parts.target} =</caption>'
        style = "border-collapse:collapse;max-width:100%;color:inherit"
        return f'<table class="bgn-equation" style="{style}">{caption}{body}</table>'


_FORMATS: dict[str, Callable[[], Text]] = {"text": Text, "latex": Latex, "markdown": Markdown, "html": Html}


def equation(model: Any, format: str = "text", digits: int = 3, units: Mapping[str, str] | None = None) -> str:
    """Write a model as an equation: a base value plus weighted yes/no terms, the heaviest first.

    Parameters
    ----------
    model : Network, Terms or fitted estimator
    format : {"text", "latex", "markdown", "html"}, default "text"
        LaTeX is an ``align*`` that needs amsmath. HTML is one table without scripts.
    digits : int, default 3
        Significant digits. Thresholds that are short anyway are written whole.
    units : mapping of str to str, optional
        Units by column name, written after thresholds; the target's goes beside its name. Names that the model does not
        have are left aside.

    Returns
    -------
    str

    Examples
    --------
    >>> import bgn
    >>> layer = bgn.Layer([[1.0, 0.0], [1.0, 0.59], [0.0, 1.0]], [-65.46, -63.56, -20.0])
    >>> network = bgn.Network([layer], [0.635, 0.505, -0.135], 2.275, ["income", "age"], "value")
    >>> print(bgn.equation(network, units={"income": "k$"}))
    value = 1.00
          + 1.27 [income >= 65.46 k$]
          + 1.01 [income + 0.59 age >= 63.56 k$]
          + 0.27 [age < 20]
    >>> print(bgn.equation(network, format="latex").splitlines()[2])
    &\\quad {} + 1.27 \\cdot \\mathbf{1}_{\\{\\text{income} \\ge 65.46\\}} \\\\
    """
    if format not in _FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, _FORMATS))}; got {format!r}.")
    if not isinstance(digits, int) or not 1 <= digits <= 17:
        raise ValueError(f"digits must be a whole number from 1 to 17; got {digits!r}.")
    terms = model if isinstance(model, Terms) else as_terms(model)
    style = _FORMATS[format]()
    heavy = [term.weight for term in terms.terms]
    base, *weights = map(style.number, amounts([terms.base, *heavy], heavy or [terms.base], digits))
    unit, names = (units or {}).get(terms.target), hidden_names(terms)
    return style.whole(
        Written(
            target=style.name(terms.target) + (style.words(f" ({clean(unit)})") if unit else ""),
            base=base,
            weights=weights,
            conditions=[describe(term.condition, terms, style, digits, units) for term in terms.terms],
            hidden=[
                (style.name(names[each.layer, each.neuron]), describe(each, terms, style, digits, units))
                for layer in terms.hidden
                for each in layer
            ],
        )
    )
