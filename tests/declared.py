"""What pyproject.toml declares, as the names that Python imports."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Where they are not the package's own name.
_MODULES = {
    "dask": {"dask", "distributed"},
    "fast-model-trees": {"pilot"},
    "interpret-core": {"interpret"},
    "mars-earth": {"pymars"},
    "matplotlib": {"matplotlib", "mpl_toolkits"},
    "pytest-xdist": {"xdist"},
    "scikit-learn": {"sklearn"},
    "torch": {"torch", "triton"},  # for GPUs the one brings the other
    "xgboost-cpu": {"xgboost"},
}


def modules(requirements: Iterable[str]) -> set[str]:
    """Return what can be imported where these are installed, bgn's own extras followed."""
    names: set[str] = set()
    for line in requirements:
        name, extras = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", line).groups()  # type: ignore[union-attr]
        if name == "bgn":
            names.update(*(modules(PROJECT["optional-dependencies"][extra]) for extra in extras.split(",")))
        else:
            names |= _MODULES.get(name, {name})
    return names


REQUIRED = modules(PROJECT["dependencies"])
EXTRAS = {extra: modules(lines) for extra, lines in PROJECT["optional-dependencies"].items()}
OPTIONAL = set().union(*EXTRAS.values()) - REQUIRED


def absent(error: BaseException | None) -> str | None:
    """Return the optional package whose absence led to an error, or None."""
    while error is not None:
        info = getattr(error, "exc_info", None)  # doctest wraps what an example raised
        if info is not None:
            error = info[1]
        package = (getattr(error, "name", None) or "").partition(".")[0] if isinstance(error, ImportError) else ""
        if package in OPTIONAL and find_spec(package) is None:
            return package
        error = error.__cause__ or error.__context__
    return None
