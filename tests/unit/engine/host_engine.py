"""The training engine of the firmware as a Python object: the host's shared library behind a few methods."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.training.methods.elasticzo_settings import ElasticZoSettings

MOST_TENSORS, MOST_BUFFERS = 128, 321
ALL_STAGES = 0xFFFF


class Failure(ctypes.Structure):
    """failure_t of graph/failure.h."""

    _fields_ = [("code", ctypes.c_uint8), ("a", ctypes.c_uint32), ("b", ctypes.c_uint32)]


class StepResult(ctypes.Structure):
    """step_result_t of engine/training.h."""

    _pack_ = 1
    _fields_ = [
        ("step", ctypes.c_uint32), ("loss_plus", ctypes.c_float), ("loss_minus", ctypes.c_float), ("sign", ctypes.c_int8),
        *((f"cycles_{name}", ctypes.c_uint64) for name in ("perturb", "forward", "backward", "update", "digest", "total")),
    ]  # fmt: skip


class InferResult(ctypes.Structure):
    """infer_result_t of engine/training.h."""

    _fields_ = [
        ("correct", ctypes.c_uint16), ("logits_digest", ctypes.c_uint32), ("predictions", ctypes.POINTER(ctypes.c_uint8))
    ]  # fmt: skip


class EngineRefused(Exception):
    """The engine refused; `code`, `a` and `b` as in [error] of hil/link/messages.toml."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"code {failure.code}, a {failure.a}, b {failure.b}")
        self.code, self.a, self.b = failure.code, failure.a, failure.b


@dataclass(frozen=True)
class Step:
    """What a step or a run reports; the digests are those of the trained tensors."""

    step: int
    loss_plus: float
    loss_minus: float
    sign: int
    digests: tuple[int, ...]
    cycles: dict[str, int]

    @property
    def outcome(self) -> tuple[object, ...]:
        """Everything but the cycles: what must not depend on how the samples came."""
        return self.step, self.loss_plus, self.loss_minus, self.sign, self.digests


