"""The backward pass (docs/arithmetic-float32.md, section 5; docs/arithmetic-affine8.md, section 5).

Many samples at a time: values and errors are float32 [height, width, channels, samples].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from hil.training.graph.formats import GATED, LARGEST_FLOAT, POOLS, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node, Node
from hil.training.reference.floats import F
from hil.training.reference.formats.float32.forward import ONE_SIXTH, Own, by_channel, clamp, places
from hil.training.reference.formats.float32.sums import (
    ordered_products,
    ordered_sum,
    padded,
    spans,
    taps,
    under_tap,
    windows,
)


def errors_of(
    graph: Graph, first: int, values: Sequence[np.ndarray], own: Mapping[int, Own], error: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each layer that an error reaches, from the last one to `first`, with the error of its output.

    It is the whole error, with what all readers of the output give, before the gate.

    Args:
        graph: the network.
        first: the first layer that back-propagation trains.
        values: of a forward pass, n + 1.
        own: weights and biases of that pass, by index of the layer.
        error: of the logits, [classes, B].
    """

    def given(index: int, whole: np.ndarray) -> list[np.ndarray]:
        layer = graph.node(index, Float32Node)
        reads = [values[value] for value in layer.reads]
        return input_errors(layer, gated(layer, whole, values[index + 1]), reads, own.get(index))

    return walk_back(graph, first, error[None, None], given, joined)


