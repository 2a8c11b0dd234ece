"""Weights and biases of an operator as those of a layer, and back again (docs/tflite.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hil.errors import RigError
from hil.training.graph.contents import LARGEST_BIAS, LARGEST_SCALE, SMALLEST_SCALE
from hil.training.graph.factors import LARGEST_SHIFT, SMALLEST_SHIFT, multiplier_of
from hil.training.graph.formats import Op
from hil.training.graph.node import Tflite8Parameters
from hil.training.tflite.model import ABSENT, Model, Operator, TfliteTensor
from hil.training.tflite.values import CURE, QUANTIZE, array_of

FIRST_LAYER = (3, 1, 2, 0)  # a depthwise layer of one channel is a convolution


@dataclass(frozen=True)
class WeightSource:
    """Where weights and biases of a layer come from.

    Attributes:
        weights, bias: indexes of tensors in the model; `ABSENT` where it has no biases.
        is_first: whether a depthwise operator of one channel became a conv2d.
        dead: channels whose factor is so small that the runtime makes it 0; weights and biases are 0 here.
        halved: channels with a bias beyond 2^30; bias and weights are half as large here, at twice the scale.
    """

    weights: int
    bias: int
    is_first: bool = False
    dead: tuple[int, ...] = ()
    halved: tuple[int, ...] = ()

    def axes(self, op: Op) -> tuple[int, ...] | None:
        """Return the axes of the tensor in the order of the layer's weights; None where they are the same."""
        if self.is_first:
            return FIRST_LAYER
        return None


@dataclass(frozen=True, eq=False)
class Constants:
    """Weights and biases of an operator as the model has them.

    Attributes:
        weights: int8, in the shape of the tensor.
        bias: int64 [channels], zeros where there are none.
        scale: float32 [channels], or one for all of them.
        source: indexes of the tensors.
    """

    weights: np.ndarray
    bias: np.ndarray
    scale: np.ndarray
    source: WeightSource


def constants_of(model: Model, operator: Operator, axis: int) -> Constants:
    """Read weights and biases of an operator, whose output channels are on an axis of the weights.

    Raises:
        RigError: they are not int8 with scales by channel or for all, or not as many as their shapes say.
    """
    if len(operator.inputs) < 2 or operator.inputs[1] == ABSENT:
        raise RigError(f"{operator} has no weights: {CURE}.")
    tensor = model.tensors[operator.inputs[1]]
    if tensor.type != "INT8" or tensor.data is None:
        what = tensor.type if tensor.data is not None else f"{tensor.type} that are computed"
        raise RigError(f"{operator} has weights of {what}: {QUANTIZE}.")
    weights = array_of(tensor, "i1", operator)
    channels = weights.shape[axis] if weights.ndim > axis else 0
    scale = _scales(tensor, channels, axis, operator)
    if (weights == -128).any():
        count = int((weights == -128).sum())
        raise RigError(f"{operator} has {count:,} weights of -128: convert the model with weights in -127..127.")
    index = operator.inputs[2] if len(operator.inputs) > 2 else ABSENT
    return Constants(weights, _biases(model, index, channels, operator), scale, WeightSource(tensor.index, index))


def _scales(tensor: TfliteTensor, channels: int, axis: int, operator: Operator) -> np.ndarray:
    count = len(tensor.scale)
    by_channel = count == channels and tensor.axis == axis
    if not (channels and (count == 1 or by_channel) and len(tensor.zero) == count):
        raise RigError(f"{operator} has {count} scales for the {channels} channels of its weights: {CURE}.")
    scale = np.asarray(tensor.scale, np.float32)
    if not ((scale >= 0) & (scale <= LARGEST_SCALE)).all() or np.asarray(tensor.zero).any():
        raise RigError(f"{operator} has weights with a scale that is no number, or a zero point other than 0: {CURE}.")
    return scale


def _biases(model: Model, index: int, channels: int, operator: Operator) -> np.ndarray:
    if index == ABSENT:
        return np.zeros(channels, np.int64)
    tensor = model.tensors[index]
    if tensor.type != "INT32" or tensor.shape != (channels,):
        raise RigError(f"{operator} has biases of {tensor.type}{list(tensor.shape)}, not INT32[{channels}]: {CURE}.")
    return array_of(tensor, "<i4", operator).astype(np.int64)


