"""Classes: BGN beside the models that can be read, at equal size, and beside those that cannot.

At most 5, 10, 20 and 40 yes/no questions on tables of two classes and of several. Every model is fitted to three
quarters of the rows, settings are chosen within those alone, and the rest is for the figures.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from experiments import classdata
from experiments.classanswers import Answer, within_reason
from experiments.classrivals import EQUAL, FREE, SMALL, TWO_ONLY
from experiments.classtables import CARDS, IN_FOLDS, show
from experiments.options import Options
from experiments.store import Task

__all__ = ["PUBLISHED", "REVISION", "cost", "run", "show", "skipped", "tasks"]

REVISION = 1
PUBLISHED = {"full": None}


FOLD_SIZES = (10, 20)


def tasks(options: Options) -> list[Task]:
    """Return every model on every table that it can be fitted to: one split; with "full" three, and five folds."""
    smoke, full = options.scale == "smoke", options.scale == "full"
    tables = ("mammographic", "iris") if smoke else classdata.TWO + classdata.SEVERAL
    names = [name for name in tables if full or name not in LARGE]
    split = classdata.stratified_split(120 if smoke else None)
    found = [
        Task("classes", name, method, _parameters(method, smoke), seed, split)
        for name, method, seed in product(names, (*EQUAL, *FREE, CARDS), range(options.seeds or (3 if full else 1)))
        if _fits(method, name)
    ]
    if full:
        sizes = {method: [size for size in FOLD_SIZES if size in known] for method, (_, _, known) in EQUAL.items()}
        found += [
            Task("classes", name, f"{IN_FOLDS}{method}", {"sizes": sizes[method]}, fold, classdata.FOLD)
            for name, method, fold in product(names, EQUAL, range(classdata.FOLDS))
            if _fits(method, name)
        ]
    return found


LARGE = ("telco_churn", "spambase", "phoneme", "digits")
"""Tables of thousands of rows or many columns: with "full" alone."""


def _fits(method: str, name: str) -> bool:
    """Tell whether a model is fitted to a table: not to classes it is not made for, nor for half an hour."""
    two_only = method in (*TWO_ONLY, CARDS)
    return not (two_only and name in classdata.SEVERAL) and (name, method) != ("digits", "ebm")


def _parameters(method: str, smoke: bool) -> dict[str, Any]:
    """Return the sizes of a model; none where it chooses its own, but for a toy."""
    if method in FREE:
        return {"most": 8} if smoke else {}
    return {"sizes": [5] if smoke else list(SMALL if method == CARDS else EQUAL[method][2])}


PACKAGES = {
    "fasterrisk": ("fasterrisk", "--no-deps fasterrisk"),
    CARDS: ("fasterrisk", "--no-deps fasterrisk"),
    "steps": ("fastsparsegams", "fastsparsegams"),
    "gbrs": ("gbrs", "pygbrs"),
}
"""Packages that an extra cannot bring to every Python: a module of each, and how it is installed."""


def cost(task: Task) -> float:
    """Return about how many seconds a run takes."""
    weights = {
        "fasterrisk": 60, "ebm": 60, "bgn": 30, "bgn_1": 20, "bgn_points": 5, "bgn_any": 12, "bgn_accurate": 80,
        "figs": 8, "steps": 20, "gbrs": 10, "lightgbm": 60, CARDS: 65,
    }  # fmt: skip
    large = {"telco_churn": 1.0, "spambase": 2.0, "phoneme": 1.0, "digits": 4.0}
    return weights.get(_model(task), 1) * large.get(task.dataset, 0.2)


def skipped(task: Task) -> str | None:
    """Return why a task cannot be done here, or None."""
    package = PACKAGES.get(_model(task))
    if package is None or find_spec(package[0]):
        return None
    return f"{EQUAL.get(_model(task), EQUAL['fasterrisk'])[0]} is not installed. Run: pip install {package[1]}"


def _model(task: Task) -> str:
    """Return the model of a task, in folds or not."""
    return task.method.removeprefix(IN_FOLDS)


def run(task: Task) -> dict[str, Any]:
    """Fit a model at every size and record what it says of the test rows."""
    rows = classdata.split(task)
    with warnings.catch_warnings():
        # Other people's packages warn of their own future; a fit that did not converge is judged by its figures.
        warnings.simplefilter("ignore")
        model = _model(task)
        if model in FREE:
            return judged(FREE[model][1](rows, task.parameters.get("most", 0), task.seed), rows.codes[1])
        sizes = task.parameters["sizes"]
        if model == CARDS:
            return {"within": {str(size): _cards(rows, size, task.seed) for size in sizes}}
        fit = EQUAL[model][1]
        return {"within": {str(size): judged(fit(rows, size, task.seed), rows.codes[1]) for size in sizes}}


def _cards(rows: classdata.ClassRows, size: int, seed: int) -> dict[str, float]:
    """Return how long a card of BGN and one of FasterRisk take, one after the other, in the processor's seconds."""
    return {f"{key}_seconds": EQUAL[key][1](rows, size, seed).seconds for key in ("bgn_points", "fasterrisk")}


def judged(answer: Answer, y: Any) -> dict[str, Any]:
    """Return the figures of a model on test rows whose classes are the whole numbers `y`."""
    kept = within_reason(answer.probabilities)
    classes = kept.shape[1]
    found = {
        "log_loss": float(log_loss(y, kept, labels=np.arange(classes))),
        "accuracy": float(accuracy_score(y, answer.probabilities.argmax(axis=1))),
        "fit_seconds": answer.seconds,
        "size": answer.size,
        "setting": answer.setting,
    }
    if classes > 2:
        return found
    second = answer.probabilities[:, 1]
    scores = second if answer.scores is None else answer.scores
    return found | {
        "auc": float(roc_auc_score(y, scores)),
        "calibration_error": calibration_error(second, y),
        "calibration_noise": calibration_noise(second),
    }


def calibration_error(probabilities: Any, y: Any, bins: int = 10) -> float:
    """Return the expected calibration error: the mean, over rows, of how far their bin is off.

    A bin holds the rows whose probability lies within one tenth; it is off by the difference between the mean
    probability of its rows and the share of them that are of the class.

    Examples
    --------
    >>> import numpy as np
    >>> round(calibration_error(np.array([0.1, 0.1, 0.9, 0.9]), np.array([0, 0, 1, 0])), 6)
    0.25
    """
    place = np.minimum((np.asarray(probabilities) * bins).astype(np.intp), bins - 1)
    off = np.bincount(place, weights=probabilities - np.asarray(y, dtype=float), minlength=bins)
    return float(np.abs(off).sum() / len(place))


def calibration_noise(probabilities: Any, draws: int = 200) -> float:
    """Return the calibration error that exactly these probabilities would have by chance: the mean of some draws."""
    rng = np.random.default_rng(0)
    found = [calibration_error(probabilities, rng.random(len(probabilities)) < probabilities) for _ in range(draws)]
    return float(np.mean(found))
