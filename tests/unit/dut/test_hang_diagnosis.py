"""What a silent board is called, by where its core was seen and by the bytes counted at both ends of the line."""

from __future__ import annotations

import pytest

from hil.dut.hang_diagnosis import Hang, _hangs_or_waits
from hil.dut.line_counters import SHORT_FRAMES, LineTest
from hil.images import Image, image_of
from hil.link.failures import Silent
from hil.targets.core_sample import Sample

REASON = Silent("the agent did not answer 'step' within 8.0 s: check the serial port and the board.")
N = len(SHORT_FRAMES)
CUT_HERE, CUT_THERE = LineTest(N, N, N, 99, 0), LineTest(N, 0, 0, 0, 0)
DAMAGED, DEAF = LineTest(N, N - 3, N - 3, 50, 12), LineTest(N, N, 0, 0, 0)


@pytest.fixture(scope="module")
def image() -> Image:
    return image_of("stm32h7b3")


def seen(image: Image, *places: str) -> list[Sample]:
    """Return looks at a core in functions; `asleep` is one that waits for an interrupt."""
    found = []
    for place in places:
        pc = image.symbols["port_wait" if place == "asleep" else place] + 2
        found.append(Sample((0,) * 15 + (pc,), 0, place == "asleep", False, b""))
    return found


@pytest.mark.parametrize(("places", "line", "kind", "words"), [
    (("asleep", "asleep"), CUT_HERE, Silent, "the line from the board to this computer is cut"),
    (("port_wait", "uart_poll"), CUT_HERE, Silent, "the line from the board to this computer is cut"),
    (("request_step", "uart_poll"), DAMAGED, Silent, "12 bytes came here: check the line, it damages bytes"),
    (("asleep", "uart_poll"), CUT_THERE, Silent, "the line from this computer to the board is cut"),
    (("request_step", "request_step"), CUT_THERE, Hang, "the firmware hangs"),
    (("request_step", "request_step"), DEAF, Hang, "2 looks found the core in request_step"),
    (("request_step", "uart_handler"), None, Hang, "found the core in request_step, uart_handler"),
    (("asleep", "port_wait"), None, Silent, "The core waits for bytes at pc 0x"),
])  # fmt: skip
def test_a_firmware_that_takes_bytes_does_not_hang_and_one_that_takes_none_does(image, places, line, kind, words):
    found = _hangs_or_waits(REASON, seen(image, *places), image, line)
    assert type(found) is kind and words in str(found), str(found)


def test_a_board_that_was_seen_asleep_once_and_takes_nothing_of_what_reaches_it_hangs(image):
    assert isinstance(_hangs_or_waits(REASON, seen(image, "asleep", "request_step"), image, DEAF), Hang)


def test_every_board_with_a_probe_has_the_counters(image):
    for board in ("stm32h7b3", "stm32f746", "rp2040", "nrf52840"):
        names = [symbol.name for symbol in image_of(board).table]
        assert names.count("rx") == names.count("tx") == 1
