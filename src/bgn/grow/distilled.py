"""Distilling inside a fit: rows with what several layers predict of them, for a small layer to explain.

Probabilities have less noise than classes, so on few rows the questions that explain them best are better than those
that explain the classes best (Hinton, Vinyals and Dean 2015). Questions alone are taken over from it: their output
weights are fitted to the classes, as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bgn.engines.class_part import part_of
from bgn.engines.memory.engine import MemoryEngine
from bgn.engines.part import Part
from bgn.engines.protocol import Integers, Loss
from bgn.grow.history import Snapshot
from bgn.grow.loss import LOSSES
from bgn.grow.roles import Roles
from bgn.grow.straight import in_steps
from bgn.model.neuron import Neuron

# Probabilities count in parts of one, two to this power, fewer where rows are heavy: their sum has so many bits.
_PARTS, _WEIGHT_BITS = 10, 40


def taught(rows: Roles, teachers: Sequence[Snapshot]) -> Roles:
    """The rows of a sample once per class, with the probability that teachers give it, on average, for weight."""
    assert rows.sample is not None
    part, loss = rows.sample.part, rows.sample.loss
    weight = part.weight if len(part.weight) else np.ones(part.n_rows, np.int64)
    bits = max(1, min(_PARTS, _WEIGHT_BITS - int(weight.sum()).bit_length()))
    shift = loss.grid.exponent - bits
    heavy = ((probabilities(part, loss, teachers) + (1 << (shift - 1))) >> shift) * weight
    target, place = np.nonzero(heavy)
    kind = LOSSES[loss.name].over(0.0, len(heavy) - 1.0, int(heavy.sum()))
    columns = np.ascontiguousarray(np.asarray(part.columns)[:, place])
    made = part_of(columns, target.astype(np.int64), heavy[target, place], kind, part.threads)
    engine = MemoryEngine(made, kind)
    return replace(rows, train=engine, validation=None, sample=engine, folds=(), unit=rows.unit * 2.0**bits)


def probabilities(part: Part, loss: Loss, teachers: Sequence[Snapshot]) -> Integers:
    """What layers predict on average, one line per class, in steps of the loss's grid."""
    table, known = np.asarray(part.columns).T, dict[Neuron, Integers]()
    own = part.target if loss.outputs == 1 else (np.arange(loss.outputs)[:, None] == part.target) * 1
    total: Integers = np.zeros(own.shape, np.int64)
    for layer in teachers:
        output = in_steps(loss.grid, (), layer.base, layer.output_weights, np.zeros((0, *np.shape(layer.base))))
        score = np.zeros((len(table), *np.shape(output.base)), np.int64) + output.base
        for neuron, weight in zip(layer.neurons, output.weights, strict=True):
            if neuron not in known:
                known[neuron] = np.where(neuron.fires(table), 1, -1)
            score += np.multiply.outer(known[neuron], weight)
        # The residual is the class less its probability.
        total += (own << loss.grid.exponent) - loss.residual(-score.T, part.target)
    mean = total // len(teachers)
    return np.stack([(1 << loss.grid.exponent) - mean, mean]) if loss.outputs == 1 else mean
