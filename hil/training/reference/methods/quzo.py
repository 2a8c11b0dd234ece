"""QuZO: zeroth order with stochastic rounding on quantized weights (docs/arithmetic-quzo.md)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.methods.prng import start_state, words
from hil.training.methods.quzo_settings import QuzoSettings
from hil.training.methods.quzo_tensors import PARTS, QuzoTensor, trained_tensors
from hil.training.reference.floats import F
from hil.training.reference.formats.int8_network import Int8Network
from hil.training.reference.formats.tflite8.loss import summed
from hil.training.reference.methods import StepOutcome
from hil.training.reference.methods.directions import STREAMS_A_DIRECTION, direction, direction_pool
from hil.training.reference.methods.two_sided import TwoSidedReference

ROUNDINGS, MOVES = 0x10000, 0x20000  # streams of a and b, and of r
LOW = np.uint32((1 << PARTS) - 1)
LARGEST_X = 2.0**14
LARGEST_STEP = 2**30


class QuzoWeights:
    """The weights of a trained layer; `values` are those of the present pass, int32 in the shape of the file.

    Args:
        known: what the text says of them.
        number: among the trained tensors, from 0.
        weights: the first ones, which are copied.
    """

    def __init__(self, known: QuzoTensor, number: int, weights: np.ndarray) -> None:
        self.known, self.number, self._dtype = known, number, weights.dtype
        self.values = weights.astype(np.int32)

    @property
    def stored(self) -> np.ndarray:
        """The values as they lie in the network file."""
        return self.values.astype(self._dtype)

    def clip(self) -> None:
        """Bring the values to where they may rest."""
        self.values = self._held(self.values)

    def roundings(self, pool: np.ndarray, settings: QuzoSettings, step: int, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return u and v of a direction, int32 in the shape of the values: what the passes move by, and the update.

        Args:
            pool: the step's.
            settings: with the seed.
            step: index of the step.
            i: the direction, from 0.
        """
        size, shape = self.values.size, self.values.shape
        z = direction(pool, settings.seed, step, i, self.number, size).reshape(shape)
        drawn = self._drawn(settings.seed, step, ROUNDINGS + STREAMS_A_DIRECTION * i)
        exact = self.known.parts * z
        u, v = ((exact + part) >> PARTS for part in (drawn & LOW, drawn >> np.uint32(PARTS)))
        return u.astype(np.int32), v.astype(np.int32)

    def lower(self, total: np.ndarray, seed: int, step: int) -> None:
        """Lower the values by A, int64 in their shape, in 2^-16 of a step."""
        r = self._drawn(seed, step, MOVES) >> np.uint32(PARTS)
        by = np.clip((total + r) >> PARTS, -LARGEST_STEP, LARGEST_STEP)
        self.values = self._held(self.values - by)

    def _drawn(self, seed: int, step: int, stream: int) -> np.ndarray:
        """Return one word for every weight, uint32 in the shape of the values."""
        drawn = words(start_state(seed, step, stream + self.number + 1), self.values.size)
        return drawn.reshape(self.values.shape)

    def _held(self, values: np.ndarray) -> np.ndarray:
        held: np.ndarray = np.clip(values, -self.known.limit, self.known.limit).astype(np.int32)
        return held


class QuzoReference(TwoSidedReference):
    """The method, with its weights and its step counter.

    Args:
        network: the graph and the initial weights, which are copied.
        settings: docs/arithmetic-quzo.md, section 5.
    """

    settings: QuzoSettings
    _tensors: list[QuzoWeights]

    def __init__(self, network: Graph, settings: QuzoSettings) -> None:
        self.graph = network
        trained = enumerate(trained_tensors(network, settings))
        self._tensors = [QuzoWeights(known, number, network.own[known.layer].weights) for number, known in trained]
        parts = [(tensor.known.layer, False) for tensor in self._tensors]
        self._network = Int8Network(network, parts, self._tensors)
        self.arithmetic = self._network.arithmetic
        self.configure(settings, 0)

    def configure(self, settings: QuzoSettings, first_step: int) -> None:
        """As `MethodReference`."""
        super().configure(settings, first_step)
        for tensor, known in zip(self._tensors, trained_tensors(self.graph, settings), strict=True):
            tensor.known = known

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] or [B, H, W, C] and labels [B]."""
        step, self._next_step = self._next_step, self._next_step + 1
        self._rest()
        prefix, pool = self._network.prefix(images), direction_pool("gaussian", self.settings.seed, step)
        totals = [np.zeros(tensor.values.shape, np.int64) for tensor in self._tensors]
        pairs: list[tuple[np.float32, np.float32]] = []
        for i in range(self.settings.directions):
            drawn = self._roundings(pool, step, i)
            moved = self._moved([u for u, _ in drawn])
            plus, minus = [summed(self._network.losses(prefix, labels), F(0)) for _ in moved]
            c = factor(self.settings, plus, minus, len(images))
            for total, (_, v) in zip(totals, drawn, strict=True):
                total += c * v.astype(np.int64)
            pairs.append((plus, minus))
        for tensor, total in zip(self._tensors, totals, strict=True):
            tensor.lower(total, self.settings.seed, step)
        sign = int(np.sign(sum(int(plus > minus) - int(plus < minus) for plus, minus in pairs)))
        all_plus, all_minus = (float(summed(np.array(losses, F), F(0))) for losses in zip(*pairs, strict=True))
        return StepOutcome(step, all_plus, all_minus, all_plus, all_minus, sign, self.digests())

    def _moves(self, step: int) -> Iterator[list[np.ndarray]]:
        """Yield u of every tensor for each direction of a step."""
        pool = direction_pool("gaussian", self.settings.seed, step)
        for i in range(self.settings.directions):
            yield [u for u, _ in self._roundings(pool, step, i)]

    def _roundings(self, pool: np.ndarray, step: int, i: int) -> list[tuple[np.ndarray, np.ndarray]]:
        return [tensor.roundings(pool, self.settings, step, i) for tensor in self._tensors]


def factor(settings: QuzoSettings, plus: np.float32, minus: np.float32, samples: int) -> int:
    """Return C of a direction: its losses' difference in steps of the update, in 2^-16.

    Args:
        settings: with eta, epsilon and the number of directions.
        plus, minus: L_plus and L_minus, binary32.
        samples: of the step.
    """
    epsilon = F(settings.epsilon)
    with np.errstate(over="ignore", under="ignore"):
        x = F(settings.eta) * (plus - minus)
        x = x / F(2 * samples * settings.directions)
        x = x / epsilon / epsilon
    return int(np.rint(min(max(float(x), -LARGEST_X), LARGEST_X) * 2.0**PARTS))
