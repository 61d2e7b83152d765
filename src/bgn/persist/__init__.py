"""Models as files: versioned JSON that a person can read and a pull request can show.

A file holds the schema (columns with categories, units and ranges), the network term by term, settings, figures, how
the columns of a data file become features, and a few made-up rows with their predictions, which :func:`load` computes
again. No row of a dataset is in it, and `bgn.model.categories` says which categories are. Nothing in a file is
executed. Numbers are written by ``repr``, so a round trip is exact to the bit; what is written is read back before it
gets its name. New files have version 3; `earlier` tells those of versions 1 and 2 in its words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

import bgn
from bgn.conformal import Intervals
from bgn.model.categories import KeptCategories
from bgn.model.network import Edit, Network
from bgn.persist import earlier, growth, parts, strict
from bgn.persist import network as networks
from bgn.persist.parts import HeldOut, edits_in, edits_out, intervals_in, intervals_out
from bgn.persist.strict import ModelFileError, layout
from bgn.pipelines import is_wrapped, see_through
from bgn.preparation import Preparation
from bgn.whole_file import write_whole

__all__ = ["HeldOut", "ModelFile", "ModelFileError", "load", "read", "save"]

_FORMAT = "bgn model"
_VERSION = 3
_MANY = 1000

Result = TypeVar("Result")
Figures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class ModelFile:
    """Everything a model file holds."""

    network: Network  # whatever was saved
    library: str  # the version of bgn that wrote the file
    settings: Mapping[str, Any] | None = None  # parameters of the estimator; None for a network by itself
    history: Mapping[str, Any] | None = None  # how it grew, in plain values
    units: Mapping[str, str] = field(default_factory=dict)  # of columns and target, by name
    figures: Figures = field(default_factory=dict)  # scores by model ("test", "mean", "linear", ...) and by name
    preparation: Preparation | None = None  # how columns of a data file become inputs; None where they are the inputs
    held_out: HeldOut | None = None  # the test rows of the data file; None where they are not known
    intervals: Intervals | None = None
    edits: tuple[Edit, ...] = ()  # what an expert changed in it, in order

    def with_network(self, network: Network) -> Any:
        """Build what another network made of the one that was saved is, with the same settings."""
        return replace(self, network=network, history=None, intervals=None, edits=()).model()

    def model(self) -> Any:
        """Build what was saved: the network, or the fitted estimator around it."""
        if self.settings is None:
            return self.network
        model = growth.estimator(self.network, self.settings, self.history)
        if self.intervals is not None:
            model.intervals_ = self.intervals
        if self.edits:
            model.edits_ = self.edits
        return model


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    units: Mapping[str, str] | None = None,
    figures: Figures | None = None,
    preparation: Preparation | None = None,
    held_out: HeldOut | None = None,
    intervals: Intervals | None = None,
    edits: Sequence[Edit] | None = None,
) -> None:
    """Write a model to a JSON file that :func:`load` reads back, exact to the bit.

    Parameters
    ----------
    model : Network, or fitted BGNRegressor or BGNClassifier
        What to keep. An estimator's settings that are not plain values (a random generator) are kept as null.
    path : str or path-like
        Where; an existing file is replaced, and only once the new one is whole.
    units, figures, preparation, held_out, intervals, edits : optional
        See :class:`ModelFile`. Figures that are not finite are left out; an estimator's own ``intervals_`` and
        ``edits_`` are kept.

    Examples
    --------
    >>> import bgn, tempfile, os
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.59]], [-63.56])], [0.505], 1.0, ["income", "age"], "value")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bgn.save(network, os.path.join(folder, "model.json"))
    ...     bgn.load(os.path.join(folder, "model.json")) == network
    True
    """
    model = _undone(model)
    network = model if isinstance(model, Network) else getattr(model, "network_", None)
    if not isinstance(network, Network):
        raise TypeError(
            f"model must be a bgn.Network or a fitted estimator of bgn; got {type(model).__name__}. Fit first."
        )
    if preparation is not None and preparation.schema.names != network.names:
        raise ValueError("preparation must make the network's features, in order; its names differ.")
    if sum(layer.width * layer.n_inputs for layer in network.layers) > networks.MOST_WEIGHTS:
        raise ValueError(f"model must have at most {networks.MOST_WEIGHTS} weights, zeros included, to be saved.")
    try:
        content = _content(model, network, units or {}, figures or {}, preparation)
        content |= {} if held_out is None else {"held_out": asdict(held_out)}
        intervals = intervals or getattr(model, "intervals_", None)
        if intervals is not None and intervals.network == network:
            content |= {"intervals": intervals_out(KeptCategories.of(network).intervals(intervals))}
        log = getattr(model, "edits_", ()) if edits is None else edits
        content |= {"edits": edits_out(log)} if log else {}
        written = (layout(content) + "\n").encode("utf-8", "backslashreplace")  # as JSON escapes what UTF-8 lacks
        if len(written) > strict.MOST_BYTES:
            raise ModelFileError(f"it takes {len(written)} bytes, more than the {strict.MOST_BYTES} that load reads.")
        _read(strict.parse(written), len(written)).model()
    except ModelFileError as error:
        raise ValueError(f"model cannot be saved: {error}") from None
    write_whole(path, written)


def _undone(model: Any) -> Any:
    """Return a pipeline's estimator, with a network that reads the dataset itself; refuse where there is none."""
    if not is_wrapped(model):
        return model
    seen = see_through(model)
    if not seen.whole:
        raise ValueError(
            f"model must read the dataset itself to be saved; steps of this {type(model).__name__} cannot be undone. "
            f"{seen.note} Save its estimator instead, which reads what the steps make: "
            "bgn.save(bgn.pipelines.see_through(model).estimator, path)."
        )
    return seen.model


