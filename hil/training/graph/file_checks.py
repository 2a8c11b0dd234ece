"""What a reader of the network file refuses, by the numbers of docs/network.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hil.training.graph.affine8_contents import Affine8Contents
from hil.training.graph.contents import ChainContents, Contents, Tflite8Contents, is_scale
from hil.training.graph.float32_contents import Float32Contents
from hil.training.graph.formats import (
    CHAINS,
    OPS,
    PAIRED,
    ROUNDINGS,
    SPREADING,
    WEIGHTED,
    WINDOWED,
    Format,
    Op,
    Shape,
    is_format,
)
from hil.training.graph.layouts import LAYOUTS
from hil.training.graph.part import NO_BYTES, ended
from hil.training.graph.record import Header, Record
from hil.training.graph.w16a8_contents import W16A8Contents

HEADER_LAYER = 255
MOST_LAYERS, LEAST_CLASSES, MOST_CLASSES = 64, 2, 1024
MOST_CHAIN_LAYERS, MOST_CHAIN_CLASSES = 32, 256
BY_ELEMENT = (Op.RELU, Op.CAST, Op.HARD_SWISH, Op.TABLE)
ONE_PLACE = (Op.FULLY_CONNECTED, Op.MEAN)
KEEP_CHANNELS = (Op.DEPTHWISE, *SPREADING, *BY_ELEMENT)
KEEP_PLACES = (Op.POINTWISE, *BY_ELEMENT)
BLOCKS = 4
CONTENTS: dict[Format, type[Contents]] = {
    Format.TFLITE8: Tflite8Contents,
    Format.FLOAT32: Float32Contents,
    Format.W16A8: W16A8Contents,
    Format.AFFINE8: Affine8Contents,
    **dict.fromkeys(CHAINS, ChainContents),
}
"""The checks of a layer's data by its format; `ChainContents` for those of plugins."""
READ_BY: dict[Format, tuple[Format, ...]] = {
    **{format: (format,) for format in Format},
    Format.AFFINE8: (Format.AFFINE8, Format.TFLITE8),
}
"""The formats of the values that the layers of a format read; a cast reads `affine8`."""

Fault = tuple[int, str]  # number of the check, what is wrong


class Refusal(Exception):
    """A check that failed: the layer (255: the header), the number of the check (0: none), what is wrong."""

    def __init__(self, layer: int, check: int, what: str) -> None:
        super().__init__(what)
        self.layer, self.check, self.what = layer, check, what


def check_header(header: Header, records: Sequence[Record]) -> None:
    """Check the header's own fields.

    Raises:
        Refusal: one is out of range.
    """
    count = len(records)
    if not 1 <= count <= MOST_LAYERS:
        raise Refusal(HEADER_LAYER, 0, f"{count} layers, not 1..{MOST_LAYERS}")
    most = MOST_CHAIN_CLASSES if is_format(records[0].format) and records[0].format in CHAINS else MOST_CLASSES
    if not LEAST_CLASSES <= header.classes <= most:
        raise Refusal(HEADER_LAYER, 0, f"{header.classes} classes, not {LEAST_CLASSES}..{most}")
    if header.none != NO_BYTES:
        raise Refusal(HEADER_LAYER, 7, "a field that must be zero is not")
    if not is_scale(header.scale):
        raise Refusal(HEADER_LAYER, 9, f"the scale of the input is {header.scale}")
    if 0 in header.in_shape:
        raise Refusal(HEADER_LAYER, 10, "a dimension of the input is 0")


def check_layer(index: int, records: Sequence[Record], header: Header, blob: bytes, end: int) -> int:
    """Check one layer, whose forerunners are right, by rising numbers; return where its data end.

    `end` is where the data of the layers before it end.

    Raises:
        Refusal: a check failed.
    """
    for check, what in _faults(index, records, header, blob, end):
        raise Refusal(index, check, what)
    return max(records[index].end, end)


def _faults(index: int, records: Sequence[Record], header: Header, blob: bytes, end: int) -> Iterator[Fault]:
    record, is_last = records[index], index == len(records) - 1
    if record.op not in tuple(Op):
        yield 1, f"op {record.op} is unknown"
    yield from _reads(record, [header.in_shape, *(before.out_shape for before in records[:index])])
    yield from _output(record)
    yield from _window(record)
    yield from _format(record, index, records)
    yield from _places(record, is_last, len(blob), end)
    yield from _zeros(record, records)
    contents = CONTENTS.get(Format(record.format), ChainContents)(blob, index, records, header)
    yield from contents.padding()
    if is_last and (record.op, record.out_shape[2]) != (Op.FULLY_CONNECTED, header.classes):
        yield 8, f"the last layer is not fully connected with {header.classes} outputs"
    yield from contents.scales()
    if 0 in record.in_shape or 0 in record.out_shape:
        yield 10, "a dimension is 0"
    yield from contents.sums()
    yield from contents.weights()
    yield from contents.limits()


def _reads(record: Record, shapes: Sequence[Shape]) -> Iterator[Fault]:
    if record.second and record.op not in PAIRED:
        yield 2, f"it reads value {record.second} too, and is no add or multiply"
    wanted = [record.in_shape]
    if record.op in PAIRED:
        wanted.append(record.in_shape if record.op == Op.ADD else (1, 1, record.in_shape[2]))
    for value, shape in zip((record.first, record.second), wanted, strict=False):
        if value >= len(shapes):
            yield 2, f"value {value} does not exist yet"
        if shapes[value] != shape:
            yield 2, f"it reads {shape}, and value {value} is of shape {shapes[value]}"
    if record.op in PAIRED and record.out_shape != record.in_shape:
        name = Op(record.op).name.lower()
        yield 2, f"output {record.out_shape} of {name} is not its input {record.in_shape}"


