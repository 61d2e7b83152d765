"""How a network grew, to plain values and back.

Each layer's neurons stand once and its snapshots, one per width, point to them. Of very many steps only the last of
each kind at every width stays, and a history that would fill the file is left out. The clock is not kept: the same fit
writes the same file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bgn.model.network import Network
from bgn.model.term import Linear
from bgn.persist import growth, strict
from bgn.persist import network as networks
from bgn.persist.network import category_in, category_out, ends_in, ends_out
from bgn.persist.strict import ModelFileError, Reader

if TYPE_CHECKING:
    from bgn.grow.ensemble import EnsembleHistory
    from bgn.grow.history import History, Record, Snapshot
    from bgn.model.term import Oblique

_MANY_STEPS = 20_000
_MOST_ENTRIES = 1_000_000
_MOST_SQUARED = 1e306


def _square(value: Any, where: str) -> float:
    """Return a number of the size that squared errors can have: targets go up to 1e150."""
    result = strict.number(value, where)
    if abs(result) > _MOST_SQUARED:
        raise strict.refuse(where, f"a squared error of at most {_MOST_SQUARED:g}", value)
    return result


def _maybe(value: Any, where: str) -> float:
    """Return a squared error, NaN for null."""
    return math.nan if value is None else _square(value, where)


# What files of earlier versions call parameters, and the limits that growth stopped at.
RENAMED = {"max_width": "max_terms", "n_networks": "ensemble"}
# Those that were parameters of their own, and stand in the parameter `growth` now.
_GROWTH = ("max_replacements", "sweeps", "patience", "simplicity")


def _stopped(value: Any, where: str) -> str:
    """Return why growth stopped, in today's names."""
    reason = strict.text(value, where)
    return RENAMED.get(reason, reason)


# What is kept of a history, a snapshot and a record besides networks, and how it is read.
_COUNT = strict.whole(2**63)
_HISTORY: dict[str, Reader[Any]] = {
    "best_layer": _COUNT, "best_width": _COUNT, "stopped": _stopped, "shrinkage": strict.number,
    "n_validation": _COUNT,
}  # fmt: skip
_AVERAGE: dict[str, Reader[Any]] = {
    "best_layer": _COUNT, "best_width": _COUNT, "stopped": _stopped,
}  # fmt: skip
_SNAPSHOT: dict[str, Reader[Any]] = {
    "train_loss": _square, "validation_loss": _maybe, "validation_deviation": _maybe,
}  # fmt: skip
_STEP: dict[str, Reader[Any]] = {
    "layer": _COUNT, "width": _COUNT, "kind": strict.text, "neuron": _COUNT, "train_loss": _square,
    "validation_loss": _maybe, "bound": _maybe,
}  # fmt: skip


def _written(name: str, link: str) -> str:
    """Return how a file calls a field: losses of numbers are squared errors."""
    return name.replace("_loss", "_mse") if link == "identity" else name


# -- out ----------------------------------------------------------------------------------------------------


def history_out(history: History | EnsembleHistory) -> dict[str, Any] | None:
    """Return a history as plain values, of an average one per network; None when it is too long to keep."""
    members: Sequence[Any] = getattr(history, "members", (history,))
    entries = sum(
        len(snapshot.neurons) * np.size(snapshot.base)
        for each in members for path in each.paths for snapshot in path
    )  # fmt: skip
    found = [None if entries > _MOST_ENTRIES else _member_out(each) for each in members]
    if any(each is None for each in found):
        return None
    if not hasattr(history, "members"):
        return found[0]
    return _kept(history, _AVERAGE) | {"members": found}


def _member_out(history: History) -> dict[str, Any] | None:
    """Return the history of one network as plain values; None where it could not be saved."""
    reads = [history.n_inputs, *(layer.width for layer in history.inputs)]
    if not _fits([len(path[-1].neurons) for path in history.paths], reads):
        return None
    steps = [list(_kept(record, _STEP).values()) for record in _thinned(history.records)]
    return _kept(history, _HISTORY) | {
        "steps": {"fields": [_written(name, history.link) for name in _STEP], "values": steps},
        "inputs": [networks.layer_out(layer) for layer in history.inputs],
        "paths": [_path_out(path, history.link) for path in history.paths],
    }


def _kept(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return some of a record's fields, null for what is not finite."""
    fields = {name: getattr(value, name) for name in names}
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in fields.items()}


