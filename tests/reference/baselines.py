"""Slow twins of the baselines: formulas in NumPy, an ordinary torch module with autograd, sorting in plain Python."""

import math
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from bgn.baselines.data import batches, shuffles
from bgn.baselines.training import batch_size


def sigmoid(x):
    """Return the logistic function without overflow."""
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def derivative(method, u, sharpness):
    """Return the derivative that stands in for the step's, from the formula of the table of methods."""
    s = sigmoid(sharpness * u)
    return {
        "bnn": np.where(np.abs(u) <= 1, 1.0, 0.0),
        "bnn_identity": np.ones_like(u),
        "bnn_plus": sharpness * s * (1 - s) * (2 + sharpness * u * (1 - 2 * s)),
        "bireal": np.maximum(0, 2 - 2 * np.abs(u)),
        "quantization": sharpness * s * (1 - s),
        "binaryconnect": np.where(u > 0, 1.0, 0.0),
    }[method]


def curve(method, u, sharpness):
    """Return the smooth curve (a tensor) whose derivative that is."""
    s = torch.sigmoid(sharpness * u)
    return {
        "bnn": u.clamp(-1, 1),
        "bnn_identity": u,
        "bnn_plus": s * (1 + sharpness * u * (1 - s)),
        "bireal": torch.where(u.abs() >= 1, u.sign(), 2 * u - u * u.abs()),
        "quantization": s,
        "binaryconnect": u.clamp(min=0),
    }[method]


def hard(method, u):
    """Return what a neuron answers in evaluation."""
    if method == "binaryconnect":
        return np.maximum(u, 0)
    return np.where(u >= 0, 1.0, 0.0 if method in ("bnn_plus", "quantization") else -1.0)


class Activation(nn.Module):
    """The hard answer forwards (quantization: the sigmoid), the curve's derivative backwards."""

    def __init__(self, method):
        super().__init__()
        self.method, self.sharpness = method, 1.0

    def forward(self, u):
        smooth = curve(self.method, u, self.sharpness)
        if self.training and self.method == "quantization":
            return smooth
        answer = torch.from_numpy(hard(self.method, u.detach().double().numpy())).to(u.dtype)
        return smooth + (answer - smooth).detach()


class BinaryLinear(nn.Linear):
    """Signs forwards; the gradient of the signs goes to the real weights."""

    def forward(self, x):
        signs = torch.where(self.weight >= 0, 1.0, -1.0).to(x.dtype)
        return x @ (self.weight + (signs - self.weight).detach()).T


def module(config, n_inputs, start):
    """Return an ordinary torch network that holds a row of parameters."""
    linear = BinaryLinear if config.method == "binaryconnect" else nn.Linear
    widths = (n_inputs, *config.hidden_layers)
    layers = []
    for below, upper in pairwise(widths):
        layers += [linear(below, upper, bias=False), nn.BatchNorm1d(upper), Activation(config.method)]
    model = nn.Sequential(*layers, nn.Linear(widths[-1], 1)).to(start.dtype)
    with torch.no_grad():
        for parameter, values in zip(ordered(model), split(start, model), strict=True):
            parameter.copy_(values.view(parameter.shape))
    return model


def ordered(model):
    """Return a module's parameters in the order of a row: weights, output weights, gammas, betas, base."""
    linears = [layer for layer in model if isinstance(layer, nn.Linear)]
    norms = [layer for layer in model if isinstance(layer, nn.BatchNorm1d)]
    weights = [layer.weight for layer in linears]
    return [*weights, *(norm.weight for norm in norms), *(norm.bias for norm in norms), linears[-1].bias]


def split(row, model):
    """Cut a row of parameters into those of a module."""
    return row.split([parameter.numel() for parameter in ordered(model)])


def penalty(config, weights):
    """Return lambda sum R(w) over hidden weights."""
    distance = 1 - weights.abs()
    values = distance.abs() if config.penalty == "l1" else distance**2
    return config.penalty_strength * values.sum()


