"""The loops of a first fit, compiled side by side: what one process does in twenty seconds, several do in a few.

Numba compiles one loop at a time in a process. Where a fit finds nothing on disk, the loops that it will need are dealt
out to this process and to helpers, the longest first; each puts what it has made into numba's folder, where the fit
finds it. Which loops these are, and of what types, stands in ``loops.txt``, longest first; a loop that is missing there
is compiled when it is called. Whatever goes wrong here costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from numba import types

_LIST = Path(__file__).with_name("loops.txt")
_MOST_HELPERS = 3
_ARRAY = re.compile(r"(\w+)\[(\d)([CFA])(r?)\]")
_WORD = re.compile(r"\w+\[\w+\]|[\w.]+|[(),]")


def compile_ahead(kind: str) -> None:
    """Compile what a first fit needs, if nothing of it is on disk; `kind` is ``"numbers"`` or ``"classes"``.

    Parameters
    ----------
    kind : {"numbers", "classes"}
        What the fit predicts.

    Examples
    --------
    >>> from bgn.compiling import compile_ahead
    >>> compile_ahead("numbers")
    """
    if kind in _done:
        return
    _done.add(kind)
    with contextlib.suppress(Exception):
        loops = [name for name, kinds in _listed() if kind in kinds]
        missing = [line for line in loops if not _kept(line)]
        helpers = min(_cores() - 1, _MOST_HELPERS, len(missing) // 4)
        if missing:
            _say()
        if helpers > 0 and sys.executable:
            with _without_collecting():
                _deal(missing, helpers)


_done: set[str] = set()


def _listed() -> Iterator[tuple[str, str]]:
    """Yield every loop with its types, and the kinds of fits that need it."""
    for line in _LIST.read_text().splitlines():
        kinds, loop = line.split(" ", 1)
        yield loop, kinds


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _loop(line: str) -> tuple[Any, tuple[Any, ...]]:
    """A line of the list as a loop and the types of its arguments."""
    place, *words = line.split(" ")
    module, name = place.rsplit(".", 1)
    return getattr(import_module(module), name), tuple(read_type(word) for word in words)


def _kept(line: str) -> bool:
    """True where a loop may be on disk, or cannot be put there."""
    file = getattr(_loop(line)[0]._cache, "_cache_file", None)
    return file is None or os.path.exists(file._index_path)


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    """Let objects be: a compiler makes many that stay, and to look through all of them takes a sixth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _say() -> None:
    """Tell a person that waits what for."""
    if "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty()):
        print("bgn compiles its loops, once on this machine: a few seconds.", file=sys.stderr)


def _deal(lines: list[str], helpers: int) -> None:
    """Deal out loops to helpers and to this process, until there are none left."""
    lock, left = threading.Lock(), iter(lines)

    def take() -> str | None:
        with lock:
            return next(left, None)

    def hand_on(helper: subprocess.Popen[str]) -> None:
        assert helper.stdin is not None
        assert helper.stdout is not None
        with contextlib.suppress(OSError):
            while (line := take()) is not None:
                helper.stdin.write(line + "\n")
                helper.stdin.flush()
                if not helper.stdout.readline():
                    return  # it died; the loop is compiled when it is called
            helper.stdin.close()

    started = [_helper() for _ in range(helpers)]
    try:
        threads = [threading.Thread(target=hand_on, args=(helper,), daemon=True) for helper in started]
        for thread in threads:
            thread.start()
        while (line := take()) is not None:
            kernel, signature = _loop(line)
            kernel.compile(signature)
        for thread in threads:
            thread.join()
    finally:
        for helper in started:
            helper.kill()
            helper.wait()
            for pipe in (helper.stdin, helper.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]


def _helper() -> subprocess.Popen[str]:
    """Start a process that compiles what it is told to."""
    folder = str(Path(__file__).parents[1])
    path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    code = "from bgn.compiling import help; help()"
    environment = os.environ | {"PYTHONPATH": path}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
    )  # fmt: skip


def help() -> None:
    """Compile the loops that lines of standard input name, and answer each with a line."""
    gc.disable()
    for line in sys.stdin:
        with contextlib.suppress(Exception):
            kernel, signature = _loop(line.rstrip("\n"))
            kernel.compile(signature)
        print(flush=True)


def write_type(kind: Any) -> str:
    """Return a type of numba's in a word.

    Parameters
    ----------
    kind : numba type
        A number, an array, or a tuple of types, with or without a name.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from numba import typeof
    >>> from bgn.compiling import read_type, write_type
    >>> write_type(typeof((np.zeros((2, 2)), 3)))
    '(float64[2C],int64)'
    >>> read_type('(float64[2C],int64)') == typeof((np.zeros((2, 2)), 3))
    True
    """
    if isinstance(kind, types.Array):
        return f"{kind.dtype}[{kind.ndim}{kind.layout}{'' if kind.mutable else 'r'}]"
    if (parts := getattr(kind, "types", None)) is not None:
        named = getattr(kind, "instance_class", None)
        name = "" if named is None else f"{named.__module__}.{named.__qualname__}"
        return f"{name}({','.join(map(write_type, parts))})"
    return str(kind)


def read_type(word: str) -> Any:
    """Return the type that a word stands for; see :func:`write_type`."""
    words = iter(_WORD.findall(word))
    return _read(next(words), words)[0]


def _read(word: str, words: Iterator[str]) -> tuple[Any, str]:
    """A type that begins with a word, and the word after it."""
    if match := _ARRAY.fullmatch(word):
        dtype, ndim, fixed = match[1], match[2], bool(match[4])
        layout: Any = match[3]
        return types.Array(getattr(types, dtype), int(ndim), layout, readonly=fixed), next(words, "")
    name = "" if word == "(" else word
    after = "(" if word == "(" else next(words, "")
    if after != "(":
        return getattr(types, name), after
    parts, following = [], "," if (first := next(words)) != ")" else ")"
    while following == ",":
        part, following = _read(first, words)
        parts.append(part)
        first = next(words) if following == "," else ""
    if not name:
        return types.BaseTuple.from_types(parts), next(words, "")
    module, cls = name.rsplit(".", 1)
    return types.BaseTuple.from_types(parts, getattr(import_module(module), cls)), next(words, "")
