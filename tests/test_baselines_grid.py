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
    assert len(result.runs) == len(SMALL) * 2
    means = {}
    for config in SMALL:
        trained = [train_many([replace(config, seed=seed)], part(seed))[0] for seed in (0, 1)]
        errors = [fold(model).predict(part(seed).X_test) - part(seed).y_test for seed, model in enumerate(trained)]
        means[config] = np.mean([model.validation_mse for model in trained]), np.mean(np.square(errors))
    best = min(means, key=lambda config: means[config][0])
    assert result.best.config == best
    assert result.best.validation_mse == pytest.approx(means[best][0], rel=1e-6)
    assert result.best.test_mse == pytest.approx(means[best][1], rel=1e-6)
    errors = [choice.validation_mse for choice in result.choices()]
    assert errors == sorted(errors)


def test_without_test_rows_there_is_no_test_error():
    split = Split.at_random(X, Y, seed=0, test_fraction=0.0)
    assert grid_search(SMALL[:1], split, seeds=(0,)).best.test_mse is None


def test_a_search_goes_on_where_it_was_cut(tmp_path, monkeypatch):
    store = tmp_path / "deep" / "runs.jsonl"
    whole = grid_search(SMALL, part, seeds=(0, 1))
    grid_search(SMALL[:2], part, seeds=(0, 1), store=store)
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
    for result in (resumed, again):
        assert [replace(run, seconds=0.0) for run in result.runs] == [replace(run, seconds=0.0) for run in whole.runs]


def test_a_store_does_not_answer_for_other_rows(tmp_path):
    store = tmp_path / "runs.jsonl"
    first = grid_search(SMALL[:1], part(0), seeds=(0,), store=store)
    other = grid_search(SMALL[:1], part(5), seeds=(0,), store=store)
    assert first.best.validation_mse != other.best.validation_mse
    assert len(store.read_text().splitlines()) == 2
