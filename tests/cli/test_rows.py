"""Which rows are learnt from does not depend on the columns, and is known again from the model's file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bgn
from bgn.explain.evaluate import evaluate_numbers
from bgn.inputs.prepare import Choices
from bgn.inputs.splits import RowKeys, edge_of, fingerprint, is_test, key_hashes, number_hashes
from bgn.model_rows import DataFile
from bgn.persist import read
from bgn.training_rows import Streamed, TrainingRequest, training_rows
from tests.command import call, exact_csv

SMALL = ("--max-terms", 3, "--max-features", 1, "--replacements", 0, "--folds", 0, "--quiet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Visits of 60 people, several each, in CSV and Parquet; a model of all columns, by rows, and one by people."""
    folder, generator, rows = tmp_path_factory.mktemp("rows"), np.random.default_rng(0), 400
    table = pd.DataFrame(
        {
            "person": generator.integers(1000, 1060, rows),
            "age": generator.integers(18, 80, rows).astype(float),
            "height": generator.normal(170, 10, rows).round(1),
            "city": generator.choice(["Lille", "Nice"], rows),
        }
    )
    table["cost"] = (100 + 50 * (table["age"] >= 40) + 30 * (table["city"] == "Nice")).add(generator.normal(0, 9, rows))
    table.to_csv(folder / "visits.csv", index=False)
    table.to_parquet(folder / "visits.parquet", row_group_size=70)
    call("fit", folder / "visits.csv", "-t", "cost", *SMALL, "-o", folder / "model.json")
    call("fit", folder / "visits.csv", "-t", "cost", *SMALL, "--key", "person", "-o", folder / "people.json")
    return folder


def request_of(
    path: Path, drop: tuple[str, ...] = (), key: str | None = None, missing: str = "refuse", seed: int = 0
) -> TrainingRequest:
    return TrainingRequest(DataFile(str(path)).open(), Choices("cost", drop, missing=missing), 0.2, seed, key=key)


def targets_of(path: Path, *arguments, **options) -> list[float]:
    return training_rows(request_of(path, *arguments, **options)).y_test.tolist()


def test_test_rows_do_not_depend_on_the_columns(folder: Path, tmp_path: Path) -> None:
    rows = targets_of(folder / "visits.csv")
    assert len(rows) == 80
    assert targets_of(folder / "visits.csv", ("city", "height")) == rows
    assert targets_of(folder / "visits.csv", seed=1) != rows
    table = exact_csv(folder / "visits.csv")
    table.assign(new=1.5 * table["age"])[["cost", "new", "city"]].to_csv(tmp_path / "more.csv", index=False)
    assert targets_of(tmp_path / "more.csv") == rows
    table.loc[::7, "height"] = np.nan
    table.to_csv(tmp_path / "holes.csv", index=False)
    some = targets_of(tmp_path / "holes.csv", missing="drop")
    assert some == [y for y in rows if y in some]
    assert len(some) < 80
    assert targets_of(tmp_path / "holes.csv", ("height",)) == rows


def test_equal_keys_stay_on_one_side(folder: Path) -> None:
    table = exact_csv(folder / "visits.csv")
    for path in (folder / "visits.csv", folder / "visits.parquet"):
        rows = training_rows(request_of(path, ("person",), key="person"))
        tested = set(table["person"][table["cost"].isin(rows.y_test)])
        assert not tested & set(table["person"][table["cost"].isin(rows.y)])
        assert 8 <= len(tested) <= 16
        assert "person" not in rows.preparation.schema.names
    assert targets_of(folder / "visits.csv", ("city", "person"), "person") == rows.y_test.tolist()


@pytest.mark.parametrize("key", [None, "person"])
def test_rows_on_disk_are_chosen_as_those_in_memory(folder: Path, key: str | None, monkeypatch) -> None:
    monkeypatch.setattr("bgn.training_rows.BLOCK_BYTES", 1000)
    request = request_of(folder / "visits.parquet", ("person",), key)
    memory, disk = training_rows(request), Streamed(request)
    n_train = np.concatenate([piece.target for piece in disk.pieces(1000)])
    assert np.array_equal(n_train, memory.y)
    assert disk.held_out == memory.held_out


