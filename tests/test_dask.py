"""Growth on a real Dask cluster of processes: the same bits, whatever the partitions and whoever dies."""

import faulthandler
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import bgn
from bgn import BGNRegressor, GrowthSettings, shap_values
from bgn.persist import read
from tests.command import call, run
from tests.every_engine import local_cluster
from tests.growing import same, table

dask = pytest.importorskip("dask", reason="the extra dask is not installed")
da = pytest.importorskip("dask.array", reason="the extra dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra dask is not installed")
distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
pd = pytest.importorskip("pandas", reason="the extra dask is not installed")

from bgn.dask import DaskBGNRegressor  # noqa: E402
from bgn.engines.cluster import ClusterTasks, HeldRows, Standing  # noqa: E402
from bgn.engines.memory import Part  # noqa: E402
from bgn.engines.protocol import CellPart, Output, Request, RowPart  # noqa: E402
from bgn.grow.losses import Squared  # noqa: E402
from bgn.inputs.errors import InputError  # noqa: E402
from bgn.inputs.prepare import Choices  # noqa: E402
from bgn.model.layer import Oblique, Projection  # noqa: E402
from bgn.model_rows import DataFile  # noqa: E402
from bgn.training_rows import Clustered, TrainingRequest  # noqa: E402

# distributed tells of workers that die on their own logger; only what it raises or warns of matters here.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
SMALL = {"max_terms": 3, "shrinkage": 1.0, "random_state": 0, "cv": None, "max_linear": 0}
SMALL["growth"] = GrowthSettings(max_replacements=2)


@pytest.fixture(autouse=True)
def _limit():
    """Nothing hangs: after five minutes say where everybody is, and leave."""
    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    # A worker that is killed comes back, even where that takes long.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "5 minutes"}),
        local_cluster(**options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def two(client):
    """The client, with both workers there."""
    client.wait_for_workers(2, timeout=60)
    return client


def arrays(*columns, edges=(0, 7, 7, 90, 300)):
    """Dask arrays in uneven partitions, one of them empty."""
    sizes = tuple(np.diff(edges).tolist())
    return [da.from_array(column, chunks=(sizes, *column.shape[1:])) for column in columns]


def frame(X, y, partitions=4, **more):
    table = pd.DataFrame(X, columns=list("abcdef")[: X.shape[1]]).assign(target=y, **more)
    table.index = np.arange(len(y)) * 3
    return dd.from_pandas(table, npartitions=partitions)


def test_frames_give_the_same_network_and_lazy_predictions(two):
    X, y = table()
    rows = frame(X, y)
    local = BGNRegressor(**SMALL).fit(pd.DataFrame(X, columns=list("abcdef")), pd.Series(y, name="target"))
    model = DaskBGNRegressor(**SMALL).fit(rows[list("abcdef")], rows["target"])
    assert same(model.history_, local.history_)
    assert model.network_.names == tuple("abcdef")
    assert model.network_.target_name == "target"
    predicted = model.predict(rows[list("abcdef")])
    assert isinstance(predicted, dd.Series)
    expected = pd.Series(local.predict(pd.DataFrame(X, columns=list("abcdef"))), index=np.arange(len(y)) * 3)
    pd.testing.assert_series_equal(predicted.compute(), expected)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(rows[list("fabcde")])
    named = DaskBGNRegressor(**SMALL).fit(rows, target="target", eval_set=rows)
    both = BGNRegressor(**SMALL).fit(X, y, eval_set=(X, y))
    assert named.network_.output_weights.tolist() == both.network_.output_weights.tolist()


def test_arrays_predict_and_explain_lazily(two):
    X, y = table()
    dX, dy = arrays(X, y)
    model = DaskBGNRegressor(**SMALL, client=two).fit(dX, dy)
    assert model.network_ == BGNRegressor(**SMALL).fit(X, y).network_
    assert model.network_.target_name is None
    predicted = model.predict(dX.rechunk((100, 2)))
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), model.network_.predict(X))
    assert model.score(dX, dy) == model.to_local().score(X, y)
    np.testing.assert_array_equal(model.predict(dX[dX[:, 0] > 0.5]).compute(), model.network_.predict(X[X[:, 0] > 0.5]))
    values = model.shap_values(dX, X[:50])
    np.testing.assert_array_equal(values.compute(), shap_values(model.network_, X, X[:50]).values)
    rows = frame(X, y)[list("abcdef")]
    model.feature_names_in_ = np.array(list("abcdef"), dtype=object)
    explained = model.shap_values(rows, X[:50])
    assert isinstance(explained, dd.DataFrame)
    np.testing.assert_array_equal(explained.compute().to_numpy(), values.compute())


