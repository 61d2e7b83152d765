"""Losses of scores row by row, and what a refit on all rows sums, from basic operations: the same bits everywhere."""

from __future__ import annotations

import numpy as np

from bgn.compiling import compiled

SQUARED, LOGISTIC, SOFTMAX = 0, 1, 2


@compiled
def exponential(x):
    """Return e to the power x, held between -700 and 700, from basic operations: the same bits everywhere."""
    x = min(max(x, -700.0), 700.0)
    n = np.floor(x * 1.4426950408889634 + 0.5)
    r = (x - n * 0.6931471803691238) - n * 1.9082149292705877e-10
    total = 1.0
    for k in range(13, 0, -1):
        total = 1.0 + total * r / k
    m = int(n)
    while m > 0:
        step = min(m, 30)
        total *= float(1 << step)
        m -= step
    while m < 0:
        step = min(-m, 30)
        total /= float(1 << step)
        m += step
    return total


@compiled
def logarithm(x):
    """Return the natural logarithm of a positive number from basic operations."""
    n = 0
    while x > 1.4142135623730951:
        x *= 0.5
        n += 1
    while x < 0.7071067811865476:
        x *= 2.0
        n -= 1
    z = (x - 1.0) / (x + 1.0)
    total = 0.0
    for k in range(25, 0, -2):
        total = total * z * z + 1.0 / k
    return 2.0 * z * total + n * 0.6931471805599453


@compiled
def fill_gradient(kind, f, y, w, g, h, losses):
    """Write g and h of every output and row, and the loss of every row times its weight, for scores f."""
    outputs, n = f.shape
    for i in range(n):
        if kind == SQUARED:
            losses[i] = 0.0
            for k in range(outputs):
                r = y[k, i] - f[k, i]
                g[k, i] = w[i] * r
                h[k, i] = w[i]
                losses[i] += 0.5 * w[i] * r * r
        elif kind == LOGISTIC:
            x = f[0, i]
            e = exponential(-abs(x))
            p = 1.0 / (1.0 + e) if x >= 0 else e / (1.0 + e)
            g[0, i] = w[i] * (y[0, i] - p)
            h[0, i] = w[i] * max(p * (1.0 - p), 1e-10)
            losses[i] = w[i] * (max(x, 0.0) - x * y[0, i] + logarithm(1.0 + e))
        else:
            top = f[0, i]
            for k in range(1, outputs):
                top = max(top, f[k, i])
            total, own = 0.0, 0.0
            for k in range(outputs):
                g[k, i] = exponential(f[k, i] - top)
                total += g[k, i]
                own += y[k, i] * f[k, i]
            for k in range(outputs):
                p = g[k, i] / total
                g[k, i] = w[i] * (y[k, i] - p)
                h[k, i] = w[i] * max(p * (1.0 - p), 1e-10)
            losses[i] = w[i] * (top + logarithm(total) - own)


@compiled
def add_moments(kind, z, whole, y, weight, beta, bits, gram, pull, loss):
    """Add what the weights of terms are refitted by, in whole steps of ``2**-bits``.

    `z` has one line per term, the intercept first, and `whole` the same in whole steps; `gram` is (outputs, terms,
    terms), `pull` (outputs, terms). Cost: rows times terms squared.
    """
    outputs, terms = beta.shape
    step = float(1 << bits)
    f, g, h, losses = np.zeros((outputs, 1)), np.zeros((outputs, 1)), np.zeros((outputs, 1)), np.zeros(1)
    one, target = np.ones(1), np.zeros((outputs, 1))
    for i in range(z.shape[1]):
        for k in range(outputs):
            target[k, 0] = y[k, i]
            f[k, 0] = 0.0
            for t in range(terms):
                f[k, 0] += beta[k, t] * z[t, i]
        fill_gradient(kind, f, target, one, g, h, losses)
        w = weight[i]
        loss[0] += w * int(np.rint(min(losses[0], 16.0) * step))
        for k in range(outputs):
            own = int(np.rint(min(max(g[k, 0], -16.0), 16.0) * step))
            steep = int(np.rint(h[k, 0] * step))
            for a in range(terms):
                pull[k, a] += w * ((whole[a, i] * own) >> bits)
                for b in range(a + 1):
                    gram[k, a, b] += w * ((((whole[a, i] * whole[b, i]) >> bits) * steep) >> bits)
