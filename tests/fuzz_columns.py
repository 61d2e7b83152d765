"""Every kind of column beside every other, labels of every kind, through every function and the model file.

    python -m tests.fuzz_columns --cases 1000
    python -m tests.fuzz_columns --first 123 --cases 1     # one case again

A case is made from its number alone. A few of them run with the tests.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bgn
from bgn import GrowthSettings, persist
from bgn.export import TARGETS
from bgn.model.readings import outputs_of
from bgn.report.facts import Facts
from bgn.serve import ModelApp
from bgn.serve.requests import BadRequest
from tests.any_columns import KINDS, LABELS, table, target

# What a function may refuse, and how it says so: each is a limit that the documentation tells.
REFUSED = {
    "certify": ("only numbers and", "has no order"),
    "simplify to points": ("point",),
    "scorecard": ("whole", "point"),
    "distill": ("has 1 class",),  # the large model predicts one alone
    "export to sql": ("no plain words for",),
    "export to javascript": ("no plain words for",),
    "export to excel": ("no plain words for",),
    "export to pmml": ("no plain words for",),
}


def uses(model: Any, X: pd.DataFrame, y: Any, folder: Path, rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    """Return everything that a fitted model can be asked, by name."""
    network, row = model.network_, X.iloc[3]
    columns = network.names
    first, second = (columns[int(k)] for k in rng.integers(0, len(columns), 2))
    classes = network.schema.classes
    outputs = {"output": 0} if network.link == "softmax" else {}
    of = {"of": classes[0]} if network.link == "softmax" else {}
    aim: dict[str, Any] = {"to": classes[-1]} if classes else {"at_least": float(np.mean(model.predict(X)))}
    calls: dict[str, Callable[[], Any]] = {
        "explain": lambda: str(model.explain(X)),
        "explain a row": lambda: str(model.explain(row)),
        "margin": lambda: model.margin(X[:5]),
        "margin of a row": lambda: model.margin(row),
        "counterfactual": lambda: model.counterfactual(row, **aim, max_seconds=2.0),
        "extremes": lambda: model.extremes(**outputs, max_seconds=2.0),
        "extremes as seen": lambda: model.extremes("seen", **outputs, max_seconds=2.0),
        "extremes without missing": lambda: model.extremes(missing=False, **outputs, max_seconds=2.0),
        "certify": lambda: model.certify(**outputs, max_seconds=2.0),
        "effect": lambda: [model.effect(name, **of).to_frame() for name in (first, second)],
        "effect of two": lambda: first == second or model.effect((first, second), **of),
        "importance": lambda: model.importance(X),
        "permutation": lambda: model.importance(X, kind="shap").to_frame(),
        "simplify": lambda: model.simplify(X, y, digits=2),
        "simplify to points": lambda: bgn.scorecard(model.simplify(X, y, points=5).network),
        "distill": lambda: bgn.distill(model, X, max_terms=2, cv=None, random_state=0).predict(X[:3]),
        "frontier": lambda: model.frontier(),
        "terms": lambda: as_terms(model),
        "card": lambda: model._repr_html_(),
        "report": lambda: model.report(X, y, folder / "report.html"),
        "check": lambda: bgn.check(X.assign(target=np.asarray(y)), target="target"),
    }
    if classes is None:
        calls["edit"] = lambda: bgn.edit(model, X, y).forbid(first)
    if classes:
        calls["evaluate"] = lambda: bgn.evaluate(model, X, y)
    for form in ("text", "latex", "markdown", "html"):
        calls[f"equation in {form}"] = partial(model.equation, form)
    for name in sorted({*TARGETS} - {"onnx"}):
        calls[f"export to {name}"] = partial(TARGETS[name].write, model)
    if classes is None:
        calls["plots"] = lambda: plotted(model, X, first)
    calls |= served(model, X, y, aim)
    return calls


def as_terms(model: Any) -> Any:
    """Return a model's questions: as a table where there are several scores."""
    if model.network_.link != "softmax":
        return bgn.as_terms(model)
    return [bgn.as_terms(output) for output in outputs_of(model)]


