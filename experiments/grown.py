"""BGN as the study of peers grows it: as it comes, with questions alone, about one column or more, and for accuracy.

Tables of fewer than `FEW` training rows are cross-validated within them, which is what BGN does by itself; on the
others the validation rows choose the width.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bgn import BGNRegressor
from experiments.data import Rows
from experiments.rivals import Candidate, Family, timed

FEW = 2000


def at_sizes(**setting: Any) -> Family:
    """Return the family of networks of a size and its halves, four times, each grown anew."""

    def family(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
        sizes = sorted({max(1, round(most / 2**k)) for k in range(5)})
        return (_grown(BGNRegressor(max_terms=size, **setting), rows, seed) for size in sizes)

    return family


def default(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield BGN as it comes."""
    yield _grown(BGNRegressor(max_terms=min(50, most)), rows, seed)


def accurate(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield the preset for accuracy, whose networks choose their validation rows among the training rows."""
    model = BGNRegressor.accurate()
    yield _grown(model.set_params(max_terms=min(model.max_terms, most)), rows, seed, held=False)


def _grown(model: BGNRegressor, rows: Rows, seed: int, held: bool = True) -> Candidate:
    """Fit a model, and count its questions, its linear terms and the columns of both."""
    seen, validation, _ = rows.raw
    given = {"eval_set": (validation, rows.y_validation)} if held and len(rows.y) >= FEW else {}
    model.set_params(n_jobs=1, random_state=seed)
    seconds = timed(lambda: model.fit(seen, rows.y, **given))
    network = model.network_
    terms = len(network.linear)
    columns = int(np.count_nonzero(network.layers[0].reads)) + terms
    return Candidate(f"at most {model.max_terms}", sum(network.widths), terms, model.predict, seconds, columns, True)
