"""The terms are the network, and every way of writing them is safe to paste."""

from __future__ import annotations

import html.parser
import re
import shutil
import subprocess
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn.export.condition import describe
from bgn.export.numbers import alike, number
from bgn.model.readings import Case, Cases, Choice, Count
from bgn.model.schema import Column, Schema
from bgn.text import quote_name

WINTER = Column("is it winter?", category_of=("season", "winter"))
SPRING = Column("is it spring?", category_of=("season", "spring"))
NASTY = [
    "<script>alert(1)</script>",
    "quote \" and ' and `tick`",
    "100 % of_it #1 & $2^{3}~ \\frac{1}{0}",
    "Größe in µm",
    "x" * 200,
    "a|b\nc\td",
]


def grown_like(rng: np.random.Generator, rows: np.ndarray, sizes: tuple[int, ...], most: int) -> bgn.Network:
    """A random network as growth leaves them: leading weight +-1, thresholds on or between projections."""
    layers, inputs = [], rows
    for size in sizes:
        weights = np.zeros((size, inputs.shape[1]))
        for row in weights:
            columns = rng.choice(inputs.shape[1], size=min(rng.integers(1, most + 1), inputs.shape[1]), replace=False)
            row[columns] = rng.uniform(-1, 1, len(columns))
            row[columns[0]] = rng.choice([-1.0, 1.0])
        projections = bgn.Layer(weights, np.zeros(size)).project(inputs)
        layer = bgn.Layer(weights, -projections[rng.integers(len(rows), size=size), np.arange(size)])
        layers.append(layer)
        inputs = layer.fire(inputs)
    return bgn.Network.of_layers(layers, rng.normal(size=sizes[-1]), rng.normal())


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(0, 12), most=st.integers(1, 4))
def test_one_layer_terms_are_the_network_on_thresholds_too(seed: int, size: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, size=(40, 4)) / rng.choice([1.0, 3.0, 7.0])
    network = grown_like(rng, rows, (size,), most)
    terms = bgn.as_terms(network)
    np.testing.assert_allclose(terms.evaluate(rows), network.predict(rows), rtol=1e-12, atol=1e-12)
    weights = [term.weight for term in terms.rules]
    assert weights == sorted(weights, reverse=True)
    assert all(weight > 0 for weight in weights)
    assert all(1.0 in term.condition.coefficients for term in terms.rules)
    assert network.predict(rows).min() >= float(terms.intercept[0]) - 1e-12


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_deep_terms_are_the_network(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 3))
    network = grown_like(rng, rows, (5, 4, 3), 2)
    # Thresholds above the first layer go between the few values a projection takes, as growth puts them.
    layers = [network.layers[0]]
    for layer in network.layers[1:]:
        values = layer.project(np.array(np.meshgrid(*[[-1.0, 1.0]] * layer.n_inputs)).reshape(layer.n_inputs, -1).T)
        cuts = [-np.median(np.unique(column)) + 1e-3 for column in values.T]
        layers.append(bgn.Layer(layer.weights, cuts))
    network = bgn.Network.of_layers(layers, network.output_weights, network.base)
    terms = bgn.as_terms(network)
    np.testing.assert_allclose(terms.evaluate(rows), network.predict(rows), rtol=1e-12, atol=1e-12)
    text = bgn.equation(network)
    used = {int(number) for number in re.findall(r"\bh(\d+)\b", text.split("prediction")[0])}
    assert used == set(range(1, len(used) + 1))


def test_constant_rules_go_into_the_intercept() -> None:
    network = bgn.Network.of_layers([bgn.Layer([[0.0], [0.0], [1.0]], [1.0, -1.0, 0.0])], [1.0, 4.0, 0.0], 10.0)
    terms = bgn.as_terms(network)
    assert (terms.intercept, terms.rules) == ((7.0,), ())
    assert bgn.equation(network) == "prediction = 7"
    np.testing.assert_array_equal(terms.evaluate([[0.0]]), network.predict([[0.0]]))


