"""How the inner loops are compiled: settings that all kernels share, and a cache on disk that may fail without harm.

Numba keeps compiled code in a folder and trusts what it finds there. A folder that cannot be written to, a disk that
is full, a damaged file, two processes that write at once, or a loop that was compiled into another one and has changed
since, would each end a fit or, worse, run the wrong code. Here every entry is sealed; what does not bear its seal is
compiled again, and what cannot be kept is compiled without being kept.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
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
            found = super().load_overload(types, context)
        except Exception:  # whatever a damaged file makes pickle raise
            return None
        # Two processes that write at once may give one file's name to code for different types.
        return found if found is None or found.signature.args == tuple(types) else None

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


_told = False


def _warn(reason: str) -> None:
    """Say once per process that compiled code is not kept."""
    global _told
    if not _told:
        _told = True
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