def plotted(model: Any, X: pd.DataFrame, column: str) -> None:
    """Draw what there is."""
    from matplotlib import pyplot

    from bgn import plots

    plots.network(model)
    plots.effect(model, column, X)
    plots.importance(model, X)
    pyplot.close("all")


def served(model: Any, X: pd.DataFrame, y: Any, aim: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return what the report with Python behind it is asked."""
    network = model.network_

    def app() -> ModelApp:
        return ModelApp(persist.ModelFile(network, bgn.__version__), Facts.of(model, X, y, None, None))

    def requests() -> None:
        made = app()
        assert made.page
        values = made.answer("row", {"name": made._known[0].names[3]})["values"]
        made.answer("predict", {"row": values})
        wanted = {"class": len(network.schema.classes) - 1} if network.schema.classes else dict(aim)
        made.answer("counterfactual", {"row": values} | wanted)

    return {"serve": requests}


def case(number: int, folder: Path) -> list[str]:
    """Run one table through everything; return what went wrong."""
    rng = np.random.default_rng(number)
    names = [*KINDS]
    kinds = [names[number % len(names)], *rng.choice(names, int(rng.integers(1, 4)))]
    kinds = [str(kinds[int(k)]) for k in rng.permutation(len(kinds))]
    label = [*LABELS][(number // len(names) + number) % len(LABELS)]
    X = table(kinds, rng, int(rng.choice([25, 60])))
    y = target(label, X, rng)
    of_classes = label not in ("numbers", "whole numbers")
    make: Any = bgn.BGNClassifier if of_classes else bgn.BGNRegressor
    settings: dict[str, Any] = {"max_terms": int(rng.integers(1, 6)), "random_state": 0, "cv": None}
    settings["growth"] = GrowthSettings(max_replacements=1, sweeps=0)
    settings |= {"max_linear": rng.choice(["auto", "0"]), "validation_fraction": float(rng.choice([0.0, 0.2]))}
    settings["max_linear"] = 0 if settings["max_linear"] == "0" else "auto"
    about = f"{number}: {kinds}, {label}, {len(X)} rows"
    try:
        model = make(**settings).fit(X, y)
    except Exception as error:
        return [f"{about}: fit: {described(error)}"]
    wrong = []
    calls = uses(model, X, y, folder, rng) | {"file": lambda: through_file(model, X, folder)}
    for name, ask in calls.items():
        try:
            ask()
        except BadRequest as error:
            wrong.append(f"{about}: {name}: {described(error)}")
        except Exception as error:
            if not allowed(name, error):
                wrong.append(f"{about}: {name}: {described(error)}")
    return wrong


def through_file(model: Any, X: pd.DataFrame, folder: Path) -> None:
    """A model that comes back from a file predicts the same."""
    model.save(folder / "model.json")
    again = bgn.load(folder / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.equation() == model.equation()


def allowed(name: str, error: Exception) -> bool:
    """Tell whether a function says that it cannot do this, as documented."""
    return isinstance(error, ValueError | TypeError) and any(part in str(error) for part in REFUSED.get(name, ()))


def described(error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error)[:250]} ({Path(place.filename).name}:{place.lineno})"


def cases(first: int, count: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of every case with what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # crowded text, few rows: said elsewhere
                warnings.simplefilter("error", RuntimeWarning)
                yield number, case(number, Path(folder))


def main() -> int:
    """Run as many cases as the command line says; say which of them failed."""
    reader = argparse.ArgumentParser("python -m tests.fuzz_columns", description=(__doc__ or "").partition("\n")[0])
    reader.add_argument("--cases", type=int, default=300)
    reader.add_argument("--first", "--seed", type=int, default=0)
    args = reader.parse_args()
    wrong, started = 0, time.perf_counter()
    for _, problems in cases(args.first, args.cases):
        wrong += bool(problems)
        for problem in problems:
            print(problem, flush=True)
    print(f"{args.cases} cases, {wrong} wrong, {time.perf_counter() - started:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
