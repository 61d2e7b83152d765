"""Exported programs in their own engines: the same bits as the network, on rows that sit on thresholds and beside."""

from __future__ import annotations

import ctypes
import json
import subprocess
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import bgn
from bgn import Layer, Linear, Member, Missing, Network, Rule, Threshold, export
from bgn.explain.shap import shap_values
from bgn.export.plan import plan
from bgn.export.programs.sql import count_differing_rows
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests import export_engines as engines
from tests.export_cases import HOSTILE, classes, drawn_networks, every_kind, expected, hostile, rows_for
from tests.networks import random_network, town, town_rows, with_linear_terms


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a socket's path must be short
        server = engines.Postgres(folder)
        yield server
        server.stop()


@pytest.fixture(scope="module")
def networks():
    every = every_kind(1100)
    return {name: every[name] for name in every if name[-1] not in "4567"} | drawn_networks(12)


@pytest.fixture(scope="module")
def few():
    """Fewer and narrower ones, for engines that take long to start."""
    every = every_kind(150)
    return {name: every[name] for name in every if name[-1] not in "34567"}


def bits(scores):
    return np.ascontiguousarray(scores, np.float64).view(np.int64)


def agree(run, networks, count=200, finite=False):
    """Assert that an engine computes the same bits, for all networks."""
    for name, network in networks.items():
        rows = rows_for(network, count if network.widths[0] < 500 else 60)
        if finite:  # sums that go beyond 1e308 are an error in PostgreSQL
            with np.errstate(over="ignore", invalid="ignore"):
                rows = rows[
                    np.isfinite(network.layers[0].project(network._rows(rows))).all(axis=1) | has_missing(network, rows)
                ]
        want = expected(network, rows)
        got = run(network, rows)
        assert got.shape == want.shape, name
        differ = (bits(got) != bits(want)).any(axis=1)
        assert not differ.any(), f"{name}: {rows[differ][:3]} give {got[differ][:3]}, not {want[differ][:3]}"


def has_missing(network, rows):
    """Rows that have a gap, and no number that could overflow."""
    numbers = [j for j, column in enumerate(network.schema.columns) if column.categories is None]
    values = np.array([[np.nan if x is None else x for x in row] for row in rows[:, numbers].tolist()], float)
    values = values.reshape(len(rows), len(numbers))
    return np.isnan(values).any(axis=1) & ~(np.abs(values) > 1e200).any(axis=1)


def test_python(networks):
    agree(engines.in_python, networks)


def test_javascript(few):
    agree(engines.in_node, few)


@pytest.mark.parametrize(
    "flags",
    [
        ("-std=c99", "-pedantic", "-O0"),
        pytest.param(("-std=gnu11", "-O3", "-march=native"), marks=pytest.mark.exhaustive),
    ],
    ids=" ".join,
)
def test_c(few, flags):
    agree(engines.in_c(*flags), few)


def test_sqlite(networks):
    agree(engines.in_sqlite, networks)


def test_duckdb(networks):
    agree(engines.in_duckdb, networks)


@pytest.mark.parametrize("dialect", ["bigquery", pytest.param("snowflake", marks=pytest.mark.exhaustive)])
def test_dialects_of_databases_that_cannot_be_had_here(few, dialect):
    """Read as that dialect and run in DuckDB's words."""
    agree(engines.translated(dialect), few, 60)


def test_postgresql(networks, postgres):
    agree(postgres, networks, finite=True)


def test_onnx(networks):
    agree(engines.in_onnx, networks | {"hostile": hostile(without=("",))})
    with pytest.raises(ValueError, match=r"an empty string as a category of .* inputs='matrix'"):
        export.to_onnx(hostile())


def test_onnx_with_categories_as_numbers():
    agree(lambda network, rows: engines.in_onnx(network, rows, inputs="matrix"), {"town": town(), "hostile": hostile()})


