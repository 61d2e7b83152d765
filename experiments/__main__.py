"""The command line: ``python -m experiments NAME``."""

from __future__ import annotations

import argparse
import signal
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from bgn.datasets import DatasetError
from bgn.text import message
from experiments import STUDIES, runner, tables
from experiments.published import RESULTS, complete, provenance, publish, published_runs, read_any, scales
from experiments.recheck import recheck, within_chance
from experiments.runner import Estimate, remaining
from experiments.store import SCALES, Options, Run, Store, merge

_HERE = Path(__file__).parent
_DESCRIPTION = """\
Rebuild a table or figure of the paper from raw data, ours beside the printed one.

  python -m experiments accuracy                 what is missing is run, then the table is shown
  python -m experiments accuracy --status        what is done, failed, missing, and how long the rest takes
  python -m experiments accuracy --published     the published tables; nothing is run
  python -m experiments all --smoke              everything at toy size, to see that it works
  python -m experiments merge ALL.sqlite A B     bring the runs of several stores together (of published ones too)
  python -m experiments publish accuracy --store FILE
                                                 add runs to experiments/results; without --store, after a merge of
                                                 two branches, put its lines in order
  python -m experiments recheck accuracy --cells 10
                                                 compute some published runs again and compare; where all agree, note
                                                 that today's code gives what is published (results/accuracy.code.json);
                                                 with --store FILE those that a store has already, computed elsewhere

Studies:
"""
_EPILOG = """\
Runs are kept in the store and never done twice: stop at any moment, start again, and it goes on. Tables are written to
--output as text, Markdown, LaTeX and CSV, figures as PNG and SVG. The raw tables are found in the folder named by the
environment variable BGN_DATA, or downloaded.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    titles = "".join(f"  {name:14} {title}\n" for name, title in STUDIES.items())
    commands = argparse.ArgumentParser(
        "python -m experiments", description=_DESCRIPTION + titles, epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    commands.add_argument("name", nargs="?", help="a study, or: all, merge, publish, recheck")
    commands.add_argument("more", nargs="*", metavar="FILE", help="for merge: stores; for publish and recheck: studies")
    size = commands.add_mutually_exclusive_group()
    meanings = ("a toy", "smaller grids than the paper's and few seeds (the default)", "everything")
    for scale, meaning in zip(SCALES, meanings, strict=True):
        size.add_argument(f"--{scale}", dest="scale", action="store_const", const=scale, help=meaning)
    commands.add_argument("--datasets", nargs="+", metavar="NAME", help="only these tables")
    commands.add_argument("--methods", nargs="+", metavar="NAME", help="only these methods")
    commands.add_argument("--seeds", type=int, metavar="N", help="how many seeds instead of the study's own number")
    commands.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at a time (default 1)")
    commands.add_argument(
        "--backend", default="loky", metavar="B", help="loky (default), threading or dask://HOST:PORT"
    )
    commands.add_argument("--device", default="cpu", choices=("cpu", "cuda", "auto"), help="where networks are trained")
    commands.add_argument(
        "--store", type=Path, metavar="FILE", help="where runs are kept (output/runs.sqlite beside this program)"
    )
    commands.add_argument("--output", type=Path, metavar="FOLDER", help="where tables go (output beside this program)")
    commands.add_argument("--format", choices=tables.FORMATS, default="txt", help="how tables are printed")
    instead = commands.add_mutually_exclusive_group()
    instead.add_argument("--status", action="store_true", help="run nothing, say what there is")
    instead.add_argument("--published", action="store_true", help="run nothing, print the published tables")
    commands.add_argument("--replace", action="store_true", help="for publish: the store's runs replace older ones")
    commands.add_argument("--cells", type=int, default=10, metavar="N", help="for recheck: how many runs (default 10)")
    commands.add_argument("--seed", type=int, default=0, metavar="S", help="for recheck: of the draw (default 0)")
    commands.add_argument(
        "--longest", type=float, default=60.0, metavar="SECONDS", help="for recheck: leave longer runs out (default 60)"
    )
    commands.add_argument("--keep", action="store_true", help="for recheck: note what differs, and let the page say so")
    commands.add_argument("--retry", action="store_true", help="try again what failed")
    commands.add_argument("--redo", action="store_true", help="forget the stored runs chosen and do them again")
    return commands


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says; return the exit status."""
    reader = parser()
    args = reader.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop as for Ctrl-C
    try:
        return _command(args)
    except KeyboardInterrupt:
        print("Stopped; what was finished is stored. The same command goes on from there.", file=sys.stderr)
        return 130
    except (ValueError, DatasetError, OSError, ImportError) as error:
        reader.exit(2, f"{message(str(error))}\n")


