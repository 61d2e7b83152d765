"""The report in a real browser: it computes, obeys the keyboard, stays at home, and looks right.

These need Playwright and Debian's Chromium (``make browser``); where either is missing they say so and are skipped.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bgn
from bgn.explain.arguments import read_codes
from bgn.export.condition import describe
from bgn.export.styles import Signs
from bgn.model.schema import Column, Schema
from bgn.persist import ModelFile
from bgn.report.facts import Facts
from bgn.serve import ModelApp
from bgn.text import quote_category
from tests.networks import NASTY, network_of, rows_for, town, town_rows
from tests.reference.explain import table_rows_of
from tests.reference.rules import cells
from tests.rule_networks import rule_network


@pytest.fixture
def opened(open_page, tmp_path):
    """Return a function that writes a report and opens it."""

    def open_report(network, rows, target, *, page_size=1100, scheme="light", **settings):
        path = bgn.write_report(network, rows, target, tmp_path / "report.html", **settings)
        return open_page(path, page_size, scheme)

    return open_report


def small(second: int = 0) -> tuple[bgn.Network, np.ndarray, np.ndarray]:
    network = network_of(["a", "b", "c", "d"], 12, second=second, target="price")
    return network, *rows_for(network, 300)


def value(page) -> float:
    return float(page.get_attribute("#prediction", "data-value"))


@pytest.mark.parametrize("second", [0, 7])
def test_the_page_predicts_as_predict_does_bit_for_bit(opened, second) -> None:
    network, rows, target = small(second)
    page = opened(network, rows, target)
    tried, _ = rows_for(network, 1000, seed=9)
    tried[:200] = np.round(tried[:200], 1)
    # On thresholds: the leading column is set so that a first-layer neuron's sum comes to its threshold.
    for i, row in enumerate(tried[200:400]):
        rule = i % network.widths[0]
        weights = network.layers[0].weights[rule]
        column = int(np.argmax(np.abs(weights) == 1.0))
        rest = network.layers[0].thresholds[rule] - (weights @ row - weights[column] * row[column])
        row[column] = rest / weights[column]
    got = page.evaluate("rows => rows.map(window.bgn.predict)", tried.tolist())
    np.testing.assert_array_equal(got, network.predict(tried))


def test_the_page_predicts_within_bounds(opened) -> None:
    network, rows, target = small()
    network = network.changed(bounds=(-0.5, 0.75))
    page = opened(network, rows, target)
    tried, _ = rows_for(network, 300, seed=9)
    got = np.array(page.evaluate("rows => rows.map(window.bgn.predict)", tried.tolist()))
    np.testing.assert_array_equal(got, network.predict(tried))
    assert (got.min(), got.max()) == (-0.5, 0.75)
    scores = page.evaluate("rows => rows.map((row) => window.bgn.score(row))", tried.tolist())
    np.testing.assert_array_equal(scores, network.raw_score(tried))
    said = "A sum below -0.5 counts as -0.5, one above 0.75 as 0.75."
    assert said.replace("-", "\N{MINUS SIGN}") in page.inner_text("#card")


def as_the_page_has_them(network: bgn.Network, rows: np.ndarray) -> list:
    """Rows as the page's script takes them: a category as the number of its level, a gap as null."""
    return [[None if item != item else item for item in row] for row in network._rows(rows).tolist()]


def test_two_hundred_rows_with_text_and_missing_values_agree_bit_for_bit(opened) -> None:
    network, rows = town(), town_rows(300)
    page = opened(network, rows, network.predict(rows) + np.linspace(-1, 1, 300))
    tried = town_rows(200, seed=5)
    got = page.evaluate("rows => rows.map(window.bgn.predict)", as_the_page_has_them(network, tried))
    np.testing.assert_array_equal(got, network.predict(tried))
    # Deeper, on the answers of these questions.
    second_layer = bgn.Layer([[1.0, 1.0, -1.0, 0, 0, 0, 0, 0], [0, 0, 0, 1.0, 0.5, 0, -1.0, 1.0]], [0.5, 0.25])
    deep = network.changed(layers=[network.layers[0], second_layer], output_weights=[2.0, -0.75])
    page = opened(deep, rows, deep.predict(rows) + np.linspace(-1, 1, 300))
    got = page.evaluate("rows => rows.map(window.bgn.predict)", as_the_page_has_them(deep, tried))
    np.testing.assert_array_equal(got, deep.predict(tried))


