"""What is explained: the rows of a table and its columns by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bgn.inputs.tables import rows_of
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.writing import clean


def background_of(model: Any, network: Network, background: Any) -> Floats:
    """Return the background's rows: those passed, else those stored on the model as ``background_``."""
    if background is None:
        background = getattr(model, "background_", None)
    if background is None:
        raise ValueError("background must be a table of rows to compare with, such as the training rows; got None.")
    return rows_of(network, background, "background")


def column_of(network: Network, feature: Any, argument: str) -> int:
    """Return the column that `feature`, a name or a position, stands for."""
    if isinstance(feature, str):
        if feature in network.names:
            return network.names.index(feature)
    elif not isinstance(feature, bool) and isinstance(feature, int | np.integer) and 0 <= feature < network.n_inputs:
        return int(feature)
    raise ValueError(
        f"{argument} must name a column, one of {', '.join(map(clean, network.names))}, or give its position from 0 to "
        f"{network.n_inputs - 1}; got {feature!r}."
    )


def columns_of(network: Network, features: Iterable[Any], argument: str) -> list[int]:
    """Return the columns that `features` stand for, in the order given, each once."""
    if isinstance(features, str):
        raise ValueError(f"{argument} must be a list of columns; got the text {features!r}. Write [{features!r}].")
    return list(dict.fromkeys(column_of(network, feature, argument) for feature in features))
