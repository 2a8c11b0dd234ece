"""The power of a device under test."""

from __future__ import annotations

from collections.abc import Callable

from hil.dut.caught import Raised, remembered
from hil.rig import Taken


class DutPower:
    """Switches the power of a device.

    Args:
        taken: the reserved board.
        before: closes probe and port.
        after: opens again what was open.
        raised: takes the errors of `cycle`, which the test may catch.
    """

    def __init__(self, taken: Taken, before: Callable[[], None], after: Callable[[], None], raised: Raised) -> None:
        self._taken, self._before, self._after, self.raised = taken, before, after, raised

    @remembered
    def cycle(self) -> str:
        """Switch the power off and on, wait until probe and port are back, and return what was switched.

        Raises:
            Blocked: rig.toml names no switch, it cannot be switched, or a device did not come back.
        """
        if self._taken.endpoints.power is not None:  # else it raises, and nothing is closed
            self._before()
        switched = self._taken.power_cycle()
        self._after()
        return switched