def train(config, x, y, start, epochs):
    """Train one module by torch's own optimiser; return its row of parameters and running means and variances."""
    model = module(config, x.shape[1], start)
    optimiser = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    for epoch in range(1, epochs + 1):
        order = shuffles(len(x), torch.tensor([config.seed]), epoch)[0]
        for layer in model:
            if isinstance(layer, Activation):
                layer.sharpness = config.sharpness * (epoch if config.method == "quantization" else 1)
        for low, high in batches(len(x), config.batch_size):
            rows = order[low:high]
            optimiser.zero_grad()
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            if config.penalty:
                loss = loss + sum(penalty(config, layer.weight) for layer in list(model)[:-1:3])
            loss.backward()
            optimiser.step()
            if config.method == "binaryconnect":
                for layer in list(model)[:-1:3]:
                    layer.weight.data.clamp_(-1, 1)
    norms = [layer for layer in model if isinstance(layer, nn.BatchNorm1d)]
    running = torch.cat([*(norm.running_mean for norm in norms), *(norm.running_var for norm in norms)])
    return torch.cat([parameter.detach().flatten() for parameter in ordered(model)]), running


def margins(trained, X):
    """Return a trained model's predictions on raw rows layer by layer in NumPy, and each row's least |u|."""
    values = (X - trained.scaling.center) / trained.scaling.scale
    pieces, running, mask = trained.pieces()
    method = trained.config.method
    least = np.full(len(X), np.inf)
    for k, weights in enumerate(pieces.weights):
        matrix = weights[0].numpy()
        if method == "binaryconnect":
            matrix = np.where(matrix >= 0, 1.0, -1.0) * (1 if mask is None else mask.weights[k][0].numpy())
        gamma, beta, mean, variance = (
            part[k].numpy().ravel() for part in (pieces.gamma, pieces.beta, running.mean, running.variance)
        )
        u = (values @ matrix.T - mean) / np.sqrt(variance + 1e-5) * gamma + beta
        least = np.minimum(least, np.abs(u).min(axis=1))
        values = hard(method, u)
    output = values @ pieces.output[0, 0].numpy() + pieces.base.item()
    return output * trained.scaling.target_scale + trained.scaling.target_center, least


def halve(scores, alive, sizes, layerwise):
    """Return the connections that survive, from the definition: sort, keep the first half, or None."""
    layer_of = [k for k, size in enumerate(sizes) for _ in range(size)]
    groups = range(len(sizes)) if layerwise else [None]
    kept = set()
    for group in groups:
        here = [i for i, is_alive in enumerate(alive) if is_alive and group in (None, layer_of[i])]
        keep = max(1, math.floor(len(here) / 2)) if layerwise else math.floor(len(here) / 2)
        kept |= set(sorted(here, key=lambda i: (-scores[i], i))[:keep])
    empty = set(range(len(sizes))) - {layer_of[i] for i in kept}
    if empty or len(kept) == sum(alive):
        return None
    return [i in kept for i in range(len(alive))]


def gradient(trained, split_rows):
    """Return autograd's gradient of every connection on the batch that pruning scores by."""
    config = trained.config
    model = module(config, trained.shape.n_inputs, torch.from_numpy(trained.parameters).double())
    for layer in model:
        if isinstance(layer, Activation):
            layer.sharpness = config.sharpness
    x = torch.from_numpy(trained.scaling.inputs(split_rows.X))
    y = torch.from_numpy(trained.scaling.target(split_rows.y))[:, None]
    low, high = batches(len(x), batch_size(config, split_rows))[0]
    rows = shuffles(len(x), torch.tensor([config.seed]), 1)[0][low:high]
    nn.functional.mse_loss(model(x[rows]), y[rows]).backward()
    gradients = torch.cat([parameter.grad.flatten() for parameter in ordered(model)])
    return gradients[: trained.shape.n_connections].numpy()
