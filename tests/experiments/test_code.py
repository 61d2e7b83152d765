"""What is published was measured with the code of today, or that code was seen to give the same figures."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import bgn
from experiments import code, data, published, recheck
from experiments.__main__ import main
from experiments.published import RESULTS
from experiments.runner import chosen, execute
from experiments.store import Options, Run, Task
from tests.experiments.made_up import run_of

PUBLISHED = sorted(path.stem for path in RESULTS.glob("*.jsonl"))
GROWN = Task("trees", "diabetes", "bgn", {"max_terms": 3}, 0, "paper, 200 rows")
TRAINED = Task("accuracy", "diabetes", "bnn", {"hidden_layers": [4], "learning_rate": 0.1}, 0, "paper, 200 rows")


@pytest.mark.parametrize("name", PUBLISHED)
def test_no_page_cites_figures_older_than_the_code_that_they_measure(name):
    old = code.outdated(name, published.read(RESULTS / f"{name}.jsonl").values(), RESULTS)
    counts = ", ".join(f"{count} runs of {part}" for part, count in old.items())
    assert not old, (
        f"{name}: {counts} were made with other code. `make recheck` computes some again; "
        f"if all agree, commit experiments/results/{name}.code.json, otherwise run the study again and publish it."
    )


def test_what_explains_code_does_not_change_its_hash(tmp_path):
    root = tmp_path / "bgn"
    shutil.copytree(Path(bgn.__file__).parent / "grow", root / "grow", ignore=shutil.ignore_patterns("__pycache__"))
    before = code.today("growth", root)
    layer = root / "grow" / "layer.py"
    text = layer.read_text(encoding="utf-8")
    layer.write_text(f'"""Another story."""\n# and more\n{text.partition(chr(10))[2]}', encoding="utf-8")
    code._today.cache_clear()
    assert code.today("growth", root) == before
    layer.write_text(f"{text}\nSOMETHING = 1\n", encoding="utf-8")
    code._today.cache_clear()
    assert code.today("growth", root) != before
    assert code.today("growth", root) != code.today("baselines", root)


@pytest.mark.parametrize("pattern", [pattern for patterns in code.PARTS.values() for pattern in patterns])
def test_the_files_that_decide_are_there(pattern):
    assert list(Path(bgn.__file__).parent.glob(pattern))


def test_texts_in_pieces_mean_the_same():
    assert code.meaning('x = f"a{y}b" "c"') == code.meaning('x = f"a{y}bc"') != code.meaning('x = f"a{y}cb"')


def test_a_run_names_the_part_of_bgn_that_it_measures():
    assert code.part(GROWN) == "growth"
    assert code.part(replace(GROWN, method="tree 3")) is None
    assert code.part(TRAINED) == "baselines"
    assert code.part(Task("peers", "housing", "equal bgn_4", {}, 0, "paper")) == "growth"
    assert code.part(Task("peers", "housing", "equal figs", {}, 0, "paper")) is None
    assert code.part(Task("figures", "housing", "hyperplanes", {}, 0, "paper")) == "growth"


def test_a_run_carries_the_code_and_the_commit_it_was_made_with(monkeypatch):
    monkeypatch.setenv("BGN_COMMIT", "0123abc")
    code.commit.cache_clear()
    try:
        (run,) = execute([GROWN], "cpu")
    finally:
        code.commit.cache_clear()
    assert run.error is None
    assert run.versions["growth"] == code.today("growth")
    assert run.versions["commit"] == "0123abc"


def test_figures_that_have_no_chance_in_them_must_come_out_the_same():
    old = run_of(GROWN, test_mse=[0.1, 0.2], fit_seconds=1.0, deep={"a": [1, None]})
    same = run_of(GROWN, test_mse=[0.1, 0.2 * (1 + 1e-12)], fit_seconds=9.0, deep={"a": [1, None]})
    assert recheck.difference(old, same) is None
    assert recheck.difference(old, replace(old, figures=old.figures | {"test_mse": [0.1, 0.3]})) == (
        "test_mse 1: 0.2 -> 0.3"
    )
    assert recheck.difference(old, replace(old, figures=old.figures | {"deep": {"a": [1]}})) == (
        "deep a: 2 -> 1 values"
    )
    assert recheck.difference(old, replace(old, error="ValueError: no")) == "ValueError: no"
    tree = run_of(replace(GROWN, method="tree 3"), test_mse=1.0)
    other = replace(tree, figures={"test_mse": 2.0}, versions={"numpy": "3.0"})
    assert recheck.difference(tree, other) == "other figures with numpy 2.0 -> 3.0"


def test_figures_of_gradient_training_must_come_near():
    old = run_of(TRAINED, validation_mse=10.0, test_mse=10.0)
    assert recheck.difference(old, run_of(TRAINED, validation_mse=11.0, test_mse=9.0)) is None
    far = run_of(TRAINED, validation_mse=10.0, test_mse=13.0)
    assert "more than 15%" in recheck.difference(old, far)
    seeds = [run_of(replace(TRAINED, seed=k), validation_mse=10.0, test_mse=10.0 + 2 * k) for k in range(3)]
    assert recheck.difference(old, far, seeds) is None  # seeds lie as far apart
    described = run_of(replace(TRAINED, study="overview"), weights="real")  # no error at all
    assert recheck.difference(described, replace(described, figures={"weights": "-1, +1"})) == "weights: real -> -1, +1"


def test_one_stray_of_five_trained_networks_is_chance():
    old = run_of(TRAINED, validation_mse=1.0, test_mse=1.0)
    near, far = recheck.Again(old, old, None), recheck.Again(old, old, "test_mse: 1 -> 2")
    assert recheck.within_chance([near] * 4 + [far])
    assert not recheck.within_chance([near] * 4 + [far] * 2)
    grown = run_of(GROWN)
    assert not recheck.within_chance([near] * 9 + [recheck.Again(grown, grown, "test_mse: 1 -> 2")])


def test_what_agrees_is_stamped_and_what_differs_is_named(tmp_path, monkeypatch, capsys):
    tasks = [replace(GROWN, seed=seed) for seed in range(2)]
    runs = [execute([task], "cpu")[0] for task in tasks]
    old = [replace(run, versions={"numpy": "2.0"}) for run in runs]
    monkeypatch.setattr(recheck, "drawn", lambda name, cells, *_: {"growth": old[:cells]})
    published.write(tmp_path / "trees.jsonl", old)
    assert code.outdated("trees", old, tmp_path) == {"growth": 2}
    compared, lines = recheck.recheck("trees", cells=1, results=tmp_path)
    assert lines == ["trees, growth: 1 of 1 agree"]
    assert code.outdated("trees", old, tmp_path) == {}
    check = json.loads((tmp_path / "trees.code.json").read_text(encoding="utf-8"))["growth"]
    assert (check["code"], check["cells"], check["of"]) == (code.today("growth"), 1, 2)
    (tmp_path / "trees.code.json").unlink()
    old[1] = replace(old[1], figures=old[1].figures | {"features": [0]})
    compared, lines = recheck.recheck("trees", cells=2, results=tmp_path)
    assert [bool(result.differs) for result in compared] == [False, True]
    assert lines[0].startswith("  diabetes bgn seed 1 (max_terms=3): features: 1 -> ")
    assert not (tmp_path / "trees.code.json").exists()
    assert code.describe_checks("trees", old, tmp_path) == ""
    recheck.recheck("trees", cells=2, results=tmp_path, keep=True)
    said = " Before today's code (growth): 2 runs; 1 of 2 computed again agree."
    assert code.describe_checks("trees", old, tmp_path) == said
    assert code.describe_checks("trees", runs, tmp_path) == ""
    assert code.outdated("trees", old, tmp_path) == {}
    with pytest.raises(SystemExit, match="2"):
        main(["recheck", "nothing"])
    assert "no runs of 'nothing' are published" in capsys.readouterr().err


def test_ten_cells_of_older_code_are_drawn_of_every_part_and_the_same_for_a_seed(tmp_path):
    made = [
        Run(task, data.checksum(task.dataset), {}, None, float(k % 30), "2026-01-01 00:00:00", {"numpy": "2.0"})
        for k, task in enumerate(chosen("trees", Options()).values())
    ]
    published.write(tmp_path / "trees.jsonl", made)
    parts = recheck.drawn("trees", 10, 1, 20.0, tmp_path)
    assert {part: len(runs) for part, runs in parts.items()} == {"growth": 10, None: 10}
    assert all(run.seconds <= 20 for runs in parts.values() for run in runs)
    assert recheck.drawn("trees", 10, 1, 20.0, tmp_path) == parts != recheck.drawn("trees", 10, 2, 20.0, tmp_path)
    fresh = [replace(run, versions={"growth": code.today("growth")}) for run in made]
    published.write(tmp_path / "trees.jsonl", fresh)
    assert recheck.drawn("trees", 10, 1, 20.0, tmp_path).keys() == {None}
    again = {fresh[k].key: replace(fresh[k], figures={"test_mse": 1.0}) for k in range(3)} | {made[3].key: made[3]}
    published.write(tmp_path / "trees.jsonl", [replace(run, figures={"test_mse": 1.0}) for run in made])
    compared = recheck.drawn("trees", 10, 1, 0.0, tmp_path, again)
    grown = [run for part, runs in compared.items() for run in runs if part == "growth"]
    assert {run.key for run in grown} == {run.key for run in fresh[:3] if code.part(run.task) == "growth"}
    assert all(result.differs is None for result in recheck.again(grown, done=again))
