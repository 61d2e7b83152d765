"""A graph of ONNX on its way: nodes, constants that are stored once, inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.require import require

_OPSETS = {"": 17, "ai.onnx.ml": 2}
_IR_VERSION = 8
_LABELS = ("LabelEncoder",)


class Graph:
    """Nodes and constants, whose names are none of those given.

    `values` holds, layer by layer, the name of what questions read, one row per input or answer, and `rows` which row
    of it each is; `codes` the numbers of levels by input; `refused` where no prediction is made, if there is such.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._prefix = ""
        while any(name.startswith(f"{self._prefix}n") or name.startswith(f"{self._prefix}c") for name in names):
            self._prefix += "_"
        self._onnx = require("onnx", extra="onnx")
        self.double = self._onnx.TensorProto.DOUBLE
        self.values: list[str] = []
        self.rows: list[dict[int, int]] = []
        self.codes: dict[int, str] = {}
        self.refused = ""
        self.one_row = ""
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._constants: dict[tuple[Any, ...], tuple[str, Any]] = {}

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of one output; return its name."""
        return self.nodes(operator, inputs, 1, **attributes)[0]

    def nodes(self, operator: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """Add a node of several outputs; return their names."""
        number = len(self._nodes)
        first = f"{self._prefix}n{number}"
        names = [first if count == 1 else f"{first}_{k}" for k in range(count)]
        domain = "ai.onnx.ml" if operator in _LABELS else ""
        # Named, since onnxruntime before version 1.22 names what it makes of nodes after them, and each name only once.
        make = self._onnx.helper.make_node
        self._nodes.append(make(operator, list(inputs), names, name=first, domain=domain, **attributes))
        return names

    def constant(self, values: ArrayLike, kind: Any = np.float64) -> str:
        """Return the name of a constant, which is stored once."""
        array = np.asarray(values, dtype=kind)
        key = (array.shape, str(array.dtype), array.tobytes() if array.dtype != object else tuple(array.ravel()))
        if key not in self._constants:
            name = f"{self._prefix}c{len(self._constants)}"
            self._constants[key] = name, self._onnx.numpy_helper.from_array(array, name)
        return self._constants[key][0]

    def split(self, name: str, count: int) -> list[str]:
        """Return the rows of a value."""
        if count == 1:
            return [name]
        return self.nodes("Split", [name, self.constant(np.ones(count), np.int64)], count, axis=0)

    def zeros(self, count: int) -> str:
        """Return rows of zeros, as many as asked for."""
        gap = self.node("IsNaN", self.one_row)
        nothing = self.node("Cast", self.node("And", gap, self.node("Not", gap)), to=self.double)
        return self.node("Mul", nothing, self.constant(np.zeros((count, 1))))

    def base(self, values: ArrayLike) -> str:
        """Return rows of numbers, one row each."""
        numbers = np.asarray(values)
        return self.node("Add", self.zeros(len(numbers)), self.constant(numbers[:, np.newaxis]))

    def input(self, name: str, kind: Any, columns: int) -> str:
        """Add an input of rows."""
        self._inputs.append(self._value(name, kind, columns))
        return name

    def output(self, title: str, name: str, kind: Any, columns: int | None) -> None:
        """Give a value a name under which it is returned; without a number of columns it has none."""
        taken = {each.name for each in self._inputs}
        while title in taken:
            title += " of bgn"
        self._nodes.append(self._onnx.helper.make_node("Identity", [name], [title]))
        self._outputs.append(self._value(title, kind, columns))

    def _value(self, name: str, kind: Any, columns: int | None) -> Any:
        helper = self._onnx.helper
        types = self._onnx.TensorProto
        number = types.STRING if kind is str else helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return helper.make_tensor_value_info(name, number, ["rows"] if columns is None else ["rows", columns])

    def finished(self, metadata: Mapping[str, str]) -> bytes:
        """Return the model, checked."""
        helper = self._onnx.helper
        used = {name for node in self._nodes for name in node.input}
        stored = [value for name, value in self._constants.values() if name in used]
        graph = helper.make_graph(self._nodes, "bgn", self._inputs, self._outputs, stored)
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="bgn")
        helper.set_model_props(model, dict(metadata))
        self._onnx.checker.check_model(model)
        return bytes(model.SerializeToString())
