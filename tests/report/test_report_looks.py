"""How pages look to a reader: no label over another, nothing that keeps people out, every line in view."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import bgn
from bgn.model.network import Ensemble
from bgn.model.schema import Column, Schema
from tests.browser import MISPLACED, UNFOLD, barriers, says
from tests.networks import network_of, rows_for, with_linear_terms

LONG = "the name of a column that somebody made sixty letters long {}"


def churn() -> tuple[object, object, np.ndarray, dict]:
    """A stand-in for customers who leave: classes, words, gaps."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "tenure": rng.integers(0, 72, 300), "Contract": rng.choice(["Month-to-month", "One year", "Two year"], 300),
        "PaymentMethod": rng.choice(["Electronic check", "Bank transfer (automatic)", "Mailed check"], 300),
        "MonthlyCharges": rng.normal(65, 30, 300).round(2),
    })  # fmt: skip
    score = (table["tenure"] < 18) * 1.0 + (table["Contract"] == "Month-to-month") + rng.normal(0, 0.7, 300)
    y = np.where(score > 1, "Yes", "No")
    model = bgn.BGNClassifier(max_terms=6, random_state=0, cv=None).fit(table, y)
    return model, table, y, {"labels": {"columns": {"tenure": {"unit": "months", "description": "Since the start."}}}}


def prices() -> tuple[object, object, np.ndarray, dict]:
    """A stand-in for prices of houses: names of sixty letters, slopes, many levels, large numbers."""
    categories = tuple(f"quarter number {k} of the town" for k in range(28))
    columns = [Column(LONG.format(k), seen=(0.0, 5000.0), typical=100.0) for k in range(5)]
    schema = Schema((*columns, Column(LONG.format("for quarters"), categories=categories)), "SalePrice", "USD")
    from bgn.model.term import Oblique, Projection

    sides = tuple(float(k % 3 == 0) for k in range(28))
    requested = [
        Oblique(Projection((5,), (sides,)), 0.5),
        Oblique(Projection((0, 5), (1.0, tuple(900.0 * s for s in sides))), 2500.0),
        Oblique(Projection((1, 2), (1.0, -0.25)), 700.0), Oblique(Projection((3,), (1.0,)), 1234.5),
    ]  # fmt: skip
    ends = [[0.0, 5000.0]] * 6
    weights = [20000.0, 19000.0, -4000.0, 12500.0]
    network = bgn.Network.of_layers([bgn.Layer.of(requested, 6)], weights, -1030300.0, schema=schema)
    network = with_linear_terms(network, [0.743, 15.4, 0.0, 0.0, 41.0, 0.0], ends)
    rng = np.random.default_rng(0)
    rows = [[*rng.uniform(0, 5000, 5).round(0), categories[rng.integers(28)]] for _ in range(200)]
    rows = np.array(rows, dtype=object)
    return network, rows, network.predict(rows) + rng.normal(0, 9000, 200), {}


def houses() -> tuple[object, object, np.ndarray, dict]:
    """A stand-in for values of districts: sums of columns, units."""
    names = ["longitude", "latitude", "housingMedianAge", "medianIncome"]
    network = network_of(names, 10, target="medianHouseValue")
    rows, target = rows_for(network, 300)
    return network, rows, target, {"units": {"medianHouseValue": "100000 USD", "longitude": "°"}}


def ensemble_of_networks() -> tuple[object, object, np.ndarray, dict]:
    """A mean of six networks with 300 questions."""
    network = network_of(["season", "hour", "workingday", "temp", "hum", "wind", "weekday", "holiday"], 300)
    rng = np.random.default_rng(0)
    weights = network.output_weights * rng.normal(1, 0.1, (6, 300))
    network = network.changed(members=Ensemble(np.full((6, 1), network.base), weights[:, :, np.newaxis]))
    rows, target = rows_for(network, 200)
    return network, rows, target, {}


PAGES = {"churn": churn, "prices": prices, "houses": houses, "ensemble": ensemble_of_networks}


@pytest.fixture(scope="module", params=PAGES)
def written(request, tmp_path_factory):
    model, rows, target, settings = PAGES[request.param]()
    return bgn.write_report(model, rows, target, tmp_path_factory.mktemp(request.param) / "report.html", **settings)


@pytest.mark.parametrize("page_size", [1280, 400])
def test_no_label_lies_over_another(open_page, written, page_size) -> None:
    page = open_page(written, page_size)
    page.evaluate(UNFOLD)
    assert page.evaluate(MISPLACED) == []


