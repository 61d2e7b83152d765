"""Rows on disk: what may be handed to fit and predict, what is refused, scratch files, memory.

That the networks are those of rows in memory is tested in `test_growth`, on every engine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import bgn.engines.disk.engine as disk
import bgn.engines.disk.table as tables
from bgn import BGNRegressor, GrowthSettings, read_blocks, shap_values
from bgn.engines.disk.engine import Scratch
from tests.growing import same
from tests.optional import pandas as pd
from tests.optional import polars as pl
from tests.optional import pyarrow as pa

QUICK = {"max_terms": 3, "random_state": 0, "shrinkage": 1.0, "n_jobs": 1, "cv": None}
QUICK["growth"] = GrowthSettings(max_replacements=1)
NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Small blocks, and a scratch folder that must be empty in the end."""
    monkeypatch.setattr(disk, "BLOCK_BYTES", 8 * 5 * 70)
    monkeypatch.setattr(tables, "BLOCK_BYTES", 8 * 5 * 70)
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("BGN_SCRATCH", str(folder))
    yield folder
    assert not [*folder.iterdir()]


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any]:
    return make_friedman1(250, n_features=5, noise=1.0, random_state=0)


@pytest.fixture(scope="module")
def frame(table: tuple[Any, Any]) -> pd.DataFrame:
    return pd.DataFrame(table[0], columns=NAMES).assign(price=table[1])


