"""Whether an exported SELECT says what the model says, tried on rows in SQLite, which every Python has."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np

import bgn.export
from bgn.explain.subject import decoded
from bgn.export.plan import plan
from bgn.inputs.refusal import Refused
from bgn.model.network import Network
from bgn.model.step import Floats

_KEY = "row of the check"


def differing_rows(network: Network, X: Floats) -> int:
    """Return the number of rows of which SQLite computes another score than the model, to the last bit."""
    columns = network.schema.columns
    if any(column.part_of is not None for column in columns):
        raise Refused("--check: the model reads parts of dates, which SQLite has no type for; leave it out.")
    names = [_quoted(name) for name in (_KEY, *network.names)]
    types = ["INTEGER", *(_type(column.levels) for column in columns)]
    rows = [[k, *(_cell(value) for value in row)] for k, row in enumerate(decoded(network, X).tolist())]
    with sqlite3.connect(":memory:") as database:
        told = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
        database.execute(f"CREATE TABLE rows ({told})")
        database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(names))})", rows)
        query = bgn.export.to_sql(network, dialect="sqlite", table="rows", keep=[_KEY])
        found = database.execute(query)
        places = [[each[0] for each in found.description].index(name) for name in _outputs(network)]
        ordered = sorted(found.fetchall())
    database.close()
    said = np.array([[np.nan if row[k] is None else row[k] for k in places] for row in ordered], np.float64)
    own = network.predict_encoded(X, scores=True).reshape(len(X), -1)
    return int(np.count_nonzero(~((said == own) | (np.isnan(said) & np.isnan(own))).all(axis=1)))


def _outputs(network: Network) -> list[str]:
    if network.link == "softmax":
        return [f"score of {word}" for word in plan(network).class_words]
    return ["score" if network.link == "logistic" or network.bounds else "prediction"]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _type(levels: Any) -> str:
    if levels is None or isinstance((*levels, "")[0], float):
        return "REAL"
    return "INTEGER" if isinstance((*levels, "")[0], bool) else "TEXT"


def _cell(value: Any) -> Any:
    return None if value is None or value != value else value
