"""Published runs computed again: ``python -m experiments recheck``.

Growth has no chance in it, so a network of BGN must come out with the same figures, to nine digits, and so must the
models of other packages in the same versions. Networks trained by gradients come out otherwise on another
processor: errors must lie within `NEAR` of the published ones, or within twice the published seeds' standard deviation,
but for one run in `STRAYS`: training amplifies roundings, and one that stops early by chance ends elsewhere.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import stdev
from typing import Any

from experiments import code, runner
from experiments.published import RESULTS, complete, published_runs, scales
from experiments.runner import weight
from experiments.store import Run

EXACT = 1e-9
"""The most by which figures that have no chance in them may differ, relative to their size."""

NEAR = 0.15
"""The most by which an error of a gradient-trained network may differ, relative to its size."""

STRAYS = 5
"""Of so many gradient-trained networks one may lie further off."""

_ERRORS = ("validation_mse", "test_mse")


@dataclass(frozen=True)
class Again:
    """A published run, what was computed again, and where the two differ."""

    published: Run
    now: Run
    differs: str | None


def drawn(
    name: str, cells: int, seed: int, longest: float, results: Path = RESULTS, done: Mapping[str, Run] | None = None
) -> dict[str | None, list[Run]]:
    """Return by part of bgn some runs that a page shows, of older code, that took at most so many seconds.

    With `done`, only what was computed again with today's code, however long it took.
    """
    shown: dict[str, Run] = {}
    for options in scales(name).values():
        shown |= complete(runner.compare(name, options, published_runs(name, results)))
    parts: dict[str | None, list[Run]] = {}
    for key in sorted(shown):
        run = shown[key]
        part = code.part(run.task)
        short = _seconds(run) <= longest if done is None else key in done and _of_today(done[key])
        if run.error is None and short and not (part and _of_today(run)):  # of today's code there is no doubt
            parts.setdefault(part, []).append(run)
    return {part: random.Random(seed).sample(runs, min(cells, len(runs))) for part, runs in parts.items()}


def _of_today(run: Run) -> bool:
    """Whether a run was made with today's code of the part that it measures."""
    part = code.part(run.task)
    return part is None or run.versions.get(part) == code.today(part)


def _seconds(run: Run) -> float:
    """Return about how long a run takes on a processor: what it took, or where a GPU did it what its study expects."""
    return max(run.seconds, weight(run.task)) if "device" in run.versions else run.seconds


def again(
    runs: Sequence[Run], jobs: int = 1, alike: Iterable[Run] = (), done: Mapping[str, Run] | None = None
) -> list[Again]:
    """Compute runs again, side by side, and compare; `alike` are all published runs of the study.

    What was computed already is taken from `done`, by key.
    """
    known = {(run.task.study, run.task.key("")): run for run in runs}
    if done is None:
        tasks = [[run.task] for run in runs if runner.skipped(run.task) is None]
        made = [run for batch in runner.results(tasks, "cpu", jobs, "loky") for run in batch]
    else:
        made = [done[run.key] for run in runs]
    others = list(alike)
    pairs = [(known[now.task.study, now.task.key("")], now) for now in made]
    return [Again(old, now, difference(old, now, others)) for old, now in pairs]


def difference(old: Run, now: Run, others: Iterable[Run] = ()) -> str | None:
    """Return in words where two runs of a task differ more than they may; None where they agree."""
    if now.error is not None:
        return now.error
    if code.part(old.task) == "baselines" and ("test_mse" in old.figures or "curve" in old.figures):
        return _far(old, now, others)
    if code.part(old.task) is None and (changed := _changed(old, now)):
        return changed
    return _unlike(old.figures, now.figures, "")


def _changed(old: Run, now: Run) -> str | None:
    """Return which packages have other versions, where figures differ."""
    if _unlike(old.figures, now.figures, "") is None:
        return None
    ours = {"python", "bgn", "commit", "growth", "baselines"}
    names = [name for name in old.versions if name not in ours and old.versions[name] != now.versions.get(name)]
    versions = ", ".join(f"{name} {old.versions[name]} -> {now.versions.get(name)}" for name in names)
    return f"other figures with {versions}" if versions else None


