"""The networks behind a mean, to plain values and back: of each its base, and the weights of the questions it asks."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.model.members import Members
from bgn.model.network import Network
from bgn.model.step import any_output
from bgn.persist import strict
from bgn.persist.ends import ends_in, ends_out
from bgn.persist.strict import ModelFileError, Reader

_MOST_WEIGHTS = 20_000_000  # zeros included
_APART = 1e-3  # what rounding may put between a mean and its members, as a share of their size


def members_out(members: Members) -> dict[str, Any]:
    """Return members as plain values."""
    networks = []
    for k, (weights, base) in enumerate(zip(members.weights, members.bases, strict=True)):
        asked = np.flatnonzero(any_output(weights))
        found = {"base": base.tolist(), "neurons": asked.tolist(), "output_weights": weights[asked].tolist()}
        networks.append(found if members.slopes is None else found | {"slopes": members.slopes[k].tolist()})
    ends = {} if members.ranges is None else {"ranges": [ends_out(*each) for each in members.ranges.tolist()]}
    return {"networks": networks} | ends


def with_members(network: Network, value: Any, where: str) -> Network:
    """Return a network that knows the members that a file tells of, or say what is wrong."""
    readers = {"networks": strict.array(strict.anything), "ranges": strict.array(ends_in, network.n_inputs)}
    found = strict.record(value, where, readers, optional=("ranges",))
    count, shape = len(found["networks"]), network.output_weights.shape
    if not 1 <= count <= _MOST_WEIGHTS // max(network.output_weights.size + network.n_inputs, 1):
        raise ModelFileError(f"{where}.networks must hold some, and at most {_MOST_WEIGHTS} weights; got {count}.")
    each: Reader[Any] = strict.array(strict.number, *shape[1:]) if shape[1:] else strict.number
    weights, bases = np.zeros((count, *shape)), np.zeros((count, *shape[1:]))
    straight = any(isinstance(one, dict) and "slopes" in one for one in found["networks"])
    slopes = np.zeros((count, network.n_inputs, *shape[1:])) if straight else None
    for k, one in enumerate(found["networks"]):
        at = f"{where}.networks[{k}]"
        parts: dict[str, Reader[Any]] = {
            "base": each, "neurons": strict.array(strict.whole(max(shape[0] - 1, 0))),
            "output_weights": strict.anything, "slopes": strict.array(each, network.n_inputs),
        }  # fmt: skip
        read = strict.record(one, at, parts, optional=("slopes",))
        asked = read["neurons"]
        if len(set(asked)) < len(asked) or len(asked) > shape[0]:
            raise ModelFileError(f"{at}.neurons must be different neurons of the last layer.")
        numbers = strict.array(each, len(asked))(read["output_weights"], f"{at}.output_weights")
        weights[k, asked], bases[k] = np.array(numbers).reshape(len(asked), *shape[1:]), read["base"]
        if slopes is not None:
            slopes[k] = read.get("slopes", 0.0)
    means = [("output_weights", weights, network.output_weights), ("base", bases, network.base)]
    none = np.zeros((network.n_inputs, *shape[1:]))
    if slopes is not None or network.slopes is not None:
        lines = none[np.newaxis] if slopes is None else slopes
        means.append(("slopes", lines, none if network.slopes is None else network.slopes))
    for name, own, mean in means:
        if not np.allclose(own.mean(axis=0), mean, rtol=_APART, atol=_APART * float(np.abs(own).max(initial=0.0))):
            raise ModelFileError(f"{where}: the {name} of the networks do not have the mean that the file says.")
    return network.changed(members=Members(weights, bases, slopes, found.get("ranges")))
