"""The application answers as the library does, and refuses everything else in plain words, over real connections."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import string
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import bgn
from bgn.model.schema import Column, Schema
from bgn.persist import ModelFile, read
from bgn.report.facts import Facts
from bgn.serve import ModelApp, ModelServer
from bgn.serve.requests import BadRequest, parse
from bgn.serve.server import MOST_BYTES
from tests.networks import network_of, rows_for, town, town_rows


def app_of(save_to=None, link="identity", names=None) -> ModelApp:
    network, rows = town(), town_rows(150)
    y = network.predict(rows) + np.linspace(-1, 1, 150)
    if link != "identity":
        network, y = network.changed(link=link, base=0.0), (y > np.median(y)) * 1.0
    facts = replace(Facts.of(network, rows, y, None, None), names=(names, None))
    return ModelApp(ModelFile(network, bgn.__version__), facts, save_to=save_to)


def plain(row: np.ndarray) -> list:
    return [None if item != item else item for item in row.tolist()]


@pytest.fixture(scope="module")
def server():
    with ModelServer(app_of()) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path, body=b"{}", method="POST", **headers):
    """Send one request as it is; return status, headers and what came back."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    text = {"Host": f"127.0.0.1:{server.server_port}", "Content-Type": "application/json"} | headers
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in text.items():
        if value is not None:
            connection.putheader(name, value)
    if body is not None and "Content-Length" not in headers:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body or None)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), content


def test_predictions_are_those_of_the_library() -> None:
    app = app_of()
    for row, expected in zip(app.facts.rows[:20], app.facts.predictions, strict=False):
        result = app.answer("predict", {"row": plain(row)})
        assert result["prediction"] == expected
        assert all(item["adds"] for item in result["reasons"])
    result = app_of(link="logistic").answer("predict", {"row": plain(app.facts.rows[0])})
    assert sum(result["probabilities"]) == pytest.approx(1.0)


def test_rows_are_known_by_number_and_key() -> None:
    app = app_of(names=[f"{k + 1} · key-{k}" for k in range(150)])
    for name in ("17", "KEY-16", "17 · key-16"):
        result = app.answer("row", {"name": name})
        assert result["values"] == plain(app.facts.rows[16])
        assert result["truth"] == app.facts.target[16]
    with pytest.raises(BadRequest, match=r"no row '0'. The first is 1 · key-0, the last 150"):
        app.answer("row", {"name": "0"})


def test_counterfactuals_reach_what_is_wanted_and_leave_what_must_stay() -> None:
    app = app_of()
    row = app.facts.rows[3]
    wanted = float(app.facts.predictions[3]) + 1.0
    result = app.answer("counterfactual", {"row": plain(row), "at_least": wanted})
    assert result["found"]
    assert result["prediction"] >= wanted
    assert app.answer("predict", {"row": result["values"]})["prediction"] == result["prediction"]
    moved = [item["column"] for item in result["changes"]]
    stayed = app.answer("counterfactual", {"row": plain(row), "at_least": wanted, "stay": moved})
    assert not set(moved) & {item["column"] for item in stayed["changes"]}
    none = app.answer("counterfactual", {"row": plain(row), "at_least": 1e6})
    assert none["unreachable"]
    chances = app_of(link="logistic").answer("counterfactual", {"row": plain(row), "at_most": 0.9, "class": 1})
    assert chances["found"]
    assert chances["prediction"] <= 0.9


