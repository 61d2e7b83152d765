"""Slow twins of what growth does fast, written from the definitions in the paper."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from bgn.grow.directions.pairs import turn


def best_split(z, residual, weight=None, wanted=0):
    """Try all splits of the sorted projections; of equal gains the smallest cut. None when nothing gains.

    With a sign `wanted`, the mean above must be higher (1) or lower (-1) than the one below.

    Returns (gain, weight below, sum below, projection below, projection above). The gain is the drop of the mean
    squared residual when each side gets its own mean, in the arithmetic that the engines promise.
    """
    weight = [1] * len(z) if weight is None else [int(w) for w in weight]
    order = sorted(range(len(z)), key=lambda i: z[i])
    rows, total = sum(weight), sum(w * int(r) for w, r in zip(weight, residual, strict=True))
    best = None
    n, s = 0, 0
    for before, after in pairwise(order):
        n += weight[before]
        s += weight[before] * int(residual[before])
        if z[before] == z[after]:
            continue
        excess = float(s) - float(n) * (float(total) / float(rows))
        gain = excess * excess / (float(n) * float(rows - n))
        if gain > 0 and excess * wanted <= 0 and (best is None or gain > best[0]):
            best = (gain, n, s, z[before], z[after])
    return best


def split_variance(residual, fires):
    """Eq. (2): the variance left when each side of a split gets its own mean, exactly."""
    left = Fraction(0)
    for side in (True, False):
        values = [Fraction(int(r)) for r, f in zip(residual, fires, strict=True) if bool(f) is side]
        if values:
            mean = sum(values) / len(values)
            left += sum((v - mean) ** 2 for v in values)
    return left / len(residual)


def ridge_weights(H, target, ridge):
    """Least squares with a penalty on all weights but the constant's, by the normal equations."""
    design = np.column_stack([np.ones(len(H)), H])
    penalty = ridge * np.eye(design.shape[1])
    penalty[0, 0] = 0.0
    return np.linalg.solve(design.T @ design + penalty, design.T @ target)


def best_pair(columns, values, weight):
    """The pair of +-1 columns and the sign between them whose best group, cut off from the rest, gains most.

    Returns (gain, first, second, sign); exact.
    """
    rows, total = sum(int(w) for w in weight), sum(int(v) for v in values)
    best = None
    for a in range(len(columns)):
        for b in range(a + 1, len(columns)):
            for sign in (1, -1):
                for both in (1, -1):
                    inside = [i for i in range(len(values)) if columns[a][i] == both and columns[b][i] == both * sign]
                    n, s = sum(int(weight[i]) for i in inside), sum(int(values[i]) for i in inside)
                    if 0 < n < rows:
                        gain = (s - Fraction(n * total, rows)) ** 2 / (n * (rows - n))
                        if best is None or gain > best[0]:
                            best = gain, a, b, sign
    return best


def best_angle(codes, centers, angles, residual, weight, bins, wanted=(0, 0)):
    """Gain and number of the first best of several angles, as a table of two binned columns sees them.

    Every row stands at the centres of its two bins; along each angle `bins` equal bins span what the centres span.
    Where a column wants that the mean above is higher (1) or lower (-1) as it rises, other cuts do not count.
    """
    gains = []
    for angle in angles:
        cos, sin = turn(float(angle))
        signs = {np.sign(c) * sign for c, sign in zip((cos, sin), wanted, strict=True)} - {0}
        if len(signs) == 2:
            gains.append(-1.0)
            continue
        x, y = centers[0] * cos, centers[1] * sin
        low, high = x.min() + y.min(), x.max() + y.max()
        scale = bins / (high - low) if high > low else 0.0
        place = np.minimum(((x[codes[0]] + y[codes[1]] - low) * scale).astype(int), bins - 1)
        result = best_split(place, residual, weight, *signs)
        gains.append(0.0 if result is None else result[0])
    return max(gains), int(np.argmax(gains))


def finer_and_finer(z, weight, low, high, cells, depth=4):
    """Where cells along a direction start and how many there are a unit; again within a cell that has much weight."""
    scale = cells / (high - low)
    for _ in range(depth):
        yield low, scale
        cell = np.clip((z - low) * scale, 0, cells - 1).astype(int)
        held = np.bincount(cell, weight, cells)
        inside = z[cell == held.argmax()]
        step = (inside.max() - inside.min()) / (cells - 2)
        if 4 * held.max() <= weight.sum() or step == 0:
            return
        low, scale = inside.min() - step, 1 / step


def refitted_gains(cells, residual, weight, answers, inverse, ridge):
    """For every edge between cells, a neuron that fires from there on: its plain gain, its product with the residual,
    what it holds that the others do not, and its product with what the constant leaves. Refitted with the others it
    gains its product with the residual, squared, by what it holds.

    `answers` holds the +-1 of the others, a row each; `inverse` is that of ``H'WH + ridge``, constant first. See
    :class:`bgn.grow.directions.lasso.Others`.
    """
    H, W = np.vstack([np.ones(len(cells)), answers]), weight.astype(float)
    result = {}
    for edge in range(1, cells.max() + 1):
        h = np.where(cells >= edge, 1.0, -1.0)
        if abs(h.sum()) == len(h):
            continue
        b = H @ (W * h)
        plain = best_split((cells >= edge).astype(int), residual, weight)
        left = W.sum() + ridge - b @ inverse @ b
        excess = (W * (h - h @ W / W.sum())) @ residual.astype(float)
        result[edge] = (0.0 if plain is None else plain[0], (W * h) @ residual.astype(float), left, excess)
    return result


def held_by_trying(H, target, penalty, signs):
    """Least squares with a penalty among weights of given signs (0: either): the best of all choices of zeros."""
    best, result = np.inf, None
    for zeros in product(*[(False, True) if sign else (False,) for sign in signs]):
        free = np.flatnonzero(~np.array(zeros))
        weights = np.zeros(len(signs))
        some = H[:, free]
        weights[free] = np.linalg.solve(some.T @ some + penalty[np.ix_(free, free)], some.T @ target)
        if (weights * signs < -1e-12).any():
            continue
        loss = ((target - H @ weights) ** 2).sum() + weights @ penalty @ weights
        if loss < best:
            best, result = loss, weights
    return result
