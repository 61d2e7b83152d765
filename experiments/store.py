"""Runs, each stored once: a task, what came of it, and the SQLite file that keeps them."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

# What many runs share is kept once, in `texts`; `runs` refers to it by number.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS runs (
    key BLOB PRIMARY KEY,
    study INTEGER NOT NULL, dataset INTEGER NOT NULL, checksum INTEGER NOT NULL, method INTEGER NOT NULL,
    parameters INTEGER NOT NULL, split INTEGER NOT NULL, versions INTEGER NOT NULL,
    seed INTEGER NOT NULL, revision INTEGER NOT NULL,
    figures TEXT NOT NULL, error TEXT, seconds REAL NOT NULL, finished TEXT NOT NULL
) WITHOUT ROWID;
"""
_REMEDY = "Name another file with --store, or move this one away: its runs are done again."
_ATTEMPTS = 100
# A damaged file may also make SQLite say what is no text.
_BROKEN = (sqlite3.Error, UnicodeDecodeError)
_SHARED = ("study", "dataset", "checksum", "method", "parameters", "split", "versions")
_OWN = ("key", "seed", "revision", "figures", "error", "seconds", "finished")
# A run that succeeded stays; one that failed gives way to a later try.
_INSERT = f"""
INSERT INTO runs ({", ".join(_SHARED + _OWN)})
VALUES ({", ".join(f"(SELECT id FROM texts WHERE text = :{name})" for name in _SHARED)}, :{", :".join(_OWN)})
ON CONFLICT (key) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _SHARED + _OWN)}
WHERE runs.error IS NOT NULL
"""


