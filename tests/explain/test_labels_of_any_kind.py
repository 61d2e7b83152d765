"""Labels of every kind: what is measured does not depend on what classes are called."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import bgn
from bgn.report.facts import MEASURES, Facts, quality
from tests.optional import pandas as pd

KINDS = {
    "whole": [3, 7, 8], "truths": [False, True], "words": ["ad", "bo", "cy"], "numbers": [-1.0, 2.0, 1e3],
    "objects": ["ad", "bo", "cy"], "categories": ["ad", "bo", "cy"], "yes first": ["ja", "nein"],
}  # fmt: skip
CASES = [(kind, count) for kind, labels in KINDS.items() for count in (2, 3) if count <= len(labels)]


def rows(count):
    rng = np.random.default_rng(count)
    X = rng.normal(size=(90, 3)).round(2)
    return X, np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=90) * 0.4, [0.0, 0.7][: count - 1])


def labels_of(kind, codes):
    """Labels as users have them, in the order of their classes."""
    names = KINDS[kind]
    values = np.array(names, dtype=object if kind in ("objects", "categories") else None)[codes]
    return pd.Categorical(values) if kind == "categories" else values


@lru_cache
def fitted(kind, count):
    X, codes = rows(count)
    y = codes if kind is None else labels_of(kind, codes)
    return bgn.BGNClassifier(max_terms=3, max_linear=0, random_state=0).fit(X[:60], y[:60])


@lru_cache
def figures(kind, count):
    """What every function that takes labels says of them."""
    (X, codes), model = rows(count), fitted(kind, count)
    y = codes if kind is None else labels_of(kind, codes)
    values = {
        "scores": list(bgn.evaluate(model, X, y).scores.values()),
        "points": [(simple := bgn.simplify(model, X, y, points=3)).before, simple.after],
        "digits": [(simple := bgn.simplify(model, X, y, digits=1)).before, simple.after],
        "sizes": np.concatenate([*bgn.frontier(model, X[:60], y[:60], X[60:], y[60:]).errors.values()]).tolist(),
        "report": [rival.evaluation.scores[name] for rival in quality(Facts.of(model, X[:60], y[:60], X[60:], y[60:]))
                   for name in MEASURES[True]],
        "distilled": [*vars(bgn.distill(model, X, y, max_terms=2, max_linear=0, random_state=0).fidelity_).values()],
        "gap": bgn.compare_groups(model, X, list(y), random_state=0).columns.tolist() if count == 2 else [],
    }  # fmt: skip
    if count == 2:
        receipt = bgn.edit(model, X, y, cutoff=0.5).coef(1, 0.25).receipt.edit
        values["edit"] = [receipt.before, receipt.after]
    return values


@pytest.mark.parametrize(("kind", "count"), CASES)
def test_figures_are_those_of_classes_that_are_numbered(kind, count):
    known, wanted = figures(kind, count), figures(None, count)
    assert known.keys() == wanted.keys()
    for name, values in wanted.items():
        if kind != "yes first" or name in ("points", "digits", "sizes", "distilled"):  # others are about "ja"
            np.testing.assert_allclose(known[name], values, rtol=1e-12, err_msg=name)


def test_an_edit_tells_labels_it_does_not_know():
    X, codes = rows(2)
    with pytest.raises(ValueError, match="holds the label 0, which fit did not see; the classes are 3, 7"):
        bgn.edit(fitted("whole", 2), X, codes)
