"""What the application answers: rows by name, predictions with reasons, exact counterfactuals, edits and their file."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

import bgn
from bgn.explain.edit import Editor
from bgn.explain.arguments import class_labels, decode_rows, probabilities_of, table_row
from bgn.export.equation import equation
from bgn.inputs.training import to_labels
from bgn.model.network import Network
from bgn.model.readings import as_terms, swapped
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.persist import ModelFile, save
from bgn.persist.parts import edits_out
from bgn.report import facts as told
from bgn.report.controls import SEPARATOR, KnownRows, typical
from bgn.report.facts import WORST, Facts
from bgn.report.page import PageSettings, render
from bgn.serve import app as asked
from bgn.text import clean, message, quote_category, quote_name

_SECONDS = 10.0  # for a counterfactual
_MOST_BACKGROUND = 300
_MOST_REASONS = 6


@dataclass(frozen=True)
class ModelApp:
    """A model, the rows it is asked about, and where edits may be saved.

    Parameters
    ----------
    file : ModelFile
        What was read from the model's file.
    facts : Facts
        What the page says, from the rows of the table.
    title : str, optional
        Heading of the page.
    save_to : path, optional
        The only file that is ever written; None for none.
    rows : bool, default True
        Whether the page lists rows, and readers can look them up.

    Examples
    --------
    >>> import numpy as np, bgn
    >>> from bgn.persist import ModelFile
    >>> from bgn.report.facts import Facts
    >>> from bgn.serve import ModelApp
    >>> model = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0]], [-65.5])], [0.5], 1.0, ["income", "age"], "value")
    >>> X = np.array([[70.0, 30.0], [20.0, 40.0], [80.0, 50.0]])
    >>> app = ModelApp(ModelFile(model, bgn.__version__), Facts.of(model, X, [1.5, 0.4, 1.6], None, None))
    >>> app.answer("predict", {"row": [70, 30]})["prediction"]
    1.5
    >>> app.answer("counterfactual", {"row": [20, 40], "at_least": 1.2})["changes"]
    [{'column': 0, 'name': 'income', 'from': 20.0, 'to': 65.5}]
    """

    file: ModelFile
    facts: Facts
    title: str | None = None
    save_to: str | os.PathLike[str] | None = None
    rows: bool = True
    _one_at_a_time: Lock = field(default_factory=Lock, repr=False)

    def answer(self, question: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request, or raise :class:`BadRequest` with a sentence that says why there is none."""
        answers = {
            "row": self._row, "predict": self._predict, "counterfactual": self._counterfactual, "edit": self._edit,
            "file": self._file, "save": self._save,
        }  # fmt: skip
        if question not in answers:
            raise BadRequest("There is no such question.")
        with self._one_at_a_time, np.errstate(all="ignore"):
            try:
                found = answers[question](body)
            except BadRequest:
                raise
            except (ValueError, OverflowError) as error:
                raise BadRequest(str(error)) from None
        try:
            json.dumps(found, allow_nan=False)
        except ValueError:
            raise BadRequest("The answer has numbers beyond what can be computed with. Use smaller values.") from None
        return found

    @cached_property
    def page(self) -> bytes:
        """The page, which asks its questions here."""
        script = files("bgn.serve").joinpath("live.js").read_text(encoding="utf-8")
        told: dict[str, Any] = {"save": None if self.save_to is None else Path(self.save_to).name}
        told |= {"rows": len(self._known.names) if self.rows else 0}
        most = WORST if self.rows else 0
        return render(self.facts, PageSettings(self.title, 3, most, script, told)).encode("utf-8")

    @property
    def _network(self) -> Network:
        return self.facts.original

    @cached_property
    def _known(self) -> KnownRows:
        return KnownRows.of(self.facts)

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where rows are, by number and by key."""
        found: dict[str, int] = {}
        for place, name in enumerate(self._known.names):
            for part in (name, *name.split(SEPARATOR)):
                found.setdefault(part.strip().casefold(), place)
        return found

    def _row(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer which values a row has, of the columns that the model uses."""
        asked.only(body, "name")
        if not self.rows:
            raise BadRequest("Rows of the dataset are left out here: it was started with --no-rows.")
        name = asked.words(body.get("name"), "name").strip()
        rows, names, truth = self._known.rows, self._known.names, self._known.truth
        place = self._places.get(name.casefold())
        if place is None:
            raise BadRequest(f"There is no row {name[:40]!r}. The first is {names[0]}, the last {names[-1]}.")
        network, labels = self.facts.network, None
        if self.facts.classes:
            labels = [quote_category(category_name(each)) for each in class_labels(network)]
        known, shown = float(truth[place]), told.columns_shown(self.facts)
        return {
            "name": names[place],
            "values": [
                made_up if i not in shown else None if value != value else value
                for i, (value, made_up) in enumerate(zip(rows[place].tolist(), typical(self.facts), strict=True))
            ],
            "truth": None if known != known else labels[int(known)] if labels else known,
        }

    def _predict(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer what is predicted of a row, how sure that is, and which columns moved it."""
        asked.only(body, "row")
        row, network = asked.row(body.get("row"), self._network), self._network
        table = [table_row(network, row)]
        found: dict[str, Any] = {}
        if self.facts.classes:
            scores = network.raw_score(table)
            chances = probabilities_of(network, scores)[0]
            second = scores[0] >= 0 if self.facts.turned else scores[0] > 0
            best = int(second) if scores.ndim == 1 else int(scores[0].argmax())
            words = [quote_category(category_name(label)) for label in class_labels(self.facts.network)]
            found |= {"label": words[best], "probabilities": chances.tolist()}
        found["prediction"] = np.asarray(network.predict(table))[0].tolist()
        seen = network._rows(row[np.newaxis], encoded=True)
        if (sure := self.facts.intervals) is not None and not self.facts.classes:
            found["interval"] = sure.predict_encoded(seen, told.SHARE)[0].tolist()
        if network.members is not None and len(network.members) > 1:
            error = np.asarray(network.members.prediction_error(network, seen))[0]
            found["standard_error"] = error.tolist()
        return found | {"reasons": self._reasons(table)}

    def _reasons(self, table: Any) -> list[dict[str, Any]]:
        """Return what the columns that matter most add to the mean, by exact SHAP values, where they are quick."""
        network, facts = self._network, self.facts
        if network.depth > 1 or network.link == "softmax" or network.max_features > 6:
            return []
        others = facts.rows[np.linspace(0, len(facts.rows) - 1, min(len(facts.rows), _MOST_BACKGROUND)).astype(int)]
        values = bgn.shap_values(network, table, background=decode_rows(network, others)).values[0]
        order = np.argsort(-np.abs(values), kind="stable")[:_MOST_REASONS].tolist()
        return [{"name": quote_name(facts.network.names[j]), "adds": float(values[j])} for j in order if values[j]]

    def _counterfactual(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer which change of several values is the cheapest that reaches what is wanted."""
        asked.only(body, "row", "at_least", "at_most", "class", "stay")
        network = self._network
        row, wanted = asked.row(body.get("row"), network), self._wanted(body)
        limits = _limits(network, row, set(asked.columns(body.get("stay", []), network, "stay")))
        found = bgn.counterfactual(network, table_row(network, row), **wanted, **limits, max_seconds=_SECONDS)
        told = found if found.rounded is None else found.rounded  # in few digits
        moved = [(network.names.index(name), old, new) for name, (old, new) in told.changes.items()]
        shown = told.prediction if told.x is not None else float("nan")
        values = None if told.x is None else network.schema.encode([told.x], missing=True)[0]
        return {
            "found": found.reached, "proven": found.optimal, "unreachable": found.unreachable,
            "within": 0.0 if told is found else told.max_saving,
            "prediction": None if shown != shown else shown,
            "changes": [{"column": j, "name": quote_name(self.facts.network.names[j]), "from": self._told(j, old),
                         "to": self._told(j, new)} for j, old, new in moved],
            "values": None if values is None else [None if each != each else each for each in values.tolist()],
        }  # fmt: skip

    def _told(self, j: int, value: Any) -> Any:
        """Return a value of a column in the page's words."""
        column, shown = self._network.schema.columns[j], self.facts.network.schema.columns[j]
        if value is None or value != value:
            return "missing"
        if column.categories is None:
            return float(value)
        return quote_category(category_name((shown.categories or ())[column.categories.index(value)]))

    def _wanted(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what prediction is wanted, as :func:`bgn.counterfactual` takes it."""
        ends = {key: asked.number(body[key], key) for key in ("at_least", "at_most") if body.get(key) is not None}
        if len(ends) != 1 and (ends or not self.facts.classes):
            raise BadRequest("Say what is wanted: at least so much, or at most so much.")
        if not self.facts.classes:
            return dict(ends)
        labels = class_labels(self._network)
        number = asked.whole(body.get("class", len(labels) - 1), "class", 0, len(labels) - 1)
        if not ends:
            return {"to": labels[number]}
        if len(labels) > 2 and self._network.linear:
            raise BadRequest(
                "This model has straight lines and more than two classes: no probability can be proven to be reached. "
                "Leave the percentage empty to ask for the class."
            )
        if not 0 <= (share := next(iter(ends.values()))) <= 1:
            raise BadRequest("A probability lies between 0 and 100 per cent.")
        return {"to": labels[number], "probability": (share, 1.0) if "at_least" in ends else (0.0, share)}

    # -- edits -----------------------------------------------------------------------------------------------

    def _edited(self, body: Mapping[str, Any]) -> Editor:
        """Return the editor after all changes of a request; lines are counted as the page counts them at its start.

        They are tried on training rows: nobody is to choose by test rows.
        """
        asked.only(body, "changes")
        facts, network = self.facts, self._network
        target = to_labels(facts.target, network.schema.classes)
        start = bgn.edit(network, decode_rows(network, facts.rows), target)
        return replayed(start, asked.changes(body.get("changes")), network)

    def _edit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer what changes do to all training rows."""
        editor = self._edited(body)
        text = equation(editor.network, units=dict(self.file.units), most=100)
        which = "the {:,} training rows" if self.facts.held_out else "all {:,} rows"
        return {"log": edits_out(editor.log), "rows": which.format(len(self.facts.rows)), "equation": text}

    def _file(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the file of the edited model."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "edited.json"
            self._write(self._edited(body), path)
            return {"text": path.read_text(encoding="utf-8")}

    def _save(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Write the edited model to the file that was named at the start."""
        if self.save_to is None:
            raise BadRequest("No file was named at the start; download the model, or start with --save FILE.")
        editor = self._edited(body)
        try:
            self._write(editor, self.save_to)
        except OSError as error:
            raise BadRequest(f"The file could not be written: {error.strerror or 'unknown reason'}.") from None
        return {"saved": Path(self.save_to).name, "changes": len(editor.log)}

    def _write(self, editor: Editor, path: str | os.PathLike[str]) -> None:
        file = self.file
        known: dict[str, Any] = {"preparation": file.preparation, "held_out": file.held_out}
        network = swapped(editor.network) if self.facts.turned else editor.network
        save(network, path, units=file.units, edits=(*file.edits, *editor.log), **known)


def _limits(network: Network, row: Floats, stay: set[int]) -> dict[str, Any]:
    """Return which columns stay as they are, and which 0/1 columns stand for one category."""
    schema, groups = network.schema, list[list[str]]()
    for members in schema.category_columns.values():
        if not stay.intersection(members) and row[members].sum() == 1:
            groups.append([schema.names[j] for j in members])
        else:
            stay = stay | set(members)
    dated = {j for j, column in enumerate(schema.columns) if column.part_of is not None}
    return {"immutable": [schema.names[j] for j in sorted(stay | dated)], "one_hot": groups}


# -- What a request holds, read strictly: anything else is refused in a sentence for the person at the browser.

_MOST_CHANGES = 200
_MOST_LETTERS = 500


class BadRequest(ValueError):
    """A request that cannot be answered, and why."""


def parsed(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body holds.

    Examples
    --------
    >>> from bgn.serve.app import parsed
    >>> parsed(b'{"row": [1, null]}')
    {'row': [1, None]}
    """
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The request is not JSON: {message(str(error), 120)}.") from None
    if not isinstance(found, dict):
        raise BadRequest("The request must be a JSON object.")
    return found


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def only(asked: Mapping[str, Any], *known: str) -> None:
    """Refuse what nobody asks for."""
    if unknown := [str(name) for name in asked if name not in known]:
        raise BadRequest(f"{clean(unknown[0], 40)!r} is not known here; a request may have {', '.join(known)}.")


def number(value: Any, what: str) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRequest(f"{what} must be a number; got {_shown(value)}.")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise BadRequest(f"{what} must be a number that can be computed with.")
    return found


def whole(value: Any, what: str, low: int, high: int) -> int:
    """Return a whole number within ends."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadRequest(f"{what} must be a whole number from {low} to {high}; got {_shown(value)}.")
    return value


def words(value: Any, what: str) -> str:
    """Return a text of bounded length."""
    if not isinstance(value, str) or len(value) > _MOST_LETTERS:
        raise BadRequest(f"{what} must be a text of at most {_MOST_LETTERS} letters.")
    return value


def truth(value: Any, what: str) -> bool:
    """Return yes or no."""
    if not isinstance(value, bool):
        raise BadRequest(f"{what} must be true or false; got {_shown(value)}.")
    return value


def row(value: Any, network: Network) -> Floats:
    """Return a row as the network encodes it: a category as the number of its level, NaN for a gap."""
    columns = network.schema.columns
    if not isinstance(value, list) or len(value) != len(columns):
        raise BadRequest(f"row must have {len(columns)} values, one per column.")
    found = np.full(len(columns), np.nan)
    for j, (column, each) in enumerate(zip(columns, value, strict=True)):
        if each is None:
            continue
        found[j] = number(each, quote_name(column.name, 60))
        if column.categories is not None and found[j] not in range(len(column.categories)):
            raise BadRequest(f"{quote_name(column.name, 60)} has no level number {_shown(each)}.")
    return found


def columns(value: Any, network: Network, what: str) -> list[int]:
    """Return numbers of columns."""
    if not isinstance(value, list):
        raise BadRequest(f"{what} must be a list of columns.")
    return [whole(each, what, 0, network.n_inputs - 1) for each in value]


def changes(value: Any) -> Sequence[dict[str, Any]]:
    """Return the changes of an expert, one after the other."""
    if not isinstance(value, list) or len(value) > _MOST_CHANGES or not all(isinstance(each, dict) for each in value):
        raise BadRequest(f"changes must be a list of at most {_MOST_CHANGES} changes.")
    return value


def _shown(value: Any) -> str:
    return message(json.dumps(value, default=str)[:200], 60)


# -- Changes of an expert as a page sends them, done again by the library: lines keep the numbers that they began
# with.


def replayed(editor: Editor, changes: Sequence[Mapping[str, Any]], network: Network) -> Editor:
    """Return the editor after all changes."""
    neurons: list[int | None] = [term.index for term in as_terms(network).rules]
    for change in changes:
        asked.only(change, "do", "question", "value", "level", "yes", "why")
        question = asked.whole(change.get("question"), "question", 1, len(neurons))
        neuron = neurons[question - 1]
        if neuron is None:
            raise BadRequest(f"Question {question} was dropped before.")
        line = [term.index for term in as_terms(editor.network).rules].index(neuron) + 1
        editor = _done(editor, change, line, neuron)
        if change.get("do") == "drop":
            neurons = [None if each == neuron else each - 1 if each is not None and each > neuron else each
                       for each in neurons]  # fmt: skip
    return editor


def _done(editor: Editor, change: Mapping[str, Any], line: int, neuron: int) -> Editor:
    """Return the editor after one change of a line."""
    what, why = change.get("do"), asked.words(change.get("why", ""), "why")
    if what == "drop":
        return editor.drop(line, why=why)
    if what == "threshold":
        return editor.threshold(line, asked.number(change.get("value"), "threshold"), why)
    if what == "amount":
        return editor.coef(line, asked.number(change.get("value"), "amount"), why)
    if what == "level":
        columns = editor.network.layers[0].neurons[neuron].projection.columns
        categories = editor.network.schema.columns[columns[0]].categories
        if len(columns) != 1 or categories is None:
            raise BadRequest("This question is not about one category.")
        code = asked.whole(change.get("level"), "level", -1, len(categories) - 1)
        return editor.category(line, None if code < 0 else categories[code], asked.truth(change.get("yes"), "yes"), why)
    raise BadRequest("A change is one of threshold, amount, level and drop.")
