"""What an operator reads: a value of the network, as the operators that are folded away made it look."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from hil.errors import RigError
from hil.training.graph.contents import LARGEST_SCALE, SMALLEST_SCALE
from hil.training.graph.formats import Shape
from hil.training.tflite.model import Operator, TfliteTensor

QUANTIZE = "quantize the whole model to int8 (post-training integer quantization)"
CURE = "convert the model again"
LARGEST_SIZE = 65535  # of an axis in a network file
MOST_NUMBERS = 8  # of a constant that has axes or sizes


@dataclass(frozen=True)
class Value:
    """A value of the network in a shape that a RESHAPE gave it.

    Attributes:
        number: 0 is the network's input, v the output of node v - 1.
        shape: height, width, channels.
        scale, zero: of its elements.
        pad: rows above and below, columns left and right, which a PAD put around it.
        ended: whether a SOFTMAX or DEQUANTIZE at the end of the model is behind it.
    """

    number: int
    shape: Shape
    scale: float
    zero: int
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)
    ended: bool = False


def image_of(tensor: TfliteTensor, node: object) -> Shape:
    """Return height, width and channels of one sample; an axis of a series or of features is height or channels.

    Raises:
        RigError: an axis is left open or 0, the batch is not 1, or there are more than three axes besides it.
    """
    axes, shape = list(tensor.shape[1:]), list(tensor.shape)
    if not tensor.fixed or not all(1 <= size <= LARGEST_SIZE for size in axes):
        raise RigError(
            f"{node} has a tensor of shape {shape}, with axes that are left open, empty or too long: convert the model "
            "with a fixed input shape."
        )
    if tensor.shape[:1] != (1,):
        raise RigError(f"{node} has a tensor of shape {shape}, whose batch is not 1: convert it with a batch of 1.")
    if len(axes) > 3:
        raise RigError(f"{node} has a tensor of shape {shape}: only height, width and channels can be run.")
    if len(axes) == 2:
        return axes[0], 1, axes[1]
    return (axes[0], axes[1], axes[2]) if len(axes) == 3 else (1, 1, prod(axes))


def grid_of(tensor: TfliteTensor, node: object) -> tuple[float, int]:
    """Return scale and zero point of an int8 tensor that is computed.

    Raises:
        RigError: it is no int8, or has no such scale.
    """
    if tensor.type != "INT8":
        raise RigError(f"{node} has a tensor of {tensor.type}: {QUANTIZE}.")
    if len(tensor.scale) != 1 or len(tensor.zero) != 1:
        raise RigError(f"{node} has a tensor with {len(tensor.scale)} scales: {QUANTIZE}.")
    scale, zero = float(tensor.scale[0]), int(tensor.zero[0])
    if not (SMALLEST_SCALE <= scale <= LARGEST_SCALE and -128 <= zero <= 127):
        raise RigError(f"{node} has a tensor of scale {scale} and zero point {zero}: convert the model again.")
    return scale, zero


def numbers_of(tensor: TfliteTensor, operator: Operator) -> list[int]:
    """Return the whole numbers of a constant.

    Raises:
        RigError: it is computed, of another type or too long, or its length is not that of its shape.
    """
    kinds = {"INT32": "<i4", "INT64": "<i8"}
    if tensor.data is None or tensor.type not in kinds or prod(tensor.shape) > MOST_NUMBERS:
        raise RigError(f"{operator} computes its sizes, or has too many: convert the model with a fixed input shape.")
    return [int(number) for number in array_of(tensor, kinds[tensor.type], operator).reshape(-1)]


def array_of(tensor: TfliteTensor, kind: str, operator: object) -> np.ndarray:
    """Return a constant of an operator as an array of its shape, read only.

    Raises:
        RigError: its bytes are not as many as its shape says.
    """
    dtype = np.dtype(kind)
    if tensor.data is None or tensor.data.size != prod(tensor.shape) * dtype.itemsize:
        found = 0 if tensor.data is None else tensor.data.size
        raise RigError(
            f"{operator} has a constant of {found:,} bytes for the shape {list(tensor.shape)}: give the whole model."
        )
    return np.frombuffer(tensor.data.tobytes(), dtype).reshape(tensor.shape)