def on_thresholds_and_near(network: bgn.Network, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows as the network reads them, and some where a number makes a question come to its threshold, or just not."""
    result = [rows]
    for rule in network.layers[0].neurons:
        line = rule.projection
        for place, (j, factor) in enumerate(zip(line.columns, line.coefficients, strict=True)):
            if network.schema.columns[j].categories is None and factor != 0.0:
                some = rows[rng.integers(len(rows), size=3)].copy()
                some[:, j] = 0.0
                some[:, j] = ((rule.threshold - line.values(some)) / line.coefficients[place]).round(12)
                result += [
                    np.nextafter(some, np.where(np.arange(len(some.T)) == j, way * np.inf, some)) for way in (-1, 1)
                ]
                result.append(some)
    return np.vstack(result)


def grown() -> dict[str, tuple[bgn.BGNRegressor, object, np.ndarray]]:
    """Models of every kind, with the tables they were fitted to."""
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=(400, 4)).round(2)
    y = 3.0 * (numbers[:, 0] + numbers[:, 1] > 0.3) + 2.0 * (numbers[:, 2] > -0.2) + rng.normal(0, 0.2, 400)
    names = pd.DataFrame(numbers, columns=list("abcd")).assign(city=rng.choice(["Lille", "Nice", "Oslo"], 400))
    names["sold"] = pd.Timestamp("2006-01-15") + pd.to_timedelta(rng.integers(0, 3000, 400), unit="D")
    names.loc[rng.random(400) < 0.1, ["a", "sold"]] = None
    late = 2.0 * (names.sold >= "2011-03-05") + (names.city == "Nice")
    settings = {"max_terms": 8, "random_state": 0, "cv": None}
    return {
        "numbers": (bgn.BGNRegressor(**settings).fit(numbers, y), numbers, y),
        "deep": (bgn.BGNRegressor(max_layers=2, **settings).fit(numbers, y), numbers, y),
        "paper": (bgn.BGNRegressor.as_in_paper(max_layers=1, **settings).fit(numbers, y), numbers, y),
        "words, dates and gaps": (bgn.BGNRegressor(**settings).fit(names, y + late), names, y + late),
    }


def test_two_hundred_rows_of_every_kind_agree_bit_for_bit(opened) -> None:
    """In one page each: rows of the table, rows on thresholds, and one float beside."""
    for kind, (model, table, y) in grown().items():
        network, coded = model.network_, read_codes(model.network_)
        rows = on_thresholds_and_near(network, network._rows(table)[:200], np.random.default_rng(0))
        assert len(rows) > 230, kind
        page = opened(model, table, y)
        sent = [[None if item != item else item for item in row] for row in rows.tolist()]
        np.testing.assert_array_equal(
            page.evaluate("rows => rows.map(window.bgn.predict)", sent), coded.predict(rows), err_msg=kind
        )
        np.testing.assert_array_equal(
            page.evaluate("rows => rows.map(window.bgn.answers)", sent), coded.hidden(rows), err_msg=kind
        )


def test_menus_and_switches_set_categories_and_missing_values(opened) -> None:
    network, rows = town(), town_rows(300)
    page = opened(network, rows, network.predict(rows) + np.linspace(-1, 1, 300))
    names = [text.split("\n")[0] for text in page.locator(".control > label").all_inner_texts()]
    assert set(names) == set(network.names)
    place = {name: i for i, name in enumerate(names)}
    assert page.locator(f"#c{place['city']} option").all_inner_texts() == ["Lille", "Nice", "Rome", "Oslo", "missing"]
    assert page.locator(f"#c{place['owner']} option").all_inner_texts() == ["False", "True"]
    assert page.locator(".control input[type=checkbox]").count() == 2
    page.select_option(f"#c{place['city']}", label="Nice")
    page.select_option(f"#c{place['owner']}", label="True")
    page.select_option(f"#c{place['grade']}", label="low")
    page.fill(f"#c{place['rooms']}", "3")
    page.fill(f"#c{place['age']}", "1.25")
    assert value(page) == network.predict([[1.25, "Nice", 3.0, True, "low"]])[0]
    page.check(f"#m{place['age']}")
    assert page.is_disabled(f"#c{place['age']}")
    assert value(page) == network.predict([[None, "Nice", 3.0, True, "low"]])[0]
    page.select_option(f"#c{place['city']}", label="missing")
    assert value(page) == network.predict([[None, None, 3.0, True, "low"]])[0]
    page.select_option("#reach-way", label="at least")
    page.fill("#reach-value", str(value(page) + 1.0))
    assert "missing" not in page.inner_text("#reach-list").split("to")[-1]
    page.uncheck(f"#m{place['age']}")
    assert page.input_value(f"#c{place['age']}") != ""
    assert "A category never seen counts as missing." in page.inner_text("#card")


def test_the_page_answers_and_writes_as_the_equation_does(opened) -> None:
    flag = {"whole": True, "seen": (0.0, 1.0)}
    columns = (Column("temp"), Column("workingday", **flag), Column("holiday", **flag), Column("humidity"))
    weights = [[1, -5.6, 0, 0], [-1, 0, 3.25, 0], [0, 1, 1, 0], [1, 0, 0, -0.21]]
    layer = bgn.Layer(weights, [-10.2, 4.4, -0.5, -3.4])
    schema = Schema(columns, target="rentals")
    network = bgn.Network.of_layers([layer], [35.5, -20.25, 14.1, 30.0], 190.3, schema=schema)
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(12, 8, 200).round(1), *rng.integers(0, 2, (2, 200)), rng.integers(20, 99, 200)])
    page = opened(network, table, network.predict(table) + rng.normal(size=200))
    terms = bgn.as_terms(network)
    ends = [float(case.threshold) for term in terms.rules if term.condition.reading and term.condition.leading == 0
            for case in term.condition.reading.cases]  # fmt: skip
    others = [item for end in ends for item in (np.nextafter(end, -np.inf), end, np.nextafter(end, np.inf))]
    rows = np.vstack([table, *([[value, a, b, 50.0]] for value in others for a in (0.0, 1.0) for b in (0.0, 1.0))])
    got = page.evaluate("rows => rows.map(window.bgn.answers)", rows.tolist())
    np.testing.assert_array_equal(got, network.hidden(rows))
    predicted = page.evaluate("rows => rows.map(window.bgn.predict)", rows.tolist())
    np.testing.assert_array_equal(predicted, terms.evaluate(rows))
    lines = page.locator("#card .equation tbody tr").all_inner_texts()
    for line, term in zip(lines[1:], terms.rules, strict=True):
        assert describe(term.condition, terms, Signs()) in line
        assert f"+{term.coef[0]}" in line.replace("\t", " ")
    shown = float(page.inner_text("#prediction").replace("\N{MINUS SIGN}", "-"))
    assert shown == value(page)


def test_extreme_numbers_agree_too(opened) -> None:
    layer = bgn.Layer([[1.0, 1e-300], [1e300, 0.1], [0.0, 0.0], [-1.0, 0.0]], [-1e-308, -0.3, 0.0, 0.0])
    network = bgn.Network.of_layers([layer], [0.1, 0.2, 0.3, -0.7], 1e-17)
    rows = np.array([[5e-324, 1.0], [1e-308, 3.0], [1e308, -1e308], [-0.0, 0.0], [0.1, 0.2], [1.0 / 3.0, 1e-20]])
    page = opened(network, np.eye(2), np.zeros(2))
    with np.errstate(over="ignore"):
        expected = network.predict(rows)
    np.testing.assert_array_equal(page.evaluate("rows => rows.map(window.bgn.predict)", rows.tolist()), expected)


def test_sliders_fields_and_lights(opened) -> None:
    network, rows, target = small()
    page = opened(network, rows, target)
    names = page.locator(".control label").all_inner_texts()
    row = np.array([float(page.input_value(f"#c{i}")) for i in range(len(names))])
    order = [network.names.index(name) for name in names]
    full = np.median(rows, axis=0)
    full[order] = row
    assert value(page) == network.predict([full])[0]
    terms = bgn.as_terms(network)
    for i, new in ((0, 0.75), (1, -1.25), (0, 2.0)):
        page.locator(f"#s{i}").fill(f"{new:g}")
        full[order[i]] = float(page.input_value(f"#c{i}"))
        assert value(page) == network.predict([full])[0]
        lit = [line.get_attribute("class") == "lit" for line in page.locator(".terms tbody tr").all()]
        assert lit == terms.holds([full])[0].tolist()
    page.locator("#s0").fill("0.123456789123")
    assert len(page.input_value("#c0")) < 7  # a slider stops at numbers of few digits
    page.fill("#c0", "0.123456789123456")
    assert page.evaluate("document.getElementById('c0').scrollWidth <= document.getElementById('c0').clientWidth")
    page.fill("#c0", "99")
    full[order[0]] = 99.0
    assert value(page) == network.predict([full])[0]
    assert "Outside the data" in page.inner_text("#o0")
    page.click("#reset")
    assert page.inner_text("#prediction-change") == "no change"
    assert [float(page.input_value(f"#c{i}")) for i in range(len(names))] == row.tolist()


def test_a_zero_is_shown_as_zero(opened) -> None:
    network = bgn.Network.of_layers([bgn.Layer([[1.0]], [-0.5])], [1.0], 0.0, ["holiday"])
    page = opened(network, np.array([[0.0], [0.0], [1.0]]), np.zeros(3))
    assert page.input_value("#c0") == "0"


def test_categories_are_chosen(opened) -> None:
    names = ["season = winter", "season = summer", "temp"]
    layer = bgn.Layer([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [-0.5, -0.5, -10.0])
    network = bgn.Network.of_layers([layer], [5.0, -2.0, 1.0], 0.0, names)
    categories = {name: ("season", name.partition(" = ")[2]) for name in names[:2]}
    network = network.changed(schema=network.schema.with_categories(categories))
    rows, target = rows_for(network, 50)
    page = opened(network, rows, target)
    choice = page.locator(".control select")
    for option, expected in (("winter", [1.0, 0.0, 0.0]), ("summer", [0.0, 1.0, 0.0])):
        choice.select_option(label=option)
        assert value(page) == network.predict([expected])[0]


def test_what_it_takes_is_known_and_is_the_least(opened) -> None:
    network, rows, target = small()
    page = opened(network, rows, target)
    names = page.locator(".control label").all_inner_texts()
    order = [network.names.index(name) for name in names]
    row = np.median(rows, axis=0)
    row[order] = [float(page.input_value(f"#c{i}")) for i in range(len(names))]
    now = network.predict([row])[0]
    span = np.ptp(network.predict(rows))
    for wanted in (now + 0.1 * span, now + 0.3 * span, now + 10 * span):
        page.fill("#reach-value", repr(float(wanted)))
        result = {}
        for item in page.locator("#reach-list li span").all_inner_texts():
            name, new = re.match(r"(.+) from .+ to (.+) gives", item).groups()
            result[name] = float(new.replace("\N{MINUS SIGN}", "-"))
        least = {}
        for i in order:
            grid = np.linspace(rows[:, i].min(), rows[:, i].max(), 4001)
            tried = np.tile(row, (len(grid), 1))
            tried[:, i] = grid
            good = grid[network.predict(tried) >= wanted]
            if len(good):
                least[network.names[i]] = np.abs(good - row[i]).min()
        assert set(result) == set(least)
        for name, new in result.items():
            i = network.names.index(name)
            changed = row.copy()
            changed[i] = new
            assert network.predict([changed])[0] >= wanted
            assert abs(new - row[i]) <= least[name] + 0.006 * np.ptp(rows[:, i])
    assert "No single change" in page.inner_text("#reach-note")
    page.fill("#reach-value", repr(float(now + 0.1 * span)))
    page.click("#reach-list li:first-child button")
    assert value(page) >= now + 0.1 * span
    assert page.inner_text("#reach-note") == "The prediction is there already."


def test_the_keyboard_reaches_everything(opened) -> None:
    network, rows, target = small()
    page = opened(network, rows, target)
    page.focus("#s0")
    before = float(page.input_value("#c0"))
    page.keyboard.press("PageUp")
    assert float(page.input_value("#c0")) > before
    untouched = page.inner_text("#rule-detail")
    page.focus("#network g[data-rule]")
    assert page.inner_text("#rule-detail").startswith("Adds ")
    page.keyboard.press("Tab")
    assert page.inner_text("#rule-detail").startswith("Adds ")
    page.focus("#s0")
    assert page.inner_text("#rule-detail") == untouched
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('input, select, button, svg[role=img]')].filter((element) =>
             !(element.labels && element.labels.length) && !element.getAttribute('aria-label') &&
             !element.textContent.trim()).map((element) => element.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []


def test_pointing_at_a_rule_tells_its_term(opened) -> None:
    network, rows, target = small()
    page = opened(network, rows, target)
    term = bgn.as_terms(network).rules[0]
    page.hover(f"#network g[data-rule='{term.index}']")
    holding = int(bgn.as_terms(network).holds(rows)[:, 0].sum())
    assert f"({holding:,})" in page.inner_text("#rule-detail")
    assert page.locator("#card tr.on").count() == 1


def luminance(color: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_legible(opened, scheme) -> None:
    page = opened(*small(), scheme=scheme)
    style = "element => [getComputedStyle(element).color, getComputedStyle(document.body).backgroundColor]"
    for selector in ("body", "h1", "figcaption", "nav a", "#prediction", "td", ".terms tr:not(.lit) td"):
        ink, paper = (luminance(color) for color in page.locator(selector).first.evaluate(style))
        assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) > 4.5, selector
    assert (luminance(page.locator("body").evaluate(style)[1]) < 0.1) == (scheme == "dark")


@pytest.mark.parametrize("page_size", [320, 390, 1100])
def test_nothing_runs_off_the_side(opened, page_size) -> None:
    network = network_of(NASTY, 30, target="<img src=x onerror=alert(3)>")
    page = opened(network, *rows_for(network, 100), page_size=page_size, title="</title><script>alert(4)</script>")
    assert page.evaluate("document.documentElement.scrollWidth") <= page_size
    text = page.inner_text("main")
    for name in ("<script>alert(1)</script>", "100 % of_it & {{ 7 * 7 }}", "</script><script>alert(2)</script>"):
        assert name in text


def test_a_phone_shows_the_prediction_over_the_sliders(opened) -> None:
    page = opened(*small(), page_size=390)
    assert page.locator("#prediction").bounding_box()["y"] < page.locator("#s0").bounding_box()["y"]
    for text in page.locator("svg.effect text").all()[:6]:
        assert text.bounding_box()["height"] >= 9


def test_rows_with_large_errors_can_be_tried(opened) -> None:
    network, rows, target = small()
    page = opened(network, rows, target)
    worst = int(np.argmax(np.abs(target - network.predict(rows))))
    page.locator("button[data-row='0']").click()
    assert value(page) == network.predict(rows[worst : worst + 1])[0]


def test_it_prints(opened, tmp_path) -> None:
    page = opened(*small())
    page.emulate_media(media="print")
    assert not page.is_visible("#what-if")
    assert page.is_visible("#made")
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= 8


def test_injected_scripts_do_not_run(browser, tmp_path) -> None:
    network, rows, target = small()
    path = bgn.write_report(network, rows, target, tmp_path / "r.html")
    path.write_text(path.read_text(encoding="utf-8").replace("</main>", "<script>window.bad = 1</script></main>"))
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("window.bad === undefined && typeof window.bgn.predict === 'function'")
    page.close()


def shown_separately(classes: int, deep: bool = False) -> tuple[bgn.BGNClassifier, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 4)).round(2)
    places = np.quantile(rows[:, 0], np.linspace(0, 1, classes + 1)[1:-1])
    y = np.array(["<b>no</b>", "yes", "&amp;", "maybe"])[np.digitize(rows[:, 0] + rng.normal(0, 0.4, 300), places)]
    return bgn.BGNClassifier(max_terms=5, max_layers=1 + deep, random_state=0).fit(rows, y), rows, y


@pytest.mark.parametrize(("classes", "deep"), [(2, False), (4, False), (3, True)])
def test_probabilities_of_the_page_are_those_of_predict_proba(opened, classes, deep) -> None:
    model, rows, y = shown_separately(classes, deep)
    page = opened(model, rows, y)
    tried = np.random.default_rng(9).normal(size=(200, 4)).round(1)
    scores = page.evaluate("rows => rows.map(window.bgn.score)", tried.tolist())
    np.testing.assert_array_equal(scores, model.decision_function(tried))
    got = np.array(page.evaluate("rows => rows.map(window.bgn.predict)", tried.tolist()))
    expected = model.predict_proba(tried)
    np.testing.assert_allclose(got, expected[:, 1] if classes == 2 else expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_predicted_class_follows_the_sliders(opened, classes) -> None:
    model, rows, y = shown_separately(classes)
    page = opened(model, rows, y)
    column = page.evaluate("JSON.parse(document.getElementById('bgn-data').textContent).controls[0].column")
    row = page.evaluate("JSON.parse(document.getElementById('bgn-data').textContent).typical")
    for value in (rows[:, column].min(), rows[:, column].max()):
        page.fill("#c0", str(value))
        row[column] = float(value)
        said = model.predict([row])[0]
        assert page.inner_text("#prediction") == quote_category(said)
        chances = model.predict_proba([row])[0]
        for k, chance in enumerate(chances):
            shown = float(page.inner_text(f"#p{k} .number").strip("<>%"))
            assert shown == pytest.approx(100 * chance, abs=0.11)
    page.select_option("#reach-class", "0")
    page.fill("#reach-value", "60")
    assert page.inner_text("#reach-note") != ""


@pytest.mark.parametrize("page_size", [360, 1100])
def test_classes_stay_on_the_page(opened, page_size) -> None:
    page = opened(*shown_separately(4), page_size=page_size)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def edited(page, tmp_path):
    """The model that the page saves."""
    with page.expect_download() as saved:
        page.click("#edit-save")
    saved.value.save_as(tmp_path / "edited.json")
    assert saved.value.suggested_filename == "edited.json"
    return bgn.persist.read(tmp_path / "edited.json")


def lines_of(network):
    return [bgn.as_terms(network).rules[k].condition for k in range(len(bgn.as_terms(network).rules))]


def test_edits_by_hand_are_those_of_the_library(opened, tmp_path) -> None:
    network, rows = town(), town_rows(200)
    page = opened(network, rows, network.predict(rows) + np.linspace(-1, 1, 200))
    field = "#edit-lines [aria-label='{} of rule {}']"

    def fill(name: str, rule: int, number: float) -> None:
        page.fill(field.format(name, rule), str(number))
        page.press(field.format(name, rule), "Tab")

    page.fill("#edit-why", "the usual limit")
    fill("threshold", 2, 2.25)
    fill("weight", 2, 3.1)
    page.click("#edit-lines tr:nth-child(4) summary")
    page.click("#edit-lines tr:nth-child(4) label:has-text('Rome')")
    done = edited(page, tmp_path)
    expected = bgn.edit(network).threshold(2, 2.25)
    number = lines_of(expected.network).index(next(c for c in lines_of(expected.network) if c.number == 0)) + 1
    expected = expected.coef(number, 3.1)
    number = [c.number for c in lines_of(expected.network)].index(2) + 1
    expected = expected.category(number, "Rome", True)
    assert done.network == expected.network
    assert [edit.what for edit in done.edits] == [
        "threshold of rule 2 set to 2.25", "weight of rule 2 set to 3.1", "rule 4 holds for Rome",
    ]  # fmt: skip
    assert done.edits[0].why == "the usual limit"
    page.click("#edit-undo")
    page.click("[aria-label='Drop rule 1']")
    dropped = edited(page, tmp_path).network
    first = next(k for k, c in enumerate(lines_of(expected.undo().network)) if c.number == lines_of(network)[0].number)
    assert dropped == expected.undo().drop(first + 1).network
    assert page.inner_text("#edit-note").startswith("3 changes;")
    for _ in range(3):
        page.click("#edit-undo")
    assert page.is_disabled("#edit-save")
    assert page.inner_text("#edit-note") == "Nothing is changed yet."


def test_an_edited_page_predicts_as_the_saved_model_does(opened, tmp_path) -> None:
    cases = [("identity", None, None), ("logistic", None, None), ("identity", (-0.5, 0.75), None)]
    for link, bounds, classes in [*cases, ("logistic", None, ("ja", "nein"))]:
        network, rows, target = small()
        network = network.changed(link=link, bounds=bounds, schema=replace(network.schema, classes=classes))
        target = target if link == "identity" else (target > np.median(target)) * 1.0
        page = opened(network, rows, target if classes is None else np.array(classes)[target.astype(int)])
        for rule, name, number in ((1, "weight", 0.3), (3, "threshold", 0.7), (2, "weight", 1e-7)):
            page.fill(f"#edit-lines [aria-label='{name} of rule {rule}']", str(number))
            page.press(f"#edit-lines [aria-label='{name} of rule {rule}']", "Tab")
        got = page.evaluate("window.bgn.edited.predictions()")
        result = edited(page, tmp_path)
        data = page.evaluate("JSON.parse(document.getElementById('bgn-data').textContent).editing.rows")
        expected = result.network.predict(np.array([row["values"] for row in data]))
        expected = expected if classes is None else 1.0 - expected  # the page tells of "ja", the file of "nein"
        np.testing.assert_allclose(got, expected, rtol=0 if link == "identity" else 1e-13)
        assert result.network.schema.classes == classes
        assert bgn.load(tmp_path / "edited.json") == result.network
        assert len(result.edits) == 3


def test_what_cannot_be_edited_is_not_offered(opened) -> None:
    page = opened(*small(7))
    assert page.query_selector("#edit") is None


@pytest.mark.parametrize("seed", range(6))
def test_rules_of_several_conditions_predict_hold_and_are_edited_as_in_python(opened, tmp_path, seed) -> None:
    rng = np.random.default_rng(seed)
    network = rule_network(rng, link=("identity", "logistic")[seed % 2], linear=False)
    table = table_rows_of(network, cells(network, 60))
    y = network.predict(table) + np.linspace(-1, 1, len(table))
    page = opened(network, table, y if network.link == "identity" else np.arange(len(table)) % 2)
    sent, terms = as_the_page_has_them(network, table), bgn.as_terms(network)
    got = page.evaluate("rows => rows.map(window.bgn.predict)", sent)
    np.testing.assert_allclose(got, network.predict(table), rtol=0 if network.link == "identity" else 1e-15)
    for row, holds in zip(sent[:4], terms.holds(table[:4]).tolist(), strict=True):
        page.evaluate("row => window.bgn.set(row)", row)
        assert [state == "yes" for state in page.locator(".terms .state").all_inner_texts()] == holds
    lines = page.locator("#card tbody tr[data-rule] .name").all_inner_texts()
    assert lines == [describe(term, terms, Signs()) for term in terms.rules]
    last = f"#edit-lines [aria-label='weight of rule {len(lines)}']"
    page.fill(last, "0.3")
    page.press(last, "Tab")
    expected = bgn.edit(network).coef(len(lines), 0.3)
    if len(lines) > 1:
        page.click("[aria-label='Drop rule 1']")
        left = [term.index for term in bgn.as_terms(expected.network).rules]
        expected = expected.drop(1 + left.index(terms.rules[0].index))
    assert edited(page, tmp_path).network == expected.network


def test_conditions_of_a_rule_are_edited_one_by_one(opened, tmp_path) -> None:
    schema = Schema((Column("age", whole=True, seen=(0.0, 90.0)), Column("city", categories=("Lille", "Nice", "Oslo"))))
    adult = [bgn.Threshold(0, 18.0, ">=", False), bgn.Threshold(0, 65.0, "<", False), bgn.Member(1, (0,), False, 3)]
    other = [bgn.Threshold(0, 40.0, ">=", False), bgn.Member(1, (1, 2), False, 3)]
    network = bgn.Network(1.0, [bgn.Rule(adult), bgn.Rule(other, -1.0)], [[2.0], [-0.5]], schema=schema)
    table = pd.DataFrame({"age": np.arange(60.0), "city": np.resize(["Lille", "Nice", "Oslo"], 60)})
    y = network.predict(table) + np.linspace(-1, 1, 60)
    page = opened(network, table, y)
    page.fill("#edit-lines [aria-label='threshold of condition 1 of rule 1']", "9")
    page.press("#edit-lines [aria-label='threshold of condition 1 of rule 1']", "Tab")
    page.fill("#edit-lines [aria-label='threshold of condition 2 of rule 1']", "60")
    page.press("#edit-lines [aria-label='threshold of condition 2 of rule 1']", "Tab")
    page.click("#edit-lines tr:nth-child(2) summary")
    page.click("#edit-lines tr:nth-child(2) label:has-text('Nice')")
    done = edited(page, tmp_path).network
    new = [bgn.Threshold(0, 9.0, ">=", False), bgn.Threshold(0, 60.0, "<", False), adult[2]]
    fewer = [other[0], bgn.Member(1, (2,), False, 3)]
    assert done == bgn.Network(1.0, [bgn.Rule(new), bgn.Rule(fewer, -1.0)], [[2.0], [-0.5]], schema=schema)
    # A server does the same, whatever order the thresholds bring about.
    app = ModelApp(ModelFile(network, bgn.__version__), Facts.of(network, table, y, None, None))
    changes = page.evaluate("window.bgn.edited.done()")
    text = json.loads(app.answer("file", {"changes": changes})["text"])
    (tmp_path / "served.json").write_text(json.dumps(text))
    assert bgn.load(tmp_path / "served.json") == done
