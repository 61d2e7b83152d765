"""Linear constraints between columns, from text such as ``"bedrooms <= rooms"``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from bgn.explain.subject import column_of
from bgn.model.network import Network
from bgn.model.neuron import Neuron, Projection
from bgn.model.step import Floats
from bgn.printable import quote_name

_FORM = "Write text such as 'a <= b' or '2*a + b >= 3', or ({'a': 1, 'b': -1}, '<=', 0)."
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


def read_constraints(network: Network, row: Floats, constraints: Any) -> list[Neuron]:
    """Return neurons that fire where the constraints hold; an equality makes two, a rounding error apart."""
    neurons = []
    for constraint in [constraints] if isinstance(constraints, str) else constraints or ():
        coefficients, relation, right = _read(network, constraint)
        slack = 1e-9 * (np.abs(coefficients) @ np.abs(row) + abs(right)) if relation == "==" else 0.0
        columns = np.flatnonzero(coefficients)
        for sign in {"<=": (-1.0,), ">=": (1.0,), "==": (-1.0, 1.0)}[relation]:
            factors = tuple((sign * coefficients[columns]).tolist())
            neurons.append(Neuron(Projection(tuple(columns.tolist()), factors), float(sign * right - slack)))
    return neurons


def _read(network: Network, constraint: Any) -> tuple[Floats, str, float]:
    """Return coefficients, relation and right side of one linear constraint."""
    if isinstance(constraint, str):
        return _read_text(network, constraint)
    try:
        coefficients, relation, right = constraint
        total = np.zeros(network.n_inputs)
        for name, value in dict(coefficients).items():
            total[column_of(network, name, "constraints")] += float(value)
        right = float(right)
    except (TypeError, ValueError) as error:
        raise ValueError(f"constraints has {constraint!r}, which cannot be read: {error} {_FORM}") from None
    if relation not in ("<=", ">=", "=="):
        raise ValueError(f"constraints has the relation {relation!r}; it must be '<=', '>=' or '=='. {_FORM}")
    return total, relation, right


def _read_text(network: Network, text: str) -> tuple[Floats, str, float]:
    parts = re.split(r"(<=|>=|==)", text)
    if len(parts) != 3:
        raise ValueError(f"constraints has {text!r}, which needs one of '<=', '>=' and '==' once. {_FORM}")
    (left, left_number), (right, right_number) = (_read_side(network, side, text) for side in parts[::2])
    return left - right, parts[1], right_number - left_number


def _read_side(network: Network, side: str, text: str) -> tuple[Floats, float]:
    """Return the coefficients and the plain number of a sum such as ``2*a - b + 3``."""
    names = "|".join(re.escape(name) for name in sorted(network.names, key=len, reverse=True))
    term = re.compile(rf"(?P<alone>{names})|(?P<number>{_NUMBER})\s*(?:(?P<times>\*)\s*(?P<name>{names})?)?")
    coefficients, number, rest = np.zeros(network.n_inputs), 0.0, side.strip()
    if not rest:
        raise ValueError(f"constraints has {text!r}, which lacks a side. {_FORM}")
    first = True
    while rest:
        sign = re.match(r"[+-]\s*", rest)
        if sign is None and not first:
            raise ValueError(f"constraints has {text!r}, which cannot be read from {rest!r} on. {_FORM}")
        rest = rest[sign.end() :] if sign else rest
        found = term.match(rest)
        rest = rest[found.end() :].lstrip() if found else rest
        if found is None or (found["times"] and not found["name"]):
            raise ValueError(
                f"constraints has {text!r}, which cannot be read from {rest!r} on; the columns are "
                f"{', '.join(map(quote_name, network.names))}. {_FORM}"
            )
        factor = float(found["number"] or 1.0) * (-1.0 if sign and sign[0][0] == "-" else 1.0)
        name = found["alone"] or found["name"]
        if name:
            coefficients[network.names.index(name)] += factor
        else:
            number += factor
        first = False
    return coefficients, number
