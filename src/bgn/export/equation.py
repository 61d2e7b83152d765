"""The equation of a model in any format.

One output is a sum of lines, one per term (:meth:`bgn.export.styles.Text.whole`); several are a table with a line per
term and a column per class. Both write the same terms, :func:`bgn.as_terms`, in the words of
:func:`bgn.export.condition.describe`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bgn.export.condition import describe, describe_linear, ends, remarks
from bgn.export.numbers import aligned, check_digits, round_terms, rounding_note, whole
from bgn.export.styles import PageLayout, Text, Written, layout_of
from bgn.model.numbers import sum_of
from bgn.model.readings import Terms, as_terms, network_of, with_positive_second
from bgn.pipelines import is_wrapped, see_through
from bgn.text import quote_category, quote_name

_LOG_ODDS = "The probability is 1 / (1 + exp(-log-odds)): 50 % at log-odds of 0, 73 % at 1, 88 % at 2, 95 % at 3."
_SCORES = "The probability of a class is exp(its score) over the sum of exp(score) of all classes."


def equation(
    model: Any,
    format: str = "text",
    digits: int | None = None,
    units: Mapping[str, str] | None = None,
    rows: Any = None,
    most: int | None = None,
) -> str:
    """Write a model as an equation: an intercept plus weighted terms, the heaviest first.

    Numbers are written whole: what is printed, added up by hand, is what the model predicts. For two classes it is the
    log-odds of the second; for more, one table of terms by classes.

    Parameters
    ----------
    model : Network, Terms or fitted estimator
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
        Rules to write, the heaviest, with what the others add at most [default: all, as in tables of classes].

    Returns
    -------
    str

    Examples
    --------
    >>> import bgn
    >>> layer = bgn.Layer([[1.0, 0.0], [1.0, 0.59], [0.0, 1.0]], [-65.46, -63.56, -20.0])
    >>> network = bgn.Network.of_layers([layer], [0.635, 0.505, -0.135], 2.275, ["income", "age"], "value")
    >>> print(bgn.equation(network, units={"income": "k$"}))
    value = 1.00
          + 1.27 [income >= 65.46 k$]
          + 1.01 [income + 0.59 age >= 63.56 k$]
          + 0.27 [age < 20]
    >>> print(bgn.equation(network, format="latex").splitlines()[2])
    &\\quad {} + 1.27 \\cdot \\mathbf{1}_{\\{\\text{income} \\ge 65.46\\}} \\\\
    """
    layout = layout_of(format)
    check_digits(digits)
    if most is not None and most < 1:
        raise ValueError(f"most must be at least 1; got {most}. Use None for all rules.")
    seen = see_through(model) if is_wrapped(model) else None
    model, undone, rows = (model, "", rows) if seen is None else (seen.model, seen.note, seen.rows(rows))
    terms = model if isinstance(model, Terms) else as_terms(with_positive_second(network_of(model, plain=False)))
    shown = terms if digits is None else round_terms(terms, digits)
    notes = ["" if digits is None else rounding_note(terms, shown, digits, rows), undone]
    if terms.classes:
        return _write_table(shown, layout, units, " ".join(filter(None, notes)))
    if others := () if most is None else shown.rules[most:]:
        added = sum_of(term.coef[0] for term in others)
        notes.insert(0, f"{len(others)} more rules add up to {added:f} at most.")
        shown = replace(shown, terms=(*shown.rules[:most], *shown.linear))
    return _write_sum(shown, layout.equation, units, " ".join(filter(None, notes)))


def write_target(terms: Terms, style: Text, units: Mapping[str, str] | None) -> str:
    """Write the name of the target with its unit."""
    unit = (units or {}).get(terms.target) or terms.schema.target_unit
    return style.name(terms.target) + (style.prose(f" ({quote_category(unit)})") if unit else "")


def write_hidden(terms: Terms, style: Text, units: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """Write the names and the words of the conditions below the last layer."""
    names = terms.hidden_names
    return [(style.name(names[condition.layer, condition.number]), describe(condition, terms, style, units))
            for layer in terms.hidden for condition in layer]  # fmt: skip


def _write_sum(terms: Terms, style: Text, units: Mapping[str, str] | None, note: str) -> str:
    """Write the equation of one output."""
    intercept, *weights = map(style.number, aligned([terms.intercept[0], *(term.coef[0] for term in terms.rules)]))
    lines = [("+", weight, style.factor(describe(term, terms, style, units)))
             for weight, term in zip(weights, terms.rules, strict=True)]  # fmt: skip
    for term in terms.linear:
        assert term.linear is not None
        sign, name = style.number("-") if term.coef[0] < 0 else "+", style.name(terms.names[term.linear.column])
        lines.append((sign, style.number(whole(abs(term.coef[0]))), style.scaled(name, ends(term.linear, style))))
    odds = _LOG_ODDS if terms.link == "logistic" else ""
    notes = [*remarks(terms, style, units), *map(style.prose, filter(None, [odds, note]))]
    return style.whole(
        Written(write_target(terms, style, units), intercept, lines, write_hidden(terms, style, units), notes)
    )


def _write_table(terms: Terms, layout: PageLayout, units: Mapping[str, str] | None, note: str) -> str:
    """Write the scores of several classes as a table of terms, and how probabilities follow from them."""
    style, fixed = layout.style, [terms.intercept, *(term.coef for term in terms.rules)]
    texts = iter(aligned([number for line in fixed for number in line]))
    numbers = [[style.number(next(texts)) for _ in line] for line in fixed]
    numbers += [[style.number(whole(number)) for number in term.coef] for term in terms.linear]
    lines = [*remarks(terms, style, units), *map(style.prose, filter(None, [_SCORES, note]))]
    return layout.page(table_blocks(terms, layout, units, numbers, lines, "score"), "equation")


def table_blocks(
    terms: Terms, layout: PageLayout, units: Mapping[str, str] | None, numbers: Sequence[Sequence[str]],
    lines: Sequence[str], title: str,
) -> list[str]:  # fmt: skip
    """Write what stands below the rules, the table of terms by classes, and some lines."""
    style = layout.style
    hidden = [f"{name}{style.prose(': ')}{text}" for name, text in write_hidden(terms, style, units)]
    target = quote_name(terms.schema.target) if terms.schema.target else "class"
    head = [style.prose(f"{title} of {target} ="), *map(style.category, terms.classes)]
    texts = [style.prose("if ") + describe(term, terms, style, units) for term in terms.rules]
    texts += [describe_linear(term.linear, terms, style) for term in terms.linear if term.linear is not None]
    rows = [[text, *line] for text, line in zip([style.prose("always"), *texts], numbers, strict=True)]
    return [*([layout.lines(hidden)] if hidden else []), layout.table(head, rows), layout.lines(lines)]