def _fits(widths: Sequence[int], reads: Sequence[int]) -> bool:
    """Whether the network of every width, zeros included, is one that could be saved by itself."""
    return all(width * read <= networks.MOST_WEIGHTS for width, read in zip(widths, reads, strict=True))


def _thinned(records: tuple[Record, ...]) -> list[Record]:
    if len(records) <= _MANY_STEPS:
        return list(records)
    return list({(record.layer, record.width, record.kind): record for record in records}.values())


def _path_out(path: Sequence[Snapshot], link: str) -> dict[str, Any]:
    number: dict[Oblique, int] = {}
    snapshots = [
        {_written(name, link): value for name, value in _kept(snapshot, _SNAPSHOT).items()}
        | {
            "base": np.asarray(snapshot.base).tolist(),
            "neurons": [number.setdefault(neuron, len(number)) for neuron in snapshot.neurons],
            "output_weights": snapshot.output_weights.tolist(),
        }
        | ({"linear_terms": _linear_out(snapshot)} if snapshot.linear else {})
        for snapshot in path
    ]
    return {"neurons": [networks.neuron_out(neuron) for neuron in number], "snapshots": snapshots}


def _linear_out(snapshot: Snapshot) -> list[Any]:
    pairs = zip(snapshot.linear, snapshot.linear_coef, strict=True)
    return [[term.column, np.atleast_1d(coef).tolist(), ends_out(term.low, term.high)] for term, coef in pairs]


# -- in -----------------------------------------------------------------------------------------------------


def history_in(value: Any, where: str, network: Network) -> dict[str, Any] | None:
    """Return the plain values of a network's history; whether it leads to the network is seen when it is built.

    None when it is too long to keep.
    """
    if not isinstance(value, dict) or "members" not in value:
        return _member_in(value, where, network)
    parts = _AVERAGE | {"members": strict.array(strict.anything)}
    found = strict.record(value, where, parts)
    each = [_member_in(one, f"{where}.members[{k}]", network) for k, one in enumerate(found["members"])]
    return None if not each or any(one is None for one in each) else found | {"members": each}


def _member_in(value: Any, where: str, network: Network) -> dict[str, Any] | None:
    """Return the plain values of how one network grew; None when it is too long to keep."""
    categories = networks.categories_of(network.schema)
    others: dict[str, Reader[Any]] = {
        "steps": _steps_in(network.link), "inputs": networks.layers_in(categories), "paths": strict.array(strict.anything)
    }  # fmt: skip
    found = strict.record(value, where, _HISTORY | others)
    inputs: list[networks.Categories] = [categories, *([None] * layer.width for layer in found["inputs"])]
    if len(found["paths"]) != len(inputs):
        raise ModelFileError(f"{where}.paths must have one entry per layer ({len(inputs)}); got {len(found['paths'])}.")
    found["paths"] = [
        _path_in(path, f"{where}.paths[{layer}]", inputs[layer], network) for layer, path in enumerate(found["paths"])
    ]
    most = _MANY_STEPS + 2 * sum(len(path["snapshots"]) for path in found["paths"])
    if len(found["steps"]) > most:
        raise ModelFileError(f"{where}.steps.values has {len(found['steps'])} steps, and its paths explain {most}.")
    widths = [len(path["snapshots"]) - 1 for path in found["paths"]]
    return found if _fits(widths, [len(each) for each in inputs]) else None


def _steps_in(link: str) -> Reader[list[dict[str, Any]]]:
    """Return the reader of steps that lower the loss of a link."""

    def step(value: Any, where: str) -> dict[str, Any]:
        cells = strict.array(strict.anything, len(_STEP))(value, where)
        return {name: _STEP[name](cell, f"{where}.{name}") for name, cell in zip(_STEP, cells, strict=True)}

    def read(value: Any, where: str) -> list[dict[str, Any]]:
        found = strict.record(value, where, {"fields": strict.anything, "values": strict.array(step)})
        fields = [_written(name, link) for name in _STEP]
        if found["fields"] != fields:
            raise ModelFileError(f"{where}.fields must be {', '.join(fields)}.")
        steps: list[dict[str, Any]] = found["values"]
        return steps

    return read


