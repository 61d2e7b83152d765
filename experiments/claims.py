"""What the README and the pages say in words and several cells carry: one function per claim.

Each returns the words as the published tables support them, so that a claim that no longer holds reads otherwise, and
the test that compares it with the README fails. ``cite`` explains where the names stand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from experiments.cite import cell, number, table
from experiments.classclaims import CLASS_CLAIMS
from experiments.data import LARGE, TABLES
from experiments.peerclaims import PEER_CLAIMS
from experiments.pruning import by_step
from experiments.publish import published_runs
from experiments.tables import MISSING, written
from experiments.wording import percent, share, span, words

SIZES = (5, 10, 20, 40)
SMALL = tuple(name for name in TABLES if name not in LARGE)
DRAWN = ("FIGS", "tree, best first", "Lasso: linear terms alone")
"""What the front figure shows beside BGN."""
CONSTANT, AS_PRINTED = "rate / 10 in every round", "rate / 10 once more every round"
_BGN = "BGN, our defaults, columns counted"
"""A reader of a rule about two columns reads two conditions, so that it counts as two."""


def _equal(model: str, name: str, size: int) -> float:
    """Return a test error at equal size."""
    return number(f"full/peers-equal-{size}", model, name)


def _ratios(models: Iterable[str], names: Iterable[str]) -> list[float]:
    """Return BGN's error over the lowest of some models', for every table and size."""
    return [_equal(_BGN, n, k) / min(_equal(model, n, k) for model in models) for n in names for k in SIZES]


def cases_below(models: Iterable[str], names: Iterable[str] = LARGE) -> str:
    """Return in how many cases, tables times sizes, BGN has a lower error than all of some models."""
    found = _ratios(models, names)
    return f"{share(sum(ratio < 1.0 for ratio in found), len(found))} cases"


def higher_at_worst(models: Iterable[str], names: Iterable[str] = LARGE) -> str:
    """Return by how much BGN's error is higher than the lowest of some models' in the worst case."""
    return f"{max(0.0, -percent(max(_ratios(models, names)))):.0f} %"


def tables_above_lasso() -> str:
    """Return on how many small tables the Lasso's path has the lower error at every size."""
    model = DRAWN[2]
    found = [all(_equal(model, name, k) < _equal(_BGN, name, k) for k in SIZES) for name in SMALL]
    return share(sum(found), len(found))


def sizes(model: str, names: Iterable[str] = LARGE, step: int = 1000) -> str:
    """Return from what to what size a model of any size has, in thousands."""
    return span((step * round(number("full/peers-sizes", model, name) / step) for name in names), ",.0f")


def _targets(variant: str) -> dict[str, bool]:
    """Return by table whether a variant of BGN is at or below the printed BGN."""
    rows = [row for row in table("full/accuracy-targets").rows if row[1] == f"BGN, {variant}"]
    return {str(row[0]): row[-1] == "yes" for row in rows}


def at_or_below(variant: str) -> str:
    """Return on how many tables a variant of BGN is at or below the printed BGN, and on which."""
    found = _targets(variant)
    return f"{words(sum(found.values()))} of the {words(len(found))} ({listed(n for n, yes in found.items() if yes)})"


def listed(names: Iterable[str]) -> str:
    """Return names of tables as people list them."""
    found = [{"istanbul": "Istanbul"}.get(name, name.replace("_", " ")) for name in names]
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def trained_errors(name: str) -> str:
    """Return from what to what error the gradient-trained methods come on a table, with the whole grid."""
    header = [each for each in table("full/accuracy").header[2:] if not each.startswith("BGN")]
    found = sorted(number("full/accuracy", f"{name}, ours", each) for each in header)
    return f"{written(found[0])} to {written(found[-1])}"


def printed_errors(name: str) -> str:
    """Return from what to what error the paper prints the gradient-trained methods on a table."""
    header = [each for each in table("full/accuracy").header[2:] if not each.startswith("BGN")]
    found = sorted(number("full/accuracy", f"{name}, printed", each) for each in header)
    return f"{written(found[0])} to {written(found[-1])}"


def widths() -> str:
    """Return how many times as wide as printed BGN as in the paper is, over tables."""
    found = []
    for row in table("full/accuracy-sizes").rows:
        if row[1] == "ours":
            printed = cell("full/accuracy-sizes", f"{row[0]}, printed", "BGN, as in the paper")
            ours = cell("full/accuracy-sizes", f"{row[0]}, ours", "BGN, as in the paper")
            found.append(float(str(ours).split()[0]) / float(str(printed).split()[0]))
    return span(found, ".1f")


def test_rows() -> str:
    """Return how many test rows the small tables have."""
    return span(math.ceil(number("reduced/overview-tables", f"{name}, ours", "rows") / 4) for name in SMALL)


