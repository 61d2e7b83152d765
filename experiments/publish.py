"""From runs to the documentation: lines in ``experiments/results``; from them, tables and figures for the pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from bgn.whole_file import write_whole
from experiments import code, runner, tables
from experiments.options import Options
from experiments.records import read, read_any, write
from experiments.store import Run

RESULTS = Path(__file__).parent / "results"


def publish(
    names: Iterable[str], source: Path | None = None, results: Path = RESULTS, replace: bool = False
) -> list[Path]:
    """Add the runs of a store to the published ones, and put their lines in order; return the files.

    What is published of a study, at which scales and with how many seeds, its ``PUBLISHED`` says. A published run
    stays unless it failed; with `replace`, one of the store that succeeded takes its place, and runs that no scale of
    the study names any more are dropped.
    """
    written = []
    stored = {} if source is None else read_any(source)
    for name in names:
        path = results / f"{name}.jsonl"
        runs = published_runs(name, results)
        wanted = {key for options in scales(name).values() for key in runner.chosen(name, options)}
        if replace:
            runs = {key: run for key, run in runs.items() if key in wanted}
        runs |= {
            key: stored[key]
            for key in sorted(wanted & stored.keys())
            if key not in runs or runs[key].error is not None or (replace and stored[key].error is None)
        }
        if not runs:
            raise ValueError(f"no runs of {name} to publish; name the store that has them with --store.")
        write(path, runs.values())
        written.append(path)
    return written


def scales(name: str) -> dict[str, Options]:
    """Return the scales at which a study is published."""
    found = getattr(runner.study(name), "PUBLISHED", {"reduced": None})
    return {scale: Options(scale, seeds) for scale, seeds in found.items()}


def published_runs(name: str, results: Path = RESULTS) -> dict[str, Run]:
    """Return the published runs of a study by key; none where there are none yet."""
    path = results / f"{name}.jsonl"
    return read(path) if path.exists() else {}


def pages(name: str, runs: Mapping[str, Run], folder: Path) -> list[Path]:
    """Write the tables and figures of a study that the documentation shows; return the files.

    Of a table and a method, all runs must be there or none is shown; a scale that adds nothing to the one before is
    left out.
    """
    written = []
    seen: set[str] = set()
    for options in scales(name).values():
        done = complete(runner.compare(name, options, runs))
        if not done.keys() <= seen:
            written += _pages(name, options, list(done.values()), folder)
        seen |= done.keys()
    return written


def complete(work: runner.Work) -> dict[str, Run]:
    """Return the runs of those tables and methods that lack none."""
    lacking = {(task.dataset, task.method) for task in work.missing.values()}
    found = {key: work.done[key] for key in work.tasks if key in work.done}
    return {key: run for key, run in found.items() if (run.task.dataset, run.task.method) not in lacking}


def _pages(name: str, options: Options, runs: list[Run], folder: Path) -> list[Path]:
    """Write the tables, figures and provenance of one study at one scale."""
    within = folder / options.scale
    written = [path for shown in runner.study(name).show(runs) for path in tables.write(shown, within, ("rst", "svg"))]
    origin = within / f"{name}-origin.rst"
    write_whole(origin, provenance(name, options, runs).encode("utf-8"))
    return [*written, origin]


def provenance(name: str, options: Options, runs: list[Run], results: Path = RESULTS) -> str:
    """Return which command made a table, when, and with what, and whether it is older than the code."""
    if not runs:
        return "No runs yet.\n"
    days = sorted({run.finished[:10] for run in runs})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    failed = sum(run.error is not None for run in runs)
    found: dict[str, set[str]] = {}
    for run in runs:
        for package, number in run.versions.items():
            if package not in ("growth", "baselines"):  # hashes, for machines
                found.setdefault(package, set()).add(number)
    used = ", ".join(f"{package} {' and '.join(sorted(numbers))}" for package, numbers in sorted(found.items()))
    hours = sum(run.seconds for run in runs) / 3600
    command = f"python -m experiments {name} --{options.scale}" + (f" --seeds {options.seeds}" if options.seeds else "")
    return (
        f"Made by ``{command}``, {when}: {len(runs):,} runs, {failed} failed, {hours:.1f} hours in all. "
        f"Versions: {used}.{code.told(name, runs, results)}\n"
    )
