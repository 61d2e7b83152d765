"""What a fitted estimator can be asked directly: each method is the function of :mod:`bgn` with the estimator first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from bgn.engines.protocol import RowSource
from bgn.engines.raw_rows import RowsInMemory, few_of
from bgn.explain.subject import decoded
from bgn.model.above import ANSWERS
from bgn.model.step import Floats

if TYPE_CHECKING:
    from bgn.explain.certify import Certificates
    from bgn.explain.counterfactual import Counterfactual
    from bgn.explain.effects import PairEffect
    from bgn.explain.extremes import Extremes
    from bgn.explain.frontier import Frontier
    from bgn.explain.importance import Importance
    from bgn.explain.one_effect import Effect
    from bgn.explain.row_margins import Margin
    from bgn.explain.shap import Explanation
    from bgn.explain.simplify import Simplified

_MOST_ROWS = 1000  # kept to compare with


class AsksItself:
    """An estimator with the functions of :mod:`bgn` that take a model as methods.

    Up to a thousand training rows stay with an estimator that was fitted in memory, as ``background_``: what
    explanations compare with unless told. Model files do not have them.
    """

    network_: Any
    background_: Any

    def _keep_background(self, source: RowSource, seed: int) -> None:
        """Keep some training rows, chosen by their content."""
        if isinstance(source, RowsInMemory):
            there = source.that_count()
            chosen = there[few_of(source.hashes(seed)[there], _MOST_ROWS)]
            self.background_ = decoded(self.network_, source.encoded(chosen))

    @property
    def feature_importances_(self) -> Floats:
        """How much each column matters, adding up to 1: by mean absolute SHAP values over ``background_``."""
        if not hasattr(self, "background_"):
            raise AttributeError(
                "feature_importances_ needs the rows of a fit in memory, which model files do not have. Use "
                "model.importance(X).relative_features."
            )
        return self.importance().relative_features

    def equation(self, format: str = "text", **options: Any) -> str:
        """Write the model as an equation; see :func:`bgn.equation`."""
        from bgn.export.equation import equation

        check_is_fitted(self)
        return equation(self, format, **options)

    def explain(self, X: Any, background: Any = None, **options: Any) -> Explanation:
        """Return the SHAP values of rows; see :func:`bgn.shap_values`."""
        from bgn.explain.shap import shap_values

        check_is_fitted(self)
        return shap_values(self, X, background, **options)

    def importance(self, X: Any = None, background: Any = None, kind: str = "shap") -> Importance:
        """Return how much columns and questions matter, in ``background_`` unless told; see :func:`bgn.importance`."""
        from bgn.explain.importance import importance

        check_is_fitted(self)
        return importance(self, getattr(self, "background_", None) if X is None else X, background, kind)

    def effect(self, feature: Any, background: Any = None, **options: Any) -> Effect | PairEffect:
        """Return the effect of a column, or of two; see :func:`bgn.effect`."""
        from bgn.explain.effects import effect

        check_is_fitted(self)
        return effect(self, feature, background, **options)

    def margin(self, X: Any, **options: Any) -> Margin:
        """Return how far rows are from another prediction; see :func:`bgn.margin`."""
        from bgn.explain.margin import margin

        check_is_fitted(self)
        return margin(self, X, **options)

    def counterfactual(self, x: Any, **options: Any) -> Counterfactual:
        """Return the cheapest change of a row that has a wanted prediction; see :func:`bgn.counterfactual`."""
        from bgn.explain.counterfactual import counterfactual

        check_is_fitted(self)
        return counterfactual(self, x, **options)

    def extremes(self, within: Any = "all", **options: Any) -> Extremes:
        """Return the lowest and the highest prediction there can be; see :func:`bgn.extremes`."""
        from bgn.explain.extremes import extremes

        check_is_fitted(self)
        return extremes(self, within, **options)

    def certify(self, columns: Iterable[Any] | None = None, **options: Any) -> Certificates:
        """Prove which columns only raise or lower the prediction; see :func:`bgn.certify`."""
        from bgn.explain.certify import certify

        check_is_fitted(self)
        return certify(self, columns, **options)

    def frontier(self, X: Any = None, y: Any = None, X_test: Any = None, y_test: Any = None) -> Frontier:
        """Return the error at every size; see :func:`bgn.frontier`."""
        from bgn.explain.frontier import frontier

        check_is_fitted(self)
        return frontier(self, X, y, X_test, y_test)

    def simplify(self, X: Any, y: Any, **options: Any) -> Simplified:
        """Return a network with rounder numbers, or points, learned from training rows; see :func:`bgn.simplify`."""
        from bgn.explain.simplify import simplify

        check_is_fitted(self)
        return simplify(self, X, y, **options)

    def report(self, X: Any, y: Any, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write a one-file web page about the model; see :func:`bgn.write_report`."""
        check_is_fitted(self)
        return Path(ANSWERS["write_report"](self, X, y, path, **options))

    def save(self, path: str | os.PathLike[str], *, units: Mapping[str, str] | None = None) -> None:
        """Write the model to a JSON file; see :func:`bgn.save`."""
        check_is_fitted(self)
        ANSWERS["save"](self, path, units=units)
