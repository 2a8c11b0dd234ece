"""A computer with a board at its USB port, whose agent runs on the virtual chip, and something at the board's UART."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.images.images import Image
from hil.link.frames import LinkFrame, parse
from hil.link.messages import description, encode
from hil.standins.virtual.chip.imxrt1062.chip import Imxrt1062
from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.rp2040.chip import Rp2040
from hil.standins.virtual.usb.session import UsbSession
from hil.standins.virtual.usb.steps import MS
from tests.unit.virtual.usb_device import Computer, DeviceOfRegisters

HELLO = description().requests["hello"]


@dataclass(frozen=True)
class Kind:
    """A board with a USB port of the agent.

    Attributes:
        board: its name in the catalogue.
        chip: makes the virtual chip.
        flash: the address of its flash.
        uart: the name of its UART.
        baud: the rate that asks for the boot loader.
        booted: what the chip's log says once the boot loader was started.
    """

    board: str
    chip: Callable[..., Any]
    flash: int
    uart: str
    baud: int
    booted: str


PICO = Kind(
    "rp2040", Rp2040, 0x1000_0000, "uart0", 1200,
    "boot ROM: the program has started the boot loader: the chip waits in USB boot",
)  # fmt: skip
TEENSY = Kind(
    "imxrt1062", Imxrt1062, 0x6000_0000, "lpuart6", 134,
    "loader chip: the program has started the boot loader (BKPT #251): the board waits in HalfKay",
)  # fmt: skip


class Desk(Computer):
    """The computer; `plugged`: the cable is there from the start, and a program has opened the port. Without an image the flash is erased."""

    def __init__(self, kind: Kind, image: Image | None, plugged: bool = True) -> None:
        super().__init__(DeviceOfRegisters())
        self.kind, self.uart, self.faults = kind, bytearray(), []  # type: ignore[var-annotated]
        rng = np.random.default_rng(1)
        self.chip = chip = kind.chip(rng, self.uart.append, lambda *_: None, self.faults.append, 921_600)
        chip.flash.array[:] = 0xFF
        for address, data in image.segments if image is not None else ():
            chip.flash.array[address - kind.flash : address - kind.flash + len(data)] = np.frombuffer(data, np.uint8)
        chip.core.code_changed()
        self.session = UsbSession(chip.clock, chip.usb, chip.core.break_soon, self, self.log.append)
        chip.sources.insert(0, self.session)
        chip.power_on()
        if plugged:
            self.plug()
            self.opens()
        else:
            self.pass_ms(50)

    def plug(self) -> None:
        self.session.plug()
        self.pass_ms(600)
        assert self.session.device is not None and not self.session.complaints, (self.log, self.faults)

    def opens(self) -> None:
        self.terminal.is_open, self.terminal.baud = True, 921_600
        self.pass_ms(10)

    def pass_ms(self, ms: float) -> None:
        """Let virtual time pass."""
        clock, until = self.chip.clock, self.chip.clock.now + int(ms * MS)
        while clock.now < until and self.chip.fault is None:
            if self.chip.advance() is Pace.WAIT:
                if self.chip.stopped:
                    self.session.look_again(clock.now)
                events = [source.next_event() for source in self.chip.sources]
                clock.wait_until(min([until, *(at for at in events if at is not None)]))

    def ask(self, frame: LinkFrame, ms: float = 20) -> list[LinkFrame]:
        """Send a frame by USB; return what comes back there."""
        self.terminal.given = b""
        self.terminal.waiting += frame.encode()
        self.pass_ms(ms)
        return frames(self.terminal.given)

    def ask_by_uart(self, frame: LinkFrame) -> list[LinkFrame]:
        self.uart.clear()
        getattr(self.chip, self.kind.uart).feed(frame.encode())
        self.pass_ms(20)
        return frames(bytes(self.uart))

    def good(self) -> bool:
        return self.session.complaints == [] and self.faults == [] and self.chip.fault is None


def frames(data: bytes) -> list[LinkFrame]:
    found = [parse(part) for part in data.split(b"\0") if part]
    assert None not in found
    return [frame for frame in found if frame is not None]


def hello(nonce: int = 0x42) -> LinkFrame:
    return LinkFrame(
        HELLO.id, nonce & 0xFF, 0, encode(HELLO.request, {"nonce": nonce, "protocol": description().protocol})
    )
