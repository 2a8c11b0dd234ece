"""Read a .tflite that may be hostile: every count and length is checked before anything is read in a loop.

The classes that the schema's compiler made (package `tflite`) read lazily, each access at most a few bytes or a view of
the file, and recursion has no place in them. What they do not do is done here: they believe lengths, and raise whatever
comes up.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hil.bounded_read import read_file
from hil.errors import RigError, message_of
from hil.optional_library import library
from hil.training.tflite.model import OPTIONS, Model, Operator, TfliteTensor

LARGEST = 64 << 20  # bytes of a file: boards have flash for 8 MB
IDENTIFIER = b"TFL3"  # at offset 4
CURE = "give an int8 .tflite"
MOST_TENSORS, MOST_OPERATORS, MOST_CODES = 4096, 1024, 1024
MOST_AXES, MOST_ENDS = 8, 32  # of a tensor; inputs or outputs of an operator or a model


def read_model(path: Path) -> tuple[bytes, Model]:
    """Return the bytes of a file and its model.

    Raises:
        RigError: it is missing, too large, no .tflite, or damaged.
    """
    data = read_file(path, LARGEST, CURE)
    return data, parse(data, path.name)


def parse(data: bytes, name: str) -> Model:
    """Return the model of a file's bytes; `name` is for messages.

    Raises:
        RigError: tflite is not installed, or the file is no .tflite, is damaged, or has more than one graph or than a
            board could hold.
    """
    if data[4:8] != IDENTIFIER:
        raise RigError(f"{name} is no .tflite (offset 4 has {data[4:8]!r}, not {IDENTIFIER!r}): {CURE}.")
    schema = library("tflite", "reader of a .tflite", "training")  # late: half a second
    try:
        return _Reader(data, schema).model()
    except MemoryError:
        raise
    except Exception as error:  # a damaged file may raise nearly anything
        raise RigError(f"{name} cannot be read as .tflite ({message_of(error)}): {CURE}.") from error


class _Reader:
    """One file; every method raises ValueError or what the package raises where the file is wrong."""

    def __init__(self, data: bytes, schema: Any) -> None:
        self._schema = schema
        self._data = data
        self._model = schema.Model.GetRootAs(data, 0)
        self._types = _names(schema.TensorType)
        self._operators = _names(schema.BuiltinOperator)

    def model(self) -> Model:
        """Return the whole model."""
        graphs = self._model.SubgraphsLength()
        if graphs != 1:
            raise ValueError(f"it has {graphs:,} graphs, and only one can be run")
        graph = self._model.Subgraphs(0)
        tensors = tuple(
            self._tensor(graph.Tensors(index), index)
            for index in range(_limited(graph.TensorsLength(), MOST_TENSORS, "tensors"))
        )
        codes = [
            self._name(self._model.OperatorCodes(index))
            for index in range(_limited(self._model.OperatorCodesLength(), MOST_CODES, "operator codes"))
        ]
        operators = tuple(
            self._operator(graph.Operators(index), index, codes, len(tensors))
            for index in range(_limited(graph.OperatorsLength(), MOST_OPERATORS, "operators"))
        )
        ends = (_ends(graph, "Inputs", len(tensors)), _ends(graph, "Outputs", len(tensors)))
        return Model(tensors, operators, *ends)

    def _tensor(self, tensor: Any, index: int) -> TfliteTensor:
        shape = _numbers(tensor, "Shape", MOST_AXES, "axes")
        signature = _numbers(tensor, "ShapeSignature", MOST_AXES, "axes")
        if any(size < 0 for size in shape):
            raise ValueError(f"tensor {index} has the shape {list(shape)}")
        quantization = tensor.Quantization()
        has_scale = quantization is not None and quantization.ScaleLength()
        scale = quantization.ScaleAsNumpy() if has_scale else np.zeros(0, np.float32)
        has_zero = quantization is not None and quantization.ZeroPointLength()
        buffer = tensor.Buffer()
        return TfliteTensor(
            index,
            shape,
            all(size >= 0 for size in signature[1:]),
            self._types.get(tensor.Type(), f"type {tensor.Type()}"),
            scale,
            quantization.ZeroPointAsNumpy() if has_zero else np.zeros(len(scale), np.int64),
            quantization.QuantizedDimension() if quantization is not None else 0,
            self._constant(buffer),
            buffer,
        )

    def _constant(self, index: int) -> np.ndarray | None:
        if not 0 <= index < self._model.BuffersLength():
            raise ValueError(f"it has no buffer {index}")
        buffer = self._model.Buffers(index)
        if buffer is None or buffer.Offset() > 1:
            raise ValueError(f"buffer {index} lies outside of its flatbuffer")
        found: np.ndarray | None = buffer.DataAsNumpy() if buffer.DataLength() else None
        return found

    def _name(self, code: Any) -> str:
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        return self._operators.get(number, f"operator {number}")

    def _operator(self, operator: Any, index: int, codes: list[str], tensors: int) -> Operator:
        code = operator.OpcodeIndex()
        if not 0 <= code < len(codes):
            raise ValueError(f"node {index} has the operator code {code} of {len(codes)}")
        ends = (_ends(operator, "Inputs", tensors), _ends(operator, "Outputs", tensors))
        return Operator(index, codes[code], *ends, self._options(operator, codes[code], index))

    def _options(self, operator: Any, name: str, index: int) -> dict[str, float]:
        if name not in OPTIONS:
            return {}
        title, fields = OPTIONS[name]
        table = operator.BuiltinOptions()
        if table is None or operator.BuiltinOptionsType() != getattr(self._schema.BuiltinOptions, title):
            raise ValueError(f"{name} (node {index}) has no {title}")
        options = getattr(self._schema, title)()
        options.Init(table.Bytes, table.Pos)
        return {field: getattr(options, field)() for field in fields}


def _names(numbers: type) -> dict[int, str]:
    """Return the names of an enumeration of the schema by number."""
    return {number: name for name, number in vars(numbers).items() if isinstance(number, int)}


def _limited(count: int, most: int, what: str) -> int:
    if count > most:
        raise ValueError(f"it has {count:,} {what}, more than {most:,}")
    return count


def _numbers(table: Any, field: str, most: int, what: str) -> tuple[int, ...]:
    """Return a short vector of int32."""
    if not _limited(getattr(table, f"{field}Length")(), most, what):
        return ()
    return tuple(int(number) for number in getattr(table, f"{field}AsNumpy")())


def _ends(table: Any, field: str, tensors: int) -> tuple[int, ...]:
    """Return indexes of tensors, all of which are there."""
    found = _numbers(table, field, MOST_ENDS, field.lower())
    if not all(-1 <= index < tensors for index in found):
        raise ValueError(f"it names a tensor of {list(found)}, and has {tensors}")
    return found
