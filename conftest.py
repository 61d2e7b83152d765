"""No test is skipped silently: its reason names what would run it. A switch that scikit-learn's checks ask for."""

import os
import re
from collections.abc import Generator
from typing import Any

import pytest

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # one of scikit-learn's checks asks for it
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests have small tensors, over which threads wait for each other

from tests.declared import absent

collect_ignore = ["tests/without/sitecustomize.py"]  # loaded by Python itself, in the processes that tests start

# What is in the reason of a skip -> what a person can do about it; the first that fits.
REMEDIES = {
    "Chromium": "`make browser` installs it",
    "^(gcc|node|java|psql|PostgreSQL) ": "`make engines` installs it",
    "PostgreSQL does not run as root": "run the tests as another user than root",
    "soffice": "install LibreOffice Calc",
    "TeX": "install lualatex or pdflatex",
    "there is a GPU": "run the tests on a machine without one",
    "CUDA|no GPU": "run the tests on a machine with one",
    "BGN_DATA|telephone customers": "BGN_DATA=FOLDER names the folder with the paper's raw tables",
    "git is": "install git",
    "[Ww]indows|POSIX|/proc|signal|this system": "run the tests on Linux",
    "only root": "run the tests as root",
    "root may": "run the tests as another user than root",
    "could not import|installed|outside check|need torch": "`make test` installs it where Python and system allow",
}


def with_remedy(reason: str) -> str | None:
    """Return why a test is skipped and what would run it; None where nobody has said that yet."""
    reason = reason.removeprefix("Skipped: ")
    remedy = next((remedy for pattern, remedy in REMEDIES.items() if re.search(pattern, reason)), None)
    return remedy and f"{reason} -- {remedy}"


def _skip_if_absent(error: Exception) -> None:
    """Turn the error that comes of a missing optional package into a skip that names it."""
    package = absent(error)
    if package is not None:
        pytest.skip(f"the package {package!r} is not installed", allow_module_level=True)


def _name_remedy(report: Any) -> Any:
    """Add the remedy to the reason of a skip; a skip without one is a failure."""
    if report.skipped and isinstance(report.longrepr, tuple):
        path, line, reason = report.longrepr
        if complete := with_remedy(reason):
            report.longrepr = path, line, complete
        else:
            report.outcome = "failed"
            report.longrepr = f"{path}:{line}: {reason}: name the remedy in REMEDIES (conftest.py)"
    return report


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
        return _name_remedy((yield))
    finally:
        del collector.collect


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return _name_remedy((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, Any, Any]:
    try:
        return (yield)
    except Exception as error:
        _skip_if_absent(error)
        raise


pytest_runtest_call = pytest_runtest_setup
