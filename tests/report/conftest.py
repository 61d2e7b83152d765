"""Pages in a real browser, which stay at home and make no trouble."""

from __future__ import annotations

import pytest


@pytest.fixture
def open_page(browser):
    """Return a function that opens a page; at the end nothing may have gone wrong in any, nor left this machine."""
    troubles, requests, contexts = [], [], []

    def open_path(path, page_size=1280, scheme="light"):
        context = browser.new_context(viewport={"width": page_size, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_path
    for context in contexts:
        context.close()
    assert troubles == []
    assert [url for url in requests if not url.startswith(("file://", "data:"))] == []
