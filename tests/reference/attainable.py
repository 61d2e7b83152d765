"""All regions of a small network, by cylindrical decomposition in fractions: what proofs are compared with.

The numbers are decided one after the other. Along a number stand the places where hyperplanes cross, seen from the
numbers after it, and one point between each two: every region has a sample. Levels, gaps and whole numbers are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from bgn import Network
from bgn.explain.optimize.problem import Domain

Plane = tuple[tuple[Fraction, ...], Fraction]  # coefficients and right side


def _projected(planes: list[Plane], last: int) -> list[Plane]:
    """Planes over the numbers before `last`: those that do not read it, and where two that do meet."""
    flat = [plane for plane in planes if not plane[0][last]]
    steep = [plane for plane in planes if plane[0][last]]
    for i, (a, c) in enumerate(steep):
        for b, d in steep[:i]:
            met = tuple(x * b[last] - y * a[last] for x, y in zip(a, b, strict=True))
            if any(met):
                flat.append((met, c * b[last] - d * a[last]))
    return flat


def samples(planes: list[Plane], low: list[Fraction | None], high: list[Fraction | None]) -> Iterator[list[Fraction]]:
    """A point of every cell into which planes cut a box, the last number moving fastest."""
    count = len(low)
    category_numbers = [planes]
    for last in range(count - 1, 0, -1):
        category_numbers.insert(0, _projected(category_numbers[0], last))

    def along(point: list[Fraction]) -> Iterator[list[Fraction]]:
        place = len(point)
        if place == count:
            yield point
            return
        cuts = {end for end in (low[place], high[place]) if end is not None}
        for factors, right in category_numbers[place]:
            if factors[place] and not any(factors[place + 1 :]):
                cuts.add((right - sum(f * v for f, v in zip(factors, point, strict=False))) / factors[place])
        result = sorted(cuts) or [Fraction(0)]
        values = [result[0] - 1, *result, *((a + b) / 2 for a, b in pairwise(result)), result[-1] + 1]
        for value in sorted(values):
            if (low[place] is None or value >= low[place]) and (high[place] is None or value <= high[place]):
                yield from along([*point, value])

    yield from along([])


def rows(network: Network, domain: Domain, last: int | None = None) -> Iterator[list[np.ndarray]]:
    """Encoded rows of every region; those that differ in the column `last` alone come together, in its order."""
    used = [j for j in network.features_used if j != last]
    options: list[list[float | None]] = []  # None for a number that moves
    for j in [*used, *([] if last is None else [last])]:
        if domain.categories[j] is not None:
            values: list[float | None] = [float(code) for code in domain.categories[j]]
        elif domain.whole[j]:
            values = [float(v) for v in range(int(domain.low[j]), int(domain.high[j]) + 1)]
        else:
            values = [None]
        options.append([*values, np.nan] if domain.missing[j] and j != last else values)
    columns = [*used, *([] if last is None else [last])]
    fixed_last = last is not None and options[-1] != [None]
    for chosen in product(*(options[:-1] if fixed_last else options)):
        row = domain.start.copy()
        moving = []
        for j, value in zip(columns, chosen, strict=False):
            if value is None:
                moving.append(j)
            else:
                row[j] = value
        bases = [row]
        if fixed_last:
            bases = [row.copy() for _ in options[-1]]
            for base, value in zip(bases, options[-1], strict=True):
                base[last] = value
        groups: dict[tuple[str, ...], list[np.ndarray]] = {}
        for item in _moved(network, domain, bases, moving):
            key = tuple(repr(value) for j, value in enumerate(item) if j != last) if last is not None else ()
            groups.setdefault(key, []).append(item)
        yield from groups.values()


def _moved(network: Network, domain: Domain, bases: list[np.ndarray], moving: list[int]) -> list[np.ndarray]:
    """Rows of every cell of the numbers that move, the other columns as in each of some rows."""
    if not moving:
        return bases
    planes = list[Plane]()
    for row, rule in product(bases, network.layers[0].neurons):
        projection = rule.projection
        if rule.missing is not None and projection.missing_as is None and np.isnan(row[list(projection.columns)]).any():
            continue
        right, factors = Fraction(rule.threshold), [Fraction(0)] * len(moving)
        for place, (j, factor) in enumerate(zip(projection.columns, projection.coefficients, strict=True)):
            if j in moving:
                factors[moving.index(j)] = Fraction(factor)
            else:
                right -= Fraction(float(projection.at(place).values(row[np.newaxis])[0]))
        planes.append((tuple(factors), right))
    planes = list(dict.fromkeys(planes))
    ends = [[Fraction(e) if np.isfinite(e) else None for e in item[moving]] for item in (domain.low, domain.high)]
    result = []
    for point in samples(planes, *ends):
        for row in bases:
            item = row.copy()
            item[moving] = [float(value) for value in point]
            result.append(item)
    return result


def range_of(network: Network, domain: Domain) -> tuple[float, float]:
    """The lowest and the highest prediction over all regions."""
    scores = np.concatenate([network.predict_encoded(np.array(some)) for some in rows(network, domain)])
    return float(scores.min()), float(scores.max())


def moves(network: Network, domain: Domain, column: int) -> tuple[float, float]:
    """The largest fall and the largest rise of the prediction as one column rises and the others stay."""
    fall = rise = 0.0
    for some in rows(network, domain, column):
        some.sort(key=lambda row: row[column])
        scores = network.predict_encoded(np.array(some))
        fall = max(fall, float((np.maximum.accumulate(scores) - scores).max()))
        rise = max(rise, float((scores - np.minimum.accumulate(scores)).max()))
    return fall, rise
