"""What the documentation includes, built from the published runs alone: no raw table is read and nothing is fitted.

``docs/conf.py`` calls :func:`build` before every build. A study is built again when its runs changed, or the code or
the packages that show them.
"""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bgn
from bgn.whole_file import write_whole
from experiments.publish import RESULTS, pages, published_runs

GENERATED = Path(__file__).parents[1] / "docs" / "results" / "generated"


def build(folder: Path = GENERATED, results: Path = RESULTS) -> list[str]:
    """Write the tables and figures of every published study that is not up to date; return the studies built."""
    folder.mkdir(parents=True, exist_ok=True)
    code = _code()
    built = []
    for path in sorted(results.glob("*.jsonl")):
        stamp = folder / f"{path.stem}.json"
        origin = hashlib.sha256(code + path.read_bytes()).hexdigest()
        before = _stamp(stamp)
        if before["origin"] == origin and all((folder / name).is_file() for name in before["files"]):
            continue
        for name in before["files"]:
            (folder / name).unlink(missing_ok=True)
        written = pages(path.stem, published_runs(path.stem, results), folder)
        files = [each.relative_to(folder).as_posix() for each in written]
        write_whole(stamp, json.dumps({"origin": origin, "files": files}).encode())
        built.append(path.stem)
    return built


def file(kind: str, name: str, folder: Path = GENERATED) -> Path:
    """Return the file of a ``"table"`` or a ``"figure"`` that a page names, ``"reduced/accuracy"`` for instance."""
    return folder / f"{name}.{'rst' if kind == 'table' else 'svg'}"


def _stamp(path: Path) -> dict[str, Any]:
    """Return what a study was built from and into."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {"origin": None, "files": []}


def _code() -> bytes:
    """Return a hash of all that decides how runs are shown, besides the runs."""
    found = hashlib.sha256(repr([version(name) for name in ("matplotlib", "numpy")]).encode())
    for package in (Path(__file__).parent, Path(bgn.__file__).parent):
        for path in sorted(package.rglob("*.py")):
            found.update(path.read_bytes())
    return found.digest()