def _command(args: argparse.Namespace) -> int:
    """Do one command."""
    if args.name is None:
        raise ValueError(f"name a study: {', '.join(STUDIES)}; or all, merge, publish, recheck.")
    if args.output is not None and args.output.exists() and not args.output.is_dir():
        raise ValueError(f"--output must be a folder; {args.output} is a file.")
    if args.name == "merge":
        if len(args.more) < 2:
            raise ValueError("merge needs a target and sources: python -m experiments merge ALL.sqlite A.sqlite")
        print(f"{args.more[0]}: {merge(args.more[0], args.more[1:])} runs")
        return 0
    if args.name == "publish":
        known = [name for name in STUDIES if (RESULTS / f"{name}.jsonl").exists()]
        for path in publish(args.more or known, args.store, replace=args.replace):
            print(path)
        return 0
    if args.name == "recheck":
        return _recheck(args)
    if args.more:
        raise ValueError(f"one study at a time, or all; got {' '.join([args.name, *args.more])}.")
    for flag in ("jobs", "seeds"):
        if (value := getattr(args, flag)) is not None and value < 1:
            raise ValueError(f"--{flag} must be at least 1; got {value}.")
    if args.backend not in ("loky", "threading") and not _is_cluster(args.backend):
        raise ValueError(f"--backend must be loky, threading or dask://HOST:PORT; got {args.backend!r}.")
    names = tuple(STUDIES) if args.name == "all" else (args.name,)
    options = Options(args.scale or "reduced", args.seeds, _tuple(args.datasets), _tuple(args.methods), args.device)
    if args.published:
        return _published(names, options, args)
    tasks = [task for name in names for task in runner.chosen(name, options).values()]  # named before a store is made
    if not args.status:
        _make_folder(args.output)
    if args.redo and not args.status:  # before anything is forgotten
        if args.device == "cuda":
            _check_device(args.device)
        runner.check(tasks, args.backend)
    path = Path(args.store or _HERE / "output" / "runs.sqlite")
    if args.status and not path.exists():
        path = Path(":memory:")  # nothing is made where nothing is run
    with Store(path, read_only=args.status and path.is_file()) as store:
        estimate = Estimate(run for name in names for run in runner.alike(published_runs(name).values(), args.device))
        failed = [_study(name, options, store, args, estimate, names[k + 1 :]) for k, name in enumerate(names)]
        if args.status and len(names) > 1:
            _print_total(names, options, store, estimate, args.jobs)
    return 1 if any(failed) else 0


def _study(
    name: str, options: Options, store: Store, args: argparse.Namespace, estimate: Estimate, later: tuple[str, ...]
) -> int:
    """Run a study or say how it stands; return how many runs failed."""
    if args.status:
        work = runner.look(name, options, store)
        estimate.learn(work.done.values())
        done = len(work.done) - len(work.failed)
        left = remaining(estimate.seconds(work.missing.values()) if work.missing else 0.0)
        print(f"{name}: {done} done, {len(work.failed)} failed, {len(work.missing)} missing; {left} with one job")
        return 0
    if args.redo:
        store.forget(runner.chosen(name, options))
    own = runner.chosen(name, options)
    after = {key: task for other in later for key, task in runner.look(other, options, store).missing.items()}
    ahead = [task for key, task in after.items() if key not in own]  # studies share runs
    work = runner.perform(name, options, store, args.jobs, args.backend, args.retry, sys.stderr, estimate, ahead)
    done = [work.done[key] for key in work.tasks if key in work.done]
    try:
        _show(name, done, args.format, args.output or _HERE / "output")
    except (KeyError, TypeError, AttributeError) as error:
        problem = f"--store {store.path}: a run of {name} lacks what its tables show ({error!r})."
        raise ValueError(f"{problem} Do it again with --redo, or name another store.") from error
    for run in work.failed:
        problem = f"failed: {run.task.dataset} {run.task.method} seed {run.task.seed}: {run.error}"
        print(message(problem), file=sys.stderr)
    return len(work.failed)


