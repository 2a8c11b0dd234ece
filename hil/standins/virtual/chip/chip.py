"""Interface of a chip to the virtual board: a machine with a flash for the program and a UART at the serial port."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hil.standins.virtual.chip.machine import Machine


class Uart(Protocol):
    """The chip's UART at the serial port."""

    @property
    def backlog(self) -> int: ...

    @property
    def transmitting(self) -> bool: ...

    def feed(self, data: bytes) -> None: ...


class Chip(Machine):
    """A machine with flash and serial port; every chip is a subclass."""

    @property
    def contents(self) -> np.ndarray:
        """Contents of the flash, uint8[size in bytes]."""
        raise NotImplementedError

    @property
    def serial(self) -> Uart:
        """The UART of the board's serial port."""
        raise NotImplementedError
