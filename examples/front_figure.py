"""The figure of the README and of the documentation's front page, drawn from the published runs of a study.

A reader reads conditions, so that these are counted: one per comparison of one column, hence two for a rule about two
columns, one per split of a tree, one per linear term. The four large tables are all shown, whoever leads.

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
FAMILIES = {"equal bgn": "BGN", "equal figs": "FIGS", "equal tree": "tree", "equal lines": "linear (Lasso)"}
TABLES = {
    "bike": "Bicycles hired", "housing": "House prices", "power_plant": "Power plant", "parking": "Parked cars",
}  # fmt: skip
INK = {"BGN": "#d1495b", "FIGS": "#3a7ca5", "tree": "#6a994e", "linear (Lasso)": "#8d8d8d"}


def errors() -> dict[str, dict[str, tuple[list[float], list[float]]]]:
    """Return mean test errors by table and family, one for each size, and their standard errors over splits."""
    runs: dict[Any, list[list[float]]] = defaultdict(list)
    for line in (ROOT / "experiments" / "results" / "peers.jsonl").read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        if run["dataset"] in TABLES and run["method"] in FAMILIES and run["error"] is None:
            # Others' conditions name one column each; of BGN's sizes, those that count every column of a rule.
            within = run["figures"].get("within_columns") or run["figures"]["within"]
            runs[run["dataset"], FAMILIES[run["method"]]].append([within[str(k)]["test_mse"] for k in SIZES])
    return {
        table: {
            family: (
                np.mean(runs[table, family], axis=0).tolist(),
                (np.std(runs[table, family], axis=0, ddof=1) / np.sqrt(len(runs[table, family]))).tolist(),
            )
            for family in INK
        }
        for table in TABLES
    }


def draw(path: Path, dark: bool, narrow: bool = False) -> None:
    """Draw a panel per table: the error by the number of conditions, with its standard error."""
    style = {"svg.hashsalt": "bgn", "svg.fonttype": "path", "font.size": 10, "axes.spines.top": False}
    style |= {"axes.spines.right": False}
    with plt.style.context("dark_background" if dark else "default"), plt.rc_context(style):
        shape, size = ((2, 2), (5.0, 5.6)) if narrow else ((1, 4), (10.4, 3.2))
        figure, panels = plt.subplots(*shape, figsize=size, layout="constrained")
        for ax, (table, by_family) in zip(panels.flat, errors().items(), strict=True):
            for name, (means, deviations) in by_family.items():
                bold = {"lw": 2.8, "zorder": 3} if name == "BGN" else {"lw": 1.5}
                ax.errorbar(range(len(SIZES)), means, deviations, fmt="o-", color=INK[name], ms=4, label=name, **bold)
            ax.set_title(TABLES[table], loc="left", fontsize=11)
            ax.set_xticks(range(len(SIZES)), [str(k) for k in SIZES])
            ax.set_ylim(bottom=0)
            ax.yaxis.set_major_formatter("{x:,g}")
        panels.flat[0].set_ylabel("mean squared error, test rows")
        counted = "a rule about two columns counts as two, a linear term as one"
        figure.supxlabel(f"conditions that a reader reads, at most{chr(10) if narrow else ': '}{counted}", fontsize=10)
        figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
        figure.savefig(path, transparent=dark, metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    for narrow in (False, True):
        for dark in (False, True):
            name = f"front{'-narrow' * narrow}{'-dark' * dark}.svg"
            draw(ROOT / "docs" / name, dark, narrow)
            print(f"docs/{name} written")
