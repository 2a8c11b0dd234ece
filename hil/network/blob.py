"""The network file: encode and decode, with every refusal of docs/network.md."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import xxhash

from hil.errors import RigError
from hil.network.graph import Layer, Network, Op, named

MAGIC = 0x54454E48
VERSION = 1
HEADER = struct.Struct("<IHHIIHHHHb7s")
RECORD = struct.Struct("<BBBBBbH3H3HIII")
DIGEST_FROM = 16


class NetworkError(RigError):
    """A network file that cannot be read; `check` is the number of the check in docs/network.md (0: header or length)."""

    def __init__(self, message: str, check: int = 0) -> None:
        super().__init__(message)
        self.check = check


def blob_size(network: Network) -> int:
    """Return the bytes of the network's file."""
    return (
        HEADER.size
        + RECORD.size * len(network.layers)
        + sum((layer.weights.size + 3) & ~3 for layer in network.trained if layer.weights is not None)
    )


def placed(network: Network) -> Network:
    """Return the network with the offset that every weight tensor has in its file."""
    offset = HEADER.size + RECORD.size * len(network.layers)
    layers = []
    for layer in network.layers:
        if layer.weights is not None:
            layer, offset = replace(layer, weight_offset=offset), offset + ((layer.weights.size + 3) & ~3)
        layers.append(layer)
    return replace(network, layers=tuple(layers))


def encode(network: Network) -> bytes:
    """Return the bytes of the network's file."""
    network = placed(network)
    body = b"".join(_record(layer) for layer in network.layers)
    for layer in network.trained:
        assert layer.weights is not None
        data = layer.weights.astype(np.int8).tobytes()
        body += data + bytes(-len(data) % 4)
    header = HEADER.pack(
        MAGIC,
        VERSION,
        len(network.layers),
        HEADER.size + len(body),
        0,
        *network.in_shape,
        network.classes,
        network.input_exp,
        bytes(7),
    )
    digest = xxhash.xxh32_intdigest(header[DIGEST_FROM:] + body)
    return header[:12] + struct.pack("<I", digest) + header[DIGEST_FROM:] + body


def _record(layer: Layer) -> bytes:
    count = 0 if layer.weights is None else layer.weights.size
    return RECORD.pack(
        layer.op,
        *layer.kernel,
        layer.stride,
        layer.pad,
        layer.weight_exp,
        0,
        *layer.in_shape,
        *layer.out_shape,
        layer.weight_offset,
        count,
        0,
    )


def decode(blob: bytes) -> Network:
    """Read a network file.

    Raises:
        NetworkError: any of the refusals of docs/network.md.
    """
    if len(blob) < HEADER.size:
        raise NetworkError(
            f"the network file ends after {len(blob)} bytes, inside its header of {HEADER.size}: fetch the file again."
        )
    magic, version, count, total, digest, height, width, channels, classes, input_exp, zero = HEADER.unpack_from(blob)
    if magic != MAGIC:
        raise NetworkError(f"the file begins with 0x{magic:08X}, not with HNET: give a network file (docs/network.md).")
    if version != VERSION:
        raise NetworkError(
            f"the network file has version {version}, this trainrig reads {VERSION}: write it again with this version."
        )
    if len(blob) < total or total < HEADER.size + RECORD.size * count:
        raise NetworkError(f"the network file is truncated: {len(blob)} bytes of {total}: fetch the file again.")
    computed = xxhash.xxh32_intdigest(blob[DIGEST_FROM:total])
    if computed != digest:
        raise NetworkError(
            f"the network file is damaged: digest {computed:08X}, {digest:08X} is written at offset 12: fetch the file again."
        )
    if zero != bytes(7):
        raise NetworkError("the network file has bytes at offset 25 that must be zero: write it again.", 7)
    if not 1 <= count <= 32 or not 2 <= classes <= 256:
        raise NetworkError(
            f"the network file has {count} layers and {classes} classes: 1..32 and 2..256 can be trained."
        )
    records = [RECORD.unpack_from(blob, HEADER.size + RECORD.size * index) for index in range(count)]
    for index, record in enumerate(records):
        if record[0] not in tuple(Op):
            raise _refusal(1, index, f"op {record[0]} is unknown")
    names, layers, shape = named([Op(record[0]) for record in records]), [], (height, width, channels)
    for index, (name, record) in enumerate(zip(names, records, strict=True)):
        if record[0] == Op.RELU and (index == 0 or records[index - 1][0] == Op.RELU):
            raise _refusal(1, index, "a relu is first or follows a relu, and so has no buffer to work in")
        layers.append(_layer(index, name, record, shape, blob[:total]))
        shape = layers[-1].out_shape
    if layers[-1].op is not Op.FULLY_CONNECTED or shape != (1, 1, classes):
        raise _refusal(8, count - 1, f"the last layer must be fully connected with {classes} outputs")
    end = max(layer.weight_offset + weights.size for layer in layers if (weights := layer.weights) is not None)
    if (end + 3) & ~3 != total:
        raise _refusal(6, count - 1, f"the weights end at {end}, not where the file of {total} bytes does")
    return Network(tuple(layers), classes, input_exp)