def layer_weights(
    constants: Constants, op: Op, is_first: bool, scales: tuple[float, float], operator: Operator
) -> tuple[Tflite8Parameters, WeightSource]:
    """Return weights, biases and factors of a layer.

    Args:
        constants: as the model has them.
        op: of the layer.
        is_first: whether a depthwise operator of one channel becomes a conv2d.
        scales: of the input and of the output.
        operator: whose they are. As in TFLite, the product of the scales of input and weights is rounded to binary32 if
            it is fully connected with one scale.

    Raises:
        RigError: a factor is too large.
    """
    given, out = scales
    channels = len(constants.bias)
    scale = np.broadcast_to(constants.scale, channels).astype(np.float64)
    product = given * scale
    if operator.name == "FULLY_CONNECTED" and len(constants.scale) == 1:
        product = (np.float32(given) * np.broadcast_to(constants.scale, channels)).astype(np.float64)
    factors = product / out
    dead = tuple(index for index, one in enumerate(factors) if one == 0 or math.frexp(one)[1] < SMALLEST_SHIFT)
    large = np.abs(constants.bias) > LARGEST_BIAS
    halved = tuple(int(index) for index in np.flatnonzero(large) if index not in dead)
    source = WeightSource(constants.source.weights, constants.source.bias, is_first, dead, halved)
    axes = source.axes(op)
    weights = constants.weights if axes is None else constants.weights.transpose(axes)
    weights = weights[0] if op is Op.DEPTHWISE else weights
    by_channel = np.moveaxis(weights.astype(np.int64), -1 if op is Op.DEPTHWISE else 0, 0).copy()
    bias = constants.bias.copy()
    pairs = [_pair(float(one), index in dead, operator) for index, one in enumerate(factors)]
    for index in dead:
        by_channel[index], bias[index] = 0, 0
        scale[index] = 2.0**-32 * out / given
    for index in halved:
        by_channel[index], bias[index] = _half(by_channel[index]), _half(bias[index])
        scale[index] *= 2
        pairs[index] = pairs[index][0], pairs[index][1] + 1
    if any(shift > LARGEST_SHIFT for _, shift in pairs):
        raise RigError(f"{operator} has a factor of {factors.max()}: {CURE}.")
    return Tflite8Parameters(
        np.ascontiguousarray(np.moveaxis(by_channel, 0, -1 if op is Op.DEPTHWISE else 0)).astype(np.int8),
        bias.astype(np.int32),
        np.array([multiplier for multiplier, _ in pairs], np.int32),
        np.array([shift for _, shift in pairs], np.int8),
        np.maximum(scale, SMALLEST_SCALE).astype(np.float32),
    ), source


def _pair(factor: float, is_dead: bool, operator: Operator) -> tuple[int, int]:
    return (2**30, SMALLEST_SHIFT) if is_dead else multiplier_of(factor, f"{CURE}, at {operator}")


def _half(values: np.ndarray) -> np.ndarray:
    """Return halves, halves of odd numbers away from zero."""
    found: np.ndarray = np.sign(values) * ((np.abs(values) + 1) // 2)
    return found


def tensors_of(
    op: Op,
    source: WeightSource,
    first: Tflite8Parameters,
    trained: Tflite8Parameters,
    weights: np.ndarray,
    bias: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return weights and biases of the model with what training changed in a layer.

    Args:
        op, source: of the layer.
        first: of the layer as it was imported.
        trained: after training.
        weights: int8, of the model, in the shape of the tensor.
        bias: int32 [channels], of the model; None where it has none.

    Raises:
        RigError: biases were trained that the model does not have.
    """
    found, biases = weights.copy(), np.zeros(len(first.bias), np.int32) if bias is None else bias.copy()
    view = found if (axes := source.axes(op)) is None else found.transpose(axes)
    view = view[0] if op is Op.DEPTHWISE else view
    layers = view, first.weights.reshape(view.shape), trained.weights.reshape(view.shape)
    view, before, after = (np.moveaxis(each, -1 if op is Op.DEPTHWISE else 0, 0) for each in layers)
    for index in range(len(biases)):
        if index in source.dead:  # 0 in every runtime, whatever its weights are
            continue
        times = 2 if index in source.halved else 1
        moved = before[index] != after[index]
        view[index][moved] = np.clip(after[index][moved].astype(np.int64) * times, -127, 127)
        if first.bias[index] != trained.bias[index]:
            biases[index] = np.clip(int(trained.bias[index]) * times, -(2**31), 2**31 - 1)
    if bias is None and biases.any():
        raise RigError("it has no biases in the model, and training gave it some")
    return found, None if bias is None else biases
