"""Targets and weights: one number per row of a table."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from bgn.model.step import Floats

_LARGEST_WEIGHT = 1e300


def array_of(values: Any) -> Any:
    """The values of a torch tensor, which NumPy does not take as they are when gradients or bfloat16 are involved."""
    if type(values).__module__ != "torch":
        return values
    values = values.detach().cpu()
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()


def unmasked(values: Any, name: str) -> None:
    """No masked values, under which anything may hide."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.count_masked(values):
        raise ValueError(
            f"{name} has {np.ma.count_masked(values)} masked values. Fill them (filled) or drop those rows."
        )


def no_dates(kind: Any, name: str = "y") -> None:
    """Targets or weights of a dtype that is none of dates."""
    if getattr(kind, "kind", "") in ("m", "M"):
        raise ValueError(f"{name} holds dates or durations. Turn them into numbers, for instance days since the first.")


def number_target(y: Any) -> Any:
    """Return targets that are numbers, not dates or words, as they are; those of a tensor as an array."""
    y = array_of(y)
    unmasked(y, "y")
    values = np.asarray(y)
    no_dates(values.dtype)
    if values.dtype.kind in ("O", "S", "U"):
        for value in values.ravel():
            try:
                float(value)
            except (TypeError, ValueError):
                # What is no text, scikit-learn has its own words for.
                if isinstance(value, str):
                    raise ValueError(f"y must hold numbers; got {str(value)!r}.") from None
                break
    return y


def numbers_per_row(values: Any, name: str, rows: int) -> Floats:
    """Return one finite float64 per row, or say what is wrong with them."""
    values = array_of(values)
    no_dates(getattr(values, "dtype", None), name)
    unmasked(values, name)
    found = np.asarray(values, dtype=np.float64, order="C")
    if found.shape != (rows,):
        raise ValueError(f"{name} must have one entry per row of X ({rows}); got shape {found.shape}.")
    if not np.isfinite(found).all():
        wrong = f"{name} must be finite; got {found[~np.isfinite(found)][0]}"
        raise ValueError(f"{name} has NaN or infinity: {wrong}. Drop or fill those rows.")
    return found


def weights(values: Any, rows: int) -> Floats:
    """Return one weight per row, none of them negative, whose sums a float64 can hold; a number counts for all rows."""
    if isinstance(values, numbers.Number):
        values = np.full(rows, values)
    found = numbers_per_row(values, "sample_weight", rows)
    if (found < 0).any():
        least = f"sample_weight must not be negative; got {found.min()}"
        raise ValueError(f"Negative values in data passed to `sample_weight`: {least}.")
    check_reach(float(found.max(initial=0.0)))
    return found


def check_reach(largest: float) -> None:
    """Refuse row weights whose sums no float64 can hold, by the largest of them."""
    most = _LARGEST_WEIGHT
    if largest > most or 0 < largest < 1 / most:
        raise ValueError(
            f"sample_weight goes up to {largest:.3g}; beyond {most:g} and below {1 / most:g} sums leave the range of "
            "floats. Multiply all weights by one number."
        )
