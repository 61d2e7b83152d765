"""Networks made up for tests."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network
from bgn.grow.history import History, Record, Snapshot
from bgn.model.schema import Column, Schema
from bgn.model.term import Linear, Oblique, Projection

NASTY = [
    "<script>alert(1)</script>",
    "quote \" and ' and `tick`",
    "100 % of_it & {{ 7 * 7 }}",
    "Größe, 温度",
    "x" * 200,
    "x" * 199 + "y",
    "</script><script>alert(2)</script>",
    " same name ",
    "same  name",
    "season = <b>winter</b>",
    "season = summer",
]


def random_network(
    size: int, names: list[str], seed: int = 0, second: int = 0, target: str | None = "demand"
) -> bgn.Network:
    """A network as growth leaves them, of one layer or two."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((size, len(names)))
    for k, row in enumerate(weights):
        columns = rng.choice(len(names), size=min(1 + k % 2, len(names)), replace=False)
        row[columns] = rng.normal(size=len(columns)).round(3)
        row[columns[0]] = rng.choice([-1.0, 1.0])
    layers = [bgn.Layer(weights, rng.normal(size=size))]
    if second:
        later = np.zeros((second, size))
        for row in later:
            row[rng.choice(size, size=2, replace=False)] = [1.0, -0.5]
        layers.append(bgn.Layer(later, np.full(second, 0.25)))
    outputs = rng.normal(size=layers[-1].width)
    network = bgn.Network.of_layers(layers, outputs, 3.0, names, target)
    seasons = {name: ("season", name.partition(" = ")[2]) for name in names if name.startswith("season = ")}
    return network.changed(schema=network.schema.with_categories(seasons))


@st.composite
def problems(draw, max_features=4, depth=1):
    """A network with neurons of 1 to max_features inputs, rows and a background, many of them on thresholds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, 4))
    values = draw(st.sampled_from(["grid", "tenths", "normal"]))

    def table(rows):
        if values == "grid":
            return rng.integers(-2, 3, (rows, d)).astype(float)
        return rng.integers(-5, 6, (rows, d)) * 0.1 if values == "tenths" else rng.normal(size=(rows, d))

    X, background = table(draw(st.integers(1, 3))), table(draw(st.integers(1, 7)))
    if draw(st.booleans()):
        background[:, 0] = background[0, 0]
    if draw(st.booleans()):
        X[0] = background[-1]
    layers, inputs = [], np.vstack([X, background])
    for _ in range(depth):
        size = draw(st.integers(1, 4))
        weights = np.zeros((size, inputs.shape[1]))
        for row in weights:
            read = rng.permutation(inputs.shape[1])[: rng.integers(1, max_features + 1)]
            row[read] = rng.choice([1.0, -1.0, 0.1, 0.3, -0.7, rng.normal()], len(read))
        # Half of the thresholds lie exactly on a row's projection, mixed rows included.
        mixed = np.array([rng.permuted(column) for column in inputs.T]).T
        on = Layer(weights, np.zeros(size)).project(mixed)[rng.integers(len(inputs), size=size), np.arange(size)]
        bias = -np.where(rng.random(size) < 0.5, on, on + rng.normal(size=size))
        layers.append(Layer(weights, bias))
        inputs = layers[-1].fire(inputs)
    return Network.of_layers(layers, rng.normal(size=size), rng.normal()), X, background


CATEGORIES = ("Lille", "Nice", "Rome")
NUMBERS = st.sampled_from([-2.5, -1.0, 0.0, 0.5, 1.0, 3.0, 1e9])
POWERS = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 4.0, 2.0**20])  # which may be divided by without rounding


@st.composite
def mixed_networks(draw, missing=True, linear=False, one_number=False, numbers=NUMBERS):
    """A network on two numbers and two categories; with `one_number` it has one output and no link."""
    schema = Schema(
        (
            Column("age"),
            Column("city", categories=CATEGORIES),
            Column("rooms"),
            Column("owner", categories=(False, True)),
        ),
        target="price",
    )

    def condition():
        columns = tuple(sorted(draw(st.sets(st.integers(0, 3), max_size=3))))
        coefficients = tuple(
            draw(numbers.filter(bool)) if categories is None else tuple(draw(numbers) for _ in categories)
            for categories in (schema.columns[j].categories for j in columns)
        )
        return Oblique(Projection(columns, coefficients), draw(numbers), draw(st.booleans()) if missing else None)

    first = Layer.of([condition() for _ in range(draw(st.integers(1, 4)))], 4)
    deeper = draw(st.booleans())
    layers = [first, Layer(np.array(draw(st.lists(numbers, min_size=first.width, max_size=first.width)))[None], [0.5])]
    layers = layers if deeper else [first]
    size, K = layers[-1].width, None if one_number else draw(st.sampled_from([None, 3]))
    shape = (size,) if K is None else (size, K)
    weights = np.array(draw(st.lists(numbers, min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))))
    lines = np.zeros((4, *shape[1:]))
    lines[[0, 2]] = 0.25 if linear else 0.0
    link = "softmax" if K else "identity" if one_number else draw(st.sampled_from(["identity", "logistic"]))
    base = 1.5 if K is None else np.arange(K) / 2.0
    return with_linear_terms(Network.of_layers(layers, weights.reshape(shape), base, schema=schema, link=link), lines)


def mixed_rows(missing=True):
    """Raw rows of such a network's table."""
    number = st.one_of(NUMBERS, st.none()) if missing else NUMBERS
    category = st.sampled_from([*CATEGORIES, None, "never seen"] if missing else list(CATEGORIES))
    owner = st.sampled_from([True, False, None] if missing else [True, False])
    return st.lists(st.tuples(number, category, number, owner).map(list), min_size=1, max_size=6)