def test_a_class_is_requested_for_without_a_probability() -> None:
    schema = Schema((Column("a"), Column("b")), "pet", classes=("cat", "dog", "eel"))
    network = bgn.Network.of_layers(
        [bgn.Layer([[0.0, 1.0]], [-2.0])], [[1.0, 0.0, -1.0]], [0.0, 0.5, 0.0], schema=schema, link="softmax"
    ).with_linear([bgn.Linear(0, 0.0, 9.0)], [[0.5, 0.0, -0.5]])
    rows = np.array([[0.0, 0.0], [9.0, 9.0], [4.0, 2.0]])
    app = ModelApp(ModelFile(network, bgn.__version__), Facts.of(network, rows, ["eel", "cat", "dog"], None, None))
    result = app.answer("counterfactual", {"row": [0.0, 0.0], "class": 0})
    assert result["found"]
    assert bgn.Network.predict(network, [result["values"]]).argmax() == 0
    with pytest.raises(BadRequest, match="Leave the percentage empty"):
        app.answer("counterfactual", {"row": [0.0, 0.0], "class": 0, "at_least": 0.9})


def test_edits_are_those_of_the_library_and_are_written_where_shown(tmp_path) -> None:
    app = app_of(tmp_path / "edited.json")
    rules = [term.index for term in bgn.as_terms(app.file.network).rules]
    changes = [
        {"do": "weight", "rule": 2, "value": 0.25, "why": "less"}, {"do": "drop", "rule": 1},
        {"do": "weight", "rule": 3, "value": 1.5},
    ]  # fmt: skip
    result = app.answer("edit", {"changes": changes})
    assert [item["rows"] for item in result["log"]] == [150] * 3
    assert app.answer("save", {"changes": changes}) == {"saved": "edited.json", "changes": 3}
    kept = read(tmp_path / "edited.json")
    expected = bgn.edit(app.file.network).coef(2, 0.25)
    line = [term.index for term in bgn.as_terms(expected.network).rules].index(rules[0]) + 1
    expected = expected.drop(line)
    place = rules[2] - (rules[2] > rules[0])
    line = [term.index for term in bgn.as_terms(expected.network).rules].index(place) + 1
    assert kept.network == expected.coef(line, 1.5).network
    assert kept.edits[0].why == "less"
    text = app.answer("file", {"changes": changes})["text"]
    assert json.loads(text)["network"] == json.loads((tmp_path / "edited.json").read_text())["network"]
    with pytest.raises(BadRequest, match="Rule 1 was dropped before"):
        app.answer("edit", {"changes": [{"do": "drop", "rule": 1}] * 2})
    with pytest.raises(BadRequest, match="No file was named"):
        app_of().answer("save", {"changes": changes})


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("predict", {}, "row must have 5 values"),
        ("predict", {"row": [1, 2]}, "row must have 5 values"),
        ("predict", {"row": ["old", 0, 1, 0, 0]}, "age must be a number; got"),
        ("predict", {"row": [True, 0, 1, 0, 0]}, "age must be a number; got true"),
        ("predict", {"row": [10**309, 0, 1, 0, 0]}, "that can be computed with"),
        ("predict", {"row": [1, 77, 1, 0, 0]}, "city has no category number 77"),
        ("predict", {"row": [1, 0.5, 1, 0, 0]}, "city has no category number 0.5"),
        ("predict", {"row": [1, 0, 1, 0, 0], "more": 1}, "'more' is not known here"),
        ("counterfactual", {"row": [1, 0, 1, 0, 0]}, "Say what is wanted"),
        ("counterfactual", {"row": [1, 0, 1, 0, 0], "at_least": 1, "stay": [9]}, "stay must be a whole number"),
        ("edit", {"changes": [{"do": "burn", "rule": 1}]}, "one of threshold, weight, category and drop"),
        ("edit", {"changes": [{"do": "drop", "rule": 99}]}, "rule must be a whole number from 1"),
        ("edit", {"changes": [{"do": "weight", "rule": 1, "value": "much"}]}, "weight must be a number"),
        ("edit", {"changes": 3}, "changes must be a list"),
        ("row", {"name": 3}, "name must be a text"),
        ("../../etc/passwd", {}, "no such request"),
    ],
)
def test_wrong_requests_are_refused_in_plain_language(name, body, message) -> None:
    with pytest.raises(BadRequest, match=message):
        app_of().answer(name, body)


