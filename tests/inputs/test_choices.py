"""What is asked of the owner of a table: the task, names of columns, sheets, rare classes, codes."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bgn
from bgn.inputs import delimited as memory
from bgn.inputs.delimited import BlankLines, even_part
from bgn.inputs.errors import InputError
from bgn.inputs.files import open_table
from bgn.inputs.target import few_values, tally
from bgn.persist import parts, read
from tests.command import call

GROWTH = bgn.GrowthSettings(max_replacements=0)
QUICK: dict[str, Any] = {"max_terms": 2, "cv": None, "growth": GROWTH, "random_state": 0}
ROWS = 120


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    chance = np.random.default_rng(0)
    a = chance.normal(size=ROWS).round(2)
    city = chance.choice(["Lille", "Nice", "Metz"], ROWS)
    return pd.DataFrame({"a": a, "city": city, "kind": np.digitize(a, [-0.5, 0.5]) + 1})


# -- regression or classification ----------------------------------------------------------------------------------


def warned(fit: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(warning.message) for warning in caught]


def test_a_regressor_asks_once_wherever_the_targets_are(frame: pd.DataFrame, tmp_path: Path) -> None:
    X, y = frame[["a"]], frame["kind"]
    np.save(tmp_path / "X.npy", X.to_numpy())
    np.save(tmp_path / "y.npy", y.to_numpy(float))
    frame[["a", "kind"]].to_parquet(tmp_path / "t.parquet")
    maps = [np.load(tmp_path / name, mmap_mode="r") for name in ("X.npy", "y.npy")]
    given: list[tuple[Any, ...]] = [
        (X, y), (X, y.astype(float)), (X.to_numpy().tolist(), y.tolist()), (X, y - 1), (X, y > 1),
        (tmp_path / "X.npy", tmp_path / "y.npy"), tuple(maps),
    ]  # fmt: skip
    fits = [lambda rows=rows, **more: bgn.BGNRegressor(**QUICK, **more).fit(*rows) for rows in given]
    fits.append(lambda **more: bgn.BGNRegressor(**QUICK, **more).fit(frame[["a", "kind"]], target="kind"))
    fits.append(lambda **more: bgn.BGNRegressor(**QUICK, **more).fit(tmp_path / "t.parquet", target="kind"))
    for fit in fits:
        (message,) = warned(fit)
        assert "different whole numbers" in message
        assert "use bgn.BGNClassifier" in message
        assert "BGNRegressor(task='regression') says so" in message
        assert warned(lambda fit=fit: fit(task="regression")) == []
    assert warned(lambda: bgn.BGNRegressor(**QUICK).fit(X, y + 0.5)) == []
    assert warned(lambda: bgn.BGNRegressor(**QUICK).fit(X[:99], y[:99])) == []
    with pytest.raises(ValueError, match="task must be one of None, 'regression'; got 'numbers'"):
        bgn.BGNRegressor(task="numbers").fit(X, y)
    model = bgn.BGNRegressor(**QUICK, task="regression").fit(X, y)
    bgn.save(model, tmp_path / "m.json")
    assert bgn.load(tmp_path / "m.json").task == "regression"
    assert warned(lambda: bgn.distill(model, X, max_terms=2)) == []


def test_of_many_blocks_no_more_are_read_than_needed() -> None:
    def blocks() -> Any:
        yield tally(np.arange(20))
        raise AssertionError("read on")

    assert few_values(blocks()) == ""
    assert few_values(tally(np.repeat([0, k], 30)) for k in range(4)) == "4 different whole numbers (0, 1, 2, 3)"
    assert few_values([tally(["a", "b"])]) == few_values([tally(np.full(200, np.nan))]) == ""


def test_the_command_asks_and_takes_the_answer(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "t.csv", index=False)
    fit = "fit", tmp_path / "t.csv", "-t", "kind", "--max-terms", 2, "--folds", 0, "-o", tmp_path / "m.json"
    answer = call(*fit, code=1).err
    assert "'kind' has 3 different whole numbers (1, 2, 3) in 120 rows" in answer
    assert "Add --task regression or --task classification." in answer
    kinds = {"regression": bgn.BGNRegressor, "classification": bgn.BGNClassifier}
    for task, kind in kinds.items():
        errors = call(*fit, "--task", task).err
        assert "whole numbers (" not in errors
        assert isinstance(bgn.load(tmp_path / "m.json"), kind)
    look = "check", tmp_path / "t.csv", "-t", "kind"
    assert "Say which: --task regression or --task classification" in call(*look).out
    assert "amounts or classes" not in call(*look, "--task", "classification").out
    assert "codes" not in call(*look, "--task", "classification").out  # the target is no code of a category
    with pytest.raises(InputError, match="task='regression' or task='classification'"):
        bgn.preparation.fit(frame, "kind")
    assert bgn.preparation.fit(frame, "kind", task="classification").y.dtype.kind == "i"


# -- rare classes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [False, True])
def test_rare_classes_are_merged_and_stay_so(frame: pd.DataFrame, tmp_path: Path, numbers: bool) -> None:
    labels = np.array(["low", "mid", "high"])[frame["kind"] - 1].astype(object)
    labels[[3, 30, 60]], labels[[5, 50, 70]], labels[9] = "odd", "rare", None
    codes = {"low": 1, "mid": 2, "high": 3, "odd": 7, "rare": 9}
    shown = {label: str(code) if numbers else label for label, code in codes.items()}
    y = pd.Series([None if label is None else codes[label] for label in labels] if numbers else labels)
    frame[["a"]].assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    fit = "fit", tmp_path / "t.csv", "-t", "y", "--max-terms", 2, "--folds", 0, "-o", tmp_path / "m.json"
    more = ("--task", "classification") if numbers else ()
    assert f"'{shown['odd']}' (3), '{shown['rare']}' (3)" in call("check", tmp_path / "t.csv", "-t", "y", *more).out
    errors = call(*fit, *more, "--merge-rare", 5).err
    assert (
        f"2 classes of fewer than 5 rows ('{shown['odd']}', '{shown['rare']}') of 'y' are merged into 'other'" in errors
    )
    file = read(tmp_path / "m.json")
    assert file.network.schema.classes == tuple(sorted([*(shown[name] for name in ("low", "mid", "high")), "other"]))
    done = call("evaluate", tmp_path / "m.json", tmp_path / "t.csv", "--rows", "all")
    assert "was not there at fit" not in done.err
    assert "recall of other" in done.out
    prepared = bgn.preparation.fit(tmp_path / "t.csv", "y", merge_rare=5, task="classification" if numbers else None)
    assert (prepared.y == "other").sum() == 6
    assert prepared.preparation.merged == ((7, 9) if numbers else ("odd", "rare"))
    kept = parts.preparation_in(parts.preparation_out(prepared.preparation, prepared.preparation.schema), "p")
    assert kept.merged == prepared.preparation.merged
    frame[["a"]].assign(y=y).to_parquet(tmp_path / "t.parquet")
    call("fit", tmp_path / "t.parquet", *fit[2:], *more, "--merge-rare", 5, "--stream")
    assert read(tmp_path / "m.json").preparation.merged == prepared.preparation.merged
    assert read(tmp_path / "m.json").network.schema.classes == file.network.schema.classes
    assert "is for classes" in call("fit", tmp_path / "t.csv", "-t", "a", "--merge-rare", 2, code=1).err


@pytest.mark.parametrize(
    ("counts", "helps"),
    [((3, 1, 60, 80), False), ((3, 2, 60, 80), True), ((4, 60, 80), False), ((4, 3, 2), False), ((4, 4, 5), True)],
    ids=str,
)
def test_merging_is_advised_where_the_merged_class_has_enough_rows(
    counts: tuple[int, ...], helps: bool, tmp_path: Path
) -> None:
    """Three rows and one would still be too few together; a class of sixty is no rare one."""
    labels = np.repeat([f"class {letter}" for letter in "abcd"[: len(counts)]], counts)
    pd.DataFrame({"a": np.arange(len(labels)) % 7, "y": labels}).to_csv(tmp_path / "t.csv", index=False)
    printed = call("check", tmp_path / "t.csv", "-t", "y").out
    advice = "Merge rare classes into one: --merge-rare 5, or leave" if helps else "Leave those rows out, or find more"
    assert advice in " ".join(printed.split())
    assert helps == ("--merge-rare" in printed)
    if helps:
        prepared = bgn.preparation.fit(tmp_path / "t.csv", "y", merge_rare=5)
        assert min(np.unique(prepared.y, return_counts=True)[1]) >= 5


def test_a_row_without_a_label_is_not_evaluated(frame: pd.DataFrame, tmp_path: Path) -> None:
    labels = np.where(frame["a"] > 0, "yes", "no").astype(object)
    frame[["a"]].assign(y=labels).to_csv(tmp_path / "t.csv", index=False)
    call("fit", tmp_path / "t.csv", "-t", "y", "--max-terms", 2, "--folds", 0, "-o", tmp_path / "m.json")
    labels[[4, 40]], labels[50] = None, "perhaps"
    frame[["a"]].assign(y=labels).to_csv(tmp_path / "u.csv", index=False)
    for command in (("evaluate",), ("simplify",), ("distill", "--max-terms", 2), ("report", "-o", tmp_path / "r.html")):
        done = call(command[0], tmp_path / "m.json", tmp_path / "u.csv", *command[1:])
        assert "3 of 120 rows lack 'y' and are left out" in done.err, command
    assert call("evaluate", tmp_path / "m.json", tmp_path / "u.csv").out.startswith("117 rows")


# -- headers, sheets, rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "xlsx"])
def test_a_model_of_a_file_without_names_reads_it_again(frame: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    table = frame.assign(kind=5.0 + frame["a"].cumsum().round(3))
    if suffix == "xlsx":
        pytest.importorskip("openpyxl")
        table.to_excel(path, index=False, header=False)
    else:
        table.to_csv(path, index=False, header=False)
    fit = "fit", path, "--max-terms", 2, "--folds", 0, "-o", tmp_path / "m.json"
    assert "--no-header if there are no names, --header if these are the names" in " ".join(
        call("check", path).out.split()
    )
    assert "add --no-header" in call(*fit, "-t", "y", code=1).err
    assert "--no-header" in call(*fit, "-t", str(table["kind"][0])).err
    assert "--no-header" not in call(*fit, "-t", str(table["kind"][0]), "--header").err
    call(*fit, "-t", "column_3", "--no-header")
    assert call("predict", tmp_path / "m.json", path).out.count("\n") == ROWS + 1
    assert "lacks the column" in call("predict", tmp_path / "m.json", path, "--header", code=1).err
    prepared = bgn.preparation.fit(path, "column_3", header=False)
    assert len(prepared.y) == len(prepared.preparation.apply(path).rows) == ROWS


def test_names_that_only_look_like_numbers() -> None:
    chance = np.random.default_rng(0)
    years = {str(year): chance.normal(2000, 50, 50) for year in range(2001, 2009)}
    pixels = {str(k): chance.integers(0, 17, 50) for k in range(12)}
    assert all(finding.what != "header" for data in (years, pixels) for finding in bgn.check(data).findings)
    wrong = pd.DataFrame(chance.normal(size=(50, 3)), columns=["0.12", "-1.3", "0.4"])
    assert [finding.what for finding in bgn.check(wrong).findings] == ["header"]
    assert bgn.check(wrong, header=True).findings == ()


def test_predictions_of_a_sheet_have_the_numbers_of_its_rows(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    lines: list[list[Any]] = [[], ["a", None, "y"], *([k, "note", k * 2.5] for k in range(40)), []]
    lines[20:20] = [[], [" "]]
    for line in lines:
        book.active.append(line)
    book.create_sheet("Late").append(["b"])
    book.save(tmp_path / "t.xlsx")
    errors = call("fit", tmp_path / "t.xlsx", "-t", "y", "--max-terms", 3, "--folds", 0, "-o", tmp_path / "m.json").err
    assert "sheet 'Sheet' is read, and not 'Late' (to read another: --sheet 'Late')" in errors
    assert "2 blank rows (rows 21, 22 of the sheet) are kept as rows without values" in errors
    assert "column 2 of the file is left out" in errors
    assert "2 rows without 'y' are left out" in errors
    predicted = call("predict", tmp_path / "m.json", tmp_path / "t.xlsx", "--keep", "a").out.split("\n")[1:-1]
    assert [line.partition(",")[0] for line in predicted] == [*map(str, range(18)), "", "", *map(str, range(18, 40))]
    assert "is read, and not" not in call("check", tmp_path / "t.xlsx", "--sheet", "Sheet").out
    assert "it has 'Sheet', 'Late'" in call("check", tmp_path / "t.xlsx", "--sheet", "x", code=1).err


def test_columns_without_a_name_are_said_unless_they_are_empty(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,,y,\n" + "1,x,2,\n" * 20)
    assert "column 2 of the file is left out" in " ".join(bgn.check(tmp_path / "t.csv").notes)
    (tmp_path / "t.csv").write_text("a,y,\n" + "1,2,\n" * 20)
    assert bgn.check(tmp_path / "t.csv").notes == ()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_said_with_their_places(tmp_path: Path, pack: Callable[[bytes], bytes], end: str) -> None:
    path = tmp_path / f"t.csv{'' if pack is bytes else '.gz'}"
    path.write_bytes(pack(end.join(["a,y", "1,2", "", "3,4", "", "", "5,6", "", ""]).encode()))
    assert f"3 blank lines of {path} (lines 3, 5, 6) are left out: they are no rows." in bgn.check(path).notes
    path.write_bytes(pack(end.join(["a,y", '"1', "", 'x",2', "3,4"]).encode()))
    assert not any("blank" in note for note in bgn.check(path).notes)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_blank_lines_are_counted_whatever_the_blocks(size: int) -> None:
    chance = np.random.default_rng(size)
    for _ in range(100):
        text = b"".join(chance.choice([b"\n", b"\r\n", b"a", b'"', b","], 25).tolist())
        inside, wanted, lines = False, list[int](), text.replace(b"\r\n", b"\n").split(b"\n")
        filled = max((k for k, line in enumerate(lines) if line), default=0)
        for k, line in enumerate(lines):
            if not line and not inside and 0 < k < filled:
                wanted.append(k + 1)
            inside ^= line.count(b'"') % 2 == 1
        blank = BlankLines()
        for start in range(0, len(text), size):
            blank.feed(text[start : start + size])
        assert blank.places == wanted, text


# -- memory --------------------------------------------------------------------------------------------------------


def test_a_look_at_many_rows_is_a_look_at_some_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame({"a": np.arange(5000) % 97, "y": np.arange(5000) * 0.5})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_csv(tmp_path / "t.csv.gz", index=False)
    table.to_parquet(tmp_path / "t.parquet", row_group_size=700)
    monkeypatch.setattr("bgn.inputs.delimited.BLOCK_BYTES", 4096)
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        opened = open_table(str(tmp_path / name))
        part, rows, step = opened.look(opened.names, 100_000)
        opened.close()
        assert (rows, step, part.num_rows) == (5000, 8, 625)
        assert part.column("y").to_pylist() == table["y"][::8].tolist()


def test_what_was_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bgn.inputs.files.ArrowTable.look.__defaults__", (100_000,))
    checked = bgn.check({"a": np.arange(5000) % 97, "y": [None, *range(4999)]})
    assert (checked.rows, checked.looked_at) == (5000, 625)
    assert "of 5,000 rows one in 8 was looked at, 625 in all" in checked.notes[0]
    assert "5,000 rows, 2 columns" in str(checked)


def test_what_must_be_read_whole_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"a,y\n" + b"1,2.5\n3,4\n" * 100_000
    (tmp_path / "t.csv").write_bytes(text)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
    monkeypatch.setattr("bgn.inputs.delimited.available_memory", lambda: 10**6)
    monkeypatch.setattr(memory, "available_memory", lambda: 10**6)
    for name in ("t.csv", "t.csv.gz"):
        with pytest.raises(InputError, match=r"too large to be read whole.* more follow.* Make a Parquet file of it"):
            bgn.preparation.fit(tmp_path / name, "y", task="regression")


def test_an_even_part_is_every_so_many_rows() -> None:
    import pyarrow as pa

    chance = np.random.default_rng(0)
    for _ in range(30):
        sizes = chance.integers(0, 40, 12).tolist()
        starts = np.cumsum([0, *sizes])
        blocks = (pa.table({"a": range(a, b)}) for a, b in pairwise(starts))
        tables, rows, step = even_part(blocks, int(chance.integers(100, 20_000)))
        values = [value for table in tables for value in table.column("a").to_pylist()]
        assert rows == sum(sizes)
        assert values == list(range(0, rows, step))


# -- codes ---------------------------------------------------------------------------------------------------------


def test_codes_of_categories_are_hinted_at(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "zip": chance.integers(10_000, 99_999, 150), "region_code": chance.integers(3, 40, 300)[:150] // 4,
            "season": chance.integers(1, 5, 150), "children": chance.integers(0, 5, 150),
            "income": chance.normal(size=150), "shopId": chance.integers(1, 9, 150) * 10, "decode": range(150),
            "y": chance.normal(size=150),
        }
    )  # fmt: skip
    (finding,) = [finding for finding in bgn.check(table, "y").findings if finding.what == "codes"]
    assert finding.columns == ("zip", "region_code", "season", "shopId")
    assert "say it of each: categorical='zip'" in str(finding)
    table.to_csv(tmp_path / "t.csv", index=False)
    fit = "fit", tmp_path / "t.csv", "-t", "y", "--max-terms", 1, "--folds", 0
    assert "may be codes of categories" in call(*fit).err
    named = [argument for name in ("region_code", "season", "shopId") for argument in ("--categorical", name)]
    assert "codes of categories" not in call(*fit, *named, "--drop", "zip").err


def test_a_column_of_another_sheet_is_looked_for_there(tmp_path):
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        pd.DataFrame({"notes": ["made by us"]}).to_excel(book, sheet_name="Info", index=False)
        pd.DataFrame({"x": range(60), "y": range(60)}).to_excel(book, sheet_name="Data", index=False)
    for command in (("fit", tmp_path / "two.xlsx", "-t", "y"), ("check", tmp_path / "two.xlsx", "-t", "y")):
        assert "Sheet 'Info' is read, and not 'Data' (to read another: --sheet 'Data')." in call(*command, code=1).err


def test_a_second_way_to_write_dates_is_no_second_format(tmp_path: Path) -> None:
    days = pd.date_range("2020-01-01", periods=60, freq="13D")
    table = pd.DataFrame({"a": days.strftime("%d.%m.%Y"), "b": days.strftime("%d/%m/%Y")})
    table.to_csv(tmp_path / "t.csv", index=False)
    (finding,) = [one for one in bgn.check(tmp_path / "t.csv", date_format="%d.%m.%Y").findings if one.what == "date"]
    assert finding.columns == ("b",)
    assert "if another column needs '%d.%m.%Y', write these as 2021-06-05" in finding.advice


def test_a_target_that_is_not_there_hints_at_a_missing_header(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0.5,2,7.25\n0.75,3,8.5\n")
    for command in ("check", "fit"):
        message = call(command, tmp_path / "t.csv", "-t", "column_3", code=1).err
        assert "If its first row holds no names, add --no-header." in message


def test_dates_are_no_target(tmp_path: Path) -> None:
    rows = {"x": range(40), "day": pd.date_range("2020-01-01", periods=40)}
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    message = call("fit", tmp_path / "t.csv", "-t", "day", code=1).err
    assert message == "bgn: --target: column 'day' must hold numbers; it holds dates."


def test_numbers_that_name_rows_are_said_among_training_rows_too(tmp_path):
    """Training rows leave gaps in numbers that are consecutive in the file."""
    rng = np.random.default_rng(0)
    for name in ("Kunden-Nr", "account"):
        rows = pd.DataFrame({name: np.arange(5000, 5200), "x": rng.normal(size=200), "y": rng.normal(size=200)})
        rows.to_csv(tmp_path / "rows.csv", index=False)
        done = call("fit", tmp_path / "rows.csv", "-t", "y", "--size", "2", "--max-linear", "0", "--folds", "0")
        assert f"'{name}' is different in every row, like an id" in done.err
