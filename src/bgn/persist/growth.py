"""How a network grew and the estimator around it, to plain values and back.

The conditions of each layer stand once and its snapshots, one per size, point to them. Of very many steps only the
last of each kind at every size stays, and a history that would fill the file is left out. The clock is not kept: the
same fit writes the same file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bgn.model.network import Network
from bgn.model.term import Linear
from bgn.persist import network as networks
from bgn.persist import strict
from bgn.persist.network import category_in, category_out, condition_out, ends_in, ends_out, oblique_in
from bgn.persist.strict import ModelFileError, Reader

if TYPE_CHECKING:
    from bgn.grow.ensemble import EnsembleHistory
    from bgn.grow.history import History, Record, Snapshot
    from bgn.model.term import Oblique

_MANY_STEPS = 20_000
_MOST_ENTRIES = 1_000_000
_MOST_SQUARED = 1e306


def _square(value: Any, where: str) -> float:
    # Targets go up to 1e150.
    result = strict.number(value, where)
    if abs(result) > _MOST_SQUARED:
        raise strict.refuse(where, f"a squared error of at most {_MOST_SQUARED:g}", value)
    return result


def _square_or_null(value: Any, where: str) -> float:
    return math.nan if value is None else _square(value, where)


# What is kept of a history, a snapshot and a record besides networks, and how it is read.
_COUNT = strict.whole(2**63)
_ENSEMBLE: dict[str, Reader[Any]] = {"best_layer": _COUNT, "best_size": _COUNT, "stopped": strict.text}
_HISTORY = _ENSEMBLE | {"shrinkage": strict.number, "n_validation": _COUNT}
_SNAPSHOT: dict[str, Reader[Any]] = {
    "train_loss": _square, "validation_loss": _square_or_null, "validation_deviation": _square_or_null,
}  # fmt: skip
_STEP: dict[str, Reader[Any]] = {
    "layer": _COUNT, "n_terms": _COUNT, "kind": strict.text, "term": _COUNT, "train_loss": _square,
    "validation_loss": _square_or_null, "bound": _square_or_null,
}  # fmt: skip


def _called(name: str, link: str) -> str:
    """Return how a file calls a field: losses of numbers are squared errors."""
    return name.replace("_loss", "_mse") if link == "identity" else name


def history_out(history: History | EnsembleHistory) -> dict[str, Any] | None:
    """Return a history as plain values, of an ensemble one per network; None when it is too long to keep."""
    members: Sequence[Any] = getattr(history, "members", (history,))
    snapshots = [snapshot for one in members for path in one.paths for snapshot in path]
    entries = sum(_entries(snapshot) for snapshot in snapshots)
    plain = [None if entries > _MOST_ENTRIES else _member_out(one) for one in members]
    if any(one is None for one in plain):
        return None
    return _kept(history, _ENSEMBLE, "") | {"networks": plain} if hasattr(history, "members") else plain[0]


def _entries(snapshot: Any) -> int:
    """Return how many weights a size has."""
    if hasattr(snapshot, "network"):
        return int(snapshot.network.coef.size)
    return len(snapshot.rules) * np.size(snapshot.base)


def _member_out(history: History) -> dict[str, Any] | None:
    """Return the history of one network as plain values; None where it could not be saved."""
    if hasattr(history.paths[0][0], "network"):
        return _stages_out(history)
    reads = [history.n_inputs, *(layer.width for layer in history.inputs)]
    if not _fits([len(path[-1].rules) for path in history.paths], reads):
        return None
    link = history.link
    steps = [list(_kept(record, _STEP, link).values()) for record in _thinned(history.records)]
    return _kept(history, _HISTORY, link) | {
        "steps": {"fields": [_called(name, link) for name in _STEP], "values": steps},
        "layers": [[condition_out(condition) for condition in layer.neurons] for layer in history.inputs],
        "paths": [_path_out(path, link) for path in history.paths],
    }


def _stages_out(history: History) -> dict[str, Any]:
    """Return a history of networks within budgets of conditions as plain values; each network stands once."""
    link, number = history.link, dict[int, int]()
    stages = [
        _kept(stage, _SNAPSHOT, link) | {"network": number.setdefault(id(stage.network), len(number))}
        for stage in history.paths[0]
    ]
    different = {number[id(stage.network)]: stage.network for stage in history.paths[0]}
    steps = [list(_kept(record, _STEP, link).values()) for record in _thinned(history.records)]
    return _kept(history, _HISTORY, link) | {
        "steps": {"fields": [_called(name, link) for name in _STEP], "values": steps},
        "conditions": {"networks": [networks.network_out(different[k]) for k in range(len(number))], "sizes": stages},
    }


def _kept(value: Any, names: Iterable[str], link: str) -> dict[str, Any]:
    """Return some of a record's fields, null for what is not finite."""
    fields = {_called(name, link): getattr(value, name) for name in names}
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in fields.items()}


