"""A progress bar for growth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bgn.grow.history import Record


@contextmanager
def progress_bar(verbose: int, max_width: int, n_networks: int = 1) -> Iterator[Callable[[Record], None] | None]:
    """Yield a function that shows each record, or None when nobody wants to see."""
    if not verbose:
        yield None
        return
    from tqdm.auto import tqdm

    widths: dict[int, int] = {}
    with tqdm(total=max_width * n_networks, unit="neuron", desc="growing") as bar:

        def show(record: Record) -> None:
            widths[record.member] = record.width
            bar.n = sum(widths.values())
            losses = f"training {record.train_loss:.4g}"
            if not math.isnan(record.validation_loss):
                losses += f", validation {record.validation_loss:.4g}"
            which = f"network {record.member + 1} of {n_networks}, " if n_networks > 1 else ""
            bar.set_postfix_str(f"{which}layer {record.layer + 1}, mean loss: {losses}")

        yield show
