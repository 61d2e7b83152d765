"""Training: many models of one shape at once, each with its own rate, seed, order of rows and end.

:func:`train_many` sorts what it is asked for into stacks of equal shape and trains each stack along a leading model
axis; a single fit is a stack of one. Nothing waits for the device within an epoch. After every epoch each model's
validation error decides, for that model alone, whether its rate falls, whether it stops, and which state is kept;
a model that has stopped leaves the stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bgn.baselines import network
from bgn.baselines.data import Config, Epoch, Split, Tables, Trained, batches, shuffles
from bgn.baselines.network import METHODS, Parameters, Running, Shape, penalty_gradient


def most_numbers(device: torch.device) -> int:
    """Return how many numbers a stack's activation tensor may hold: what a core's cache holds, or plenty."""
    return 1 << 17 if device.type == "cpu" else 1 << 28


def masks(models: Sequence[Trained]) -> Tensor | None:
    """Return which parameters of each model are left after pruning; None where all of all are."""
    kept = [torch.from_numpy(model.mask) for model in models if model.mask is not None]
    return torch.stack(kept) if kept else None


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
            parameters = torch.stack([torch.from_numpy(model.parameters) for model in start])
            running = torch.stack([torch.from_numpy(model.running) for model in start])
        padding = (0, -self.shape.n_parameters % 16)  # every model's matrices start on a 64-byte boundary
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
        self.pieces = Parameters(self.shape, state.parameters)
        self.gradients = Parameters(self.shape, torch.zeros_like(state.parameters))
        self.running = Running(self.shape, state.running)
        self.mask = None if state.mask is None else Parameters(self.shape, state.mask)
        self.watched = tuple(tensor[state.table] for tensor in self.validation)

    def epoch(self, number: int) -> NDArray[np.float64]:
        state = self.state
        sharpness = self.surrogate.sharpness(state.sharpness, number)
        order = shuffles(self.train[0].shape[1], state.seed, number)
        x, y = (tensor[state.table[:, None], order] for tensor in self.train)
        total = torch.zeros(len(order), device=x.device, dtype=x.dtype)
        for low, high in self.bounds:
            batch = x[:, low:high], y[:, low:high]
            loss = network.gradients(
                self.pieces, self.gradients, self.running, *batch, self.surrogate, sharpness, self.mask
            )
            total.add_(loss, alpha=high - low)
            self._descend()
        x, y = self.watched
        error = network.evaluate(self.pieces, self.running, x, self.surrogate, self.mask, self.most).sub_(y)
        errors = torch.stack([total / self.bounds[-1][1], error.square_().mean((1, 2))])
        return errors.cpu().double().numpy()

    def _descend(self, first: float = 0.9, second: float = 0.999, epsilon: float = 1e-8) -> None:
        """One step of Adam for every model at its own rate."""
        state, gradient = self.state, self.gradients.table
        hidden = gradient[:, : self.shape.n_hidden]
        weights = state.parameters[:, : self.shape.n_hidden]
        if self.penalty is not None:
            hidden.addcmul_(penalty_gradient(self.penalty, weights), state.strength)
        if state.mask is not None:
            gradient.mul_(state.mask)
        self.steps += 1
        state.first_moment.lerp_(gradient, 1 - first)
        state.second_moment.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        correction = (1 - second**self.steps) ** 0.5
        deviation = torch.sqrt(state.second_moment, out=gradient).add_(epsilon * correction)
        move = torch.div(state.first_moment, deviation, out=gradient)
        state.parameters.addcmul_(move, state.rate, value=-correction / (1 - first**self.steps))
        if self.surrogate.binary_weights:
            weights.clamp_(-1, 1)

    def keep_best(self, better: Sequence[bool]) -> None:
        """Remember the present state of the models that are better than ever."""
        if any(better):
            models = torch.tensor(np.flatnonzero(better), device=self.state.best.device)
            self.state.best[models] = self.state.parameters[models]
            self.state.best_running[models] = self.state.running[models]

    def keep_only(self, models: Sequence[int]) -> None:
        places = torch.tensor(models, dtype=torch.int64, device=self.state.best.device)
        kept: dict[str, Any] = {name: tensor[places] for name, tensor in vars(self.state).items() if tensor is not None}
        self.state = _State(**kept)
        self._arrange()


_ALONE = 1 << 20  # products in a batch's largest matrix product, above which a second thread pays


def choose_device(device: str) -> torch.device:
    if device not in ("cpu", "cuda", "auto"):
        raise ValueError(f"device must be 'cpu', 'cuda' or 'auto'; got {device!r}.")
    has_gpu = torch.cuda.is_available()
    if device == "cuda" and not has_gpu:
        raise RuntimeError(
            "device='cuda' but torch sees no CUDA device. Use device='cpu', or 'auto' to take what is there."
        )
    return torch.device("cuda" if has_gpu and device != "cpu" else "cpu")


def train_many(configs: Sequence[Config], splits: Split | Sequence[Split], device: str = "cpu") -> list[Trained]:
    """Train every configuration, those of one shape at once.

    Parameters
    ----------
    configs : sequence of Config
    splits : Split, or a sequence of one per configuration
        The rows.
    device : {"cpu", "cuda", "auto"}

    Returns
    -------
    list of Trained
        In the order of `configs`; each step of each as alone with the same seed, up to rounding. Many steps
        amplify a rounding, so that the ends may differ, as they do from one processor to another.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.baselines import Config, Split, train_many
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> split = Split.at_random(X, np.sign(X[:, 0]), seed=0)
    >>> configs = [Config("bnn", (8,), learning_rate=rate, max_epochs=30) for rate in (0.1, 0.01)]
    >>> [trained.validation_mse < 0.5 for trained in train_many(configs, split)]
    [True, True]
    """
    where = choose_device(device)
    per_model = [splits] * len(configs) if isinstance(splits, Split) else list(splits)
    if len(per_model) != len(configs):
        raise ValueError(f"splits must be one Split or one per configuration ({len(configs)}); got {len(per_model)}.")
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, (config, split) in enumerate(zip(configs, per_model, strict=True)):
        key = (config.method, config.hidden_layers, batch_size(config, split), config.scale_target, config.penalty)
        groups.setdefault((*key, split.sizes), []).append(i)
    trained: dict[int, Trained] = {}
    for members in groups.values():
        first = members[0]
        size = stack_size(configs[first], per_model[first], where)
        for start in range(0, len(members), size):
            stack = members[start : start + size]
            models = train_stack([configs[i] for i in stack], [per_model[i] for i in stack], where)
            trained.update(zip(stack, models, strict=True))
    return [trained[i] for i in range(len(configs))]


def batch_size(config: Config, split: Split) -> int:
    """Return the number of rows in a batch: by default the paper's."""
    if config.batch_size == "auto":
        return 512 if len(split.X) + len(split.X_validation) > 9000 else 64
    return int(config.batch_size)


