"""What published runs call the parameters of BGN: the names of the day they were recorded, which make up their keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from bgn import GrowthSettings

_TODAY = {"max_width": "max_terms", "n_networks": "ensemble"}
_RECORDED = {today: recorded for recorded, today in _TODAY.items()}
_Estimator = TypeVar("_Estimator", bound=Any)


def build(make: Callable[[], _Estimator], parameters: Mapping[str, Any]) -> _Estimator:
    """Return an estimator or a preset with recorded parameters, or today's; those of growth stand among the others."""
    model = make()
    today = {_TODAY.get(name, name): value for name, value in parameters.items()}
    growth = model.growth or GrowthSettings()
    own = {name: today.pop(name) for name in vars(growth) if name in today}
    return model.set_params(growth=replace(growth, **own), **today)


def recorded_parameters(model: Any) -> dict[str, Any]:
    """Return an estimator's parameters as tasks have them."""
    parameters = model.get_params()
    parameters |= vars(parameters.pop("growth") or GrowthSettings())
    return {_RECORDED.get(name, name): value for name, value in parameters.items()}
