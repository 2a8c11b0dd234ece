"""Detect a reset by something other than the debugger while a flash algorithm runs on the chip.

The reset vector catch (Armv7-M and Armv6-M, DEMCR.VC_CORERESET: ARM DDI 0403E.e, C1.6.5) halts the core after a reset,
so that it does not run a half-programmed image, and sets DFSR.VCATCH (C1.6.3). DHCSR.S_RESET_ST cannot be used, because
pyOCD clears it whenever it reads the state of the core.
"""

from __future__ import annotations

from typing import Any

from pyocd.core.session import Session
from pyocd.core.target import Target
from pyocd.coresight.cortex_m import CortexM

CORE_RESET = Target.VectorCatch.CORE_RESET


class ResetCatch:
    """Detect resets of the chip of a session with a halted core; `seen` is valid after the `with` block."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._target: Any = session.target
        self.seen = False

    def __enter__(self) -> ResetCatch:
        self._target.write32(CortexM.DFSR, CortexM.DFSR_VCATCH)  # write one to clear the flag of an earlier reset
        self._target.set_vector_catch(self._target.get_vector_catch() | CORE_RESET)
        # pyOCD clears DFSR when it resumes the core for the next call of a flash algorithm.
        self._session.subscribe(self._look, Target.Event.PRE_RUN)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._session.unsubscribe(self._look, Target.Event.PRE_RUN)
        try:
            self._look()
            self._target.set_vector_catch(self._target.get_vector_catch() & ~CORE_RESET)
        except Exception:
            if error is None:  # otherwise report the first failure; the next connection clears the catch
                raise

    def _look(self, *_: object) -> None:
        self.seen = self.seen or bool(self._target.read32(CortexM.DFSR) & CortexM.DFSR_VCATCH)
