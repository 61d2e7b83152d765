"""Rows in torch tensors: the same bits as arrays, wherever the tensors are; on a GPU where there is one."""

import math
import os
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn.engines.gpu.engine as on_device_engine
from bgn import BGNRegressor, Layer, Network, shap_values
from bgn.engines.gpu import tensors
from bgn.engines.gpu.engine import TensorEngine, TensorPart, _reaching
from bgn.engines.gpu.tensors import RawTensors
from bgn.engines.protocol import CutRequest, Output
from bgn.engines.raw_rows import Plan, RawRows
from bgn.explain.shap import games
from bgn.explain.shap_gpu import exact_shares
from bgn.grow.losses import Squared
from bgn.model import gpu
from bgn.model.term import Oblique, Projection
from tests.growing import EMPTY, engine_of, table
from tests.growing import tables as cut_tables

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FusedPart = None
if (
    DEVICE == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
):  # kernels run on a GPU, or, slowly, in Triton's interpreter
    FusedPart = pytest.importorskip("bgn.engines.gpu.fused").FusedPart
needs_gpu = pytest.mark.skipif(DEVICE == "cpu", reason="there is no CUDA GPU")


def on_device(array):
    return None if array is None else torch.from_numpy(np.ascontiguousarray(array)).to(DEVICE)


def tensor_engines(X, y, weight=None):
    """The rows in memory, in tensors, and, where kernels can run and there are no weights, in tensors with kernels."""
    memory = engine_of(X, y, weight)
    heavy = None if weight is None else on_device(np.asarray(weight, np.int64))
    rows = on_device(X.T), on_device(memory.part.target), heavy, memory.loss
    kinds = [TensorPart] if weight is not None or FusedPart is None else [TensorPart, FusedPart]
    return [memory, *(TensorEngine(kind(*rows), memory.loss) for kind in kinds)]


windows = st.one_of(st.none(), st.tuples(st.floats(-4, 4), st.floats(0, 4)).map(lambda w: (w[0], w[0] + w[1])))


@given(cut_tables(), windows, st.sampled_from([Projection((0,), (1.0,)), Projection((0, 1), (1.0, -0.37))]))
@settings(max_examples=150)
def test_cuts_are_those_of_arrays(rows, window, direction):
    X, y, weight = rows
    requests = [CutRequest(EMPTY, direction, window), CutRequest(Output(EMPTY.weights, 77), direction)]
    memory, *devices = tensor_engines(X, y, weight)
    expected = list(memory.cuts(requests))
    for least, device in product((1, len(y) + 1), devices):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(on_device_engine, "ROWS_FOR_CELLS", least)
            assert list(device.cuts(requests)) == expected


