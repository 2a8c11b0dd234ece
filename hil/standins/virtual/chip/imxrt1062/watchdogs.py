"""Watchdogs of i.MX RT1062: WDOG1, WDOG2 and RTWDOG, which runs after reset (IMXRT1060RM, WDOG and RTWDOG).

WDOG1 and WDOG2 cannot be started here. Their power-down counter (PDE) is a bit without effect, because WDOG_B is not
connected on a Teensy.
"""

from __future__ import annotations

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register

LPO_HZ = 32_768
UNLOCK, REFRESH = 0xD928C520, 0xB480A602
WINDOW_PS = 1_000_000  # 128 bus clocks at 128 MHz
EN, UPDATE, CMD32EN = 1 << 7, 1 << 5, 1 << 13


class Wdog(Block):
    """WDOG1 or WDOG2; two registers of 16 bits are combined into a word."""

    SIZES = (2,)
    REGISTERS = (
        Register("WCR_WSR", 0x0, "WDZST:0 WDBG:1 WDE:2/x WDT:3 SRS:4/x WDA:5/x SRE:6 WDW:7 WT:8-15 WSR:16-31/w", 0x30),
        Register("WRSR_WICR", 0x4, "SFTW:0/r TOUT:1/r POR:4/r WICT:16-23 WTIS:30/c WIE:31/x", 0x40000),
        Register("WMCR", 0x8, "PDE:0", 1),
    )


class RtWdog(Block):
    """The watchdog on the 32 kHz clock.

    Args:
        clock: virtual time.
    """

    REGISTERS = (
        Register("CS", 0x0, "STOP:0 WAIT:1 DBG:2 TST:3-4/x UPDATE:5 INT:6/x EN:7 CLK:8-9/x RCS:10/r ULK:11/r PRES:12/x "
                 "CMD32EN:13/x FLG:14/c WIN:15/x", 0x2980),
        Register("CNT", 0x4, "CNTLOW:0-7/w CNTHIGH:8-15/w KEY:16-31/w"),
        Register("TOVAL", 0x8, "TOVALLOW:0-7 TOVALHIGH:8-15", 0x400),
        Register("WIN", 0xC, "WINLOW:0-7/x WINHIGH:8-15/x"),
    )  # fmt: skip

    def __init__(self, clock: Clock) -> None:
        super().__init__("RTWDOG", 0x400BC000)
        self._clock = clock
        self._open_until = 0
        self._configured = False
        self._started = 0
        self.armed = False  # whether the program must stop or refresh it: after the boot ROM has started the program

    def reset(self) -> None:
        super().reset()
        self._open_until = 0
        self._configured = False
        self.armed = False

    def start_timeout(self) -> None:
        """Start the timeout: the boot ROM starts the program."""
        self._started = self._clock.now
        self.armed = True

    def update(self, now: int) -> None:
        due = self.next_event()
        if due is not None and now >= due:
            raise ModelFault(
                f"RTWDOG expires {(now - self._started) / PS_PER_S * 1e3:.0f} ms after the program began; "
                "stop it (RTWDOG_CS.EN)"
            )

    def next_event(self) -> int | None:
        if not self.armed or not self.value["CS"] & EN:
            return None
        return self._started + self.value["TOVAL"] * PS_PER_S // LPO_HZ

    def write_cnt(self, _old: int, _new: int, key: int) -> None:
        if key == UNLOCK:
            if self._configured and not self.value["CS"] & UPDATE:
                raise ModelFault(
                    "RTWDOG is unlocked, but RTWDOG_CS.UPDATE was 0 at its last configuration: "
                    "it stays as it is until reset"
                )
            self._open_until = self._clock.now + WINDOW_PS
        elif key == REFRESH:
            self._started = self._clock.now
        else:
            raise ModelFault(
                f"RTWDOG_CNT is written with 0x{key:08X}, which neither unlocks nor refreshes: the chip resets"
            )

    def _need_open(self, register: str) -> None:
        if self._clock.now >= self._open_until:
            raise ModelFault(f"RTWDOG_{register} is written while it is locked; write 0xD928C520 to RTWDOG_CNT before")

    def write_toval(self, _old: int, new: int, _acting: int) -> None:
        self._need_open("TOVAL")
        self.value["TOVAL"] = new

    def write_cs(self, _old: int, new: int, _acting: int) -> None:
        self._need_open("CS")
        self.value["CS"] = new
        self._configured = True
        self._open_until = 0
        self._started = self._clock.now

    def read_cs(self, value: int) -> int:
        return value & ~(1 << 11) | (self._clock.now < self._open_until) << 11 | self._configured << 10


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
