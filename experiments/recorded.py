"""What published runs call the parameters of BGN: the names of the day they were recorded, which make up their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TODAY = {"max_width": "max_terms", "n_networks": "ensemble"}
_RECORDED = {today: recorded for recorded, today in _TODAY.items()}


def estimator_parameters(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task's parameters as estimators take them today."""
    return {_TODAY.get(name, name): value for name, value in recorded.items()}


def recorded_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return an estimator's parameters as tasks have them."""
    return {_RECORDED.get(name, name): value for name, value in parameters.items()}
