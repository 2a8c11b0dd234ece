"""One sample forward and backward, with all that docs/arithmetic-affine8.md, section 11, says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash

from hil.training.graph.graph import Graph
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.formats.affine8.backward import Gradients
from hil.training.reference.formats.affine8.errors import Affine8Errors
from hil.training.reference.methods.fqt_layers import Affine8Layer
from hil.training.reference.methods.fqt_passes import FqtPasses, Reached

from .affine8_networks import samples

F = np.float32


def digest(array: np.ndarray) -> str:
    return f"{xxhash.xxh32_intdigest(np.ascontiguousarray(array).tobytes()):08X}"


def bits(numbers: Any) -> list[str]:
    return [f"{each:08X}" for each in np.atleast_1d(np.asarray(numbers, F)).reshape(-1).view(np.uint32)]


@dataclass
class Sample:
    """What one sample gave: digests of values, errors and g in `affine8`; G and the rest as they are.

    The text's g of a depthwise layer is channel by channel, unlike G.
    """

    values: list[str]
    logits: np.ndarray
    loss: str
    errors: list[tuple[str, ...]]
    logit_error: np.ndarray
    g: dict[int, str]
    sums: dict[int, np.ndarray]
    biases: dict[int, np.ndarray]

    @classmethod
    def of(cls, graph: Graph, number: int = 0) -> Sample:
        """Take sample 0 or 1 through a network, with all layers trained."""
        images, labels = samples(graph)
        part = slice(number, number + 1)
        trained = FqtSettings().trained(graph)
        passes = FqtPasses(graph, BackwardPass(graph, trained, True))
        values, of_labels = passes.values(images[part]), labels[part].astype(np.intp)
        found = cls(
            [digest(passes.stored(value, values)) for value in range(len(values))], passes.logits(values)[0],
            bits(passes.losses(values, of_labels))[0], [], np.zeros(0), {}, {}, {},
        )  # fmt: skip
        for at in passes.walk(values, of_labels):
            found._take(at, values)
        return found

    def _take(self, at: Reached, values: list[np.ndarray]) -> None:
        index, layer, whole, error = at.index, at.layer, at.whole, at.error
        if isinstance(whole, Affine8Errors):
            self.errors.append((digest(whole.stored), bits(whole.s)[0], str(whole.z[0])))
        else:
            self.errors.append((digest(whole[..., 0]),))
        if not self.logit_error.size:
            self.logit_error = whole.stored.reshape(-1) if isinstance(whole, Affine8Errors) else whole.reshape(-1)
        node = layer.node
        if node.own is None:
            return
        x, weights = values[node.reads[0]], np.zeros((node.channels, node.taps), F)
        biases = np.zeros(node.channels, F)
        layer.add_gradients(error, x, weights, biases, False)
        self.sums[index] = _in_file_order(weights, node.own.weights)
        self.biases[index] = biases
        if isinstance(layer, Affine8Layer):
            (g,) = Gradients.of(layer._layer, error, x).weights()
            self.g[index] = digest(g.astype(np.int32))


def _in_file_order(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return numbers [O, K] in the shape of weights, of which those of a depthwise layer have 3 axes."""
    return (rows.T if weights.ndim == 3 else rows).reshape(weights.shape)
