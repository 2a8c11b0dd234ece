"""Keysight N6705C: feeds the board from output 1, and logs voltage and current to its external data log.

N6700C and N6705C Operating and Service Guides: External Data Logging (143 to 146 of the N6700C's); order of a record
from the N6900's (161). `unverified`: see each place."""

from __future__ import annotations

import numpy as np

from .analog import OVERFLOW
from .n6705c_output import N6705COutput
from .scpi import Refused, block, boolean, choice, command, number, numbers

PARAMETER_S = 102.4e-6  # of a record at the least, for each thing logged
RESOLUTION_S = 20.48e-6  # what a period is rounded to
BUFFER_S = 20.0  # of records, and then the oldest are overwritten
BEGIN_S = 0.0005  # from the trigger to the first record: unverified


class N6705C(N6705COutput):
    """One with a module in output 1. A record beyond the range is 9.9E37: unverified."""

    answer_s = 0.003  # its processor is slow: unverified
    identity = "Keysight Technologies,N6705C,MY56000000,E.02.08.3381"

    def _reset(self) -> None:
        super()._reset()
        self.period, self.auto = 0.1, True
        self.logged = {"CURRent": False, "VOLTage": False}
        self.extremes = {"CURRent": False, "VOLTage": False}
        self.form, self.order, self.bus = "ASCii", "NORMal", False
        self.records, self.next_s = np.empty((0, 6)), 0.0

    @command("SENSe:ELOG:FUNCtion:CURRent", least=2)
    def _log_current(self, state: str, channel: str) -> None:
        self._log("CURRent", state, channel)

    @command("SENSe:ELOG:FUNCtion:VOLTage", least=2)
    def _log_voltage(self, state: str, channel: str) -> None:
        self._log("VOLTage", state, channel)

    @command("SENSe:ELOG:FUNCtion:CURRent:MINMax", least=2)
    def _current_extremes(self, state: str, channel: str) -> None:
        self._channel(channel)
        self.extremes["CURRent"] = boolean(state)

    @command("SENSe:ELOG:FUNCtion:VOLTage:MINMax", least=2)
    def _voltage_extremes(self, state: str, channel: str) -> None:
        self._channel(channel)
        self.extremes["VOLTage"] = boolean(state)

    def _log(self, what: str, state: str, channel: str) -> None:
        self._channel(channel)
        if self.armed:
            raise Refused(-221)
        self.logged[what] = boolean(state)

    @command("SENSe:SWEep:TINTerval:RESolution", least=1)
    def _resolution(self, word: str) -> None:
        if word.upper() not in ("RES20", "RES40"):
            raise Refused(-224)

    def _shortest(self) -> float:
        many = sum((3 if self.extremes[one] else 1) for one, logged in self.logged.items() if logged)
        return PARAMETER_S * max(many, 1) * (1 if self.form == "REAL" else 5)

    @command("SENSe:ELOG:PERiod", least=2)
    def _set_period(self, seconds: str, channel: str) -> None:
        self._channel(channel)
        wanted = number(seconds, PARAMETER_S, 60, MINimum=self._shortest(), MAXimum=60)
        self.period = max(
            round(wanted / RESOLUTION_S) * RESOLUTION_S, round(self._shortest() / RESOLUTION_S) * RESOLUTION_S
        )

    @command("SENSe:ELOG:PERiod?", least=1)
    def _get_period(self, channel: str) -> str:
        self._channel(channel)
        return f"{self.period:+.8E}"

    @command("SENSe:ELOG:CURRent:RANGe[:UPPer]", "SENSe:ELOG:CURRent[:DC]:RANGe[:UPPer]", least=2)
    def _set_range(self, amperes: str, channel: str) -> None:
        self._channel(channel)
        self.fill()
        wanted = number(amperes, 0, 3.06)
        self.range = next(one for one in self.front.sheet.ranges if wanted <= 1.02 * one.amperes)

    @command("SENSe:ELOG:CURRent[:DC]:RANGe[:UPPer]?", least=1)
    def _get_range(self, channel: str) -> str:
        self._channel(channel)
        return f"{self.faults.selected(self.world.now(), self.range, self.front.sheet, self.script).amperes:+.6E}"

    @command("SENSe:ELOG:CURRent[:DC]:RANGe:AUTO", "SENSe:ELOG:VOLTage[:DC]:RANGe:AUTO", least=2)
    def _auto(self, state: str, channel: str) -> None:
        self._channel(channel)
        self.auto = boolean(state)

    @command("SENSe:ELOG:CURRent[:DC]:RANGe:AUTO?", least=1)
    def _is_auto(self, channel: str) -> str:
        self._channel(channel)
        return str(int(self.auto))

    @command("SENSe:ELOG:VOLTage[:DC]:RANGe[:UPPer]", least=2)
    def _volt_range(self, volt: str, channel: str) -> None:
        self._channel(channel)
        number(volt, 0, 20.4)

    @command("FORMat[:DATA]", least=1)
    def _set_format(self, form: str) -> None:
        self.form = choice(form, "ASCii", "REAL")

    @command("FORMat:BORDer", least=1)
    def _set_order(self, order: str) -> None:
        self.order = choice(order, "NORMal", "SWAPped")

    @command("TRIGger:ELOG:SOURce", least=2)
    def _trigger_source(self, source: str, channel: str) -> None:
        self._channel(channel)
        self.bus = choice(source, "BUS", "EXTernal", "IMMediate") == "BUS"

    @command("INITiate[:IMMediate]:ELOG", least=1)
    def _arm(self, channel: str) -> None:
        self._channel(channel)
        if self.armed:
            raise Refused(-213)
        if not any(self.logged.values()):
            raise Refused(-221)
        self.armed, self.log_s, self.records = True, None, np.empty((0, 6))

    @command("TRIGger:ELOG[:IMMediate]", "TRIGger:TRANsient:ELOG[:IMMediate]", least=1)
    def _trigger(self, channel: str) -> None:
        self._channel(channel)
        if not self.armed or self.log_s is not None:
            raise Refused(-221)
        self.log_s = self.next_s = self.world.now() + BEGIN_S + self.faults.log_late_s
        self.started()

    @command("ABORt:ELOG", least=1)
    def _abort(self, channel: str) -> None:
        self._channel(channel)
        self.fill()
        self.armed, self.log_s, self.records = False, None, np.empty((0, 6))

    def fill(self) -> None:
        """Log the records that are due; the buffer keeps the newest."""
        self._check_window()
        if self.log_s is None:
            return
        step = self.period / (1 + self.front.errors.clock)
        self.faults.interval_s = step
        count = int((self.world.now() - self.next_s) // step)
        if count <= 0:
            return
        begins = self.next_s + step * np.arange(count)
        self.next_s += step * count
        current = self.faults.changed(begins, self.front.currents(self.range, begins, step), self.script)
        volt = self.front.voltages(self.range, begins, step)
        parts = np.stack([self.front.trace.at(begins + share * step) for share in np.linspace(0, 0.999, 5)])
        low, high = np.minimum(parts.min(0), self.front.limit_a), np.minimum(parts.max(0), self.front.limit_a)
        rows = np.stack([current, low, high, volt, volt, volt], axis=1)[self.faults.kept(begins, self.script)]
        self.records = np.concatenate([self.records, rows])[-int(BUFFER_S / self.period) :]

    @command("FETCh:ELOG?", least=2)
    def _fetch(self, count: str, channel: str) -> str | bytes:
        self._channel(channel)
        if not self.armed:
            raise Refused(-230)
        self.fill()
        most = int(number(count, 1, 1e6))
        taken, self.records = self.records[:most], self.records[most:]
        self.next_s += self.faults.lost_a_fetch * self.period / (1 + self.front.errors.clock)
        columns = []
        for place, what in ((0, "CURRent"), (3, "VOLTage")):
            if self.logged[what]:
                columns += [place, place + 1, place + 2] if self.extremes[what] else [place]
        values = np.where(taken[:, columns] >= OVERFLOW, OVERFLOW, taken[:, columns]).ravel()
        return (
            block(values, (">" if self.order == "NORMal" else "<") + "f4") if self.form == "REAL" else numbers(values)
        )