def _by_layer(name: str, column: str) -> list[float]:
    """Return a figure of a table layer by layer."""
    rows = [row for row in table("reduced/bounds").rows if row[0] == name]
    return [number("reduced/bounds", f"{name}, {row[1]}", column) for row in rows]


def moved(names: Iterable[str], column: str) -> str:
    """Return by how many per cent a figure moves at most from the first layer's."""
    layers = [_by_layer(name, column) for name in names]
    found = [abs(percent(each / errors[0])) for errors in layers for each in errors[1:]]
    return f"{max(found):.0f} %"


def falls(name: str) -> str:
    """Return by how many per cent the test error falls from the first layer to the last."""
    errors = _by_layer(name, "test MSE")
    return f"{percent(errors[-1] / errors[0]):.0f} %"


def gap_against_bound() -> str:
    """Return whether every further layer raises the bound by less than it closes of the gap, on large tables."""
    held = []
    for name in LARGE:
        left, bounds = _by_layer(name, "above the bound"), _by_layer(name, "bound")
        held += [bounds[k + 1] - bounds[k] < left[k] - left[k + 1] for k in range(len(left) - 1)]
    return "by less than" if all(held) else "not always by less than"


def pruned(name: str, budget: str, rate: str) -> str:
    """Return the least error of any ranking within a budget of weights, with one schedule of the rate."""
    found = table("full/pruning")
    place = list(found.header).index(f"at most {budget}")
    errors = [row[place] for row in found.rows if row[0] == name and row[2] == rate]
    return written(min((float(each) for each in errors if isinstance(each, float)), default=MISSING))


def raw_until(times: float = 1.2) -> str:
    """Return to how few weights BNN+ on raw targets is pruned by magnitude before its error rises by so much."""
    runs = [
        run for run in published_runs("pruning").values()
        if run.task.method == "global_magnitude, raw" and run.task.parameters["hidden_layers"] == [1000, 1000]
        and run.task.parameters["schedule"] == "constant"
    ]  # fmt: skip
    steps = by_step([run.figures["curve"] for run in runs])
    return f"{min(weights for weights, error, _ in steps if error <= times * steps[0][1]):,.0f}"


def search_gain() -> str:
    """Return by how much the search lowers the trees' test errors."""
    rows = table("reduced/trees-searched").rows
    return span((percent(float(row[2]) / float(row[3])) for row in rows if isinstance(row[2], float)), ".1f", " %")


def search_choice() -> str:
    """Return in how many of the trees' cases the search takes the Poisson criterion."""
    rows = table("reduced/trees-searched").rows
    return f"{words(sum('poisson' in str(row[4]) for row in rows))} of {words(len(rows))}"


CLAIMS: dict[str, Callable[[], str]] = (
    {
        "front-lowest": lambda: cases_below(DRAWN),
        "front-higher-at-worst": lambda: higher_at_worst(DRAWN),
        "peers-below-tree": lambda: cases_below(DRAWN[1:2]),
        "peers-tree-at-worst": lambda: higher_at_worst(DRAWN[1:2]),
        "peers-below-figs": lambda: cases_below(DRAWN[:1]),
        "peers-figs-at-worst": lambda: higher_at_worst(DRAWN[:1]),
        "peers-small-below-figs": lambda: cases_below(DRAWN[:1], SMALL),
        "peers-lasso-better": tables_above_lasso,
        "peers-ebm-entries": lambda: sizes("EBM, default"),
        "accuracy-paper-at-or-below": lambda: at_or_below("as in the paper"),
        "accuracy-defaults-at-or-below": lambda: at_or_below("our defaults"),
        "accuracy-trained-on-diabetes": lambda: trained_errors("diabetes"),
        "accuracy-trained-on-housing": lambda: trained_errors("housing"),
        "accuracy-printed-on-diabetes": lambda: printed_errors("diabetes"),
        "accuracy-printed-on-housing": lambda: printed_errors("housing"),
        "accuracy-widths": widths,
        "overview-test-rows": test_rows,
        "bounds-gap": gap_against_bound,
        "bounds-small-training": lambda: moved(SMALL, "training MSE"),
        "bounds-bike-falls": lambda: falls("bike"),
        "bounds-parking-falls": lambda: falls("parking"),
        "bounds-others-move": lambda: moved([n for n in TABLES if n not in ("bike", "parking")], "test MSE"),
        "trees-search-gain": search_gain,
        "trees-search-choice": search_choice,
        "pruning-raw-until": raw_until,
        "pruning-istanbul-100": lambda: pruned("istanbul", "100", CONSTANT),
        "pruning-istanbul-100-paper": lambda: pruned("istanbul", "100", AS_PRINTED),
        "pruning-power-plant-300": lambda: pruned("power_plant", "300", CONSTANT),
        "pruning-power-plant-300-paper": lambda: pruned("power_plant", "300", AS_PRINTED),
    }
    | PEER_CLAIMS
    | CLASS_CLAIMS
)
"""Every claim by name."""
