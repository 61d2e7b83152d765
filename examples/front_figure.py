"""The figure of the README and of the documentation's front page, drawn from the published runs of a study.

    python examples/front_figure.py            # writes docs/front.svg, and others for dark and for narrow pages
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).parents[1]
SIZES = (5, 10, 20, 40)
FAMILIES = {"equal bgn": "BGN", "equal figs": "FIGS", "equal tree": "tree", "equal lines": "Lasso"}
TABLES = {"housing": "House prices in California", "bike": "Bicycles hired per hour"}
INK = {"BGN": "#d1495b", "FIGS": "#3a7ca5", "tree": "#6a994e", "Lasso": "#8d8d8d"}


def errors() -> dict[str, dict[str, list[float]]]:
    """Return mean test errors by table and family, one for each size."""
    runs: dict[Any, list[list[float]]] = defaultdict(list)
    for line in (ROOT / "experiments" / "results" / "peers.jsonl").read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        if run["dataset"] in TABLES and run["method"] in FAMILIES and run["error"] is None:
            within = run["figures"]["within"]
            runs[run["dataset"], FAMILIES[run["method"]]].append([within[str(k)]["test_mse"] for k in SIZES])
    found: dict[str, dict[str, list[float]]] = {table: {} for table in TABLES}
    for (table, family), each in runs.items():
        found[table][family] = np.mean(each, axis=0).tolist()
    return found


def apart(heights: dict[str, float], gap: float) -> dict[str, float]:
    """Return where to write names, from the lowest up, none nearer than a gap to the one below."""
    placed: dict[str, float] = {}
    for name, height in sorted(heights.items(), key=lambda each: each[1]):
        placed[name] = max(height, max(placed.values(), default=-np.inf) + gap)
    return placed


def draw(path: Path, dark: bool, narrow: bool = False) -> None:
    """Draw a panel per table, side by side or one below the other: the error by the number of conditions."""
    style = {"svg.hashsalt": "bgn", "svg.fonttype": "path", "font.size": 11, "axes.spines.top": False}
    style |= {"axes.spines.right": False}
    with plt.style.context("dark_background" if dark else "default"), plt.rc_context(style):
        shape, size = ((2, 1), (4.4, 6.4)) if narrow else ((1, 2), (9.0, 3.6))
        figure, panels = plt.subplots(*shape, figsize=size, layout="constrained")
        for ax, (table, by_family) in zip(panels, errors().items(), strict=True):
            gap = 0.07 * max(map(max, by_family.values()))
            for name, height in apart({name: by_family[name][-1] for name in INK}, gap).items():
                ax.plot(range(len(SIZES)), by_family[name], "o-", color=INK[name], lw=3 if name == "BGN" else 1.6, ms=5)
                ax.annotate(name, (len(SIZES) - 1, height), xytext=(8, 0), textcoords="offset points",
                            va="center", color=INK[name], weight="bold" if name == "BGN" else "normal")  # fmt: skip
            ax.set_title(TABLES[table], loc="left", fontsize=12)
            ax.set_xticks(range(len(SIZES)), [str(k) for k in SIZES])
            ax.set_xlabel("conditions, at most")
            ax.set_ylim(bottom=0)
            ax.set_xlim(-0.2, len(SIZES) - 0.35)
            ax.yaxis.set_major_formatter("{x:,g}")
        panels[0].set_ylabel("mean squared error, new rows")
        figure.savefig(path, transparent=dark, metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    for narrow in (False, True):
        for dark in (False, True):
            name = f"front{'-narrow' * narrow}{'-dark' * dark}.svg"
            draw(ROOT / "docs" / name, dark, narrow)
            print(f"docs/{name} written")
