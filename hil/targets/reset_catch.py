"""Tells whether something other than the debugger reset the chip while a flash algorithm ran on it.

The catch of the reset vector (Armv7-M and Armv6-M, DEMCR.VC_CORERESET: ARM DDI 0403E.e, C1.6.5) halts the core there, instead of letting it run
what is half programmed, and DFSR.VCATCH says so (C1.6.3). DHCSR.S_RESET_ST would say it too, but pyOCD clears it with every look at the core's state.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from pyocd.core.session import Session
from pyocd.core.target import Target
from pyocd.coresight.cortex_m import CortexM

CORE_RESET = Target.VectorCatch.CORE_RESET


class ResetCatch:
    """Catches resets of a session's chip between `with` and its end, which leaves the catch off.

    Args:
        session: one that is open, its core halted.

    Attributes:
        seen: whether there was a reset. It is up to date after the `with`.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._target: Any = session.target
        self.seen = False

    def __enter__(self) -> ResetCatch:
        self._target.write32(CortexM.DFSR, CortexM.DFSR_VCATCH)  # of an earlier reset; write one to clear
        self._target.set_vector_catch(self._target.get_vector_catch() | CORE_RESET)
        # pyOCD clears DFSR when it lets the core run again: the next call of a flash algorithm.
        self._session.subscribe(self._look, Target.Event.PRE_RUN)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._session.unsubscribe(self._look, Target.Event.PRE_RUN)
        try:
            self._look()
            self._target.set_vector_catch(self._target.get_vector_catch() & ~CORE_RESET)
        except Exception:
            if error is None:  # else the first failure is the reason, and the next connection clears the catch
                raise

    def _look(self, *_: object) -> None:
        self.seen = self.seen or bool(self._target.read32(CortexM.DFSR) & CortexM.DFSR_VCATCH)
