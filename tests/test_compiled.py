"""Compiled loops are kept on disk where that can be done; where not, or where what was kept is bad, nothing is lost."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import bgn
import bgn.compiling

SOURCES = Path(bgn.__file__).parents[1]
KERNELS = """
from bgn.compiling import compiled

@compiled
def double(values):
    total = values[0]
    for value in values:
        total += value
    return 2 * total
"""


def cache_at(monkeypatch, folder):
    """Have numba keep code in a folder; it looks at the environment again when that has changed."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a module of kernels and a cache."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)
    cache_at(monkeypatch, tmp_path / "cache")
    monkeypatch.setattr(bgn.compiling, "_warned", False)
    return tmp_path


def hits(folder):
    """Call a kernel with two types, as a new process would; return how many it found on disk."""
    sys.modules.pop("kernels", None)
    double = importlib.import_module("kernels").double
    assert Path(double.py_func.__code__.co_filename).parent == folder
    assert double(np.arange(5.0)) == 20.0
    assert double(np.arange(5)) == 20
    return sum(double.stats.cache_hits.values())


def python(code, cache, *path):
    """Start a process with a cache of its own."""
    env = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True)


def printed(process):
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return out.strip()


def test_code_is_kept_and_loaded_again(folder):
    assert [hits(folder), hits(folder)] == [0, 2]


def test_without_a_folder_to_write_to_it_is_said_once(folder, monkeypatch):
    a_file = folder / "kernels.py"  # no folder can be made below it, by root neither
    cache_at(monkeypatch, a_file / "cache")
    monkeypatch.setenv("HOME", str(a_file))
    monkeypatch.setenv("XDG_CACHE_HOME", str(a_file))
    (folder / "__pycache__").write_text("a file where numba wants a folder")
    with pytest.warns(UserWarning, match=r"compiles its loops anew in every process.*NUMBA_CACHE_DIR") as said:
        assert [hits(folder), hits(folder)] == [0, 0]
    assert len(said) == 1


def test_an_import_says_nothing(folder, monkeypatch):
    a_file = folder / "kernels.py"
    monkeypatch.setenv("HOME", str(a_file))
    monkeypatch.setenv("XDG_CACHE_HOME", str(a_file))
    shutil.copytree(SOURCES / "bgn", folder / "bgn", ignore=shutil.ignore_patterns("__pycache__"))
    for path in ("engines", "grow", "explain"):
        (folder / "bgn" / path / "__pycache__").write_text("a file where numba wants a folder")
    code = "import numpy, warnings; warnings.simplefilter('error'); import bgn.estimators; print(bgn.__file__)"
    assert printed(python(code, a_file / "cache", folder)) == str(folder / "bgn" / "__init__.py")


def test_damaged_files_are_made_again(folder):
    def flipped(old):
        return old[: len(old) // 2] + bytes([old[len(old) // 2] ^ 1]) + old[len(old) // 2 + 1 :]

    for suffix in ("nbi", "nbc"):
        for damage in (lambda old: b"", lambda old: old[: len(old) // 2], lambda old: bytes(len(old)), flipped):
            shutil.rmtree(folder / "cache", ignore_errors=True)
            hits(folder)
            files = list((folder / "cache").glob(f"*/*.{suffix}"))
            assert files
            for path in files:
                path.write_bytes(damage(path.read_bytes()))
            assert hits(folder) < 2  # a flipped bit of an index may leave one entry whole
            assert hits(folder) == 2


def test_code_for_other_types_is_not_run(folder):
    """Two processes that write at once can leave the one's code under the name that the other's index gives."""
    hits(folder)
    first, second = sorted((folder / "cache").glob("*/*.nbc"))
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(kept)
    assert [hits(folder), hits(folder)] == [0, 2]


def test_two_processes_share_a_cache(folder):
    code = "import numpy as np; from kernels import double; print(double(np.arange(5.0)), double(np.arange(5)))"
    both = [python(code, folder / "cache", SOURCES, folder) for _ in range(2)]
    assert [printed(process) for process in both] == ["20.0 20"] * 2
    assert hits(folder) in (1, 2)  # of two indexes written at once one stays


def test_a_full_disk_ends_no_fit(folder):
    pytest.importorskip("resource", reason="files cannot be limited in size on this system")
    code = """
import resource, warnings, numpy as np
from kernels import double
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    print(double(np.arange(5.0)), double(np.arange(5)), *(each.message for each in said), sep="|")
"""
    floats, integers, message = printed(python(code, folder / "cache", SOURCES, folder)).split("|")
    assert (floats, integers) == ("20.0", "20")
    assert "cannot be stored ([Errno 27] File too large)" in message
    assert [hits(folder), hits(folder)] == [0, 2]


def test_a_change_in_a_kernel_reaches_those_that_call_it(folder):
    """Numba compiles a kernel into its callers, of whom it knows their own files alone."""
    shutil.copytree(SOURCES / "bgn", folder / "bgn", ignore=shutil.ignore_patterns("__pycache__"))
    inner, outer = folder / "bgn" / "explain" / "inner.py", folder / "bgn" / "explain" / "outer.py"
    inner.write_text("from bgn.compiling import compiled\n\n@compiled\ndef add(x):\n    return x + 1\n")
    outer.write_text(
        "from bgn.compiling import compiled\nfrom bgn.explain.inner import add\n\n"
        "@compiled\ndef call(x):\n    return add(x)\n"
    )
    code = "from bgn.explain.outer import call; print(call(1), sum(call.stats.cache_hits.values()))"
    outputs = [printed(python(code, folder / "cache", folder)) for _ in range(2)]
    inner.write_text(inner.read_text().replace("x + 1", "x + 2"))
    assert [*outputs, printed(python(code, folder / "cache", folder))] == ["2 0", "2 1", "3 0"]


def test_a_number_in_a_call_compiles_nothing_anew(tmp_path, monkeypatch):
    (tmp_path / "callers.py").write_text("""
from bgn.compiling import compiled

@compiled
def add(a, b):
    return a + b

@compiled
def add_often(times):
    total = 0
    for _ in range(times):
        total = add(add(total, 1), b=2)
    return total
""")
    monkeypatch.syspath_prepend(tmp_path)
    cache_at(monkeypatch, tmp_path / "cache")
    callers = importlib.import_module("callers")
    assert callers.add_often(5) == 15
    assert callers.add.signatures == [(numba.int64, numba.int64)]
    sys.modules.pop("callers")
