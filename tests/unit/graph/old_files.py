"""Writers of network files of versions 1 to 3, by the tables of the pages that described them."""

from __future__ import annotations

import struct

import numpy as np
import xxhash

from hil.training.graph.file import encode
from hil.training.graph.graph import Graph, Node, Op


def version_1(graph: Graph) -> bytes:
    """Return a graph in `bfp8` as version 1 had it: a record of 32 bytes a layer, then the weights."""
    records, weights, offset = b"", b"", 32 + 32 * len(graph.layers)
    for layer in graph.layers:
        data = b"" if layer.own is None else layer.own.weights.tobytes()
        where = (offset + len(weights), len(data)) if data else (0, 0)
        records += struct.pack("<5BbH", layer.op, *layer.kernel, layer.stride[0], layer.pad[0], layer.weight_exp, 0)
        records += struct.pack("<6HIII", *layer.in_shape, *layer.out_shape, *where, 0)
        weights += data + bytes(-len(data) % 4)
    rest = struct.pack("<4Hb7x", *graph.in_shape, graph.classes, graph.input_exp) + records + weights
    return started(1, len(graph.layers), rest)


def version_2(graph: Graph) -> bytes:
    """Return a graph in `tflite8` as version 2 had it: a record of 64 bytes a layer, then weights and parameters."""
    records, data, offset = b"", b"", 32 + 64 * len(graph.layers)
    for layer in graph.layers:
        own = layer.own
        weights = b"" if own is None else own.weights.tobytes()
        at = offset + len(data)
        places = (0, 0, 0, 0) if own is None else (at, len(weights), at + padded(len(weights)), len(own.bias))
        records += record_2(layer, places)
        if own is not None:
            data += weights + bytes(-len(weights) % 4)
            axis = (0, 1) if layer.op == Op.DEPTHWISE else tuple(range(1, own.weights.ndim))
            sums = own.weights.astype(np.int32).sum(axis, dtype=np.int32)
            data += own.bias.tobytes() + own.multiplier.tobytes() + own.scale.tobytes() + sums.tobytes()
            data += own.shift.tobytes() + bytes(-len(own.shift) % 4)
    rest = struct.pack("<4Hf", *graph.in_shape, graph.classes, graph.scale)
    rest += struct.pack("<bBH", graph.zero, graph.layers[0].rounding == "single", 0)
    return started(2, len(graph.layers), rest + records + data)


def record_2(layer: Node, places: tuple[int, int, int, int]) -> bytes:
    second = layer.reads[1] if layer.op == Op.ADD else 0
    record = struct.pack(
        "<6B3b",
        layer.op, *layer.kernel, layer.stride[0], layer.pad[0], layer.block, layer.act_min, layer.act_max, layer.zero,
    )  # fmt: skip
    record += struct.pack(
        "<3B6Hf4I", layer.reads[0], second, 0, *layer.in_shape, *layer.out_shape, layer.scale, *places
    )
    multipliers, shifts = (
        ((0,) * 3, (0,) * 3) if layer.factors is None else (layer.factors.multipliers, layer.factors.shifts)
    )
    return record + struct.pack("<3i3b5x", *multipliers, *shifts)


def version_3(graph: Graph) -> bytes:
    """Return a graph as version 3 had it: records of 32 bytes, one stride and one padding, roundings in the header."""
    new, records, earlier = encode(graph), b"", 4 * len(graph.layers)
    for index, layer in enumerate(graph.layers):
        places = struct.unpack_from("<2I", new, 32 + 36 * index + 28)
        second = layer.reads[1] if len(layer.reads) > 1 else 0
        records += struct.pack("<6B", layer.op, layer.format, *layer.kernel, layer.stride[0], layer.pad[0])
        records += struct.pack("<BbBB", layer.block, layer.weight_exp, layer.reads[0], second)
        records += struct.pack("<7H", *layer.in_shape, *layer.out_shape, 0)
        records += struct.pack("<2I", *(place and place - earlier for place in places))
    roundings = {layer.rounding for layer in graph.layers}
    rest = struct.pack("<4Hfb", *graph.in_shape, graph.classes, graph.scale, graph.zero)
    rest += struct.pack("<BH", ("single" in roundings) + 2 * ("floor" in roundings), 0)
    return started(3, len(graph.layers), rest + records + new[32 + 36 * len(graph.layers) :])


def padded(size: int) -> int:
    return (size + 3) // 4 * 4


def started(version: int, layers: int, rest: bytes) -> bytes:
    return struct.pack("<IHHII", 0x54454E48, version, layers, 16 + len(rest), xxhash.xxh32_intdigest(rest)) + rest