@pytest.mark.exhaustive
def test_partitions_of_unknown_length_weights_float32_and_persisted_rows(two):
    X, y = table()
    X = X.astype(np.float32)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    keep = X[:, 1] > 0.2
    expected = BGNRegressor(**SMALL).fit(X[keep], y[keep], weight[keep])
    dX, dy, dw = (array[da.from_array(keep, chunks=60)] for array in arrays(X, y, weight, edges=range(0, 301, 60)))
    assert np.isnan(dX.shape[0])
    model = DaskBGNRegressor(**SMALL).fit(dX, dy, dw)
    assert same(model.history_, expected.history_)
    dX = dX.persist()
    assert same(DaskBGNRegressor(**SMALL).fit(dX, dy, dw).history_, expected.history_)
    del dX
    rows = frame(X, y, weight=weight)
    rows = rows[rows["b"] > np.float32(0.2)]
    model = DaskBGNRegressor(**SMALL).fit(rows[list("abcdef")], rows["target"], rows["weight"].astype("Int64"))
    assert [r.train_mse for r in model.history_.records] == [r.train_mse for r in expected.history_.records]


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    """Rows in six files of several lengths, one of them empty: (features, all of it, the folder)."""
    X, y = table()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    whole = pd.DataFrame(X, columns=list("abcdef")).assign(target=y, weight=weight)
    folder = tmp_path_factory.mktemp("parquet")
    edges = [0, 40, 90, 90, 200, 230, 300]
    for k, (start, stop) in enumerate(pairwise(edges)):
        whole[start:stop].to_parquet(folder / f"{k}.parquet", index=False)
    return list("abcdef"), whole, folder


def columns_of_parquet(case, names, folder):
    """X, y and weights of the same rows that Dask, left alone, would hand out in different partitions."""
    read = lambda *columns: dd.read_parquet(folder, columns=list(columns) or None)  # noqa: E731
    rows = read()
    if case == "two reads":
        return read(*names), read("target")["target"], read("weight")["weight"]
    if case == "arrow":
        rows = dd.read_parquet(folder, filesystem="arrow")
    if case == "filtered":
        rows = rows[rows["b"] > 0.2]
    X, y, weight = rows[names], rows["target"], rows["weight"]
    if case == "arrays":
        return X.values, y.values, weight.values
    return X, y.values if case == "mixed" else y, weight.astype("Int64") if case == "mixed" else weight


@pytest.mark.parametrize(
    "case",
    [
        "mixed",
        *(
            pytest.param(x, marks=pytest.mark.exhaustive)
            for x in ("one read", "two reads", "arrow", "filtered", "arrays")
        ),
    ],
)
def test_columns_of_parquet_files_stay_together(two, parquet, case):
    names, whole, folder = parquet
    X, y, weight = columns_of_parquet(case, names, folder)
    whole = whole[whole["b"] > 0.2] if case == "filtered" else whole
    local = BGNRegressor(**SMALL).fit(whole[names], whole["target"], whole["weight"])
    model = DaskBGNRegressor(**SMALL).fit(X, y, weight)
    errors = [[r.train_mse for r in one.history_.records] for one in (model, local)]
    assert errors[0] == errors[1]
    there, *others = (np.asarray(one.compute()) for one in (X, y, weight))  # in an order that is Dask's own
    there = pd.DataFrame(there, columns=names)
    np.testing.assert_array_equal(model.predict(X).compute(), local.predict(there))
    assert model.score(X, y, weight) == local.score(there, *others)


