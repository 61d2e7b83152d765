"""Which categories a model file keeps: those of columns that the model reads, and others that many rows have.

A category that one person has alone, a name or an address, is as good as a row. The model needs the categories of the
columns that it reads. Of all other columns a file keeps only those that at least ten training rows have. The model
predicts the same bits; where another size of it reads such a column, the categories that are gone count as never
seen. Columns of 0 and 1 that stand for such a category each, as `bgn fit --paper` makes them, lose its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bgn.model.network import Network
from bgn.model.schema import Schema
from bgn.model.term import Coefficient, Linear, Oblique, Rule, condition_of

RARE = 10
"""A category that fewer training rows have may tell who they are."""


@dataclass(frozen=True)
class KeptCategories:
    """What a file keeps of the columns that lose something.

    Examples
    --------
    >>> import bgn
    >>> from bgn.model.schema import Column, Schema
    >>> schema = Schema((Column("age"), Column("name", categories=("Ann", "Bob", "Eve"), rare=(0, 2))))
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0]], [-65.5])], [0.5], 1.0, schema=schema)
    >>> KeptCategories.of(network).schema(schema).columns[1].categories
    ('Bob',)
    """

    numbers: Mapping[int, tuple[int, tuple[int, ...]]]  # by column, how many categories, and which are kept
    nameless: frozenset[int] = frozenset()  # columns of 0 and 1 whose category loses its name
    typical: tuple[float | None, ...] = ()  # what a missing value counts as; of a category that is left out, too

    @classmethod
    def of(cls, network: Network) -> KeptCategories:
        """Return what a file of a network keeps."""
        columns = network.schema.columns
        rare = {j: frozenset(column.rare) for j, column in enumerate(columns) if column.rare}
        if not rare:
            return cls({})
        read = {j for condition in network.layers[0].neurons for j in condition.columns}
        numbers, nameless = {}, set()
        for j in rare.keys() - read.union(network.features_used):
            if (categories := columns[j].categories) is None:
                nameless.add(j)
            else:
                numbers[j] = len(categories), tuple(k for k in range(len(categories)) if k not in rare[j])
        return cls(numbers, frozenset(nameless), tuple(column.typical for column in columns))

    def __bool__(self) -> bool:
        return bool(self.numbers or self.nameless)

    def schema(self, schema: Schema) -> Schema:
        """Return the columns with the categories that are kept."""
        if not self:
            return schema
        columns = list(schema.columns)
        for j, column in enumerate(columns):
            if j in self.nameless and column.category_of is not None:
                of, category = column.category_of[0], f"rare category {j}"
                columns[j] = replace(column, name=f"{of} = {category}", category_of=(of, category), rare=())
            elif j in self.numbers and column.categories is not None and len(column.categories) == self.numbers[j][0]:
                kept = self.numbers[j][1]
                typical = None if column.typical not in kept else float(kept.index(int(column.typical)))
                categories = tuple(column.categories[k] for k in kept)
                columns[j] = replace(column, categories=categories, typical=typical, rare=())
        return replace(schema, columns=tuple(columns))

    def network(self, network: Network) -> Network:
        """Return a network that reads the columns with the categories that are kept."""
        if not self:
            return network
        if network.below:
            first = network.below[0]
            below = [type(first).of([*map(self._condition, first.neurons)], first.n_inputs), *network.below[1:]]
            return network.changed(below=below, schema=self.schema(network.schema))
        if any(j in self.numbers for rule in network.rules for j in rule.columns):
            terms = [term if isinstance(term, Linear) else self._rule(term) for term in network.terms]
            return network.changed(terms=terms, schema=self.schema(network.schema))
        return network.changed(schema=self.schema(network.schema))

    def history(self, history: Any) -> Any:
        """Return how a network grew, its conditions on the categories that are kept."""
        if not self:
            return history
        if hasattr(history, "members"):
            return replace(history, members=tuple(map(self.history, history.members)))
        known: dict[Oblique, Oblique] = {}

        def cut(condition: Oblique) -> Oblique:
            return known.setdefault(condition, self._condition(condition))

        if hasattr(history.paths[0][0], "network"):  # one per size
            stages = {id(step.network): self.network(step.network) for step in history.paths[0]}
            path = tuple(replace(step, network=stages[id(step.network)]) for step in history.paths[0])
            return replace(history, paths=(path,), schema=self.schema(history.schema))
        first = tuple(replace(step, rules=tuple(map(cut, step.rules))) for step in history.paths[0])
        below = [type(layer).of([*map(cut, layer.neurons)], layer.n_inputs) for layer in history.inputs[:1]]
        return replace(
            history, paths=(first, *history.paths[1:]), inputs=(*below, *history.inputs[1:]),
            schema=self.schema(history.schema),
        )  # fmt: skip

    def intervals(self, intervals: Any) -> Any:
        """Return intervals whose folds' networks read the categories that are kept."""
        network, *folds = map(self.network, (intervals.network, *intervals.folds))
        return replace(intervals, network=network, folds=tuple(folds))

    def _rule(self, rule: Rule) -> Rule:
        """Return a rule whose conditions are on the categories that are kept."""
        if not any(j in self.numbers for j in rule.columns):
            return rule
        kept = (condition_of(self._condition(one.as_oblique())) for one in rule.conditions)
        return replace(rule, conditions=tuple(kept))

    def _condition(self, condition: Oblique) -> Oblique:
        """Return a condition on the categories that are kept; a missing value counts as what it did."""
        projection = condition.projection
        if not any(j in self.numbers for j in projection.columns):
            return condition
        lost = [
            j for j in projection.columns if j in self.numbers and self.typical[j] not in (None, *self.numbers[j][1])
        ]
        counted = lost and projection.missing_as is None and condition.missing is None
        coefficients, missing_as = list[Coefficient](), list[float]()
        for j, coefficient in zip(projection.columns, projection.coefficients, strict=True):
            typical, (count, kept) = self.typical[j] or 0.0, self.numbers.get(j, (0, ()))
            if isinstance(coefficient, tuple):
                missing_as.append(coefficient[int(typical)])
                coefficients.append(tuple(coefficient[k] for k in kept) if len(coefficient) == count else coefficient)
            else:
                missing_as.append(typical if coefficient else 0.0)
                coefficients.append(coefficient)
        own = tuple(missing_as) if counted else projection.missing_as
        return replace(condition, projection=replace(projection, coefficients=tuple(coefficients), missing_as=own))
