"""Names, units, targets, words and paths that a terminal would obey reach nobody: not the shell, not what it writes."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network, plots
from bgn.show.drawing import draw
from bgn.text import clean, escaped, message, visible
from tests.command import call
from tests.raw_columns import category, number, prepared

mpl.use("Agg")

ODD = "\x1b[31mx\x07\r\n\t\x7f\x9b\u00ad\u061c\u200b\u200d\u202e\u2028\u2029\u2066\ufeff\U000e0041\ue000\u3164\u00a0end"
NAMES = [f"{letter}{ODD}" for letter in "ab"]
CATEGORIES = (f"u{ODD}", f"v{ODD}")


def assert_harmless(text: str) -> None:
    wrong = {c for c in text if c != "\n" and (unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))}
    assert not wrong, (wrong, text[:500])


@settings(max_examples=50)
@given(st.text(st.characters()))
@example(ODD)
def test_cleaned_text_is_harmless_and_means_the_same(text: str) -> None:
    for written in (clean(text), visible(text), message(text), escaped(json.dumps(text, ensure_ascii=False))):
        assert_harmless(written)
    assert "\n" not in clean(text) + message(text)
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text
    assert clean(clean(text)) == clean(text)


@settings(max_examples=20)
@given(st.text(min_size=1), st.integers(1, 10**5))
def test_a_message_is_bounded(text: str, times: int) -> None:
    assert len(message(text * times)) <= 800
    assert message(f"there is no column {text * times!r}; rename one.").endswith("rename one.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose every string is hostile, and rows for it."""
    folder = tmp_path_factory.mktemp("hostile") / f"f{ODD.replace('/', '')}"
    folder.mkdir()
    generator = np.random.default_rng(0)
    rows = pd.DataFrame({NAMES[0]: generator.normal(size=40), NAMES[1]: generator.choice(CATEGORIES, 40)})
    rows[f"y{ODD}"] = 3.0 * (rows[NAMES[0]] > 0) + 1.0 * (rows[NAMES[1]] == CATEGORIES[0])
    rows.to_csv(folder / "t.csv", index=False)
    preparation = prepared(number(NAMES[0]), category(NAMES[1], CATEGORIES))
    layer = Layer([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.5, 0.0]], [0.0, -0.5, -0.25])
    network = Network.of_layers([layer], [1.5, 0.5, 0.1], 2.0, preparation.schema.names, f"y{ODD}")
    units = {NAMES[0]: f"km{ODD}", f"y{ODD}": f"9{ODD}"}
    bgn.save(network, folder / "m.json", preparation=preparation, units=units)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "t.csv", "-t", f"y{ODD}", "--max-terms", 2, "--unit", f"y{ODD}=km{ODD}", "-o", "fitted.json"),
        ("fit", "t.csv", "-t", f"y{ODD}", "--max-terms", 1, "--json"),
        ("fit", "t.csv", "-t", f"z{ODD}"),
        ("fit", "t.csv"),
        ("fit", "none.csv"),
        ("fit", "t.csv", f"--x{ODD}"),
        (f"x{ODD}",),
        ("predict", "m.json", "t.csv"),
        ("predict", "m.json", "none.csv"),
        ("predict", "t.csv", "t.csv"),
        *(("show", "m.json", *form) for form in ((), ("--latex",), ("--markdown",), ("--html",), ("--json",))),
        ("path", "m.json"),
        ("path", "fitted.json"),
        *(("explain", "m.json", "t.csv", *form) for form in ((), ("--row", 1), ("--json",), ("--row", 99))),
        *(("effect", "m.json", "t.csv", name, *form) for name in (NAMES[0], "c") for form in ((), ("--json",))),
        *(("margin", "m.json", "t.csv", *form) for form in ((), ("--row", 1), ("--json",))),
        *(("counterfactual", "m.json", "t.csv", "--at-least", 3, *form) for form in ((), ("--json",))),
        ("counterfactual", "m.json", "t.csv", "--at-least", 3, "--immutable", f"x{ODD}"),
        ("counterfactual", "m.json", "t.csv", "--at-least", 3, "--constraint", f"x{ODD}"),
        ("counterfactual", "m.json", "t.csv", "--at-least", f"x{ODD}"),
        *(("simplify", "m.json", "t.csv", *form) for form in ((), ("--json",), ("--points", 5))),
        *(("simplify", "m.json", "t.csv", "--points", 5, "--format", form) for form in ("latex", "markdown", "html")),
        ("report", "m.json", "t.csv", "-o", "r.html", "--title", f"x{ODD}"),
    ],
)  # fmt: skip
def test_no_command_prints_what_a_terminal_obeys(folder: Path, command: tuple[object, ...]) -> None:
    from click.testing import CliRunner

    from bgn.cli.app import bgn as program

    files = ("t.csv", "m.json", "none.csv", "fitted.json", "r.html")
    done = CliRunner().invoke(program, [str(folder / str(part)) if part in files else str(part) for part in command])
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert_harmless(done.stdout + done.stderr)


def test_no_text_that_is_written_holds_what_a_terminal_obeys(folder: Path) -> None:
    network = bgn.load(folder / "m.json")
    units = {NAMES[0]: f"km{ODD}", f"y{ODD}": f"{ODD}"}
    for form in ("text", "latex", "markdown", "html"):
        assert_harmless(bgn.equation(network, format=form, units=units))
        assert bgn.equation(network, units=units).count("\n") == 3
    assert_harmless(repr(network) + network._repr_html_())
    assert_harmless("".join(box.label for box in draw(network).boxes))
    call("report", folder / "m.json", folder / "t.csv", "-o", folder / "r.html")
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert_harmless(page)
    blob = page.split('type="application/json"')[1].split(">", 1)[1].split("</script>")[0]
    shown = json.loads(blob)
    assert json.dumps(shown["editing"].pop("file")).isascii()  # the model as a file, escaped
    assert [text for text in strings(shown) if text.strip() and clean(text) != text.strip()] == []


def strings(value: object) -> list[str]:
    """Every string in a plain value."""
    if isinstance(value, str):
        return [value]
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for child in children for text in strings(child)]


def test_no_figure_holds_what_a_terminal_obeys(folder: Path) -> None:
    network = bgn.load(folder / "m.json")
    X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [-1.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
    explanation = bgn.shap_values(network, X, background=X)
    for ax in (
        plots.network(network),
        plots.importance(network, X),
        plots.effect(network, 0, X),
        plots.waterfall(explanation, 0),
        plots.summary(explanation),
        plots.regions(network, X, features=[0, 1]),
    ):
        texts = ax.figure.findobj(mpl.text.Text)
        assert_harmless("".join(text.get_text() for text in texts))
        mpl.pyplot.close(ax.figure)
