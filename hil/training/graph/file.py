"""The network file: encode and decode (docs/network.md)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import xxhash

from hil.errors import RigError
from hil.training.graph.affine8 import with_scales
from hil.training.graph.file_checks import HEADER_LAYER, Refusal, check_header, check_layer
from hil.training.graph.formats import CHAINS, PAIRED, ROUNDINGS, Format, Op, named, rounding_word, weight_type
from hil.training.graph.graph import Graph
from hil.training.graph.layouts import LAYOUTS, parameter_bytes
from hil.training.graph.node import NODES, ChainNode, ChainParameters, Node
from hil.training.graph.part import NO_BYTES, ended, padded
from hil.training.graph.record import RECORDS_AT, Header, HeaderStart, Record

MAGIC, VERSION = 0x54454E48, 4
DIGEST_FROM = HeaderStart.size()


class NetworkFileError(RigError):
    """A network file that cannot be read.

    `layer` (255: the header) and `check` are those of docs/network.md, check 0 what has no number.
    """

    def __init__(self, message: str, layer: int = HEADER_LAYER, check: int = 0) -> None:
        super().__init__(message)
        self.layer = layer
        self.check = check


def encode(graph: Graph) -> bytes:
    """Return the bytes of the graph's file; sums of weights and folded biases are made from weights and ranges."""
    graph = with_scales(graph)
    offset = RECORDS_AT + Record.size() * len(graph.layers)
    records, data = b"", b""
    for layer in graph.layers:
        records += _record(layer, offset + len(data)).pack()
        if layer.own is not None:
            data += padded(layer.own.weights.astype(weight_type(layer.format)).tobytes())
        if layer.format in LAYOUTS:
            data += LAYOUTS[layer.format].pack(layer, graph)
    rest = Header(graph.in_shape, graph.classes, graph.scale, graph.zero).pack() + records + data
    digest = xxhash.xxh32_intdigest(rest)
    return HeaderStart(MAGIC, VERSION, len(graph.layers), DIGEST_FROM + len(rest), digest).pack() + rest


def _record(layer: Node, offset: int) -> Record:
    after = offset + _weights_end(layer)
    exponent = layer.weight_exp if isinstance(layer, ChainNode) else 0
    return Record(
        layer.op, layer.format, layer.block, exponent, layer.kernel, layer.stride, layer.pad,
        layer.reads[0], layer.reads[1] if len(layer.reads) > 1 else 0, layer.in_shape, layer.out_shape,
        ROUNDINGS[layer.format][layer.rounding], NO_BYTES,
        offset if layer.own is not None else 0, after if layer.format in LAYOUTS else 0,
    )  # fmt: skip


def _weights_end(layer: Node) -> int:
    return ended(layer.weight_count * weight_type(layer.format).itemsize)


def decode(blob: bytes, name: str = "network") -> Graph:
    """Read a network file.

    Args:
        blob: the bytes.
        name: the graph's, which the file does not carry.

    Raises:
        NetworkFileError: any of the refusals of docs/network.md.
    """
    count = _check_start(blob)
    header = Header.unpack(blob, DIGEST_FROM)
    records = [Record.numbered(blob, index) for index in range(count)]
    try:
        check_header(header, records)
        end = RECORDS_AT + Record.size() * count
        for index in range(count):
            end = check_layer(index, records, header, blob, end)
    except Refusal as refusal:
        raise NetworkFileError(_sentence(refusal), refusal.layer, refusal.check) from refusal
    names = named([Op(record.op) for record in records])
    layers = tuple(_layer(blob, record, title) for record, title in zip(records, names, strict=True))
    return with_scales(Graph(name, layers, header.in_shape, header.classes, header.scale, header.zero))


def checked(graph: Graph) -> Graph:
    """Return a graph that every reader of its file accepts.

    Raises:
        NetworkFileError: it is none.
    """
    decode(encode(graph), graph.name)
    return graph


