"""One way to write a file: whole or not at all, through pipes and devices, with the permissions it had."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import bgn
from bgn import Layer, Network
from bgn.whole_file import check_place, whole_file, write_whole
from tests.command import COMMAND, run
from tests.round_trips import scratch

ROOT = os.geteuid() == 0


def network(bias: float = 0.0) -> Network:
    return Network.of_layers([Layer([[1.0, 0.0]], [bias])], [1.0], 0.0, ["a", "b"], "y")


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def fail_half_way(path: Path, error: type[BaseException]) -> None:
    with whole_file(path) as file:
        file.write(b"half of the new")
        raise error


# -- files -------------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_only_once_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    write_whole(path, b"old")
    for error in (ValueError, KeyboardInterrupt, SystemExit):
        with pytest.raises(error):
            fail_half_way(path, error)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["m.json"]


def test_links_are_followed_and_stay(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to("folder/m.json")  # leads nowhere yet
    for content in (b"first", b"second"):
        write_whole(link, content)
        assert link.is_symlink()
        assert (tmp_path / "folder" / "m.json").read_bytes() == content
    assert names(tmp_path / "folder") == ["m.json"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_permissions_stay(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_whole(path, b"new")
    assert path.stat().st_mode & 0o7777 == mode
    assert path.read_bytes() == b"new"


def test_a_new_file_has_the_permissions_that_new_files_have(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_whole(tmp_path / "m.json", b"new")
    assert (tmp_path / "m.json").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.skipif(not ROOT, reason="only root may give files away")
def test_the_owner_stays(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.touch()
    os.chown(path, 1234, 4321)
    path.chmod(0o4750)
    write_whole(path, b"new")
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1234, 4321, 0o4750)


@pytest.mark.skipif(ROOT, reason="root may write anywhere")
def test_what_may_not_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(b"old")
    path.chmod(0o400)
    with pytest.raises(PermissionError, match=r"m\.json' is write-protected"):
        write_whole(path, b"new")
    path.chmod(0o600)
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match=r"m\.json"):
        write_whole(path, b"new")
    tmp_path.chmod(0o700)
    assert path.read_bytes() == b"old"


def test_places_that_hold_no_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere does not exist; make it first"):
        write_whole(tmp_path / "nowhere" / "m.json", b"")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        write_whole(tmp_path, b"")
    check_place(tmp_path / ("n" * 255))
    write_whole(tmp_path / ("n" * 255), b"the longest name there is")


def test_arguments_in_the_wrong_order_are_said() -> None:
    with pytest.raises(TypeError, match=r"path must be the name of a file to write; got a ndarray\."):
        write_whole(np.zeros(3), b"")  # type: ignore[arg-type]


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    write_whole(path, b"old")
    code = (
        "import resource, signal, sys\n"
        "from bgn.whole_file import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"  # as a full disk, an error half-way
        "try: write_whole(sys.argv[1], bytes(100_000))\n"
        "except OSError as error: print(error.strerror)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "File too large"
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["m.json"]


# -- what is not a file ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdout", "/dev/stderr"])
def test_devices_are_written_through(path: str, tmp_path: Path) -> None:
    before = os.lstat(path)
    write_whole(path, b"")
    link = tmp_path / "link"
    link.symlink_to(path)
    write_whole(link, b"")
    assert (os.lstat(path).st_mode, os.lstat(path).st_ino) == (before.st_mode, before.st_ino)
    assert link.is_symlink()


def test_a_pipe_gets_what_is_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content: list[bytes] = []
    reader = threading.Thread(target=lambda: content.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"a" * 200_000)
    reader.join(timeout=60)
    assert content == [b"a" * 200_000]
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


def test_an_open_file_goes_on_where_it_stands(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+b", buffering=0) as file:
        file.write(b"before, ")
        write_whole(f"/dev/fd/{file.fileno()}", b"model, ")
        file.write(b"after")
    assert (tmp_path / "log").read_bytes() == b"before, model, after"
    assert names(tmp_path) == ["log"]


# -- the library and the shell -------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "given"
    folder.mkdir()
    bgn.save(network(), folder / "model.json")
    (folder / "rows.csv").write_text("a,b,y\n1,2,1\n-1,2,-1\n3,4,1.5\n")
    return folder


def through_shell(*arguments: object) -> str:
    """Return what comes out of a pipe behind the command."""
    line = " ".join(map(str, arguments)) + " | cat"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", f"{COMMAND} {line}"], check=True, capture_output=True)
    return done.stdout.decode()


@pytest.mark.exhaustive
def test_the_shell_writes_through_its_own_output(saved: Path) -> None:
    model, rows = saved / "model.json", saved / "rows.csv"
    assert through_shell("predict", model, rows, "--out /dev/stdout") == "prediction\n1\n-1\n1\n"
    assert "What if" in through_shell("report", model, rows, "--out /dev/stdout")
    out = through_shell("simplify", model, rows, "--out /dev/stdout")
    assert out.startswith('{\n  "format": "bgn model"')
    assert Path("/dev/stdout").is_symlink()


def test_the_shell_writes_to_the_null_device_and_to_pipes(saved: Path, tmp_path: Path) -> None:
    model, rows, pipe = saved / "model.json", saved / "rows.csv", tmp_path / "pipe"
    before = os.stat("/dev/null")
    run("predict", model, rows, "--out", "/dev/null")
    run("fit", rows, "--target", "y", "--max-terms", 1, "--test", 0, "--out", "/dev/null", "--report", "/dev/null")
    assert os.stat("/dev/null").st_rdev == before.st_rdev
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        run("predict", model, rows, "--out", pipe)
        assert reader.communicate(timeout=60)[0] == b"prediction\n1\n-1\n1\n"
    assert pipe.is_fifo()


def test_a_report_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "report.html"
    X, y = np.array([[1.0, 2.0], [-1.0, 2.0]]), [1.0, -1.0]
    with pytest.raises(FileNotFoundError, match="make it first"):
        bgn.write_report(network(), X, y, tmp_path / "nowhere" / "report.html")
    page.write_text("old")
    page.chmod(0o640)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            bgn.write_report(network(), X, y, page)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert page.read_text() == "old"
    assert names(tmp_path) == ["report.html"]
    bgn.write_report(network(), X, y, page)
    assert "What if" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o640


# Writes in a child process that is killed at its first, second, third, ... call of a function, until one survives.
KILLED = """
import os, signal, sys
from bgn.whole_file import write_whole
path = sys.argv[1]
for before in (None, b"old"):
    for moment in range(1, 100_000, 4):
        for name in os.listdir(os.path.dirname(path)):  # what the last one left behind, too
            os.unlink(os.path.join(os.path.dirname(path), name))
        if before is not None:
            write_whole(path, before)
        child = os.fork()
        if child == 0:
            count = 0
            def watch(frame, event, function):
                global count
                count += 1
                if count == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
            sys.setprofile(watch)
            write_whole(path, b"new")
            sys.setprofile(None)
            os._exit(0)
        survived = os.waitpid(child, 0)[1] == 0
        content = open(path, "rb").read() if os.path.exists(path) else None
        assert content in ((b"new",) if survived else (before, b"new")), (moment, content)
        if survived:
            break
    assert moment > 20, moment
