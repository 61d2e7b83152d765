"""The built-in datasets: those that ship, the paper's matrices, checked bytes, and having no file or no network."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from bgn import datasets
from bgn.datasets import fetch
from bgn.datasets.build import SPECS
from bgn.datasets.fetch import DatasetError, RawFile
from tests.reference import datasets as reference

RAW = os.environ.get("BGN_DATA")

# Rows, features, SHA-256 of the matrix (features, then target; float64, row by row).
MATRICES = {
    ("bike", "published"): (17379, 12, "9a2ce7132a06e3b184069d45f26bfb46c4ad524e775e7e36e36205bf12e849aa"),
    ("diabetes", "measured"): (442, 10, "839c546b0b4ac02c2e6cbe5e5c92313cefa993446c9733e9b49477cc3f96e104"),
    ("housing", "statlib"): (20640, 8, "19dfca7b94704a14c29e1237d3469806937138deec3f080b0c25433f20758551"),
    ("housing", "averaged"): (20640, 8, "9b9082ab86651a01d663a8e4a70ea14c0b41d0b2bd693bccd3221dcd111e15ca"),
    ("chickenpox", "published"): (522, 22, "1b4df824237b0eae2ffa31628d275cf2002d2fadad1e981f7a299a00eb87993d"),
    ("istanbul", "published"): (534, 11, "47b7075a4a1e7e071d70b1eedee0d2e8a05f3443debf17bc3a6bdea05684b67f"),
    ("parking", "published"): (35717, 6, "f98dfd1f86fe9684e9515863216f87e878c2b11b595d6bdd0889b4e478e7ff84"),
    ("power_plant", "published"): (9568, 4, "d3c75624ea5df1256c9b8e81560e1f9381014565c5f558d3293831fa521b82e9"),
}


def matrix_of(data: datasets.Dataset) -> np.ndarray:
    return np.column_stack([np.asarray(data.X), data.y])


@pytest.mark.parametrize(("name", "columns"), MATRICES)
def test_matrix_is_the_recipe(name: str, columns: str) -> None:
    source = SPECS[name].source
    if RAW is None and source is not None and not fetch.shipped(source):
        pytest.skip("BGN_DATA does not name a folder with the raw tables")
    rows, features, digest = MATRICES[name, columns]
    data = datasets.load(name, columns=columns)
    matrix = matrix_of(data)
    assert matrix.shape == (rows, features + 1)
    assert len(data.feature_names) == len(data.units) == features
    assert list(data.X.columns) == list(data.feature_names)
    assert hashlib.sha256(np.ascontiguousarray(matrix, "<f8").tobytes()).hexdigest() == digest
    if name == "diabetes":
        expected = np.column_stack(load_diabetes(return_X_y=True, scaled=False))
    elif RAW is None:
        return
    elif columns == "averaged":
        expected = reference.averaged_housing(Path(RAW or ""))
    else:
        expected = getattr(reference, name)(Path(RAW or ""))
        assert [*data.feature_names, data.target_name] == list(expected.columns)
    np.testing.assert_array_equal(matrix, np.asarray(expected, dtype=float))


# -- those that ship -----------------------------------------------------------------------------------------

SHIPPED = ("bike_sharing", "mammographic", "penguins", "bike")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without datasets, cache or network."""
    monkeypatch.delenv("BGN_DATA", raising=False)
    monkeypatch.setenv("BGN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "urlopen", None)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_datasets_need_nothing_else(name: str) -> None:
    data = datasets.load(name)
    assert len(data.X) == len(data.y) == SPECS[name].rows
    assert list(data.X.columns) == list(data.feature_names)
    assert datasets.path(name).parent == fetch.SHIPPED


@pytest.mark.parametrize("name", SHIPPED[:3])
def test_shipped_datasets_are_read_without_codes(name: str) -> None:
    data = datasets.load(name)
    assert (data.y.name, len(data.units)) == (data.target_name, len(data.feature_names))
    categorical = [column for column in data.X if data.X[column].dtype.kind not in "if"]
    categories = {str(category) for column in categorical for category in data.X[column].dropna().unique()}
    assert all(re.fullmatch(r"[A-Za-z][a-z/ -]+", category) for category in categories), categories
    expected = {"bike_sharing": (5, 22), "mammographic": (3, 160), "penguins": (2, 19)}[name]
    assert (len(categorical), int(data.X.isna().to_numpy().sum())) == expected


def test_readable_rentals_are_the_hours_of_the_paper() -> None:
    """The same rows, whatever they are called: every code has one word, every number is the same up to its unit."""
    read, raw = datasets.load("bike_sharing"), datasets.load("bike")
    np.testing.assert_array_equal(read.y, raw.y)
    codes = {"season": "season", "weekday": "weekday", "day_off": "workingday", "weather": "weathersit"}
    for name, code in codes.items():
        pairs = set(zip(read.X[name], raw.X[code], strict=True))
        assert len(pairs) == read.X[name].nunique() == raw.X[code].nunique()
    np.testing.assert_array_equal(read.X["day_off"] == "yes", raw.X["workingday"] == 0)
    np.testing.assert_array_equal(read.X["holiday"] == "yes", raw.X["holiday"] == 1)
    np.testing.assert_allclose(read.X["temperature"], 47 * raw.X["temp"] - 8, atol=0.05)
    np.testing.assert_allclose(read.X["feels_like"], 66 * raw.X["atemp"] - 16, atol=0.05)
    np.testing.assert_allclose(read.X["humidity"].fillna(0.0), 100 * raw.X["hum"], atol=1e-9)
    np.testing.assert_array_equal(read.X[["month", "hour"]], raw.X[["mnth", "hr"]])
    by_season = read.X.groupby("season")["month"].agg(lambda months: months.mode()[0])
    assert by_season.to_dict() == {"winter": 1, "spring": 5, "summer": 7, "fall": 10}


def test_the_package_holds_the_files_and_says_whose_they_are() -> None:
    files = sorted(fetch.SHIPPED.glob("*.gz"))
    sources = {spec.source for spec in SPECS.values() if spec.source and fetch.shipped(spec.source)}
    assert [path.name for path in files] == sorted(f"{source.file}.gz" for source in sources)
    assert sum(path.stat().st_size for path in fetch.SHIPPED.iterdir()) < 1_000_000
    notice = (fetch.SHIPPED / "NOTICE.md").read_text(encoding="utf-8")
    for source in sources:
        section = notice.partition(f"## {source.file}.gz")[2].partition("## ")[0]
        assert source.sha256 in section
        assert "creativecommons.org" in section
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    assert "src/bgn/datasets/files/NOTICE.md" in project["project"]["license-files"]
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/bgn"]}
    ignored = subprocess.run(["git", "check-ignore", *files], cwd=root, capture_output=True, check=False)
    assert ignored.stdout == b"", "what git ignores is not packed"


def test_a_package_without_its_files_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BGN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BGN_DATA", str(tmp_path))
    monkeypatch.setattr(fetch, "SHIPPED", tmp_path)
    with pytest.raises(DatasetError, match=r"penguins\.csv should be in .* and is not: install bgn again"):
        datasets.load("penguins")


# -- the paper's ---------------------------------------------------------------------------------------------


def test_diabetes_needs_no_file_and_is_scaled_by_default() -> None:
    data = datasets.load("diabetes")
    np.testing.assert_array_equal(matrix_of(data), np.column_stack(load_diabetes(return_X_y=True)))
    with pytest.raises(FrozenInstanceError):
        data.name = "other"  # type: ignore[misc]


def test_every_spec_is_complete() -> None:
    for name, spec in SPECS.items():
        assert spec.description, name
        assert spec.citation, name
        assert spec.license, name
        source = spec.source
        assert source is None or fetch.shipped(source) or (source.url or "").startswith("https://")
        for pairs in spec.features.values():
            assert len({feature for feature, _ in pairs}) == len(pairs)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"name must be one of 'bike_sharing'.*got 'boston'"):
        datasets.load("boston")
    with pytest.raises(ValueError, match=r"columns of 'housing' must be one of 'statlib', 'averaged'; got 'all'"):
        datasets.load("housing", columns="all")


