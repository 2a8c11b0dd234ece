"""One step of the zeroth-order methods on graphs in loops over plain integers.

They follow docs/arithmetic-zeroth-order.md.

Weights are perturbed in place and put back, as on a board; nothing but the text is shared with the fast form.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from tests.oracle.graph_layers import Own, Values, clamp, gradient, half_away, loss, run
from tests.oracle.layers import accumulated
from tests.oracle.numbers import F32, Tensor, bits, round_shift, start, xorshift32

Noise = dict[int, list[int]]  # of the layers, by index


class PlainGraphMethod:
    """Poor Man's Training, its baselines and DeepZero. `own` holds weights and biases of every layer.

    `runs` and `macs` are the work of the last step.
    """

    def __init__(self, graph: Graph, settings: GraphSettings) -> None:
        self.graph, self.settings, self.runs, self.macs = graph, settings, 0, 0
        self.own = Own.of(graph)
        self.trained = settings.trained(graph)

    def step(self, step: int, images: Sequence[np.ndarray], labels: Sequence[int]) -> tuple[np.float32, np.float32]:
        """Train on uint8 images and labels; return the sums of the clean losses and of all others."""
        self.runs = self.macs = 0
        for index in self.trained:
            self._rest(index)
        totals: dict[int, Tensor | None] = dict.fromkeys(self.trained)
        plus, minus = F32(0), F32(0)
        for n, (image, label) in enumerate(zip(images, labels, strict=True)):
            values = self._clean(image)
            clean = loss(self.graph, values[-1], label)
            plus = plus + clean
            self._queried: list[np.float32] = []
            for index, one in self._gradients(step, n, values, label, clean).items():
                totals[index] = accumulated(totals[index], one)
            for one_loss in self._queried:
                minus = minus + one_loss
        for index, total in totals.items():
            self._update(index, total, len(images))
        return plus, minus

    def _gradients(self, step: int, n: int, values: list[Values], label: int, clean: np.float32) -> dict[int, Tensor]:
        if self.settings.method == "deepzero":
            return {i: self._coordinate_wise(step, n, i, values, label, clean) for i in self.trained}
        groups = [(i,) for i in self.trained] if self.settings.wise == "layer" else [self.trained]
        found = {}
        for group in groups:
            noise, delta = self._queries(step, n, group, values, label, clean)
            for index in group:
                sums = [
                    sum(d * z[index][j] for d, z in zip(delta, noise, strict=True)) for j in range(self._draws(index))
                ]
                by_nodes = self._by_nodes(index)
                found[index] = self._from_nodes(index, sums, delta, values) if by_nodes else Tensor(sums, -16)
        return found

    def _queries(
        self, step: int, n: int, group: Sequence[int], values: list[Values], label: int, clean: np.float32
    ) -> tuple[list[Noise], list[int]]:
        """Return noise and delta of every query."""
        noises, delta = [], []
        for q in range(self.settings.queries):
            noise = {index: self._signs(step, n, index, q, self._draws(index)) for index in group}
            first = self._perturbed_loss(noise, 1, values, label)
            difference = first - clean
            if self.settings.difference == "central":
                difference = (first - self._perturbed_loss(noise, -1, values, label)) * F32(0.5)
            noises.append(noise)
            delta.append(fixed(difference))
        return noises, delta

    def _perturbed_loss(self, noise: Noise, sign: int, values: list[Values], label: int) -> np.float32:
        """Perturb, pass, put back; note the loss among all losses of the sample."""
        first = min(noise)
        by_weights = [index for index in noise if not self._by_nodes(index)]
        for index in by_weights:
            self._add(index, [sign * z for z in noise[index]])
        at, begin = list(values), self._begin(first)
        if self.settings.wise == "layer" and not by_weights:
            at[first + 1] = self._moved(first, values[first + 1], noise[first])
            begin = first + 1
        elif self.settings.wise == "model":
            begin = 0
        for index in range(begin, len(self.graph.layers)):
            at[index + 1] = self._run(index, at)
            if index in noise and index not in by_weights:
                at[index + 1] = self._moved(index, at[index + 1], noise[index])
        for index in by_weights:
            self._add(index, [-sign * z for z in noise[index]])
        self._queried.append(loss(self.graph, at[-1], label))
        return self._queried[-1]

    def _coordinate_wise(
        self, step: int, n: int, index: int, values: list[Values], label: int, clean: np.float32
    ) -> Tensor:
        """DeepZero (section 8)."""
        count = self._draws(index)
        words = self._words(step, 0, index, 0, count)
        found = [0] * count
        for j in range(count):
            if words[j] >> 24 >= self.settings.sparsity:
                unit = [int(i == j) for i in range(count)]
                found[j] = fixed(self._perturbed_loss({index: unit}, 1, values, label) - clean)
        return Tensor(found, -16)

    def _from_nodes(self, index: int, sums: list[int], delta: list[int], values: list[Values]) -> Tensor:
        layer, out = self.graph.layers[index], values[index + 1]
        gated = [e if layer.act_min < a < layer.act_max else 0 for e, a in zip(sums, out, strict=True)]
        s = max(bits(sum(abs(d) for d in delta)) - 7, 0)
        error = [round_shift(e, s) if s >= 1 else e for e in gated]
        read = layer.reads[0]
        both = gradient(layer, values[read], self.graph.zero_of(read), error)
        return Tensor(self._chosen(both.weights, both.bias), s - 16)

    def _update(self, index: int, total: Tensor | None, samples: int) -> None:
        assert total is not None
        layer, own = self.graph.layers[index], self.own[index]
        assert own is not None and layer.own is not None
        weights, bias = self._split(index, total.values)
        per_channel = len(own.weights) // layer.channels
        for j, g in enumerate(weights):
            o = j % layer.channels if layer.own.weights.ndim == 3 else j // per_channel
            f = self._factor(index, o, samples, of_bias=False)
            own.weights[j] = clamp(own.weights[j] - moved(g, f, total.exponent), -126, 126)
        for o, g in enumerate(bias):
            exponent = total.exponent - (0 if self._by_nodes(index) else self._bias_step(index, o).bit_length() - 1)
            f = self._factor(index, o, samples, of_bias=True)
            own.bias[o] = clamp(own.bias[o] - moved(g, f, exponent), -(2**30 - 2**20), 2**30 - 2**20)

    def _factor(self, index: int, o: int, samples: int, of_bias: bool) -> np.float32:
        """Return f (section 6)."""
        s, layer = self.settings, self.graph.layers[index]
        assert layer.own is not None
        deep = s.method == "deepzero"
        count = samples if deep else samples * s.queries
        f = F32(s.eta)
        if s.gns and not deep:
            d = sum(self._draws(i) for i in self.trained) if s.wise == "model" else self._draws(index)
            f = f * (F32(count) / F32(count + d - 1))
        f = f / F32(count)
        if self._by_nodes(index):
            f = f * (F32(layer.own.multiplier[o]) * F32(2.0 ** (int(layer.own.shift[o]) - 31)))
        if s.qas:
            u = F32(layer.own.scale[o])
            if of_bias:
                u = F32(self.graph.scale_of(layer.reads[0])) * u
            f = f / u
            f = f / u
        return f

    def _clean(self, image: np.ndarray) -> list[Values]:
        """Return all values, counting the layers that a board runs again without a perturbation."""
        values: list[Values] = [[int(p) - 128 for p in np.ravel(image)]]
        for index in range(len(self.graph.layers)):
            values.append(self._run(index, values))
        nodes = [index for index in self.trained if self._by_nodes(index)]
        begins = [self._begin(index) for index in self.trained]
        again = [*range(begins[0], begins[-1]), *(index for index in nodes if index == begins[-1])]
        if self.settings.wise == "model":
            again = list(range(max(nodes, default=-1) + 1))
        for index in again:
            self._count(index)
        return values

    def _begin(self, index: int) -> int:
        """Return where the passes for a layer begin that has its weights perturbed: those of a chain begin together.

        See docs/memory.md.
        """
        if not self.settings.fused:
            return index
        at = 0
        while at <= index:
            end = at + self._chain(at)
            if index < end:
                return at
            at = end
        return index

    def _chain(self, index: int) -> int:
        """Return of how many layers the group is that begins with a layer."""
        first = self.graph.layers[index].op in (Op.CONV2D, Op.POINTWISE)
        if not (first and self._follows(index + 1, Op.DEPTHWISE)):
            return 1
        return 3 if self._follows(index + 2, Op.POINTWISE) else 2

    def _follows(self, index: int, op: Op) -> bool:
        """Return whether a layer goes on where the one before it ends, alone, and neither has its nodes perturbed."""
        layers = self.graph.layers
        if index >= len(layers) or layers[index].op is not op:
            return False
        nodes = any(i in self.trained and self._by_nodes(i) for i in (index - 1, index))
        return not nodes and layers[index].reads == (index,) and sum(layer.reads.count(index) for layer in layers) == 1

    def _run(self, index: int, values: list[Values]) -> Values:
        self._count(index)
        layer = self.graph.layers[index]
        return run(self.graph, layer, [values[value] for value in layer.reads], self.own[index])

    def _count(self, index: int) -> None:
        self.runs += 1
        self.macs += self.graph.layers[index].macs

    def _by_nodes(self, index: int) -> bool:
        return self.settings.by_nodes(self.graph.layers[index])

    def _split(self, index: int, values: list[int]) -> tuple[list[int], list[int]]:
        """Return the part of the weights and that of the biases."""
        count = self.graph.layers[index].weight_count if self.settings.train != "bias" else 0
        return values[:count], values[count:]

    def _chosen(self, weights: list[int], bias: list[int]) -> list[int]:
        return (weights if self.settings.train != "bias" else []) + (bias if self.settings.train_bias else [])

    def _draws(self, index: int) -> int:
        """Return how many numbers a query draws for a layer."""
        layer, own = self.graph.layers[index], self.own[index]
        assert own is not None
        return layer.out_size if self._by_nodes(index) else len(self._chosen(own.weights, own.bias))

    def _bias_step(self, index: int, o: int) -> int:
        own = self.graph.layers[index].own
        assert own is not None
        return 2 ** min(max(-int(own.shift[o]), 0), 20)

    def _add(self, index: int, noise: list[int]) -> None:
        """Add noise to the trained weights and biases, a bias in steps of its own."""
        own = self.own[index]
        assert own is not None
        weights, bias = self._split(index, noise)
        for j, z in enumerate(weights):
            own.weights[j] += z
        for o, z in enumerate(bias):
            own.bias[o] += z * self._bias_step(index, o)

    def _rest(self, index: int) -> None:
        own = self.own[index]
        assert own is not None
        if self.settings.train != "bias":
            own.weights[:] = [clamp(w, -126, 126) for w in own.weights]
        if self.settings.train_bias:
            own.bias[:] = [clamp(b, -(2**30 - 2**20), 2**30 - 2**20) for b in own.bias]

    def _moved(self, index: int, out: Values, noise: list[int]) -> Values:
        layer = self.graph.layers[index]
        return [a + z if layer.act_min < a < layer.act_max else a for a, z in zip(out, noise, strict=True)]

    def _words(self, step: int, n: int, index: int, q: int, count: int) -> list[int]:
        n = 0 if self.settings.direction == "batch" else n
        state, words = start(self.settings, step, 1 + ((n * 64 + index) * 128 + q)), []
        for _ in range(count):
            state = xorshift32(state)
            words.append(state)
        return words

    def _signs(self, step: int, n: int, index: int, q: int, count: int) -> list[int]:
        return [-1 if word & 1 else 1 for word in self._words(step, n, index, q, count)]


def fixed(difference: np.float32) -> int:
    """Return delta (section 4): Python's `round` is half to even."""
    return round(Fraction(float(min(max(difference, F32(-32)), F32(32)))) * 65536)


def moved(g: int, f: np.float32, exponent: int) -> int:
    """Return D (section 6) of a gradient `g * 2^exponent`: f * g * 2^exponent, half away from zero, at most 2^30."""
    if not np.isfinite(f) or f < F32(2.0**-126):
        return 0
    exact = Fraction(float(f)) * g * Fraction(2) ** exponent
    return clamp(half_away(exact), -(2**30), 2**30)