def saved(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


# -- what may be handed over ----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_by_path_map_and_position(table, tmp_path, order):
    X, y = table
    expected = BGNRegressor(**QUICK).fit(X, y)
    both = np.asarray(np.column_stack([y, X]), order=order)
    path, whole = saved(tmp_path / "X.npy", np.asarray(X, order=order)), saved(tmp_path / "yX.npy", both)
    target = saved(tmp_path / "y.npy", y)
    mapped = np.load(path, mmap_mode="r")
    for given in (
        {"X": path, "y": target},
        {"X": str(path), "y": y.tolist()},
        {"X": mapped, "y": np.load(target, mmap_mode="r")},
        {"X": whole, "target": 0},
        {"X": np.load(whole, mmap_mode="r"), "target": -6},
        {"X": whole, "y": str(target), "columns": range(1, 6)},
    ):
        model = BGNRegressor(**QUICK).fit(**given)
        assert model.network_ == expected.network_
        assert model.n_features_in_ == 5
        assert not hasattr(model, "feature_names_in_")
    assert BGNRegressor(**QUICK).fit(both, target=0).network_ == expected.network_
    for rows in (path, mapped, str(path)):
        np.testing.assert_array_equal(model.predict(rows), expected.predict(X))


def test_parquet_brings_names(frame, tmp_path):
    heavy = frame.assign(weight=np.arange(len(frame)) % 3)
    (tmp_path / "rows").mkdir()
    heavy[:80].to_parquet(tmp_path / "rows" / "1.parquet")
    heavy[80:][heavy.columns[::-1]].to_parquet(tmp_path / "rows" / "2.pq", row_group_size=33)
    (tmp_path / "rows" / "_SUCCESS").touch()
    expected = BGNRegressor(**QUICK).fit(frame[NAMES], frame["price"], heavy["weight"])
    model = BGNRegressor(**QUICK).fit(tmp_path / "rows", target="price", sample_weight="weight")
    assert model.network_ == expected.network_
    assert model.network_.target_name == "price"
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(model.predict(tmp_path / "rows"), expected.predict(frame[NAMES]))
    few = BGNRegressor(**QUICK).fit(tmp_path / "rows", target="price", columns=["c", "a"])
    assert few.network_ == BGNRegressor(**QUICK).fit(frame[["c", "a"]], frame["price"]).network_
    other = BGNRegressor(**QUICK).fit(tmp_path / "rows", frame["price"], columns=NAMES)
    assert other.network_ == BGNRegressor(**QUICK).fit(frame[NAMES], frame["price"]).network_


def test_whole_numbers_booleans_decimals_and_singles(table, tmp_path):
    X, y = table
    columns = {
        "whole": (X[:, 0] * 100).astype(np.int16),
        "yes": X[:, 1] > 0.5,
        "single": X[:, 2].astype(np.float32),
        "decimal": pa.array((X[:, 3] * 100).astype(np.int64)).cast(pa.decimal128(25, 2)),
        "coded": pa.array((X[:, 4] * 10).astype(np.int64)).dictionary_encode(),
        "y": y,
    }
    from pyarrow.parquet import write_table

    write_table(pa.table(columns), tmp_path / "rows.parquet")
    model = BGNRegressor(**QUICK).fit(tmp_path / "rows.parquet", target="y")
    plain = np.column_stack([np.asarray(pa.array(columns[name]), dtype=np.float64) if name != "coded" else
                             columns[name].to_numpy(zero_copy_only=False) for name in list(columns)[:-1]])  # fmt: skip
    np.testing.assert_array_equal(model.predict(tmp_path / "rows.parquet"), model.network_.predict(plain))
    integers = saved(tmp_path / "integers.npy", (X * 100).astype(np.int32))
    assert (
        BGNRegressor(**QUICK).fit(integers, y).network_ == BGNRegressor(**QUICK).fit((X * 100).astype(int), y).network_
    )


def test_a_frame_in_memory_may_name_its_target(frame):
    expected = BGNRegressor(**QUICK).fit(frame[NAMES], frame["price"]).network_
    assert BGNRegressor(**QUICK).fit(frame, target="price").network_ == expected
    assert BGNRegressor(**QUICK).fit(pl.from_pandas(frame), target="price").network_ == expected
    held = BGNRegressor(**QUICK).fit(frame[:200], target="price", eval_set=frame[200:]).network_
    pair = frame[NAMES][200:], frame["price"][200:]
    assert held == BGNRegressor(**QUICK).fit(frame[:200], target="price", eval_set=pair).network_


def test_validation_rows_live_where_they_like(frame, tmp_path):
    learn, held = tmp_path / "learn.parquet", tmp_path / "held.parquet"
    frame[:200].to_parquet(learn)
    frame[200:].to_parquet(held)
    pair = frame[NAMES][200:], frame["price"][200:]
    expected = BGNRegressor(**QUICK).fit(frame[NAMES][:200], frame["price"][:200], eval_set=pair)
    for eval_set in (pair, held, (held, None), (held, pair[1])):
        model = BGNRegressor(**QUICK).fit(learn, target="price", eval_set=eval_set)
        assert model.network_ == expected.network_
        assert same(model.history_, expected.history_)
    mapped = np.load(saved(tmp_path / "held.npy", pair[0]), mmap_mode="r")
    for rows in (held, mapped, tmp_path / "held.npy"):
        model = BGNRegressor(**QUICK).fit(frame[NAMES][:200], frame["price"][:200], eval_set=(rows, pair[1]))
        assert model.network_ == expected.network_


def test_blocks_give_all_rows_in_order_and_serve_explanations(frame, tmp_path):
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path, row_group_size=100)
    blocks = [*read_blocks(path, NAMES)]
    assert len(blocks) > 2
    np.testing.assert_array_equal(np.concatenate(blocks), frame[NAMES])
    model = BGNRegressor(**QUICK).fit(path, target="price")
    background = blocks[0]
    values = [shap_values(model.network_, rows, background).values for rows in blocks]
    expected = shap_values(model.network_, frame[NAMES].to_numpy(), background).values
    np.testing.assert_array_equal(np.concatenate(values), expected)


def test_threads_and_merging_change_nothing(table, tmp_path, monkeypatch):
    X, y = table
    path = saved(tmp_path / "X.npy", X)
    expected = BGNRegressor(**QUICK, max_layers=2).fit(X, y).history_
    monkeypatch.setattr(disk, "_REGIONS_AT_ONCE", 1)
    for threads in (1, 3):
        model = BGNRegressor(**QUICK | {"n_jobs": threads}, max_layers=2).fit(path, y)
        assert same(model.history_, expected)


def test_what_was_written_to_a_private_map_stays(table, tmp_path):
    X, y = table
    private = np.load(saved(tmp_path / "X.npy", np.zeros_like(X)), mmap_mode="c")
    private[:] = X
    assert BGNRegressor(**QUICK).fit(private, y).network_ == BGNRegressor(**QUICK).fit(X, y).network_
    np.testing.assert_array_equal(private, X)


# -- what is refused ------------------------------------------------------------------------------------------


