"""Runs are stored once, whoever writes; tables are the same bytes for the same runs."""

import doctest
import io
import json
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import code, published, runner, tables
from experiments.__main__ import main
from experiments.store import Store, merge
from tests.experiments.made_up import CHECKSUM, TASK, run_of

ROOT = Path(__file__).parents[2]


def test_a_key_is_what_it_was_in_every_version():
    assert TASK.key(CHECKSUM) == "0737dee8506f6ed0ce5f8fcd86ea1be5a829c25e35d4d6529eaaf86f204af0ed"


@pytest.mark.parametrize(
    "change",
    [
        {"study": "peers"}, {"dataset": "bike"}, {"method": "bireal"}, {"parameters": {"hidden_layers": [100]}},
        {"seed": 1}, {"split": "paper, 200 rows"}, {"revision": 2},
    ],
)  # fmt: skip
def test_a_key_depends_on_all_that_determines_a_run(change):
    assert replace(TASK, **change).key(CHECKSUM) != TASK.key(CHECKSUM)


def test_a_key_does_not_depend_on_the_order_of_parameters_nor_on_versions():
    other = replace(TASK, parameters=dict(reversed(TASK.parameters.items())))
    assert other.key(CHECKSUM) == TASK.key(CHECKSUM) != TASK.key("1" * 64)
    assert replace(run_of(TASK), versions={}).key == run_of(TASK).key


def test_a_run_comes_back_as_it_was_stored(tmp_path):
    kept = run_of(TASK, test_mse=0.1 + 0.2, widths=[3, 4], note=None, missing=float("inf"))
    with Store(tmp_path / "s.sqlite") as store:
        store.add([kept])
        assert store.runs() == {kept.key: kept}
    with Store(tmp_path / "s.sqlite", read_only=True) as store:
        assert store.runs() == {kept.key: kept}


def test_a_success_stays_and_a_failure_gives_way(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        for run, expected in (
            (run_of(TASK, "ValueError: no"), "ValueError: no"),
            (run_of(TASK, "OSError: neither"), "OSError: neither"),
            (run_of(TASK, test_mse=1.0), None),
            (run_of(TASK, test_mse=2.0), None),
            (run_of(TASK, "ValueError: late"), None),
        ):
            store.add([run])
            (stored,) = store.runs().values()
            assert stored.error == expected
        assert stored.figures == {"test_mse": 1.0}


def test_runs_are_added_all_or_none(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(TypeError, match="not JSON serializable"):
            store.add([run_of(TASK), run_of(replace(TASK, seed=1), bad=object())])
        assert store.runs() == {}


WRITER = """
import sys
from experiments.store import Run, Store, Task
path, who = sys.argv[1], int(sys.argv[2])
with Store(path) as store:
    for seed in range(who * 20, who * 20 + 40):
        task = Task("s", "diabetes", f"m{seed % 7}", {"k": seed % 5}, seed, "paper")
        store.add([Run(task, "0", {"who": 1}, None, 1.0, "", {})])
"""


def test_several_processes_write_at_once(tmp_path):
    path = str(tmp_path / "s.sqlite")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, str(k)], cwd=ROOT) for k in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    with Store(path) as store:
        assert sorted(run.task.seed for run in store.runs().values()) == list(range(100))


def test_merging_takes_what_succeeded_from_any_store(tmp_path):
    other = replace(TASK, seed=1)
    for name, runs in {
        "a": [run_of(TASK, "ValueError: no"), run_of(other, test_mse=2.0)],
        "b": [run_of(TASK, test_mse=1.0)],
        "c": [run_of(other, "ValueError: no")],
    }.items():
        with Store(tmp_path / name) as store:
            store.add(runs)
    assert merge(tmp_path / "all", [tmp_path / name for name in "abc"]) == 2
    with Store(tmp_path / "all", read_only=True) as store:
        assert {run.figures["test_mse"] for run in store.runs().values()} == {1.0, 2.0}
    assert sorted(os.listdir(tmp_path)) == ["a", "all", "b", "c"]  # one file, fit to be copied


def test_a_store_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="run a study with --store"):
        Store(tmp_path / "none.sqlite", read_only=True)


TABLE = tables.Table(
    "small", "Test MSE & more", ("method", "MSE", "width"),
    [("BNN*", 3573.67, 1000), ("a_b | c", 0.031996, None), ("bad", tables.FAILED, tables.MISSING)], ("Mean of 3.",),
)  # fmt: skip


TEXT = """\
Test MSE & more

method       MSE    width
-------  -------  -------
BNN*       3,574    1,000
a_b | c  0.03200
bad       failed  missing

Mean of 3.
"""
MARKDOWN = r"""**Test MSE & more**

| method | MSE | width |
| :--- | ---: | ---: |
| BNN\* | 3,574 | 1,000 |
| a_b \| c | 0.03200 |  |
| bad | failed | missing |

Mean of 3.
"""
LATEX = r"""% Test MSE & more
\begin{tabular}{lrr}
\toprule
method & MSE & width \\
\midrule
BNN* & 3,574 & 1,000 \\
a\_b | c & 0.03200 &  \\
bad & failed & missing \\
\bottomrule
\end{tabular}
% Mean of 3.
"""
EVERY_DIGIT = "method,MSE,width\nBNN*,3573.67,1000\na_b | c,0.031996,\nbad,failed,missing\n"


