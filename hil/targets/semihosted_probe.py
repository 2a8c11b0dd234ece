"""Firmware that asks this computer for files, output and an end through a debug probe, as the rig sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hil.errors import Blocked, RigError
from hil.standins.endable import FILES, Ended
from hil.targets.probe_process import Failed, ProbeEnded, ProbeProcess, TimedOut

ANSWER_S = 15.0  # pyOCD is loaded before the first answer


class SemihostedProbe:
    """The firmware of a board at a probe whose process serves its requests (`hil.standins.endable.Endable`).

    Args:
        board: name of the board.
        process: process of the probe, for this board alone, with a `SemihostingSession`; it was started.
        log: file to which the errors of the firmware are appended; it works in a folder of its own beside it.
        stand_in: process of the stand-in that the probe belongs to; None for hardware.

    Attributes:
        console: path of the port that has what the firmware prints.

    Raises:
        Blocked: the process does not answer.
    """

    what = "firmware"
    shown: tuple[str, ...] = ()
    timeout_s: float | None = None
    caveat: str | None = None

    def __init__(self, board: str, process: ProbeProcess, log: Path, stand_in: int | None) -> None:
        self._board, self._process, self._stand_in = board, process, stand_in
        self.folder_of_files, self._number = log.parent.absolute() / FILES, process.pid
        self.folder_of_files.mkdir(parents=True, exist_ok=True)
        self.console: str = self._ask("serve", str(self.folder_of_files), str(log.absolute()))

    def _ask(self, request: str, *arguments: str) -> Any:
        if self._process.pid != self._number:
            raise self._gone()
        try:
            return self._process.ask(ANSWER_S, request, *arguments, stand_in=self._stand_in)
        except (ProbeEnded, Failed, TimedOut):
            raise self._gone() from None

    def _gone(self) -> Blocked:
        return Blocked(
            "probe",
            f"the process that serves the semihosting of {self._board} has ended, and its files and output with it: "
            "look at the first error of the test, and run again.",
        )

    @property
    def was_started(self) -> bool:
        """Whether the firmware was started at all."""
        return self._outcome()[0] > 0

    def ended(self, drained: bool = False) -> Ended | None:
        """Return how the firmware ended, None while it runs.

        Args:
            drained: None also while not all that it has printed is in the port.

        Raises:
            RigError: it was never started.
            Blocked: the process of the probe is gone.
        """
        starts, code, empty = self._outcome()
        if not starts:
            raise RigError(
                f"the firmware of {self._board} was not started yet: call dut.flash() or dut.reset() before."
            )
        return None if code is None or (drained and not empty) else Ended(code)

    def _outcome(self) -> tuple[int, int | None, bool]:
        outcome: tuple[int, int | None, bool] = self._ask("outcome")
        return outcome
