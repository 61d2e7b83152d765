"""A network as PMML 4.4: a Scorecard with reason codes where it predicts a number, else a RegressionModel."""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import isfinite
from typing import Any
from xml.etree import ElementTree as etree

from bgn.export.plan import (
    ExportPlan,
    Input,
    PlannedComparison,
    ReasonAmounts,
    SlopedInput,
    Summation,
    check_words,
    plan,
)
from bgn.model.schema import category_name
from bgn.text import quote_name
from bgn.whole_file import write_whole

# -- Fields and expressions of PMML.

_NAMESPACE = "http://www.dmg.org/PMML-4_4"
NOT_XML = "^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff"
"""What XML has no place for, as `check_words` takes it."""
_TYPES = {"words": "string", "numbers": "double", "truths": "boolean"}


class Document:
    """A document on its way: its fields, and expressions of them."""

    def __init__(self, planned: ExportPlan) -> None:
        self.plan = planned
        self.fields = [each.name for each in planned.inputs]
        self.target = planned.target
        while self.target in self.fields:
            self.target += " predicted"
        self.answers = self.free("answer")
        while any(name.startswith(self.answers) for name in self.fields):
            self.answers = f"bgn {self.answers}"
        self.root = etree.Element("PMML", {"xmlns": _NAMESPACE, "version": "4.4"})

    # -- fields ------------------------------------------------------------------------------------------------

    def dictionary(self) -> None:
        """Add the fields that there are."""
        found = etree.SubElement(self.root, "DataDictionary")
        for each, name in zip(self.plan.inputs, self.fields, strict=True):
            kind = "double" if each.categories is None else _TYPES[each.category_kind]
            numbers = each.categories is None or each.category_kind == "numbers"
            self.field(found, name, kind, None if numbers else words_of(each))
        classes = self.plan.class_words
        self.field(found, self.target, "string" if classes else "double", classes or None)

    def field(self, parent: etree.Element, name: str, kind: str, words: Iterable[str] | None) -> None:
        """Add a field, with words where it is a category."""
        sort = "continuous" if words is None else "categorical"
        field = etree.SubElement(parent, "DataField", {"name": name, "optype": sort, "dataType": kind})
        for word in words or ():
            etree.SubElement(field, "Value", {"value": word})

    def mining(self, parent: etree.Element) -> None:
        """Add what a model reads, and what it does about gaps."""
        schema = etree.SubElement(parent, "MiningSchema")
        for each, name in zip(self.plan.inputs, self.fields, strict=True):
            treated = {"invalidValueTreatment": "asMissing"}
            if each.refuses:
                treated["missingValueTreatment"] = "returnInvalid"
            elif each.fill is not None:
                treated["missingValueReplacement"] = _fill(each)
            etree.SubElement(schema, "MiningField", {"name": name, **treated})
        etree.SubElement(schema, "MiningField", {"name": self.target, "usageType": "target"})

    def targets(self, parent: etree.Element) -> None:
        """Add what predictions do not go beyond."""
        ends = {"min" if sign == "<" else "max": repr(end) for sign, end in self.plan.bounds}
        if ends:
            etree.SubElement(etree.SubElement(parent, "Targets"), "Target", {"field": self.target, **ends})

    # -- expressions -------------------------------------------------------------------------------------------

    def apply(self, function: str, *arguments: etree.Element) -> etree.Element:
        """Return a function of expressions."""
        made = etree.Element("Apply", {"function": function})
        made.extend(arguments)
        return made

    def ref(self, name: str) -> etree.Element:
        """Return the value of a field."""
        return etree.Element("FieldRef", {"field": name})

    def number(self, value: float) -> etree.Element:
        """Return a number."""
        made = etree.Element("Constant", {"dataType": "double"})
        made.text = repr(value)
        return made

    def holds(self, each: Input, name: str, word: str) -> etree.Element:
        """Return whether a field holds a level; words stand in attributes, which engines read more faithfully."""
        if each.category_kind == "numbers":
            return self.apply("equal", self.ref(name), self.number(float(word)))
        found = etree.Element("NormDiscrete", {"field": name, "value": word, "mapMissingTo": "0"})
        return self.apply("equal", found, self.number(1.0))

    def sum(self, layer: int, summed: Summation) -> etree.Element:
        """Return a sum as an expression."""
        total: etree.Element | None = None
        for place, (k, coefficient) in enumerate(zip(summed.inputs, summed.coefficients, strict=True)):
            if layer:
                part = self.apply("*", self.number(float(coefficient)), self.ref(f"{self.answers} {layer} {k + 1}"))  # type: ignore[arg-type]
            else:
                part = self.part(k, coefficient, None if summed.missing_as is None else summed.missing_as[place])
            total = part if total is None else self.apply("+", total, part)
        return self.number(0.0) if total is None else total

    def part(self, k: int, coefficient: Any, gap: float | None) -> etree.Element:
        """Return what an input adds to a sum."""
        name, each = self.fields[k], self.plan.inputs[k]
        if isinstance(coefficient, tuple):
            part = self.number(coefficient[-1] if gap is None else gap)  # the former is not reached: see _present
            for word, value in [*zip(words_of(each), coefficient, strict=True)][::-1]:
                part = self.apply("if", self.holds(each, name, word), self.number(value), part)
        elif coefficient == 1.0:
            part = self.ref(name)
        else:
            part = self.apply("*", self.number(coefficient), self.ref(name))
        if gap is None:
            return part
        return self.apply("if", self.apply("isMissing", self.ref(name)), self.number(gap), part)

    def derive(self, parent: etree.Element, name: str, expression: etree.Element) -> str:
        """Add a field that is made of others; return its name."""
        field = etree.SubElement(parent, "DerivedField", {"name": name, "optype": "continuous", "dataType": "double"})
        field.append(expression)
        return name

    def free(self, name: str) -> str:
        """Return a name that no field has."""
        while name in (*self.fields, self.target):
            name += " of bgn"
        return name


