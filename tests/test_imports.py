"""`import bgn` is light, public names are all there, and a missing extra is named."""

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import bgn
from bgn.require import require
from tests.declared import EXTRAS, OPTIONAL, REQUIRED

ROOT = Path(__file__).parents[1]
PACKAGE = Path(bgn.__file__).parent

# What each part of the package may not know of, whoever writes it.
_SEEN = ("bgn.export", "bgn.show", "bgn.plots", "bgn.report", "bgn.serve", "bgn.cli")
_MADE = ("bgn.estimators", "bgn.estimator_base", "bgn.dask", "bgn.baselines", "bgn.datasets")
_CALLED = ("bgn.persist", *_MADE)
_GROWN = ("bgn.grow", "bgn.engines", "numba", "torch")
FORBIDDEN = {
    "model": (*_SEEN, *_CALLED, *_GROWN, "bgn.explain", "bgn.inputs", "bgn.pipelines", "sklearn"),
    "theory": (*_SEEN, *_CALLED, *_GROWN, "bgn.explain", "sklearn"),
    "inputs": (*_SEEN, *_CALLED, *_GROWN, "bgn.explain"),
    "preparation": (*_SEEN, *_CALLED, *_GROWN, "bgn.explain", "sklearn"),
    "engines": (*_SEEN, *_CALLED, "bgn.grow", "bgn.explain", "sklearn"),
    "grow": (*_SEEN, *_CALLED, "bgn.explain", "sklearn"),
    "pipelines": (*_SEEN, *_CALLED, *_GROWN, "bgn.explain", "sklearn"),
    "explain": (*_SEEN, *_CALLED, "bgn.grow"),
    "export": (*_SEEN[1:], *_CALLED, *_GROWN, "bgn.explain", "sklearn", "matplotlib"),
    "show": (*_SEEN[2:], *_CALLED, *_GROWN, "sklearn", "matplotlib"),
    "plots": ("bgn.report", "bgn.serve", "bgn.cli", *_CALLED, *_GROWN),
    "report": ("bgn.plots", "bgn.serve", "bgn.cli", *_MADE, *_GROWN, "matplotlib"),
    "serve": ("bgn.plots", "bgn.cli", *_MADE, *_GROWN, "matplotlib"),
    "persist": (*_SEEN, *_MADE, "bgn.explain", "bgn.engines"),
    "baselines": (*_SEEN, "bgn.explain", "bgn.persist", "bgn.grow", "bgn.estimators"),
    "datasets": (*_SEEN, "bgn.persist", *_MADE[:-1], *_GROWN, "bgn.explain"),
    "estimators": ("bgn.plots", "bgn.serve", "bgn.cli", "bgn.baselines", "bgn.datasets"),
    "estimator_base": ("bgn.plots", "bgn.serve", "bgn.cli", "bgn.baselines", "bgn.datasets", "bgn.estimators"),
}
# What no order of rooms takes away, inside functions: all else points down.
UPWARD = {
    "model/network.py": {"bgn.report.svg.picture"},  # notebooks show a network by its picture
    "model/gpu.py": {"torch", "torch.Tensor"},  # imported where a tensor is handed over
    "model/readings.py": {"bgn.pipelines.network_within"},
    "persist/growth.py": {"bgn.estimators.BGNClassifier", "bgn.estimators.BGNRegressor"},  # files that hold one
}


