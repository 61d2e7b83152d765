"""What every test shares: Hypothesis without a clock, because a busy machine is not a bug."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "bgn",
    deadline=None,
    print_blob=True,
    derandomize=bool(os.environ.get("CI")),  # a build tries the same cases every time; a person tries new ones
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("bgn")
