"""What MLPerf Tiny's tasks give for a network in `tflite8`, from the outputs that LiteRT computes.

From docs/measure.md and, where the page leaves a choice, from mlcommons/tiny, benchmark/util/quantization_helpers.h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from hil.training.tflite.importing import Imported, network_of
from hil.training.tflite.read import parse
from tests.unit.tflite_models.witness import run

F32 = np.float32
MOST_PRINTED = 4_294_967.295


class Expected:
    """A model that LiteRT runs with its reference kernels, and the network that the rig makes of it."""

    def __init__(self, model: bytes, name: str = "made") -> None:
        self.model = model
        self.imported: Imported = network_of(parse(model, name), name, "litert")
        self.graph = self.imported.graph

    def outputs(self, sample: np.ndarray) -> np.ndarray:
        """Return the int8 outputs of the last layer with weights for one int8 sample."""
        return run(self.model, sample[None])[0][self.imported.tensors[-1]].reshape(-1)

    def images(self, data: bytes) -> list[float]:
        """Return the probabilities for pixels, in binary64."""
        return self._probabilities((np.frombuffer(data, np.uint8).astype(np.int16) - 128).astype(np.int8))

    def features(self, data: bytes) -> list[float]:
        """Return the probabilities for int8 values, in binary64."""
        return self._probabilities(np.frombuffer(data, np.int8))

    def reconstruction(self, data: bytes) -> np.float32:
        """Return the mean squared error for binary32 inputs, in binary32."""
        x = np.frombuffer(data, "<f4")
        return mean_squared_error(self.outputs(quantized(x, self.graph.scale, self.graph.zero)), self.graph, x)

    def _probabilities(self, sample: np.ndarray) -> list[float]:
        logits = self.outputs(sample)
        terms = [math.exp(self.graph.layers[-1].scale * (int(q) - int(logits.max()))) for q in logits]
        return [term / math.fsum(terms) for term in terms]


def quantized(x: np.ndarray, scale: float, zero: int) -> np.ndarray:
    """Return binary32 inputs as int8: the quotient is rounded to nearest, halves away from zero, then the zero point added."""
    return np.array([_quantized(F32(one), F32(scale), zero) for one in x], np.int8)


def _quantized(x: np.float32, scale: np.float32, zero: int) -> int:
    if np.isnan(x):
        return zero
    with np.errstate(over="ignore"):
        quotient = x / scale
    if np.isinf(quotient):
        return 127 if quotient > 0 else -128
    nearest = math.floor(abs(Fraction(float(quotient))) + Fraction(1, 2))
    return max(-128, min(127, (nearest if quotient > 0 else -nearest) + zero))


def mean_squared_error(outputs: np.ndarray, graph: object, x: np.ndarray) -> np.float32:
    """Return the error in binary32, summed from the first output to the last."""
    last, total = graph.layers[-1], F32(0)
    with np.errstate(over="ignore", invalid="ignore"):
        for q, value in zip(outputs, x, strict=True):
            apart = F32(F32(last.scale) * F32(int(q) - last.zero)) - F32(value)
            total = F32(total + F32(apart * apart))
        return F32(total / F32(len(outputs)))


def printed_as(printed: Sequence[float], error: np.float32) -> bool:
    """Return whether a line of results is this error to three decimals, by a product in binary32 or exactly."""
    (number,) = printed
    if not error <= MOST_PRINTED:
        return number == MOST_PRINTED
    return abs(Fraction(str(number)) - Fraction(float(error))) <= Fraction(1, 2000) + Fraction(float(error)) / 2**24
