"""Whether an exported SELECT computes what the model does, tried on rows in SQLite, which every Python has."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np

from bgn.export.plan import plan
from bgn.export.programs.sql import to_sql
from bgn.inputs.errors import InputError
from bgn.model.network import Network
from bgn.model.step import Floats

_KEY = "row of the check"


def count_differing_rows(network: Network, rows: Sequence[Sequence[Any]], scores: Floats) -> int:
    """Return the number of rows of which SQLite computes another score than the model, to the last bit.

    Parameters
    ----------
    network : Network
    rows : sequence of sequences
        The values of its columns, None or NaN where one is missing.
    scores : ndarray, shape (rows,) or (rows, classes)
        What the network computes of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn import Layer, Network
    >>> from bgn.export.programs.sql_check import count_differing_rows
    >>> network = Network.of_layers([Layer([[1.0]], [-65.5])], [0.5], 1.0, ["income"])
    >>> count_differing_rows(network, [[70.0], [20.0]], np.array([1.5, 0.5]))
    0
    """
    columns, types = network.schema.columns, ["INTEGER"]
    if any(column.part_of is not None for column in columns):
        raise InputError("--check: the model reads parts of dates, which SQLite has no type for; leave it out.")
    for column in columns:
        first = (*(column.categories or (0.0,)), "")[0]
        types.append("REAL" if isinstance(first, float) else "INTEGER" if isinstance(first, bool) else "TEXT")
    names = ['"' + name.replace('"', '""') + '"' for name in (_KEY, *network.names)]
    table = [[k, *(None if value is None or value != value else value for value in row)] for k, row in enumerate(rows)]
    outputs = ["score" if network.link == "logistic" or network.bounds else "prediction"]
    if network.link == "softmax":
        outputs = [f"score of {label}" for label in plan(network).class_names]
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE rows ({', '.join(map(' '.join, zip(names, types, strict=True)))})")
        database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(names))})", table)
        answer = database.execute(to_sql(network, dialect="sqlite", table="rows", keep=[_KEY]))
        places = [[title[0] for title in answer.description].index(name) for name in outputs]
        ordered = sorted(answer.fetchall())
    database.close()
    computed = np.array([[np.nan if row[k] is None else row[k] for k in places] for row in ordered], np.float64)
    own = scores.reshape(len(computed), -1)
    return int(np.count_nonzero(~((computed == own) | (np.isnan(computed) & np.isnan(own))).all(axis=1)))
