"""A network as an Excel workbook: rows to fill in, its rules as formulas, the predictions beside the rows."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any

import numpy as np

from bgn.export.condition import bounds
from bgn.export.plan import Absent, ExportPlan, LinearInput, OneOf, PlannedCondition, check_texts, plan, write_file
from bgn.export.scorecard import Scorecard, scorecard
from bgn.require import require
from bgn.text import clean, quote_category, quote_name

_MOST_COLUMNS = 16_000
_MOST_CATEGORIES = 250  # CHOOSE has room for 254 values
_HEAD = 3  # rows of a sheet before the first case


def to_excel(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    rows: int = 20,
) -> bytes:
    """Write a model as an Excel workbook.

    The sheet "Input" has a line per row to predict: cells to fill in, with lists to choose categories from, and the
    prediction beside them; "Rules" has a column per rule, 1 in the rows where it holds; "Weights" what it then adds;
    "Scorecard", where the model is one, is a card to print on a page.

    Parameters
    ----------
    model : Network or fitted estimator
    path : str or path-like, optional
        File to write, whole or not at all.
    rows : int, default 20
        Lines for rows to predict.

    Returns
    -------
    bytes
        An empty cell is a missing value, and so is a text that is no category; where the model refuses one there is no
        prediction.
        Spreadsheets compare numbers by their first 15 digits: a value within these of a threshold counts as on it.

    Examples
    --------
    >>> import io, bgn, openpyxl
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.59]], [-63.56])], [0.505], 1.0, ["income", "age"], "value")
    >>> workbook = openpyxl.load_workbook(io.BytesIO(bgn.export.to_excel(network)))
    >>> workbook.sheetnames
    ['Input', 'Rules', 'Weights', 'Scorecard']
    >>> print(workbook["Rules"]["A4"].value)
    =IF(IF(AND(ISNUMBER(Input!A4),ISNUMBER(Input!B4)),Input!A4+0.59*Input!B4>=63.56,FALSE()),1,0)
    """
    require("openpyxl", extra="excel")
    if not isinstance(rows, int) or not 1 <= rows <= 1_000_000:
        raise ValueError(f"rows must be a whole number from 1 to 1,000,000; got {rows!r}.")
    planned = plan(model)
    columns = sum(len(layer.conditions) for layer in planned.layers[:-1]) + len(planned.rules) + len(planned.inputs)
    if columns > _MOST_COLUMNS:
        raise ValueError(f"model has {columns} rules and inputs; a sheet has room for {_MOST_COLUMNS}. Export to SQL.")
    texts = (name for given in planned.inputs for name in given.names)
    check_texts(texts, "\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff", "A workbook")
    for given in planned.inputs:
        if len(given.names) > _MOST_CATEGORIES:
            raise ValueError(
                f"model's column {given.name!r} has {len(given.names)} categories; a workbook has room for "
                f"{_MOST_CATEGORIES}. Export to SQL."
            )
    try:
        card = scorecard(model)
    except ValueError:
        card = None
    return write_file(_Workbook(planned, rows).written(card), path)


class _Workbook:
    """A workbook on its way."""

    def __init__(self, planned: ExportPlan, rows: int) -> None:
        self.plan, self.rows = planned, rows
        self.excel = require("openpyxl", extra="excel")
        self.book = self.excel.Workbook()
        self.formulas = Formulas(planned)
        self.lines = range(_HEAD + 1, _HEAD + 1 + rows)  # of a sheet, one per row to predict

    def text(self, sheet: Any, place: str, text: str, bold: bool = False) -> None:
        """Write words that are never a formula."""
        cell = sheet[place]
        cell.value, cell.data_type = text, "s"
        cell.quotePrefix = True
        if bold:
            cell.font = self.excel.styles.Font(bold=True)

    def written(self, card: Scorecard | None) -> bytes:
        """Return the file."""
        front = self.book.active
        front.title = "Input"
        rules = self.book.create_sheet("Rules")
        self._categories()
        self._input(front)
        self._rules(rules)
        if card is not None and not card.classes:
            self._card(card)
        memory = io.BytesIO()
        self.book.save(memory)
        return _without_times(memory.getvalue())

    def _categories(self) -> None:
        """Write categories, each column's under its name, and the numbers of those that rows have."""
        if all(given.categories is None for given in self.plan.inputs):
            return
        listed, codes = self.book.create_sheet("Categories"), self.book.create_sheet("Codes")
        for k, given in enumerate(self.plan.inputs):
            if given.categories is None:
                continue
            self.text(listed, at(k, 1), quote_name(given.name), bold=True)
            for place, (category, name) in enumerate(zip(given.categories, given.names, strict=True), start=2):
                if given.category_kind == "texts":
                    self.text(listed, at(k, place), name)
                else:
                    listed[at(k, place)].value = category
            for row in self.lines:
                codes[at(k, row)].value = self.formulas.code(k, row)
        codes.sheet_state = "hidden"

    def _input(self, sheet: Any) -> None:
        planned, fill = self.plan, self.excel.styles.PatternFill("solid", fgColor="FFF4D6")
        target = quote_name(planned.target)
        self.text(sheet, "A1", f"{target}: fill in a line; an empty cell is a missing value", bold=True)
        for k, given in enumerate(planned.inputs):
            column = planned.network.schema.columns[given.place]
            about = [f"in {quote_category(column.unit)}"] if column.unit else []
            about += [f"{column.seen[0]:g} to {column.seen[1]:g}"] if column.seen is not None else []
            about += [given.to_do()] if given.made is not None else []
            self.text(sheet, at(k, 2), "; ".join(about))
            self.text(sheet, at(k, 3), quote_name(given.name), bold=True)
            self._validate(sheet, k)
            for row in self.lines:
                sheet[at(k, row)].fill = fill
            sheet.column_dimensions[letters_of(k)].width = min(max(12, len(given.name) + 2), 40)
        for k, (title, formula) in enumerate(self.formulas.outputs(), start=len(planned.inputs)):
            self.text(sheet, at(k, 3), clean(title), bold=True)
            for row in self.lines:
                sheet[at(k, row)].value = formula(row)
            sheet.column_dimensions[letters_of(k)].width = 18
        sheet.freeze_panes = "A4"
        self._fit_to_page(sheet)

    def _validate(self, sheet: Any, k: int) -> None:
        """Let a cell of a category offer its categories, and one of a number take numbers alone."""
        validation = require("openpyxl.worksheet.datavalidation", extra="excel").DataValidation
        given, letters = self.plan.inputs[k], letters_of(k)
        if given.categories is None:
            ends = {"formula1": "-1E+300", "formula2": "1E+300"}
            rule = validation(type="decimal", operator="between", allow_blank=True, **ends)
            rule.error = "A number, or nothing where it is missing."
        else:
            last = len(given.categories) + 1
            rule = validation(type="list", formula1=f"=Categories!${letters}$2:${letters}${last}", allow_blank=True)
            rule.error = "A category of the list, or nothing where it is missing."
        rule.showErrorMessage = True
        rule.add(f"{letters}{self.lines[0]}:{letters}{self.lines[-1]}")
        sheet.add_data_validation(rule)

    def _rules(self, sheet: Any) -> None:
        """Write a rule per column: its words, whether it holds (1) or not (0) in every row, and what it adds."""
        planned, last = self.plan, len(self.plan.layers) - 1
        weights = self.book.create_sheet("Weights")
        for number, layer in enumerate(planned.layers[:-1]):
            for place, condition in enumerate(layer.conditions):
                k = self.formulas.column(number, place)
                self.text(sheet, at(k, 1), f"layer {number + 1}, {place + 1}")
                for row in self.lines:
                    sheet[at(k, row)].value = self.formulas.indicator([(number, condition)], row, -1)
        for place, held in enumerate(planned.rules):
            k = self.formulas.column(last, place)
            self.text(sheet, at(k, 1), planned.rule_texts[place])
            conditions = [(last, planned.last.conditions[condition]) for condition in held]
            for row in self.lines:
                sheet[at(k, row)].value = self.formulas.indicator(conditions, row, 0)
            added = [(addend.coef, addend.otherwise) for addend in planned.addends if addend.rule == place]
            for output in range(planned.outputs):
                weight = sum(yes[output] - no[output] for yes, no in added)
                weights[at(place, output + 1)].value = weight

    def _card(self, card: Scorecard) -> None:
        """Write the card as a page to print."""
        sheet = self.book.create_sheet("Scorecard")
        self.text(sheet, "A1", quote_name(card.terms.target), bold=True)
        for column, title in enumerate(("question", "points if yes", "your points")):
            self.text(sheet, at(column, 3), title, bold=True)
        row = 3
        for row, (text, (points,)) in enumerate(zip(card.rules, card.points, strict=True), start=4):
            self.text(sheet, f"A{row}", text)
            sheet[f"B{row}"].value = points
        self.text(sheet, f"A{row + 1}", "total", bold=True)
        sheet[f"C{row + 1}"].value = f"=SUM(C4:C{max(row, 4)})"
        self.text(sheet, f"A{row + 3}", f"{quote_name(card.terms.target)} = {card.start[0]:f} + {card.unit:f} x total")
        self.text(sheet, f"A{row + 4}", bounds(card.terms))
        self.text(sheet, f"A{row + 5}", "total", bold=True)
        self.text(sheet, f"B{row + 5}", quote_name(card.terms.target), bold=True)
        for place, total in enumerate(card.totals(), start=row + 6):
            sheet[f"A{place}"].value = total
            sheet[f"B{place}"].value = float(card.prediction(total))
        sheet.column_dimensions["A"].width = 60
        sheet.column_dimensions["B"].width = sheet.column_dimensions["C"].width = 16
        self._fit_to_page(sheet)

    def _fit_to_page(self, sheet: Any) -> None:
        sheet.page_setup.fitToWidth = 1
        sheet.page_setup.fitToHeight = 1 if sheet.title == "Scorecard" else 0
        sheet.sheet_properties.pageSetUpPr = self.excel.worksheet.properties.PageSetupProperties(fitToPage=True)


