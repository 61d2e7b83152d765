"""Questions for several outputs: which contrast of their residuals to look at.

A question is worth the squared sum of what it explains of every output's residual, and the largest such sum is the
largest over all contrasts of what it explains of that one. So a contrast is looked at as if it were the residual of a
single output; the best question tells a better contrast, the share of each output in what it explains.
"""

from __future__ import annotations

import math

import numpy as np

from bgn.engines.memory import ClassPart
from bgn.engines.protocol import CONTRAST, Floats, Integers, Output, Question
from bgn.grow.directions.protocol import DirectionFinder, Others
from bgn.grow.roles import Roles

_HALF = 1 << (CONTRAST - 1)


def proposals(
    rows: Roles, finder: DirectionFinder, output: Output, others: Others, taken_out: Integers | None
) -> list[Question]:
    """Questions worth asking of the residual that `output` leaves, for one output or several.

    A neuron that takes the place of another is sought where that one's output weights point (`taken_out`).
    """
    several = rows.train.loss.outputs
    if several == 1:
        return [*finder.propose(output, others)]
    if taken_out is not None and taken_out.any():
        return [*finder.propose(output.seen(contrast_of(taken_out.astype(np.float64))), others)]
    alone = [tuple(_HALF * (k == place) for k in range(several)) for place in range(several)]
    strengths = [finder.strength(output.seen(each)) for each in alone]
    first = [*finder.propose(output.seen(alone[int(np.argmax(strengths))]), others)]
    found = _explained(rows, first[:1], output)
    return first if found is None else [*finder.propose(output.seen(contrast_of(found)), others), *first]


def contrast_of(shares: Floats) -> tuple[int, ...]:
    """The contrast that takes so much of each output, in whole numbers."""
    largest = float(np.abs(shares).max())
    return tuple(round(each / largest * _HALF) for each in shares.tolist())


def _explained(rows: Roles, questions: list[Question], output: Output) -> Floats | None:
    """How much of every output's residual the best cut of a question explains, on a sample; None without one."""
    sample = rows.sample
    if sample is None or not questions:
        return None
    (cut,) = sample.cuts([Question(questions[0].output, questions[0].projection)])
    if cut is None:
        return None
    part = sample.part
    assert isinstance(part, ClassPart)
    answers = part.answers([cut.neuron])[0].astype(np.int64)
    heavy = answers * part.weight if len(part.weight) else answers
    mean = int(heavy.sum()) / sample.total
    residuals = part.residuals(output)
    total = [int(each.sum() if not len(part.weight) else (each * part.weight).sum()) for each in residuals]
    sums = [int((each * heavy).sum()) - mean * all_ for each, all_ in zip(residuals, total, strict=True)]
    found = np.array([math.ldexp(each, -20) for each in sums])
    return found if found.any() else None
