"""What the search computes of terms that are there and of terms that may come: everything that runs over rows.

All of it is compiled and takes no lock, so that folds and settings run side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgn.compiling import compiled
from bgn.engines.kernels.scores import SQUARED, fill_gradient
from bgn.grow.conditions.scan import (
    COARSE,
    MOST,
    best_corner,
    best_cut,
    fill_bins,
    fill_coarse,
    fill_order,
    fill_pairs,
    fill_rule,
)

# Candidates whose gain is computed beside all terms there are: of singles, of linear terms, of pairs.
TRIED = 4
# A step must lower the loss by this part of what is left.
LEAST_FALL = 1e-7
# A linear term is shrunk by this part of the ridge: its values are scaled to a standard deviation of one.
LINEAR_RIDGE = 0.01
# Newton's steps after a change, where the loss is not squared.
STEPS = 4


class Rows(NamedTuple):
    """Rows to search on: bins of every column, standardized values for linear terms, targets and weights."""

    codes: NDArray  # (columns, rows) bins; the last one of a column is for missing values
    bins: NDArray  # (columns,) how many bins, missing values aside
    ordered: NDArray  # (columns,) whether bins have an order
    values: NDArray  # (columns, rows) for linear terms; a column that has none begins with NaN
    y: NDArray  # (outputs, rows)
    w: NDArray  # (rows,)


class Budget(NamedTuple):
    """What a search may do."""

    kind: int  # SQUARED, LOGISTIC or SOFTMAX
    size: int  # most conditions
    ridge: float
    price: float  # what the gain of a rule with "and" is divided by; inf for none
    linear: int  # most linear terms
    least: float  # rows inside and outside of a condition
    paired: int  # columns among which "and" is sought
    signs: NDArray  # (columns,) 1 rising, -1 falling, 0 free
    together: NDArray  # (columns, columns) whether two may meet in a rule


class TermArrays(NamedTuple):
    """Terms with space for more; term 0 is the intercept. A rule has columns and tables, a linear term its column."""

    z: NDArray  # (terms, rows)
    beta: NDArray  # (outputs, terms)
    linear: NDArray  # (terms,) column, or -1
    columns: NDArray  # (terms, MOST)
    tables: NDArray  # (terms, MOST, bins)
    gram: NDArray  # (outputs, terms, terms)


class Candidates(NamedTuple):
    """TermArrays that may come next."""

    filled: NDArray  # (1,) how many there are
    linear: NDArray
    columns: NDArray
    tables: NDArray


# -- coefficients --------------------------------------------------------------------------------------------------


@compiled
def factor(A, ridge, size, L):
    """Write the Cholesky factor of A + diag(ridge); a column that adds nothing has 0 on the diagonal."""
    for i in range(size):
        for j in range(i + 1):
            total = A[i, j] + (ridge[i] if i == j else 0.0)
            for m in range(j):
                total -= L[i, m] * L[j, m]
            if i == j:
                L[i, i] = np.sqrt(total) if total > 1e-10 * (A[i, i] + ridge[i]) and total > 0 else 0.0
            else:
                L[i, j] = total / L[j, j] if L[j, j] > 0 else 0.0


@compiled
def explained(L, b, size, out):
    """Solve L out = b; returns b' (L L')^-1 b."""
    whole = 0.0
    for i in range(size):
        total = b[i]
        for m in range(i):
            total -= L[i, m] * out[m]
        out[i] = total / L[i, i] if L[i, i] > 0 else 0.0
        whole += out[i] * out[i]
    return whole


@compiled
def solve(L, c, size, out):
    """Solve L L' out = c."""
    explained(L, c, size, out)
    for i in range(size - 1, -1, -1):
        total = out[i]
        for m in range(i + 1, size):
            total -= L[m, i] * out[m]
        out[i] = total / L[i, i] if L[i, i] > 0 else 0.0


@compiled
def ridge_of(linear, t, ridge):
    """Return how strongly a coefficient is shrunk; the intercept is not."""
    if t == 0:
        return 0.0
    return ridge * LINEAR_RIDGE if linear >= 0 else ridge


@compiled
def fill_gram(terms, h, size, only):
    """Write the products of term `only` with all others, of all terms where it is -1, weighted by h."""
    for k in range(len(h)):
        for t in range(size):
            for s in range(t + 1):
                if only >= 0 and t != only and s != only:
                    continue
                total = 0.0
                for i in range(h.shape[1]):
                    total += terms.z[t, i] * h[k, i] * terms.z[s, i]
                terms.gram[k, t, s] = total
                terms.gram[k, s, t] = total


