"""Published runs as lines of JSON: one run per line, sorted, so that git merges them and people review them.

A line begins with what a reader looks for (table, method, parameters, split, seed), and lines are sorted as text. Two
branches that add runs merge by keeping the lines of both (``.gitattributes`` says so); writing the file again puts
them in order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from bgn.whole_file import write_whole
from experiments.store import Run, Store, canonical, run_of

# The keys of every line, in this order.
_KEYS = (
    "dataset", "method", "parameters", "split", "seed", "study", "revision", "figures", "error", "seconds", "finished",
    "versions", "checksum",
)  # fmt: skip


def line(run: Run) -> str:
    """Return a run as a line of JSON, floats in full.

    Examples
    --------
    >>> from experiments.store import Task
    >>> task = Task("accuracy", "diabetes", "bgn", {"max_width": 3}, 0, "paper")
    >>> line(Run(task, "ab12", {"test_mse": 0.1}, None, 1.5, "2026-01-01 00:00:00", {"numpy": "2.0"}))[:70]
    '{"dataset":"diabetes","method":"bgn","parameters":{"max_width":3},"spl'
    """
    values = vars(run.task) | vars(run)
    written = {name: json.dumps(values[name], sort_keys=True, separators=(",", ":"), default=dict) for name in _KEYS}
    parts = [f'"{name}":{value}' for name, value in written.items()]
    return f"{{{','.join(parts)}}}"


def write(path: Path, runs: Iterable[Run]) -> None:
    """Write runs as sorted lines, one per task."""
    lines = sorted(map(line, settled(runs).values()))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(f"{each}\n" for each in lines).encode())


def read(path: Path) -> dict[str, Run]:
    """Return the runs of a file by key; a line that is no run is named."""
    if not path.is_file():
        raise FileNotFoundError(f"no published runs {str(path)!r}; `python -m experiments publish` makes them.")
    found = []
    for number, content in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            found.append(_run(content.decode()))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path}, line {number}, is no run ({error}). Take the line from git again; of a merge that was left "
                "half done, keep the lines of both sides and drop the marks."
            ) from None
    return settled(found)


def read_any(path: Path) -> dict[str, Run]:
    """Return the runs of a store or of a file of lines, by key."""
    if path.suffix == ".jsonl":
        return read(path)
    with Store(path, read_only=True) as store:
        return store.runs()


def settled(runs: Iterable[Run]) -> dict[str, Run]:
    """Return one run per task, by key: one that succeeded before one that failed, then the one that ended last."""
    found: dict[str, Run] = {}
    for run in runs:
        if (key := run.key) not in found or _rank(run) > _rank(found[key]):
            found[key] = run
    return found


def _rank(run: Run) -> tuple[bool, str, str]:
    """Return what decides between runs of one task, whatever the order they come in."""
    return run.error is None, run.finished, line(run)


def _run(text: str) -> Run:
    """Return a line as its run; raise ValueError or TypeError unless it is one."""
    found = json.loads(text)
    if not isinstance(found, dict) or found.keys() != set(_KEYS):
        raise ValueError(f"not an object with the keys {', '.join(_KEYS)}")
    canonical(found["parameters"])  # which make up the key, and so are finite
    return run_of(found)