def test_sql_as_one_expression():
    import sqlite3

    network = town()
    rows = rows_for(network, 200)
    expression = export.to_sql(network, dialect="sqlite", form="expression")
    names, table = engines.table_of(network, rows)
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE rows ({', '.join(json.dumps(name) for name in names)})")
    database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(names))})", table)
    got = [row[0] for row in database.execute(f'SELECT {expression} FROM rows ORDER BY "{engines.KEY}"')]
    assert (bits(got) == bits(expected(network, rows)[:, 0])).all()


def test_linear_terms_of_deep_networks_take_the_typical_value_too():
    deep = random_network(5, ["a", "b"], 1, second=2)
    columns = (replace(deep.schema.columns[0], typical=2.5), deep.schema.columns[1])
    network = with_linear_terms(deep.changed(schema=replace(deep.schema, columns=columns)), [0.5, 0.0])
    rows = np.array([[None, 1.0], [2.5, 1.0]], object)
    assert len(set(network.predict(rows).tolist())) == 1
    for run in (engines.in_python, engines.in_sqlite, engines.in_c("-O1")):
        assert (bits(run(network, rows)) == bits(expected(network, rows))).all()


def test_a_refused_missing_value_is_no_prediction():
    network = random_network(3, ["a", "b"], 1)
    rows = np.array([[np.nan, 1.0], [0.5, 1.0]])
    want = network.predict(rows[1:])
    for run in (engines.in_sqlite, engines.in_duckdb, engines.in_onnx, engines.in_c("-O1")):
        got = run(network, rows)[:, 0]
        assert np.isnan(got[0])
        assert got[1] == want[0]
    with pytest.raises(ValueError, match="'a' is missing"):
        engines.in_python(network, rows)
    with pytest.raises(AssertionError, match="a is missing"):
        engines.in_node(network, rows)


# -- classes -----------------------------------------------------------------------------------------------------


def with_classes(link):
    """A network of two or three classes with hostile labels."""
    network = random_network(6, ["a", "b"], 4)
    schema = replace(network.schema, classes=HOSTILE[: 2 if link == "logistic" else 3], target="kind")
    rng = np.random.default_rng(0)
    shape = (6,) if link == "logistic" else (6, 3)
    outputs, base = rng.normal(size=shape), rng.normal(size=shape[1:])
    return Network.of_layers(network.layers, outputs, base, schema=schema, link=link)


@pytest.mark.parametrize("link", ["logistic", "softmax"])
def test_labels_and_probabilities(link):
    network = with_classes(link)
    rows = np.random.default_rng(1).normal(size=(50, 2)) * 3
    predicted, scores = network.predict(rows), network.raw_score(rows)
    want = np.column_stack([1 - predicted, predicted]) if link == "logistic" else predicted
    labels = [
        network.schema.classes[k] for k in ((scores > 0).astype(int) if link == "logistic" else scores.argmax(axis=1))
    ]

    names = {}
    exec(export.to_python(network), names)
    records = engines.records(network, rows)
    got = np.array([names["predict"](row) for row in records])
    np.testing.assert_allclose(got, predicted, rtol=1e-14)
    assert [names["label"](row) for row in records] == labels

    session = engines.session_of(export.to_onnx(network))
    label, probabilities = session.run(["label", "probabilities"], {"X": rows})
    np.testing.assert_allclose(probabilities, want, rtol=1e-13, atol=1e-300)
    assert label.tolist() == labels

    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as database:
        database.execute("CREATE TABLE rows (n INTEGER, a DOUBLE, b DOUBLE)")
        database.executemany("INSERT INTO rows VALUES (?, ?, ?)", [[k, *row] for k, row in enumerate(rows.tolist())])
        result = database.execute(f"SELECT * FROM ({export.to_sql(network, dialect='duckdb', keep=['n'])}) ORDER BY n")
        columns = {
            title[0]: column
            for title, column in zip(result.description, zip(*result.fetchall(), strict=True), strict=True)
        }
    assert list(columns["label"]) == labels
    probable = ["probability"] if link == "logistic" else [f"probability of {name}" for name in network.schema.classes]
    np.testing.assert_allclose(
        np.column_stack([columns[name] for name in probable]), want[:, -len(probable) :], rtol=1e-13
    )

    with tempfile.TemporaryDirectory() as folder:
        driver = "int label(const double *row) { return bgn_label(row); }"
        library = engines.compiled(network, folder, "-O2", driver=driver)
        pointer = ctypes.POINTER(ctypes.c_double)
        chosen = [library.label(np.ascontiguousarray(row).ctypes.data_as(pointer)) for row in rows]
        assert [network.schema.classes[k] for k in chosen] == labels
        export.to_javascript(network, f"{folder}/model.mjs")
        answers = f"[m.predict({records[0]}), m.label({records[0]})]"
        code = f"import('./model.mjs').then((m) => console.log(JSON.stringify({answers})))"
        command = [engines.needs("node"), "-e", code]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    got, label = json.loads(done.stdout)
    np.testing.assert_allclose(got, predicted[0], rtol=1e-14)
    assert label == labels[0]


