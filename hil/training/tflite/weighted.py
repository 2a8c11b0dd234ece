"""Convolutions and fully connected operators as layers."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from hil.errors import RigError
from hil.training.graph.formats import Op
from hil.training.graph.node import Tflite8Node
from hil.training.tflite.model import Operator
from hil.training.tflite.values import CURE, Value, image_of
from hil.training.tflite.walk import Walk
from hil.training.tflite.weights import Constants, constants_of, layer_weights
from hil.training.tflite.windows import window_of


def convolution(walk: Walk, operator: Operator) -> None:
    """Make a conv2d, or a pointwise layer, of a CONV_2D."""
    value = walk.image(operator, padded=True)
    constants = constants_of(walk.model, operator, axis=0)
    shape, channels = constants.weights.shape, value.shape[2]
    if len(shape) != 4 or shape[3] != channels:
        raise RigError(
            f"{operator} has weights of {list(shape)} for {channels} channels, and groups cannot be run: use a "
            "convolution over all channels, or a depthwise one."
        )
    _windowed(walk, operator, value, constants, Op.CONV2D)


def depthwise(walk: Walk, operator: Operator) -> None:
    """Make a depthwise layer of a DEPTHWISE_CONV_2D, or a conv2d if it reads one channel."""
    value = walk.image(operator, padded=True)
    constants = constants_of(walk.model, operator, axis=3)
    shape, channels = constants.weights.shape, value.shape[2]
    if shape[0] != 1 or shape[3] % channels:
        raise RigError(f"{operator} has weights of {list(shape)} for {channels} channels: {CURE}.")
    if shape[3] != channels and channels != 1:
        times = shape[3] // channels
        raise RigError(f"{operator} makes {times} channels of each of {channels}: use a depth multiplier of 1.")
    _windowed(walk, operator, value, constants, Op.DEPTHWISE if shape[3] == channels else Op.CONV2D)


def _windowed(walk: Walk, operator: Operator, value: Value, constants: Constants, op: Op) -> None:
    out = image_of(walk.out(operator), operator)
    _, height, width, _ = constants.weights.shape
    window = window_of(operator, value, (height, width), out)
    if out[2] != len(constants.bias):
        raise RigError(f"{operator} has {out[2]} channels and weights for {len(constants.bias)}: {CURE}.")
    is_point = op is Op.CONV2D and window.is_point
    node = walk.layer(operator, Op.POINTWISE if is_point else op, (value,), (*window.out, out[2]))
    node = replace(node, kernel=window.kernel, stride=window.stride, pad=window.pad)
    _append(walk, operator, constants, value, node, is_first=operator.name != "CONV_2D" and op is Op.CONV2D)


def fully_connected(walk: Walk, operator: Operator) -> None:
    """Make a fully connected layer, which flattens what it reads."""
    value = walk.read(operator)
    constants = constants_of(walk.model, operator, axis=0)
    shape, size, channels = constants.weights.shape, prod(value.shape), len(constants.bias)
    if operator.options["WeightsFormat"] or len(shape) != 2 or shape[1] != size:
        raise RigError(
            f"{operator} has weights of {list(shape)} for {size:,} values, and must read a whole sample: put a FLATTEN "
            "before it, or use a convolution of 1 x 1."
        )
    if prod(walk.out(operator).shape) != channels:
        raise RigError(f"{operator} does not make {channels} values: {CURE}.")
    node = walk.layer(operator, Op.FULLY_CONNECTED, (value,), (1, 1, channels))
    _append(walk, operator, constants, value, node, is_first=False)


def _append(
    walk: Walk, operator: Operator, constants: Constants, value: Value, node: Tflite8Node, is_first: bool
) -> None:
    own, source = layer_weights(constants, node.op, is_first, (value.scale, node.scale), operator)
    walk.sources[len(walk.nodes)] = source
    walk.append(operator, replace(node, own=own))
