"""The committed image of the stm32f746 on the emulated chip: start-up, the ring behind the receiver, and a fault in mid-sending."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from hil import boards
from hil.images import image_of
from hil.link.frames import LinkFrame, parse
from hil.link.messages import decode, description, encode
from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.stm32.rcc import HSE
from hil.standins.virtual.chip.stm32f746.chip import Stm32F746
from hil.standins.virtual.chip.stm32f746.rcc import STARTS

MESSAGES = description()
FLASH, NONCE = 0x0800_0000, 0x5EED_0042
UDF = 0x20040000
MPU_RNR, MPU_RBAR, MPU_RASR = 0xE000ED98, 0xE000ED9C, 0xE000EDA0


class Disco:
    """The emulated chip with the committed image in its flash."""

    def __init__(self, crystal_hz: int = 25_000_000) -> None:
        self.sent = bytearray()
        self.log: list[str] = []
        self.chip = Stm32F746(np.random.default_rng(1), self.sent.append, lambda *_: None, self.log.append, crystal_hz)
        for address, data in image_of("stm32f746").segments:
            self.chip.flash.array[address - FLASH :][: len(data)] = np.frombuffer(data, np.uint8)
        self.chip.core.code_changed()
        self.chip.reset()
        self.rest()

    def rest(self) -> None:
        """Run until the program waits."""
        for _ in range(5000):
            if self.chip.advance() is Pace.WAIT:
                return
        pytest.fail("the program does not come to rest")

    def frames(self) -> list[LinkFrame]:
        """Return the frames that have been sent, and forget them."""
        *parts, behind = bytes(self.sent).split(b"\0")
        self.sent.clear()
        frames = [parse(part) for part in parts if part]
        assert not behind and None not in frames, (self.log, self.chip.fault)
        return [frame for frame in frames if frame is not None]

    def hello(self) -> dict[str, Any]:
        request = MESSAGES.requests["hello"]
        body = encode(request.request, {"nonce": NONCE, "protocol": MESSAGES.protocol})
        self.chip.usart1.feed(LinkFrame(request.id, NONCE & 0xFF, 0, body).encode())
        self.rest()
        (reply,) = self.frames()
        return decode(request.reply, reply.body)


def test_the_agent_comes_up_at_216_mhz_and_again_after_a_reset() -> None:
    disco, entry = Disco(), boards.load("stm32f746")
    for _ in range(2):
        said = disco.hello()
        assert said["board"].rstrip(b"\0") == b"stm32f746"
        assert said["image_digest"] == image_of("stm32f746").digest
        assert said["clock_hz"] == entry.clock_hz == disco.chip.clock.hz
        assert said["cpuid"] == 0x410FC271
        assert disco.chip.scb.value["CCR"] >> 16 & 3 == 3, "both caches are on"
        disco.chip.request_reset()
        disco.rest()


def test_without_its_crystal_the_chip_stays_on_hsi_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STARTS, HSE, (17, 10**15))
    disco = Disco()
    assert disco.hello()["clock_hz"] == disco.chip.clock.hz == 16_000_000


def test_only_what_is_used_has_its_clock() -> None:
    rcc = Disco().chip.rcc
    ports = 1 << 0 | 1 << 1 | 1 << 8  # A and B: USART1; I: the marker
    used = {"AHB1ENR": ports | 1 << 20 | 1 << 22, "AHB2ENR": 0, "AHB3ENR": 0, "APB1ENR": 1 << 28, "APB2ENR": 1 << 4}
    assert {name: rcc.value[name] for name in used} == used


def test_the_regions_cover_the_memories_and_what_the_dma_sends_is_uncached() -> None:
    bus = Disco().chip.bus
    regions = []
    for number in range(1, 5):  # 0 lies under them
        bus.write(MPU_RNR, 4, number)
        base, attributes = bus.read(MPU_RBAR, 4) & ~0x1F, bus.read(MPU_RASR, 4)
        regions.append(
            (base, 2 << (attributes >> 1 & 0x1F), attributes >> 8 & 0xFF, attributes >> 16 & 7, attributes & 1)
        )
    cached, uncached = 0b011, 0b000
    symbols = image_of("stm32f746").symbols
    flash, ram, sending, _ = regions
    assert flash[:3] == (FLASH, 1 << 20, 0)
    assert ram == (0x2000_0000, 512 * 1024, 0b1110_0000, cached, 1)  # five eighths: 320 KB
    assert sending == (symbols["__arena_end"], 512, 0, uncached, 1)
    assert sending[0] + sending[1] == 0x2005_0000


def test_the_ring_goes_round_many_times_without_losing_a_byte() -> None:
    disco = Disco()
    disco.hello()
    identity = MESSAGES.requests["echo"].id
    for number in range(1, 21):
        body = os.urandom(1024 - number)
        disco.chip.usart1.feed(LinkFrame(identity, NONCE & 0xFF, number, body).encode())
        disco.rest()
        assert disco.frames() == [LinkFrame(identity | 0x80, NONCE & 0xFF, number, body)]


def test_a_wake_up_takes_half_a_ring_not_a_byte() -> None:
    disco = Disco()
    disco.hello()
    sleeps = len(disco.chip.clock.sleeps)
    disco.chip.usart1.feed(LinkFrame(MESSAGES.requests["echo"].id, NONCE & 0xFF, 1, os.urandom(1000)).encode())
    disco.rest()
    assert len(disco.frames()) == 1
    assert len(disco.chip.clock.sleeps) - sleeps < 20


def test_a_fault_is_reported_behind_what_is_being_sent() -> None:
    disco = Disco()
    disco.hello()
    body = os.urandom(400)
    disco.chip.usart1.feed(LinkFrame(MESSAGES.requests["echo"].id, NONCE & 0xFF, 1, body).encode())
    while (
        len(disco.sent) < 300 or not disco.chip.asleep
    ):  # the first of its two blocks has left, the DMA has the second
        disco.chip.advance(1000)
    disco.chip.core.poke(UDF, b"\x00\xde" * 2)
    disco.chip.core.set(c.PC, UDF | 1)
    disco.chip.wake()
    for _ in range(300):
        disco.chip.advance(10_000)
    echo, fault = disco.frames()
    assert echo.body == body
    said = decode(MESSAGES.controls["fault"].fields, fault.body)
    assert said["pc"] == UDF
