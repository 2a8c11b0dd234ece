"""Debug access to an STM32 whose core sleeps: DBG_SLEEP, which is on while a probe is connected, and off at rest.

Without DBG_SLEEP the clock of core and bus stops in Sleep mode, and with it every access through access port 0 (RM0385
and RM0455, debug support for low-power modes). Only power-on clears the bit, so it outlasts the connection.
"""

from __future__ import annotations

import time
from typing import Any

from pyocd.core import exceptions
from pyocd.coresight.minimal_mem_ap import MinimalMemAP

from hil.errors import Blocked
from hil.steady_clock import steady_s

AWAKE_WITHIN_S = 5.0  # within the deadline of a connection
POLL_S = 0.001
SLEEP_STOP_STANDBY = 0x7  # DBG_SLEEP, DBG_STOP, DBG_STANDBY: bits 0 to 2 of DBGMCU_CR in every family


class DebugInSleep:
    """Mixed into pyOCD's target of an STM32, before it.

    Attributes:
        CONTROL: address of DBGMCU_CR through access port 0, which all accesses of the rig use.
    """

    CONTROL: int
    dp: Any
    session: Any

    def create_init_sequence(self) -> Any:
        """Return pyOCD's sequence; of a connection to a running core, with DBG_SLEEP before the first access of it."""
        sequence = super().create_init_sequence()  # type: ignore[misc]
        if self.session.options.get("connect_mode") == "attach":
            sequence.insert_after("dp_init", ("debug_in_sleep", self.catch_awake))
        return sequence

    def catch_awake(self) -> None:
        """Set DBG_SLEEP in a moment in which the core is awake.

        A core that sleeps answers no access. One that a timer or a byte on its line wakes does so for some
        microseconds, and three transfers in a row are enough.

        Raises:
            Blocked: it never answered.
        """
        port, until = MinimalMemAP(self.dp), steady_s() + AWAKE_WITHIN_S
        while True:
            try:
                port.init()
                port.write32(self.CONTROL, SLEEP_STOP_STANDBY)
                if port.read32(self.CONTROL) & SLEEP_STOP_STANDBY == SLEEP_STOP_STANDBY:
                    return
            except (exceptions.TransferError, AssertionError):  # an access port that gives no IDR
                pass
            if steady_s() > until:
                raise Blocked(
                    "connect",
                    f"the core sleeps, and its memory could not be read for {AWAKE_WITHIN_S:g} s (DBG_SLEEP is off): "
                    "let the firmware work, or reset the board.",
                )
            time.sleep(POLL_S)

    def post_connect_hook(self) -> None:
        """Let the debugger access memory while the core sleeps."""
        self.write32(self.CONTROL, SLEEP_STOP_STANDBY)  # type: ignore[attr-defined]

    def rest_hook(self) -> None:
        """Let the clocks stop in sleep, as without a debugger. If the core sleeps, no access is possible after this."""
        self.write32(self.CONTROL, 0)  # type: ignore[attr-defined]
