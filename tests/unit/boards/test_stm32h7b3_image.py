"""The committed image of the stm32h7b3 on the emulated chip: its supply comes first, its clock is the crystal's, nothing caches what it does not write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hil import boards
from hil.images import image_of
from hil.link.frames import LinkFrame, parse
from hil.link.messages import decode, description, encode
from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.stm32.rcc import HSE, HSI
from hil.standins.virtual.chip.stm32h7b3.chip import MEMORIES, Stm32H7B3
from hil.standins.virtual.chip.stm32h7b3.pwr import Stm32H7b3Pwr
from hil.standins.virtual.chip.stm32h7b3.rcc import PLL1, STARTS

MESSAGES = description()
FLASH, NONCE = 0x0800_0000, 0x5EED_0042
MPU_RNR, MPU_RBAR, MPU_RASR = 0xE000ED98, 0xE000ED9C, 0xE000EDA0
ACTVOSRDY = 1 << 13


class Kit:
    """The emulated chip with the committed image in its flash."""

    def __init__(self) -> None:
        self.sent = bytearray()
        self.log: list[str] = []
        rng = np.random.default_rng(1)
        self.chip = Stm32H7B3(rng, self.sent.append, lambda *_: None, self.log.append, 24_000_000)
        for address, data in image_of("stm32h7b3").segments:
            self.chip.contents[address - FLASH :][: len(data)] = np.frombuffer(data, np.uint8)
        self.chip.core.code_changed()
        self.chip.reset()

    def ram(self) -> dict[str, bytes]:
        """Return what every memory that can be written holds."""
        return {one.name: self.chip.core.bytes[one.name].tobytes() for one in MEMORIES if one.writable}

    def rest(self) -> None:
        """Run until the program waits."""
        for _ in range(5000):
            if self.chip.advance() is Pace.WAIT:
                assert self.chip.fault is None, (self.log, self.chip.fault)
                return
        pytest.fail("the program does not come to rest")

    def hello(self) -> dict[str, Any]:
        """Greet the agent and return its reply."""
        self.rest()
        request = MESSAGES.requests["hello"]
        body = encode(request.request, {"nonce": NONCE, "protocol": MESSAGES.protocol})
        self.sent.clear()
        self.chip.usart1.feed(LinkFrame(request.id, NONCE & 0xFF, 0, body).encode())
        self.rest()
        (frame,) = [frame for frame in map(parse, bytes(self.sent).split(b"\0")) if frame is not None]
        return decode(request.reply, frame.body)


def test_the_agent_comes_up_at_280_mhz_from_the_crystal_and_again_after_a_reset() -> None:
    kit, entry = Kit(), boards.load("stm32h7b3")
    for _ in range(2):
        said = kit.hello()
        assert said["board"].rstrip(b"\0") == b"stm32h7b3"
        assert said["image_digest"] == image_of("stm32h7b3").digest
        assert said["clock_hz"] == entry.clock_hz == kit.chip.clock.hz
        assert kit.chip.rcc.needed() == (PLL1, HSE), "the frequency is the crystal's, not the RC oscillator's"
        kit.chip.request_reset()
        kit.chip.advance(1)


def test_without_its_crystal_the_chip_stays_on_hsi_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STARTS, HSE, (17, 10**15))
    kit = Kit()
    assert kit.hello()["clock_hz"] == kit.chip.clock.hz == 64_000_000
    assert kit.chip.rcc.needed()[0] == HSI


def test_no_ram_is_written_before_the_supply_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """RM0455, PWR, system supply startup. The contents after power-on are drawn: any write of another value shows."""
    then = list[dict[str, bytes]]()
    real = Stm32H7b3Pwr.read_csr1

    def read(self: Stm32H7b3Pwr, value: int) -> int:
        said = real(self, value)
        if said & ACTVOSRDY and not then:
            then.append(kit.ram())
        return said

    monkeypatch.setattr(Stm32H7b3Pwr, "read_csr1", read)
    kit = Kit()
    before = kit.ram()
    assert kit.hello()["clock_hz"] == 280_000_000
    assert [name for name in before if then[0][name] != before[name]] == []
    assert kit.ram()["dtcm"] != before["dtcm"], "the stack is painted and used after it"


def test_a_supply_that_never_gets_ready_leaves_the_chip_on_hsi_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stm32H7b3Pwr, "read_csr1", lambda self, value: value)
    assert Kit().hello()["clock_hz"] == 64_000_000


def regions(kit: Kit) -> list[tuple[int, int, int, int]]:
    """Return address, log2 of the size, access permissions and cacheability (TEX and CB) of every region that is on."""
    found = []
    for number in range(16):
        kit.chip.bus.write(MPU_RNR, 4, number)
        base, attributes = kit.chip.bus.read(MPU_RBAR, 4) & ~0x1F, kit.chip.bus.read(MPU_RASR, 4)
        if attributes & 1:
            kind = attributes >> 17 & 0x1C | attributes >> 16 & 3
            found.append((base, (attributes >> 1 & 0x1F) + 1, attributes >> 24 & 7, kind))
    return found


def test_checkpoints_and_what_the_dma_writes_are_uncached() -> None:
    kit = Kit()
    kit.rest()
    _, *others = regions(kit)
    symbols = image_of("stm32h7b3").symbols
    uncached, by_place = 0b00100, {base: (size, access, kind) for base, size, access, kind in others}
    assert by_place[0x0818_0000] == (19, 3, uncached), "checkpoints"
    assert by_place[symbols["__dma_start"]] == (16, 3, uncached), "the receiver's ring"
