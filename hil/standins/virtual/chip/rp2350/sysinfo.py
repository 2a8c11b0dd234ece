"""SYSINFO of the RP2350 (data sheet, 10.1.7)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.apb import ApbBlock


class SysInfo(ApbBlock):
    """Chip identification: RP2350, version A2, in the package with 60 pins."""

    REGISTERS = (
        Register("CHIP_ID", 0x0, "STOP_BIT:0/r MANUFACTURER:1-11/r PART:12-27/r REVISION:28-31/r", 0x20004927),
        Register("PACKAGE_SEL", 0x4, "PACKAGE:0/r", 1),
        Register("PLATFORM", 0x8, "FPGA:0/r ASIC:1/r HDLSIM:2/r BATCHSIM:3/r GATESIM:4/r", 2),
        Register("GITREF_RP2350", 0x14, "GITREF:0-31/r"),
    )