TABLE = Schema(
    (
        Column("age", typical=1.5, seen=(-3.0, 6.0)),
        Column("city", categories=(*CATEGORIES, "Oslo"), typical=1.0),
        Column("rooms", whole=True, seen=(0.0, 5.0), typical=2.0),
        Column("owner", categories=(False, True), typical=0.0),
        Column("grade", categories=("low", "fair", "high"), ordered=True, typical=2.0),
    ),
    target="price",
)
_CUTS = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.7, 2.0, 3.25])
_FACTORS = st.sampled_from([1.0, -1.0, 0.5, -0.3, 1.7])


@st.composite
def table_networks(draw, depth=1, complete=None, most=4):
    """A network on numbers, categories and an ordered one, as growth makes them, and its columns without gaps.

    A question about one column has an answer for its gap, one about several says what a gap in each counts as, and one
    about `complete` columns alone knows of none.
    """
    if complete is None:
        complete = draw(st.sets(st.integers(0, 4), max_size=3))

    def part(j):
        categories = TABLE.columns[j].categories
        if categories is None:
            return draw(_FACTORS)
        if TABLE.columns[j].ordered and draw(st.booleans()):
            return tuple(map(float, range(len(categories))))
        return tuple(draw(st.sampled_from([0.0, 0.0, 1.0, -2.6])) for _ in categories)

    def condition():
        columns = tuple(sorted(draw(st.sets(st.integers(0, 4), min_size=1, max_size=3))))
        coefficients, threshold = tuple(map(part, columns)), draw(_CUTS)
        if complete >= set(columns):
            return Oblique(Projection(columns, coefficients), threshold)
        if len(columns) > 1:
            coefficients = tuple(  # some ask of a number whether it is there, and no more
                0.0 if isinstance(own, float) and j not in complete and draw(st.integers(0, 3)) == 0 else own
                for j, own in zip(columns, coefficients, strict=True)
            )
            missing = tuple(
                TABLE.columns[j].typical
                if isinstance(own, float) and own
                else draw(st.sampled_from([0.0, own[0] if isinstance(own, tuple) else -2.6, 0.7]))
                for j, own in zip(columns, coefficients, strict=True)
            )
            return Oblique(Projection(columns, coefficients, missing), threshold)
        if draw(st.integers(0, 3)) == 0 and TABLE.columns[columns[0]].categories is None:
            return Oblique(Projection(columns, (0.0,)), 1.0, missing=True)
        return Oblique(Projection(columns, coefficients), threshold, draw(st.booleans()))

    layers = [Layer.of([condition() for _ in range(draw(st.integers(1, most)))], 5)]
    for _ in range(depth - 1):
        below = layers[-1].width
        weights = draw(st.lists(st.sampled_from([1.0, -1.0, 0.6, 0.0]), min_size=2 * below, max_size=2 * below))
        layers.append(Layer(np.reshape(weights, (2, below)), [0.3, -0.3]))
    size = layers[-1].width
    outputs = draw(st.lists(st.sampled_from([1.5, -2.0, 0.25, -0.75, 3.0]), min_size=size, max_size=size))
    return Network.of_layers(layers, outputs, 10.0, schema=TABLE), complete


