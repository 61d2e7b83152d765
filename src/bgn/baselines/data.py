"""What is asked of training and what comes back: splits, scaled rows, batches, configurations, trained models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from torch import Tensor

from bgn.baselines.network import METHODS, Parameters, Running, Shape
from bgn.inputs.arguments import chosen, real, whole
from bgn.model.step import Floats


@dataclass(frozen=True, eq=False)
class Split:
    """Training and validation rows, and test rows where there are any.

    Parameters
    ----------
    X, y : array_like, shapes (rows, columns) and (rows,)
        What a model is trained on.
    X_validation, y_validation : array_like
        What decides when to stop and which model is best.
    X_test, y_test : array_like, optional
        What is reported on; never used to decide anything.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.baselines import Split
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> split = Split.at_random(X, X[:, 0], seed=0, validation_fraction=0.2, test_fraction=0.3)
    >>> len(split.X), len(split.X_validation), len(split.X_test)
    (5, 2, 3)
    """

    X: Floats
    y: Floats
    X_validation: Floats
    y_validation: Floats
    X_test: Floats | None = None
    y_test: Floats | None = None

    def __post_init__(self) -> None:
        for part in ("", "_validation", "_test"):
            if getattr(self, "X" + part) is None:
                continue
            X = np.ascontiguousarray(getattr(self, "X" + part), dtype=np.float64)
            y = np.ascontiguousarray(getattr(self, "y" + part), dtype=np.float64)
            if X.ndim != 2 or X.shape[1] != self.X.shape[1] or y.shape != (len(X),) or not len(X):
                raise ValueError(
                    f"X{part} must have rows and columns as X, and y{part} one entry per row; "
                    f"got shapes {X.shape} and {y.shape}."
                )
            object.__setattr__(self, "X" + part, X)
            object.__setattr__(self, "y" + part, y)

    @classmethod
    def at_random(
        cls, X: Any, y: Any, seed: int, validation_fraction: float = 0.2, test_fraction: float = 0.25
    ) -> Split:
        """Split a table by scikit-learn's ``train_test_split``: test rows first, then validation rows of the rest.

        The defaults are the paper's, 25 % and 20 %; a fraction of 0 leaves no test rows.
        """
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        X_test, y_test = None, None
        if test_fraction:
            X, X_test, y, y_test = train_test_split(X, y, test_size=test_fraction, random_state=seed)
        X, X_held, y, y_held = train_test_split(X, y, test_size=validation_fraction, random_state=seed)
        return cls(X, y, X_held, y_held, X_test, y_test)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        return (self.X.shape[1], len(self.X), len(self.X_validation), 0 if self.X_test is None else len(self.X_test))


@dataclass(frozen=True, eq=False)
class Scaling:
    """Means and spreads of the training rows; a column or target that never changes keeps scale 1."""

    center: Floats
    scale: Floats
    target_center: float
    target_scale: float

    @classmethod
    def of(cls, split: Split, scale_target: bool) -> Scaling:
        """Measure the training rows of a split; raw targets have center 0 and scale 1."""
        target = (float(split.y.mean()), float(_scale(split.y))) if scale_target else (0.0, 1.0)
        return cls(split.X.mean(axis=0), _scale(split.X), *target)

    def inputs(self, X: Floats) -> Floats:
        return (X - self.center) / self.scale

    def target(self, y: Floats) -> Floats:
        return (y - self.target_center) / self.target_scale


def _scale(values: Floats) -> Floats:
    """Return standard deviations, 1 where they are nothing but round-off."""
    scale = np.asarray(values.std(axis=0))
    flat = scale <= 1e-12 * np.abs(values).max(axis=0)
    return np.where(flat, 1.0, scale)


@dataclass(frozen=True, eq=False)
class Tables:
    """The scaled rows of several splits of equal sizes, on one device: tensors (splits, rows, columns)."""

    scalings: tuple[Scaling, ...]
    train: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor] | None = None

    @classmethod
    def of(cls, splits: Sequence[Split], scale_target: bool, device: torch.device) -> Tables:
        """Scale every split by its own training rows; float64, to be narrowed where it is used."""
        scalings = tuple(Scaling.of(split, scale_target) for split in splits)

        def stacked(X: str, y: str) -> tuple[Tensor, Tensor]:
            pairs = list(zip(scalings, splits, strict=True))
            rows = np.stack([scaling.inputs(getattr(split, X)) for scaling, split in pairs])
            targets = np.stack([scaling.target(getattr(split, y)) for scaling, split in pairs])[..., None]
            return torch.from_numpy(rows).to(device), torch.from_numpy(targets).to(device)

        test = None if splits[0].X_test is None else stacked("X_test", "y_test")
        return cls(scalings, stacked("X", "y"), stacked("X_validation", "y_validation"), test)


_MASK = 0xFFFFFFFF


def _mix(x: Tensor) -> Tensor:
    """Scramble 32-bit numbers held in int64, one to one."""
    x = (x ^ (x >> 16)) * 0x7FEB352D & _MASK
    x = (x ^ (x >> 15)) * 0x846CA68B & _MASK
    return x ^ (x >> 16)


def shuffles(rows: int, seeds: Tensor, epoch: int) -> Tensor:
    """Return the order of the rows for every seed at an epoch, shape (seeds, rows).

    A pure function of seed and epoch: the same on every device, and for a model alone or among others.
    """
    salts = _mix(_mix(seeds & _MASK) ^ epoch)[:, None]
    return torch.argsort(_mix(_mix(torch.arange(rows, device=seeds.device)) ^ salts), dim=1)


def batches(rows: int, size: int) -> list[tuple[int, int]]:
    """Return the bounds of the batches; a last one under a quarter of the size joins the one before."""
    edges = list(range(0, rows, size))
    if len(edges) > 1 and rows - edges[-1] < size / 4:
        edges.pop()
    return list(zip(edges, [*edges[1:], rows], strict=True))


def positive(name: str, value: Any) -> None:
    real(name, value, 0.0, np.inf, open_low=True, open_high=True)


@dataclass(frozen=True)
class Config:
    """One model to train: everything but the rows.

    Parameters
    ----------
    method : str
        ``"bnn"``, ``"bnn_identity"``, ``"bnn_plus"``, ``"bireal"``, ``"quantization"`` or ``"binaryconnect"``.
    hidden_layers : tuple of int
        Widths.
    learning_rate : float
        Adam's first rate.
    seed : int
        First weights and order of the rows.
    batch_size : int or "auto"
        ``"auto"`` is 512 above 9,000 rows (training and validation together), else 64.
    max_epochs, patience : int
        Most epochs; epochs without a better validation error before a model stops.
    lr_patience, lr_factor : int, float
        After more than so many epochs without a better validation error the rate is multiplied by the factor.
    scale_target : bool
        Train on standardised targets.
    output_init : {"zeros", "kaiming"}
        First output weights.
    sharpness : float
        BNN+'s beta, the first temperature of quantization networks; nothing to the others.
    penalty : {"l1", "l2"} or None
        BNN+'s pull of hidden weights towards -1 and 1.
    penalty_strength : float
        Its factor.

    Examples
    --------
    >>> from bgn.baselines import Config
    >>> Config("bnn_plus", hidden_layers=(100,), sharpness=5.0).learning_rate
    0.01
    """

    method: str
    hidden_layers: tuple[int, ...] = (500,)
    learning_rate: float = 0.01
    seed: int = 0
    batch_size: int | str = "auto"
    max_epochs: int = 200
    patience: int = 20
    lr_patience: int = 5
    lr_factor: float = 0.1
    scale_target: bool = True
    output_init: str = "zeros"
    sharpness: float = 1.0
    penalty: str | None = None
    penalty_strength: float = 0.0

    def __post_init__(self) -> None:
        chosen("method", self.method, tuple(METHODS))
        widths = self.hidden_layers
        if not widths or not all(isinstance(width, int) and width >= 1 for width in widths):
            raise ValueError(f"hidden_layers must be one or more widths of at least 1; got {widths!r}.")
        for name in ("max_epochs", "patience", "lr_patience"):
            whole(name, getattr(self, name), 1)
        if self.batch_size != "auto":
            whole("batch_size", self.batch_size, 1)
        for name in ("learning_rate", "lr_factor", "sharpness"):
            positive(name, getattr(self, name))
        chosen("output_init", self.output_init, ("zeros", "kaiming"))
        chosen("penalty", self.penalty, ("l1", "l2", None))


@dataclass(frozen=True)
class Epoch:
    """What one epoch gave: errors in squared units of the target, and the rate it ran at."""

    epoch: int
    training_mse: float
    validation_mse: float
    learning_rate: float


@dataclass(frozen=True, eq=False)
class Trained:
    """A model at its best epoch.

    ``validation_mse`` and ``test_mse`` are computed again in float64 with hard activations: they are what the
    folded network gives. ``note`` says why a run ended early when its numbers left the floating-point range.
    """

    config: Config
    shape: Shape
    scaling: Scaling
    parameters: NDArray[np.float32]
    running: NDArray[np.float32]
    mask: NDArray[np.bool_] | None
    history: tuple[Epoch, ...]
    best_epoch: int
    validation_mse: float
    test_mse: float | None
    note: str | None

    def pieces(self) -> tuple[Parameters, Running, Parameters | None]:
        """Return parameters, running statistics and mask in float64, as a stack of one."""

        def table(values: NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(values).double()[None]

        mask = None if self.mask is None else Parameters(self.shape, table(self.mask))
        return Parameters(self.shape, table(self.parameters)), Running(self.shape, table(self.running)), mask
