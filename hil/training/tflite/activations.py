"""Activations that are fused into an operator, as limits of its output."""

from __future__ import annotations

import numpy as np

from hil.errors import RigError
from hil.training.graph.factors import nearest
from hil.training.tflite.model import ACTIVATIONS, Operator


def activation_of(operator: Operator) -> str:
    """Return the name of the activation that is fused into an operator."""
    number = int(operator.options.get("FusedActivationFunction", 0))
    return ACTIVATIONS[number] if 0 <= number < len(ACTIVATIONS) else str(number)


def limits(operator: Operator, scale: float, zero: int, activation: str) -> tuple[int, int]:
    """Return act_min and act_max of an activation, as TFLite makes them in binary32.

    Raises:
        RigError: an activation that is none of ReLU's.
    """

    def at(real: float) -> int:
        return zero + nearest(float(np.float32(real) / np.float32(scale)))

    bounds = {"NONE": (-128, 127), "RELU": (zero, 127), "RELU6": (zero, at(6)), "RELU_N1_TO_1": (at(-1), at(1))}
    if activation not in bounds:
        raise RigError(f"{operator} has the activation {activation}: use ReLU or ReLU6.")
    low, high = bounds[activation]
    return max(-128, low), min(127, high)
