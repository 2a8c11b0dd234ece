"""The gradients of the oracle as real numbers, and how close two of them are."""

from __future__ import annotations

import numpy as np

from tests.oracle import affine8
from tests.oracle.affine8_backward import backward
from tests.oracle.affine8_network import Network

Gradient = dict[tuple[int, str], np.ndarray]  # of a layer's `weights` and `bias`, flattened, binary64


def gradient_of(network: Network, image: np.ndarray, label: int) -> Gradient:
    """Return the gradients of one uint8 image, all layers trained."""
    values = affine8.forward(network, image)
    _, d = affine8.loss_and_error(network, values[-1], label)
    found: Gradient = {}
    for index, own in backward(network, values, affine8.logits_error(network, d), 0).own.items():
        exact = network.layers[index].format == "affine8"
        found[index, "weights"] = np.array(own.weights, float) * (float(own.c) if exact else 1)
        found[index, "bias"] = np.array(own.bias, float) * (float(own.c_bias) if exact else 1)
    return found


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Return the cosine of the angle between two tensors that are not zero."""
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def size(a: np.ndarray, b: np.ndarray) -> float:
    """Return the norm of a by that of b."""
    return float(np.linalg.norm(a) / np.linalg.norm(b))


def whole(gradient: Gradient) -> np.ndarray:
    """Return all tensors of a gradient, one after the other."""
    return np.concatenate([gradient[key] for key in sorted(gradient)])
