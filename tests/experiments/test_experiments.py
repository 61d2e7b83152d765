"""Studies from the command line, in real processes: at toy size, killed, failed, on threads, on a cluster."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from bgn.datasets import DatasetError
from experiments import STUDIES
from experiments.__main__ import main
from experiments.runner import execute
from experiments.store import Store, Task

ROOT = Path(__file__).parents[2]
needs_torch = pytest.mark.skipif(not find_spec("torch"), reason="PyTorch is not installed")
needs_raw = pytest.mark.skipif(
    "BGN_DATA" not in os.environ, reason="BGN_DATA does not name a folder with the raw tables"
)
GROWN = ("accuracy", "--smoke", "--methods", "bgn", "bgn_paper", "--datasets", "diabetes", "--seeds", "5")


def start(*arguments, folder, without=""):
    """Start a study that keeps everything in a folder, as if some packages were not installed."""
    store = ("--store", str(folder / "runs"), "--output", str(folder))
    command = [sys.executable, "-m", "experiments", *arguments, *store]
    path = os.pathsep.join([str(ROOT / "tests" / "without"), os.environ.get("PYTHONPATH", "")])
    env = os.environ | ({"BGN_WITHOUT": without, "PYTHONPATH": path} if without else {})
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=env
    )


def finish(*arguments, folder, without=""):
    """Run a study to its end; return exit status, output and log."""
    process = start(*arguments, folder=folder, without=without)
    output, log = process.communicate()
    return process.returncode, output, log


def finish_here(*arguments, folder, capsys):
    """The same in this process, where that is all the same: the packages are there already."""
    capsys.readouterr()
    try:
        status = main([*arguments, "--store", str(folder / "runs"), "--output", str(folder)])
    except SystemExit as stopped:
        status = stopped.code
    return status, *capsys.readouterr()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process makes of two seeds."""
    folder = tmp_path_factory.mktemp("alone")
    assert main([*GROWN[:-1], "2", "--store", str(folder / "runs"), "--output", str(folder)]) == 0
    return shown(folder)


def shown(folder):
    """Return the bytes of all tables and figures but those of times."""
    kinds = (".txt", ".md", ".tex", ".csv", ".png", ".svg")
    files = (path for path in sorted(folder.iterdir()) if path.suffix in kinds and "seconds" not in path.name)
    return {path.name: path.read_bytes() for path in files}


@needs_torch
@needs_raw
def test_every_study_runs_at_toy_size(tmp_path):
    for package in ("openpyxl", "imodels", "interpret", "lightgbm", "pandas", "pygam", "xgboost"):
        pytest.importorskip(package)
    status, output, log = finish("all", "--smoke", folder=tmp_path)
    assert status == 0, log
    for name in STUDIES:
        assert any(path.name.startswith(name.partition("_")[0]) for path in tmp_path.iterdir()), name
    assert "failed" not in output


@pytest.mark.exhaustive
def test_killed_in_the_middle_it_goes_on_and_ends_with_the_same_tables(tmp_path, capsys):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    assert finish_here(*GROWN, folder=whole, capsys=capsys)[0] == 0
    process = start(*GROWN, "--jobs", "2", folder=cut)
    for line in process.stderr:
        if line.startswith("[3/10]"):
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    with Store(cut / "runs") as store:
        before = store.runs()
    assert 3 <= len(before) < 10
    status, _, log = finish_here(*GROWN, folder=cut, capsys=capsys)
    assert status == 0
    assert log.startswith(f"[{len(before) + 1}/10]")
    assert shown(cut) == shown(whole) != {}
    with Store(cut / "runs") as store:
        after = store.runs()
    assert {key: after[key] for key in before} == before


def test_stopped_it_says_how_to_go_on(tmp_path):
    process = start(*GROWN, folder=tmp_path)
    assert process.stderr.readline().startswith("[1/10]")
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate()
    assert process.returncode == 130
    assert "The same command goes on from there." in log


