"""A fitted tree in plain values, and two drawings of it: ours, and scikit-learn's as it laid it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.tree import DecisionTreeRegressor


def nodes(tree: DecisionTreeRegressor, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the nodes of a fitted tree in plain values, the root first."""
    found = tree.tree_
    return [
        {"value": float(found.value[k, 0, 0]), "rows": int(found.n_node_samples[k])}
        | (
            {
                "name": names[found.feature[k]],
                "threshold": float(found.threshold[k]),
                "below": int(found.children_left[k]),
                "above": int(found.children_right[k]),
            }
            if found.children_left[k] >= 0
            else {}
        )
        for k in range(found.node_count)
    ]


def layout(tree: DecisionTreeRegressor, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return scikit-learn's drawing of a fitted tree: its texts, where they stand and what they point to."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from sklearn.tree import plot_tree

    canvas = FigureCanvasAgg(Figure((9.0, 3.6)))
    marks = plot_tree(tree, feature_names=list(names), filled=True, precision=2, ax=canvas.figure.subplots())
    return [
        {
            "text": mark.get_text(),
            "at": list(mark.get_position()),
            "from": list(mark.xy),
            "colour": None if (box := mark.get_bbox_patch()) is None else [float(part) for part in box.get_facecolor()],
        }
        for mark in marks
    ]


def scikit_learns(marks: Sequence[dict[str, Any]]) -> Callable[[Any], None]:
    """Return what draws a tree as scikit-learn laid it out."""

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        ax.set_axis_off()
        for number, mark in enumerate(marks):
            box = None if mark["colour"] is None else {"facecolor": mark["colour"], "edgecolor": "black"}
            arrow = {"arrowstyle": "<-"} if mark["at"] != mark["from"] and box else None
            place = {"xycoords": "axes fraction", "textcoords": "axes fraction", "ha": "center", "va": "center"}
            look = {"fontsize": 6, "bbox": box, "arrowprops": arrow, "zorder": 100 - number}  # parents over arrows
            ax.annotate(mark["text"], mark["from"], mark["at"], **look, **place)

    return draw


def ours(nodes: list[dict[str, Any]]) -> Callable[[Any], None]:
    """Return what draws a tree: a box a node, the question above, yes to the left."""
    from bgn.plots.style import ink

    places: dict[int, tuple[float, int]] = {}

    def place(node: int, depth: int) -> float:
        inner = "below" in nodes[node]
        leaves = sum("below" not in nodes[k] for k in places)
        x = (
            (place(nodes[node]["below"], depth + 1) + place(nodes[node]["above"], depth + 1)) / 2
            if inner
            else float(leaves)
        )
        places[node] = (x, depth)
        return x

    place(0, 0)

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        ax.set_axis_off()
        low, high = min(n["value"] for n in nodes), max(n["value"] for n in nodes)
        for k, node in enumerate(nodes):
            x, depth = places[k]
            for side, word in (("below", "yes"), ("above", "no")):
                if side in node:
                    to, _ = places[node[side]]
                    ax.plot([x, to], [-depth, -depth - 1], color=ink(0.4), linewidth=1, zorder=1)
                    ax.text((x + to) / 2, -depth - 0.5, word, fontsize=7, color=ink(0.6), ha="center", va="center",
                            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6}, zorder=2)  # fmt: skip
            asked = f"{node['name']} ≤ {node['threshold']:.4g}\n" if "name" in node else ""
            shade = 0.04 + 0.3 * (node["value"] - low) / (high - low or 1)
            words = f"{asked}{node['value']:.2f}\n{node['rows']:,} rows"
            box = {"facecolor": ink(shade), "edgecolor": ink(0.6), "boxstyle": "round,pad=0.35"}
            ax.text(x, -depth, words, fontsize=7.5, ha="center", va="center", bbox=box, zorder=3)
        widest, deepest = max(x for x, _ in places.values()), max(depth for _, depth in places.values())
        ax.set(xlim=(-0.6, widest + 0.6), ylim=(-deepest - 0.45, 0.4))

    return draw
