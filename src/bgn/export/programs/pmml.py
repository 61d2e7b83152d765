"""A network as PMML 4.4: a Scorecard with reason codes where it predicts a number, else a RegressionModel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import deepcopy
from math import isfinite
from typing import Any
from xml.etree import ElementTree as etree

from bgn.export.plan import (
    Absent,
    ExportPlan,
    Input,
    LinearInput,
    OneOf,
    PlannedCondition,
    Reason,
    Summation,
    check_texts,
    plan,
    write_file,
)
from bgn.text import quote_name

NOT_XML = "^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff"
"""What XML has no place for, as `check_texts` takes it."""
_TYPES = {"texts": "string", "numbers": "double", "truths": "boolean"}
_OPERATORS = {">=": "greaterOrEqual", ">": "greaterThan", "<": "lessThan", "<=": "lessOrEqual"}
_METHODS = {"identity": "none", "logistic": "logit", "softmax": "softmax"}


def to_pmml(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    reasons: Any = None,
) -> str:
    """Write a model as PMML 4.4.

    A network of one hidden layer and one number is a Scorecard: a rule is a characteristic with two attributes, and
    its reason code is its words; a linear term is one with a computed score. Others, deep ones and those of classes,
    are a RegressionModel on derived fields, the answers +-1 of their rules. Bounds are those of the target.

    Parameters
    ----------
    model : Network or fitted estimator
    path : str or path-like, optional
        File to write, whole or not at all.
    reasons : array_like or frame, optional
        Background rows, whose mean partial scores become the baselines that reason codes are ranked by; the best
        partial score of each rule unless told.

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
          <Characteristic name="rule 1" reasonCode="income &gt;= 65.5" baselineScore="1.0">
            <Attribute partialScore="1.0">
              <SimplePredicate field="income" operator="greaterOrEqual" value="65.5" />
            </Attribute>
            <Attribute partialScore="0.0">
              <True />
    ...
    """
    planned = plan(model)
    check_texts(planned.texts, NOT_XML, "PMML")
    card = len(planned.layers) == 1 and planned.link == "identity" and bool(planned.addends or planned.linear)
    if reasons is not None and not card:
        raise ValueError("reasons in PMML are for a Scorecard: a network of one hidden layer that predicts a number.")
    document = _Document(planned)
    if card:
        document.scorecard(planned.reasons(reasons), _baselines(planned, reasons))
    else:
        document.regression()
    etree.indent(document.root)
    body = etree.tostring(document.root, encoding="unicode")
    return write_file(f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n', path)


def _baselines(planned: ExportPlan, background: Any) -> list[float]:
    """Return the baselines of linear terms: what they add on average over a background, or at most."""
    if background is not None:
        network = planned.network
        rows = network._rows(background)
        pairs = zip(network.linear, network.linear_coef[:, 0].tolist(), strict=True)
        return [coef * float(term.values(rows).mean()) for term, coef in pairs if coef]
    most = [max(linear.coef[0] * linear.low, linear.coef[0] * linear.high) for linear in planned.linear]
    return [end if isfinite(end) else 0.0 for end in most]


def _names(given: Input) -> list[str]:
    """Return the categories of an input as PMML writes them: true, 2 and 2.5."""
    return given.names if given.category_kind == "texts" else [name.lower() for name in given.names]


# -- Expressions.


def _apply(function: str, *arguments: etree.Element) -> etree.Element:
    """Return a function of expressions."""
    made = etree.Element("Apply", {"function": function})
    made.extend(arguments)
    return made


def _ref(name: str) -> etree.Element:
    """Return the value of a field."""
    return etree.Element("FieldRef", {"field": name})


def _constant(value: float) -> etree.Element:
    """Return a number."""
    made = etree.Element("Constant", {"dataType": "double"})
    made.text = repr(value)
    return made


def _if_missing(name: str, value: etree.Element, present: etree.Element) -> etree.Element:
    return _apply("if", _apply("isMissing", _ref(name)), value, present)


def _predicate(name: str, operator: str, value: str | None = None) -> etree.Element:
    about = {"field": name, "operator": operator} | ({} if value is None else {"value": value})
    return etree.Element("SimplePredicate", about)


def _compound(operator: str, parts: Sequence[etree.Element]) -> etree.Element:
    """Return several predicates as one."""
    if len(parts) == 1:
        return parts[0]
    made = etree.Element("CompoundPredicate", {"booleanOperator": operator})
    made.extend(parts)
    return made if parts else etree.Element("False")


def _among(name: str, categories: Sequence[str]) -> etree.Element:
    """Return the predicate that a field is one of some texts, one by one: arrays are split at blanks by some."""
    return _compound("or", [_predicate(name, "equal", category) for category in categories])


class _Document:
    """A document on its way: its fields, and one of two kinds of models."""

    def __init__(self, planned: ExportPlan) -> None:
        self.plan = planned
        self.fields = [given.name for given in planned.inputs]
        self.target = planned.target
        while self.target in self.fields:
            self.target += " predicted"
        self.answers = self.free_name("answer")
        while any(name.startswith(self.answers) for name in self.fields):
            self.answers = f"bgn {self.answers}"
        self.between: dict[int, str] = {}  # names of inputs between the ends of their linear terms
        self.derived = etree.Element("LocalTransformations")
        self.root = etree.Element("PMML", {"xmlns": "http://www.dmg.org/PMML-4_4", "version": "4.4"})
        header = etree.SubElement(self.root, "Header", {"description": f"Predicts {quote_name(planned.target)}."})
        etree.SubElement(header, "Application", {"name": "bgn"})
        if planned.to_do:
            etree.SubElement(header, "Annotation").text = "\n".join(planned.to_do)
        dictionary = etree.SubElement(self.root, "DataDictionary")

        def add_field(name: str, kind: str, values: Sequence[str] | None) -> None:
            about = {"name": name, "optype": "continuous" if values is None else "categorical", "dataType": kind}
            field = etree.SubElement(dictionary, "DataField", about)
            for value in values or ():
                etree.SubElement(field, "Value", {"value": value})

        for given, name in zip(planned.inputs, self.fields, strict=True):
            kind = "numbers" if given.categories is None else given.category_kind
            add_field(name, _TYPES[kind], None if kind == "numbers" else _names(given))
        add_field(self.target, "string" if planned.class_names else "double", planned.class_names or None)

    def free_name(self, name: str) -> str:
        """Return a name that no field has."""
        while name in (*self.fields, self.target):
            name += " of bgn"
        return name

    def derive(self, name: str, expression: etree.Element) -> str:
        """Add a field that is made of others; return its name."""
        about = {"name": name, "optype": "continuous", "dataType": "double"}
        etree.SubElement(self.derived, "DerivedField", about).append(expression)
        return name

    def model(self, kind: str, about: dict[str, str]) -> etree.Element:
        """Add a model with what it reads, and what it does about missing values."""
        model = etree.SubElement(self.root, kind, {"modelName": "bgn", **about})
        schema = etree.SubElement(model, "MiningSchema")
        for given, name in zip(self.plan.inputs, self.fields, strict=True):
            treated = {"invalidValueTreatment": "asMissing"}
            if given.refuses:
                treated["missingValueTreatment"] = "returnInvalid"
            elif given.fill is not None:
                fill = repr(given.fill) if given.categories is None else _names(given)[int(given.fill)]
                treated["missingValueReplacement"] = fill
            etree.SubElement(schema, "MiningField", {"name": name, **treated})
        etree.SubElement(schema, "MiningField", {"name": self.target, "usageType": "target"})
        return model

    def add_bounds(self, model: etree.Element) -> None:
        """Add what predictions do not go beyond."""
        ends = {"min" if sign == "<" else "max": repr(end) for sign, end in self.plan.bounds}
        if ends:
            etree.SubElement(etree.SubElement(model, "Targets"), "Target", {"field": self.target, **ends})

    def derive_linear(self) -> None:
        """Add fields that are inputs between the ends of their linear terms, missing values filled."""
        for linear in self.plan.linear:
            name, value = self.fields[linear.input], None
            for end, beyond in ((linear.high, "greaterThan"), (linear.low, "lessThan")):
                if isfinite(end):
                    test = _apply(beyond, _ref(name), _constant(end))
                    value = _apply("if", test, _constant(end), _ref(name) if value is None else value)
            if linear.missing_as is not None:
                value = _if_missing(name, _constant(linear.missing_as), _ref(name) if value is None else value)
            if value is not None:
                self.between[linear.input] = self.derive(self.free_name(f"line {linear.input + 1}"), value)

    def linear_field(self, linear: LinearInput) -> str:
        """Return the name of the field that a linear term is about."""
        return self.between.get(linear.input, self.fields[linear.input])

    def sum(self, layer: int, summed: Summation) -> etree.Element:
        """Return a sum as an expression."""
        total: etree.Element | None = None
        for k, coefficient, missing_as in summed.parts(layer):
            name = self.fields[k] if not layer else f"{self.answers} {layer} {k + 1}"
            if isinstance(coefficient, tuple):
                given = self.plan.inputs[k]
                # The last value of all is not reached: a predicate says before that the category is there.
                part = _constant(coefficient[-1] if missing_as is None else missing_as)
                for category, value in reversed([*zip(_names(given), coefficient, strict=True)]):
                    # Texts stand in attributes, which engines read more faithfully.
                    about = {"field": name, "value": category, "mapMissingTo": "0"}
                    numbers = given.category_kind == "numbers"
                    one = _ref(name) if numbers else etree.Element("NormDiscrete", about)
                    same = _apply("equal", one, _constant(float(category) if numbers else 1.0))
                    part = _apply("if", same, _constant(value), part)
            elif layer:
                part = _apply("*", _constant(coefficient), _ref(name))
            else:
                part = _ref(name) if coefficient == 1.0 else _apply("*", _constant(coefficient), _ref(name))
            if missing_as is not None:
                part = _if_missing(name, _constant(missing_as), part)
            total = part if total is None else _apply("+", total, part)
        return _constant(0.0) if total is None else total

    # -- a scorecard -------------------------------------------------------------------------------------------

    def scorecard(self, reasons: Sequence[Reason], baselines: Sequence[float]) -> None:
        """Add the rules and linear terms of a number as characteristics."""
        plan = self.plan
        card = self.model(
            "Scorecard",
            {"functionName": "regression", "algorithmName": "bgn",
             "initialScore": repr(plan.intercept[0] / plan.over), "useReasonCodes": "true",
             "reasonCodeAlgorithm": "pointsBelow", "baselineMethod": "other"},
        )  # fmt: skip
        output = etree.SubElement(card, "Output")
        about = {"feature": "predictedValue", "optype": "continuous", "dataType": "double"}
        etree.SubElement(output, "OutputField", {"name": self.free_name("prediction"), **about})
        for rank in range(1, min(3, len(plan.addends) + len(plan.linear)) + 1):
            about = {"feature": "reasonCode", "rank": str(rank), "optype": "categorical", "dataType": "string"}
            etree.SubElement(output, "OutputField", {"name": self.free_name(f"reason {rank}"), **about})
        self.add_bounds(card)
        sums = {}
        for number, summed in enumerate(plan.last.sums):
            factor = summed.coefficients[0] if len(summed.inputs) == 1 else None
            if summed.inputs and not (isinstance(factor, tuple) or factor == 1.0):
                sums[number] = self.derive(self.free_name(f"sum {number + 1}"), self.sum(0, summed))
        self.derive_linear()
        if len(self.derived):
            card.append(self.derived)
        rows = etree.SubElement(card, "Characteristics")
        by_rule = {reason.rule: reason for reason in reasons}
        for number, addend in enumerate(plan.addends, start=1):
            yes, no = addend.coef[0] / plan.over, addend.otherwise[0] / plan.over
            reason = by_rule[addend.rule]
            middle = reason.yes[0] == -reason.no[0]
            baseline = repr(max(yes, no) if middle else yes - reason.yes[0])
            about = {"name": f"rule {number}", "reasonCode": reason.text, "baselineScore": baseline}
            row = etree.SubElement(rows, "Characteristic", about)
            predicates = [self.predicate(plan.last.conditions[k], sums) for k in plan.rules[addend.rule]]
            etree.SubElement(row, "Attribute", {"partialScore": repr(yes)}).append(_compound("and", predicates))
            etree.SubElement(row, "Attribute", {"partialScore": repr(no)}).append(etree.Element("True"))
        for number, (linear, baseline_of) in enumerate(zip(plan.linear, baselines, strict=True), start=1):
            text = f"per unit of {quote_name(plan.inputs[linear.input].name)}"
            about = {"name": f"line {number}", "reasonCode": text, "baselineScore": repr(baseline_of)}
            score = etree.SubElement(etree.SubElement(rows, "Characteristic", about), "Attribute")
            score.append(etree.Element("True"))
            made = _apply("*", _constant(linear.coef[0]), _ref(self.linear_field(linear)))
            etree.SubElement(score, "ComplexPartialScore").append(made)

    def predicate(self, condition: PlannedCondition, sums: dict[int, str]) -> etree.Element:
        """Return a condition as a predicate, which is not true where it is not known."""
        plan = self.plan
        if isinstance(condition, Absent):
            return _predicate(self.fields[condition.input], "isMissing")
        if isinstance(condition, OneOf):
            name, categories = self.fields[condition.input], _names(plan.inputs[condition.input])
            listed = [categories[code] for code, holds in enumerate(condition.chosen) if holds]
            # One by one: arrays are split at blanks by some engines.
            among = [_predicate(name, "equal", category) for category in listed]
            return _compound("or", among + [_predicate(name, "isMissing")] * condition.missing)
        summed = plan.last.sums[condition.summation]
        if not summed.inputs:
            return etree.Element("True" if condition.threshold <= 0.0 else "False")
        name = sums.get(condition.summation) or self.fields[summed.inputs[0]]
        test = _predicate(name, _OPERATORS[condition.relation], repr(condition.threshold))
        if summed.missing_as is not None:
            return test
        if condition.missing:
            return _compound("or", [*(_predicate(self.fields[k], "isMissing") for k in summed.inputs), test])
        categorical = [k for k in summed.inputs if plan.inputs[k].categories is not None]  # whose sum is known
        return _compound("and", [*(_predicate(self.fields[k], "isNotMissing") for k in categorical), test])

    # -- a regression ------------------------------------------------------------------------------------------

    def regression(self) -> None:
        """Add a regression on the +-1 of the last layer's comparisons, which are derived fields."""
        plan, link = self.plan, self.plan.link
        kind = "regression" if link == "identity" else "classification"
        about = {"functionName": kind, "algorithmName": "bgn", "normalizationMethod": _METHODS[link]}
        model = self.model("RegressionModel", about)
        self.add_bounds(model)
        for number, layer in enumerate(plan.layers[:-1]):
            for place, condition in enumerate(layer.conditions):
                self.derive(f"{self.answers} {number + 1} {place + 1}", self.sign([(number, condition)]))
        last = len(plan.layers)
        for place, held in enumerate(plan.rules):
            rule = [(last - 1, plan.last.conditions[k]) for k in held]
            self.derive(f"{self.answers} {last} {place + 1}", self.sign(rule))
        self.derive_linear()
        if len(self.derived):
            model.append(self.derived)
        targets = plan.class_names[1:] if link == "logistic" else plan.class_names or ("",)
        for output, name in enumerate(targets):
            middles = [(addend.coef[output] + addend.otherwise[output]) / 2.0 for addend in plan.addends]
            intercept = (plan.intercept[output] + sum(middles)) / plan.over
            table = etree.SubElement(model, "RegressionTable", {"intercept": repr(intercept)})
            if name or plan.class_names:
                table.set("targetCategory", name)
            for linear in plan.linear:
                about = {"name": self.linear_field(linear), "coefficient": repr(linear.coef[output])}
                etree.SubElement(table, "NumericPredictor", about)
            for addend in plan.addends:
                coef = (addend.coef[output] - addend.otherwise[output]) / 2.0 / plan.over
                field = f"{self.answers} {len(plan.layers)} {addend.rule + 1}"
                etree.SubElement(table, "NumericPredictor", {"name": field, "coefficient": repr(coef)})
        if link == "logistic":
            etree.SubElement(model, "RegressionTable", {"intercept": "0.0", "targetCategory": plan.class_names[0]})

    def sign(self, conditions: Sequence[tuple[int, PlannedCondition]]) -> etree.Element:
        """Return 1 where all conditions, each of a layer, hold, and -1 where not, as an expression."""
        sign = _constant(1.0)
        for layer, condition in reversed(conditions):
            sign = self.chosen(layer, condition, sign, _constant(-1.0))
        return sign

    def chosen(self, layer: int, condition: PlannedCondition, yes: etree.Element, no: etree.Element) -> etree.Element:
        """Return one of two expressions by a condition. Of a missing value a comparison is not known."""
        if isinstance(condition, Absent):
            return _if_missing(self.fields[condition.input], yes, no)
        if isinstance(condition, OneOf):
            values = tuple(map(float, condition.chosen))
            summed = Summation((condition.input,), (values,), (float(condition.missing),))
            return _apply("if", _apply("greaterOrEqual", self.sum(layer, summed), _constant(1.0)), yes, no)
        summed = self.plan.layers[layer].sums[condition.summation]
        test = _apply(_OPERATORS[condition.relation], self.sum(layer, summed), _constant(condition.threshold))
        made = _apply("if", test, yes, no)
        if layer or summed.missing_as is not None or condition.missing is None:
            return made
        for k in reversed(summed.inputs):
            made = _if_missing(self.fields[k], deepcopy(yes if condition.missing else no), made)
        return made
