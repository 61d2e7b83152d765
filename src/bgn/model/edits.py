"""What an expert changed in a network: a line of the log that goes with it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """What one change was, and what it did: a line of the log that is saved with a model.

    Attributes
    ----------
    what : str
        The change in words.
    why : str
        The expert's reason; empty where none was given.
    rows : int
        Rows that it was tried on.
    changed : int
        Rows whose prediction changed.
    decisions : int or None
        Rows whose decision changed, where there is a cutoff.
    before, after : float or None
        Mean squared error, or mean log loss of a probability, before and after; None without targets.
    """

    what: str
    why: str = ""
    rows: int = 0
    changed: int = 0
    decisions: int | None = None
    before: float | None = None
    after: float | None = None
