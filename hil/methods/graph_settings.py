"""The settings of the methods that train graphs (docs/arithmetic-zeroth-order.md, section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hil.errors import RigError, close_matches
from hil.graph.ir import Graph, Node, Op
from hil.methods.checks import check_numbers, check_real, check_words

WORDS = {
    "method": ("poor-mans", "deepzero", "bp"),
    "train": ("all", "last", "bias", "pointwise"),
    "perturb": ("weight", "node", "adaptive"),
    "wise": ("layer", "model"),
    "difference": ("forward", "central"),
    "direction": ("sample", "batch"),
}
LIMITS = {
    "blocks": (1, 15), "train_bias": (0, 1), "gns": (0, 1), "qas": (0, 1), "sparsity": (0, 255), "queries": (1, 127),
    "consumed": (0, 1), "fused": (0, 1), "batch": (1, 65535), "seed": (0, 2**32 - 1),
}  # fmt: skip
LARGEST_ETA = 2.0**20
RANGES = {
    "eta": "a number that is above 0 in binary32, 2^20 at most",
    "momentum": "a number from 0 on that is below 1 in binary32",
}


@dataclass(frozen=True)
class GraphSettings:
    """Settings of a method; each is described in docs/arithmetic-zeroth-order.md.

    Attributes:
        method: `poor-mans`, `deepzero` or `bp`.
        train: `all`, `last`, `bias` or `pointwise`.
        blocks: mask of the blocks that are trained: bit b - 1 for block b.
        train_bias: whether biases are trained.
        perturb: `weight`, `node` or `adaptive`.
        wise: `layer` or `model`.
        difference: `forward` or `central`.
        direction: `sample` draws directions for each sample of a step, `batch` takes the same for all.
        gns, qas: gradient-norm scaling, quantization-aware scaling.
        sparsity: of deepzero: 0 takes every coordinate, 230 one of ten.
        queries: Q.
        eta: the learning rate; rounded to binary32 wherever it is used.
        batch: samples a step (N).
        seed: 32 bits.
        consumed: the memory of a sample is used again once it has been read; a step cannot be repeated.
        fused: chains of a convolution, a depthwise and a pointwise layer are run row by row (docs/memory-graph.md).
        momentum: of `bp` (docs/arithmetic-backward.md, section 4); rounded to binary32.
    """

    words = WORDS
    limits = LIMITS
    ranges = RANGES

    method: str = "poor-mans"
    train: str = "all"
    blocks: int = 15
    train_bias: int = 1
    perturb: str = "adaptive"
    wise: str = "layer"
    difference: str = "forward"
    direction: str = "sample"
    gns: int = 1
    qas: int = 1
    sparsity: int = 0
    queries: int = 10
    eta: float = 0.01
    batch: int = 1
    seed: int = 1
    consumed: int = 0
    fused: int = 0
    momentum: float = 0.0

    def __post_init__(self) -> None:
        check_words(self, WORDS)
        check_numbers(self, LIMITS)
        check_real(self, "eta", RANGES["eta"], lambda eta: 0 < eta <= LARGEST_ETA and bool(np.float32(eta) > 0))
        check_real(
            self, "momentum", RANGES["momentum"], lambda momentum: 0 <= momentum < 1 and bool(np.float32(momentum) < 1)
        )
        self._check_pairs()

    def _check_pairs(self) -> None:
        if self.train == "bias" and not self.train_bias:
            raise RigError("setting train_bias is 0 with train = 'bias': nothing would be trained, leave it at 1.")
        if self.difference == "central" and self.perturb != "weight":
            raise RigError(
                f"setting difference is 'central' with perturb = {self.perturb!r}: it goes with perturb = 'weight' only."
            )
        if self.method == "deepzero" and self.wise == "model":
            raise RigError("setting wise is 'model' with deepzero: it raises one coordinate at a time, choose 'layer'.")
        if self.direction == "batch" and self.method != "poor-mans":
            raise RigError(f"setting direction is 'batch' with {self.method}: it draws no directions, choose 'sample'.")

    def changed(self, **changes: Any) -> GraphSettings:
        """Return the settings after a change of the schedule: the learning rate only.

        Raises:
            RigError: another setting, or a value out of range.
        """
        for name in changes:
            if name != "eta":
                raise RigError(f"the schedule cannot change {name!r}: {close_matches(name, ('eta',))}")
        return replace(self, **changes)

    def trains(self, graph: Graph, index: int) -> bool:
        """Return whether a layer is trained (section 2)."""
        layer = graph.layers[index]
        if layer.own is None or (self.train != "last" and not self.blocks >> (layer.block - 1) & 1):
            return False
        if self.train == "last":
            return all(other.own is None for other in graph.layers[index + 1 :])
        return self.train != "pointwise" or layer.op is Op.POINTWISE

    def trained(self, graph: Graph) -> tuple[int, ...]:
        """Return the indices of the trained layers, input to output."""
        return tuple(index for index in range(len(graph.layers)) if self.trains(graph, index))

    def with_trained(self, graph: Graph, tensors: Sequence[np.ndarray]) -> Graph:
        """Return the graph with other trained tensors: of each trained layer weights (int8, any shape) and biases (int32)."""
        left = iter(tensors)
        own = {}
        for index in self.trained(graph):
            old = graph.layers[index].own
            assert old is not None
            mine = next(left) if self.trains_weights else old.weights
            own[index] = (mine.reshape(old.weights.shape), next(left) if self.train_bias else old.bias)
        return graph.with_parameters(own)

    @property
    def sides(self) -> int:
        """Perturbed passes of a query."""
        return 2 if self.difference == "central" else 1

    @property
    def trains_weights(self) -> bool:
        """Whether weights are trained, not biases alone."""
        return self.train != "bias"

    def coordinates(self, layer: Node) -> int:
        """Return how many numbers of a trained layer are trained: weights and biases."""
        return layer.weight_count * self.trains_weights + layer.channels * self.train_bias

    def by_nodes(self, layer: Node) -> bool:
        """Return whether a trained layer has its nodes perturbed rather than its weights (section 2)."""
        if self.method != "poor-mans":
            return False
        d_w = layer.weight_count if self.trains_weights else layer.channels
        return self.perturb == "node" or (self.perturb == "adaptive" and d_w >= layer.out_size)
