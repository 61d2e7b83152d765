"""Dates in a format that is told: what `datetime.strptime` reads, cell by cell, and nothing else."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn.inputs.cells import check_format, read_dates, usual_formats
from bgn.inputs.errors import InputError
from tests.command import call
from tests.reference import dates

FORMATS = (
    "%d/%m/%Y", "%m-%d-%Y", "%d.%m.%y", "%Y%m%d", "%d%m%Y", "%Y-%j", "%d %b %Y", "%B %d, %Y", "%d/%m/%Y %H:%M",
    "%d.%m.%Y %H:%M:%S", "%Y/%m/%d %H:%M:%S.%f", "%m/%d/%Y %I:%M %p", "%d/%m/%Y %z", "%Y-%m-%dT%H:%M:%S%z",
    "%a %d/%m/%Y", "%G-%V-%u", "%Y %%%m%%%d", "%y%m%d %H", "%H:%M %d.%m.%Y",
)  # fmt: skip
MARKS = "0123456789/-.: ,+TZabJaénFeb\u0663\u00a0\t"


def damaged(cell: str, chance: random.Random) -> str:
    """A cell in which a few letters are lost, added or others; days and months go beyond what there is."""
    for _ in range(chance.choice((0, 0, 1, 1, 2, 4))):
        at = chance.randrange(len(cell) + 1)
        cell = cell[:at] + chance.choice(("", chance.choice(MARKS))) + cell[at + chance.choice((0, 1)) :]
    return cell


def written(form: str, chance: random.Random) -> str:
    """A date in a format; with or without the zeros in front, often at the ends of months and years."""
    year = chance.choice((1, 20, 999, 1900, 1969, 2000, 2019, 2020, 2021, 2068, 9999))
    month, day = chance.choice((1, 2, 12, chance.randint(1, 12))), chance.choice((1, 28, chance.randint(1, 28)))
    clock = chance.choice((0, 59)), chance.choice((0, 59)), chance.randrange(10**6)
    zone = datetime.timezone(datetime.timedelta(minutes=chance.choice((0, 120, -330))))
    moment = datetime.datetime(year, month, day, chance.randrange(24), *clock, zone)
    text = moment.strftime(form).replace(f"{day:02}", f"{chance.choice((day, 29, 30, 31, 32, 0)):02}", 1)
    text = text.replace("-001", chance.choice(("-366", "-365", "-367", "-000", "-1")))
    return text.lstrip("0") if chance.random() < 0.2 else text


def compare(seed: int) -> int:
    """Compare one column of cells with the slow reader; return how many of them are dates."""
    chance = random.Random(seed)
    form = chance.choice(FORMATS)
    cells = [damaged(written(form, chance), chance) for _ in range(30)] + [None]
    dates_read = read_dates(pa.chunked_array([cells[:7], cells[7:]], pa.string()), form).to_pylist()
    wanted = [None if cell is None else dates.stamp(cell, form) for cell in cells]
    differ = [triple for triple in zip(cells, dates_read, wanted, strict=True) if triple[1] != triple[2]]
    assert dates_read == wanted, differ
    return sum(date is not None for date in dates_read)


def test_cells_are_read_as_python_reads_them_one_by_one() -> None:
    counts = [compare(seed) for seed in range(300)]
    assert 0.2 < sum(counts) / (30 * len(counts)) < 0.8  # else hardly anything was tried


@pytest.mark.exhaustive
def test_many_more_cells() -> None:
    for seed in range(300, 20_000):
        compare(seed)


@pytest.mark.parametrize(
    ("cell", "form"),
    [
        ("31/02/2020", "%d/%m/%Y"), ("29/02/2021", "%d/%m/%Y"), ("1/2/20", "%d/%m/%Y"), ("2021-366", "%Y-%j"),
        ("01/02/0000", "%d/%m/%Y"), ("01/02/2020x", "%d/%m/%Y"), ("12:60 01.02.2020", "%H:%M %d.%m.%Y"),
    ],
)  # fmt: skip
def test_what_a_format_does_not_allow_is_no_date(cell: str, form: str) -> None:
    assert read_dates(pa.array([cell]), form).null_count == 1
    assert dates.stamp(cell, form) is None


def test_offsets_count_and_names_of_zones_are_refused(tmp_path: Path) -> None:
    (moment,) = read_dates(pa.array(["01/02/2020 10:00 +0200"]), "%d/%m/%Y %H:%M %z").to_pylist()
    assert moment == datetime.datetime(2020, 2, 1, 8, tzinfo=datetime.UTC)
    for form, message in {
        "%d/%m/%Y %Z": "names of time zones (%Z)", "%d/%m": "has no year", "%d %d %Y": "it names a part twice",
        "%Q": "'Q' is a bad directive", "": "has no year", "%": "stray %",
    }.items():  # fmt: skip
        with pytest.raises(InputError) as refused:
            check_format(form)
        assert message in str(refused.value)
        with pytest.raises(ValueError, match="date_format="):
            bgn.preparation.fit({"a": ["1"], "y": [1]}, "y", date_format=form)
    check_format("%c")
    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    assert "names of time zones" in call("check", tmp_path / "t.csv", "--date-format", "%d/%m/%Y %Z", code=1).err


@given(st.lists(st.dates(datetime.date(1970, 1, 1), datetime.date(2060, 1, 1)), min_size=1, max_size=20), st.randoms())
@settings(max_examples=60)
def test_the_usual_formats_are_recognized(days: list[datetime.date], chance: random.Random) -> None:
    form = chance.choice(("%d.%m.%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%y", "%d-%b-%Y", "%Y/%m/%d %H:%M"))
    texts = [day.strftime(form) for day in days]
    formats = usual_formats(pa.array(texts))
    assert form in formats
    for other in formats:
        assert all(dates.stamp(text, other) for text in texts)
    if form == "%d.%m.%Y" and max(day.day for day in days) > 12:
        assert formats == [form]


def test_day_first_dates_are_said_and_need_an_answer(tmp_path: Path) -> None:
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(range(90), "D")
    frame = pd.DataFrame({"sold": days.strftime("%d.%m.%Y"), "x": range(90), "y": [k % 7 + 0.5 for k in range(90)]})
    checked = bgn.check(frame, "y")
    assert {column.name: column.kind for column in checked.columns}["sold"] == "date as text"
    assert "'sold' holds dates written as '01.01.2020'. Say how: date_format='%d.%m.%Y'." in str(checked).replace(
        "\n    ", " "
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    fit = "fit", tmp_path / "t.csv", "-t", "y", "--max-terms", 2, "--folds", 0
    assert "Say how: --date-format '%d.%m.%Y'" in call(*fit).err
    assert "Say how" not in call(*fit, "--date-format", "%d.%m.%Y").err
    unused = "--date-format '%d/%m/%Y' does not fit all of them and is not used here. Say how: --date-format '%d.%m.%Y'"
    assert unused in call(*fit, "--date-format", "%d/%m/%Y").err
    (doubt,) = [finding for finding in bgn.check(frame[days.day <= 12], "y").findings if finding.what == "date"]
    assert doubt.severity == "serious"
    assert "date_format='%d.%m.%Y' or date_format='%m.%d.%Y'" in str(doubt)


def test_a_cell_that_is_no_date_is_named() -> None:
    cells = [f"{k % 28 + 1:02}.{k % 12 + 1:02}.2020" for k in range(60)]
    for column, odd in ((["31.02.2020", *cells], "31.02.2020"), (["2020-01-02"] * 30 + ["0000-01-01"], "0000-01-01")):
        (finding,) = [finding for finding in bgn.check({"d": column}).findings if finding.what == "date"]
        assert (
            f"'d' holds dates but for '{odd}', and is read as words. If such cells mean missing: missing_values='{odd}'"
            in str(finding)
        )


def test_years_that_python_does_not_know(tmp_path: Path) -> None:
    column = pa.array(["0000-01-01", "2020-01-01"] * 20).cast(pa.timestamp("us"))
    assert "0000-01-01" in str(bgn.check({"d": column, "x": range(40)}))
    assert "0000-01-01" in str(bgn.check({"d": column.take(pa.array([0] * 40))}))
    (tmp_path / "t.csv").write_text("d,y\n" + "0000-01-01,1\n2020-01-01,2\n" * 20)
    assert "0000-01-01" in call("check", tmp_path / "t.csv").out
