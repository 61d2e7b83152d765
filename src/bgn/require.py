"""Optional packages: loaded where they are used, or an error that says what to install."""

from __future__ import annotations

import importlib
from types import ModuleType


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
    ImportError: this needs the package 'not_installed', which is not installed. Run: pip install 'bgn[plot]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name != package:
            raise
        raise ImportError(
            f"this needs the package {package!r}, which is not installed. Run: pip install 'bgn[{extra}]'", name=package
        ) from None
