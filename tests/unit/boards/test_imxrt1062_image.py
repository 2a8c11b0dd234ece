"""The committed image of the imxrt1062 on the emulated chip: it comes up from every state in which a reset finds the chip, and its
headers are those that the boot ROM wants."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil import boards
from hil.images import image_of
from hil.link.frames import LinkFrame, parse
from hil.link.messages import decode, description, encode
from hil.standins.virtual.chip.imxrt1062.chip import Imxrt1062
from hil.standins.virtual.chip.machine import Pace

FLASH = 0x6000_0000
KB = 1024


class Teensy:
    """The emulated chip with the committed image in its flash."""

    def __init__(self, change: Callable[[bytearray], None] = lambda data: None) -> None:
        self.sent = bytearray()
        self.log: list[str] = []
        self.chip = Imxrt1062(
            np.random.default_rng(1), self.sent.append, lambda *_: None, self.log.append, boards.load("imxrt1062").baud
        )
        ((start, data),) = image_of("imxrt1062").segments
        changed = bytearray(data)
        change(changed)
        self.chip.flash.array[:] = 0xFF
        self.chip.flash.array[start - FLASH : start - FLASH + len(data)] = np.frombuffer(changed, np.uint8)
        self.chip.core.code_changed()
        self.chip.reset()
        self.rest()

    def rest(self) -> None:
        """Run until the program waits."""
        for _ in range(3000):
            if self.chip.advance() is Pace.WAIT:
                return
        pytest.fail("the program does not come to rest")

    def receive(self, data: bytes) -> None:
        """Let bytes come in and the program do what it does with them."""
        self.sent.clear()
        self.chip.serial.feed(data)
        self.rest()

    def ask(self, name: str, seq: int) -> list[LinkFrame | None]:
        """Send a request without a body; return what comes back."""
        self.receive(LinkFrame(description().requests[name].id, 0x42, seq).encode())
        return [parse(part) for part in bytes(self.sent).split(b"\0") if part]

    def hello(self) -> dict[str, Any]:
        """Greet the agent and return its reply."""
        messages = description()
        request = messages.requests["hello"]
        body = encode(request.request, {"nonce": 0x5EED_0042, "protocol": messages.protocol})
        self.receive(LinkFrame(request.id, 0x42, 0, body).encode())
        replies = [parse(part) for part in bytes(self.sent).split(b"\0") if part]
        assert len(replies) == 1 and replies[0] is not None, (self.log, self.sent)
        return decode(request.reply, replies[0].body)


def check(board: Teensy) -> None:
    """The agent runs at full speed and answers."""
    assert board.chip.fault is None, board.chip.fault
    said = board.hello()
    assert said["board"].rstrip(b"\0") == b"imxrt1062"
    assert said["clock_hz"] == board.chip.clock.hz == boards.load("imxrt1062").clock_hz
    assert said["image_digest"] == image_of("imxrt1062").digest
    assert all(
        "769231 baud" in line for line in board.log
    )  # of the boot ROM's clocks, where a reset has left the LPUART on


def test_it_boots_and_answers() -> None:
    board = Teensy()
    check(board)
    assert (board.chip.ccm.ipg_hz(), board.chip.dcdc.millivolt) == (150_000_000, 1250)


@pytest.mark.parametrize("reset", ["request_core_reset", "request_reset"])
def test_it_comes_up_again_from_its_own_state(reset: str) -> None:
    """A reset of the core finds the clocks at 600 MHz, the DMA running and the watchdogs stopped; one of the chip keeps FlexRAM."""
    board = Teensy()
    check(board)
    for _ in range(3):
        getattr(board.chip, reset)()
        board.chip.advance(1)
        board.rest()
        check(board)


def test_it_leaves_for_the_loader_chip_once_it_has_answered() -> None:
    board = Teensy()
    check(board)
    before = board.chip.clock.now
    assert board.ask("boot_loader", 1) == [LinkFrame(0x92, 0x42, 1)]
    assert board.chip.halting.halted and board.chip.clock.now - before >= 50e9, "a full queue had the time to leave"
    assert board.log[-1].endswith("has started the boot loader (BKPT #251): the board waits in HalfKay")
    assert board.ask("echo", 2) == [], "nobody is there any more"
    board.log.clear()
    board.chip.request_reset()  # what the loader chip does when a program is there
    board.chip.advance(1)
    board.rest()
    check(board)


@pytest.mark.parametrize("left_on", [0, 1])
def test_without_the_loader_chip_it_stays_or_a_probe_has_it(left_on: int) -> None:
    """A probe on the wires: with halting debug off a BKPT would be a fault, so the program refuses; with it on the core halts for the probe."""
    board = Teensy()
    board.chip.bus.debugger = True
    board.chip.bus.write(0xE000EDF0, 4, 0xA05F0000 | left_on)
    board.chip.bus.debugger = False
    check(board)
    (reply,) = board.ask("boot_loader", 1)
    messages = description()
    if left_on:
        assert reply == LinkFrame(0x92, 0x42, 1) and board.chip.halting.halted
    else:
        assert reply is not None and messages.errors[reply.body[0]] == "no_boot_loader"
        assert board.ask("echo", 2) == [LinkFrame(0x8C, 0x42, 2)]
    assert not any("loader chip" in line for line in board.log)


def test_it_leaves_flexram_as_its_linker_script_has_it() -> None:
    shares = Teensy().chip.gpr.shares()
    memory = {region.name: region.size for region in boards.load("imxrt1062").memory}
    assert (shares.itcm, shares.dtcm, 512 * KB + shares.ocram) == (memory["itcm"], memory["dtcm"], memory["ocram"])


def test_its_descriptor_survives_more_bytes_than_its_ring() -> None:
    """Noise of many lengths, each an empty or a broken frame: the agent answers all the same, and nothing is left behind in the ring."""
    board = Teensy()
    for length in (1, 511, 512, 513, 1023, 1024, 1025, 5000):
        board.receive(b"\0" * length)
    check(board)


@pytest.mark.parametrize(("offset", "what"), [(0, "configuration block"), (0x46, "clock"), (0x80, "read sequence"), (0x1000, "vector table"),
                                              (0x1010, "boot data"), (0x1014, "table gives"), (0x1026, "boot data"), (0x102F, "vector table")])  # fmt: skip
def test_a_header_with_a_wrong_byte_does_not_boot(offset: int, what: str) -> None:
    def damage(data: bytearray) -> None:
        data[offset] ^= 0xFF

    board = Teensy(damage)
    assert board.chip.asleep and board.chip.fault is None and len(board.log) == 1
    assert what in board.log[0] and "serial downloader" in board.log[0]


def test_its_headers_are_those_that_a_teensy_is_known_to_boot_from() -> None:
    """Offsets and values typed here from PJRC's public start-up code for the Teensy 4.0 (teensy4/bootdata.c); what may differ is named."""
    data = image_of("imxrt1062").segments[0][1]
    words = struct.unpack_from("<128I", data)
    assert words[0] == 0x42464346 and words[1] == 0x56010000 and words[3] == 0x00030301
    assert words[17] & 0xFFFF == 0x0401 and words[17] >> 16 & 0xFF <= 8, (
        "four pads, serial NOR; its clock may be slower"
    )
    assert words[20] == 0x00200000
    assert (words[32], words[33] & ~0xFF, words[34] & 0xFFFF) == (0x0A1804EB, 0x32041E00, 0x2604), (
        "the mode bits may differ"
    )
    assert (words[112], words[113], words[116]) == (256, 4096, 0x10000)
    header, entry, _, _, boot_data, self_ = struct.unpack_from("<6I", data, 0x1000)
    assert header & 0xF0FFFFFF == 0x402000D1 and self_ == 0x60001000 and boot_data == 0x60001020
    assert struct.unpack_from("<3I", data, 0x1020) == (FLASH, len(data), 0)
    stack, start = struct.unpack_from("<2I", data, entry - FLASH)
    symbols = image_of("imxrt1062").symbols
    assert (stack, start & ~1) == (symbols["__stack_top"], symbols["flexram_start"])


def test_header_and_catalogue_name_the_same_marker_and_baud() -> None:
    text = (Path(__file__).parents[3] / "firmware/ports/imxrt1062/board.h").read_text()
    constants = dict(re.findall(r"#define BOARD_(\w+) (\w+)", text))
    entry = boards.load("imxrt1062")
    assert entry.marker == f"{constants['MARKER_PORT']}_IO{int(constants['MARKER_PIN'].rstrip('u')):02}"
    assert entry.baud == int(constants["BAUD"].rstrip("u"))