# -- reasons -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [town, lambda: random_network(7, ["a", "b", "c"], 2, second=3), lambda: classes(1, 4), lambda: classes(2, 3, True),
     lambda: town().changed(link="logistic"), lambda: town().changed(bounds=(0.0, 1.5))],
    ids=["town", "deep", "classes", "classes with slopes", "two classes", "bounded"],
)  # fmt: skip
def test_reasons_are_the_shap_values_of_rules(make):
    network = make()
    background, rows = (rows_for(network, 60, seed, extremes=(0.0,)) for seed in (1, 2))
    answers = network.hidden(rows)
    away = answers - network.hidden(background).mean(axis=0)
    likeliest = network.raw_score(rows).argmax(axis=1) if network.link == "softmax" else np.zeros(len(rows), int)
    values = network.output_weights.reshape(answers.shape[1], -1).T[likeliest] * away
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :3]
    want = np.take_along_axis(values, order, axis=1)
    if not network.linear:
        means = network.raw_score(background).mean(axis=0).reshape(-1)[likeliest]
        scores = expected(network, rows)[np.arange(len(rows)), likeliest]
        np.testing.assert_allclose(values.sum(axis=1) + means, scores)

    names = {}
    exec(export.to_python(network, reasons=background), names)
    reasons = [names["reasons"](row) for row in engines.records(network, rows)]
    shap = np.array([[value for _, _, value in own] for own in reasons])
    np.testing.assert_allclose(shap, want, rtol=1e-12)
    assert all(answer is bool(answers[k, order[k, 0]] > 0) for k, ((_, answer, _), *_) in enumerate(reasons))

    session = engines.session_of(export.to_onnx(network, reasons=background))
    which, got = session.run(["reasons", "amounts"], engines.feed(network, rows, session))
    assert (got == shap).all()
    texts = json.loads(session.get_modelmeta().custom_metadata_map["reasons"])
    assert [[texts[k] for k in places] for places in which] == [[text for text, _, _ in own] for own in reasons]

    import sqlite3

    table_names, table = engines.table_of(network, rows)
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE rows ({', '.join(json.dumps(name) for name in table_names)})")
    database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(table_names))})", table)
    query = export.to_sql(network, dialect="sqlite", keep=[engines.KEY], reasons=background)
    for row in database.execute(query):
        shown = [(row[3 * k - 9], row[3 * k - 8] == "yes", row[3 * k - 7]) for k in range(3)]
        assert shown == reasons[row[0]]


def test_reasons_agree_with_explanations():
    network = random_network(5, ["a", "b"], 3)
    rows = np.random.default_rng(0).normal(size=(30, 2))
    names = {}
    exec(export.to_python(network, reasons=rows), names)
    explanation = shap_values(network, rows[:4], background=rows)
    for row, values in zip(engines.records(network, rows[:4]), explanation.values, strict=True):
        total = sum(value for _, _, value in names["reasons"](row, 100))
        assert total == pytest.approx(values.sum())


