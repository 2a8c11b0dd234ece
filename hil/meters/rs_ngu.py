"""Rohde & Schwarz NGU201/401: feeds the board; its fast log sends pairs of volts and amperes in blocks of 0.25 s.

Commands: NGU User Manual 1179.2531.02, "Data logging commands" (FLOG, FLOG:DATA?) and "Configuration commands"
(SENSe:CURRent:RANGe). Status bits and the 250 ms are from the maker's example for the NGM200 and from public programs
for the NGU401: bit 12 of the channel's operation status means that a block is ready; bit 11 of its questionable
status, that a block was lost because it was not fetched in time.
"""

from __future__ import annotations

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.energy.edge_search import Stamped
from hil.errors import Blocked
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.reading_checks import require_below_limit, require_numbers
from hil.meters.visa_meter import UnmarkedVisaMeter
from hil.visa import VisaSession

RATES = {100.0: "S100", 1e3: "S001K", 10e3: "S010K", 50e3: "S050K", 250e3: "S250K", 500e3: "S500K"}
BLOCK_S = 0.25
POLL_S = 0.004  # the instrument keeps a block only 20 ms
BLOCK_KEPT_S = 0.02
OPERATION, QUESTIONABLE = 1 << 7, 1 << 3  # summaries in the status byte (IEEE 488.2, SCPI-99)
LIMIT_A = 1.0  # limits the current of a faulty board
# Each register summarises the next: instruments (bit 13), channel 1 (bit 1), block ready (bit 12) or lost (bit 11).
SUMMARIES = {"OPER": (8192, 2, 4096), "QUES": (8192, 2, 2048)}


class RsNGU(UnmarkedVisaMeter):
    """A Rohde & Schwarz NGU201 or NGU401. Arguments and errors: VisaMeter. A raw socket allows only one session.

    Opening it resets it, which switches its output off: open it before the board is flashed.
    """

    range_query = "SENS:CURR:RANG?"

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._rate = min(RATES)
        session.write("*RST", "*CLS")
        session.check("SYST:ERR?")

    def configure(self, setting: Setting) -> None:
        """Stop the log, switch automatic ranges off, set voltage, range and rate, and feed the board."""
        self._window.setting = setting
        self._rate = min((rate for rate in RATES if rate >= 0.999 / setting.interval_s), default=max(RATES))
        self._session.write(
            "FLOG 0", "FLOG:TRIG 0", "FLOG:TARG SCPI", f"FLOG:SRAT {RATES[self._rate]}", f"SOUR:VOLT {setting.volt:g}",
            f"SOUR:CURR {LIMIT_A:g}",
            "SENS:CURR:RANG:AUTO 0", f"SENS:CURR:RANG {setting.range_a:g}",
        )  # fmt: skip
        for register, bits in SUMMARIES.items():
            for name, bit in zip((register, f"{register}:INST", f"{register}:INST:ISUM1"), bits, strict=True):
                self._session.write(f"STAT:{name}:NTR 0", f"STAT:{name}:PTR {bit}", f"STAT:{name}:ENAB {bit}")
        self._session.write("OUTP 1")
        self._session.check("SYST:ERR?")
        self._check_range(within=False)

    def arm(self) -> None:
        """Clear old events and start the log."""
        self._session.write("FLOG 0")
        for register in SUMMARIES:
            self._clear(register)
        self._window.arm()
        before = self._host.now()
        self._session.write("FLOG 1")
        self._session.query("*OPC?")
        self._begin, self._wrong = (before + self._host.now()) / 2, (self._host.now() - before) / 2
        self._due = before + BLOCK_S - BLOCK_KEPT_S

    def capture(self, deadline_s: float) -> Capture:
        """Fetch the blocks until the window is over.

        Raises:
            InvalidWindow: a lost block, overload, readings that are not numbers, or a changed range.
        """
        began, setting = self._host.now(), self._window.setting
        blocks: list[np.ndarray] = []
        self._count = 0
        while not self._window.over(began, deadline_s):
            self._fetch(blocks)
            self._host.sleep(POLL_S)
        last = self._host.now() + BLOCK_S
        while self._host.now() < last + POLL_S:  # blocks of the window that are still in the instrument
            self._fetch(blocks)
            self._host.sleep(POLL_S)
        self._session.write("FLOG 0")
        self._session.check("SYST:ERR?")
        self._check_range(within=True)
        if not blocks:
            raise InvalidWindow(f"the {self.sheet.name} logged nothing in the window.")
        pairs = np.concatenate(blocks)
        volt, current = pairs[:, 0], pairs[:, 1]
        require_below_limit(current, LIMIT_A, self.sheet.name)
        t = self._begin + np.arange(len(pairs)) / self._rate
        stamped = Stamped(t, volt * current, np.full(len(t), self._wrong), 0.0)
        return self._window.capture(stamped, (current, volt), 1 / self._rate, setting.range_a, 0)

    def watch(self) -> np.ndarray:
        """Return the power of one block of the log, float64[n] in watts; call `arm` first. Other blocks are skipped."""
        self._clear("OPER")
        until = self._host.now() + 2 * BLOCK_S
        while not self._session.query_integer("*STB?") & OPERATION:
            if self._host.now() > until:
                raise Blocked(
                    "meter", f"the {self.sheet.name} has logged nothing for {2 * BLOCK_S:g} s: power it off and on."
                )
            self._host.sleep(POLL_S)
        volt, current = self._pairs().T
        watts: np.ndarray = volt * current
        return watts

    def _fetch(self, blocks: list[np.ndarray]) -> None:
        """Fetch a block if one is due and ready."""
        if self._host.now() < self._due:
            return
        status = self._session.query_integer("*STB?")
        if status & QUESTIONABLE:
            raise InvalidWindow(f"the {self.sheet.name} dropped a block of its log: the host fetched it too late.")
        if not status & OPERATION:
            return
        asked = self._host.now()
        self._due = asked + BLOCK_S - 2 * BLOCK_KEPT_S  # the block may have waited, and the instrument may be fast
        pairs = self._pairs()
        self._clear("OPER")
        self._check_range(within=True)
        blocks.append(pairs)
        self._count += len(pairs)
        missing = (asked - self._begin) * self._rate - self._count
        if not -0.5 * BLOCK_S * self._rate < missing < 0.5 * BLOCK_S * self._rate:
            raise InvalidWindow(
                f"the {self.sheet.name} logged {self._count} pairs in a time for {self._count + missing:.0f}: "
                "a block is missing."
            )

    def _pairs(self) -> np.ndarray:
        """Fetch the block that is ready: float64[n, 2] volts and amperes."""
        values = self._session.query_block("FLOG:DATA?", "f", big_endian=False)
        pairs = values[: len(values) // 2 * 2].reshape(-1, 2)
        require_numbers(pairs[:, 1], pairs[:, 0], self.sheet.name)
        self._require_on_range(pairs[:, 1], self._window.setting.range_a, 1.05)
        return pairs

    def _clear(self, register: str) -> None:
        for name in (register, f"{register}:INST", f"{register}:INST:ISUM1"):
            self._session.query(f"STAT:{name}:EVEN?")
