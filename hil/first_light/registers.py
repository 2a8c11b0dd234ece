"""Registers of a chip, read and written through a probe while its core stands still or runs the stub."""

from __future__ import annotations

import time
from collections.abc import Iterable

from hil.errors import DeviceFault
from hil.first_light.facts import Step
from hil.steady_clock import steady_s
from hil.targets.core_probe import CoreProbe

WITHIN_S, LOOK_S = 3.0, 0.002  # for a `wait`: oscillators and PLLs take milliseconds


class Registers:
    """Registers through a probe. Every method raises DeviceFault if the chip does not answer at an address."""

    def __init__(self, probe: CoreProbe) -> None:
        self._probe = probe

    def word(self, address: int) -> int:
        """Return 32 bits."""
        data = self._probe.read_ram(address, 4)
        if data is None:
            raise DeviceFault(f"the chip does not answer at 0x{address:08X}.")
        return int.from_bytes(data, "little")

    def put(self, address: int, value: int) -> None:
        """Write 32 bits."""
        if not self._probe.write_ram(address, value.to_bytes(4, "little")):
            raise DeviceFault(f"the chip does not take 0x{value:X} at 0x{address:08X}.")

    def do(self, steps: Iterable[Step]) -> None:
        """Do the steps of a board (facts.py). Raises DeviceFault if a `wait` does not end."""
        for verb, numbers in steps:
            self._do(verb, *numbers)

    def _do(self, verb: str, address: int, first: int, second: int = 0) -> None:
        if verb == "put":
            self.put(address, first)
        elif verb == "wait":
            self._wait(address, first, second)
        else:
            before = self.word(address)
            after = {"set": before | first, "clear": before & ~first, "field": before & ~first | second}[verb]
            if after != before:
                self.put(address, after)

    def _wait(self, address: int, mask: int, value: int) -> None:
        end = steady_s() + WITHIN_S
        while (found := self.word(address)) & mask != value:
            if steady_s() > end:
                raise DeviceFault(
                    f"the bits 0x{mask:X} at 0x{address:08X} stay 0x{found & mask:X} instead of 0x{value:X} for "
                    f"{WITHIN_S:g} s: a clock, a supply or a reset of the chip is not as this board's manual has it."
                )
            time.sleep(LOOK_S)
