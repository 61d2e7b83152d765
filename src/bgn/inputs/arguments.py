"""Arguments that are no table: each passes, or an error names it, its value and the remedy."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.inputs.errors import listed
from bgn.model.schema import Schema
from bgn.model.values import did_you_mean


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
        lowest = f"above {low:g}" if open_low else f"at least {low:g}"
        highest = "" if high == np.inf else f" and {'below' if open_high else 'at most'} {high:g}"
        raise ValueError(f"{name} must be a number {lowest}{highest}{also}; got {value!r}.")


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
    for function in several:
        if not callable(function):
            raise ValueError(f"{name} must be callables that take a record; got {function!r}.")
    return several


# -- What a user wants of predictions: how they move with columns, which columns may be asked about together,
# bounds.

_ORDERS = "1 (never falls as the column rises), -1 (never rises) or 0 (either)"


def monotone_columns(given: Any, schema: Schema) -> tuple[int, ...]:
    """Return 1, -1 or 0 for every column, from a mapping by name or a sequence of one per column."""
    name, wanted = "monotonic_cst", [0] * len(schema)
    if given is None:
        return tuple(wanted)
    if isinstance(given, Mapping):
        for key, value in given.items():
            wanted[_place(name, key, schema)] = value
    else:
        wanted = np.asarray(given, dtype=object).tolist() if np.ndim(given) == 1 else []
        if len(wanted) != len(schema):
            raise ValueError(
                f"{name} must have one entry per column ({len(schema)}), or name columns: "
                f"{{{schema.names[0]!r}: 1}}; got {given!r}."
            )
    for column, value in zip(schema.columns, wanted, strict=True):
        if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real) or value not in (-1, 0, 1):
            raise ValueError(f"{name} must be {_ORDERS}; got {value!r} for {column.name!r}.")
        if value and column.categories is not None and not column.ordered:
            raise ValueError(
                f"{name}: {column.name!r} is a categorical column without an order. Give it one, for instance with "
                "pandas.CategoricalDtype(categories, ordered=True), or leave the column out."
            )
    return tuple(map(int, wanted))


def given_cuts(given: Any, schema: Schema) -> dict[int, NDArray[np.float64]]:
    """Return the thresholds that growth may use, by column; columns that are not named may be cut anywhere."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"cuts must map columns to thresholds, as {{{schema.names[0]!r}: [1.5, 10]}}; got {given!r}.")
    by_column = {}
    for key, values in given.items():
        place = _place("cuts", key, schema)
        if schema.columns[place].categories is not None:
            raise ValueError(f"cuts: {schema.names[place]!r} holds categories, which have no thresholds.")
        try:
            cuts = np.unique(np.asarray(values, np.float64).reshape(-1))
        except (TypeError, ValueError):
            cuts = np.empty(0)
        if len(cuts) == 0 or not np.isfinite(cuts).all():
            raise ValueError(f"cuts: {schema.names[place]!r} needs one number or more; got {values!r}.")
        by_column[place] = cuts
    return by_column


def interaction_groups(given: Any, schema: Schema) -> tuple[frozenset[int], ...] | None:
    """Return the sets of columns that one rule may combine, None for any; columns in no set make up one more."""
    name, every = "interaction_cst", range(len(schema))
    if given is None:
        return None
    if isinstance(given, str) and given in ("pairwise", "no_interactions"):
        return tuple(map(frozenset, combinations(every, 1 + (given == "pairwise")))) or (frozenset(every),)
    sets = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if any(isinstance(group, str) or not isinstance(group, Iterable) for group in sets):
        raise ValueError(
            f"{name} must be 'pairwise', 'no_interactions', None, or a list of sets of names or positions of columns, "
            f"such as [{{0, 1}}, {{2}}]; got {given!r}."
        )
    groups = [frozenset(_place(name, key, schema) for key in group) for group in sets]
    rest = frozenset(every) - frozenset().union(*groups)
    return (*groups, rest) if rest else tuple(groups)


def _place(name: str, key: Any, schema: Schema) -> int:
    """Return the place of a column that is named, or given by its position."""
    if isinstance(key, str):
        if not schema.named:
            raise ValueError(f"{name} must give positions where columns have no names; got {key!r}.")
        if key not in schema.names:
            similar = did_you_mean(key, schema.names)
            raise ValueError(f"{name}: there is no column {key!r}; X has {listed(schema.names)}.{similar}")
        return schema.names.index(key)
    if isinstance(key, bool | np.bool_) or not isinstance(key, int | np.integer) or not 0 <= key < len(schema):
        raise ValueError(f"{name} must name columns, or give positions from 0 to {len(schema) - 1}; got {key!r}.")
    return int(key)
