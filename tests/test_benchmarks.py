"""Benchmarks start where an optional package that another of them needs is missing."""

import runpy
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_the_benchmark_of_a_gpu_needs_no_dask(monkeypatch, capsys):
    for name in ("dask", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(sys, "argv", ["scale.py", "gpu", "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(BENCHMARKS / "scale.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "gpu" in printed
    assert "dask" in printed