@dataclass(frozen=True)
class Task:
    """Something to run, wholly described.

    Parameters
    ----------
    study : str
        The study whose ``run`` does it.
    dataset : str
        A name that :func:`bgn.datasets.load` knows, with its columns after a colon where they are not the usual
        ones: ``"housing:averaged"``.
    method : str
        What is fitted.
    parameters : mapping
        Its parameters: whatever JSON holds.
    seed : int
        Of the split and of the method.
    split : str
        How rows are split, as :func:`experiments.data.split` reads it.
    revision : int
        The study's ``REVISION``; the runner sets it.
    """

    study: str
    dataset: str
    method: str
    parameters: Mapping[str, Any] = field(hash=False)
    seed: int
    split: str
    revision: int = 1

    def key(self, checksum: str) -> str:
        """Return the hash of all that determines the result, given the checksum of the data."""
        parts = {**vars(self), "parameters": dict(self.parameters), "checksum": checksum}
        return hashlib.sha256(canonical(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Run:
    """A task that was done, well or not.

    Parameters
    ----------
    task : Task
    checksum : str
        SHA-256 of the raw table.
    figures : mapping
        What ``run`` returned; empty when it failed.
    error : str or None
        What went wrong.
    seconds : float
        Wall time.
    finished : str
        When, in UTC.
    versions : mapping
        Of the packages, and the device when there was one.
    """

    task: Task
    checksum: str
    figures: Mapping[str, Any] = field(hash=False)
    error: str | None
    seconds: float
    finished: str
    versions: Mapping[str, str] = field(hash=False)

    @property
    def key(self) -> str:
        """The task's key."""
        return self.task.key(self.checksum)


def canonical(value: Any) -> str:
    """Return JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


class Store:
    """A file of runs that several processes may read and write at once.

    Parameters
    ----------
    path : path
        Made when it is not there.
    read_only : bool
        Open an existing file and change nothing.
    """

    def __init__(self, path: str | Path, read_only: bool = False) -> None:
        self.path = Path(path)
        if read_only:
            if not self.path.is_file():
                raise FileNotFoundError(f"no store {str(path)!r}; run a study with --store {path} first.")
            # With no log beside it nobody writes, and the file may lie where nothing can be written.
            quiet = not self.path.with_name(f"{self.path.name}-wal").exists()
            address = f"{self.path.resolve().as_uri()}?mode=ro{'&immutable=1' if quiet else ''}"
            self._connection = sqlite3.connect(address, uri=True, timeout=60)
        try:
            if read_only:
                self._connection.execute("SELECT key FROM runs LIMIT 1")
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            _patiently(lambda: self._connection.execute("PRAGMA journal_mode = WAL"))
            _patiently(lambda: self._connection.executescript(_SCHEMA))
        except (OSError, *_BROKEN) as error:
            raise ValueError(f"--store {self.path}: {error}. Name a new file or one made by an earlier run.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Name the file, and what to do, where it turns out to be damaged or no store of runs."""
        try:
            yield
        except _BROKEN as error:
            raise ValueError(f"the store {self.path} cannot be used ({error}). {_REMEDY}") from None

    def add(self, runs: Iterable[Run]) -> None:
        """Store runs, all or none of them; those that succeeded before stay as they are."""
        rows = [*map(_row, runs)]
        with self._sound(), self._whole():
            for row in rows:
                texts = [(row[name],) for name in _SHARED]
                self._connection.executemany("INSERT OR IGNORE INTO texts (text) VALUES (?)", texts)
                self._connection.execute(_INSERT, row)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Do all of something or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def runs(self) -> dict[str, Run]:
        """Return all runs by key, in the order of keys."""
        with self._sound():
            texts = dict(self._connection.execute("SELECT id, text FROM texts"))
            rows = self._connection.execute(f"SELECT {', '.join(_SHARED + _OWN)} FROM runs ORDER BY key").fetchall()
        stored = {}
        for number, row in enumerate(rows, start=1):
            try:
                run = _run(dict(zip(_SHARED + _OWN, row, strict=True)), texts)
                stored[run.key] = run
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                problem = f"{type(error).__name__}: {str(error)[:60]}"
                raise ValueError(f"the store {self.path} is damaged: run {number} ({problem}). {_REMEDY}") from None
        return stored

    def forget(self, keys: Iterable[str]) -> None:
        """Drop runs."""
        with self._sound():
            self._connection.executemany("DELETE FROM runs WHERE key = ?", [(bytes.fromhex(key),) for key in keys])

    def compact(self) -> None:
        """Make it one small file, fit to be copied."""
        with self._sound():
            self._connection.execute("PRAGMA journal_mode = DELETE")
            self._connection.execute("VACUUM")


def _patiently(action: Callable[[], object]) -> None:
    """Do what SQLite refuses at once, whatever its timeout, while another process opens the same new file."""
    for _ in range(_ATTEMPTS):
        try:
            action()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            time.sleep(0.1)
    action()


def merge(target: str | Path, sources: Iterable[str | Path]) -> int:
    """Add the runs of other stores, or of published lines, to a store; return how many it holds then."""
    from experiments.published import read_any

    merged: dict[str, Run] = {}
    for source in sources:
        for key, run in read_any(Path(source)).items():
            if key not in merged or merged[key].error is not None:
                merged[key] = run
    with Store(target) as store:
        store.add(merged.values())
        store.compact()
        return len(store.runs())


def _row(run: Run) -> dict[str, Any]:
    """Return a run as its row."""
    own = {name: getattr(run, name) for name in ("checksum", "error", "seconds", "finished")}
    written = {
        "key": bytes.fromhex(run.key),
        "parameters": canonical(dict(run.task.parameters)),
        "versions": canonical(dict(run.versions)),
        "figures": json.dumps(dict(run.figures), sort_keys=True),
    }
    return vars(run.task) | own | written


def _run(row: dict[str, Any], texts: dict[int, str]) -> Run:
    """Return a row as its run."""
    row |= {name: texts[row[name]] for name in _SHARED}
    row |= {name: json.loads(row[name]) for name in ("parameters", "versions", "figures")}
    return run_of(row)


def run_of(row: Mapping[str, Any]) -> Run:
    """Return the fields of a run and of its task as a run; what no run can hold is refused."""
    for names, kind in _KINDS:
        for name in names:
            if not isinstance(row[name], kind) or isinstance(row[name], bool):
                raise TypeError(f"{name} is {type(row[name]).__name__}")
    task = Task(**{name: row[name] for name in Task.__dataclass_fields__})
    return Run(task, **{name: row[name] for name in Run.__dataclass_fields__ if name != "task"})


_KINDS: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("study", "dataset", "checksum", "method", "split", "finished"), str),
    (("parameters", "versions", "figures"), dict),
    (("seed", "revision"), int),
    (("seconds",), (int, float)),
    (("error",), (str, type(None))),
)


# -- What a study is asked for on the command line


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
