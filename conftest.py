"""What needs a package that is not installed is skipped and says so; a switch that scikit-learn's checks ask for."""

import os
from collections.abc import Generator
from typing import Any

import pytest

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # one of scikit-learn's checks asks for it
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests have small tensors, over which threads wait for each other

from tests.declared import absent

collect_ignore = ["tests/without/sitecustomize.py"]  # loaded by Python itself, in the processes that tests start


def _skip_if_absent(error: Exception) -> None:
    """Turn the error that comes of a missing optional package into a skip that names it."""
    package = absent(error)
    if package is not None:
        pytest.skip(f"the package {package!r} is not installed", allow_module_level=True)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    collect = collector.collect

    def guarded() -> list[Any]:
        try:
            return list(collect())
        except Exception as error:
            _skip_if_absent(error)
            raise

    collector.collect = guarded  # type: ignore[method-assign]
    try:
        return (yield)
    finally:
        del collector.collect


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, Any, Any]:
    try:
        return (yield)
    except Exception as error:
        _skip_if_absent(error)
        raise


pytest_runtest_call = pytest_runtest_setup
