"""Standard errors of what is explained, from how far the networks of an average lie apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bgn.model.network import Network


def with_errors(network: Network, of: Callable[[Network], Any]) -> Any:
    """Return what `of` says of a network: of an average, an effect of one feature with the errors of its levels."""
    effect = of(network)
    if network.members is None or getattr(effect, "bends", None) is not None or not hasattr(effect, "breakpoints"):
        return effect
    each = tuple(of(one) for one in network.members.networks(network))
    effect = replace(effect, each=each)
    if effect.bent:
        return effect
    points = np.append(-np.inf, effect.breakpoints)
    levels = [one.levels[np.searchsorted(one.breakpoints, points, side="right")] for one in each]
    return replace(effect, standard_error=network.members.standard_error(levels))
