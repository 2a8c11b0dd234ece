"""What every driver by VISA has: a session with an instrument that has said who it is, and the host's clock."""

from __future__ import annotations

from hil.energy.data_sheet import DataSheet
from hil.meters.host_marked_window import Unmarked
from hil.meters.meter import Host, Spoiled
from hil.visa import VisaSession


class VisaMeter:
    """Base of all drivers by VISA: an identified instrument and the host's clock.

    Args:
        session: with the instrument.
        sheet: its data sheet.
        host: the host's clock.

    Raises:
        Blocked: another instrument answers, or it refuses a command.
    """

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        self._session, self.sheet, self._host = session, sheet, host
        self.identity = session.identify(sheet.identity)

    def close(self) -> None:
        """Let go of the instrument; a board that it feeds stays fed."""
        self._session.close()

    def _refuse_changed_range(self, changed: bool) -> None:
        """Raise Spoiled where the range behind a window is not the one that was set."""
        if changed:
            raise Spoiled(
                f"the range of the {self.sheet.name} was changed within a window: leave its front panel alone"
            )


class UnmarkedVisaMeter(VisaMeter):
    """One without an input for the marker; `mark` takes the host's word for it. Arguments and errors: VisaMeter."""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._window = Unmarked(host, sheet.name)
        self.mark = self._window.mark
