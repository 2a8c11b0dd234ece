"""Fault injection for the project's own tests: serial bytes, memory bits, flash cells, supply, latch-up, resets.

Some are faults of a board that is new: an oscillator or a rate that is off, a stuck RAM bit, a marker pin that is not
wired, a chip that is protected.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from hil.errors import RigError
from hil.number_text import number, whole_number
from hil.standins.virtual.chip.core_registers import PC
from hil.standins.virtual.chip.flash_power import FlashCut
from hil.standins.virtual.chip.line_uart import TOLERANCE, wrong_rate
from hil.standins.virtual.chip.machine import Chip, Machine

FORMS = {
    "uart_rx_drop": "N", "uart_rx_dup": "N", "uart_rx_flip": "N:BIT", "uart_rx_delay": "N:SECONDS",
    "uart_tx_drop": "N", "uart_tx_dup": "N", "uart_tx_flip": "N:BIT", "uart_tx_delay": "N:SECONDS",
    "ram_flip": "ADDR:BIT:AFTER_INSTRUCTIONS", "flash_stuck": "OFFSET:BIT", "flash_cut": "ADDRESS:OPERATION",
    "exit_after": "INSTRUCTIONS", "latch_up": "INSTRUCTIONS", "reset": "INSTRUCTIONS", "close_serial_after": "BYTES_TX",
    "supply_fails": "ADDRESS:SIZE:TIMES:BACK",
    "uart_slow": "PERMILLE", "clock_slow": "PERMILLE", "ram_stuck": "ADDR:BIT", "marker_stuck": "LEVEL",
    "locked": "LEVEL",
    "usb_rough": "TIMES", "usb_lose": "EVERY", "usb_reset": "BYTES", "usb_unplug": "BYTES:SECONDS",
    "usb_suspend": "BYTES:SECONDS",
}  # fmt: skip
LOOK = 1000  # instructions between two samples of PC; `supply_fails` counts the samples inside its function


@dataclass(frozen=True)
class Injection:
    """One fault: its kind and arguments (see FORMS). Serial bytes are counted from 1."""

    kind: str
    arguments: tuple[float, ...]


def parse_injection(text: str) -> Injection:
    """Parse `kind:argument:...`; raise RigError if it does not match FORMS."""
    kind, *rest = text.split(":")
    if kind not in FORMS or len(rest) != len(FORMS[kind].split(":")):
        known = ", ".join(f"{name}:{form}" for name, form in FORMS.items())
        raise RigError(f"--inject {text} is not one of {known}")
    try:
        seconds = FORMS[kind].endswith("SECONDS")
        numbers = tuple(number(r) if seconds and i == 1 else whole_number(r, 0) for i, r in enumerate(rest))
    except ValueError as error:
        raise RigError(f"--inject {text}: {error}; write {kind}:{FORMS[kind]} with numbers") from error
    if any(n < 0 for n in numbers) or (kind.endswith(("_flip", "flash_stuck", "ram_stuck")) and not numbers[1] <= 7):
        raise RigError(f"--inject {text}: numbers are not negative and BIT is 0 to 7")
    return Injection(kind, numbers)


@dataclass
class LineFaults:
    """Faults of one direction of the serial line.

    Args:
        injections: all faults; those whose kind begins with `prefix` are used.
        prefix: `uart_rx` (to the chip) or `uart_tx` (to the host).
    """

    injections: list[Injection]
    prefix: str
    _seen: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._by_byte = {int(i.arguments[0]): i for i in self.injections if i.kind.startswith(self.prefix)}
        slow = sum(i.arguments[0] for i in self.injections if i.kind == "uart_slow") / 1000
        self._damages = slow > TOLERANCE

    def apply(self, data: bytes) -> list[bytes | float]:
        """Return `data` with the faults applied: byte strings, and between them delays [s] of all that follows."""
        if self._damages:
            data = bytes(wrong_rate(byte) for byte in data)
        if not self._by_byte:
            return [data]
        out: list[bytes | float] = []
        for byte in data:
            self._seen += 1
            out.extend(self._one(byte, self._by_byte.get(self._seen)))
        return out

    def _one(self, byte: int, injection: Injection | None) -> list[bytes | float]:
        kind = injection.kind.removeprefix(self.prefix) if injection else ""
        if injection is None:
            return [bytes([byte])]
        if kind == "_drop":
            return []
        if kind == "_dup":
            return [bytes([byte, byte])]
        if kind == "_flip":
            return [bytes([byte ^ 1 << int(injection.arguments[1])])]
        return [float(injection.arguments[1]), bytes([byte])]


def schedule(machine: Chip, injections: list[Injection], log: Callable[[str], None]) -> None:
    """Install all faults except those of the serial line.

    Most faults come at an instruction count. A stuck flash bit is set after every change of the flash.
    """
    for injection in injections:
        if injection.kind == "ram_flip":
            address, bit, after = (int(a) for a in injection.arguments)
            machine.at_count.append((after, partial(_flip, machine, address, bit, log)))
        elif injection.kind == "exit_after":
            machine.at_count.append((int(injection.arguments[0]), lambda: os.kill(os.getpid(), signal.SIGKILL)))
        elif injection.kind == "latch_up":
            machine.at_count.append((int(injection.arguments[0]), lambda: _latch_up(machine, log)))
        elif injection.kind == "reset":
            machine.at_count.append((int(injection.arguments[0]), lambda: _reset(machine, log)))
        elif injection.kind == "supply_fails":
            address, size, times, back = (int(a) for a in injection.arguments)
            _fail_in(machine, address, size, times, back, log)
        elif injection.kind in AT_ONCE:
            AT_ONCE[injection.kind](machine, *(int(a) for a in injection.arguments))
        elif injection.kind == "flash_cut":
            address, operation = (int(a) for a in injection.arguments)
            _cut_flash(machine, address, operation, log)
        elif injection.kind == "flash_stuck":
            offset, bit = (int(a) for a in injection.arguments)
            machine.core.on_code_changed.append(partial(_inject_stuck_bit, machine, offset, bit, log))
    machine.at_count.sort(key=lambda entry: entry[0])


def stuck_marker(injections: list[Injection]) -> int | None:
    """Return the level at which the marker pin is stuck behind the chip's pad; None if it is not."""
    return next((int(i.arguments[0]) for i in injections if i.kind == "marker_stuck"), None)


