"""What an estimator is made of: the parameters it was given, and what it has learnt (names that end in ``_``)."""

from __future__ import annotations

import functools
import inspect
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)
_Estimator = TypeVar("_Estimator", bound=object)


def inherit_parameters(cls: _Class) -> _Class:
    """Show all parameters of an ``__init__`` that passes ``**parameters`` on to its parent's.

    scikit-learn reads an estimator's parameters off the signature of ``__init__``, as help and editors do.
    """
    init, above = vars(cls)["__init__"], inspect.signature(cls.__mro__[1])
    own = inspect.signature(init)
    shown = {name: each for name, each in own.parameters.items() if each.kind != each.VAR_KEYWORD}
    merged = {"self": shown.pop("self")} | dict(above.parameters) | shown

    @functools.wraps(init)
    def checked(self: Any, *values: Any, **parameters: Any) -> None:
        for name in parameters.keys() - merged.keys():
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {name!r}")
        init(self, *values, **parameters)

    checked.__signature__ = own.replace(parameters=list(merged.values()))  # type: ignore[attr-defined]
    cls.__init__ = checked  # type: ignore[misc]
    return cls


def unfitted(estimator: _Estimator) -> _Estimator:
    """The same parameters and nothing learnt, to fit on; the estimator keeps the model of an earlier fit meanwhile."""
    return _with(estimator, {name: value for name, value in _state(estimator).items() if not name.endswith("_")})


def as_it_is(estimator: _Estimator) -> _Estimator:
    """The estimator with all that it has learnt, which a fit in another thread leaves alone."""
    return _with(estimator, _state(estimator))


def take_over(estimator: _Estimator, other: Any) -> _Estimator:
    """Learn what another has learnt, all of it at once: whoever looks sees the model before or the whole new one."""
    learnt = {name: value for name, value in _state(other).items() if name.endswith("_")}
    estimator.__dict__ = _state(unfitted(estimator)) | learnt
    return estimator


def _state(estimator: Any) -> dict[str, Any]:
    """The attributes at one moment."""
    return vars(estimator).copy()


def _with(estimator: _Estimator, state: dict[str, Any]) -> _Estimator:
    made = object.__new__(type(estimator))
    made.__dict__ = state
    return made
