"""Do what is missing of a study: on one core, several, or a cluster; each run is stored as soon as it ends.

The parent process alone writes, so a run is either wholly there or not at all, and what was in flight when the
process was killed is all that is done again. A result depends on its task only: every run has one thread, whatever
the number of jobs.
"""

from __future__ import annotations

import platform
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from typing import Any, TextIO

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

import bgn
from bgn.compiling import compile_ahead
from bgn.require import require
from experiments import STUDIES, code, data
from experiments.store import SCALES, Options, Run, Store, Task

_TIMEOUT = "10s"
# Packages whose versions are recorded when a run uses them, and the modules that tell.
_PACKAGES = {
    "numpy": "numpy", "scipy": "scipy", "scikit-learn": "sklearn", "numba": "numba", "torch": "torch",
    "imodels": "imodels", "interpret-core": "interpret", "xgboost": "xgboost", "lightgbm": "lightgbm", "pygam": "pygam",
    "pandas": "pandas", "fasterrisk": "fasterrisk", "aplr": "aplr", "cubist": "cubist", "mars-earth": "pymars",
    "fast-model-trees": "pilot", "fastsparsegams": "fastsparsegams", "pygbrs": "gbrs",
}  # fmt: skip


@dataclass(frozen=True)
class Work:
    """A study's tasks, sorted into what the store has and what it lacks."""

    tasks: dict[str, Task]
    done: dict[str, Run]
    missing: dict[str, Task]

    @property
    def failed(self) -> list[Run]:
        """Runs that ended with an error."""
        return [run for run in self.done.values() if run.error is not None]


def study(name: str) -> Any:
    """Return the module of a study, or say which there are."""
    if name not in STUDIES:
        raise ValueError(f"no study {name!r}; there are {', '.join(STUDIES)}.")
    return import_module(f"experiments.{name}")


def chosen(name: str, options: Options) -> dict[str, Task]:
    """Return the tasks of a study that the options pick, by key."""
    tasks = [replace(task, revision=study(task.study).REVISION) for task in study(name).tasks(options)]
    for field, wanted in (("dataset", options.datasets), ("method", options.methods)):
        known = list(dict.fromkeys(getattr(task, field) for task in tasks))
        for value in wanted or ():
            if value not in known:
                larger = SCALES[SCALES.index(options.scale) + 1 :]
                at = [scale for scale in larger if value in _known(name, field, options, scale)]
                raise ValueError(
                    f"{name} does {field} {value!r} only with {' or '.join(f'--{scale}' for scale in at)}."
                    if at
                    else f"{name} has no {field} {value!r}; choose from {', '.join(known)}."
                )
        if wanted:
            tasks = [task for task in tasks if getattr(task, field) in wanted]
    return {task.key(data.checksum(task.dataset)): task for task in tasks}


def _known(name: str, field: str, options: Options, scale: str) -> set[str]:
    """Return the tables or methods that a study has at a scale."""
    tasks = study(name).tasks(replace(options, scale=scale, datasets=None, methods=None))
    return {getattr(task, field) for task in tasks}


def look(name: str, options: Options, store: Store, retry: bool = False) -> Work:
    """Return what there is of a study; with `retry`, runs that failed count as missing."""
    return compare(name, options, store.runs(), retry)


def compare(name: str, options: Options, stored: Mapping[str, Run], retry: bool = False) -> Work:
    """Return what there is of a study among runs by key."""
    tasks = chosen(name, options)
    done = {key: stored[key] for key in tasks if key in stored and not (retry and stored[key].error is not None)}
    return Work(tasks, done, {key: task for key, task in tasks.items() if key not in done})


