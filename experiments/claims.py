"""What the README and the pages say in words and several cells carry: one function per claim.

Each returns the words as the published tables support them, so that a claim that no longer holds reads otherwise, and
the test that compares it with the README fails. ``cite`` explains where the names stand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from experiments.cite import cell, number, table
from experiments.data import LARGE, NUMBERS, TABLES, TWO
from experiments.pruning import by_step
from experiments.published import published_runs
from experiments.tables import MISSING, Cell, written

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
    ratios = _ratios(models, names)
    return f"{share(sum(ratio < 1.0 for ratio in ratios), len(ratios))} cases"


def higher_at_worst(models: Iterable[str], names: Iterable[str] = LARGE) -> str:
    """Return by how much BGN's error is higher than the lowest of some models' in the worst case."""
    return f"{max(0.0, -percent(max(_ratios(models, names)))):.0f} %"


def tables_won_by_lasso() -> str:
    """Return on how many small tables the Lasso's path has the lower error at every size."""
    model = DRAWN[2]
    won = [all(_equal(model, name, k) < _equal(_BGN, name, k) for k in SIZES) for name in SMALL]
    return share(sum(won), len(won))


def sizes(model: str, names: Iterable[str] = LARGE, step: int = 1000) -> str:
    """Return from what to what size a model of any size has, in thousands."""
    return span((step * round(number("full/peers-sizes", model, name) / step) for name in names), ",.0f")


def _targets(variant: str) -> dict[str, bool]:
    """Return by table whether a variant of BGN is at or below the printed BGN."""
    rows = [row for row in table("full/accuracy-targets").rows if row[1] == f"BGN, {variant}"]
    return {str(row[0]): row[-1] == "yes" for row in rows}


def at_or_below(variant: str) -> str:
    """Return on how many tables a variant of BGN is at or below the printed BGN, and on which."""
    reached = _targets(variant)
    names = listed(name for name, yes in reached.items() if yes)
    return f"{spelled(sum(reached.values()))} of the {spelled(len(reached))} ({names})"


def listed(names: Iterable[str]) -> str:
    """Return names of tables as people list them."""
    labels = [{"istanbul": "Istanbul"}.get(name, name.replace("_", " ")) for name in names]
    return " and ".join([", ".join(labels[:-1]), labels[-1]] if len(labels) > 1 else labels)


def trained_errors(name: str) -> str:
    """Return from what to what error the gradient-trained methods come on a table, with the whole grid."""
    header = [method for method in table("full/accuracy").header[2:] if not method.startswith("BGN")]
    errors = sorted(number("full/accuracy", f"{name}, ours", method) for method in header)
    return f"{written(errors[0])} to {written(errors[-1])}"


def printed_errors(name: str) -> str:
    """Return from what to what error the paper prints the gradient-trained methods on a table."""
    header = [method for method in table("full/accuracy").header[2:] if not method.startswith("BGN")]
    errors = sorted(number("full/accuracy", f"{name}, printed", method) for method in header)
    return f"{written(errors[0])} to {written(errors[-1])}"


def size_ratios() -> str:
    """Return how many times as wide as printed BGN as in the paper is, over tables."""
    ratios = []
    for row in table("full/accuracy-sizes").rows:
        if row[1] == "ours":
            printed = cell("full/accuracy-sizes", f"{row[0]}, printed", "BGN, as in the paper")
            ours = cell("full/accuracy-sizes", f"{row[0]}, ours", "BGN, as in the paper")
            ratios.append(float(str(ours).split()[0]) / float(str(printed).split()[0]))
    return span(ratios, ".1f")


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
    changes = [abs(percent(error / errors[0])) for errors in layers for error in errors[1:]]
    return f"{max(changes):.0f} %"


def falls(name: str) -> str:
    """Return by how many per cent the test error falls from the first layer to the last."""
    errors = _by_layer(name, "test MSE")
    return f"{percent(errors[-1] / errors[0]):.0f} %"


