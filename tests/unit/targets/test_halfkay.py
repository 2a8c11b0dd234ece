"""HalfKay against a Teensy that keeps a flash, stalls when it is hurried, and counts what it is asked."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest

from hil import boards
from hil.errors import Blocked
from hil.images import Image
from hil.targets import halfkay
from hil.targets.halfkay import BASE, LIMIT, HalfKay

TEENSY = dataclasses.replace(boards.load("stm32h7b3"), name="imxrt1062", title="Teensy 4.1", routes=("halfkay",))


class FakeTeensy:
    """One Teensy, device and module `hid` in one; every report is refused a few times first."""

    def __init__(
        self, seed: int = 0, stalls: int = 3, numbers: tuple[str, ...] = ("0012AB34",), usage: int = 0x25
    ) -> None:
        self.chance, self.stalls = random.Random(seed), stalls
        self.flash = bytearray(self.chance.randbytes(LIMIT))
        self.erased = self.started = self.closed = False
        self.left = self.blocks = 0
        self.numbers, self.usage, self.opened = numbers, usage, b""

    def enumerate(self, vendor_id: int, product_id: int) -> list[dict[str, Any]]:
        assert (vendor_id, product_id) == (0x16C0, 0x0478)
        return [
            {"path": number.encode(), "serial_number": number, "usage_page": 0xFF9C, "usage": self.usage}
            for number in self.numbers
        ]

    def device(self) -> FakeTeensy:
        return self

    def open_path(self, path: bytes) -> None:
        self.opened = path

    def write(self, data: bytes) -> int:
        if self.left:
            self.left -= 1
            if self.chance.random() < 0.5:
                raise OSError("stall")
            return -1
        self.left = self.stalls
        assert (len(data), data[0], data[4:65]) == (1 + 64 + 1024, 0, bytes(61))
        offset = int.from_bytes(data[1:4], "little")
        if offset == 0xFFFFFF:
            self.started = True
            return len(data)
        assert not self.started and offset % 1024 == 0
        if not self.erased:
            assert offset == 0, "the first block erases, and must be the first of the flash"
            self.flash[:], self.erased = b"\xff" * LIMIT, True
        self.flash[offset : offset + 1024] = bytes(
            a & b for a, b in zip(self.flash[offset : offset + 1024], data[65:], strict=True)
        )
        self.blocks += 1
        return len(data)

    def close(self) -> None:
        self.closed = True


def image_of(*segments: tuple[int, bytes]) -> Image:
    image = Image(Path("bytes.elf"), "0" * 64)
    image.__dict__["segments"] = sorted(segments)
    return image


@pytest.mark.parametrize("seed", range(6))
def test_the_flash_holds_the_image_and_the_program_is_started(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halfkay, "RETRY_S", 0.0)
    chance, teensy = random.Random(seed), FakeTeensy(seed)
    first = chance.choice([0, 0x400, 0x1234])
    segments = [
        (BASE + first, chance.randbytes(5000)),
        (BASE + 0x10_0000, b"\xff" * 3000),
        (BASE + LIMIT - 700, chance.randbytes(700)),
    ]
    HalfKay(TEENSY, None, teensy).program(image_of(*segments))
    expected = bytearray(b"\xff" * LIMIT)
    for address, data in segments:
        expected[address - BASE : address - BASE + len(data)] = data
    assert teensy.flash == expected
    assert (teensy.started, teensy.closed, teensy.opened) == (True, True, b"0012AB34")
    assert teensy.blocks < 10, "blocks that are blank are not sent"


def test_a_teensy_that_takes_nothing_is_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halfkay, "EARLY_S", 0.1)
    teensy = FakeTeensy(stalls=1 << 30)
    teensy.left = 1 << 30
    with pytest.raises(Blocked, match="did not accept a block within"):
        HalfKay(TEENSY, None, teensy).program(image_of((BASE, b"x")))
    assert teensy.closed and not teensy.erased


class Clock:
    """Time that passes by sleeping only."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class StallingTeensy(FakeTeensy):
    """A Teensy that takes no report for some seconds after it has taken a number of them."""

    def __init__(self, clock: Clock, after: int, stall_s: float) -> None:
        super().__init__(stalls=0)
        self._clock, self._after, self._stall_s, self._until_s = clock, after, stall_s, None

    def write(self, data: bytes) -> int:
        if self.blocks == self._after and not self.started:
            self._until_s = self._clock.now_s + self._stall_s if self._until_s is None else self._until_s
            if self._clock.now_s < self._until_s:
                return -1
        return super().write(data)


@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize("stall_s", [0.4, 4.0, 12.0, 44.0, 46.0])
def test_the_first_five_blocks_that_are_sent_have_as_long_as_pjrc_gives_them(
    after: int, stall_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stalls of 12 s and more at the third block were reported (teensy_loader_cli, issue 75; TyTools, issue 99)."""
    clock = Clock()
    monkeypatch.setattr(halfkay, "time", clock)
    monkeypatch.setattr(halfkay, "steady_s", clock.monotonic)
    teensy = StallingTeensy(clock, after, stall_s)
    gaps = [(BASE + 4096 * number, bytes([number]) * 100) for number in range(7)]  # blank blocks between them
    if stall_s < (45.0 if after < 5 else 5.0):
        HalfKay(TEENSY, None, teensy).program(image_of(*gaps))
        assert teensy.started and teensy.blocks == 7
        return
    with pytest.raises(Blocked, match="did not accept a block within"):
        HalfKay(TEENSY, None, teensy).program(image_of(*gaps))
    assert not teensy.started and teensy.blocks == after


def test_the_right_one_of_several_by_its_full_number() -> None:
    two = FakeTeensy(numbers=("0012AB34", "0012AB35"))
    with pytest.raises(
        Blocked, match=r"2 Teensys wait in their boot loader \(0012AB34 and 0012AB35\): name the one of imxrt1062"
    ):
        HalfKay(TEENSY, None, two).waits()
    HalfKay(TEENSY, "0012AB35", two).program(image_of((BASE, b"x")))
    assert two.opened == b"0012AB35"
    assert not HalfKay(TEENSY, "12AB35", two).waits()
    assert not HalfKay(TEENSY, None, FakeTeensy(numbers=())).waits()


def test_another_model_is_not_flashed() -> None:
    with pytest.raises(Blocked, match=r"not a Teensy 4 \(usage 0x21\).*nothing was flashed") as refused:
        HalfKay(TEENSY, None, FakeTeensy(usage=0x21)).waits()
    assert refused.value.stage == "identity"
    assert HalfKay(TEENSY, None, FakeTeensy(usage=0)).waits(), "an operating system that does not tell"


@pytest.mark.parametrize("address", [BASE - 1, BASE + LIMIT - 1, 0x0800_0000])
def test_bytes_outside_of_the_flash_are_refused_before_anything_is_erased(address: int) -> None:
    teensy = FakeTeensy()
    with pytest.raises(Blocked, match="outside the flash"):
        HalfKay(TEENSY, None, teensy).program(image_of((address, bytes(2))))
    assert not teensy.erased


def test_hidapi_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "hid", None)
    with pytest.raises(Blocked, match=r"pip install 'trainrig\[teensy\]'"):
        HalfKay(TEENSY, None).waits()
