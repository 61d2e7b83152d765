"""Which categories a model file keeps: those of columns that the model asks about, and others that many rows have.

A category that one person has alone, a name or an address, is as good as a row. The model needs the categories of the
columns that it asks about. Of all other columns a file keeps only those that at least ten training rows have. The model
predicts the same bits; where another size of it asks about such a column, the categories that are gone count as never
seen. Columns of 0 and 1 that stand for such a category each, as `bgn fit --paper` makes them, lose its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bgn.model.network import Network
from bgn.model.schema import Column, Schema
from bgn.model.term import Coefficient, Oblique

RARE = 10
"""A category that fewer training rows have may tell who they are."""


@dataclass(frozen=True)
class KeptCategories:
    """What a file keeps of the columns that lose something.

    Attributes
    ----------
    numbers : mapping of int to (int, tuple of int)
        By column, how many levels there are, and the numbers of those that are kept.
    nameless : frozenset of int
        Columns of 0 and 1 whose category loses its name.
    typical : tuple of float or None
        What a gap counts as, column by column; of a category that is left out, too.

    Examples
    --------
    >>> import bgn
    >>> from bgn.model.schema import Column, Schema
    >>> schema = Schema((Column("age"), Column("name", categories=("Ann", "Bob", "Eve"), rare=(0, 2))))
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0]], [-65.5])], [0.5], 1.0, schema=schema)
    >>> KeptCategories.of(network).schema(schema).columns[1].categories
    ('Bob',)
    """

    numbers: Mapping[int, tuple[int, tuple[int, ...]]]
    nameless: frozenset[int] = frozenset()
    typical: tuple[float | None, ...] = ()

    @classmethod
    def of(cls, network: Network) -> KeptCategories:
        """Return what a file of a network keeps."""
        rare = {j: frozenset(each.rare) for j, each in enumerate(network.schema.columns) if each.rare}
        if not rare:
            return cls({})
        asked = {j for neuron in network.layers[0].neurons for j in neuron.projection.columns}
        numbers, nameless = {}, set()
        for j in rare.keys() - asked.union(network.features_used):
            categories = network.schema.columns[j].categories
            if categories is None:
                nameless.add(j)
            else:
                numbers[j] = len(categories), tuple(k for k in range(len(categories)) if k not in rare[j])
        return cls(numbers, frozenset(nameless), tuple(each.typical for each in network.schema.columns))

    def __bool__(self) -> bool:
        return bool(self.numbers or self.nameless)

    def schema(self, schema: Schema) -> Schema:
        """Return the columns with the levels that are kept."""
        if not self:
            return schema
        return replace(schema, columns=tuple(self._column(j, each) for j, each in enumerate(schema.columns)))

    def _column(self, j: int, column: Column) -> Column:
        if j in self.nameless and column.category_of is not None:
            category = f"rare category {j}"
            of = column.category_of[0]
            return replace(column, name=f"{of} = {category}", category_of=(of, category), rare=())
        if j not in self.numbers or column.categories is None or len(column.categories) != self.numbers[j][0]:
            return column
        kept = self.numbers[j][1]
        typical = None if column.typical not in kept else float(kept.index(int(column.typical)))
        return replace(column, categories=tuple(column.categories[k] for k in kept), typical=typical, rare=())

    def network(self, network: Network) -> Network:
        """Return a network that reads the columns with the levels that are kept."""
        if not self:
            return network
        first = network.layers[0]
        if any(j in self.numbers for neuron in first.neurons for j in neuron.projection.columns):
            layer = type(first).of([*map(self._neuron, first.neurons)], first.n_inputs)
            network = network.changed(layers=[layer, *network.layers[1:]])
        return network.changed(schema=self.schema(network.schema))

    def history(self, history: Any) -> Any:
        """Return how a network grew, all its questions about the levels that are kept."""
        if not self:
            return history
        if hasattr(history, "members"):
            return replace(history, members=tuple(map(self.history, history.members)))
        known: dict[Oblique, Oblique] = {}

        def cut(neuron: Oblique) -> Oblique:
            return known.setdefault(neuron, self._neuron(neuron))

        first = tuple(replace(each, neurons=tuple(map(cut, each.neurons))) for each in history.paths[0])
        below = [type(each).of([*map(cut, each.neurons)], each.n_inputs) for each in history.inputs[:1]]
        return replace(
            history, paths=(first, *history.paths[1:]), inputs=(*below, *history.inputs[1:]),
            schema=self.schema(history.schema),
        )  # fmt: skip

    def intervals(self, intervals: Any) -> Any:
        """Return intervals whose folds' networks read the levels that are kept."""
        network, *folds = map(self.network, (intervals.network, *intervals.folds))
        return replace(intervals, network=network, folds=tuple(folds))

    def _neuron(self, neuron: Oblique) -> Oblique:
        line = neuron.projection
        if not any(j in self.numbers for j in line.columns):
            return neuron
        pairs = [*zip(line.columns, line.coefficients, strict=True)]
        gaps = line.missing_as
        if gaps is None and neuron.missing is None and any(self._loses_typical(j) for j in line.columns):
            gaps = tuple(self._gap(j, each) for j, each in pairs)
        coefficients = tuple(self._coefficient(j, each) for j, each in pairs)
        return replace(neuron, projection=replace(line, coefficients=coefficients, missing_as=gaps))

    def _loses_typical(self, j: int) -> bool:
        """Tell whether the category that gaps in a column count as is left out."""
        return j in self.numbers and self.typical[j] is not None and self.typical[j] not in self.numbers[j][1]

    def _gap(self, j: int, coefficient: Coefficient) -> float:
        """Return what a gap counts as, as :class:`~bgn.model.layer.Projection` has it."""
        typical = self.typical[j] or 0.0
        if isinstance(coefficient, tuple):
            return coefficient[int(typical)]
        return typical if coefficient else 0.0

    def _coefficient(self, j: int, coefficient: Coefficient) -> Coefficient:
        count, kept = self.numbers.get(j, (0, ()))
        if not isinstance(coefficient, tuple) or len(coefficient) != count:
            return coefficient
        return tuple(coefficient[k] for k in kept)