def _print_total(names: tuple[str, ...], options: Options, store: Store, estimate: Estimate, jobs: int) -> None:
    """Say how long all studies take together; a run that several of them share is done once."""
    missing = {key: task for name in names for key, task in runner.look(name, options, store).missing.items()}
    left = remaining(estimate.wall(([task] for task in missing.values()), jobs))
    print(f"all: {len(missing)} missing, shared ones counted once; {left} with {jobs} jobs")


def _published(names: tuple[str, ...], options: Options, args: argparse.Namespace) -> int:
    """Print the tables of the published runs; with --output, write them and the figures too.

    Of the scale that is asked for, or, without one, of the first at which a study is published.
    """
    _make_folder(args.output)
    wanted = {name: _as_published(name, options, args.scale) for name in names}
    compared = {name: runner.compare(name, own, published_runs(name)) for name, own in wanted.items()}
    runs_by_study = {name: complete(work) for name, work in compared.items()}
    if not any(runs_by_study.values()):
        raise ValueError(f"no runs of {' or '.join(names)} with --{options.scale} are published.")
    for name, runs in runs_by_study.items():
        origin = provenance(name, wanted[name], list(runs.values()))
        print(f"{name}: {origin.replace('``', '`')}", file=sys.stderr)
        if runs:
            _show(name, list(runs.values()), args.format, args.output)
    return 0


def _as_published(name: str, options: Options, scale: str | None) -> Options:
    """Return options with the scale and the number of seeds at which a study is published, where none is asked for."""
    published_scales = scales(name)
    own = next(iter(published_scales.values())) if scale is None else published_scales.get(scale, Options(scale))
    return replace(options, scale=own.scale, seeds=options.seeds or own.seeds)


def _recheck(args: argparse.Namespace) -> int:
    """Compute some published runs of studies again; return whether any differs."""
    for flag in ("cells", "jobs"):
        if getattr(args, flag) < 1:
            raise ValueError(f"--{flag} must be at least 1; got {getattr(args, flag)}.")
    known = [name for name in STUDIES if (RESULTS / f"{name}.jsonl").exists()]
    done = None if args.store is None else read_any(args.store)
    differ = False
    for name in args.more or known:
        if name not in known:
            raise ValueError(f"no runs of {name!r} are published; there are {', '.join(known)}.")
        results, lines = recheck(name, args.cells, args.seed, args.longest, args.jobs, keep=args.keep, done=done)
        print(*lines, sep="\n", flush=True)
        differ = differ or not within_chance(results)
    return int(differ)


def _show(name: str, runs: list[Run], form: str, folder: Path | None) -> None:
    """Print the tables of a study, and write them and its figures to a folder."""
    for shown in runner.study(name).show(runs):
        if isinstance(shown, tables.Table):
            print(tables.FORMATS[form](shown))
        elif folder is None:
            print(f"{shown.title}: a figure, drawn with --output FOLDER", file=sys.stderr)
        if folder is not None:
            for path in tables.write(shown, folder, ("txt", "md", "tex", "csv", "png", "svg")):
                print(path, file=sys.stderr)


def _make_folder(output: Path | None) -> None:
    """Make the folder for tables, before hours of runs rather than after."""
    if output is None:
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--output {output} cannot be made ({error.strerror}); name a folder to write to.") from None


def _check_device(device: str) -> None:
    """Refuse a device that is not there."""
    try:
        from bgn.baselines.training import choose_device

        choose_device(device)
    except (ImportError, RuntimeError) as error:
        raise ValueError(f"--device {device}: {error}") from None


def _is_cluster(backend: str) -> bool:
    """True for dask://HOST:PORT."""
    try:
        address = urlsplit(backend)
        return address.scheme == "dask" and bool(address.hostname and address.port)
    except ValueError:  # a port that is no number, or beyond 65535
        return False


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    """Return a list as a tuple."""
    return None if values is None else tuple(values)


if __name__ == "__main__":
    sys.exit(main())
