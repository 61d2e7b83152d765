"""Nothing of a row leaves the machine unless asked: planted names and numbers are searched in the bytes of outputs."""

from __future__ import annotations

import base64
import http.client
import json
import re
import threading
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bgn
from bgn.export import TARGETS
from bgn.persist import read
from bgn.report.facts import Facts
from bgn.serve import ModelApp, ModelServer
from tests.command import call
from tests.networks import town, town_rows
from tests.planted import NAMES, Secrets, patients

TABLE = patients()
SECRETS = Secrets.of(TABLE)
SMALL: dict[str, Any] = {"max_terms": 4, "growth": bgn.GrowthSettings(0), "random_state": 0, "cv": None}


def tells(*outputs: Path | str | bytes) -> list[str]:
    """Return which secrets there are in files, texts or bytes."""
    contents = [output.read_bytes() if isinstance(output, Path) else output for output in outputs]
    as_bytes = [content.encode() if isinstance(content, str) else content for content in contents]
    return [secret for content in as_bytes for secret in SECRETS.secrets_in(content)]


def test_the_search_finds_what_is_packed(tmp_path: Path) -> None:
    name, number = NAMES[3], int(TABLE["income"][TABLE["income"] % 1000 > 0].iloc[0])
    hidden = base64.b64encode(zlib.compress(json.dumps({"a": [name], "b": [number]}).encode()))
    assert len(tells(b'{"packed":"' + hidden + b'"}')) == 2
    assert tells(f"{number:,} a year", f"{number}.0") == [str(number)] * 2
    TABLE.head(3).to_excel(tmp_path / "t.xlsx")
    assert tells(tmp_path / "t.xlsx")
    assert tells(np.array([float(number)]).tobytes())
    assert not tells("nobody", b"1000000 5000000 9000000", f"0.{number}", f"{number}1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a data file, and the model, the page and the card that a fit without rows makes of it."""
    folder = tmp_path_factory.mktemp("patients")
    TABLE.reset_index().to_csv(folder / "patients.csv", index=False)
    files = "-o", folder / "model.json", "--report", folder / "fit.html"
    options = "--key", "key", "--drop", "patient", "--size", "4", "--max-terms", "12", "--max-linear", "0"
    options += "--replacements", "0", *files, "--no-rows", "--json"
    done = call("fit", folder / "patients.csv", "-t", "cost", *options)
    (folder / "card.json").write_text(done.out)
    return folder


def test_a_fit_leaves_no_row(folder: Path) -> None:
    assert tells(folder / "model.json", folder / "fit.html", folder / "card.json") == []
    model = read(folder / "model.json")
    columns = {model.network.names[j]: model.network.schema.columns[j] for j in range(model.network.n_inputs)}
    assert columns["doctor"].categories == ()
    assert columns["town"].categories == ("Lille", "Nice", "Rome")


def test_another_size_of_a_saved_model_may_ask_about_categories_that_stayed_behind(tmp_path: Path) -> None:
    """They count as never seen; the model itself predicts the same bits."""
    rare = np.arange(len(TABLE)) < 9
    X = TABLE[["income", "doctor", "town"]].assign(town=TABLE["town"].mask(rare, "Sète"))
    y = 10.0 * (X["income"] > 5e6) + 2.0 * X["doctor"].isin(NAMES[::2])
    model = bgn.BGNRegressor(**SMALL).fit(X, y).with_terms(1)
    assert model.network_.features_used == (0,)
    assert 1 in model.with_terms(2).network_.features_used
    model.save(tmp_path / "model.json")
    assert tells(tmp_path / "model.json") == []
    loaded = bgn.load(tmp_path / "model.json")
    categories = [column.categories for column in loaded.network_.schema.columns]
    assert categories == [None, (), ("Lille", "Nice", "Rome")]
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    new = model.network_.schema.encode(X)
    new[:, 1] = np.nan
    np.testing.assert_array_equal(loaded.with_terms(2).predict(X), model.with_terms(2).network_.predict_encoded(new))
    model.with_terms(2).save(tmp_path / "wide.json")  # which asks about them: they are the model
    wide = bgn.load(tmp_path / "wide.json")
    assert wide.network_.schema.columns[1].categories == tuple(sorted(NAMES))
    np.testing.assert_array_equal(wide.predict(X), model.with_terms(2).predict(X))


REPORTS = [("--key", "key"), ("--rows", "all"), ("--rows", "train", "--key", "mail"), ("--size", "12")]


@pytest.mark.parametrize("options", REPORTS, ids=" ".join)
def test_a_page_without_rows_has_none(folder: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    out = tmp_path / "r.html"
    done = call("report", folder / "model.json", folder / "patients.csv", "-o", out, "--no-rows", "--json", *options)
    assert tells(out, done.out) == []
    assert "contains rows" not in done.err
    text = out.read_text(encoding="utf-8")
    assert "This page contains no rows of the dataset." in text
    assert 'id="residuals"' not in text
    call("report", folder / "model.json", folder / "patients.csv", "-o", out, *options)
    assert tells(out)
    assert contained(out) == packed(out) > 0


COMMANDS = {
    "show": (), "path": (), "explain": ("data",), "effect": ("data", "income"), "evaluate": ("data",), "certify": (),
    "compare": ("data", "--groups", "town", "--between", "Lille", "Nice"),
    "simplify": ("data", "--points", "5", "-o", "out"), "distill": ("data", "--max-terms", "2", "-o", "out"),
    "edit": ("data", "drop", "1", "-o", "out"),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_rows_that_it_was_not_given(folder: Path, tmp_path: Path, command: str) -> None:
    places = {"data": folder / "patients.csv", "out": tmp_path / "out.json"}
    arguments = [places.get(argument, argument) for argument in COMMANDS[command]]
    done = call(command, folder / "model.json", *arguments, "--json")
    assert tells(done.out, *tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", TARGETS)
def test_no_export_tells_of_rows(folder: Path, tmp_path: Path, target: str) -> None:
    needed = {"onnx": "onnx", "excel": "openpyxl"}
    if target in needed:
        pytest.importorskip(needed[target])
    out = tmp_path / "program"
    call("export", folder / "model.json", "--to", target, "-o", out)
    assert tells(*(path for path in tmp_path.rglob("*") if path.is_file())) == []
    if target in ("sql", "excel", "json-schema"):
        assert out.stat().st_size > 100


def test_a_server_without_rows_answers_about_none(folder: Path, tmp_path: Path) -> None:
    file = read(folder / "model.json")
    facts = Facts.of(file.model(), TABLE, TABLE["cost"], None, None)
    row = [{"income": 5_000_000, "age": 40, "number": 5_000_000}.get(name) for name in file.network.names]
    app = ModelApp(file, facts, save_to=tmp_path / "edited.json", rows=False)
    requests: dict[str, Any] = {
        "row": {"name": "1"}, "predict": {"row": row}, "counterfactual": {"row": row, "at_least": 9.0},
        "edit": {"changes": [{"do": "drop", "rule": 1}]},
        "file": {"changes": [{"do": "drop", "rule": 1}]}, "save": {"changes": [{"do": "drop", "rule": 1}]},
    }  # fmt: skip
    with ModelServer(app) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        answers = {name: over_http(server, name, body) for name, body in requests.items()}
        answers["page"] = over_http(server, None, None)
        server.shutdown()
        thread.join()
    assert tells(*(content for _, content in answers.values()), tmp_path / "edited.json") == []
    assert {name: status for name, (status, _) in answers.items()} == dict.fromkeys(answers, 200) | {"row": 400}
    assert b"--no-rows" in answers["row"][1]
    assert b"This page contains no rows of the dataset." in answers["page"][1]


def over_http(server: ModelServer, name: str | None, body: Any) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    if name is None:
        connection.request("GET", f"/{server.token}/")
    else:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", f"/{server.token}/api/{name}", json.dumps(body), headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def test_a_server_with_rows_says_how_many_it_can_look_up() -> None:
    network, rows = town(), town_rows(60)
    app = ModelApp(bgn.persist.ModelFile(network, ""), Facts.of(network, rows, network.predict(rows), None, None))
    text = app.page.decode()
    assert "This page contains 10 rows of the dataset, listed with their errors, and can look up each of 60." in text
    assert len(re.findall(r'data-of="row">', text)) == 10


KINDS: dict[str, dict[str, Any]] = {
    "numbers": {}, "folds": {"cv": 3}, "average": {"ensemble": 2}, "deep": {"max_layers": 2},
    "two classes": {"cut": [5]}, "three classes": {"cut": [4, 7]},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_model_file_tells_of_rows(tmp_path: Path, kind: str) -> None:
    settings = SMALL | KINDS[kind]
    X, y = TABLE.drop(columns=["cost", "key", "mail"]), TABLE["cost"]
    if cut := settings.pop("cut", None):
        y = pd.Series(np.array(["low", "middle", "high"])[np.digitize(y, cut)], y.index, name="cost")
    make = bgn.BGNClassifier if cut else bgn.BGNRegressor
    model = make(**settings, interaction_cst=None).fit(X, y)
    if kind == "folds":
        model.intervals_ = bgn.intervals(model, X, y, cv=3)
        pairs = list(zip(model.intervals_.fold_of, model.intervals_.fold_scores.tolist(), strict=True))
        assert pairs == sorted(pairs)  # their order tells nothing of the rows
    model.save(tmp_path / "model.json")
    assert tells(tmp_path / "model.json", model._repr_html_(), model.equation("html")) == []
    page = model.report(X, y, tmp_path / "r.html", rows=False, names=list(TABLE["key"]))
    assert tells(page) == []
    assert contained(page) == 0
    page = model.report(X, y, tmp_path / "r.html", names=list(TABLE["key"]))
    assert contained(page) == packed(page) == len(TABLE)
    assert "their names or keys" in page.read_text(encoding="utf-8")


# -- how many rows a page contains -----------------------------------------------------------------------------


def contained(page: Path) -> int:
    """Return how many rows of the dataset a page says that it contains, in its header."""
    header = page.read_text(encoding="utf-8").partition("</header>")[0]
    count = re.search(r"This page contains (no|[\d,]+) rows? of the dataset", header)
    assert count is not None
    return 0 if count[1] == "no" else int(count[1].replace(",", ""))


def packed(page: Path) -> int:
    """Return how many rows a page contains: those that are packed, those that are listed, and those of its script."""
    data = script_of(page)
    if data["starts"] is None:
        assert data["rows"] == []
        return 0
    rows = json.loads(zlib.decompress(base64.b64decode(data["starts"]["packed"])))
    listed = re.findall(r'data-of="row">([^<]*)</th>', page.read_text(encoding="utf-8"))
    assert set(listed) <= set(rows["names"])
    assert len(listed) == len(data["rows"])
    places = [rows["names"].index(name) for name in listed]
    for place, values in zip(places, data["rows"], strict=True):
        shown = data["starts"]["columns"]
        assert [column[place] for column in rows["columns"]] == [values[j] for j in shown]
        assert [value for j, value in enumerate(values) if j not in shown] == [
            value for j, value in enumerate(data["typical"]) if j not in shown
        ]
    if data["editing"] is not None:
        assert [row["values"] for row in data["editing"]["rows"]] == [data["typical"], *data["rows"]]
    return len(set(rows["names"]))


def script_of(page: Path) -> dict[str, Any]:
    """Return what a page's script reads."""
    text = page.read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(re.findall(r'id="bgn-data">(.*?)</script>', text, re.DOTALL)[0])
    return data


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("rows", [None, True, False, 0, 1, 7, 10, 11, 40, 1000])
def test_a_page_contains_as_many_rows_as_it_says(tmp_path: Path, rows: int | bool | None, held_out: bool) -> None:
    network, table = town(), town_rows(60)
    target = network.predict(table) + np.linspace(-1, 1, 60) ** 3
    tests = {"X_test": table[:25], "y_test": target[:25]} if held_out else {}
    page = bgn.write_report(network, table, target, tmp_path / "r.html", rows=rows, **tests)
    there = 25 if held_out else 60
    most = there if rows is None or rows is True else min(int(rows), there)
    assert contained(page) == packed(page) == most
    assert len(script_of(page)["rows"]) == min(most, 10)


def test_what_rows_may_be(tmp_path: Path) -> None:
    network, table = town(), town_rows(20)
    for wrong in (-1, 2.5, "all"):
        with pytest.raises(ValueError, match="rows must be False for none, a whole number for the most, or None"):
            bgn.write_report(network, table, network.predict(table), tmp_path / "r.html", rows=wrong)  # type: ignore


def test_the_command_line_refuses_to_leave_rows_out_and_in(folder: Path) -> None:
    files = folder / "model.json", folder / "patients.csv"
    assert "choose one" in call("report", *files, "--no-rows", "--start-rows", "3", code=2).err