def perform(
    name: str, options: Options, store: Store, jobs: int = 1, backend: str = "loky", retry: bool = False,
    log: TextIO = sys.stderr, estimate: Estimate | None = None, later: Iterable[Task] = (),
) -> Work:  # fmt: skip
    """Do what is missing of a study, and return what there is then.

    The longest runs come first, so that none is left alone at the end; before them one of every method that takes half
    a minute at most, from which the estimate of the time left learns how fast this machine is.

    Parameters
    ----------
    name : str
        The study.
    options : Options
    store : Store
    jobs : int
        Runs at a time; a cluster takes as many as it has threads.
    backend : str
        ``"loky"`` (processes), ``"threading"``, or ``"dask://HOST:PORT"`` for a cluster that is up.
    retry : bool
        Try again what failed.
    log : file
        Where progress goes, one line per batch.
    estimate : Estimate, optional
        What is known of how long things take.
    later : iterable of Task
        What other studies will do after this one; their time is told, too.
    """
    work = look(name, options, store, retry)
    here = not backend.startswith("dask://")  # whose workers have packages of their own
    if here:
        _check_extras(name, work.missing.values())
    reasons = {key: skipped(task) if here else None for key, task in work.missing.items()}
    for reason, count in Counter(filter(None, reasons.values())).items():
        print(f"{name}: {count} runs left out: {reason}", file=log, flush=True)
    estimate = Estimate() if estimate is None else estimate
    estimate.learn(work.done.values())
    batches = in_order(_batches({key: task for key, task in work.missing.items() if reasons[key] is None}), estimate)
    left, after = {id(batch): batch for batch in batches}, list(later)
    waiting = {task: id(batch) for batch in batches for task in batch}
    if here:
        _compile(task for batch in batches for task in batch)
    begun = time.perf_counter()
    count = len(work.done)
    for runs in results(batches, options.device, jobs, backend):
        store.add(runs)
        count += len(runs)
        left.pop(waiting[runs[0].task])
        estimate.learn(runs)
        estimate_text = remaining(estimate.wall(left.values(), jobs))
        if after:
            everything = [*left.values(), *([task] for task in after)]
            estimate_text += f", {duration(estimate.wall(everything, jobs))} with all studies"
        print(f"{_line(name, runs, count, len(work.tasks))}; {estimate_text}", file=log, flush=True)
    if batches:
        print(f"{name}: done in {duration(time.perf_counter() - begun)}", file=log, flush=True)
    return look(name, options, store)


def execute(tasks: Sequence[Task], device: str) -> list[Run]:
    """Do tasks of one study in one go; an error, but for a missing package, becomes part of the record of each."""
    module = study(tasks[0].study)
    begun = time.perf_counter()
    error = None
    answers: list[dict[str, Any]] = [{} for _ in tasks]
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.filterwarnings("error", message="fit was interrupted", category=UserWarning)
            alone = together(tasks[0]) is None
            answers = [module.run(tasks[0])] if alone else module.run_together(tasks, device)
    except ImportError:
        raise  # it tells of this machine, not of the method
    except Exception as problem:
        if isinstance(problem, UserWarning) and "interrupted" in str(problem):
            raise KeyboardInterrupt from problem  # half a fit is no result
        error = "".join(traceback.format_exception_only(problem)).strip()
    seconds = (time.perf_counter() - begun) / len(tasks)
    finished = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    return [
        Run(task, data.checksum(task.dataset), figures, error, seconds, finished, versions(device) | code.origin(task))
        for task, figures in zip(tasks, answers, strict=True)
    ]


def versions(device: str) -> dict[str, str]:
    """Return what a result may depend on besides its task."""
    numbers = {"python": platform.python_version(), "bgn": bgn.__version__} | (
        {} if device == "cpu" else {"device": device}
    )
    used = {package: sys.modules[module] for package, module in _PACKAGES.items() if module in sys.modules}
    return numbers | {
        package: getattr(module, "__version__", None) or version(package) for package, module in used.items()
    }


def alike(runs: Iterable[Run], device: str) -> list[Run]:
    """Return the runs that succeeded and took their time on such a device; only networks trained together use one."""
    devices = ("cpu", "cuda") if device == "auto" else (device,)
    return [
        run for run in runs
        if run.error is None and (together(run.task) is None or run.versions.get("device", "cpu") in devices)
    ]  # fmt: skip