def _fill(each: Input) -> str:
    """Return what stands in for a missing value."""
    assert each.fill is not None
    return repr(each.fill) if each.categories is None else words_of(each)[int(each.fill)]


def words_of(each: Input) -> list[str]:
    """Return the levels of a category as PMML writes them."""
    if each.category_kind == "words":
        return [category_name(category) for category in each.categories or ()]
    return [category_name(category).lower() for category in each.categories or ()]  # true, 2 and 2.5


_METHODS = {"identity": "none", "logistic": "logit", "softmax": "softmax"}


def to_pmml(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    reasons: Any = None,
) -> str:
    """Write a model as PMML 4.4.

    A network of one hidden layer and one number is a Scorecard: a question is a characteristic with two attributes, and
    its reason code is its words; a linear term is one with a computed score. Others, deep ones and those of classes,
    are a RegressionModel on derived fields, the answers +-1 of their questions. Bounds are those of the target.

    Parameters
    ----------
    model : Network or fitted estimator
    path : str or path-like, optional
        File to write, whole or not at all.
    reasons : array_like or frame, optional
        Background rows, whose mean partial scores become the baselines that reason codes are ranked by; the best
        partial score of each question unless told.

    Returns
    -------
    str
        Fields are the network's columns. Engines add up partial scores in floats in an order of their own: scores
        agree to about 15 digits.

    Examples
    --------
    >>> import bgn
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0]], [-65.5])], [0.5], 1.0, ["income", "age"], "value")
    >>> print(bgn.export.to_pmml(network))  # doctest: +ELLIPSIS
    <?xml version="1.0" encoding="UTF-8"?>
    <PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
    ...
          <Characteristic name="question 1" reasonCode="income &gt;= 65.5" baselineScore="0.5">
            <Attribute partialScore="0.5">
              <SimplePredicate field="income" operator="greaterOrEqual" value="65.5" />
            </Attribute>
            <Attribute partialScore="-0.5">
              <True />
    ...
    """
    planned = plan(model)
    check_words(planned.words, NOT_XML, "PMML")
    card = len(planned.layers) == 1 and planned.link == "identity" and bool(planned.addends or planned.slopes)
    if reasons is not None and not card:
        raise ValueError("reasons in PMML are for a Scorecard: a network of one hidden layer that predicts a number.")
    text = _Models(planned).written((_amounts(planned, reasons), _lines(planned, reasons)) if card else None)
    if path is not None:
        write_whole(path, text.encode())
    return text


