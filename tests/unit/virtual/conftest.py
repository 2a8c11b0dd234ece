"""Machines for the tests: an STM32H7B3 with a small program in flash."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.machine import Machine, Pace
from hil.standins.virtual.chip.stm32h7b3.chip import Stm32H7B3

from .f746 import F746

CODE = 0x08000400
STACK = 0x20010000


@dataclass
class Board:
    """An emulated chip without a virtual board around it, and what it did."""

    sent: bytearray = field(default_factory=bytearray)
    edges: list[tuple[str, int, int, int]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chip = Stm32H7B3(
            np.random.default_rng(1),
            self.sent.append,
            lambda *edge: self.edges.append(edge),
            self.log.append,
            hse_hz=24_000_000,
        )

    def load(self, program: bytes, handlers: dict[int, int] | None = None) -> Machine:
        """Put a program at CODE with its vector table in front (exception number -> offset in the program), and reset.

        The supply is chosen, without which the program could not write RAM.
        """
        table = [STACK, CODE | 1] + [0] * 0xFE
        for number, offset in (handlers or {}).items():
            table[number] = CODE + offset | 1
        image = struct.pack("<256I", *table) + program
        self.chip.flash.array[: len(image)] = np.frombuffer(image, np.uint8)
        self.chip.core.code_changed()
        self.chip.pwr.supply_chosen = True
        self.chip.reset()
        return self.chip

    def run(self, slices: int = 2000) -> None:
        """Run until nothing happens any more."""
        for _ in range(slices):
            if self.chip.advance() is Pace.WAIT:
                return
        pytest.fail("the program does not come to rest")

    def bus_write(self, address: int, value: int) -> None:
        self.chip.bus.write(address, 4, value)

    def bus_read(self, address: int) -> int:
        return self.chip.bus.read(address, 4)

    def r(self, number: int) -> int:
        return self.chip.core.get(c.R[number])


@pytest.fixture
def bare_board() -> Board:
    return Board()


@pytest.fixture
def run(bare_board: Board) -> Callable[..., Board]:
    def start(program: bytes, handlers: dict[int, int] | None = None, **registers: int) -> Board:
        bare_board.load(program, handlers)
        for name, value in registers.items():
            bare_board.chip.core.set(c.R[int(name[1:])], value)
        bare_board.run()
        return bare_board

    return start


@pytest.fixture
def f746() -> F746:
    return F746()
