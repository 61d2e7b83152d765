"""Hides packages from Python, as if they were not installed: those that the variable BGN_WITHOUT names.

With this folder on PYTHONPATH every interpreter starts here, those that tests start included (``make without``).
"""

import os
import sys

_HIDDEN = set(os.environ.get("BGN_WITHOUT", "").split())


class _Without:
    """A finder of modules that does not find some."""

    def __init__(self, finder):
        self._finder = finder

    def __getattr__(self, name):
        return getattr(self._finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in _HIDDEN else self._finder.find_spec(name, path, target)


if _HIDDEN:
    sys.meta_path[:] = [_Without(finder) for finder in sys.meta_path]
