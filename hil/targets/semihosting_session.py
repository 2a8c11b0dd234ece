"""A pyOCD session that serves the semihosting of the firmware, between the requests of the rig and within long ones."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyocd.core.target import Target
from pyocd.debug.context import DebugContext

from hil.steady_clock import steady_s
from hil.targets import remote_probe
from hil.targets.confined_files import ConfinedFiles
from hil.targets.console import Console
from hil.targets.pyocd_core import POLL_S, PyocdCore
from hil.targets.pyocd_session import ERRORS, PyocdSession, Segments, Write, alone
from hil.targets.semihost_agent import Agent, Looked

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.001, 0.01  # from a look at a running core to the next
AFTER_ERROR_S = 0.5  # the request of the rig that comes next says what is wrong with the probe
UNREAD_S = 0.01  # from one attempt to the next to print what the port did not take


class SemihostingSession(PyocdSession):
    """A session whose firmware may ask for files, output and an end.

    A core that the rig has halted is not served: a BKPT at which it stands is executed again when it goes on.

    Args:
        report: as for `PyocdSession`; also called, with no round trip, while a request of the firmware takes long.
    """

    def __init__(self, report: remote_probe.Report = lambda answered, round_trip_s: None) -> None:
        super().__init__(report)
        self._report, self._console = report, Console()
        self._files = self._errors = Path()
        self._agent: Agent | None = None  # of the present start
        self._starts, self._held, self._pause_s = 0, True, FIRST_PAUSE_S

    def serve(self, files: str, errors: str) -> str:
        """Serve the firmware of another device under test from now on; the former one is released.

        Args:
            files: folder of the firmware; it exists.
            errors: file to which its errors are appended.

        Returns:
            The path of the port that has what the firmware prints.
        """
        self.close()
        if self._agent is not None:
            self._agent.cleanup()
        self._console.discard()
        self._files, self._errors = Path(files), Path(errors)
        self._agent, self._starts, self._held = None, 0, True
        return self._console.path

    def outcome(self) -> tuple[int, int | None, bool]:
        """Return how often the firmware was started, its exit code, and whether all that it printed is in the port."""
        return self._starts, self._exit_code, self._console.is_empty

    @property
    def _exit_code(self) -> int | None:
        return self._agent.exit_code if self._agent is not None else None

    def idle(self) -> float | None:
        """Look at the core once, and serve its request; return the seconds until the next look, None without one."""
        self._console.pump()
        pause_s = None if self._console.is_empty else UNREAD_S
        if self._session is None or self._held:
            return pause_s
        try:
            served = self.look() is Looked.SERVED
        except ERRORS:
            return AFTER_ERROR_S
        self._pause_s = FIRST_PAUSE_S if served else min(2 * self._pause_s, LONGEST_PAUSE_S)
        return 0.0 if served else self._pause_s

    def look(self) -> Looked:
        """Look at the core, and let it run on after a request."""
        if self._target.get_state() != Target.State.HALTED:
            return Looked.RUNS
        assert self._agent is not None
        if self._exit_code is not None:
            return Looked.ENDED
        with alone(self._probe):
            found = self._agent.serve()
            if found is Looked.SERVED:
                self._target.resume()
        self._held = self._held or found is Looked.ENDED
        return found

    # What starts the firmware, or ends it.

    def connect(
        self, unique_id: str, target: str, options: dict[str, Any], pack_file: str | None = None, chip: str = "",
        running: bool = False,
    ) -> str:  # fmt: skip
        """Connect, as `PyocdSession.connect`; what the firmware has open stays so."""
        vendor = super().connect(unique_id, target, options, pack_file, chip, running)
        if self._agent is None:
            self._begin()
        else:
            self._agent.context = self._context()
        self._held = not running or self._exit_code is not None
        return vendor

    def _begin(self) -> None:
        """Forget the firmware that ran: its files, its output, its end."""
        if self._agent is not None:
            self._agent.cleanup()
        self._console.discard()
        files = ConfinedFiles(self._files)
        self._agent = Agent(self._context(), files, self._console, self._errors, lambda: self._report(0, 0.0))
        self._held = True

    def _context(self) -> DebugContext:
        return DebugContext(self._target.selected_core)

    def _started(self) -> None:
        self._starts, self._held, self._pause_s = self._starts + 1, False, FIRST_PAUSE_S

    def program(self, segments: Segments, always: bool) -> str:
        """Program bytes into the flash, as `PyocdSession.program`."""
        self._begin()
        return super().program(segments, always)

    def reset(self) -> None:
        """Reset the chip and let it run."""
        self._begin()
        super().reset()
        self._started()

    def start_with(self, entry: int, writes: Sequence[Write]) -> bool:
        """Reset the chip, write memory and let it run, as `PyocdSession.start_with`."""
        self._begin()
        written = super().start_with(entry, writes)
        self._started()
        return written

    # What halts the core.

    def halt(self) -> None:
        """Halt the core; nothing if it is halted."""
        self._held = True
        super().halt()

    def resume(self) -> None:
        """Let the halted core run; nothing if the firmware has ended: what is behind its end is no program."""
        if self._exit_code is None:
            super().resume()
            self._held = False

    def is_halted(self) -> bool:
        """Return whether the core is halted, and not by a request of the firmware."""
        return super().is_halted() if self._held else self.look() is Looked.STOPPED

    def _let_run(self, seconds: float) -> None:
        end = steady_s() + seconds
        while (left_s := end - steady_s()) > 0:
            if self._held or self.look() is not Looked.SERVED:
                time.sleep(min(POLL_S, left_s))

    def _core(self) -> PyocdCore:
        return SemihostingCore(self._target, self)

    def close(self) -> None:
        """Release the probe. The firmware runs on, and halts at its next request until the probe is connected again.

        pyOCD would switch halting debug off, and the request would be a HardFault.
        """
        if self._session is not None:
            with contextlib.suppress(*ERRORS):
                self.resume()
            self._session.options.set("resume_on_disconnect", False)
        super().close()


class SemihostingCore(PyocdCore):
    """A core whose requests are served while it is waited for."""

    def __init__(self, target: Any, session: SemihostingSession) -> None:
        super().__init__(target)
        self._session = session

    def halt(self) -> None:
        """Halt the core; nothing if it is halted."""
        self._session.halt()

    def resume(self) -> None:
        """Let the halted core run."""
        self._session.resume()

    def halted_within(self, seconds: float) -> bool:
        """Wait until the core is halted by other than a request, and return whether it is; False if it has ended."""
        end = steady_s() + seconds
        while (found := self._session.look()) is not Looked.STOPPED:
            if found is Looked.ENDED or steady_s() > end:
                return False
            if found is not Looked.SERVED:
                time.sleep(POLL_S)
        return True
