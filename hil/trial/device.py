"""The board as a trial uses it: every request of the link under the name of what it is for."""

from __future__ import annotations

import struct
import time

import numpy as np

from hil.boards import Board, Image
from hil.errors import Blocked, DeviceFault
from hil.link.failures import Refused
from hil.link.replies import (
    BoardCheckpoint,
    Identity,
    Inferred,
    Loaded,
    Memory,
    Planned,
    Saved,
    Stepped,
    Work,
    bookings_of,
    checkpoints_of,
    digests_of,
    laps_of,
    loaded_from,
    profile_of,
    sized,
    stretches_of,
)  # fmt: skip
from hil.link.session import Session
from hil.link.waiting import RequestTime
from hil.trial.subject.subject import Configuration

BLOCK = 1000  # bytes of the network a frame
TENSOR_BLOCK = 1024
SAMPLE_BLOCK = 1000  # pixels a frame
STEP_DEADLINE_S = 120.0
SAVE_S, SAVE_S_PER_BYTE = (
    15.0,
    45.0 / (256 << 10),
)  # above the slowest flash: 4 s for the STM32F746's sector, 400 ms for 4 KB beside the RP2040 (data sheets)
SLOWER_RUN = 4.0  # so much longer than the slowest step before may each step of a run take
ALL_STAGES = 0xFFFF
NEEDED_FOR = {  # what a trial cannot do where a firmware does not know the request (docs/own-firmware.md)
    "load_begin": "load the network", "load_data": "load the network", "load_end": "load the network",
    "configure": "set the method", "configure_graph": "set the method", "sample_part": "send a batch",
    "use_flash": "use a network in flash", "work": "count multiply-accumulates",
    "digests": "compare the weights", "samples": "send a batch", "step": "train",
    "part": "train on a batch larger than the board holds", "infer": "evaluate", "run": "measure energy", "laps": "measure energy",
    "bookings": "measure latency", "marker": "mark its windows by pulses, which this meter wants", "mlperf_tiny": "serve MLPerf Tiny's runner",
    "memory": "read the watermarks", "read_tensor": "read weights", "write_tensor": "give the board weights",
    "trace": "find the layer that went wrong", "save_checkpoint": "keep checkpoints on the board", "load_checkpoint": "use checkpoints of the board",
}  # fmt: skip


