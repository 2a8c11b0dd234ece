"""Oscillators and PLLs of RP2040 (data sheet, 2.16 XOSC, 2.17 ROSC, 2.18 PLL) and RP2350 (8.2, 8.3, 8.6).

Delays are of the order of those in the data sheets. A chip's subclasses have the registers.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.apb import ApbBlock

ENABLE, DISABLE = 0xFAB, 0xD1E
LOCK_PS = 100_000_000
PLL_REFERENCE_MIN_HZ, FEEDBACK, VCO_HZ = 5_000_000, (16, 320), (750_000_000, 1_600_000_000)  # 2.18.2
_POWERED_DOWN = 0x2D
_PD, _POSTDIVPD, _VCOPD = 1, 8, 32


class Oscillator(ApbBlock):
    """Base of XOSC and ROSC: an oscillator with an enable code in CTRL.

    Args:
        name, base: name and base address as in the data sheet.
        clock: virtual time.
        changed: called when the oscillator starts or stops.
    """

    def __init__(self, name: str, base: int, clock: Clock, changed: Callable[[], None]) -> None:
        super().__init__(name, base)
        self._clock = clock
        self._changed = changed
        self.enabled = False

    def write_ctrl(self, _old: int, new: int, _acting: int) -> None:
        code = new >> 12
        if code not in (0, ENABLE, DISABLE):
            raise ModelFault(f"{self.name}_CTRL.ENABLE is 0x{code:03X}, neither 0xFAB (enable) nor 0xD1E (disable)")
        self.value["CTRL"] = new
        if code and self.enabled != (code == ENABLE):
            self.enabled = code == ENABLE
            self._started()
            self._changed()

    def _started(self) -> None:
        """Handle a start or stop of the oscillator."""


class Xosc(Oscillator):
    """The crystal oscillator.

    Args:
        base, clock, changed: see Oscillator.
        crystal_hz: frequency of the crystal on the board, 0 for none.
    """

    def __init__(self, base: int, clock: Clock, crystal_hz: int, changed: Callable[[], None]) -> None:
        super().__init__("XOSC", base, clock, changed)
        self._crystal_hz = crystal_hz
        self._stable_at = 0

    def reset(self) -> None:
        super().reset()
        self.enabled = False

    def _started(self) -> None:
        cycles = 256 * self.field("STARTUP", "DELAY") * (4 if self.field("STARTUP", "X4") else 1)
        self._stable_at = self._clock.now + cycles * PS_PER_S // max(1, self._crystal_hz)

    @property
    def hz(self) -> int:
        """Frequency in Hz once stable, else 0."""
        stable = self.enabled and self._crystal_hz and self._clock.now >= self._stable_at
        return self._crystal_hz if stable else 0

    def read_status(self, value: int) -> int:
        return value | self.enabled << 12 | bool(self.hz) << 31


class Rosc(Oscillator):
    """The ring oscillator, at its nominal frequency; its trimming is not modelled.

    Args:
        base, clock, changed: see Oscillator.
    """

    NOMINAL_HZ = 0

    def __init__(self, base: int, clock: Clock, changed: Callable[[], None]) -> None:
        super().__init__("ROSC", base, clock, changed)
        self.enabled = True

    def reset(self) -> None:
        super().reset()
        self.enabled = True

    @property
    def hz(self) -> int:
        return self.NOMINAL_HZ if self.enabled else 0

    def read_status(self, value: int) -> int:
        return value | self.enabled * (1 << 12 | 1 << 16 | 1 << 31)


class Pll(ApbBlock):
    """A PLL on the crystal.

    Args:
        name, base: name and base address as in the data sheet.
        clock: virtual time.
        reference: crystal oscillator.
        in_use: returns whether a running clock comes from this PLL.
        changed: called when the output changes.
    """

    REGISTERS: tuple[Register, ...] = (
        Register("CS", 0x0, "REFDIV:0-5 BYPASS:8/x LOCK:31/r", 1),
        Register("PWR", 0x4, "PD:0 DSMPD:2 POSTDIVPD:3 VCOPD:5", _POWERED_DOWN),
        Register("FBDIV_INT", 0x8, "FBDIV_INT:0-11"),
        Register("PRIM", 0xC, "POSTDIV2:12-14 POSTDIV1:16-18", 0x77000),
    )

    def __init__(
        self, name: str, base: int, clock: Clock, reference: Xosc, in_use: Callable[[], bool],
        changed: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__(name, base)
        self._clock = clock
        self._reference = reference
        self._in_use = in_use
        self._changed = changed
        self._locked_at: int | None = None
        self.on_write("CS", "FBDIV_INT", held=lambda: "a running clock comes from this PLL" if in_use() else "")

    def reset(self) -> None:
        used = self._in_use()
        super().reset()
        self._locked_at = None
        if used:
            self._changed()

    @property
    def hz(self) -> int:
        """Output frequency in Hz once locked and with the post dividers on, else 0."""
        locked = self._locked_at is not None and self._clock.now >= self._locked_at
        if not locked or self.value["PWR"] & _POSTDIVPD:
            return 0
        return self._vco_hz() // max(1, self.field("PRIM", "POSTDIV1") * self.field("PRIM", "POSTDIV2"))

    def _vco_hz(self) -> int:
        return self._reference.hz // max(1, self.field("CS", "REFDIV")) * self.value["FBDIV_INT"]

    def read_cs(self, value: int) -> int:
        locked = self._locked_at is not None and self._clock.now >= self._locked_at
        return value | locked << 31

    def write_pwr(self, _old: int, new: int, _acting: int) -> None:
        on = not new & (_PD | _VCOPD)
        if on and self._locked_at is None:
            self._check()
        if not on and self._in_use():
            raise ModelFault(f"{self.name}_PWR powers down a PLL that a running clock comes from")
        self.value["PWR"] = new
        self._locked_at = (self._locked_at or self._clock.now + LOCK_PS) if on else None
        self._changed()

    def _check(self) -> None:
        reference = self._reference.hz // max(1, self.field("CS", "REFDIV"))
        if reference < PLL_REFERENCE_MIN_HZ:
            raise ModelFault(f"{self.name} is started with a reference of {reference} Hz; wait for XOSC_STATUS.STABLE")
        feedback, vco = self.value["FBDIV_INT"], self._vco_hz()
        if not FEEDBACK[0] <= feedback <= FEEDBACK[1]:
            raise ModelFault(f"{self.name}_FBDIV_INT is {feedback}, outside {FEEDBACK[0]} to {FEEDBACK[1]}")
        if not VCO_HZ[0] <= vco <= VCO_HZ[1]:
            raise ModelFault(f"{self.name}: the VCO would run at {vco} Hz, outside {VCO_HZ[0]} to {VCO_HZ[1]} Hz")

    def write_prim(self, old: int, new: int, _acting: int) -> None:
        if not new >> 16 & 7 or not new >> 12 & 7:
            raise ModelFault(f"{self.name}_PRIM is written with a post divider of 0")
        if old != new and self._in_use():
            raise ModelFault(f"{self.name}_PRIM changes while a running clock comes from this PLL")
        self.value["PRIM"] = new