def _check_start(blob: bytes) -> int:
    """Return the number of layers of a file that is one, whole and undamaged."""
    if len(blob) < RECORDS_AT:
        raise NetworkFileError(
            f"the network file ends after {len(blob)} bytes, inside its header of {RECORDS_AT}: fetch the file again."
        )
    start = HeaderStart.unpack(blob, 0)
    count, version = start.count, start.version
    if start.magic != MAGIC:
        raise NetworkFileError(
            f"the file begins with 0x{start.magic:08X}, not with HNET: give a network file (docs/network.md)."
        )
    if version != VERSION:
        cure = "make it again, by `hil network import MODEL`" if version < VERSION else "update trainrig"
        raise NetworkFileError(
            f"the network file is of version {version}, and this trainrig reads version {VERSION}: {cure}."
        )
    if len(blob) != start.total or start.total < RECORDS_AT + Record.size() * count:
        raise NetworkFileError(
            f"the network file has {len(blob)} bytes, its header says {start.total} with {count} layers: fetch the "
            "file again."
        )
    computed = xxhash.xxh32_intdigest(blob[DIGEST_FROM:])
    if computed != start.digest:
        raise NetworkFileError(
            f"the network file is damaged: its digest is {computed:08X}, and {start.digest:08X} is written at offset "
            "12: fetch the file again."
        )
    return count


def _sentence(refusal: Refusal) -> str:
    where = (
        "the header of the network file"
        if refusal.layer == HEADER_LAYER
        else f"layer {refusal.layer} of the network file (offset {RECORDS_AT + Record.size() * refusal.layer})"
    )
    number = f" (check {refusal.check} of docs/network.md)" if refusal.check else ""
    return f"{where}: {refusal.what}{number}: write the file again."


def _layer(blob: bytes, record: Record, name: str) -> Node:
    op, format, weights = Op(record.op), Format(record.format), None
    if record.channels:
        flat = np.frombuffer(blob, weight_type(format), record.weights, record.weights_at)
        weights = flat.copy().reshape(_weight_shape(op, record))
    reads = (record.first, record.second) if op in PAIRED else (record.first,)
    common = name, op, reads, record.in_shape, record.out_shape, record.kernel, record.stride, record.pad, record.block
    if format in CHAINS:
        own = None if weights is None else ChainParameters(weights, record.exponent)
        return ChainNode(*common, own, format)
    fields = LAYOUTS[format].unpack(blob, record.parameters_at, op, weights)
    if len(ROUNDINGS[format]) > 1:
        fields["rounding"] = rounding_word(format, record.rounding)
    return NODES[format](*common, **fields)


def _weight_shape(op: Op, record: Record) -> tuple[int, ...]:
    if op is Op.FULLY_CONNECTED:
        return record.channels, record.taps
    if op is Op.DEPTHWISE:
        return *record.kernel, record.channels
    return record.channels, *record.kernel, record.in_shape[2]


def parameters_in_file(graph: Graph) -> dict[int, int]:
    """Return where the parameters of each layer that has some lie in the file, by index."""
    blob = encode(graph)
    records = (Record.numbered(blob, index) for index in range(len(graph.layers)))
    return {index: record.parameters_at for index, record in enumerate(records) if record.parameters_at}


@lru_cache(maxsize=16)
def file_size(graph: Graph) -> int:
    """Return the bytes of the graph's file."""
    data = sum(_weights_end(layer) + parameter_bytes(layer.op, layer.format, layer.channels) for layer in graph.layers)
    return RECORDS_AT + Record.size() * len(graph.layers) + data


def places_in_file(graph: Graph) -> dict[int, tuple[int, int]]:
    """Return where weights and biases of each layer that has weights lie in the file: index -> (offset, offset)."""
    blob = encode(graph)
    places = {}
    for index, layer in enumerate(graph.layers):
        if layer.own is not None:
            record = Record.numbered(blob, index)
            biases_at = LAYOUTS[layer.format].biases_at(layer.channels) if layer.format in LAYOUTS else 0
            places[index] = (record.weights_at, record.parameters_at + biases_at)
    return places
