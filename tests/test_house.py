"""How the sources are built: the words in their names, the size of their chapters, kernels of few arguments.

``python -m tests.test_house`` prints a line per room; ``python -m tests.test_house src/bgn/explain`` also prints every
name there that has a word nobody may use, where it is bound, and the modules that belong into their only importer.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "bgn"
TREES = {
    path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8"))
    for top in ("src", "tests", "experiments", "benchmarks", "examples")
    for path in sorted((ROOT / top).glob("**/*.py"))
}
SOURCES = [path for path in TREES if path.parts[0] == "src"]
every_source = pytest.mark.parametrize("path", SOURCES, ids=str)

# -- words ---------------------------------------------------------------------------------------------------------

# A word that no name may have as a part, and what to write instead.
INSTEAD = dict(line.split(": ") for line in (ROOT / "tests" / "data" / "words.txt").read_text().splitlines())
PLURALS = {f"{singular}s": singular for singular in INSTEAD} | {"judges": "judge"}

# Where a word is the right one: the start of a path.
STUDIES_OF_THE_PAPER = ("accuracy", "bounds", "figures", "housing_model", "pruning", "timing", "trees")
PAPER = (
    "src/bgn/theory",
    "src/bgn/baselines",
    "src/bgn/model/layer.py",
    "tests/model/test_theory.py",
    "tests/reference/theory.py",
    "tests/baselines",
    "tests/reference/baselines.py",
    *(f"experiments/{study}.py" for study in STUDIES_OF_THE_PAPER),
)
PICTURES = tuple(f"src/bgn/{folder}" for folder in ("plots", "show", "report", "export", "serve", "cli"))
EXCEPTIONS = {
    "neuron": PAPER,  # its word for the units of its networks
    # How wide layers are; columns of text, strokes, figures.
    "width": (*PAPER, *PICTURES, "src/bgn/model/network.py", "experiments/tables.py"),
}
# Names of others, which we only override or pass on.
NOT_OURS = {"average_precision", "compresslevel", "loglevel", "log_severity_level", "linewidth", "line_width"}


def parts_of(name: str) -> Iterator[str]:
    """Yield the parts of a name, in the singular where the list has it."""
    for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name):
        yield PLURALS.get(part.lower(), part.lower())


def bound(path: Path) -> Iterator[tuple[str, int]]:
    """Yield every name that a module gives to something, and the line."""
    yield path.stem, 1
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, 1
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name, node.lineno


def wrong_names(path: Path) -> list[tuple[str, int, str]]:
    """Return the names of a module that have a word nobody may use: the name, its line, the word."""
    return [
        (name, line, part)
        for name, line in bound(path)
        if name not in NOT_OURS
        for part in parts_of(name)
        if part in INSTEAD and not path.as_posix().startswith(EXCEPTIONS.get(part, ()))
    ]


def folder_of(path: Path) -> str:
    """Return the folder that a file belongs to: of the package, of the tests, or one beside them."""
    deep = {"src": 3, "tests": 2}.get(path.parts[0], 1)
    return Path(*path.parts[: min(deep, len(path.parts) - 1)]).as_posix()


@cache
def folders() -> dict[str, list[Path]]:
    """Return the files of every room."""
    by_folder = defaultdict(list)
    for path in TREES:
        by_folder[folder_of(path)].append(path)
    return dict(sorted(by_folder.items()))


@pytest.mark.parametrize("folder", list(folders()))
def test_names_are_those_that_readers_use(folder):
    wrong = [(path, line, name, INSTEAD[part]) for path in folders()[folder] for name, line, part in wrong_names(path)]
    assert not wrong, "\n".join(f"{path}:{line}: {name} -> {instead}" for path, line, name, instead in wrong)


# -- chapters ------------------------------------------------------------------------------------------------------


def importers() -> dict[Path, set[Path]]:
    """Return which modules of the package import which, also in the text of `lazy_names` and `require`."""
    modules = {".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__"): path for path in SOURCES}
    readers: dict[Path, set[Path]] = {path: set() for path in SOURCES}
    for path in SOURCES:
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("bgn."):
                names = [node.value, node.value.rpartition(".")[0]]
            else:
                continue
            for name in names:
                if name in modules and modules[name] != path:
                    readers[modules[name]].add(path)
    return readers


def fragments() -> dict[Path, Path]:
    """Return the modules of fewer than 60 lines that one other module imports, and that one."""
    return {
        path: next(iter(readers))
        for path, readers in importers().items()
        if len(readers) == 1 and path.stem not in ("__init__", "__main__") and lines_of(path) < 60
    }


def lines_of(path: Path) -> int:
    """Return how many lines a file has."""
    return len((ROOT / path).read_text(encoding="utf-8").splitlines())


def lengths(paths: list[Path]) -> list[int]:
    """Return the lines of every function, from its ``def`` on."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for path in paths for node in ast.walk(TREES[path]) if isinstance(node, kinds)]
    return [node.end_lineno - node.lineno + 1 for node in nodes]


