"""What is loaded where it is used: public names on first use, optional packages or an error that names the extra."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

Lazy = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def lazy_names(package: str, homes: Mapping[str, str], ready: Callable[[], object] = lambda: None) -> Lazy:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are loaded on first use.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        Modules, and the names that each holds, with blanks between; a package's own name stands before its modules.
    ready : callable, optional
        Called before a module is loaded, to raise where something it needs is missing.

    Examples
    --------
    >>> from bgn.require import lazy_names
    >>> __getattr__, __dir__, __all__ = lazy_names("json", {"json.decoder": "JSONDecoder", "json": "scanner"})
    >>> __getattr__("scanner").__name__, __getattr__("JSONDecoder").__name__, __dir__()
    ('json.scanner', 'JSONDecoder', ['JSONDecoder', 'scanner'])
    """
    places = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        ready()
        module = places[name]
        if module == package:
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(places), sorted(places)


def require(module: str, extra: str) -> ModuleType:
    """Return an optional package's module, or say which extra of bgn brings it.

    Parameters
    ----------
    module : str
        What to import, such as ``"matplotlib.pyplot"``.
    extra : str
        The extra that installs it, such as ``"plot"``.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        When the package is not installed. A package that is there but fails to load raises its own error.

    Examples
    --------
    >>> from bgn.require import require
    >>> require("json", extra="cli").loads("[1, 2]")
    [1, 2]
    >>> require("not_installed", extra="plot")
    Traceback (most recent call last):
        ...
    ImportError: this needs the package 'not_installed', which is not installed. Install it, or bgn's extra 'plot'.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name != package:
            raise
        raise ImportError(
            f"this needs the package {package!r}, which is not installed. Install it, or bgn's extra {extra!r}.",
            name=package,
        ) from None
