"""The committed images on emulated chips whose supply fails while they write a checkpoint: the older slot is whole, and the board trains on from it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hil import boards
from hil.images import image_of
from hil.link.frames import LinkFrame, parse
from hil.link.messages import decode, description, encode
from hil.link.replies import BoardCheckpoint, checkpoints_of
from hil.standins.virtual import boards as virtual
from hil.standins.virtual.chip.flash_power import FlashCut
from hil.standins.virtual.chip.machine import Pace
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.methods.settings import configure_fields
from tests.faults.fuzz.sessions import lenet_like

MESSAGES = description()
CONFIGURE = {
    "method": 3, "partition": 1, "b_zo": 1, "b_bp": 5, "p_zero": 84, "r_max": 7, "loss": 0, "scope": 0, "perturb": 0, "logit_error": 0, "loss_fraction": 0, "batch": 2,
    "seed": 99, "slots": 2, "first_step": 0,
}  # fmt: skip
BYTES, HEADER, CAMPAIGN = 64, 36, 0xCAFE
SLICES = 20_000


@dataclass(frozen=True)
class Slots:
    """What a board's flash for checkpoints is like, by its manual: address, bytes of a slot, bytes that are programmed at once."""

    address: int
    size: int
    unit: int

    @property
    def operations(self) -> int:
        """Of a checkpoint of BYTES: one piece is erased, tensors and header are programmed."""
        return 1 + -(-BYTES // self.unit) + -(-HEADER // self.unit)


SLOTS = {
    "stm32h7b3": Slots(0x0818_0000, 0x4_0000, 16), "stm32f746": Slots(0x0808_0000, 0x4_0000, 4), "nrf52840": Slots(0x000C_0000, 0x2_0000, 4),
    "rp2040": Slots(0x1018_0000, 0x4_0000, 256), "rp2350": Slots(0x1038_0000, 0x4_0000, 256),
}  # fmt: skip


class Silent(Exception):
    """No reply came before the program rested, or the supply failed."""


class Emulated:
    """A board with its committed image, and a host at its serial port."""

    def __init__(self, board: str) -> None:
        self.sent, self.log = bytearray(), list[str]()
        self.chip = virtual.load(board).build(
            np.random.default_rng(1), self.sent.append, lambda *_: None, self.log.append
        )
        flash = max(
            (memory for memory in boards.load(board).memory if memory.kind == "flash"), key=lambda memory: memory.size
        )
        self.base, self.failed, self.nonce = flash.start, False, 0x5EED_0042
        self.chip.contents[:] = 0xFF
        for address, data in image_of(board).segments:
            self.chip.contents[address - flash.start : address - flash.start + len(data)] = np.frombuffer(
                data, np.uint8
            )
        self.chip.core.code_changed()
        self.chip.power_on()

    def cut(self, address: int, operation: int) -> None:
        """Let the supply fail in an operation."""

        def supply_fails() -> None:
            self.failed = True
            self.chip.brown_out(np.random.default_rng(operation))

        self.chip.flash_power.cut_short(FlashCut(address, operation, supply_fails))

    def flash(self) -> np.ndarray:
        """Return what the flash holds, whatever a cache has of it."""
        data = self.chip.core.load_main(self.base, self.chip.contents.size, "a test")
        return np.frombuffer(data, np.uint8)

    def put(self, contents: np.ndarray) -> None:
        """Put contents into the flash while the board has no power, so that no cache has others."""
        self.chip.show_main()
        self.chip.contents[:] = contents
        self.chip.core.code_changed()
        self.chip.brown_out(np.random.default_rng(7))

    def rest(self) -> None:
        """Run until the program waits and has nothing more to send."""
        for _ in range(SLICES):
            if self.chip.advance() is Pace.WAIT:
                assert self.chip.fault is None, (self.log, self.chip.fault)
                return
        raise AssertionError((self.log, self.chip.fault))

    def hello(self) -> None:
        """Begin a session."""
        self.rest()
        self.seq, self.nonce = -1, self.nonce + 1
        self.sent.clear()
        self.call("hello", nonce=self.nonce, protocol=MESSAGES.protocol)

    def call(self, name: str, **values: Any) -> dict[str, Any]:
        """Send a request; return its reply, or of an error its code by name."""
        request = MESSAGES.requests[name]
        self.seq += 1
        self.chip.serial.feed(
            LinkFrame(request.id, self.nonce & 0xFF, self.seq, encode(request.request, values)).encode()
        )
        self.rest()
        frames = [frame for frame in map(parse, bytes(self.sent).split(b"\0")) if frame is not None]
        self.sent.clear()
        if self.failed:
            raise Silent
        last = frames[-1]
        if last.type == MESSAGES.controls["error"].id:
            return {"error": MESSAGES.errors[last.body[0]]}
        return {} if request.windowed else decode(request.reply, last.body)

    def ready(self, first_step: int = 0) -> None:
        """Begin a session with a network and settings."""
        self.hello()
        blob = lenet_like()
        self.call("load_begin", total=len(blob))
        self.call("load_data", offset=0, data=blob)
        self.call("load_end")
        fields = configure_fields(ElasticZoSettings.table, CONFIGURE | {"first_step": first_step})
        assert "error" not in self.call("configure", **fields)

    def train(self, step: int) -> tuple[int, ...]:
        """Train a step; return the digests after it."""
        for slot in range(2):
            self.call(
                "samples",
                slot=slot,
                label=slot,
                pixels=bytes((step * 91 + slot * 17 + i * 13) % 256 for i in range(16)),
            )
        digests: tuple[int, ...] = self.call("step", step=step, count=2)["digests"]
        return digests

    def save(self, step: int) -> dict[str, Any]:
        """Let it write a checkpoint before a step."""
        return self.call("save_checkpoint", campaign=CAMPAIGN, step=step)

    def checkpoints(self) -> tuple[int, list[BoardCheckpoint]]:
        """Return the room of a slot and what is whole, the newest first."""
        return checkpoints_of(self.call("checkpoints"))


@pytest.fixture(autouse=True)
def _virtual() -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")


def with_two(board: str) -> tuple[Emulated, list[tuple[int, ...]]]:
    """Return a board with checkpoints before steps 1 and 2, and the digests after steps 0, 1 and 2."""
    emulated = Emulated(board)
    emulated.ready()
    digests = []
    for step in range(2):
        digests.append(emulated.train(step))
        assert emulated.save(step + 1) == {"sequence": step + 1, "slot": step, "bytes": BYTES}
    return emulated, [*digests, emulated.train(2)]


@pytest.mark.parametrize("board", SLOTS)
def test_the_two_newest_are_there_after_a_power_cut_and_are_trained_on_from(board: str) -> None:
    emulated, digests = with_two(board)
    slots = SLOTS[board]
    emulated.chip.switch(False, np.random.default_rng(2))
    emulated.chip.switch(True, np.random.default_rng(2))
    emulated.ready(first_step=2)
    room, found = emulated.checkpoints()
    assert (room, [(one.sequence, one.slot, one.step, one.campaign) for one in found]) == (
        slots.size - max(64, slots.unit), [(2, 1, 2, CAMPAIGN), (1, 0, 1, CAMPAIGN)],
    )  # fmt: skip
    at = slots.address - emulated.base
    assert struct.unpack_from("<II", emulated.flash(), at) == (0x4B504354, 1), (
        "the slots are where the manual's map says"
    )
    assert struct.unpack_from("<II", emulated.flash(), at + slots.size) == (0x4B504354, 2)
    for sequence, after in ((1, digests[0]), (2, digests[1])):
        assert emulated.call("load_checkpoint", sequence=sequence)["step"] == sequence
        assert emulated.call("digests")["digests"] == after
    assert emulated.train(2) == digests[2]


@pytest.mark.parametrize("board", SLOTS)
def test_a_supply_that_fails_in_any_operation_loses_that_slot_only(board: str) -> None:
    """In the erase, in the tensors, in the header: the newest before is whole, what was being written is whole or does not count."""
    emulated, digests = with_two(board)
    slots = SLOTS[board]
    before = emulated.flash()
    header = -(-HEADER // slots.unit)
    operations = {
        1,
        2,
        (2 + slots.operations - header) // 2,
        slots.operations - header,
        *range(slots.operations - header + 1, slots.operations + 1),
    }
    ends = []
    for operation in sorted(operations):
        emulated.put(before)
        emulated.ready(first_step=2)
        emulated.call("load_checkpoint", sequence=2)
        assert emulated.train(2) == digests[2]
        emulated.cut(slots.address, operation)
        with pytest.raises(Silent):
            emulated.save(3)
        emulated.failed = False
        emulated.ready(first_step=2)
        found = emulated.checkpoints()[1]
        assert found[-1].sequence == 2 and [one.sequence for one in found] in ([2], [3, 2])
        ends.append(len(found))
        assert emulated.call("load_checkpoint", sequence=2)["step"] == 2
        assert emulated.call("digests")["digests"] == digests[1]
        assert emulated.train(2) == digests[2], "it trains on from the older slot as if nothing had been"
        assert emulated.save(3) == {
            "sequence": (found[0].sequence + 1),
            "slot": 0 if len(found) == 1 else 1,
            "bytes": BYTES,
        }
    assert ends[:-1] == [1] * (len(ends) - 1)


@pytest.mark.parametrize("board", SLOTS)
def test_a_damaged_checkpoint_does_not_count(board: str) -> None:
    emulated, _ = with_two(board)
    slots = SLOTS[board]
    newest = slots.address - emulated.base + slots.size
    before = emulated.flash()
    for at in (
        newest + 4,
        newest + 16,
        newest + 35,
        newest + max(64, slots.unit),
        newest + max(64, slots.unit) + BYTES - 1,
    ):
        damaged = before.copy()
        damaged[at] ^= 0x10
        emulated.put(damaged)
        emulated.ready()
        assert [one.sequence for one in emulated.checkpoints()[1]] == [1], hex(at)


def test_what_was_cached_of_a_slot_is_dropped_when_it_is_written() -> None:
    """The worst legal cache holds every line of the slots, which on stm32f746 are read through it (ARM DDI 0489)."""
    emulated = Emulated("stm32f746")
    emulated.ready()
    assert emulated.save(1)["slot"] == 0
    assert [one.sequence for one in emulated.checkpoints()[1]] == [1]


def test_the_rp2040_reads_its_flash_over_four_lines_again_after_it_was_written() -> None:
    """The boot ROM's functions end that mode; the driver calls a copy of the second stage of the boot (flash.c)."""
    flash = with_two("rp2040")[0].chip.flash
    assert flash.continuous


@pytest.mark.parametrize("board", ["imxrt1062"])
def test_a_board_without_a_driver_says_that_it_has_no_slots(board: str) -> None:
    emulated = Emulated(board)
    emulated.ready()
    assert emulated.checkpoints() == (0, [])
    assert emulated.save(0) == {"error": "no_room"}