def test_parquet_files_name_their_target(two, parquet):
    _, whole, folder = parquet
    rows = dd.read_parquet(folder)
    few = ["d", "a"]
    held = rows[rows["a"] > 0.4], whole[whole["a"] > 0.4]
    pair = held[1][few], held[1]["target"]
    local = BGNRegressor(**SMALL).fit(whole[few], whole["target"], eval_set=pair)
    for eval_set in (held[0], (held[0][few], held[0]["target"])):
        model = DaskBGNRegressor(**SMALL).fit(rows, target="target", columns=few, eval_set=eval_set)
        assert same(model.history_, local.history_)
    assert model.score(rows, target="target") == local.score(whole, target="target")
    joined = rows.assign(predicted=model.predict(rows[few])).compute()
    np.testing.assert_array_equal(joined["predicted"], local.predict(whole[few]))
    np.testing.assert_array_equal(joined["target"], whole["target"])


def test_conventions(two):
    X, y = table(100)
    dX, dy = arrays(X, y, edges=(0, 50, 100))
    model = DaskBGNRegressor(**SMALL, client=two)
    assert model.client_ is two
    assert DaskBGNRegressor(**SMALL).client_ is two
    assert clone(model).client is two
    assert clone(model).get_params() == model.get_params()
    assert DaskBGNRegressor.as_in_paper(max_terms=3, client=two).direction == "lasso"
    model.fit(dX, dy)
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    assert again.network_ == model.network_
    local = model.to_local()
    assert type(local) is BGNRegressor
    np.testing.assert_array_equal(local.predict(X), model.predict(dX).compute())
    assert not [name for name in vars(model) if name.startswith("_calls")]
    deadline = time.monotonic() + 30
    while any(str(key).startswith("bgn") for keys in two.has_what().values() for key in keys):
        assert time.monotonic() < deadline, "the workers still hold rows"
        time.sleep(0.1)
    model.set_params(callbacks=lambda record: record.n_terms == 2, max_terms=9).fit(dX, dy)
    assert model.history_.stopped == "callback"
    model.set_params(callbacks=None, max_seconds=0.0).fit(dX, dy)
    assert model.history_.stopped == "max_seconds"


def test_a_saved_model_is_loaded_without_a_cluster(two, tmp_path):
    X, y = table()
    model = DaskBGNRegressor(**SMALL, client=two).fit(da.from_array(X, chunks=(50, -1)), da.from_array(y, chunks=50))
    bgn.save(model, tmp_path / "model.json")
    loaded = bgn.load(tmp_path / "model.json")
    assert type(loaded) is BGNRegressor
    assert loaded.network_ == model.network_


def test_an_interrupt_keeps_what_was_grown(two, monkeypatch):
    X, y = table(100)
    calls = ClusterTasks._submit

    def interrupted(self, what, *arguments):
        futures = calls(self, what, *arguments)
        if what == "regions":
            threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT)).start()
            time.sleep(0.5)
        return futures

    monkeypatch.setattr(ClusterTasks, "_submit", interrupted)
    model = DaskBGNRegressor(**SMALL)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
    try:
        with pytest.warns(UserWarning, match="interrupted"):
            model.fit(*arrays(X, y, edges=(0, 50, 100)))
    finally:
        signal.signal(signal.SIGINT, before)
    assert model.history_.stopped == "interrupted"


# -- bad input ---------------------------------------------------------------------------------------------------