class Device:
    """An agent that has been greeted and identified.

    Args:
        session: an open session, not yet greeted.
        board: what the catalogue says the board is.
        image: what it should be running.

    Attributes:
        step_deadline_s: seconds after which a step that has not ended is given up; a method of many passes sets it higher.

    Raises:
        Blocked: no answer, another board, or another image than the one that was flashed.
    """

    def __init__(self, session: Session, board: Board, image: Image) -> None:
        self._session = session
        identity = Identity.of(session.hello())
        if identity.board != board.name:
            raise Blocked(
                "identity",
                f"the board says it is {identity.board!r}, not {board.name!r}: put rig.toml right before anything is flashed.",
            )
        if identity.image_digest != image.digest:
            raise Blocked(
                "identity",
                f"{board.name} runs another image (digest {identity.image_digest:08X}) than {image.path.name} ({image.digest:08X}): "
                "power the board down and up, and run again.",
            )
        session.check_line()
        self.clock_hz = identity.clock_hz
        self._tensors = 0
        self.step_deadline_s, self._slowest_step_s = STEP_DEADLINE_S, 0.0
        self.identity = identity

    @property
    def tensors(self) -> int:
        """How many tensors the firmware trains, once it has network and settings."""
        return self._tensors

    @property
    def took(self) -> RequestTime:
        """What the last request took."""
        return self._session.request_time

    def settle(self) -> None:
        """Wait until the agent has handled every frame that was sent again (`Session.settle`)."""
        self._session.settle()

    def load(self, blob: bytes) -> Loaded:
        """Send the network; return what the agent read in it."""
        self._session.request("load_begin", total=len(blob))
        self._session.stream(
            "load_data", ({"offset": at, "data": blob[at : at + BLOCK]} for at in range(0, len(blob), BLOCK))
        )
        read = Loaded.of("load_end", self._session.request("load_end"))
        self._tensors = read.tensors
        return read

    def use_flash(self, address: int, total: int) -> Loaded:
        """Let the agent use a network that lies in flash; return what it read in it."""
        return Loaded.of("use_flash", self._session.request("use_flash", address=address, total=total))

    def take_network(self, image: Image, blob: bytes) -> Loaded:
        """Let the agent use the network that lies in flash beside the image, or send it where there is none; return what it read."""
        if image.cargo:
            (address, data), *_ = image.cargo
            return self.use_flash(address, len(data))
        return self.load(blob)

    def write(self, tensor: int, data: bytes) -> None:
        """Write a trained tensor of the second family."""
        for at in range(0, len(data), BLOCK):
            self._session.request("write_tensor", tensor=tensor, offset=at, data=data[at : at + BLOCK])

    def work(self) -> Work:
        """Return the multiply-accumulates and layer runs of the last step or run."""
        return Work.of(self._session.request("work"))

    def configure(self, wanted: Configuration) -> Planned:
        """Send the settings. Return the agent's memory plan."""
        planned = Planned.of(wanted.request, self._session.request(wanted.request, **wanted.fields))
        self._tensors = self._tensors if planned.tensors is None else planned.tensors
        return planned

    def samples(self, images: np.ndarray, labels: np.ndarray) -> None:
        """Stream a batch: images uint8 [n, height, width] or [n, height, width, channels], labels [n]."""
        filled = [
            ({"slot": slot, "label": int(label)}, image.tobytes())
            for slot, (image, label) in enumerate(zip(images, labels, strict=True))
        ]
        if images[0].size <= SAMPLE_BLOCK:
            self._session.stream("samples", (slot | {"pixels": pixels} for slot, pixels in filled))
            return
        pieces = (
            slot | {"offset": at, "pixels": pixels[at : at + SAMPLE_BLOCK]}
            for slot, pixels in filled
            for at in range(0, len(pixels), SAMPLE_BLOCK)
        )
        self._session.stream("sample_part", pieces)

    def step(self, step: int, count: int) -> Stepped:
        """Train one step on the samples that were streamed; return losses, sign, cycles and digests."""
        began = time.monotonic()
        reply = self._session.request("step", deadline_s=self.step_deadline_s, step=step, count=count)
        self._slowest_step_s = max(self._slowest_step_s, time.monotonic() - began)
        return Stepped.of("step", reply, step, self._tensors)

    def part(self, step: int, number: int, first: int, count: int) -> int:
        """Take the streamed samples, `count` from `first` on of the batch, through pass `number` of a step; return how many the pass has had by now."""
        values = {"step": step, "pass": number, "first": first, "count": count}
        return int(self._session.request("part", deadline_s=self.step_deadline_s, **values)["done"])

    def run(self, step: int, steps: int, count: int, idle_ms: int, quiet_s: float) -> Stepped:
        """Train `steps` steps on the streamed samples between two edges of the marker; the line is silent for `quiet_s`. Cycles are of all steps together."""
        deadline_s = self._run_deadline_s(steps, idle_ms)
        self.settle()  # a late copy of a frame would wake the core in the window
        reply = self._session.request("run", deadline_s, quiet_s, step=step, steps=steps, count=count, idle_ms=idle_ms)
        return Stepped.of("run", reply, step + steps - 1, self._tensors)

    def _run_deadline_s(self, steps: int, idle_ms: int) -> float:
        """Return when a run that has not ended is given up: by the slowest step so far, where there was one."""
        each = SLOWER_RUN * self._slowest_step_s or self.step_deadline_s
        return self.step_deadline_s + steps * each + SLOWER_RUN * 2 * idle_ms / 1000

    def laps(self, steps: int) -> list[tuple[int, ...]]:
        """Return the cycles of each step of the last run, which had so many, of its first 32 at most: perturb, forward, backward, update."""
        return laps_of(self._session.request("laps"), steps)

    def stretches(self) -> tuple[int, list[tuple[str, int]]]:
        """Return how many stretches of a phase the last step had, and phase and cycles of those that are told, in order; none from an older firmware."""
        try:
            reply = self._session.request("stretches")
        except Refused as refusal:
            if refusal.code != "unknown_request":
                raise
            return 0, []
        return stretches_of(reply)

    def mark_by_pulses(self) -> None:
        """From now on windows lie between two falling pulses of the marker, not between two edges of a level."""
        self._session.request("marker", pulses=1)

    def bookings(self) -> tuple[int, ...]:
        """Return the cycles between two readings of the counter with nothing between them, many times."""
        return bookings_of(self._session.request("bookings"))

    def profile(self, layers: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return the cycles of every layer in the last step or run: forward and backward; None from a firmware that does not count them."""
        try:
            reply = self._session.request("profile")
        except Refused as refusal:
            if refusal.code != "unknown_request":
                raise
            return None
        return profile_of(reply, layers)

    def infer(self, count: int) -> Inferred:
        """Classify the samples that were streamed."""
        return Inferred.of(self._session.request("infer", deadline_s=self.step_deadline_s, count=count), count)

    def trace(self, slot: int, stages: int) -> tuple[int, ...]:
        """Return the digest of every stage of one sample (docs/link.md, `trace`); nothing is updated."""
        data = self._session.request("trace", deadline_s=self.step_deadline_s, slot=slot, stage=ALL_STAGES, offset=0)[
            "data"
        ]
        return struct.unpack(f"<{stages}I", sized("trace", "data", data, 4 * stages))

    def stage(self, slot: int, stage: int, size: int) -> bytes:
        """Fetch the `size` bytes of one stage of a sample: int8 values, then the exponent."""
        blocks = []
        for at in range(0, size, BLOCK):
            reply = self._session.request("trace", deadline_s=self.step_deadline_s, slot=slot, stage=stage, offset=at)
            blocks.append(sized("trace", "data", reply["data"], min(BLOCK, size - at)))
        return b"".join(blocks)

    def digests(self) -> tuple[int, ...]:
        """Return the digest of every trained tensor."""
        return digests_of("digests", self._session.request("digests")["digests"], self._tensors)

    def tensor(self, tensor: int, size: int) -> bytes:
        """Fetch a trained tensor of `size` bytes."""
        blocks = []
        for at in range(0, size, TENSOR_BLOCK):
            length = min(TENSOR_BLOCK, size - at)
            reply = self._session.request("read_tensor", tensor=tensor, offset=at, length=length)
            blocks.append(sized("read_tensor", "data", reply["data"], length))
        return b"".join(blocks)

    def checkpoints(self) -> tuple[int, list[BoardCheckpoint]]:
        """Return the bytes of tensors that a checkpoint slot of the board holds, and the slots that are whole, the newest first; no bytes: no slots."""
        try:
            reply = self._session.request("checkpoints")
        except Refused as refusal:
            if refusal.code != "unknown_request":
                raise
            return 0, []  # an older firmware, or one of somebody's own
        return checkpoints_of(reply)

    def save_checkpoint(self, campaign: int, step: int, size: int) -> int:
        """Let the board write its trained tensors, `size` bytes, to a slot; return the sequence number."""
        deadline_s = SAVE_S + size * SAVE_S_PER_BYTE
        reply = self._session.request("save_checkpoint", deadline_s=deadline_s, campaign=campaign, step=step)
        return Saved.of(reply, size).sequence

    def load_checkpoint(self, slot: BoardCheckpoint) -> None:
        """Let the board copy a slot over its trained tensors."""
        loaded_from(self._session.request("load_checkpoint", sequence=slot.sequence), slot)

    def memory(self) -> Memory:
        """Return the agent's watermarks."""
        return Memory.of(self._session.request("memory"))

    def mlperf_tiny(self, model: str, energy: bool) -> None:
        """Let the agent answer MLPerf Tiny's serial commands until the next session begins."""
        self._session.request("mlperf_tiny", energy=int(energy), model=model.encode())

    def echo(self, data: bytes) -> bytes:
        """Send bytes there and back."""
        return self._session.request("echo", data=data)["data"]


def refused(refusal: Refused) -> DeviceFault | Blocked:
    """Say of a refusal whose fault it is: a network that does not fit is the rig's to find before, all else is the firmware's."""
    if refusal.code == "does_not_fit":
        return Blocked(
            "plan",
            f"the network needs {refusal.a:,} bytes of an arena of {refusal.b:,}: choose a smaller batch or a variant that trains less.",
        )
    if refusal.code == "unknown_request":
        return DeviceFault(
            f"the firmware does not know the request {refusal.request!r}, without which the trial cannot {NEEDED_FOR.get(refusal.request, 'go on')}: "
            "add it to the firmware, or ask for a trial that does without (docs/own-firmware.md)."
        )
    return DeviceFault(str(refusal))
