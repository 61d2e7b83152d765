"""Published runs, and what the documentation shows of them.

Published runs stand in ``experiments/results`` as lines of JSON: one run per line, sorted, so that git merges them and
people review them. A line begins with what a reader looks for (table, method, parameters, split, seed). Two branches
that add runs merge by keeping the lines of both (``.gitattributes`` says so); writing the file again puts them in
order.

``docs/conf.py`` calls :func:`build` before every build: it makes tables and figures from the published runs alone,
reads no raw table and fits nothing. A study is built again when its runs changed, or the code or the packages that show
them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bgn
from bgn.whole_file import write_whole
from experiments import code, runner, tables
from experiments.store import Options, Run, Store, canonical, run_of

RESULTS = Path(__file__).parent / "results"
GENERATED = Path(__file__).parents[1] / "docs" / "results" / "generated"

# The keys of every line, in this order.
_KEYS = (
    "dataset", "method", "parameters", "split", "seed", "study", "revision", "figures", "error", "seconds", "finished",
    "versions", "checksum",
)  # fmt: skip


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
    seeds_of_scales = getattr(runner.study(name), "PUBLISHED", {"reduced": None})
    return {scale: Options(scale, seeds) for scale, seeds in seeds_of_scales.items()}


def published_runs(name: str, results: Path = RESULTS) -> dict[str, Run]:
    """Return the published runs of a study by key; none where there are none yet."""
    path = results / f"{name}.jsonl"
    return read(path) if path.exists() else {}


# -- lines of JSON ------------------------------------------------------------------------------------------------


def to_line(run: Run) -> str:
    """Return a run as a line of JSON, floats in full.

    Examples
    --------
    >>> from experiments.store import Task
    >>> task = Task("accuracy", "diabetes", "bgn", {"max_terms": 3}, 0, "paper")
    >>> to_line(Run(task, "ab12", {"test_mse": 0.1}, None, 1.5, "2026-01-01 00:00:00", {"numpy": "2.0"}))[:70]
    '{"dataset":"diabetes","method":"bgn","parameters":{"max_terms":3},"spl'
    """
    values = vars(run.task) | vars(run)
    written = {name: json.dumps(values[name], sort_keys=True, separators=(",", ":"), default=dict) for name in _KEYS}
    parts = [f'"{name}":{value}' for name, value in written.items()]
    return f"{{{','.join(parts)}}}"


def write(path: Path, runs: Iterable[Run]) -> None:
    """Write runs as sorted lines, one per task."""
    lines = sorted(map(to_line, latest_runs(runs).values()))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())


def read(path: Path) -> dict[str, Run]:
    """Return the runs of a file by key; a line that is no run is named."""
    if not path.is_file():
        raise FileNotFoundError(f"no published runs {str(path)!r}; `python -m experiments publish` makes them.")
    runs = []
    for number, content in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            runs.append(_run(content.decode()))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path}, line {number}, is no run ({error}). Take the line from git again; of a merge that was left "
                "half done, keep the lines of both sides and drop the marks."
            ) from None
    return latest_runs(runs)


def read_any(path: Path) -> dict[str, Run]:
    """Return the runs of a store or of a file of lines, by key."""
    if path.suffix == ".jsonl":
        return read(path)
    with Store(path, read_only=True) as store:
        return store.runs()


def latest_runs(runs: Iterable[Run]) -> dict[str, Run]:
    """Return one run per task, by key: one that succeeded before one that failed, then the one that ended last."""
    latest: dict[str, Run] = {}
    for run in runs:
        if (key := run.key) not in latest or _rank(run) > _rank(latest[key]):
            latest[key] = run
    return latest


def _rank(run: Run) -> tuple[bool, str, str]:
    """Return what decides between runs of one task, whatever the order they come in."""
    return run.error is None, run.finished, to_line(run)


def _run(text: str) -> Run:
    """Return a line as its run; raise ValueError or TypeError unless it is one."""
    fields = json.loads(text)
    if not isinstance(fields, dict) or fields.keys() != set(_KEYS):
        raise ValueError(f"not an object with the keys {', '.join(_KEYS)}")
    canonical(fields["parameters"])  # which make up the key, and so are finite
    return run_of(fields)


# -- tables and figures for the pages --------------------------------------------------------------------------------


def build(folder: Path = GENERATED, results: Path = RESULTS) -> list[str]:
    """Write the tables and figures of every published study that is not up to date; return the studies built."""
    folder.mkdir(parents=True, exist_ok=True)
    code = _code()
    built = []
    for path in sorted(results.glob("*.jsonl")):
        stamp = folder / f"{path.stem}.json"
        origin = hashlib.sha256(code + path.read_bytes()).hexdigest()
        before = _stamp(stamp)
        if before["origin"] == origin and all((folder / name).is_file() for name in before["files"]):
            continue
        for name in before["files"]:
            (folder / name).unlink(missing_ok=True)
        written = write_pages(path.stem, published_runs(path.stem, results), folder)
        files = [page.relative_to(folder).as_posix() for page in written]
        write_whole(stamp, json.dumps({"origin": origin, "files": files}).encode())
        built.append(path.stem)
    return built


def file(kind: str, name: str, folder: Path = GENERATED) -> Path:
    """Return the file of a ``"table"`` or a ``"figure"`` that a page names, ``"reduced/accuracy"`` for instance."""
    return folder / f"{name}.{'rst' if kind == 'table' else 'svg'}"


def _stamp(path: Path) -> dict[str, Any]:
    """Return what a study was built from and into."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {"origin": None, "files": []}


def _code() -> bytes:
    """Return a hash of all that decides how runs are shown, besides the runs."""
    digest = hashlib.sha256(repr([version(name) for name in ("matplotlib", "numpy")]).encode())
    for package in (Path(__file__).parent, Path(bgn.__file__).parent):
        for path in sorted(package.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()


def write_pages(name: str, runs: Mapping[str, Run], folder: Path) -> list[Path]:
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
    runs = {key: work.done[key] for key in work.tasks if key in work.done}
    return {key: run for key, run in runs.items() if (run.task.dataset, run.task.method) not in lacking}


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
    used_versions: dict[str, set[str]] = {}
    for run in runs:
        for package, number in run.versions.items():
            if package not in ("growth", "baselines"):  # hashes, for machines
                used_versions.setdefault(package, set()).add(number)
    used = ", ".join(f"{package} {' and '.join(sorted(numbers))}" for package, numbers in sorted(used_versions.items()))
    hours = sum(run.seconds for run in runs) / 3600
    command = f"python -m experiments {name} --{options.scale}" + (f" --seeds {options.seeds}" if options.seeds else "")
    return (
        f"Made by ``{command}``, {when}: {len(runs):,} runs, {failed} failed, {hours:.1f} hours in all. "
        f"Versions: {used}.{code.describe_checks(name, runs, results)}\n"
    )
