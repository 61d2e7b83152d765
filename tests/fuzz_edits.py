"""Random edits of random networks: ``python tests/fuzz_edits.py --cases 10000``.

After each, what is saved, loaded, printed and explained must be one and the same network, and undoing must bring back
the bits that were there.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import bgn
from bgn.explain.edit import Editor
from tests.networks import TABLE, random_network, town, town_rows


def changed(editor: Editor, rng: np.random.Generator) -> Editor:
    """Return an editor after one random change; a ValueError says that this one cannot be."""
    lines = len(bgn.as_terms(editor.network).rules)
    n, m = (int(rng.integers(1, max(lines, 1) + 1)) for _ in range(2))
    value = float(rng.choice([0.0, 1.0, -2.5, 0.1, 3.25, rng.normal(), 1e6 * rng.normal()]))
    names = editor.network.names
    column = names[int(rng.integers(len(names)))]
    categories = editor.network.schema.columns[names.index(column)].categories
    kind = int(rng.integers(10))
    if kind == 0:
        return editor.threshold(n, value)
    if kind == 1:
        return editor.coef(n, value)
    if kind == 2:
        categories = [*(category for column in TABLE.columns for category in column.categories or ()), None]
        return editor.category(n, categories[int(rng.integers(len(categories)))], bool(rng.integers(2)))
    if kind == 3:
        return editor.drop(n, bool(rng.integers(2)))
    if kind == 4:
        return editor.merge(n, m, value if rng.integers(2) else None)
    if kind == 5:
        return editor.forbid(column)
    if kind == 6:
        return editor.round(int(rng.integers(1, 6)))
    if kind == 8:
        return editor.drop_condition(n, int(rng.integers(1, 4)))
    if kind == 9:
        named = column, "in", list(categories[: int(rng.integers(1, len(categories) + 1))]) if categories else []
        compared = column, str(rng.choice([">=", "<"])), value
        return editor.add_condition(n, *(named if categories is not None else compared), bool(rng.integers(2)))
    if categories is not None:
        return editor.add(column, "in", list(categories[: int(rng.integers(1, len(categories) + 1))]), value)
    return editor.add(column, str(rng.choice([">=", "<"])), value, float(rng.normal()), bool(rng.integers(2)))


def agree(editor: Editor, X: np.ndarray, folder: str) -> None:
    """Check that everything says the same of an edited network."""
    network = editor.network
    predictions = network.predict(X)
    np.testing.assert_array_equal(editor.predictions, predictions)
    path = Path(folder) / "model.json"
    bgn.save(network, path, edits=editor.log)
    assert bgn.load(path) == network
    np.testing.assert_array_equal(bgn.load(path).predict(X), predictions)
    size = 1e-9 * (1.0 + abs(network.base) + np.abs(network.output_weights).sum())
    np.testing.assert_allclose(bgn.as_terms(network).evaluate(X), predictions, rtol=0, atol=size)
    assert bgn.equation(network)
    explained = bgn.shap_values(network, X, background=X)
    np.testing.assert_allclose(explained.base_value + explained.values.sum(axis=1), predictions, rtol=0, atol=size)


def fuzz(cases: int, seed: int) -> int:
    """Try so many edits; return how many could be made."""
    rng, made = np.random.default_rng(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        while cases > 0:
            plain = bool(rng.integers(2))
            start = random_network(6, ["a", "b", "c"], int(rng.integers(10**6))) if plain else town()
            X = rng.normal(size=(20, 3)).round(1) if plain else town_rows(20, int(rng.integers(10**6)))
            editor = bgn.edit(start, X, start.predict(X))
            for _ in range(10):
                cases -= 1
                try:
                    after = changed(editor, rng)
                except ValueError:
                    continue
                made += 1
                agree(after, X, folder)
                assert after.undo() is editor
                assert after.undo().network == editor.network
                editor = after
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"{fuzz(given.cases, given.seed)} of {given.cases} edits made, all of one mind")
