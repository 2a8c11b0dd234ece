"""A chip as the virtual board uses it: a machine with a flash that keeps the program, and a UART at the serial port."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hil.standins.virtual.chip.machine import Machine


class Uart(Protocol):
    """The chip's end of the serial line."""

    @property
    def backlog(self) -> int: ...

    @property
    def transmitting(self) -> bool: ...

    def feed(self, data: bytes) -> None: ...


class Chip(Machine):
    """What every chip file adds to a machine."""

    @property
    def contents(self) -> np.ndarray:
        """The flash, uint8[its size in bytes]."""
        raise NotImplementedError

    @property
    def serial(self) -> Uart:
        """The UART of the board's serial port."""
        raise NotImplementedError
