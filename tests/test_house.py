"""How the sources are built: kernels of few arguments, telling module names, one meaning per class name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import bgn

PACKAGE = Path(bgn.__file__).parent
FILES = sorted(PACKAGE.glob("**/*.py"))
MOST_ARGUMENTS = 10
COMPILERS = ("njit", "compiled", "jit")
VAGUE = {"utils", "util", "common", "helpers", "helper", "misc", "v2"}

TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))


def is_kernel(function: ast.AST) -> bool:
    """Whether numba or Triton compiles a function."""
    made = [node.func if isinstance(node, ast.Call) else node for node in getattr(function, "decorator_list", [])]
    return any(ast.unparse(node).rpartition(".")[2] in COMPILERS for node in made)


def arguments_of(function: ast.FunctionDef) -> int:
    """How many arguments a kernel takes; what is known when it is compiled (``tl.constexpr``) does not count."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return sum(each.annotation is None or not ast.unparse(each.annotation).endswith("constexpr") for each in given)


KERNELS = {
    node.name
    for tree in TREES.values()
    for node in ast.walk(tree)
    if isinstance(node, ast.FunctionDef) and is_kernel(node)
}


@every_file
def test_a_kernel_takes_few_arguments(path):
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.FunctionDef) and is_kernel(node):
            count = arguments_of(node)
            assert count <= MOST_ARGUMENTS, f"{path.name}: the kernel {node.name} takes {count} arguments"
        elif isinstance(node, ast.Call):
            called = node.func.value if isinstance(node.func, ast.Subscript) else node.func  # Triton: kernel[grid](...)
            name = ast.unparse(called).rpartition(".")[2]
            count = len(node.args) + (0 if isinstance(node.func, ast.Subscript) else len(node.keywords))
            if name in KERNELS:
                assert count <= MOST_ARGUMENTS, f"{path.name}: {name} is called with {count} arguments"


@every_file
def test_a_module_is_called_by_what_it_holds(path):
    assert not VAGUE & {path.stem, *path.relative_to(PACKAGE).parts[:-1]}


def test_no_two_classes_share_a_name():
    places = defaultdict(list)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert not {name: where for name, where in places.items() if len(where) > 1}