def _unlike(old: Any, now: Any, where: str) -> str | None:
    """Return the first place where figures differ; left out are times, and what was not noted yet when published."""
    if isinstance(old, Mapping) and isinstance(now, Mapping):
        if gone := old.keys() - now.keys():
            return f"{where or 'figures'}: {sorted(gone)}"
        kept = [name for name in old if "seconds" not in name]
        differences = (_unlike(old[name], now[name], f"{where} {name}".strip()) for name in kept)
        return next(filter(None, differences), None)
    if isinstance(old, list | tuple) and isinstance(now, list | tuple):
        if len(old) != len(now):
            return f"{where}: {len(old)} -> {len(now)} values"
        pairs = enumerate(zip(old, now, strict=True))
        return next(filter(None, (_unlike(*pair, f"{where} {k}") for k, pair in pairs)), None)
    if isinstance(old, float) and isinstance(now, int | float):
        same = math.isclose(old, now, rel_tol=EXACT, abs_tol=EXACT) or (old != old and now != now)
    else:
        same = old == now
    return None if same else f"{where}: {old} -> {now}"


def _far(old: Run, now: Run, others: Iterable[Run]) -> str | None:
    """Return by how much the errors of a gradient-trained network differ, where that is too much."""
    for figure in _ERRORS:
        before, after = (_error(run, figure) for run in (old, now))
        if not math.isfinite(before) or not math.isfinite(after):
            if math.isfinite(before) != math.isfinite(after):
                return f"{figure}: {before} -> {after}"
            continue
        seeds = [_error(run, figure) for run in others if _but_for_seed(run) == _but_for_seed(old)]
        deviation = stdev(seeds) if len(seeds) > 1 and all(map(math.isfinite, seeds)) else 0.0
        if abs(after - before) > max(NEAR * abs(before), 2 * deviation):
            return f"{figure}: {before:.6g} -> {after:.6g}, more than {NEAR:.0%} and twice the spread of seeds"
    return None


def _error(run: Run, figure: str) -> float:
    """Return an error of a trained network; of a pruned one that before the first cut."""
    figures = run.figures["curve"][0] if "curve" in run.figures else run.figures
    return math.nan if figures[figure] is None else float(figures[figure])


def _but_for_seed(run: Run) -> tuple[str, str, str, str]:
    """Return what the seeds of one combination share."""
    return run.task.dataset, run.task.method, repr(sorted(run.task.parameters.items())), run.task.split


def recheck(
    name: str, cells: int = 10, seed: int = 0, longest: float = 60.0, jobs: int = 1, results: Path = RESULTS,
    keep: bool = False, done: Mapping[str, Run] | None = None,
) -> tuple[list[Again], list[str]]:  # fmt: skip
    """Compute some runs of a study again; stamp the parts of bgn whose runs agree; return what was found, and told.

    Parameters
    ----------
    name : str
        The study.
    cells : int
        How many runs, of each part of bgn that the study measures, and of other packages.
    seed : int
        Of the draw.
    longest : float
        Runs that took more seconds when they were published are not drawn.
    jobs : int
        Runs at a time.
    results : path
        Where published runs and stamps are.
    keep : bool
        Stamp although some differ: the page then says how many.
    done : mapping of str to Run, optional
        Runs by key that were computed elsewhere: those of today's code are compared, and none is computed here.
    """
    published = list(published_runs(name, results).values())
    lines, compared = [], []
    for part, runs in drawn(name, cells, seed, longest, results, done).items():
        checked = again(runs, jobs, published, done)
        compared += checked
        wrong = [result for result in checked if result.differs]
        lines += [f"  {_described(result.published)}: {result.differs}" for result in wrong]
        lines.append(f"{name}, {part or 'other packages'}: {len(checked) - len(wrong)} of {len(checked)} agree")
        strays = len(checked) // STRAYS if part == "baselines" else 0
        if checked and (keep or len(wrong) <= strays) and part is not None:
            check: dict[str, Any] = {
                "code": code.today(part), "cells": len(checked), "agree": len(checked) - len(wrong),
                "longest": longest, "seed": seed,
                "of": sum(code.part(run.task) == part for run in published),
                "date": datetime.now(UTC).strftime("%Y-%m-%d"), "commit": code.commit(),
            }  # fmt: skip
            code.stamp(name, results, {part: check})
    return compared, lines


def within_chance(results: Sequence[Again]) -> bool:
    """Whether what differs is no more than chance explains."""
    trained = [result for result in results if code.part(result.published.task) == "baselines"]
    others = [result for result in results if code.part(result.published.task) != "baselines"]
    strays = sum(result.differs is not None for result in trained)
    return not any(result.differs for result in others) and strays <= len(trained) // STRAYS


def _described(run: Run) -> str:
    """Return a run in words."""
    parameters = ", ".join(f"{name}={value}" for name, value in run.task.parameters.items())
    return f"{run.task.dataset} {run.task.method} seed {run.task.seed} ({parameters[:80]})"
