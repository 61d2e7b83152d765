"""What rules may ask: how the score moves with a column, and which columns may be asked about together.

A score that is a sum of weighted answers never falls as a column rises if no answer makes it fall: each rule that
reads the column with a positive coefficient has a positive output weight, or with a negative one a negative weight. A
rule on several such columns is allowed only where all of them want the same sign. The weight of a linear term has
the sign that its column wants. A column's missing values have no place in its order, so they may lie on either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bgn.engines.coding import Coding
from bgn.engines.protocol import Integers, LinearTerm
from bgn.model.term import Oblique, Projection


@dataclass(frozen=True)
class Constraints:
    """What the columns of a table want.

    Parameters
    ----------
    monotone : tuple of int
        For every column 1 where the score must not fall as it rises, -1 where it must not rise, 0 for either. Empty
        where no column wants anything.
    groups : tuple of sets of int, or None
        Columns that one rule may ask about; None for all.
    marked : tuple of int
        The columns whose missing values an engine marks, in columns of their own after the table's.

    Examples
    --------
    >>> from bgn.grow.constraints import Constraints
    >>> from bgn.model.term import Projection
    >>> wanted = Constraints((1, -1, 0))
    >>> [wanted.sign(Projection((0, 1), each)) for each in ((1.0, -2.0), (-1.0, 2.0), (1.0, 2.0))]
    [1, -1, None]
    """

    monotone: tuple[int, ...] = ()
    groups: tuple[frozenset[int], ...] | None = None
    marked: tuple[int, ...] = ()

    def over(self, coding: Coding | None) -> Constraints:
        """The same for the columns of an engine."""
        return self if coding is None else replace(self, marked=coding.marked)

    @cached_property
    def signed(self) -> bool:
        return any(self.monotone)

    def of(self, column: int) -> int:
        return self.monotone[column] if column < len(self.monotone) else 0

    def of_all(self, columns: Sequence[int]) -> Integers:
        """What each of an engine's columns wants."""
        return np.array([*map(self.of, columns)] if self.signed else [0] * len(columns), np.int64)

    def sign(self, line: Projection) -> int | None:
        """The sign that the output weight of a rule along a line must have, 0 for either; None if none will do."""
        if self.groups is not None and not self.together(line.columns):
            return None
        if not self.signed:
            return 0
        sign = 0
        for column, coefficient in zip(line.columns, line.coefficients, strict=True):
            wanted = 0 if isinstance(coefficient, tuple) else self.of(column) * int(np.sign(coefficient))
            if wanted and sign == -wanted:
                return None
            sign = wanted or sign
        return sign

    def signs(self, rules: Sequence[Oblique], linear: Sequence[LinearTerm] = ()) -> Integers:
        """The signs of admitted rules, see :meth:`sign`: 0 for the base first; those of linear terms last."""
        signs = (self.sign(rule.projection) or 0 for rule in rules)
        return np.array([0, *signs, *(self.of(linear_term.column) for linear_term in linear)], np.int64)

    def together(self, columns: Iterable[int]) -> bool:
        """Whether one rule may ask about some of an engine's columns."""
        if self.groups is None:
            return True
        table = len(self.monotone)
        owners = {column if column < table else self.marked[column - table] for column in columns}
        return len(owners) == 1 or any(owners <= group for group in self.groups)

    def pairs(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those of some pairs of columns that one rule may ask about."""
        return [*pairs] if self.groups is None else [pair for pair in pairs if self.together(pair)]


NO_CONSTRAINTS = Constraints()
