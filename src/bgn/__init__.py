"""Interpretable threshold networks for tabular data, explained exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bgn.require import lazy_names

__version__ = "0.2.0"

if TYPE_CHECKING:
    from bgn import baselines as baselines
    from bgn import dask as dask
    from bgn import datasets as datasets
    from bgn import export as export
    from bgn import pipelines as pipelines
    from bgn import plots as plots
    from bgn import preparation as preparation
    from bgn import theory as theory
    from bgn.conformal import intervals as intervals
    from bgn.distillation import distill as distill
    from bgn.engines.disk.table import read_blocks as read_blocks
    from bgn.estimators import BGNClassifier as BGNClassifier
    from bgn.estimators import BGNRegressor as BGNRegressor
    from bgn.explain.counterfactual import counterfactual as counterfactual
    from bgn.explain.edit import edit as edit
    from bgn.explain.effects import effect as effect
    from bgn.explain.evaluate import evaluate as evaluate
    from bgn.explain.frontier import frontier as frontier
    from bgn.explain.importance import compare_groups as compare_groups
    from bgn.explain.importance import compare_tables as compare_tables
    from bgn.explain.importance import importance as importance
    from bgn.explain.margin import margin as margin
    from bgn.explain.proofs import certify as certify
    from bgn.explain.proofs import extremes as extremes
    from bgn.explain.shap import Explanation as Explanation
    from bgn.explain.shap import shap_values as shap_values
    from bgn.explain.simplify import simplify as simplify
    from bgn.export.equation import equation as equation
    from bgn.export.scorecard import scorecard as scorecard
    from bgn.grow.search import GrowthSettings as GrowthSettings
    from bgn.inputs.check import check as check
    from bgn.model.layer import Layer as Layer
    from bgn.model.network import Network as Network
    from bgn.model.readings import as_terms as as_terms
    from bgn.model.step import step as step
    from bgn.model.term import Linear as Linear
    from bgn.model.term import Member as Member
    from bgn.model.term import Missing as Missing
    from bgn.model.term import Oblique as Oblique
    from bgn.model.term import Rule as Rule
    from bgn.model.term import Threshold as Threshold
    from bgn.persist import ModelFileError as ModelFileError
    from bgn.persist import load as load
    from bgn.persist import save as save
    from bgn.report.page import write_report as write_report

# `import bgn` stays quick and optional packages stay optional: a name is loaded when it is first used.
__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "bgn": "__version__ baselines dask datasets export pipelines plots preparation theory",
        "bgn.conformal": "intervals",
        "bgn.distillation": "distill",
        "bgn.engines.disk.table": "read_blocks",
        "bgn.estimators": "BGNClassifier BGNRegressor",
        "bgn.explain.counterfactual": "counterfactual",
        "bgn.explain.edit": "edit",
        "bgn.explain.effects": "effect",
        "bgn.explain.evaluate": "evaluate",
        "bgn.explain.frontier": "frontier",
        "bgn.explain.importance": "compare_groups compare_tables importance",
        "bgn.explain.margin": "margin",
        "bgn.explain.proofs": "certify extremes",
        "bgn.explain.shap": "Explanation shap_values",
        "bgn.explain.simplify": "simplify",
        "bgn.export.equation": "equation",
        "bgn.export.scorecard": "scorecard",
        "bgn.grow.search": "GrowthSettings",
        "bgn.inputs.check": "check",
        "bgn.model.layer": "Layer",
        "bgn.model.network": "Network",
        "bgn.model.step": "step",
        "bgn.model.term": "Linear Member Missing Oblique Rule Threshold",
        "bgn.model.readings": "as_terms",
        "bgn.persist": "ModelFileError load save",
        "bgn.report.page": "write_report",
    },
)
