"""Which code a run measured: a hash of the part of bgn that decides its figures, and the commit.

Comments, docstrings and how lines are broken do not count, so that a word of explanation makes no run out of date. A
study is **fresh** when every published run was made with today's code, or when today's code gave the same figures for
some of them, drawn at random (``python -m experiments recheck``). A test asks for it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Any

import bgn
from bgn.whole_file import write_whole
from experiments.store import Run, Task

# What a fit on rows in memory returns is decided here; engines for other places give the same bits, and are tested to.
PARTS = {
    "growth": (
        "grow", "engines/*.py", "engines/kernels", "model/step.py", "model/term.py", "model/layer.py",
        "model/numbers.py", "estimator_base.py", "training_rows.py",
    ),
    "baselines": ("baselines",),
}  # fmt: skip


def part(task: Task) -> str | None:
    """Return which part of bgn decides a task's figures: "growth", "baselines", or None for other packages alone."""
    module = import_module(f"experiments.{task.study}")
    if hasattr(module, "code"):
        own: str | None = module.code(task)
        return own
    if hasattr(module, "extra") and module.extra(task) == "torch":
        return "baselines"
    return "growth" if task.method.split()[-1].startswith("bgn") else None


_PARSING = Lock()  # some versions of Python cannot parse in two threads at once


def today(name: str, root: Path = Path(bgn.__file__).parent) -> str:
    """Return the hash of a part of bgn as it is now."""
    with _PARSING:
        return _today(name, root)


@cache
def _today(name: str, root: Path) -> str:
    """Read and hash a part of bgn once."""
    digest = hashlib.sha256()
    for path in _files(name, root):
        digest.update(f"{path.relative_to(root).as_posix()}\n{meaning(path.read_text(encoding='utf-8'))}\n".encode())
    if name == "growth":
        presets = (bgn.BGNRegressor, bgn.BGNRegressor.as_in_paper, bgn.BGNRegressor.accurate)
        made = [make() for make in (*presets, bgn.BGNClassifier, bgn.BGNClassifier.accurate)]
        digest.update(repr([sorted(model.get_params().items()) for model in made]).encode())
    return digest.hexdigest()[:16]


def _files(name: str, root: Path) -> Iterator[Path]:
    """Yield the files of a part, in order."""
    for pattern in PARTS[name]:
        folder = root / pattern
        yield from sorted(folder.rglob("*.py") if folder.is_dir() else root.glob(pattern))


def meaning(source: str) -> str:
    """Return what a program does, without comments, docstrings and layout; the same for every version of Python.

    Examples
    --------
    >>> meaning("def f(x):\\n    '''Doc.'''\\n    return x  # why") == meaning("def f(x): return (x)")
    True
    >>> meaning("x = 1") == meaning("x = 2")
    False
    """
    return repr(_plain(ast.parse(source)))


def _plain(node: Any) -> Any:
    """Return a piece of a program as tuples; what is empty is left out, as newer versions have more such fields."""
    if isinstance(node, list):
        return [_plain(child) for child in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.JoinedStr):  # which some versions cut in more pieces than others
        pieces = [child.value if isinstance(child, ast.Constant) else _plain(child) for child in node.values]
        texts = groupby(pieces, key=lambda child: isinstance(child, str))
        return ("JoinedStr", [part for text, run in texts for part in (["".join(run)] if text else run) if part])
    fields = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        fields["body"] = [child for child in node.body if not _is_text(child)]
    return (type(node).__name__, [(name, _plain(value)) for name, value in fields.items() if name != "kind"])


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a text alone: a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@cache
def commit() -> str | None:
    """Return the commit of the working tree, with a + when files differ from it; BGN_COMMIT where there is no git."""
    if name := os.environ.get("BGN_COMMIT"):
        return name
    try:
        here = {"cwd": Path(__file__).parent, "capture_output": True, "text": True, "check": True, "timeout": 20}
        head = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], **here).stdout.strip()  # type: ignore[call-overload]
        changed = subprocess.run(["git", "status", "--porcelain", "-uno", "--", "../src", "."], **here).stdout  # type: ignore[call-overload]
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head}{'+' if changed.strip() else ''}"


def origin(task: Task) -> dict[str, str]:
    """Return what a run's record says of the code: the hash of the part it measures, and the commit."""
    name, made = part(task), commit()
    return ({} if name is None else {name: today(name)}) | ({} if made is None else {"commit": made})


# -- stamps: what was computed again --------------------------------------------------------------------------------


def stamps(name: str, results: Path) -> dict[str, dict[str, Any]]:
    """Return by part of bgn what was computed again of a study, and with which code."""
    path = results / f"{name}.code.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def stamp(name: str, results: Path, checks: dict[str, dict[str, Any]]) -> Path:
    """Write down what was computed again of a study."""
    path = results / f"{name}.code.json"
    text = json.dumps(stamps(name, results) | checks, indent=1, sort_keys=True)
    write_whole(path, f"{text}\n".encode())
    return path


def describe_checks(name: str, runs: Iterable[Run], results: Path) -> str:
    """Return in a sentence how many runs are older than the code they measure, and what of them was computed again."""
    sentences = []
    for measured, stamped in sorted(stamps(name, results).items()):
        old = sum(part(run.task) == measured and run.versions.get(measured) != today(measured) for run in runs)
        if old and stamped["code"] == today(measured):
            again = f"{stamped['agree']} of {stamped['cells']} computed again agree"
            sentences.append(f" Before today's code ({measured}): {old:,} runs; {again}.")
    return "".join(sentences)


def outdated(name: str, runs: Iterable[Run], results: Path) -> dict[str, int]:
    """Return by part of bgn how many runs were made with other code than today's, and not confirmed since."""
    confirmed, counts = stamps(name, results), dict[str, int]()
    for run in runs:
        measured = part(run.task)
        if measured is not None and today(measured) not in (
            run.versions.get(measured), confirmed.get(measured, {}).get("code"),
        ):  # fmt: skip
            counts[measured] = counts.get(measured, 0) + 1
    return counts
