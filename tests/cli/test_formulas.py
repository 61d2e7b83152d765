"""What the command writes for spreadsheets holds no formulas, and gives back what was there."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgn.table_files import without_formulas
from tests.command import call

SIGNS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
cells = st.text(st.sampled_from([*SIGNS, "'", "1", ".", ",", "e", "%", "A", " "]), max_size=8)


def runs(cell: str) -> bool:
    """Whether a spreadsheet may take a cell for a formula: it begins with a sign, and is no number and more than it."""
    number = re.fullmatch(r"[-+]?(\d+([.,]\d+)*|[.,]\d+)([eE][-+]?\d+)?%?", cell, re.ASCII)
    return cell[:1] in {*SIGNS} and not number and (len(cell) > 1 or cell == "\n") and bool(cell)


@given(st.lists(cells | st.none(), max_size=20))
def test_no_cell_is_a_formula_and_every_cell_comes_back(names: list[str | None]) -> None:
    result, changed = without_formulas(pa.chunked_array([pa.array(names, pa.string())]))
    back = []
    for cell in result.to_pylist():
        assert cell is None or not runs(cell)
        back.append(re.sub(rf"^'('*[{re.escape(SIGNS)}])", r"\1", cell) if cell is not None else None)
    kept = [None if cell is None else cell for cell in names]
    lost = [item for item in zip(kept, back, strict=True) if item[0] != item[1]]
    assert not lost
    assert changed == sum(old != new for old, new in zip(names, result.to_pylist(), strict=True))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Customers, with a label and a key that are formulas, numbers as keys, and a column named by a formula."""
    chance, rows = np.random.default_rng(0), 80
    a = chance.normal(size=rows).round(2)
    frame = pd.DataFrame({"a": a, "=cmd": a * 2, "phone": [f"+49{k}" for k in range(rows)]})
    frame["note"] = ["-3.5" if k % 2 else "@SUM(1+1)" for k in range(rows)]
    frame["y"] = np.where(a + chance.normal(0, 0.3, rows) > 0, '=HYPERLINK("http://x.example","y")', "no")
    path = tmp_path_factory.mktemp("formulas") / "t.csv"
    frame.to_csv(path, index=False)
    drop = ["--drop", "phone", "--drop", "note"]
    call("fit", path, "-t", "y", *drop, "--max-terms", 2, "--folds", 0, "-o", path.with_name("m.json"))
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_labels_and_kept_text_are_written_as_text(table: Path, ending: str) -> None:
    model, out = table.with_name("m.json"), table.with_name(f"p.{ending}")
    keep = ["--keep", "phone", "--keep", "note", "--keep", "=cmd"]
    done = call("predict", model, table, *keep, "-o", out)
    assert "begin like a formula of a spreadsheet" in done.err
    with out.open(newline="") as file:
        names, *rows = csv.reader(file, delimiter="\t" if ending == "tsv" else ",")
    assert names == ["phone", "note", "'=cmd", "prediction"]
    assert {row[3] for row in rows} == {'\'=HYPERLINK("http://x.example","y")', "no"}
    assert {row[1] for row in rows} == {"-3.5", "'@SUM(1+1)"}
    assert rows[7][0] == "+497"
    raw = call("predict", model, table, "--keep", "note", "--raw")
    assert "formula" not in raw.err
    assert {row[0] for row in csv.reader(io.StringIO(raw.out))} == {"note", "-3.5", "@SUM(1+1)"}
    (line, *_) = call("predict", model, table, "--json").out.splitlines()
    assert json.loads(line)["prediction"] in ('=HYPERLINK("http://x.example","y")', "no")


def test_names_of_columns_are_no_formulas_either(table: Path) -> None:
    out = table.with_name("values.csv")
    for more, name in (((), "'=cmd"), (("--raw",), "=cmd")):
        call("explain", table.with_name("m.json"), table, "-o", out, *more)
        assert {*out.read_text().split("\n")[0].split(",")} <= {"base value", "a", name}
