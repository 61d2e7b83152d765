"""Every kind of part and of raw rows has each request of its protocol, with the same arguments."""

from inspect import isfunction, signature

import pytest

from bgn.engines.disk.engine import OnDisk, PartsOnDisk
from bgn.engines.memory import Part, PartsInMemory
from bgn.engines.protocol import CellPart, Parts, RawBlock, RowPart, RowSource
from bgn.engines.raw_rows import RawRows, RowsInMemory

KINDS = [
    (Part, CellPart), (RawRows, RawBlock), (PartsInMemory, Parts), (PartsOnDisk, Parts),
    (RowsInMemory, RowSource), (OnDisk, RowSource),
]  # fmt: skip


def missing(kind, protocol):
    """Return the requests that a class took over from the protocol, or gave other arguments."""
    requests = {name for base in protocol.__mro__ for name, value in vars(base).items() if isfunction(value)}
    left = {"ask", "for_threads", "close"}  # of which there is one for all
    for name in sorted(name for name in requests - left if not name.startswith("_")):
        own, requested = getattr(kind, name), getattr(protocol, name)
        wanted = list(signature(requested).parameters)
        if own is requested or list(signature(own).parameters)[: len(wanted)] != wanted:
            yield name


@pytest.mark.parametrize(("kind", "protocol"), KINDS)
def test_no_request_is_missing(kind, protocol):
    assert list(missing(kind, protocol)) == []


def test_no_request_is_missing_on_a_cluster():
    pytest.importorskip("distributed")
    from bgn.engines.cluster import OnCluster, PartsOnCluster

    assert [*missing(PartsOnCluster, Parts), *missing(OnCluster, RowSource)] == []


def test_no_request_is_missing_on_a_gpu():
    pytest.importorskip("torch")
    from bgn.engines.gpu.engine import TensorPart
    from bgn.engines.gpu.tensors import RawTensors, Tensors

    pairs = [(TensorPart, RowPart), (RawTensors, RawBlock), (Tensors, RowSource)]
    assert [name for kind, protocol in pairs for name in missing(kind, protocol)] == []


def test_a_part_without_a_request_is_noticed():
    class Idle(Part):
        gram = CellPart.gram

    assert list(missing(Idle, CellPart)) == ["gram"]