def _line(name: str, runs: list[Run], count: int, total: int) -> str:
    """Return a line of progress."""
    task = runs[0].task
    what = f"{task.dataset} {task.method}" + (f" seed {task.seed}" if len(runs) == 1 else f", {len(runs)} runs")
    result = runs[0].error or f"{duration(sum(run.seconds for run in runs))}"
    return f"[{count}/{total}] {name} {what}: {result}"


def together(task: Task) -> Any:
    """Return what a task may be done together with, or None."""
    module = study(task.study)
    return module.together(task) if hasattr(module, "together") else None


def skipped(task: Task) -> str | None:
    """Return why a task cannot be done here, or None."""
    module = study(task.study)
    return module.skipped(task) if hasattr(module, "skipped") else None


def _check_extras(name: str, tasks: Iterable[Task]) -> None:
    """Raise unless the packages are there that some tasks need besides those of the extra experiments."""
    for task in tasks:
        module = study(task.study)
        package = module.extra(task) if hasattr(module, "extra") else None
        if package is not None:
            try:
                require(package, extra=package)
            except ImportError as error:
                raise ValueError(f"{name}, {task.method}: {error} --methods leaves methods out.") from None


def _compile(tasks: Iterable[Task]) -> None:
    """Compile what growth needs, once and not in every process, so that no run's time holds it."""
    if any(code.part(task) == "growth" for task in tasks):
        for kind in ("numbers", "classes"):
            compile_ahead(kind)


def _batches(tasks: dict[str, Task]) -> list[list[Task]]:
    """Return tasks in lists that are done in one go."""
    groups: dict[Any, list[Task]] = {}
    for key, task in tasks.items():
        partner = together(task)
        groups.setdefault(key if partner is None else (task.study, partner), []).append(task)
    return list(groups.values())


