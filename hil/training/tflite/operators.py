"""What becomes of each operator: a layer, or a change of what later ones read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from hil.errors import RigError
from hil.training.graph.factors import add_factors, mean_factor
from hil.training.graph.formats import Op
from hil.training.graph.node import Table
from hil.training.tflite.model import Operator
from hil.training.tflite.tables import BY_ELEMENT, RELUS, requantizing, table_of
from hil.training.tflite.values import CURE, Value, grid_of, image_of, numbers_of
from hil.training.tflite.walk import Walk
from hil.training.tflite.weighted import convolution, depthwise, fully_connected
from hil.training.tflite.windows import window_of


def _pool(walk: Walk, operator: Operator) -> None:
    value = walk.image(operator)
    kernel = int(operator.options["FilterHeight"]), int(operator.options["FilterWidth"])
    window = window_of(operator, value, kernel, image_of(walk.out(operator), operator))
    op = Op.MAX_POOL if operator.name == "MAX_POOL_2D" else Op.AVERAGE_POOL
    node = walk.layer(operator, op, (value,), (*window.out, value.shape[2]))
    if (node.scale, node.zero) != (value.scale, value.zero):
        raise RigError(f"{operator} gives another scale or zero point than it reads: {CURE}.")
    walk.append(operator, replace(node, kernel=window.kernel, stride=window.stride, pad=window.pad))


def _mean(walk: Walk, operator: Operator) -> None:
    value, rank = walk.image(operator), len(walk.given(operator).shape)
    axes = {axis % rank if rank else axis for axis in numbers_of(walk.given(operator, 1), operator)}
    if rank < 3 or axes != set(range(1, rank - 1)):
        raise RigError(f"{operator} is over the axes {sorted(axes)}: only a mean over the whole image can be run.")
    node = walk.layer(operator, Op.MEAN, (value,), (1, 1, value.shape[2]))
    factor = mean_factor(value.scale, node.scale, value.shape[0] * value.shape[1], f"{CURE}, at {operator}")
    walk.append(operator, replace(node, factors=factor))


def _add(walk: Walk, operator: Operator) -> None:
    first, second = walk.image(operator), walk.image(operator, 1)
    if first.shape != second.shape:
        raise RigError(f"{operator} adds {first.shape} and {second.shape}: give both the same shape.")
    node = walk.layer(operator, Op.ADD, (first, second), first.shape)
    factors = add_factors(first.scale, second.scale, node.scale, f"{CURE}, at {operator}")
    walk.append(operator, replace(node, factors=factors))


def _by_element(walk: Walk, operator: Operator) -> None:
    value, out = walk.image(operator), grid_of(walk.out(operator), operator)
    given = value.scale, value.zero
    if operator.name in RELUS and given == out and walk.limit_last(operator, value):
        return
    node = walk.layer(operator, Op.TABLE, (value,), value.shape)
    walk.append(operator, replace(node, factors=Table.holding(table_of(operator, given, out))))


def _quantize(walk: Walk, operator: Operator) -> None:
    given, out = walk.given(operator), walk.out(operator)
    if given.index == walk.model.inputs[0] and given.type in ("FLOAT32", "UINT8"):
        scale, zero = grid_of(out, operator)
        if given.type == "UINT8" and (list(given.scale), list(given.zero)) != ([scale], [zero + 128]):
            raise RigError(f"{operator} gives the input another scale: convert the model with an int8 input.")
        walk.fold(operator, Value(0, image_of(out, operator), scale, zero))
        return
    if out.type != "INT8":
        _end(walk, operator)
        return
    value, grid = walk.image(operator), grid_of(out, operator)
    if grid == (value.scale, value.zero):
        walk.fold(operator, value)
        return
    table = Table.holding(requantizing((value.scale, value.zero), grid, walk.runtime))
    walk.append(operator, replace(walk.layer(operator, Op.TABLE, (value,), value.shape), factors=table))


def _reshape(walk: Walk, operator: Operator) -> None:
    value, out = walk.values.get(operator.inputs[0]), walk.out(operator)
    if value is not None and value.ended:
        walk.fold(operator, value)
        return
    value = walk.read(operator)
    if prod(out.shape) != prod(value.shape):
        raise RigError(f"{operator} makes {list(out.shape)} of {value.shape}: {CURE}.")
    walk.fold(operator, replace(value, shape=image_of(out, operator)))


def _pad(walk: Walk, operator: Operator) -> None:
    value = walk.image(operator)
    sizes = numbers_of(walk.given(operator, 1), operator)
    if len(sizes) != 8 or any(sizes[:2] + sizes[6:]) or min(sizes) < 0:
        raise RigError(f"{operator} pads by {sizes}: only height and width of an image can be padded.")
    walk.fold(operator, replace(value, pad=(sizes[2], sizes[3], sizes[4], sizes[5])))


def _end(walk: Walk, operator: Operator) -> None:
    """Leave out an operator behind the logits that keeps the order of the classes."""
    value = walk.values.get(operator.inputs[0])
    walk.fold(operator, replace(value if value is not None and value.ended else walk.read(operator), ended=True))


KINDS: dict[str, Callable[[Walk, Operator], None]] = {
    "CONV_2D": convolution,
    "DEPTHWISE_CONV_2D": depthwise,
    "FULLY_CONNECTED": fully_connected,
    "AVERAGE_POOL_2D": _pool,
    "MAX_POOL_2D": _pool,
    "MEAN": _mean,
    "ADD": _add,
    "QUANTIZE": _quantize,
    "PAD": _pad,
    **dict.fromkeys(BY_ELEMENT, _by_element),
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _reshape),
    **dict.fromkeys(("SOFTMAX", "DEQUANTIZE"), _end),
}
"""The operators that can be run."""
