"""The installed command on saved models: predict, show, path, explain, report, data."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow.csv import write_csv
from pyarrow.parquet import write_table

import bgn
from bgn import Layer, Network
from tests.command import COMMAND, call
from tests.raw_columns import category, date, number, prepared

PREPARATION = prepared(
    number("rooms"),
    category("kind", ("flat", "house")),
    date("sold", ("year", "month")),
    number("garden", boolean=True),
    number("unread"),
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights = np.zeros((4, len(PREPARATION.schema.names)))
    weights[0, 0] = 1.0
    weights[1, 1] = 1.0
    weights[2, [3, 4]] = 1.0, 0.1
    weights[3, 5] = 1.0
    network = Network.of_layers(
        [Layer(weights, [-3.0, -0.5, -2020.6, -0.5])], [10.0, 1.0, 100.0, 0.5], 500.0, PREPARATION.schema.names, "price"
    )
    path = tmp_path_factory.mktemp("model") / "model.json"
    bgn.save(network, path, preparation=PREPARATION, units={"rooms": "rooms", "price": "k$"})
    return path


@pytest.fixture(scope="module")
def houses() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": ["a", 'b "quoted"', "c, comma", "d"],
            "sold": pd.to_datetime(["2019-01-02", "2020-05-31", "2020-06-01", "2020-12-24"]),
            "garden": [True, False, True, False],
            "rooms": [2.0, 3.0, 4.0, 5.0],
            "kind": ["flat", "house", "flat", "house"],
            "unread": [1.0, 2.0, 3.0, 4.0],
            "price": [1.0, 2.0, 3.0, 4.0],
        }
    )


def expected(houses: pd.DataFrame) -> list[float]:
    sold = houses["sold"].dt.year + 0.1 * houses["sold"].dt.month
    answers = [
        10.0 * np.where(houses["rooms"] >= 3, 1, -1),
        1.0 * np.where(houses["kind"] == "flat", 1, -1),
        100.0 * np.where(sold >= 2020.6, 1, -1),
        0.5 * np.where(houses["garden"], 1, -1),
    ]
    return list(500.0 + sum(answers))


def numbers(text: str) -> list[float]:
    lines = text.splitlines()
    assert lines[0] == "prediction"
    return [float(line) for line in lines[1:]]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "xlsx"])
def test_every_format_gives_the_same_predictions(
    model: Path, houses: pd.DataFrame, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"houses.{suffix}"
    if suffix == "parquet":
        houses.to_parquet(path)
    elif suffix == "xlsx":
        houses.to_excel(path, index=False, sheet_name="stock")
    else:
        houses.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    done = call("predict", model, path)
    assert numbers(done.out) == expected(houses)
    assert done.err == "note: the model does not know the column 'id': ignored.\n"
    if suffix == "xlsx":
        assert numbers(call("predict", model, path, "--sheet", "stock").out) == expected(houses)
        assert "has no sheet 'other'; it has 'stock'" in call("predict", model, path, "--sheet", "other", code=1).err


def test_columns_in_any_order_from_a_pipe_with_other_marks(model: Path, houses: pd.DataFrame) -> None:
    backwards = houses[houses.columns[::-1]].drop(columns=["id", "unread", "price"])
    text = backwards.to_csv(index=False, sep=";", decimal=",")
    done = call("predict", model, "-", "--decimal", ",", stdin=text)
    assert numbers(done.out) == expected(houses)
    assert done.err == ""
    text = "﻿" + backwards.to_csv(index=False, sep="|", lineterminator="\r\n")
    assert numbers(call("predict", model, "-", "--sep", "|", stdin=text).out) == expected(houses)
    with_index = houses.drop(columns="id").to_csv()
    assert numbers(call("predict", model, "-", stdin=with_index).out) == expected(houses)


def test_a_missing_column_is_named_and_an_unread_one_is_not_missed(model: Path, houses: pd.DataFrame) -> None:
    text = houses.drop(columns=["rooms", "kind", "unread"]).to_csv(index=False)
    assert "standard input lacks" not in text
    err = call("predict", model, "-", code=1, stdin=text).err
    assert "lacks the columns 'kind', 'rooms'; it has 'id', 'sold', 'garden', 'price'" in err


def test_missing_values_and_unseen_text(model: Path, houses: pd.DataFrame) -> None:
    odd = houses.drop(columns="id").astype({"rooms": object, "kind": object})
    odd.loc[0, "rooms"] = np.nan
    odd.loc[1, "kind"] = np.nan
    odd.loc[2, "kind"] = "castle"
    odd.loc[3, "kind"] = "castle"
    done = call("predict", model, "-", stdin=odd.to_csv(index=False))
    plain = expected(houses)
    assert done.out.splitlines() == ["prediction", "", "", str(plain[2] - 2.0), str(plain[3])]
    assert done.err.splitlines() == [
        "note: column 'kind' holds 'castle', which was not there at fit: counted as none of the known.",
        "note: 2 of 4 rows lack a value the model reads: their predictions are empty.",
    ]


def test_infinite_numbers_are_said(model: Path, houses: pd.DataFrame, tmp_path: Path) -> None:
    houses.assign(rooms=["inf", "1e999", "-inf", "4"]).to_csv(tmp_path / "t.csv", index=False)
    done = call("predict", model, tmp_path / "t.csv")
    notes = [line for line in done.err.splitlines() if "beyond what a float can hold: counted as missing" in line]
    assert ["-inf" in note for note in notes] == [False, True]
    assert done.out.splitlines()[1:4] == [""] * 3  # the model takes no missing value there


def test_kept_columns_stay_what_they_are(model: Path, houses: pd.DataFrame, tmp_path: Path) -> None:
    numbered = houses.assign(number=np.arange(len(houses)))
    numbered.to_parquet(tmp_path / "houses.parquet")
    keep = "--keep", "number", "--keep", "sold"
    call("predict", model, tmp_path / "houses.parquet", *keep, "-o", tmp_path / "kept.parquet")
    kept = pd.read_parquet(tmp_path / "kept.parquet")
    assert kept["number"].dtype == np.int64
    assert kept["sold"].dtype.kind == "M"
    call("predict", model, tmp_path / "houses.parquet", *keep, "-o", tmp_path / "kept.csv")
    assert (tmp_path / "kept.csv").read_text().splitlines()[1].startswith("0,")


def test_kept_columns_and_files_out(model: Path, houses: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "houses.csv"
    houses.to_csv(path, index=False)
    for suffix, read in (("csv", pd.read_csv), ("tsv", pd.read_table), ("parquet", pd.read_parquet)):
        out = tmp_path / f"out.{suffix}"
        assert call("predict", model, path, "--keep", "id", "-o", out) == ("", "")
        result = read(out)
        assert list(result.columns) == ["id", "prediction"]
        assert list(result["id"]) == list(houses["id"])
        assert list(result["prediction"]) == expected(houses)
    call("predict", model, path, "--keep", "sold", "--keep", "rooms", "-o", tmp_path / "out.csv")
    result = pd.read_csv(tmp_path / "out.csv")
    assert list(result["sold"]) == [str(day) for day in houses["sold"].dt.date]
    assert list(result["rooms"]) == list(houses["rooms"])
    refused = [
        (("-o", tmp_path / "out.xls"), "--out must end in .csv, .tsv or .parquet"),
        (("-o", tmp_path / "no" / "out.csv"), "no does not exist; make it first"),
        (("--keep", "colour"), "lacks the column 'colour'"),
        (("--keep", "prediction"), "would name two columns alike"),
    ]
    for arguments, message in refused:
        assert message in call("predict", model, path, *arguments, code=1).err
    assert sorted(item.name for item in tmp_path.iterdir()) == ["houses.csv", "out.csv", "out.parquet", "out.tsv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no header line"),
        (b"a,b\n1,2\n", "lacks the columns"),
        (b"rooms,rooms\n1,2\n", "has two columns named 'rooms'"),
        (b"rooms,kind,sold,garden\n1,flat,2020-01-01\n", "standard input: row 1 has 3 fields, and the header 4."),
        (
            b"rooms,kind,sold,garden\nmany,flat,2020-01-01,true\n",
            "standard input: row 1, column 'rooms': 'many' is not a number",
        ),
        (b"rooms,kind,sold,garden\n1,flat,yesterday,true\n", "row 1, column 'sold': 'yesterday' is not a date"),
        (b"rooms,kind,sold,garden,\x81\n1,flat,2020-01-01,true,1\n", "neither UTF-8 nor Latin-1 text"),
        (b"rooms,kind,sold,garden\n1,\xc3\xa4\xff,2020-01-01,true\n", "neither UTF-8 nor Latin-1 text"),
    ],
)
def test_bad_text_is_refused(model: Path, content: bytes, message: str) -> None:
    assert message in call("predict", model, "-", code=1, stdin=content).err


def test_no_rows_give_no_predictions(model: Path) -> None:
    assert call("predict", model, "-", stdin="rooms,kind,sold,garden\n").out.splitlines() == ["prediction"]


def test_bad_files_are_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "x.xlsx").write_bytes(b"PK no")
    (tmp_path / "x.csv.gz").write_bytes(b"no")
    (tmp_path / "x.doc").write_bytes(b"no")
    pd.DataFrame({"rooms": [[1]], "kind": ["flat"], "sold": ["x"], "garden": [True]}).to_parquet(tmp_path / "l.parquet")
    for name, message in (
        ("x.parquet", "x.parquet' is no Parquet file that can be read"),
        ("x.xlsx", "is no workbook that can be read"),
        ("x.csv.gz", "gzip"),
        ("x.doc", "cannot tell the format of"),
        ("l.parquet", "column 'rooms': the column holds list"),
        ("none.csv", "there is no file"),
        (".", "is not a file"),
    ):
        assert message in call("predict", model, tmp_path / name, code=1).err
    (tmp_path / "bad.json").write_text("{}")
    assert "it is not a bgn model" in call("predict", tmp_path / "bad.json", "diabetes", code=1).err
    assert "none.json: No such file" in call("show", tmp_path / "none.json", code=1).err


def test_dates_written_otherwise(tmp_path: Path) -> None:
    preparation = prepared(date("day", ("month", "weekday", "hour"), "%d/%m/%Y %H:%M"))
    layer = Layer(np.eye(3), [-2.0, -3.0, -12.5])
    network = Network.of_layers([layer], [1.0, 10.0, 100.0], 0.0, preparation.schema.names)
    bgn.save(network, tmp_path / "m.json", preparation=preparation)
    done = call("predict", tmp_path / "m.json", "-", stdin="day\n03/02/2021 12:30\n31/01/2021 12:29\n")
    assert numbers(done.out) == [111.0, -1.0 + 10.0 - 100.0]
    message = call("predict", tmp_path / "m.json", "-", stdin="day\n2021/02/03\n", code=1).err
    assert "'2021/02/03' is not a date" in message
    assert message.endswith(" Write dates as %d/%m/%Y %H:%M or 2021-06-05.")


def test_imputation_is_repeated(tmp_path: Path) -> None:
    preparation = prepared(number("a", fill=5.0), category("b", (1.0, 2.5), 2.5), date("c", ("year",), None, (2001.0,)))
    network = Network.of_layers(
        [Layer(np.eye(4), [-4.5, -0.5, -0.5, -2000.5])], [1.0, 10.0, 100.0, 1000.0], 0.0, preparation.schema.names
    )
    bgn.save(network, tmp_path / "m.json", preparation=preparation)
    done = call(
        "predict", tmp_path / "m.json", "-", stdin="a,b,c\n,,\n4,1,1999-01-01\nNA,2.50,2002-01-01\n5,7,2002-02-02\n"
    )
    assert numbers(done.out) == [1091.0, -1091.0, 1091.0, 891.0]
    assert "2 of 4 rows lack a value that no rule has an answer for: the median or the commonest" in done.err
    assert "column 'b' holds 7.0, which was not there at fit" in done.err


@pytest.mark.exhaustive
def test_many_blocks_are_one_table(model: Path, houses: pd.DataFrame, tmp_path: Path) -> None:
    many = pa.Table.from_pandas(pd.concat([houses] * 65_000, ignore_index=True).drop(columns=["id"]))
    write_table(many, tmp_path / "many.parquet")
    write_csv(many.slice(0, 80_000), tmp_path / "many.csv")
    for name, rows in (("many.parquet", 260_000), ("many.csv", 80_000)):
        call("predict", model, tmp_path / name, "-o", tmp_path / "out.parquet")
        result = pd.read_parquet(tmp_path / "out.parquet")["prediction"]
        np.testing.assert_array_equal(result, np.tile(expected(houses), rows // 4))


def test_a_reader_that_leaves_is_no_error(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("rooms,kind,sold,garden\n" + "1,flat,2020-01-01,true\n" * 200_000)
    done = subprocess.run(
        f"set -o pipefail; {COMMAND} predict {model} {path} | head -n 2", shell=True, executable="/bin/bash",
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[0] == b"prediction"
    assert done.stderr == b""
    assert done.returncode == 0


# -- show, path, explain, report ---------------------------------------------------------------------------


def test_show(model: Path) -> None:
    network = bgn.load(model)
    units = {"rooms": "rooms", "price": "k$"}
    for option, form in ((), "text"), (("--latex",), "latex"), (("--markdown",), "markdown"), (("--html",), "html"):
        assert call("show", model, *option).out == bgn.equation(network, format=form, units=units) + "\n"
    assert call("show", model, "--digits", 8).out == bgn.equation(network, digits=8, units=units) + "\n"
    plain = json.loads(call("show", model, "--json").out)
    assert plain["target"] == "price"
    assert plain["intercept"] == 500.0 - 111.5
    assert plain["terms"][0] == {
        "coef": 200.0, "columns": [3, 4], "coefficients": [1.0, 0.1], "relation": ">=", "threshold": 2020.6,
        "missing": None, "missing_as": None, "cases": None, "sufficient": None, "choices": None,
    }  # fmt: skip
    assert plain["columns"][0] | {"typical": None} == {
        "name": "rooms", "kind": "number", "categories": None, "ordered": False, "unit": "", "typical": None,
    }  # fmt: skip
    single = next(term for term in plain["terms"] if term["columns"] == [0])
    assert single["cases"] == [{"relation": single["relation"], "threshold": single["threshold"], "required": None}]
    assert plain["features_used"] == ["rooms", "kind = flat", "sold year", "sold month", "garden"]


def test_path_needs_a_history(model: Path) -> None:
    assert "was saved without a history" in call("path", model, code=1).err


def test_explain(model: Path, houses: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "houses.csv"
    houses.to_csv(path, index=False)
    lines = call("explain", model, path).out.splitlines()
    assert lines[0] == "mean |SHAP value| over 4 rows (exact)"
    assert lines[1].split()[:2] == ["sold", "month"]
    plain = json.loads(call("explain", model, path, "--json", "-o", tmp_path / "values.csv").out)
    assert plain["base_value"] == np.mean(expected(houses))
    values = pd.read_csv(tmp_path / "values.csv")
    np.testing.assert_allclose(values.sum(axis=1), expected(houses))
    np.testing.assert_allclose(values["rooms"].abs().mean(), plain["importance"]["rooms"])
    text = call("explain", model, path, "--row", 3).out
    assert text.splitlines()[0].split() == ["mean", "prediction", f"{np.mean(expected(houses)):.6g}"]
    assert text.splitlines()[-1].split() == ["prediction", f"{expected(houses)[2]:.6g}"]
    assert f"rooms {values['rooms'][2]:+.4g} at 4" in " ".join(text.split())
    assert "--row must be a complete row" in call("explain", model, path, "--row", 9, code=1).err


def test_report(model: Path, houses: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "houses.csv"
    houses.to_csv(path, index=False)
    call("report", model, path, "-o", tmp_path / "r.html", "--title", "Houses & more")
    assert "Houses &amp; more" in (tmp_path / "r.html").read_text()
    houses.drop(columns="price").to_csv(path, index=False)
    assert "lacks the column 'price'" in call("report", model, path, code=1).err


# -- data, version, usage ----------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("BGN_DATA", str(tmp_path / "own")), ("BGN_CACHE", str(tmp_path / "cache")), ("no_proxy", "*")):
        monkeypatch.setenv(name, value)
    lines = call("data", "list").out.splitlines()
    assert len(lines) == 11
    assert lines[1].split()[:5] == ["bike_sharing", "17379", "12", "rentals", "yes"]
    assert lines[5].split()[:5] == ["diabetes", "442", "10", "progression", "yes"]
    assert lines[9].split()[:5] == ["parking", "35717", "6", "Occupancy", "no"]
    assert call("data", "path").out.strip() == str(tmp_path / "cache")
    assert "comes with scikit-learn" in call("data", "path", "diabetes", code=1).err
    assert "run: bgn data get parking" in call("data", "path", "parking", code=1).err
    assert Path(call("data", "path", "bike").out.strip()).parent.parent == Path(bgn.datasets.__file__).parent
    assert "License: CC BY 4.0" in call("data", "get", "mammographic").out
    assert "442 rows" in call("data", "get", "diabetes").out
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "parking_birmingham.csv.gz").write_bytes(gzip.compress(b"half"))
    assert "does not hold 'dataset.csv' as published" in call("data", "get", "parking", code=1).err
    assert call("data", "path", "parking").out.strip() == str(tmp_path / "own" / "parking_birmingham.csv.gz")
    assert "'boston'" in call("data", "get", "boston", code=2).err


def test_built_in_tables_can_be_predicted(tmp_path: Path) -> None:
    table = bgn.datasets.load("bike")
    weights = [[name == "hr" for name in table.feature_names]]
    network = Network.of_layers([Layer(weights, [-7.0])], [100.0], 150.0, table.feature_names, table.target_name)
    bgn.save(network, tmp_path / "m.json")
    result = pd.read_csv(io.StringIO(call("predict", tmp_path / "m.json", "bike").out))["prediction"]
    np.testing.assert_array_equal(result, network.predict(table.X))


@pytest.mark.parametrize("name", ["mammographic", "penguins"])
def test_datasets_with_categories_are_fitted_and_predicted_by_name(name: str, tmp_path: Path) -> None:
    table = bgn.datasets.load(name)
    call("fit", name, "--size", "4", "--out", tmp_path / "m.json", "-q")
    result = pd.read_csv(io.StringIO(call("predict", tmp_path / "m.json", name).out))["prediction"]
    assert len(result) == len(table.y)
    assert (result == table.y).mean() > 0.75


def test_the_command_starts_light_and_says_what_it_lacks() -> None:
    heavy = ("numba", "scipy", "sklearn", "pandas", "matplotlib", "jinja2", "rich")
    code = f"import sys, bgn.cli.app; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"[]\n"
    code = "import sys; sys.modules['click'] = None; from bgn.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr == b"bgn: the command line needs the package 'click'. Install bgn with its extra 'cli'.\n"


def test_version_help_and_usage(model: Path) -> None:
    assert call("--version").out == f"bgn {bgn.__version__}\n"
    assert "bgn predict model.json new.csv" in call("--help").out
    for name in ("fit", "predict", "show", "path", "explain", "report", "data"):
        assert f"bgn {name}" in call(name, "--help").out
    for wrong in (["frob"], ["predict"], ["show", model, "--digits", "0"], ["predict", model, "x.csv", "--frob"]):
        assert "Error:" in call(*wrong, code=2).err
    assert "--sep must be one character" in call("predict", model, "x.csv", "--sep", ",,", code=1).err