def _amounts(planned: ExportPlan, reasons: Any) -> tuple[ReasonAmounts, ...]:
    """Return words of all questions, and their SHAP values against a background, or against their answers' middle."""
    network = planned.network
    if reasons is not None:
        return planned.reasons(reasons)
    return planned.worded(dict.fromkeys(range(network.widths[-1]), 0.0))


def _lines(planned: ExportPlan, reasons: Any) -> list[float]:
    """Return the baselines of linear terms: what they add on average over a background, or at most."""
    if reasons is not None:
        network = planned.network
        rows = network._rows(reasons)
        pairs = zip(network.linear, network.linear_coef[:, 0].tolist(), strict=True)
        return [weight * float(term.values(rows).mean()) for term, weight in pairs]
    most = [max(each.slopes[0] * each.low, each.slopes[0] * each.high) for each in planned.slopes]
    return [each if isfinite(each) else 0.0 for each in most]


class _Models(Document):
    """A document with one of two kinds of models; `lines` are names of inputs between the ends of their slopes."""

    def __init__(self, plan: ExportPlan) -> None:
        super().__init__(plan)
        self.lines: dict[int, str] = {}

    def written(self, card: tuple[tuple[ReasonAmounts, ...], list[float]] | None) -> str:
        """Return the text: of a card, with its questions' words and amounts and the baselines of its lines."""
        header = etree.SubElement(self.root, "Header", {"description": f"Predicts {quote_name(self.plan.target)}."})
        etree.SubElement(header, "Application", {"name": "bgn"})
        if self.plan.to_do:
            etree.SubElement(header, "Annotation").text = "\n".join(self.plan.to_do)
        self.dictionary()
        if card is None:
            self._regression()
        else:
            self._scorecard(*card)
        etree.indent(self.root)
        body = etree.tostring(self.root, encoding="unicode")
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'

    # -- a scorecard -------------------------------------------------------------------------------------------

    def _scorecard(self, amounts: tuple[ReasonAmounts, ...], baselines: list[float]) -> None:
        plan, network = self.plan, self.plan.network
        card = etree.SubElement(
            self.root, "Scorecard",
            {"modelName": "bgn", "functionName": "regression", "algorithmName": "bgn",
             "initialScore": repr(network.base), "useReasonCodes": "true", "reasonCodeAlgorithm": "pointsBelow",
             "baselineMethod": "other"},
        )  # fmt: skip
        self.mining(card)
        self._output(card)
        self.targets(card)
        derived, layer = etree.Element("LocalTransformations"), plan.layers[0]
        sums = {}
        for number, summed in enumerate(layer.sums):
            factor = summed.coefficients[0] if len(summed.inputs) == 1 else None
            alone = isinstance(factor, tuple) or factor == 1.0
            if summed.inputs and not alone:
                sums[number] = self.derive(derived, self.free(f"sum {number + 1}"), self.sum(0, summed))
        self._between_ends(derived)
        if len(derived):
            card.append(derived)
        rows = etree.SubElement(card, "Characteristics")
        words = {each.comparison: each for each in amounts}
        for number, addend in enumerate(plan.addends, start=1):
            amount, told = addend.amounts[0] / plan.over, words[addend.comparison]
            best = repr(abs(amount)) if told.yes[0] == -told.no[0] else repr(amount - told.yes[0])
            about = {"name": f"question {number}", "reasonCode": told.words, "baselineScore": best}
            row = etree.SubElement(rows, "Characteristic", about)
            self._attributes(row, layer.comparisons[addend.comparison], sums, amount)
        for number, (sloped, baseline) in enumerate(zip(plan.slopes, baselines, strict=True), start=1):
            reason = f"per unit of {quote_name(plan.inputs[sloped.input].name)}"
            about = {"name": f"line {number}", "reasonCode": reason, "baselineScore": repr(baseline)}
            score = etree.SubElement(etree.SubElement(rows, "Characteristic", about), "Attribute")
            score.append(etree.Element("True"))
            value = self.ref(self.lines.get(sloped.input, self.fields[sloped.input]))
            made = self.apply("*", self.number(sloped.slopes[0]), value)
            etree.SubElement(score, "ComplexPartialScore").append(made)

    def _between_ends(self, derived: etree.Element) -> None:
        """Add fields that are inputs between the ends of their slopes."""
        for sloped in self.plan.slopes:
            if (expression := self._between(sloped)) is not None:
                self.lines[sloped.input] = self.derive(derived, self.free(f"line {sloped.input + 1}"), expression)

    def _attributes(
        self, row: etree.Element, comparison: PlannedComparison, sums: dict[int, str], amount: float
    ) -> None:
        """Add two attributes: the first where its predicate is true, the other where it is not or not known."""
        chosen = self.plan.chosen_categories(0, comparison)
        answer = bool(comparison.missing)
        summed = self.plan.layers[0].sums[comparison.summation]
        if chosen is not None:
            answer = bool(self.plan.gap_answer(0, comparison))
            words = words_of(self.plan.inputs[summed.inputs[0]])
            listed = [word for word, yes in zip(words, chosen, strict=True) if yes is not answer]
            predicate = self._among(self.fields[summed.inputs[0]], listed)
        elif not summed.inputs:
            predicate = etree.Element("True" if comparison.threshold <= 0.0 else "False")
        else:
            name = sums.get(comparison.summation) or self.fields[summed.inputs[0]]
            operator = "lessThan" if answer else "greaterOrEqual"
            about = {"field": name, "operator": operator, "value": repr(comparison.threshold)}
            predicate = self._present(summed, etree.Element("SimplePredicate", about))
        first, second = (-amount, amount) if answer else (amount, -amount)
        etree.SubElement(row, "Attribute", {"partialScore": repr(first)}).append(predicate)
        etree.SubElement(row, "Attribute", {"partialScore": repr(second)}).append(etree.Element("True"))

    def _present(self, summed: Summation, predicate: etree.Element) -> etree.Element:
        """Return a predicate that also says that no category of a sum is missing, where that leaves no sum."""
        if summed.missing_as is not None or len(summed.inputs) == 1:
            return predicate
        there = []
        for k in summed.inputs:
            if self.plan.inputs[k].categories is not None and self.plan.inputs[k].category_kind == "numbers":
                there.append(self._among(self.fields[k], words_of(self.plan.inputs[k])))
            elif self.plan.inputs[k].categories is not None:
                about = {"field": self.fields[k], "operator": "isNotMissing"}
                there.append(etree.Element("SimplePredicate", about))
        if not there:
            return predicate
        all_of = etree.Element("CompoundPredicate", {"booleanOperator": "and"})
        all_of.extend([*there, predicate])
        return all_of

    def _among(self, name: str, words: list[str]) -> etree.Element:
        """Return the predicate that a field is one of some words, one by one: arrays are split at blanks by some."""
        same = [etree.Element("SimplePredicate", {"field": name, "operator": "equal", "value": word}) for word in words]
        if len(same) == 1:
            return same[0]
        any_of = etree.Element("CompoundPredicate", {"booleanOperator": "or"})
        any_of.extend(same)
        return any_of if same else etree.Element("False")

    def _output(self, parent: etree.Element) -> None:
        output = etree.SubElement(parent, "Output")
        about = {
            "name": self.free("prediction"),
            "feature": "predictedValue",
            "optype": "continuous",
            "dataType": "double",
        }
        etree.SubElement(output, "OutputField", about)
        for rank in range(1, min(3, len(self.plan.addends) + len(self.plan.slopes)) + 1):
            about = {"name": self.free(f"reason {rank}"), "feature": "reasonCode", "rank": str(rank)}
            etree.SubElement(output, "OutputField", {**about, "optype": "categorical", "dataType": "string"})

    # -- a regression ------------------------------------------------------------------------------------------

    def _regression(self) -> None:
        plan, link = self.plan, self.plan.link
        kind = "regression" if link == "identity" else "classification"
        about = {
            "modelName": "bgn",
            "functionName": kind,
            "algorithmName": "bgn",
            "normalizationMethod": _METHODS[link],
        }
        model = etree.SubElement(self.root, "RegressionModel", about)
        self.mining(model)
        self.targets(model)
        derived = etree.Element("LocalTransformations")
        for number, layer in enumerate(plan.layers):
            for place, comparison in enumerate(layer.comparisons):
                self.derive(derived, f"{self.answers} {number + 1} {place + 1}", self._answer(number, comparison))
        self._between_ends(derived)
        if len(derived):
            model.append(derived)
        if link == "logistic":
            self._table(model, 0, {"targetCategory": plan.class_words[1]})
            etree.SubElement(model, "RegressionTable", {"intercept": "0.0", "targetCategory": plan.class_words[0]})
            return
        for output in range(plan.outputs):
            about = {"targetCategory": plan.class_words[output]} if link == "softmax" else {}
            self._table(model, output, about)

    def _answer(self, layer: int, comparison: PlannedComparison) -> etree.Element:
        """Return +-1 as an expression."""
        summed = self.plan.layers[layer].sums[comparison.summation]
        total, threshold = self.sum(layer, summed), self.number(comparison.threshold)
        answer = self.apply("if", self.apply("greaterOrEqual", total, threshold), self.number(1.0), self.number(-1.0))
        if layer or summed.missing_as is not None or comparison.missing is None:
            return answer
        told = self.number(1.0 if comparison.missing else -1.0)
        for k in reversed(summed.inputs):
            answer = self.apply("if", self.apply("isMissing", self.ref(self.fields[k])), told, answer)
        return answer

    def _between(self, sloped: SlopedInput) -> etree.Element | None:
        """Return an input, no further than the ends of its slope, gaps filled; None for it as it is."""
        name, found = self.fields[sloped.input], None
        for end, beyond in ((sloped.high, "greaterThan"), (sloped.low, "lessThan")):
            if isfinite(end):
                test = self.apply(beyond, self.ref(name), self.number(end))
                found = self.apply("if", test, self.number(end), self.ref(name) if found is None else found)
        if sloped.gap is None:
            return found
        missing = self.apply("isMissing", self.ref(name))
        return self.apply("if", missing, self.number(sloped.gap), self.ref(name) if found is None else found)

    def _table(self, model: etree.Element, output: int, about: dict[str, str]) -> None:
        plan, last = self.plan, len(self.plan.layers)
        base = plan.base[output] / plan.over
        table = etree.SubElement(model, "RegressionTable", {"intercept": repr(base), **about})
        for sloped in plan.slopes:
            name = self.lines.get(sloped.input, self.fields[sloped.input])
            given = {"name": name, "coefficient": repr(sloped.slopes[output])}
            etree.SubElement(table, "NumericPredictor", given)
        for addend in plan.addends:
            given = {
                "name": f"{self.answers} {last} {addend.comparison + 1}",
                "coefficient": repr(addend.amounts[output] / plan.over),
            }
            etree.SubElement(table, "NumericPredictor", given)