@compiled
def refit(terms, rows, budget, size, changed, state):
    """Take Newton's steps for all coefficients, halved where the loss would rise; returns loss and ridge.

    `changed` is the term that is new, -1 for all of them, -2 for none. `state` is (f, g, h, losses).
    """
    f, g, h, losses = state
    outputs, n = f.shape
    penalty, c, step = np.zeros(size), np.zeros(size), np.zeros((outputs, size))
    L = np.zeros((size, size))
    for t in range(size):
        penalty[t] = ridge_of(terms.linear[t], t, budget.ridge)
    for k in range(outputs):
        for i in range(n):
            f[k, i] = 0.0
        for t in range(size):
            b = terms.beta[k, t]
            if b != 0.0:
                for i in range(n):
                    f[k, i] += b * terms.z[t, i]
    value = np.inf
    for turn in range(2 if budget.kind == SQUARED else STEPS + 1):
        scale, before = 1.0, value
        for half in range(12):
            if turn:
                for k in range(outputs):
                    for t in range(size):
                        b = scale * step[k, t]
                        terms.beta[k, t] += b
                        if b != 0.0:
                            for i in range(n):
                                f[k, i] += b * terms.z[t, i]
            fill_gradient(budget.kind, f, rows.y, rows.w, g, h, losses)
            value = 0.0
            for i in range(n):
                value += losses[i]
            for k in range(outputs):
                for t in range(size):
                    value += 0.5 * penalty[t] * terms.beta[k, t] * terms.beta[k, t]
            if value <= before or budget.kind == SQUARED or half == 11:
                break
            for k in range(outputs):
                for t in range(size):
                    b = scale * step[k, t]
                    terms.beta[k, t] -= b
                    if b != 0.0:
                        for i in range(n):
                            f[k, i] -= b * terms.z[t, i]
            scale *= 0.5
        if (turn and (budget.kind == SQUARED or value >= before * (1 - 1e-9))) or turn == STEPS:
            break
        if budget.kind != SQUARED or changed > -2:
            fill_gram(terms, h, size, changed if budget.kind == SQUARED else -1)
        for k in range(outputs):
            for t in range(size):
                total = 0.0
                for i in range(n):
                    total += terms.z[t, i] * g[k, i]
                c[t] = total - penalty[t] * terms.beta[k, t]
            factor(terms.gram[k], penalty, size, L)
            solve(L, c, size, step[k])
    return value


@compiled
def fill_drop_costs(terms, budget, size, costs):
    """Write what the loss would rise by without each term, the others refitted, with the loss taken as quadratic."""
    penalty, unit, column = np.zeros(size), np.zeros(size), np.zeros(size)
    L = np.zeros((size, size))
    for t in range(size):
        costs[t] = 0.0
        penalty[t] = ridge_of(terms.linear[t], t, budget.ridge)
    for k in range(len(terms.beta)):
        factor(terms.gram[k], penalty, size, L)
        for t in range(1, size):
            unit[t] = 1.0
            solve(L, unit, size, column)
            unit[t] = 0.0
            if column[t] > 0:
                costs[t] += 0.5 * terms.beta[k, t] ** 2 / column[t]


# -- candidates ----------------------------------------------------------------------------------------------------


@compiled
def cost_of(linear, columns):
    """Count what a reader reads of a term."""
    if linear >= 0:
        return 1
    return (columns[0] >= 0) + (columns[1] >= 0) + (columns[2] >= 0)


@compiled
def fill_values(rows, linear, columns, tables, holds, out):
    """Write the values of a term on all rows."""
    if linear < 0:
        fill_rule(rows.codes, columns, tables, -1, holds)
    for i in range(len(out)):
        out[i] = rows.values[linear, i] if linear >= 0 else holds[i]


@compiled
def push(candidates, linear, columns, tables):
    """Note one more candidate, unless there is no space for it."""
    at = candidates.filled[0]
    if at < len(candidates.linear):
        candidates.filled[0] += 1
        candidates.linear[at] = linear
        for c in range(MOST):
            candidates.columns[at, c] = columns[c]
            for b in range(tables.shape[1]):
                candidates.tables[at, c, b] = tables[c, b]


