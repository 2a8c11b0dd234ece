"""Base of the virtual Keithley instruments: reading buffers, trigger model, digital line 1, ranges, errors.

Sources: 2450 Reference Manual (2450-901-01 Rev. B), section 6: FORMat (6-30), TRACe (6-107 to 6-124), TRIGger:BLOCk
(6-131 to 6-148).
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable, Mapping

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Flaws, Timebase
from hil.standins.virtual.meter.keithley_trigger_model import (
    INFINITE,
    ReadingBuffer,
    Readings,
    TriggerBlock,
    TriggerModel,
)
from hil.standins.virtual.meter.scpi import RangeSetting, ScpiError, ScpiSetting, choice, number, words
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument
from hil.standins.virtual.meter.truth import Truth, VirtualTime, mean_current

OVERFLOW = 9.9e37  # a reading beyond its range
EPOCH_S = 1_600_000_000  # time stamps are seconds of UTC
DEFAULT_BUFFER, MOST_READINGS = 100_000, 6_875_000  # buffer style STANdard (2461-901-01 A, 6-165)


class KeithleyInstrument(ScpiInstrument):
    """One Keithley instrument.

    Args:
        identity: answer to *IDN?.
        truth, errors, rng: true supply, errors of the instrument, and generator of its noise.
        time: virtual time that advances during a measurement on demand; None for the wall clock.
        commands: commands of the model in addition to the shared ones.

    Attributes:
        range: current range; a subclass makes it.
        lost_share: share of the readings, drawn at random, that never reach a buffer.
    """

    range: RangeSetting
    over_range = 1.05  # a range reads up to this multiple of its nominal value
    mainframe_hz = 50.0

    def __init__(
        self, identity: str, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualTime | None,
        commands: Mapping[str, Callable[[str], Answer]],
    ) -> None:  # fmt: skip
        self.truth, self.errors, self.rng = truth, errors, rng
        self.sleep = time.sleep if time is not None else wall.sleep
        self.clock = Timebase(errors.timebase)
        self.lost_share = 0.0
        self.model = TriggerModel(self.readings)
        self._format = ScpiSetting("ASC", choice({"ASCii": "ASC", "REAL": "REAL"}))
        self._order = ScpiSetting("<", choice({"NORMal": ">", "SWAPped": "<"}))
        self._line_is_trigger = ScpiSetting(False, _trigger_in)
        self._both_edges = {line: ScpiSetting(False, choice({"EITHer": True})) for line in ("DIG1", "EXT")}
        shared: dict[str, Callable[[str], Answer]] = {
            ":SYSTem:LFRequency?": lambda _: f"{self.mainframe_hz:.0f}", ":FORMat[:DATA]": self._format,
            ":FORMat[:DATA]?": self._format.answer("s"), ":FORMat:BORDer": self._order,
            ":DIGital:LINE1:MODE": self._line_is_trigger, ":TRACe:MAKE": self._make_buffer,
            ":TRIGger:DIGital1:IN:EDGE": self._both_edges["DIG1"], ":TRIGger:EXTernal:IN:EDGE": self._both_edges["EXT"],
            ":TRACe:DELete": self._delete_buffer, ":TRACe:CLEar": lambda a: self._buffer(a).clear(),
            ":TRACe:FILL:MODE": self._fill,
            ":TRACe:ACTual?": lambda a: str(len(self._buffer(a))),
            ":TRACe:ACTual:STARt?": lambda a: str(self._buffer(a).start()),
            ":TRACe:ACTual:END?": lambda a: str(self._buffer(a).end()),
            ":TRACe:DATA?": self._data, ":TRIGger:LOAD": lambda _: self.model.load(),
            ":TRIGger:BLOCk:MDIGitize": self._reading_block,
            ":TRIGger:BLOCk:WAIT": self._wait_block, ":TRIGger:BLOCk:DELay:CONStant": self._delay_block,
            ":INITiate[:IMMediate]": self._initiate,
            ":ABORt": lambda _: self.model.abort(), ":TRIGger:STATe?": self._state,
        }  # fmt: skip
        super().__init__(identity, {**shared, **commands})
        self.preset()

    def preset(self) -> None:
        """Set every setting to its value after *RST, and delete user-defined buffers."""
        super().preset()
        for one in self._both_edges.values():
            one.restore()
        self.model.load()
        self.model.buffers = {"defbuffer1": ReadingBuffer(DEFAULT_BUFFER, once=False)}

    def timing(self) -> tuple[int, int]:
        """Return aperture (0 for an instant) and period of buffered readings, in picoseconds of its own clock.

        Raises:
            ScpiError: the trigger model cannot start with the present settings.
        """
        raise NotImplementedError

    def readings(self, begin: np.ndarray) -> Readings:
        """Return the readings, without lost ones, of apertures that begin at int64[n] picoseconds of its own clock."""
        if self.lost_share:
            begin = begin[self.rng.random(len(begin)) >= self.lost_share]
        aperture, _ = self.timing()
        since_s = (begin - self.model.began) / PS_PER_S
        begins, ends = self.clock.true(begin), self.clock.true(begin + aperture)
        true = mean_current(self.truth, begins, ends - begins) if aperture else self.truth.current(begins)
        window_s = self.noise_aperture_s()
        flowing, status = self.delivered(true)
        read = self.as_read(flowing, self.errors.current(flowing, window_s, since_s, self.rng))
        return Readings(begin, read, self.errors.voltage(self.truth.volt(), len(begin), window_s, self.rng), status)

    def noise_aperture_s(self) -> float:
        """Return the aperture [s] that determines the noise of a reading."""
        return self.timing()[0] / PS_PER_S

    def delivered(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the currents that the source delivers, float64[n] A, and its status, int64[n] (0 for an ammeter)."""
        return wanted, np.zeros(len(wanted), np.int64)

    def as_read(self, true: np.ndarray, read: np.ndarray) -> np.ndarray:
        """Return the readings, with OVERFLOW for currents beyond the range."""
        if self.range.auto.value:
            return read
        return np.where(np.abs(true) > self.range.value * self.over_range, OVERFLOW, read)

    # buffers

    def advance(self) -> None:
        """Run the trigger model up to the present."""
        now = self.clock.own(self.truth.now())
        self.model.advance(now, [self.clock.own(time) for time, _ in self.truth.edges()])

    def _make_buffer(self, argument: str) -> None:
        name, size = two(argument)
        if name in self.model.buffers:
            raise ScpiError(1115)
        self.model.buffers[name] = ReadingBuffer(int(number(size, 10, MOST_READINGS)), once=True)

    def _delete_buffer(self, argument: str) -> None:
        name = (words(argument) or [""])[0]
        if name not in self.model.buffers or name.startswith("defbuffer"):
            raise ScpiError(-224)
        del self.model.buffers[name]

    def _fill(self, argument: str) -> None:
        mode, name = two(argument)
        buffer = self._buffer(name)
        if mode.upper()[:4] not in ("CONT", "ONCE") or len(buffer):
            raise ScpiError(-224)
        buffer.once = mode.upper() == "ONCE"

    def _buffer(self, argument: str) -> ReadingBuffer:
        self.advance()
        found = self.model.buffers.get((words(argument) or [""])[0])
        if found is None:
            raise ScpiError(-224)
        return found

    def _data(self, argument: str) -> Answer:
        first, last, name, *elements = [*words(argument), "", ""][: max(len(words(argument)), 3)]
        buffer = self._buffer(name)
        low, high = int(number(first, 1, len(buffer))), int(number(last, 1, len(buffer)))
        names = [_element(word) for word in elements] or ["READing"]
        if low > high or (self._format.value != "ASC" and not {"READing", "RELative"} >= set(names)):
            raise ScpiError(-224)
        chosen, origin = buffer.places(low, high), int(buffer.places(buffer.start(), buffer.start()).begin[0])
        columns = [_ELEMENTS[one][0](chosen, origin) for one in names]
        if self._format.value != "ASC":
            return b"#0" + np.column_stack(columns).astype(f"{self._order.value}f8").tobytes()  # 6-30: no length
        form = ",".join(_ELEMENTS[one][1] for one in names)
        return ",".join(form % row for row in zip(*(column.tolist() for column in columns), strict=True))

    # trigger model

    def _add_block(self, place: str, block: TriggerBlock) -> None:
        self.model.blocks[int(number(place, 1, 63))] = block

    def _reading_block(self, argument: str) -> None:
        place, name, count = (*words(argument), "1")[:3]
        self._buffer(name)
        n = INFINITE if count.upper() == "INF" else int(number(count, 0, 1e6))
        self._add_block(place, TriggerBlock("measure", buffer=name, count=n))

    def _wait_block(self, argument: str) -> None:
        place, event = two(argument)
        line = choice({"DIGio1": "DIG1", "DIG1": "DIG1", "EXTernal": "EXT"})(event)
        if not self._both_edges[line].value or (line == "DIG1" and not self._line_is_trigger.value):
            raise ScpiError(-224)  # this subset waits for both edges
        self._add_block(place, TriggerBlock("wait"))

    def _delay_block(self, argument: str) -> None:
        place, seconds = two(argument)
        self._add_block(place, TriggerBlock("delay", delay=int(number(seconds, 167e-9, 10_000) * PS_PER_S)))

    def _initiate(self, _argument: str) -> None:
        self.model.initiate(self.clock.own(self.truth.now()), *self.timing())

    def _state(self, _argument: str) -> str:
        self.advance()
        state = "RUNNING" if self.model.running else "IDLE"
        return f"{state};{state};{len(self.model.blocks)}"


_ELEMENTS: dict[str, tuple[Callable[[Readings, int], np.ndarray], str]] = {
    "READing": (lambda r, _: r.current, "%.9E"),
    "SOURce": (lambda r, _: r.voltage, "%.9E"),
    "SOURSTATus": (lambda r, _: r.status, "%d"),
    "SEConds": (lambda r, _: EPOCH_S + r.begin // PS_PER_S, "%d"),
    "FRACtional": (lambda r, _: r.begin % PS_PER_S / PS_PER_S, "%.9f"),
    "RELative": (lambda r, origin: (r.begin - origin) / PS_PER_S, "%.9f"),
}
_element = choice({name: name for name in _ELEMENTS})


def _trigger_in(argument: str) -> bool:
    """Return that a digital line is a trigger input, the only mode of the model."""
    if [word.upper()[:4] for word in words(argument)] != ["TRIG", "IN"]:
        raise ScpiError(-224)
    return True


def two(argument: str) -> tuple[str, str]:
    """Return the two parameters of a command.

    Raises:
        ScpiError: the number of parameters is not two.
    """
    found = words(argument)
    if len(found) != 2:
        raise ScpiError(-109)
    return found[0], found[1]