def files(folder: Path, frame: pd.DataFrame) -> None:
    """Everything that can be wrong with a file."""
    X = frame[NAMES].to_numpy()
    frame.to_parquet(folder / "good.parquet")
    frame.assign(b=frame["b"].where(frame.index != 123)).to_parquet(folder / "hole.parquet", row_group_size=50)
    frame.assign(b="x", c=pd.Timestamp("2024-01-01")).to_parquet(folder / "text.parquet")
    frame.assign(b=frame["b"] * 1e305).to_parquet(folder / "large.parquet")
    frame[:0].to_parquet(folder / "empty.parquet")
    for name, second in (("mixed", frame.drop(columns="c")), ("more", frame.assign(f=1.0))):
        (folder / name).mkdir()
        frame.to_parquet(folder / name / "1.parquet")
        second.to_parquet(folder / name / "2.parquet")
    (folder / "kinds").mkdir()
    (folder / "nothing").mkdir()
    (folder / "deep" / "year=1").mkdir(parents=True)
    frame.to_parquet(folder / "kinds" / "1.parquet")
    saved(folder / "kinds" / "2.npy", X)
    for name in ("noted", "halfway"):
        (folder / name).mkdir()
        for number in (1, 3):
            saved(folder / name / f"{number}.npy", X)
    (folder / "noted" / "2 README.txt").touch()
    saved(folder / "halfway" / "_2.npy", X[:, :3])
    frame.to_parquet(folder / "halfway" / "2.pq")
    (folder / "uneven").mkdir()
    saved(folder / "uneven" / "1.npy", X)
    saved(folder / "uneven" / "2.npy", X[:, :3])
    saved(folder / "good.npy", X)
    saved(folder / "flat.npy", X[:, 0])
    saved(folder / "words.npy", np.array([["a", "b"]]))
    saved(folder / "infinite.npy", np.where(np.arange(len(X))[:, None] == 77, np.inf, X))
    saved(folder / "none.npy", X[:0])
    saved(folder / "one.npy", X[:1])
    np.save(folder / "objects.npy", np.array([[None]], dtype=object), allow_pickle=True)
    (folder / "broken.npy").write_bytes(b"not numpy")
    (folder / "broken.parquet").write_bytes(b"not parquet")
    (folder / "rows.csv").write_text("a,b\n1,2\n")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": "gone.parquet", "target": "price"}, "there is no file or folder '{}/gone.parquet'"),
        ({"X": "rows.csv", "target": "b"}, "cannot read '{}/rows.csv': rows on disk are .npy or .parquet files"),
        ({"X": "nothing", "target": "b"}, "the folder {}/nothing holds no .npy or .parquet file"),
        ({"X": "deep", "target": "b"}, "{}/deep holds the folder 'year=1'"),
        ({"X": "kinds", "target": "price"}, "must hold files of one kind; it has '1.parquet' and '2.npy'"),
        ({"X": "halfway", "target": 0}, "must hold files of one kind; it has '1.npy' and '2.pq'. Give each kind"),
        ({"X": "noted", "target": 0},
         "{}/noted holds '2 README.txt', which is no .npy or .parquet file. Move it elsewhere, or begin its name"),
        ({"X": "broken.parquet", "target": "price"}, "{}/broken.parquet is no Parquet file"),
        ({"X": "broken.npy", "target": 0}, "{}/broken.npy is no .npy file"),
        ({"X": "objects.npy", "target": 0}, "{}/objects.npy is no .npy file"),
        ({"X": "empty.parquet", "target": "price"}, "{}/empty.parquet has no rows"),
        ({"X": "none.npy", "target": 0}, "{}/none.npy has no rows"),
        ({"X": "one.npy", "target": 0}, "X has 1 sample(s); a minimum of 2 is required"),
        ({"X": "flat.npy", "target": 0}, "{}/flat.npy must have two dimensions, rows and columns; got shape (250,)"),
        ({"X": "words.npy", "target": 0}, "{}/words.npy must hold numbers; its dtype is <U1"),
        ({"X": "good.parquet", "target": "prize"},
         "target: {}/good.parquet has no column 'prize'; it has 'a', 'b', 'c', 'd', 'e', 'price'."),
        ({"X": "good.parquet", "target": "price", "columns": ["a", "z"]}, "columns: {}/good.parquet has no column 'z'"),
        ({"X": "good.parquet", "target": "price", "columns": ["a", "price"]}, "columns must leave out the target"),
        ({"X": "good.parquet", "target": "price", "columns": ["a", "b", "a"]},
         "columns must name every column once; got 'a' more than once."),
        ({"X": "good.npy", "target": 4, "columns": [0, 1, -5]}, "columns must name every column once; got 0 more"),
        ({"X": "good.npy", "target": 5}, "target: {}/good.npy has columns 0 to 4, without names; got 5."),
        ({"X": "good.npy", "target": "price"}, "has columns 0 to 4, without names; got 'price'"),
        ({"X": "good.npy"}, "y must hold the targets, or target= name their column"),
        ({"X": "good.npy", "y": [1.0, 2.0], "target": 0}, "leave out y, or target"),
        ({"X": "good.npy", "y": [1.0, 2.0]}, "y must have one value for each of the 250 rows of X; got shape (2,)"),
        ({"X": "good.npy", "y": np.r_[np.ones(200), np.nan, np.ones(49)]}, "y holds NaN in row 200"),
        ({"X": "good.npy", "target": 0, "sample_weight": -np.ones(250)}, "Negative values in sample_weight"),
        ({"X": "good.npy", "target": 0, "sample_weight": np.zeros(250)}, "sample_weight is zero for every row"),
        ({"X": "good.npy", "target": 0, "eval_set": ("hole.parquet", np.ones(250))}, "columns"),
        ({"X": "infinite.npy", "target": 4}, "{}/infinite.npy: column 0 holds infinity in row 77 (the first is row 0)"),
        ({"X": "hole.parquet", "target": "price", "direction": "lasso"}, "column 'b' holds NaN in row 123"),
        ({"X": "text.parquet", "target": "price", "direction": "lasso"}, "column 'b' holds"),
        ({"X": "text.parquet", "target": "price", "columns": ["c"], "direction": "lasso"}, "column 'c' holds dates"),
        ({"X": "large.parquet", "target": "price"}, "in column 'b'; beyond 1e+300 sums overflow"),
        ({"X": "mixed", "target": "price"}, "{}/mixed/2.parquet lacks the column 'c', unlike {}/mixed/1.parquet"),
        ({"X": "more", "target": "price"}, "{}/more/2.parquet has a column more, unlike {}/more/1.parquet"),
        ({"X": "uneven", "target": 0}, "{}/uneven/2.npy has 3 columns, {}/uneven/1.npy has 5"),
    ],
)  # fmt: skip
def test_bad_rows_are_named(given, message, frame, tmp_path):
    files(tmp_path, frame)
    given = dict(given, X=tmp_path / given["X"])
    if "eval_set" in given:
        given["eval_set"] = tmp_path / given["eval_set"][0], given["eval_set"][1]
    model = BGNRegressor(**QUICK | {"direction": given.pop("direction", "search")})
    with pytest.raises((ValueError, OSError), match=re.escape(message.replace("{}", str(tmp_path)))):
        model.fit(**given)


