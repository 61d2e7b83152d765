"""What every test shares: Hypothesis without a clock, because a busy machine is not a bug; an engine to fit on.

After every fit of the suite the model goes through a file and must come back the same.
"""

import os
import sys
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings

from bgn import BGNClassifier, BGNRegressor
from tests.browser import launched
from tests.every_engine import ENGINES, worth_running
from tests.round_trips import checked, scratch

settings.register_profile(
    "bgn",
    deadline=None,
    print_blob=True,
    derandomize=bool(os.environ.get("CI")),  # a build tries the same cases every time; a person tries new ones
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("bgn")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--everywhere", action="store_true", help="every growth test on a cluster too, not only some")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the growth tests on a cluster that others stand for."""
    if config.getoption("everywhere"):
        return
    chosen = {
        item: worth_running(item.originalname, item.callspec.params) if hasattr(item, "callspec") else True
        for item in items
    }
    config.hook.pytest_deselected(items=[item for item in items if not chosen[item]])
    items[:] = [item for item in items if chosen[item]]


@pytest.fixture(autouse=True, scope="session")
def every_model_goes_through_a_file() -> Iterator[None]:
    """Save and load after every fit in this process, on a cluster and on disk too."""
    with scratch() as folder, pytest.MonkeyPatch.context() as patch:
        for estimator in (BGNRegressor, BGNClassifier):
            patch.setattr(estimator, "fit", checked(estimator.fit, folder))
        yield


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Close what a test has drawn: pyplot warns at the twenty-first figure, in whichever test draws it."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Callable[..., BGNRegressor]:
    """Fit a model on rows that live in one place or another; see `tests.every_engine`."""
    for package in {"dask": ["distributed"], "torch cpu": ["torch"], "torch cuda": ["torch"]}.get(request.param, ()):
        pytest.importorskip(package)
    return ENGINES[request.param]


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """A real browser, for all pages of a module."""
    with launched() as started:
        yield started