def fresh(code: str, without: str = "") -> str:
    """Return what `code` prints in an interpreter of its own, as if some packages were not installed."""
    path = os.pathsep.join([str(ROOT / "tests" / "without"), str(PACKAGE.parent)])
    env = os.environ | {"PYTHONPATH": path, "BGN_WITHOUT": without}
    # NumPy tells of names in NPY_DISABLE_CPU_FEATURES that it does not know, which is the user's to hear.
    warned = ("-W", "error", "-W", "ignore:During parsing environment variable")
    command = [sys.executable, *warned, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_nothing_heavy():
    heavy = ["torch", "dask", "matplotlib", "numba", "pandas", "polars", "sklearn", "jinja2", "click", "rich", "tqdm"]
    assert fresh(f"import sys, bgn; print(*[name for name in {heavy} if name in sys.modules])") == ""


def test_a_network_predicts_without_anything_heavy():
    heavy = ["torch", "dask", "matplotlib", "numba", "pandas", "sklearn"]
    code = (
        "import sys; from bgn import Layer, Network, theory;"
        "network = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0);"
        "network.predict([[1.0]]); theory.lower_bounds(network, [[1.0]], [1.0]);"
        f"print(*[name for name in {heavy} if name in sys.modules])"
    )
    assert fresh(code) == ""


def test_exports_load_nothing_heavy_and_name_the_extra():
    heavy = ["torch", "dask", "matplotlib", "numba", "pandas", "pyarrow", "sklearn", "onnx", "openpyxl", "duckdb"]
    code = (
        "import sys; from bgn import Layer, Network, export;"
        "network = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0, ['a']);"
        "some = [getattr(export, name) for name in export.__all__];"
        "[write(network) for write in some if write.__name__ not in ('to_onnx', 'to_excel')];"
        f"print(*[name for name in {heavy} if name in sys.modules]);"
    )
    assert fresh(code) == ""
    for write, package in (("to_onnx", "onnx"), ("to_excel", "openpyxl")):
        made = "from bgn import Layer, Network, export\n"
        made += "network = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0)\n"
        attempt = f"{made}try: export.{write}(network)\n"
        extra = {"onnx": "onnx", "openpyxl": "excel"}[package]
        assert f"bgn's extra {extra!r}" in fresh(f"{attempt}except ImportError as error: print(error)", without=package)


def test_the_core_works_without_any_extra(tmp_path):
    code = (
        "import numpy as np, bgn; X = np.random.default_rng(0).normal(size=(60, 3));"
        "model = bgn.BGNRegressor(max_terms=2, max_linear=0, random_state=0).fit(X, X[:, 0].round(1));"
        f"path = {str(tmp_path / 'model.json')!r}; bgn.save(model, path); again = bgn.load(path);"
        "assert (again.predict(X) == model.predict(X)).all();"
        "print(bgn.equation(model), bgn.shap_values(model, X[:2], X), bgn.margin(model, X[:1]))"
    )
    assert ">=" in fresh(code, without=" ".join(OPTIONAL))


# What each folder may import: its own modules, the standard library, and what these extras declare.
MAY_IMPORT = {
    "src": {"plot", "cli", "report", "parquet", "torch", "dask", "shap", "onnx", "excel"},
    "experiments": {"experiments", "plot", "dask", "torch"},
    "tests": {"dev", "torch"},
    "benchmarks": {"dev", "torch"},
    "examples": {"plot", "cli", "report", "docs"},
    "docs": {"docs", "torch"},
    ".ci": set(),
}


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_all_that_is_imported_is_declared(folder):
    own = {"bgn", "tests", "experiments", "benchmarks", *(path.stem for path in (ROOT / folder).glob("*.py"))}
    declared = REQUIRED.union(own, sys.stdlib_module_names, *(EXTRAS[extra] for extra in MAY_IMPORT[folder]))
    for path in (ROOT / folder).glob("**/*.py"):
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            assert name.partition(".")[0] in declared, f"{path.relative_to(ROOT)} imports {name}"


def test_every_public_name_loads_and_is_listed():
    for name in set(bgn.__all__) - (set() if find_spec("torch") else {"baselines"}):
        assert getattr(bgn, name) is not None
    assert set(dir(bgn)) == set(bgn.__all__)


@pytest.mark.parametrize("package", [bgn, bgn.baselines, bgn.export], ids=lambda package: package.__name__)
def test_type_checkers_see_the_names_that_are_loaded(package):
    tree = ast.parse(Path(package.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = {alias.asname: node.module for node in block.body for alias in node.names}
    (call,) = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy_names"]
    loaded = {name: home for home, names in ast.literal_eval(call.args[1]).items() for name in names.split()}
    assert loaded.pop("__version__", "bgn") == "bgn"
    assert seen == loaded
    assert set(package.__all__) - {"__version__"} == set(seen)


def imported(tree):
    """Yield the full name of everything that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def named(tree):
    """Yield what a module imports by a name in a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "require")):
            yield from (argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant))


@pytest.mark.parametrize("part", FORBIDDEN)
def test_imports_point_downwards(part):
    for path in [*PACKAGE.glob(f"{part}.py"), *PACKAGE.glob(f"{part}/**/*.py")]:
        tree = ast.parse(path.read_text())
        allowed = UPWARD.get(path.relative_to(PACKAGE).as_posix(), set())
        for name in {*imported(tree), *named(tree)} - allowed:
            known = [wrong for wrong in FORBIDDEN[part] if f"{name}.".startswith(f"{wrong}.")]
            assert not known, f"{path.relative_to(PACKAGE)} imports {name}"


def test_every_extra_that_an_error_names_exists():
    for path in PACKAGE.glob("**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
                (extra,) = [k.value.value for k in node.keywords if k.arg == "extra"] or [node.args[1].value]
                assert extra in EXTRAS, f"{path.name} asks for the extra {extra!r}"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'bgn' has no attribute 'no_such_name'"):
        _ = bgn.no_such_name


def test_require_returns_the_module():
    import xml.dom.minidom

    assert require("xml.dom.minidom", extra="report") is xml.dom.minidom


def test_require_names_the_extra():
    with pytest.raises(ImportError, match=r"'no_such_package'.*bgn's extra 'plot'"):
        require("no_such_package.part", extra="plot")


def test_require_does_not_hide_a_broken_package(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import a_package_it_forgot\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_package_it_forgot"):
        require("broken_package", extra="plot")


def test_a_plain_install_has_every_name_and_says_what_is_missing() -> None:
    script = "from bgn import *\nimport bgn\ntry: check({'a': [1, 2]})\nexcept ImportError as error: print(error)\n"
    packages = "pyarrow pandas click rich jinja2 markupsafe openpyxl dask distributed matplotlib torch onnx shap polars"
    environment = os.environ | {"BGN_WITHOUT": packages}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests/without"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    wanted = "this needs the package 'pyarrow', which is not installed. Install it, or bgn's extra 'parquet'.\n"
    assert (done.stdout, done.stderr) == (wanted, "")
