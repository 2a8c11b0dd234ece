"""An STM32F746 without a virtual board around it, for the tests."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.stm32f746.chip import Stm32F746

CRYSTAL_HZ = 25_000_000
RCC, PWR, FLASH, DMA2, USART1, GPIOA, GPIOB, GPIOI = (
    0x40023800, 0x40007000, 0x40023C00, 0x40026400, 0x40011000, 0x40020000, 0x40020400, 0x40022000,
)  # fmt: skip
CR, PLLCFGR, CFGR, AHB1ENR, APB1ENR, APB2ENR = (RCC + i for i in (0x00, 0x04, 0x08, 0x30, 0x40, 0x44))
CR1, CSR1, ACR = PWR, PWR + 4, FLASH


@dataclass
class F746:
    """The emulated chip and what it did."""

    sent: bytearray = field(default_factory=bytearray)
    edges: list[tuple[str, int, int, int]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chip = Stm32F746(
            np.random.default_rng(1),
            self.sent.append,
            lambda *edge: self.edges.append(edge),
            self.log.append,
            CRYSTAL_HZ,
        )

    def put(self, address: int, data: bytes) -> None:
        """Put bytes into the flash, as a programmer would have."""
        self.chip.flash.array[address - 0x08000000 :][: len(data)] = np.frombuffer(data, np.uint8)
        self.chip.core.code_changed()

    def write(self, address: int, value: int, size: int = 4) -> None:
        self.chip.bus.write(address, size, value)

    def read(self, address: int) -> int:
        return self.chip.bus.read(address, 4)

    def wait(self, address: int, bit: int) -> None:
        """Let time pass until a flag is up."""
        for _ in range(10_000):
            if self.read(address) >> bit & 1:
                return
            self.pass_time(1_000_000)
        pytest.fail(f"bit {bit} of 0x{address:08X} never comes")

    def pass_time(self, ps: int) -> None:
        self.chip.clock.sleep_until(self.chip.clock.now + ps)
        self.chip.usart1.update(self.chip.clock.now)

    def rest(self) -> None:
        """Run until the program waits."""
        for _ in range(5000):
            if self.chip.advance() is Pace.WAIT:
                return
        pytest.fail("the program does not come to rest")
