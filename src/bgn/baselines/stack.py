"""Models of one shape in training at once: their tensors, one epoch, one step of Adam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bgn.baselines import network
from bgn.baselines.config import Config, Trained
from bgn.baselines.data import Tables, batches, shuffles
from bgn.baselines.network import Pieces, Running, Shape
from bgn.baselines.surrogates import METHODS, penalty_slope


def most_numbers(device: torch.device) -> int:
    """Return how many numbers a stack's activation tensor may hold: what a core's cache holds, or plenty."""
    return 1 << 17 if device.type == "cpu" else 1 << 28


def masks(models: Sequence[Trained]) -> Tensor | None:
    """Return which parameters of each model are left after pruning; None where all of all are."""
    found = [torch.from_numpy(each.mask) for each in models if each.mask is not None]
    return torch.stack(found) if found else None


@dataclass
class _State:
    """The tensors of a stack, each with a leading model axis: all that leaves with a model."""

    parameters: Tensor
    first_moment: Tensor
    second_moment: Tensor
    running: Tensor
    best: Tensor
    best_running: Tensor
    rate: Tensor
    sharpness: Tensor
    strength: Tensor
    seed: Tensor
    table: Tensor
    mask: Tensor | None = None

    def take(self, models: Tensor) -> _State:
        """Return the state of some of the models."""
        taken: dict[str, Any] = {name: tensor[models] for name, tensor in vars(self).items() if tensor is not None}
        return _State(**taken)


class Stack:
    """Models of one shape in training."""

    def __init__(
        self,
        configs: Sequence[Config],
        tables: Tables,
        table: Sequence[int],
        rows: int,
        start: Sequence[Trained],
        dtype: torch.dtype,
    ) -> None:
        first = configs[0]
        device = tables.train[0].device
        self.shape = Shape(tables.train[0].shape[2], first.hidden_layers)
        self.surrogate = METHODS[first.method]
        self.penalty = first.penalty
        self.bounds = batches(tables.train[0].shape[1], rows)
        self.train = tuple(tensor.to(dtype) for tensor in tables.train)
        self.validation = tuple(tensor.to(dtype) for tensor in tables.validation)
        self.most = most_numbers(device)
        self.steps = 0
        if not start:
            drawn = {(c.seed, c.output_init): self.shape.start(c.seed, c.output_init) for c in configs}
            parameters = torch.stack([drawn[c.seed, c.output_init] for c in configs])
            running = Running.start(self.shape).repeat(len(configs), 1)
        else:
            parameters = torch.stack([torch.from_numpy(each.parameters) for each in start])
            running = torch.stack([torch.from_numpy(each.running) for each in start])
        padding = (0, self.shape.row_length - self.shape.n_parameters)
        parameters, running = nn.functional.pad(parameters, padding).to(device, dtype), running.to(device, dtype)
        mask, kept = None, masks(start)
        if kept is not None:
            mask = nn.functional.pad(kept.to(dtype), padding).to(device)
            parameters *= mask

        def column(values: Sequence[float]) -> Tensor:
            return torch.tensor(values, dtype=dtype, device=device)[:, None]

        self.state = _State(
            parameters=parameters,
            first_moment=torch.zeros_like(parameters),
            second_moment=torch.zeros_like(parameters),
            running=running,
            best=parameters.clone(),
            best_running=running.clone(),
            rate=column([c.learning_rate for c in configs]),
            sharpness=column([c.sharpness for c in configs])[:, None],
            strength=column([c.penalty_strength for c in configs]),
            seed=torch.tensor([c.seed for c in configs], device=device),
            table=torch.tensor(table, device=device),
            mask=mask,
        )
        self._arrange()

    def _arrange(self) -> None:
        """Lay out views and the rows of every model that is left."""
        state = self.state
        self.pieces = Pieces(self.shape, state.parameters)
        self.slopes = Pieces(self.shape, torch.zeros_like(state.parameters))
        self.running = Running(self.shape, state.running)
        self.mask = None if state.mask is None else Pieces(self.shape, state.mask)
        self.watched = tuple(tensor[state.table] for tensor in self.validation)

    def epoch(self, number: int) -> NDArray[np.float64]:
        """Run one epoch; return training and validation errors of every model, shape (2, models)."""
        state = self.state
        sharpness = self.surrogate.sharpness(state.sharpness, number)
        order = shuffles(self.train[0].shape[1], state.seed, number)
        x, y = (tensor[state.table[:, None], order] for tensor in self.train)
        total = torch.zeros(len(order), device=x.device, dtype=x.dtype)
        for low, high in self.bounds:
            batch = x[:, low:high], y[:, low:high]
            loss = network.gradients(
                self.pieces, self.slopes, self.running, *batch, self.surrogate, sharpness, self.mask
            )
            total.add_(loss, alpha=high - low)
            self._descend()
        x, y = self.watched
        error = network.evaluate(self.pieces, self.running, x, self.surrogate, self.mask, self.most).sub_(y)
        errors = torch.stack([total / self.bounds[-1][1], error.square_().mean((1, 2))])
        return errors.cpu().double().numpy()

    def _descend(self, first: float = 0.9, second: float = 0.999, epsilon: float = 1e-8) -> None:
        """One step of Adam for every model at its own rate."""
        state, slope = self.state, self.slopes.table
        hidden = slope[:, : self.shape.n_hidden]
        weights = state.parameters[:, : self.shape.n_hidden]
        if self.penalty is not None:
            hidden.addcmul_(penalty_slope(self.penalty, weights), state.strength)
        if state.mask is not None:
            slope.mul_(state.mask)
        self.steps += 1
        state.first_moment.lerp_(slope, 1 - first)
        state.second_moment.mul_(second).addcmul_(slope, slope, value=1 - second)
        correction = (1 - second**self.steps) ** 0.5
        spread = torch.sqrt(state.second_moment, out=slope).add_(epsilon * correction)
        move = torch.div(state.first_moment, spread, out=slope)
        state.parameters.addcmul_(move, state.rate, value=-correction / (1 - first**self.steps))
        if self.surrogate.binary_weights:
            weights.clamp_(-1, 1)

    def keep_best(self, better: Sequence[bool]) -> None:
        """Remember the present state of the models that are better than ever."""
        if any(better):
            models = torch.tensor(np.flatnonzero(better), device=self.state.best.device)
            self.state.best[models] = self.state.parameters[models]
            self.state.best_running[models] = self.state.running[models]

    def leave(self, staying: Sequence[int]) -> None:
        """Go on with some of the models."""
        self.state = self.state.take(torch.tensor(staying, dtype=torch.int64, device=self.state.best.device))
        self._arrange()

    def rates(self, rates: Sequence[float]) -> None:
        """Set every model's learning rate."""
        self.state.rate.copy_(torch.tensor(rates, dtype=torch.float64)[:, None])
