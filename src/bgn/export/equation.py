"""The equation of a model in any format, and which formats there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bgn.export.class_table import PROBABILITY, class_table
from bgn.export.condition import describe
from bgn.export.html import Html
from bgn.export.latex import Latex
from bgn.export.markdown import Markdown
from bgn.export.numbers import aligned, whole
from bgn.export.remarks import ends, remarks
from bgn.export.rounded import check_digits, loss, rounded
from bgn.export.text import Text, Written
from bgn.model.decimals import sum_of
from bgn.model.term_table import TermTable, as_table
from bgn.model.terms import Terms, as_terms, network_of, outputs_of
from bgn.model.told import as_told
from bgn.pipelines import is_wrapped, see_through
from bgn.printable import quote_category

FORMATS: dict[str, Callable[[], Text]] = {
    "text": Text,
    "latex": Latex,
    "markdown": Markdown,
    "html": Html,
}


def equation(
    model: Any,
    format: str = "text",
    digits: int | None = None,
    units: Mapping[str, str] | None = None,
    rows: Any = None,
    most: int | None = None,
) -> str:
    """Write a model as an equation: a base value plus weighted yes/no terms, the heaviest first.

    Numbers are written whole: what is printed, added up by hand, is what the model predicts. For two classes it is the
    log-odds of the second; for more, one table of questions by classes.

    Parameters
    ----------
    model : Network, Terms or fitted estimator
        One with slopes for several classes gets one equation per class.
    format : {"text", "latex", "markdown", "html"}, default "text"
        LaTeX is an ``align*`` that needs amsmath. HTML is one table without scripts.
    digits : int, optional
        Fewer digits than the model has: the text then says that it is rounded, and how far it may be off.
    units : mapping of str to str, optional
        Units by column name, written after thresholds; the target's goes beside its name. Names that the model does not
        have are left aside.
    rows : array_like or frame, optional
        Rows on which to measure what `digits` costs, such as those that the model was fitted to.
    most : int, optional
        Questions to write, the heaviest, with what the others add at most; all unless told, and in tables of classes.

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
    _check(format, digits, most)
    seen = see_through(model) if is_wrapped(model) else None
    model, undone, rows = (model, "", rows) if seen is None else (seen.model, seen.note, seen.rows(rows))
    outputs = [model] if isinstance(model, Terms) else _outputs(model)
    if isinstance(outputs, TermTable):
        return class_table(outputs, format, digits, units, undone, rows)
    texts = []
    for terms in outputs:
        shown, note = _shortened(terms, digits, rows, most)
        chances = PROBABILITY if len(outputs) > 1 and terms is outputs[-1] else ""
        texts.append(_written(shown, FORMATS[format](), units, " ".join(filter(None, [chances, note, undone]))))
        undone = ""  # said once
    return "\n\n".join(texts)


def _check(format: str, digits: int | None, most: int | None) -> None:
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}; got {format!r}.")
    check_digits(digits)
    if most is not None and most < 1:
        raise ValueError(f"most must be at least 1; got {most}. Use None for all questions.")


def _shortened(terms: Terms, digits: int | None, rows: Any, most: int | None) -> tuple[Terms, str]:
    """Return terms of so many digits, the heaviest of them, and what is to be said of both."""
    shown = terms if digits is None else rounded(terms, digits)
    note = "" if digits is None else loss(terms, shown, digits, rows)
    shown, left = _heaviest(shown, most)
    return shown, " ".join(filter(None, [left, note]))


def _heaviest(terms: Terms, most: int | None) -> tuple[Terms, str]:
    """Return the first terms, and what is to be said of the others."""
    others = [] if most is None else terms.terms[most:]
    if not others:
        return terms, ""
    added = sum_of(term.amount for term in others)
    return replace(terms, terms=terms.terms[:most]), f"{len(others)} more questions add up to {added:f} at most."


def _outputs(model: Any) -> list[Terms] | TermTable:
    """Return what is written of a model: one equation, one table of classes or, with slopes, an equation per class."""
    network = as_told(network_of(model, plain=False))
    if network.link == "softmax":
        return as_table(network) if network.slopes is None else list(map(as_terms, outputs_of(network)))
    return [as_terms(network)]


def _written(terms: Terms, style: Text, units: Mapping[str, str] | None, note: str) -> str:
    """Write the equation of one output."""
    base, *amounts = map(style.number, aligned([terms.start, *(term.amount for term in terms.terms)]))
    conditions = [style.asked(describe(term.condition, terms, style, units)) for term in terms.terms]
    lines = [("+", weight, condition) for weight, condition in zip(amounts, conditions, strict=True)]
    for term in terms.linear_terms:
        sign, slope = style.number("-") if term.slopes[0] < 0 else "+", whole(abs(term.slopes[0]))
        lines.append((sign, style.number(slope), style.scaled(style.name(terms.names[term.column]), *ends(term))))
    unit = (units or {}).get(terms.target) or terms.schema.target_unit
    names = terms.hidden_names
    return style.whole(
        Written(
            target=style.name(terms.target) + (style.words(f" ({quote_category(unit)})") if unit else ""),
            base=base,
            lines=lines,
            hidden=[
                (style.name(names[each.layer, each.neuron]), describe(each, terms, style, units))
                for layer in terms.hidden
                for each in layer
            ],
            notes=[*remarks(terms, style, units), *map(style.words, filter(None, [_chance(terms), note]))],
        )
    )


def _chance(terms: Terms) -> str:
    """Say how a probability follows from log-odds; nothing for numbers."""
    if terms.link != "logistic":
        return ""
    return "The probability is 1 / (1 + exp(-log-odds)): 50 % at log-odds of 0, 73 % at 1, 88 % at 2, 95 % at 3."
