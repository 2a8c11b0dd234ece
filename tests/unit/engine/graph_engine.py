"""The engine of graphs as a Python object: the host's shared library behind a few methods."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from engine.host_engine import Engine
from hil.training.methods.graph_settings import GraphSettings

LENGTH = 65  # places of a line
LINES = ("value", "error", "work", "back", "sums", "grad", "theta", "beta", "own", "own 2", "own 3")
NOWHERE = 0xFFFFFFFF


@dataclass(frozen=True)
class Plan:
    """A memory plan: bytes and offset of every buffer, by its line of docs/memory.md and its value or layer.

    Attributes:
        planned: bytes of arena.
        kept, always: ends of what stays and of what always lives.
        theta, beta, grad, velocity: offsets by layer.
        buffers: (line, value or layer) -> (bytes, offset), of the start that is placed now.
    """

    planned: int
    kept: int
    always: int
    theta: dict[int, int]
    beta: dict[int, int]
    grad: dict[int, int]
    velocity: dict[int, int]
    buffers: dict[tuple[str, int], tuple[int, int]]


class GraphEngine(Engine):
    """An engine with a network in tflite8."""

    _own = "node"  # what lies in the line of the method's own
    _placed: list[tuple[int, ...]]

    def configure(self, chosen: GraphSettings, slots: int, first_step: int = 0) -> int:
        """Place the buffers; return the bytes planned."""
        planned = self.configure_by(chosen.request_fields(chosen.method, slots, first_step))
        self._own = "coordinates" if chosen.method == "deepzero" else "node"
        return planned

    def plan(self, planned: int, layers: int) -> Plan:
        """Return the plan as it is now; `planned`: what configure returned."""
        words = (ctypes.c_uint32 * (2 + len(LINES) * LENGTH + 6))()
        self._library.host_plan(self._engine, words)
        kept, always, *offsets = words
        standing = []
        for name in ("theta", "beta", "grad", "own"):
            line = offsets[LINES.index(name) * LENGTH :][:layers]
            standing.append({layer: at for layer, at in enumerate(line) if at != NOWHERE and at < always})
        lines = [*LINES[:-3], self._own, *LINES[-2:]]
        buffers = {(lines[line], index): (size, at) for size, at, _, _, line, index in self._placed}
        return Plan(planned, kept, always, *standing, buffers)

    def begin(self) -> None:
        """Place the buffers of the clean prefix, or of the first start."""
        sets = (ctypes.c_uint64 * 4)()
        self._library.host_training(self._engine, sets)
        first = (sets[3] & -sets[3]).bit_length() - 1
        self._library.host_place_first(self._engine)
        self._placed = self._place(0, first or self.layers)

    def enter(self, layer: int) -> None:
        """Place the buffers of the start at a layer, which comes after the one that is placed."""
        self._placed = self._place(layer, self.layers)

    def sample_part(self, slot: int, label: int, offset: int, pixels: bytes) -> None:
        """Fill a part of a slot."""
        numbers = ctypes.c_uint16(slot), ctypes.c_uint16(label), ctypes.c_uint32(offset)
        self._call("engine_put_part", *numbers, pixels, ctypes.c_uint32(len(pixels)))

    def tensor(self, tensor: int, size: int, offset: int = 0) -> bytes:
        """Return bytes of a trained tensor."""
        return self._read(tensor, size, offset)

    def work(self) -> tuple[int, int]:
        """Return multiply-accumulates and layers run of the last step or run."""
        words = (ctypes.c_uint64 * 2)()
        self._library.host_work(self._engine, words)
        return words[0], words[1]

    def arena_peak(self) -> int:
        """Return the arena's watermark in bytes."""
        self._library.engine_arena_peak.restype = ctypes.c_uint32
        return int(self._library.engine_arena_peak(self._engine))