class Engine:
    """An engine with a network loaded.

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
        library.host_engine_new.restype = ctypes.c_void_p
        self._engine = ctypes.c_void_p(library.host_engine_new(ctypes.c_uint32(arena)))
        sizes = (ctypes.c_uint32 * 2)()
        library.host_sizes(sizes)
        described = (StepResult, Failure)
        assert list(sizes) == [ctypes.sizeof(kind) for kind in described]
        self._file_size = len(blob)
        size = ctypes.c_uint32(len(blob))
        self._flash = (ctypes.c_uint64 * (len(blob) // 8 + 1))()  # aligned, and kept while the engine lives
        ctypes.memmove(self._flash, blob, len(blob))
        if flash:
            self._call("engine_use_flash", self._flash, size)
        else:
            self._call("engine_load_begin", size)
            self._call("engine_load_data", ctypes.c_uint32(0), blob, size)
            self._call("engine_load_end")
        library.host_tensors.restype = library.host_layers.restype = ctypes.c_uint8
        self.layers: int = library.host_layers(self._engine)

    def close(self) -> None:
        """Give the memory back."""
        self._library.host_engine_free(self._engine)

    @property
    def tensors(self) -> int:
        """How many tensors are trained, or could be."""
        return int(self._library.host_tensors(self._engine))

    def _call(self, name: str, *arguments: object) -> None:
        function = getattr(self._library, name)
        function.restype = Failure
        failure = function(self._engine, *arguments)
        if failure.code:
            raise EngineRefused(failure)

    def configure_by(self, fields: dict[str, Any]) -> int:
        """Place the buffers by the fields of the request; return the bytes planned."""
        body, planned = bytes([fields["method"]]) + fields["settings"], ctypes.c_uint32()
        self._call("host_configure", body, ctypes.c_uint32(len(body)), ctypes.byref(planned))
        return planned.value

    def _place(self, first: int, end: int) -> list[tuple[int, ...]]:
        """Place the buffers of the layers first..end - 1: bytes, offset, first and last slot, line, value or layer."""
        fields = (ctypes.c_uint32 * 6 * MOST_BUFFERS)()
        self._library.host_place.restype = ctypes.c_uint16
        placed = self._library.host_place(self._engine, ctypes.c_uint8(first), ctypes.c_uint8(end), fields)
        return [tuple(buffer) for buffer in fields[:placed]]

    def samples(self, images: np.ndarray, labels: Sequence[int]) -> None:
        """Fill the slots from 0 on: images uint8 [n, ...], labels [n]."""
        for slot, (image, label) in enumerate(zip(images, labels, strict=True)):
            self.sample(slot, image, int(label))

    def sample(self, slot: int, image: np.ndarray, label: int) -> None:
        """Fill a slot."""
        pixels = image.astype(np.uint8).tobytes()
        self._call(
            "engine_put_sample", ctypes.c_uint16(slot), ctypes.c_uint16(label), pixels, ctypes.c_uint32(len(pixels))
        )

    def step(self, step: int, count: int) -> Step:
        """Train on the samples in slots 0..count-1, or end a step that came in parts."""
        return self._train("engine_step", ctypes.c_uint32(step), ctypes.c_uint16(count))

    def part(self, step: int, number: int, first: int, count: int) -> None:
        """Take the samples in the slots, which are `first`.. of the batch, through pass `number`."""
        numbers = ctypes.c_uint32(step), ctypes.c_uint8(number), ctypes.c_uint16(first), ctypes.c_uint16(count)
        self._call("engine_part", *numbers)

    def run(self, step: int, steps: int, count: int) -> Step:
        """Train `steps` steps on the same samples."""
        return self._train("host_run", ctypes.c_uint32(step), ctypes.c_uint16(steps), ctypes.c_uint16(count))

    def _train(self, name: str, *arguments: object) -> Step:
        result, digests = StepResult(), (ctypes.c_uint32 * MOST_TENSORS)()
        self._call(name, *arguments, ctypes.byref(result), digests)
        cycles = {
            kind: getattr(result, f"cycles_{kind}")
            for kind in ("perturb", "forward", "backward", "update", "digest", "total")
        }
        trained = tuple(digests[: self.tensors])
        return Step(result.step, result.loss_plus, result.loss_minus, result.sign, trained, cycles)

    def laps(self) -> list[tuple[int, ...]]:
        """Return the cycles of each step of the last run, of its first 32 at most: perturb, forward, backward, update."""
        laps = (ctypes.c_uint64 * 4 * 32)()
        self._library.host_laps.restype = ctypes.c_uint16
        return [tuple(lap) for lap in laps[: self._library.host_laps(self._engine, laps)]]

    def profile(self) -> list[int]:
        """Return the cycles by layer: forward of every layer, then backward."""
        cycles = (ctypes.c_uint64 * (2 * self.layers))()
        self._library.host_profile(self._engine, cycles)
        return list(cycles)

    def infer(self, count: int) -> tuple[int, int, bytes]:
        """Return how many of the samples are classified right, the digest of the logits, and the predictions."""
        predictions = (ctypes.c_uint8 * count)()
        result = InferResult(predictions=predictions)
        self._call("engine_infer", ctypes.c_uint16(count), ctypes.byref(result))
        return result.correct, result.logits_digest, bytes(predictions)

    def trace(self, slot: int, stage: int = ALL_STAGES, offset: int = 0, room: int = 1 << 16) -> bytes:
        """Return the digests of all stages, or the bytes of one."""
        out, length = (ctypes.c_uint8 * room)(), ctypes.c_uint32(room)
        numbers = ctypes.c_uint16(slot), ctypes.c_uint16(stage), ctypes.c_uint32(offset)
        self._call("engine_trace", *numbers, out, ctypes.byref(length))
        return bytes(out[: length.value])

    def digests(self) -> tuple[int, ...]:
        """Return the digest of every trained tensor."""
        words = (ctypes.c_uint32 * MOST_TENSORS)()
        self._call("engine_digests", words)
        return tuple(words[: self.tensors])

    def _read(self, tensor: int, size: int, offset: int) -> bytes:
        out = (ctypes.c_uint8 * size)()
        self._call("engine_read_tensor", ctypes.c_uint8(tensor), ctypes.c_uint32(offset), ctypes.c_uint32(size), out)
        return bytes(out)


class HostEngine(Engine):
    """An engine with a network in bfp8, trained by ElasticZO."""

    def configure(self, settings: ElasticZoSettings, slots: int, first_step: int = 0) -> int:
        """Place the buffers; return the bytes planned."""
        return self.configure_by(settings.request_fields("elasticzo-int8", slots, first_step))

    def buffers(self) -> list[tuple[int, ...]]:
        """Return size, offset, first and last slot of every buffer: the network file, then those that are placed."""
        file = (-(-self._file_size // 8) * 8, 0, 0, 2 * self.layers + 1)
        return [file, *(buffer[:4] for buffer in self._place(0, self.layers))]

    def tensor(self, tensor: int, size: int) -> np.ndarray:
        """Return a trained tensor, int8 [size]."""
        return np.frombuffer(self._read(tensor, size, 0), np.int8)