@compiled
def best_within(rows, budget, g, h, whole, holds, columns, table):
    """Find the best condition on any column among the rows that `holds` marks; returns its column, or -1."""
    n_bins = len(table)
    sums, counts = np.zeros((2, len(g), n_bins)), np.zeros(n_bins)
    order, trial = np.zeros(n_bins, np.int64), np.zeros(n_bins, np.uint8)
    best, at = 0.0, -1
    for j in range(len(rows.codes)):
        fine = True
        for c in range(MOST):
            if columns[c] >= 0 and columns[c] != j and not budget.together[j, columns[c]]:
                fine = False
        if not fine:
            continue
        fill_bins(rows.codes[j], holds, g, h, rows.w, sums, counts)
        size = fill_order(sums, counts, rows.bins[j], rows.ordered[j], order)
        rule = (budget.ridge, budget.least, budget.signs[j], True, 0.0)
        gain = best_cut(sums, counts, rows.bins[j], order, size, whole, rule, trial)
        if gain > best:
            best, at = gain, j
            for b in range(n_bins):
                table[b] = trial[b]
    return at


@compiled
def push_near(candidates, rows, budget, g, h, whole, terms, t, space):
    """Note what a rule becomes with another condition in the place of one, with one more, and with one less."""
    n_bins = terms.tables.shape[2]
    columns, tables = np.full(MOST, -1), np.zeros((MOST, n_bins), np.uint8)
    holds = np.zeros(len(rows.w), np.uint8)
    own = cost_of(-1, terms.columns[t])
    for c in range(min(own + 1, MOST)):
        if c == own and (own + 1 > space or budget.price == np.inf):
            break
        fill_rule(rows.codes, terms.columns[t], terms.tables[t], c, holds)
        for m in range(MOST):
            columns[m] = -1 if m == c else terms.columns[t, m]
            for b in range(n_bins):
                tables[m, b] = terms.tables[t, m, b]
        if own > 1 or c == own:  # any single condition is a candidate anyway
            at = best_within(rows, budget, g, h, whole, holds, columns, tables[c])
            if at >= 0:
                columns[c] = at
                push(candidates, -1, columns, tables)
        if c < own and own > 1:
            for m in range(c, MOST):
                columns[m] = terms.columns[t, m + 1] if m + 1 < MOST else -1
                for b in range(n_bins):
                    tables[m, b] = terms.tables[t, min(m + 1, MOST - 1), b]
            push(candidates, -1, columns, tables)


@compiled
def place_of(best, gain):
    """Make space in a falling list for a gain; returns its place, or -1 where it is too small."""
    if not gain > best[-1]:
        return -1
    place = len(best) - 1
    while place > 0 and gain > best[place - 1]:
        best[place] = best[place - 1]
        place -= 1
    best[place] = gain
    return place


@compiled
def push_all(candidates, rows, budget, g, h, whole, space, lines):
    """Note the best single conditions, linear terms and pairs of all columns."""
    d, n = rows.codes.shape
    outputs, n_bins = len(g), candidates.tables.shape[2]
    sums, counts = np.zeros((2, outputs, n_bins)), np.zeros((d, n_bins))
    orders, sizes = np.zeros((d, n_bins), np.int64), np.zeros(d, np.int64)
    table, columns = np.zeros((MOST, n_bins), np.uint8), np.full(MOST, -1)
    gains, line_gains = np.zeros(d), np.zeros(d)
    holds = np.ones(n, np.uint8)
    variance = 0.0
    for i in range(n):
        variance += g[0, i] * g[0, i] / rows.w[i]
    variance /= whole[0]
    for j in range(d):
        fill_bins(rows.codes[j], holds, g, h, rows.w, sums, counts[j])
        sizes[j] = fill_order(sums, counts[j], rows.bins[j], rows.ordered[j], orders[j])
        # Categories in the order of their means gain by chance: so much for each, where there is nothing to find.
        chance = 0.0 if rows.ordered[j] else 0.3183098861837907 * max(sizes[j] - 2, 0) * variance
        rule = (budget.ridge, budget.least, budget.signs[j], False, chance)
        gains[j] = best_cut(sums, counts[j], rows.bins[j], orders[j], sizes[j], whole, rule, table[0])
        if gains[j] > 0:
            columns[0] = j
            push_if_among(candidates, gains, j, -1, columns, table)
        if lines and not np.isnan(rows.values[j, 0]):
            for k in range(outputs):
                a, s, q = 0.0, 0.0, 0.0
                for i in range(n):
                    x = rows.values[j, i]
                    a += x * g[k, i]
                    s += x * h[k, i]
                    q += x * x * h[k, i]
                bottom = q - s * s / whole[k] + LINEAR_RIDGE * budget.ridge
                if bottom > 1e-9 * q and (budget.signs[j] == 0 or a * budget.signs[j] > 0):
                    line_gains[j] += 0.5 * a * a / bottom
    best = np.zeros(TRIED)
    for j in range(d):
        place_of(best, line_gains[j])
    columns[0] = -1
    for j in range(d):
        if line_gains[j] > 0 and line_gains[j] >= best[-1]:
            push(candidates, j, columns, table)
    if space >= 2 and budget.price < np.inf and d > 1:
        push_pairs(candidates, rows, budget, g, h, whole, (orders, sizes, counts, gains))