def _fits(sizes: Sequence[int], reads: Sequence[int]) -> bool:
    """Whether the network of every size, zeros included, is one that could be saved by itself."""
    return all(size * read <= networks.MOST_WEIGHTS for size, read in zip(sizes, reads, strict=True))


def _thinned(records: tuple[Record, ...]) -> list[Record]:
    if len(records) <= _MANY_STEPS:
        return list(records)
    return list({(record.layer, record.n_terms, record.kind): record for record in records}.values())


def _path_out(path: Sequence[Snapshot], link: str) -> dict[str, Any]:
    number: dict[Oblique, int] = {}
    snapshots = []
    for snapshot in path:
        intercept = np.atleast_1d(snapshot.base)
        plain = _kept(snapshot, _SNAPSHOT, link) | {
            "intercept": intercept.tolist(),
            "conditions": [number.setdefault(condition, len(number)) for condition in snapshot.rules],
            "coef": np.reshape(snapshot.output_weights, (-1, len(intercept))).tolist(),
        }
        if snapshot.linear:
            pairs = zip(snapshot.linear, snapshot.linear_coef, strict=True)
            plain["linear"] = [
                [term.column, np.atleast_1d(coef).tolist(), ends_out(term.low, term.high)] for term, coef in pairs
            ]
        snapshots.append(plain)
    return {"conditions": [condition_out(condition) for condition in number], "snapshots": snapshots}


def history_in(value: Any, where: str, network: Network) -> dict[str, Any] | None:
    """Return the plain values of a network's history, not yet whether it leads to it; None when it is too long."""
    if not isinstance(value, dict) or "networks" not in value:
        return _member_in(value, where, network)
    plain = _record(value, where, _ENSEMBLE, "", networks=strict.array(strict.anything))
    members = [_member_in(one, f"{where}.networks[{k}]", network) for k, one in enumerate(plain.pop("networks"))]
    return None if not members or any(one is None for one in members) else plain | {"members": members}


def _record(
    value: Any, where: str, fields: Mapping[str, Reader[Any]], link: str, optional: Sequence[str] = (),
    **others: Reader[Any],
) -> dict[str, Any]:  # fmt: skip
    """Return an object with these fields, as a file calls them, and others, by the names of the fields."""
    readers = {_called(name, link): reader for name, reader in fields.items()} | others
    parts = strict.record(value, where, readers, optional=optional)
    return {name: parts.pop(_called(name, link)) for name in fields} | parts


def _member_in(value: Any, where: str, network: Network) -> dict[str, Any] | None:
    """Return the plain values of how one network grew; None when it is too long to keep."""
    link, first = network.link, networks.inputs_of(network.schema)

    def step(value: Any, where: str) -> dict[str, Any]:
        cells = strict.array(strict.anything, len(_STEP))(value, where)
        return {name: _STEP[name](cell, f"{where}.{name}") for name, cell in zip(_STEP, cells, strict=True)}

    def steps(value: Any, where: str) -> list[dict[str, Any]]:
        parts = strict.record(value, where, {"fields": strict.anything, "values": strict.array(step)})
        if parts["fields"] != (fields := [_called(name, link) for name in _STEP]):
            raise ModelFileError(f"{where}.fields must be {', '.join(fields)}.")
        return list(parts["values"])

    if isinstance(value, dict) and "conditions" in value:
        plain = _record(value, where, _HISTORY, link, steps=steps, conditions=strict.anything)
        return plain | {"conditions": _stages_in(plain["conditions"], f"{where}.conditions", network)}
    plain = _record(
        value, where, _HISTORY, link, steps=steps, layers=networks.layers_in(first), paths=strict.array(strict.anything)
    )
    plain["inputs"] = plain.pop("layers")
    inputs: list[networks.Inputs] = [first, *([None] * layer.width for layer in plain["inputs"])]
    if len(plain["paths"]) != len(inputs):
        raise ModelFileError(f"{where}.paths must have one entry per layer ({len(inputs)}); got {len(plain['paths'])}.")
    plain["paths"] = [
        _path_in(path, f"{where}.paths[{layer}]", inputs[layer], network) for layer, path in enumerate(plain["paths"])
    ]
    most = _MANY_STEPS + 2 * sum(len(path["snapshots"]) for path in plain["paths"])
    if len(plain["steps"]) > most:
        raise ModelFileError(f"{where}.steps.values has {len(plain['steps'])} steps, and its paths explain {most}.")
    sizes = [len(path["snapshots"]) - 1 for path in plain["paths"]]
    return plain if _fits(sizes, [len(one) for one in inputs]) else None