def test_relations_keep_the_row_on_the_threshold() -> None:
    layer = bgn.Layer([[1.0], [1.0], [-1.0], [-1.0]], [-5.0, -5.0, 5.0, 5.0])
    network = bgn.Network.of_layers([layer], [4.0, -3.0, 2.0, -1.0], 0.0, ["x"])
    terms = bgn.as_terms(network)
    assert [term.condition.relation for term in terms.rules] == [">=", "<", "<=", ">"]
    rows = [[np.nextafter(5, 0)], [5.0], [np.nextafter(5, 9)]]
    np.testing.assert_array_equal(terms.evaluate(rows), network.predict(rows))


def test_two_answers_of_a_layer_read_as_logic() -> None:
    first = bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-1.0, -2.0])
    second = bgn.Layer([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0], [0.0, -1.0], [1.0, 0.1]], [-1.0, 1.0, -1.0, 0.0, 0.0])
    terms = bgn.as_terms(bgn.Network.of_layers([first, second], [5.0, 4.0, 3.0, 2.0, 1.0], 0.0))
    assert [describe(term.condition, terms) for term in terms.rules] == [
        "h1 and h2",
        "h1 or h2",
        "h1 and not h2",
        "not h2",
        "h1",
    ]


@pytest.mark.parametrize(
    ("weight", "bias", "expected"),
    [
        (1.0, -0.5, "season = winter"),
        (1.0, -1.0, "season = winter"),
        (-1.0, 0.5, "season is not winter"),
        (1.0, -1.5, "never"),
        (1.0, 0.0, "always"),
    ],
)
def test_one_hot_columns_read_as_categories(weight: float, bias: float, expected: str) -> None:
    network = bgn.Network.of_layers([bgn.Layer([[weight]], [bias])], [1.0], 0.0, schema=Schema((WINTER,)))
    terms = bgn.as_terms(network)
    assert describe(terms.rules[0].condition, terms) == expected


def test_a_name_with_an_equals_sign_is_just_a_name() -> None:
    network = bgn.Network.of_layers([bgn.Layer([[1.0]], [-0.5])], [1.0], 0.0, ["season = winter"])
    assert bgn.equation(network).endswith('["season = winter" >= 0.5]')
    assert bgn.equation(network.changed(schema=Schema((WINTER,)))).endswith("[season = winter]")


def test_a_category_moves_the_threshold_of_a_number() -> None:
    schema = Schema((WINTER, Column("temp")))
    network = bgn.Network.of_layers([bgn.Layer([[-3.0, 1.0]], [-0.25])], [1.0], 0.0, schema=schema)
    text = bgn.equation(network, units={"temp": "°C"})
    assert "[temp >= 3.25 °C, or temp >= 0.25 °C and season is not winter]" in text


HOUR, WORK, REST = (
    Column("hr"),
    Column("workingday", whole=True, seen=(0.0, 1.0)),
    Column("holiday", whole=True, seen=(0.0, 1.0)),
)