@pytest.mark.parametrize(
    ("form", "expected"),
    [(tables.text, TEXT), (tables.markdown, MARKDOWN), (tables.latex, LATEX), (tables.comma_separated, EVERY_DIGIT)],
)
def test_a_table_is_written_in_every_form(form, expected):
    assert form(TABLE) == expected


def test_a_table_for_the_documentation():
    lines = tables.restructured(TABLE)
    assert lines.startswith(".. list-table:: Test MSE & more\n   :header-rows: 1\n\n   * - method\n")
    assert "   * - a\\_b \\| c\n     - 0.03200\n     -\n" in lines


@pytest.mark.parametrize("cell", ["+ 1.27", "- x", "-5", "--long", "1. x", "a) x", "(i) x", ":x: y", ".. x", ">>> x"])
def test_a_cell_that_looks_like_a_list_or_an_option_is_escaped(cell):
    assert f"   * - \\ {cell}\n" in tables.restructured(tables.Table("t", "", ("a",), [(cell,)]))


signs = st.sampled_from([
    "+", "-", "*", "1.", "a)", "(i)", "#.", ":x:", "-5", "--long", "/V", ">>>", "..", "__", "::", "|a|", "`x`", "x_",
    "\\", "[1]_", "====", "•", "<a>", " ", "  ", "\n",
])  # fmt: skip


@given(st.lists(signs, max_size=5).map("".join))
def test_the_documentation_shows_a_cell_as_it_stands(cell):
    nodes, core = (pytest.importorskip(f"docutils.{name}") for name in ("nodes", "core"))
    table = tables.restructured(tables.Table("t", "", ("a",), [(cell,)]))
    strict = {"report_level": 2, "halt_level": 2}
    *_, entry = core.publish_doctree(table, settings_overrides=strict).findall(nodes.entry)
    text = " ".join(cell.split())
    assert entry.astext() == text
    assert [type(child) for child in entry.children] == [nodes.paragraph] * bool(text)


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="every row of 't' must have 2 cells"):
        tables.Table("t", "", ("a", "b"), [(1,)])


def test_a_figure_is_the_same_bytes_every_time(tmp_path):
    def draw(canvas):
        canvas.subplots().plot([1, 3, 2], label="a")

    figure = tables.Figure("line", "A line", draw)
    first, second = (tables.write(figure, tmp_path / name, ("png", "svg", "txt")) for name in ("a", "b"))
    assert [path.name for path in first] == ["line.png", "line.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


@pytest.mark.parametrize("module", [tables, runner, code, published])
def test_examples_run(module):
    tried = doctest.testmod(module)
    assert tried.attempted > 0 == tried.failed


def test_means_say_what_failed_and_what_is_missing():
    runs = [run_of(TASK, test_mse=1.0), run_of(TASK, test_mse=2.0)]
    assert tables.mean(runs, "test_mse") == 1.5
    assert tables.mean([*runs, run_of(TASK, "ValueError: no")], "test_mse") == tables.FAILED
    assert tables.mean([], "test_mse") == tables.MISSING
    assert list(tables.by(runs, "method", "learning_rate")) == [("bnn", 0.1)]
    assert json.dumps(tables.written(1e-9)) == '"1.000e-09"'


def damaged(path, statement=None):
    """A store of two runs, then damaged."""
    with Store(path) as store:
        store.add([run_of(TASK, test_mse=1.0), run_of(replace(TASK, seed=1), "ValueError: no")])
        store.compact()
    if statement is not None:
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        connection.close()
    return path


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM texts",
        "UPDATE texts SET text = 'no JSON' || id",
        "UPDATE texts SET text = '[' || id || ']'",
        "UPDATE texts SET text = CAST(x'ff' || id AS TEXT)",
        "UPDATE runs SET figures = '7'",
        "UPDATE runs SET figures = x'ff00'",
        "UPDATE runs SET seed = 'many'",
        "UPDATE runs SET seconds = 'long'",
        "UPDATE runs SET finished = x'00'",
        "ALTER TABLE runs DROP COLUMN seconds",
        "DROP TABLE texts",
    ],
)  # fmt: skip
def test_a_damaged_store_is_refused_in_one_line(tmp_path, statement):
    path = damaged(tmp_path / "s.sqlite", statement)
    with pytest.raises(ValueError, match=f"the store {path} .*move this one away"):
        merge(tmp_path / "all.sqlite", [path])
    with pytest.raises(SystemExit), redirect_stderr(io.StringIO()) as printed:
        main(["merge", str(tmp_path / "all.sqlite"), str(path)])
    assert str(path) in printed.getvalue()
    assert printed.getvalue().count("\n") == 1


def test_a_store_with_any_byte_changed_is_read_or_refused(tmp_path):
    whole = damaged(tmp_path / "s.sqlite").read_bytes()
    generator, problems = random.Random(0), []
    for number in range(60):
        content = bytearray(whole)
        for _ in range(generator.choice((1, 1, 8, 64))):
            content[generator.randrange(len(content))] = generator.randrange(256)
        if number % 5 == 0:
            del content[generator.randrange(len(content)) :]
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(content)
        for read_only in (True, False):
            try:
                with Store(path, read_only=read_only) as store:
                    store.runs()
                    if not read_only:
                        store.add([run_of(replace(TASK, seed=2))])
            except ValueError as error:
                problems.append(str(path) in str(error))
    assert problems
    assert all(problems)
