"""Base of RCC of STM32 chips: oscillators and PLLs with their ready flags, clock gates and resets of blocks.

Ready flags are set after modelled delays, of the order of those in the data sheets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block

HSI, HSE = 0, 16  # bits of CR that start an oscillator
AHB_DIVIDERS = {8: 2, 9: 4, 10: 8, 11: 16, 12: 64, 13: 128, 14: 256, 15: 512}  # by the value of the field; others: 1
APB_DIVIDERS = {4: 2, 5: 4, 6: 8, 7: 16}


class Stm32Rcc(Block):
    """A reset and clock controller. A subclass has the registers and the clock tree.

    Args:
        base: base address.
        clock: virtual time; its frequency is set to the core clock.
        hse_hz: frequency of the crystal on the board, 0 for none.
        sources: by the bit of CR that starts a source: the bit that reports it, and the time until then [ps].

    Attributes:
        CLOCKS: registers whose fields change the clock tree.
        changed, gates_changed: called after a change of the clock tree and of a clock gate.
        reset_blocks: called with the name and the value of a reset register after it was written.
    """

    CLOCKS: tuple[str, ...]

    def __init__(self, base: int, clock: Clock, hse_hz: int, sources: dict[int, tuple[int, int]]) -> None:
        super().__init__("RCC", base)
        self._clock = clock
        self._hse_hz, self._sources = hse_hz, sources
        self._ready_at = {HSI: 0}
        self.changed: Callable[[], None] = lambda: None
        self.gates_changed: Callable[[], None] = lambda: None
        self.reset_blocks: Callable[[str, int], None] = lambda register, bits: None
        names = [register.name for register in self.REGISTERS]
        gates = [name for name in names if name.endswith("ENR") and not name.endswith("LPENR")]
        self.on_write(*gates, then=lambda: self.gates_changed())
        for name in names:
            if name.endswith("RSTR"):
                self.on_write(name, then=partial(self._report_reset, name))
        self.on_write(*self.CLOCKS, then=self._apply)

    def reset(self) -> None:
        super().reset()
        self._ready_at = {HSI: 0}
        self._clock.set_frequency(self.core_hz())

    def core_hz(self) -> int:
        """Return the core clock in Hz."""
        raise NotImplementedError

    def needed(self) -> tuple[int | None, ...]:
        """Return the sources that the system clock needs now, as bits of CR; None for a source that does not exist."""
        raise NotImplementedError

    def check_pll(self, start: int) -> None:
        """Raise ModelFault if the source that bit `start` of CR starts is a PLL that cannot run with its settings."""
        raise NotImplementedError

    def is_ready(self, start: int) -> bool:
        """Return whether the source that a bit of CR starts is ready."""
        at = self._ready_at.get(start)
        return at is not None and self._clock.now >= at

    def ready_flags(self) -> int:
        """Return the ready flags of CR."""
        return sum(1 << flag for start, (flag, _) in self._sources.items() if self.is_ready(start))

    def write_cr(self, old: int, new: int, _acting: int) -> None:
        for start, (_, duration) in self._sources.items():
            was, wanted = old >> start & 1, new >> start & 1
            if wanted and not was:
                if start == HSE and not self._hse_hz:
                    raise ModelFault("RCC_CR.HSEON is set, but this board has no HSE crystal")
                self.check_pll(start)
                self._ready_at[start] = self._clock.now + duration
            elif was and not wanted:
                if start in self.needed():
                    raise ModelFault(f"RCC_CR: bit {start} is cleared while the system clock needs it")
                self._ready_at.pop(start, None)
        self.value["CR"] = new
        self._apply()

    def _report_reset(self, register: str) -> None:
        self.reset_blocks(register, self.value[register])

    def _apply(self) -> None:
        self._clock.set_frequency(self.core_hz())
        self.changed()