# -- wording, sizes, names, files --------------------------------------------------------------------------------


def test_programs_read_like_the_card():
    columns = (Column("contract", categories=("yearly", "monthly")), Column("tenure"), Column("time at work"))
    rules = [Rule([Member(0, (1,)), Threshold(1, 33.0, "<", False)]), Rule(Threshold(2, 5.0, missing=True)),
             Rule([Member(0, (0,), missing=True), Missing(1)])]  # fmt: skip
    network = Network(0.5, [*rules, Linear(2)], [0.89, -0.3, 0.1, 0.25], schema=Schema(
        (*columns[:2], replace(columns[2], typical=3.0)), "churn"))  # fmt: skip
    expected_lines = {
        export.to_python: """t0 += 0.89 * (contract == 'monthly' and tenure < 33.0)
t0 += -0.3 * (time_at_work >= 5.0 or time_at_work != time_at_work)
t0 += 0.1 * (contract != 'monthly' and tenure != tenure)
t0 += 0.25 * (3.0 if time_at_work != time_at_work else time_at_work)""",
        export.to_javascript: """t0 += 0.89 * (contract === "monthly" && tenure < 33);
t0 += -0.3 * (time_at_work >= 5 || time_at_work !== time_at_work);
t0 += 0.1 * (contract !== "monthly" && tenure !== tenure);""",
        export.to_c: """/* contract = monthly and tenure < 33 */
t0 += 0x1.c7ae147ae147bp-1 * (x0 == 1 && x1 < 33.0);""",
        partial(export.to_sql, dialect="duckdb"): """0.5e0
+ CASE WHEN "contract" = 'monthly' AND "tenure" < 33.0e0 THEN 0.89e0 ELSE 0.0e0 END
+ CASE WHEN ("time at work" >= 5.0e0 OR "time at work" IS NULL) THEN -0.3e0 ELSE 0.0e0 END
+ CASE WHEN ("contract" <> 'monthly' OR "contract" IS NULL) AND "tenure" IS NULL THEN 0.1e0 ELSE 0.0e0 END
+ 0.25e0 * COALESCE("time at work", 3.0e0)""",
    }
    for write, lines in expected_lines.items():
        program = "\n".join(line.strip() for line in write(network).splitlines())
        assert lines in program, program


def test_equal_rules_are_written_once():
    layer = Layer(np.tile([[1.0, 0.5], [1.0, 0.0]], (500, 1)), np.tile([-1.0, -2.0], 500))
    network = Network.of_layers([layer], np.full(1000, 0.001), 0.0, ["a", "b"])
    planned = plan(network)
    assert len(planned.layers[0].conditions) == 2
    assert len(planned.addends) == 2
    for write in (export.to_python, export.to_javascript, export.to_c, export.to_sql, export.to_onnx):
        assert len(write(network)) < 4000


def test_categories_that_are_looked_up_are_not_summed_up_as_well():
    schema = Schema((Column("colour", categories=("red", "green", "blue")),))
    line = Projection((0,), ((1.0, 0.0, 2.0),))
    network = Network.of_layers([Layer.of([Oblique(line, 0.5), Oblique(line, 1.5)], 1)], [1.0, 0.5], 0.0, schema=schema)
    assert "s0_0" not in export.to_c(network)  # a compiler would warn of it
    assert "s0_0" not in export.to_python(network)


def test_names_do_not_get_out():
    network = hostile()
    assert "</script" not in export.to_javascript(network)
    header = export.to_c(network)
    assert header.isascii()
    assert header.count("*/") == header.count("/*")
    compile(export.to_python(network), "exported", "exec")
    for dialect in ("standard", "bigquery", "snowflake"):
        text = export.to_sql(network, dialect=dialect, keep=HOSTILE[:3], table=("a schema", 'a "table"'))
        assert "DROP TABLE rows; --" in text  # within quotes
    assert '`a schema`.`a "table"`' in export.to_sql(network, dialect="bigquery", table=("a schema", 'a "table"'))


