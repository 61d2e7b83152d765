"""Questions about one column before others: what `simplicity` asks of those about several, added or put in place."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import BGNRegressor, GrowthSettings
from bgn.engines.protocol import CutRequest
from bgn.grow.refit import Full, Stagewise
from bgn.model.term import Projection
from tests.growing import engine_of, table


def squares(fires, y, ridge):
    """What is left of the targets' squares, penalty included, by a base and a weight for +-1 answers."""
    design = np.column_stack([np.ones(len(y)), np.where(fires, 1.0, -1.0)])
    penalty = np.diag([0.0, ridge])
    weights = np.linalg.solve(design.T @ design + penalty, design.T @ y)
    return float(((y - design @ weights) ** 2).sum() + weights @ penalty @ weights)


@given(st.integers(0, 2**31), st.sampled_from([0.05, 0.3, 0.5, 0.8, 0.95]), st.sampled_from([None, 0.0, 3.0]))
@settings(max_examples=60)
def test_a_share_of_the_gain_must_beat_the_old_rule(seed, share, ridge):
    """From the definition: what each of the two lowers the objective by, alone beside the base."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.uniform(-1, 1) * X[:, 1] + rng.normal(size=60)
    engine = engine_of(X, y)
    rule = Stagewise(1.0) if ridge is None else Full(ridge)
    start = rule.start(engine)
    lines = [Projection((0,), (1.0,)), Projection((0, 1), (1.0, 0.5))]
    old, new = engine.cuts([CutRequest(start.output, line) for line in lines])
    state = rule.admit(engine, start, 0, old)
    left = [squares(cut.rule.holds(X), y, ridge or 0.0) for cut in (old, new)]
    gained = [float(((y - y.mean()) ** 2).sum()) - one for one in left]
    if abs(share * gained[1] - gained[0]) < 1e-6 * gained[0] or abs(gained[1] - gained[0]) < 1e-6 * gained[0]:
        return
    after = rule.admit(engine, state, 0, new, share)
    if ridge:  # the plain loss must fall as well
        assert after is None or share * gained[1] > gained[0]
    else:
        assert (after is not None) == (share * gained[1] > gained[0])
    assert after is None or after.loss < state.loss


@pytest.mark.parametrize("output", ["full", "stagewise"])
def test_simplicity_leaves_few_rules_on_several_columns(output):
    X, y = table(2000)
    settings = {"max_terms": 12, "output": output, "random_state": 0, "cv": None}

    def pairs(simplicity):
        model = BGNRegressor(growth=GrowthSettings(patience=None, simplicity=simplicity), **settings).fit(X, y)
        losses = [record.train_loss for record in model.history_]
        assert all(after < before for before, after in pairwise(losses))
        return sum(len(rule.projection.columns) > 1 for rule in model.history_.network(12).layers[0].neurons)

    assert pairs(0.0) > pairs(0.3) >= pairs(0.9) == 0
