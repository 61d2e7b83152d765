"""A network as an Excel workbook: rows to fill in, its questions as formulas, the predictions beside the rows."""

from __future__ import annotations

import io
import os
import re
import zipfile
from typing import Any

from bgn.export.plan import ExportPlan, plan
from bgn.export.programs.excel_formulas import Formulas, at
from bgn.export.remarks import bounds
from bgn.export.scorecard import Scorecard, scorecard
from bgn.export.sources import check_words
from bgn.model.schema import level_word
from bgn.printable import clean, quote_category, quote_name
from bgn.require import require
from bgn.whole_file import write_whole

_MOST_COLUMNS = 16_000
_MOST_LEVELS = 250  # CHOOSE has room for 254 values
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
    >>> network = bgn.Network([bgn.Layer([[1.0, 0.59]], [-63.56])], [0.505], 1.0, ["income", "age"], "value")
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
    levels = (level_word(level) for each in planned.inputs for level in each.levels or ())
    check_words(levels, "\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff", "A workbook")
    for each in planned.inputs:
        if each.levels is not None and len(each.levels) > _MOST_LEVELS:
            raise ValueError(
                f"model's category {each.name!r} has {len(each.levels)} levels; a workbook has room for "
                f"{_MOST_LEVELS}. Export to SQL."
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
        self._levels()
        self._input(front)
        self._questions(questions)
        if card is not None:
            self._card(card)
        memory = io.BytesIO()
        self.book.save(memory)
        return _timeless(memory.getvalue())

    def _levels(self) -> None:
        """Write the levels of categories, each under its name, and the numbers of the levels that rows have."""
        if all(each.levels is None for each in self.plan.inputs):
            return
        levels, codes = self.book.create_sheet("Levels"), self.book.create_sheet("Codes")
        for k, each in enumerate(self.plan.inputs):
            if each.levels is None:
                continue
            self.text(levels, at(k, 1), quote_name(each.name), bold=True)
            for place, level in enumerate(each.levels, start=2):
                if each.level_kind == "words":
                    self.text(levels, at(k, place), level_word(level))
                else:
                    levels[at(k, place)].value = level
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
        if each.levels is None:
            rule = validation(
                type="decimal", operator="between", formula1="-1E+300", formula2="1E+300", allow_blank=True
            )
            rule.error = "A number, or nothing where it is missing."
        else:
            rule = validation(
                type="list", formula1=f"=Levels!${letter}$2:${letter}${len(each.levels) + 1}", allow_blank=True
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
