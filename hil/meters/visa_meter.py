"""Base classes of the VISA drivers: a session with an identified instrument, and the host's clock."""

from __future__ import annotations

from hil.energy.data_sheet import DataSheet
from hil.meters.host_marked_window import HostMarkedWindow
from hil.meters.meter import Host, Spoiled
from hil.visa import VisaSession


class VisaMeter:
    """Base of all VISA drivers: an identified instrument and the host's clock.

    Args:
        session: to the instrument.
        sheet: its data sheet.
        host: the host's clock.

    Raises:
        Blocked: another instrument answers, or it refuses a command.
    """

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        self._session, self.sheet, self._host = session, sheet, host
        self.identity = session.identify(sheet.identity)

    def close(self) -> None:
        """Release the instrument. A board that it feeds stays powered."""
        self._session.close()

    def _refuse_changed_range(self, changed: bool) -> None:
        """Raise Spoiled if the range after a window is not the one that was set."""
        if changed:
            raise Spoiled(
                f"the range of the {self.sheet.name} was changed within a window: do not touch its front panel"
            )


class UnmarkedVisaMeter(VisaMeter):
    """An instrument without a marker input; the host marks the window with `mark`. Arguments and errors: VisaMeter."""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._window = HostMarkedWindow(host, sheet.name)
        self.mark = self._window.mark
