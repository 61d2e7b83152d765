"""What the README points to is there, and the demo runs; its code is tested with all of the documentation's."""

import html
import io
import re
import runpy
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from bgn.datasets.build import SPECS
from bgn.datasets.fetch import shipped

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)]+)\)", README))
def test_links_have_targets(target):
    assert (ROOT / target).exists()


@pytest.mark.parametrize("target", re.findall(r"(?:^|`)make (\w+)", README, flags=re.MULTILINE))
def test_make_targets_exist(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What the demo prints on a machine without datasets and network, and where it was run."""
    pytest.importorskip("jinja2")
    pytest.importorskip("pandas")
    folder, printed = tmp_path_factory.mktemp("demo"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.delenv("BGN_DATA", raising=False)
        patch.setenv("BGN_CACHE", str(folder / "cache"))
        patch.setattr("urllib.request.urlopen", None)
        patch.chdir(folder)
        runpy.run_path(str(ROOT / "examples" / "demo.py"))
    return printed.getvalue(), folder


@pytest.mark.exhaustive
def test_the_demo_is_ahead_of_a_tree_and_a_linear_model_of_its_size(demo):
    printed, _ = demo
    rows = re.findall(r"^    (\S.*?)  +([\d.]+) ± ([\d.]+)$", printed, flags=re.MULTILINE)
    (ours, deviation), tree, line, _, boosted = ((float(mean), float(deviation)) for _, mean, deviation in rows)
    assert [name.partition(",")[0] for name, *_ in rows] == ["bgn", "tree", *2 * ["linear model"], "gradient boosting"]
    for error, other_deviation in (tree, line):
        assert error - ours > 3 * (deviation + other_deviation)
    assert boosted[0] < ours  # which the last sentence says
    assert printed.rstrip().splitlines()[-1].startswith("Do not use bgn where")


def test_the_demo_counts_what_a_reader_reads(demo):
    printed, _ = demo
    rules = re.findall(r"\[(.*)\]", printed.partition("How far off")[0])
    texts = [text for rule in rules for text in rule.replace("not in", "in").split()]
    comparisons = sum(text in (">=", "<", "=", "in") for text in texts)
    assert f"bgn, {len(rules)} rules, {comparisons} comparisons" in printed
    assert len(rules) >= 5
    (splits,) = re.findall(r"tree, (\d+) splits", printed)
    assert comparisons <= int(splits) <= 12
    assert "(none seen)" not in printed
    assert "(all seen)" not in printed


def test_the_demo_opens_the_report_of_the_rules_it_prints(demo):
    printed, folder = demo
    assert f"Open {folder.resolve() / 'report.html'} in a browser" in printed
    page = html.unescape(re.sub("<[^>]*>", "", (folder / "report.html").read_text(encoding="utf-8")))
    for rule in re.findall(r"\[(.*)\]", printed.partition("How far off")[0]):
        assert rule.replace(">=", "≥") in page


def test_the_front_figure_is_drawn_from_the_published_runs(tmp_path):
    pytest.importorskip("matplotlib")
    from experiments.cite import number
    from experiments.claims import DRAWN

    script = runpy.run_path(str(ROOT / "examples" / "front_figure.py"))
    errors = script["errors"]()
    drawn = ("BGN, our defaults, columns counted", *DRAWN)
    labels = dict(zip(("BGN", "FIGS", "tree", "linear (Lasso)"), drawn, strict=True))
    for table, families in errors.items():
        for name, (means, deviations) in families.items():
            published = [number(f"full/peers-equal-{k}", labels[name], table) for k in (5, 10, 20, 40)]
            assert means == pytest.approx(published, rel=1e-9), (table, name)
            assert all(deviation >= 0.0 for deviation in deviations)
    script["draw"](tmp_path / "front.svg", dark=False)
    assert (tmp_path / "front.svg").read_text().count('<g id="axes_') == len(errors) == 4


@pytest.mark.parametrize("name", ["front.svg", "front-dark.svg", "front-narrow.svg", "front-narrow-dark.svg"])
def test_the_front_figures_that_are_kept_are_those_of_today(name, tmp_path):
    """The lines of the figure are where today's runs put them; fonts may differ from machine to machine."""
    pytest.importorskip("matplotlib")
    script = runpy.run_path(str(ROOT / "examples" / "front_figure.py"))
    script["draw"](tmp_path / name, dark="dark" in name, narrow="narrow" in name)
    kept, drawn = ((folder / name).read_text() for folder in (ROOT / "docs", tmp_path))
    colors = [re.findall(r"stroke: (#[0-9a-f]{6})", text) for text in (kept, drawn)]
    assert colors[0] == colors[1]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("plot_*.py")), ids=lambda path: path.stem)
def test_every_example_draws_something_from_data_that_are_there(path):
    """A page of the gallery without a figure has a placeholder, and one that needs a download is not run."""
    code = path.read_text(encoding="utf-8")
    assert re.search(r"bgn\.plots\.|plt\.(subplots|figure)", code)
    for name in re.findall(r"datasets\.load\(\"(\w+)", code):
        source = SPECS[name].source
        assert source is None or shipped(source), name