def test_half_a_fit_is_no_result():
    def stop(record):
        raise KeyboardInterrupt

    task = Task("accuracy", "diabetes", "bgn", {"callbacks": stop}, 0, "paper")
    with pytest.raises(KeyboardInterrupt):
        execute([task], "cpu")


@needs_torch
def test_a_failed_run_is_recorded_shown_and_tried_again_only_with_retry(tmp_path, capsys):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU, so asking for one does not fail")
    study = ("accuracy", "--smoke", "--methods", "bnn", "bgn", "--datasets", "diabetes")
    status, output, log = finish_here(*study, "--device", "cuda", "--redo", folder=tmp_path, capsys=capsys)
    assert status == 2
    assert "--device cuda: device='cuda' but torch sees no CUDA device" in log
    status, output, log = finish_here(*study, "--device", "cuda", folder=tmp_path, capsys=capsys)
    assert status == 1
    assert "4 of 6 runs failed." in output
    line = next(line for line in output.splitlines() if line.startswith("diabetes     ours") or " ours " in line)
    assert "failed" in line
    assert "failed: diabetes bnn seed 0: RuntimeError: device='cuda' but torch sees no CUDA device." in log
    status, output, log = finish_here(*study, folder=tmp_path, capsys=capsys)
    assert (status, "runs failed" in output, "[" in log.split("failed:")[0]) == (1, True, False)
    status, output, _ = finish_here(*study, "--retry", folder=tmp_path, capsys=capsys)
    assert (status, "failed" in output) == (0, False)


@pytest.mark.exhaustive
def test_without_torch_a_study_that_trains_says_so_before_it_starts(tmp_path):
    study = ("accuracy", "--smoke", "--datasets", "diabetes", "--seeds", "1")
    status, output, log = finish(*study, folder=tmp_path, without="torch")
    assert (status, output) == (2, "")
    assert log.endswith("Install it, or bgn's extra 'torch'. --methods leaves methods out.\n")
    status, _, log = finish(*study, "--methods", "bgn", folder=tmp_path, without="torch openpyxl dask distributed")
    assert (status, "failed" in log) == (0, False)
    assert finish(*study, "--status", folder=tmp_path, without="torch")[0] == 0


@pytest.mark.parametrize("jobs", [("--jobs", "1"), ("--jobs", "2", "--backend", "threading")])
def test_a_package_that_is_missing_is_no_result(tmp_path, jobs):
    study = ("peers", "--smoke", "--datasets", "bike", "--methods", "free stumps", "--seeds", "1", *jobs)
    status, _, log = finish(*study, folder=tmp_path, without="xgboost")
    assert status == 2
    assert "No module named 'xgboost'" in log
    assert "Traceback" not in log
    with Store(tmp_path / "runs") as store:
        assert store.runs() == {}


@pytest.mark.exhaustive
def test_threads_give_the_same_tables(tmp_path, alone):
    assert finish(*GROWN[:-1], "2", "--jobs", "2", "--backend", "threading", folder=tmp_path)[0] == 0
    assert shown(tmp_path) == alone


CLUSTER = """
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, protocol="tcp"
    ) as cluster:
        print(cluster.scheduler_address.removeprefix("tcp://"), flush=True)
        input()
"""


@pytest.mark.exhaustive  # threads stand for it
@pytest.mark.skipif(not find_spec("distributed"), reason="dask.distributed is not installed")
def test_a_cluster_gives_the_same_tables(tmp_path, alone):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", CLUSTER], cwd=ROOT, **pipes) as cluster:
        address = cluster.stdout.readline().strip()
        status, _, log = finish(*GROWN[:-1], "2", "--backend", f"dask://{address}", folder=tmp_path)
        cluster.communicate("\n")
    assert status == 0, log
    assert shown(tmp_path) == alone


