"""Rows, engines and comparisons that tests of growth share."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from sklearn.datasets import make_friedman1

from bgn.engines.memory import MemoryEngine, Part
from bgn.engines.protocol import Output
from bgn.grow.losses import Squared

EMPTY = Output(np.zeros(0, np.int64), 0)


def engine_of(X, y, weight=None, threads=1, kind=Squared):
    weight = None if weight is None else np.asarray(weight, np.int64)
    loss = kind.over(y.min(), y.max(), len(y) if weight is None else int(weight.sum()))
    return MemoryEngine(Part(np.ascontiguousarray(X.T), loss.targets.steps(y), weight, loss, threads), loss)


def table(rows=300, seed=0, columns=6):
    return make_friedman1(rows, n_features=max(columns, 5), noise=1.0, random_state=seed)


def same(history, expected):
    """True when two histories hold the same steps and networks, to the bit; only the clock may differ."""

    def plain(part):
        steps = [replace(record, seconds=0.0) for record in part.records]
        return repr(steps), [part.network(w, k) for k, path in enumerate(part.paths) for w in range(len(path))]

    return plain(history) == plain(expected)


ties = st.integers(-3, 3).map(float)
floats = st.floats(-1e6, 1e6, allow_nan=False)
extremes = st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), 1e-300, -1e-300, 1e300, -1e300, 5e-324])


@st.composite
def tables(draw):
    rows = draw(st.integers(2, 40))
    kind = draw(st.sampled_from([ties, floats, extremes]))
    X = np.array(draw(st.lists(st.tuples(kind, kind), min_size=rows, max_size=rows)))
    y = np.array(draw(st.lists(st.one_of(ties, floats), min_size=rows, max_size=rows)))
    weight = draw(st.one_of(st.none(), st.lists(st.integers(1, 5), min_size=rows, max_size=rows)))
    return X, y, weight
