"""What happened while a network grew: a frozen record per step, and the network at every size."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.numbers import whole_numbers
from bgn.model.schema import Schema
from bgn.model.term import Linear, Oblique
from bgn.tabular import Columns, Tabular


class _MeanLosses:
    """Mean losses, by their names for numbers."""

    train_loss: float
    validation_loss: float

    @property
    def criterion(self) -> float:
        """What selection compares: the validation loss, or the training loss where there is none."""
        return self.train_loss if math.isnan(self.validation_loss) else self.validation_loss

    @property
    def train_mse(self) -> float:
        """The mean squared error on the training rows."""
        return self.train_loss

    @property
    def validation_mse(self) -> float:
        """The mean squared error on the validation rows."""
        return self.validation_loss


@dataclass(frozen=True)
class Record(_MeanLosses):
    """One accepted step of growth.

    Attributes
    ----------
    layer : int
        Index of the hidden layer that grew, as in ``network.layers``.
    n_terms : int
        Its size after the step, linear terms included.
    kind : {"addition", "replacement", "linear"}
    term : int
        Index of the rule, or of the linear term, that was added or replaced.
    train_loss, validation_loss : float
        Mean losses after the step, for numbers squared errors; NaN where there are no validation rows. What
        cross-validation found for a size stands in the snapshot of that size.
    train_mse, validation_mse : float
        The same, by their name for numbers.
    bound : float
        Theorem 1's lower bound on the training loss of any network that keeps this layer; NaN beside linear terms.
    seconds : float
        Since the fit began.
    member : int
        Of an average, the network that grew.
    """

    layer: int
    n_terms: int
    kind: str
    term: int
    train_loss: float
    validation_loss: float
    bound: float
    seconds: float
    member: int = 0


@dataclass(frozen=True)
class LossesAtSize(_MeanLosses):
    """How well networks did at one size, on average."""

    train_loss: float
    validation_loss: float
    validation_deviation: float


@dataclass(frozen=True, eq=False)
class Snapshot(_MeanLosses):
    """A layer at one size: enough to make the network, and how well it did. A linear term counts as a rule does."""

    rules: tuple[Oblique, ...]
    output_weights: NDArray[np.float64]
    base: Any
    train_loss: float
    validation_loss: float
    validation_deviation: float = math.nan
    linear: tuple[Linear, ...] = ()
    linear_coef: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def distinct(self) -> Snapshot:
        """The same with equal rules as one, their output weights added up. Growth may ask again: under a ridge penalty,
        what several share is shrunk less."""
        places = {rule: k for k, rule in enumerate(dict.fromkeys(self.rules))}
        if len(places) == len(self.rules):
            return self
        values, over = whole_numbers(self.output_weights.ravel()) or (self.output_weights, 1.0)
        weights = np.zeros((len(places), *self.output_weights.shape[1:]))
        np.add.at(weights, [places[rule] for rule in self.rules], values.reshape(self.output_weights.shape))
        return replace(self, rules=tuple(places), output_weights=weights / over)

    def layer(self, n_inputs: int) -> Layer:
        """The rules as a hidden layer."""
        return Layer.of(self.rules, n_inputs)


@dataclass(frozen=True, eq=False)
class Stage(_MeanLosses):
    """The best network of at most so many conditions, and how well it did."""

    network: Network
    train_loss: float
    validation_loss: float
    validation_deviation: float = math.nan

    def with_schema(self, schema: Schema) -> Stage:
        return replace(self, network=self.network.changed(schema=schema))


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What networks that were grown without some rows predicted of them, and their targets, or numbers of classes.
    Predictions have one column per size, and a third axis where there are several classes."""

    predictions: NDArray[np.float64]
    targets: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearAlone:
    """A network of linear terms alone: its path, penalty and steps, how much worse it validated than the network that
    was chosen, and the standard error of that one's loss."""

    path: tuple[Snapshot, ...]
    records: tuple[Record, ...]
    stopped: str
    shrinkage: float
    worse: float
    noise: float


