"""The loops of a first fit, dealt out to several processes: the list is right, and nothing depends on the helpers."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from bgn import compiling
from tests.test_compiled import KERNELS, cache_at


def test_the_list_can_be_read():
    for line, kinds in compiling._listed():
        kernel, arguments = compiling._loop(line)
        assert {*kinds.split("+")} <= {"numbers", "classes"}
        name = f"{kernel.py_func.__module__}.{kernel.py_func.__name__}"
        assert " ".join([name, *map(compiling.write_type, arguments)]) == line


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_the_list_names_what_a_fit_calls(kind):
    """Once everything is on disk, loops inside others are not asked for: what is, is what the list should have."""
    code = f"""
from benchmarks.compiling import FITS, called, fit
fit(*FITS[{kind!r}][0])
print(*called(), sep="\\n")
"""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=-1,
            text=True,
            check=True,
        )
    called = {*done.stdout.splitlines()[1:]}
    listed = {line for line, kinds in compiling._listed() if kind in kinds}
    assert called
    assert called <= listed, "run python -m benchmarks.compiling --list"


def test_types_come_back():
    for value in (1, 1.5, True, np.zeros((2, 3), np.uint8), np.zeros((2, 3)).T, np.zeros((4, 3))[:, 1:]):
        for whole in (value, (value, 2), ((value, value), np.zeros(3, bool))):
            kind = numba.typeof(whole)
            assert compiling.read_type(compiling.write_type(kind)) == kind
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    assert compiling.read_type(compiling.write_type(numba.typeof(fixed))) == numba.typeof(fixed)


@pytest.fixture
def loops(tmp_path, monkeypatch):
    """A module with one loop, a list of two types for it, and an empty cache."""
    (tmp_path / "some_loops.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    cache_at(monkeypatch, tmp_path / "cache")
    sys.modules.pop("some_loops", None)
    yield ["some_loops.double float64[1C]", "some_loops.double int64[1C]"]
    sys.modules.pop("some_loops", None)


def test_helpers_and_this_process_share_the_work(loops, tmp_path):
    assert not any(map(compiling._kept, loops))
    compiling._deal(loops, 1)
    assert list((tmp_path / "cache").glob("*/*.nbc"))
    assert all(map(compiling._kept, loops))
    double = sys.modules["some_loops"].double
    assert [double(np.arange(5.0)), double(np.arange(5))] == [20.0, 20]


def test_helpers_that_die_cost_time_alone(loops, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    compiling._deal(loops, 2)
    assert sys.modules.get("some_loops") is None or sys.modules["some_loops"].double(np.arange(5.0)) == 20.0


def test_a_list_that_is_gone_ends_no_fit(monkeypatch, tmp_path):
    monkeypatch.setattr(compiling, "_LIST", tmp_path / "loops.txt")
    monkeypatch.setattr(compiling, "_done", set())
    compiling.compile_ahead("numbers")
    assert compiling._done == {"numbers"}