def bound_against_excess() -> str:
    """Return whether every further layer raises the bound by less than it closes of the gap, on large tables."""
    held = []
    for name in LARGE:
        left, bounds = _by_layer(name, "above the bound"), _by_layer(name, "bound")
        held += [bounds[k + 1] - bounds[k] < left[k] - left[k + 1] for k in range(len(left) - 1)]
    return "by less than" if all(held) else "not always by less than"


def pruned(name: str, budget: str, rate: str) -> str:
    """Return the least error of any ranking within a budget of weights, with one schedule of the rate."""
    shown = table("full/pruning")
    place = list(shown.header).index(f"at most {budget}")
    errors = [row[place] for row in shown.rows if row[0] == name and row[2] == rate]
    return written(min((float(error) for error in errors if isinstance(error, float)), default=MISSING))


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
    return f"{spelled(sum('poisson' in str(row[4]) for row in rows))} of {spelled(len(rows))}"


# -- The page of peers.

PEER_ACCURATE = "BGN, accurate()"
TIMED_TOGETHER = ("bike", "housing")
"""Large tables on which EBM with pairs and the preset for accuracy were fitted side by side on one machine."""


def _leaders(names: Iterable[str]) -> list[dict[str, Cell]]:
    """Return the rows of the table of leaders that are of some tables, by column."""
    leaders = table("full/peers-leaders")
    return [dict(zip(leaders.header, row, strict=True)) for row in leaders.rows if row[0] in names]


def _leader_ratios(names: Iterable[str], kind: str) -> list[float]:
    """Return BGN's errors over those of the best of all others, by conditions or with columns counted."""
    ratios = []
    for row in _leaders(names):
        others = [float(row[f"best of the others {end} lines"] or "inf") for end in ("without", "with")]
        ratios.append(float(row["BGN" if kind == "conditions" else "BGN, columns counted"] or "nan") / min(others))
    return ratios


def cells_won(names: Iterable[str], kind: str) -> str:
    """Return in how many cells of tables and sizes BGN has the lowest error."""
    ratios = _leader_ratios(names, kind)
    return share(sum(ratio < 1.0 for ratio in ratios), len(ratios))


def below_the_next(names: Iterable[str], kind: str) -> str:
    """Return by how many per cent BGN lies below the best of the others where it leads."""
    return span((percent(ratio) for ratio in _leader_ratios(names, kind) if ratio < 1.0), unit=" %")


def excess_at_most(names: Iterable[str], kind: str) -> str:
    """Return by how many per cent BGN lies above the best of the others at most."""
    return f"{max(0.0, -percent(max(_leader_ratios(names, kind)))):.0f} %"


def tables_won(model: str, other: str, names: Iterable[str]) -> str:
    """Return on how many tables a model of any size has a lower error than another."""
    won = [number("full/peers", model, name) < number("full/peers", other, name) for name in names]
    return share(sum(won), len(won))


def faster(model: str, other: str, names: Iterable[str]) -> str:
    """Return how many times as long as a model another takes to fit."""
    times = [number("full/peers-seconds", other, name) / number("full/peers-seconds", model, name) for name in names]
    return span(times, ".0f" if min(times) >= 2 else ".1f")


def share_of_time(model: str, other: str, names: Iterable[str]) -> str:
    """Return which share of another model's processor time a model takes to fit, in per cent."""
    times = [number("full/peers-seconds", model, name) / number("full/peers-seconds", other, name) for name in names]
    return span((100 * share for share in times), unit=" %")


def cells_won_by_rules(names: Iterable[str]) -> str:
    """Return in how many cells BGN of rules alone has a lower error than all models that are not BGN."""
    cells = [(str(row["table"]), int(float(row["conditions"] or 0)), row) for row in _leaders(names)]
    won = []
    for name, size, row in cells:
        others = [float(row[f"best of the others {end} lines"] or "inf") for end in ("without", "with")]
        won.append(number(f"full/peers-equal-{size}", "BGN, rules alone", name) < min(others))
    return share(sum(won), len(won))


def any_size(model: str, names: Iterable[str]) -> str:
    """Return from what to what size a model of any size has."""
    return span((number("full/peers-sizes", model, name) for name in names), ",.0f")


