"""The report as a file: whole, small, the same every time, and deaf to what names say."""

from __future__ import annotations

import hashlib
import html.parser
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

import bgn
from bgn.model.dates import TimePart
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from bgn.report import card, picture
from bgn.report.charts import _thin
from bgn.report.controls import controls, typical
from bgn.report.facts import Facts, checksum, quality
from bgn.report.svg import Chart, _ticks, category_chart
from bgn.text import quote_name
from tests.networks import NASTY, grown, network_of, rows_for


class Reader(html.parser.HTMLParser):
    """Collects elements, addresses and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "action", "data", "poster", "srcset"):
                self.links.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(path: object) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


def test_the_file_is_whole_small_and_always_the_same(tmp_path) -> None:
    network = network_of([f"c{i}" for i in range(6)], 12)
    rows, target = rows_for(network, 200)
    first = bgn.write_report(network, rows, target, tmp_path / "a.html")
    second = bgn.write_report(network, rows, target, str(tmp_path / "b.html"))
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size < 200_000
    reader = read(first)
    assert all(link.startswith("#") or link == "data:," for link in reader.links)
    assert "default-src 'none'" in first.read_text()
    assert not reader.handlers


def test_no_name_breaks_or_injects(tmp_path) -> None:
    network = network_of(NASTY, 25, target="<img src=x onerror=alert(3)>")
    rows, target = rows_for(network, 150)
    path = bgn.write_report(network, rows, target, tmp_path / "r.html", title="</title><script>alert(4)</script>")
    reader = read(path)
    assert reader.tags.count("script") == 2
    assert "img" not in reader.tags
    assert not reader.handlers
    for name in ("<script>alert(1)</script>", "quote \" and ' and `tick`", "100 % of_it & {{ 7 * 7 }}", "x" * 200):
        assert any(quote_name(name) in text for text in reader.text), name
    blob = json.loads(path.read_text(encoding="utf-8").split('id="bgn-data">')[1].split("</script>")[0])
    assert {one["name"] for one in blob["controls"]} >= {'"<script>alert(1)</script>"', "season"}


def test_the_script_is_the_one_that_the_page_allows(tmp_path) -> None:
    import base64

    network = network_of(["a"], 1)
    text = bgn.write_report(network, *rows_for(network, 20), tmp_path / "r.html").read_text(encoding="utf-8")
    script = text.rsplit("<script>", 1)[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text


def test_deep_empty_and_tiny_models_have_reports(tmp_path) -> None:
    deep = network_of(["a", "b", "c"], 8, second=4)
    many = network_of([f"c{i}" for i in range(14)], 30, second=20)
    nothing = bgn.Network.of_layers([bgn.Layer(np.zeros((0, 2)), [])], [], 4.5)
    for network, count in ((deep, 60), (many, 60), (nothing, 5), (network_of(["a"], 2), 1)):
        text = bgn.write_report(network, *rows_for(network, count), tmp_path / "r.html").read_text(encoding="utf-8")
        assert "How it was made" in text
    assert "always predicts the same value: 4.5." in bgn.write_report(
        nothing, np.zeros((3, 2)), np.ones(3), tmp_path / "r.html"
    ).read_text(encoding="utf-8")


def test_quality_is_measured_on_held_out_rows() -> None:
    network = network_of(["a", "b"], 5)
    rows, target = rows_for(network, 200)
    other, truth = rows_for(network, 80, seed=2)
    facts = Facts.of(network, rows, target, other, truth)
    table = quality(facts)
    own, *_, mean = (model.evaluation.scores for model in table)
    assert [model.name for model in table] == ["this model", "a tree of similar size", "a linear model", "the mean"]
    np.testing.assert_allclose(own["rmse"] ** 2, np.mean((truth - network.predict(other)) ** 2))
    np.testing.assert_allclose(mean["mae"], np.mean(np.abs(truth - target.mean())))


def test_the_report_says_when_another_model_is_better(tmp_path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2))
    target = rows @ [2.0, 1.0]
    network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0]], [0.0])], [1.0], 0.0)
    text = bgn.write_report(network, rows, target, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Worse than a linear model on every measure: consider a linear model." in text
    assert "No rows were held out" in text


def test_categories_become_one_choice_and_whole_numbers_stay_whole() -> None:
    names = ["season = winter", "year", "season = summer", "x = y"]
    layer = bgn.Layer(np.eye(4), [-0.5, -2000.0, -0.5, 0.3])
    network = bgn.Network.of_layers([layer], [1.0, 2.0, 3.0, 4.0], 0.0, names)
    categories = {"season = winter": ("season", "winter"), "season = summer": ("season", "summer")}
    network = network.changed(schema=network.schema.with_categories(categories))
    rows = np.array([[1, 1999, 0, 0.5], [0, 2001, 1, 1.0], [0, 2003, 0, -1.0]], dtype=float)
    offered = {one["name"]: one for one in controls(Facts.of(network, rows, np.zeros(3), None, None))}
    assert set(offered) == {"season", "year", '"x = y"'}
    assert [option["name"] for option in offered["season"]["options"]] == ["winter", "summer", "none of these"]
    assert offered["year"]["whole"]
    assert not offered['"x = y"']["whole"]


@pytest.mark.parametrize(("low", "high"), [(2011.0, 2013.0), (-124.2, -114.5), (0.0, 3e-14), (1e6, 1e6 + 3), (0, 150)])
def test_ticks_are_written_whole_and_inside(low: float, high: float) -> None:
    shown = Reader()
    shown.feed(Chart((320, 170), (low, high), (0.0, 1.0), "").svg())
    ticks = _ticks(low, high, 4)
    written = [text.replace("\N{MINUS SIGN}", "-").replace(",", "") for text in shown.text[-len(ticks) :]]
    assert len(set(ticks)) == len(ticks) > 2
    assert [float(text) for text in written] == ticks


def test_effects_tell_the_years_of_a_column(tmp_path) -> None:
    network = bgn.Network.of_layers([bgn.Layer([[1.0]], [-2011.5])], [1.0], 0.0, ["year"])
    path = bgn.write_report(network, [[2011.0], [2012.0]], [0.0, 1.0], tmp_path / "r.html")
    assert "Between 2011 and 2012: from" in path.read_text(encoding="utf-8")


def test_the_typical_row_is_made_of_medians() -> None:
    network = network_of(["a", "b"], 3)
    rows, target = rows_for(network, 31)
    assert typical(Facts.of(network, rows, target, None, None)) == np.median(rows, axis=0).tolist()


def test_the_typical_row_has_one_category_of_a_category_of_0_and_1() -> None:
    schema = Schema(tuple(Column(f"c{k}", category_of=("c", k)) for k in range(3)))
    network = network_of(["c0", "c1", "c2"], 3).changed(schema=schema)
    for counts, wanted in (((4, 3, 2), [1.0, 0.0, 0.0]), ((2, 3, 2), [0.0, 1.0, 0.0]), ((1, 1, 2), [0.0, 0.0, 0.0])):
        rows = np.repeat(np.vstack([np.eye(3), np.zeros(3)]), [*counts, 3 if sum(counts) < 5 else 1], axis=0)
        assert typical(Facts.of(network, rows, np.zeros(len(rows)), None, None)) == wanted


def test_the_typical_row_has_a_missing_value_where_most_have_one() -> None:
    """A house with a pool, whose quality is known, is not typical."""
    requested = [Oblique(Projection((j,), (1.0,)), 2.5, missing=True) for j in range(2)]
    schema = Schema((Column("area", typical=2.0), Column("pool", typical=1.0)))
    network = bgn.Network.of_layers([bgn.Layer.of(requested, 2)], [1.0, 2.0], 0.0, schema=schema)
    rows = np.array([[2.0, np.nan], [np.nan, np.nan], [9.0, 3.0], [3.0, np.nan], [4.0, np.nan], [3.0, np.nan]])
    assert typical(Facts.of(network, rows, np.arange(6.0), None, None)) == [3.0, None]


def test_the_checksum_can_be_had_elsewhere() -> None:
    rows, target = np.arange(6.0).reshape(3, 2), np.ones(3)
    assert checksum(rows, target) == hashlib.sha256(rows.tobytes() + target.tobytes()).hexdigest()


def test_wrong_arguments_are_named(tmp_path) -> None:
    network = network_of(["a", "b"], 2)
    rows, target = rows_for(network, 9)
    cases = [
        ((rows[:, :1], target), {}, "X must have 2 columns"),
        ((rows, target[:-1]), {}, "X and y must have equally many rows"),
        ((rows, np.full(9, np.nan)), {}, "y has NaN"),
        ((rows, target), {"X_test": rows}, "X_test and y_test go together"),
        ((rows, target), {"digits": 0}, "digits"),
    ]
    for arguments, extra, message in cases:
        with pytest.raises(ValueError, match=message):
            bgn.write_report(network, *arguments, tmp_path / "r.html", **extra)


def test_a_large_report_is_small(tmp_path) -> None:
    network = network_of([f"c{i}" for i in range(20)], 60)
    path = bgn.write_report(network, *rows_for(network, 20_000), tmp_path / "r.html")
    assert path.stat().st_size < 2_000_000


def test_the_linear_model_is_least_squares_in_any_units() -> None:
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(80, 3))
    choice = np.eye(2)[rng.integers(2, size=80)]
    target = plain.sum(axis=1) + choice @ [1.0, 3.0] + rng.normal(size=80)
    # The same columns in other units, one twice, and one that never changes.
    rows = np.column_stack([plain * [1.0, 1e5, 1e-5] + [0.0, 1e6, 0.0], plain[:, 0], np.full(80, 0.1), choice])
    network = bgn.Network.of_layers([bgn.Layer(np.eye(7)[:1], [0.0])], [1.0], 0.0)
    facts = Facts.of(network, rows[:60], target[:60], rows[60:], target[60:])
    columns = np.column_stack([plain, choice])
    linear_coef = np.linalg.lstsq(columns[:60], target[:60], rcond=None)[0]
    expected = np.sqrt(np.mean((target[60:] - columns[60:] @ linear_coef) ** 2))
    np.testing.assert_allclose(quality(facts)[2].evaluation.scores["rmse"], expected, rtol=1e-6)


def test_notebooks_show_a_drawing_and_a_card() -> None:
    network = network_of(NASTY, 10, target="<b>price</b>")
    reader = Reader()
    reader.feed(network._repr_html_())
    assert network._repr_html_() == picture(network)
    assert set(reader.tags) == {"div", "svg", "line", "text", "g", "title", "rect"}
    reader = Reader()
    reader.feed(card(network))
    assert set(reader.tags) == {"div", "p", "table", "caption", "tr", "td", "b", "span"}
    assert '"<script>alert(1)</script>"' in reader.text


def test_a_fitted_estimator_shows_its_card_and_an_unfitted_one_its_diagram() -> None:
    rows = np.random.default_rng(0).uniform(size=(60, 2))
    model = bgn.BGNRegressor(max_terms=2, random_state=0, cv=None)
    assert "sk-top-container" in model._repr_html_()
    assert "sk-top-container" in model._repr_mimebundle_()["text/html"]
    model.fit(rows, rows[:, 0] > 0.5)
    shown = model._repr_mimebundle_()
    assert shown["text/html"] == model._repr_html_() == card(model)
    assert "BGNRegressor: " in shown["text/html"]
    assert shown["text/plain"].startswith("BGNRegressor(")


def test_a_fitted_model_tells_how_it_grew(tmp_path) -> None:
    class Fitted:
        history_ = grown()
        network_ = history_.network()

        def get_params(self) -> dict[str, object]:
            return {"max_terms": 4, "random_state": 7}

    rows = np.random.default_rng(0).uniform(size=(40, 2))
    text = bgn.write_report(Fitted(), rows, rows[:, 0], tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Up to 4 conditions were tried; 3 were chosen (3 terms)." in text
    assert "<dt>setting random_state</dt><dd>7</dd>" in text
    assert text.count('class="swap"') == 1
    assert "validation error" in text
    steps = tuple(replace(record, validation_loss=math.nan) for record in Fitted.history_.records)
    Fitted.history_ = replace(Fitted.history_, records=steps)
    text = bgn.write_report(Fitted(), rows, rows[:, 0], tmp_path / "r.html").read_text(encoding="utf-8")
    assert "cross-validated error" in text


def test_sizes_are_conditions_for_every_model_and_along_the_chart(tmp_path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3))
    target = 2.0 * (rows[:, 0] - rows[:, 1] > 0.2) + 1.0 * (rows[:, 2] > 0.5) + 0.5 * rows[:, 2]
    model = bgn.BGNRegressor(max_terms=5, random_state=0).fit(rows, target)
    network = model.network_
    assert network.n_conditions > len(network.terms)
    own, tree, linear, mean = (rival.size for rival in quality(Facts.of(model, rows, target, None, None)))
    rules, n_linear = len(network.rules), len(network.linear)
    counts = {"rule": rules, "linear term": n_linear}
    parts = [f"{count} {what}{'s' * (count != 1)}" for what, count in counts.items() if count]
    assert own.startswith(f"{network.n_conditions} conditions ({', '.join(parts)})")
    assert tree.startswith(f"{network.n_conditions} conditions (splits)")
    assert linear.startswith("3 conditions (linear terms)")
    assert mean == "0 conditions"
    text = bgn.write_report(model, rows, target, tmp_path / "r.html").read_text(encoding="utf-8")
    history = model.history_
    most = max(history.network(size).n_conditions for size in range(len(history.paths[0])))
    assert f"Up to {most} conditions were tried; {network.n_conditions} were chosen ({history.best_size} terms)" in text
    assert "against conditions (to the right)" in text
    assert f"<dt>conditions to read</dt><dd>{network.n_conditions}</dd>" in text
    size = f"{network.n_conditions} conditions ({len(network.terms)} terms)"
    assert f"BGNRegressor: {size} on 3 of 3 columns" in card(model)


def test_a_report_of_columns_of_any_scale_and_of_more_columns_than_rows(tmp_path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 60)) * np.logspace(-300, 300, 60)
    network = bgn.Network.of_layers([bgn.Layer(np.eye(60)[[0, 30, 59]], [0.0, 0.0, 0.0])], [1.0, 0.5, 2.0], 0.0)
    target = network.predict(rows)
    bgn.write_report(network, rows, target, tmp_path / "r.html")
    linear = quality(Facts.of(network, rows, target, None, None))[2]
    assert linear.evaluation.scores["rmse"] < 1e-6  # more columns than rows: through every point


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-300, 1e300, 1e306, None])
@pytest.mark.parametrize("every", [True, False])
def test_a_report_and_path_of_extreme_errors(tmp_path, value, every):
    X = np.arange(40.0)[:, None]
    growth = bgn.GrowthSettings(max_replacements=0)
    model = bgn.BGNRegressor(max_terms=3, growth=growth, random_state=0, cv=None).fit(X, np.sin(X[:, 0]))
    bgn.save(model, tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    for number, step in enumerate(content["history"]["steps"]["values"]):
        if every or number % 2:
            step[4:] = [0.0 if value is None else value, value, value]
    for snapshot in content["history"]["paths"][0]["snapshots"]:
        snapshot["train_mse"], snapshot["validation_mse"] = value or 0.0, value
    (tmp_path / "m.json").write_text(json.dumps(content))
    changed = bgn.load(tmp_path / "m.json")
    page = bgn.write_report(changed, X, np.sin(X[:, 0]), tmp_path / "r.html").read_text(encoding="utf-8")
    assert "nan" not in "".join(part.split("</svg>")[0] for part in page.split("<svg")[1:])


def test_values_beyond_what_errors_can_be_squared_for_are_refused(tmp_path):
    X = np.array([[1.0], [-1.0]])
    small, large = (bgn.Network.of_layers([bgn.Layer([[1.0]], [0.0])], [weight], 0.0) for weight in (5e-324, 1e200))
    bgn.write_report(small, X, [1.0, 2.0], tmp_path / "report.html")  # an effect too small to be cut into ticks
    with pytest.raises(ValueError, match=r"model has values up to 1e\+200; .*Rescale"):
        bgn.write_report(large, X, [1.0, 2.0], tmp_path / "report.html")
    with pytest.raises(ValueError, match=r"y has values up to 2e\+200; .*Rescale"):
        bgn.write_report(small, X, [1.0, 2e200], tmp_path / "report.html")


def test_labels_below_categories_stay_inside():
    chart = category_chart([("NAmes", 150_000.0, 5.0), ("StoneBr", 199_000.0, 1.0)], (87_100.0, 401_000.0), "Effect")
    places = re.findall(r'<text x="([0-9.]+)" y="[0-9.]+" text-anchor="middle">([0-9,]+)</text>', chart)
    assert places[-1][1] == "400,000"
    assert all(float(x) + 3.5 * len(tick) <= 320 for x, tick in places)


def test_a_curve_of_many_corners_is_drawn_by_its_outline():
    places = np.linspace(0.0, 1.0, 50_000)
    categories = np.where(np.arange(50_000) % 977 == 3, 5.0, places)
    shown = np.array(_thin(places, categories, False))
    assert len(shown) <= 4 * 601
    assert shown[0].tolist() == [0.0, 0.0]
    assert shown[-1].tolist() == [1.0, 1.0]
    assert shown[:, 1].max() == 5.0
    assert np.interp(places, *shown[shown[:, 1] < 5.0].T) == pytest.approx(places, abs=2 / 600)
    few = np.array([0.0, 2.0, 3.0])
    assert _thin(few, few, False) == _thin(few, few, True) == [(0.0, 0.0), (2.0, 2.0), (3.0, 3.0)]


def test_parts_of_dates_are_called_by_their_names():
    parts = [TimePart("sold", "weekday"), TimePart("sold", "days", "2020-01-31"), TimePart("sold", "year")]
    schema = Schema(tuple(Column(f"sold {part.part}", part_of=part) for part in parts))
    rules = [Oblique(Projection((j,), (1.0,)), 3.0, False) for j in range(3)]
    network = bgn.Network.of_layers([bgn.Layer.of(rules, 3)], [1.0, 1.0, 1.0], 0.0, schema=schema)
    result = controls(Facts.of(network, np.arange(12.0).reshape(4, 3), np.zeros(4), None, None))
    result.sort(key=lambda item: item["column"])
    assert [(item["names"][:2], item["since"]) for item in result] == [
        (["Monday", "Tuesday"], ""), ([], "2020-01-31"), ([], ""),
    ]  # fmt: skip
