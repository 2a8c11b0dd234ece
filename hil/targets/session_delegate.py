"""What the rig has pyOCD do otherwise while it connects to a chip and lets it go: a delegate of its session."""

from __future__ import annotations

import time
from typing import Any

from pyocd.coresight import dap
from pyocd.coresight.cortex_m import CortexM
from pyocd.coresight.minimal_mem_ap import MinimalMemAP

REQUESTS = dap.CSYSPWRUPREQ | dap.CDBGPWRUPREQ
ACKNOWLEDGED = dap.CSYSPWRUPACK | dap.CDBGPWRUPACK
AFTER_RESET_S = 0.01  # as pyOCD
NO_REQUEST = dap.MASKLANE | dap.TRNNORMAL  # what pyOCD leaves in CTRL/STAT


class SessionDelegate:
    """A delegate of a pyOCD session.

    It does not read the descriptions of the chip's peripherals (SVD): pyOCD does at each connection, in a thread, for
    debuggers that show registers, and for an i.MX RT1062 that takes half a second of processor time.

    Attributes:
        powers_down: whether the debug port is to give up its power at the end, also if pyOCD is told to leave the core
            as it is (`resume_on_disconnect` off), when it would keep it.
        is_off: whether the chip has then acknowledged that debug power and system power are off.
    """

    def __init__(self) -> None:
        self.powers_down = self.is_off = False

    def will_init_target(self, target: Any, init_sequence: Any) -> None:  # pyOCD gives both by name
        """Leave out the descriptions of peripherals."""
        if init_sequence.has_task("load_svd"):
            init_sequence.remove_task("load_svd")

    def did_disconnect(self, target: Any, resume: bool) -> None:  # pyOCD gives both by name
        """Power the debug port down, after the last access to memory."""
        if self.powers_down:
            self.is_off = powered_down(target.dp)


class CaughtAtReset(SessionDelegate):
    """The delegate of a connection to an unknown chip: it is reset, and halted before it can sleep.

    Without its family's debug bits (STM32: DBG_SLEEP), a core that sleeps answers no access, and pyOCD finds no core.
    """

    def will_init_target(self, target: Any, init_sequence: Any) -> None:  # pyOCD gives both by name
        """Halt the core between pyOCD's first access of the debug port and its search for cores."""
        super().will_init_target(target, init_sequence)
        init_sequence.insert_after("dp_init", ("halt_at_reset", lambda: halted_at_reset(target.dp)))


def halted_at_reset(port: Any) -> None:
    """Reset the chip by the line of the probe, and halt its core at its first instruction (Armv7-M, C1.4.1).

    Args:
        port: debug port (pyOCD's `dp`).
    """
    memory = MinimalMemAP(port)
    port.assert_reset(1)
    try:
        memory.init()
        before = memory.read32(CortexM.DEMCR)
        memory.write32(CortexM.DEMCR, before | CortexM.DEMCR_VC_CORERESET)
        memory.write32(CortexM.DHCSR, CortexM.DBGKEY | CortexM.C_DEBUGEN)
    finally:
        port.assert_reset(0)
    time.sleep(AFTER_RESET_S)
    memory.write32(CortexM.DEMCR, before)


def powered_down(port: Any) -> bool:
    """Withdraw the requests for power of a debug port (pyOCD's `dp`); return whether the chip acknowledged it.

    System power goes before debug power (ARM IHI 0031, B2.2.2 and B2.4: CSYSPWRUPREQ must not be 1 while CDBGPWRUPREQ
    is 0), as pyOCD does it. A chip that does not acknowledge the first step would keep pyOCD from the second.
    """
    if not port.power_down_debug():
        port.write_reg(dap.DP_CTRL_STAT, NO_REQUEST)
    return not port.read_reg(dap.DP_CTRL_STAT) & (REQUESTS | ACKNOWLEDGED)
