"""No study leaves a fit to chance: every network that it grows has a seed."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from bgn import BGNClassifier, BGNRegressor
from bgn.datasets.build import SPECS
from experiments import STUDIES, code, data, runner
from experiments.store import Options


class Grown(Exception):
    """Instead of a fit."""


def made_up_numbers(dataset):
    """Return rows of the width of one of the paper's tables: which rows they are says nothing of seeds."""
    name, _, columns = dataset.partition(":")
    features = SPECS[name].features
    names = tuple(feature for feature, _ in features[columns or next(iter(features))])
    rng = np.random.default_rng(0)
    return rng.uniform(1.0, 9.0, (900, len(names))), rng.normal(size=900), names


def made_up_frame(name):
    """Return rows with a categorical column, and classes or numbers as the table has them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(size=900), "b": rng.uniform(size=900), "c": rng.choice(["x", "y"], 900)})
    return X, rng.normal(size=900) if name in data.NUMBERS else rng.integers(0, 2, 900)


MANY = [pytest.param(study, marks=pytest.mark.exhaustive) for study in list(STUDIES)[4:]]


@pytest.mark.parametrize("study", [*list(STUDIES)[:4], *MANY])
def test_every_network_has_a_seed(study, monkeypatch):
    seeds = []

    def fit(self, *parts, **more):
        seeds.append(self.random_state)
        raise Grown

    for kind in (BGNRegressor, BGNClassifier):
        monkeypatch.setattr(kind, "fit", fit)
    monkeypatch.setattr(data, "checksum", data.checksum.__wrapped__)  # which would keep that of made-up rows
    monkeypatch.setattr(data, "table", made_up_numbers)
    monkeypatch.setattr(data, "mixed_table", made_up_frame)
    own = [task for task in runner.chosen(study, Options("smoke")).values() if code.part(task) == "growth"]
    for task in own:
        with suppress(Grown):
            runner.study(task.study).run(task)
    assert None not in seeds
    assert seeds or not own