@pytest.mark.parametrize("text", ["a\0b", "a\ud800", "a\x01"])
@pytest.mark.parametrize("place", ["column", "category", "class", "target"])
def test_what_a_target_would_lose_is_refused(text, place):
    categories = (text if place == "category" else "c", "d")
    columns = (Column(text if place == "column" else "a"), Column("b", categories=categories))
    classes = ("no", text if place == "class" else "yes")
    schema = Schema(columns, text if place == "target" else "y", classes=classes)
    conditions = [Oblique(Projection((0,), (1.0,)), 0.5), Oblique(Projection((1,), ((0.0, 1.0),)), 1.0)]
    network = Network.of_layers([Layer.of(conditions, 2)], [1.0, 2.0], 0.0, schema=schema, link="logistic")
    for target, write in TARGETS_OF_TEXTS.items():
        if target == "PMML" or text != "a\x01":
            with pytest.raises(ValueError, match=rf"^{target} has no place for the character .* otherwise\.$"):
                write(network)
        else:
            write(network)
    if place == "category":
        with pytest.raises(ValueError, match=r"^A workbook has no place"):
            export.to_excel(network)
    for write in (export.to_python, export.to_javascript, export.to_json_schema):
        write(network).encode()


TARGETS_OF_TEXTS = {"SQL": export.to_sql, "C": export.to_c, "ONNX": export.to_onnx, "PMML": export.to_pmml}


def test_no_script_ends_in_a_comment():
    network = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0, ["a"], "</script><script>alert(1)</script>")
    text = export.to_javascript(network)
    assert text.startswith('// Predicts "\\u003c/script>')
    assert "</script" not in text + export.to_javascript(hostile())


def test_infinite_numbers_have_no_prediction():
    """`predict` refuses them; so does every program, in its own way."""
    network = town()
    rows = rows_for(network, 20)
    rows[:, 0] = np.where(np.arange(20) % 2, np.inf, -np.inf)
    rows[:3, 0] = 1.5
    with pytest.raises(ValueError, match="infinit"):
        network.predict(rows)
    want = expected(network, rows[:3])
    for run in (engines.in_sqlite, engines.in_duckdb, engines.in_onnx,
                lambda network, rows: engines.in_onnx(network, rows, inputs="matrix")):  # fmt: skip
        got = run(network, rows)
        assert np.isnan(got[3:]).all()
        np.testing.assert_array_equal(got[:3], want)
    sloped = with_linear_terms(Network.of_layers([Layer([[1.0, 0.0]], [0.0])], [1.0], 0.0, ["a", "b"]), [0.0, 2.0])
    for run in (engines.in_sqlite, engines.in_duckdb, engines.in_onnx, engines.in_c("-std=c99", "-O2")):
        assert np.isnan(run(sloped, np.array([[1.0, np.inf], [-np.inf, 1.0]]))).all()
    with pytest.raises(ValueError, match="infinite"):
        engines.in_python(network, rows)
    program = export.to_javascript(sloped) + "\nscore({a: Infinity, b: 0});"
    command = [engines.needs("node"), "--input-type=module", "-"]
    done = subprocess.run(command, input=program, capture_output=True, text=True, check=False)
    assert "RangeError: a is infinite" in done.stderr


def test_names_of_our_own_are_no_trap(postgres):
    names = ["x1", "x0", "keep_0", "t0", "h0_0", "s0_0", "n3", "c1", "_n2", "answer 1 1", "prediction", "X", "row",
             "odds"]  # fmt: skip
    for second in (0, 3):
        network = random_network(20, names, 5, second=second, target="x1")
        every = {"own": network, "classes": network.changed(link="logistic")}
        in_onnx = partial(engines.in_onnx, inputs="columns")
        for run in (engines.in_python, engines.in_duckdb, engines.in_sqlite, engines.in_node, in_onnx):
            agree(run, every)
        agree(postgres, every, finite=True)
    text = export.to_sql(network, table="Stage_0")
    assert "WITH bgn_stage_0 AS" in text


