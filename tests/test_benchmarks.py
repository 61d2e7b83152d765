"""Benchmarks start where an optional package that another of them needs is missing."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_the_benchmark_of_a_gpu_needs_no_dask():
    code = (
        "import sys; sys.modules['dask'] = sys.modules['distributed'] = None\n"
        f"sys.path.insert(0, {str(BENCHMARKS)!r}); sys.argv = ['scale.py', 'gpu', '--help']\n"
        "import scale\nscale.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "gpu" in done.stdout
    assert "dask" in done.stdout
