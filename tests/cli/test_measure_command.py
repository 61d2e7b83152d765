"""``bgn effect``, ``bgn margin``, ``bgn simplify`` and ``bgn explain --background``, in process and as installed."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bgn
from bgn import Layer, Network
from tests.command import call, run
from tests.networks import with_linear_terms


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("measure")
    network = Network.of_layers(
        [Layer([[1.0, 0.0, 0.0], [1.0, 0.5, 0.0]], [-3.1234, -60.777])], [10.1, 20.2], 500.0,
        ["rooms", "area", "year"], "price",
    )  # fmt: skip
    bgn.save(network, path / "model.json")
    X = np.array([[2.0, 50.0, 2019], [4.0, 120.0, 2020], [3.0, 90.0, 2021], [5.0, 60.0, 2022]])
    frame = pd.DataFrame(X, columns=["rooms", "area", "year"])
    frame["price"] = network.predict(X)
    frame.to_csv(path / "houses.csv", index=False)
    frame.head(1).to_csv(path / "one.csv", index=False)
    return path


def ask(folder: Path, command: str, *options: object, data: str = "houses.csv", code: int = 0) -> str:
    done = call(command, folder / "model.json", folder / data, *options, code=code)
    return done.err if code else done.out


def test_effect_gives_steps_and_categories(folder: Path) -> None:
    plain = json.loads(ask(folder, "effect", "rooms", "--json"))
    network = bgn.load(folder / "model.json")
    rows = pd.read_csv(folder / "houses.csv")[["rooms", "area", "year"]].to_numpy()
    expected = bgn.effect(network, "rooms", background=rows)
    assert plain["breakpoints"] == expected.breakpoints.tolist()
    assert plain["values"] == expected.values.tolist()
    assert plain["linear"] is None
    lines = ask(folder, "effect", "rooms").splitlines()
    assert lines[0] == "mean prediction over 4 rows, by rooms"
    assert [line.split()[0] for line in lines[1:]] == ["2", "3", "4", "5"]
    assert [float(line.split()[1]) for line in lines[1:]] == expected([2.0, 3.0, 4.0, 5.0]).round(1).tolist()
    categories = expected([2.0, 3.0, 4.0, 5.0])  # bars begin at zero
    assert [len(line.split()[2]) for line in lines[1:]] == np.rint(24 * categories / categories.max()).tolist()
    assert "COLUMN must name a column, one of rooms, " in ask(folder, "effect", "hue", code=1)
    swapped = call("effect", folder / "model.json", "rooms", folder / "houses.csv", code=1).err
    assert "DATA comes before COLUMN" in swapped
    text = "The model does not use year: the mean prediction is 489.9 whatever its value.\n"
    assert ask(folder, "effect", "year") == text
    assert repr(bgn.effect(network, "year", background=rows)) == "Effect(year: none, 489.9 whatever its value)"


def test_effect_and_explain_tell_of_lines_and_bounds(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "houses.csv").write_bytes((folder / "houses.csv").read_bytes())
    free = with_linear_terms(bgn.load(folder / "model.json"), [0, 0.25, 0], [[-np.inf, np.inf], [40, 100], [0, 9]])
    bgn.save(free, tmp_path / "model.json")
    assert "+0.25 per unit (40 to 100)" in ask(tmp_path, "effect", "area")
    assert json.loads(ask(tmp_path, "effect", "area", "--json"))["linear"] == {"coef": 0.25, "ends": [40, 100]}
    network = free.changed(bounds=(490, None))
    bgn.save(network, tmp_path / "model.json")
    rows = pd.read_csv(folder / "houses.csv")[["rooms", "area", "year"]].to_numpy()
    plain, result = json.loads(ask(tmp_path, "effect", "area", "--json")), bgn.effect(network, "area", background=rows)
    assert plain["per_unit"] == result.rates.tolist()
    assert "per unit" in ask(tmp_path, "effect", "area")
    text = ask(tmp_path, "explain", "--row", 1)
    assert text.splitlines()[-1].split()[:2] == ["prediction", "490"]
    assert "A sum below 490 counts as 490." in text
    assert json.loads(ask(tmp_path, "explain", "--row", 1, "--json"))["prediction"] == 490.0


def test_margin_by_row_and_by_column(folder: Path) -> None:
    plain = json.loads(ask(folder, "margin", "--row", 1, "--json"))
    assert [line["column"] for line in plain] == ["rooms", "area"]
    assert plain[0]["up_to"] == pytest.approx(3.1234)
    lines = ask(folder, "margin").splitlines()
    assert lines[0] == "how far 4 rows are from another prediction, in the column where that is nearest"
    assert lines[1].split() == ["column", "rows", "a", "tenth", "within", "half", "within"]
    assert lines[2].split()[:2] == ["rooms", "75%"]
    assert lines[-2].startswith("nearest rows: ")
    assert len(json.loads(ask(folder, "margin", "--json"))) == 4
    assert "--row must be a complete row" in ask(folder, "margin", "--row", 9, code=1)
    shown = [line.split() for line in ask(folder, "margin", "--row", 1).splitlines()]
    assert shown[:2] == [["column", "at", "up", "to", "down", "to"], ["rooms", "2", "3.1234", "-"]]
    assert "below 3.1234" in ask(folder, "margin", "--row", 2)


def test_a_column_with_one_part_is_known_by_its_own_name() -> None:
    X = pd.DataFrame({"opens": [datetime.time(hour) for hour in range(24)] * 2})
    y = 1.5 * (np.arange(48) % 24 >= 9)
    network = bgn.BGNRegressor(max_terms=1, max_linear=0, cv=None, task="regression").fit(X, y).network_
    assert network.names == ("opens (hours)",)
    values = bgn.effect(network, "opens", X).values
    np.testing.assert_array_equal(values, bgn.effect(network, "opens (hours)", X).values)


def test_another_prediction_begins_where_margin_says(tmp_path: Path) -> None:
    """Numbers that are printed in few digits are on the far side of the threshold, not just short of it."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        weights = rng.integers(1, 1000, 2) / 1000
        network = Network.of_layers([Layer([weights], [-rng.integers(1, 99) / 7])], [1.0], 0.0, ["a", "b"])
        bgn.save(network, tmp_path / "model.json")
        rows = pd.DataFrame(rng.normal(0, 30, (1, 2)).round(1), columns=["a", "b"])
        rows.to_csv(tmp_path / "houses.csv", index=False)
        title, *lines = ask(tmp_path, "margin", "--row", 1).splitlines()
        assert title.split() == ["column", "at", "up", "to", "down", "to"]
        for name, _, up, down in (line.replace("below ", "<").split() for line in lines):
            (end,) = {up, down} - {"-"}
            value = np.nextafter(float(end[1:]), -np.inf) if end.startswith("<") else float(end)
            assert network.predict(rows.assign(**{name: value})) != network.predict(rows), (network, name, end)


