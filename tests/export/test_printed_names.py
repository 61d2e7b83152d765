"""Names are printed so that nobody takes one for another, or for a part of an equation."""
# ruff: noqa: RUF001  (letters of other alphabets that look like ours)

from __future__ import annotations

import html.parser
import json
import unicodedata
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network, export
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from bgn.show.drawing import draw
from bgn.text import quote_category, quote_name
from tests.reference.sentence import parse

PLAIN = [
    "age", "mean concave points", "hours_per-week", "capital.gain (USD)", "Größe in µm", "température (°C)", "log10(x)",
    "is it winter?", "% of_it & 7*7", "a/b", "#1", "a|b", "x^2", "M'Bow", "Доход с кем", "年齢", "sold month",
    "sold, days since 2006-01-15", "β2-microglobulin", "3rd", "m²", "`tick`", "$",
]  # fmt: skip
HOSTILE = [
    "age\u200b", "age\u00a0", " age", "age ", "a  b", "a\tb", "a\nb", "age >= 30] + 0 [age", "2", "2 age", "-age",
    "x + y", "age - 2",
    "not age", "a and b", "a or b", "age is missing", "neither of a", "a, b", "a = 1",
    "{a}", '"age"', "(age", "age)", "\u202eega",
    "аge", "асе", "e\u0301", "\u0301e", "❤\ufe0f", "age\ufeff", "", " ", "…",
    "a ≥ 3", "＝", "at least 2 of a", "\ud800",
    "[", "]",
    "age counts as 3", "\u3000age", "\\\"",
]  # fmt: skip
PARTS = st.sampled_from([*"ab 1", "age", *HOSTILE, '"', "\\", "\\u200b", "\u0020", "é", "\u0430"])
NAMES = st.lists(PARTS, max_size=4).map("".join)
UNSEEN = [*"\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufe0f\ufe0e"]


@pytest.mark.parametrize("name", PLAIN)
def test_ordinary_names_stand_as_they_are(name: str) -> None:
    assert quote_name(name) == quote_category(name) == name


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_could_be_misread_are_json(name: str) -> None:
    assert json.loads(quote_name(name)) == name
    assert quote_name(quote_name(name)) == quote_name(name)


@pytest.mark.parametrize("category", ["2", "-2", "3 months", "not known", "(none)", "1e5"])
def test_categories_may_be_numbers(category: str) -> None:
    assert quote_category(category) == category
    assert quote_name(category).startswith('"')


def looks(written: str) -> str:
    """What is left of a text for an eye: no unseen letters, blanks alike, accents put together."""
    kept = "".join(letter for letter in written if letter not in UNSEEN and unicodedata.category(letter)[0] != "C")
    return " ".join(unicodedata.normalize("NFC", kept).translate(str.maketrans("аеос", "aeoc")).split())


@settings(max_examples=250)
@given(NAMES, NAMES)
@example("age", "age\u200b")
@example("a\\u200b", "a\u200b")
@example('"age\\u200b"', "age\u200b")
@example("é", "e\u0301")
def test_two_names_never_look_the_same(one: str, other: str) -> None:
    assume(one != other)
    for quote in (quote_name, quote_category):
        assert looks(quote(one)) != looks(quote(other))
    assert "\n" not in quote_name(one)


def hostile_network(names: list[str], categories: list[str], target: str, seed: int) -> Network:
    """Conditions on two numbers, a sum, a 0/1 column and a category, all of any name."""
    columns = [Column(name) for name in names[:2]]
    columns += [Column(name, whole=True, seen=(0.0, 1.0)) for name in names[2:4]]
    schema = Schema((*columns, Column(names[4], categories=tuple(categories))), target)
    rng = np.random.default_rng(seed)
    some = tuple((rng.random(len(categories)) < 0.5).astype(float).tolist())
    some = (1.0 - some[1], *some[1:])  # neither all nor none, which would be no condition
    conditions = [
        Oblique(Projection((0,), (1.0,)), 0.5, missing=True),
        Oblique(Projection((0, 1), (1.0, -0.3), missing_as=(1.5, 2.0)), 0.25),
        Oblique(Projection((0, 4), (1.0, (2.0, *some[1:])), missing_as=(1.0, 0.0)), 1.5),
        Oblique(Projection((2, 3), (1.0, -1.0), missing_as=(1.0, 0.0)), 0.5),
        Oblique(Projection((2, 3), (1.0, 1.0), missing_as=(0.0, 0.0)), 0.5),
        Oblique(Projection((4,), (some,)), 1.0, missing=bool(seed % 2)),
    ]
    return Network.of_layers([Layer.of(conditions, 5)], [3.0, -2.5, 2.0, 1.5, -1.0, 0.5], 10.0, schema=schema)