class Steps(Tabular):
    """What the histories of one network and of several have in common: a sequence of records."""

    records: Any

    def _columns(self) -> Columns:
        names = [field.name for field in fields(Record)]
        return {name: [getattr(record, name) for record in self.records] for name in names}

    @property
    def counted(self) -> str:
        """What a size counts: "conditions" where growth kept to a budget of them, else "terms"."""
        first: Any = getattr(self, "members", (self,))[0]
        return "conditions" if isinstance(first.paths[0][0], Stage) else "terms"

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True, repr=False)
class History(Steps):
    """The growth of a network, step by step and size by size.

    Attributes
    ----------
    records : tuple of Record
        Every addition and every accepted replacement, in order.
    paths : tuple of tuple of Snapshot
        For each hidden layer, the layer at every size it had: entry 0 is the base alone.
    best_layer, best_size : int
        The layer (index) and size that were chosen.
    stopped : str
        Why growth ended.
    shrinkage : float
        The ridge penalty that the chosen layer was grown with.
    n_validation : int
        Total weight of the validation rows: all of them where the sizes were cross-validated.
    schema : Schema
        The columns, and what is predicted.
    link : str
        What the scores mean: numbers, or log-odds of classes.
    out_of_fold : OutOfFold or None
        What the folds' networks said of the rows they were grown without, while a fit is under way.
    bounds : (float, float) or None
        What predictions do not go beyond: validation losses are theirs, training losses those of the scores.
    linear_alone : LinearAlone or None
        What linear terms alone came to, while an average is under way.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from bgn import BGNRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BGNRegressor(max_terms=4, max_linear=0, cv=None, random_state=0).fit(X, y)
    >>> model.history_.network(2).n_conditions  # what a reader reads: the size of that network
    4
    >>> [record.n_terms for record in model.history_.records if record.kind == "addition"]
    [1, 2, 3, 4]
    >>> len(model.history_) == len(list(model.history_))
    True
    """

    records: tuple[Record, ...]
    paths: tuple[tuple[Any, ...], ...]
    inputs: tuple[Layer, ...]
    n_inputs: int
    best_layer: int
    best_size: int
    stopped: str
    shrinkage: float
    n_validation: int
    schema: Schema
    link: str = "identity"
    out_of_fold: OutOfFold | None = None
    bounds: tuple[float, float] | None = None
    linear_alone: LinearAlone | None = None

    @property
    def cross_validated(self) -> bool:
        """Whether the validation losses of the sizes come from cross-validation: no step has one of its own."""
        known = not math.isnan(self.paths[0][0].validation_loss)
        return known and bool(self.records) and all(math.isnan(record.validation_loss) for record in self.records)

    def network(self, size: int | None = None, layer: int | None = None) -> Network:
        """Return the network as it was when a layer had the given size.

        Where there was a ridge penalty, equal rules are one in it.

        Parameters
        ----------
        size : int, optional
            Any size on the path; the chosen one by default.
        layer : int, optional
            Index of the last hidden layer; the chosen one by default.

        Returns
        -------
        Network
        """
        layer = self.best_layer if layer is None else layer
        if not 0 <= layer < len(self.paths):
            raise ValueError(f"layer must be between 0 and {len(self.paths) - 1}; got {layer}.")
        path = self.paths[layer]
        size = self.best_size if size is None else size
        if not 0 <= size < len(path):
            raise ValueError(f"size must be one that was grown, 0 to {len(path) - 1}; got {size}.")
        if isinstance(path[size], Stage):
            return path[size].network
        snapshot = path[size].distinct() if self.shrinkage else path[size]
        below = self.inputs[:layer]
        n_inputs = below[-1].width if below else self.n_inputs
        layers = (*below, snapshot.layer(n_inputs))
        parts: dict[str, Any] = {"schema": self.schema, "link": self.link, "bounds": self.bounds}
        network = Network.of_layers(layers, snapshot.output_weights, snapshot.base, **parts)
        order = [k for k, _ in sorted(enumerate(snapshot.linear), key=lambda pair: pair[1].column)
                 if snapshot.linear_coef[k].any()]  # fmt: skip
        return (
            network.with_linear([snapshot.linear[k] for k in order], snapshot.linear_coef[order]) if order else network
        )

    def of_lines(self, select: str) -> History:
        """The network of linear terms alone that grew beside this one."""
        assert self.linear_alone is not None
        alone = self.linear_alone
        size = choose_size(alone.path, select, self.n_validation)
        return replace(
            self, records=alone.records, paths=(alone.path,), inputs=(), best_layer=0, best_size=size,
            stopped=alone.stopped, shrinkage=alone.shrinkage, linear_alone=None,
        )  # fmt: skip

    def with_schema(self, schema: Schema) -> History:
        """The same with other words for the columns, and what their missing values count as."""

        def known(snapshot: Any) -> Any:
            if isinstance(snapshot, Stage):
                return snapshot.with_schema(schema)
            linear = (replace(term, missing=schema.columns[term.column].typical) for term in snapshot.linear)
            return replace(snapshot, linear=tuple(linear))

        paths = tuple(tuple(map(known, path)) for path in self.paths)
        return replace(self, schema=schema, paths=paths)

    def __repr__(self) -> str:
        sizes = [len(path) - 1 for path in self.paths]
        return (
            f"History({len(self.records)} steps, sizes up to {sizes}, chose layer {self.best_layer} at size "
            f"{self.best_size}, stopped: {self.stopped})"
        )


