"""The paper's grids, choice by mean validation error, and a search that goes on where it was cut."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the baselines need torch")

from bgn.baselines import Split, fold, grid, grid_search, paper_grid, train_many  # noqa: E402

X = np.random.default_rng(0).normal(size=(90, 3))
Y = np.sign(X[:, 0]) + 0.1 * X[:, 1]
SMALL = [replace(config, max_epochs=4) for config in paper_grid("bireal", widths=[4, 6], depths=[1])]


def part(seed):
    return Split.at_random(X, Y, seed=seed)


@pytest.mark.parametrize(
    ("method", "size"), [("bnn", 27), ("bnn_plus", 324), ("bireal", 27), ("quantization", 81), ("binaryconnect", 27)]
)
def test_grids_are_the_papers(method, size):
    configs = paper_grid(method, rows=20640)
    assert len(configs) == len(set(configs)) == size
    shapes = Counter(config.hidden_layers for config in configs)
    assert set(shapes) == {(width,) * depth for width in (100, 500, 1000) for depth in (1, 2, 3)}
    assert {config.learning_rate for config in configs} == {0.1, 0.01, 0.001}
    assert {config.batch_size for config in configs} == {512}
    assert (configs[0].max_epochs, configs[0].patience, configs[0].lr_patience) == (200, 20, 5)
    if method == "bnn_plus":
        own = {(config.sharpness, config.penalty, config.penalty_strength) for config in configs}
        assert own == {(b, kind, size) for b in (1, 2, 5) for kind in ("l1", "l2") for size in (1e-6, 1e-7)}
    if method == "quantization":
        assert {config.sharpness for config in configs} == {5, 10, 20}


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="method must be one of 'bnn'"):
        paper_grid("svm")


def test_the_choice_is_the_least_mean_validation_error():
    result = grid_search(SMALL, part, seeds=(0, 1))
    wanted = [replace(config, seed=seed) for config in SMALL for seed in (0, 1)]
    models = train_many(wanted, [part(seed) for _ in SMALL for seed in (0, 1)])  # the same stacks, hence the same bits
    assert [run.config for run in result.runs] == wanted
    assert [run.validation_mse for run in result.runs] == [model.validation_mse for model in models]
    errors = [np.mean((fold(m).predict(part(m.config.seed).X_test) - part(m.config.seed).y_test) ** 2) for m in models]
    assert [run.test_mse for run in result.runs] == pytest.approx(errors, rel=1e-9)
    means = np.array([[run.validation_mse, run.test_mse] for run in result.runs]).reshape(-1, 2, 2).mean(axis=1)
    best = int(means[:, 0].argmin())
    assert result.best.config == SMALL[best]
    assert (result.best.validation_mse, result.best.test_mse) == pytest.approx(tuple(means[best]))
    assert [choice.validation_mse for choice in result.choices()] == pytest.approx(sorted(means[:, 0]))


def test_without_test_rows_there_is_no_test_error():
    split = Split.at_random(X, Y, seed=0, test_fraction=0.0)
    assert grid_search(SMALL[:1], split, seeds=(0,)).best.test_mse is None


def test_a_search_goes_on_where_it_was_cut(tmp_path, monkeypatch):
    store = tmp_path / "deep" / "runs.jsonl"
    begun = grid_search(SMALL[:2], part, seeds=(0, 1), store=store)
    rest = grid_search(SMALL[2:], part, seeds=(0, 1))
    with open(store, "a", encoding="utf-8") as file:
        file.write('{"key": "cut sh')
    asked = []
    train_stacks = grid.train_stacks

    def counted(configs, splits, device):
        asked.append(len(configs))
        return train_stacks(configs, splits, device)

    monkeypatch.setattr(grid, "train_stacks", counted)
    resumed = grid_search(SMALL, part, seeds=(0, 1), store=store)
    again = grid_search(SMALL, part, seeds=(0, 1), store=store)
    assert asked == [2 * (len(SMALL) - 2), 0]
    assert resumed.runs == again.runs
    assert resumed.runs[:4] == begun.runs
    assert [replace(run, seconds=0.0) for run in resumed.runs[4:]] == [replace(run, seconds=0.0) for run in rest.runs]


def test_a_store_does_not_answer_for_other_rows(tmp_path):
    store = tmp_path / "runs.jsonl"
    first = grid_search(SMALL[:1], part(0), seeds=(0,), store=store)
    other = grid_search(SMALL[:1], part(5), seeds=(0,), store=store)
    assert first.best.validation_mse != other.best.validation_mse
    assert len(store.read_text().splitlines()) == 2
