"""The printed equation answers as the network does in every state of its columns, missing values among them.

Networks are random: one to four columns of every kind in one condition, every way to answer a missing value. What is
printed is read back by :mod:`tests.reference.sentence`, which knows the text alone.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import bgn
from bgn import Layer, Network
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.reference.sentence import parse

FLAG = {"whole": True, "seen": (0.0, 1.0)}
SCHEMA = Schema(
    (
        Column("a", typical=0.0, **FLAG),
        Column("b", typical=1.0, **FLAG),
        Column("c", typical=0.0, **FLAG),
        Column("winter?", category_of=("season", "winter"), typical=0.0),
        Column("spring?", category_of=("season", "spring"), typical=0.0),
        Column("city", categories=("Lille", "Nice", "Rome"), typical=1.0),
        Column("member", categories=(False, True), typical=0.0),
        Column("grade", categories=("low", "fair", "high"), ordered=True, typical=2.0),
        Column("age", typical=1.5, seen=(-3.0, 6.0)),
        Column("rooms", whole=True, seen=(0.0, 5.0), typical=2.0),
    ),
    target="price",
)
SEASONS = (3, 4)
UNSEEN = "A category never seen counts as missing."
MOST_STATES = 400
NAMES = [*SCHEMA.names, "season"]


def one_of(rng: np.random.Generator, *values: object) -> object:
    return values[rng.integers(len(values))]


def random_condition(rng: np.random.Generator, complete: set[int], flags: bool) -> Oblique:
    """A neuron on one to four columns; those in `complete` count as nothing where they are missing."""
    among = [0, 1, 2, *SEASONS] if flags else range(len(SCHEMA.columns))
    size = int(one_of(rng, 1, 2, 2, 2, 3, 3, 4))
    columns = sorted(rng.choice(among, size=size, replace=False).tolist())
    coefficients: list[float | tuple[float, ...]] = []
    for j in columns:
        categories = SCHEMA.columns[j].categories
        if categories is None:
            coefficients.append(float(one_of(rng, 1.0, 1.0, -1.0, -1.0, 4.0, -0.3, 2.0)))
        elif SCHEMA.columns[j].ordered and rng.random() < 0.5:
            coefficients.append(tuple(map(float, range(len(categories)))))
        else:
            coefficients.append(tuple(float(one_of(rng, 0.0, 0.0, 1.0, -2.6)) for _ in categories))
    threshold = float(one_of(rng, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 1.7, 2.0))
    if complete >= set(columns):
        return Oblique(Projection(tuple(columns), tuple(coefficients)), threshold)
    if rng.random() < 0.3:
        asks = size == 1 and SCHEMA.columns[columns[0]].categories is None and rng.random() < 0.3
        coefficients = [0.0] if asks else coefficients
        return Oblique(
            Projection(tuple(columns), tuple(coefficients)), 1.0 if asks else threshold, bool(one_of(rng, 0, 1))
        )
    missing_as = []
    for place, (j, coefficient) in enumerate(zip(columns, coefficients, strict=True)):
        if isinstance(coefficient, tuple):
            missing_as.append(float(one_of(rng, 0.0, coefficient[0], 0.7)))
            continue
        if j not in complete and rng.random() < 0.3:
            coefficients[place] = 0.0  # asks whether the number is missing, and no more
        missing_as.append(float(one_of(rng, 0.0, 1.0, SCHEMA.columns[j].typical, -1.0, 0.5)))
    return Oblique(Projection(tuple(columns), tuple(coefficients), tuple(missing_as)), threshold)


def network(seed: int) -> tuple[Network, set[int]]:
    """A network, and its columns without missing values; half of them have 0/1 columns alone."""
    rng = np.random.default_rng(seed)
    complete = set(np.flatnonzero(rng.random(len(SCHEMA.columns)) < one_of(rng, 0.0, 0.0, 0.3)).tolist())
    conditions = [random_condition(rng, complete, seed % 2 == 0) for _ in range(int(rng.integers(1, 4)))]
    weights = rng.choice([1.5, -2.0, 0.25, -0.75], size=len(conditions))
    return Network.of_layers([Layer.of(conditions, len(SCHEMA.columns))], weights, 10.0, schema=SCHEMA), complete


def states(model: Network, oblique: Oblique, complete: set[int], rng: np.random.Generator) -> np.ndarray:
    """Raw rows: every combination of what the columns of one condition can hold, thresholds and one float beside."""
    terms = bgn.as_terms(model)
    ends = {0.0}
    for condition in terms.conditions:
        for case in getattr(condition.reading, "cases", ()):
            ends.add(float(case.threshold))
        ends |= {condition.threshold, *(condition.missing_as or ())}
    held = []
    for j, column in enumerate(SCHEMA.columns):
        missing = [] if j in complete else [None]
        if j not in oblique.projection.columns:
            held.append([(column.categories or (0.0,))[0]])
        elif column.categories is not None:
            held.append([*column.categories, *missing, *(["never seen"] if missing and j != 6 else [])])
        elif j < 5:
            held.append([0.0, 1.0, *missing])
        elif column.whole:
            held.append([*_seen(column, {np.floor(end) + step for end in ends for step in (-1.0, 0.0, 1.0)}), *missing])
        else:
            near = {np.nextafter(end, way) for end in ends for way in (-9e9, end, 9e9)}
            held.append([*_seen(column, near), *missing])
    count = int(np.prod([len(values) for values in held]))
    if count <= MOST_STATES:
        rows = list(product(*held))
    else:
        rows = [tuple(one_of(rng, *values) for values in held) for _ in range(MOST_STATES)]
    rows = [row for row in rows if not (row[3] == row[4] == 1.0)]  # one season at a time
    return np.array(rows, dtype=object).reshape(len(rows), len(held))


def _seen(column: Column, values: set) -> list[float]:
    """Values in the range seen, for which conditions are written, its ends among them."""
    low, high = column.seen
    return sorted({float(value) for value in values if low <= value <= high} | {low, high})


def as_read(X: np.ndarray, text: str) -> dict[str, np.ndarray]:
    """The rows by the names that are printed; a category never seen is missing where the text says so."""
    table = {}
    for column, values in zip(SCHEMA.columns, X.T, strict=True):
        if column.categories is not None and UNSEEN in text:
            values = [value if value in column.categories else None for value in values]
        table[column.name] = np.array(list(values), dtype=float if column.categories is None else object)
    table["season"] = np.where(X[:, 3] == 1.0, "winter", np.where(X[:, 4] == 1.0, "spring", "none of them"))
    return table


def check(seed: int) -> None:
    model, complete = network(seed)
    text, terms, rng = bgn.equation(model), bgn.as_terms(model), np.random.default_rng(seed)
    sentence = parse(text, NAMES)
    for form in ("latex", "markdown", "html"):
        assert bgn.equation(model, form)
    for oblique in model.layers[0].neurons:
        X = states(model, oblique, complete, rng)
        fires = model.hidden(X) > 0
        expected = [fires[:, term.index] == (model.output_weights[term.index] > 0) for term in terms.rules]
        answers = np.transpose(expected).reshape(len(X), -1)
        said = sentence.answers(as_read(X, text))
        wrong = np.flatnonzero((answers != said).any(axis=1))
        assert not len(wrong), f"{text}\n{oblique}\n{X[wrong[0]]}: network {answers[wrong[0]]}, text {said[wrong[0]]}"
        np.testing.assert_array_equal(terms.holds(X), answers)
        np.testing.assert_allclose(sentence.value(as_read(X, text)), model.predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_the_text_is_the_network_in_every_state(start: int) -> None:
    for seed in range(start, start + 50):
        check(seed)


# Rules that end in two brackets, the second about a missing number; in some "and" or "or" stands between choices alone.
@pytest.mark.parametrize("seed", [2987, 3295, 4099, 7269, 8203, 9077])
def test_what_a_missing_number_counts_as_is_about_the_whole_rule(seed: int) -> None:
    check(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(300, 12_300, 400))
def test_the_text_is_the_network_in_every_state_of_many_networks(start: int) -> None:
    for seed in range(start, start + 400):
        check(seed)
