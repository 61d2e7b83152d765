"""All of scikit-learn's own checks, none skipped."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bgn import BGNClassifier, BGNRegressor, GrowthSettings


@parametrize_with_checks(
    [
        BGNRegressor(max_terms=3, growth=GrowthSettings(max_replacements=2, sweeps=0)),
        BGNClassifier(max_terms=3, growth=GrowthSettings(max_replacements=0, sweeps=0)),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.exhaustive
@parametrize_with_checks(
    [
        BGNRegressor(),
        BGNClassifier(),
        BGNRegressor.as_in_paper(max_terms=20),
        BGNRegressor(direction="debiased", output="stagewise", learning_rate=0.3, max_terms=20, max_layers=2),
        BGNClassifier(max_terms=10, cv=None),
    ]
)
def test_scikit_learn_check_of_other_settings(estimator, check):
    check(estimator)
