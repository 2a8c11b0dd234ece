"""The committed image of the nrf52840 on the emulated chip: how it starts, what it does to the debug port, and that it loses no byte."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil import boards
from hil.images import image_of
from hil.link.frames import LinkFrame, parse
from hil.link.messages import decode, description, encode
from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.nrf52840.chip import VARIANT, Nrf52840

BYTE_PS = 10**13 // 1_000_000
APPROTECT = 0x208 >> 2
OPEN, ERASED, CLOSED = 0xFFFFFF5A, 0xFFFFFFFF, 0xFFFFFF00
CHUNK = 256  # uart.c


class Dk:
    """The emulated chip with the committed image in its flash, as it is when power comes."""

    def __init__(self, variant: str = VARIANT, approtect: int = OPEN) -> None:
        self.sent = bytearray()
        self.log: list[str] = []
        self.chip = Nrf52840(
            np.random.default_rng(1),
            self.sent.append,
            lambda *_: None,
            self.log.append,
            boards.load("nrf52840").baud,
            variant,
        )
        for address, data in image_of("nrf52840").segments:
            self.chip.nvmc.array[address : address + len(data)] = np.frombuffer(data, np.uint8)
        self.chip.core.code_changed()
        self.chip.uicr.words[APPROTECT] = approtect
        self.chip.power_on()
        self.rest()

    def rest(self) -> None:
        """Run until the program waits."""
        for _ in range(5000):
            if self.chip.advance() is Pace.WAIT:
                assert self.chip.fault is None, self.log
                return
        pytest.fail("the program does not come to rest")

    def hello(self, before: tuple[bytes, ...] = (), gaps: tuple[int, ...] = ()) -> dict[str, Any]:
        """Greet the agent, behind frames that mean nothing to it, in pieces with silences in between; return its reply."""
        messages = description()
        request = messages.requests["hello"]
        body = encode(request.request, {"nonce": 0x5EED_0042, "protocol": messages.protocol})
        noise = b"".join(b"\0" + piece.replace(b"\0", b"\1") + b"\0" for piece in before)
        data = noise + b"\0" + LinkFrame(request.id, 0x42, 0, body).encode()
        self.sent.clear()
        size = len(data) // (len(gaps) + 1) + 1
        for start, gap in zip(range(0, len(data), size), (*gaps, 0), strict=False):
            self.chip.uarte0.feed(data[start : start + size])
            until = self.chip.uarte0.stream_end + gap
            while self.chip.clock.now < until and self.chip.advance() is not Pace.WAIT:
                pass
            self.chip.clock.sleep_until(until)
        self.rest()
        *_, reply, behind = bytes(self.sent).split(b"\0")
        assert not behind, self.log
        frame = parse(reply)
        assert frame is not None
        return decode(request.reply, frame.body)


def test_the_agent_comes_up() -> None:
    dk = Dk()
    said, entry = dk.hello(), boards.load("nrf52840")
    assert said["board"].rstrip(b"\0") == b"nrf52840"
    assert said["image_digest"] == image_of("nrf52840").digest
    assert said["clock_hz"] == entry.clock_hz == dk.chip.clock.hz
    assert dk.chip.power.crystal()


def test_it_tells_the_j_link_that_nobody_controls_the_flow() -> None:
    """SEGGER's wiki, J-Link OB SAM3U NordicSemi: a CTS that is high before the first character turns flow control off; P0.05 is its CTS
    (Nordic, nRF52840 DK, virtual serial port)."""
    port = Dk().chip.ports[0]
    assert port.value["DIR"] >> 5 & 1 and port.value["OUT"] >> 5 & 1, "high"
    assert not port.value["DIR"] >> 7 & 1, "P0.07 is driven by the J-Link"


def test_it_comes_up_again_after_a_soft_reset_in_the_middle_of_anything() -> None:
    dk = Dk()
    dk.chip.uarte0.feed(b"\1" * 300)
    for _ in range(5):
        dk.chip.advance()
    dk.chip.request_reset()
    dk.rest()
    assert dk.hello()["board"].rstrip(b"\0") == b"nrf52840"


@pytest.mark.parametrize(
    ("variant", "before", "after", "locked"),
    [
        ("AAC0", ERASED, ERASED, False),  # open before build code F, where 0x5A would close it
        ("AAD0", CLOSED, CLOSED, True),
        ("AAF0", OPEN, OPEN, False),
        ("AAF0", ERASED, OPEN, False),  # written once, and the chip reset
        ("AAF0", CLOSED, CLOSED, True),  # somebody's decision
        ("BBG1", ERASED, OPEN, False),
        ("\xff\xff\xff\xff", OPEN, OPEN, True),  # says nothing about itself: nothing is written
    ],
)
def test_the_debug_port_is_kept_as_uicr_says(variant: str, before: int, after: int, locked: bool) -> None:
    dk = Dk(variant, before)
    assert dk.chip.uicr.words[APPROTECT] == after
    dk.chip.power_on()
    dk.rest()
    assert dk.chip.protection.locked is locked
    assert dk.chip.uicr.words[APPROTECT] == after
    assert dk.hello()["board"].rstrip(b"\0") == b"nrf52840"


# receiving


@pytest.fixture(scope="module")
def running() -> Dk:
    """A board whose receiver must never be stopped."""
    dk = Dk()
    dk.chip.uarte0.task_stoprx = lambda _: pytest.fail("the receiver is begun again")  # type: ignore[method-assign]
    return dk


@settings(deadline=None, max_examples=25)
@given(
    before=st.lists(st.binary(min_size=1, max_size=900), max_size=4).map(tuple),
    gaps=st.lists(st.integers(0, 40 * 10**6), max_size=5).map(tuple),
)
def test_no_byte_is_lost_whatever_the_bursts_and_silences(
    running: Dk, before: tuple[bytes, ...], gaps: tuple[int, ...]
) -> None:
    """The greeting arrives whole behind any number of bytes, at any place in the two chunks, with gaps up to 40 us."""
    assert running.hello(before, gaps)["board"].rstrip(b"\0") == b"nrf52840"


@pytest.mark.parametrize("length", [1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 3])
def test_a_damaged_character_costs_its_frame_and_no_more(length: int) -> None:
    dk = Dk()
    dk.chip.uarte0.feed(b"\1" * length)
    dk.rest()
    dk.chip.uarte0.damage()
    dk.rest()
    assert dk.chip.bus.read(0x40002480, 4) == 0, "ERRORSRC is cleared"
    assert dk.hello()["board"].rstrip(b"\0") == b"nrf52840"


@pytest.mark.parametrize("length", [2 * CHUNK + 10, 3 * CHUNK, 4 * CHUNK + 100])
def test_a_handler_that_comes_too_late_costs_frames_and_no_more(length: int) -> None:
    """The core does nothing while several chunks arrive: DMA writes over what was not taken, and the count gives it away."""
    dk = Dk()
    dk.chip.uarte0.feed(b"\1" * length)
    dk.chip.clock.wait_until(dk.chip.uarte0.stream_end + 100 * BYTE_PS)
    dk.rest()
    answered = 0
    for _ in range(3):  # the drift shows at the first silence behind a part of a chunk
        try:
            answered += dk.hello()["board"].rstrip(b"\0") == b"nrf52840"
        except (AssertionError, ValueError):
            continue
    assert answered >= 2


def test_board_header_and_catalogue_name_the_same_marker_and_baud() -> None:
    header = Path(__file__).parents[3] / "firmware/ports/nrf52840/board.h"
    constants = dict(re.findall(r"#define BOARD_(\w+) (\w+)", header.read_text()))
    entry = boards.load("nrf52840")
    assert entry.marker == f"P1.{constants['MARKER_PIN'].rstrip('u')}"
    assert entry.baud == int(constants["BAUD"].rstrip("u"))


def test_the_marker_rises_and_falls() -> None:
    """The pin that the catalogue names is the one that the port drives: by `port_marker` itself, called as a function."""
    edges: list[tuple[str, int, int, int]] = []
    dk = Dk()
    dk.chip.ports[1]._on_edge = lambda pin, level: edges.append(("1", pin, level, dk.chip.clock.now))
    image = image_of("nrf52840")

    for level in (1, 0):
        dk.chip.wake()
        dk.chip.core.set(c.R[0], level)
        dk.chip.core.set(c.LR, image.symbols["port_wait"] | 1)
        dk.chip.core.set(c.PC, image.symbols["port_marker"] | 1)
        dk.rest()
    assert [(f"P{port}.{pin}", level) for port, pin, level, _ in edges] == [("P1.10", 1), ("P1.10", 0)]