def stack_size(config: Config, split: Split, device: torch.device) -> int:
    """Return how many models of a shape train at once: as many as gain from it and fit."""
    shape = Shape(split.X.shape[1], config.hidden_layers)
    rows = batch_size(config, split)
    size = max(1, most_numbers(device) // (rows * max(shape.widths)))
    if device.type == "cuda":
        torch.cuda.empty_cache()  # what torch keeps for later counts as taken otherwise
        free, _ = torch.cuda.mem_get_info(device)
        bytes_of_model = 4 * (12 * shape.n_parameters + 8 * rows * shape.n_neurons) + 16 * split.X.size
        size = max(1, min(size, int(0.7 * (free - 4 * 3 * most_numbers(device)) / bytes_of_model)))
    return size


class _Progress:
    """When one model is better, slower or done, decided from its validation errors alone."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.best = float("inf")
        self.best_epoch = 0
        self.rate = config.learning_rate
        self.history: list[Epoch] = []
        self.note: str | None = None
        self._since_change = 0

    def update(self, training_mse: float, validation_mse: float) -> bool:
        """Take an epoch's errors; return whether it is the best so far."""
        epoch = len(self.history) + 1
        self.history.append(Epoch(epoch, training_mse, validation_mse, self.rate))
        if not (np.isfinite(training_mse) and np.isfinite(validation_mse)):
            self.note = f"diverged at epoch {epoch}: the error is no longer finite; a smaller learning_rate may help"
            return False
        if validation_mse < self.best:
            self.best, self.best_epoch, self._since_change = validation_mse, epoch, 0
            return True
        self._since_change += 1
        if self._since_change > self.config.lr_patience:
            self.rate *= self.config.lr_factor
            self._since_change = 0
        return False

    @property
    def done(self) -> bool:
        epoch = len(self.history)
        late = epoch - self.best_epoch >= self.config.patience
        return self.note is not None or late or epoch >= self.config.max_epochs


@contextmanager
def _threads(configs: Sequence[Config], splits: Sequence[Split], device: torch.device) -> Iterator[None]:
    """Train small models on one thread: more would wait for each other, for very long on a busy machine."""
    shape = Shape(splits[0].X.shape[1], configs[0].hidden_layers)
    work = len(configs) * batch_size(configs[0], splits[0]) * max(shape.sizes)
    before = torch.get_num_threads()
    if device.type == "cpu" and work <= _ALONE:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@torch.no_grad()
def train_stack(
    configs: Sequence[Config],
    splits: Sequence[Split],
    device: torch.device,
    start: Sequence[Trained] = (),
    dtype: torch.dtype = torch.float32,
) -> list[Trained]:
    """Train models of one shape together, from scratch or each from the weights (and mask) of a trained one."""
    with _threads(configs, splits, device):
        return _train(configs, splits, device, start, dtype)


def _train(
    configs: Sequence[Config],
    splits: Sequence[Split],
    device: torch.device,
    start: Sequence[Trained],
    dtype: torch.dtype,
) -> list[Trained]:
    distinct = list({id(split): split for split in splits}.values())
    place = {id(split): i for i, split in enumerate(distinct)}
    table = [place[id(split)] for split in splits]
    tables = Tables.of(distinct, configs[0].scale_target, device)
    units = [tables.scalings[i].target_scale ** 2 for i in table]
    stack = Stack(configs, tables, table, batch_size(configs[0], splits[0]), start, dtype)
    progress = [_Progress(config) for config in configs]
    best: dict[int, tuple[Tensor, Tensor]] = {}
    active = list(range(len(configs)))
    epoch = 0
    while active:
        epoch += 1
        errors = zip(active, *stack.epoch(epoch), strict=True)
        stack.keep_best([progress[i].update(a * units[i], b * units[i]) for i, a, b in errors])
        for k, i in enumerate(active):
            if progress[i].done:
                best[i] = stack.state.best[k].clone(), stack.state.best_running[k].clone()
        staying = [k for k, i in enumerate(active) if i not in best]
        if len(staying) < len(active):
            active = [active[k] for k in staying]
            stack.keep_only(staying)
        stack.state.rate.copy_(torch.tensor([progress[i].rate for i in active], dtype=torch.float64)[:, None])
    parameters, running = (torch.stack([best[i][part] for i in range(len(configs))]) for part in (0, 1))
    validation, test = _final_errors(configs[0], tables, table, parameters, running, start)
    return [
        Trained(
            config=config,
            shape=stack.shape,
            scaling=tables.scalings[table[i]],
            parameters=parameters[i, : stack.shape.n_parameters].cpu().numpy(),
            running=running[i].cpu().numpy(),
            mask=start[i].mask if start else None,
            history=tuple(progress[i].history),
            best_epoch=progress[i].best_epoch,
            validation_mse=validation[i] * units[i],
            test_mse=test[i] * units[i] if test else None,
            note=progress[i].note,
        )
        for i, config in enumerate(configs)
    ]


def _final_errors(
    config: Config, tables: Tables, table: Sequence[int], parameters: Tensor, running: Tensor, start: Sequence[Trained]
) -> tuple[list[float], list[float]]:
    """Return validation and test errors of finished models, in float64, a few models at a time."""
    device = parameters.device
    shape = Shape(tables.train[0].shape[2], config.hidden_layers)
    at_once = 1 if device.type == "cpu" else 16
    errors_by_part: tuple[list[float], list[float]] = ([], [])
    for low in range(0, len(table), at_once):
        where = torch.tensor(table[low : low + at_once], device=device)
        pieces = Parameters(shape, parameters[low : low + at_once].double())
        norms = Running(shape, running[low : low + at_once].double())
        kept = masks(start[low : low + at_once])
        mask = None if kept is None else Parameters(shape, kept.to(device, torch.float64))
        for errors, part in zip(errors_by_part, (tables.validation, tables.test), strict=True):
            if part is not None:
                x, y = (tensor[where] for tensor in part)
                output = network.evaluate(pieces, norms, x, METHODS[config.method], mask, most_numbers(device))
                errors.extend(output.sub_(y).square_().mean((1, 2)).tolist())
    return errors_by_part