def test_a_file_is_written_whole(tmp_path):
    network = random_network(3, ["a", "b"], 0)
    for name, write in zip("abcd", (export.to_python, export.to_javascript, export.to_c, export.to_sql), strict=True):
        text = write(network, tmp_path / name)
        assert (tmp_path / name).read_text() == text
    content = export.to_onnx(network, tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == content
    with pytest.raises(FileNotFoundError):
        export.to_c(network, Path("/no such folder/m.h"))


def test_what_cannot_be_written_is_said():
    network = random_network(3, ["a", "b"], 0)
    with pytest.raises(ValueError, match=r"dialect must be one of 'standard'.*got 'oracle'"):
        export.to_sql(network, dialect="oracle")
    with pytest.raises(ValueError, match="table must be a name"):
        export.to_sql(network, table="")
    with pytest.raises(ValueError, match=r"name must be letters.*got 'my model'"):
        export.to_c(network, name="my model")
    with pytest.raises(ValueError, match="inputs must be"):
        export.to_onnx(network, inputs="rows")
    with pytest.raises(ValueError, match="form='expression' writes one raw score"):
        export.to_sql(with_classes("softmax"), form="expression")
    with pytest.raises(ValueError, match="background must have rows"):
        export.to_python(network, reasons=np.zeros((0, 2)))


def test_names_that_differ_in_case_are_refused_where_that_does_not_count():
    network = Network.of_layers([Layer([[1.0, 2.0, 0.0]], [-3.0])], [1.0], 0.0, ["rent", "Rent", "RENT"])
    assert '"rent"' in export.to_sql(network)
    for dialect in ("sqlite", "duckdb", "bigquery"):
        with pytest.raises(ValueError, match=f"columns 'Rent' and 'rent', which {dialect} takes for one"):
            export.to_sql(network, dialect=dialect)
    with pytest.raises(ValueError, match="which sqlite takes for one"):
        count_differing_rows(network, [[1.0, 2.0, 3.0]], np.array([1.0]))
    alone = Network.of_layers([Layer([[1.0, 0.0]], [-3.0])], [1.0], 0.0, ["rent", "Rent"])
    assert count_differing_rows(alone, [[4.0, 2.0], [2.0, 4.0]], alone.predict([[4.0, 2.0], [2.0, 4.0]])) == 0


def test_float32_inputs_are_rounded_before_they_are_compared():
    network = Network.of_layers([Layer([[1.0]], [-0.1])], [1.0], 0.0, ["a"])
    session = engines.session_of(export.to_onnx(network, precision="float"))
    given = np.array([[0.1], [0.2]], np.float32)
    assert session.run(None, {"X": given})[0][:, 0].tolist() == network.predict(given.astype(float)).tolist()


def test_numbers_that_sqlite_would_misread():
    rng = np.random.default_rng(0)
    thresholds = np.concatenate(
        [rng.normal(size=300), rng.normal(size=100) * 10.0 ** rng.integers(-300, 300, 100), [5e-324, 1e22, 0.1]]
    )
    layer = Layer(np.ones((len(thresholds), 1)), -thresholds)
    network = Network.of_layers([layer], 2.0 ** -np.arange(len(thresholds)), 0.0, ["a"])
    rows = np.concatenate([thresholds, np.nextafter(thresholds, -np.inf), np.nextafter(thresholds, np.inf)])[
        :, np.newaxis
    ]
    assert (engines.in_sqlite(network, rows) == expected(network, rows)).all()


def test_bgn_offers_the_formats():
    assert set(export.__all__) >= {"to_c", "to_javascript", "to_onnx", "to_python", "to_sql"}
    assert bgn.export is export


def test_town_rows_as_people_write_them():
    network, rows = town(), town_rows(100)
    assert (engines.in_python(network, rows)[:, 0] == network.predict(rows)).all()
    schema = Schema((Column("floor", categories=(1.0, 2.5)),))
    floors = Network(0.0, [Rule(Member(0, (0,)), -1.0)], [1.0], schema=schema)
    names = {}
    exec(export.to_python(floors), names)
    floors_of = zip((1, 1.0, "1", 2.5, "2.5", None, 7), (1, 1, 1, -1, -1, -1, -1), strict=True)
    assert all(names["predict"]({"floor": value}) == prediction for value, prediction in floors_of)


# -- points without floats ---------------------------------------------------------------------------------------


def card():
    """A card with a number, a category and a sum of both, thresholds with decimals, and gaps."""
    schema = Schema(
        (Column("income"), Column("city", categories=("Lille", "Nice", "Rome")), Column("age", typical=30.0)), "value"
    )
    conditions = [
        Oblique(Projection((0,), (1.0,)), 65.46, missing=True),
        Oblique(Projection((0,), (-1.0,)), -20.5, missing=False),
        Oblique(Projection((1,), ((1.0, 0.0, 1.0),)), 1.0, missing=False),
        Oblique(Projection((0, 1), (1.0, (0.0, -6.25, 0.0)), missing_as=(38.5, 0.5)), 30.0),
        Oblique(Projection((0, 2), (1.0, 0.5)), 60.0, missing=True),
        Oblique(Projection((2,), (1.0,)), 20.0),
    ]
    return Network.of_layers([Layer.of(conditions, 3)], [0.26, 0.195, -0.065, 0.13, -0.39, 0.065], 1.54, schema=schema)


def test_points_without_floats(tmp_path):
    network = card()
    written = bgn.scorecard(network)
    export.to_c(network, tmp_path / "card.h", integers=True, decimals=2)
    (tmp_path / "driver.c").write_text(
        '#include "card.h"\nvoid run(const int32_t *rows, long count, int32_t *out) '
        "{ for (long k = 0; k < count; k++) out[k] = bgn_points(rows + 3 * k); }\n"
    )
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-mgeneral-regs-only"]
    command = [engines.needs("gcc"), *flags, "driver.c", "-o", "card.so"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rng = np.random.default_rng(0)
    income = rng.choice([65.46, 65.45, 65.47, 20.5, 20.51, 20.49, 30.0, 36.25, 36.24, 45.0, 50.0, 49.99], 2000)
    codes, age = rng.integers(-1, 4, 2000), rng.choice([20.0, 19.99, 30.0, 22.0], 2000)
    rows = np.column_stack([income, codes, age]).astype(object)
    rows[rng.random(2000) < 0.1, 0] = None
    rows[rng.random(2000) < 0.1, 2] = None
    cities = [network.schema.columns[1].categories[code] if 0 <= code < 3 else None for code in codes]
    want = network.predict(np.column_stack([rows[:, 0], np.array(cities, object), rows[:, 2]]))
    scaled = [
        [-(2**31) if x is None else round(x * by) for x, by in zip(row, (100, 1, 100), strict=True)] for row in rows
    ]
    given = np.array(scaled, np.int32)
    out = np.empty(len(given), np.int32)
    library, pointer = ctypes.CDLL(str(tmp_path / "card.so")), ctypes.POINTER(ctypes.c_int32)
    library.run(given.ctypes.data_as(pointer), ctypes.c_long(len(given)), out.ctypes.data_as(pointer))
    assert [float(written.prediction(int(points))) for points in out] == want.tolist()


def test_points_are_for_cards():
    with pytest.raises(ValueError, match="whole multiples"):
        export.to_c(random_network(3, ["a", "b"], 0), integers=True)
