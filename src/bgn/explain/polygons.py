"""The cells into which lines cut a rectangle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bgn.model.step import Floats

MAX_LINES = 300
"""Most lines whose cells are listed; their number grows with the square."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A convex polygon on which an effect is constant.

    Attributes
    ----------
    vertices : ndarray, shape (corners, 2)
        The corners, in order around the cell.
    level : float
        The value there.
    """

    vertices: Floats
    level: float


def arrangement(box: Floats, lines: Floats) -> list[Floats]:
    """Return the polygons into which `lines` cut the rectangle `box`.

    `box` holds the lowest and highest value of each coordinate; a line ``(a, b, c)`` is ``a x + b y = c``.
    """
    corners = np.array([[box[0, i], box[1, j]] for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))])
    sides = lines[:, :2] @ corners.T - lines[:, 2:]
    cutting = np.unique(lines[(sides.min(axis=1) < 0) & (sides.max(axis=1) > 0)], axis=0)
    if len(cutting) > MAX_LINES:
        raise ValueError(
            f"{len(cutting)} lines cut the rectangle into too many cells to list (at most {MAX_LINES} lines). Pass "
            "fewer background rows or narrower bounds; calling the effect has no such limit."
        )
    polygons = [corners]
    for line in cutting:
        polygons = [part for polygon in polygons for part in _split(polygon, line)]
    return polygons


def _split(polygon: Floats, line: Floats) -> list[Floats]:
    """Return the one or two parts of a convex polygon on the sides of a line."""
    side = polygon @ line[:2] - line[2]
    side[np.abs(side) <= 1e-12 * (np.abs(polygon) @ np.abs(line[:2]) + abs(line[2]))] = 0.0
    if not (side < 0).any() or not (side > 0).any():
        return [polygon]
    parts: list[list[Floats]] = [[], []]
    for here, there, a, b in zip(polygon, np.roll(polygon, -1, axis=0), side, np.roll(side, -1), strict=True):
        if a <= 0:
            parts[0].append(here)
        if a >= 0:
            parts[1].append(here)
        if a * b < 0:
            crossing = here + (there - here) * (a / (a - b))
            parts[0].append(crossing)
            parts[1].append(crossing)
    return [np.array(part) for part in parts]
