"""What the documentation shows is what the published runs give, byte for byte."""

import pytest

from experiments.publish import GENERATED, RESULTS, publish
from experiments.store import Store

PUBLISHED = sorted(path.stem for path in RESULTS.glob("*.sqlite"))
TABLES = (".rst", ".csv")


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    """A folder with all that the pages include, made anew."""
    folder = tmp_path_factory.mktemp("generated")
    publish(PUBLISHED, folder=folder)
    return folder


def test_the_pages_tables_are_rebuilt_from_the_published_runs(rebuilt):
    def files(folder, kinds):
        paths = (path for path in folder.rglob("*") if path.suffix in kinds)
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths}

    assert files(rebuilt, TABLES) == files(GENERATED, TABLES) != {}
    assert files(rebuilt, (".svg",)).keys() == files(GENERATED, (".svg",)).keys()


def test_the_pages_include_all_that_is_published():
    included = " ".join(path.read_text(encoding="utf-8") for path in GENERATED.parent.glob("*.rst"))
    for path in GENERATED.rglob("*"):
        if path.suffix in (".rst", ".svg"):
            assert f"generated/{path.relative_to(GENERATED)}" in included, path


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_store_is_one_small_file_with_its_origin(name):
    path = RESULTS / f"{name}.sqlite"
    assert path.stat().st_size < 5_000_000
    assert path.read_bytes()[18:20] == b"\x01\x01"  # no write-ahead log
    with Store(path, read_only=True) as store:
        runs = store.runs().values()
    for run in runs:
        assert run.finished
        assert len(run.checksum) == 64
        assert {"python", "bgn", "numpy", "scikit-learn"} <= run.versions.keys()
