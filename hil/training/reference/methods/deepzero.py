"""DeepZero: one coordinate at a time (docs/arithmetic-zeroth-order.md, section 8)."""

from __future__ import annotations

import numpy as np

from hil.training.graph.formats import Op
from hil.training.methods.prng import words
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.fast import OwnWeights
from hil.training.reference.formats.tflite8.loss import deltas
from hil.training.reference.gradient import Gradient
from hil.training.reference.methods.trained import DELTA_EXPONENT, TrainedLayer
from hil.training.reference.methods.trained_graph import Samples
from hil.training.reference.methods.zeroth_order import ZerothOrder


class DeepZeroReference(ZerothOrder):
    """Coordinate-wise differences. A raised weight changes one output channel: only this one is computed again."""

    def estimate_samples(
        self, some: Samples, own: list[OwnWeights | None], gradients: list[Gradient]
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `TrainedGraph`."""
        values = self.forward.clean(some.images, own)
        clean = self._losses(values[-1][:, :, 0, 0], some.labels)
        losses = []
        for layer, gradient in zip(self.trained, gradients, strict=True):
            active = self.active(some.step, layer)
            its = self._raised(layer, active, values, some.labels, own)
            found = np.zeros(layer.coordinates, np.int64)
            found[active] = deltas(its - clean[0, 0])
            gradient.add(found, DELTA_EXPONENT)
            losses.append(its)
        return clean[:, 0], np.concatenate(losses)

    def active(self, step: int, layer: TrainedLayer) -> np.ndarray:
        """Return the coordinates that are tried, rising; the same for all samples of a step."""
        first = np.zeros(1, np.uint32)
        state = int(self._streams(step, first, layer, first)[0, 0])
        return np.flatnonzero(words(state, layer.coordinates) >> np.uint32(24) >= self.settings.sparsity)

    def _raised(
        self,
        layer: TrainedLayer,
        active: np.ndarray,
        values: list[np.ndarray],
        labels: np.ndarray,
        own: list[OwnWeights | None],
    ) -> np.ndarray:
        """Return the losses with each of these coordinates raised, float32 [coordinates], of one sample."""
        fast = layer.fast
        acc = fast.sums(values[layer.layer.reads[0]], layer.own()).reshape(-1, layer.layer.channels)
        seen = _by_weight(layer, values[layer.layer.reads[0]])
        rows, losses = self.forward.rows(layer.index, 1), [np.zeros(0, F)]
        held = dict(enumerate(values))
        for first in range(0, len(active), rows):
            channels, change = _changes(layer, active[first : first + rows], seen)
            out = np.repeat(values[layer.index + 1], len(channels), axis=1)
            changed = fast.scaled(acc[:, channels] + change, channels)
            out.reshape(len(channels), -1, layer.layer.channels)[np.arange(len(channels)), :, channels] = changed.T
            held[layer.index + 1] = out
            logits = self.forward.logits(layer.index + 1, held, own)
            losses.append(self._losses(logits, labels, len(channels))[0])
        return np.concatenate(losses)

    def _group_size(self) -> int:
        return 1

    def _factor(self, layer: TrainedLayer, samples: int) -> np.float32:
        return F(F(self.settings.eta) / F(samples))


def _by_weight(layer: TrainedLayer, x: np.ndarray) -> np.ndarray:
    """Return what each weight of a channel multiplies, [positions, K]; depthwise: [positions, kh * kw * C]."""
    if layer.layer.op is Op.DEPTHWISE:
        places = layer.fast.places(x, 0)
        return np.stack([place[0, 0] for place in places], axis=2).reshape(-1, layer.layer.weight_count)
    of_sample: np.ndarray = layer.fast.patches(x)[0, 0]
    return of_sample


def _changes(layer: TrainedLayer, chosen: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each coordinate's output channel, and what raising it adds to its sums, [positions, coordinates]."""
    weights = layer.layer.weight_count if layer.trains_weights else 0
    of_bias = chosen >= weights
    if layer.layer.op is Op.DEPTHWISE:
        channels, columns = chosen % layer.layer.channels, chosen
    else:
        channels, columns = chosen // layer.layer.taps, chosen % layer.layer.taps
    channels = np.where(of_bias, chosen - weights, channels)
    change = seen[:, np.where(of_bias, 0, columns)]
    return channels, np.where(of_bias, np.exp2(layer.bias_steps[channels]), change).astype(seen.dtype)
