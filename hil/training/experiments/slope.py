"""The gradient of a quantized network in double precision, and its cosine with an estimate (PMT, figures 4, 5 and 8).

Back-propagation with the straight-through estimator at every rounding: the values are those of the integer forward
pass, and an output at a limit of its activation propagates no error. The unit is one integer step, so the gradient
is the mean of a zeroth-order estimate for the same weights, except for roundings and the width of a perturbation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.errors import RigError
from hil.training.graph.formats import POOLS, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import MeanFactor, Node, Tflite8Node, Tflite8Parameters
from hil.training.methods.graph_plan import GraphPlan
from hil.training.reference.methods.zeroth_order import ZerothOrder


def cosines(learner: object, step: int, images: np.ndarray, labels: np.ndarray) -> list[float]:
    """Return the cosine of estimate and gradient for the weights of each trained layer; 0 if one is all zeros.

    The learner is a zeroth-order method that trains weights; nothing is updated.
    """
    assert isinstance(learner, ZerothOrder)
    found = learner.estimate(step, images, labels).gradients
    graph = GraphPlan(learner.graph, learner.settings).with_arrays(learner.weights)
    values = [value[:, 0].astype(np.float64) for value in learner.forward.clean(images, learner.own_now())]
    slope = slopes(graph, values, labels)
    alike = []
    for layer, gradient in zip(learner.trained, found, strict=True):
        estimate = gradient.total[: layer.weights.size].reshape(layer.weights.shape).astype(np.float64)
        if layer.by_nodes:
            factors = _factors(layer.parameters)  # [O]; the channels are the last axis of depthwise weights
            of_rows = factors.reshape(-1, *[1] * (estimate.ndim - 1))
            estimate = estimate * (factors if layer.layer.op is Op.DEPTHWISE else of_rows)
        alike.append(cosine(estimate, slope[layer.index]))
    return alike


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    """Return the cosine of the angle between two arrays of equal shape; 0 if one is all zeros."""
    lengths = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return float((one * other).sum()) / lengths if lengths else 0.0


def slopes(graph: Graph, values: Sequence[np.ndarray], labels: np.ndarray) -> dict[int, np.ndarray]:
    """Return the derivative of the mean cross-entropy by the weights of each layer, by index of the layer.

    Args:
        graph: with the weights for which the slope is calculated.
        values: of a forward pass, minus their zero points, float64 [N, H, W, C], the input first.
        labels: integers [N].
    """
    count = len(labels)
    scores = values[-1].reshape(count, -1) * graph.scale_of(len(graph.layers))
    errors = np.exp(scores - scores.max(axis=1, keepdims=True))
    errors /= errors.sum(axis=1, keepdims=True)
    errors[np.arange(count), labels] -= 1
    at = {len(graph.layers): errors.reshape(values[-1].shape) * graph.scale_of(len(graph.layers)) / count}
    found: dict[int, np.ndarray] = {}
    for index in reversed(range(len(graph.layers))):
        layer, out = graph.node(index, Tflite8Node), values[index + 1]
        error = at.pop(index + 1)
        if layer.op not in POOLS:
            error = error * ((out > layer.act_min - layer.zero) & (out < layer.act_max - layer.zero))
        inputs = [values[value] for value in layer.reads]
        if layer.own is not None:
            weights = layer.own.weights.astype(np.float64)
            found[index], handed = _through_weights(layer, weights, inputs[0], error * _factors(layer.own))
            passed = [handed]
        elif layer.op is Op.ADD:
            passed = [error * graph.scale_of(value) / layer.scale for value in layer.reads]
        elif isinstance(layer.factors, MeanFactor):
            passed = [np.broadcast_to(error * _factors(layer.factors), inputs[0].shape)]
        elif layer.op is Op.TABLE:
            raise RigError(f"layer {layer.name} is a table, which has no slope: use a network without one.")
        else:
            passed = [_through_pool(layer, inputs[0], out, error)]
        for value, part in zip(layer.reads, passed, strict=True):
            at[value] = at[value] + part if value in at else part
    return found


def _factors(rescaling: Tflite8Parameters | MeanFactor) -> np.ndarray:
    """Return the change of an output for one step of its sum, [O]; of a mean a number."""
    factor: np.ndarray = np.asarray(rescaling.multiplier, np.float64)
    return np.ldexp(factor, np.asarray(rescaling.shift, np.int32) - 31)


def _through_weights(
    layer: Node, weights: np.ndarray, x: np.ndarray, error: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives by the weights and by the input, from that by the sums [N, oh, ow, O]."""
    if layer.op is Op.FULLY_CONNECTED:
        flat, sums = x.reshape(len(x), -1), error.reshape(len(x), -1)
        return sums.T @ flat, (sums @ weights).reshape(x.shape)
    own, padded = np.zeros_like(weights), _padded(layer, x, 0.0)
    handed = np.zeros_like(padded)
    for ky, kx, window in _windows(layer):
        seen = padded[window]
        if layer.op is Op.DEPTHWISE:
            own[ky, kx] = (seen * error).sum(axis=(0, 1, 2))
            handed[window] += error * weights[ky, kx]
        else:
            own[:, ky, kx] = error.reshape(-1, error.shape[-1]).T @ seen.reshape(-1, seen.shape[-1])
            handed[window] += error @ weights[:, ky, kx]
    return own, _inside(layer, handed, x)


def _through_pool(layer: Node, x: np.ndarray, out: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Propagate an error to the first of the largest inputs, or in equal parts to all."""
    padded = _padded(layer, x, -np.inf)
    handed = np.zeros_like(padded)
    counts = sum(np.isfinite(padded[window]).astype(np.float64) for _, _, window in _windows(layer))
    left = error.copy()
    for _, _, window in _windows(layer):
        seen = padded[window]
        if layer.op is Op.AVERAGE_POOL:
            handed[window] += np.where(np.isfinite(seen), error / counts, 0)
        else:
            taken = np.where(seen == out, left, 0)
            handed[window] += taken
            left -= taken
    return _inside(layer, handed, x)


def _windows(layer: Node) -> list[tuple[int, int, tuple[slice, ...]]]:
    """Return for each tap its position and its slices of the padded input."""
    (kh, kw), (down, across), (height, width, _) = layer.kernel, layer.stride, layer.out_shape
    rows = [slice(ky, ky + (height - 1) * down + 1, down) for ky in range(kh)]
    columns = [slice(kx, kx + (width - 1) * across + 1, across) for kx in range(kw)]
    return [(ky, kx, (slice(None), row, column)) for ky, row in enumerate(rows) for kx, column in enumerate(columns)]


def _padded(layer: Node, x: np.ndarray, outside: float) -> np.ndarray:
    axes = zip(layer.kernel, layer.stride, layer.pad, strict=True)
    more = [(pad, pad + kernel + stride) for kernel, stride, pad in axes]
    return np.pad(x, ((0, 0), *more, (0, 0)), constant_values=outside)


def _inside(layer: Node, handed: np.ndarray, x: np.ndarray) -> np.ndarray:
    top, left = layer.pad
    return handed[:, top : top + x.shape[1], left : left + x.shape[2]]
