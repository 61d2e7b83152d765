"""How far columns may go, and what it costs: as told, else from what was seen at fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bgn.explain.counterfactual.inputs import PlainInputs
from bgn.explain.subject import column_of, rows_of
from bgn.model.schema import Column, level_word
from bgn.model.step import Floats

_SPREADS = 4.0  # in the range seen at fit, where no rows tell the spread


def read_bounds(inputs: PlainInputs, bounds: Mapping[Any, Any] | None) -> tuple[Floats, Floats]:
    """Return the lowest and highest value of every input; by default what was seen at fit, and where the row is."""
    low, high = np.full(len(inputs.x), -np.inf), np.full(len(inputs.x), np.inf)
    for column, kind in enumerate(inputs.original.schema.columns):
        own = list(inputs.places[column])
        if np.isnan(inputs.row[column]):
            low[own] = high[own] = inputs.x[own]
        elif kind.levels is not None:
            low[own], high[own] = 0.0, 1.0
        elif kind.seen is not None:
            low[own], high[own] = min(kind.seen[0], inputs.row[column]), max(kind.seen[1], inputs.row[column])
    for name, limits in (bounds or {}).items():
        column = column_of(inputs.original, name, "bounds")
        kind, own = inputs.original.schema.columns[column], list(inputs.places[column])
        if np.isnan(inputs.row[column]):
            continue
        if kind.levels is not None:
            high[own] = _allowed(kind, int(inputs.row[column]), limits)
        else:
            low[own], high[own] = _ends(kind, float(inputs.row[column]), limits, (low[own[0]], high[own[0]]))
    return low, high


def levels_to_fill(kind: Column, limits: Any) -> list[float]:
    """Return the numbers of the levels that a gap may become; where it comes from no level, none is too high or low."""
    levels = kind.levels or ()
    free = limits is None or (isinstance(limits, str) and limits in ("increase", "decrease") and kind.ordered)
    allowed = np.ones(len(levels)) if free else _allowed(kind, 0, limits)
    return np.flatnonzero(allowed).astype(np.float64).tolist()


def _ends(kind: Column, value: float, limits: Any, seen: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a number's range."""
    if isinstance(limits, str) and limits in ("increase", "decrease"):
        return (value, seen[1]) if limits == "increase" else (seen[0], value)
    try:
        bottom, top = limits
        low, high = -np.inf if bottom is None else float(bottom), np.inf if top is None else float(top)
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds of {kind.name!r} must be (low, high), 'increase' or 'decrease'; got {limits!r}."
        ) from None
    if not low <= high:
        raise ValueError(f"bounds of {kind.name!r} must have low <= high; got {limits!r}.")
    return low, high


def _allowed(kind: Column, own: int, limits: Any) -> Floats:
    """Return 1 for every level that a category may have, else 0."""
    levels = kind.levels or ()
    if isinstance(limits, str) and limits in ("increase", "decrease") and kind.ordered:
        codes = np.arange(len(levels))
        return np.asarray(codes >= own if limits == "increase" else codes <= own, dtype=np.float64)
    words = [] if isinstance(limits, str) or not np.iterable(limits) else list(limits)
    if not words or not set(words) <= set(levels):
        ordered = ", 'increase' or 'decrease'" if kind.ordered else ""
        raise ValueError(
            f"bounds of {kind.name!r} must be a list of some of its levels, {', '.join(map(level_word, levels))}"
            f"{ordered}; got {limits!r}."
        )
    return np.array([float(level in words) for level in levels])


def read_costs(inputs: PlainInputs, costs: Any, background: Any) -> Floats:
    """Return the price of one unit of every input; a change of level moves two of them."""
    network = inputs.original
    if isinstance(costs, str):
        if costs != "fewest":
            raise ValueError(f"costs must be a number per column, a mapping from names, or 'fewest'; got {costs!r}.")
        costs = None
    prices = default_prices(inputs, background)
    if isinstance(costs, Mapping):
        for name, value in costs.items():
            prices[column_of(network, name, "costs")] = value
    elif costs is not None:
        prices = np.asarray(costs, dtype=np.float64)
    if prices.shape != (network.n_inputs,) or not ((prices > 0) & np.isfinite(prices)).all():
        raise ValueError(
            f"costs must be a positive number for each of the {network.n_inputs} columns; got {costs!r}. Use immutable "
            "for a column that must not change."
        )
    plain = np.ones(len(inputs.x))
    for column, price in enumerate(prices.tolist()):
        plain[list(inputs.places[column])] = price / 2.0 if inputs.is_group(column) else price
    return plain


def default_prices(inputs: PlainInputs, background: Any) -> Floats:
    """Return the price of one unit of every column: 1 per spread of a number, and per change of a category."""
    network, prices = inputs.original, np.ones(inputs.original.n_inputs)
    rows = None if background is None else rows_of(network, background, "background")
    for column, kind in enumerate(network.schema.columns):
        if kind.levels is not None:
            continue
        if rows is not None:
            known = rows[~np.isnan(rows[:, column]), column]
            spread = float(known.std()) if len(known) else 0.0
        else:
            spread = 0.0 if kind.seen is None else (kind.seen[1] - kind.seen[0]) / _SPREADS
        price = 1.0 / spread if spread > 0 else 1.0
        prices[column] = price if np.isfinite(price) and price > 0 else 1.0
    return prices