@given(st.lists(st.integers(0, 40), max_size=6), st.integers(0, 2**32), st.floats(0, 0.9))
def test_blocks_do_not_matter(sizes, seed, share):
    n = sum(sizes)
    whole = number_hashes(1, n, seed)
    firsts = np.cumsum([1, *sizes])
    blocks = [number_hashes(int(first), size, seed) for first, size in zip(firsts, sizes, strict=False)]
    assert np.array_equal(np.concatenate([*blocks, whole[:0]]), whole)
    edge = edge_of(lambda: blocks, share)
    assert edge == edge_of(lambda: [whole], share)
    assert abs(is_test(whole, edge).sum() - share * n) <= 1.0
    y = np.where(whole % np.uint64(5) == 0, np.nan, whole.astype(np.float64))
    parts = [fingerprint(int(first), y[first - 1 :][:size]) for first, size in zip(firsts, sizes, strict=False)]
    assert sum(parts) % 2**64 == fingerprint(1, y)
    held = is_test(whole, edge)
    other = np.where(held, 7.0, y)
    assert fingerprint(1, other, held) == fingerprint(1, y, held)


def test_keys_are_equal_however_they_are_stored():
    stored = [["17", " 017", "x Y"], [17, 17, None], [17.0, 17.0, None], ["17.0", "1.7e1", "X y "]]
    hashes = [key_hashes(pa.chunked_array([pa.array(item)]), 3) for item in stored]
    assert len({int(hashe[k]) for hashe in hashes for k in (0, 1)}) == 1
    assert hashes[0][2] == hashes[3][2] != hashes[0][0]
    days = pa.chunked_array([pa.array(["2020-01-02"])])
    assert key_hashes(days, 0) == key_hashes(days.cast(pa.timestamp("s")), 0)
    assert len(key_hashes(pa.chunked_array([pa.array([], pa.string())]), 0)) == 0
    assert sum(len(block) for block in RowKeys(None, 0).number_blocks(3_000_000)) == 3_000_000


def test_the_file_of_the_model_says_which_rows(folder: Path) -> None:
    kept = read(folder / "model.json").held_out
    assert (kept.seed, kept.share, kept.key, kept.rows) == (0, 0.2, None, 400)
    assert read(folder / "people.json").held_out.key == "person"
    assert read(Path(__file__).parents[1] / "data" / "version2_plain.json").held_out is None
    content = json.loads((folder / "model.json").read_text())
    content["held_out"]["edge"] = -1
    (folder / "wrong.json").write_text(json.dumps(content))
    with pytest.raises(bgn.ModelFileError, match=r"held_out.edge must be a whole number"):
        bgn.load(folder / "wrong.json")


@pytest.mark.parametrize("name", ["visits.csv", "visits.parquet"])
def test_the_report_evaluates_on_test_rows(folder: Path, tmp_path: Path, name: str) -> None:
    model, data, out = folder / "model.json", folder / name, tmp_path / "r.html"
    said = f"note: 320 of 400 rows of {data} were used for training"
    assert f"{said}: these are the other 80 (--rows all for all).\n" in call("report", model, data, "-o", out).err
    page = out.read_text()
    assert "on 80 rows" in page or "80 test rows" in page
    assert f"{said}.\n" in call("report", model, data, "-o", out, "--rows", "all").err
    assert "400" in out.read_text()
    assert f"{said}: these alone count here.\n" in call("report", model, data, "-o", out, "--rows", "train").err
    table = exact_csv(folder / "visits.csv")
    held = table["cost"].isin(targets_of(folder / "visits.csv"))
    done = call("predict", model, data, "-o", folder / "predicted.csv")
    assert "note: 320 of 400 rows are training rows: errors on them may be smaller than on new rows.\n" in done.err
    predicted = exact_csv(folder / "predicted.csv")["prediction"]
    result = evaluate_numbers(table["cost"][held].to_numpy(), predicted[held].to_numpy()).scores
    assert read(model).figures["model"]["mse"] == pytest.approx(result["mse"])