@pytest.mark.parametrize(
    ("columns", "weights", "threshold", "expected"),
    [
        ((HOUR, WORK), [1.0, -5.5], 10.25, "hr >= 15.75, or hr >= 10.25 and workingday = 0"),
        ((HOUR, WORK), [-1.0, -5.5], 10.0, "hr <= -15.5, or hr <= -10 and workingday = 0"),
        ((HOUR, WORK), [0.3, -5.5], 10.0, "0.3 hr - 5.5 workingday >= 10"),
        ((replace(HOUR, whole=True), WORK), [0.3, -1.0], 3.1, "hr >= 14, or hr >= 11 and workingday = 0"),
        ((replace(HOUR, whole=True), WORK), [1.0, -0.25], 3.5, "hr >= 4"),
        ((HOUR, WINTER), [1.0, -2.0], 5.0, "hr >= 7, or hr >= 5 and season is not winter"),
        ((HOUR, WORK, REST), [1.0, -1.0, -1.0], 5.0,
         "hr >= 7, or hr >= 6 and (not both of workingday, holiday), "
         "or hr >= 5 and (neither of workingday, holiday)"),
        ((replace(HOUR, whole=True),), [1.0], 3.5, "hr >= 4"),
        ((replace(HOUR, whole=True),), [-1.0], -3.5, "hr <= 3"),
        ((WORK,), [1.0], 0.5, "workingday = 1"),
        ((WORK,), [-1.0], -0.5, "workingday = 0"),
        ((WORK, REST), [1.0, 1.0], 0.5, "either of workingday, holiday"),
        ((WORK, REST), [1.0, 1.0], 1.5, "both of workingday, holiday"),
        ((WORK, REST), [-1.0, -1.0], -0.5, "neither of workingday, holiday"),
        ((WORK, REST), [-1.0, -1.0], -1.5, "not both of workingday, holiday"),
        ((WORK, REST), [1.0, -1.0], 0.5, "workingday = 1 and holiday = 0"),
        ((WORK, REST), [1.0, -1.0], -0.5, "workingday = 1 or holiday = 0"),
        ((WORK, REST, replace(WORK, name="c")), [1.0, 1.0, 1.0], 2.0, "at least 2 of workingday, holiday, c"),
        ((WORK, REST, replace(WORK, name="c")), [-1.0, -1.0, -1.0], -1.0, "at most 1 of workingday, holiday, c"),
        ((WINTER, SPRING), [1.0, 1.0], 0.5, "season in {winter, spring}"),
        ((WINTER, SPRING), [-1.0, -1.0], -0.5, "season not in {winter, spring}"),
    ],
)  # fmt: skip
def test_conditions_read_as_and_and_or(columns, weights, threshold, expected) -> None:
    network = bgn.Network.of_layers([bgn.Layer([weights], [-threshold])], [1.0], 0.0, schema=Schema(columns))
    assert bgn.equation(network).endswith(f"[{expected}]")


def test_cases_are_data() -> None:
    network = bgn.Network.of_layers([bgn.Layer([[1.0, -5.5]], [-10.25])], [-1.0], 0.0, schema=Schema((HOUR, WORK)))
    (term,) = bgn.as_terms(network).rules
    first, other = Case("<", Decimal("10.25")), Case("<", Decimal("15.75"), Count(1, (Choice(1, (1,)),)))
    assert term.condition.reading == Cases(0, (first, other))
    # Beyond 0 and 1 the sum decides.
    rows = [[12.0, 0.5], [13.0, 0.5], [20.0, 2.0]]
    np.testing.assert_array_equal(bgn.as_terms(network).evaluate(rows), network.predict(rows))


def test_fewer_digits_say_what_they_cost() -> None:
    layer = bgn.Layer([[1.0], [1.0]], [-65.46, -20.0])
    network = bgn.Network.of_layers([layer], [0.635, -0.135], 2.275, ["income"])
    rows = np.array([[65.46], [65.47], [10.0], [65.0]])
    lines = bgn.equation(network, digits=2).splitlines()
    assert lines[:2] == ["prediction = 1.5", "           + 1.3 [income >= 65]"]
    assert (
        lines[-1]
        == "Rounded to 2 digits: sums differ by up to 0.065, and rows near a threshold may be answered otherwise."
    )
    assert bgn.equation(network, digits=2, rows=rows).splitlines()[-1] == (
        "Rounded to 2 digits: predictions differ by up to 1.3 on 4 rows."
    )
    assert bgn.equation(network, digits=9) == bgn.equation(network)
    for form in ("latex", "markdown", "html"):
        assert "Rounded to 2 digits" in bgn.equation(network, form, digits=2)


def test_units_that_are_multiples_are_multiplied() -> None:
    network = bgn.Network.of_layers([bgn.Layer([[1.0]], [-62.3])], [1.0], 0.0, ["income"], "value")
    text = bgn.equation(network, units={"income": "1000 USD", "value": "100000 USD"})
    assert text.splitlines() == [
        "value (100000 USD) = -1",
        " " * 19 + "+  2 [income >= 62.3 \N{MULTIPLICATION SIGN} 1000 USD]",
    ]


