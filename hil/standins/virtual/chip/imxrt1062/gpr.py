"""IOMUXC_GPR of i.MX RT1062: division of FlexRAM, clock of the core's platform in sleep, choice of GPIO ports.

Sources: IMXRT1060RM, IOMUXC GPR; AN12077. The other registers of the block are not modelled: an access to them faults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hil.standins.virtual.chip.registers import Block, Register

BANK, BANKS = 32 * 1024, 16
OCRAM, DTCM, ITCM = 1, 2, 3
BY_FUSES = 0x55AFFA55  # ITCM 128 KB, DTCM 128 KB, OCRAM 256 KB; the use of each bank is unverified
_SIZE = {0: 0} | {code: 4096 << code - 3 for code in range(3, 11)}  # size of a TCM in bytes by CM7_CFGxTCMSZ
_ACMP = " ".join(
    f"ACMP{i + 1}_CMP_IGEN_TRIM_{way}:{4 * j + i}/x" for j, way in enumerate(("DN", "UP")) for i in range(4)
)


@dataclass(frozen=True)
class Shares:
    """Sizes in bytes of ITCM, DTCM and OCRAM in FlexRAM."""

    itcm: int
    dtcm: int
    ocram: int


class Gpr(Block):
    """The registers of IOMUXC_GPR that are modelled.

    Args:
        shares_changed: called when FlexRAM is divided anew.
        pins_changed: called when the GPIO port of a pad may have changed.
    """

    REGISTERS = (
        Register("GPR1", 0x04, "SAI1_MCLK1_SEL:0-2/x SAI1_MCLK2_SEL:3-5/x SAI1_MCLK3_SEL:6-7/x SAI2_MCLK3_SEL:8-9/x "
                 "SAI3_MCLK3_SEL:10-11/x GINT:12/x ENET1_CLK_SEL:13/x ENET2_CLK_SEL:14/x USB_EXP_MODE:15/x "
                 "ENET1_TX_CLK_DIR:17/x ENET2_TX_CLK_DIR:18/x SAI1_MCLK_DIR:19/x SAI2_MCLK_DIR:20/x SAI3_MCLK_DIR:21/x "
                 "EXC_MON:22/x ENET_IPG_CLK_S_EN:23/x CM7_FORCE_HCLK_EN:31"),
        Register("GPR14", 0x38, _ACMP + " ACMP1_SAMPLE_SYNC_EN:8/x ACMP2_SAMPLE_SYNC_EN:9/x ACMP3_SAMPLE_SYNC_EN:10/x "
                 "ACMP4_SAMPLE_SYNC_EN:11/x CM7_CFGITCMSZ:16-19 CM7_CFGDTCMSZ:20-23"),
        Register("GPR16", 0x40, "INIT_ITCM_EN:0/x INIT_DTCM_EN:1/x FLEXRAM_BANK_CFG_SEL:2", 0x200003),
        Register("GPR17", 0x44, "FLEXRAM_BANK_CFG:0-31"),
        *(Register(f"GPR{26 + i}", 0x68 + 4 * i, f"GPIO_MUX{i + 1}_GPIO_SEL:0-31") for i in range(4)),
    )  # fmt: skip

    def __init__(self, shares_changed: Callable[[], None], pins_changed: Callable[[], None]) -> None:
        super().__init__("IOMUXC_GPR", 0x400AC000)
        for name in ("GPR14", "GPR16", "GPR17"):
            self._writers[name] = lambda _old, new, _acting, name=name: self._set(name, new, shares_changed)
        for name in ("GPR26", "GPR27", "GPR28", "GPR29"):
            self._writers[name] = lambda _old, new, _acting, name=name: self._set(name, new, pins_changed)

    def _set(self, name: str, new: int, changed: Callable[[], None]) -> None:
        old, self.value[name] = self.value[name], new
        if old != new:
            changed()

    @property
    def banks(self) -> int:
        """Bank configuration in force, two bits for each bank."""
        return self.value["GPR17"] if self.field("GPR16", "FLEXRAM_BANK_CFG_SEL") else BY_FUSES

    def shares(self) -> Shares:
        """Return the division of FlexRAM; without the fuses, GPR14 limits the size of a TCM."""
        kinds = [self.banks >> 2 * i & 3 for i in range(BANKS)]
        itcm, dtcm, ocram = (kinds.count(kind) * BANK for kind in (ITCM, DTCM, OCRAM))
        if self.field("GPR16", "FLEXRAM_BANK_CFG_SEL"):
            itcm = min(itcm, _SIZE.get(self.field("GPR14", "CM7_CFGITCMSZ"), 0))
            dtcm = min(dtcm, _SIZE.get(self.field("GPR14", "CM7_CFGDTCMSZ"), 0))
        return Shares(itcm, dtcm, ocram)
