"""Damaged model files: each is refused with `ModelFileError`, or is a model that predicts finite values and prints.

Run longer than the suite does, with the slowest case and the memory it took told at the end::

    python -m tests.fuzz_models --cases 20000 --seed 1
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

import bgn
from bgn import BGNClassifier, BGNRegressor, GrowthSettings, Layer, ModelFileError, Network
from bgn.cli.app import bgn as shell
from bgn.persist import read
from tests.raw_columns import category, date, number, prepared
from tests.round_trips import scratch

KEPT = Path(__file__).parent / "data"

# -- files as they should be -----------------------------------------------------------------------------------


def originals(folder: Path) -> list[bytes]:
    """Return files of every kind: estimators, flat, deep and of equal neurons, shell models, networks alone."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (80, 3)).astype(float)
    y = X[:, 0] * 2 - X[:, 1] + rng.normal(size=80)
    flat = BGNRegressor(max_terms=6, growth=GrowthSettings(max_replacements=2), random_state=0, cv=None).fit(X, y)
    quick = GrowthSettings(max_replacements=0)
    deep = BGNRegressor(max_terms=4, max_layers=2, shrinkage=5.0, growth=quick, random_state=3).fit(X, y)
    two = BGNClassifier(max_terms=3, class_weight={"no": 1, "yes": 2.5}, random_state=0)
    two.fit(X, np.where(y > 1, "yes", "no"))
    three = BGNClassifier(max_terms=3, max_layers=2, growth=quick, random_state=0).fit(X, np.digitize(y, [0, 3]))
    preparation = prepared(
        number("rooms", fill=3.0),
        category("kind", ("flat", "house"), "flat"),
        date("sold", ("year", "hour"), "%Y-%m-%d %H:%M", (2020.0, 12.0)),
        category("floor", (0.0, 1.0)),
    )
    weights = rng.normal(size=(5, len(preparation.schema.names)))
    shell = Network.of_layers(
        [Layer(weights, rng.normal(size=5))], rng.normal(size=5), 10.0, preparation.schema.names, "price"
    )
    by_hand = Network.of_layers([Layer([[1.0, 2.0]], [-1.0]), Layer([[1.0], [-1.0]], [0.0, 0.5])], [1.0, 2.0], 0.5)
    nothing = Network.of_layers([Layer(np.empty((0, 4)), [])], [], 7.0)
    path = folder / "original.json"
    models = [kept.read_bytes() for kept in sorted(KEPT.glob("version*.json"))]
    for model in (flat, deep, two, three, by_hand, nothing):
        bgn.save(model, path)
        models.append(path.read_bytes())
    figures = {"test": {"r2": 0.5, "mse": 0.1}}
    bgn.save(shell, path, units={"rooms": "m", "price": "k$"}, figures=figures, preparation=preparation)
    return [*models, path.read_bytes()]


# -- damage ----------------------------------------------------------------------------------------------------