def _output(record: Record) -> Iterator[Fault]:
    what = f"output {record.out_shape} does not follow from the operation and input {record.in_shape}"
    if record.op in ONE_PLACE and record.out_shape[:2] != (1, 1):
        yield 3, what
    if record.op in KEEP_CHANNELS and record.out_shape[2] != record.in_shape[2]:
        yield 3, what
    if record.op in KEEP_PLACES and record.out_shape[:2] != record.in_shape[:2]:
        yield 3, what
    if record.op not in WINDOWED:
        return
    for kernel, stride, pad, inside, out in zip(
        record.kernel, record.stride, record.pad, record.in_shape[:2], record.out_shape[:2], strict=True
    ):
        if not pad < kernel:
            yield 3, f"padding {pad} is not below the kernel of {kernel}"
        if not (out - 1) * stride < inside + pad:
            yield 3, what


def _window(record: Record) -> Iterator[Fault]:
    window = (record.kernel, record.stride, record.pad)
    right = min(record.stride) > 0 if record.op in WINDOWED else window == ((0, 0), (0, 0), (0, 0))
    if record.op == Op.POINTWISE:
        right = window == ((1, 1), (1, 1), (0, 0))
    if not right:
        yield 4, f"{_shown(record)} is not a {Op(record.op).name.lower()}"


def _shown(record: Record) -> str:
    kernel, stride, pad = (f"{down} x {across}" for down, across in (record.kernel, record.stride, record.pad))
    return f"kernel {kernel}, stride {stride}, padding {pad}"


def _format(record: Record, index: int, records: Sequence[Record]) -> Iterator[Fault]:
    if not is_format(record.format):
        yield 5, f"format {record.format} is unknown"
    name = Format(record.format).name.lower()
    if record.op not in OPS[Format(record.format)]:
        yield 5, f"{name} has no {Op(record.op).name.lower()}"
    its = (Format.AFFINE8,) if record.op == Op.CAST else READ_BY.get(Format(record.format), (Format(record.format),))
    for value in (record.first, record.second) if record.op in PAIRED else (record.first,):
        found = records[max(value - 1, 0)].format  # the input has the format of the first layer
        if found not in its:
            yield 5, f"its format is {name}, and value {value} has format {found}, which it cannot read"
    if record.format in CHAINS:
        yield from _chain(record, index, records, name)


def _chain(record: Record, index: int, records: Sequence[Record], name: str) -> Iterator[Fault]:
    """Check that a layer is one of a chain."""
    if index >= MOST_CHAIN_LAYERS:
        yield 5, f"{name} has at most {MOST_CHAIN_LAYERS} layers"
    if record.first != index:
        yield 5, f"it reads value {record.first}, and {name} has chains only: value {index}"
    if record.op == Op.RELU and (index == 0 or records[index - 1].op == Op.RELU):
        yield 5, "a relu reads the input or a relu, and so has no buffer to work in"
    pad, _ = record.pad
    places = tuple(zip(record.kernel, record.in_shape[:2], record.out_shape[:2], strict=True))
    if record.op == Op.CONV2D:
        full = all(out == size + 2 * pad - kernel + 1 for kernel, size, out in places)
        if record.stride != (1, 1) or record.pad != (pad, pad) or not full:
            yield 5, f"a conv2d of {_shown(record)} with output {record.out_shape} is none of {name}"
    if record.op == Op.MAX_POOL:
        side, _ = record.kernel
        apart = all(kernel == side and out == size // side for kernel, size, out in places)
        if record.stride != (side, side) or record.pad != (0, 0) or not apart:
            yield 5, f"a max_pool of {_shown(record)} with output {record.out_shape} is none of {name}"


def _places(record: Record, is_last: bool, total: int, end: int) -> Iterator[Fault]:
    weights_at = end if record.op in WEIGHTED else 0
    parameters_at = end + ended(record.weight_bytes) if record.format in LAYOUTS else 0
    if (record.weights_at, record.parameters_at) != (weights_at, parameters_at):
        places = f"weights at {record.weights_at} and parameters at {record.parameters_at}"
        yield 6, f"{places}, not at {weights_at} and {parameters_at}"
    after = max(record.end, end)
    if after > total or (is_last and after != total):
        yield 6, f"its data end at {after}, the file at {total}"


def _zeros(record: Record, records: Sequence[Record]) -> Iterator[Fault]:
    if record.none != NO_BYTES:
        yield 7, "a field that must be zero is not"
    format = Format(record.format)
    if record.rounding not in ROUNDINGS[format].values():
        yield 7, f"{format.name.lower()} has no rounding {record.rounding}"
    of_affine8 = [each.rounding for each in records if each.format == Format.AFFINE8]
    if format is Format.AFFINE8 and record.rounding != of_affine8[0]:
        yield 7, f"its rounding is {record.rounding}, and that of the first layer of affine8 is {of_affine8[0]}"
    if record.op in WEIGHTED and not 1 <= record.block <= BLOCKS:
        yield 7, f"block {record.block} is not 1..{BLOCKS}"
    if record.op not in WEIGHTED and record.block:
        yield 7, f"block {record.block} of a layer without weights"
    has_exponents = record.format in CHAINS and any(CHAINS[Format(record.format)].exponents)
    if record.exponent and not (record.op in WEIGHTED and has_exponents):
        yield 7, "an exponent of weights where there is none"
