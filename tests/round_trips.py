"""What a model is after a file: the same, but for the clock of its history and settings that no file can hold."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import bgn
from bgn import BGNClassifier, BGNRegressor, Network
from bgn.model.categories import KeptCategories
from bgn.persist import growth
from bgn.persist.growth import plain_setting

# Memory, where the system has a folder for it: a model is written and read after every fit of the suite.
_MEMORY = Path("/dev/shm")


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Make a folder for files that are read at once."""
    return tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None)


def bits(network: Network) -> tuple[Any, ...]:
    """Return everything in a network, to the bit."""
    conditions = [
        [condition, *(number.hex() for number in condition.as_oblique().projection.numbers)]
        for layer in (*network.below, network.rules)
        for one in (layer.neurons if hasattr(layer, "neurons") else layer)
        for condition in getattr(one, "conditions", (one,))
    ]
    weights = network.coef.tobytes(), network.intercept.tobytes()
    return (network.schema, network.terms, *conditions, *weights, network.link)


def timeless(history: Any) -> str:
    """Return what a file keeps of a history, in a form that compares NaN with NaN."""
    if hasattr(history, "members"):
        kept = (history.best_layer, history.best_size, history.stopped)
        return repr([*kept, *map(timeless, history.members)])
    paths = [
        [
            {**vars(step), "network": bits(step.network)} if hasattr(step, "network")
            else {**vars(step), "output_weights": step.output_weights.tolist()}
            for step in path
        ]
        for path in history.paths
    ]  # fmt: skip
    kept = [replace(record, seconds=0.0, member=0) for record in growth._thinned(history.records)]
    return repr({**vars(history), "records": kept, "paths": paths})


def through_a_file(model: Any, folder: str | Path) -> Any:
    """Return a fitted model as it comes back from a file; anything but its equal is an error."""
    path = Path(folder) / "model.json"
    bgn.save(model, path)
    again = bgn.load(path)
    kept = KeptCategories.of(model.network_)  # rare categories of columns that are not asked about stay behind
    network, history = kept.network(model.network_), kept.history(model.history_)
    assert type(again) is (BGNClassifier if hasattr(model, "classes_") else BGNRegressor)
    if hasattr(model, "classes_"):
        assert repr(again.classes_) == repr(model.classes_)
    assert bits(again.network_) == bits(network)
    assert repr(again.network_) == repr(network)
    assert again.network_.members == model.network_.members
    assert again.n_features_in_ == model.n_features_in_
    assert list(getattr(again, "feature_names_in_", ())) == list(getattr(model, "feature_names_in_", ()))
    settings = model.get_params()
    written = {name: plain_setting(value) for name, value in settings.items()}  # sets are lists there
    assert {name: plain_setting(value) for name, value in again.get_params().items()} == {
        name: written[name] for name in again.get_params()
    }
    lost = {name for name, value in settings.items() if value is not None and written[name] is None}
    assert lost <= {"random_state", "callbacks", "cv", "client"}
    if type(model) is type(again) and all(
        type(value) is type(getattr(again, name)) and not isinstance(value, list) for name, value in settings.items()
    ):
        assert repr(again) == repr(model)
    if growth.history_out(history) is None:
        assert not hasattr(again, "history_")
        return again
    assert timeless(again.history_) == timeless(history)
    assert repr(again.history_).partition("steps")[2] == repr(model.history_).partition("steps")[2]
    for layer, path_of_layer in enumerate(history.paths):
        for size in range(len(path_of_layer)):
            assert bits(again.history_.network(size, layer)) == bits(history.network(size, layer))
    return again


def checked(fit: Callable[..., Any], folder: str | Path) -> Callable[..., Any]:
    """Return a ``fit`` that sends every model through a file."""
    from functools import wraps

    @wraps(fit)
    def fit_and_check(self: Any, *arguments: Any, **named: Any) -> Any:
        fitted = fit(self, *arguments, **named)
        through_a_file(self, folder)
        return fitted

    return fit_and_check