@needs_raw
def test_nothing_is_forgotten_before_its_successor_can_be_made(tmp_path, monkeypatch, capsys):
    pytest.importorskip("distributed")
    study = ("housing_model", "--smoke", "--store", str(tmp_path / "runs"), "--output", str(tmp_path / "tables"))
    assert main(list(study)) == 0
    monkeypatch.setattr("experiments.runner._TIMEOUT", "1s")
    with pytest.raises(SystemExit, match="2"):
        main([*study, "--redo", "--backend", "dask://127.0.0.1:1"])
    assert "no Dask scheduler answers" in capsys.readouterr().err

    def missing(dataset):
        raise DatasetError("cannot download")

    monkeypatch.setattr("experiments.data.table", missing)
    with pytest.raises(SystemExit, match="2"):
        main([*study, "--redo"])
    capsys.readouterr()
    assert main([*study, "--status"]) == 0
    assert " 0 failed, 0 missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "no study 'nothing'; there are accuracy, "),
        (("accuracy", "--datasets", "boston"), "accuracy has no dataset 'boston'; choose from bike, "),
        (("accuracy", "--methods", "mlp"), "accuracy has no method 'mlp'; choose from bgn_paper, "),
        (("accuracy", "--jobs", "0"), "--jobs must be at least 1; got 0."),
        (("accuracy", "--methods", "bgn_large"), "accuracy does method 'bgn_large' only with --full."),
        (("accuracy", "--smoke", "--datasets", "bike"), "accuracy does dataset 'bike' only with --reduced or --full."),
        (("accuracy", "--output", "/proc/tables"), "--output /proc/tables cannot be made"),
        (("accuracy", "--backend", "mpi"), "--backend must be loky, threading or dask://HOST:PORT; got 'mpi'."),
        (("accuracy", "--backend", "dask://bad"), "threading or dask://HOST:PORT; got 'dask://bad'."),
        (("accuracy", "--backend", "dask://a:b"), "threading or dask://HOST:PORT; got 'dask://a:b'."),
        (("accuracy", "--backend", "dask://:80"), "threading or dask://HOST:PORT; got 'dask://:80'."),
        (("accuracy", "--backend", "dask://a:99999"), "threading or dask://HOST:PORT; got 'dask://a:99999'."),
        (("accuracy", "timing"), "one study at a time, or all; got accuracy timing."),
        (("merge", "a.sqlite"), "merge needs a target and sources"),
        (("merge", "a.sqlite", "b.sqlite"), "no store 'b.sqlite'"),
    ],
)
def test_what_is_wrong_is_named_with_its_remedy(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--store", str(tmp_path / "runs")])
    assert message in capsys.readouterr().err


@pytest.mark.exhaustive
@pytest.mark.skipif(not find_spec("distributed"), reason="dask.distributed is not installed")
def test_a_cluster_that_does_not_answer_is_named_in_one_line(tmp_path):
    status, _, log = finish(*GROWN[:-1], "1", "--backend", "dask://localhost:1", folder=tmp_path)
    assert status == 2
    (line,) = log.splitlines()
    assert line.startswith("--backend: no Dask scheduler answers at 'dask://localhost:1' (")
    assert line.endswith("). Start one with `dask scheduler` and give the address it says.")


@pytest.mark.exhaustive
def test_status_says_what_there_is(tmp_path, capsys):
    arguments = [*GROWN[:-1], "1", "--store", str(tmp_path / "runs"), "--output", str(tmp_path)]
    assert main([*arguments, "--status"]) == 0
    assert "0 done, 0 failed, 2 missing; 0 s left with one job" in capsys.readouterr().out
    assert main(arguments) == 0
    assert "Test MSE" in capsys.readouterr().out
    before = (tmp_path / "runs").read_bytes()
    assert main([*arguments, "--status"]) == 0
    assert "accuracy: 2 done, 0 failed, 0 missing; 0 s left with one job" in capsys.readouterr().out
    assert (tmp_path / "runs").read_bytes() == before
    (tmp_path / "runs").write_text("no store")
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--status"])
    assert "Name a new file or one made by an earlier run." in capsys.readouterr().err
