"""What the README points to is there; that its code runs is tested with all of the documentation's."""

import os
import re
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


@pytest.mark.skipif("BGN_DATA" not in os.environ, reason="BGN_DATA does not name a folder with the raw tables")
def test_the_model_shown_first_is_the_one_that_the_demo_prints(tmp_path):
    pytest.importorskip("jinja2")
    command = [sys.executable, str(ROOT / "examples" / "demo.py")]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    (shown,) = re.findall(r"^```\n(medianHouseValue .*?)\n```$", README, flags=re.MULTILINE | re.DOTALL)
    assert shown in printed
    assert printed.count("\n", 0, printed.index("Mean squared error")) <= 16
    assert (tmp_path / "report.html").exists()


def test_the_demo_runs_where_its_table_cannot_be_had(tmp_path):
    pytest.importorskip("jinja2")
    nowhere = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "https_proxy": "http://127.0.0.1:9"}
    environment = {name: value for name, value in os.environ.items() if name != "BGN_DATA"} | nowhere
    command = [sys.executable, str(ROOT / "examples" / "demo.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "Here is a smaller table instead" in done.stdout
    assert "Mean squared error on" in done.stdout
    assert (tmp_path / "report.html").exists()
