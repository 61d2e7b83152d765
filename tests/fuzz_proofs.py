"""Random small networks: ``python tests/fuzz_proofs.py --cases 3000``.

What is called proven is compared with every row there is: the lowest and highest prediction, what a column does to the
prediction, the cheapest change of a row, and how far it is from another prediction.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import bgn
from bgn import Layer, Network
from bgn.explain.optimize.problem import read_domain
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.reference.attainable import moves, range_of
from tests.reference.attainable import rows as cells
from tests.reference.explain import cheapest_listed, table_rows_of

FACTORS = {
    "whole": [1.0, -1.0, 2.0, -2.0, 3.0],
    "decimal": [0.1, -0.3, 0.7, 1.0, -1.1, 0.25],
    "spread": [1e6, -1.0, 1e-3, 1.0, -1e3],
}
WEIGHTS = [1.0, -1.0, 2.0, 0.5, -0.3, 1.5, -2.0]


def random_column(name: str, rng: np.random.Generator, numbers: bool = True) -> Column:
    """A column of whole numbers, more often than not; or of `numbers`, of 0 and 1, or of three levels."""
    kind = rng.choice(["whole", "whole", "whole", "number" if numbers else "whole", "binary", "levels"])
    if kind == "binary":
        return Column(name, categories=(False, True), typical=0.0)
    if kind == "levels":
        return Column(name, categories=("a", "b", "c"), ordered=bool(rng.integers(2)), typical=1.0)
    low = float(rng.integers(-6, 7)) + float(rng.choice([0.0, 0.0, 0.0, 1e6]))
    high = low + float(rng.integers(0, 9))
    if kind == "number":
        return Column(name, typical=low, seen=(low, high + 0.5))
    return Column(name, typical=low, seen=(low, high), whole=True)


def random_row(schema: Schema, rng: np.random.Generator) -> list[float]:
    """A row as the network reads it."""
    row = []
    for column in schema.columns:
        if column.categories is not None:
            row.append(float(rng.integers(len(column.categories))))
        elif column.whole:
            row.append(float(rng.integers(int(column.seen[0]), int(column.seen[1]) + 1)))
        else:
            row.append(round(float(rng.uniform(*column.seen)), 1))
    return row


def random_condition(
    schema: Schema, rng: np.random.Generator, factors: list[float], missing: set[int], most: int
) -> Oblique:
    """A question about up to `most` columns, whose threshold some row sits on more often than not."""
    count = int(rng.integers(1, min(most, len(schema.columns)) + 1))
    columns = tuple(sorted(rng.choice(len(schema.columns), count, replace=False).tolist()))
    coefficients = tuple(
        float(rng.choice(factors)) if schema.columns[j].categories is None
        else tuple(float(rng.choice([0.0, *factors])) for _ in schema.columns[j].categories)
        for j in columns
    )  # fmt: skip
    projection = Projection(columns, coefficients)
    row = np.array([random_row(schema, rng)])
    threshold = float(projection.values(row)[0])
    if rng.random() < 0.3:
        threshold += float(rng.choice([0.5, -0.5, 1e-9, rng.normal()]))
    if not missing & set(columns):
        return Oblique(projection, threshold)
    if len(columns) > 1 and rng.random() < 0.5:
        counted = tuple(
            schema.columns[j].typical if isinstance(value, float) else float(rng.choice(factors))
            for j, value in zip(columns, coefficients, strict=True)
        )
        return Oblique(Projection(columns, coefficients, counted), threshold)
    return Oblique(projection, threshold, bool(rng.integers(2)))


def random_network(rng: np.random.Generator, depth: int | None = None, most: int = 4, numbers: bool = True) -> Network:
    """A network on up to four columns, with 1 to 4 questions and one to three layers."""
    names = "abcd"[: int(rng.integers(1, most + 1))]
    schema = Schema(tuple(random_column(name, rng, numbers) for name in names), target="y")
    factors = FACTORS[str(rng.choice(["whole", "whole", "decimal", "decimal", "spread"]))]
    missing = {j for j in range(len(schema.columns)) if rng.random() < 0.2}
    size = int(rng.choice([1, 1, 2, 3, 4]))
    conditions = [random_condition(schema, rng, factors, missing, most) for _ in range(size)]
    layers = [Layer.of(conditions, len(schema.columns))]
    for _ in range((depth or int(rng.choice([1, 1, 1, 1, 2, 3]))) - 1):
        below, size = size, int(rng.integers(1, 3))
        layers.append(Layer(rng.choice([1.0, -1.0, 0.6, 0.0], (size, below)), rng.choice([0.3, -0.3, 0.0], size)))
    weights = rng.choice(WEIGHTS, size) * rng.choice([1.0, 1.0, 1.0, 1e6, 1e-6], size)
    return Network.of_layers(layers, weights, float(rng.choice([0.0, 1.0, 10.0])), schema=schema)


def extremes_hold(network: Network, sure: bool = True) -> None:
    """The lowest and the highest prediction are attained, and are those of all rows; not proven only if not `sure`."""
    ends, size = bgn.extremes(network, "seen", max_seconds=60), 3e-12 * float(np.abs(network.output_weights).sum())
    low, high = range_of(network, read_domain(network, "seen", True))
    assert ends.proven or not sure, ends
    if not ends.proven:
        return
    for value, row in ((ends.low, ends.low_row), (ends.high, ends.high_row)):
        assert network.predict(np.array([row], dtype=None if network.schema.all_numbers else object))[0] == value
    assert ends.low <= low + size, (ends, low, high)
    assert ends.high >= high - size, (ends, low, high)


def certificates_hold(network: Network, sure: bool = True) -> None:
    """What a column is said to do is what all rows show, and the rows given show what is said against it."""
    domain, size = read_domain(network, "seen", True), 3e-12 * float(np.abs(network.output_weights).sum())
    for name, answer in bgn.certify(network, within="seen", max_seconds=60).items():
        column = network.names.index(name)
        if answer.direction in ("unordered", "unknown"):
            ordered = network.schema.columns[column].categories is None or network.schema.columns[column].ordered
            assert (answer.direction == "unknown") == ordered, answer
            assert answer.direction == "unordered" or network.depth > 1 or not sure, answer
            continue
        fall, rise = moves(network, domain, column) if column in network.features_used else (0.0, 0.0)
        assert answer.direction not in ("increasing", "constant") or fall <= size, (answer, fall, rise)
        assert answer.direction not in ("decreasing", "constant") or rise <= size, (answer, fall, rise)
        if sure:
            assert answer.rise >= rise - size, (answer, rise)
            assert answer.fall >= fall - size, (answer, fall)


def random_bounds(column: Column, rng: np.random.Generator) -> tuple[object, object]:
    """Bounds of a column as a user writes them, and as the slow twin reads them."""
    if column.categories is None:
        low, high = np.sort(rng.integers(column.seen[0] - 1, column.seen[1] + 2, 2)).astype(float).tolist()
        way = str(rng.choice(["increase", "decrease"]))
        return (way, way) if rng.random() < 0.5 else ((low, high), (low, high))
    if column.ordered and rng.random() < 0.5:
        return ("increase",) * 2 if rng.random() < 0.5 else ("decrease",) * 2
    codes = sorted(
        rng.choice(len(column.categories), int(rng.integers(1, len(column.categories) + 1)), replace=False).tolist()
    )
    return [column.categories[code] for code in codes], codes


def counterfactual_holds(rng: np.random.Generator, sure: bool = True) -> None:
    """The cheapest change of a row is the one that trying every row finds, whatever the options."""
    network = random_network(rng, numbers=False)
    schema, count = network.schema, network.n_inputs
    row = np.array(random_row(schema, rng))
    row[rng.random(count) < 0.35] = np.nan
    options: dict[str, object] = {}
    prices = np.array([1.0 if c.categories is not None or c.seen[0] == c.seen[1] else 4.0 / (c.seen[1] - c.seen[0])
                       for c in schema.columns])  # fmt: skip
    if rng.random() < 0.4:
        prices = prices * rng.choice([0.5, 1.0, 3.0], count)
        options["costs"] = dict(zip(schema.names, prices.tolist(), strict=True))
    fewest = "costs" not in options and rng.random() < 0.3
    if fewest:
        options["costs"] = "fewest"
    fill = set(range(count)) if rng.random() < 0.6 else {j for j in range(count) if rng.random() < 0.3}
    options["fill_missing"] = True if len(fill) == count else [schema.names[j] for j in sorted(fill)]
    most = options["max_changed"] = None if rng.random() < 0.4 else int(rng.integers(1, 4))
    still, bounds = set(), {}
    for j, column in enumerate(schema.columns):
        if rng.random() < 0.2:
            still.add(j)
        elif rng.random() < 0.3:
            said, bounds[j] = random_bounds(column, rng)
            options.setdefault("bounds", {})[column.name] = said
    options["immutable"] = [schema.names[j] for j in sorted(still)]
    values = [network.predict(table_rows_of(network, np.array([random_row(schema, rng)])))[0] for _ in range(6)]
    (x,) = table_rows_of(network, row[np.newaxis])
    now = network.predict(np.array([x], dtype=object))[0]
    aim = float(rng.choice([value for value in values if value != now] or values)) + float(rng.choice([0.0, 0.0, 1e-3]))
    up = bool(now < aim)
    options["at_least" if up else "at_most"] = aim

    def wanted(predicted: np.ndarray) -> np.ndarray:
        return predicted >= aim if up else predicted <= aim

    answer = bgn.counterfactual(network, x, max_seconds=60, **options)
    changes, cost = cheapest_listed(network, row, wanted, prices, fewest, fill, most, still, bounds)
    said = f"{answer}, not at {cost} with {changes} changes: {x.tolist()}, {options}"
    if not sure and not answer.optimal:
        assert not (answer.unreachable and np.isfinite(cost)), said
        return
    assert answer.reached == np.isfinite(cost), said
    assert answer.optimal, said
    if answer.reached:
        assert wanted(network.predict(np.array([answer.x], dtype=object)))[0], said
        assert abs(answer.cost - cost) <= 1e-6 * max(cost, 1.0), said
        assert not fewest or len(answer.changes) == changes, said
        assert most is None or len(answer.changes) <= most, said
    else:
        assert answer.unreachable, said


def margin_holds(rng: np.random.Generator) -> None:
    """No sample of any region has another prediction nearer than the distance that is called exact."""
    schema = Schema(tuple(Column(name, seen=(-6.0, 6.0), typical=0.0) for name in "abc"[: int(rng.integers(1, 4))]))
    size, depth = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2]))
    factors = FACTORS[str(rng.choice(["whole", "decimal"]))]
    layers = [Layer.of([random_condition(schema, rng, factors, set(), 3) for _ in range(size)], len(schema.columns))]
    if depth == 2:
        layers.append(Layer(rng.choice([1.0, -1.0, 0.6, 0.0], (2, size)), rng.choice([0.3, -0.3], 2)))
    network = Network.of_layers(layers, rng.choice(WEIGHTS, layers[-1].width), 1.0, schema=schema)
    x = np.array([random_row(schema, rng)])
    distances, own = bgn.margin(network, x), network.predict(x)[0]
    if not distances.exact[0]:
        return
    samples = np.concatenate([np.array(some) for some in cells(network, read_domain(network, "all", True))])
    other = samples[np.abs(network.predict(samples) - own) > 1e-9]
    nearest = np.linalg.norm(other - x, axis=1).min(initial=np.inf)
    assert distances.euclidean[0] <= nearest + 1e-7, (distances.euclidean[0], nearest, x, network.layers[0].neurons)
    for end, side in ((distances.up, 1), (distances.down, -1)):
        for j in range(len(schema.columns)):
            alone = (np.delete(other, j, axis=1) == np.delete(x, j, axis=1)).all(axis=1)
            further = other[alone & (side * (other[:, j] - x[0, j]) > 0), j]
            assert (side * further >= side * end[0, j]).all(), (end, side, j)
            if np.isfinite(end[0, j]):
                moved = x.copy()
                moved[0, j] = end[0, j]
                assert abs(network.predict(moved)[0] - own) > 1e-9, (end, side, j)


CHECKS = {
    "extremes": lambda rng: extremes_hold(random_network(rng)),
    "certificates": lambda rng: certificates_hold(random_network(rng)),
    "counterfactual": counterfactual_holds,
    "margin": margin_holds,
}


UNSURE = CHECKS | {
    "extremes": lambda rng: extremes_hold(random_network(rng), sure=False),
    "certificates": lambda rng: certificates_hold(random_network(rng), sure=False),
    "counterfactual": lambda rng: counterfactual_holds(rng, sure=False),
}


def is_proven(check: str, seed: int, case: int) -> bool:
    """Return whether all that is said of a network is proven; what is false is an error."""
    try:
        CHECKS[check](np.random.default_rng((seed, case)))
    except AssertionError:
        UNSURE[check](np.random.default_rng((seed, case)))
        return False
    return True


def fuzz(cases: int, seed: int, checks: tuple[str, ...] = tuple(CHECKS)) -> int:
    """Try so many networks; return how often something did not hold."""
    failed = 0
    for case in range(cases):
        for check in checks:
            try:
                is_proven(check, seed, case)
            except AssertionError as error:
                failed += 1
                print(f"case {case}, {check}: {error}", flush=True)
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="append", choices=list(CHECKS), help="this one alone; again for more")
    given = parser.parse_args()
    failures = fuzz(given.cases, given.seed, tuple(given.check or CHECKS))
    print(f"{failures} of {given.cases} networks told something that does not hold")
    sys.exit(failures > 0)
