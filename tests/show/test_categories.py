"""Columns of words that become 0/1 columns are known by the schema, from the shell through a file and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import bgn
from bgn import Layer, Network
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from bgn.report.controls import controls
from bgn.report.facts import Facts
from bgn.show.drawing import draw
from tests.command import call

DATA = Path(__file__).parents[1] / "data"


def test_texts_of_a_file_are_categories_and_names_with_an_equals_sign_are_names(tmp_path):
    table, path = tmp_path / "t.csv", tmp_path / "m.json"
    lines = [f"{'winter' if i % 3 else 'summer'},{i % 2},{10 * (i % 3 > 0) + 3 * (i % 2)}" for i in range(60)]
    table.write_text("\n".join(["season,x = y,price", *lines]) + "\n")
    call("fit", table, "-t", "price", "--max-terms", 2, "--max-features", 1, "--out", path, "-q")
    text = call("show", path).out
    assert "[season = winter or season is missing]" in text or "[season is not summer or season is missing]" in text
    assert '["x = y" = 1]' in text
    for network in (bgn.load(path).network_, bgn.load(path).history_.network(1)):
        assert network.schema.columns[0].categories == ("summer", "winter")
        assert network.schema.columns[1] == Column("x = y", seen=(0.0, 1.0), whole=True, typical=0.0)


def test_a_form_offers_categories_and_whatever_else_as_numbers():
    columns = (Column("a", category_of=("floor", 1.0)), Column("b", category_of=("floor", 2.5)), Column("floor"))
    layer = bgn.Layer(np.eye(3), [-0.5, -0.5, -2.0])
    network = bgn.Network.of_layers([layer], [1.0, 2.0, 3.0], 0.0, schema=Schema(columns))
    rows = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 4.0], [0.0, 1.0, 2.0]])
    offered = controls(Facts.of(network, rows, np.zeros(3), None, None))
    assert [(one["kind"], one["name"]) for one in offered] == [("number", "floor"), ("choice", "floor")]
    assert [option["name"] for option in offered[1]["options"]] == ["1", "2.5"]


def test_files_of_version_1_have_categories_in_their_preparation():
    model = bgn.load(DATA / "version1_regressor.json")
    for name, places in model.network_.schema.category_columns.items():
        assert all(model.network_.names[place].startswith(f"{name} = ") for place in places)
    assert model.network_.schema.category_columns
    assert model.history_.network() == model.network_


def test_a_condition_on_many_categories_is_broken_in_drawings():
    towns = tuple(f"town number {k}" for k in range(60))
    for chosen, most in ((12, 6), (40, 8)):
        categories = tuple(float(k < chosen) for k in range(60))
        oblique = Oblique(Projection((0, 1), (1.0, categories)), 4.0)
        schema = Schema((Column("area"), Column("town", categories=towns)), "price")
        sheet = draw(Network.of_layers([Layer.of([oblique], 2)], [1.0], 0.0, schema=schema))
        box = next(box for box in sheet.boxes if box.kind == "neuron")
        lines = box.text.split("\n")
        assert 2 < len(lines) <= most
        assert max(map(len, lines)) <= 82
        assert sheet.width < 1000
