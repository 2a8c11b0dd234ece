"""A strict USB host for `harness_usb.c`: it sends tokens, alternates DATA0 and DATA1, and demands what USB 2.0 demands of a device."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from host_agent import FIRMWARE, SANITIZED, tool

NAK, STALL, DATA0, DATA1, ACK, SILENT = range(6)
FROM_HOST, TO_HOST, NOTICES = 0x02, 0x82, 0x81
PACKET, FAST_PACKET = 64, 512
HERE = Path(__file__).parent
SIMPLE_BOARD = """
#define USB_IRQ 5u
#define BOARD_RX_RING 4096u
#define BOARD_USB_VENDOR 0x2E8Au
#define BOARD_USB_PRODUCT 0x000Au
#define BOARD_USB_BULK 64
#define BOARD_USB_PACKETS 1
#define BOARD_BOOT_LOADER_BAUD 1200u
#include "cortex_m.h"
"""
# Calls before each volatile access, for the controller of the harness; not the library that takes them elsewhere.
HOOKED = [
    "-std=c11",
    "-O1",
    "-g1",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=thread",
    "--param=tsan-distinguish-volatile=1",
]


def build(folder: Path) -> Path:
    """Build the harness over a simple controller."""
    (folder / "board.h").write_text(SIMPLE_BOARD)
    return _build(folder, "harness_usb_simple.c", [], [])


def build_chipidea(folder: Path) -> Path:
    """Build the harness over the driver of i.MX RT1062 and the controller that it has there."""
    port, here = FIRMWARE / "ports/imxrt1062", ["-no-pie", "-fno-pie"]  # the DMA has addresses of 32 bits
    objects = [folder / "usb.o", folder / "usb_set_up.o"]
    for one in objects:
        source = port / f"{one.stem}.c"
        subprocess.run([tool("gcc"), *HOOKED, *here, *_includes(port), "-c", source, "-o", one], check=True)
    return _build(folder, "harness_usb_chipidea.c", [*here, f"-I{port}"], objects)


def _includes(first: Path) -> list[str]:
    folders = (first, HERE / "usb_core", FIRMWARE / "ports/usb", FIRMWARE / "ports/common", FIRMWARE)
    return [f"-I{one}" for one in folders]


def _build(folder: Path, controller: str, options: list[str], objects: list[Path]) -> Path:
    """Build with serial.c from a folder that has no headers of a core."""
    shutil.copy(FIRMWARE / "ports/common/serial.c", folder)
    program, usb = folder / "usb", sorted((FIRMWARE / "ports/usb").glob("*.c"))
    sources = [HERE / "harness_usb.c", HERE / controller, folder / "serial.c", *usb, *objects]
    command = [tool("gcc"), *SANITIZED, "-D_GNU_SOURCE", *options, *_includes(folder), *sources, "-o", program]
    subprocess.run(command, check=True)
    return program


@dataclass(frozen=True)
class Device:
    """A device of the harness: the `board` whose it is, its serial number, and the rate that starts its boot loader."""

    board: str
    number: str
    baud: int
    build: Callable[[Path], Path]


DEVICES = (Device("rp2040", "E6614103E7452A2F", 1200, build), Device("imxrt1062", "00000ABC", 134, build_chipidea))


class Stalled(Exception):
    """The device has answered STALL."""


class UsbHost:
    """The host, with a device at its port; the agent's side of the rings too."""

    def __init__(self, program: Path, packet: int = PACKET) -> None:
        """`packet`: the bytes of a full bulk packet, which tell the speed."""
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._next = {FROM_HOST: 0, TO_HOST: 0}
        self._packet = packet
        if packet == FAST_PACKET:
            self.do("F", 1)

    def close(self) -> None:
        _, errors = self._process.communicate()
        assert self._process.returncode == 0, errors.decode()

    def do(self, what: str, argument: int = 0, data: bytes = b"") -> tuple[int, bytes]:
        """Carry out one command of the harness; return what it answers."""
        self._process.stdin.write(struct.pack("<cBH", what.encode(), argument, len(data)) + data)
        self._process.stdin.flush()
        head = self._process.stdout.read(3)
        if len(head) < 3:
            raise AssertionError(self._process.stderr.read().decode())
        kind, n = struct.unpack("<BH", head)
        return kind, self._process.stdout.read(n)

    # control transfers (USB 2.0, 8.5.3)

    def setup(self, kind: int, request: int, value: int = 0, index: int = 0, length: int = 0) -> None:
        self.do("S", 0, struct.pack("<BBHHH", kind, request, value, index, length))

    def read_answer(self, length: int, packets: int = 1 << 16) -> bytes:
        """Read the data stage, at most so many packets of it, and end it with the status stage."""
        got, toggle = b"", 1
        while packets:
            packets -= 1
            kind, part = self.do("I", 0x80)
            if kind == STALL:
                raise Stalled
            assert kind == (DATA1 if toggle else DATA0) and len(part) <= PACKET
            got, toggle = got + part, toggle ^ 1
            assert len(got) <= length, "more than was asked for"
            if len(part) < PACKET or len(got) == length:
                break
        assert self.do("1", 0x00) == (ACK, b"")
        return got

    def acknowledged(self) -> None:
        """Read the status stage of a request without an answer."""
        kind, data = self.do("I", 0x80)
        if kind == STALL:
            raise Stalled
        assert (kind, data) == (DATA1, b"")

    def get(self, kind: int, request: int, value: int = 0, index: int = 0, length: int = 255) -> bytes:
        self.setup(0x80 | kind, request, value, index, length)
        return self.read_answer(length)

    def order(self, kind: int, request: int, value: int = 0, index: int = 0, data: bytes = b"") -> None:
        self.setup(kind, request, value, index, len(data))
        if data:
            kind, _ = self.do("1", 0x00, data)
            if kind == STALL:
                raise Stalled
            assert kind == ACK
        self.acknowledged()

    def enumerate(self, address: int = 5) -> None:
        """Do what a host does with a new device, up to an open port."""
        self.do("R")
        self._next = {FROM_HOST: 0, TO_HOST: 0}
        self.order(0x00, 5, address)
        self.order(0x00, 9, 1)
        self.lines(3)

    def lines(self, lines: int) -> None:
        self.order(0x21, 0x22, lines)

    def coding(self, baud: int) -> None:
        self.order(0x21, 0x20, data=struct.pack("<IBBB", baud, 0, 0, 8))

    def clear_halt(self, endpoint: int) -> None:
        self.order(0x02, 1, 0, endpoint)
        self._next[endpoint] = 0

    # bulk transfers (8.5.2)

    def write(self, data: bytes) -> int:
        """Send one packet; return ACK, NAK, STALL or SILENT."""
        kind, _ = self.do(str(self._next[FROM_HOST]), FROM_HOST, data)
        self._next[FROM_HOST] ^= kind == ACK
        return kind

    def read(self, lost: bool = False) -> bytes | None:
        """Ask for one packet, None for NAK; `lost`: its ACK does not arrive, and it must come again."""
        kind, data = self.do("i" if lost else "I", TO_HOST)
        if kind == NAK:
            return None
        if kind == STALL:
            raise Stalled
        assert kind == DATA0 + self._next[TO_HOST]
        self._next[TO_HOST] ^= not lost
        return data

    def read_transfer(self) -> bytes:
        """Read up to a packet that is not full, or to the first NAK."""
        got = b""
        while (part := self.read()) is not None:
            got += part
            if len(part) < self._packet:
                break
        return got

    # the agent's side

    def agent_reads(self, n: int = 255) -> bytes:
        return self.do("r", n)[1]

    def agent_reads_all(self) -> bytes:
        got = b""
        while part := self.agent_reads():
            got += part
        return got

    def agent_writes(self, data: bytes) -> None:
        self.do("W", 0, data)

    def uart_brings(self, data: bytes) -> None:
        self.do("U", 0, data)

    def uart_sent(self) -> bytes:
        return self.do("u")[1]

    @property
    def address(self) -> int:
        return self.do("B")[1][0]

    @property
    def boots(self) -> int:
        """How often the boot loader was entered."""
        return self.do("B")[1][1]