@st.composite
def class_networks(draw, depth=1, n_classes=None, most=4):
    """Such a network that tells two classes or more apart, often with equal scores; its columns without gaps too."""
    network, complete = draw(table_networks(depth, most=most))
    n_classes = n_classes or draw(st.integers(2, 4))
    number = st.sampled_from([1.5, -2.0, 0.25, -0.75, 1.0, 0.0])
    columns = n_classes if n_classes > 2 else 1
    size = network.widths[-1]
    weights = np.array(draw(st.lists(number, min_size=size * columns, max_size=size * columns)))
    base = draw(st.lists(number, min_size=columns, max_size=columns))
    schema = replace(network.schema, target="grown", classes=("no", "yes", "maybe", "never")[:n_classes])
    parts = {"link": "softmax", "output_weights": weights.reshape(size, columns), "base": base}
    if n_classes == 2:
        parts = {"link": "logistic", "output_weights": weights, "base": base[0]}
    return network.changed(**parts, schema=schema), complete


def chances(network, X):
    """The probabilities of all classes, one column per class."""
    scores = network.predict(X)
    return scores if scores.ndim == 2 else np.stack([1.0 - scores, scores], axis=1)


def winners(network, X):
    """The numbers of the classes that are predicted: of equal scores the first."""
    scores = network.raw_score(X)
    return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)


def table_rows(complete=(), least=1, most=6):
    """Raw rows of such a network's table; the columns `complete` have no gaps."""
    number = st.sampled_from([-2.6, -1.0, 0.0, 0.5, 1.0, 1.7, 2.0, 3.25, 4.3])
    categories = [st.sampled_from(column.categories) for column in TABLE.columns if column.categories is not None]
    columns = [number, categories[0], st.integers(0, 5).map(float), categories[1], categories[2]]
    missing = [st.none(), st.sampled_from([None, "never seen"]), st.none(), st.none(), st.none()]
    pairs = enumerate(zip(columns, missing, strict=True))
    cells = [present if j in complete else st.one_of(present, present, missing) for j, (present, missing) in pairs]
    return st.lists(st.tuples(*cells).map(list), min_size=least, max_size=most).map(_objects)


def town() -> Network:
    """A network on that table with questions of every kind; of grade and owner no question sees a gap."""
    conditions = [
        Oblique(Projection((0,), (1.0,)), 1.7, missing=True),
        Oblique(Projection((0,), (0.0,)), 1.0, missing=True),
        Oblique(Projection((1,), ((1.0, 1.0, 0.0, 0.0),)), 1.0, missing=False),
        Oblique(Projection((0, 1), (1.0, (0.0, -1.5, 0.0, 0.0)), missing_as=(1.5, 0.7)), 0.5),
        Oblique(Projection((0, 2), (1.0, -0.3), missing_as=(1.5, 2.0)), 1.0),
        Oblique(Projection((4,), ((0.0, 1.0, 2.0),)), 1.0),
        Oblique(Projection((2, 3), (1.0, (0.0, 2.0)), missing_as=(2.0, 0.0)), 3.0),
        Oblique(Projection((3,), ((0.0, 1.0),)), 1.0),
    ]
    weights = [2.0, -1.5, 1.25, 0.75, -0.5, 1.0, 3.0, 0.25]
    return Network.of_layers([Layer.of(conditions, 5)], weights, 20.0, schema=TABLE)