def test_marks_among_the_rows_are_passed_over(table, tmp_path):
    X, y = table
    expected = BGNRegressor(**QUICK).fit(X, y).network_
    folder = tmp_path / "rows"
    folder.mkdir()
    for name, some in (("1.npy", X[:100]), ("2.npy", X[100:])):
        saved(folder / name, some)
    for name in ("_SUCCESS", "_metadata", ".1.npy.crc", ".DS_Store"):
        (folder / name).write_text("no rows")
    assert BGNRegressor(**QUICK).fit(folder, y).network_ == expected


@pytest.mark.parametrize("rows", [np.ones((3, 2)), [[1.0]], lambda: pd.DataFrame({"a": [1.0]}), None])
def test_blocks_are_read_from_disk_alone(rows):
    rows = rows() if callable(rows) else rows
    kind = type(rows).__name__
    with pytest.raises(TypeError, match=f"X must be a path to a file or a folder, or a memory map; got {kind}. Rows"):
        next(read_blocks(rows))


def test_predict_names_what_does_not_fit(frame, tmp_path):
    files(tmp_path, frame)
    model = BGNRegressor(**QUICK).fit(tmp_path / "good.parquet", target="price")
    with pytest.raises(ValueError, match=r"has no column 'c'; it has 'a', 'b', 'd', 'e', 'price'"):
        model.predict(next((tmp_path / "mixed").glob("2*")))
    assert np.isfinite(model.predict(tmp_path / "hole.parquet")).all()
    plain = BGNRegressor(**QUICK).fit(tmp_path / "good.npy", target=0)
    with pytest.raises(ValueError, match="X must have 4 columns"):
        plain.predict(tmp_path / "good.npy")
    with pytest.raises(ValueError, match="X has 5 features, but BGNRegressor is expecting 4 features"):
        plain.predict(np.load(tmp_path / "good.npy", mmap_mode="r"))
    for key, value in (("target", "z"), ("columns", ["z"])):
        with pytest.raises(ValueError, match=f"{key}: X has no column 'z'; it has 'a'"):
            model.fit(frame, **{"target": "price", key: value})


