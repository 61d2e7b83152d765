"""What sentences say of measurements is what the published runs say."""

import re
from pathlib import Path

import pytest

from experiments import cite, tables
from experiments.claims import CLAIMS, share, span
from experiments.published import RESULTS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted((ROOT / "docs").rglob("*.rst"))
# Pages that tell settings, decimals among them, before what they find.
PROTOCOLS = {"peers", "classes", "robustness"}
MARK = re.compile(r"<!--([\w-]+)-->")
# Figures that only a measurement gives: percentages and decimals.
FIGURE = re.compile(r"\d[\d,.]* %|(?<![\w.=])\d+\.\d+(?![\w.])")


@pytest.mark.parametrize("mark", MARK.findall(README))
def test_the_readme_says_what_the_runs_say(mark):
    said = cite.cited(mark)
    before = " ".join(README.partition(f"<!--{mark}-->")[0].split())
    assert before.endswith(said), f"the runs say {said!r}; the README: ...{before[-60:]!r}"


def test_the_readme_compares_in_no_other_figures():
    table = [line for line in README.splitlines() if line.startswith("| ")]
    for line in table:
        for mark in MARK.findall(line):
            line = line.replace(f"{cite.cited(mark)}<!--{mark}-->", "")
        figures = FIGURE.findall(re.sub(r"`[^`]*`|\([^)]*\)", "", line))
        assert not figures, f"{figures} in {line!r}: name a claim of experiments/claims.py behind each"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_pages_cite_is_there(page):
    studies = {path.stem for path in RESULTS.glob("*.jsonl")}
    for address in re.findall(r":measured:`([^`]+)`", page.read_text(encoding="utf-8")):
        name = address.partition("/")[2].partition(" ")[0].partition("-")[0] or address.partition("-")[0]
        if name in studies or address.startswith("benchmarks/"):  # others are not published yet
            assert cite.cited(" ".join(address.split())) not in ("", tables.MISSING, tables.FAILED), address


def prose(page):
    """Return a page without what is cited, code, directives and tables."""
    text = re.sub(r"(?s):\w+:`[^`]*`|``.*?``", "", page.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if not re.match(r" *(\.\.|:)", line)]
    return "\n".join(line for line in lines if not re.match(r"[=\w ]+  +\S", line))


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "results").glob("*.rst")), ids=lambda page: page.stem)
def test_pages_of_results_say_no_figure_that_is_not_cited(page):
    text = prose(page)
    if page.stem in PROTOCOLS:
        text = text.partition("What it says\n")[2]
    assert FIGURE.findall(text) == []


# What a figure that a benchmark printed looks like.
PRINTED = re.compile(r"\d[\d,.]*\s(?:%|s|ms|GiB|seconds|times)(?!\w)")


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.rst")), ids=lambda page: page.stem)
def test_what_benchmarks_printed_is_cited(page):
    passages = page.read_text(encoding="utf-8").split("\n\n")
    citing = [k for k, text in enumerate(passages) if re.search(r"\bbenchmarks[./]", text)]
    # What follows a passage that names a benchmark and ends with a colon is a list or a table of its figures.
    citing += [k + 1 for k in citing if passages[k].rstrip().endswith(":")]
    for k in citing:
        printed = PRINTED.findall(re.sub(r"(?s):measured:`[^`]*`( %)?|``.*?``", "", passages[k]))
        assert not printed, f"{printed} in {passages[k]!r}: cite a record of benchmarks/results"


def test_figures_of_benchmarks_are_cited_from_their_records():
    assert cite.cited("benchmarks/scale_gpu | cut > cut | ms.1f") == "12.1"
    assert cite.cited("benchmarks/printed | disk > rows | ,d") == "90,909,090"
    for address, message in (
        ("benchmarks/nothing | a", "no record benchmarks/results/nothing.json; there are "),
        ("benchmarks/printed | disk > nothing", "has no 'disk > nothing': 'nothing' is not there"),
        ("benchmarks/printed | disk", "'disk', is no number"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            cite.cited(address)


def test_cells_are_cited_as_they_are_written():
    table = cite.table("reduced/trees")
    row, column = table.rows[0], table.header.index("test MSE")
    address = "reduced/trees | StatLib's columns, 3, tree | test MSE"
    assert cite.cited(address) == tables.written(row[column])
    assert cite.cited(f"{address} | .2f") == f"{row[column]:.2f}"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nothing", "no claim 'nothing'; experiments/claims.py has "),
        ("reduced/forests | a | b", "no published table 'reduced/forests'"),
        ("reduced/trees | StatLib's columns, 9 | test MSE", "has no row that begins with StatLib's columns, 9"),
        ("reduced/trees | StatLib's columns, 3, tree | R2", "has no column 'R2'; it has columns, depth, "),
        ("reduced/trees | StatLib's columns", "must be: table | first cells of the row | column | format"),
    ],
)
def test_what_cannot_be_cited_is_named(address, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        cite.cited(address)


def test_claims_read_otherwise_when_they_no_longer_hold():
    assert (share(4, 4), share(2, 2), share(3, 4)) == ("all four", "both", "three of four")
    assert (span([9.2, 36.6], unit=" %"), span([2.0, 2.2])) == ("9 to 37 %", "2")


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claim_can_be_made(name):
    assert CLAIMS[name]()