@pytest.mark.parametrize("shape", ["normal", "cauchy", "atoms", "exponents", "one far out"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cuts_of_many_rows(shape, weighted):
    rng = np.random.default_rng(1)
    rows = 70_000
    x = {
        "normal": rng.normal(size=rows),
        "cauchy": rng.standard_cauchy(rows),
        "atoms": rng.choice([0.0, 1.0, 1.5, 7.0], rows),
        "exponents": 10.0 ** rng.uniform(-300, 300, rows),
        "one far out": np.append(rng.normal(size=rows - 1), 1e12),
    }[shape]
    X = np.column_stack([x, rng.integers(0, 9, rows).astype(float)])
    y = np.where(x > np.median(x), 1.0, 0.0) + rng.normal(size=rows)
    memory, *devices = tensor_engines(X, y, rng.integers(1, 4, rows) if weighted else None)
    directions = Projection((0,), (1.0,)), Projection((0, 1), (0.25, 1.0))
    requests = [CutRequest(EMPTY, one, window) for one in directions for window in (None, (0.5, 1.5))]
    expected = list(memory.cuts(requests))
    for least, device in product((rows, rows + 1), devices):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(on_device_engine, "ROWS_FOR_CELLS", least)
            assert list(device.cuts(requests)) == expected


@given(st.floats(-1e9, 1e9), st.floats(1e-12, 1e12), st.sampled_from([1.0, 14.0, 2047.0]))
def test_the_edge_of_a_cell_is_exact_to_the_last_float(low, scale, edge):
    z = _reaching(low, scale, edge)
    assert (z - low) * scale >= edge
    assert (math.nextafter(z, -math.inf) - low) * scale < edge


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [3, 17, 40, 70])
def test_answers_are_stored_moved_and_counted(size, weighted):
    rng = np.random.default_rng(size)
    X, y = rng.normal(size=(300, 4)).round(1), rng.normal(size=300)
    engines = tensor_engines(X, y, rng.integers(1, 4, 300) if weighted else None)
    reported = []
    for engine in engines:
        answers = []
        for slot in range(size):
            answers.append(engine.put(slot, Oblique(Projection((slot % 4,), (1.0,)), 0.1 * (slot - 2))))
            answers.append(engine.overlaps(slot).tolist())
        answers.append(engine.settle(Output(np.arange(size) * 1000, -5)))
        for weight in (0, 77):  # one neuron is replaced, the others stay as they are
            weights = np.arange(size) * 1000
            weights[1] = weight
            answers.append(engine.put(1, Oblique(Projection((3,), (1.0,)), 0.01 * weight)))
            answers.append(engine.settle(Output(weights, 9)))
        engine.move(0, size - 1)
        answers += [engine.settle(Output(np.arange(size) * 999, 5)), engine.overlaps(1).tolist(), engine.bound()]
        answers += [engine.correlation(2), engine.cross(1).tolist(), engine.gram(2).tolist()]
        answers += [engine.loss_deviation(), engine.describe().deviation.tolist()]
        below = engine.next_layer(
            [Oblique(Projection((0, 1), (1.0, 0.5)), 0.2), Oblique(Projection((2,), (1.0,)), -9.0)]
        )
        answers += [below.gram(0).tolist(), list(below.cuts([CutRequest(EMPTY, Projection((0,), (1.0,)))]))]
        reported.append(answers)
    assert all(one == reported[0] for one in reported)


@given(st.integers(0, 2**31), st.integers(1, 60), st.sampled_from([None, "whole", "any"]), st.booleans())
@settings(max_examples=60)
def test_blocks_answer_like_arrays(seed, rows, weights, narrow):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (rows, 2)).astype(np.float32 if narrow else np.float64) * -0.0
    X[: rows // 2] = rng.normal(size=(rows // 2, 2))
    y = rng.integers(0, 3, rows).astype(float)
    weight = {None: None, "whole": rng.integers(0, 3, rows).astype(float), "any": rng.uniform(0, 1, rows)}[weights]
    exponent = {None: None, "whole": 0, "any": 20}[weights]
    array, tensor = RawRows(X.T, y, weight), RawTensors(on_device(X).T, on_device(y), on_device(weight))
    if weight is not None:
        assert tensor.weigh(7) == array.weigh(7)
        assert tensor.weights().whole == array.weights().whole
    counts = [block.survey(seed, exponent) for block in (array, tensor)]
    assert repr(counts[0]) == repr(counts[1])
    np.testing.assert_array_equal(counts[0].counts, counts[1].counts)
    if counts[0].n_rows == 0:
        return
    number = int(np.flatnonzero(counts[0].counts)[-1])
    for a, b in zip(array.inside(seed, exponent, number), tensor.inside(seed, exponent, number), strict=True):
        np.testing.assert_array_equal(np.sort(a) if np.ndim(a) else a, np.sort(b) if np.ndim(b) else b)
    smallest = array.smallest(seed, exponent, None, 9)
    np.testing.assert_array_equal(smallest, tensor.smallest(seed, exponent, None, 9))
    loss = Squared.over(float(y.min()), float(y.max()), counts[0].total)
    plan = Plan(seed, exponent, loss, int(smallest[len(smallest) // 2]), int(smallest[-1]))
    if not np.any(smallest > plan.edge):
        return
    one, two = array.sample(plan), tensor.sample(plan)
    for name in ("hashes", "columns", "target", "weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for held_out in (False, True):
        one, two = array.part(plan, held_out), tensor.part(plan, held_out)
        np.testing.assert_array_equal(one.columns, two.columns.cpu())
        np.testing.assert_array_equal(one.target, two.target.cpu())
        assert two.weight is None or np.array_equal(one.weight, two.weight.cpu())


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_predictions_are_those_of_arrays(depth, kind):
    rng = np.random.default_rng(depth)
    X = rng.normal(size=(200, 5)).round(1).astype(kind)
    sizes = [5, 7, 6, 4][: depth + 1]
    layers = [
        Layer(rng.normal(size=(upper, below)).round(1) * (rng.random((upper, below)) < 0.4), rng.normal(size=upper))
        for below, upper in pairwise(sizes)
    ]
    network = Network.of_layers(layers, rng.normal(size=sizes[-1]), 0.3)
    assert np.array_equal(gpu.predict(network, on_device(X)).cpu(), network.predict(X))
    assert np.array_equal(gpu.hidden(network, on_device(X), 0).cpu(), network.hidden(X, 0))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.int32, torch.bool])
def test_other_numbers_are_converted_exactly(kind):
    X = torch.tensor([[0, 1], [1, 1], [1, 0]], device=DEVICE).to(kind)
    network = Network.of_layers([Layer([[1.0, 1.0]], [-1.5])], [1.0], 0.0)
    assert gpu.predict(network, X).tolist() == [-1.0, 1.0, -1.0]


def test_what_is_wrong_with_a_tensor_is_said():
    X, y = on_device(np.zeros((4, 2))), on_device(np.zeros(4))
    bad = X.clone()
    bad[1, 1] = torch.inf
    network = Network.of_layers([Layer([[1.0, 1.0]], [-1.5])], [1.0], 0.0, feature_names=["rooms", "age"])
    for call, message in (
        (lambda: tensors.source_of(bad, y, None), r"X contains infinity in column 1 \(1 of 4 rows\)"),
        (lambda: tensors.source_of(X, y / 0, None), r"y contains NaN \(4 of 4 rows\)"),
        (lambda: tensors.source_of(X, 1 / y, None), r"y contains infinity \(4 of 4 rows\)"),
        (lambda: tensors.source_of(X, y[1:], None), r"y must have one entry per row of X \(4\); got shape \(3,\)"),
        (lambda: tensors.source_of(X, None, None), "y must hold the targets"),
        (lambda: tensors.source_of(X, y, y - 1), "Negative values in data passed to `sample_weight`"),
        (lambda: gpu.predict(network, bad), "X has NaN or infinity in column 'age'"),
        (lambda: gpu.predict(network, X[:, :1]), r"2 columns; got shape \(4, 1\)"),
        (lambda: gpu.table_of(X[0]), r"two dimensions.*got shape \(2,\)"),
        (lambda: gpu.table_of(X[:1].expand(2**31, 2)), "X has 2,147,483,648 rows; a GPU takes at most"),
        (lambda: gpu.table_of(X * 1j), "X must hold real numbers; got dtype torch.complex128"),
        (lambda: network.predict(torch.empty((4, 2), device="meta")), "device 'meta'; tensors may be on a CUDA GPU"),
        (lambda: BGNRegressor().fit(torch.empty((4, 2), device="meta"), y), "device 'meta'"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_tensors_in_the_memory_of_the_cpu_are_arrays():
    X, y = table(60)
    model = BGNRegressor(max_terms=2, random_state=0, cv=None)
    network = model.fit(X, y).network_
    assert model.fit(torch.from_numpy(X), torch.from_numpy(y)).network_ == network
    assert isinstance(model.predict(torch.from_numpy(X)), np.ndarray)


@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_shap_values_are_those_of_arrays(inputs):
    rng = np.random.default_rng(inputs)
    weights = np.zeros((6, 5))
    for row in weights[1:]:
        row[rng.permutation(5)[:inputs]] = rng.normal(size=inputs).round(1)
    X, background = rng.normal(size=(2, 40, 5)).round(1)
    network = Network.of_layers([Layer(weights, rng.normal(size=6).round(1))], rng.normal(size=6), 0.5)
    expected = shap_values(network, X, background)
    slots = {pair: slot for slot, pair in enumerate(map(tuple, expected.connections.tolist()))}
    for drawn in (background, on_device(background)):
        means, worth, shares = exact_shares(network, games(network), on_device(X), drawn, slots)
        gains = network.gains[expected.connections[:, 1], 0]
        assert np.array_equal((shares / 40).T * gains, expected.connection_values)
        assert np.array_equal(worth, network.hidden(X) > 0)
        assert np.array_equal(means, (network.hidden(background) > 0).mean(axis=0))


@needs_gpu
def test_shap_values_on_a_gpu():
    X, y = table(300)
    model = BGNRegressor(max_terms=3, random_state=0, cv=None).fit(X, y)
    expected = shap_values(model, X, X)
    for background in (X, on_device(X)):
        result = shap_values(model, on_device(X), background)
        for name in ("values", "base_value", "term_values", "connection_values", "data"):
            assert np.array_equal(getattr(result, name), getattr(expected, name))
    assert np.array_equal(shap_values(model, X, on_device(X)).values, expected.values)


@needs_gpu
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_model_on_a_gpu(kind):
    X, y = table(500)
    X, weight = X.astype(kind), np.arange(500) % 3
    model = BGNRegressor(max_terms=3, random_state=0, cv=None)
    expected = model.fit(X, y, weight, eval_set=(X, y)).network_
    for device in ("cuda", "cpu"):
        more = [torch.from_numpy(one).to(device) for one in (y, weight)]
        assert model.fit(on_device(X), *more, eval_set=(on_device(X), more[0])).network_ == expected
        assert model.fit(on_device(X), y, weight, eval_set=(X, y)).network_ == expected
    predicted = model.predict(on_device(X))
    assert predicted.device.type == "cuda"
    assert np.array_equal(predicted.cpu(), model.predict(X))