_NUMBERS: list[Any] = [
    0, -1, 1, 2, 50, 9999, 10_000, 20_000_000, 2**31, 2**63, 10**40, -0.0, 5e-324, 1e-300, 1e16, 1e300, 1e306, 1e308,
    -1.7e308,
]  # fmt: skip
_ODD: list[Any] = [
    *_NUMBERS, None, True, False, "", "x", "\ud800", "\x1b[31m", "%d%d%s", "a" * 100_000, '\\"' * 50_000,
    [], {}, [[]], {"a": 1}, [0] * 50, [0.0] * 20_000, ["a"] * 1000, {str(k): k for k in range(1000)},
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value in a file."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inside in inner:
        yield from places(inside, (*path, key))


def _spot(content: Any, dice: random.Random, wanted: type | tuple[type, ...] = object) -> tuple[Any, Any]:
    """Return a random place, as what holds it and its key; every depth is as likely as another."""
    spots = [path for path in places(content, ("root",)) if isinstance(_at(content, path[1:]), wanted)]
    depth = dice.choice(sorted({len(path) for path in spots}))
    path = dice.choice([path for path in spots if len(path) == depth])
    return ({"root": content}, "root") if len(path) == 1 else (_at(content, path[1:-1]), path[-1])


def _at(content: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        content = content[key]
    return content


def other_value(raw: bytes, dice: random.Random) -> bytes:
    """Put something else in a place or several: another type, a huge number, a long string, a deep nest."""
    holder = {"root": json.loads(raw)}
    for _ in range(dice.randint(1, 3)):
        parent, key = _spot(holder, dice)
        if parent is holder or key == "root":
            continue
        new = deepcopy(dice.choice(_ODD))
        for _ in range(dice.choice([0, 0, 0, 1, 3, 30])):
            new = [new]
        parent[key] = new
    return json.dumps(holder["root"]).encode()


def other_number(raw: bytes, dice: random.Random) -> bytes:
    """Change numbers alone, by a little or a lot, and drop the checks that would tell."""
    content = json.loads(raw)
    if dice.random() < 0.7:
        content["checks"] = []
    for _ in range(dice.randint(1, 4)):
        parent, key = _spot(content, dice, (int, float))
        old = parent[key]
        parent[key] = dice.choice([*_NUMBERS, -old, old + 1, old * 1e10, old / 3, int(max(min(old, 1e9), -1e9)) + 1])
    return json.dumps(content).encode()


def other_shape(raw: bytes, dice: random.Random) -> bytes:
    """Delete, double, swap and add entries."""
    content = json.loads(raw)
    for _ in range(dice.randint(1, 3)):
        parent, key = _spot(content, dice, (list, dict))
        inner = parent[key]
        action = dice.randrange(5)
        if isinstance(inner, list) and inner:
            one, other = dice.randrange(len(inner)), dice.randrange(len(inner))
            if action == 0:
                del inner[one]
            elif action == 1:
                inner[one:one] = deepcopy(inner[one : one + 1]) * dice.choice([1, 2, 300])
            elif action == 2:
                inner[one], inner[other] = inner[other], inner[one]
            else:
                inner.append(deepcopy(dice.choice(_ODD)))
        elif isinstance(inner, dict) and inner:
            one, other = dice.choice(list(inner)), dice.choice(list(inner))
            if action == 0:
                del inner[one]
            elif action == 1:
                inner[one], inner[other] = inner[other], inner[one]
            else:
                inner[dice.choice(["x", "bias", "version", "kind", "a" * 5000])] = deepcopy(dice.choice(_ODD))
    return json.dumps(content).encode()


def other_size(raw: bytes, dice: random.Random) -> bytes:
    """Declare another number of inputs, with names, checks and preparation gone that would tell."""
    content = json.loads(raw)
    inputs = dice.choice([0, 1, 100, 9_999, 10_000, 10_001, 10**5, 2 * 10**7, 10**9])
    content |= {"checks": [], "preparation": None}
    if content["version"] == 1:
        content["feature_names"], content["network"]["inputs"] = None, inputs
    else:
        content["schema"]["columns"] = inputs
    times = dice.choice([1, 1, 2, 30, 300])
    if content["version"] == 3:
        content["network"]["terms"] *= times
    elif content["network"]["layers"][-1]:
        content["network"]["layers"][-1] *= times
        content["network"]["output_weights"] *= times
    return json.dumps(content).encode()


def other_meaning(raw: bytes, dice: random.Random) -> bytes:
    """Say what does not go together: ranges the wrong way round, two kinds at once, a history of no fit, blanks."""
    content = json.loads(raw) | {"checks": []}
    if content["version"] == 1:
        return raw
    action, schema = dice.randrange(5), content["schema"]
    if action < 2 and isinstance(schema["columns"], list):
        categories = "levels" if content["version"] == 2 else "categories"
        wrong = [{"seen": [5.0, -5.0]}, {categories: ["a", "b"], "part_of": {"raw": "t", "part": "year"}}][action]
        schema["columns"] = [(own if isinstance(own, dict) else {"name": own}) | wrong for own in schema["columns"]]
    elif action == 2:
        content |= {"kind": "network", "settings": None}
    elif action == 3:
        network = content["network"]
        conditions = [condition for layer in network.get("layers", []) for condition in layer]
        conditions += [condition for term in network.get("terms", []) for condition in term.get("conditions", [])]
        for condition in conditions:
            for name in {"weights", "coefficients"} & condition.keys():
                condition[name] = [dice.choice([1e308, -1e308, number]) for number in condition[name]]
    else:
        schema["columns"] = dice.choice([10**5, 10**6])
    return json.dumps(content).encode() + b" " * dice.choice([0, 10**6])


def other_tokens(raw: bytes, dice: random.Random) -> bytes:
    """Change, double and cut the marks and words of the JSON."""
    marks = b"""{ } [ ] , : " null true NaN -Infinity 1e999 0x1 \\u0000""".split()
    data = raw
    for _ in range(dice.randint(1, 4)):
        tokens = [k for k, byte in enumerate(data) if byte in b'{}[],:"']
        spot = dice.choice(tokens or [0])
        new = dice.choice(marks) * dice.choice([0, 1, 1, 2, 40])
        data = data[:spot] + new + data[spot + dice.randint(0, 1) :]
    return data


def other_bytes(raw: bytes, dice: random.Random) -> bytes:
    """Change, cut, double and insert bytes."""
    data = bytearray(raw)
    for _ in range(dice.randint(1, 6)):
        spot = dice.randrange(len(data) + 1)
        action = dice.randrange(5)
        if action == 0:
            data[spot : spot + 1] = bytes([dice.randrange(256)])
        elif action == 1:
            del data[spot : spot + dice.randint(1, 40)]
        elif action == 2:
            data[spot:spot] = data[spot : spot + dice.randint(1, 200)]
        elif action == 3:
            data[spot:spot] = dice.choice([b'\\"' * 50_000, b"9" * 5000, b"[" * 5000, b"\x00", b"\xff", b" " * 10_000])
        else:
            del data[spot:]
    return bytes(data)


DAMAGE: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    other_value, other_number, other_number, other_shape, other_size, other_meaning, other_tokens, other_bytes,
)  # fmt: skip


# -- what may come of it ---------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What a run of cases came to."""

    cases: int = 0
    loaded: int = 0
    longest_message: int = 0
    slowest: float = 0.0
    slow_case: str = ""
    peak: int = 0
    peak_case: str = ""
    reports: int = 0
    shell: int = 0

    def note(self, label: str, seconds: float, memory: int) -> None:
        """Keep the extremes."""
        self.cases += 1
        if seconds > self.slowest:
            self.slowest, self.slow_case = seconds, label
        if memory > self.peak:
            self.peak, self.peak_case = memory, label


def memory(start: bool = False) -> int:
    """Return the most memory held since the last start, in KiB; since the process began, where no start can be set."""
    if start:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)


