"""The application in a real browser: rows, predictions, exact changes and edits come from Python."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

import bgn
from bgn.persist import ModelFile, read
from bgn.report.facts import Facts
from bgn.serve import ModelApp, ModelServer
from tests.browser import MISPLACED, UNFOLD, barriers, says
from tests.networks import network_of, rows_for


@pytest.fixture
def served(browser, tmp_path):
    """A page of a network and 400 rows; at the end it has asked nobody but its own server, and nothing went wrong."""
    network = network_of(["a", "b", "c"], 6, target="price")
    rows, target = rows_for(network, 400)
    names = [f"{k + 1} · key-{k}" for k in range(400)]
    labels = {"columns": {"a": {"label": "size of it", "unit": "m"}}, "target": {"unit": "EUR"}}
    facts = replace(Facts.of(network, rows, target, None, None, labels), names=(names, None))
    app = ModelApp(ModelFile(network, bgn.__version__), facts, save_to=tmp_path / "edited.json")
    troubles, requested = [], []
    with ModelServer(app) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: requested.append(request.url))
        page.goto(server.url)
        yield page, network, rows, tmp_path
        context.close()
        server.shutdown()
        thread.join()
    assert [trouble for trouble in troubles if "400 (Bad Request)" not in trouble] == []
    assert [url for url in requested if not url.startswith((server.url, "data:", "blob:"))] == []


def test_rows_predictions_and_changes_come_from_python(served) -> None:
    page, network, rows, _ = served
    says(page, "live-note", "Python says the same.")
    page.fill("#find", "KEY-249")
    page.press("#find", "Enter")
    says(page, "started", "Row 250 · key-249")
    assert float(page.get_attribute("#prediction", "data-value")) == network.predict(rows[249:250])[0]
    says(page, "live-note", "size of it")
    page.fill("#find", "4001")
    page.press("#find", "Enter")
    says(page, "find-note", "There is no row '4001'")
    now = float(page.get_attribute("#prediction", "data-value"))
    wanted = float(np.quantile(network.predict(rows), 0.95)) if now < 0 else now + 0.5
    page.fill("#reach-value", str(wanted))
    page.click("#exact-ask")
    says(page, "exact-note", "proven to be the cheapest")
    page.click("#exact-list button")
    assert float(page.get_attribute("#prediction", "data-value")) >= wanted
    page.fill("#reach-value", "1e6")
    page.click("#exact-ask")
    says(page, "exact-note", "Proven: no change will do")


def test_edits_are_tried_on_all_rows_and_written_where_shown(served) -> None:
    page, network, _, folder = served
    page.fill("#edit-why", "by law")
    page.fill("#edit-lines [aria-label='weight of rule 2']", "0.3")
    page.press("#edit-lines [aria-label='weight of rule 2']", "Tab")
    says(page, "edit-live", "Python, on all 400 rows")
    page.click("[aria-label='Drop rule 1']")
    with page.expect_download() as saved:
        page.click("#edit-save")
    saved.value.save_as(folder / "downloaded.json")
    page.click("#edit-keep")
    says(page, "edit-live", "Written to edited.json, with 2 changes.")
    done = bgn.edit(network).coef(2, 0.3)
    first = bgn.as_terms(network).rules[0].index
    line = [term.index for term in bgn.as_terms(done.network).rules].index(first) + 1
    for name in ("edited.json", "downloaded.json"):
        result = read(folder / name)
        assert result.network == done.drop(line).network
        assert result.edits[0].why == "by law"


def test_the_live_page_looks_right_and_keeps_nobody_out(served) -> None:
    page, *_ = served
    for page_size in (1280, 400):
        page.set_viewport_size({"width": page_size, "height": 900})
        page.evaluate(UNFOLD)
        assert page.evaluate(MISPLACED) == []
    assert barriers(page) == []