def walk_back(
    graph: Graph,
    first: int,
    error: np.ndarray,
    given: Callable[[int, np.ndarray], Sequence[np.ndarray]],
    joined: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield layers and errors as `errors_of`.

    Args:
        graph: the network.
        first: the first layer that back-propagation trains.
        error: of the last layer's output.
        given: returns the errors that a layer gives to what it reads, from its index and the error of its output.
        joined: returns the sum of two errors of one value.
    """
    held = {len(graph.layers): error}
    for index in range(len(graph.layers) - 1, first - 1, -1):
        if index + 1 not in held:
            continue
        whole = held.pop(index + 1)
        yield index, whole
        reads = graph.layers[index].reads
        if max(reads) <= first:
            continue
        for value, its in zip(reads, given(index, whole), strict=True):
            if value > first:
                held[value] = joined(held[value], its) if value in held else its


def joined(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sum of two errors of one value, within the limits of errors."""
    return _limited(one + other)


def gated(layer: Float32Node, error: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return the error of a layer's output where the output lies between its limits, else +0.0."""
    if layer.op not in GATED:
        return error
    return np.where((out > F(layer.act_min)) & (out < F(layer.act_max)), error, F(0))


def input_errors(layer: Node, error: np.ndarray, reads: Sequence[np.ndarray], own: Own | None) -> list[np.ndarray]:
    """Return the error that a layer gives to each value that it reads, [H, W, C, B]; `error` is after the gate."""
    if layer.op is Op.ADD:
        return [error, error]
    if layer.op is Op.MULTIPLY:
        a, b = reads
        of_b = ordered_sum((error * a).reshape(-1, *a.shape[2:]))[None, None]
        return [_limited(error * b + F(0)), _limited(of_b)]
    return [_input_error(layer, error, reads[0], own)]


def _limited(error: np.ndarray) -> np.ndarray:
    return clamp(error, -LARGEST_FLOAT, LARGEST_FLOAT)


def _input_error(layer: Node, error: np.ndarray, x: np.ndarray, own: Own | None) -> np.ndarray:
    if layer.op in POOLS:
        return _through_pool(layer, error, x)
    if layer.op is Op.HARD_SWISH:
        sloping = _limited(error * (((F(2) * x) + F(3)) * ONE_SIXTH) + F(0))
        return np.where(x <= -3, F(0), np.where(x >= 3, error, sloping))
    assert own is not None
    weights = own[0]
    if layer.op is Op.DEPTHWISE:
        total = np.zeros((*spans(layer, layer.in_shape), *x.shape[2:]), F)
        for ky, kx in taps(layer):
            inside = under_tap(layer, total, ky, kx)
            inside += weights[ky, kx][:, None] * error
        found = _unpadded(layer, total)
    elif layer.op is Op.CONV2D:
        found = _through_convolution(layer, error, weights)
    else:  # every position by itself
        found = ordered_products(weights.reshape(layer.channels, -1).T, by_channel(error))
        found = found.reshape(*x.shape) if layer.op is Op.FULLY_CONNECTED else _of_channels(found, layer.in_shape[:2])
    return _limited(found)


def _through_convolution(layer: Node, error: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the sums over taps and output channels, the channels fastest."""
    channels, by_output = layer.in_shape[2], by_channel(error)
    height, width = spans(layer, layer.in_shape)
    total = np.zeros((height, width, channels, error.shape[3]), F)
    for ky, kx in taps(layer):
        inside = under_tap(layer, total, ky, kx)
        sums = ordered_products(np.ascontiguousarray(weights[:, ky, kx].T), by_output, by_channel(inside))
        inside[...] = _of_channels(sums, layer.out_shape[:2])
    return _unpadded(layer, total)


def _of_channels(rows: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Return numbers [C, h * w * B] as [h, w, C, B]."""
    return rows.reshape(len(rows), *places, -1).transpose(1, 2, 0, 3)


def _unpadded(layer: Node, x: np.ndarray) -> np.ndarray:
    (height, width, _), (top, left) = layer.in_shape, layer.pad
    return x[top : top + height, left : left + width]


def _through_pool(layer: Node, error: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the error of a pool's input: to the first maximum of each window, or a share to all of it."""
    total = np.zeros((*spans(layer, layer.in_shape), *x.shape[2:]), F)
    if layer.op is Op.AVERAGE_POOL:
        share = error / F(layer.kernel[0] * layer.kernel[1]) + F(0)  # no window leaves the image
        for ky, kx in taps(layer):
            under_tap(layer, total, ky, kx)[...] = share
        return _unpadded(layer, total)
    found = places(layer, x)
    largest = np.maximum.reduce(found)
    free = np.ones(largest.shape, bool)
    for (ky, kx), place in zip(taps(layer), found, strict=True):
        chosen = free & (place == largest)
        under_tap(layer, total, ky, kx)[...] = np.where(chosen, error, F(0))
        free &= ~chosen
    return _unpadded(layer, total)


def add_gradients(layer: Node, error: np.ndarray, x: np.ndarray, sums: Own) -> None:
    """Add the gradients of weights and biases to their sums, sample after sample.

    Args:
        layer: with weights.
        error: of its output, after the gate.
        x: its input.
        sums: G of the weights and of the biases, which are changed.
    """
    of_weights, of_biases = sums
    for one, bias in zip(weight_gradients(layer, error, x), bias_gradients(error), strict=True):
        of_weights += one.reshape(of_weights.shape)
        of_biases += bias


def bias_gradients(error: np.ndarray) -> np.ndarray:
    """Return the gradients of the biases of each sample, [B, O], of an error after the gate."""
    found: np.ndarray = ordered_sum(error.reshape(-1, *error.shape[2:])).T
    return found


def weight_gradients(layer: Node, error: np.ndarray, x: np.ndarray) -> Iterable[np.ndarray]:
    """Return the gradient of the weights of each sample: [O, K], of a depthwise layer [taps, C]."""
    positions = error.reshape(-1, *error.shape[2:])  # oh * ow, O, B
    if layer.op is Op.FULLY_CONNECTED:
        pairs = zip(positions[0].T, x.reshape(-1, x.shape[3]).T, strict=True)
        return (e[:, None] * its for e, its in pairs)
    seen = windows(layer, padded(layer, x))  # oh, ow, kh, kw, C, B
    return (_depthwise_gradients if layer.op is Op.DEPTHWISE else _convolution_gradients)(positions, seen)


def _convolution_gradients(positions: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the gradient of each sample, [B, O, K], from errors [positions, O, B]."""
    by_sample = seen.transpose(0, 1, 5, 2, 3, 4).reshape(len(positions), positions.shape[2], 1, -1)
    errors = np.ascontiguousarray(positions.transpose(0, 2, 1))[..., None]  # positions, B, O, 1
    total = np.zeros((*errors.shape[1:3], by_sample.shape[3]), F)
    product = np.empty_like(total)
    for e, its in zip(errors, by_sample, strict=True):
        np.multiply(e, its, out=product)
        total += product
    return total


def _depthwise_gradients(positions: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the gradient of each sample, [B, taps, C], from errors [positions, C, B]."""
    by_position = seen.reshape(len(positions), -1, *seen.shape[4:])  # positions, taps, C, B
    return ordered_sum(e * its for e, its in zip(positions, by_position, strict=True)).transpose(2, 0, 1)
