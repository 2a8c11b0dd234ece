"""Keysight N6705C: feeds the board from output 1, and logs voltage and current to its external data log.

N6700C and N6705C Operating and Service Guides: External Data Logging (143 to 146 of the N6700C's), status groups (349, 350 of the N6705C's);
order of a record from the N6900's (161). `unverified`: see each place.
"""

from __future__ import annotations

import numpy as np

from .analog import OVERFLOW, Front
from .faults import Faults
from .scpi import Instrument, Refused, block, boolean, choice, command, number, numbers
from .trace import Script
from .world import World

PARAMETER_S, RESOLUTION_S = (
    102.4e-6,
    20.48e-6,
)  # of a record at the least for each thing logged; what a period is rounded to
BUFFER_S = 20.0  # of records, and then the oldest are overwritten
BEGIN_S = 0.0005  # from the trigger to the first record: unverified
CV, CC, OFF, MEASURES = 1, 2, 4, 32  # operation status of an output (350)
LIMIT = 128  # questionable status: positive limit (350)


class N6705C(Instrument):
    """One with a module in output 1. A record beyond the range is 9.9E37: unverified."""

    identity = "Keysight Technologies,N6705C,MY56000000,E.02.08.3381"
    no_error = '+0,"No error"'

    def __init__(self, world: World, front: Front, faults: Faults) -> None:
        super().__init__(world)
        self.front, self.faults = front, faults
        self.script: Script | None = None
        self.started = lambda: None
        self._reset()

    def _reset(self) -> None:
        self.range, self.period = self.front.sheet.ranges[-1], 0.1
        self.logged = {"CURRent": False, "VOLTage": False}
        self.extremes = {"CURRent": False, "VOLTage": False}
        self.form, self.order, self.bus = "ASCii", "NORMal", False
        self.output, self.volt = False, 0.0
        self.front.limit_a = np.inf
        self.armed, self.log_s = False, None
        self.records, self.next_s = np.empty((0, 6)), 0.0
        self.operation = self.questionable = 0  # events
        self.looked_s = self.world.now()
        self.pin, self.inverted, self.auto = "DIO", False, True

    @command("*RST")
    def _restart(self) -> None:
        self._reset()

    @command("*CLS")
    def clear(self) -> None:
        super().clear()
        self._look()
        self.operation = self.questionable = 0

    @staticmethod
    def _channel(text: str) -> None:
        if text.replace(" ", "") != "(@1)":
            raise Refused(-222 if text.startswith("(@") else -104)

    # output

    @command("[SOURce:]VOLTage[:LEVel][:IMMediate][:AMPLitude]", least=2)
    def _set_volt(self, volt: str, channel: str) -> None:
        self._channel(channel)
        self.volt = self.front.volt = number(volt, 0, 20.4, MINimum=0, MAXimum=20.4)

    @command("[SOURce:]CURRent:LIMit[:POSitive][:IMMediate][:AMPLitude]", least=2)
    @command("[SOURce:]CURRent[:LEVel][:IMMediate][:AMPLitude]", least=2)
    def _set_limit(self, amperes: str, channel: str) -> None:
        self._channel(channel)
        self.fill()
        self.front.limit_a = number(amperes, 0, 3.06, MINimum=0, MAXimum=3.06)

    @command("[SOURce:]CURRent:LIMit[:POSitive][:IMMediate][:AMPLitude]?", least=1)
    def _get_limit(self, channel: str) -> str:
        self._channel(channel)
        return f"{self.front.limit_a:+.6E}"

    @command("OUTPut[:STATe]", least=2)
    def _set_output(self, state: str, channel: str) -> None:
        self._channel(channel)
        self.output = boolean(state)
        self.front.on = self.output

    @command("OUTPut[:STATe]?", least=1)
    def _get_output(self, channel: str) -> str:
        self._channel(channel)
        return str(int(self.output))

    @command("MEASure[:SCALar]:CURRent[:DC]?", "MEASure[:SCALar]:VOLTage[:DC]?", least=1)
    def _measure(self, channel: str) -> str:
        self._channel(channel)
        if self.log_s is not None:
            raise Refused(-221)  # the log has the converter
        now = np.array([self.world.now()])
        return f"{self.front.currents(self.range, now, 0.02)[0]:+.6E}"

    # log

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
        self._look()
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
        told, self.records = self.records[:most], self.records[most:]
        self.next_s += self.faults.lost_a_fetch * self.period / (1 + self.front.errors.clock)
        columns = []
        for place, what in ((0, "CURRent"), (3, "VOLTage")):
            if self.logged[what]:
                columns += [place, place + 1, place + 2] if self.extremes[what] else [place]
        values = np.where(told[:, columns] >= OVERFLOW, OVERFLOW, told[:, columns]).ravel()
        return (
            block(values, (">" if self.order == "NORMal" else "<") + "f4") if self.form == "REAL" else numbers(values)
        )

    # digital port

    @command("DIGital:PIN<n>:FUNCtion", least=1)
    def _pin_function(self, pin: int, what: str) -> None:
        self.pin = choice(what, "DIO", "DINPut", "TINPut", "TOUTput", "FAULt", "INHibit", "ONCouple", "OFFCouple")

    @command("DIGital:PIN<n>:POLarity", least=1)
    def _polarity(self, pin: int, what: str) -> None:
        self.inverted = choice(what, "POSitive", "NEGative") == "NEGative"

    @command("DIGital:INPut:DATA?")
    def _levels(self) -> str:
        high = self.script is not None and self.script.level(self.world.now())
        return f"{int(high != self.inverted):+d}"

    # status

    def _limited(self, since_s: float, now_s: float) -> bool:
        return self.output and self.front.trace.reaches(self.front.limit_a, since_s, now_s)

    def _look(self) -> None:
        """Events latch whatever was meanwhile: the filters let every rise through, which is how they are after *RST: unverified."""
        now = self.world.now()
        if self._limited(self.looked_s, now):
            self.operation, self.questionable = self.operation | CC, self.questionable | LIMIT
        self.looked_s = now

    @command("STATus:OPERation:CONDition?", least=1)
    def _operation_condition(self, channel: str) -> str:
        self._channel(channel)
        now = self.world.now()
        mode = OFF if not self.output else CC if self._limited(now, now) else CV
        return f"{mode | (MEASURES if self.armed else 0):+d}"

    @command("STATus:OPERation[:EVENt]?", least=1)
    def _operation_event(self, channel: str) -> str:
        self._channel(channel)
        self._look()
        told, self.operation = self.operation, 0
        return f"{told:+d}"

    @command("STATus:QUEStionable:CONDition?", least=1)
    def _questionable_condition(self, channel: str) -> str:
        self._channel(channel)
        now = self.world.now()
        return f"{LIMIT if self._limited(now, now) else 0:+d}"

    @command("STATus:QUEStionable[:EVENt]?", least=1)
    def _questionable_event(self, channel: str) -> str:
        self._channel(channel)
        self._look()
        told, self.questionable = self.questionable, 0
        return f"{told:+d}"

    @command("STATus:OPERation:PTRansition", "STATus:OPERation:NTRansition", "STATus:OPERation:ENABle", least=2)
    @command(
        "STATus:QUEStionable:PTRansition", "STATus:QUEStionable:NTRansition", "STATus:QUEStionable:ENABle", least=2
    )
    def _filters(self, bits: str, channel: str) -> None:
        self._channel(channel)
        number(bits, 0, 32767)