def _stages_in(value: Any, where: str, network: Network) -> list[dict[str, Any]]:
    """Return how well the network of every size did, and the network."""

    def one(value: Any, where: str) -> Network:
        return networks.network_in(value, where, network.schema)

    parts = strict.record(value, where, {"networks": strict.array(one), "sizes": strict.array(strict.anything)})
    if not parts["sizes"] or not parts["networks"]:
        raise ModelFileError(f"{where}.sizes must hold one of size 0 at least.")
    place = strict.whole(len(parts["networks"]) - 1)
    stages = [
        _record(stage, f"{where}.sizes[{size}]", _SNAPSHOT, network.link, network=place)
        for size, stage in enumerate(parts["sizes"])
    ]
    for size, stage in enumerate(stages):
        stage["network"] = parts["networks"][stage["network"]]
        if stage["network"].n_conditions > size or stage["network"].link != network.link:
            raise ModelFileError(f"{where}.sizes[{size}] must have a network of at most {size} conditions.")
    return stages


def _path_in(value: Any, where: str, inputs: networks.Inputs, network: Network) -> dict[str, Any]:
    """Return a layer's conditions, and its snapshots in plain values."""
    readers = {"conditions": strict.array(oblique_in(inputs)), "snapshots": strict.array(strict.anything)}
    path = strict.record(value, where, readers)
    if not path["snapshots"]:
        raise ModelFileError(f"{where}.snapshots must hold one of size 0 at least.")
    weights, columns = strict.array(strict.number, network.n_outputs), network.schema.columns

    def linear(value: Any, where: str) -> tuple[Linear, list[float]]:
        column, coef, ends = strict.array(strict.anything, 3)(value, where)
        place = strict.whole(network.n_inputs - 1)(column, f"{where}[0]")
        return Linear(place, *ends_in(ends, f"{where}[2]"), columns[place].typical), weights(coef, f"{where}[1]")

    others = {
        "intercept": weights, "conditions": strict.array(strict.whole(len(path["conditions"]) - 1)),
        "coef": strict.array(weights), "linear": strict.array(linear),
    }  # fmt: skip
    snapshots = []
    for size, one in enumerate(path["snapshots"]):
        at = f"{where}.snapshots[{size}]"
        snapshot = _record(one, at, _SNAPSHOT, network.link, optional=("linear",), **others)
        rules = size - len(snapshot.setdefault("linear", []))
        for name in ("conditions", "coef"):
            if len(snapshot[name]) != rules:
                raise ModelFileError(f"{at}.{name} must have {rules} entries; got {len(snapshot[name])}.")
        snapshot["coef"] = np.array(snapshot["coef"]).reshape(-1, network.n_outputs)
        with np.errstate(over="ignore"):
            if not np.isfinite(np.abs(snapshot["intercept"]) + np.abs(snapshot["coef"]).sum(axis=0)).all():
                raise ModelFileError(f"{at} must predict what float64 can hold; its intercept and coef add up to more.")
        snapshots.append(snapshot)
    return path | {"snapshots": snapshots}


def history_of(plain: Mapping[str, Any], network: Network) -> History | EnsembleHistory:
    """Build the history of `network`, or say why it is not its history."""
    from bgn.grow.ensemble import EnsembleHistory

    try:
        members = tuple(_member_of(one, network) for one in plain.get("members", (plain,)))
        several = {name: plain[name] for name in _ENSEMBLE}
        history = EnsembleHistory(members, **several) if "members" in plain else members[0]
        grown = history.network()
    except (ValueError, IndexError) as error:
        raise ModelFileError(f"history does not lead to a network: {error}") from None
    if grown != network or grown.members != network.members:
        raise ModelFileError("history does not lead to the network of the file.")
    return history


def _member_of(plain: Mapping[str, Any], network: Network) -> History:
    """Build the history of one network."""
    from bgn.grow.history import History, Record, Snapshot, Stage

    several = network.link == "softmax"

    def snapshot(conditions: Sequence[Oblique], values: Mapping[str, Any]) -> Snapshot:
        linear = np.array([coef for _, coef in values["linear"]]).reshape(-1, network.n_outputs)
        return Snapshot(
            tuple(conditions[index] for index in values["conditions"]),
            values["coef"] if several else values["coef"][:, 0],
            np.array(values["intercept"]) if several else values["intercept"][0],
            **{name: values[name] for name in _SNAPSHOT},
            linear=tuple(term for term, _ in values["linear"]),
            linear_coef=linear if several else linear[:, 0],
        )

    if "conditions" in plain:
        paths: list[tuple[Any, ...]] = [tuple(Stage(**one) for one in plain["conditions"])]
    else:
        paths = [tuple(snapshot(path["conditions"], one) for one in path["snapshots"]) for path in plain["paths"]]
    return History(
        tuple(Record(*[*step.values(), math.nan]) for step in plain["steps"]), tuple(paths),
        tuple(plain.get("inputs", ())),
        network.n_inputs, **{name: plain[name] for name in _HISTORY},
        schema=network.schema, link=network.link, bounds=network.bounds,
    )  # fmt: skip


