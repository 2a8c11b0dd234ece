"""System reset controller (SRC) of i.MX RT1062: boot mode and reset reason (IMXRT1060RM, SRC)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Block, Register

INTERNAL_BOOT = 2


class Src(Block):
    """SRC; boot mode is internal, from serial NOR flash on the FlexSPI, as a Teensy's loader chip sets it.

    All other registers have no effect.
    """

    REGISTERS = (
        Register("SCR", 0x00, "mask_wdog_rst:7-10/x core0_rst:13/x core0_dbg_rst:17/x dbg_rst_msk_pg:25/x "
                 "mask_wdog3_rst:28-31/x", 0xA0480520),
        Register("SBMR1", 0x04, "BOOT_CFG1:0-7/r BOOT_CFG2:8-15/r BOOT_CFG3:16-23/r BOOT_CFG4:24-31/r"),
        Register("SRSR", 0x08, "ipp_reset_b:0/c lockup_sysresetreq:1/c csu_reset_b:2/c ipp_user_reset_b:3/c "
                 "wdog_rst_b:4/c jtag_rst_b:5/c jtag_sw_rst:6/c wdog3_rst_b:7/c tempsense_rst_b:8", 1),
        Register("SBMR2", 0x1C, "SEC_CONFIG:0-1/r DIR_BT_DIS:3/r BT_FUSE_SEL:4/r BMOD:24-25/r"),
        Register("GPR1", 0x20, "PERSISTENT_ENTRY0:0-31"), Register("GPR2", 0x24, "PERSISTENT_ARG0:0-31"),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__("SRC", 0x400F8000)

    def read_sbmr2(self, _value: int) -> int:
        return INTERNAL_BOOT << 24
