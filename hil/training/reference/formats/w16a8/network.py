"""A network in `w16a8` as QZO-FF trains it: its passes, and the tensors that are trained."""

from __future__ import annotations

from collections.abc import Sequence

from hil.training.graph.graph import Graph
from hil.training.graph.node import W16A8Parameters
from hil.training.methods.qzo_ff_tensors import QzoFfTensor
from hil.training.reference.formats.int8_network import Int8Network
from hil.training.reference.formats.w16a8.tensor import W16A8Tensor


class W16A8Network(Int8Network):
    """A graph in `w16a8` whose last layers are trained.

    Args:
        graph: with the first weights, which are copied.
        trained: what is trained, input to output.
    """

    def __init__(self, graph: Graph, trained: Sequence[QzoFfTensor]) -> None:
        own = graph.own_of(W16A8Parameters)
        given = ((known, own[known.layer]) for known in trained)
        tensors = [W16A8Tensor(known, its.bias if known.is_bias else its.weights) for known, its in given]
        super().__init__(graph, [(known.layer, known.is_bias) for known in trained], tensors)
