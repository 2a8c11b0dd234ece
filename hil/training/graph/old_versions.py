"""Network files of versions 1 to 3, which are converted and never used.

All have the header's first 16 bytes and the input's shape and classes where version 4 has them. Version 1 held `bfp8`:
a record of 32 bytes a layer and the weights. Version 2 held `tflite8`: a record of 64 bytes a layer, the weights and
the parameters by output channel. Version 3 had the data of version 4, records of 32 bytes with one stride and one
padding for both axes, and the roundings in the header. What is read here is only checked to lie inside the file; every
further check is that of version 4, which `converted` makes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
import xxhash

from hil.training.graph.chain import chain
from hil.training.graph.file import DIGEST_FROM, MAGIC, OLD_VERSIONS, VERSION, NetworkFileError, decode, encode, whole
from hil.training.graph.file_checks import MOST_LAYERS
from hil.training.graph.graph import ROUNDINGS, WEIGHTED, AddFactors, Format, Graph, Node, Op, Parameters, named
from hil.training.graph.parameters import Arrays, array_bytes
from hil.training.graph.record import NO_BYTES, RECORD, Header, Record

START = struct.Struct("<IHHIIHHHH")  # of the header of either version
HEADER_SIZE = 32
INPUT_1, INPUT_2 = struct.Struct("<b7s"), struct.Struct("<fbBH")  # the header from offset 24
RECORD_1 = struct.Struct("<BBBBBbH3H3HIII")
RECORD_2 = struct.Struct("<6B3b3B3H3HfIIII3i3b5s")
RECORD_3 = struct.Struct("<BB4BBb2B3H3HHII")
RECORDS = {1: RECORD_1, 2: RECORD_2, 3: RECORD_3}
SINGLE, FLOOR = 1, 2  # bits of the rounding of version 3


def converted(blob: bytes) -> bytes:
    """Return a network file of an old version as the present one.

    Raises:
        RigError: it is no such file, is damaged, or holds a network that the present version refuses.
    """
    version, records = _records(blob)
    new = _from_3(blob, records) if version == 3 else encode(_read(blob, version, records))
    decode(new)
    return new


def _records(blob: bytes) -> tuple[int, list[tuple]]:
    """Return version and records of an old network file that is whole.

    Raises:
        NetworkFileError: it is none, or is damaged.
    """
    if len(blob) < HEADER_SIZE:
        raise _refusal(f"it ends after {len(blob)} bytes, inside its header of {HEADER_SIZE}")
    magic, version, count, total, digest, *_ = START.unpack_from(blob)
    if magic != MAGIC:
        raise NetworkFileError(
            f"the file begins with 0x{magic:08X}, not with HNET: give a network file (docs/network.md)."
        )
    if version not in OLD_VERSIONS:
        cure = "use it as it is" if version == VERSION else "update trainrig"
        raise NetworkFileError(f"the network file is of version {version}, and versions 1 to 3 are converted: {cure}.")
    record = RECORDS[version]
    if len(blob) != total or not 1 <= count <= MOST_LAYERS or total < HEADER_SIZE + count * record.size:
        raise _refusal(f"it has {len(blob)} bytes, and its header says {total} with {count} layers")
    if xxhash.xxh32_intdigest(blob[DIGEST_FROM:]) != digest:
        raise _refusal("its digest is not the one that is written in it")
    records = [record.unpack_from(blob, HEADER_SIZE + index * record.size) for index in range(count)]
    if any(fields[0] not in tuple(Op) for fields in records):
        raise _refusal("it has an operation that is unknown")
    return version, records


def _from_3(blob: bytes, records: Sequence[tuple]) -> bytes:
    """Return a network file of version 3 as version 4: other records, and the same data further behind."""
    *shape, classes = START.unpack_from(blob)[5:]
    scale, zero, rounding, none = INPUT_2.unpack_from(blob, START.size)
    formats = {fields[1] for fields in records}
    has = SINGLE * bool(formats & {Format.TFLITE8, Format.W16A8}) + FLOOR * (Format.AFFINE8 in formats)
    if rounding & ~has or none:
        raise _refusal(f"its header has rounding {rounding} and a last field of {none}")
    further = len(records) * (RECORD.size - RECORD_3.size)
    data = b"".join(_record_of_3(fields, rounding, further).pack() for fields in records)
    data += blob[HEADER_SIZE + len(records) * RECORD_3.size :]
    return whole(Header((shape[0], shape[1], shape[2]), classes, scale, zero), len(records), data)


def _record_of_3(fields: tuple, rounding: int, further: int) -> Record:
    op, format, kernel_h, kernel_w, stride, pad, block, exponent, first, second = fields[:10]
    none, weights_at, parameters_at = fields[16:]
    if none:
        raise _refusal("a record has a field that must be zero and is not")
    bits = {Format.TFLITE8: SINGLE, Format.W16A8: SINGLE, Format.AFFINE8: FLOOR}
    return Record(
        op, format, block, exponent, (kernel_h, kernel_w), (stride, stride), (pad, pad), first, second,
        fields[10:13], fields[13:16], int(bool(rounding & bits.get(format, 0))), NO_BYTES,
        weights_at + further * bool(weights_at), parameters_at + further * bool(parameters_at),
    )  # fmt: skip


def _read(blob: bytes, version: int, records: Sequence[tuple]) -> Graph:
    """Read a network file of version 1 or 2.

    Raises:
        NetworkFileError: it is damaged.
    """
    *in_shape, classes = START.unpack_from(blob)[5:]
    names = named([Op(fields[0]) for fields in records])
    shape = (in_shape[0], in_shape[1], in_shape[2])
    if version == 1:
        nodes = [_bfp8(blob, title, fields) for title, fields in zip(names, records, strict=True)]
        exponent, zeros = INPUT_1.unpack_from(blob, START.size)
        if any(zeros):
            raise _refusal("its header has bytes that must be zero and are not")
        return replace(chain(nodes, classes, exponent), in_shape=shape)
    scale, zero, rounding, none = INPUT_2.unpack_from(blob, START.size)
    words = list(ROUNDINGS[Format.TFLITE8])
    if rounding >= len(words) or none:
        raise _refusal(f"its header has rounding {rounding} and a last field of {none}")
    nodes = [_tflite8(blob, title, fields, words[rounding]) for title, fields in zip(names, records, strict=True)]
    return Graph("network", tuple(nodes), shape, classes, scale, zero)


def _bfp8(blob: bytes, name: str, fields: tuple[int, ...]) -> Node:
    op, kernel_h, kernel_w, stride, pad, exponent, zero, ih, iw, ic, oh, ow, oc, offset, count, last = fields
    has_weights = op in (Op.CONV2D, Op.FULLY_CONNECTED)
    if zero or last or (not has_weights and (exponent or offset or count)):
        raise _refusal(f"{name} has fields that must be zero and are not")
    shape = (oc, kernel_h, kernel_w, ic) if op == Op.CONV2D else (oc, ih * iw * ic)
    own = Parameters(_weights(blob, name, offset, count, shape), exponent=exponent) if has_weights else None
    return Node(
        name, Op(op), (0,), (ih, iw, ic), (oh, ow, oc), (kernel_h, kernel_w), (stride, stride), (pad, pad),
        int(has_weights), own=own, format=Format.BFP8,
    )  # fmt: skip


def _tflite8(blob: bytes, name: str, fields: tuple, rounding: str) -> Node:
    op, kernel_h, kernel_w, stride, pad, block, act_min, act_max, zero, first, second, none = fields[:12]
    in_shape, out_shape, scale = fields[12:15], fields[15:18], fields[18]
    weights_at, count, parameters_at, channels = fields[19:23]
    multipliers, shifts, rest = fields[23:26], fields[26:29], fields[29]
    has_weights, is_add = op in WEIGHTED, op == Op.ADD
    if none or any(rest) or (not is_add and (second or any(multipliers) or any(shifts))):
        raise _refusal(f"{name} has fields that must be zero and are not")
    if not has_weights and (weights_at or count or parameters_at or channels):
        raise _refusal(f"{name} has weights, which its operation does not have")
    own = None
    if has_weights:
        if channels != out_shape[2]:
            raise _refusal(f"{name} has parameters for {channels} channels and {out_shape[2]} outputs")
        shape = {
            Op.FULLY_CONNECTED: (channels, prod(in_shape)),
            Op.DEPTHWISE: (kernel_h, kernel_w, channels),
        }.get(op, (channels, kernel_h, kernel_w, in_shape[2]))
        own = _parameters(blob, name, _weights(blob, name, weights_at, count, shape), parameters_at)
    return Node(
        name, Op(op), (first, second) if is_add else (first,), in_shape, out_shape, (kernel_h, kernel_w),
        (stride, stride), (pad, pad), block, act_min, act_max, scale, zero, own,
        AddFactors(multipliers, shifts) if is_add else None, rounding=rounding,
    )  # fmt: skip


def _weights(blob: bytes, name: str, offset: int, count: int, shape: tuple[int, ...]) -> np.ndarray:
    if count != prod(shape) or not count or offset + count > len(blob):
        raise _refusal(f"{name} has {count} weights at {offset}, which do not fit its shape or the file")
    return np.frombuffer(blob, np.int8, count, offset).copy().reshape(shape)


def _parameters(blob: bytes, name: str, weights: np.ndarray, offset: int) -> Parameters:
    depthwise = weights.ndim == 3
    channels = weights.shape[2] if depthwise else weights.shape[0]
    if offset + array_bytes(channels) > len(blob):
        raise _refusal(f"{name} has parameters that lie beyond the end of the file")
    arrays = Arrays.unpack(blob, offset, channels)
    sums = weights.sum(axis=(0, 1) if depthwise else tuple(range(1, weights.ndim)), dtype=np.int64)
    if (sums != arrays.sums).any():
        raise _refusal(f"{name} has a sum that is not that of its weights")
    return Parameters(weights, arrays.bias, arrays.multiplier, arrays.shift, arrays.scale)


def _refusal(what: str) -> NetworkFileError:
    return NetworkFileError(f"the old network file is damaged, {what}: fetch the file again.")
