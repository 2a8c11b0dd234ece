"""What a chip connects to its UARTs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class UartWiring:
    """What a chip connects to one of its UARTs.

    Attributes:
        kernel_hz: returns the frequency of the clock for the baud rate in Hz; may raise ModelFault.
        connected: returns whether the pins are routed to this UART: (transmit, receive).
        drive: called with the level of the interrupt line when it changes.
        send: called with each byte after its stop bit.
    """

    kernel_hz: Callable[[], int]
    connected: Callable[[], tuple[bool, bool]]
    drive: Callable[[bool], None]
    send: Callable[[int], None]


@dataclass(frozen=True)
class LineWiring(UartWiring):
    """What a chip connects to a UART whose line has a baud rate of its own.

    Attributes:
        line_baud: baud rate of the other end of the line.
        log: receives one line about a wrong baud rate.
    """

    line_baud: int
    log: Callable[[str], None]
