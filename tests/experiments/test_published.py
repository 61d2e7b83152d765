"""What the documentation shows is built from the published runs, and from nothing else."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import STUDIES, published
from experiments.__main__ import main
from experiments.published import RESULTS
from experiments.runner import chosen, compare, duration
from experiments.store import Options

ROOT = Path(__file__).parents[2]
PUBLISHED = sorted(path.stem for path in RESULTS.glob("*.jsonl"))

# Nothing to train with, none of the peers, no raw tables, no way to have them.
BARE = """
import importlib.util, sys, urllib.request
from pathlib import Path
absent = ("torch", "imodels", "interpret", "lightgbm", "pygam", "xgboost", "pandas")
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.partition(".")[0] in absent else found(name, *rest)
class Absent:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
urllib.request.urlopen = None
from experiments import published
print(*published.build(Path(sys.argv[1])))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with all that the pages show."""
    folder = tmp_path_factory.mktemp("generated")
    bare = {name: value for name, value in os.environ.items() if name != "BGN_DATA"} | {"BGN_CACHE": str(folder)}
    command = [sys.executable, "-c", BARE, str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=bare, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == PUBLISHED
    return folder


@pytest.mark.exhaustive
def test_the_pages_show_all_that_is_published_and_nothing_else(built):
    later = set(STUDIES) - set(PUBLISHED)  # whose pages are left out of the documentation until they are published
    written = [path for path in published.GENERATED.parent.glob("*.rst") if path.stem not in later]
    text = " ".join(path.read_text(encoding="utf-8") for path in written)
    shown = {published.file(kind, name, built) for kind, name in re.findall(r"published-(table|figure):: (\S+)", text)}
    made = {path for path in built.rglob("*") if path.suffix in (".rst", ".svg")}
    assert shown
    assert shown <= made
    seen = {path.read_bytes() for path in shown}  # two scales may draw the same figure
    assert {path for path in made - shown if path.read_bytes() not in seen} == set()


def test_equations_keep_their_signs(tmp_path):
    published.write_pages("housing_model", published.published_runs("housing_model"), tmp_path)
    lines = (tmp_path / "reduced" / "housing_model-printed.rst").read_text(encoding="utf-8").splitlines()
    assert "   * - \\ + 1.27" in lines


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_runs_are_in_order_with_their_origin(name, tmp_path):
    path = RESULTS / f"{name}.jsonl"
    runs = published.read(path)
    published.write(tmp_path / "again.jsonl", runs.values())
    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes(), "python -m experiments publish repairs it"
    assert path.stat().st_size < 10_000_000
    for run in runs.values():
        assert run.finished
        assert len(run.checksum) == 64
        assert {"python", "bgn", "numpy", "scikit-learn"} <= run.versions.keys()
        assert "device" not in run.versions or "commit" in run.versions


@pytest.mark.parametrize("path", sorted(ROOT.glob("benchmarks/results/*_gpu.json")), ids=lambda path: path.stem)
def test_records_of_a_gpu_name_the_commit_they_were_made_with(path):
    assert json.loads(path.read_text(encoding="utf-8"))["commit"]


def test_only_what_changed_is_built_again(tmp_path):
    results, folder = tmp_path / "results", tmp_path / "generated"
    runs = published.read(RESULTS / "timing.jsonl")
    published.write(results / "timing.jsonl", runs.values())
    assert published.build(folder, results) == ["timing"]
    assert published.build(folder, results) == []
    published.file("table", "reduced/timing", folder).unlink()
    assert published.build(folder, results) == ["timing"]
    published.write(results / "timing.jsonl", [])
    assert published.build(folder, results) == ["timing"]
    assert [path.name for path in folder.rglob("*.*")] == ["timing.json"]


def test_published_tables_are_printed(capsys):
    assert main(["accuracy", "--published"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Test MSE\n\ntable        whose    BGN, as in the paper")
    assert "Made by `python -m experiments accuracy --reduced --seeds 3`" in err
    assert "BGN, size no concern" not in out
    assert main(["accuracy", "--published", "--full", "--datasets", "bike", "--format", "csv"]) == 0
    out = capsys.readouterr().out
    assert out.startswith('table,whose,"BGN, as in the paper",')
    assert "BGN, size no concern" in out


def test_published_figures_are_drawn_where_one_says(tmp_path, capsys):
    study = ["figures", "--published", "--methods", "growth"]
    assert main(study) == 0
    out, err = capsys.readouterr()
    assert not out
    assert "a figure, drawn with --output FOLDER" in err
    assert main([*study, "--output", str(tmp_path / "new")]) == 0
    assert {path.suffix for path in (tmp_path / "new").iterdir()} == {".png", ".svg"}


def test_what_is_not_published_is_said(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["timing", "--smoke", "--published"])
    assert "no runs of timing with --smoke are published" in capsys.readouterr().err


def test_time_left_is_that_of_the_published_runs(tmp_path, capsys):
    assert main(["all", "--status", "--store", str(tmp_path / "none")]) == 0
    out = capsys.readouterr().out
    times = dict(re.findall(r"^(\w+): 0 done, .*; (.*) left with one job$", out, re.MULTILINE))
    assert times.keys() == STUDIES.keys()
    work = compare("trees", Options("reduced"), published.read(RESULTS / "trees.jsonl"))
    assert not work.missing
    assert times["trees"] == duration(sum(run.seconds for run in work.done.values()))
    shared = {key for name in STUDIES for key in chosen(name, Options())}  # bounds and timing show fits of accuracy
    assert f"all: {len(shared)} missing, shared ones counted once" in out


def test_all_published_tables_are_printed_at_once(capsys):
    assert main(["all", "--published"]) == 0
    out, err = capsys.readouterr()
    for name in PUBLISHED:
        assert f"{name}: Made by" in err
    assert {"The tables (Table 2)", "Test MSE", "Theorem 1 along depth"} <= set(out.splitlines())
