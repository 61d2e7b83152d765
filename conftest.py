"""Which modules need a package that may not be there, and a switch that one of scikit-learn's checks asks for."""

import os
from importlib.util import find_spec

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before anything loads SciPy

collect_ignore_glob = [] if find_spec("torch") else ["src/bgn/baselines/*", "tests/reference_baselines.py"]
if not find_spec("triton"):
    collect_ignore_glob += ["src/bgn/engines/gpu_fused.py", "src/bgn/engines/gpu_kernels.py"]
