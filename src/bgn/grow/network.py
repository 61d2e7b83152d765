"""From rows to a network: layers one after the other, the best of them kept (Improvement 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bgn.grow.crossval import cross_validated
from bgn.grow.history import History, LinesAlone, Record, Snapshot, choose_width
from bgn.grow.layer import LayerPath, Monitor
from bgn.grow.roles import Roles
from bgn.grow.tries import GrowthSettings as GrowthSettings
from bgn.grow.tries import Tries
from bgn.model.layer import Layer
from bgn.model.neuron import Neuron
from bgn.model.schema import Schema


def grow_network(
    rows: Roles,
    settings: GrowthSettings,
    seed: int,
    monitor: Monitor,
    schema: Schema | None = None,
) -> History:
    """Grow layer upon layer; each is fixed at its best width and feeds the next. `schema` is the table's."""
    if settings.direction != "search":
        rows = replace(rows, sample=None)
    if settings.max_linear == "auto" and not rows.train.loss.quadratic and not rows.folds:
        settings = replace(settings, max_linear=0)  # classes have lines only where folds choose, unless told
    schema, told = _schema(rows, schema, settings.direction == "search"), _in_the_table_s_words(rows)
    n_validation = rows.train.total if rows.folds else 0 if rows.validation is None else rows.validation.total
    paths: list[tuple[Snapshot, ...]] = []
    records: list[Record] = []
    inputs: list[Layer] = []
    grown: list[tuple[str, float]] = []
    out_of_fold = straight = None
    for layer in range(settings.max_layers):
        try:
            result, shrinkage, straight = _grow_layer(rows, settings, seed, monitor, layer)
        except KeyboardInterrupt:
            if not paths:
                raise
            monitor.stopped = "interrupted"
            break
        records += result.records
        out_of_fold = result.out_of_fold
        paths.append(result.path)
        grown.append((result.stopped, shrinkage))
        best = result.path[choose_width(result.path, "best", n_validation)]
        best = best.distinct() if shrinkage else best
        if monitor.stopped or not best.neurons or layer + 1 == settings.max_layers:
            break
        try:
            deeper = rows.next_layer(best.neurons)
        except KeyboardInterrupt:
            monitor.stopped = "interrupted"
            break
        inputs.append(best.layer(rows.train.n_columns) if inputs else told(best).layer(len(schema)))
        rows = deeper
    paths[0] = tuple(map(told, paths[0]))
    widths = [choose_width(path, settings.select, n_validation) for path in paths]
    chosen = min(range(len(paths)), key=lambda k: (paths[k][widths[k]].criterion, k))
    return History(
        tuple(records), tuple(paths), tuple(inputs[: len(paths) - 1]), len(schema), chosen, widths[chosen],
        monitor.stopped or grown[-1][0], grown[chosen][1], n_validation,
        schema, rows.train.loss.link, out_of_fold, settings.bounds, straight,
    )  # fmt: skip


def _schema(rows: Roles, schema: Schema | None, gaps: bool) -> Schema:
    """The columns of the table, with what was seen in them; and, where gaps may come, what they count as."""
    known = rows.train.seen()
    others = known if rows.validation is None else rows.validation.seen()
    n_columns = rows.train.n_columns if rows.coding is None else rows.coding.n_columns
    schema = schema or Schema.of_numbers(n_columns)
    columns = []
    for j, (column, a, b) in enumerate(zip(schema.columns, known, others, strict=False)):
        typical = None if rows.coding is None or not gaps else rows.coding.typical[j]
        if column.levels is None:
            lacking = rows.coding is not None and j in rows.coding.marked
            column = replace(column, seen=(min(a[0], b[0]), max(a[1], b[1])), whole=a[2] and b[2], missing=lacking)
        columns.append(replace(column, typical=typical, rare=rows.rare[j] if rows.rare else ()))
    return replace(schema, columns=tuple(columns))


def _in_the_table_s_words(rows: Roles) -> Callable[[Snapshot], Snapshot]:
    """What turns a layer that asks about an engine's columns into one that asks about the table's."""
    coding, seen = rows.coding, rows.train.seen()
    if coding is None or (coding.plain and not any(coding.ordered)):
        return lambda snapshot: snapshot
    known: dict[Neuron, Neuron] = {}

    def told(snapshot: Snapshot) -> Snapshot:
        for neuron in snapshot.neurons:
            if neuron not in known:
                known[neuron] = coding.neuron(neuron, seen)
        return replace(snapshot, neurons=tuple(known[neuron] for neuron in snapshot.neurons))

    return told


def _grow_layer(
    rows: Roles, settings: GrowthSettings, seed: int, monitor: Monitor, layer: int
) -> tuple[LayerPath, float, LinesAlone | None]:
    """Grow one layer. Where several ridge penalties compete, each grows a layer without replacement; the best validated
    then grows one with it, and the better of the two is kept. Linear terms compete with that in the same way; in an
    average, what they came to alone is told, too."""
    if rows.folds:
        return *cross_validated(rows, settings, seed, monitor), None
    tries = Tries(rows, settings, seed, monitor, layer)
    try:
        tries.grow()
    except KeyboardInterrupt:  # while a try was set up: what the others found stays
        if tries.best is None:
            raise
        monitor.stopped = "interrupted"
    assert tries.best is not None
    straight = None
    if settings.n_networks > 1 and tries.alone is not None:
        alone, worse = tries.alone, tries.alone.loss - tries.best.loss
        straight = LinesAlone(
            alone.path.path, alone.path.records, alone.path.stopped, alone.penalty, worse, tries.noise
        )  # fmt: skip
    return tries.best.path, tries.best.penalty, straight
