"""What may be said of a model beside others: only what the rows carry.

Two models are compared on the same rows, row by row. A difference counts if it exceeds its standard error, and if the
figures that stand beside it differ as they are written. Everything else is "no clear difference". All sentences about
which model does better, or whether a larger one does, are made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bgn.explain.evaluate.per_row import LARGER_IS_BETTER
from bgn.model.step import Floats

LEGEND = (
    "Better or worse: by more than one standard error of the difference, row by row. That is weak "
    "evidence: of equal models about one in three differs by as much."
)
"""What the words of a verdict mean."""


def paired_difference(first: Floats, second: Floats) -> tuple[float, float]:
    """Return the mean of what `first` has more than `second`, row by row, and its standard error; NaN of one row.

    Examples
    --------
    >>> import numpy as np
    >>> paired_difference(np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 1.0]))
    (1.0, 0.5773502691896258)
    """
    apart = np.asarray(first, np.float64) - second
    if len(apart) < 2:
        return float(apart.mean()) if len(apart) else np.nan, np.nan
    return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))


def is_clearly_larger(first: Floats, second: Floats) -> bool:
    """Tell whether the mean of `first` exceeds that of `second` by more than the standard error of the difference."""
    difference, error = paired_difference(first, second)
    return bool(difference > error)  # False where either is NaN


@dataclass(frozen=True)
class Verdict:
    """How a model does beside another.

    Attributes
    ----------
    rival : str
        The other model, as in "a linear model".
    better, worse, unclear, unknown : tuple of str
        Titles of the measures on which the model is clearly better, clearly worse, neither, and those that the rows
        do not tell.
    """

    rival: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    unclear: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One sentence, about every measure that is shown."""
        known = [each for each in (self.better, self.worse, self.unclear) if each]
        if not known:
            return f"These rows do not tell this model from {self.rival}."
        every = "on every measure" if not self.unknown else f"on every measure but {_together(self.unknown)}"
        if len(known) == 1:
            if self.better:
                return f"Better than {self.rival} {every}."
            if self.worse:
                return f"Worse than {self.rival} {every}: consider {self.rival}."
            return f"No clear difference from {self.rival} {every.replace('every', 'any')}."
        parts = []
        for words, titles in (("better", self.better), ("worse", self.worse), ("no clear difference", self.unclear)):
            if titles:
                parts.append(f"{words} in {_together(titles)}")
        more = f": consider {self.rival}" if self.worse and not self.better else ""
        return f"Compared with {self.rival}: {'; '.join(parts)}{more}."


def verdict(
    rival: str, model: Mapping[str, Floats], other: Mapping[str, Floats], titles: Mapping[str, str],
    written: tuple[Mapping[str, str], Mapping[str, str]] | None = None,
) -> Verdict:  # fmt: skip
    """Compare a model with another on the measures that are shown.

    Parameters
    ----------
    rival : str
        What the other is called.
    model, other : mapping of str to ndarray
        A value per row for each measure, whose mean it is.
    titles : mapping of str to str
        What the measures are called.
    written : (mapping of str to str, mapping of str to str), optional
        The figures of the two as they are shown.
    """
    found: dict[str, list[str]] = {"better": [], "worse": [], "unclear": [], "unknown": []}
    for name, title in titles.items():
        sign = 1.0 if name in LARGER_IS_BETTER else -1.0
        ours, theirs = sign * model[name], sign * other[name]
        same = written is not None and written[0][name] == written[1][name]
        if not np.isfinite(ours - theirs).all():
            found["unknown"].append(title)
        elif not same and is_clearly_larger(ours, theirs):
            found["better"].append(title)
        elif not same and is_clearly_larger(theirs, ours):
            found["worse"].append(title)
        else:
            found["unclear"].append(title)
    return Verdict(rival, **{name: tuple(each) for name, each in found.items()})


def _together(titles: Sequence[str]) -> str:
    """Write a list of words."""
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
