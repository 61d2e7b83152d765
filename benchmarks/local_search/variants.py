"""Variants of the search beside each other and beside others, on all datasets of the field: what the constants cost.

    python -m benchmarks.local_search.variants wheels/ --jobs 16 > lines.jsonl
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
import zipfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from benchmarks.local_search import field
from bgn import BGNClassifier, BGNRegressor
from bgn.grow.conditions import choose, moves

INF = float("inf")
VARIANTS = {
    "now": {},
    "final 4+down": {"SWAPS": (1, 4), "DOWNWARD": (False, True)},
    "down": {"SWAPS": (1, 1), "DOWNWARD": (True, True)},
    "4+down": {"SWAPS": (4, 4), "DOWNWARD": (True, True)},
    "swaps 3": {"SWAPS": (3, 3)},
    "three prices": {"PRICES": (1.0, 2.0, INF)},
    "price 1.5 alone": {"PRICES": (1.5,)},
    "ridges 1 10": {"RIDGES": (1.0, 10.0)},
    "ridges 1 4 16 64": {"RIDGES": (1.0, 4.0, 16.0, 64.0)},
    "ridge 5": {"RIDGES": (5.0,)},
}


def one(folder: Path, line: str, seed: int, name: str) -> dict:
    warnings.simplefilter("ignore")
    import sys

    sys.path.insert(0, str(folder / "imodels"))
    table, y, classes = field.load(folder, line)
    places = np.random.default_rng(seed).permutation(len(y))
    train, test = places[: len(y) * 3 // 4], places[len(y) * 3 // 4 :]
    result = {"data": line.split()[1], "classes": classes, "seed": seed, "variant": name, "rows": len(y), "columns": table.shape[1]}

    def measure(predicted):
        if not classes:
            return float(((y[test] - predicted) ** 2).mean())
        p = np.clip(predicted, 1e-12, 1 - 1e-12)
        loss = -float(np.mean(np.where(y[test] == 1, np.log(p), np.log(1 - p))))
        return [field.roc_auc_score(y[test], predicted), loss]

    if name == "others":
        from sklearn.linear_model import LassoCV, LogisticRegressionCV
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        X = field.encoded(table, train)
        predict = lambda m: m.predict_proba(X[test])[:, 1] if classes else m.predict(X[test])  # noqa: E731
        for size in field.SIZES:
            for peer, model in field.peers(classes, size).items():
                try:
                    result[f"{peer} {size}"] = measure(predict(model.fit(X[train], y[train])))
                except Exception as error:  # noqa: BLE001
                    result[f"{peer} {size}"] = None
        line_model = make_pipeline(StandardScaler(), LogisticRegressionCV(max_iter=2000) if classes else LassoCV(max_iter=5000))
        result["linear"] = measure(predict(line_model.fit(X[train], y[train])))
        tree = field.peers(classes, 5)["tree"]
        tuned = GridSearchCV(tree, {"max_leaf_nodes": [3, 5, 8, 12, 20, 30, 50, 100]}, cv=5, scoring="neg_log_loss" if classes else "neg_mean_squared_error")
        result["tuned tree"] = measure(predict(tuned.fit(X[train], y[train])))
        try:
            from lightgbm import LGBMClassifier, LGBMRegressor
            result["lightgbm"] = measure(predict((LGBMClassifier if classes else LGBMRegressor)(verbose=-1, n_jobs=1).fit(X[train], y[train])))
        except ImportError:
            pass
        return result
    for module in (choose, moves):
        for key, value in VARIANTS[name].items():
            if hasattr(module, key):
                setattr(module, key, value)
    kind = BGNClassifier if classes else BGNRegressor
    start = time.process_time()
    model = kind(max_conditions=40, random_state=0, n_jobs=1).fit(table.iloc[train], y[train])
    result["seconds"] = time.process_time() - start
    history = model.history_
    losses = [stage.criterion for stage in history.paths[0]]
    for size in (*field.SIZES, 30):
        best = int(np.argmin(losses[: size + 1]))
        result[str(size)] = measure(history.network(best).predict(table.iloc[test]))
        if size == 30:
            result["conditions"] = history.network(best).n_conditions
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--variants", nargs="*", default=["others", *VARIANTS])
    parser.add_argument("--names", nargs="*")
    given = parser.parse_args()
    lines = [line for line in field.TABLES.read_text().splitlines() if not given.names or line.split()[1] in given.names]
    started = time.time()
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        for wheel in given.wheels.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder / wheel.name.partition("-")[0].lower())
        init = folder / "imodels" / "imodels" / "__init__.py"
        if init.exists():
            init.write_text("")
        with ProcessPoolExecutor(given.jobs, max_tasks_per_child=1 if False else None) as pool:
            jobs = {pool.submit(isolated, folder, line, seed, name): 0 for name in given.variants for seed in range(given.seeds) for line in lines}
            for job in as_completed(jobs):
                try:
                    print(json.dumps(job.result()), flush=True)
                except Exception as error:  # noqa: BLE001
                    print(json.dumps({"error": repr(error)[:300]}), flush=True)
                if time.time() - started > given.seconds:
                    pool.shutdown(wait=False, cancel_futures=True)
                    break


def isolated(folder: Path, line: str, seed: int, name: str) -> dict:
    """Run with constants of this variant and none of another."""
    kept = {(module, key): getattr(module, key) for module in (choose, moves) for key in ("SWAPS", "DOWNWARD", "PRICES", "RIDGES", "LINEAR_RIDGE") if hasattr(module, key)}
    try:
        return one(folder, line, seed, name)
    finally:
        for (module, key), value in kept.items():
            setattr(module, key, value)


if __name__ == "__main__":
    main()
