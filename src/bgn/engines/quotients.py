"""Fractions of whole numbers that are too large for 64 bits, many at once, each rounded once and correctly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgn.engines.integers import Integers

LIMB = 31
_LOW = (1 << LIMB) - 1
_ROOM = 2.0**59


def covariances(limbs: Integers, sums: Integers, other: Integers | int, total: int) -> NDArray[np.float64]:
    """Return ``((high * 2**31 + low) * total - own * other) / total`` for every pair of limbs and sum of its own."""
    others = np.broadcast_to(np.asarray(other, np.int64), sums.shape)
    high, low = limbs[:, 0] + (limbs[:, 1] >> LIMB), limbs[:, 1] & _LOW
    most, largest = _most(sums), _most(others)
    if max(_most(high) * total, most * largest / 2**LIMB, most, largest, total * 2.0**30) >= _ROOM:
        each = zip(limbs.tolist(), sums.tolist(), others.tolist(), strict=True)
        return np.array([(((up << LIMB) + down) * total - one * two) / total for (up, down), one, two in each], float)
    own, rest, far, near = sums >> LIMB, sums & _LOW, others >> LIMB, others & _LOW
    high = high * total - (((own * far) << LIMB) + own * near + rest * far)
    return _rounded(high, low * total - rest * near, total)


def _rounded(high: Integers, low: Integers, total: int) -> NDArray[np.float64]:
    """``(high * 2**31 + low) / total``, rounded as the division of whole numbers is."""
    high, low = high + (low >> LIMB), low & _LOW
    whole = high // total
    part = ((high - whole * total) << LIMB) + low
    rest = part // total
    # Beyond 2**54 a fraction only tells on which side of a whole number the quotient lies: a half tells it, too.
    found = np.ldexp(whole.astype(np.float64), LIMB) + (rest + 0.5 * (part > rest * total))
    small = np.abs(high) < 1 << 21  # floats divide as they are
    found[small] = (np.ldexp(high[small].astype(np.float64), LIMB) + low[small]) / total
    within = (np.abs(found) < 2.0**54) | (np.abs(whole) >= 1 << 53)
    for k in np.flatnonzero(within & ~small).tolist():
        found[k] = ((int(high[k]) << LIMB) + int(low[k])) / total
    return found


def _most(values: Integers) -> float:
    """The largest of some whole numbers, whatever their signs."""
    return max(-float(values.min(initial=0)), float(values.max(initial=0)))
