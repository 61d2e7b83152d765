"""How the inner loops are compiled: settings that all kernels share, a cache on disk, and a first fit in little time.

Numba keeps compiled code in a folder and trusts what it finds there. A folder that cannot be written to, a disk that
is full, a damaged file, two processes that write at once, or a loop that was compiled into another one and has
changed since, would each end a fit or, worse, run the wrong code. Here every entry is sealed; what does not bear its
seal is compiled again, and what cannot be kept is compiled without being kept.

Numba compiles one loop at a time in a process. Where a fit finds nothing on disk, the loops that it will need are
dealt out to this process and to helpers, the longest first: what one process does in twenty seconds, several do in a
few. Each puts what it has made into numba's folder, where the fit finds it. Which loops these are, and of what types,
stands in ``loops.txt``; a loop that is missing there is compiled when it is called. Whatever goes wrong costs time
and nothing else.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import os
import pickle
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from numba import njit, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.serialize import dumps
from numba.core.types import unliteral

# Nobody calls a loop from C, and none divides by zero: without what these would need, compiling takes a sixth less.
_SETTINGS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called; threads run it at the same time, later processes find it on disk.

    Parameters
    ----------
    function : callable
        Of arrays and numbers, in what numba understands of Python.

    Returns
    -------
    numba dispatcher

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.explain.crossings import fires  # decorated with it
    >>> fires(np.array([1.0, 2.0]), 3.0)
    True
    """
    kernel: Any = njit(**_SETTINGS)(function)
    # A number that a loop writes where it calls another is no reason to compile the other once more, for that number.
    kernel.get_call_template = functools.partial(_call_template, kernel)
    try:
        kernel._cache = _Cache(function)
    except (RuntimeError, OSError):  # numba found no folder that can be written to
        kernel._cache = _NoCache()
    return kernel


def _call_template(kernel: Any, args: Any, kws: dict[str, Any]) -> Any:
    """What a loop that calls another is told about it; the types of its arguments are without their values."""
    plain = {name: unliteral(kind) for name, kind in kws.items()}
    return type(kernel).get_call_template(kernel, tuple(map(unliteral, args)), plain)


class _Sealed(CompileResultCacheImpl):
    """Entries with a digest of the code, its sources and the processor it is for."""

    def reduce(self, result: Any) -> tuple[bytes, bytes]:
        code = dumps(super().reduce(result))
        return _seal(code, result.target_context), code

    def rebuild(self, context: Any, entry: tuple[bytes, bytes]) -> Any:
        seal, code = entry
        if seal != _seal(code, context):
            raise ValueError("an entry of the cache is damaged or out of date")
        return super().rebuild(context, pickle.loads(code))


class _Cache(FunctionCache):
    """What numba keeps on disk; what fails is not kept, and what was kept badly is not used."""

    _impl_class = _Sealed

    def load_overload(self, types: Any, context: Any) -> Any:
        try:
            result = super().load_overload(types, context)
        except Exception:  # whatever a damaged file makes pickle raise
            return None
        # Two processes that write at once may give one file's name to code for different types.
        return result if result is None or result.signature.args == tuple(types) else None

    def save_overload(self, types: Any, result: Any) -> None:
        try:
            super().save_overload(types, result)
        except Exception:
            try:
                self.flush()  # an index that cannot be read is begun anew
                super().save_overload(types, result)
            except Exception as error:
                _warn(f" ({error})")


class _NoCache(NullCache):
    """In place of a cache where there is no folder for one."""

    def save_overload(self, types: Any, result: Any) -> None:
        _warn("")


_warned = False


def _warn(reason: str) -> None:
    """Say once per process that compiled code is not kept."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "bgn compiles its loops anew in every process, some 20 seconds at the first fit, because the compiled code "
            f"cannot be stored{reason}. Set the environment variable NUMBA_CACHE_DIR to a folder one can write to.",
            stacklevel=2,
        )


def _seal(code: bytes, context: Any) -> bytes:
    """Return the digest of compiled code, of all sources, and of what the processor can do."""
    return hashlib.sha256(_sources() + repr(context.codegen().magic_tuple()).encode() + code).digest()


@functools.cache
def _sources() -> bytes:
    """Return a digest of every file with kernels: any of them may be compiled into those of another."""
    texts = (path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
    return hashlib.sha256(b"".join(text for text in texts if b"@compiled" in text)).digest()


_LIST = Path(__file__).with_name("loops.txt")
_MOST_HELPERS = 3
_ARRAY = re.compile(r"(\w+)\[(\d)([CFA])(r?)\]")
_TOKEN = re.compile(r"\w+\[\w+\]|[\w.]+|[(),]")


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
    place, *tokens = line.split(" ")
    module, name = place.rsplit(".", 1)
    return getattr(import_module(module), name), tuple(read_type(token) for token in tokens)


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


def read_type(text: str) -> Any:
    """Return the type that a word stands for; see :func:`write_type`."""
    tokens = iter(_TOKEN.findall(text))
    return _read(next(tokens), tokens)[0]


def _read(token: str, tokens: Iterator[str]) -> tuple[Any, str]:
    """A type that begins with a word, and the word after it."""
    if match := _ARRAY.fullmatch(token):
        dtype, ndim, fixed = match[1], match[2], bool(match[4])
        layout: Any = match[3]
        return types.Array(getattr(types, dtype), int(ndim), layout, readonly=fixed), next(tokens, "")
    name = "" if token == "(" else token
    after = "(" if token == "(" else next(tokens, "")
    if after != "(":
        return getattr(types, name), after
    parts, following = [], "," if (first := next(tokens)) != ")" else ")"
    while following == ",":
        part, following = _read(first, tokens)
        parts.append(part)
        first = next(tokens) if following == "," else ""
    if not name:
        return types.BaseTuple.from_types(parts), next(tokens, "")
    module, cls = name.rsplit(".", 1)
    return types.BaseTuple.from_types(parts, getattr(import_module(module), cls)), next(tokens, "")