def test_without_pandas_x_is_an_array_and_text_is_refused() -> None:
    code = (
        "from bgn import datasets; d = datasets.load('diabetes')\n"
        "assert type(d.X).__name__ == 'ndarray' and d.X.shape == (442, 10)\n"
        "try: datasets.load('penguins')\n"
        "except ImportError as error: assert 'pandas' in str(error) and 'cli' in str(error), error\n"
        "else: raise AssertionError"
    )
    path = os.pathsep.join([str(Path(__file__).parents[1] / "without"), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = os.environ | {"PYTHONPATH": path, "BGN_WITHOUT": "pandas"}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


# -- finding, checking, downloading ------------------------------------------------------------------------

CONTENT = b"a,b\n1,2\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    own, cache = tmp_path / "own", tmp_path / "cache"
    own.mkdir()
    monkeypatch.setenv("BGN_DATA", str(own))
    monkeypatch.setenv("BGN_CACHE", str(cache))
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: None)
    return own, cache


def zipped(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("folder/other.txt", b"no")
        bundle.writestr(name, content)
    return buffer.getvalue()


def taped(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tape:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        tape.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


class Archive(BaseHTTPRequestHandler):
    """Serves what `bodies` holds; the first visits to /flaky fail, one with an error and one cut short."""

    bodies: dict[str, bytes] = {}  # noqa: RUF012
    visits: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.visits.append(self.path)
        body = self.bodies.get(self.path)
        if body is None:
            return self.send_error(404)
        if self.path == "/flaky" and len(self.visits) == 1:
            return self.send_error(503)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        short = self.path == "/flaky" and len(self.visits) == 2
        self.wfile.write(body[:10] if short else body)
        return None

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def archive() -> Iterator[str]:
    Archive.visits.clear()
    Archive.bodies.clear()
    server = HTTPServer(("127.0.0.1", 0), Archive)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_own_folder_comes_before_the_cache_and_gz_is_accepted(folders: tuple[Path, Path]) -> None:
    own, cache = folders
    source = RawFile("t.csv", "http://127.0.0.1:9/none", "t.csv", DIGEST)
    cache.mkdir()
    (cache / "t.csv").write_bytes(CONTENT)
    assert fetch.find(source) == cache / "t.csv"
    (own / "t.csv.gz").write_bytes(gzip.compress(CONTENT))
    assert fetch.find(source) == own / "t.csv.gz"
    assert fetch.read(source) == CONTENT


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", CONTENT[:-1], "does not hold 't.csv' as published"),
        ("t.csv.gz", gzip.compress(CONTENT)[:-9], "is damaged"),
        ("t.csv.gz", b"not gzip at all", "is damaged"),
        ("t.csv.gz", gzip.compress(b"\0" * (64 * 2**20 + 1)), "holds more than"),
    ],
    ids=["shorter", "cut", "other", "larger"],
)
def test_a_damaged_file_is_refused(folders: tuple[Path, Path], name: str, content: bytes, message: str) -> None:
    own, _ = folders
    (own / name).write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        fetch.read(RawFile("t.csv", "http://127.0.0.1:9/none", "t.csv", DIGEST))


@pytest.mark.parametrize(
    "body", [zipped("folder/t.csv", CONTENT), taped("folder/t.csv", CONTENT)], ids=["zipped", "taped"]
)
def test_download_retries_checks_and_caches(folders: tuple[Path, Path], archive: str, body: bytes) -> None:
    _, cache = folders
    Archive.bodies["/flaky"] = body
    source = RawFile("mine.csv", archive + "/flaky", "t.csv", DIGEST)
    assert fetch.read(source) == CONTENT
    assert len(Archive.visits) == 3
    assert [path.name for path in cache.iterdir()] == ["mine.csv"]
    assert fetch.read(source) == CONTENT
    assert len(Archive.visits) == 3


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/gone", None, r"cannot download 't.csv' from http.*404.*save it as 'mine.csv'.*BGN_DATA"),
        ("/wrong", zipped("t.csv", b"other"), "does not hold 't.csv' as published"),
        ("/empty", zipped("u.csv", CONTENT), "an archive without 't.csv'"),
        ("/noise", b"<html>sorry</html>", "damaged archive"),
        ("/cut", zipped("t.csv", CONTENT * 99)[:60], "damaged archive"),
    ],
    ids=["gone", "wrong", "empty", "noise", "cut"],
)
def test_bad_answers_leave_nothing_behind(
    folders: tuple[Path, Path], archive: str, path: str, body: bytes | None, message: str
) -> None:
    _, cache = folders
    if body is not None:
        Archive.bodies[path] = body
    with pytest.raises(DatasetError, match=message):
        fetch.read(RawFile("mine.csv", archive + path, "t.csv", DIGEST))
    assert len(Archive.visits) == 1
    assert not cache.exists() or not list(cache.iterdir())


def test_offline_says_file_address_and_place(folders: tuple[Path, Path]) -> None:
    _, cache = folders
    source = RawFile("mine.csv", "http://127.0.0.1:9/table.zip", "t.csv", DIGEST)
    with pytest.raises(DatasetError) as caught:
        fetch.read(source)
    for part in ("t.csv", source.url, "mine.csv", "BGN_DATA", str(cache)):
        assert part in str(caught.value)


def test_cache_folder_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BGN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert fetch.cache_folder() == tmp_path / "bgn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert fetch.cache_folder() == Path.home() / ".cache" / "bgn"
