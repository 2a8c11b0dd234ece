"""Any instrument that answers a query with a reading; its data sheet or rig.toml gives the queries (`dialect`).

Readings are point samples. The host dates each one at the middle of the round trip, with half of the round trip as
uncertainty. Some instruments repeat their last reading until they have a new one (hil/meters/polling.py). Their
readings are taken to be half of that time old, with the other half as uncertainty. Averaging in the instrument is
unknown and not claimed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hil.dataclass_json import rebuilt
from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.energy.edge_search import Stamped
from hil.errors import Blocked, RigError
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.polling import JITTER, Poller, reading, refresh_s
from hil.meters.visa_meter import UnmarkedVisaMeter
from hil.visa import VisaSession

COLUMNS = "IVP-"
DIALECT_CURE = "write it as in hil/meters/data_sheets/polled-scpi.toml"
FEWEST_SLEEP = 3  # new readings in a sleep; of fewer, none may lie within the sleep alone
REPEATED = (
    "the meter repeats its last reading until it has a new one, every {:.3g} ms: it was asked every {:.3g} ms, "
    "and an answer may be so old."
)
MARGIN = 1.2  # times the range; most instruments still read that much


@dataclass(frozen=True)
class Dialect:
    """How to query an instrument.

    Attributes:
        readings: queries, in order, and the comma-separated columns of each reply: `I`, `V`, `P`, or `-` for an unused
            one.
        reset: commands on opening, and before a series if the instrument does not feed the board.
        prepare: commands before a series; `{volt:g}` and `{range_a:g}` are replaced.
        range_query: query of the present current range; empty if there is only one range.
        error_query: query of the oldest error; empty if there is none.
    """

    readings: Mapping[str, str]
    reset: tuple[str, ...] = ("*RST", "*CLS")
    prepare: tuple[str, ...] = ()
    range_query: str = ""
    error_query: str = ":SYST:ERR?"

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Dialect:
        """Return the dialect in a TOML table.

        Raises:
            RigError: an unknown or missing key, a wrong type, or no query that returns current or power.
        """
        dialect = rebuilt(cls, dict(raw), "the table [dialect] of a data sheet", DIALECT_CURE)
        letters = "".join(dialect.readings.values())
        if not set(letters) <= set(COLUMNS) or not set(letters) & {"I", "P"}:
            raise RigError(
                f"a meter's dialect reads {letters!r}: each query returns columns of {COLUMNS}, "
                "and one of I and P is needed."
            )
        return dialect


class PolledScpi(UnmarkedVisaMeter):
    """An instrument that answers each query with a reading. Further arguments and errors: VisaMeter.

    Args:
        dialect: how to query it; None for the dialect of the data sheet.
        jitter, seed: of the interval between two queries (hil/meters/polling.py).
    """

    def __init__(
        self, session: VisaSession, sheet: DataSheet, host: Host, dialect: Dialect | None = None, *,
        jitter: float = JITTER, seed: int = 0
    ) -> None:  # fmt: skip
        super().__init__(session, sheet, host)
        self._dialect = dialect or Dialect.read(sheet.dialect)
        self.range_query = self._dialect.range_query
        self._poller = Poller(host, jitter, seed)
        self._instant = max(i for i, columns in enumerate(self._dialect.readings.values()) if set(columns) & {"I", "P"})
        self._write(*self._dialect.reset)

    def configure(self, setting: Setting) -> None:
        """Discard all earlier settings and prepare to read as `setting` says, on a fixed range."""
        self._window.setting = setting
        if not self.sheet.feeds:
            self._write(*self._dialect.reset)  # a reset would switch off a board that the instrument feeds
        self._write(*(command.format(volt=setting.volt, range_a=setting.range_a) for command in self._dialect.prepare))
        self._check_range(within=False)

    def arm(self) -> None:
        """Start a window."""
        self._window.arm()

    def capture(self, deadline_s: float) -> Capture:
        """Read until the host has its reply (`mark`), or until the expected end of the window.

        Raises:
            InvalidWindow: overload, no number, a changed range, or edges that cannot be found.
        """
        began, setting = self._host.now(), self._window.setting
        polls = self._poller.run(self._poll_and_check, setting.interval_s, lambda: self._window.over(began, deadline_s))
        current, volt, power = self._columns(polls.values)
        self._require_on_range(current, setting.range_a, MARGIN)
        if self._dialect.error_query:
            self._session.check(self._dialect.error_query)
        every_s = refresh_s(polls.t_s, polls.values)
        if every_s > setting.idle_s / FEWEST_SLEEP:
            raise Blocked(
                "energy",
                f"the {self.sheet.name} has a new reading only every {every_s:.2g} s: "
                f"let the board sleep {FEWEST_SLEEP * every_s:.2g} s.",
            )
        stamped = Stamped(polls.t_s - every_s / 2, power, polls.half_s + every_s / 2, 0.0)
        capture = self._window.capture(stamped, (current, volt), setting.interval_s, setting.range_a, polls.lost)
        if not every_s:
            return capture
        return replace(capture, renewed_s=every_s).noted(REPEATED.format(1000 * every_s, 1000 * setting.interval_s))

    def check_settings(self) -> None:
        """Check, after every reading of a window, that the instrument keeps its settings: by default, its range.

        Raises:
            InvalidWindow: it does not.
        """
        self._check_range(within=True)

    def watch(self) -> np.ndarray:
        """Return the power of a reading made now, float64[1] in watts."""
        return self._columns(np.array([self._poll()[2]]))[2]

    def _columns(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return amperes, volts and watts of readings, float64[n, k]; NaN for columns that the instrument lacks."""
        columns = dict(zip("".join(self._dialect.readings.values()), values.T, strict=True))
        unknown = np.full(len(values), np.nan)
        current, volt = columns.get("I", unknown), columns.get("V", unknown)
        return current, volt, columns.get("P", current * (volt if "V" in columns else self._window.setting.volt))

    def _poll_and_check(self) -> tuple[float, float, list[float]]:
        answer = self._poll()
        self.check_settings()
        return answer

    def _poll(self) -> tuple[float, float, list[float]]:
        values: list[float] = []
        sent = received = 0.0
        for place, (query, columns) in enumerate(self._dialect.readings.items()):
            before = self._host.now()
            words = self._session.query(query).split(",")
            if place == self._instant:
                sent, received = before, self._host.now()
            if len(words) != len(columns):
                raise InvalidWindow(
                    f"the {self.sheet.name} answered {query!r} with {len(words)} numbers, not {len(columns)}."
                )
            values += [
                reading(word, self.sheet.name) if use != "-" else 0.0 for word, use in zip(words, columns, strict=True)
            ]
        return sent, received, values

    def _write(self, *commands: str) -> None:
        self._session.write(*commands)
        if commands and self._dialect.error_query:
            self._session.check(self._dialect.error_query)
