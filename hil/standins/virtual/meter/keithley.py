"""Base of the virtual Keithley instruments: reading buffers, trigger model, digital line 1, ranges, errors.

Sources: 2450 Reference Manual (2450-901-01 Rev. B), section 6: FORMat (6-30), TRACe (6-107 to 6-124), TRIGger:BLOCk
(6-131 to 6-148).
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable, Mapping

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Errors
from hil.standins.virtual.meter.keithley_trigger_model import INFINITE, Block, Buffer, Readings, TriggerModel
from hil.standins.virtual.meter.scpi import ScpiError, number, words
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument
from hil.standins.virtual.meter.timebase import Timebase
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
        lost_share: share of the readings, drawn at random, that never reach a buffer.
    """

    ranges: tuple[float, ...]
    over_range = 1.05  # a range reads up to this multiple of its nominal value
    mainframe_hz = 50.0

    def __init__(
        self, identity: str, truth: Truth, errors: Errors, rng: np.random.Generator, time: VirtualTime | None,
        commands: Mapping[str, Callable[[str], Answer]],
    ) -> None:  # fmt: skip
        self.truth, self.errors, self.rng = truth, errors, rng
        self.sleep = time.sleep if time is not None else wall.sleep
        self.clock = Timebase(errors.timebase)
        self.lost_share = 0.0
        self.model = TriggerModel(self.readings)
        shared: dict[str, Callable[[str], Answer]] = {
            ":SYSTem:LFRequency?": lambda _: f"{self.mainframe_hz:.0f}", ":FORMat[:DATA]": self._set_format,
            ":FORMat[:DATA]?": lambda _: self._format,
            ":FORMat:BORDer": self._set_order,
            ":DIGital:LINE1:MODE": self._set_line, ":TRIGger:DIGital1:IN:EDGE": lambda a: self._set_edge("DIG1", a),
            ":TRIGger:EXTernal:IN:EDGE": lambda a: self._set_edge("EXT", a), ":TRACe:MAKE": self._make_buffer,
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
        self.range, self.auto = self.ranges[-1], True
        self._format, self._order = "ASC", "<"
        self._line_is_trigger = False
        self._both_edges: set[str] = set()
        self.model.load()
        self.model.buffers = {"defbuffer1": Buffer(DEFAULT_BUFFER, once=False)}

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
        if self.auto:
            return read
        return np.where(np.abs(true) > self.range * self.over_range, OVERFLOW, read)

    def set_range(self, argument: str) -> None:
        """Set the smallest range that includes the wanted current; turns automatic ranging off."""
        wanted = number(argument, 0, self.ranges[-1] * self.over_range)
        self.range = next(r for r in self.ranges if wanted <= r * self.over_range)
        self.auto = False

    # buffers

    def advance(self) -> None:
        """Run the trigger model up to the present."""
        now = self.clock.own(self.truth.now())
        self.model.advance(now, [self.clock.own(time) for time, _ in self.truth.edges()])

    def _set_format(self, argument: str) -> None:
        if argument.upper()[:3] not in ("ASC", "REA"):
            raise ScpiError(-224)
        self._format = argument.upper()[:4] if argument.upper().startswith("REA") else "ASC"

    def _set_order(self, argument: str) -> None:
        if argument.upper()[:4] not in ("NORM", "SWAP"):
            raise ScpiError(-224)
        self._order = ">" if argument.upper().startswith("NORM") else "<"

    def _make_buffer(self, argument: str) -> None:
        name, size = two(argument)
        if name in self.model.buffers:
            raise ScpiError(1115)
        self.model.buffers[name] = Buffer(int(number(size, 10, MOST_READINGS)), once=True)

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

    def _buffer(self, argument: str) -> Buffer:
        self.advance()
        found = self.model.buffers.get((words(argument) or [""])[0])
        if found is None:
            raise ScpiError(-224)
        return found

    def _data(self, argument: str) -> Answer:
        first, last, name, *elements = [*words(argument), "", ""][: max(len(words(argument)), 3)]
        buffer = self._buffer(name)
        low, high = int(number(first, 1, len(buffer))), int(number(last, 1, len(buffer)))
        names = [_element(word) for word in elements] or ["READ"]
        if (
            low > high
            or any(one not in _ELEMENTS for one in names)
            or (self._format != "ASC" and not {"READ", "REL", "RELA"} >= set(names))
        ):
            raise ScpiError(-224)
        chosen, origin = buffer.places(low, high), int(buffer.places(buffer.start(), buffer.start()).begin[0])
        columns = [_ELEMENTS[one][0](chosen, origin) for one in names]
        if self._format != "ASC":
            return b"#0" + np.column_stack(columns).astype(f"{self._order}f8").tobytes()  # 6-30: no length
        form = ",".join(_ELEMENTS[one][1] for one in names)
        return ",".join(form % row for row in zip(*(column.tolist() for column in columns), strict=True))

    # trigger model

    def _add_block(self, place: str, block: Block) -> None:
        self.model.blocks[int(number(place, 1, 63))] = block

    def _reading_block(self, argument: str) -> None:
        place, name, count = (*words(argument), "1")[:3]
        self._buffer(name)
        n = INFINITE if count.upper() == "INF" else int(number(count, 0, 1e6))
        self._add_block(place, Block("measure", buffer=name, count=n))

    def _wait_block(self, argument: str) -> None:
        place, event = two(argument)
        line = {"DIGIO1": "DIG1", "EXTERNAL": "EXT"}.get(event.upper(), event.upper())
        if line not in self._both_edges or (line == "DIG1" and not self._line_is_trigger):
            raise ScpiError(-224)  # this subset waits for both edges
        self._add_block(place, Block("wait"))

    def _delay_block(self, argument: str) -> None:
        place, seconds = two(argument)
        self._add_block(place, Block("delay", delay=int(number(seconds, 167e-9, 10_000) * PS_PER_S)))

    def _initiate(self, _argument: str) -> None:
        self.model.initiate(self.clock.own(self.truth.now()), *self.timing())

    def _state(self, _argument: str) -> str:
        self.advance()
        state = "RUNNING" if self.model.running else "IDLE"
        return f"{state};{state};{len(self.model.blocks)}"

    # digital line

    def _set_line(self, argument: str) -> None:
        if [word.upper()[:4] for word in words(argument)] != ["TRIG", "IN"]:
            raise ScpiError(-224)
        self._line_is_trigger = True

    def _set_edge(self, line: str, argument: str) -> None:
        if argument.upper() not in ("EITH", "EITHER"):
            raise ScpiError(-224)
        self._both_edges.add(line)


_ELEMENTS: dict[str, tuple[Callable[[Readings, int], np.ndarray], str]] = {
    "READ": (lambda r, _: r.current, "%.9E"),
    "SOUR": (lambda r, _: r.voltage, "%.9E"),
    "SOURSTAT": (lambda r, _: r.status, "%d"),
    "SEC": (lambda r, _: EPOCH_S + r.begin // PS_PER_S, "%d"),
    "SECO": (lambda r, _: EPOCH_S + r.begin // PS_PER_S, "%d"),
    "FRAC": (lambda r, _: r.begin % PS_PER_S / PS_PER_S, "%.9f"),
    "REL": (lambda r, origin: (r.begin - origin) / PS_PER_S, "%.9f"),
    "RELA": (lambda r, origin: (r.begin - origin) / PS_PER_S, "%.9f"),
}


def _element(word: str) -> str:
    """Return the key in _ELEMENTS of a buffer element in short or long form (2450-901-01 Rev. B, TRACe:DATA?)."""
    return "SOURSTAT" if word.upper() in ("SOURSTAT", "SOURSTATUS") else word.upper()[:4]


def two(argument: str) -> tuple[str, str]:
    """Return the two parameters of a command.

    Raises:
        ScpiError: the number of parameters is not two.
    """
    found = words(argument)
    if len(found) != 2:
        raise ScpiError(-109)
    return found[0], found[1]