def _path_in(value: Any, where: str, inputs: networks.Categories, network: Network) -> dict[str, Any]:
    """Return a layer's neurons, and its snapshots in plain values."""
    parts = {"neurons": strict.array(networks.neuron_in(inputs)), "snapshots": strict.array(strict.anything)}
    found = strict.record(value, where, parts)
    if not found["snapshots"]:
        raise ModelFileError(f"{where}.snapshots must hold one of width 0 at least.")
    index, shape = strict.whole(len(found["neurons"]) - 1), np.shape(network.base)
    base: Reader[Any] = strict.array(strict.number, *shape) if shape else strict.number
    read = {_written(name, network.link): reader for name, reader in _SNAPSHOT.items()} | {"base": base}
    read |= {"neurons": strict.array(index), "output_weights": strict.array(base)}
    read["linear_terms"] = strict.array(_linear_in(network))
    found["snapshots"] = [
        _snapshot_in(each, f"{where}.snapshots[{width}]", read, width) for width, each in enumerate(found["snapshots"])
    ]
    return found


def _linear_in(network: Network) -> Reader[tuple[Linear, list[float]]]:
    """Return the reader of linear terms of a network's columns, and their weights."""

    def read(value: Any, where: str) -> tuple[Linear, list[float]]:
        column, slopes, ends = strict.array(strict.anything, 3)(value, where)
        place = strict.whole(network.n_inputs - 1)(column, f"{where}[0]")
        numbers = strict.array(strict.number, max(1, np.size(network.base)))(slopes, f"{where}[1]")
        typical = network.schema.columns[place].typical
        return Linear(place, *ends_in(ends, f"{where}[2]"), None if typical is None else float(typical)), numbers

    return read


def _snapshot_in(value: Any, where: str, readers: Mapping[str, Reader[Any]], width: int) -> dict[str, Any]:
    found = strict.record(value, where, readers, optional=("linear_terms",))
    linear = found.setdefault("linear_terms", [])
    for name in ("neurons", "output_weights"):
        if len(found[name]) + len(linear) != width:
            raise ModelFileError(f"{where}.{name} must have {width - len(linear)} entries; got {len(found[name])}.")
    base = np.array(found.pop("base"))
    weights = np.array(found.pop("output_weights")).reshape(-1, *base.shape)
    with np.errstate(over="ignore"):
        if not np.isfinite(np.abs(base) + np.abs(weights).sum(axis=0)).all():
            raise ModelFileError(
                f"{where} must predict what float64 can hold; its base and output_weights add up to more."
            )
    losses = {name.replace("_mse", "_loss"): each for name, each in found.items()}
    return losses | {"base": base if base.ndim else float(base), "output_weights": weights}


def history_of(plain: Mapping[str, Any], network: Network) -> History | EnsembleHistory:
    """Build the history of `network`, or say why it is not its history."""
    from bgn.grow.ensemble import EnsembleHistory

    try:
        history: History | EnsembleHistory
        if "members" in plain:
            members = tuple(_member_of(each, network) for each in plain["members"])
            history = EnsembleHistory(members, **{name: plain[name] for name in _AVERAGE})
        else:
            history = _member_of(plain, network)
        grown = history.network()
    except (ValueError, IndexError) as error:
        raise ModelFileError(f"history does not lead to a network: {error}") from None
    if grown != network or grown.members != network.members:
        raise ModelFileError("history does not lead to the network of the file.")
    return history


def _member_of(plain: Mapping[str, Any], network: Network) -> History:
    """Build the history of one network."""
    from bgn.grow.history import History, Record, Snapshot

    def snapshot(neurons: Sequence[Oblique], values: Mapping[str, Any]) -> Snapshot:
        chosen = tuple(neurons[index] for index in values["neurons"])
        losses = {name: values[name] for name in _SNAPSHOT}
        weights, base = values["output_weights"], values["base"]
        coef = np.array([numbers for _, numbers in values["linear_terms"]]).reshape(-1, *weights.shape[1:])
        linear = tuple(term for term, _ in values["linear_terms"])
        return Snapshot(chosen, weights, base, **losses, linear=linear, linear_coef=coef)

    paths = [tuple(snapshot(path["neurons"], each) for each in path["snapshots"]) for path in plain["paths"]]
    return History(
        tuple(Record(*[*step.values(), math.nan]) for step in plain["steps"]), tuple(paths), tuple(plain["inputs"]),
        network.n_inputs, **{name: plain[name] for name in _HISTORY},
        schema=network.schema, link=network.link, bounds=network.bounds,
    )  # fmt: skip


# -- Fitted estimators around a network, to plain values and back.

KINDS = ("regressor", "classifier")
_PLAIN = str, int, float, bool, np.generic


