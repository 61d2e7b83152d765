"""No study leaves a fit to chance: every network that it grows has a seed."""

from contextlib import suppress

import pytest

from bgn import BGNClassifier, BGNRegressor
from experiments import STUDIES, code, runner
from experiments.options import Options


class Grown(Exception):
    """Instead of a fit."""


@pytest.mark.parametrize("study", STUDIES)
def test_every_network_has_a_seed(study, monkeypatch):
    seeds = []

    def fit(self, *parts, **more):
        seeds.append(self.random_state)
        raise Grown

    for kind in (BGNRegressor, BGNClassifier):
        monkeypatch.setattr(kind, "fit", fit)
    own = [task for task in runner.chosen(study, Options("smoke")).values() if code.part(task) == "growth"]
    for task in own:
        with suppress(Exception):  # the fit, and what comes of there being none
            runner.study(task.study).run(task)
    assert None not in seeds
    assert seeds or not own
