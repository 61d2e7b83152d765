"""Slow twins of the explanations, written from their definitions."""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from itertools import combinations, product
from math import factorial
from operator import add

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from bgn.model.network import Network
from bgn.model.numbers import whole_numbers


def mean_answers(network: Network, known: tuple[int, ...], x: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Mean last-layer answers when the known columns come from x and the others from each background row."""
    mixed = background.copy()
    mixed[:, list(known)] = x[list(known)]
    return network.hidden(mixed).mean(axis=0)


def shapley(network: Network, X: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Shapley values over all coalitions of all columns, shape (rows, features, last-layer neurons)."""
    d = network.n_inputs
    values = np.zeros((len(X), d, network.widths[-1]))
    for row, x in enumerate(X):
        for feature in range(d):
            others = [j for j in range(d) if j != feature]
            for size in range(d):
                weight = factorial(size) * factorial(d - size - 1) / factorial(d)
                for coalition in combinations(others, size):
                    with_it = mean_answers(network, (*coalition, feature), x, background)
                    values[row, feature] += weight * (with_it - mean_answers(network, coalition, x, background))
    return values * network.output_weights


def interactions(network: Network, X: np.ndarray, background: np.ndarray) -> np.ndarray:
    """SHAP interaction values from the definition, shape (rows, features, features)."""
    d = network.n_inputs
    values = np.zeros((len(X), d, d))
    phi = shapley(network, X, background).sum(axis=2)
    for row, x in enumerate(X):

        def value(*known: int, x: np.ndarray = x) -> float:
            return float(mean_answers(network, known, x, background) @ network.output_weights)

        for i, j in combinations(range(d), 2):
            others = [k for k in range(d) if k not in (i, j)]
            for size in range(d - 1):
                weight = factorial(size) * factorial(d - size - 2) / factorial(d - 1) / 2
                for q in combinations(others, size):
                    values[row, i, j] += weight * (value(*q, i, j) - value(*q, i) - value(*q, j) + value(*q))
            values[row, j, i] = values[row, i, j]
        np.fill_diagonal(values[row], phi[row] - values[row].sum(axis=1))
    return values


def paper_matrix(network: Network, X: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Algorithm "1-BANN SHAP" with the corrected weight, as a mean over pairs of rows."""
    layer = network.layers[0]
    matrix = np.zeros((network.n_inputs, layer.width))
    for k in range(layer.width):
        players = layer.neurons[k].projection.columns
        for i in players:
            others = [j for j in players if j != i]
            for size in range(len(players)):
                weight = factorial(size) * factorial(len(players) - size - 1) / factorial(len(players))
                for q in combinations(others, size):
                    for x in X:
                        without, with_it = background.copy(), background.copy()
                        without[:, list(q)] = x[list(q)]
                        with_it[:, [*q, i]] = x[[*q, i]]
                        change = np.abs(network.hidden(with_it)[:, k] - network.hidden(without)[:, k]).mean()
                        matrix[i, k] += abs(network.output_weights[k]) * weight * change / len(X)
    return matrix


def cheapest_cell(
    network, x, least, most, *, costs, low, high, integer, groups, constraints, max_changed, tolerance=1e-4
):
    """Cheapest cost over all cells of the first layer's arrangement, and the least miss of the wanted range.

    A cell is a pattern of the first layer's answers; strictness is a gap. `constraints` are rows ``(a, b)`` for
    ``a . x <= b``. Every set of parts that may change is tried.
    """
    d = network.n_inputs
    grouped = [column for group in groups for column in group]
    parts = [*groups, *((column,) for column in range(d) if column not in grouped)]
    sizes = [len(parts)] if max_changed is None or max_changed >= len(parts) else [max_changed]
    best, miss = np.inf, np.inf
    layer = network.layers[0]
    for pattern in product((-1.0, 1.0), repeat=layer.width):
        answers = np.array([pattern])
        for item in network.layers[1:]:
            answers = item.fire(answers)
        prediction = score(network, answers[0])
        away = max(least - prediction, prediction - most, 0.0)
        if away > 0 and (away >= miss or best < np.inf):
            continue
        for size in sizes:
            for chosen in combinations(parts, size):
                cost = _cell_cost(
                    layer, np.array(pattern), x, {c for part in chosen for c in part},
                    costs, low, high, integer, groups, constraints, tolerance,
                )  # fmt: skip
                if np.isfinite(cost):
                    miss = min(miss, away)
                    if away == 0:
                        best = min(best, cost)
    return best, miss


def score(network, answers):
    """What a network with one output adds up to: short decimals as decimals, other numbers one after the other."""
    numbers = [network.base, *(weight * answer for weight, answer in zip(network.output_weights, answers, strict=True))]
    if whole_numbers([network.base, *network.output_weights]) is not None:
        return float(sum(Decimal(repr(float(number))) for number in numbers))
    return reduce(add, numbers)


def cheapest_table_row(network, row, least, prices, fill=(), wanted=None):
    """Cheapest cost of a row of the table that predicts at least something: every level, whole number and crossing.

    Or, with `wanted`, one that this function of raw rows takes.

    A row is as the network reads it, NaN for a gap, with one number that is not whole, the first column; gaps stay but
    those of the columns `fill`, which cost 1 and, of numbers, the way from the typical value.
    """
    columns = network.schema.columns
    options = []
    for j, column in enumerate(columns):
        if np.isnan(row[j]) and j not in fill:
            options.append([np.nan])
        elif column.categories is not None:
            options.append([*range(len(column.categories)), *([np.nan] if np.isnan(row[j]) else [])])
        else:
            whole = np.arange(column.seen[0], column.seen[1] + 1) if column.whole else []
            options.append([row[j], *whole, *([column.typical] if np.isnan(row[j]) else [])])
    grid = np.array(list(product(*options)), dtype=float)
    cuts = [grid]
    start = columns[0].typical if np.isnan(row[0]) else row[0]
    low, high = min(columns[0].seen[0], start), max(columns[0].seen[1], start)
    for rule in network.layers[0].neurons if not np.isnan(options[0]).all() else ():
        if 0 in rule.projection.columns and rule.projection.coefficients[0] != 0.0:
            rest = grid.copy()
            rest[:, 0] = 0.0
            at = (rule.threshold - rule.projection.values(_filled(network, rest))) / rule.projection.coefficients[0]
            for neighbors in (0.0, 1e-9, -1e-9):
                cuts.append(grid.copy())
                cuts[-1][:, 0] = np.clip(np.where(np.isnan(at), grid[:, 0], at + neighbors), low, high)
    rows = np.vstack(cuts)
    cost = np.zeros(len(rows))
    for j, column in enumerate(columns):
        tolerance = np.isnan(row[j])
        new = ~np.isnan(rows[:, j])
        if column.categories is not None:
            cost += prices[j] * (rows[:, j] != row[j]) * new if not tolerance else new
        else:
            cost += np.where(
                new, np.abs(rows[:, j] - (column.typical if tolerance else row[j])) * prices[j] + tolerance, 0.0
            )
    text = table_rows_of(network, rows)
    fine = network.predict(text) >= least if wanted is None else wanted(text)
    return cost[fine].min() if fine.any() else np.inf


def cheapest_listed(network, row, wanted, prices, fewest=False, fill=(), most=None, still=(), bounds=None):
    """Fewest changes, if they count, and cheapest cost of a row of whole numbers and levels that `wanted` takes.

    A row is as the network reads it, NaN for a gap; columns by number. A gap in `fill` may become any level for 1, or a
    number for 1 and the way from the typical value. `bounds` are ranges, allowed codes, or "increase" and "decrease".
    """
    columns, options = network.schema.columns, []
    for j, (column, own) in enumerate(zip(columns, row, strict=True)):
        limit, tolerance = (bounds or {}).get(j), np.isnan(own)
        if tolerance and (j not in fill or j in still or (column.categories is None and column.typical is None)):
            options.append([(np.nan, 0.0, 0)])
            continue
        start = column.typical if tolerance and column.categories is None else own
        if column.categories is not None:
            values = [float(code) for code in range(len(column.categories))]
            if limit == "increase":
                values = [code for code in values if tolerance or code >= own]
            elif limit == "decrease":
                values = [code for code in values if tolerance or code <= own]
            elif limit is not None:
                values = [code for code in values if int(code) in limit]
            priced = [
                (code, 1.0 if tolerance else prices[j] * (code != own), int(tolerance or code != own))
                for code in values
            ]
        else:
            low, high = min(column.seen[0], start), max(column.seen[1], start)
            if isinstance(limit, str):
                low, high = (start, high) if limit == "increase" else (low, start)
            elif limit is not None:
                low, high = limit
            values = np.arange(np.ceil(low), np.floor(high) + 1).tolist()
            priced = [(v, tolerance + prices[j] * abs(v - start), int(tolerance or v != start)) for v in values]
        if j in still and not tolerance:
            priced = [item for item in priced if item[0] == own]
        options.append([*priced, *([(np.nan, 0.0, 0)] if tolerance else [])])
    chosen = np.array(list(product(*options))).reshape(-1, len(row), 3)
    rows, cost, changes = chosen[:, :, 0], chosen[:, :, 1].sum(axis=1), chosen[:, :, 2].sum(axis=1)
    fine = np.full(len(rows), True) if most is None else changes <= most
    fine[fine] = wanted(network.predict(table_rows_of(network, rows[fine])))
    if not fine.any():
        return np.inf, np.inf
    least = changes[fine].min() if fewest else 0
    return least, cost[fine & ((changes == least) | (not fewest))].min()


def _filled(network, rows):
    """Rows as the questions see them: gaps that count as the typical value of a column do."""
    typical = np.array([column.typical for column in network.schema.columns])
    return np.where(np.isnan(rows) & network.layers[0].refuses_missing, typical, rows)


def table_rows_of(network, rows):
    """Rows as the table has them, from how the network reads them."""
    text = rows.astype(object)
    for j, column in enumerate(network.schema.columns):
        categories = column.categories
        text[:, j] = [
            None if value != value else value if categories is None else categories[int(value)] for value in rows[:, j]
        ]
    return text


def _cell_cost(layer, pattern, x, moving, costs, low, high, integer, groups, constraints, tolerance):
    """Cost of the cheapest row of one cell that moves only some columns: variables are x and the distance from it."""
    d = len(x)
    fixed = np.array([column not in moving for column in range(d)])
    if ((x < low) | (x > high))[fixed].any():
        return np.inf
    bottom, top = np.where(fixed, x, low), np.where(fixed, x, high)
    rows, limits = [], []

    def add(row, least, most):
        rows.append(row)
        limits.append((least, most))

    for weights, threshold, answer in zip(layer.weights, layer.thresholds, pattern, strict=True):
        if answer > 0:
            add(np.append(weights, np.zeros(d)), threshold, np.inf)
        else:
            add(np.append(weights, np.zeros(d)), -np.inf, threshold - tolerance)
    for a, b in constraints:
        add(np.append(a, np.zeros(d)), -np.inf, b)
    for group in groups:
        add(np.append(np.isin(np.arange(d), group).astype(float), np.zeros(d)), 1.0, 1.0)
    for column in range(d):
        for sign in (1.0, -1.0):
            row = np.zeros(2 * d)
            row[column], row[d + column] = -sign, 1.0
            add(row, -sign * x[column], np.inf)
    result = milp(
        np.append(np.zeros(d), costs),
        integrality=np.append(integer, np.zeros(d)),
        bounds=Bounds(np.append(bottom, np.zeros(d)), np.append(top, np.full(d, np.inf))),
        constraints=LinearConstraint(np.array(rows), *np.array(limits).T),
    )
    return result.fun if result.status == 0 else np.inf