def _refusal(check: int, index: int, what: str) -> NetworkError:
    return NetworkError(
        f"layer {index} of the network file (offset {HEADER.size + RECORD.size * index}): {what} (check {check} of docs/network.md): write the file again.",
        check,
    )


def _layer(index: int, name: str, record: tuple[int, ...], shape: tuple[int, int, int], blob: bytes) -> Layer:
    code, kh, kw, stride, pad, exponent, zero, ih, iw, ic, oh, ow, oc, offset, count, zero2 = record
    op = Op(code)
    if zero or zero2:
        raise _refusal(7, index, "a field that must be zero is not")
    if 0 in (ih, iw, ic, oh, ow, oc):
        raise _refusal(10, index, "a dimension is 0")
    if (ih, iw, ic) != shape:
        raise _refusal(2, index, f"input {(ih, iw, ic)} is not the output {shape} before it")
    _check_kernel(index, op, kh, kw, stride, pad)
    expected = _out_shape(op, (ih, iw, ic), kh, kw, pad, oc)
    if (oh, ow, oc) != expected:
        raise _refusal(3, index, f"output {(oh, ow, oc)} does not follow from the operation, which gives {expected}")
    fan_in = kh * kw * ic if op is Op.CONV2D else ih * iw * ic
    if count != (fan_in * oc if op in (Op.CONV2D, Op.FULLY_CONNECTED) else 0):
        raise _refusal(5, index, f"{count} weights do not fit the shape")
    layer = Layer(name, op, (ih, iw, ic), (oh, ow, oc), (kh, kw), stride, pad)
    if not count:
        if offset:
            raise _refusal(6, index, f"a layer without weights has them at {offset}")
        if exponent:
            raise _refusal(7, index, "a layer without weights has an exponent of weights")
        return layer
    (layers,) = struct.unpack_from("<H", blob, 6)
    if offset % 4 or offset < HEADER.size + RECORD.size * layers or offset + count > len(blob):
        raise _refusal(
            6,
            index,
            f"weights at {offset}..{offset + count} lie outside the file of {len(blob)} bytes, or are misaligned",
        )
    if not -32 <= exponent <= 8:
        raise _refusal(9, index, f"weight exponent {exponent} is outside -32..8")
    if fan_in * 127 * 127 >= 2**31:
        raise _refusal(11, index, f"{fan_in} products behind one output could leave int32")
    weights = np.frombuffer(blob, np.int8, count, offset).copy()
    if weights.min() == -128:
        raise _refusal(12, index, "a weight is -128, which no tensor may hold")
    return replace(
        layer,
        weights=weights.reshape((oc, kh, kw, ic) if op is Op.CONV2D else (oc, fan_in)),
        weight_exp=exponent,
        weight_offset=offset,
    )


def _check_kernel(index: int, op: Op, kh: int, kw: int, stride: int, pad: int) -> None:
    right = {
        Op.CONV2D: kh > 0 and kw > 0 and stride == 1 and pad < min(kh, kw),
        Op.MAX_POOL: kh == kw == stride > 0 and pad == 0,
        Op.FULLY_CONNECTED: (kh, kw, stride, pad) == (0, 0, 0, 0),
        Op.RELU: (kh, kw, stride, pad) == (0, 0, 0, 0),
    }[op]
    if not right:
        raise _refusal(4, index, f"kernel {kh} x {kw}, stride {stride}, padding {pad} is not a {op.name.lower()}")


def _out_shape(op: Op, shape: tuple[int, int, int], kh: int, kw: int, pad: int, outputs: int) -> tuple[int, int, int]:
    height, width, channels = shape
    if op is Op.CONV2D:
        return height + 2 * pad - kh + 1, width + 2 * pad - kw + 1, outputs
    if op is Op.MAX_POOL:
        return height // kh, width // kw, channels
    return (1, 1, outputs) if op is Op.FULLY_CONNECTED else shape