"""


def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new() -> None:
    with scratch() as folder:
        subprocess.run([sys.executable, "-c", KILLED, f"{folder}/m.json"], check=True)


# -- what killed programs leave ----------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="permissions and locks are those of POSIX")
def test_nobody_else_reads_a_file_before_it_is_whole(tmp_path: Path) -> None:
    path, old = tmp_path / "m.json", os.umask(0o022)
    try:
        for mode, after in ((None, 0o644), (0o640, 0o640), (0o600, 0o600)):
            if mode is not None:
                path.chmod(mode)
            with whole_file(path) as file:
                file.write(b"half")
                (temporary,) = (file for file in tmp_path.iterdir() if file.name.startswith(".bgn-"))
                assert temporary.stat().st_mode & 0o777 == 0o600
            assert path.stat().st_mode & 0o777 == after
    finally:
        os.umask(old)


@pytest.mark.skipif(os.name != "posix", reason="permissions and locks are those of POSIX")
def test_what_a_killed_program_left_goes_at_the_next_save(tmp_path: Path) -> None:
    def left(name: str, seconds: float = 1e6) -> Path:
        place = tmp_path / name
        place.write_bytes(b"half")
        os.utime(place, (place.stat().st_mtime - seconds,) * 2)
        return place

    stale = left(".bgn-0123456789abcdef")
    stays = [left(".bgn-notes"), left(".bgn-0123456789ABCDEF"), left("bgn-0123456789abcdef"),
             left(".bgn-1123456789abcdef", 60.0)]  # fmt: skip
    link = tmp_path / ".bgn-2123456789abcdef"
    link.symlink_to(left("precious"))
    os.utime(link, (0.0, 0.0), follow_symlinks=False)
    script = (
        "import sys; from bgn.whole_file import whole_file\nwith whole_file(sys.argv[1]): print(1, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, tmp_path / "other"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writing:
        writing.stdout.readline()
        (held,) = {*tmp_path.glob(".bgn-*")} - {stale, *stays, link}  # the first went already
        os.utime(held, (0.0, 0.0))
        write_whole(tmp_path / "m.json", b"new")
        assert held.exists()  # a program still writes it
        writing.kill()
        writing.wait()
    write_whole(tmp_path / "m.json", b"newer")
    assert not stale.exists()
    assert not held.exists()
    assert all(file.exists() for file in [*stays, link, tmp_path / "precious"])


def test_an_interruption_while_the_command_loads_is_quiet() -> None:
    script = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'bgn.cli.app': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from bgn.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