def _content(
    model: Any, network: Network, units: Mapping[str, str], figures: Figures, preparation: Preparation | None
) -> dict[str, Any]:
    """Return what a file holds, in order, as plain values."""
    kind = "network" if model is network else growth.kind_of(network)
    kept = KeptCategories.of(network)
    history = getattr(model, "history_", None)
    # One that the network has been changed since is not its history.
    grown = None if history is None or history.network() != network else growth.history_out(kept.history(history))
    network = kept.network(network)
    if preparation is not None:
        preparation = replace(preparation, schema=kept.schema(preparation.schema))
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "library": bgn.__version__,
        "kind": kind,
        "schema": networks.schema_out(network.schema),
        "units": dict(units),
        "settings": None if kind == "network" else growth.settings_out(model, kind),
        "network": networks.network_out(network),
        "history": grown,
        "figures": {
            who: {name: float(value) for name, value in scores.items() if np.isfinite(value)}
            for who, scores in figures.items()
        },
        "preparation": None if preparation is None else parts.preparation_out(preparation, network.schema),
        "checks": parts.checks_out(network),
    }


def plain_content(network: Network, units: Mapping[str, str], edits: Sequence[Edit]) -> dict[str, Any]:
    """Return what the file of a network alone holds, as plain values."""
    return _content(network, network, units, {}, None) | ({"edits": edits_out(edits)} if edits else {})


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model kept in a file.

    Parameters
    ----------
    path : str or path-like
        A file written by :func:`save`, by this or any earlier version.

    Returns
    -------
    Network, BGNRegressor or BGNClassifier
        What was saved; it predicts at once.

    Raises
    ------
    ModelFileError
        The file is damaged, made by a newer version, or no model at all. Nothing is returned then, not even in part.
    """
    return _naming(path, lambda file: file.model())


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Return everything a model file holds; :func:`load` returns its model alone."""
    return _naming(path, lambda file: file)


def _naming(path: str | os.PathLike[str], use: Callable[[ModelFile], Result]) -> Result:
    """Read a file and use it; whatever is wrong, the error names the file."""
    try:
        raw = strict.raw_bytes(path)
        return use(_read(strict.parse(raw), len(raw)))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be loaded: {error}") from None


def _read(content: Any, size: int) -> ModelFile:
    """Check a parsed file of `size` bytes from top to bottom and build what it describes."""
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ModelFileError("it is not a bgn model.")
    version = strict.whole(10**9)(content.get("version"), "version")
    if not 1 <= version <= _VERSION:
        raise ModelFileError(f"its format is version {version}; this bgn reads versions 1 to {_VERSION}. Upgrade bgn.")
    content = content if version == _VERSION else earlier.upgraded(content, version)
    # The parts of a network need its schema, and are read later.
    readers: dict[str, strict.Reader[Any]] = {
        "format": strict.text, "version": strict.anything, "library": strict.text, "kind": strict.anything,
        "schema": networks.schema_in(size), "units": strict.mapping(strict.text),
        "settings": strict.optional(growth.settings_in), "network": strict.anything, "history": strict.anything,
        "figures": strict.mapping(strict.mapping(strict.number)),
        "preparation": strict.optional(parts.preparation_in), "checks": strict.anything,
        "held_out": parts.held_out_in, "intervals": strict.anything, "edits": edits_in,
    }  # fmt: skip
    values = strict.record(content, "", readers, optional=("held_out", "intervals", "edits"))
    network = networks.network_in(values.pop("network"), "network", values.pop("schema"), version < _VERSION)
    if (preparation := values["preparation"]) is not None:
        preparation = preparation if preparation.schema.columns else replace(preparation, schema=network.schema)
        if preparation.schema.names != network.feature_names:
            raise ModelFileError("preparation does not make the features that the schema lists.")
        categories = {one.name: one.category_of for one in preparation.schema.columns if one.category_of is not None}
        network = network.changed(schema=network.schema.with_categories(categories))
    if version == 1:  # predicts the bits that it did: the sum was one of floats, in order
        vars(network)["addends"] = network.intercept, network.coef, 1.0
    parts.verify(network, values.pop("checks"), "checks")
    kind, settings, history = values.pop("kind"), values["settings"], values["history"]
    if kind not in ("network", *growth.KINDS) or (kind == "network") != (settings is None):
        raise strict.refuse("kind", "'network', or 'regressor' or 'classifier' with settings", kind)
    if kind != "network" and kind != growth.kind_of(network):
        raise ModelFileError(f"kind is {kind!r}, and the network's link {network.link!r} is that of another.")
    if kind == "network" and history is not None:
        raise ModelFileError("history is that of a fitted estimator; a network alone has none.")
    if kind == "classifier" and network.schema.classes is None:
        raise ModelFileError("schema lacks 'classes', the labels that a classifier predicts.")
    for name in ("units", "figures"):
        if (entries := len(values[name])) > network.n_inputs + _MANY:
            raise ModelFileError(f"{name} has {entries} entries, too many for a model of {network.n_inputs} columns.")
    values["history"] = None if history is None else growth.history_in(history, "history", network)
    if "intervals" in values:
        values["intervals"] = intervals_in(values["intervals"], "intervals", network, version < _VERSION)
    del values["format"], values["version"]
    return ModelFile(**values | {"network": network, "preparation": preparation})
