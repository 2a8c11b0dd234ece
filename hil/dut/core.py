"""The core of a device under test through its probe: halt, registers, call chain, faults, calls, cycles, stack."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass

import numpy as np

from hil.boards import Board
from hil.boards.faults import KINDS
from hil.dut.hang_diagnosis import Hang, fault_of, found_by, waits_of
from hil.dut.returned import Returned, returned
from hil.dut.stack_paint import PAINT
from hil.errors import DeviceFault, RigError, close_matches
from hil.images import Image
from hil.images.stack_area import stack_area
from hil.images.unwind import call_chain
from hil.link.failures import Silent
from hil.targets.core_probe import CoreProbe
from hil.targets.core_sample import REGISTERS
from hil.targets.cycle_counter import CYCCNTENA, DEMCR, DWT_CTRL, DWT_CYCCNT, DWT_LAR, TRCENA, UNLOCK

PC = 15
ICSR, VECTACTIVE = 0xE000ED04, 0x1FF  # ARM DDI 0403E.e, B3.2.4: the active exception; also of a lockup (B1.5.15)
STAYS_S = 0.05  # after which firmware that handles a fault has gone on


@dataclass(frozen=True)
class Frame:
    """A function on the stack: address, name with offset, and `file.c:line`, None if it is not known."""

    address: int
    function: str
    line: str | None

    def __str__(self) -> str:
        return f"0x{self.address:08X} in {self.function}" + (f" ({self.line})" if self.line else "")


class CoreView:
    """A core through its probe.

    Args:
        image: program of the device.
        board: its catalogue entry.
        probe: opens the probe, or says why there is none.
    """

    def __init__(self, image: Image, board: Board, probe: Callable[[], CoreProbe]) -> None:
        self._image, self._board, self._probe = image, board, probe

    def registers(self) -> Mapping[str, int]:
        """Return r0 to r12, sp, lr, pc and xpsr; a running core is halted for a moment."""
        sample = self._probe().look()
        return {**dict(zip(REGISTERS, sample.registers, strict=True)), "xpsr": sample.xpsr}

    def backtrace(self) -> list[Frame]:
        """Return where the core is and the functions that called it, innermost first, through exceptions too."""
        probe = self._probe()
        sample = probe.look()

        def word(address: int) -> int | None:
            known = sample.word(address)
            if known is not None or address % 4 or not any(address in memory for memory in self._board.memory):
                return known
            data = probe.read_ram(address, 4)
            return int.from_bytes(data, "little") if data is not None else None

        chain = call_chain(
            self._image.path, sample.pc, dict(enumerate(sample.registers[:PC])), word, sample.psp or None
        )
        return [self._frame(sample.pc, False), *(self._frame(each.address, each.called) for each in chain)]

    def _frame(self, address: int, called: bool) -> Frame:
        return Frame(address, self._image.function_at(address, called), self._image.lines.at(address - called))

    def fault(self) -> str | None:
        """Return the fault that the core is in, with its causes and place, as a sentence; None if it is in none."""
        found = fault_of(self._probe(), self._board, self._image)
        return str(found) if found is not None else None

    def fault_at_end(self) -> str | None:
        """Return the fault that the core is in, as `fault`, if it stays in it. A core without one is not halted.

        Firmware may handle a fault and go on: only one that is there at both of two looks counts.
        """
        for again in (False, True):
            if again:
                time.sleep(STAYS_S)
            if self._probe().is_halted() or self._word(ICSR) & VECTACTIVE not in KINDS:
                return None
        return self.fault()

    def hang(self) -> str | None:
        """Return where the core hangs, or its fault, as a sentence; None if it waits for an interrupt or for input."""
        found = found_by(self._probe(), self._board, self._image, Silent("it prints nothing:"))
        return str(found) if found is not None else None

    def waits(self) -> str | None:
        """Return where the core waits for input, as part of a sentence; None if it is in no function that reads."""
        return waits_of(self._probe(), self._image)

    def cycles(self) -> int:
        """Return the cycle counter, 32 bits; it is switched on if the program has not done so."""
        self._start_counter()
        return self._word(DWT_CYCCNT)

    def _start_counter(self) -> None:
        without = self._probe().no_counter
        if without is not None:
            raise RigError(f"{self._board.name} has no cycle counter here: {without}: use a virtual board with a DWT.")
        if self._board.counter != "dwt":
            raise RigError(
                f"the {self._board.core} of {self._board.name} has no cycle counter that a probe can read: "
                "time it in the program, or use a board with a DWT."
            )
        for register, bit in ((DEMCR, TRCENA), (DWT_CTRL, CYCCNTENA)):
            if not self._word(register) & bit:
                self._put(register, self._word(register) | bit)
        if not self._word(DWT_CTRL) & CYCCNTENA:
            self._put(DWT_LAR, UNLOCK)
            self._put(DWT_CTRL, self._word(DWT_CTRL) | CYCCNTENA)

    def _word(self, register: int) -> int:
        return int.from_bytes(self._probe().read(register, 4), "little")

    def _put(self, register: int, value: int) -> None:
        self._probe().write_ram(register, value.to_bytes(4, "little"))

    def at_return(
        self, function: str, times: int | None, timeout: float, printed: Callable[[], str] = lambda: "",
        end: Callable[[], DeviceFault | None] = lambda: None,
    ) -> Generator[Returned, None, None]:  # fmt: skip
        """Iterate over the returns of a function, as `Dut.at_return`.

        `printed` says what the device printed last, `end` returns the error of a device that has ended.
        """
        address = self._function(function)
        probe, index = self._probe(), 0
        counter = DWT_CYCCNT if self._board.counter == "dwt" and probe.no_counter is None else None
        if counter is not None:
            self._start_counter()
        with probe.stopped_at_returns([address], counter) as next_return:
            while times is None or index < times:
                call = next_return(timeout)
                if call is None and (ended := end()) is not None:
                    raise ended
                if call is None:
                    of = f" of {times}" if times is not None else ""
                    unseen = "" if index else "returns before the loop began are not seen (docs/dut.md, The core)"
                    also = "; ".join(part for part in (printed(), self._whereabouts(), unseen) if part)
                    raise DeviceFault(
                        f"{function} returned {index}{of} times, and not again within {timeout:g} s"
                        + (f": {also}." if also else ".")
                    )
                yield returned(function, index, call, self._board.clock_hz if counter is not None else None)
                index += 1

    def _whereabouts(self) -> str:
        """Return the fault of a core that is not where the test waits for it, or where it is, as part of a sentence."""
        found = found_by(self._probe(), self._board, self._image, Silent(""))
        if found is None:
            return self.waits() or "the core waits for an interrupt or for input"
        return found.looks if isinstance(found, Hang) else str(found).rstrip(".")

    def _function(self, name: str) -> int:
        found = {symbol.address for symbol in self._image.table if symbol.is_function and symbol.name == name}
        if len(found) > 1:
            raise RigError(f"{self._image.path.name} has {len(found)} functions {name!r}: give one a name of its own.")
        if not found:
            names = {symbol.name for symbol in self._image.table if symbol.is_function}
            near = close_matches(name, names)
            cure = near if near.startswith("did you") else "it may be inlined, declare it __attribute__((noinline))."
            raise RigError(f"{self._image.path.name} has no function {name!r}: {cure}")
        return found.pop()

    def stack_peak(self) -> int:
        """Return the most bytes of the stack that were in use since the reset, from its paint."""
        start, end = stack_area(self._image, self._board)
        data = self._probe().read_ram(start, end - start)
        if data is None:
            raise DeviceFault(
                f"the chip does not answer at its stack (0x{start:08X}): the program has switched it off."
            )
        words = np.frombuffer(data, "<u4")
        used = np.flatnonzero(words != PAINT)
        return int(4 * (words.size - used[0])) if used.size else 0
