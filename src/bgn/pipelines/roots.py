"""The columns that a network can be about: those of the table that a pipeline reads, and those that its steps make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.model.network import Network
from bgn.model.rescaled import Source, column_from
from bgn.model.schema import Column, Level, Schema
from bgn.model.step import Floats
from bgn.pipelines.steps import after, trace, widths

# By stage and place: the step in words, and the level of a category that a 0/1 column stands for.
Makers = dict[tuple[int, int], tuple[str, tuple[str, Level] | None]]


@dataclass(frozen=True)
class Root:
    """A column of the table (stage 0), or one that a step made (the stage after it), which a network can be about."""

    stage: int
    place: int
    column: Column
    made_by: str = ""


def n_columns(steps: Sequence[tuple[str, Any]], network: Network) -> int:
    """Return the number of columns of the table."""
    return int(getattr(steps[0][1], "n_features_in_", network.n_inputs)) if steps else network.n_inputs


def roots_of(
    steps: Sequence[tuple[str, Any]], network: Network
) -> tuple[list[tuple[Root, Source]], tuple[str, ...] | None]:
    """Return for every column of a network the column it can be traced back to, and how; and the table's names."""
    n = n_columns(steps, network)
    given = getattr(steps[0][1], "feature_names_in_", None) if steps else network.feature_names
    names = None if given is None else tuple(map(str, given))
    labels = [names or tuple(f"x{j}" for j in range(n))]
    at, makers = [(0, Source(j)) for j in range(n)], Makers()
    for stage, ((name, step), width) in enumerate(zip(steps, widths(steps, n, network.n_inputs), strict=True), start=1):
        following = list[tuple[int, Source]]()
        for place, own in enumerate(trace(name, step, len(at), width)):
            if isinstance(own, Source):
                origin, before = at[own.column]
                (found,) = after([before], [replace(own, column=0)])
                following.append((origin, found))  # type: ignore[arg-type]
                continue
            following.append((stage, Source(place)))
            level = None
            if own.level is not None:
                origin, before = at[own.level[0]]
                level = None if before.arithmetic else (labels[origin][before.column], own.level[1])
            makers[stage, place] = own.by, level
        labels.append(_names_after(name, step, labels[-1], width))
        at = following
    return _rooted(at, makers, labels, network), names


def _names_after(name: str, step: Any, before: Sequence[str], width: int) -> tuple[str, ...]:
    """Return the names that a step gives its columns."""
    for names in (before, None):
        try:
            found = tuple(map(str, step.get_feature_names_out(names)))
        except (AttributeError, ValueError, TypeError):
            continue
        if len(found) == width:
            return found
    return tuple(f"{name}{place}" for place in range(width))


def _rooted(
    at: list[tuple[int, Source]], makers: Makers, labels: Sequence[Sequence[str]], network: Network
) -> list[tuple[Root, Source]]:
    """Return the root of every column of a network; each has a name of its own."""
    roots, found = dict[tuple[int, int], tuple[Root, Any]](), list[tuple[Root, Source]]()
    taken = {labels[0][source.column] for stage, source in at if stage == 0}
    for j, (stage, source) in enumerate(at):
        key = stage, source.column
        if key in roots and roots[key][1] != source.filled:  # a gap would have to count as two things
            key, source = (len(labels) - 1, j), Source(j)
        if key not in roots:
            (by, level), name = makers.get(key, ("'all'" * bool(key[0]), None)), labels[key[0]][key[1]]
            while key[0] and name in taken:
                name = f"{name} ({by})"
            taken.add(name)
            column = column_from(network.schema.columns[j], source, name)
            column = column if level is None else replace(column, level_of=level)
            roots[key] = Root(key[0], key[1], column, by), source.filled
        found.append((roots[key][0], source))
    return found


def column_at(table: Any, root: Root) -> Floats:
    """Return one column of a stage's table as a network reads it."""
    if hasattr(table, "tocsc"):
        column = table[:, [root.place]].toarray()
        return Schema((root.column,), named=False).encode(column, gaps=True)[:, 0]
    if hasattr(table, "columns"):
        by_name = root.stage == 0 and root.column.name in set(table.columns)
        values = np.asarray(table[root.column.name if by_name else table.columns[root.place]])
    else:
        values = np.asarray(table)[:, root.place]
    return Schema((root.column,), named=False).encode(values.reshape(-1, 1), gaps=True)[:, 0]
