"""A real browser for pages: Playwright and Debian's Chromium (``make browser``), or a reason why a test is skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Where texts of drawings lie over each other or leave their drawing or box, and where texts of the page leave their
# place: all as a reader sees it, with everything unfolded.
MISPLACED = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('svg')) {
    const texts = [...svg.querySelectorAll('text')].map((each) => [each.textContent, each.getBoundingClientRect()])
      .filter(([, box]) => box.width && box.height);
    const sheet = svg.getBoundingClientRect();
    texts.forEach(([text, a], i) => {
      if (a.left < sheet.left - 1 || a.right > sheet.right + 1 || a.top < sheet.top - 1 || a.bottom > sheet.bottom + 1)
        found.push(`outside its drawing: ${text}`);
      for (const [other, b] of texts.slice(i + 1)) {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && tall > 2) found.push(`one over the other: ${text}, ${other}`);
      }
    });
    for (const group of svg.querySelectorAll('g')) {
      const box = group.querySelector('rect')?.getBoundingClientRect();
      for (const text of box ? group.querySelectorAll('text') : []) {
        const own = text.getBoundingClientRect();
        if (own.right > box.right + 1 || own.left < box.left - 1) found.push(`outside its box: ${text.textContent}`);
      }
    }
  }
  const places = [...document.querySelectorAll('td, th, label, h1, h2, h3, p, figcaption, summary, button, .control')];
  for (const place of places.filter((each) => !each.closest('svg') && each.offsetParent && each.clientWidth)) {
    if (place.scrollWidth > place.clientWidth + 2 && getComputedStyle(place).display !== 'inline')
      found.push(`wider than its place: ${place.tagName} ${place.textContent.slice(0, 60)}`);
  }
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  return wide > 0 ? [...found, `the page is ${wide} too wide`] : found;
}"""
UNFOLD = "() => document.querySelectorAll('details').forEach((each) => { each.open = true; })"


@contextmanager
def launched() -> Iterator[Any]:
    """Start a browser, or skip the test."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: nothing was tried in a browser (make browser installs it)")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: nothing was tried in a browser"
    )
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def says(page: Any, id: str, text: str) -> None:
    """Wait until an element has a text; asked from outside, because pages forbid code that is made from text."""
    from playwright.sync_api import expect

    expect(page.locator(f"#{id}")).to_contain_text(text, timeout=30_000)


def barriers(page: Any) -> list[str]:
    """What axe-core finds in a page that keeps people out: serious and critical violations."""
    pytest.importorskip("axe_playwright_python", reason="axe-core is not installed: barriers were not looked for")
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    violations = page.evaluate("() => axe.run({ resultTypes: ['violations'] })")["violations"]
    serious = [violation for violation in violations if violation["impact"] in ("serious", "critical")]
    return [f"{violation['id']}: {violation['nodes'][0]['html'][:120]}" for violation in serious]
