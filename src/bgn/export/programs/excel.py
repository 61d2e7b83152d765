"""A network as an Excel workbook: rows to fill in, its questions as formulas, the predictions beside the rows."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

from bgn.export.condition import bounds
from bgn.export.plan import ExportPlan, PlannedComparison, SlopedInput, check_words, plan
from bgn.export.scorecard import Scorecard, scorecard
from bgn.model.schema import category_name
from bgn.require import require
from bgn.text import clean, quote_category, quote_name
from bgn.whole_file import write_whole

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

    The sheet "Input" has a line per row to predict: cells to fill in, with lists to choose levels of categories from,
    and the prediction beside them; "Questions" has a column per question with its answers; "Amounts" what a yes adds;
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
        An empty cell is a gap, and so is a word that is no level; where the model refuses one there is no prediction.
        Spreadsheets compare numbers by their first 15 digits: a value within these of a threshold counts as on it.

    Examples
    --------
    >>> import io, bgn, openpyxl
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.59]], [-63.56])], [0.505], 1.0, ["income", "age"], "value")
    >>> workbook = openpyxl.load_workbook(io.BytesIO(bgn.export.to_excel(network)))
    >>> workbook.sheetnames
    ['Input', 'Questions', 'Amounts', 'Scorecard']
    >>> print(workbook["Questions"]["A4"].value)
    =IF(AND(ISNUMBER(Input!A4),ISNUMBER(Input!B4)),IF(Input!A4+0.59*Input!B4>=63.56,1,-1),-1)
    """
    require("openpyxl", extra="excel")
    if not isinstance(rows, int) or not 1 <= rows <= 1_000_000:
        raise ValueError(f"rows must be a whole number from 1 to 1,000,000; got {rows!r}.")
    planned = plan(model)
    _check(planned)
    content = _Workbook(planned, rows).written(_card(model))
    if path is not None:
        write_whole(path, content)
    return content


def _check(planned: ExportPlan) -> None:
    columns = sum(len(layer.comparisons) for layer in planned.layers) + len(planned.inputs)
    if columns > _MOST_COLUMNS:
        raise ValueError(
            f"model has {columns} questions and inputs; a sheet has room for {_MOST_COLUMNS}. Export to SQL."
        )
    categories = (category_name(category) for each in planned.inputs for category in each.categories or ())
    check_words(categories, "\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff", "A workbook")
    for each in planned.inputs:
        if each.categories is not None and len(each.categories) > _MOST_CATEGORIES:
            raise ValueError(
                f"model's category {each.name!r} has {len(each.categories)} levels; a workbook has room for "
                f"{_MOST_CATEGORIES}. Export to SQL."
            )


def _card(model: Any) -> Scorecard | None:
    """Return the card that a model is, if it is one."""
    try:
        card = scorecard(model)
    except ValueError:
        return None
    return card if isinstance(card, Scorecard) else None