def test_the_place_of_a_lowest_prediction_is_readable(tmp_path: Path) -> None:
    network = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0, ["a"])
    bgn.save(with_linear_terms(network, [-0.5], [(-1.5, 1.5)]), tmp_path / "model.json")
    ends = call("certify", tmp_path / "model.json", "--within", "all").out.splitlines()[1:3]
    assert ends == ["  lowest where a just below 0", " highest where a = 0"]
    bgn.save(Network.of_layers([Layer([[0.0]], [1.0])], [0.0], 2.5, ["a"]), tmp_path / "model.json")
    assert call("certify", tmp_path / "model.json").out.splitlines()[0] == "predictions lie between 2.5 and 2.5"
    assert "where" not in call("certify", tmp_path / "model.json").out


def test_simplify_writes_a_model_that_predicts_alike(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "simple.json"
    text = ask(folder, "simplify", "-o", out)
    assert "mean squared error" in text
    rows = pd.read_csv(folder / "houses.csv")[["rooms", "area", "year"]]
    np.testing.assert_allclose(bgn.load(out).predict(rows), bgn.load(folder / "model.json").predict(rows), rtol=0.01)
    assert "exclude each other" in ask(folder, "simplify", "--digits", 2, "--points", 5, code=1)


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_the_model_that_is_written_predicts_what_the_card_says(tmp_path: Path, form: str) -> None:
    network = Network.of_layers(
        [Layer([[1.0, 0.0], [0.0, 1.0]], [-3.0, -60.0])], [-10.0, 20.0], 500.0, ["rooms", "area"], "price"
    )
    bgn.save(network, tmp_path / "model.json")
    frame = pd.DataFrame([[2.0, 50.0], [4.0, 120.0], [2.0, 90.0], [5.0, 40.0]], columns=["rooms", "area"])
    frame.assign(price=network.predict(frame)).to_csv(tmp_path / "houses.csv", index=False)
    out = tmp_path / "points.json"
    text = ask(tmp_path, "simplify", "--points", 5, "--format", form, "-o", out)
    card = json.loads(ask(tmp_path, "simplify", "--points", 5, "--json"))["scorecard"]
    assert card == {"rules": ["area >= 70", "rooms < 3"], "points": [2, 1], "start": 470.0, "unit": 20.0}
    written = bgn.scorecard(bgn.load(out))
    assert text.startswith(written.format(form) + "\n")
    assert ("mean squared error" in text) == (form == "text")
    assert bgn.load(out).predict(frame).tolist() == [float(written.prediction(total)) for total in (1, 2, 3, 0)]


def test_explain_against_other_rows(folder: Path) -> None:
    assert "nothing to compare it with" in ask(folder, "explain", data="one.csv", code=1)
    against = ("--background", folder / "houses.csv", "--json")
    one = json.loads(ask(folder, "explain", "--row", 1, *against, data="one.csv"))
    assert one == json.loads(ask(folder, "explain", "--row", 1, "--json"))
    assert any(one["values"].values())


@pytest.mark.exhaustive
def test_the_installed_commands(folder: Path) -> None:
    for command, *options in (("effect", "area"), ("margin",), ("simplify",)):
        installed = run(command, folder / "model.json", folder / "houses.csv", *options)
        assert installed.out == ask(folder, command, *options)
