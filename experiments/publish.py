"""From runs to the documentation: stores in ``experiments/results``, tables in ``docs/results/generated``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bgn.whole_file import write_whole
from experiments import runner, tables
from experiments.options import Options
from experiments.store import Run, Store, merge

RESULTS = Path(__file__).parent / "results"
GENERATED = Path(__file__).parents[1] / "docs" / "results" / "generated"


def publish(names: Iterable[str], source: Path | None = None, folder: Path = GENERATED) -> list[Path]:
    """Add the runs of a store to the published ones and write what the pages include; return the files.

    A study that is published at other scales than ``"reduced"`` names them in its ``PUBLISHED``. Of a table and a
    method, all runs must be there or none is shown; a scale that adds nothing to the one before is left out.
    """
    written = []
    for name in names:
        scales = {scale: Options(scale) for scale in getattr(runner.study(name), "PUBLISHED", ("reduced",))}
        if source is not None:
            keys = {key for options in scales.values() for key in runner.chosen(name, options)}
            merge(RESULTS / f"{name}.sqlite", [source], keys)
        seen: set[str] = set()
        with Store(RESULTS / f"{name}.sqlite", read_only=True) as store:
            for scale, options in scales.items():
                done = complete(runner.look(name, options, store))
                if not done.keys() <= seen:
                    written += _pages(name, scale, list(done.values()), folder)
                seen |= done.keys()
    return written


def complete(work: runner.Work) -> dict[str, Run]:
    """Return the runs of those tables and methods that lack none."""
    lacking = {(task.dataset, task.method) for task in work.missing.values()}
    found = {key: work.done[key] for key in work.tasks if key in work.done}
    return {key: run for key, run in found.items() if (run.task.dataset, run.task.method) not in lacking}


def _pages(name: str, scale: str, runs: list[Run], folder: Path) -> list[Path]:
    """Write the tables, figures and provenance of one study at one scale."""
    within = folder / scale
    written = [
        path for shown in runner.study(name).show(runs) for path in tables.write(shown, within, ("rst", "csv", "svg"))
    ]
    origin = within / f"{name}-origin.rst"
    write_whole(origin, provenance(name, scale, runs).encode("utf-8"))
    return [*written, origin]


def provenance(name: str, scale: str, runs: list[Run]) -> str:
    """Return which command made a table, when, and with what."""
    if not runs:
        return "No runs yet.\n"
    days = sorted({run.finished[:10] for run in runs})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    failed = sum(run.error is not None for run in runs)
    found: dict[str, set[str]] = {}
    for run in runs:
        for package, number in run.versions.items():
            found.setdefault(package, set()).add(number)
    used = ", ".join(f"{package} {' and '.join(sorted(numbers))}" for package, numbers in sorted(found.items()))
    hours = sum(run.seconds for run in runs) / 3600
    return (
        f"Made by ``python -m experiments {name} --{scale}``, {when}: {len(runs):,} runs, {failed} failed, "
        f"{hours:.1f} hours in all. Versions: {used}.\n"
    )
