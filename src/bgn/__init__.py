"""Interpretable threshold networks for tabular data, explained exactly."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from bgn import baselines, datasets, plots, preparation, theory
    from bgn.engines.disk.table import read_blocks
    from bgn.estimators import BGNRegressor
    from bgn.explain.counterfactual import counterfactual
    from bgn.explain.effects import effect
    from bgn.explain.importance import importance
    from bgn.explain.margin import margin
    from bgn.explain.shap import Explanation, shap_values
    from bgn.explain.simplify import simplify
    from bgn.formats import equation
    from bgn.model.layer import Layer
    from bgn.model.network import Network
    from bgn.model.step import step
    from bgn.model.terms import as_terms
    from bgn.persist import ModelFileError, load, save
    from bgn.report.write import write_report

# Public name -> module that holds it; a name that is a module itself maps to "". Loaded on first use, so that
# `import bgn` stays quick and optional packages stay optional.
_HOMES = {
    "BGNRegressor": "bgn.estimators",
    "Explanation": "bgn.explain.shap",
    "Layer": "bgn.model.layer",
    "ModelFileError": "bgn.persist",
    "Network": "bgn.model.network",
    "as_terms": "bgn.model.terms",
    "baselines": "",
    "counterfactual": "bgn.explain.counterfactual",
    "datasets": "",
    "effect": "bgn.explain.effects",
    "equation": "bgn.formats",
    "importance": "bgn.explain.importance",
    "load": "bgn.persist",
    "margin": "bgn.explain.margin",
    "plots": "",
    "preparation": "",
    "read_blocks": "bgn.engines.disk.table",
    "save": "bgn.persist",
    "shap_values": "bgn.explain.shap",
    "simplify": "bgn.explain.simplify",
    "step": "bgn.model.step",
    "theory": "",
    "write_report": "bgn.report.write",
}

__all__ = [
    "BGNRegressor",
    "Explanation",
    "Layer",
    "ModelFileError",
    "Network",
    "__version__",
    "as_terms",
    "baselines",
    "counterfactual",
    "datasets",
    "effect",
    "equation",
    "importance",
    "load",
    "margin",
    "plots",
    "preparation",
    "read_blocks",
    "save",
    "shap_values",
    "simplify",
    "step",
    "theory",
    "write_report",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'bgn' has no attribute {name!r}")
    value = importlib.import_module(f"bgn.{name}") if home == "" else getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
