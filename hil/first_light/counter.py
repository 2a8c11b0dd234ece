"""The cycle counter of a core, read through the probe: the DWT's, or SysTick where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable

from hil.boards import Board
from hil.first_light.registers import Registers
from hil.targets.cycle_counter import CYCCNTENA, DEMCR, DWT_CTRL, DWT_CYCCNT, DWT_LAR, TRCENA, UNLOCK

# ARM DDI 0419E, B3.3: SysTick counts down 24 bits; ENABLE and CLKSOURCE, without an interrupt
SYST_CSR, SYST_RVR, SYST_CVR, COUNTS = 0xE000_E010, 0xE000_E014, 0xE000_E018, 5
SYST_BITS = 24
LONGEST_S, FASTEST_HZ = 0.5, 150e6  # of a core without a DWT: SysTick goes round in 0.1 s at that


class Counter:
    """A counter of core cycles.

    Args:
        board: catalogue entry.
        registers: of the chip.

    Attributes:
        address: of its word.
    """

    def __init__(self, board: Board, registers: Registers) -> None:
        self._registers, self._is_dwt = registers, board.counter == "dwt"
        self.address, self._mask = (DWT_CYCCNT, 0xFFFF_FFFF) if self._is_dwt else (SYST_CVR, (1 << SYST_BITS) - 1)

    def start(self) -> None:
        """Switch it on."""
        put, word = self._registers.put, self._registers.word
        if self._is_dwt:
            put(DEMCR, word(DEMCR) | TRCENA)
            put(DWT_CTRL, word(DWT_CTRL) | CYCCNTENA)
            if not word(DWT_CTRL) & CYCCNTENA:  # locked, as a Cortex-M7's is
                put(DWT_LAR, UNLOCK)
                put(DWT_CTRL, word(DWT_CTRL) | CYCCNTENA)
        else:
            put(SYST_RVR, self._mask)
            put(SYST_CSR, COUNTS)

    def between(self, before: int, after: int) -> int:
        """Return the cycles between two words of it; it has gone round at most once."""
        return (after - before if self._is_dwt else before - after) & self._mask

    def frequency(self, now: Callable[[], float]) -> tuple[float, float]:
        """Return the frequency of a core that runs, by a clock in seconds, and half the width of the uncertainty [Hz].

        The time of each reading lies between the times before and after it.
        """
        self.start()
        wait_s = LONGEST_S if self._is_dwt else 0.5 * self._mask / FASTEST_HZ
        first_s, first = self._read(now)
        time.sleep(wait_s)
        last_s, last = self._read(now)
        cycles = self.between(first, last)
        shortest, longest = last_s[0] - first_s[1], last_s[1] - first_s[0]
        if shortest <= 0:
            return cycles / longest, cycles / longest
        high, low = cycles / shortest, cycles / longest
        return (high + low) / 2, (high - low) / 2

    def _read(self, now: Callable[[], float]) -> tuple[tuple[float, float], int]:
        before = now()
        word = self._registers.word(self.address)
        return (before, now()), word