# -- scratch --------------------------------------------------------------------------------------------------


def test_scratch_files_are_gone_whatever_happens(table, tmp_path, scratch):
    X, y = table
    path, seen = saved(tmp_path / "X.npy", X), []

    def fails(record):
        seen.extend(scratch.glob("bgn-*/*"))
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        BGNRegressor(**QUICK, callbacks=fails).fit(path, y)
    assert seen
    assert not [*scratch.iterdir()]

    def interrupts(record):
        raise KeyboardInterrupt

    for threads in (1, 2):
        with pytest.warns(UserWarning, match="interrupted"):
            BGNRegressor(**QUICK | {"n_jobs": threads}, callbacks=interrupts).fit(path, y)
        assert not [*scratch.iterdir()]


def test_a_full_disk_is_named(scratch, monkeypatch, table, tmp_path):
    with (
        Scratch() as scratch_folder,
        pytest.raises(OSError, match=r"not enough room in .*scratch: 1,000,\S+ bytes are needed and"),
    ):
        scratch_folder.reserve(10**18)
    if os.path.exists("/dev/full"):
        with (
            Scratch() as scratch_folder,
            pytest.raises(OSError, match=r"it is full. Name another folder with BGN_SCRATCH"),
        ):
            scratch_folder.write(np.zeros(10**6), "/dev/full")


@pytest.mark.parametrize("bad", ["gone", "file", "locked", "/sys"])
def test_a_bad_scratch_folder_is_named(bad, table, tmp_path, monkeypatch):
    path = saved(tmp_path / "X.npy", table[0])
    (tmp_path / "file").touch()
    (tmp_path / "locked").mkdir(mode=0o500)
    where = tmp_path / bad
    if (bad == "locked" and os.access(where, os.W_OK)) or (bad == "/sys" and sys.platform != "linux"):
        pytest.skip("root may write everywhere, but not to Linux's /sys")
    monkeypatch.setenv("BGN_SCRATCH", str(where))
    message = f"BGN_SCRATCH must name a folder that temporary files can be written to; got {str(where)!r} ("
    with pytest.raises(OSError, match=re.escape(message) + r".+\)\. Name another, or unset it for the system's own\."):
        BGNRegressor().fit(path, table[1])