def town_rows(count: int, seed: int = 0) -> np.ndarray:
    """Raw rows of that table, with gaps in all its columns and levels never seen."""
    rng = np.random.default_rng(seed)
    columns = [rng.uniform(-3, 6, count).round(2).astype(object), rng.integers(0, 6, count).astype(float)]
    texts = [
        rng.choice(np.array(column.categories, dtype=object), count) for column in TABLE.columns if column.categories
    ]
    rows = np.column_stack([columns[0], texts[0], columns[1].astype(object), texts[1], texts[2]])
    rows[rng.random(rows.shape) < 0.12] = None
    rows[rng.random(count) < 0.05, 1] = "Berlin"
    return rows


def _objects(rows):
    return np.array(rows, dtype=object).reshape(len(rows), 5)


def network_of(names: list[str], size: int, seed: int = 0, second: int = 0, target: str | None = None) -> bgn.Network:
    return random_network(size, names, seed, second, target)


def rows_for(network: bgn.Network, count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Rows and a noisy target; columns that stand for levels hold one 1 per row."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, network.n_inputs))
    for seasons in network.schema.category_columns.values():
        rows[:, seasons] = np.eye(len(seasons))[rng.integers(len(seasons), size=count)]
    return rows, network.predict(rows) + rng.normal(size=count) * 0.3


def grown() -> History:
    """A history by hand: one column cut in 1, 2, 3, 4 places, with a replacement at width 2 and a second layer."""
    records, path = [], [Snapshot((), (), 2.5, 4.0, 4.0)]
    for size in range(1, 5):
        cuts = np.arange(1, size + 1) / (size + 1)
        conditions = tuple(Oblique(Projection((0,), (1.0,)), float(cut)) for cut in cuts)
        path.append(Snapshot(conditions, (1.0 / size,) * size, 2.5, 1.0 / size, 2.0 / size))
        records.append(Record(0, size, "addition", size - 1, 1.1 / size, math.nan, 0.5 / size, 0.1 * size))
        if size == 2:
            records.append(Record(0, size, "replacement", 0, 1.0 / size, 2.0 / size, 0.5 / size, 0.1 * size))
    schema = Schema.of_numbers(2, ("a", "b"), "demand")
    records.append(Record(1, 1, "addition", 0, 0.2, 0.6, 0.1, 1.0))
    second = path[0], Snapshot(path[1].rules, (1.0,), 2.5, 0.2, 0.6)
    return History(tuple(records), (tuple(path), second), (), 2, 0, 3, "patience", 1.0, 10, schema)


def with_linear_terms(network, coef, ends=None):
    """The network with linear terms of these weights, one per column, 0 for none, and between these ends."""
    if coef is None:
        return network
    weights = np.asarray(coef, np.float64).reshape(network.n_inputs, network.n_outputs)
    ends = [(-np.inf, np.inf)] * network.n_inputs if ends is None else ends
    columns = np.flatnonzero(weights.any(axis=1)).tolist()
    return network.with_linear([Linear(j, *map(float, ends[j])) for j in columns], weights[columns])


def linear_ends_of(network):
    """Between which values the linear term of each column counts, infinite without an end, shape (columns, 2)."""
    ends = np.tile([-np.inf, np.inf], (network.n_inputs, 1))
    for term in network.linear:
        ends[term.column] = term.low, term.high
    return ends


def linear_coef_of(network):
    """What each column adds per unit, shape (columns, outputs)."""
    coef = np.zeros((network.n_inputs, network.n_outputs))
    for term, weights in zip(network.linear, network.linear_coef, strict=True):
        coef[term.column] += weights
    return coef
