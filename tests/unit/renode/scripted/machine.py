"""The machine behind the scripted Renode: reads a .repl file, loads ELF files, executes on Unicorn."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import threading
from pathlib import Path

import unicorn
from elftools.elf.elffile import ELFFile
from unicorn import arm_const as reg

from tests.unit.renode.scripted.peripherals import MODELS, ArrayMemory, Counters

NOWHERE = 0xFFFFFFFE
SPACES = (
    (0x10000000, 0x10000),
    (0x40000000, 0x20000000),
    (0xD0000000, 0x10000),
    (0xE0000000, 0x100000),
)  # where peripherals may be


A_WAKE_UP = 11  # bytes that come between two looks of the core, about
SIGNATURE = "Parameters did not match the signature"


class Refused(Exception):
    """Renode says no to a command that it knows; the message is its own."""


class Machine:
    """One machine; nothing in it before the platform has been loaded."""

    def __init__(self) -> None:
        self.uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
        self.uc.ctl_set_cpu_model(reg.UC_CPU_ARM_CORTEX_M33)
        self.memories: list[tuple[int, int]] = []
        self.ranges: list[tuple[int, int, object, int]] = [(0xE0000000, 0x100000, Counters(), 0)]
        self.named: dict[str, object] = {}
        self.listening: socket.socket | None = None
        self.terminal: socket.socket | None = None
        self.forgotten = False
        self.vectors: int | None = None
        self.started = False

    def load_platform(self, text: str) -> None:
        for block in re.split(r"\n(?=\w+:)", text):
            head = re.match(r"(\w+): ([\w.]+) @ (sysbus 0x(\w+)|sysbus|\{)", block)
            if head is None:
                raise Refused(f"Error E00: Syntax error in {block!r}")
            name, model, start = head[1], head[2], int(head[4] or "0", 16)
            size = re.search(r"\n    size: (\w+)", block)
            if model == "Memory.MappedMemory":
                self.uc.mem_map(start, int(size[1], 16))
                self.memories.append((start, int(size[1], 16)))
            elif model == "Memory.ArrayMemory":
                self._add(name, ArrayMemory(int(size[1], 16)), [(start, int(size[1], 16), 0)])
            elif model in MODELS:
                cut = re.findall(r"address: (\w+); size: (\w+)(?:; offset: (\w+))?", block)
                ranges = [(int(a, 16), int(n, 16), int(o or "0", 16)) for a, n, o in cut] or [
                    (start, MODELS[model].SIZE, 0)
                ]
                self._add(name, MODELS[model](self._send, self), ranges)
            elif model not in ("CPU.CortexM", "IRQControllers.NVIC", "Miscellaneous.DWT"):
                raise Refused(f"Error E04: Could not resolve type: '{model}'.")
        for start, size in SPACES:
            if not any(at < start + size and start < at + length for at, length in self.memories):
                self.uc.mmio_map(start, size, self._read, start, self._write, start)

    def _add(self, name: str, model: object, ranges: list[tuple[int, int, int]]) -> None:
        self.named[name] = model
        for start, size, offset in ranges:
            if any(start < other + length and other < start + size for other, length, *_ in self.ranges):
                raise Refused(
                    f"Error E39: Exception was thrown during registration of '{name}' in 'sysbus':\nCould not register it"
                )
            self.ranges.append((start, size, model, offset))

    def load_elf(self, path: str) -> None:
        if not Path(path).is_file():
            raise Refused(SIGNATURE)
        with Path(path).open("rb") as file:
            for segment in ELFFile(file).iter_segments("PT_LOAD"):
                if segment["p_memsz"]:
                    self.store(segment["p_paddr"], segment.data().ljust(segment["p_memsz"], b"\0"))

    def store(self, address: int, data: bytes) -> None:
        if any(start <= address and address + len(data) <= start + size for start, size in self.memories):
            self.uc.mem_write(address, data)
        elif len(data) == 4:
            self._write(self.uc, address, 4, int.from_bytes(data, "little"), 0)

    def word(self, address: int) -> int:
        if any(start <= address < start + size for start, size in self.memories):
            return int.from_bytes(self.uc.mem_read(address, 4), "little")
        return self._read(self.uc, address, 4, 0)

    def _find(self, address: int) -> tuple[object, int] | None:
        for start, size, model, offset in self.ranges:
            if start <= address < start + size:
                return model, address - start + offset
        return None

    def _read(self, uc: object, offset: int, size: int, base: int) -> int:
        found = self._find(base + offset)
        value = found[0].read(found[1]) if found else 0
        return value & (1 << 8 * size) - 1

    def _write(self, uc: object, offset: int, size: int, value: int, base: int) -> None:
        found = self._find(base + offset)
        if found:
            found[0].write(found[1], value, size)

    def fetch(self, address: int, n: int) -> bytes:
        return bytes(self.uc.mem_read(address, n))

    def open_terminal(self, port: int) -> None:
        """A terminal for raw bytes that takes one client at a time."""
        try:
            self.listening = socket.create_server(("127.0.0.1", port), backlog=1)
        except OSError as error:
            raise Refused(
                f"Unable to create '0.0.0.0:{port}' socket:[AddressAlreadyInUse] Address already in use"
            ) from error

    def connect(self, name: str) -> None:
        if name not in self.named:
            raise Refused(SIGNATURE)
        self.uart = self.named[name]

    def forget(self) -> None:
        """What `ResetEmulation` does to a machine; its terminal hangs up."""
        self.forgotten = True
        self.uc.emu_stop()
        for end in (self.listening, self.terminal):
            if end is not None:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()

    def _send(self, data: bytes) -> None:
        if self.terminal is not None:
            self.terminal.sendall(data)

    def run(self, timeout_us: int = 0) -> None:
        """Run until the core sleeps, or for so many microseconds of wall time."""
        if not self.started:
            self.started = True
            self.uc.reg_write(reg.UC_ARM_REG_SP, self.word(self.vectors))
            self.uc.reg_write(reg.UC_ARM_REG_PC, self.word(self.vectors + 4) | 1)
        self.uc.emu_start(self.uc.reg_read(reg.UC_ARM_REG_PC) | 1, NOWHERE, timeout=timeout_us)

    def start(self) -> None:
        threading.Thread(target=self._live, daemon=True).start()

    def _live(self) -> None:
        """A sleeping core is woken by the UART's interrupt and by nothing else."""
        with contextlib.suppress(OSError):
            self.terminal, _ = self.listening.accept()
            while not self.forgotten:
                self.run()
                while not self.uart.interrupt and not self.forgotten:
                    readable, _, _ = select.select([self.terminal], [], [], 0.1)
                    data = self.terminal.recv(A_WAKE_UP) if readable else b""
                    if readable and not data:
                        return
                    self.uart.receive(data)
