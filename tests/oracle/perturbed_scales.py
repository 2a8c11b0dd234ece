"""A step of perturbed scales on tflite8, one gain at a time: docs/arithmetic-quzo.md, sections 7 to 10."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import xxhash

from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from tests.oracle import graph_layers
from tests.oracle.numbers import F32
from tests.oracle.qzo_directions import direction

Values = list[int]
ONE = 2**24


def factors(multiplier: int, shift: int, h: int) -> tuple[int, int]:
    """Return M' and shift' of a channel (section 8)."""
    p = multiplier * h
    k = len(bin(p)) - 2 - 31
    m = (p + 2 ** (k - 1)) // 2**k
    if m == 2**31:
        m, k = 2**30, k + 1
    return m, shift + k - 24


def weighted(graph: Graph, layer: Node, x: Values, gains: Values) -> Values:
    """Return the output of a layer with weights, its channels with gains."""
    own, outputs, zero = layer.own, layer.out_shape[2], graph.zero_of(layer.reads[0])
    assert own is not None
    weights, bias = own.weights.ravel().tolist(), own.bias.tolist()
    known = zip(own.multiplier.tolist(), own.shift.tolist(), gains, strict=True)
    scaling = [factors(*one) for one in known]
    acc = [bias[place % outputs] for place in range(layer.out_size)]
    for o, w, i in graph_layers.taps(layer):
        acc[o] += (x[i] - zero) * weights[w]
    found = []
    for place, a in enumerate(acc):
        value = layer.zero + graph_layers.rescale(a, *scaling[place % outputs], layer.rounding)
        found.append(min(max(value, layer.act_min), layer.act_max))
    return found


def pixels(image: np.ndarray) -> list[Values]:
    """Return the input, the value 0, of a uint8 image."""
    return [[int(p) - 128 for p in image.ravel()]]


class PlainPerturbedScales:
    """Perturbed scales on a graph; `gains` are those of the present pass, by the index of their layer."""

    def __init__(self, graph: Graph, settings: Any) -> None:
        self.graph, self.settings = graph, settings
        channels = {index: node.out_shape[2] for index, node in enumerate(graph.layers) if node.own is not None}
        self.trained = list(channels)[-settings.last_layers :]
        self.gains = {index: [ONE] * channels[index] for index in self.trained}
        self.e = round(float(F32(settings.epsilon)) * 2**19)

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of the gains of every trained layer."""
        held = (b"".join(g.to_bytes(4, "little", signed=True) for g in self.gains[index]) for index in self.trained)
        return tuple(xxhash.xxh32_intdigest(data) for data in held)

    def held(self, gains: Values) -> Values:
        """Return gains in W_min..W_max."""
        low, high = 2**22 + 92 * self.e, 2**26 - 92 * self.e
        return [min(max(g, low), high) for g in gains]

    def values(self, known: list[Values], end: int) -> list[Values]:
        """Return the values 0..end, of which the first are known, with the gains as they are."""
        found = list(known)
        for index, node in list(enumerate(self.graph.layers[:end]))[len(known) - 1 :]:
            inputs = [found[read] for read in node.reads]
            if node.own is None:
                found.append(graph_layers.run(self.graph, node, inputs, None))
            else:
                gains = self.gains.get(index, [ONE] * node.out_shape[2])
                found.append(weighted(self.graph, node, inputs[0], gains))
        return found

    def logits(self, image: np.ndarray) -> Values:
        """Return the logits of a uint8 image."""
        return self.values(pixels(image), len(self.graph.layers))[-1]

    def loss(self, known: Sequence[list[Values]], labels: Sequence[int]) -> np.float32:
        """Return the sum of the losses of samples, from the values that no gain changes, with the gains as they are."""
        total = F32(0)
        for values, label in zip(known, labels, strict=True):
            logits = self.values(values, len(self.graph.layers))[-1]
            total = total + graph_layers.loss(self.graph, logits, int(label))
        return total

    def step(self, t: int, images: Sequence[np.ndarray], labels: Sequence[int]) -> tuple[np.float32, np.float32, int]:
        """Train on uint8 images and labels; return loss_plus, loss_minus and the sign (section 9)."""
        drawn = SimpleNamespace(seed=self.settings.seed, distribution="gaussian")
        rest = {index: self.held(gains) for index, gains in self.gains.items()}
        z = {index: direction(drawn, t, 0, number, len(rest[index])) for number, index in enumerate(self.trained)}
        known = [self.values(pixels(image), self.trained[0]) for image in images]
        sides = []
        for side in (1, -1):
            for index in self.trained:
                self.gains[index] = [g + side * self.e * n for g, n in zip(rest[index], z[index], strict=True)]
                assert all(2**22 <= h <= 2**26 for h in self.gains[index]), "a gain of a pass leaves its limits"
            sides.append(self.loss(known, labels))
        plus, minus = sides
        c = self.factor(plus, minus, len(images))
        for index in self.trained:
            moves = [(c * n + 2**7) // 2**8 for n in z[index]]
            self.gains[index] = self.held([g - d for g, d in zip(rest[index], moves, strict=True)])
        return plus, minus, int(plus > minus) - int(plus < minus)

    def factor(self, plus: np.float32, minus: np.float32, samples: int) -> int:
        """Return C (section 9)."""
        clip = F32(self.settings.clip)
        x = plus - minus
        x = x / F32(2 * samples)
        x = x / F32(self.settings.epsilon)
        if clip > 0:
            x = min(max(x, -clip), clip)
        x = F32(self.settings.eta) * x
        x = min(max(x, F32(-(2.0**14))), F32(2.0**14))
        return round(float(x * F32(2.0**27)))