def test_what_is_no_json_is_refused() -> None:
    torn = (b"", b"{", b"[1]", b"[" * 100_000, b"\xff\xfe", b'{"a": 1' + b"0" * 9999)
    for body in (*torn, b'{"a": NaN}', b'{"a": Infinity}'):
        with pytest.raises(BadRequest, match="request"):
            parse(body)


def test_only_the_page_and_its_rules_are_served(server) -> None:
    token = server.token
    status, headers, page = ask(server, f"/{token}/", None, "GET")
    assert (status, page[:15]) == (200, b"<!DOCTYPE html>")
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Frame-Options"] == "DENY"
    assert "Access-Control-Allow-Origin" not in headers
    assert b"connect-src 'self'" in page
    assert token.encode() not in page
    assert ask(server, f"/{token}/", None, "HEAD")[2] == b""
    behind = ("../../etc/passwd", "report.html", "/etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "?x=1", "api/row")
    paths = ["/", "/x/", f"/{token}", f"/{token[:-1]}/", f"/{token}x/", "/etc/passwd"]
    for path in [*paths, *(f"/{token}/{item}" for item in behind)]:
        status, _, content = ask(server, path, None, "GET")
        assert status == 404, path
        assert json.loads(content) == {"error": "There is nothing here. Use the address that bgn serve printed."}
    assert ask(server, f"/{token}/api/none")[0] == 400
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"):
        assert ask(server, f"/{token}/", None, method)[0] == 501


def test_other_names_and_other_pages_are_refused(server) -> None:
    path, port = f"/{server.token}/api/row", server.server_port
    good = b'{"name": "1"}'
    assert ask(server, path, good)[0] == 200
    assert ask(server, path, good, Host=f"localhost:{port}")[0] == 200
    assert ask(server, path, good, Origin=f"http://127.0.0.1:{port}")[0] == 200
    names = ("evil.example", "127.0.0.1.evil.example", "a@127.0.0.1", "10.0.0.1", "[", "127.0.0.1:1")
    wrong = [*(f"{name}:{port}" for name in names), "127.0.0.1", f"127.0.0.1:{port}/x", f"127.0.0.1:{port + 1}"]
    for host in [*wrong, "", None, f"127.0.0.1:{port}.evil.example"]:
        assert ask(server, path, good, Host=host)[0] == 403, host
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", f"http://localhost:{port}"):
        assert ask(server, path, good, Origin=origin)[0] == 403, origin


def test_requests_are_bounded(server) -> None:
    path = f"/{server.token}/api/row"
    assert ask(server, path, b"{}", Content_Type="text/plain")[0] == 415
    assert ask(server, path, b"{}", Content_Type=None)[0] == 415
    assert ask(server, path, None)[0] == 411
    for length in ("-1", "x", "1e3", "\u0663".encode().decode("latin-1")):
        assert ask(server, path, None, Content_Length=length)[0] == 411, length
    for length in (str(MOST_BYTES + 1), "9" * 50):
        assert ask(server, path, None, Content_Length=length)[0] == 413
    assert ask(server, path, b"{}", Transfer_Encoding="chunked")[0] == 411
    status, _, content = ask(server, path, b'{"name": "' + b"x" * 5000 + b'"}')
    assert status == 400
    assert len(content) < 1000


def test_no_noise_breaks_the_server(server) -> None:
    """Bytes at random, cut off and torn requests: afterwards it answers as before, and nothing ever came from disk."""
    rng = random.Random(0)
    token = server.token
    starts = [b"GET / HTTP/1.1\r\n", f"POST /{token}/api/predict HTTP/1.1\r\n".encode(), b"\x16\x03\x01"]
    starts += [b"GET " + b"a" * 70_000 + b" HTTP/1.1\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n\r\n", b"\x00\r\n"]
    for _ in range(60):
        sent = rng.choice(starts) + bytes(rng.choices(range(256), k=rng.randrange(200)))
        if rng.random() < 0.5:
            sent += f"\r\nHost: 127.0.0.1:{server.server_port}\r\n".encode() * rng.choice([1, 2, 150])
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
            answer = b""
            with suppress(OSError):  # the server may hang up while it is still spoken to
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65536):
                    answer += part
            assert b"root:" not in answer
            assert b"Traceback" not in answer
    assert ask(server, f"/{token}/api/row", b'{"name": "1"}')[0] == 200