def results(batches: list[list[Task]], device: str, jobs: int, backend: str) -> Iterator[list[Run]]:
    """Yield the runs of every batch as it ends."""
    if jobs == 1 and backend == "loky":
        for tasks in batches:
            yield execute(tasks, device)
        return
    with _backend(backend, jobs), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")  # and is replaced
        parallel = Parallel(return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
        yield from parallel(delayed(execute)(tasks, device) for tasks in batches)


@contextmanager
def _backend(backend: str, jobs: int) -> Iterator[None]:
    """Make joblib use so many processes or threads, or all of a cluster."""
    if not backend.startswith("dask://"):
        with parallel_config(backend, n_jobs=jobs):
            yield
        return
    with _client(backend), parallel_config("dask", n_jobs=-1):
        yield


def check(tasks: Iterable[Task], backend: str) -> None:
    """Raise unless the cluster answers, or the tables can be read here."""
    if backend.startswith("dask://"):
        _client(backend).close()
        return
    for dataset in dict.fromkeys(task.dataset for task in tasks):
        data.check(dataset)


def _client(backend: str) -> Any:
    """Connect to a cluster."""
    try:
        distributed = require("distributed", extra="dask")
        return distributed.Client(f"tcp://{backend.removeprefix('dask://')}", timeout=_TIMEOUT)
    except ImportError as error:
        raise ValueError(f"--backend {backend}: {error}") from None
    except (OSError, ValueError) as error:
        raise ValueError(
            f"--backend: no Dask scheduler answers at {backend!r} ({error}). Start one with `dask scheduler` and give "
            "the address it says."
        ) from None


# -- How long runs will take, from how long others took: elsewhere, and here so far


# A method's own times decide once it has run for so many seconds (of those elsewhere); before, those of all methods.
_TRUSTED = 20.0
# Those of all methods decide once they have run for so many; before, those elsewhere. Short runs tell more of how long
# packages take to load than of how fast this machine is.
_TRUSTED_TOGETHER = 150.0
# Longer runs do not come first for the estimate's sake.
_SHORT = 30.0


class Estimate:
    """How long things take, from how long they took.

    Parameters
    ----------
    elsewhere : iterable of Run
        Runs that were done somewhere else: how long one took there stands for its time here, until runs here tell how
        much faster or slower this machine is, in general and with each method.
    """

    def __init__(self, elsewhere: Iterable[Run] = ()) -> None:
        self._known: dict[str, float] = {}
        self._units: dict[tuple[str, str], list[float]] = {}
        for run in elsewhere:
            self._known[run.task.key("")] = run.seconds
            unit = self._units.setdefault(_method(run.task), [0.0, 0.0])
            unit[0] += run.seconds
            unit[1] += weight(run.task)
        self._here: dict[tuple[str, str], list[float]] = {}
        self._seen: set[str] = set()

    def learn(self, runs: Iterable[Run]) -> None:
        """Take note of runs that were done here."""
        for run in runs:
            if run.error is None and run.key not in self._seen:
                self._seen.add(run.key)
                here = self._here.setdefault(_method(run.task), [0.0, 0.0])
                here[0] += run.seconds
                here[1] += self.cost([run.task])

    def cost(self, tasks: Iterable[Task]) -> float:
        """Return how long tasks took elsewhere, in seconds; in units of their studies where that is not known."""
        return float(sum(map(self._cost, tasks)))

    def seconds(self, tasks: Iterable[Task]) -> float:
        """Return how long tasks will take here, one after the other; nan as long as nothing is known."""
        spent, paid = (sum(pair[k] for pair in self._here.values()) for k in (0, 1))
        if not paid and not self._known:
            return float("nan")
        doubt = _TRUSTED_TOGETHER if self._known else 0.0
        speed = (spent + doubt) / (paid + doubt)
        trusted = _TRUSTED if self._known else min(_TRUSTED, paid)
        total = 0.0
        for task in tasks:
            own = self._here.get(_method(task), (0.0, 0.0))
            total += self._cost(task) * (own[0] + trusted * speed) / (own[1] + trusted)
        return total

    def wall(self, batches: Iterable[Sequence[Task]], jobs: int) -> float:
        """Return how long a person waits for batches, so many at a time: at least as long as the longest takes."""
        times = [self.seconds(batch) for batch in batches]
        return max([sum(times) / jobs, *times], default=0.0)

    def _cost(self, task: Task) -> float:
        """Return the cost of one task."""
        known = self._known.get(task.key(""))
        if known is not None:
            return known
        seconds, weights = self._units.get(_method(task), (1.0, 1.0))
        return weight(task) * (seconds / weights if weights else 1.0)


def in_order(batches: Iterable[list[Task]], estimate: Estimate) -> list[list[Task]]:
    """Return batches as they are best done: of every method the longest of the short ones, then the longest first."""
    ordered = sorted(batches, key=estimate.cost, reverse=True)
    first: dict[tuple[str, str], list[Task]] = {}
    for batch in ordered:
        if estimate.cost(batch) <= _SHORT:
            first.setdefault(_method(batch[0]), batch)
    chosen = {id(batch) for batch in first.values()}
    return [*first.values(), *(batch for batch in ordered if id(batch) not in chosen)]


def weight(task: Task) -> float:
    """Return about how long a task takes, in its study's unit."""
    module = import_module(f"experiments.{task.study}")
    return float(module.cost(task)) if hasattr(module, "cost") else 1.0


def _method(task: Task) -> tuple[str, str]:
    """Return what tasks of about the same speed share."""
    return task.study, task.method


def duration(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> [duration(seconds) for seconds in (4.2, 130, 7300)]
    ['4 s', '2 min', '2.0 h']
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def remaining(seconds: float) -> str:
    """Return how much time is left as people say it.

    Examples
    --------
    >>> [remaining(seconds) for seconds in (130, float("nan"))]
    ['2 min left', 'no estimate yet of the time left']
    """
    return "no estimate yet of the time left" if seconds != seconds else f"{duration(seconds)} left"