def test_the_others_tell_too(folder: Path, tmp_path: Path) -> None:
    model, data = folder / "model.json", folder / "visits.csv"
    assert json.loads(call("explain", model, data, "--json").out)["rows"] == 80
    assert json.loads(call("explain", model, data, "--json", "--rows", "train").out)["rows"] == 320
    call("explain", model, data, "-o", tmp_path / "values.csv")
    assert len(pd.read_csv(tmp_path / "values.csv")) == 400
    for row in (1, 2, 3):
        assert " row." in call("explain", model, data, "--row", row).err
    assert "over 80 rows" in call("effect", model, data, "age", "--rows", "test").out
    assert len(json.loads(call("margin", model, data, "--json", "--rows", "test").out)) == 80
    call("simplify", model, data, "-o", tmp_path / "simple.json")
    assert read(tmp_path / "simple.json").held_out == read(model).held_out


def test_other_files_are_known_by_their_key_alone(folder: Path, tmp_path: Path) -> None:
    table = exact_csv(folder / "visits.csv")
    table.iloc[::-1][:200].to_csv(tmp_path / "other.csv", index=False)
    done = call("report", folder / "model.json", tmp_path / "other.csv", "-o", tmp_path / "r.html")
    assert "were used for training" not in done.err
    err = call("effect", folder / "model.json", tmp_path / "other.csv", "age", "--rows", "test", code=1).err
    assert "nobody knows which rows of" in err
    assert "were used for training" not in call("predict", folder / "model.json", tmp_path / "other.csv").err
    done = call("explain", folder / "people.json", tmp_path / "other.csv", "--json")
    edge = read(folder / "people.json").held_out.edge
    keys = key_hashes(pa.chunked_array([pa.array(table.iloc[::-1][:200]["person"])]), 0x7E57)
    assert json.loads(done.out)["rows"] == np.count_nonzero(keys <= np.uint64(edge)) > 0
    assert "does not know the column" not in done.err
    table.drop(columns=["person", "cost"]).to_csv(tmp_path / "bare.csv", index=False)
    assert "were used for training" not in call("predict", folder / "people.json", tmp_path / "bare.csv").err
    table.assign(cost="?").to_csv(tmp_path / "words.csv", index=False)
    assert "were used for training" not in call("predict", folder / "model.json", tmp_path / "words.csv").err


def test_files_with_the_fingerprint_of_all_rows_are_known(folder: Path, tmp_path: Path) -> None:
    content = json.loads((folder / "model.json").read_text())
    content["held_out"]["fingerprint"] = fingerprint(1, exact_csv(folder / "visits.csv")["cost"].to_numpy()) % 2**64
    (tmp_path / "earlier.json").write_text(json.dumps(content))
    said = call("evaluate", tmp_path / "earlier.json", folder / "visits.csv")
    assert "320 of 400 rows" in said.err
    assert "80 rows" in said.out


def test_no_rows_set_aside(folder: Path, tmp_path: Path) -> None:
    call("fit", folder / "visits.csv", "-t", "cost", *SMALL, "--test", 0, "-o", tmp_path / "m.json")
    done = call("report", tmp_path / "m.json", folder / "visits.csv", "-o", tmp_path / "r.html")
    assert f"400 of 400 rows of {folder / 'visits.csv'} were used for training.\n" in done.err
    err = call("effect", tmp_path / "m.json", folder / "visits.csv", "age", "--rows", "test", code=1).err
    assert "has no such rows" in err


def test_refusals(folder: Path, tmp_path: Path) -> None:
    path = folder / "visits.csv"
    assert "--key: 'cost' is the target" in call("fit", path, "-t", "cost", "--key", "cost", *SMALL, code=1).err
    assert "has no column 'id'; it has 'person'" in call("fit", path, "-t", "cost", "--key", "id", *SMALL, code=1).err
    table = pd.read_csv(path)
    table["person"] = table["person"].astype(object)
    table.loc[4, "person"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    err = call("fit", tmp_path / "t.csv", "-t", "cost", "--key", "person", *SMALL, code=1).err
    assert "--key: column 'person' has no value in row 5; fill it" in err


def test_a_key_is_trained_from_when_shown(folder: Path, tmp_path: Path) -> None:
    options = "-t", "cost", "--key", "person", *SMALL
    call("fit", folder / "visits.csv", *options, "--learn-key", "-o", tmp_path / "m.json")
    assert "person" in read(tmp_path / "m.json").network.names
    assert read(tmp_path / "m.json").held_out == read(folder / "people.json").held_out
