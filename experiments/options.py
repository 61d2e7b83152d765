"""What a study is asked for on the command line."""

from __future__ import annotations

from dataclasses import dataclass

SCALES = ("smoke", "reduced", "full")


@dataclass(frozen=True)
class Options:
    """How much of a study to do.

    Parameters
    ----------
    scale : {"smoke", "reduced", "full"}
    seeds : int or None
        How many; None for the study's own choice.
    datasets, methods : tuple of str or None
        Only these; None for all. The runner picks, studies need not look.
    device : str
        Where networks are trained: ``"cpu"``, ``"cuda"`` or ``"auto"``.
    """

    scale: str = "reduced"
    seeds: int | None = None
    datasets: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    device: str = "cpu"
