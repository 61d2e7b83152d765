"""``bgn report`` and ``bgn serve`` from a shell: labels, keys, rows that were learnt from, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.command import call


@pytest.fixture(scope="module")
def fitted(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("reported")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": [f"C-{k:03d}" for k in range(200)], "tenure": rng.integers(0, 72, 200)})
    table["plan"] = rng.choice(["month", "year"], 200)
    table["cost"] = (20.0 * (table["tenure"] > 30) + 9.0 * (table["plan"] == "year") + rng.normal(0, 1, 200)).round(1)
    table.to_csv(folder / "rows.csv", index=False)
    call("fit", folder / "rows.csv", "-t", "cost", "--drop", "id", "--max-linear", "0", "-o", folder / "m.json")
    (folder / "labels.toml").write_text('title = "Bills"\n[target]\nunit = "EUR"\n[columns.tenure]\nlabel = "months"\n')
    return folder


def test_the_page_has_labels_keys_and_numbers_of_the_file(fitted, tmp_path) -> None:
    out = tmp_path / "r.html"
    done = call("report", fitted / "m.json", fitted / "rows.csv", "-o", out, "--labels", fitted / "labels.toml",
                "--key", "id")  # fmt: skip
    assert "r.html contains rows of" in done.err
    assert "--no-rows leaves them out" in done.err
    text = out.read_text(encoding="utf-8")
    assert "<h1>Bills</h1>" in text
    assert "<b>months</b>" in text
    rows = re.findall(r'data-of="row">(\d+) · C-(\d+)</th>', text)
    assert len(rows) == 10
    assert all(int(number) == int(key) + 1 for number, key in rows)
    assert '"starts":{"packed"' in text
    for options in (("--start-rows", "0"), ("--no-rows",)):
        text = _page(fitted, out, *options)
        assert '"starts":null' in text
        assert "Largest errors" not in text
        assert "C-0" not in text


def _page(folder: Path, out: Path, *options: str) -> str:
    call("report", folder / "m.json", folder / "rows.csv", "-o", out, *options)
    return out.read_text(encoding="utf-8")


def test_the_page_says_when_rows_were_trained_from(fitted, tmp_path) -> None:
    out = tmp_path / "r.html"
    assert "test rows" in _page(fitted, out)
    assert "This model was trained on 160 of these 200 rows" in _page(fitted, out, "--rows", "all")
    assert "This model was trained on these rows, so that on new rows" in _page(fitted, out, "--rows", "train")


def test_what_cannot_be_is_refused(fitted, tmp_path) -> None:
    model, rows = fitted / "m.json", fitted / "rows.csv"
    assert "lacks the column 'ID'" in call("report", model, rows, "--key", "ID", code=1).err
    (tmp_path / "l.toml").write_text('[columns.tenur]\nlabel = "x"\n')
    err = call("report", model, rows, "--labels", tmp_path / "l.toml", code=1).err
    assert "no column 'tenur'" in err
    assert "Did you mean 'tenure'?" in err
    assert "no/such" in call("report", model, rows, "--labels", "no/such.toml", code=1).err
    assert "does not exist" in call("serve", model, rows, "--save", tmp_path / "no" / "e.json", code=1).err
    assert "cannot listen" in call("serve", model, rows, "--host", "203.0.113.7", "--no-browser", code=1).err