def _without_times(content: bytes) -> bytes:
    """Return a workbook without the times at which it was made, so that the same model is the same file."""
    memory = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as given, zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as made:
        for name in given.namelist():
            text = given.read(name)
            if name == "docProps/core.xml":
                text = re.sub(rb"(<dcterms:\w+[^>]*>)[^<]*", rb"\g<1>2000-01-01T00:00:00Z", text)
            made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return memory.getvalue()


# -- The formulas of a workbook. They name cells of sheets of our own, and never anything that a user named.


def letters_of(column: int) -> str:
    """Return the letters of a column, counted from 0."""
    return str(require("openpyxl.utils", extra="excel").get_column_letter(column + 1))


def at(column: int, row: int) -> str:
    """Return the name of a cell, columns counted from 0 and rows from 1."""
    return f"{letters_of(column)}{row}"


def _number(value: float) -> str:
    return repr(value).removesuffix(".0").replace("e", "E")


def _times(coefficient: float, value: str) -> str:
    if coefficient == 1.0:
        return value
    return f"-{value}" if coefficient == -1.0 else f"{_number(coefficient)}*{value}"


class Formulas:
    """Formulas of a plan, row by row."""

    def __init__(self, planned: ExportPlan) -> None:
        self.plan = planned
        self._starts = [0, *np.cumsum([len(layer.conditions) for layer in planned.layers]).tolist()]

    def column(self, layer: int, place: int) -> int:
        """Return the column of a condition of a hidden layer, or of a rule, on the sheet of rules."""
        return self._starts[layer] + place

    def code(self, k: int, row: int) -> str:
        """Return the number of a category, from 1 on; 0 for a missing value."""
        given, cell = self.plan.inputs[k], f"Input!{at(k, row)}"
        known = given.categories or ()
        among = f"Categories!${letters_of(k)}$2:${letters_of(k)}${len(known) + 1}"
        if given.category_kind == "truths":  # which are numbers to some spreadsheets, and words to none
            cases = [f"IF({cell}={str(category).upper()}(),{place}," for place, category in enumerate(known, start=1)]
            number = f"IF(ISBLANK({cell}),0,{''.join(cases)}0{')' * len(known)})"
        else:
            same = f"EXACT({among},{cell})" if given.category_kind == "texts" else f"({among}={cell})"
            number = f"IF(ISBLANK({cell}),0,SUMPRODUCT({same}*(ROW({among})-1)))"
        return f"={number}" if given.fill is None else f"=IF({number}=0,{int(given.fill) + 1},{number})"

    def _value(self, k: int, row: int) -> str:
        fill, cell = self.plan.inputs[k].fill, f"Input!{at(k, row)}"
        return cell if fill is None else f"IF(ISNUMBER({cell}),{cell},{_number(fill)})"

    def _present(self, k: int, row: int) -> str:
        """Return whether an input has a value; empty where it always has."""
        given = self.plan.inputs[k]
        if given.fill is not None:
            return ""
        return f"Codes!{at(k, row)}>0" if given.categories is not None else f"ISNUMBER(Input!{at(k, row)})"

    def indicator(self, conditions: list[tuple[int, PlannedCondition]], row: int, otherwise: int) -> str:
        """Return the formula of 1 where all conditions, each of a layer, hold, and another number where not."""
        tests = [self._test(layer, condition, row) for layer, condition in conditions]
        test = tests[0] if len(tests) == 1 else f"AND({','.join(tests)})"
        return f"=IF({test},1,{otherwise})"

    def _test(self, layer: int, condition: PlannedCondition, row: int) -> str:
        """Return a condition. It is not computed from cells that have no number, which would be an error."""
        if isinstance(condition, Absent):
            return f"NOT({self._present(condition.input, row) or 'TRUE()'})"
        if isinstance(condition, OneOf):
            held = ",".join(str(int(holds)) for holds in (condition.missing, *condition.chosen))
            return f"CHOOSE(Codes!{at(condition.input, row)}+1,{held})=1"
        summed = self.plan.layers[layer].sums[condition.summation]
        parts = []
        for k, coefficient, missing_as in summed.parts(layer):
            if isinstance(coefficient, tuple):
                values = ",".join(map(_number, [missing_as or 0.0, *coefficient]))
                parts.append(f"CHOOSE(Codes!{at(k, row)}+1,{values})")
            elif layer:
                parts.append(_times(coefficient, f"Rules!{at(self.column(layer - 1, k), row)}"))
            else:
                part, present = _times(coefficient, self._value(k, row)), self._present(k, row)
                seen = missing_as is not None and present
                parts.append(f"IF({present},{part},{_number(missing_as)})" if seen else part)  # type: ignore[arg-type]
        test = f"{'+'.join(parts) or '0'}{condition.relation}{_number(condition.threshold)}"
        needed = [] if layer or summed.missing_as is not None else [self._present(k, row) for k in summed.inputs]
        needed = list(filter(None, needed))
        if not needed:
            return test
        present = needed[0] if len(needed) == 1 else f"AND({','.join(needed)})"
        return f"IF({present},{test},{str(bool(condition.missing)).upper()}())"

    def score(self, output: int, row: int) -> str:
        """Return the formula of the raw score of an output, an empty text where a missing value is refused."""
        plan, last = self.plan, len(self.plan.layers) - 1
        total = _number(plan.intercept[output] + sum(addend.otherwise[output] for addend in plan.addends))
        for linear in plan.linear:
            if linear.coef[output]:
                total += f"+{_times(linear.coef[output], self._between(linear, row))}"
        if count := len(plan.rules):
            first, end = self.column(last, 0), self.column(last, count - 1)
            weights = f"Weights!${letters_of(0)}${output + 1}:${letters_of(count - 1)}${output + 1}"
            total += f"+SUMPRODUCT(Rules!{at(first, row)}:{at(end, row)},{weights})"
        total = total if plan.over == 1.0 else f"({total})/{_number(plan.over)}"
        needed = [self._present(k, row) for k, given in enumerate(plan.inputs) if given.refuses]
        return f'=IF(AND({",".join(needed)}),{total},"")' if needed else f"={total}"

    def _between(self, linear: LinearInput, row: int) -> str:
        """Return an input, no further than the ends of its linear term, and what a missing value counts as."""
        value = given = self._value(linear.input, row)
        if linear.high < inf:
            value = f"IF({given}>{_number(linear.high)},{_number(linear.high)},{value})"
        if linear.low > -inf:
            value = f"IF({given}<{_number(linear.low)},{_number(linear.low)},{value})"
        present, missing_as = self._present(linear.input, row), linear.missing_as
        return f"IF({present},{value},{_number(missing_as)})" if missing_as is not None and present else value

    def outputs(self) -> Iterator[tuple[str, Callable[[int], str]]]:
        """Yield titles and formulas of what stands next to a row: predictions, scores, probabilities."""
        plan, first = self.plan, len(self.plan.inputs)

        def held(row: int) -> str:
            value = cell = at(first + 1, row)
            for sign, end in plan.bounds:
                value = f"IF({cell}{sign}{_number(end)},{_number(end)},{value})"
            return f'=IF({cell}="","",{value})'

        def logistic(row: int) -> str:
            cell = at(first, row)
            return f'=IF({cell}="","",IF({cell}>=0,1/(1+EXP(-{cell})),EXP({cell})/(1+EXP({cell}))))'

        def softmax(output: int, row: int) -> str:
            all_, own = f"{at(first, row)}:{at(first + plan.outputs - 1, row)}", at(first + output, row)
            return f'=IF({own}="","",EXP({own}-MAX({all_}))/SUMPRODUCT(EXP({all_}-MAX({all_}))))'

        scores = [partial(self.score, output) for output in range(plan.outputs)]
        if plan.link == "softmax":
            yield from ((f"score of {name}", score) for name, score in zip(plan.class_names, scores, strict=True))
            for output, name in enumerate(plan.class_names):
                yield f"probability of {name}", partial(softmax, output)
        elif plan.link == "logistic":
            yield from (("score", scores[0]), (f"probability of {plan.class_names[1]}", logistic))
        else:
            yield from ((plan.target, held), ("score", scores[0])) if plan.bounds else ((plan.target, scores[0]),)
