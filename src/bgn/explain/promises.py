"""What an estimator was told its predictions must do: proven for its network, and kept by what is made of that.

A score never falls as a column rises if no question makes it fall: that is how such models grow, and how they stay so
whatever becomes of their weights, as long as each keeps its sign.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bgn.explain.certify import certify
from bgn.inputs.constraints import monotone_columns
from bgn.model.network import Network
from bgn.model.schema import Schema, level_word
from bgn.model.step import Floats
from bgn.model.told import as_told, is_turned
from bgn.printable import quote_category, quote_name


def promises(model: Any, max_seconds: float = 5.0, words: Schema | None = None) -> list[str]:
    """Return sentences on what is proven of a fitted estimator for every row, of what it was told.

    Parameters
    ----------
    model : fitted estimator
        Anything else has made no promise.
    max_seconds : float, default 5
        Time for each proof; what is not proven by then, or does not hold after an edit, is left out.
    words : Schema, optional
        What columns and classes are called; as the model has them unless told.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import numpy as np
    >>> from bgn import BGNRegressor
    >>> from bgn.explain.promises import promises
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = BGNRegressor(max_width=4, random_state=0, monotonic_cst=[1, 0], bounds=(-5, None)).fit(X, X.sum(axis=1))
    >>> promises(model)
    ['the prediction never falls as x0 rises', 'no prediction lies below -5']
    """
    network = getattr(model, "network_", None)
    if network is None or network.link == "softmax":
        return []
    found, turned, network = [], is_turned(network), as_told(network)
    words = network.schema if words is None else words
    classes = words.classes
    what = "the prediction" if classes is None else f"the probability of {quote_category(level_word(classes[1]))}"
    wanted = monotone_columns(getattr(model, "monotonic_cst", None), network.schema)
    for name, shown, sign in zip(network.names, words.names, wanted, strict=True):
        if sign := -sign if turned else sign:
            direction = certify(network, [name], max_seconds=max_seconds)[name].direction
            if direction in ("constant", "increasing" if sign > 0 else "decreasing"):
                found.append(f"{what} never {'falls' if sign > 0 else 'rises'} as {quote_name(shown)} rises")
    low, high = network.bounds or (-math.inf, math.inf)
    found += [f"no prediction lies below {low:g}"] * math.isfinite(low)
    return found + [f"no prediction lies above {high:g}"] * math.isfinite(high)


def wanted_of(model: Any) -> tuple[int, ...]:
    """Return what a fitted estimator was told of every column: 1, -1 or 0; nothing of what was told nothing."""
    network = getattr(model, "network_", None)
    return () if network is None else monotone_columns(getattr(model, "monotonic_cst", None), network.schema)


def signs_of(network: Network, wanted: tuple[int, ...]) -> Floats | None:
    """Return the signs that the weights of a network's questions must have for what columns want, 0 for either.

    None where no column wants anything.
    """
    if not any(wanted) or network.depth > 1:
        return None
    found = []
    for neuron in network.layers[0].neurons:
        signs = set()
        for column, coefficient in zip(neuron.projection.columns, neuron.projection.coefficients, strict=True):
            steps = np.diff(coefficient) if isinstance(coefficient, tuple) else np.array([coefficient])
            if wanted[column]:
                signs |= {int(each) * wanted[column] for each in np.sign(steps) if each}
        found.append(float(signs.pop()) if len(signs) == 1 else 0.0)
    return np.array(found)