def test_bad_input_is_named(two):
    X, y = table(100)
    dX, dy = arrays(X, y, edges=(0, 50, 100))
    model = DaskBGNRegressor(**SMALL)
    hole = X.copy()
    hole[70, 2] = np.nan
    rows = frame(X, y)
    features = rows[list("abcdef")]
    cases = [
        (arrays(hole, edges=(0, 50, 100))[0], dy, "NaN in column 2 of partition 1 \\(1 of 50 rows"),
        (frame(hole, y)[list("abcdef")], rows["target"], "NaN in column 'c' of partition 2"),
        (dX, da.where(dy == dy, np.inf, dy), "Input y contains infinity in partition"),
        (dX, dy[:99], "X has 100 rows and y has 99"),
        (dX[dX[:, 0] > -1], dy[:99].rechunk(50), "Partition 1: X has 50 rows and y has 49"),
        (dX[dX[:, 0] > -1], dy[:99].rechunk(10), "X has 100 rows and y has 99"),
        (features, rows["target"].repartition(npartitions=2), "X and y have different divisions"),
        (dX.astype(str), dy, "X has dtype"),
        (dX[dX[:, 0] > 2], dy[dX[:, 0] > 2], "X has 0 sample"),
        (dX * 1e301, dy, "beyond 1e[+]300 sums overflow"),
        (dX, dy * 1e200, "Rescale the target"),
        (features.assign(c=features["c"].astype(str)), rows["target"], "Column 'c' has dtype"),
        (features.assign(c=features["c"].astype(str).astype("category")), rows["target"], "Column 'c' is categorical"),
        (features.assign(c=dd.to_datetime(features["c"])), rows["target"], "Column 'c' holds dates"),
    ]
    numbers = DaskBGNRegressor(**SMALL | {"direction": "lasso"})  # which takes neither gaps nor words
    for bad_X, bad_y, message in cases:
        refuses = numbers if message.startswith(("NaN", "X has dtype", "Column")) else model
        with pytest.raises(ValueError, match=message):
            refuses.fit(bad_X, bad_y)
    with pytest.raises(ValueError, match=r"Input y in partition [01] does not hold numbers"):
        model.fit(dX, dy.map_blocks(lambda part: np.full(len(part), "many", object), dtype=object))
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        model.fit(dX, dy, 0 * dy)
    with pytest.raises(ValueError, match="sample_weight has negative values"):
        model.fit(dX, dy, -dy)
    with pytest.raises(TypeError, match=r"X must be a Dask array .* got numpy.ndarray"):
        model.fit(X, y)
    with pytest.raises(TypeError, match=r"y must be a Dask array .* got numpy.ndarray"):
        model.fit(dX, y)
    with pytest.raises(TypeError, match=r"X of eval_set must be a Dask array .* got numpy.ndarray"):
        model.fit(dX, dy, eval_set=(X, y))
    with pytest.raises(ValueError, match="pair"):
        model.fit(dX, dy, eval_set=(dX, dy, dy))
    with pytest.raises(ValueError, match="6 features"):
        DaskBGNRegressor(**SMALL, max_seconds=0.0).fit(dX, dy).predict(dX[:, :3])


@pytest.mark.exhaustive
def test_no_client():
    code = "from bgn.dask import DaskBGNRegressor; DaskBGNRegressor().client_"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "client is None and there is no current client" in done.stderr


# -- workers that die --------------------------------------------------------------------------------------------


def kill(client, number):
    """Kill a worker with SIGKILL; when there are fewer, the last."""
    pids = [*client.run(os.getpid).values()]
    os.kill(pids[min(number, len(pids) - 1)], signal.SIGKILL)


def killing(client, monkeypatch, phases):
    """Kill a worker whenever a question of `phases` has been put for the first time in a layer."""
    calls, done = ClusterTasks._submit, []

    def submit(self, what, function, shares, *arguments):
        futures = calls(self, what, function, shares, *arguments)
        layer = sum(call == "measure" for call in done)
        done.append(what)
        if (what, layer) in phases:
            phases.remove((what, layer))
            kill(client, len(phases) % 2)
        return futures

    monkeypatch.setattr(ClusterTasks, "_submit", submit)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "phases",
    [
        pytest.param([("survey", 0), ("sample", 0), ("rows", 0)], marks=pytest.mark.exhaustive),
        [("rows", 0), ("put", 2), ("settle", 2)],
        pytest.param([("cells", 2), ("put", 2), ("regions", 2)], marks=pytest.mark.exhaustive),
        pytest.param([("inside", 2), ("settle", 2), ("cells", 4)], marks=pytest.mark.exhaustive),
    ],
    ids=lambda phases: "-".join(what for what, _ in phases),
)
def test_a_worker_killed_in_every_phase_changes_nothing(two, monkeypatch, phases):
    X, y = table()
    model = BGNRegressor(**SMALL, max_layers=2, direction="lasso")
    expected = model.fit(X, y).history_
    left = list(phases)
    killing(two, monkeypatch, left)
    assert same(DaskBGNRegressor(**model.get_params()).fit(*arrays(X, y)).history_, expected)
    assert not left


