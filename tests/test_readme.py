"""What the README points to is there, and the demo runs; its code is tested with all of the documentation's."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)]+)\)", README))
def test_links_lead_somewhere(target):
    assert (ROOT / target).exists()


@pytest.mark.parametrize("target", re.findall(r"(?:^|`)make (\w+)", README, flags=re.MULTILINE))
def test_make_targets_exist(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


def test_the_demo_needs_no_download(tmp_path):
    pytest.importorskip("jinja2")
    nowhere = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "https_proxy": "http://127.0.0.1:9"}
    environment = {name: value for name, value in os.environ.items() if name != "BGN_DATA"} | nowhere
    command = [sys.executable, str(ROOT / "examples" / "demo.py")]
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    card = said[said.index("question  ") : said.index("total ")]
    assert 5 <= card.count("\n") <= 12
    areas = {name: float(auc) for name, auc in re.findall(r"^    (\S.*?)  +(0\.\d+)", said, flags=re.MULTILINE)}
    assert areas["this card"] > 0.96 > areas["a tree of 10 questions"]
    assert "nearly linear" in said
    assert (tmp_path / "report.html").exists()
    assert f"Open {tmp_path.resolve() / 'report.html'} in a browser" in said


def test_the_front_figure_is_drawn_from_the_published_runs(tmp_path):
    pytest.importorskip("matplotlib")
    script = runpy.run_path(str(ROOT / "examples" / "front_figure.py"))
    found = script["errors"]()
    assert all(found[table]["BGN"][k] < found[table][other][k]
               for table in found for other in ("FIGS", "tree", "Lasso") for k in range(4))  # fmt: skip
    script["draw"](tmp_path / "front.svg", dark=False)
    assert (tmp_path / "front.svg").stat().st_size > 10_000
    for name in ("front.svg", "front-dark.svg", "front-narrow.svg", "front-narrow-dark.svg"):
        assert (ROOT / "docs" / name).exists()