def test_no_body_gets_more_than_an_answer_or_a_refusal(server) -> None:
    rng = random.Random(1)
    values = [None, True, -1, 0, 3, 1.5, 1e308, "", "x", "../x", [], [None] * 5, [0] * 5, [1, 0, 1, 0, 0], {}]
    names = ["row", "name", "at_least", "at_most", "class", "stay", "changes", "x"]
    for _ in range(150):
        body = {rng.choice(names): rng.choice(values) for _ in range(rng.randrange(4))}
        if rng.random() < 0.3:
            keys, done = ["rule", "value", "category", "yes", "why"], ["drop", "weight", "category", "threshold", 7]
            body["changes"] = [{"do": rng.choice(done)} | {key: rng.choice(values) for key in keys} for _ in range(3)]
        odd = "".join(rng.choices(string.ascii_letters, k=4))
        request = rng.choice(["row", "predict", "counterfactual", "edit", "file", "save", odd])
        status, _, content = ask(server, f"/{server.token}/api/{request}", json.dumps(body).encode())
        assert status in (200, 400), (request, body, content)
        assert ("error" in json.loads(content)) is (status == 400)


def test_weights_beyond_floats_are_refused_in_text(server) -> None:
    for value in (1e308, -1e308):
        body = {"changes": [{"do": "weight", "rule": 1, "value": value}]}
        status, _, content = ask(server, f"/{server.token}/api/edit", json.dumps(body).encode())
        assert status == 400
        assert "smaller values" in json.loads(content)["error"]


def test_many_may_come_at_once(server) -> None:
    assert server.request_queue_size >= 100


def test_a_request_has_one_time_for_all_its_bytes(server, monkeypatch) -> None:
    monkeypatch.setattr("bgn.serve.server._SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
        for _ in range(400):  # of which each alone is in time
            try:
                connection.sendall(b"G")
                connection.settimeout(0.05)
                if connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("the server still waits")
    assert ask(server, f"/{server.token}/api/row", b'{"name": "1"}')[0] == 200


def test_the_address_of_others_is_theirs() -> None:
    with ModelServer(app_of(), "0.0.0.0") as server:
        assert not server.local
        assert server.url.startswith("http://127.0.0.1:")
        assert server.knows(f"10.1.2.3:{server.server_port}")
        assert not server.knows(f"evil.example:{server.server_port}")


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal")
def test_the_command_serves_until_it_is_shown_to_end(tmp_path) -> None:
    network = network_of(["a", "b"], 4, target="y")
    rows, y = rows_for(network, 60)
    bgn.save(network, tmp_path / "m.json")
    lines = [",".join(map(str, [*row, value])) for row, value in zip(rows.tolist(), y.tolist(), strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,y", *lines]))
    command = [sys.executable, "-m", "bgn", "serve", "m.json", "rows.csv", "--no-browser", "--save", "edited.json"]
    process = subprocess.Popen(command, cwd=tmp_path, env=os.environ | {"PYTHONUNBUFFERED": "1"}, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), process.stderr.read()
        port, token = url.removeprefix("http://127.0.0.1:").strip("/").split("/")
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
        connection.request("GET", f"/{token}/")
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out.splitlines()[-1]) == (0, "ended"), err
        assert sorted(os.listdir(tmp_path)) == ["m.json", "rows.csv"]
    finally:
        process.kill()