class _Workbook:
    """A workbook on its way."""

    def __init__(self, planned: ExportPlan, rows: int) -> None:
        self.plan, self.rows = planned, rows
        self.excel = require("openpyxl", extra="excel")
        self.book = self.excel.Workbook()
        self.formulas = Formulas(planned)

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
        questions = self.book.create_sheet("Questions")
        self._categories()
        self._input(front)
        self._questions(questions)
        if card is not None:
            self._card(card)
        memory = io.BytesIO()
        self.book.save(memory)
        return _timeless(memory.getvalue())

    def _categories(self) -> None:
        """Write the levels of categories, each under its name, and the numbers of the levels that rows have."""
        if all(each.categories is None for each in self.plan.inputs):
            return
        categories, codes = self.book.create_sheet("Levels"), self.book.create_sheet("Codes")
        for k, each in enumerate(self.plan.inputs):
            if each.categories is None:
                continue
            self.text(categories, at(k, 1), quote_name(each.name), bold=True)
            for place, category in enumerate(each.categories, start=2):
                if each.category_kind == "words":
                    self.text(categories, at(k, place), category_name(category))
                else:
                    categories[at(k, place)].value = category
            for row in range(_HEAD + 1, _HEAD + 1 + self.rows):
                codes[at(k, row)].value = self.formulas.code(k, row)
        codes.sheet_state = "hidden"

    def _input(self, sheet: Any) -> None:
        planned, fill = self.plan, self.excel.styles.PatternFill("solid", fgColor="FFF4D6")
        target = quote_name(planned.target)
        self.text(sheet, "A1", f"{target}: fill in a line; an empty cell is a missing value", bold=True)
        for k, each in enumerate(planned.inputs):
            column = planned.network.schema.columns[each.place]
            told = [f"in {quote_category(column.unit)}"] if column.unit else []
            told += [f"{column.seen[0]:g} to {column.seen[1]:g}"] if column.seen is not None else []
            told += [each.to_do()] if each.made is not None else []
            self.text(sheet, at(k, 2), "; ".join(told))
            self.text(sheet, at(k, 3), quote_name(each.name), bold=True)
            self._validate(sheet, k)
            for row in range(_HEAD + 1, _HEAD + 1 + self.rows):
                sheet[at(k, row)].fill = fill
            sheet.column_dimensions[at(k, 1)[:-1]].width = min(max(12, len(each.name) + 2), 40)
        for k, (title, formula) in enumerate(self.formulas.outputs(), start=len(planned.inputs)):
            self.text(sheet, at(k, 3), clean(title), bold=True)
            for row in range(_HEAD + 1, _HEAD + 1 + self.rows):
                sheet[at(k, row)].value = formula(row)
            sheet.column_dimensions[at(k, 1)[:-1]].width = 18
        sheet.freeze_panes = "A4"
        self._on_one_page(sheet)

    def _validate(self, sheet: Any, k: int) -> None:
        """Let a cell of a category offer its levels, and one of a number take numbers alone."""
        validation = require("openpyxl.worksheet.datavalidation", extra="excel").DataValidation
        each, letter = self.plan.inputs[k], at(k, 1)[:-1]
        if each.categories is None:
            rule = validation(
                type="decimal", operator="between", formula1="-1E+300", formula2="1E+300", allow_blank=True
            )
            rule.error = "A number, or nothing where it is missing."
        else:
            rule = validation(
                type="list", formula1=f"=Levels!${letter}$2:${letter}${len(each.categories) + 1}", allow_blank=True
            )
            rule.error = "A word of the list, or nothing where it is missing."
        rule.showErrorMessage = True
        rule.add(f"{letter}{_HEAD + 1}:{letter}{_HEAD + self.rows}")
        sheet.add_data_validation(rule)

    def _questions(self, sheet: Any) -> None:
        """Write a question per column: its words, what a yes adds, its answers."""
        planned = self.plan
        last = len(planned.layers) - 1
        words = {
            each.comparison: each.words
            for each in planned.worded(dict.fromkeys(range(planned.network.widths[-1]), 0.0))
        }
        added: dict[int, list[float]] = {}
        for addend in planned.addends:
            known = added.get(addend.comparison, [0.0] * planned.outputs)
            added[addend.comparison] = [one + other for one, other in zip(known, addend.amounts, strict=True)]
        for number, layer in enumerate(planned.layers):
            for place, comparison in enumerate(layer.comparisons):
                k = self.formulas.column(number, place)
                self.text(
                    sheet, at(k, 1), words.get(place, "") if number == last else f"layer {number + 1}, {place + 1}"
                )
                for row in range(_HEAD + 1, _HEAD + 1 + self.rows):
                    sheet[at(k, row)].value = self.formulas.answer(number, comparison, row)
        amounts = self.book.create_sheet("Amounts")
        for output in range(planned.outputs):
            for place in range(len(planned.layers[last].comparisons)):
                amounts[at(place, output + 1)].value = added.get(place, [0.0] * planned.outputs)[output]

    def _card(self, card: Scorecard) -> None:
        """Write the card as a page to print."""
        sheet = self.book.create_sheet("Scorecard")
        self.text(sheet, "A1", quote_name(card.terms.target), bold=True)
        for column, title in enumerate(("question", "points if yes", "your points")):
            self.text(sheet, at(column, 3), title, bold=True)
        row = 3
        for row, (question, points) in enumerate(zip(card.questions, card.points, strict=True), start=4):
            self.text(sheet, f"A{row}", question)
            sheet[f"B{row}"].value = points
        self.text(sheet, f"A{row + 1}", "total", bold=True)
        sheet[f"C{row + 1}"].value = f"=SUM(C4:C{max(row, 4)})"
        self.text(sheet, f"A{row + 3}", f"{quote_name(card.terms.target)} = {card.start:f} + {card.unit:f} x total")
        self.text(sheet, f"A{row + 4}", bounds(card.terms))
        self.text(sheet, f"A{row + 5}", "total", bold=True)
        self.text(sheet, f"B{row + 5}", quote_name(card.terms.target), bold=True)
        for place, total in enumerate(card.totals(), start=row + 6):
            sheet[f"A{place}"].value = total
            sheet[f"B{place}"].value = float(card.prediction(total))
        sheet.column_dimensions["A"].width = 60
        sheet.column_dimensions["B"].width = sheet.column_dimensions["C"].width = 16
        self._on_one_page(sheet)

    def _on_one_page(self, sheet: Any) -> None:
        sheet.page_setup.fitToWidth = 1
        sheet.page_setup.fitToHeight = 1 if sheet.title == "Scorecard" else 0
        sheet.sheet_properties.pageSetUpPr = self.excel.worksheet.properties.PageSetupProperties(fitToPage=True)


