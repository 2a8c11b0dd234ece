"""The board as a trial uses it: one method for each request of the link."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hil.boards import Board
from hil.errors import Blocked, DeviceFault
from hil.images import Image
from hil.link import messages
from hil.link.failures import Refused
from hil.link.pending_request import RequestTime
from hil.link.replies import (
    AgentMemory,
    BoardCheckpoint,
    CountedWork,
    Identity,
    Inferred,
    Loaded,
    Planned,
    Saved,
    Stepped,
    bookings_of,
    checked,
    checkpoints_of,
    digests_of,
    laps_of,
    loaded_from,
    profile_of,
    sized,
    stretches_of,
)  # fmt: skip
from hil.link.session import Session, check_board_name
from hil.steady_clock import steady_s
from hil.training.methods.plan import MethodPlan
from hil.training.trial.batch import Batch
from hil.training.trial.kept import RAM, KeptSamples

BLOCK = 1000  # bytes in a frame that is sent alone
WINDOWED_BLOCK = 968  # so that 4 frames fill the smallest window of the agents, and 8 the others (docs/link.md)
TENSOR_BLOCK = 1024  # bytes
STEP_DEADLINE_S = 120.0
# above the slowest flash: 4 s for the STM32F746's sector, 400 ms for 4 KB of the RP2040's (data sheets)
SAVE_S, SAVE_S_PER_BYTE = 15.0, 45.0 / (256 << 10)
SLOWER_RUN = 4.0  # a step in a run may take this many times as long as the slowest single step before
ALL_STAGES = 0xFFFF
NEEDED_FOR = {  # what a trial cannot do if a firmware does not know the request (docs/own-firmware.md)
    "load_begin": "load the network", "load_data": "load the network", "load_end": "load the network",
    "configure": "set the method", "sample_part": "send a batch",
    "use_flash": "use a network in flash", "work": "count multiply-accumulates",
    "digests": "compare the weights", "samples": "send a batch", "step": "train",
    "keep": "keep the training samples on the board", "kept_samples": "name samples that the board keeps",
    "part": "train on a batch larger than the board holds", "infer": "evaluate",
    "run": "measure energy", "laps": "measure energy",
    "bookings": "measure latency", "marker": "mark its windows by pulses, which this meter needs",
    "mlperf_tiny": "serve MLPerf Tiny's runner",
    "memory": "read the watermarks", "read_tensor": "read weights", "write_tensor": "give the board weights",
    "trace": "find the layer that went wrong", "save_checkpoint": "keep checkpoints on the board",
    "load_checkpoint": "use checkpoints of the board",
}  # fmt: skip


class Device:
    """A board that is identified by catalogue entry and image.

    Args:
        session: greeted, such as `Dut.agent`.
        board: its catalogue entry.
        image: the program in its flash.

    Attributes:
        keeps: whether the board has the training samples.
        tensors: how many the firmware trains; known once it has network and settings.
        step_deadline_s: timeout of a step; raised for a method of many passes.

    Raises:
        Blocked: it is another board, or has another image than the one that was flashed.
    """

    def __init__(self, session: Session, board: Board, image: Image) -> None:
        self._session = session
        identity = Identity.of(session.greeting)
        check_board_name(session.greeting, board.name)
        if identity.image_digest != image.digest:
            raise Blocked(
                "identity",
                f"{board.name} runs another image (digest {identity.image_digest:08X}) than {image.path.name} "
                f"({image.digest:08X}): power the board down and up, and run again.",
            )
        session.check_line()
        self.identity, self.clock_hz = identity, identity.clock_hz
        self.tensors, self.keeps = 0, False
        self.step_deadline_s, self._slowest_step_s = STEP_DEADLINE_S, 0.0

    @property
    def took(self) -> RequestTime:
        """Duration of the last request."""
        return self._session.request_time

    @property
    def short_frames(self) -> bool:
        """Whether only frames of at most 64 bytes reach the board undamaged (`Session.check_line`)."""
        return self._session.short_frames

    @property
    def networked(self) -> bool:
        """Whether the board's serial port is on a network."""
        return self._session.networked

    def refusal(self, request: str, **values: Any) -> Refused | None:
        """Send a request by name; return the agent's refusal, None if it was carried out."""
        try:
            if messages.description().requests[request].windowed:
                self._session.stream(request, [values])
            else:
                self._session.request(request, deadline_s=self.step_deadline_s, **values)
        except Refused as refusal:
            return refusal
        return None

    def settle(self) -> None:
        """Wait until the agent has handled every frame that was sent again (`Session.settle`)."""
        self._session.settle()

    def load(self, blob: bytes) -> Loaded:
        """Send the network file; return the counts that the agent read in it."""
        self._send(blob)
        read = checked(Loaded, "load_end", self._session.request("load_end"))
        self.tensors = read.tensors
        return read

    def _send(self, data: bytes) -> None:
        """Send bytes to the start of the arena."""
        self._session.request("load_begin", total=len(data))
        block = self._session.block(WINDOWED_BLOCK)
        self._session.stream(
            "load_data", ({"offset": at, "data": data[at : at + block]} for at in range(0, len(data), block))
        )

    def keep(self, kept: KeptSamples) -> int:
        """Let the agent keep samples until the session ends: those in its flash, or these, which are sent to its RAM.

        A network has to be loaded afterwards. Returns the digest of what the agent keeps.
        """
        if kept.place == RAM:
            self._send(kept.data)
        reply = self._session.request("keep", address=kept.address, total=len(kept.data))
        self.keeps = True
        return int(reply["digest"])

    def take_network(self, image: Image, blob: bytes) -> Loaded:
        """Let the agent use the network in flash next to the image, or send it; return the counts that it read."""
        address = next((address for address, data in image.cargo if data == blob), None)
        if address is None:
            return self.load(blob)
        return checked(Loaded, "use_flash", self._session.request("use_flash", address=address, total=len(blob)))

    def write(self, tensor: int, data: bytes) -> None:
        """Write a trained tensor."""
        block = self._session.block(BLOCK)
        for at in range(0, len(data), block):
            self._session.request("write_tensor", tensor=tensor, offset=at, data=data[at : at + block])

    def work(self) -> CountedWork:
        """Return the multiply-accumulates and layer runs of the last step or run."""
        return checked(CountedWork, "work", self._session.request("work"))

    def configure(self, configuration: Mapping[str, Any]) -> Planned:
        """Send the settings, as `MethodRequest.configuration` returns them; return the agent's memory plan."""
        planned = Planned.of(self._session.request("configure", **configuration))
        self.tensors = planned.tensors
        return planned

    def send_weights(self, plan: MethodPlan, arrays: Sequence[np.ndarray], configuration: Mapping[str, Any]) -> None:
        """Configure the board with other weights; if settings choose what is trained, the rest of the network stays."""
        if not plan.chosen:
            self.load(plan.file(arrays))
        self.configure(configuration)
        self._write_all(arrays if plan.chosen else ())

    def begin(self, plan: MethodPlan, configuration: Mapping[str, Any]) -> Planned:
        """Configure the board with the method's first values, those too that the loaded network does not have."""
        planned = self.configure(configuration)
        self._write_all(plan.beside_file())
        return planned

    def _write_all(self, arrays: Sequence[np.ndarray]) -> None:
        for index, array in enumerate(arrays):
            self.write(index, array.astype(array.dtype.newbyteorder("<")).tobytes())

    def fill(self, batch: Batch) -> None:
        """Fill the slots with a batch: by the numbers of its samples if the board keeps them."""
        if batch.numbers is None or not self.keeps:
            self.samples(batch.images, batch.labels)
            return
        numbers, most = batch.numbers.tolist(), self._session.block(WINDOWED_BLOCK) // 4
        self._session.stream(
            "kept_samples",
            ({"slot": at, "numbers": numbers[at : at + most]} for at in range(0, len(numbers), most)),
        )

    def samples(self, images: np.ndarray, labels: np.ndarray) -> None:
        """Send a batch: images uint8 [n, height, width] or [n, height, width, channels], labels [n]."""
        filled = [
            ({"slot": slot, "label": int(label)}, image.tobytes())
            for slot, (image, label) in enumerate(zip(images, labels, strict=True))
        ]
        block = self._session.block(WINDOWED_BLOCK)
        if images[0].size <= block:
            self._session.stream("samples", (slot | {"pixels": pixels} for slot, pixels in filled))
            return
        pieces = (
            slot | {"offset": at, "pixels": pixels[at : at + block]}
            for slot, pixels in filled
            for at in range(0, len(pixels), block)
        )
        self._session.stream("sample_part", pieces)

    def step(self, step: int, count: int) -> Stepped:
        """Train one step on the samples that were sent; return losses, sign, cycles and digests."""
        began = steady_s()
        reply = self._session.request("step", deadline_s=self.step_deadline_s, step=step, count=count)
        self._slowest_step_s = max(self._slowest_step_s, steady_s() - began)
        return Stepped.of("step", reply, step, self.tensors)

    def part(self, step: int, number: int, first: int, count: int) -> int:
        """Run `count` samples of a batch through a pass of a step; return how many it has processed so far."""
        values = {"step": step, "pass": number, "first": first, "count": count}
        return int(self._session.request("part", deadline_s=self.step_deadline_s, **values)["done"])

    def run(self, step: int, steps: int, count: int, idle_ms: int, quiet_s: float) -> Stepped:
        """Train steps from index `step` on, on the `count` samples that were sent, between two edges of the marker.

        Args:
            idle_ms: sleep before and after the steps.
            quiet_s: seconds for which the line may be silent.

        Returns:
            The reply to the last step, with the cycles of all steps together.
        """
        each = SLOWER_RUN * self._slowest_step_s or self.step_deadline_s
        deadline_s = self.step_deadline_s + steps * each + SLOWER_RUN * 2 * idle_ms / 1000
        self.settle()  # a late copy of a frame would wake the core during the window
        reply = self._session.request("run", deadline_s, quiet_s, step=step, steps=steps, count=count, idle_ms=idle_ms)
        return Stepped.of("run", reply, step + steps - 1, self.tensors)

    def laps(self, steps: int) -> list[tuple[int, ...]]:
        """Return (perturb, forward, backward, update) cycles of each step of the last run, at most its first 32."""
        return laps_of(self._session.request("laps"), steps)

    def stretches(self) -> tuple[int, list[tuple[str, int]]]:
        """Return how many phase stretches the last step had, and phase and cycles of each; (0, []) if not known."""
        reply = self._request_if_known("stretches")
        return (0, []) if reply is None else stretches_of(reply)

    def mark_by_pulses(self) -> None:
        """Mark later windows by two falling pulses instead of two edges of a level."""
        self._session.request("marker", pulses=1)

    def bookings(self) -> tuple[int, ...]:
        """Return the cycles between two successive readings of the counter, measured many times."""
        return bookings_of(self._session.request("bookings"))

    def profile(self, layers: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return the cycles of every layer, forward and backward; None from an older firmware."""
        reply = self._request_if_known("profile")
        return None if reply is None else profile_of(reply, layers)

    def _request_if_known(self, name: str) -> Mapping[str, Any] | None:
        """Return the reply to a request; None if the firmware does not know the request."""
        try:
            return self._session.request(name)
        except Refused as refusal:
            if refusal.code != "unknown_request":
                raise
            return None

    def infer(self, count: int, classes: int) -> Inferred:
        """Classify the samples that were sent, by a network with so many classes."""
        reply = self._session.request("infer", deadline_s=self.step_deadline_s, count=count)
        return Inferred.of(reply, count, classes)

    def trace(self, slot: int, stages: int) -> tuple[int, ...]:
        """Return the digest of every stage of one sample (docs/link.md, `trace`); nothing is updated."""
        return struct.unpack(f"<{stages}I", sized("trace", "data", self._traced(slot, ALL_STAGES, 0), 4 * stages))

    def stage(self, slot: int, stage: int, size: int) -> bytes:
        """Fetch the `size` bytes of one stage of a sample: int8 values, then the exponent."""
        return _in_blocks("trace", size, BLOCK, lambda at, _: self._traced(slot, stage, at))

    def _traced(self, slot: int, stage: int, offset: int) -> bytes:
        values = {"slot": slot, "stage": stage, "offset": offset}
        data: bytes = self._session.request("trace", deadline_s=self.step_deadline_s, **values)["data"]
        return data

    def digests(self) -> tuple[int, ...]:
        """Return the digest of every trained tensor."""
        return digests_of("digests", self._session.request("digests")["digests"], self.tensors)

    def tensor(self, tensor: int, size: int) -> bytes:
        """Fetch a trained tensor of `size` bytes."""

        def block(at: int, length: int) -> bytes:
            data: bytes = self._session.request("read_tensor", tensor=tensor, offset=at, length=length)["data"]
            return data

        return _in_blocks("read_tensor", size, self._session.block(TENSOR_BLOCK), block)

    def checkpoints(self) -> tuple[int, list[BoardCheckpoint]]:
        """Return the bytes that a checkpoint slot holds (0: no slots), and the valid checkpoints, newest first."""
        reply = self._request_if_known("checkpoints")
        return (0, []) if reply is None else checkpoints_of(reply)

    def save_checkpoint(self, campaign: int, step: int, size: int) -> int:
        """Write the board's trained tensors, `size` bytes, to a slot of its flash; return the sequence number."""
        deadline_s = SAVE_S + size * SAVE_S_PER_BYTE
        reply = self._session.request("save_checkpoint", deadline_s=deadline_s, campaign=campaign, step=step)
        return Saved.of(reply, size).sequence

    def load_checkpoint(self, slot: BoardCheckpoint) -> None:
        """Copy a slot of the board's flash over its trained tensors."""
        loaded_from(self._session.request("load_checkpoint", sequence=slot.sequence), slot)

    def memory(self) -> AgentMemory:
        """Return the agent's watermarks."""
        return AgentMemory.of(self._session.request("memory"))

    def mlperf_tiny(self, model: str, energy: bool, task: int) -> None:
        """Let the agent answer MLPerf Tiny's serial commands until the next session begins."""
        self._session.request("mlperf_tiny", energy=int(energy), task=task, model=model.encode())

    def echo(self, data: bytes) -> bytes:
        """Send bytes that the agent echoes; return the echo."""
        echoed: bytes = self._session.request("echo", data=data)["data"]
        return echoed


def _in_blocks(request: str, size: int, block: int, fetch: Callable[[int, int], bytes]) -> bytes:
    """Fetch `size` bytes by `fetch(offset, length)`, at most `block` at a time; check the length of each block."""
    lengths = ((at, min(block, size - at)) for at in range(0, size, block))
    return b"".join(sized(request, "data", fetch(at, length), length) for at, length in lengths)


@contextlib.contextmanager
def refusals(planned: int) -> Iterator[None]:
    """Turn a refusal of the agent into Blocked or DeviceFault; `planned` as of `refused`."""
    try:
        yield
    except Refused as refusal:
        raise refused(refusal, planned) from refusal


def refused(refusal: Refused, planned: int) -> DeviceFault | Blocked:
    """Return the error for a refusal: Blocked if the network does not fit, else a fault of the firmware.

    `planned` bytes of arena are what docs/memory.md gives: an agent that wants more has planned wrongly.
    """
    if refusal.code == "does_not_fit" and refusal.a > planned:
        return DeviceFault(
            f"the agent plans {refusal.a:,} bytes of arena, but docs/memory.md gives {planned:,}; so it refuses the "
            f"network, for which its arena of {refusal.b:,} has room."
        )
    if refusal.code == "does_not_fit":
        return Blocked(
            "plan",
            f"the network needs {refusal.a:,} bytes of an arena of {refusal.b:,}: "
            "choose a smaller batch or a variant that trains less.",
        )
    if refusal.code == "unknown_request":
        return DeviceFault(
            f"the firmware does not know the request {refusal.request!r}, "
            f"without which the trial cannot {NEEDED_FOR.get(refusal.request, 'go on')}: "
            "add it to the firmware, or request a trial that does not need it (docs/own-firmware.md)."
        )
    return DeviceFault(str(refusal))
