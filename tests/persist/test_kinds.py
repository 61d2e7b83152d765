"""Networks of every kind in files: numbers, categories, missing values, linear terms, classes; earlier versions."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import Layer, ModelFileError, Network
from bgn.model.dates import TIME_PARTS, TimePart
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.networks import with_linear_terms

finite = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([-0.0, 5e-324, 1.7e308]))
outputs = st.floats(-3e307, 3e307)
texts = st.text(st.characters(codec="utf-8"), max_size=5)
categories = st.one_of(texts, st.floats(allow_nan=False), st.booleans(), st.integers(-5, 5))  # NaN is a gap

time_parts = st.builds(
    TimePart, texts, st.sampled_from(TIME_PARTS), st.dates().map(str), st.sampled_from([None, "UTC", "Europe/Paris"])
)


ends = st.floats(allow_nan=False)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    columns = []
    for name in draw(st.lists(texts, max_size=4, unique=True)):
        values = draw(st.none() | st.lists(categories, max_size=3).map(tuple))
        column = Column(
            name,
            categories=values,
            ordered=draw(st.booleans()),
            unit=draw(texts),
            seen=draw(st.none() | st.just((np.inf, -np.inf)) | st.tuples(ends, ends).map(sorted).map(tuple)),
            whole=draw(st.booleans()),
            category_of=draw(st.none() | st.tuples(texts, categories)),
            part_of=draw(st.none() | time_parts) if values is None else None,
        )
        columns.append(column if draw(st.booleans()) else Column(name))
    return Schema(tuple(columns), draw(st.none() | texts), draw(texts), draw(st.booleans()))


@st.composite
def networks(draw: st.DrawFn) -> Network:
    schema = draw(schemas())
    missing = draw(st.sampled_from([None, "some", "all"]))

    def oblique(sizes: list[int | None]) -> Oblique:
        columns = tuple(j for j in range(len(sizes)) if draw(st.booleans()))
        weights = tuple(
            draw(finite) if sizes[j] is None or draw(st.booleans()) else tuple(draw(finite) for _ in range(sizes[j]))
            for j in columns
        )
        answer = {None: st.none(), "some": st.none() | st.booleans(), "all": st.booleans()}[missing]
        return Oblique(Projection(columns, weights), draw(finite), draw(answer))

    sizes: list[int | None] = [
        None if column.categories is None else len(column.categories) for column in schema.columns
    ]
    layers: list[Layer] = []
    for _ in range(draw(st.integers(1, 3))):
        layers.append(Layer.of([oblique(sizes) for _ in range(draw(st.integers(0, 3)))], len(sizes)))
        sizes = [None] * layers[-1].width
    link = draw(st.sampled_from(["identity", "logistic", "softmax"]))
    shape = (draw(st.integers(1, 3)),) if link == "softmax" else ()

    def array(*sizes: int) -> np.ndarray:
        count = int(np.prod(sizes))
        return np.array(draw(st.lists(outputs, min_size=count, max_size=count)), float).reshape(sizes)

    linear = array(len(schema), *shape) if draw(st.booleans()) else None
    ends = sorted(draw(st.sets(outputs, min_size=2, max_size=2)))
    bounds = draw(st.sampled_from([None, (ends[0], None), (None, ends[1]), tuple(ends)]))
    bounds = bounds if link == "identity" else None
    weights, base = array(len(sizes), *shape), array(*shape)
    rules = Network.of_layers(layers, weights, base, schema=schema, link=link, bounds=bounds)
    return with_linear_terms(rules, linear)


def everything(network: Network) -> str:
    """Return all that a network holds; floats as repr writes them, which tells -0.0, NaN and every bit apart."""
    layers = [(layer.n_inputs, layer.neurons) for layer in network.layers]
    parts = (network.schema, layers, network.output_weights.shape, network.output_weights.tolist(), network.link)
    parts = (*parts, network.bounds)
    return repr((*parts, network.intercept.tolist(), network.linear, network.linear_coef.tolist()))


@given(networks())
@settings(max_examples=200)
def test_whatever_a_network_can_hold_comes_back(tmp_path_factory: pytest.TempPathFactory, network: Network) -> None:
    path = tmp_path_factory.getbasetemp() / "kinds.json"
    bgn.save(network, path)
    loaded = bgn.load(path)
    assert everything(loaded) == everything(network)
    bgn.save(loaded, path.with_name("again.json"))
    assert path.read_bytes() == path.with_name("again.json").read_bytes()
    assert json.loads(path.read_text("utf-8"))["version"] == 3


CITY = Schema(
    (Column("age", unit="years", seen=(18.0, np.inf)), Column("city", categories=("Lille", "Nice", 2.5, True)))
)


def conditions_on(missing: bool | None) -> Network:
    layer = Layer.of([Oblique(Projection((0, 1), (1.0, (0.0, 1.0, -0.0, 9.0))), 30.0, missing)], 2)
    return Network.of_layers([layer], [1.0], 0.5, schema=CITY)


def test_a_person_can_read_a_column_and_a_condition(tmp_path: Path) -> None:
    bgn.save(conditions_on(True), tmp_path / "m.json")
    lines = [line.strip(" ,") for line in (tmp_path / "m.json").read_text().splitlines()]
    assert '{"name": "age", "unit": "years", "seen": [18.0, {"float": "inf"}]}' in lines
    condition = '{"columns": [0, 1], "coefficients": [1.0, [0.0, 1.0, -0.0, 9.0]], "threshold": 30.0, "missing": true}'
    assert condition in lines
    assert '{"inputs": [30.0, "Nice"], "prediction": 1.5}' in lines
    assert '{"inputs": [null, null], "prediction": 1.5}' in "\n".join(lines)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coefficients": [1.0, [0.0]]}, r"conditions\[0\]\.coefficients\[1\] must have 4 entries; got 1"),
        ({"coefficients": [[1.0], 1.0]}, r"conditions\[0\]\.coefficients\[0\] must be a number; got a list of 1"),
        ({"missing": None}, r"conditions\[0\]\.missing must be true or false; got None"),
        ({"missing": False}, "does not predict what its checks say"),
    ],
)
def test_a_changed_condition_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "m.json"
    bgn.save(conditions_on(True), path)
    content = json.loads(path.read_text())
    content["network"]["terms"][0]["conditions"][0] |= changes
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=message):
        bgn.load(path)


def test_what_cannot_predict_is_not_saved(tmp_path: Path) -> None:
    short = Layer.of([Oblique(Projection((0, 1), (1.0, (1.0,))), 1.0, True)], 2)
    with pytest.raises(ValueError, match="model cannot be saved: the network cannot predict"):
        bgn.save(conditions_on(True).changed(layers=[short]), tmp_path / "m.json")
    long = Layer.of([Oblique(Projection((0, 1), (1.0, (1.0,) * 9)), 1.0, True)], 2)
    with pytest.raises(ValueError, match=r"model cannot be saved: .*coefficients\[1\] must have 4 entries; got 9"):
        bgn.save(conditions_on(True).changed(layers=[long]), tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[1] / "data").glob("version1*.json")), ids=lambda p: p.stem
)
def test_the_newest_version_says_as_much_as_the_first(path: Path, tmp_path: Path) -> None:
    old = bgn.persist.read(path)
    about = {"units": old.units, "figures": old.figures, "preparation": old.preparation}
    bgn.save(old.model(), tmp_path / "new.json", **about)
    new = bgn.persist.read(tmp_path / "new.json")
    assert everything(new.network) == everything(old.network)
    assert {name: getattr(new, name) for name in about} == about
    assert (new.settings or {}).items() >= (old.settings or {}).items()  # later parameters have their defaults
    assert (tmp_path / "new.json").stat().st_size <= 1.3 * path.stat().st_size + 900


def test_thresholds_that_depend_on_categories_load_from_version_2_and_read_as_and_and_or(tmp_path: Path) -> None:
    columns = [{"name": "hour", "whole": True}, {"name": "city", "levels": ["Lille", "Nice"]}, "wind"]
    conditions = [
        {"columns": [0, 1], "weights": [1.0, [0.0, -5.0]], "threshold": 11.0, "gaps": [12.0, -5.0]},
        {"columns": [1, 2], "weights": [[2.5, 0.0], -1.0], "threshold": -4.0, "missing": True},
    ]
    network = {"layers": [conditions], "output_weights": [35.5, -1.25], "base": 100.0}
    content = {
        "format": "bgn model", "version": 2, "library": "0.2.0", "kind": "network", "units": {}, "settings": None,
        "schema": {"columns": columns, "target": "rentals"}, "network": network, "history": None, "figures": {},
        "preparation": None, "checks": [],
    }  # fmt: skip
    (tmp_path / "m.json").write_text(json.dumps(content))
    loaded = bgn.load(tmp_path / "m.json")
    assert [line.partition("[")[2] for line in bgn.equation(loaded).splitlines()[1:3]] == [
        "hour >= 16, or hour >= 11 and city = Lille]",
        "wind > 6.5, or wind > 4 and city = Nice, and neither of city, wind is missing]",
    ]
    winds = [None, 0.0, *(np.nextafter(end, end + way) for end in (4.0, 6.5) for way in (-1.0, 0.0, 1.0))]
    for hour, city, wind in product([None, 10.0, 11.0, 15.0, 16.0], [None, "Lille", "Nice", "Oslo"], winds):
        known = city if city in ("Lille", "Nice") else None
        busy = (12.0 if hour is None else hour) >= (11.0 if known == "Lille" else 16.0)
        calm = known is None or wind is None or wind <= (6.5 if known == "Lille" else 4.0)
        expected = 100.0 + (35.5 if busy else -35.5) + (-1.25 if calm else 1.25)
        assert loaded.predict(np.array([[hour, city, wind]], dtype=object))[0] == expected
