"""`import bgn` is light, public names are all there, and a missing extra is named."""

import subprocess
import sys

import pytest

import bgn
from bgn.require import require


def fresh(code: str) -> str:
    """Return what `code` prints in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_nothing_heavy():
    heavy = ["torch", "dask", "matplotlib", "numba", "pandas", "polars", "sklearn", "jinja2", "click", "rich", "tqdm"]
    assert fresh(f"import sys, bgn; print(*[name for name in {heavy} if name in sys.modules])") == ""


def test_a_network_predicts_without_anything_heavy():
    heavy = ["torch", "dask", "matplotlib", "numba", "pandas", "sklearn"]
    code = (
        "import sys; from bgn import Layer, Network, theory;"
        "network = Network([Layer([[1.0]], [0.0])], [1.0], 0.0);"
        "network.predict([[1.0]]); theory.lower_bounds(network, [[1.0]], [1.0]);"
        f"print(*[name for name in {heavy} if name in sys.modules])"
    )
    assert fresh(code) == ""


def test_every_public_name_loads_and_is_listed():
    for name in bgn.__all__:
        assert getattr(bgn, name) is not None
    assert set(dir(bgn)) == set(bgn.__all__)
    assert set(bgn._HOMES) == set(bgn.__all__) - {"__version__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'bgn' has no attribute 'no_such_name'"):
        _ = bgn.no_such_name


def test_require_returns_the_module_asked_for():
    import xml.dom.minidom

    assert require("xml.dom.minidom", extra="report") is xml.dom.minidom


def test_require_names_the_extra():
    with pytest.raises(ImportError, match=r"'no_such_package'.*pip install 'bgn\[plot\]'"):
        require("no_such_package.part", extra="plot")


def test_require_does_not_hide_a_broken_package(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import a_package_it_forgot\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_package_it_forgot"):
        require("broken_package", extra="plot")