@compiled
def push_if_among(candidates, gains, j, linear, columns, table):
    """Note a single condition; where ``TRIED`` are there, in the place of one that gains less."""
    if candidates.filled[0] < TRIED:
        push(candidates, linear, columns, table)
        return
    worst = -1
    for m in range(TRIED):
        if worst < 0 or gains[candidates.columns[m, 0]] < gains[candidates.columns[worst, 0]]:
            worst = m
    if gains[j] > gains[candidates.columns[worst, 0]]:
        count = candidates.filled[0]
        candidates.filled[0] = worst
        push(candidates, linear, columns, table)
        candidates.filled[0] = count


@compiled
def push_pairs(candidates, rows, budget, g, h, whole, seen):
    """Note the best "and" of two conditions, sought in two-way tables of coarse bins and refined on all bins."""
    orders, sizes, counts, gains = seen
    d, n = rows.codes.shape
    outputs, n_bins = len(g), candidates.tables.shape[2]
    coarse, lows = np.zeros((d, n_bins), np.uint8), np.zeros((d, n_bins), np.int64)
    fill_coarse(orders, sizes, counts, coarse, lows)
    few = min(d, budget.paired)
    strong = np.zeros(few)
    for j in range(d):
        place_of(strong, gains[j])
    chosen = np.zeros(few, np.int64)
    count = 0
    for j in range(d):
        if count < few and (gains[j] >= strong[-1] or d - j <= few - count):
            chosen[count] = j
            count += 1
    table = np.zeros((2 * outputs + 1, COARSE + 1, COARSE + 1))
    codes = np.zeros((few, n), np.uint8)
    for a in range(few):
        for i in range(n):
            codes[a, i] = coarse[chosen[a], rows.codes[chosen[a], i]]
    best, cuts = np.zeros(TRIED), np.zeros((TRIED, 6), np.int64)
    for a in range(few):
        for b in range(a):
            i, j = chosen[a], chosen[b]
            if not budget.together[i, j]:
                continue
            fill_pairs(codes[a], codes[b], g, h, rows.w, table)
            corner = best_corner(table, whole, budget.ridge, budget.least, (budget.signs[i], budget.signs[j]))
            place = place_of(best, corner[0])
            if place >= 0:
                for m in range(TRIED - 1, place, -1):
                    for q in range(6):
                        cuts[m, q] = cuts[m - 1, q]
                cuts[place, 0], cuts[place, 1], cuts[place, 2] = i, j, corner[1]
                cuts[place, 3], cuts[place, 4], cuts[place, 5] = corner[2], corner[3], corner[4]
    holds = np.zeros(n, np.uint8)
    sums, bins = np.zeros((2, outputs, n_bins)), np.zeros(n_bins)
    order, trial = np.zeros(n_bins, np.int64), np.zeros(n_bins, np.uint8)
    columns, tables = np.full(MOST, -1), np.zeros((MOST, n_bins), np.uint8)
    for place in range(TRIED):
        if best[place] <= 0:
            break
        for c in range(2):
            j, cut, up = cuts[place, c], cuts[place, 2 + c], cuts[place, 4 + c]
            columns[c] = j
            for b in range(n_bins):
                tables[c, b] = 0
            for m in range(sizes[j]):
                tables[c, orders[j, m]] = 1 if (m >= lows[j, cut]) == (up == 1) else 0
        gain = best[place]
        for turn in range(4):  # each condition anew on all bins, among the rows where the other holds
            c = turn & 1
            fill_rule(rows.codes, columns, tables, c, holds)
            j = columns[c]
            fill_bins(rows.codes[j], holds, g, h, rows.w, sums, bins)
            size = fill_order(sums, bins, rows.bins[j], rows.ordered[j], order)
            rule = (budget.ridge, budget.least, budget.signs[j], True, 0.0)
            better = best_cut(sums, bins, rows.bins[j], order, size, whole, rule, trial)
            if better > gain * (1 + 1e-12):
                gain = better
                for b in range(n_bins):
                    tables[c, b] = trial[b]
        push(candidates, -1, columns, tables)


