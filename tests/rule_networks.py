"""Networks of rules with one to three conditions of every kind, made up from random numbers."""

from __future__ import annotations

import numpy as np

from bgn import Linear, Member, Missing, Network, Rule, Threshold
from bgn.model.schema import Column, Schema
from bgn.model.term import Condition, Oblique, Projection

_CUTS = [-1.0, 0.0, 0.5, 1.0, 2.0, 2.5]
_WEIGHTS = [1.0, -1.0, 2.0, 0.5, -0.3, 1.5, -2.25]


def random_schema(rng: np.random.Generator, most: int = 4, numbers: bool = True, target: str = "y") -> Schema:
    """Up to `most` columns: numbers, whole numbers, true and false, categories with and without an order."""
    columns = []
    for name in "abcd"[: int(rng.integers(1, most + 1))]:
        kind = rng.choice(["number" if numbers else "whole", "whole", "binary", "category"])
        if kind == "number":
            columns.append(Column(name, typical=0.5, seen=(-2.0, 3.0)))
        elif kind == "whole":
            columns.append(Column(name, typical=1.0, seen=(-2.0, 3.0), whole=True))
        elif kind == "binary":
            columns.append(Column(name, categories=(False, True), typical=0.0))
        else:
            columns.append(Column(name, categories=("p", "q", "r"), ordered=bool(rng.integers(2)), typical=1.0))
    return Schema(tuple(columns), target)


def random_condition(
    schema: Schema, rng: np.random.Generator, complete: set[int], obliques: bool = True, counted: bool = False
) -> Condition:
    """A condition on one column, or, where there are two numbers, sometimes on their sum.

    With `counted`, also on sums of any two columns in which missing values count as something.
    """
    incomplete = sorted(set(range(len(schema.columns))) - complete)
    if counted and len(incomplete) > 1 and rng.random() < 0.4:
        return _counting_oblique(schema, rng, incomplete)
    j = int(rng.integers(len(schema.columns)))
    column = schema.columns[j]
    missing = None if j in complete else bool(rng.integers(2))
    numbers = [k for k, other in enumerate(schema.columns) if other.categories is None]
    # A sum of columns refuses missing values, or has an answer for all of them.
    numbers = [k for k in numbers if (k in complete) == (numbers[0] in complete)]
    if obliques and len(numbers) > 1 and rng.random() < 0.15:
        pair = tuple(sorted(rng.choice(numbers, 2, replace=False).tolist()))
        projection = Projection(pair, (1.0, float(rng.choice([1.0, -0.5, 0.3]))))
        return Oblique(projection, float(rng.choice(_CUTS)), None if complete >= set(pair) else bool(rng.integers(2)))
    if j not in complete and rng.random() < 0.1:
        return Missing(j)
    if column.categories is None:
        return Threshold(j, float(rng.choice(_CUTS)), str(rng.choice([">=", "<", ">", "<="])), missing)
    count = int(rng.integers(1, len(column.categories)))
    codes = sorted(rng.choice(len(column.categories), count, replace=False).tolist())
    return Member(j, tuple(codes), missing, len(column.categories))


def _counting_oblique(schema: Schema, rng: np.random.Generator, columns: list[int]) -> Oblique:
    """A condition on a sum of two of some columns, in which what is missing counts as something."""
    pair = tuple(sorted(rng.choice(columns, 2, replace=False).tolist()))
    coefficients = tuple(
        float(rng.choice([1.0, -1.0, 1.0, 0.3]))
        if (categories := schema.columns[j].categories) is None
        else tuple(rng.choice([0.0, 1.0, -2.0], len(categories)).tolist())
        for j in pair
    )
    missing_as = tuple(float(rng.choice([0.0, 1.0, 2.0])) for _ in pair)
    return Oblique(Projection(pair, coefficients, missing_as), float(rng.choice(_CUTS)))


def rule_network(
    rng: np.random.Generator, outputs: int = 1, linear: bool = True, numbers: bool = True, obliques: bool = True,
    most_rules: int = 5, most_conditions: int = 3, link: str | None = None, counted: bool = False,
) -> Network:  # fmt: skip
    """A network of up to `most_rules` rules of one to `most_conditions` conditions, now and then with a linear term."""
    schema = random_schema(rng, numbers=numbers)
    complete = {j for j in range(len(schema.columns)) if rng.random() < 0.4}
    terms: list[Rule | Linear] = []
    for _ in range(int(rng.integers(1, most_rules + 1))):
        count = min(int(rng.choice([1, 2, 2, 3])), most_conditions)
        conditions = tuple(random_condition(schema, rng, complete, obliques, counted) for _ in range(count))
        terms.append(Rule(conditions, float(rng.choice([0.0, 0.0, 0.0, -1.0]))))
    numeric = [j for j, column in enumerate(schema.columns) if column.categories is None]
    if linear and numeric and rng.random() < 0.3:
        terms.append(Linear(int(rng.choice(numeric)), -1.0, 2.0))
    coef = rng.choice(_WEIGHTS, (len(terms), outputs))
    intercept = rng.choice([0.0, 1.0, 10.5], outputs)
    link = link or ("softmax" if outputs > 1 else str(rng.choice(["identity", "identity", "logistic"])))
    return Network(intercept, terms, coef, schema=schema, link=link)