PEER_CLAIMS: dict[str, Callable[[], str]] = {
    "peers-lead": lambda: cells_won(LARGE, "conditions"),
    "peers-below-the-next": lambda: below_the_next(LARGE, "conditions"),
    "peers-columns-lead": lambda: cells_won(LARGE, "columns"),
    "peers-columns-above": lambda: excess_at_most(LARGE, "columns"),
    "peers-small-lead": lambda: cells_won(SMALL, "conditions"),
    "peers-small-above": lambda: excess_at_most(SMALL, "conditions"),
    "peers-default-below-tree": lambda: tables_won("BGN, our defaults", "tree", LARGE),
    "peers-default-below-ebm": lambda: tables_won("BGN, our defaults", "EBM without pairs", LARGE),
    "peers-default-below-pairs": lambda: tables_won("BGN, our defaults", "EBM, default", LARGE),
    "peers-default-below-lightgbm": lambda: tables_won("BGN, our defaults", "LightGBM, tuned", LARGE),
    "peers-default-size": lambda: any_size("BGN, our defaults", LARGE),
    "peers-cubist-size": lambda: any_size("Cubist", LARGE),
    "peers-tree-size": lambda: any_size("tree", LARGE),
    "peers-lightgbm-size": lambda: any_size("LightGBM, tuned", LARGE),
    "peers-small-default-below-lasso": lambda: tables_won("BGN, our defaults", "least squares / LassoCV", SMALL),
    "peers-ebm-times": lambda: faster("BGN, our defaults", "EBM without pairs", LARGE),
    "peers-figs-times": lambda: faster("BGN, our defaults", "FIGS, up to 50 splits", LARGE),
    "peers-lightgbm-times": lambda: faster("BGN, our defaults", "LightGBM, tuned", LARGE),
    "peers-mixed-lead": lambda: cells_won(NUMBERS, "conditions"),
    "peers-mixed-above": lambda: excess_at_most(NUMBERS, "conditions"),
    "peers-questions-lead": lambda: cells_won_by_rules(LARGE),
    "peers-accurate-below-lightgbm": lambda: tables_won(PEER_ACCURATE, "LightGBM, tuned", LARGE),
    "peers-accurate-below-pairs": lambda: tables_won(PEER_ACCURATE, "EBM, default", LARGE),
    "peers-mixed-accurate-below-lightgbm": lambda: tables_won(PEER_ACCURATE, "LightGBM, tuned", NUMBERS),
    "peers-mixed-accurate-below-ebm": lambda: tables_won(PEER_ACCURATE, "EBM without pairs", NUMBERS),
    "peers-accurate-below-lasso": lambda: tables_won(PEER_ACCURATE, "least squares / LassoCV", SMALL),
    "peers-accurate-size": lambda: any_size(PEER_ACCURATE, LARGE),
    "peers-accurate-time": lambda: share_of_time(PEER_ACCURATE, "EBM, default", TIMED_TOGETHER),
}
"""Every claim of these pages by name."""


# -- The page of classes.

DEFAULTS, ACCURATE = "BGN, our defaults, any", "BGN, accurate(), any"
NEAR = 0.005
"""AUC that differs by no more is about the same."""


def ahead_elsewhere(model: str, but_for: str) -> str:
    """Return a thousandth by which a model's AUC is at most above that of BGN's defaults, on all tables but one."""
    names = [name for name in TWO if name != but_for]
    both = [[number("full/classes-auc", key, name) for key in (f"{model}, any", DEFAULTS)] for name in names]
    return format(math.ceil(1000 * max(theirs - ours for theirs, ours in both)) / 1000, ".3f")


def cards_won() -> str:
    """Return on how many tables and sizes BGN's whole points have an AUC at or above FasterRisk's."""
    both = [
        [number("full/classes-auc", f"{model}, {size}", name) for model in ("BGN, whole points", "FasterRisk")]
        for name in TWO
        for size in (5, 10)
    ]
    return f"{sum(ours >= theirs for ours, theirs in both)} of {len(both)}"