@compiled
def follows_signs(budget, bins, linear, columns, tables, weight):
    """Whether a term with a weight of this sign rises and falls as it must."""
    if linear >= 0:
        return budget.signs[linear] * weight >= 0
    for c in range(MOST):
        j = columns[c]
        if j >= 0 and budget.signs[j] != 0:
            first, last = tables[c, 0], tables[c, bins[j] - 1]
            if first != last and weight * budget.signs[j] * (1 if last else -1) < 0:
                return False
    return True


@compiled
def is_there(z, known, kept):
    """Whether one of some terms is worth the same in every row, or holds just where it does not."""
    for t in kept:
        same, other = True, True
        for i in range(len(z)):
            same = same and known[t, i] == z[i]
            other = other and known[t, i] == 1.0 - z[i]
            if not same and not other:
                break
        if same or other:
            return True
    return False


@compiled
def propose(rows, budget, terms, state, size, skip, space, near, candidates):
    """Find the term that lowers the loss most per price, with term `skip` left out (0: none is).

    `space` is how many conditions it may have; with `near` only what the rule `skip` can become is tried. The loss
    is taken as quadratic. Returns the gain over its price, the gain net of the term left out, and its place.
    """
    g, h = state[1], state[2]
    outputs, n = g.shape
    kept = np.zeros(size, np.int64)
    few = 0
    for t in range(size):
        if t == 0 or t != skip:
            kept[few] = t
            few += 1
    theirs, whole = np.zeros(few), np.zeros(outputs)
    factors, small = np.zeros((outputs, few, few)), np.zeros((few, few))
    c, beta, move = np.zeros(few), np.zeros(few), np.zeros(size)
    lost = 0.0
    if skip:
        g = g.copy()
    for k in range(outputs):
        whole[k] = terms.gram[k, 0, 0]
        for a in range(few):
            theirs[a] = ridge_of(terms.linear[kept[a]], kept[a], budget.ridge)
            for b in range(few):
                small[a, b] = terms.gram[k, kept[a], kept[b]]
        factor(small, theirs, few, factors[k])
        if skip:  # the others take over what it explained
            for a in range(few):
                c[a] = terms.gram[k, kept[a], skip] * terms.beta[k, skip]
            solve(factors[k], c, few, beta)
            for a in range(few):
                move[kept[a]] = beta[a]
            move[skip] = -terms.beta[k, skip]
            for t in range(size):
                lost += 0.5 * move[t] * move[t] * ridge_of(terms.linear[t], t, budget.ridge)
                for s in range(size):
                    lost += 0.5 * move[s] * terms.gram[k, s, t] * move[t]
            for t in range(size):
                if move[t] != 0.0:
                    for i in range(n):
                        g[k, i] -= h[k, i] * move[t] * terms.z[t, i]
    candidates.filled[0] = 0
    if not near:
        lines = 0
        for a in range(1, few):
            lines += terms.linear[kept[a]] >= 0
        push_all(candidates, rows, budget, g, h, whole, space, lines < budget.linear)
    if skip and terms.linear[skip] < 0:
        push_near(candidates, rows, budget, g, h, whole, terms, skip, space)
    best, net, at = 0.0, 0.0, -1
    z, holds = np.zeros(n), np.zeros(n, np.uint8)
    b, out = np.zeros(few), np.zeros(few)
    for m in range(candidates.filled[0]):
        cost = cost_of(candidates.linear[m], candidates.columns[m])
        if cost > space:
            continue
        fill_values(rows, candidates.linear[m], candidates.columns[m], candidates.tables[m], holds, z)
        if is_there(z, terms.z, kept):
            continue
        gain, weight = 0.0, 0.0
        for k in range(outputs):
            a, d = 0.0, 0.0
            for i in range(n):
                a += z[i] * g[k, i]
                d += z[i] * h[k, i] * z[i]
            for q in range(few):
                total = 0.0
                for i in range(n):
                    total += z[i] * h[k, i] * terms.z[kept[q], i]
                b[q] = total
            rest = d - explained(factors[k], b, few, out)
            if rest > 1e-6 * d:
                weight = a
                gain += 0.5 * a * a / (rest + ridge_of(candidates.linear[m], 1, budget.ridge))
        if not follows_signs(
            budget, rows.bins, candidates.linear[m], candidates.columns[m], candidates.tables[m], weight
        ):
            continue
        worth = (gain - lost) / (budget.price if cost > 1 else 1.0)
        if worth > best:
            best, net, at = worth, gain - lost, m
    return best, net, at