def kind_of(network: Network) -> str:
    """Return which kind of estimator grows such a network."""
    return KINDS[network.link != "identity"]


def _class_of(kind: str) -> type[Any]:
    if kind == "classifier":
        from bgn.estimators import BGNClassifier

        return BGNClassifier
    from bgn.estimators import BGNRegressor

    return BGNRegressor


# -- out ----------------------------------------------------------------------------------------------------


def settings_out(model: Any, kind: str) -> dict[str, Any]:
    """Return the settings that the estimator a file is read as has, too; not a cluster's client."""
    known = _class_of(kind)().get_params()
    return {name: _plain(value) for name, value in model.get_params().items() if name in known}


def _plain(value: Any) -> Any:
    """Return a setting as JSON can hold it; a mapping becomes pairs, a set a list, and what is no plain value null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(one) for name, one in asdict(value).items()}
    if isinstance(value, Mapping):
        return [[category_out(key), _plain(each)] for key, each in value.items()]
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=lambda each: (isinstance(each, str), each))
    if isinstance(value, (list, tuple)):
        plain = all(each is None or isinstance(each, _PLAIN) or _is_group(each) for each in value)
        return [_plain(each) for each in value] if plain else None
    finite = not isinstance(value, float) or np.isfinite(value)
    return value if isinstance(value, (str, int, float, bool)) and finite else None


def _is_group(value: Any) -> bool:
    """Return whether something holds names or positions of columns."""
    return isinstance(value, (set, frozenset, list, tuple)) and all(isinstance(each, (str, int)) for each in value)


# -- in -----------------------------------------------------------------------------------------------------


def settings_in(value: Any, where: str) -> dict[str, Any]:
    """Return settings by name: plain values and lists of them, weights of classes, and what columns want."""
    readers = {
        "class_weight": _pairs_in, "monotonic_cst": _monotone_in, "interaction_cst": _groups_in,
        "growth": strict.optional(strict.mapping(strict.scalar)),
    }  # fmt: skip
    settings = {
        RENAMED.get(name, name): readers.get(name, _setting)(one, f"{where}.{name[:60]}")
        for name, one in strict.obj(value, where).items()
    }
    own = {name: settings.pop(name) for name in _GROWTH if name in settings}
    return settings | ({"growth": own} if own else {})


def _setting(value: Any, where: str) -> Any:
    return (strict.array(strict.scalar) if isinstance(value, list) else strict.scalar)(value, where)


def _monotone_in(value: Any, where: str) -> Any:
    """Return null, a number per column, or what pairs of a column and a number say."""
    plain = isinstance(value, list) and not any(isinstance(each, list) for each in value)
    return strict.array(strict.number)(value, where) if plain else _pairs_in(value, where)


def _groups_in(value: Any, where: str) -> Any:
    """Return null, a word, or groups of names or positions of columns."""
    groups = strict.array(strict.array(strict.scalar)) if isinstance(value, list) else strict.optional(strict.text)
    return groups(value, where)


def _pairs_in(value: Any, where: str) -> Any:
    """Return null, a word, or what pairs of a label and a weight say."""
    if not isinstance(value, list):
        return strict.optional(strict.text)(value, where)
    pairs = strict.array(strict.array(category_in, 2))(value, where)
    for number, (_, weight) in enumerate(pairs):
        strict.number(weight, f"{where}[{number}][1]")
    return {label: weight for label, weight in pairs}  # noqa: C416


def estimator(network: Network, settings: Mapping[str, Any], history: Mapping[str, Any] | None) -> Any:
    """Build a fitted estimator around a network."""
    from bgn.grow.search import GrowthSettings

    make, own = _class_of(kind_of(network)), settings.get("growth") or {}
    unknown = sorted({*settings} - {*make().get_params()} | {*own} - {*_GROWTH})
    if unknown:
        name = strict.short(unknown[0])
        raise ModelFileError(f"settings has {name}, which this version of bgn does not know. Upgrade bgn.")
    model = make(**dict(settings) | ({"growth": GrowthSettings(**own)} if own else {}))
    model.network_ = network
    model.n_features_in_ = len(network.schema.raws)
    if network.schema.named:
        model.feature_names_in_ = np.array(network.schema.raws, dtype=object)
    if (labels := network.schema.classes) is not None:
        model.classes_ = np.array(labels, dtype=None if len({*map(type, labels)}) == 1 else object)
    if history is not None:
        model.history_ = growth.history_of(history, network)
    return model
