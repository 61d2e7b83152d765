"""Check that every local link of the built documentation leads to a file that is there, and to a place in it, and that
no page shows marks that should have become a table or a link.

Pages of source code, which are made by a program that links to names of its own, and the theme's files are left aside.

    python .ci/links.py docs/_build/html
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

MARKS = re.compile(r"={4,}|:(?:func|class|meth|mod|doc|ref|attr):`")


class Page(HTMLParser):
    """The links and the places of a page, and the marks that were left in its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.marks: list[str] = []
        self._inside: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember what an element links to, and what it is called."""
        if tag in ("pre", "script", "style"):
            self._inside.append(tag)
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)

    def handle_endtag(self, tag: str) -> None:
        """Leave code behind."""
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        """Look for marks outside code."""
        if not self._inside:
            self.marks += MARKS.findall(data)


def broken(folder: Path) -> list[str]:
    """Return a line per local link that leads nowhere, and per page with marks in its text."""
    own = (path for path in sorted(folder.rglob("*.html")) if not {"_static", "_modules"} & set(path.parts))
    pages = {path.resolve(): Page(path) for path in own}
    found = []
    for path, page in pages.items():
        found += [f"{path.relative_to(folder.resolve())}: {page.marks[0]!r} in its text"] if page.marks else []
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            place = unquote(parts.fragment)
            if not target.exists():
                found.append(f"{path.relative_to(folder.resolve())}: {link}: no such file")
            elif place and target in pages and place not in pages[target].places:
                found.append(f"{path.relative_to(folder.resolve())}: {link}: no such place")
    return found


if __name__ == "__main__":
    problems = broken(Path(sys.argv[1]))
    print("\n".join(problems) or "Every local link leads somewhere.")
    sys.exit(bool(problems))