def _timeless(content: bytes) -> bytes:
    """Return a workbook without the times at which it was made, so that the same model is the same file."""
    memory = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as given, zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as made:
        for name in given.namelist():
            text = given.read(name)
            if name == "docProps/core.xml":
                text = _without_dates(text)
            made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return memory.getvalue()


def _without_dates(text: bytes) -> bytes:
    return re.sub(rb"(<dcterms:\w+[^>]*>)[^<]*", rb"\g<1>2000-01-01T00:00:00Z", text)


# -- The formulas of a workbook. They name cells of sheets of our own, and never anything that a user named.


def at(column: int, row: int) -> str:
    """Return the name of a cell, columns counted from 0 and rows from 1.

    Examples
    --------
    >>> from bgn.export.programs.excel import at
    >>> at(0, 1), at(25, 4), at(26, 4), at(702, 1)
    ('A1', 'Z4', 'AA4', 'AAA1')
    """
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row}"


def _number(value: float) -> str:
    return repr(value).removesuffix(".0").replace("e", "E")


class Formulas:
    """Formulas of a plan, row by row."""

    def __init__(self, planned: ExportPlan) -> None:
        self.plan = planned
        self._starts = [0]
        for layer in planned.layers:
            self._starts.append(self._starts[-1] + len(layer.comparisons))

    def column(self, layer: int, place: int) -> int:
        """Return the column of a question's answers."""
        return self._starts[layer] + place

    # -- inputs ------------------------------------------------------------------------------------------------

    def code(self, k: int, row: int) -> str:
        """Return the number of a category's level, from 1 on; 0 for a gap."""
        each, letter, cell = self.plan.inputs[k], at(k, 1)[:-1], f"Input!{at(k, row)}"
        known = each.categories or ()
        categories = f"Levels!${letter}$2:${letter}${len(known) + 1}"
        if each.category_kind == "truths":  # which are numbers to some spreadsheets, and words to none
            cases = "".join(f"IF({cell}={str(category).upper()}(),{place}," for place, category in enumerate(known, start=1))
            found = f"IF(ISBLANK({cell}),0,{cases}0{')' * len(known)})"
        else:
            same = f"EXACT({categories},{cell})" if each.category_kind == "words" else f"({categories}={cell})"
            found = f"IF(ISBLANK({cell}),0,SUMPRODUCT({same}*(ROW({categories})-1)))"
        return f"={found}" if each.fill is None else f"=IF({found}=0,{int(each.fill) + 1},{found})"

    def _value(self, k: int, row: int) -> str:
        each = self.plan.inputs[k]
        cell = f"Input!{at(k, row)}"
        return cell if each.fill is None else f"IF(ISNUMBER({cell}),{cell},{_number(each.fill)})"

    def _there(self, k: int, row: int) -> str:
        """Return whether an input has a value; empty where it always has."""
        each = self.plan.inputs[k]
        if each.fill is not None:
            return ""
        return f"Codes!{at(k, row)}>0" if each.categories is not None else f"ISNUMBER(Input!{at(k, row)})"

    # -- questions ---------------------------------------------------------------------------------------------

    def answer(self, layer: int, comparison: PlannedComparison, row: int) -> str:
        """Return the formula of an answer, 1 or -1."""
        summed = self.plan.layers[layer].sums[comparison.summation]
        parts = []
        for place, (k, coefficient) in enumerate(zip(summed.inputs, summed.coefficients, strict=True)):
            gap = None if summed.missing_as is None else summed.missing_as[place]
            if layer:
                value = f"Questions!{at(self.column(layer - 1, k), row)}"
                parts.append(_times(float(coefficient), value))  # type: ignore[arg-type]
            elif isinstance(coefficient, tuple):
                values = ",".join([_number(0.0 if gap is None else gap), *map(_number, coefficient)])
                parts.append(f"CHOOSE(Codes!{at(k, row)}+1,{values})")
            else:
                part, there = _times(coefficient, self._value(k, row)), self._there(k, row)
                parts.append(f"IF({there},{part},{_number(gap)})" if gap is not None and there else part)
        test = f"IF({'+'.join(parts) or '0'}>={_number(comparison.threshold)},1,-1)"
        needed = [] if layer or summed.missing_as is not None else [self._there(k, row) for k in summed.inputs]
        needed = [each for each in needed if each]
        if not needed:
            return f"={test}"
        present = needed[0] if len(needed) == 1 else f"AND({','.join(needed)})"
        return f"=IF({present},{test},{1 if comparison.missing else -1})"

    # -- outputs -----------------------------------------------------------------------------------------------

    def score(self, output: int, row: int) -> str:
        """Return the raw score of an output, an empty word where a gap is refused."""
        plan, last = self.plan, len(self.plan.layers) - 1
        width = len(plan.layers[last].comparisons)
        total = _number(plan.base[output])
        for sloped in plan.slopes:
            if sloped.slopes[output]:
                total += f"+{_times(sloped.slopes[output], self._between(sloped, row))}"
        if width:
            first, end = self.column(last, 0), self.column(last, width - 1)
            amounts = f"Amounts!${at(0, 1)[:-1]}${output + 1}:${at(width - 1, 1)[:-1]}${output + 1}"
            total += f"+SUMPRODUCT(Questions!{at(first, row)}:{at(end, row)},{amounts})"
        total = total if plan.over == 1.0 else f"({total})/{_number(plan.over)}"
        needed = [self._there(k, row) for k, each in enumerate(plan.inputs) if each.refuses]
        return f'IF(AND({",".join(needed)}),{total},"")' if needed else total

    def _between(self, sloped: SlopedInput, row: int) -> str:
        """Return an input, no further than the ends of its slope, and what stands in for a gap."""
        value = there = self._value(sloped.input, row)
        if sloped.high < inf:
            value = f"IF({there}>{_number(sloped.high)},{_number(sloped.high)},{value})"
        if sloped.low > -inf:
            value = f"IF({there}<{_number(sloped.low)},{_number(sloped.low)},{value})"
        present = self._there(sloped.input, row)
        return f"IF({present},{value},{_number(sloped.gap)})" if sloped.gap is not None and present else value

    def _held(self, score: str) -> str:
        """Return what a raw score, by its cell, predicts within bounds."""
        value = score
        for sign, end in self.plan.bounds:
            value = f"IF({score}{sign}{_number(end)},{_number(end)},{value})"
        return f'=IF({score}="","",{value})'

    def outputs(self) -> Iterator[tuple[str, Callable[[int], str]]]:
        """Yield titles and formulas of what stands beside a row."""
        plan, first = self.plan, len(self.plan.inputs)
        if plan.link == "identity":
            if not plan.bounds:
                yield plan.target, lambda row: f"={self.score(0, row)}"
                return
            yield plan.target, lambda row: self._held(at(first + 1, row))
            yield "score", lambda row: f"={self.score(0, row)}"
            return
        names = [f"score of {word}" for word in plan.class_words] if plan.link == "softmax" else ["score"]
        for output, title in enumerate(names):
            yield title, lambda row, output=output: f"={self.score(output, row)}"  # type: ignore[misc]

        if plan.link == "logistic":

            def chance(row: int) -> str:
                cell = at(first, row)
                return f'=IF({cell}="","",IF({cell}>=0,1/(1+EXP(-{cell})),EXP({cell})/(1+EXP({cell}))))'

            yield f"probability of {plan.class_words[1]}", chance
            return

        def share(output: int) -> Callable[[int], str]:
            def formula(row: int) -> str:
                some = f"{at(first, row)}:{at(first + plan.outputs - 1, row)}"
                own = at(first + output, row)
                return f'=IF({own}="","",EXP({own}-MAX({some}))/SUMPRODUCT(EXP({some}-MAX({some}))))'

            return formula

        for output, word in enumerate(plan.class_words):
            yield f"probability of {word}", share(output)


def _times(coefficient: float, value: str) -> str:
    if coefficient == 1.0:
        return value
    return f"-{value}" if coefficient == -1.0 else f"{_number(coefficient)}*{value}"
