"""The Lasso path from inner products, compiled."""

from __future__ import annotations

import numpy as np

from bgn.compiling import compiled


@compiled
def solve_small(matrix, answer):
    """Solve ``matrix x = answer`` in place by elimination with pivoting; False when it is singular."""
    a = matrix.copy()
    n = len(answer)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if abs(a[p, k]) < 1e-10:
            return False
        for j in range(n):
            a[k, j], a[p, j] = a[p, j], a[k, j]
        answer[k], answer[p] = answer[p], answer[k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= f * a[k, j]
            answer[i] -= f * answer[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            answer[k] -= a[k, j] * answer[j]
        answer[k] /= a[k, k]
    return True


@compiled
def weighted_sum(lines, weights, out):
    """Write the sum of some lines, each times its weight, one after the other; four at a time save steps."""
    out[:] = 0.0
    whole = len(weights) // 4 * 4
    for k in range(0, whole, 4):
        a, b, c, d = lines[k], lines[k + 1], lines[k + 2], lines[k + 3]
        wa, wb, wc, wd = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for j in range(len(out)):
            out[j] = (((out[j] + a[j] * wa) + b[j] * wb) + c[j] * wc) + d[j] * wd
    for k in range(whole, len(weights)):
        for j in range(len(out)):
            out[j] += lines[k, j] * weights[k]


@compiled
def lasso_path(gram, rows, products, most, weights):
    """Follow the Lasso path until column number ``most + 1`` would enter; write the weights there.

    Minimises ``w' gram w / 2 - products' w + penalty |w|_1`` for a falling penalty. Columns are standardised, so
    the diagonal of the whole `gram` is one; of it there are the rows of some columns, and `rows` says which row is a
    column's, -1 for none. Returns -1 when done, or the number of a column whose row is wanted: add it and call again.
    O(columns) per knot.
    """
    d = len(products)
    weights[:] = 0.0
    c = products.copy()
    active = np.empty(min(most, d), np.int64)
    size = 0
    out = np.empty(d, np.bool_)  # active already, or a copy of active columns
    out[:] = False
    left = -1  # the column that has just left may come back only with the other sign
    entering = -1
    penalty = 0.0
    for j in range(d):
        if abs(c[j]) > penalty:
            penalty, entering = abs(c[j]), j
    start = penalty
    for _ in range(20 * d + 20):
        if entering >= 0:
            if size == len(active):
                return -1
            if rows[entering] < 0:
                return entering
            active[size] = entering
            out[entering] = True
            size += 1
        if size == 0 or penalty <= 1e-12 * start:
            return -1
        move = np.empty(size)
        if not way(gram, rows, c, active[:size], move):
            size -= 1
            entering = -1
            continue
        slope = np.empty(d)
        slope[:] = 0.0
        for a in range(size):
            for j in range(d):
                slope[j] += gram[rows[active[a]], j] * move[a]
        length, entering, leaving = next_knot(c, slope, penalty, out, left, (weights, active[:size], move))
        for a in range(size):
            weights[active[a]] += length * move[a]
        for j in range(d):
            c[j] -= length * slope[j]
        penalty -= length
        left = -1
        if leaving >= 0:
            left = active[leaving]
            weights[left] = 0.0
            out[left] = False
            for a in range(leaving, size - 1):
                active[a] = active[a + 1]
            size -= 1
        elif entering < 0:
            return -1
    return -1


@compiled
def way(gram, rows, c, active, move):
    """Write how the weights of the active columns change as the penalty falls; False where that is not determined."""
    among = np.empty((len(active), len(active)))
    for a in range(len(active)):
        move[a] = 1.0 if c[active[a]] > 0 else -1.0
        for b in range(len(active)):
            among[a, b] = gram[rows[active[a]], active[b]]
    return solve_small(among, move)


@compiled
def next_knot(c, slope, penalty, out, left, walk):
    """How far the penalty falls until a column enters, one leaves, or nothing is left of it; and which of them.

    `walk` has all weights, the active columns, and how their weights change.
    """
    weights, active, move = walk
    length, entering, leaving = penalty, -1, -1
    for j in range(len(c)):
        if out[j]:
            continue
        up, down = 1.0 - slope[j], 1.0 + slope[j]
        if up > 1e-12 and (penalty - c[j]) / up < length and not (j == left and c[j] > 0):
            length, entering = max((penalty - c[j]) / up, 0.0), j
        if down > 1e-12 and (penalty + c[j]) / down < length and not (j == left and c[j] < 0):
            length, entering = max((penalty + c[j]) / down, 0.0), j
    for a in range(len(active)):
        w = weights[active[a]]
        if w * move[a] < 0.0 and -w / move[a] < length:
            length, entering, leaving = -w / move[a], -1, a
    return length, entering, leaving
