"""A classifier of rows on disk that know their classes by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.classifier import BGNClassifier
from bgn.estimator_state import take_over
from bgn.inputs.target import labelled


class _OfNumberedClasses(BGNClassifier):
    def _with_classes(self, given: Any, held_out: Any) -> Any:
        self.classes_ = labelled(np.arange(len(given.X.classes), dtype=np.float64), given.X.classes)
        return given, held_out, given.X.classes


def fit_numbered(model: Any, rows: Any) -> None:
    """Fit a classifier to rows whose targets are numbers of their ``classes``."""
    take_over(model, _OfNumberedClasses(**model.get_params()).fit(rows))
