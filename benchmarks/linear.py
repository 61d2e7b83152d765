"""Linear terms: test errors with and without them at equal numbers of conditions, and beside LassoCV on small tables.

Run: python -m benchmarks.linear [large | tiny | time | peers ...]

Everything when nothing is named. A quarter of the rows are for testing (``train_test_split`` with the seed); of large
tables a fifth of the rest validates, three seeds; small ones are cross-validated, ten seeds.

Peers (``peers``) have lines, too: APLR, Cubist and RuleFit (``pip install '.[experiments]'``), each with as many
conditions at most and the settings that validate best. A condition is a question, a hinge or a line, of Cubist each
condition of a rule and each slope of its line. PILOT and py-earth (MARS) are not there: the first is in no package
index under that name, and the second cannot be built with today's Python.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bgn import BGNRegressor, datasets
from experiments.data import Rows, paper_split, split
from experiments.rivals import Candidate, rules_and_lines, timed
from experiments.store import Task

LARGE = {"power_plant": (19.5, 17.6, 16.7, 15.8), "housing": (), "bike": (), "parking": ()}
TINY = {"diabetes": 3250.0, "istanbul": 2.15, "chickenpox": float("inf")}


def splits(name: str, seeds: Iterable[int]) -> Iterator[tuple[int, tuple[np.ndarray, ...]]]:
    """Yield rows to learn from and to test on, for each seed."""
    data = datasets.load(name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y, dtype=float)
    for seed in seeds:
        yield seed, tuple(train_test_split(X, y, test_size=0.25, random_state=seed))


def error(model: object, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean squared error."""
    return float(np.mean((model.predict(X) - y) ** 2))  # type: ignore[attr-defined]


def large() -> None:
    """Print the errors on large tables at 5 to 40 conditions."""
    for name, limits in LARGE.items():
        for place, width in enumerate((5, 10, 20, 40)):
            found = {}
            for most in (0, "auto"):
                errors = []
                for seed, (X, X_test, y, y_test) in splits(name, range(3)):
                    rest = train_test_split(X, y, test_size=0.2, random_state=seed)
                    model = BGNRegressor(max_width=width, max_linear=most, random_state=seed)
                    model.fit(rest[0], rest[2], eval_set=(rest[1], rest[3]))
                    errors.append(error(model, X_test, y_test))
                found[most] = np.mean(errors)
            limit = f", at most {limits[place]}" if limits else ""
            print(f"{name:12} {width:2} conditions: without {found[0]:.5g}, with {found['auto']:.5g}{limit}")


def tiny() -> None:
    """Print the errors on small tables, beside LassoCV on the same splits."""
    for name, limit in TINY.items():
        rival = []
        for _, (X, X_test, y, y_test) in splits(name, range(10)):
            rival.append(error(make_pipeline(StandardScaler(), LassoCV()).fit(X, y), X_test, y_test))
        lasso = float(np.mean(rival))
        for width in (5, 10, 50):
            errors = []
            for seed, (X, X_test, y, y_test) in splits(name, range(10)):
                errors.append(error(BGNRegressor(max_width=width, random_state=seed).fit(X, y), X_test, y_test))
            most = min(limit, 1.04 * lasso) if width == 50 else limit
            print(f"{name:12} at most {width:2}: {np.mean(errors):.5g}, LassoCV {lasso:.5g}, at most {most:.5g}")


def seconds() -> None:
    """Print how long a default fit on 300 rows takes."""
    _, (X, _, y, _) = next(splits("diabetes", [0]))
    BGNRegressor(max_width=3, random_state=0).fit(X[:100], y[:100])
    started = time.perf_counter()
    BGNRegressor(random_state=0).fit(X[:300], y[:300])
    print(f"a default fit on 300 rows: {time.perf_counter() - started:.1f} s, at most 5")


def aplr(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield piecewise linear regressions with ever more terms."""
    from aplr import APLRRegressor

    for terms in (1, 2, 3, 4, 6, 9, 14, 20):
        model = APLRRegressor(max_terms=terms, random_state=seed, max_interaction_level=0, n_jobs=1)
        taken = timed(lambda m=model: m.fit(rows.X, rows.y))
        size = int(np.count_nonzero(model.get_term_coefficients()[1:]))
        yield Candidate(f"{terms} terms", size, 0, model.predict, taken)


def cubist(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield Cubist with ever more rules."""
    from cubist import Cubist

    for rules in range(1, 12):
        model = Cubist(n_rules=rules, random_state=seed)
        taken = timed(lambda m=model: m.fit(rows.X, rows.y))
        lines = model.coeffs_.drop(columns=["(Intercept)", "committee", "rule"]).notna().to_numpy().sum()
        conditions = 0 if model.splits_ is None else len(model.splits_)
        yield Candidate(f"{rules} rules", conditions + int(lines), 0, model.predict, taken)


def peers() -> None:
    """Print the errors of models with lines at equal numbers of conditions, on large tables."""
    sizes = (5, 10, 20, 40)
    for name in LARGE:
        found: dict[str, list[list[float]]] = {}
        for seed in range(3):
            rows = split(Task("peers", name, "lines", {}, seed, paper_split()))
            held = rows.X_validation, rows.y_validation
            mine = [BGNRegressor(max_width=w, random_state=seed).fit(rows.X, rows.y, eval_set=held) for w in sizes]
            found.setdefault("bgn", []).append([error(model, rows.X_test, rows.y_test) for model in mine])
            for peer in (aplr, cubist, rules_and_lines):
                tried = [(error(each, *held), each) for each in peer(rows, seed, sizes[-1])]
                errors = []
                for most in sizes:
                    small = [one for one in tried if one[1].size + one[1].linear_terms <= most]
                    best = min(small, key=lambda one: one[0])[1] if small else None
                    errors.append(np.nan if best is None else error(best, rows.X_test, rows.y_test))
                found.setdefault(peer.__name__, []).append(errors)
        for peer_name, errors in found.items():
            told = " ".join(f"{value:>10.5g}" for value in np.mean(errors, axis=0))
            print(f"{name:12} {peer_name:16} at {sizes} conditions: {told}", flush=True)


SECTIONS = {"large": large, "tiny": tiny, "time": seconds, "peers": peers}

if __name__ == "__main__":
    for section in sys.argv[1:] or SECTIONS:
        SECTIONS[section]()
