"""Write other constants into a .tflite: in their places, or behind the end where tensors share one buffer."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import flatbuffers
import numpy as np

from hil.training.tflite.model import Model

ALIGNED = 16  # bytes; the schema wants it of the data of buffers
OF_MODEL, OF_TENSOR = 12, 8  # slots of `buffers` in a model's table and of `buffer` in a tensor's
WORD = struct.Struct("<I")


def with_constants(data: bytes, model: Model, constants: Mapping[int, bytes]) -> bytes:
    """Return a file with other constants, each as long as the old one.

    Args:
        data: the file.
        model: what was read from it.
        constants: by tensor; all other bytes stay, but where tensors of one buffer get different constants. Then the
            file also gets all its buffers again behind its end, and one for each of these tensors.
    """
    wanted: dict[int, dict[int, bytes]] = {}
    for tensor in model.tensors:
        if tensor.data is not None:
            constant = constants.get(tensor.index, tensor.data.tobytes())
            assert len(constant) == tensor.data.size
            wanted.setdefault(tensor.buffer, {})[tensor.index] = constant
    found = bytearray(data)
    apart: dict[int, bytes] = {}
    for shared in wanted.values():
        if len(set(shared.values())) == 1:
            tensor = model.tensors[next(iter(shared))]
            at = _place(data, model, tensor.index)
            found[at : at + tensor.data.size] = next(iter(shared.values()))  # type: ignore[union-attr]
        else:
            apart |= shared
    return _with_more_buffers(bytes(found), apart) if apart else bytes(found)


def _place(data: bytes, model: Model, index: int) -> int:
    """Return where the constant of a tensor lies in the file, of which it is a view."""
    view = model.tensors[index].data
    assert view is not None
    return int(view.ctypes.data) - int(np.frombuffer(data, np.uint8).ctypes.data)


def _with_more_buffers(data: bytes, constants: Mapping[int, bytes]) -> bytes:
    """Return the file with its buffers again behind its end, and one more for each of some tensors."""
    import tflite

    root = tflite.Model.GetRootAs(data, 0)
    old = [root.Buffers(index) for index in range(root.BuffersLength())]
    contents = [one.DataAsNumpy().tobytes() if one.DataLength() else b"" for one in old]
    blob, vector = _buffers([*contents, *constants.values()])
    found = bytearray(data) + bytes(-len(data) % ALIGNED)
    field = root._tab.Pos + root._tab.Offset(OF_MODEL)
    WORD.pack_into(found, field, len(found) + vector - field)
    for number, index in enumerate(constants, start=len(old)):
        table = root.Subgraphs(0).Tensors(index)._tab
        WORD.pack_into(found, table.Pos + table.Offset(OF_TENSOR), number)
    return bytes(found + blob)


def _buffers(contents: list[bytes]) -> tuple[bytes, int]:
    """Return the bytes of a model that has only buffers, and where their vector begins."""
    import tflite

    builder: Any = flatbuffers.Builder(sum(map(len, contents)) + 64 * len(contents))
    tables = []
    for content in contents:
        vector = None
        if content:
            builder.StartVector(1, len(content), ALIGNED)
            builder.head -= len(content)
            builder.Bytes[builder.Head() : builder.Head() + len(content)] = content
            vector = builder.EndVector()
        tflite.BufferStart(builder)
        if vector is not None:
            tflite.BufferAddData(builder, vector)
        tables.append(tflite.BufferEnd(builder))
    tflite.ModelStartBuffersVector(builder, len(tables))
    for table in reversed(tables):
        builder.PrependUOffsetTRelative(table)
    buffers = builder.EndVector()
    tflite.ModelStart(builder)
    tflite.ModelAddBuffers(builder, buffers)
    builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
    blob = bytes(builder.Output())
    table = tflite.Model.GetRootAs(blob, 0)._tab
    return blob, table.Vector(table.Offset(OF_MODEL)) - WORD.size