def cards_times() -> str:
    """Return how many times as fast as FasterRisk's BGN's cards are made, in one process."""
    points = table("full/classes-points")
    place = list(points.header).index("times as fast")
    return span(float(row[place]) for row in points.rows if isinstance(row[place], float))


def _figures(name: str, model: str) -> dict[str, float]:
    """Return a figure of a model of any size by table, where it is known."""
    cells: dict[str, Cell] = {dataset: cell(f"full/classes-{name}", model, dataset) for dataset in TWO}
    return {dataset: float(value) for dataset, value in cells.items() if isinstance(value, float)}


def near_the_best() -> str:
    """Return on how many tables the preset's AUC is about that of the better of EBM and LightGBM, or above."""
    ours, ebm, boosted = (_figures("auc", model) for model in (ACCURATE, "EBM, any", "LightGBM, tuned, any"))
    best = {name: max(boosted[name], ebm.get(name, -math.inf)) for name in ours}
    return share(sum(ours[name] >= best[name] - NEAR for name in ours), len(ours))


def loss_below_ebm() -> str:
    """Return on how many tables the preset's log loss is at or below EBM's, of those where an EBM was fitted."""
    ours, ebm = (_figures("log-loss", model) for model in (ACCURATE, "EBM, any"))
    both = [name for name in ours if name in ebm]
    return share(sum(ours[name] <= ebm[name] for name in both), len(both))


CLASS_CLAIMS: dict[str, Callable[[], str]] = {
    "classes-cards-above-fasterrisk": cards_won,
    "classes-cards-times": cards_times,
    "classes-ahead-elsewhere": lambda: ahead_elsewhere("LightGBM, tuned", "phoneme"),
    "classes-accurate-near": near_the_best,
    "classes-accurate-loss": loss_below_ebm,
}
"""Every claim of that page by name."""


# -- How counts, shares and ranges are written.


_NUMERALS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def spelled(count: int) -> str:
    """Return a small count in words."""
    return _NUMERALS[count] if count < len(_NUMERALS) else f"{count:,}"


def share(count: int, total: int) -> str:
    """Return how many of some: ``"all four"``, ``"both"``, ``"three of four"``."""
    if count == total == 2:
        return "both"
    return f"all {spelled(total)}" if count == total else f"{spelled(count)} of {spelled(total)}"


def span(values: Iterable[float], form: str = ".0f", unit: str = "") -> str:
    """Return from the least to the greatest: ``"9 to 37 %"``."""
    numbers = list(values)
    low, high = (format(value, form) for value in (min(numbers), max(numbers)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def percent(ratio: float) -> float:
    """Return by how many per cent something lies below 1."""
    return 100 * (1 - ratio)


CLAIMS: dict[str, Callable[[], str]] = (
    {
        "front-lowest": lambda: cases_below(DRAWN),
        "front-higher-at-worst": lambda: higher_at_worst(DRAWN),
        "peers-below-tree": lambda: cases_below(DRAWN[1:2]),
        "peers-tree-at-worst": lambda: higher_at_worst(DRAWN[1:2]),
        "peers-below-figs": lambda: cases_below(DRAWN[:1]),
        "peers-figs-at-worst": lambda: higher_at_worst(DRAWN[:1]),
        "peers-small-below-figs": lambda: cases_below(DRAWN[:1], SMALL),
        "peers-lasso-better": tables_won_by_lasso,
        "peers-ebm-entries": lambda: sizes("EBM, default"),
        "accuracy-paper-at-or-below": lambda: at_or_below("as in the paper"),
        "accuracy-defaults-at-or-below": lambda: at_or_below("our defaults"),
        "accuracy-trained-on-diabetes": lambda: trained_errors("diabetes"),
        "accuracy-trained-on-housing": lambda: trained_errors("housing"),
        "accuracy-printed-on-diabetes": lambda: printed_errors("diabetes"),
        "accuracy-printed-on-housing": lambda: printed_errors("housing"),
        "accuracy-widths": size_ratios,
        "overview-test-rows": test_rows,
        "bounds-gap": bound_against_excess,
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
