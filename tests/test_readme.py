"""What the README points to is there; that its code runs is tested with all of the documentation's."""

import re
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
