"""Files that change while they are read: an error that names them, never rows that nobody wrote, nor a crash."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bgn.engines.disk.engine as disk
import bgn.engines.disk.table as tables
import bgn.estimator_base as estimators
from bgn import BGNRegressor, GrowthSettings, Network, read_blocks
from bgn.inputs.prepare import Choices
from bgn.model_rows import DataFile
from bgn.training_rows import Streamed, TrainingRequest

QUICK = {"max_terms": 1, "random_state": 0, "shrinkage": 1.0, "n_jobs": 1, "cv": None}
QUICK["growth"] = GrowthSettings(max_replacements=0)
ROWS = np.random.default_rng(0).normal(size=(90, 3))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (disk, tables, estimators):
        monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 3 * 20)


def c_order(path: Path, rows: Any = ROWS) -> Path:
    np.save(path.with_suffix(".npy"), rows)
    return path.with_suffix(".npy")


def f_order(path: Path, rows: Any = ROWS) -> Path:
    return c_order(path, np.asfortranarray(rows))


def parquet(path: Path, rows: Any = ROWS) -> Path:
    pd.DataFrame(rows, columns=list("abc")).to_parquet(path.with_suffix(".parquet"), row_group_size=20)
    return path.with_suffix(".parquet")


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def lengthen(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(b"more")


def rewrite(path: Path) -> None:
    """The same bytes, written later."""
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))


def replace(path: Path) -> None:
    other = path.with_name("_other")
    other.write_bytes(path.read_bytes()[:-100])
    os.replace(other, path)


CHANGES = [cut, empty, lengthen, rewrite, replace, os.unlink]
REPORTED = "changed while it was read"


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("write", [c_order, f_order, parquet])
def test_a_file_that_changes_is_named(write: Callable[..., Path], change: Callable[[Path], Any], tmp_path: Path):
    path = write(tmp_path / "rows")
    for read in (1, 3):
        blocks = read_blocks(path)
        for _ in range(read):
            next(blocks)
        change(path)
        with pytest.raises(OSError, match=f"{path.name} {REPORTED}: .* Start again"):
            list(blocks)
        write(tmp_path / "rows")


def test_a_folder_that_changes_is_named(tmp_path):
    folder = tmp_path / "rows"
    for change, reported in (
        (lambda: parquet(folder / "5"), "gained the file '5.parquet'"),
        (lambda: os.unlink(folder / "1.parquet"), "lost the file '1.parquet'|1.parquet changed .* no longer be found"),
        (lambda: cut(folder / "0.parquet"), "0.parquet changed while it was read"),
    ):
        folder.mkdir(exist_ok=True)
        for name in "01":
            parquet(folder / name)
        blocks = read_blocks(folder)
        next(blocks)
        change()
        with pytest.raises(OSError, match=reported):
            list(blocks)
        for file in folder.iterdir():
            file.unlink()


class Meddling(np.ndarray):
    """Targets beside the file of the rows, which changes when the second block of them is read."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and key.start:
            self.change()
        return super().__getitem__(key)

    def __array_finalize__(self, other: Any) -> None:
        self.change = getattr(other, "change", None)


@pytest.mark.parametrize("write", [c_order, parquet])
def test_nothing_is_fitted_or_predicted_from_a_file_that_changes(write, tmp_path, monkeypatch):
    path = write(tmp_path / "rows")
    y = ROWS[:, 0].copy().view(Meddling)
    y.change = lambda: None
    model = BGNRegressor(**QUICK).fit(path, y)
    before = model.network_
    y.change = lambda: cut(path)
    for use in (model.fit, model.score):
        with pytest.raises(OSError, match=REPORTED):
            use(path, y)
        write(tmp_path / "rows")
    assert model.network_ is before
    predict = Network.predict_encoded

    def meddling(self: Network, rows: Any, scores: bool = False) -> Any:
        lengthen(path)
        return predict(self, rows, scores)

    monkeypatch.setattr(Network, "predict_encoded", meddling)
    with pytest.raises(OSError, match=REPORTED):
        model.predict(path)


@pytest.mark.parametrize("name", ["y", "sample_weight"])
def test_targets_and_weights_in_files_are_watched(name, tmp_path):
    other = c_order(tmp_path / name, np.ones(90))
    table = tables.FileTable(c_order(tmp_path / "X"), **{"target" if name == "y" else "weight": other})
    pieces = table.pieces(8 * 3 * 20)
    next(pieces)
    cut(other)
    with pytest.raises(OSError, match=f"{name}.npy {REPORTED}"):
        list(pieces)


def test_the_shell_watches_between_passes(tmp_path):
    path = parquet(tmp_path / "rows")
    rows = Streamed(TrainingRequest(DataFile(str(path)).open(), Choices("a", missing="drop"), 0.2, 0))
    rewrite(path)
    with pytest.raises(OSError, match=REPORTED):
        next(rows.pieces(1000))


MAPS = """
import os, sys
import numpy as np
from bgn import BGNRegressor, GrowthSettings, read_blocks
path, = sys.argv[1:]
rows = np.random.default_rng(0).normal(size=(20_000, 3))
np.save(path, rows)
X = np.load(path, mmap_mode="r")
model = BGNRegressor(max_terms=1, growth=GrowthSettings(max_replacements=0), random_state=0, cv=None).fit(X, rows[:, 0])
for use in (
    lambda: model.predict(X), lambda: model.predict(X[5:]), lambda: model.fit(X, rows[:, 0]), lambda: [*read_blocks(X)],
    lambda: model.fit(rows, X[:, 0]), lambda: model.score(X, rows[:, 0]), lambda: model.score(rows, X[:, 0]),
):
    os.truncate(path, 1000)
    try:
        use()
    except OSError as error:
        print(error)
    np.save(path, rows)
    assert (X == rows).all()
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a file that is mapped as it is")
def test_a_memory_map_cut_short_is_no_crash(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MAPS, tmp_path / "rows.npy"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    reported = done.stdout.splitlines()
    assert len(reported) == 7
    assert all(
        "rows.npy changed while it was read: of the 480,128 bytes in use it now has 1,000" in line for line in reported
    )
