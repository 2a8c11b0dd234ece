"""A network in `float32` whose last layers are trained: passes, losses and gradients of the yardsticks of QZO-FF."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node, Float32Parameters
from hil.training.methods.qzo_ff_tensors import QzoFfTensor
from hil.training.reference.floats import F
from hil.training.reference.formats.float32.backward import add_gradients, errors_of, gated
from hil.training.reference.formats.float32.forward import Own, input_value, run, values_of
from hil.training.reference.formats.float32.loss import logits_error, losses
from hil.training.reference.formats.float32.tensor import Float32Tensor

GROUP = 32  # samples that are computed at a time
Values = dict[int, np.ndarray]  # by number, float32 [height, width, channels, samples]


class Float32Network:
    """A graph in `float32` whose last layers are trained.

    Args:
        graph: with the first weights, which are copied.
        trained: what is trained, input to output.

    Attributes:
        tensors: the trained tensors.
        first: the first trained layer. What it reads, and the layers after it, is the same in all passes of a step.
        arithmetic: what computes the passes.
    """

    arithmetic = "NumPy"
    VALUE_TYPE = "float32"

    def __init__(self, graph: Graph, trained: Sequence[QzoFfTensor]) -> None:
        self.graph, self.first = graph, min(tensor.layer for tensor in trained)
        self._frozen = {index: (own.weights, own.bias) for index, own in graph.own_of(Float32Parameters).items()}
        self.tensors = [Float32Tensor(known, self._frozen[known.layer][known.is_bias]) for known in trained]

    def own_of(self, values: Sequence[np.ndarray]) -> dict[int, Own]:
        """Return weights and biases by layer, with these values of the trained tensors."""
        found = dict(self._frozen)
        for tensor, its in zip(self.tensors, values, strict=True):
            weights, bias = found[tensor.known.layer]
            found[tensor.known.layer] = (weights, its) if tensor.known.is_bias else (its, bias)
        return found

    def own_now(self) -> dict[int, Own]:
        """Return weights and biases by layer as they are now."""
        return self.own_of([tensor.values for tensor in self.tensors])

    def prefix(self, images: np.ndarray) -> list[Values]:
        """Return for every group of uint8 images the values that the layers from the first trained one on read."""
        return [self._run({0: input_value(self.graph, part)}, 0, self.first, self._frozen) for part in _groups(images)]

    def losses(self, prefix: Sequence[Values], labels: np.ndarray) -> np.ndarray:
        """Return the loss of every sample with the weights as they are now, float32 [N]."""
        logits = np.concatenate([_logits(self._rest(values)[len(self.graph.layers)]) for values in prefix])
        found: np.ndarray = losses(np.ascontiguousarray(logits.T), labels.astype(np.intp))
        return found

    def logits(self, images: np.ndarray) -> np.ndarray:
        """Return the logits of uint8 images with the weights as they are now, float32 [N, classes]."""
        prefix = self.prefix(images)
        return np.concatenate([_logits(self._rest(values)[len(self.graph.layers)]) for values in prefix])

    def outputs(self, values: Sequence[np.ndarray], images: np.ndarray) -> list[np.ndarray]:
        """Return the output of every layer for uint8 images with these trained tensors, float32 [H, W, C, N]."""
        return values_of(self.graph, images, self.own_of(values))[1:]

    def add_gradients(self, images: np.ndarray, labels: np.ndarray, sums: Mapping[int, Own]) -> np.float32:
        """Add the gradients of weights and biases to the sums of each trained layer; return the sum of the losses.

        See docs/arithmetic-float32.md, section 5. `images` are uint8, `labels` integers, `sums` float32 by layer.
        """
        total, own, start = F(0), self.own_now(), 0
        for part in _groups(images):
            its = np.asarray(labels[start : start + len(part)]).astype(np.intp)
            start += len(part)
            values = values_of(self.graph, part, own)
            logits = values[-1][0, 0]
            for loss in losses(logits, its):
                total = total + loss
            for index, error in errors_of(self.graph, self.first, values, own, logits_error(logits, its)):
                layer = self.graph.node(index, Float32Node)
                if index in sums:
                    add_gradients(layer, gated(layer, error, values[index + 1]), values[layer.reads[0]], sums[index])
        return F(total)

    def _rest(self, values: Values) -> Values:
        return self._run(values, self.first, len(self.graph.layers), self.own_now())

    def _run(self, values: Values, first: int, end: int, own: Mapping[int, Own]) -> Values:
        """Run the layers first..end - 1, and keep what later ones read."""
        values = dict(values)
        for index in range(first, end):
            layer = self.graph.node(index, Float32Node)
            values[index + 1] = run(layer, [values[value] for value in layer.reads], own.get(index))
            values = {value: held for value, held in values.items() if self.graph.last_use(value) > index}
        return values


def _groups(images: np.ndarray) -> Iterator[np.ndarray]:
    return (images[first : first + GROUP] for first in range(0, len(images), GROUP))


def _logits(value: np.ndarray) -> np.ndarray:
    """Return logits [1, 1, classes, B] as [B, classes]."""
    logits: np.ndarray = value[0, 0].T
    return logits
