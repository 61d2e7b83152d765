"""Fields and expressions of PMML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree as etree

from bgn.export.plan import ExportPlan, Summation
from bgn.export.sources import Input
from bgn.model.schema import level_word

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
            kind = "double" if each.levels is None else _TYPES[each.level_kind]
            numbers = each.levels is None or each.level_kind == "numbers"
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
        if each.level_kind == "numbers":
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
                part = self.part(k, coefficient, None if summed.gaps is None else summed.gaps[place])
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
    return repr(each.fill) if each.levels is None else words_of(each)[int(each.fill)]


def words_of(each: Input) -> list[str]:
    """Return the levels of a category as PMML writes them."""
    if each.level_kind == "words":
        return [level_word(level) for level in each.levels or ()]
    return [level_word(level).lower() for level in each.levels or ()]  # true, 2 and 2.5
