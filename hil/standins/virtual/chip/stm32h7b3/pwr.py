"""PWR of STM32H7A3/7B3: supply choice and voltage scale.

Source: RM0455, PWR: power supply control, voltage scaling, PWR registers.
Delays are modelled with typical orders of magnitude: a program that does not wait for a flag is detected.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register

SUPPLY_DELAY_PS = 20_000_000
SCALE_DELAY_PS = 10_000_000
BYPASS, LDOEN, SMPSEN, SMPSEXTHP, SMPSLEVEL = 1, 2, 4, 8, 0x30
SUPPLY = BYPASS | LDOEN | SMPSEN | SMPSEXTHP | SMPSLEVEL
VOS_SHIFT = 14

# RM0455, PWR: supply configuration control: allowed combinations of bits of CR3.
_VALID_SUPPLIES = frozenset(
    {LDOEN, SMPSEN, BYPASS}
    | {SMPSEN | LDOEN | level << 4 for level in (1, 2)}
    | {SMPSEN | SMPSEXTHP | regulator | level << 4 for level in (1, 2) for regulator in (LDOEN, BYPASS)}
)


class Stm32H7b3Pwr(Block):
    """The power controller.

    Args:
        clock: virtual time.
    """

    REGISTERS = (
        Register("CR1", 0x00, "LPDS:0 PVDE:4/x PLS:5-7 DBP:8 FLPS:9 BOOSTE:12/x AVD_READY:13/x SVOS:14-15 AVDEN:16/x "
                 "ALS:17-18 AXIRAM1SO:19 AXIRAM2SO:20 AXIRAM3SO:21 AHBRAM1SO:22 AHBRAM2SO:23 ITCMSO:24 GFXSO:25 "
                 "HSITFSO:26 SRDRAMSO:27", 0x0000C000),
        Register("CSR1", 0x04, "PVDO:4/r ACTVOSRDY:13/r ACTVOS:14-15/r AVDO:16/r MMCVDO:17/r"),
        Register("CR2", 0x08, "BREN:0/x MONEN:4/x BRRDY:16/r VBATL:20/r VBATH:21/r TEMPL:22/r TEMPH:23/r"),
        Register("CR3", 0x0C, "BYPASS:0 LDOEN:1 SMPSEN:2 SMPSEXTHP:3 SMPSLEVEL:4-5 VBE:8/x VBRS:9/x SMPSEXTRDY:16/r "
                 "USB33DEN:24/x USBREGEN:25/x USB33RDY:26/r", LDOEN | SMPSEN),
        Register("CPUCR", 0x10, "RETDS_CD:0 PDDS_SRD:2 STOPF:5/r SBF:6/r CSSF:9/w RUN_SRD:11"),
        Register("SRDCR", 0x18, "VOSRDY:13/r VOS:14-15"),
        Register("WKUPCR", 0x20, "WKUPC:0-5/w"),
        Register("WKUPFR", 0x24, "WKUPF:0-5/r"),
        Register("WKUPEPR", 0x28, "WKUPEN:0-5/x WKUPP:8-13 WKUPPUPD:16-27"),
    )  # fmt: skip

    def __init__(self, clock: Clock) -> None:
        super().__init__("PWR", 0x58024800)
        self._clock = clock
        self.supply_chosen = False
        self._supply_ready = 0
        self._scale_ready = 0
        self.scale_changed: Callable[[], None] = lambda: None

    def power_on(self) -> None:
        """Power-on reset: the supply is to be chosen again."""
        super().reset()
        self.supply_chosen = False
        self._supply_ready = self._scale_ready = 0

    def reset(self) -> None:
        """System reset; CR3 keeps its value, because only power-on resets it (RM0455, PWR_CR3)."""
        supply = self.value["CR3"]
        super().reset()
        self.value["CR3"] = supply

    @property
    def scale(self) -> int:
        """Voltage scale, 0 (fastest) to 3. VOS 0b11 is scale 0."""
        return 3 - self.field("SRDCR", "VOS")

    def write_cr3(self, old: int, new: int, _acting: int) -> None:
        if self.supply_chosen:
            new = new & ~SUPPLY | old & SUPPLY  # only the first write after power-on has an effect
        else:
            self.supply_chosen = True
            if new & SUPPLY not in _VALID_SUPPLIES:
                raise ModelFault(f"PWR_CR3 is set to 0x{new:08X}, not a supply configuration; power-cycle the chip")
            self._supply_ready = self._clock.now + SUPPLY_DELAY_PS
        self.value["CR3"] = new

    def is_ready(self) -> bool:
        """Return ACTVOSRDY: whether the supply is chosen and the voltage has settled."""
        return self.supply_chosen and self._clock.now >= max(self._supply_ready, self._scale_ready)

    def read_csr1(self, value: int) -> int:
        return value | self.is_ready() << 13 | self.field("SRDCR", "VOS") << 14

    def read_srdcr(self, value: int) -> int:
        return value | (self._clock.now >= self._scale_ready) << 13

    def write_srdcr(self, old: int, new: int, _acting: int) -> None:
        if old == new:
            return
        if not self.supply_chosen or self._clock.now < self._supply_ready:
            raise ModelFault("PWR_SRDCR.VOS changes before the supply is chosen; write PWR_CR3, wait for ACTVOSRDY")
        before, after = 3 - (old >> VOS_SHIFT & 3), 3 - (new >> VOS_SHIFT & 3)
        if 0 in (before, after) and {before, after} != {0, 1}:
            raise ModelFault(f"PWR_SRDCR.VOS changes from {before} to {after}; scale 0 is only allowed from and to 1")
        self.value["SRDCR"] = new
        self._scale_ready = self._clock.now + SCALE_DELAY_PS
        self.scale_changed()

    def scale_is_stable(self) -> bool:
        """Return whether the voltage has settled since the scale was changed."""
        return self._clock.now >= self._scale_ready
