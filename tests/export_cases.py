"""Networks of every kind for exports, and rows that are hard on them: on thresholds, beside them, gaps, extremes."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bgn import Layer, Linear, Member, Missing, Network, Rule, Threshold
from bgn.model.schema import Column, Schema
from bgn.model.term import Condition, Oblique, Projection
from tests.networks import linear_coef_of, mixed_networks, random_network, table_networks, town, with_linear_terms

HOSTILE = (
    'x"; DROP TABLE rows; --',
    "it's",
    "two\nlines\r",
    "</script><script>alert(1)</script>",
    "=cmd()",
    "Größe 温度 🙂",
    "select",
    "a\\b",
    "`tick`",
    "__proto__",
    "*/ int main",
    "??/",
    "@SUM(1)",
    "tab\there",
    "${x}",
    "%s {0}",
    "nul\x01",
    "]]>",
    "constructor",
)
EXTREMES = (0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e300, -1e300, 1.0, -1.0)


def hostile(without: tuple[str, ...] = ()) -> Network:
    """A network whose names and levels are all there is to be afraid of, but for words that a target refuses."""
    names = [name for name in HOSTILE if name not in without]
    categories, others = tuple(names[:9]), tuple(name for name in (*names[9:], "", " ", "NULL") if name not in without)
    columns = [Column(name) for name in names]
    columns[3], columns[6] = Column(names[3], categories=categories), Column(names[6], categories=others)
    conditions = [
        Oblique(Projection((j,), (1.0,)), j + 0.5, missing=bool(j % 2)) for j in range(len(columns)) if j not in (3, 6)
    ]
    conditions += [Oblique(Projection((3,), (tuple(float(k % 2) for k in range(len(categories))),)), 1.0, missing=True)]
    conditions += [Oblique(Projection((0, 6), (1.0, tuple(0.3 * k for k in range(len(others))))), 2.0, missing=False)]
    weights = np.linspace(-1.0, 1.3, len(conditions)).round(2)
    schema = Schema(tuple(columns), target='"; DROP TABLE predictions; --\n*/')
    return Network.of_layers([Layer.of(conditions, len(columns))], weights, 1.0, schema=schema)


def ensemble(count: int, seed: int) -> Network:
    """A network as wide as an average of many, with shared questions."""
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c", "d", "e", "f"]
    weights, bias = np.zeros((count, 6)), rng.normal(size=count).round(2)
    for k, row in enumerate(weights):
        row[rng.integers(6)] = 1.0
        if k % 3 == 0:
            row[rng.integers(6)] = float(rng.choice([0.5, -0.7, 1.3]))
    outputs = rng.normal(size=count)
    return Network.of_layers([Layer(weights, bias)], outputs.round(3) if seed % 2 else outputs, 0.3, names, "mean")


def dense(size: int, inputs: int, seed: int) -> Network:
    """A network whose neurons read all columns."""
    rng = np.random.default_rng(seed)
    layers = [Layer(rng.normal(size=(size, inputs)), rng.normal(size=size))]
    layers.append(Layer(rng.normal(size=(4, size)), rng.normal(size=4)))
    return Network.of_layers(layers, rng.normal(size=4), 0.1, [f"c{j}" for j in range(inputs)], "dense")


def classes(seed: int, count: int = 3, linear: bool = False, whole: bool = False) -> Network:
    """A network of several classes."""
    network = random_network(8, ["a", "b", "c"], seed, second=3 if seed % 2 else 0)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(network.widths[-1], count))
    return with_linear_terms(
        Network.of_layers(
            network.layers,
            weights.round(2) if whole else weights,
            rng.normal(size=count).round(2),
            schema=network.schema,
            link="softmax",
        ),
        rng.normal(size=(3, count)) if linear else None,
    )


def with_rules(seed: int) -> Network:
    """A network of rules of one to three conditions of every kind, some on the same column, and linear terms."""
    rng = np.random.default_rng(seed)
    schema = Schema(
        (Column("tenure"), Column("age", typical=30.0), Column("contract", categories=("yearly", "monthly", "none")),
         Column("visits"), Column("own", categories=(False, True)), Column("zone", categories=(1.0, 2.5, 4.0))),
        "churn",
    )  # fmt: skip

    def condition() -> Condition:
        j, missing = int(rng.integers(6)), bool(rng.integers(2))
        count = len(schema.columns[j].categories or ())
        if rng.random() < 0.1:
            return Missing(j)
        if rng.random() < 0.15:
            values = tuple(float(x) for x in rng.choice([0.0, 0.7, -2.6], size=3))
            missing_as = (1.5, 0.7) if rng.integers(2) else None
            return Oblique(Projection((0, 2), (1.0, values), missing_as), 0.7, None if missing_as else missing)
        if count:
            chosen = np.flatnonzero(rng.random(count) < 0.5).tolist()
            return Member(j, tuple(chosen), missing)
        threshold = float(rng.choice([18.0, 33.0, 65.46, 0.1, -2.5, 1 / 3]))
        return Threshold(j, threshold, str(rng.choice([">=", "<", ">", "<="])), None if j == 1 else missing)

    rules = [Rule([condition() for _ in range(rng.integers(1, 4))], float(-rng.integers(2))) for _ in range(8)]
    linear = [Linear(0, 0.0, 40.0), Linear(3, -1.5)] if seed % 2 else []
    if linear:  # which refuse a missing value that nothing is known to stand for
        filled = [replace(column, typical=2.5) if j in (0, 3) else column for j, column in enumerate(schema.columns)]
        schema = replace(schema, columns=tuple(filled))
    link = ("identity", "logistic", "softmax")[seed % 3]
    terms = [*rules, *linear, rules[0]]
    coef = rng.normal(size=(len(terms), 3 if link == "softmax" else 1))
    coef = coef if seed % 4 == 3 else coef.round(2)
    return Network(np.round(rng.normal(size=coef.shape[1]), 2), terms, coef, schema=schema, link=link)


def odd() -> list[Network]:
    """Networks at the edges: the base alone, constant neurons, weights of 0, levels that are numbers."""
    floors = Schema(
        (Column("floor", categories=(1.0, 2.5, 30.0)), Column("new", categories=(True, False)), Column("a")), "price"
    )
    conditions = [
        Oblique(Projection((0,), ((1.0, 0.0, 1.0),)), 1.0, missing=False),
        Oblique(Projection((1,), ((1.0, 0.0),)), 1.0, missing=True),
        Oblique(Projection((0, 1, 2), ((0.1, 0.2, 0.3), (0.7, -0.7), 0.1), missing_as=(0.6, 0.3, 2.0)), 0.6),
    ]
    constant = Layer([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.5, -1.0, -2.0])
    return [
        Network.of_layers([Layer(np.zeros((0, 2)), [])], [], 3.25, ["a", "b"], "flat"),
        Network.of_layers([constant], [0.1, 0.7, 0.0], 0.3, ["a", "b"]),
        Network.of_layers(
            [constant, Layer([[1.0, 0.5, 0.0], [0.0, 0.0, 0.0]], [0.2, 1.0])], [1.1, 0.3], 0.3, ["a", "b"]
        ),
        Network.of_layers([Layer.of(conditions, 3)], [0.3, 0.1, 0.7], 1.0, schema=floors),
        Network.of_layers([Layer.of(conditions, 3)], [1 / 3, 0.1, 0.7], 1.0, schema=floors, link="logistic"),
    ]


def every_kind(wide: int = 3000) -> dict[str, Network]:
    """At least one network of every kind, by name."""
    networks = {"town": town(), "town twice": town().changed(base=1 / 3, link="logistic"), "hostile": hostile()}
    networks |= {f"rules {seed}": with_rules(seed) for seed in range(8)}
    networks |= {f"odd {k}": network for k, network in enumerate(odd())}
    for seed in range(8):
        network = random_network(5 + 3 * seed, ["a", "b", "c", "d"], seed, second=(seed % 3) * 3)
        networks[f"grown {seed}"] = network
        short = network.changed(output_weights=network.output_weights.round(2))
        networks[f"short {seed}"] = short
    sloped = random_network(6, ["a", "b", "c"], 3)
    typical = tuple(replace(column, typical=0.7) for column in sloped.schema.columns)
    networks["slopes"] = with_linear_terms(sloped, [0.3, 0.0, -1.7])
    networks["slopes, filled"] = with_linear_terms(
        sloped.changed(schema=replace(sloped.schema, columns=typical)), [0.3, 0.0, -1.7]
    )
    ends = [[-1.5, 2.25], [-np.inf, np.inf], [-0.0, 3.0]]
    networks["clipped slopes"] = with_linear_terms(sloped, [0.3, 0.0, -1.7], ends)
    networks["clipped slopes, filled, bounded"] = with_linear_terms(
        networks["slopes, filled"].changed(bounds=(-0.5, 1.0)), linear_coef_of(networks["slopes, filled"]), ends
    )
    networks["clipped slopes, yes or no"] = networks["clipped slopes"].changed(link="logistic")
    steep = classes(2, 3, linear=True)
    networks["classes, clipped"] = with_linear_terms(
        steep, linear_coef_of(steep), [[-1.0, 1.0], [0.0, np.inf], [-np.inf, 0.5]]
    )
    networks["average"], networks["average, short"] = ensemble(wide, 0), ensemble(wide, 1)
    networks["average, bounded"] = ensemble(wide, 2).changed(bounds=(None, 0.5))
    for name in ("town", "short 3", "grown 1", "odd 1"):
        networks[f"{name}, bounded"] = networks[name].changed(bounds=(0.0, None if name == "town" else 0.7))
    networks["dense"] = dense(20, 40, 0)
    for seed in range(4):
        networks[f"classes {seed}"] = classes(seed, 2 + seed, linear=seed == 2, whole=seed == 3)
    return networks


def drawn(strategy: st.SearchStrategy, count: int) -> list:
    """Some different values that Hypothesis finds, the same every time."""
    values: list = []

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value):
        values.append(value)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collect()
    return values


def drawn_networks(count: int) -> dict[str, Network]:
    """Networks that Hypothesis makes up."""
    mixed = drawn(mixed_networks(), count)
    sloped = drawn(mixed_networks(missing=False, linear=True), count // 2)
    tables = [
        network for network, _ in drawn(table_networks(depth=2), count // 2) + drawn(table_networks(), count // 2)
    ]
    return {f"drawn {k}": network for k, network in enumerate([*mixed, *sloped, *tables])}


# -- rows --------------------------------------------------------------------------------------------------------


def rows_for(network: Network, count: int, seed: int = 0, extremes: tuple = EXTREMES) -> np.ndarray:
    """Raw rows, as many as asked for, most of them hard."""
    rng = np.random.default_rng(seed)
    rows = np.empty((count, network.n_inputs), dtype=object)
    for j, column in enumerate(network.schema.columns):
        if column.categories is not None:
            cells = np.empty(len(column.categories) + 1, dtype=object)
            cells[:] = [*column.categories, "never seen" if isinstance(column.categories[0], str) else None]
            rows[:, j] = cells[rng.integers(len(cells), size=count)]
        else:
            usual = np.concatenate([rng.normal(size=40), np.arange(-3.0, 6.0), extremes, _cuts(network, j)])
            rows[:, j] = usual[rng.integers(len(usual), size=count)].astype(object)
    _onto_thresholds(network, rows, rng)
    _with_missing(network, rows, rng)
    return rows.astype(np.float64) if network.schema.all_numbers else rows


def _cuts(network: Network, column: int) -> np.ndarray:
    """Thresholds on one column, and the floats beside them."""
    linear = [end for term in network.linear if term.column == column for end in (term.low, term.high)]
    thresholds = [0.0, *filter(np.isfinite, linear)]
    for condition in network.layers[0].neurons[:200]:
        if condition.columns == (column,) and isinstance(condition.projection.coefficients[0], float):
            thresholds.append(condition.threshold / (condition.projection.coefficients[0] or 1.0))
    thresholds += [condition.threshold for rule in network.rules for condition in rule.conditions
                   if isinstance(condition, Threshold) and condition.column == column]  # fmt: skip
    cuts = np.array(thresholds)
    return np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])


def _onto_thresholds(network: Network, rows: np.ndarray, rng: np.random.Generator) -> None:
    """Move some rows next to a threshold on a sum of several columns."""
    sums = [condition for condition in network.layers[0].neurons if len(condition.columns) > 1]
    sums = [own for own in sums if any(isinstance(part, float) and part for part in own.projection.coefficients)][:200]
    for row in rng.choice(len(rows), size=min(len(rows) // 3, 3000), replace=False) if sums else ():
        condition = sums[rng.integers(len(sums))]
        coefficients = condition.projection.coefficients
        place = next(k for k, part in enumerate(coefficients) if isinstance(part, float) and part)
        rest = 0.0
        for k, (j, part) in enumerate(zip(condition.columns, coefficients, strict=True)):
            categories, value = network.schema.columns[j].categories, rows[row, j]
            if k != place and (categories is None or value in categories):
                rest += part[categories.index(value)] if categories else value * part
        value = (condition.threshold - rest) / coefficients[place]
        if np.isfinite(value):
            rows[row, condition.columns[place]] = float(np.nextafter(value, rng.choice([-np.inf, value, np.inf])))


def _with_missing(network: Network, rows: np.ndarray, rng: np.random.Generator) -> None:
    refused = np.ones(network.n_inputs, bool) if network.linear else network.layers[0].refuses_missing
    for j, column in enumerate(network.schema.columns):
        if not refused[j] or column.typical is not None:
            rows[rng.random(len(rows)) < 0.1, j] = None
        elif column.categories is not None:  # a level never seen is a gap, which is refused here
            wrong = np.array([value not in column.categories for value in rows[:, j]])
            rows[wrong, j] = column.categories[0]


def expected(network: Network, rows: np.ndarray) -> np.ndarray:
    """The raw scores, one column per output; then predictions, where these have bounds."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = network.raw_score(rows).reshape(len(rows), -1)
        return np.column_stack([scores, network.predict(rows)]) if network.bounds else scores
