"""What an author calls things stands everywhere in the page; what fits no column is refused in plain words."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import bgn
from bgn.report.labels import PageLabels
from tests.networks import network_of, rows_for, town, town_rows

LABELS = {
    "title": "What a flat costs",
    "description": "Flats of five towns.",
    "target": {"label": "rent", "unit": "EUR", "description": "Without heating."},
    "columns": {
        "age": {"label": "age of the house", "unit": "decades", "description": "When it was built."},
        "city": {"label": "town", "categories": {"Lille": "the north", "Nice": "the coast"}},
        "owner": {"categories": {"True": "lives there", "False": "lets it"}},
        "rooms": "number of rooms",
    },
}


def page_of(tmp_path, **settings) -> str:
    network, rows = town(), town_rows(120)
    target = 1000.0 * network.predict(rows) + np.linspace(-1, 1, 120)
    path = bgn.write_report(network, rows, target, tmp_path / "r.html", **settings)
    return path.read_text(encoding="utf-8")


def test_labels_stand_in_card_what_if_effects_and_tables(tmp_path) -> None:
    text = page_of(tmp_path, labels=LABELS)
    body = text.split("<body>")[1].split('<script type="application/json"')[0]
    for label in ("What a flat costs", "Flats of five towns.", "Without heating.", "When it was built.", "lives there"):
        assert label in body
    assert body.count("age of the house") >= 5
    assert body.count("the coast") >= 3
    assert body.count("EUR") >= 5
    for name in (">age<", "<b>city</b>", "<b>Nice</b>", ">rooms<"):
        assert name not in body
    blob = json.loads(text.split('id="bgn-data">')[1].split("</script>")[0])
    assert {item["name"] for item in blob["controls"]} >= {"age of the house", "town", "number of rooms"}
    names = json.dumps(blob["editing"]["file"])  # what is saved keeps the table's names
    assert '"age"' in names
    assert "age of the house" not in names


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_labels_come_from_a_file(tmp_path, suffix) -> None:
    path = tmp_path / f"labels.{suffix}"
    text = 'title = "Flats"\n[target]\nunit = "EUR"\n[columns.age]\nlabel = "age of the house"\n'
    text = text if suffix == "toml" else json.dumps({"title": "Flats", "columns": {"age": "age of the house"}})
    path.write_text(text, encoding="utf-8")
    assert "age of the house" in page_of(tmp_path, labels=path)
    path.write_text("title = ", encoding="utf-8")
    with pytest.raises(ValueError, match=f"cannot be read as {suffix.upper()}"):
        page_of(tmp_path, labels=str(path))


def test_units_of_the_table_count_where_there_are_no_others() -> None:
    schema = town().schema
    text = PageLabels.of(schema, {"columns": {"age": {"unit": "decades"}}}, {"age": "years", "rooms": "rooms"})
    assert [text.schema.columns[schema.names.index(name)].unit for name in ("age", "rooms")] == ["decades", "rooms"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ({"titel": "x"}, "Did you mean 'title'"),
        ({"title": 3}, "title must be a text"),
        ({"columns": {"agee": "x"}}, "no column 'agee'.*Did you mean 'age'"),
        ({"columns": {"age": {"labels": "x"}}}, "Did you mean 'label'"),
        ({"columns": {"age": {"unit": 3}}}, "unit of column 'age' must be a text"),
        ({"columns": {"age": {"categories": {"1": "one"}}}}, "holds numbers"),
        ({"columns": {"city": {"categories": {"Nizza": "x"}}}}, "no category 'Nizza'"),
        ({"columns": {"city": {"categories": {"Nice": "Lille"}}}}, "two things would be called 'Lille'"),
        ({"columns": {"age": "rooms"}}, "two things would be called 'rooms'"),
        ({"columns": []}, "an entry per column"),
        (["age"], "labels must be a mapping"),
    ],
)
def test_what_fits_nothing_is_refused(text, message) -> None:
    with pytest.raises(ValueError, match=message):
        PageLabels.of(town().schema, text, None)


def test_classes_dates_and_columns_of_categories_have_labels() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sold": pd.Timestamp("2006-01-15") + pd.to_timedelta(rng.integers(0, 999, 200), unit="D")})
    table["a"] = rng.normal(size=200).round(2)
    y = np.where(table["a"] > 0, "Yes", "No")
    model = bgn.BGNClassifier(max_terms=3, random_state=0).fit(table, y)
    names = {"target": {"label": "customer", "categories": {"Yes": "leaves"}}, "columns": {"sold": "day of sale"}}
    text = PageLabels.of(model.network_.schema, names, None)
    assert text.schema.classes == ("No", "leaves")
    assert any(name.startswith("day of sale") for name in text.schema.names)
    schema = bgn.Network.of_layers([bgn.Layer([[1.0]], [-0.5])], [1.0], 0.0, ["in Nice"]).schema
    schema = schema.with_categories({"in Nice": ("city", "Nice")})
    text = PageLabels.of(schema, {"columns": {"city": {"label": "town", "categories": {"Nice": "the coast"}}}}, None)
    assert text.schema.columns[0].category_of == ("town", "the coast")


def test_points_come_first_where_classes_have_them(tmp_path) -> None:
    layer = bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-0.5, 0.25])
    network = bgn.Network.of_layers([layer], [0.5, -0.25], -0.25, ["a", "b"], "ill", link="logistic")
    rows = np.random.default_rng(0).normal(size=(60, 2))
    text = bgn.write_report(network, rows, (rows[:, 0] > 0.4) * 1.0, tmp_path / "r.html").read_text(encoding="utf-8")
    card = text.split('<section id="card">')[1].split("</section>")[0]
    points = [own for (own,) in bgn.scorecard(network).points]
    assert all(f"+{point}</td>" in card for point in points)
    assert "look the total up" in card
    for total in range(sum(points) + 1):
        assert f'<td class="number">{total}</td>' in card


def test_the_page_says_which_rows_were_trained_from(tmp_path) -> None:
    assert "if it was grown from these rows" in page_of(tmp_path)
    assert "This model was trained on these rows" in page_of(tmp_path, n_training=120)
    assert "This model was trained on 7 of these 120 rows" in page_of(tmp_path, n_training=7)
    assert "was not trained on these rows" in page_of(tmp_path, n_training=0)


def test_extremes_are_shown_in_text_and_with_the_unit(tmp_path) -> None:
    network = bgn.Network.of_layers([bgn.Layer([[1.0]], [-0.5])], [594.0], 594.0, ["hour"], "cars")
    rows = np.array([[0.0], [1.0]])
    path = bgn.write_report(network, rows, [0.0, 1100.0], tmp_path / "r.html", units={"cars": "cars"})
    assert "lies between 0 and 1,188 cars." in path.read_text(encoding="utf-8")


def test_a_page_of_fifty_rules_and_many_rows_is_below_a_megabyte(tmp_path) -> None:
    network = network_of([f"column {i}" for i in range(12)], 50)
    rows, target = rows_for(network, 8_000)
    path = bgn.write_report(network, rows, target, tmp_path / "r.html")
    assert path.stat().st_size < 1_000_000
    assert bgn.write_report(network, rows, target, tmp_path / "r.html", rows=0).stat().st_size < 500_000
