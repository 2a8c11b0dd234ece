"""A step of QuZO on w16a8 and tflite8, one weight at a time: docs/arithmetic-quzo.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import xxhash

from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from tests.oracle import graph_layers, w16a8
from tests.oracle.numbers import F32, start, xorshift32
from tests.oracle.qzo_directions import direction

Values = list[int]


@dataclass
class Layer:
    """A layer with weights, flattened in the order of the file.

    Attributes:
        node: the layer.
        weights, bias: of the pass.
        units: s_w of every weight.
        largest: X.
        type: of a weight in the file.
    """

    node: Node
    weights: Values
    bias: Values
    units: list[np.float32]
    largest: int
    type: str

    @classmethod
    def of(cls, node: Node) -> Layer:
        """Return a layer with its first weights."""
        own = node.own
        assert own is not None
        weights, bias, channels = own.weights.ravel().tolist(), own.bias.tolist(), node.out_shape[2]
        if node.format is Format.W16A8:
            return cls(node, weights, bias, [F32(own.scale)] * len(weights), own.largest, "<i2")
        scales = [F32(scale) for scale in own.scale.tolist()]
        if node.op is Op.DEPTHWISE:
            units = [scales[place % channels] for place in range(len(weights))]
        else:
            units = [scales[place // (len(weights) // channels)] for place in range(len(weights))]
        return cls(node, weights, bias, units, 127, "i1")

    def run(self, graph: Graph, x: Values) -> Values:
        """Return the output of the layer."""
        if self.node.format is Format.TFLITE8:
            return graph_layers.run(graph, self.node, [x], graph_layers.Own(self.weights, self.bias))
        own = self.node.own
        assert own is not None
        its = w16a8.Own(self.weights, self.bias, F32(own.scale), own.multiplier, own.shift, own.largest)
        return w16a8.weighted(self.node, its, x, graph.zero_of(self.node.reads[0]))


class PlainQuzo:
    """QuZO on a graph."""

    def __init__(self, graph: Graph, settings: Any) -> None:
        self.graph, self.settings = graph, settings
        self.layers = {index: Layer.of(node) for index, node in enumerate(graph.layers) if node.own is not None}
        self.trained = [self.layers[index] for index in list(self.layers)[-settings.last_layers :]]

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor."""
        arrays = [np.array(layer.weights, layer.type) for layer in self.trained]
        return tuple(xxhash.xxh32_intdigest(array.tobytes()) for array in arrays)

    def parts(self, layer: Layer) -> Values:
        """Return E of every weight (section 2)."""
        found = []
        for unit in layer.units:
            quotient = F32(self.settings.epsilon) / unit
            found.append(min(round(float(quotient * F32(2048))), 2**24))
        return found

    def reaches(self, layer: Layer) -> Values:
        """Return U of every weight (section 2)."""
        return [(92 * e + 65535) // 65536 for e in self.parts(layer)]

    def rest(self) -> None:
        """Bring every weight to -W..W."""
        for layer in self.trained:
            layer.weights = [
                w16a8.clamp(w, reach - layer.largest, layer.largest - reach)
                for w, reach in zip(layer.weights, self.reaches(layer), strict=True)
            ]

    def words(self, t: int, number: int, count: int) -> Values:
        """Return the words of a stream."""
        state, found = start(self.settings, t, number), []
        for _ in range(count):
            state = xorshift32(state)
            found.append(state)
        return found

    def moves(self, t: int, i: int, number: int) -> tuple[Values, Values]:
        """Return u and v of a direction in a trained tensor (section 3)."""
        layer = self.trained[number]
        count = len(layer.weights)
        gaussian = SimpleNamespace(seed=self.settings.seed, distribution="gaussian")
        z = direction(gaussian, t, i, number, count)
        drawn = self.words(t, 0x10000 + 256 * i + number + 1, count)
        products = [e * z_w for e, z_w in zip(self.parts(layer), z, strict=True)]
        u = [(product + word % 65536) // 65536 for product, word in zip(products, drawn, strict=True)]
        v = [(product + word // 65536) // 65536 for product, word in zip(products, drawn, strict=True)]
        return u, v

    def loss(self, known: Sequence[list[Values]], labels: Sequence[int]) -> np.float32:
        """Return the loss of a batch with the weights as they are, from the values that no trained weight changes."""
        total, count = F32(0), len(self.graph.layers)
        for values, label in zip(known, labels, strict=True):
            logits = self._run(values, count)[-1]
            total = total + w16a8.loss(logits, int(label), F32(self.graph.scale_of(count)))
        return total

    def logits(self, image: np.ndarray) -> Values:
        """Return the logits of a uint8 image."""
        return self._run([[int(p) - 128 for p in image.ravel()]], len(self.graph.layers))[-1]

    def _run(self, known: list[Values], end: int) -> list[Values]:
        """Return the values 0..end, of which the first are known."""
        values = list(known)
        for index, node in enumerate(self.graph.layers[:end]):
            if index < len(known) - 1:
                continue
            inputs = [values[read] for read in node.reads]
            if index in self.layers:
                values.append(self.layers[index].run(self.graph, inputs[0]))
            elif node.format is Format.TFLITE8:
                values.append(graph_layers.run(self.graph, node, inputs, None))
            elif node.op is Op.ADD:
                zeros = self.graph.zero_of(node.reads[0]), self.graph.zero_of(node.reads[1])
                values.append(w16a8.added(node, inputs[0], inputs[1], zeros))
            else:
                values.append(w16a8.pooled(node, inputs[0]))
        return values

    def step(self, t: int, images: Sequence[np.ndarray], labels: Sequence[int]) -> tuple[np.float32, np.float32, int]:
        """Train on uint8 images and labels; return loss_plus, loss_minus and the sign (section 4)."""
        self.rest()
        first = list(self.layers)[-len(self.trained)]
        known = [self._run([[int(p) - 128 for p in image.ravel()]], first) for image in images]
        at_rest = [list(layer.weights) for layer in self.trained]
        sums = [[0] * len(weights) for weights in at_rest]
        all_plus, all_minus, signs = F32(0), F32(0), 0
        for i in range(self.settings.directions):
            drawn = [self.moves(t, i, number) for number in range(len(self.trained))]
            plus, minus = (self._side(side, at_rest, drawn, known, labels) for side in (1, -1))
            c = self.factor(plus, minus, len(images))
            for number, (_, v) in enumerate(drawn):
                sums[number] = [a + c * one for a, one in zip(sums[number], v, strict=True)]
            all_plus, all_minus = all_plus + plus, all_minus + minus
            signs += int(plus > minus) - int(plus < minus)
        for number, layer in enumerate(self.trained):
            r = [word // 65536 for word in self.words(t, 0x20000 + number + 1, len(layer.weights))]
            d = [w16a8.clamp((a + one) // 65536, -(2**30), 2**30) for a, one in zip(sums[number], r, strict=True)]
            layer.weights = [w - by for w, by in zip(at_rest[number], d, strict=True)]
        self.rest()
        return all_plus, all_minus, (signs > 0) - (signs < 0)

    def _side(
        self,
        side: int,
        at_rest: list[Values],
        drawn: list[tuple[Values, Values]],
        known: Sequence[list[Values]],
        labels: Sequence[int],
    ) -> np.float32:
        for layer, rest, (u, _) in zip(self.trained, at_rest, drawn, strict=True):
            layer.weights = [w + side * by for w, by in zip(rest, u, strict=True)]
            assert all(abs(w) <= layer.largest for w in layer.weights), "a perturbed weight leaves -X..X"
        return self.loss(known, labels)

    def factor(self, plus: np.float32, minus: np.float32, samples: int) -> int:
        """Return C of a direction (section 4)."""
        epsilon = F32(self.settings.epsilon)
        x = plus - minus
        x = F32(self.settings.eta) * x
        x = x / F32(2 * samples * self.settings.directions)
        x = x / epsilon
        x = x / epsilon
        x = min(max(x, F32(-(2.0**14))), F32(2.0**14))
        return round(float(x * F32(65536)))
