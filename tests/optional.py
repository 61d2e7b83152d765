"""Packages that a test module can name whether they are there or not: ``from tests.optional import polars as pl``.

What is not installed fails when it is called, not when it is imported, so that only the tests that call it are skipped.
"""

from __future__ import annotations

import importlib
from typing import Any

from tests.declared import OPTIONAL


class _Absent:
    """Stands for a package that is not installed, and for whatever is in it."""

    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise ModuleNotFoundError(f"No module named {self._package!r}", name=self._package)


def __getattr__(name: str) -> Any:
    if name not in OPTIONAL:
        raise AttributeError(name)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return _Absent(name)
