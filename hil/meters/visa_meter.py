"""Base classes of the VISA drivers: a session with an identified instrument."""

from __future__ import annotations

from hil.energy.data_sheet import DataSheet
from hil.meters.host_marked_window import HostMarkedWindow, check_range
from hil.meters.meter import Host, InvalidWindow, Meter
from hil.visa import VisaSession


class VisaMeter(Meter):
    """Base of all VISA drivers: a session with an identified instrument.

    Args:
        session: to the instrument.
        sheet, host: as in Meter.

    Raises:
        Blocked: another instrument answers, or it refuses a command.
    """

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(sheet, host)
        self._session = session
        self.identity = session.identify(sheet.identity)

    def close(self) -> None:
        """Release the instrument. A board that it feeds stays powered."""
        self._session.close()

    def _refuse_changed_range(self, changed: bool) -> None:
        """Raise InvalidWindow if the range after a window is not the one that was set."""
        if changed:
            raise InvalidWindow(
                f"the range of the {self.sheet.name} was changed within a window: do not touch its front panel"
            )


class UnmarkedVisaMeter(VisaMeter):
    """An instrument without a marker input; the host marks the window with `mark`. Arguments and errors: VisaMeter.

    Attributes:
        range_query: query of the present current range; empty if there is only one range.
    """

    range_query = ""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._window = HostMarkedWindow(host, sheet.name)
        self.mark = self._window.mark

    def _check_range(self, *, within: bool) -> None:
        """Check that the range is the one that was set, before a window or `within` one; errors as of `check_range`."""
        if self.range_query:
            now_a = self._session.query_number(self.range_query)
            check_range(self.sheet.name, now_a, self._window.setting.range_a, within=within)
