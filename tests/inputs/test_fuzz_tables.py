"""A few of the damaged tables of `tests.fuzz_tables`; `python -m tests.fuzz_tables` runs as many as one likes."""

import pytest

from tests.fuzz_tables import cases


def test_damaged_tables_are_used_or_refused_in_a_line() -> None:
    pytest.importorskip("openpyxl")
    for number, outcome in cases(10_000, 60):
        assert not isinstance(outcome, BaseException), (number, outcome)
