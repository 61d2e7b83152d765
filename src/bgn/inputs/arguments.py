"""Arguments that are no table: each passes, or an error names it, its value and the remedy."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def chosen(name: str, value: Any, choices: Sequence[str | None]) -> None:
    """One of several words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def whole(name: str, value: Any, least: int, none: str | None = None, also: str = "") -> None:
    """A whole number, or None where that means something."""
    if value is None and none is not None:
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        remedy = f" Use None for {none}." if none else ""
        raise ValueError(f"{name} must be a whole number, at least {least}{also}; got {value!r}.{remedy}")


def real(
    name: str, value: Any, low: float, high: float, open_low: bool = False, open_high: bool = False, also: str = ""
) -> None:
    """A number between two others."""
    fine = isinstance(value, numbers.Real) and not isinstance(value, bool) and bool(low <= float(value) <= high)
    if not fine or (open_low and value == low) or (open_high and value == high):
        above = f"above {low:g}" if open_low else f"at least {low:g}"
        below = "" if high == np.inf else f" and {'below' if open_high else 'at most'} {high:g}"
        raise ValueError(f"{name} must be a number {above}{below}{also}; got {value!r}.")


def seed_of(random_state: Any) -> int:
    """A seed drawn from what scikit-learn takes for `random_state`."""
    from sklearn.utils import check_random_state

    try:
        if isinstance(random_state, bool | np.bool_):
            raise ValueError
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError:
        raise ValueError(
            f"random_state must be None, a RandomState or a whole number from 0 to 2**32 - 1; got {random_state!r}."
        ) from None


def threads(n_jobs: Any) -> int:
    """How many threads `n_jobs` stands for."""
    from joblib import effective_n_jobs

    if n_jobs is None:
        return int(effective_n_jobs(-1))
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a whole number, not 0, or None for all cores; got {n_jobs!r}.")
    return int(effective_n_jobs(n_jobs))


def callables(name: str, given: Any) -> tuple[Callable[..., Any], ...]:
    """None, one callable or several, as a tuple."""
    several = () if given is None else tuple(given) if isinstance(given, Sequence) else (given,)
    for each in several:
        if not callable(each):
            raise ValueError(f"{name} must be callables that take a record; got {each!r}.")
    return several