_ENDS = ["_exit", "SIGHUP", "SIGQUIT", "SIGTERM", "SIGKILL"]
_ENDED = """
import os, resource, signal, sys
import bgn.engines.disk.engine as disk
from bgn import BGNRegressor, GrowthSettings
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
disk.BLOCK_BYTES = 8 * 5 * 70
path, *ends = sys.argv[1:]
def handlers():
    return [signal.getsignal(number) for number in signal.valid_signals()]
def ending(record):
    assert handlers() == before
    os.write(1, f"{end}\\n".encode())
    os.read(0, 1)
    os._exit(0) if end == "_exit" else os.kill(os.getpid(), getattr(signal, end))
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):  # a shell may have told its background to ignore some
    signal.signal(number, signal.SIG_DFL)
before = handlers()
QUICK = GrowthSettings(max_replacements=0)
BGNRegressor(max_terms=2, growth=QUICK, n_jobs=1, cv=None).fit(path, target=0)
for end in ends:
    if not os.fork():
        BGNRegressor(max_terms=2, growth=QUICK, n_jobs=1, callbacks=ending, cv=None).fit(path, target=0)
for _ in ends:
    os.wait()
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no fork and none of these signals")
def test_scratch_of_the_dead_is_removed_and_that_of_the_living_stays(table, tmp_path, scratch):
    path = saved(tmp_path / "yX.npy", np.column_stack([table[1], table[0]]))
    command = [sys.executable, "-c", _ENDED, str(path), *_ENDS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert sorted(process.stdout.readline().strip() for _ in _ENDS) == sorted(_ENDS)
        living = {*scratch.rglob("*")}
        BGNRegressor(**QUICK).fit(*table)
        assert len([*scratch.glob("*.lock")]) == len(_ENDS) < len([*scratch.glob("*/*")])
        assert {*scratch.rglob("*")} == living
        process.communicate("." * len(_ENDS), timeout=120)
    assert {*scratch.rglob("*")} == living
    BGNRegressor(**QUICK).fit(*table)
    assert not [*scratch.iterdir()]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither pipes in folders nor links for everybody")
def test_what_only_looks_like_scratch_stays(table, tmp_path, scratch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rows").touch()
    os.mkfifo(scratch / "bgn-scratch-1.lock")
    (scratch / "bgn-scratch-2.lock").symlink_to(tmp_path / "mine" / "rows")
    (scratch / "bgn-scratch-3.lock").touch()
    (scratch / "bgn-scratch-3").symlink_to(tmp_path / "mine")
    (scratch / "bgn-old").mkdir()
    there = {*scratch.iterdir()}
    BGNRegressor(**QUICK).fit(*table)
    assert {*scratch.iterdir()} == there
    assert (tmp_path / "mine" / "rows").exists()
    for one in there:
        one.rmdir() if one.name == "bgn-old" else one.unlink()


def test_a_folder_that_was_taken_for_abandoned_is_made_again(scratch, monkeypatch):
    made = tempfile.mkstemp

    def too_late(*arguments):
        handle, lock = made(*arguments)
        if not taken:
            taken.append(lock)
            os.unlink(lock)
        return handle, lock

    taken = []
    monkeypatch.setattr(tempfile, "mkstemp", too_late)
    with Scratch() as scratch_folder:
        assert scratch_folder.folder.exists()
        assert not scratch_folder.folder.samefile(scratch)
        assert f"{scratch_folder.folder}.lock" not in taken


_MEMORY = """
import sys
import numpy as np
from bgn import BGNRegressor, GrowthSettings, read_blocks
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024
rng = np.random.default_rng(0)
BGNRegressor(max_terms=2, random_state=0, cv=None).fit(rng.normal(size=(200, 2)), rng.normal(size=200))
path, rows = sys.argv[1], 4_600_000
before = peak()
array = np.lib.format.open_memmap(path, "w+", np.float64, (rows, 11))
for start in range(0, rows, 100_000):
    some = rng.random((100_000, 11))
    some[:, 10] = some[:, 0] + some[:, 1] * some[:, 2]
    array[start : start + 100_000] = some
    array._mmap.madvise(4)
size = array.nbytes
del array
model = BGNRegressor(max_terms=2, growth=GrowthSettings(0), random_state=0, n_jobs=2, cv=None).fit(path, target=10)
with open(path + ".predicted", "wb") as out:
    for rows in read_blocks(path, range(10)):
        model.predict(rows).tofile(out)
print(size, peak() - before)
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="peak memory is read from /proc, which is Linux's")
def test_400_megabytes_within_150(tmp_path):
    path = tmp_path / "rows.npy"
    try:
        done = subprocess.run([sys.executable, "-c", _MEMORY, path], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        predicted = np.fromfile(f"{path}.predicted")
    finally:
        path.unlink()
    size, peak = map(int, done.stdout.split())
    assert size > 400e6
    assert peak < 150e6
    assert len(predicted) == size // 88


def test_a_damaged_file_is_named_and_a_home_folder_read(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(3000, 3)), columns=["a", "b", "y"])
    frame.to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = BGNRegressor(max_terms=2, random_state=0, cv=None).fit(frame[["a", "b"]], frame["y"])
    model = BGNRegressor(max_terms=2, random_state=0, cv=None).fit("~/rows.parquet", target="y")
    assert model.network_ == expected.network_
    whole = bytearray((tmp_path / "rows.parquet").read_bytes())
    whole[4:4000] = bytes(3996)
    (tmp_path / "rows.parquet").write_bytes(whole)
    with pytest.raises(ValueError, match=r"rows\.parquet is damaged in row group 0"):
        model.fit(tmp_path / "rows.parquet", target="y")
