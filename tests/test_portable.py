"""The same rows give the same network, bit for bit, on every processor: hashes that were recorded once."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgn.grow.directions.pairs import logarithm, turn
from tests import portable

ROOT = Path(__file__).parents[1]
RECORDED = json.loads((ROOT / "tests" / "data" / "portable.json").read_text())


@pytest.mark.parametrize("name", portable.FITS)
def test_networks_have_the_bits_that_were_recorded(name):
    assert portable.digest(portable.FITS[name]()) == RECORDED[name]


# Each kind of growth once, quick ones; `make test-all` does all fits.
SOME = ["diabetes, as in the paper", "smooth, linear terms", "coarse", "uneven, debiased, no limit", "two classes"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("names", [SOME, pytest.param(list(portable.FITS), marks=pytest.mark.exhaustive)], ids=len)
def test_networks_have_the_same_bits_where_libraries_choose_other_instructions(names):
    options = {"env": os.environ | portable.oldest(), "cwd": ROOT, "capture_output": True, "text": True, "timeout": 600}
    done = subprocess.run([sys.executable, "-m", "tests.portable", "--fits", *names], **options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: RECORDED[name] for name in ("functions", *names)}


@given(st.floats(-7, 7))
def test_turns_are_sines_and_cosines(angle):
    for value, expected in zip(turn(angle), (math.cos(angle), math.sin(angle)), strict=True):
        assert value == pytest.approx(expected, rel=2**-51, abs=1e-50)


def test_logarithms_are_logarithms():
    assert [logarithm(n) for n in range(1, 999)] == pytest.approx([math.log(n) for n in range(1, 999)], rel=2**-51)