# -- fitted estimators around a network ---------------------------------------------------------------------

KINDS = ("regressor", "classifier")
_PLAIN = str, int, float, bool, np.generic


def kind_of(network: Network) -> str:
    """Return which kind of estimator grows such a network."""
    return KINDS[network.link != "identity"]


def _class_of(kind: str) -> type[Any]:
    from bgn.estimators import BGNClassifier, BGNRegressor

    return BGNClassifier if kind == "classifier" else BGNRegressor


def settings_out(model: Any, kind: str) -> dict[str, Any]:
    """Return the settings that the estimator a file is read as has, too; not a cluster's client."""
    known = _class_of(kind)().get_params()
    return {name: plain_setting(value) for name, value in model.get_params().items() if name in known}


def plain_setting(value: Any) -> Any:
    """Return a setting as JSON can hold it; a mapping becomes pairs, a set a list, and what is no plain value null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain_setting(one) for name, one in asdict(value).items()}
    if isinstance(value, Mapping):
        return [[category_out(key), plain_setting(one)] for key, one in value.items()]
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=lambda one: (isinstance(one, str), one))
    if isinstance(value, (list, tuple)):
        groups = set, frozenset, list, tuple  # names or positions of columns
        plain = all(
            one is None or isinstance(one, _PLAIN)
            or (isinstance(one, groups) and all(isinstance(name, (str, int)) for name in one))
            for one in value
        )  # fmt: skip
        return [plain_setting(one) for one in value] if plain else None
    finite = not isinstance(value, float) or np.isfinite(value)
    return value if isinstance(value, (str, int, float, bool)) and finite else None


def settings_in(value: Any, where: str) -> dict[str, Any]:
    """Return settings by name: plain values and lists of them, weights of classes, and constraints on columns."""

    def pairs(value: Any, where: str) -> dict[Any, Any]:
        labelled = strict.array(strict.array(category_in, 2))(value, where)
        for number, (_, weight) in enumerate(labelled):
            strict.number(weight, f"{where}[{number}][1]")
        return dict(labelled)  # type: ignore[arg-type]

    def monotone(value: Any, where: str) -> Any:
        return (pairs if any(isinstance(one, list) for one in value) else strict.array(strict.number))(value, where)

    def cuts(value: Any, where: str) -> dict[Any, Any]:
        labelled = strict.array(strict.array(strict.anything, 2))(value, where)
        return {
            category_in(column, f"{where}[{number}][0]"): strict.array(strict.number)(own, f"{where}[{number}][1]")
            for number, (column, own) in enumerate(labelled)
        }

    # What each reads where it is a list; these few are null or text otherwise.
    lists = {
        "class_weight": pairs,
        "monotonic_cst": monotone,
        "cuts": cuts,
        "interaction_cst": strict.array(strict.array(strict.scalar)),
    }
    settings: dict[str, Any] = {}
    for name, one in strict.obj(value, where).items():
        read = lists.get(name, strict.array(strict.scalar))
        if name == "growth":
            read = strict.optional(strict.mapping(strict.scalar))
        elif not isinstance(one, list):
            read = strict.optional(strict.text) if name in lists else strict.scalar
        settings[name] = read(one, f"{where}.{name[:60]}")
    return settings


def estimator(network: Network, settings: Mapping[str, Any], history: Mapping[str, Any] | None) -> Any:
    """Build a fitted estimator around a network."""
    from bgn.grow.search import GrowthSettings

    make, growth = _class_of(kind_of(network)), settings.get("growth")
    unknown = {*settings} - {*make().get_params()} | {*(growth or {})} - {*asdict(GrowthSettings())}
    if unknown:
        name = strict.short(min(unknown))
        raise ModelFileError(f"settings has {name}, which this version of bgn does not know. Upgrade bgn.")
    model = make(**dict(settings) | ({} if growth is None else {"growth": GrowthSettings(**growth)}))
    model.network_ = network
    model.n_features_in_ = len(network.schema.raws)
    if network.schema.named:
        model.feature_names_in_ = np.array(network.schema.raws, dtype=object)
    if (labels := network.schema.classes) is not None:
        model.classes_ = np.array(labels, dtype=None if len({*map(type, labels)}) == 1 else object)
    if history is not None:
        model.history_ = history_of(history, network)
    return model