def nasty_network(names: list[str]) -> bgn.Network:
    size = len(names)
    layer = bgn.Layer(np.eye(size) + np.eye(size, k=1) * 0.5, -np.arange(1.0, size + 1))
    return bgn.Network.of_layers([layer], np.arange(1.0, size + 1), 3.0, names, names[0])


def test_html_lets_no_name_through() -> None:
    seen: list[str] = []
    text: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            seen.append(tag)

        def handle_data(self, data: str) -> None:
            text.append(data)

    Reader().feed(bgn.equation(nasty_network(NASTY), format="html"))
    assert set(seen) == {"table", "caption", "tr", "td", "b"}
    for name in NASTY:
        assert quote_name(name) in text


def test_deep_html_names_the_layers_below() -> None:
    deep = bgn.Network.of_layers([bgn.Layer([[1.0]], [-3.0]), bgn.Layer([[-1.0]], [0.0])], [1.0], 0.0, ["x"])
    written = bgn.equation(deep, format="html")
    assert "<b>h1</b> =" in written
    assert "if not <b>h1</b>" in written


def test_markdown_keeps_its_table() -> None:
    lines = bgn.equation(nasty_network(NASTY), format="markdown").splitlines()
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in lines)
    assert not any("<" in line for line in lines)


def test_text_has_one_line_per_term() -> None:
    assert len(bgn.equation(nasty_network(NASTY)).splitlines()) == 1 + len(NASTY)


def test_latex_compiles(tmp_path: object) -> None:
    engine = shutil.which("lualatex") or shutil.which("pdflatex")
    if engine is None:
        pytest.skip("no TeX on this machine: LaTeX was not compiled")
    deep = bgn.Network.of_layers([bgn.Layer([[1.0]], [-1e12]), bgn.Layer([[1.0]], [0.5])], [1.0], 0.0, ["x_1 & 2"])
    body = bgn.equation(nasty_network(NASTY), format="latex") + bgn.equation(
        deep, format="latex", units={"x_1 & 2": "10 %"}
    )
    source = (
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{amsmath}\\begin{document}"
        + body
        + "\\end{document}"
    )
    (tmp_path / "equation.tex").write_text(source, encoding="utf-8")
    done = subprocess.run(
        [engine, "-halt-on-error", "-interaction=nonstopmode", "equation.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_latex_is_escaped() -> None:
    written = bgn.equation(nasty_network(NASTY), format="latex")
    assert r"\%" in written
    assert not re.search(r"(?<!\\)[%#$]", written)
    assert written.count("{") - written.count("\\{") == written.count("}") - written.count("\\}")


def test_numbers() -> None:
    assert number(-0.0001234567, 3) == "-0.000123"
    assert number(1996.5, 3) == "1996.5"
    assert number(0.0, 3) == "0"
    assert number(-1e-300, 2) == "-1.0e-300"
    assert alike([1.0, 1.27, 0.6], [1.27, 0.6], 3) == ["1.00", "1.27", "0.60"]
    assert alike([12.3, 210.0, 0.04], [210.0, 0.04], 3) == ["12.30", "210.00", "0.04"]
    assert alike([1.5e-9], [1.5e-9], 2) == ["1.5e-09"]


@pytest.mark.parametrize(("name", "value"), [("format", "pdf"), ("digits", 0), ("digits", 2.5), ("digits", True)])
def test_wrong_arguments_are_named(name: str, value: object) -> None:
    network = bgn.Network.of_layers([bgn.Layer([[1.0]], [0.0])], [1.0], 0.0)
    with pytest.raises(ValueError, match=name):
        bgn.equation(network, **{name: value})


def test_a_model_is_a_network_or_has_one() -> None:
    with pytest.raises(TypeError, match="got int"):
        bgn.as_terms(3)