class Rows(html.parser.HTMLParser):
    """Counts the rows of a table, and nothing else may be there."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


def check(names: list[str], categories: list[str], target: str, seed: int) -> None:
    assume(not {*names} & {*categories})  # a person sees which of them is quoted
    model = hostile_network(names, categories, target, seed)
    text, rng = bgn.equation(model), np.random.default_rng(seed)
    raw = [
        rng.choice([-1.0, 0.5, 1.0, 3.0], 40),
        rng.choice([0.0, 2.0], 40),
        *rng.integers(0, 2, (2, 40)).astype(float),
    ]
    X = np.array([*raw, rng.choice(np.array(categories, object), 40)], dtype=object).T
    X[rng.random(X.shape) < 0.1] = None
    table = {name: np.array(list(column), float) for name, column in zip(names[:4], X.T[:4], strict=True)}
    table[names[4]] = X[:, 4]
    sentence = parse(text, names)
    assert len(sentence.lines) == 6, text
    np.testing.assert_allclose(sentence.value(table), model.predict(X), rtol=0, atol=1e-9, err_msg=text)
    assert [Decimal(coef) for coef, _ in sentence.lines] == [6, 5, 4, 3, 2, 1]
    tags = Rows(bgn.equation(model, "html")).tags
    assert set(tags) <= {"table", "caption", "tr", "td", "b", "span"}
    lines = [line for line in bgn.equation(model, "markdown").splitlines() if line.startswith("| + ")]
    assert len(lines) == 6
    latex = bgn.equation(model, "latex")
    assert latex.count(" \\cdot \\mathbf{1}") == 6
    boxes = [box.text for box in draw(model).boxes if box.kind == "feature"]
    assert len(set(map(looks, boxes))) == len(boxes)


@settings(max_examples=25)
@given(
    st.lists(NAMES, min_size=5, max_size=5, unique=True), st.lists(NAMES, min_size=2, max_size=4, unique=True), NAMES,
    st.integers(0, 99),
)  # fmt: skip
@example(["age", "age\u200b", "age >= 30] + 0 [age", "b", "c"], ["x", "x\u200b"], "y = 3\n + 2 [age >= 1]", 0)
def test_a_hostile_name_never_reads_as_more_than_a_name(
    names: list[str], categories: list[str], target: str, seed: int
) -> None:
    check(names, categories, target, seed)


@pytest.mark.exhaustive
@settings(max_examples=600)
@given(
    st.lists(NAMES, min_size=5, max_size=5, unique=True), st.lists(NAMES, min_size=2, max_size=4, unique=True), NAMES,
    st.integers(0, 99),
)  # fmt: skip
def test_no_hostile_name_of_many_reads_as_more(names: list[str], categories: list[str], target: str, seed: int) -> None:
    check(names, categories, target, seed)


def test_cards_drawings_reports_programs_and_errors_show_which_name_it_is(tmp_path) -> None:
    names = ["age", "age\u200b"]
    model = Network.of_layers([Layer([[1.0, 0.0], [0.0, 1.0]], [-2.0, -3.0])], [1.0, 2.0], 3.0, names, "y\u200b")
    rows = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    page = bgn.write_report(model, rows, model.predict(rows), tmp_path / "page.html").read_text(encoding="utf-8")
    texts = [
        *(bgn.equation(model, form).replace("\\textbackslash{}", "\\").replace("\\textquotedbl{}", '"')
          for form in ("text", "latex", "html")),
        str(bgn.scorecard(model)), " ".join(box.text for box in draw(model).boxes), repr(bgn.importance(model, rows)),
        repr(model), repr(bgn.certify(model)),
    ]  # fmt: skip
    for text in texts:
        assert "age\\u200b" in text.replace("\\\\", "\\"), text
        assert "\u200b" not in text
    assert "\u200b" not in page
    assert "age\\\\u200b" in page
    with pytest.raises(ValueError, match=r"one of age, \"age\\u200b\""):
        bgn.effect(model, "ages", rows)
    for program in (export.to_python(model), export.to_javascript(model), export.to_c(model)):
        assert not any(unicodedata.category(letter) == "Cf" for letter in program)
    assert export.to_python(model).startswith('# Predicts "y\\u200b". Written by bgn')
