"""Twenty-five of the tables of `tests.fuzz_findings`; `python -m tests.fuzz_findings` makes as many as one likes."""

from collections import Counter

import pytest

from tests.fuzz_findings import cases


def test_what_only_the_owner_knows_is_asked_and_nothing_else() -> None:
    pytest.importorskip("openpyxl")
    ways = Counter[str]()
    for number, found in cases(0, 25):
        assert not isinstance(found, BaseException), (number, found)
        ways[found] += 1
    assert len(ways) == 4


@pytest.mark.exhaustive
def test_many_more_tables() -> None:
    pytest.importorskip("openpyxl")
    for number, found in cases(1000, 150):
        assert not isinstance(found, BaseException), (number, found)
