"""JSON from every command, completion, the tutorial, digits of predictions and exit codes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest

import bgn
from bgn.cli.app import bgn as app
from bgn.cli.options import DatasetName
from tests.command import COMMAND, call, run


def commands(group: click.Group = app) -> list[tuple[str, click.Command]]:
    result = []
    for name, command in group.commands.items():
        inner = commands(command) if isinstance(command, click.Group) else [("", command)]
        result += [(f"{name} {item}".strip(), one) for item, one in inner]
    return result


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_command_has_json(name: str, command: click.Command) -> None:
    assert "--json" in [option for parameter in command.params for option in parameter.opts], name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("comforts")
    layer = bgn.Layer([[1.0, 0.0]], [-3.0])
    network = bgn.Network.of_layers([layer], [5.25], 100.0, ["rooms", "area"], "price")
    network = network.with_linear([bgn.Linear(1, 0.0, 100.0)], [1 / 3])
    bgn.save(network, path / "model.json")
    X = pd.DataFrame({"rooms": [2.0, 3.0, 5.0], "area": [50.0, 70.0, 80.0]})
    X.assign(price=network.predict(X), name=["a", "b, c", "d"]).to_csv(path / "houses.csv", index=False)
    return path


def test_predictions_have_the_digits_of_the_weights(folder: Path) -> None:
    model, table = folder / "model.json", folder / "houses.csv"
    assert call("predict", model, table).out.split() == ["prediction", "111.42", "128.58", "131.92"]
    exact = [float(part) for part in call("predict", model, table, "--exact").out.split()[1:]]
    assert exact == bgn.load(model).predict(pd.read_csv(table)[["rooms", "area"]]).tolist()
    lines = [json.loads(line) for line in call("predict", model, table, "--json", "--keep", "name").out.splitlines()]
    assert [line["prediction"] for line in lines] == exact
    assert [line["name"] for line in lines] == ["a", "b, c", "d"]
    call("predict", model, table, "-o", folder / "p.parquet")
    assert pd.read_parquet(folder / "p.parquet")["prediction"].tolist() == exact


def test_text_have_quotes_only_where_they_need_them(folder: Path) -> None:
    table = folder / "houses.csv"
    quoted = call("predict", folder / "model.json", table, "--keep", "name").out.splitlines()
    assert quoted[2].startswith('"b, c",')
    pd.read_csv(table).assign(name=["a", "b", None]).to_csv(folder / "plain.csv", index=False)
    plain = call("predict", folder / "model.json", folder / "plain.csv", "--keep", "name").out.splitlines()
    assert plain[1:] == ["a,111.42", "b,128.58", ",131.92"]


def test_an_effect_with_a_linear_line_is_shown_whole(folder: Path) -> None:
    model, table = folder / "model.json", folder / "houses.csv"
    plain = json.loads(call("effect", model, table, "area", "--json").out)
    assert plain["linear"] == {"coef": 1 / 3, "ends": [0.0, 100.0]}
    lines = call("effect", model, table, "area").out.splitlines()
    places = [line.split()[:2] for line in lines[1:-1]]
    result = bgn.effect(bgn.load(model), "area", pd.read_csv(table)[["rooms", "area"]])
    assert places[0][0] == "50"
    assert places[-1][0] == "80"
    np.testing.assert_allclose([float(b) for _, b in places], result([float(a) for a, _ in places]), atol=0.06)
    assert lines[-1].startswith("some values; the effect itself has 0 steps, and +0.333333 per unit (0 to 100)")


def test_a_report_and_programs_answer_machines(folder: Path) -> None:
    model = folder / "model.json"
    text = json.loads(call("report", model, folder / "houses.csv", "-o", folder / "r.html", "--json").out)
    assert text == {"report": str(folder / "r.html"), "rows": 3, "test_rows": 0}
    assert "SELECT" in json.loads(call("export", model, "--to", "sql", "--json").out)["program"]
    written = json.loads(call("export", model, "--to", "c", "-o", folder / "m.h", "--json").out)
    assert written["written"] == str(folder / "m.h")
    assert json.loads(call("data", "list", "--json").out)[0].keys() >= {"name", "rows", "here"}
    assert json.loads(call("data", "path", "--json").out).keys() == {"path"}
    assert json.loads(call("data", "get", "diabetes", "--json").out)["rows"] == 442


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    assert "_BGN_COMPLETE" in call("completion", shell).out
    assert json.loads(call("completion", shell, "--json").out)["shell"] == shell


def test_bash_completes_commands_options_and_tables() -> None:
    script = f"""
    PATH="{COMMAND.parent}:$PATH"; source <(bgn completion bash)
    ask() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _bgn_completion bgn; echo "${{COMPREPLY[@]}}"; }}
    ask bgn cert; ask bgn fit hous; ask bgn effect --cla; ask bgn completion f
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["certify", "housing", "--class", "fish"]


def test_other_text_are_completed_as_files() -> None:
    (item,) = DatasetName().shell_complete(click.Context(app), click.Argument(["data"]), "rows")
    assert (item.value, item.type) == ("rows", "file")


def test_the_tutorial_runs_to_its_end(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    place = tmp_path / "walk"
    said = call("tutorial", place).out
    for path in ("patients.csv", "model.json", "report.html", "model.sql"):
        assert (place / path).stat().st_size > 0
    for names in ("Nothing odd was found", "points if yes", "proven cheapest", "probability: benign", "AUC"):
        assert names in said, names
    steps = json.loads(call("tutorial", place, "--json").out)
    assert [f"$ {step['command']}" for step in steps] == re.findall(r"^\$ .*", said, flags=re.MULTILINE)


def test_exit_codes_are_those_of_the_help(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(call("--help").out.split())
    assert "0 done; 1 an input was refused, and standard error says why; 2 wrong usage; 130 interrupted" in text
    call("show", folder / "model.json")
    run("show", folder / "nothing.json", code=1)
    call("show", code=2)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bgn, "equation", stop)
    assert "interrupted" in call("show", folder / "model.json", code=130).err
