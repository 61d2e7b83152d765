"""Twenty-five of the tables of `tests.fuzz_findings`; `python -m tests.fuzz_findings` makes as many as one likes."""

from collections import Counter

import pytest

from tests.fuzz_findings import cases


def test_what_only_the_owner_knows_needs_an_answer_and_nothing_else() -> None:
    pytest.importorskip("openpyxl")
    ways = Counter[str]()
    for number, outcome in cases(0, 25):
        assert not isinstance(outcome, BaseException), (number, outcome)
        ways[outcome] += 1
    assert len(ways) == 4


@pytest.mark.exhaustive
def test_many_more_tables() -> None:
    pytest.importorskip("openpyxl")
    for number, outcome in cases(1000, 150):
        assert not isinstance(outcome, BaseException), (number, outcome)
