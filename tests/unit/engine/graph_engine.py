"""The engine of graphs as a Python object: the host's shared library behind a few methods."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.host_engine import ALL_STAGES, EngineRefused, Failure, InferResult, StepResult
from hil.methods.graph_settings import WORDS, GraphSettings

MOST_LAYERS, MOST_TENSORS = 64, 128
LINES = ("value", "work", "node", "sums", "coordinates", "error", "back")
NOWHERE = 0xFFFFFFFF
NUMBERS = ("blocks", "train_bias", "gns", "qas", "sparsity", "queries")


class GraphEngineSettings(ctypes.Structure):
    """graph_settings_t of graph/settings.h."""

    _fields_ = [
        *((name, ctypes.c_uint8) for name in (
            "method", "train", "blocks", "train_bias", "perturb", "wise", "difference", "direction", "gns", "qas", "sparsity", "queries", "flags",
        )),
        ("eta", ctypes.c_float), ("batch", ctypes.c_uint16), ("seed", ctypes.c_uint32), ("slots", ctypes.c_uint16),
        ("first_step", ctypes.c_uint32), ("momentum", ctypes.c_float),
    ]  # fmt: skip


def engine_settings(chosen: GraphSettings, slots: int, first_step: int = 0) -> GraphEngineSettings:
    """Return the settings as the engine takes them."""
    words = {name: WORDS[name].index(getattr(chosen, name)) for name in WORDS}
    numbers = {name: getattr(chosen, name) for name in NUMBERS}
    return GraphEngineSettings(
        **words, **numbers, flags=chosen.consumed | chosen.fused << 1, eta=chosen.eta, batch=chosen.batch, seed=chosen.seed,
        slots=slots, first_step=first_step, momentum=chosen.momentum,
    )  # fmt: skip


@dataclass(frozen=True)
class Step:
    """What a step or a run reports; the digests are those of the trained tensors."""

    step: int
    loss_plus: float
    loss_minus: float
    sign: int
    digests: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """A memory plan: bytes and offset of every buffer, by its line of docs/memory-graph.md and its value or layer.

    Attributes:
        planned: bytes of arena.
        kept, always: ends of what stays and of what always lives.
        labels, queries, samples: offsets.
        theta, beta, grad, velocity: offsets by layer.
        buffers: (line, value or layer) -> (bytes, offset), of the start that is placed now.
        trained, nodes, joined: layers.
    """

    planned: int
    kept: int
    always: int
    labels: int
    queries: int
    samples: int
    theta: dict[int, int]
    beta: dict[int, int]
    grad: dict[int, int]
    velocity: dict[int, int]
    buffers: dict[tuple[str, int], tuple[int, int]]
    trained: set[int]
    nodes: set[int]
    joined: set[int]


class GraphEngine:
    """An engine of graphs with a network.

    Args:
        library: the shared library of firmware/host.
        blob: a network file.
        arena: bytes.
        flash: the file stays where it is, outside the arena.

    Raises:
        EngineRefused: by every method, where the engine refuses.
    """

    def __init__(self, library: ctypes.CDLL, blob: bytes, arena: int = 1 << 20, flash: bool = False) -> None:
        self._library = library
        library.host_graph_new.restype = ctypes.c_void_p
        self._engine = ctypes.c_void_p(library.host_graph_new(ctypes.c_uint32(arena)))
        sizes = (ctypes.c_uint32 * 2)()
        library.host_graph_sizes(sizes)
        assert sizes[0] == ctypes.sizeof(GraphEngineSettings)
        self._flash = (ctypes.c_uint64 * (len(blob) // 8 + 1))()  # aligned, and kept while the engine lives
        ctypes.memmove(self._flash, blob, len(blob))
        self._call("graph_engine_use_flash" if flash else "host_graph_load", self._flash, ctypes.c_uint32(len(blob)))

    def close(self) -> None:
        """Give the memory back."""
        self._library.host_graph_free(self._engine)

    def _call(self, name: str, *arguments: object) -> None:
        function = getattr(self._library, name)
        function.restype = Failure
        failure = function(self._engine, *arguments)
        if failure.code:
            raise EngineRefused(failure)

    @property
    def tensors(self) -> int:
        """How many tensors are trained, or could be."""
        self._library.graph_engine_tensors.restype = ctypes.c_uint8
        return int(self._library.graph_engine_tensors(self._engine))

    def configure(self, chosen: GraphSettings, slots: int, first_step: int = 0) -> int:
        """Place the buffers; return the bytes planned."""
        return self.configure_raw(engine_settings(chosen, slots, first_step))

    def configure_raw(self, fields: GraphEngineSettings) -> int:
        """Place the buffers with settings that may be out of range."""
        planned = ctypes.c_uint32()
        self._call("graph_engine_configure", ctypes.byref(fields), ctypes.byref(planned))
        return planned.value

    def plan(self, planned: int, layers: int) -> Plan:
        """Return the plan as it is now; `planned`: what configure returned."""
        always, sets = (ctypes.c_uint32 * (5 + 4 * MOST_LAYERS))(), (ctypes.c_uint64 * 3)()
        self._library.host_graph_always(self._engine, always)
        self._library.host_graph_training(self._engine, sets)
        by_layer = [{layer: always[5 + MOST_LAYERS * kind + layer] for layer in range(layers)} for kind in range(4)]
        placed = [{layer: at for layer, at in kind.items() if at != NOWHERE} for kind in by_layer]
        buffers = {}
        for line, name in enumerate(LINES):
            for index in range(layers + 1):
                fields = (ctypes.c_uint32 * 2)()
                self._library.host_graph_buffer(self._engine, ctypes.c_uint8(line), ctypes.c_uint8(index), fields)
                if fields[0]:
                    buffers[name, index] = (fields[0], fields[1])
        members = [{layer for layer in range(layers) if word >> layer & 1} for word in sets]
        return Plan(planned, *always[:5], *placed, buffers, *members)

    def begin(self) -> None:
        """Place the buffers of the clean prefix, or of the first start."""
        self._library.host_graph_begin(self._engine)

    def enter(self, layer: int) -> None:
        """Place the buffers of the start at a layer, which comes after the one that is placed."""
        self._library.host_graph_enter(self._engine, ctypes.c_uint8(layer))

    def sample(self, slot: int, image: np.ndarray, label: int) -> None:
        """Fill a slot."""
        pixels = image.astype(np.uint8).tobytes()
        numbers = ctypes.c_uint16(slot), ctypes.c_uint8(label)
        self._call("graph_engine_put_sample", *numbers, pixels, ctypes.c_uint32(len(pixels)))

    def sample_part(self, slot: int, label: int, offset: int, pixels: bytes) -> None:
        """Fill a part of a slot."""
        numbers = ctypes.c_uint16(slot), ctypes.c_uint8(label), ctypes.c_uint32(offset)
        self._call("graph_engine_put_part", *numbers, pixels, ctypes.c_uint32(len(pixels)))

    def samples(self, images: np.ndarray, labels: Sequence[int]) -> None:
        """Fill the slots from 0 on: images uint8 [n, ...], labels [n]."""
        for slot, (image, label) in enumerate(zip(images, labels, strict=True)):
            self.sample(slot, image, int(label))

    def step(self, step: int, count: int) -> Step:
        """Train on the samples in slots 0..count-1, or end a step that came in parts."""
        return self._train("graph_engine_step", ctypes.c_uint32(step), ctypes.c_uint16(count))

    def part(self, step: int, number: int, first: int, count: int) -> None:
        """Take the samples in the slots, which are `first`.. of the batch, through the step."""
        numbers = ctypes.c_uint32(step), ctypes.c_uint8(number), ctypes.c_uint16(first), ctypes.c_uint16(count)
        self._call("graph_engine_part", *numbers)

    def run(self, step: int, steps: int, count: int) -> Step:
        """Train `steps` steps on the same samples."""
        return self._train("host_graph_run", ctypes.c_uint32(step), ctypes.c_uint16(steps), ctypes.c_uint16(count))

    def _train(self, name: str, *arguments: object) -> Step:
        result, digests = StepResult(), (ctypes.c_uint32 * MOST_TENSORS)()
        self._call(name, *arguments, ctypes.byref(result), digests)
        return Step(result.step, result.loss_plus, result.loss_minus, result.sign, tuple(digests[: self.tensors]))

    def infer(self, count: int) -> tuple[int, int, bytes]:
        """Return how many of the samples are classified right, the digest of the logits, and the predictions."""
        predictions = (ctypes.c_uint8 * count)()
        result = InferResult(predictions=predictions)
        self._call("graph_engine_infer", ctypes.c_uint16(count), ctypes.byref(result))
        return result.correct, result.logits_digest, bytes(predictions)

    def trace(self, slot: int, stage: int = ALL_STAGES, offset: int = 0, room: int = 1 << 16) -> bytes:
        """Return the digests of all stages, or the bytes of one."""
        out, length = (ctypes.c_uint8 * room)(), ctypes.c_uint32(room)
        numbers = ctypes.c_uint16(slot), ctypes.c_uint16(stage), ctypes.c_uint32(offset)
        self._call("graph_engine_trace", *numbers, out, ctypes.byref(length))
        return bytes(out[: length.value])

    def digests(self) -> tuple[int, ...]:
        """Return the digest of every trained tensor."""
        words = (ctypes.c_uint32 * MOST_TENSORS)()
        self._call("graph_engine_digests", words)
        return tuple(words[: self.tensors])

    def tensor(self, tensor: int, size: int, offset: int = 0) -> bytes:
        """Return bytes of a trained tensor."""
        out = (ctypes.c_uint8 * size)()
        self._call(
            "graph_engine_read_tensor", ctypes.c_uint8(tensor), ctypes.c_uint32(offset), ctypes.c_uint32(size), out
        )
        return bytes(out)

    def work(self) -> tuple[int, int]:
        """Return multiply-accumulates and layers run of the last step or run."""
        words = (ctypes.c_uint64 * 2)()
        self._library.host_graph_work(self._engine, words)
        return words[0], words[1]

    def arena_peak(self) -> int:
        """Return the arena's watermark in bytes."""
        self._library.graph_engine_arena_peak.restype = ctypes.c_uint32
        return int(self._library.graph_engine_arena_peak(self._engine))
