"""``bgn check`` and :func:`bgn.check`: what a column is, and what is wrong with it, from tables made to have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bgn
from bgn.inputs.survey import explained
from bgn.text import visible
from tests.command import call

ROWS = 200


@pytest.fixture(scope="module")
def odd() -> pd.DataFrame:
    """A table with one of everything."""
    chance = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": np.arange(ROWS) + 7,
            "code": [f"k{i}" for i in range(ROWS)],
            "size": chance.normal(50, 10, ROWS).round(2),
            "rooms": chance.integers(1, 7, ROWS),
            "kind": chance.choice(["flat", "Flat ", "house"], ROWS),
            "sex": chance.choice(["M", "F", "Male", "Female"], ROWS),
            "lift": chance.choice(["yes", "no"], ROWS),
            "same": 3,
            "nothing": None,
            "rare": [None] * (ROWS - 4) + ["x", "y", "x", "y"],
            "sold": chance.choice(["05/06/2021", "07/08/2020"], ROWS),
            "built": chance.choice(["25/06/2021", "07/08/2020"], ROWS),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(chance.integers(0, 900, ROWS), "D"),
            "age": np.append(chance.integers(18, 90, ROWS - 5), [-999] * 5),
            "income": np.append(chance.normal(3000, 500, ROWS - 1).round(1), 3e7),
            "mostly": [*(str(i % 40) for i in range(ROWS - 2)), "about 7", "none yet"],
            "grade": pd.Categorical(chance.choice(["low", "high"], ROWS), ["low", "high"], ordered=True),
        }
    )
    frame["room"] = frame["rooms"].map(lambda count: f"{count} rooms")
    frame["price"] = chance.normal(size=ROWS)
    frame["tax"] = np.exp(frame["price"])
    return frame


def facts_of(checked: Any) -> set[tuple[str, tuple[str, ...], str]]:
    return {(finding.what, finding.columns, finding.severity) for finding in checked.findings}


WANTED = {
    ("leak", ("tax",), "serious"),
    ("id", ("id",), "serious"),
    ("id", ("code",), "note"),
    ("empty", ("nothing",), "serious"),
    ("date", ("sold",), "serious"),
    ("date", ("built",), "note"),
    ("constant", ("same",), "note"),
    ("missing", ("rare",), "note"),
    ("missing", ("age",), "note"),
    ("outlier", ("income",), "note"),
    ("duplicate", ("rooms", "room"), "note"),
    ("words", ("kind",), "note"),
    ("words", ("sex",), "note"),
    ("numbers", ("mostly",), "note"),
    ("codes", ("rooms",), "note"),
}


def test_everything_odd_is_reported_and_nothing_else(odd: pd.DataFrame, tmp_path: Path) -> None:
    odd.to_csv(tmp_path / "odd.csv", index=False)
    odd.to_parquet(tmp_path / "odd.parquet")
    arrow = pa.table(odd)
    for data in (odd, pl.from_pandas(odd), arrow, dict(odd.items()), tmp_path / "odd.parquet", tmp_path / "odd.csv"):
        assert facts_of(bgn.check(data, "price")) == WANTED
    kinds = {column.name: column.kind for column in bgn.check(odd, "price").columns}
    assert kinds == {
        "id": "id", "code": "id", "size": "number", "rooms": "whole number", "kind": "category", "sex": "category",
        "lift": "yes/no", "same": "constant", "nothing": "empty", "rare": "category", "sold": "date as text",
        "built": "date as text", "day": "date", "age": "whole number", "income": "number", "mostly": "category",
        "grade": "ordered", "room": "category", "price": "number", "tax": "number",
    }  # fmt: skip


def test_the_advice_helps(odd: pd.DataFrame) -> None:
    texts = {finding.columns: str(finding) for finding in bgn.check(odd, "price").findings}
    assert texts["sold",].endswith("Say how they are written: date_format='%d/%m/%Y' or date_format='%m/%d/%Y'.")
    assert texts["built",].startswith("'built' holds dates written as '")
    assert "date_format='%d/%m/%Y'" in texts["built",]
    assert texts["age",] == (
        "'age' is -999 in 5 rows, apart from all other numbers: a missing value? Then say so: missing_values='-999'."
    )
    assert texts["kind",].startswith("'kind' has texts that nearly agree: ")
    assert texts["tax",].startswith("'tax' alone explains 100.0% of 'price': a leak?")
    assert "'about 7'" in texts["mostly",]


def test_what_is_shown_fits_a_terminal_and_a_page(odd: pd.DataFrame) -> None:
    checked = bgn.check(odd.rename(columns={"kind": "kind <b>\x1b[31m"}), "price")
    lines = str(checked).split("\n")
    assert max(map(len, lines)) <= 100
    assert str(checked) == visible(str(checked))
    assert lines[0] == "the table: 200 rows, 20 columns"
    assert lines.index("Serious:") < lines.index("Worth a look:")
    page = checked._repr_html_()
    assert "<b>" not in page
    assert page.count("<tr>") == 21


def test_a_plain_table_has_nothing_odd() -> None:
    chance = np.random.default_rng(1)
    table = {"a": chance.normal(size=99), "b": chance.choice(list("xyz"), 99), "y": chance.normal(size=99)}
    assert bgn.check(table, "y").findings == ()
    assert "Nothing odd was found." in str(bgn.check(table))


@pytest.mark.parametrize("table", [{"a": []}, {"a": [None]}, {"a": [1]}, {"a": [[1]], "b": [{"x": 1}]}])
def test_tables_of_next_to_nothing(table: dict[str, Any]) -> None:
    assert str(bgn.check(table))


def test_texts_that_differ_in_a_number_do_not_nearly_agree() -> None:
    cells = ["-0.446", "0.446", "1.5", "15", "3-4", "34", "item 1", "item-2", "red"] * 4
    assert not [finding for finding in bgn.check({"a": cells}).findings if "nearly agree" in finding.text]
    (finding,) = [one for one in bgn.check({"a": [*cells, "Item_1", "item 2"]}).findings if "nearly agree" in one.text]
    assert "'item 1' = 'Item_1'; 'item-2' = 'item 2'." in finding.text


@pytest.mark.parametrize(("name", "most"), [("a", 1e300), ("y", 1e150)])
def test_numbers_that_a_fit_refuses_are_said(name: str, most: float) -> None:
    table = {"a": [value % 23 + 0.25 for value in range(60)], "y": [value % 17 + 0.5 for value in range(60)]}
    assert not bgn.check(table, "y", task="regression").findings
    table[name] = [*table[name][:-1], 1.1 * most]
    (finding, *_) = bgn.check(table, "y").findings
    assert (finding.columns, finding.severity) == ((name,), "serious")
    assert f"a fit refuses numbers beyond {most:g}" in finding.text
    with pytest.raises(ValueError, match="Rescale"):
        bgn.BGNRegressor(max_terms=1, cv=None).fit(pd.DataFrame({"a": table["a"]}), table["y"])


def test_whole_numbers_that_floats_cannot_hold_are_said(tmp_path: Path) -> None:
    content = "id,small\n" + "".join(f"{2**60 + k},{2**53 - k}\n" for k in range(40))
    (tmp_path / "t.csv").write_text(content)
    (note,) = bgn.check(tmp_path / "t.csv").notes
    assert note.startswith("column 'id': whole numbers beyond 9007199254740992 are rounded")


def test_near_copies_of_rows_are_no_copies() -> None:
    table = {"a": [1, 2] * 20, "b": [*range(39), 37]}
    (finding,) = [finding for finding in bgn.check(table).findings if finding.what == "duplicate"]
    assert finding.text.startswith("1 of 40 rows (2.5%) repeat")


@given(st.lists(st.integers(0, 5), min_size=4, max_size=30), st.integers(0, 2**32 - 1))
def test_what_a_column_explains_is_what_its_means_explain(cells: list[int], seed: int) -> None:
    outputs = np.random.default_rng(seed).normal(size=len(cells))
    half = len(cells) // 2
    frame = pd.DataFrame({"cell": cells, "y": outputs})
    means = frame[:half].groupby("cell")["y"].mean()
    predicted = frame["cell"][half:].map(means).fillna(outputs[:half].mean())
    total = np.square(outputs[half:] - outputs[half:].mean()).sum()
    wanted = 1 - np.square(outputs[half:] - predicted).sum() / total
    assert np.isclose(explained(np.array(cells), outputs[:, None]), wanted)


def test_a_text_that_gives_the_class_away_is_a_leak() -> None:
    chance = np.random.default_rng(0)
    churn = chance.choice(["yes", "no", "perhaps"], 300)
    table = {"churn": churn, "letter": [f"{label[0]}1" for label in churn], "x": chance.normal(size=300)}
    assert ("leak", ("letter",), "serious") in facts_of(bgn.check(table, "churn"))
    assert all("x" not in finding.columns for finding in bgn.check(table, "churn").findings)


def test_the_command(odd: pd.DataFrame, tmp_path: Path) -> None:
    odd.to_csv(tmp_path / "odd.csv", index=False, sep="\t")
    plain = json.loads(call("check", tmp_path / "odd.csv", "-t", "price", "--json").out)
    finding_facts = {(one["what"], tuple(one["columns"]), one["severity"]) for one in plain["findings"]}
    assert finding_facts == WANTED
    assert (plain["rows"], plain["target"], len(plain["columns"])) == (ROWS, "price", 20)
    shown = call("check", tmp_path / "odd.csv", "-t", "price").out
    assert "--drop 'tax'" in " ".join(shown.split())
    assert "Did you mean 'price'?" in call("check", tmp_path / "odd.csv", "-t", "prices", code=1).err
    assert "standard input: 1 row, 2 columns" in call("check", "-", stdin="a,b\n1,2\n").out


def test_a_fit_prints_what_is_serious(odd: pd.DataFrame, tmp_path: Path) -> None:
    odd[["id", "size", "tax", "price"]].to_csv(tmp_path / "t.csv", index=False)
    output = call("fit", tmp_path / "t.csv", "-t", "price", "--max-terms", 1).err
    assert "note: In the training rows, 'tax' alone explains 100.0% of 'price': a leak?" in output
    assert "note: In the training rows, 'id' is different in every row" in output
    assert "leak" not in call("fit", tmp_path / "t.csv", "-t", "price", "--max-terms", 1, "-q").err


def test_numbers_that_only_the_user_can_read_are_serious() -> None:
    output = call("check", "-", stdin="a\ty\n1,234\t1\n2,345\t2\n").out
    assert "'1,234' can be read in 2 ways" in output
    assert output.index("Serious:") < output.index("'1,234' can")


def test_a_column_in_doubt_is_not_called_an_id(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("price\trooms\n" + "\n".join(f"${k + 101},{k:03}\t{k % 4}" for k in range(60)) + "\n")
    checked = bgn.check(path)
    assert [finding.what for finding in checked.findings if "price" in finding.columns].count("id") == 0
    assert "can be read in 2 ways" in str(checked)
