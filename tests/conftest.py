"""What every test shares: Hypothesis without a clock, because a busy machine is not a bug; an engine to fit on.

After every fit of the suite the model goes through a file and must come back the same.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
    derandomize=not os.environ.get("BGN_NEW_CASES"),  # `make test` tries the same cases every time, everywhere
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("bgn")

_passed: list[str] = []  # names of tests; with several processes, in the one that reports


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--exhaustive", action="store_true", help="also the sweeps that `make test` leaves out")
    parser.addoption("--passed", metavar="FILE", help="write the names of all tests that pass to FILE")
    parser.addoption("--leave-out", metavar="FILE", help="leave out the tests that FILE names: another run passed them")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "exhaustive: a sweep that fewer cases stand for; `make test-all` runs it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out exhaustive sweeps unless asked for, and what another run has passed."""
    file = config.getoption("leave_out")
    passed = set(Path(file).read_text(encoding="utf-8").splitlines()) if file else set()
    if config.getoption("exhaustive"):  # tests of random cases run again: they try more of them
        left_out = {item for item in items if item.nodeid in passed and cases_of(item) is None}
    else:
        left_out = {item for item in items if item.nodeid in passed or is_exhaustive(item)}
        for item in items:
            if (cases := cases_of(item)) is not None:
                few = max(cases.max_examples // 3, min(cases.max_examples, 10))
                item.obj._hypothesis_internal_use_settings = settings(cases, max_examples=few)
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def cases_of(item: pytest.Item) -> settings | None:
    """Return the settings of a test that Hypothesis draws cases for; None for any other."""
    return getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None) if _is_drawn(item) else None


def _is_drawn(item: pytest.Item) -> bool:
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def is_exhaustive(item: pytest.Item) -> bool:
    """Whether a test is marked as a sweep, or is a growth test on a cluster that others stand for."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return item.get_closest_marker("exhaustive") is not None or (
        isinstance(item, pytest.Function) and not worth_running(item.originalname, parameters)
    )


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed:
        _passed.append(report.nodeid)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say which tests were not run, and keep the names of those that passed."""
    if file := config.getoption("passed"):
        Path(file).write_text("".join(f"{name}\n" for name in sorted(_passed)), encoding="utf-8")
    if not config.getoption("exhaustive"):
        terminalreporter.write_line(
            "`make test-all` runs the sweeps that were left out, and three times as many random cases."
        )


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
