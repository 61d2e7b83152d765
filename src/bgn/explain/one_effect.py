"""The effect of one feature: steps, and a straight line beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgn.model.linear_term import LinearTerm
from bgn.model.schema import Column, level_word
from bgn.model.step import Floats
from bgn.tabular import Columns, Tabular


@dataclass(frozen=True, eq=False)
class Effect(Tabular):
    """A step function of one feature, and a straight line beside it where the network has a linear term of it.

    Attributes
    ----------
    column : Column
        The feature, as in the network's schema; `feature` is its name.
    breakpoints : ndarray, shape (steps,)
        The first value of every new level, in order; for a category the number of the value in ``column.levels``.
    levels : ndarray, shape (steps + 1,)
        Mean prediction below the first breakpoint, from it on, and so forth.
    missing : float or None
        Mean prediction when the feature has a gap; None where the network refuses a gap in it.
    target : str or None
        What the levels are means of: the target's name, "probability of ..." or "log-odds of ...".
    line : LinearTerm or None
        What the feature adds per unit, which is not in the levels; calling the effect, and `missing`, include it.
    standard_error : ndarray, shape (steps + 1,), or None
        Of the levels, in an average; None where a straight line is beside them, along which it varies: see `errors`.
    each : tuple of Effect
        The effects in the networks of an average.
    bends : ndarray, shape (steps + 1,), or None
        Where a linear term is cut off by bounds: by how much the effect rises per unit behind every breakpoint, at
        which it has its level; there is no `line` beside it then. Before the first it is what it would be at 0.
    """

    column: Column
    breakpoints: Floats
    levels: Floats
    missing: float | None = None
    target: str | None = None
    line: LinearTerm | None = None
    standard_error: Floats | None = None
    bends: Floats | None = None
    each: tuple[Effect, ...] = ()

    @property
    def bent(self) -> bool:
        """True where there is more than steps, here or in a network of an average."""
        return any(one.line is not None or one.bends is not None for one in (self, *self.each))

    @property
    def nothing(self) -> bool:
        """True where every value of the feature, and a gap, has the same mean prediction, as one that is not used."""
        alike = self.missing is None or math.isclose(self.missing, self.levels[0], rel_tol=1e-12)
        return not self.bent and len(self.levels) == 1 and alike

    def _columns(self) -> Columns:
        mean = f"mean {self.target}" if self.target else "mean prediction"
        if self.column.levels is not None:
            levels = np.array(self.column.levels, dtype=object)
            words, means = list(map(level_word, self.column.levels)), self(levels).tolist()
            gap = self.missing is not None
            return {self.feature: [*words, *["missing"] * gap], mean: [*means, *[self.missing] * gap]}
        told: dict[str, Any] = {f"{self.feature} from": [-np.inf, *self.breakpoints.tolist()]}
        told[mean] = self.levels.tolist()
        if self.line is not None:
            told["and per unit"] = [float(self.line.slopes[0])] * len(self.levels)
        elif self.bends is not None:
            told["and per unit"] = self.bends.tolist()
        if self.standard_error is not None:
            told["standard error"] = self.standard_error.tolist()
        return told

    @property
    def feature(self) -> str:
        """Name of the column."""
        return self.column.name

    def straight(self, values: Floats) -> Floats:
        """Return what the linear term adds at values of the column, or the bends behind breakpoints; zero where there
        is none."""
        if self.bends is not None:
            piece = np.searchsorted(self.breakpoints, values, side="right")
            return self.rise(piece, values)
        return np.zeros(np.shape(values)) if self.line is None else self.line.slopes[0] * self.line.between(values)

    def rise(self, piece: NDArray[np.int64], values: Floats) -> Floats:
        """Return what bends add at values on pieces, by their numbers."""
        assert self.bends is not None
        return np.asarray(self.bends[piece] * (values - np.append(0.0, self.breakpoints)[piece]))

    def __call__(self, values: ArrayLike) -> Floats:
        """Return the mean prediction when the feature is set to each of `values`."""
        codes = encoded(self.column, values, None if self.missing is None else np.nan)
        found = self.levels[np.searchsorted(self.breakpoints, codes, side="right")] + self.straight(codes)
        return found if self.missing is None else np.where(np.isnan(codes), self.missing, found)

    def errors(self, values: ArrayLike) -> Floats:
        """Return the standard errors of the mean prediction at each of `values`, from the networks of an average."""
        if len(self.each) < 2:
            raise ValueError("errors need an average of several networks, whose effects differ; fit with n_networks=8.")
        return np.std([one(values) for one in self.each], axis=0, ddof=1)

    def __repr__(self) -> str:
        steps = f"{len(self.breakpoints)} step{'s' * (len(self.breakpoints) != 1)}"
        if self.line is not None:
            return f"Effect({self.feature}: {steps}, {self.line.slopes[0]:.6g} per unit)"
        if self.nothing:
            return f"Effect({self.feature}: none, {self.levels[0]:.6g} whatever its value)"
        return f"Effect({self.feature}: {steps}, from {self.levels.min():.6g} to {self.levels.max():.6g})"


def encoded(column: Column, values: ArrayLike, gap: float | None) -> Floats:
    """Return values of one column as the network reads them, a gap as `gap`; None refuses gaps."""
    if column.levels is None:
        codes = np.asarray(values, dtype=np.float64)
        words: Any = codes
    else:
        words = np.asarray(values, dtype=object)
        codes = column.codes(words.ravel()).reshape(words.shape)
    missing = np.isnan(codes)
    if missing.any() and gap is None:
        known = "finite numbers" if column.levels is None else "among " + ", ".join(map(repr, column.levels))
        raise ValueError(f"values of {column.name!r} must be {known}; got {words[missing].ravel()[0]!r}.")
    return np.where(missing, gap, codes) if gap is not None else codes