def _stick(machine: Chip, address: int, bit: int) -> None:
    """Let a bit of RAM read 1 whatever a debugger writes; what the core writes is left alone."""

    def written(at: int, size: int) -> None:
        if at <= address < at + size:
            machine.core.store(address, bytes([machine.core.peek(address, 1)[0] | 1 << bit]))

    machine.core.on_poke.append(written)


AT_ONCE: dict[str, Callable[..., None]] = {
    "clock_slow": lambda machine, permille: machine.clock.go_slow(permille / 1000),
    "ram_stuck": _stick,
    "locked": lambda machine, level: machine.protect(level),
}


def _cut_flash(machine: Machine, address: int, operation: int, log: Callable[[str], None]) -> None:
    def supply_fails() -> None:
        log("injected: the supply fails in the middle of an operation of the flash")
        machine.brown_out(np.random.default_rng([address, operation]))

    machine.flash_power.cut_short(FlashCut(address, operation, supply_fails))


def _fail_in(machine: Machine, address: int, size: int, times: int, back: int, log: Callable[[str], None]) -> None:
    rng, left = np.random.default_rng([address, times]), times

    def look() -> None:
        nonlocal left
        left -= address <= machine.core.get(PC) < address + size
        if left > 0:
            machine.at_count.append((machine.core.count + LOOK, look))
            machine.at_count.sort(key=lambda entry: entry[0])
            return
        log(f"injected: the supply fails at 0x{machine.core.get(PC):08X}{' and is back' if back else ''}")
        machine.switch(False, rng)
        if back:
            machine.switch(True, rng)

    machine.at_count.append((0, look))


def _reset(machine: Machine, log: Callable[[str], None]) -> None:
    machine.request_reset()
    log("injected: the chip resets, and its supply stays on")


def _latch_up(machine: Machine, log: Callable[[str], None]) -> None:
    machine.latch_up()
    log("injected: the chip is latched up until its supply is switched off")


def _inject_stuck_bit(machine: Chip, offset: int, bit: int, log: Callable[[str], None]) -> None:
    """Set the bit of a worn flash cell, which reads 1 after any programming."""
    if not machine.contents[offset] & 1 << bit:
        machine.contents[offset] |= 1 << bit
        log(f"injected: bit {bit} of the byte at offset 0x{offset:X} of the flash reads 1")


def _flip(machine: Machine, address: int, bit: int, log: Callable[[str], None]) -> None:
    old = machine.core.peek(address, 1)[0]
    machine.core.poke(address, bytes([old ^ 1 << bit]))
    log(f"injected: bit {bit} of the byte at 0x{address:08X} flipped")
