"""FQT in C and in NumPy side by side: both take the same samples and must hold the same bytes."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import replace

import numpy as np

from engine.host_engine import Engine, EngineRefused
from hil.training.graph.affine8 import with_scales
from hil.training.graph.file import encode
from hil.training.graph.formats import LARGEST_FLOAT, Op, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Node, Affine8Parameters, Node, Parameters
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.methods import StepFailed
from hil.training.reference.methods.fqt import FqtReference

H = LARGEST_FLOAT
STEP_FAILED = 22  # of the errors of hil/link/messages.toml


class Small:
    """A graph of values that are 1 x 1, under construction."""

    def __init__(self, inputs: int, scale: float, zero: int) -> None:
        self._nodes: list[Node] = []
        self._sizes, self._scale, self._zero = [inputs], scale, zero

    def weighted(
        self,
        rows: list[list[int]],
        ends: tuple[float, float],
        limits: tuple[float, float] = (-H, H),
        s_w: float = 2.0**-8,
        z_w: int = 0,
        bias: list[float] | None = None,
    ) -> Small:
        """Append a pointwise layer, of the value before it."""
        bias = [0.0] * len(rows) if bias is None else bias
        weights = np.array(rows, np.int8).reshape(len(rows), 1, 1, -1)
        own = Affine8Parameters(weights, np.array(bias, np.float32), scale=s_w, zero=z_w)
        return self._append(Op.POINTWISE, (len(self._nodes),), len(rows), ends, limits, own)

    def plain(self, op: Op, reads: tuple[int, ...], ends: tuple[float, float], most: float = H) -> Small:
        """Append an add, a multiply or a hard_swish."""
        return self._append(op, reads, self._sizes[reads[0]], ends, (-H, most), None)

    def _append(
        self,
        op: Op,
        reads: tuple[int, ...],
        outputs: int,
        ends: tuple[float, float],
        limits: tuple[float, float],
        own: Parameters | None,
    ) -> Small:
        kernel, stride = ((1, 1), (1, 1)) if own is not None else ((0, 0), (0, 0))
        low, high = (float(np.float32(end)) for end in ends)
        shapes = (1, 1, self._sizes[reads[0]]), (1, 1, outputs)
        node = Affine8Node(
            "",
            op,
            reads,
            *shapes,
            kernel,
            stride,
            (0, 0),
            int(own is not None),
            *limits,
            own=own,
            low=low,
            high=high,
        )
        self._nodes.append(node)
        self._sizes.append(outputs)
        return self

    def graph(self, rounding: str = "nearest") -> Graph:
        """Return the graph; its last layer, which has weights, is fully connected."""
        *before, last = self._nodes
        assert last.own is not None
        own = replace(last.own, weights=last.own.weights.reshape(last.channels, -1))
        before.append(replace(last, op=Op.FULLY_CONNECTED, kernel=(0, 0), stride=(0, 0), own=own))
        names = named([node.op for node in before])
        nodes = tuple(replace(node, name=name, rounding=rounding) for node, name in zip(before, names, strict=True))
        scale = float(np.float32(self._scale))
        return with_scales(Graph("small", nodes, (1, 1, self._sizes[0]), self._sizes[-1], scale, self._zero))


class Pair:
    """The engine of the firmware and the reference, at the same step."""

    def __init__(self, library: ctypes.CDLL, graph: Graph, chosen: FqtSettings) -> None:
        self.reference = FqtReference(graph, chosen)
        self.reference.configure(chosen, 0)
        self.engine = Engine(library, encode(graph))
        self.engine.configure_by(chosen.request_fields("fqt", chosen.batch, 0))
        self._library, self._step = library, 0

    def put(self, images: np.ndarray, labels: list[int]) -> None:
        """Choose the samples of both."""
        self._batch = images, np.array(labels, np.uint8)

    def step(self) -> None:
        """Train on them; what both report and hold is the same."""
        expected = self.reference.step(*self._batch)
        self.engine.samples(*self._batch)
        found = self.engine.step(self._step, len(self._batch[0]))
        self._step += 1
        assert struct.pack("<f", found.loss_plus) == struct.pack("<f", expected.loss_plus)
        assert self.tensors() == [array.tobytes() for array in self.reference.weights]
        assert found.digests == expected.digests

    def refused(self, step: int, failed: StepFailed) -> None:
        """Check that the engine refuses the step that failed in the reference, for the same reason."""
        before = self.tensors()
        self.engine.samples(*self._batch)
        try:
            self.engine.step(step, len(self._batch[0]))
        except EngineRefused as refused:
            assert (refused.code, refused.a, refused.b) == (STEP_FAILED, failed.layer, failed.cause)
            assert self.tensors() == before
            return
        raise AssertionError(f"the engine makes step {step}, which fails in the reference: {failed}")

    def tensors(self) -> list[bytes]:
        """Return the trained tensors of the engine."""
        return [self.engine._read(at, array.nbytes, 0) for at, array in enumerate(self.reference.weights)]

    def trace(self, slot: int) -> list[bytes]:
        """Return the stages of a sample; both have the same."""
        expected = [stage.data for stage in self.reference.trace(self.reference.weights, *self._batch, slot)]
        self.engine.samples(*self._batch)  # a step has emptied the slots
        found = [self.engine.trace(slot, stage) for stage in range(len(expected))]
        assert found == expected
        return found

    def close(self) -> None:
        """Give the memory back."""
        self.engine.close()
