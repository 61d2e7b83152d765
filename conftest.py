"""Which modules need a package that may not be there."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/bgn/baselines/*", "tests/reference_baselines.py"]
