"""The network file of the second family: encode and decode (docs/network-tflite.md)."""

from __future__ import annotations

import struct
from functools import lru_cache

import numpy as np
import xxhash

from hil.errors import RigError
from hil.network.tflite.layers import AddFactors, Graph, GraphLayer, GraphOp, Parameters, named
from hil.network.tflite.record import HEADER, RECORD, Arrays, Header, Record, ended, padded, parameter_bytes
from hil.network.tflite.refusals import HEADER_LAYER, Refusal, check_header, check_layer

MAGIC, VERSION = 0x54454E48, 2
DIGEST_FROM = 16
ROUNDINGS = ("double", "single")


class GraphFileError(RigError):
    """A network file that cannot be read; `layer` (255: the header) and `check` are those of docs/network-tflite.md, check 0 what has no number."""

    def __init__(self, message: str, layer: int = HEADER_LAYER, check: int = 0) -> None:
        super().__init__(message)
        self.layer = layer
        self.check = check


def encode(graph: Graph) -> bytes:
    """Return the bytes of the graph's file; sums of weights are made from the weights."""
    offset = HEADER.size + RECORD.size * len(graph.layers)
    records, data = b"", b""
    for layer in graph.layers:
        records += _record(layer, offset + len(data)).pack()
        if layer.own is not None:
            data += padded(layer.own.weights.astype(np.int8).tobytes()) + _parameters(layer.own, layer.channels)
    rest = Header(
        *graph.in_shape, graph.classes, graph.scale, graph.zero, ROUNDINGS.index(graph.rounding), 0
    ).pack() + (records + data)
    start = struct.pack("<IHHI", MAGIC, VERSION, len(graph.layers), DIGEST_FROM + len(rest))
    return start + struct.pack("<I", xxhash.xxh32_intdigest(rest)) + rest


def _record(layer: GraphLayer, offset: int) -> Record:
    factors = layer.factors or AddFactors((0, 0, 0), (0, 0, 0))
    own = layer.own is not None
    return Record(
        layer.op, *layer.kernel, layer.stride, layer.pad, layer.block, layer.act_min, layer.act_max, layer.zero,
        layer.reads[0], layer.reads[1] if len(layer.reads) > 1 else 0, 0, layer.in_shape, layer.out_shape, layer.scale,
        offset if own else 0, layer.weights, offset + ended(layer.weights) if own else 0, layer.channels,
        factors.multipliers, factors.shifts, bytes(5),
    )  # fmt: skip


def _parameters(own: Parameters, channels: int) -> bytes:
    axis = tuple(range(own.weights.ndim - 1)) if own.weights.ndim == 3 else tuple(range(1, own.weights.ndim))
    arrays = Arrays(own.bias, own.multiplier, own.scale, own.weights.sum(axis=axis, dtype=np.int64), own.shift)
    return arrays.pack(channels)


def decode(blob: bytes, name: str = "network") -> Graph:
    """Read a network file.

    Args:
        blob: the bytes.
        name: the graph's, which the file does not carry.

    Raises:
        GraphFileError: any of the refusals of docs/network-tflite.md.
    """
    count = _check_start(blob)
    header = Header.unpack(blob, DIGEST_FROM)
    records = [Record.unpack(blob, HEADER.size + RECORD.size * index) for index in range(count)]
    try:
        check_header(header, count)
        end = HEADER.size + RECORD.size * count
        for index in range(count):
            end = check_layer(index, records, header, blob, end)
    except Refusal as refusal:
        raise GraphFileError(_sentence(refusal), refusal.layer, refusal.check) from refusal
    names = named([GraphOp(record.op) for record in records])
    layers = tuple(_layer(blob, record, title) for record, title in zip(records, names, strict=True))
    shape = (header.height, header.width, header.channels)
    return Graph(name, layers, shape, header.classes, header.scale, header.zero_point, ROUNDINGS[header.rounding])


def _check_start(blob: bytes) -> int:
    """Return the number of layers of a file that is one, whole and undamaged."""
    if len(blob) < HEADER.size:
        raise GraphFileError(
            f"the network file ends after {len(blob)} bytes, inside its header of {HEADER.size}: fetch the file again."
        )
    magic, version, count, total, digest = struct.unpack_from("<IHHII", blob)
    if magic != MAGIC:
        raise GraphFileError(
            f"the file begins with 0x{magic:08X}, not with HNET: give a network file (docs/network-tflite.md)."
        )
    if version != VERSION:
        raise GraphFileError(
            f"the network file has version {version}, a layer graph has {VERSION}: write it again with this version."
        )
    if len(blob) != total or total < HEADER.size + RECORD.size * count:
        raise GraphFileError(
            f"the network file has {len(blob)} bytes, its header says {total} with {count} layers: fetch the file again."
        )
    computed = xxhash.xxh32_intdigest(blob[DIGEST_FROM:])
    if computed != digest:
        raise GraphFileError(
            f"the network file is damaged: digest {computed:08X}, {digest:08X} is written at offset 12: fetch the file again."
        )
    return count


def _sentence(refusal: Refusal) -> str:
    where = (
        "the header of the network file"
        if refusal.layer == HEADER_LAYER
        else f"layer {refusal.layer} of the network file (offset {HEADER.size + RECORD.size * refusal.layer})"
    )
    number = f" (check {refusal.check} of docs/network-tflite.md)" if refusal.check else ""
    return f"{where}: {refusal.what}{number}: write the file again."


def _layer(blob: bytes, record: Record, name: str) -> GraphLayer:
    op = GraphOp(record.op)
    own = None
    if record.channels:
        weights = np.frombuffer(blob, np.int8, record.weights, record.weights_at).copy()
        arrays = Arrays.unpack(blob, record.parameters_at, record.channels)
        own = Parameters(
            weights.reshape(_weight_shape(op, record)), arrays.bias, arrays.multiplier, arrays.shift, arrays.scale
        )
    is_add = op is GraphOp.ADD
    return GraphLayer(
        name, op, (record.first, record.second) if is_add else (record.first,), record.in_shape, record.out_shape,
        (record.kernel_h, record.kernel_w), record.stride, record.pad, record.block, record.act_min, record.act_max,
        record.scale, record.zero, own, AddFactors(record.multipliers, record.shifts) if is_add else None,
    )  # fmt: skip


def _weight_shape(op: GraphOp, record: Record) -> tuple[int, ...]:
    if op is GraphOp.FULLY_CONNECTED:
        return record.channels, record.weights // record.channels
    if op is GraphOp.DEPTHWISE:
        return record.kernel_h, record.kernel_w, record.channels
    return record.channels, record.kernel_h, record.kernel_w, record.in_shape[2]


@lru_cache(maxsize=16)
def file_size(graph: Graph) -> int:
    """Return the bytes of the graph's file."""
    own = sum(ended(layer.weights) + parameter_bytes(layer.channels) for layer in graph.layers if layer.own is not None)
    return HEADER.size + RECORD.size * len(graph.layers) + own


def places_in_file(graph: Graph) -> dict[int, tuple[int, int]]:
    """Return where weights and biases of each layer that has them lie in the file: index -> (offset, offset)."""
    blob = encode(graph)
    places = {}
    for index, layer in enumerate(graph.layers):
        if layer.own is not None:
            record = Record.unpack(blob, HEADER.size + RECORD.size * index)
            places[index] = (record.weights_at, record.parameters_at)
    return places
