"""Fitted estimators around a network, to plain values and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bgn.model.network import Network
from bgn.persist import growth, strict
from bgn.persist.network import level_in, level_out
from bgn.persist.strict import ModelFileError

KINDS = ("regressor", "classifier")
_PLAIN = str, int, float, bool, np.generic


def kind_of(network: Network) -> str:
    """Return which kind of estimator grows such a network."""
    return KINDS[network.link != "identity"]


def _class_of(kind: str) -> type[Any]:
    if kind == "classifier":
        from bgn.classifier import BGNClassifier

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
    if isinstance(value, Mapping):
        return [[level_out(key), _plain(each)] for key, each in value.items()]
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
    readers = {"class_weight": _pairs_in, "monotonic_cst": _monotone_in, "interaction_cst": _groups_in}
    return {
        name: readers.get(name, _setting)(each, f"{where}.{name[:60]}")
        for name, each in strict.obj(value, where).items()
    }


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
    pairs = strict.array(strict.array(level_in, 2))(value, where)
    for number, (_, weight) in enumerate(pairs):
        strict.number(weight, f"{where}[{number}][1]")
    return {label: weight for label, weight in pairs}  # noqa: C416


def estimator(network: Network, settings: Mapping[str, Any], history: Mapping[str, Any] | None) -> Any:
    """Build a fitted estimator around a network."""
    make = _class_of(kind_of(network))
    unknown = sorted(set(settings) - set(make().get_params()))
    if unknown:
        name = strict.short(unknown[0])
        raise ModelFileError(f"settings has {name}, which this version of bgn does not know. Upgrade bgn.")
    model = make(**settings)
    model.network_ = network
    model.n_features_in_ = len(network.schema.raws)
    if network.schema.named:
        model.feature_names_in_ = np.array(network.schema.raws, dtype=object)
    if (labels := network.schema.classes) is not None:
        model.classes_ = np.array(labels, dtype=None if len({*map(type, labels)}) == 1 else object)
    if history is not None:
        model.history_ = growth.history_of(history, network)
    return model
