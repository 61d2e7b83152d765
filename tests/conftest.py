"""What every test shares: Hypothesis without a clock, because a busy machine is not a bug; an engine to fit on."""

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

from bgn import BGNRegressor
from tests.engines import ENGINES

settings.register_profile(
    "bgn",
    deadline=None,
    print_blob=True,
    derandomize=bool(os.environ.get("CI")),  # a build tries the same cases every time; a person tries new ones
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("bgn")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Callable[..., BGNRegressor]:
    """Fit a model on rows that live in one place or another; see `tests.engines`."""
    return ENGINES[request.param]
