"""What the application answers: rows by name, predictions with reasons, exact counterfactuals, edits and their file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

import bgn
from bgn.explain.arguments import class_labels, decode_rows, one_hot_limits, probabilities_of, table_row
from bgn.explain.edit import Editor
from bgn.export.equation import equation
from bgn.inputs.training import to_labels
from bgn.model.readings import as_terms, swap_classes
from bgn.model.schema import category_name
from bgn.persist import ModelFile, save
from bgn.persist.parts import edits_out
from bgn.report.controls import SEPARATOR, KnownRows, typical
from bgn.report.facts import SHARE, WORST, Facts, columns_shown
from bgn.report.page import PageSettings, render
from bgn.serve import requests
from bgn.serve.requests import BadRequest
from bgn.text import quote_category, quote_name

_SECONDS = 10.0  # for a counterfactual
_MOST_BACKGROUND = 300
_MOST_REASONS = 6
_MOST_CHANGES = 200  # of one request


@dataclass(frozen=True)
class ModelApp:
    """A model, the facts of its page and its heading, the only file that is ever written, and whether rows are shown.

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

    def answer(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request, or raise :class:`BadRequest` with a sentence that says why there is none."""
        answers = {
            "row": self._row, "predict": self._predict, "counterfactual": self._counterfactual, "edit": self._edit,
            "file": self._file, "save": self._save,
        }  # fmt: skip
        if name not in answers:
            raise BadRequest("There is no such request.")
        with self._one_at_a_time, np.errstate(all="ignore"):
            try:
                content = answers[name](body)
            except (ValueError, OverflowError) as error:
                raise BadRequest(str(error)) from None
        try:
            json.dumps(content, allow_nan=False)
        except ValueError:
            raise BadRequest("The answer has numbers beyond what can be computed with. Use smaller values.") from None
        return content

    @cached_property
    def page(self) -> bytes:
        """The page, which sends its requests here."""
        script = files("bgn.serve").joinpath("live.js").read_text(encoding="utf-8")
        offers = {
            "save": None if self.save_to is None else Path(self.save_to).name,
            "rows": len(self._known[0].names) if self.rows else 0,
        }
        settings = PageSettings(self.title, 3, WORST if self.rows else 0, script, offers)
        return render(self.facts, settings).encode("utf-8")

    @cached_property
    def _known(self) -> tuple[KnownRows, dict[str, int]]:
        """The rows that readers can look up, and where they are by number and by key."""
        known, places = KnownRows.of(self.facts), dict[str, int]()
        for place, name in enumerate(known.names):
            for part in (name, *name.split(SEPARATOR)):
                places.setdefault(part.strip().casefold(), place)
        return known, places

    def _row(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer which values a row has, of the columns that the model uses."""
        requests.check_keys(body, "name")
        if not self.rows:
            raise BadRequest("Rows of the dataset are left out here: it was started with --no-rows.")
        name, facts, (known, places) = requests.read_text(body.get("name"), "name").strip(), self.facts, self._known
        place = places.get(name.casefold())
        if place is None:
            ends = f"The first is {known.names[0]}, the last {known.names[-1]}."
            raise BadRequest(f"There is no row {name[:40]!r}. {ends}")
        shown, made_up, truth = columns_shown(facts), typical(facts), float(known.truth[place])
        return {
            "name": known.names[place],
            "values": [made_up[i] if i not in shown else None if value != value else value
                       for i, value in enumerate(known.rows[place].tolist())],
            "truth": None if truth != truth else facts.class_names[int(truth)] if facts.classes else truth,
        }  # fmt: skip

    def _predict(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer what is predicted of a row, how sure that is, and which columns moved it."""
        requests.check_keys(body, "row")
        facts, network = self.facts, self.facts.original
        row = requests.read_row(body.get("row"), network)
        table = [table_row(network, row)]
        content: dict[str, Any] = {"prediction": np.asarray(network.predict(table))[0].tolist()}
        if facts.classes:
            scores = network.raw_score(table)
            second = scores[0] >= 0 if facts.turned else scores[0] > 0
            best = int(second) if scores.ndim == 1 else int(scores[0].argmax())
            probabilities = probabilities_of(network, scores)[0].tolist()
            content |= {"label": facts.class_names[best], "probabilities": probabilities}
        encoded = network._rows(row[np.newaxis], encoded=True)
        if facts.intervals is not None and not facts.classes:
            content["interval"] = facts.intervals.predict_encoded(encoded, SHARE)[0].tolist()
        if network.members is not None and len(network.members) > 1:
            content["standard_error"] = np.asarray(network.members.prediction_error(network, encoded))[0].tolist()
        content["reasons"] = []
        if not network.below and network.link != "softmax" and network.max_features <= 6:  # exact values are quick
            some = np.linspace(0, len(facts.rows) - 1, min(len(facts.rows), _MOST_BACKGROUND)).astype(int)
            background = decode_rows(network, facts.rows[some])
            values = bgn.shap_values(network, table, background=background).values[0]
            order = np.argsort(-np.abs(values), kind="stable")[:_MOST_REASONS].tolist()
            content["reasons"] = [{"name": quote_name(facts.network.names[j]), "adds": float(values[j])}
                                  for j in order if values[j]]  # fmt: skip
        return content

    def _counterfactual(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer which change of several values is the cheapest that reaches what is wanted."""
        requests.check_keys(body, "row", "at_least", "at_most", "class", "stay")
        network, columns = self.facts.original, self.facts.network.schema.columns
        row, wanted, stay = requests.read_row(body.get("row"), network), self._goal(body), body.get("stay", [])
        if not isinstance(stay, list):
            raise BadRequest("stay must be a list of columns.")
        names = [network.names[requests.read_whole(column, "stay", 0, network.n_inputs - 1)] for column in stay]
        still, groups = one_hot_limits(network.schema, row, names)
        limits: dict[str, Any] = {"immutable": still, "one_hot": groups, "max_seconds": _SECONDS}
        answer = bgn.counterfactual(network, table_row(network, row), **wanted, **limits)
        shown = answer if answer.rounded is None else answer.rounded  # in few digits
        values, prediction, changes = None, None, []
        if shown.x is not None:
            values = [None if value != value else value
                      for value in network.schema.encode([shown.x], missing=True)[0].tolist()]  # fmt: skip
            prediction = None if shown.prediction != shown.prediction else shown.prediction
        for name, ends in shown.changes.items():
            j = network.names.index(name)
            known, page = network.schema.columns[j].categories, columns[j].categories or ()
            old, new = ("missing" if value is None or value != value else float(value) if known is None
                        else quote_category(category_name(page[known.index(value)])) for value in ends)  # fmt: skip
            changes.append({"column": j, "name": quote_name(columns[j].name), "from": old, "to": new})
        return {
            "found": answer.reached, "proven": answer.optimal, "unreachable": answer.unreachable,
            "within": 0.0 if shown is answer else shown.max_saving, "prediction": prediction, "changes": changes,
            "values": values,
        }  # fmt: skip

    def _goal(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what prediction is wanted, as :func:`bgn.counterfactual` takes it."""
        ends = {key: requests.read_number(body[key], key) for key in ("at_least", "at_most")
                if body.get(key) is not None}  # fmt: skip
        if len(ends) != 1 and (ends or not self.facts.classes):
            raise BadRequest("Say what is wanted: at least so much, or at most so much.")
        if not self.facts.classes:
            return dict(ends)
        labels = class_labels(self.facts.original)
        number = requests.read_whole(body.get("class", len(labels) - 1), "class", 0, len(labels) - 1)
        if not ends:
            return {"to": labels[number]}
        if len(labels) > 2 and self.facts.original.linear:
            raise BadRequest(
                "This model has linear terms and more than two classes: no probability can be proven to be reached. "
                "Leave the percentage empty to ask for the class."
            )
        if not 0 <= (share := next(iter(ends.values()))) <= 1:
            raise BadRequest("A probability lies between 0 and 100 per cent.")
        return {"to": labels[number], "probability": (share, 1.0) if "at_least" in ends else (0.0, share)}

    def _edited(self, body: Mapping[str, Any]) -> Editor:
        """Return the editor after all changes of a request; lines are counted as the page counts them at its start.

        They are tried on training rows: nobody is to choose by test rows.
        """
        requests.check_keys(body, "changes")
        facts, network = self.facts, self.facts.original
        changes: Any = body.get("changes")
        plain = isinstance(changes, list) and all(isinstance(change, dict) for change in changes)
        if not plain or len(changes) > _MOST_CHANGES:
            raise BadRequest(f"changes must be a list of at most {_MOST_CHANGES} changes.")
        target = to_labels(facts.target, network.schema.classes)
        editor = bgn.edit(network, decode_rows(network, facts.rows), target)
        rules: list[int | None] = [term.index for term in as_terms(network).rules]
        parts = [list(map(_identity, network.rules[rule].conditions)) for rule in rules if rule is not None]
        for change in changes:
            requests.check_keys(change, "do", "rule", "condition", "value", "category", "yes", "why")
            number = requests.read_whole(change.get("rule"), "rule", 1, len(rules))
            if (rule := rules[number - 1]) is None:
                raise BadRequest(f"Rule {number} was dropped before.")
            line = [term.index for term in as_terms(editor.network).rules].index(rule) + 1
            place = requests.read_whole(change.get("condition", 1), "condition", 1, len(parts[number - 1])) - 1
            kept = list(map(_identity, editor.network.rules[rule].conditions))  # thresholds decide their order
            wanted = parts[number - 1][place]
            place = kept.index(wanted) if wanted in kept else place
            what, why = change.get("do"), requests.read_text(change.get("why", ""), "why")
            if what == "drop":  # lines keep the numbers that they began with
                editor = editor.drop(line, why=why)
                rules = [None if other == rule else other - 1 if other is not None and other > rule else other
                         for other in rules]  # fmt: skip
            elif what == "threshold":
                value = requests.read_number(change.get("value"), "threshold")
                editor = editor.threshold(line, value, why, place + 1)
            elif what == "weight":
                editor = editor.coef(line, requests.read_number(change.get("value"), "weight"), why)
            elif what == "category":
                columns, yes = editor.network.rules[rule].conditions[place].columns, change.get("yes")
                categories = editor.network.schema.columns[columns[0]].categories
                if len(columns) != 1 or categories is None:
                    raise BadRequest("This rule is not about one category.")
                code = requests.read_whole(change.get("category"), "category", -1, len(categories) - 1)
                if not isinstance(yes, bool):
                    raise BadRequest(f"yes must be true or false; got {requests.shown(yes)}.")
                editor = editor.category(line, None if code < 0 else categories[code], yes, why, place + 1)
            else:
                raise BadRequest("A change is one of threshold, weight, category and drop.")
        return editor

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
        file, network = self.file, swap_classes(editor.network) if self.facts.turned else editor.network
        edits = (*file.edits, *editor.log)
        save(network, path, units=file.units, edits=edits, preparation=file.preparation, held_out=file.held_out)


def _identity(condition: Any) -> tuple[Any, ...]:
    """Return what a condition of a rule is known by whatever its threshold and categories are."""
    return type(condition), condition.columns, getattr(condition, "relation", ">=")[0]