@pytest.mark.parametrize(("page_size", "scheme"), [(1280, "light"), (400, "dark")])
def test_nothing_keeps_people_out(open_page, written, page_size, scheme) -> None:
    page = open_page(written, page_size, scheme)
    many = page.locator("#card details").count() > 0  # hundreds of lines like the first twenty tell nothing new
    if not many:
        page.evaluate(UNFOLD)
    assert (many and scheme == "light") or barriers(page) == []


def test_every_line_of_what_if_is_in_view_and_many_are_folded(open_page, written) -> None:
    page = open_page(written)
    assert page.evaluate(
        "[...document.querySelectorAll('#what-if *')].filter((each) => each.scrollHeight > each.clientHeight + 4 && "
        "['auto', 'scroll'].includes(getComputedStyle(each).overflowY)).length"
    ) == 0  # fmt: skip
    lines = page.locator("#card .sheet .equation tr[data-rule]").count()
    assert 0 < lines <= 20
    assert not page.locator("#made dl").is_visible()


def test_an_ensemble_tells_the_standard_error_of_a_prediction(open_page, tmp_path) -> None:
    network, rows, target, _ = ensemble_of_networks()
    page = open_page(bgn.write_report(network, rows, target, tmp_path / "r.html"))
    row = np.array([page.evaluate("window.bgn.row()")])
    expected = network.members.prediction_error(network, row)[0]
    assert float(page.inner_text("#member-error").replace(",", "")) == pytest.approx(expected, rel=1e-3)


def test_the_card_prints_on_one_page(open_page, tmp_path) -> None:
    model, rows, target, settings = churn()
    page = open_page(bgn.write_report(model, rows, target, tmp_path / "r.html", **settings))
    page.emulate_media(media="print")
    page.evaluate("document.querySelectorAll('main > section:not(#card)').forEach((each) => each.remove())")
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1


def test_any_row_is_a_start_by_its_number_or_key(open_page, tmp_path) -> None:
    network = network_of(["a", "b", "c"], 6, target="price")
    rows, target = rows_for(network, 50)
    page = open_page(bgn.write_report(network, rows, target, tmp_path / "r.html"))

    def find(text: str) -> None:
        page.fill("#find", text)
        page.press("#find", "Enter")

    find("17")
    says(page, "started", "Row 17,")
    assert float(page.get_attribute("#prediction", "data-value")) == network.predict(rows[16:17])[0]
    find("51")
    says(page, "find-note", "There is no row “51”")
    assert page.get_attribute("#find", "aria-invalid") == "true"
    find("0")
    says(page, "find-note", "“0”")
    names = [f"{k + 1} · K-{k:03d}x" for k in range(50)]
    page = open_page(bgn.write_report(network, rows, target, tmp_path / "r.html", names=names))
    find("k-004X")
    says(page, "started", "K-004x")
    assert float(page.get_attribute("#prediction", "data-value")) == network.predict(rows[4:5])[0]
    assert page.locator("#residuals tbody th").first.inner_text() in names
    page = open_page(bgn.write_report(network, rows, target, tmp_path / "r.html", rows=0))
    assert not page.is_visible("#find")


def test_impossible_values_are_refused_in_place(open_page, tmp_path) -> None:
    schema = Schema((Column("rooms", whole=True, seen=(0.0, 9.0)), Column("age", seen=(0.0, 50.0))), "price")
    network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0], [1.0, 0.5]], [-3.0, -9.0])], [1.0, 2.0], 5.0, schema=schema)
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 9, 80), rng.uniform(0, 50, 80).round(1)])
    page = open_page(bgn.write_report(network, rows, network.predict(rows) + rng.normal(size=80), tmp_path / "r.html"))
    names = page.locator(".control > label").all_inner_texts()
    free, age = (names.index(name) for name in ("rooms", "age"))
    before = page.get_attribute("#prediction", "data-value")
    for field, text, sentence in (
        (age, "old", "“old” is not a number"), (age, "", "Enter a number."), (age, "1e999", "too large"),
        (free, "2.5", "rooms holds whole numbers: 2 or 3, not 2.5."),
    ):  # fmt: skip
        page.fill(f"#c{field}", text)
        assert sentence in page.inner_text(f"#o{field}")
        assert page.get_attribute(f"#c{field}", "aria-invalid") == "true"
        assert page.get_attribute("#prediction", "data-value") == before
    page.press(f"#c{free}", "Tab")
    assert page.input_value(f"#c{free}") != "2.5"
    page.fill(f"#c{age}", "1,5")  # as some write it
    assert page.inner_text(f"#o{age}") == ""
    page.fill(f"#c{age}", "400")
    assert "Outside the data, which lie between" in page.inner_text(f"#o{age}")
    assert page.get_attribute(f"#c{age}", "aria-invalid") is None