def use(path: Path, tally: Tally, report: bool) -> None:
    """Load a file, predict and print; whatever is not `ModelFileError` or a finite number is an error."""
    try:
        file = read(path)
        model = file.model()
    except ModelFileError as error:
        tally.longest_message = max(tally.longest_message, len(str(error)))
        return
    tally.loaded += 1
    network = file.network
    rng = np.random.default_rng(0)
    if not network.plain:
        row = [
            0.5 if column.categories is None else next(iter(column.categories), None)
            for column in network.schema.columns
        ]
        with suppress(ValueError), np.errstate(all="ignore"):  # a category without levels, where gaps are refused
            assert len(network.predict(np.array([row], dtype=object).reshape(1, -1))) == 1
        assert repr(network)
        return
    rows = rng.normal(scale=3.0, size=(6, network.n_inputs))
    rows[0], rows[-1] = 0.0, 1e300
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = network.predict(rows)
        assert np.isfinite(predicted).all()
        assert repr(model)
        assert repr(network)
        assert bgn.equation(network)
        history = getattr(model, "history_", None)
        if history is not None:
            assert repr(history)
            for layer, grown in enumerate(history.paths):
                for size in {0, 1, len(grown) - 1} & set(range(len(grown))):
                    assert np.isfinite(history.network(size, layer).predict(rows)).all()
        if report and 1 <= network.n_inputs <= 50 and network.link == "identity":
            tally.reports += 1
            try:
                bgn.write_report(model, rows[:5], predicted[:5], path.with_suffix(".html"), units=file.units)
            except ValueError as error:
                if "Rescale" not in str(error):
                    raise
    if report:
        ended = CliRunner().invoke(shell, ["path", str(path)])
        assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    if file.preparation is not None and report:
        tally.shell += 1
        for command in (["predict", path, KEPT / "table.csv"], ["show", path], ["path", path]):
            ended = CliRunner().invoke(shell, [str(argument) for argument in command])
            assert ended.exit_code in (0, 1)
            assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception


def run(cases: int, seed: int = 0, reports: float = 0.1) -> Tally:
    """Try `cases` damaged files; a share of `reports` of those that load are also made a page of."""
    with scratch() as folder:
        path = Path(folder) / "damaged.json"
        files = originals(Path(folder))
        tally = Tally()
        for case in range(cases):
            dice = random.Random(f"{seed} {case}")
            damage, number = dice.choice(DAMAGE), dice.randrange(len(files))
            path.write_bytes(damage(files[number], dice))
            label = f"seed {seed}, case {case}: {damage.__name__} of file {number}"
            started, before = time.process_time(), memory(start=True)
            try:
                use(path, tally, dice.random() < reports)
            except Exception as error:
                raise AssertionError(f"{label}: {type(error).__name__}: {error}") from error
            tally.note(label, time.process_time() - started, memory() - before)
        return tally


def main() -> None:
    """Run as many cases as asked and tell what they came to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts = run(options.cases, options.seed)
    print(
        f"{counts.cases} damaged model files: {counts.loaded} loaded and predicted, "
        f"{counts.reports} of them in a report, {counts.shell} by the shell"
    )
    print(f"longest message: {counts.longest_message} characters")
    print(f"slowest: {counts.slowest:.2f} s of processor time ({counts.slow_case})")
    print(f"most memory of a case: {counts.peak / 1024:.0f} MiB ({counts.peak_case})")


if __name__ == "__main__":
    main()
