"""Workbooks in LibreOffice, PMML in pypmml, JSON Schema by hand."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as etree

import numpy as np
import pytest

from bgn import Layer, Network, export, scorecard
from bgn.model.dates import TimePart
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests import export_engines as engines
from tests.export_cases import HOSTILE, classes, ensemble, every_kind, expected, hostile, rows_for
from tests.networks import random_network, town


def clear_rows(network, count, seed=0):
    """Rows of short decimals, on thresholds exactly or clearly beside, as spreadsheets tell them apart."""
    rows = rows_for(network, 4 * count, seed, extremes=(0.0, -0.0, 1.0))
    for row in rows:
        for j, value in enumerate(row):
            if isinstance(value, float) and value == value:
                row[j] = float(f"{value:.9g}")
    sums = network.layers[0].project(network._rows(rows))
    distances = np.abs(sums - network.layers[0].thresholds)
    clear = ((distances == 0) | ~(distances < 1e-9)).all(axis=1)
    filled = np.array([all(value != "" for value in row) for row in rows.tolist()])
    return rows[clear & filled][:count]


@pytest.mark.parametrize(
    "network",
    [
        town().changed(link="logistic"),
        hostile(without=("nul\x01",)),
        classes(1),
        ensemble(150, 1),
        town().changed(bounds=(0, 1.5)),
    ],
    ids=["logistic", "hostile", "classes", "ensemble", "bounded"],
)
def test_a_workbook_in_libreoffice(network):
    rows = clear_rows(network, 300 if len(network.layers[0].neurons) < 20 else 40)
    want, shown = expected(network, rows), engines.in_workbook(network, rows)
    got = np.array([row[: want.shape[1]] for row in shown], np.float64)
    np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-14)
    if network.link != "identity":
        chances = np.array([row[want.shape[1] :] for row in shown], np.float64)
        np.testing.assert_allclose(chances, network.predict(rows).reshape(len(rows), -1), rtol=1e-12, atol=1e-300)


def test_a_workbook_holds_no_formula_that_a_name_made():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(export.to_excel(hostile(without=("nul\x01",)))))
    formulas = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.data_type == "f"]
    assert formulas
    assert not any("cmd" in cell.value or "SUM(1)" in cell.value for cell in formulas)
    assert any(cell.value == "=cmd()" for row in book["Categories"].iter_rows() for cell in row)
    rules = book["Input"].data_validations.dataValidation
    assert {rule.type for rule in rules} == {"decimal", "list"}


def test_a_workbook_is_the_same_every_time_and_has_a_card(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    layer = Layer([[1.0, 0.0], [1.0, 0.59], [0.0, 1.0]], [-65.5, -63.56, -20.0])
    network = Network.of_layers([layer], [0.26, 0.195, -0.065], 1.54, ["income", "age"], "value")
    content = export.to_excel(network, tmp_path / "card.xlsx")
    assert content == (tmp_path / "card.xlsx").read_bytes() == export.to_excel(network)
    sheet = openpyxl.load_workbook(io.BytesIO(content))["Scorecard"]
    card = scorecard(network)
    shown = [(sheet[f"A{k}"].value, sheet[f"B{k}"].value) for k in range(4, 7)]
    assert shown == [(text, own) for text, (own,) in zip(card.rules, card.points, strict=True)]
    assert sheet.page_setup.fitToHeight == 1
    with pytest.raises(ValueError, match="rows must be a whole number"):
        export.to_excel(network, rows=0)
    categories = tuple(f"level {k}" for k in range(300))
    condition = Oblique(Projection((0,), (tuple(np.arange(300.0)),)), 5.0, missing=False)
    schema = Schema((Column("kind", categories=categories),))
    many = Network.of_layers([Layer.of([condition], 1)], [1.0], 0.0, schema=schema)
    with pytest.raises(ValueError, match="300 categories; a workbook has room for 250"):
        export.to_excel(many)


# -- PMML --------------------------------------------------------------------------------------------------------


def test_pmml():
    for name, network in (every_kind(60) | {"hostile": hostile(without=("nul\x01",))}).items():
        if name[-1] in "234567" and name[:5] in ("grown", "short"):
            continue
        rows = clear_rows(network, 25)
        # Engines trim blanks.
        rows = rows[
            [all(not isinstance(x, str) or (x.isprintable() and x.strip() == x) for x in row) for row in rows.tolist()]
        ]
        want = expected(network, rows)
        shown = engines.in_pmml(network, rows)
        if network.link == "identity":
            got = [next(value for key, value in values.items() if key.startswith("predict")) for values in shown]
            np.testing.assert_allclose(np.array(got, float), want[:, -1], rtol=1e-12, atol=1e-12, err_msg=name)
        else:
            labels = ("0", "1") if network.link == "logistic" else tuple(map(str, range(want.shape[1])))
            got = np.array([[values[f"probability_{label}"] for label in labels] for values in shown], float)
            share = network.predict(rows)
            share = np.column_stack([1 - share, share]) if network.link == "logistic" else share
            np.testing.assert_allclose(got, share, rtol=1e-9, atol=1e-12, err_msg=name)


def test_pmml_is_a_scorecard_with_reasons_where_the_network_is_one():
    network = town()
    rows = rows_for(network, 50, extremes=(0.0,))
    text = export.to_pmml(network, reasons=rows)
    root = etree.fromstring(text)
    space = "{http://www.dmg.org/PMML-4_4}"
    card = root.find(f"{space}Scorecard")
    characteristics = card.find(f"{space}Characteristics")
    means = network.hidden(rows).mean(axis=0)
    baselines = [float(row.get("baselineScore")) for row in characteristics]
    np.testing.assert_allclose(baselines, network.output_weights * (1.0 + means), atol=1e-12)
    assert characteristics[5].get("reasonCode") == "grade >= fair"
    sloped = every_kind(60)["clipped slopes, filled, bounded"]
    document = export.to_pmml(sloped, reasons=rows_for(sloped, 30, extremes=(0.0,)))
    card = etree.fromstring(document).find(f"{space}Scorecard")
    texts = [row.get("reasonCode") for row in card.find(f"{space}Characteristics")]
    assert texts[-2:] == ["per unit of a", "per unit of c"]
    assert card.find(f"{space}Targets")[0].attrib == {"field": "demand", "min": "-0.5", "max": "1.0"}
    deep = random_network(5, ["a", "b"], 1, second=2)
    assert etree.fromstring(export.to_pmml(deep)).find(f"{space}RegressionModel") is not None
    with pytest.raises(ValueError, match="reasons in PMML are for a Scorecard"):
        export.to_pmml(deep, reasons=rows_for(deep, 5))


def test_names_in_pmml_stay_names():
    root = etree.fromstring(export.to_pmml(hostile(without=("nul\x01",))))
    names = [field.get("name") for field in root.iter("{http://www.dmg.org/PMML-4_4}DataField")]
    assert [name for name in HOSTILE if name != "nul\x01"] == [name for name in names if name in HOSTILE]


# -- JSON Schema -------------------------------------------------------------------------------------------------


def test_json_schema():
    schema = json.loads(export.to_json_schema(town()))
    assert schema["required"] == []
    assert schema["properties"]["city"] == {"enum": ["Lille", "Nice", "Rome", "Oslo", None]}
    assert schema["properties"]["owner"] == {"enum": [False, True, None]}
    assert schema["properties"]["age"] == {"type": ["number", "null"], "description": "seen from -3.0 to 6.0"}
    strict = json.loads(export.to_json_schema(random_network(3, ["a", "b"], 0)))
    assert strict["required"] == ["a", "b"]
    assert list(json.loads(export.to_json_schema(hostile()))["properties"]) == list(HOSTILE)


def test_json_schema_of_dates():
    parts = [Column(part.name, part_of=part) for part in (TimePart("sold", "year"), TimePart("sold", "month"))]
    columns = (
        Column("rooms", typical=3.0, unit="m"),
        *parts,
        Column("took (days)", part_of=TimePart("took", "duration")),
    )
    network = Network.of_layers([Layer(np.eye(4), np.zeros(4))], np.ones(4), 0.0, schema=Schema(columns))
    schema = json.loads(export.to_json_schema(network))
    assert schema["properties"] == {
        "rooms": {"type": ["number", "null"], "description": "in m"},
        "sold": {"type": "string", "format": "date-time"},
        "took": {"type": "number", "description": "in days"},
    }
    assert schema["required"] == ["sold", "took"]
