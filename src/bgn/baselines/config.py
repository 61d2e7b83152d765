"""What is asked of training and what comes back: frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bgn.baselines.data import Scaling
from bgn.baselines.network import Pieces, Running, Shape
from bgn.baselines.surrogates import METHODS
from bgn.inputs.arguments import chosen, real, whole


def positive(name: str, value: Any) -> None:
    """Refuse what is not a positive number."""
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

    def pieces(self) -> tuple[Pieces, Running, Pieces | None]:
        """Return parameters, running statistics and mask in float64, as a stack of one."""

        def table(values: NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(values).double()[None]

        mask = None if self.mask is None else Pieces(self.shape, table(self.mask))
        return Pieces(self.shape, table(self.parameters)), Running(self.shape, table(self.running)), mask
