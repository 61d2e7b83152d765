"""Which modules need a package that may not be there, and switches that must be set before anything is loaded."""

import os
from importlib.util import find_spec

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # one of scikit-learn's checks asks for it
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests have small tensors, over which threads wait for each other

collect_ignore_glob = [] if find_spec("torch") else ["src/bgn/baselines/*", "tests/reference_baselines.py"]
if not find_spec("triton"):
    collect_ignore_glob += ["src/bgn/engines/gpu_fused.py", "src/bgn/engines/gpu_kernels.py"]