def test_a_small_module_has_more_than_one_reader():
    wrong = fragments()
    assert not wrong, "\n".join(f"{path} belongs into {reader}" for path, reader in wrong.items())


def test_chapters_not_fragments():
    assert len(SOURCES) <= 200
    assert mean(lengths(SOURCES)) > 9


@pytest.mark.parametrize("path", [path for path in TREES if path.parts[0] not in ("tests", "examples")], ids=str)
def test_a_module_says_first_what_it_is_about(path):
    text = ast.get_docstring(TREES[path])
    assert text is not None
    assert re.match(r"[\w`].*[.:]$", text.partition("\n\n")[0].replace("\n", " ")), text.splitlines()[0]


# -- kernels and classes -------------------------------------------------------------------------------------------

MOST_ARGUMENTS = 10
COMPILERS = ("njit", "compiled", "jit")
VAGUE = {"utils", "util", "common", "helpers", "helper", "misc", "v2"}


def is_kernel(function: ast.AST) -> bool:
    """Whether numba or Triton compiles a function."""
    decorators = [node.func if isinstance(node, ast.Call) else node for node in getattr(function, "decorator_list", [])]
    return any(ast.unparse(node).rpartition(".")[2] in COMPILERS for node in decorators)


def kernels() -> dict[str, ast.FunctionDef]:
    """Return every kernel of the package by its name."""
    nodes = (node for path in SOURCES for node in ast.walk(TREES[path]))
    return {node.name: node for node in nodes if isinstance(node, ast.FunctionDef) and is_kernel(node)}


def test_a_kernel_takes_few_arguments():
    names = kernels()
    for name, node in names.items():
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        # What is known when it is compiled (``tl.constexpr``) does not count.
        count = sum(not (given.annotation and ast.unparse(given.annotation).endswith("constexpr")) for given in given)
        assert count <= MOST_ARGUMENTS, f"the kernel {name} takes {count} arguments"
    for path in SOURCES:
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.Call):
                launched = isinstance(node.func, ast.Subscript)  # Triton: kernel[grid](...)
                name = ast.unparse(node.func.value if launched else node.func).rpartition(".")[2]
                count = len(node.args) + (0 if launched else len(node.keywords))
                assert name not in names or count <= MOST_ARGUMENTS, f"{path}: {name} is called with {count} arguments"


@every_source
def test_a_module_is_called_by_what_it_holds(path):
    assert not VAGUE & {path.stem, *path.parts[:-1]}


def test_no_two_classes_share_a_name():
    places = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path))
    assert not {name: where for name, where in places.items() if len(where) > 1}


# -- the report ----------------------------------------------------------------------------------------------------


def report(starts: list[str]) -> None:
    """Print a line per room, and for the paths that start so every name to change and every fragment."""
    print(f"{'folder':24} {'files':>5} {'lines':>6} {'functions':>9} {'of lines':>8} {'to rename':>9}  most")
    for folder, paths in folders().items():
        wrong = [part for path in paths for _, _, part in wrong_names(path)]
        most = ", ".join(f"{part} {count}" for part, count in Counter(wrong).most_common(6))
        spans = lengths(paths) or [0]
        size = sum(map(lines_of, paths))
        print(f"{folder:24} {len(paths):5} {size:6} {len(spans):9} {mean(spans):8.1f} {len(wrong):9}  {most}")
    spans = lengths(SOURCES)
    size = sum(map(lines_of, SOURCES))
    print(f"src: {len(SOURCES)} files, {size} lines, {len(spans)} functions of {mean(spans):.1f} lines")
    for path, reader in fragments().items():
        if not starts or path.as_posix().startswith(tuple(starts)):
            print(f"{path}: {lines_of(path)} lines, imported by {reader} alone")
    for path in TREES:
        if starts and path.as_posix().startswith(tuple(starts)):
            for name, line, part in wrong_names(path):
                print(f"{path}:{line}: {name} -> {INSTEAD[part]}")


if __name__ == "__main__":
    report(sys.argv[1:])