@pytest.mark.exhaustive
def test_both_workers_killed_in_turn(two, monkeypatch):
    X, y = table()
    model = BGNRegressor(**SMALL)
    expected = model.fit(X, y).history_
    pids, killed, calls = set(two.run(os.getpid).values()), set(), ClusterTasks._submit

    def submit(self, what, *arguments):
        futures = calls(self, what, *arguments)
        if what == "overlaps" and pids - killed and len(two.nthreads()) == 2:
            killed.add(pid := min(pids - killed))
            os.kill(pid, signal.SIGKILL)
            while not killed >= pids and len(two.nthreads()) == 2:  # the scheduler learns of it
                time.sleep(0.01)
        if what == "settle" and killed and not killed >= pids:
            two.wait_for_workers(2, timeout=120)
        return futures

    monkeypatch.setattr(ClusterTasks, "_submit", submit)
    assert same(DaskBGNRegressor(**model.get_params()).fit(*arrays(X, y)).history_, expected)
    assert killed == pids


@pytest.fixture
def lonely(request, tmp_path):
    """A client of a scheduler with one worker that nobody starts again; as a parameter, what it finds as bgn."""
    if hasattr(request, "param"):
        (tmp_path / "bgn.py").write_text(request.param)
    with (
        dask.config.set({"bgn.no-workers": "2s", "distributed.comm.timeouts.connect": "2s"}),
        local_cluster(n_workers=0, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
        options = ["--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        worker = subprocess.Popen([*command, *options], env=os.environ | {"PYTHONPATH": path}, **quiet)
        try:
            client.wait_for_workers(1, timeout=120)
            yield client, worker
        finally:
            worker.kill()
            worker.wait()


@pytest.mark.exhaustive
def test_the_last_worker_is_lost(lonely, monkeypatch):
    client, worker = lonely
    X, y = table(100)
    calls = ClusterTasks._submit

    def submit(self, what, *arguments):
        if what == "cells":
            worker.kill()
        return calls(self, what, *arguments)

    monkeypatch.setattr(ClusterTasks, "_submit", submit)
    model, rows = DaskBGNRegressor(**SMALL, client=client), arrays(X, y, edges=(0, 50, 100))
    with pytest.raises(RuntimeError, match=r"waiting for 'cells', .* has had no workers for 2 s"):
        model.fit(*rows)
    with pytest.raises(RuntimeError, match=r"waiting for 'version', .* has had no workers for 2 s"):
        model.fit(*rows)


@pytest.mark.parametrize(
    ("lonely", "message"),
    [
        ("raise ModuleNotFoundError('No module named bgn')", "cannot import bgn .*Install it there"),
        ("__version__ = '0.0.1'", "have bgn 0.0.1; install"),
    ],
    indirect=["lonely"],
    ids=["none", "another"],
)
def test_workers_that_know_no_or_another_bgn(lonely, message):
    X, y = table(100)
    with pytest.raises(ImportError, match=message):
        DaskBGNRegressor(**SMALL, client=lonely[0]).fit(*arrays(X, y, edges=(0, 50, 100)))


@pytest.mark.exhaustive
def test_scattered_rows_cannot_be_made_again(lonely, monkeypatch):
    client, worker = lonely
    X, y = table(100)
    scattered = client.scatter([X, y])
    dX = da.from_delayed(dask.delayed(scattered[0]), X.shape, X.dtype)
    dy = da.from_delayed(dask.delayed(scattered[1]), y.shape, y.dtype)
    calls = ClusterTasks._submit

    def submit(self, what, *arguments):
        if what == "survey":
            worker.kill()
        return calls(self, what, *arguments)

    monkeypatch.setattr(ClusterTasks, "_submit", submit)
    with pytest.raises(RuntimeError, match="Data that was scattered exists once"):
        DaskBGNRegressor(**SMALL, client=client).fit(dX, dy)


@pytest.mark.exhaustive
def test_workers_out_of_memory_are_named(two):
    X, y = table(100)
    dX, dy = arrays(X, y, edges=(0, 50, 100))
    model = DaskBGNRegressor(**SMALL)

    def full(part):
        raise MemoryError

    def deadly(part):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(MemoryError, match="ran out of memory while working on 'reading'"):
        model.fit(dX.map_blocks(full, meta=X[:0]), dy)
    with pytest.raises(RuntimeError, match=r"died one after the other.*Most often they ran out of memory"):
        model.fit(dX.map_blocks(deadly, meta=X[:0]), dy)
    two.wait_for_workers(2, timeout=120)


def test_a_pass_that_takes_too_long(two):
    X, y = table(100)
    dX, dy = arrays(X, y, edges=(0, 50, 100))

    def slow(part):
        time.sleep(4)
        return part

    with (
        dask.config.set({"bgn.longest-pass": "1s"}),
        pytest.raises(TimeoutError, match="for 'reading', 2 tasks; 2 are still missing"),
    ):
        DaskBGNRegressor(**SMALL).fit(dX.map_blocks(slow, meta=X[:0]), dy)


def test_rows_answer_alike_whatever_was_requested_before():
    """A worker that starts afresh, one that was asked already, and one that fell behind tell the same."""
    rng = np.random.default_rng(0)
    columns, target = rng.normal(size=(3, 50)), rng.integers(-1000, 1000, 50)
    loss = Squared.over(-1.0, 1.0, 100)
    rows, behind = (HeldRows(columns, target, None, loss) for _ in range(2))
    part, standing = Part(columns, target, None, loss), Standing()
    for step in range(200):
        slot, n_slots = int(rng.integers(0, 12)), len(standing.slots)
        condition = Oblique(Projection((int(rng.integers(0, 3)),), (1.0,)), float(rng.normal()))
        output = Output(rng.integers(-9, 9, rng.integers(0, n_slots + 1)), int(rng.integers(-9, 9)))
        put = (RowPart.put, min(slot, n_slots), condition)
        moved = (RowPart.move, slot % max(n_slots, 1), 0)
        kinds = [put, (RowPart.settle, output), (RowPart.largest,), (CellPart.regions, n_slots), moved]
        request = Request(*(kinds[step % 5] if n_slots else put))
        expected = request.put_to(part)
        if request.method is not RowPart.move:
            fresh = pickle.loads(pickle.dumps(rows))
            several = [rows, rows, fresh, *([behind] if rng.random() < 0.1 else [])]
            replies = [part.reply(standing, request) for part in several]
            # No matter what was there.
            old = request.method is RowPart.put and request.arguments[0] >= len(standing.output.weights)
            for reply in replies:
                np.testing.assert_equal(reply[:2] if old else reply, expected[:2] if old else expected)
        standing = standing.after(request)


# -- the command line --------------------------------------------------------------------------------------------


def _rounded(number):
    """Figures of the same rows in another order may differ in the last digit."""
    return float(f"{float(number):.12g}")


@pytest.mark.exhaustive
def test_the_command_fits_on_a_cluster_what_it_fits_in_memory(two, tmp_path):
    X, y = table(300)
    rows = pd.DataFrame(X.round(2), columns=list("abcdef")).assign(lift=X[:, 0] > 0.5, rent=y)
    rows["house"] = [f"no {number % 70}" for number in range(300)]
    rows["quarter"] = np.random.default_rng(1).choice(np.array(["north", "south", None]), 300)
    rows["rent"] += np.where(rows["quarter"] == "north", 3 * y.std(), 0.0)
    rows["empty"] = np.full(300, np.nan)
    rows.loc[7, "b"] = np.nan
    options = "--max-terms", 3, "--replacements", 2, "--shrinkage", 1, "--folds", 0, "--max-linear", 0, "--json"
    cards = []
    rows["dear"] = pd.Series(np.where(rows["rent"] > rows["rent"].median(), "yes", "no")).where(rows.index != 11)
    rows.to_parquet(tmp_path / "rents.parquet", row_group_size=50)
    for key in (
        ("-t", "rent", "--drop", "house", "--drop", "dear"),
        ("-t", "rent", "--key", "house", "--missing", "drop", "--drop", "quarter", "--drop", "dear"),
        ("-t", "dear", "--drop", "house", "--drop", "rent"),
    ):
        for where in ((), ("--scheduler", two.scheduler.address)):
            out = "-o", tmp_path / "model.json"
            once = run if where and "dear" not in key[:2] and "--key" not in key else call  # once in its own process
            done = once("fit", tmp_path / "rents.parquet", *options, *key, *where, *out)
            card = json.loads(done.out, parse_float=_rounded)  # advice is paired by rows that a cluster does not keep
            cards.append((card | {"seconds": 0, "advice": ""}, read(tmp_path / "model.json").held_out))
            assert "column 'empty' is empty and left out" in done.err
            assert ("1 of 300 rows have missing values ('b' 1): left out" in done.err) == ("drop" in key)
    assert cards[0] == cards[1]
    assert cards[2] == cards[3]
    assert cards[4] == cards[5]
    assert "quarter" in cards[0][0]["features_used"]
    drop = "--drop", "house", "--drop", "dear", "--missing", "refuse"
    refused = call("fit", tmp_path / "rents.parquet", "-t", "rent", *drop, "--scheduler", two.scheduler.address, code=1)
    assert "add --missing drop" in refused.err


@pytest.mark.exhaustive
def test_few_whole_numbers_and_rare_classes_are_warned_of_on_a_cluster(two, tmp_path):
    x = np.arange(120.0)
    kind = pd.Series(np.where(x < 50, "low", "high"), dtype=object)
    kind[[3, 80]], kind[[5, 90]] = "odd", "rare"
    frame = pd.DataFrame({"x": x, "few": (x // 40).astype(int), "kind": kind})
    rows = dd.from_pandas(frame[["x", "few"]], npartitions=3)
    with pytest.warns(UserWarning, match=r"y has 3 different whole numbers \(0, 1, 2\).*DaskBGNRegressor\(task='reg"):
        DaskBGNRegressor(**SMALL, client=two).fit(rows, target="few")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        DaskBGNRegressor(**SMALL, client=two, task="regression").fit(rows[["x"]], rows["few"])
        DaskBGNRegressor(**SMALL, client=two).fit(rows[["x"]], rows["few"] + 0.5)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=50)
    where = "--scheduler", two.scheduler.address, "--max-terms", 2, "--folds", 0, "-o", tmp_path / "m.json"
    fit = "fit", tmp_path / "t.parquet", *where
    assert "--task regression or --task classification" in call(*fit, "-t", "few", "--drop", "kind", code=1).err
    call(*fit, "-t", "kind", "--drop", "few", "--merge-rare", 3)
    assert read(tmp_path / "m.json").network.schema.classes == ("high", "low", "other")
    assert read(tmp_path / "m.json").preparation.merged == ("odd", "rare")


@pytest.mark.parametrize(
    ("name", "categorical", "missing", "message"),
    [
        ("rents.parquet", ["a"], "drop", r"column 'a' \(double\) is none of numbers"),
        ("rents.parquet", [], "impute", "try --missing drop"),
        ("rents.parquet", [], "drop", "no Dask scheduler answers at 'tcp://nowhere'"),
        ("diabetes", [], "drop", "--scheduler reads Parquet files"),
    ],
)
def test_what_the_command_refuses_on_a_cluster(tmp_path, monkeypatch, name, categorical, missing, message):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": [1.0, 2.0], "rent": [1.0, 2.0]}).to_parquet("rents.parquet")
    source, choices = DataFile(name).open(), Choices("rent", categorical=categorical, missing=missing)
    with pytest.raises(InputError, match=message):
        Clustered(TrainingRequest(source, choices, 0.2, 0, one_hot=True), "tcp://nowhere")
