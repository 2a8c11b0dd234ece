"""What a reader of the network file refuses, by the numbers of docs/network-tflite.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from hil.network.tflite.layers import POOLS, GraphOp
from hil.network.tflite.record import Arrays, Header, Record, ended, parameter_bytes

HEADER_LAYER = 255
WEIGHTED = (GraphOp.CONV2D, GraphOp.FULLY_CONNECTED, GraphOp.DEPTHWISE, GraphOp.POINTWISE)
WINDOWED = (GraphOp.CONV2D, GraphOp.DEPTHWISE, GraphOp.POINTWISE, *POOLS)
SMALLEST_SCALE, LARGEST_SCALE = 2.0**-40, 2.0**40
MOST_PRODUCTS, MOST_ERROR_PRODUCTS, MOST_POSITIONS = 2**15, 2**17, 2**16
LARGEST_BIAS = 2**30


class Refusal(Exception):
    """A check that failed: the layer (255: the header), the number of the check (0: none), what is wrong."""

    def __init__(self, layer: int, check: int, what: str) -> None:
        super().__init__(what)
        self.layer, self.check, self.what = layer, check, what


def check_header(header: Header, count: int) -> None:
    """Check the header's own fields.

    Raises:
        Refusal: one is out of range.
    """
    if not 1 <= count <= 64:
        raise Refusal(HEADER_LAYER, 0, f"{count} layers, not 1..64")
    if not 2 <= header.classes <= 256:
        raise Refusal(HEADER_LAYER, 0, f"{header.classes} classes, not 2..256")
    if header.rounding > 1:
        raise Refusal(HEADER_LAYER, 0, f"rounding {header.rounding}, not 0 or 1")
    if header.zero:
        raise Refusal(HEADER_LAYER, 7, "a field that must be zero is not")
    if not _is_scale(header.scale):
        raise Refusal(HEADER_LAYER, 9, f"the scale of the input is {header.scale}")
    if 0 in header[:3]:
        raise Refusal(HEADER_LAYER, 10, "a dimension of the input is 0")


def check_layer(index: int, records: Sequence[Record], header: Header, blob: bytes, end: int) -> int:
    """Check one layer, whose forerunners are right, by rising numbers.

    Args:
        index: of the layer.
        records: of all layers.
        header: of the file.
        blob: the file.
        end: where the data of the layers before it end.

    Returns:
        Where its own data end.

    Raises:
        Refusal: a check failed.
    """
    for check, what in _failures(index, records, header, blob, end):
        raise Refusal(index, check, what)
    return _end(records[index], end)


def _failures(
    index: int, records: Sequence[Record], header: Header, blob: bytes, end: int
) -> Iterator[tuple[int, str]]:
    record = records[index]
    if record.op not in tuple(GraphOp):
        yield 1, f"op {record.op} is unknown"
    shapes = [header[:3], *(before.out_shape for before in records[:index])]
    yield from _reads(record, shapes)
    yield from _output(record)
    yield from _kernel(record)
    yield from _counts(record)
    yield from _places(record, index == len(records) - 1, len(blob), end)
    yield from _zeros(record, blob)
    if index == len(records) - 1 and (record.op, record.out_shape[2]) != (GraphOp.FULLY_CONNECTED, header.classes):
        yield 8, f"the last layer is not fully connected with {header.classes} outputs"
    arrays = Arrays.unpack(blob, record.parameters_at, record.channels) if record.channels else None
    if not _is_scale(record.scale) or (arrays is not None and not _is_scale(arrays.scale)):
        yield 9, "a scale is not a normal number in 2^-40..2^40"
    if 0 in record.in_shape or 0 in record.out_shape:
        yield 10, "a dimension is 0"
    yield from _sizes(record, arrays)
    if arrays is not None:
        yield from _weights(record, blob, arrays)
    yield from _limits(record, index, records, header)


def _is_scale(scale: float | np.ndarray) -> bool:
    """Not a number compares false; 2^-40 is far above the subnormal numbers."""
    return bool(np.all((np.asarray(scale) >= SMALLEST_SCALE) & (np.asarray(scale) <= LARGEST_SCALE)))


def _reads(record: Record, shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, str]]:
    is_add = record.op == GraphOp.ADD
    if record.second and not is_add:
        yield 2, f"it reads value {record.second} too, and is no add"
    for value in (record.first, record.second) if is_add else (record.first,):
        if value >= len(shapes):
            yield 2, f"value {value} does not exist yet"
        if record.in_shape != shapes[value]:
            yield 2, f"input {record.in_shape} is not value {value} of shape {shapes[value]}"
    if is_add and record.out_shape != record.in_shape:
        yield 2, f"output {record.out_shape} of an add is not its input {record.in_shape}"


def _output(record: Record) -> Iterator[tuple[int, str]]:
    what = f"output {record.out_shape} does not follow from the operation and input {record.in_shape}"
    if record.op == GraphOp.FULLY_CONNECTED and record.out_shape[:2] != (1, 1):
        yield 3, what
    if record.op in (GraphOp.DEPTHWISE, *POOLS) and record.out_shape[2] != record.in_shape[2]:
        yield 3, what
    if record.op == GraphOp.POINTWISE and record.out_shape[:2] != record.in_shape[:2]:
        yield 3, what
    if record.op not in WINDOWED:
        return
    kernels = (record.kernel_h, record.kernel_w)
    for kernel, inside, out in zip(kernels, record.in_shape[:2], record.out_shape[:2], strict=True):
        last = (out - 1) * record.stride
        if not record.pad < kernel:
            yield 3, f"padding {record.pad} is not below the kernel of {kernel}"
        if not (last < inside + record.pad and last + kernel <= inside + 2 * record.pad + 1):
            yield 3, what


def _kernel(record: Record) -> Iterator[tuple[int, str]]:
    window = (record.kernel_h, record.kernel_w, record.stride, record.pad)
    right = record.stride > 0 if record.op in WINDOWED else window == (0, 0, 0, 0)
    if record.op == GraphOp.POINTWISE:
        right = window == (1, 1, 1, 0)
    if not right:
        kind = GraphOp(record.op).name.lower()
        yield 4, f"kernel {window[0]} x {window[1]}, stride {window[2]}, padding {window[3]} is not a {kind}"


def _counts(record: Record) -> Iterator[tuple[int, str]]:
    channels = record.out_shape[2] if record.op in WEIGHTED else 0
    if record.channels != channels:
        yield 5, f"{record.channels} channels with parameters, not {channels}"
    if record.weights != _taps(record) * channels:
        yield 5, f"{record.weights} weights, not {_taps(record)} x {channels}"


def _taps(record: Record) -> int:
    """Products behind one output."""
    if record.op == GraphOp.FULLY_CONNECTED:
        return prod(record.in_shape)
    return record.kernel_h * record.kernel_w * (1 if record.op == GraphOp.DEPTHWISE else record.in_shape[2])


def _end(record: Record, end: int) -> int:
    return end + ended(record.weights) + parameter_bytes(record.channels) if record.op in WEIGHTED else end


def _places(record: Record, last: bool, total: int, end: int) -> Iterator[tuple[int, str]]:
    right = (end, end + ended(record.weights)) if record.op in WEIGHTED else (0, 0)
    if (record.weights_at, record.parameters_at) != right:
        yield (
            6,
            f"weights at {record.weights_at} and parameters at {record.parameters_at}, not at {right[0]} and {right[1]}",
        )
    after = _end(record, end)
    if after > total or (last and after != total):
        yield 6, f"its data end at {after}, the file at {total}"


def _zeros(record: Record, blob: bytes) -> Iterator[tuple[int, str]]:
    what = "a field that must be zero is not"
    if record.pad_byte or any(record.rest):
        yield 7, what
    if record.op != GraphOp.ADD and any((*record.multipliers, *record.shifts)):
        yield 7, what
    if record.op not in WEIGHTED:
        if record.block:
            yield 7, f"block {record.block} of a layer without weights"
        return
    if not 1 <= record.block <= 4:
        yield 7, f"block {record.block} is not 1..4"
    shifts_end = record.parameters_at + 17 * record.channels
    padding = blob[record.weights_at + record.weights : record.parameters_at] + blob[shifts_end : ended(shifts_end)]
    if any(padding):
        yield 7, "a byte behind its weights or shifts that must be zero is not"


def _sizes(record: Record, arrays: Arrays | None) -> Iterator[tuple[int, str]]:
    height, width, _ = record.out_shape
    if height * width > MOST_POSITIONS:
        yield 11, f"{height * width} output positions are more than 2^16"
    if record.op == GraphOp.ADD and not (_are_factors(record.multipliers) and _within(record.shifts, -31, 0)):
        yield 11, f"factors {record.multipliers} with shifts {record.shifts} are none of an add"
    if arrays is None:
        return
    behind_error = record.weights // (_taps(record) if record.op == GraphOp.FULLY_CONNECTED else record.in_shape[2])
    if _taps(record) > MOST_PRODUCTS or behind_error > MOST_ERROR_PRODUCTS:
        yield 11, f"{_taps(record)} products behind an output, {behind_error} behind an input's error, are too many"
    if not _within(arrays.bias.astype(np.int64), -LARGEST_BIAS, LARGEST_BIAS):
        yield 11, "a bias is beyond 2^30"
    if not (_are_factors(arrays.multiplier) and _within(arrays.shift, -31, 30)):
        yield 11, "a multiplier is outside 2^30..2^31 - 1, or a shift outside -31..30"


def _are_factors(multipliers: Sequence[int] | np.ndarray) -> bool:
    return bool(np.all(np.asarray(multipliers) >= 2**30))


def _within(values: Sequence[int] | np.ndarray, low: int, high: int) -> bool:
    return bool(np.all((np.asarray(values) >= low) & (np.asarray(values) <= high)))


def _weights(record: Record, blob: bytes, arrays: Arrays) -> Iterator[tuple[int, str]]:
    weights = np.frombuffer(blob, np.int8, record.weights, record.weights_at)
    if (weights == -128).any():
        yield 12, "a weight is -128, which no tensor may hold"
    by_channel = weights.reshape(-1, record.channels) if record.op == GraphOp.DEPTHWISE else None
    sums = weights.reshape(record.channels, -1).sum(1, np.int64) if by_channel is None else by_channel.sum(0, np.int64)
    if (sums != arrays.sums).any():
        yield 12, "a sum is not that of the weights"


def _limits(record: Record, index: int, records: Sequence[Record], header: Header) -> Iterator[tuple[int, str]]:
    if record.act_min > record.act_max:
        yield 13, f"the limits {record.act_min} and {record.act_max} of the output leave nothing"
    if record.op in POOLS:
        read = records[record.first - 1] if record.first else None
        scale, zero = (header.scale, header.zero_point) if read is None else (read.scale, read.zero)
        if (record.scale, record.zero) != (scale, zero):
            yield 13, f"a pool of scale {record.scale}, zero {record.zero} reads a value of scale {scale}, zero {zero}"