def choose_size(path: Sequence[Snapshot | Stage | LossesAtSize], select: str, n_validation: int) -> int:
    """The size that validated best, or the smallest within one standard error of it."""
    best = min(range(len(path)), key=lambda size: path[size].criterion)
    if select == "best" or math.isnan(path[best].validation_deviation):
        return best
    within = path[best].criterion + path[best].validation_deviation / math.sqrt(n_validation)
    return min(size for size in range(len(path)) if path[size].criterion <= within)


# -- Who watches growth: the clock, the progress bar, and callbacks that may stop it.

Callback = Callable[[Record], bool | None]


@dataclass
class Monitor:
    """Watches the clock, tells the callbacks, and remembers why growth stopped."""

    max_seconds: float | None = None
    callbacks: Sequence[Callback] = ()
    on_record: Callable[[Record], None] | None = None
    started: float = field(default_factory=time.perf_counter)
    stopped: str = ""
    member: int = 0

    @property
    def seconds(self) -> float:
        """Since growth began."""
        return time.perf_counter() - self.started

    def out_of_time(self) -> bool:
        """True, and noted, once the time is up or somebody asked to stop."""
        if not self.stopped and self.max_seconds is not None and self.seconds >= self.max_seconds:
            self.stopped = "max_seconds"
        return bool(self.stopped)

    def tell(self, record: Record) -> None:
        """Pass a record on; a callback that returns True stops growth."""
        if self.on_record is not None:
            self.on_record(record)
        for callback in self.callbacks:
            if isinstance(answer := callback(record), (bool, np.bool_)) and answer and not self.stopped:
                self.stopped = "callback"


# -- A progress bar for growth.


@contextmanager
def progress_bar(verbose: int, max_terms: int, ensemble: int = 1) -> Iterator[Callable[[Record], None] | None]:
    """Yield a function that shows each record, or None when nobody wants to see."""
    if not verbose:
        yield None
        return
    from tqdm.auto import tqdm

    sizes: dict[int, int] = {}
    with tqdm(total=max_terms * ensemble, unit="rule", desc="growing") as bar:

        def show(record: Record) -> None:
            sizes[record.member] = record.n_terms
            bar.n = sum(sizes.values())
            losses = f"training {record.train_loss:.4g}"
            if not math.isnan(record.validation_loss):
                losses += f", validation {record.validation_loss:.4g}"
            which = f"network {record.member + 1} of {ensemble}, " if ensemble > 1 else ""
            bar.set_postfix_str(f"{which}layer {record.layer + 1}, mean loss: {losses}")

        yield show
