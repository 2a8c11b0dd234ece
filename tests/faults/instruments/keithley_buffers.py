"""Reading buffers of the Keithley 2450 and DMM6500: how they fill, and in which form they return what is in them.

Reference Manuals 2450-901-01 Rev. B and, of the same family and later, 2461-901-01 A, section 6: FORMat 6-46, TRACe
6-158 to 6-180; status of a reading 8-29, 8-33. `unverified`: see each place."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .analog import Front
from .faults import Faults
from .scpi import Instrument, Refused, block, choice, command, number, quoted
from .trace import Script
from .world import World

CAPACITY = 6_875_000  # readings of all buffers together (6-167)
SMALLEST = 10  # readings of a buffer (6-165)

EPOCH_S = 1_700_000_000  # SEConds count in UTC
FORMS = {"RELative": "%.9f", "FRACtional": "%.9f", "SEConds": "%.0f", "STATus": "%.0f", "SOURSTATus": "%.0f"}
ELEMENTS = ("READing", "RELative", "SOURce", "SOURSTATus", "STATus", "SEConds", "FRACtional", "UNIT", "SOURUNIT")


@dataclass
class Buffer:
    """Readings in the order in which they came; `t` is the instrument's time."""

    capacity: int
    continuous: bool = False
    start: int = 1
    rows: np.ndarray = field(default_factory=lambda: np.empty((0, 5)))  # t, current, voltage, status, source status

    def store(self, rows: np.ndarray) -> None:
        """Add readings: what no longer fits is discarded, or the oldest are overwritten (6-163)."""
        kept = np.concatenate([self.rows, rows])
        self.rows = kept[-self.capacity :] if self.continuous else kept[: self.capacity]


class Buffers(Instrument):
    """What keeps readings and returns them; a subclass makes them."""

    no_error = '0,"No error;0;0 0"'

    def __init__(self, world: World, front: Front, faults: Faults) -> None:
        super().__init__(world)
        self.front, self.faults = front, faults
        self.script: Script | None = None
        self.started = lambda: None  # the trigger model has begun
        self._reset()

    def _reset(self) -> None:
        self.buffers: dict[str, Buffer] = {"defbuffer1": Buffer(100_000, True), "defbuffer2": Buffer(100_000, True)}
        self.format, self.order = "ASCii", "SWAPped"
        self.range = self.front.sheet.ranges[-1]

    # common commands

    @command("*RST")
    def _restart(self) -> None:
        self._reset()

    @command("FORMat[:DATA]", least=1)
    def _set_format(self, form: str) -> None:
        self.format = choice(form, "ASCii", "REAL", "SREal")

    @command("FORMat[:DATA]?")
    def _format(self) -> str:
        return self.format[:3].upper() if self.format == "ASCii" else self.format.upper()[:4]

    @command("FORMat:BORDer", least=1)
    def _set_order(self, order: str) -> None:
        self.order = choice(order, "SWAPped", "NORMal")

    @command("FORMat:ASCii:PRECision", least=1)
    def _precision(self, digits: str) -> None:
        number(digits, 0, 16, DEFault=0, MINimum=0, MAXimum=16)

    # buffers

    @command("TRACe:MAKE", least=2, most=3)
    def _make(self, name: str, size: str, style: str = "STANdard") -> None:
        choice(style, "COMPact", "STANdard", "FULL")
        if quoted(name) in self.buffers:
            raise Refused(1115, "Parameter error: TRACe:MAKE cannot take an existing reading buffer name")
        room = CAPACITY - sum(one.capacity for one in self.buffers.values())
        self.buffers[quoted(name)] = Buffer(int(number(size, SMALLEST, room)))

    def _buffer(self, name: str) -> Buffer:
        self.fill()
        if quoted(name) not in self.buffers:
            raise Refused(-224)
        return self.buffers[quoted(name)]

    @command("TRACe:DELete", least=1)
    def _delete(self, name: str) -> None:
        self._buffer(name)
        if quoted(name).startswith("defbuffer"):
            raise Refused(-224)
        del self.buffers[quoted(name)]

    @command("TRACe:CLEar", most=1)
    def _clear(self, name: str = '"defbuffer1"') -> None:
        self._buffer(name).rows = np.empty((0, 5))

    @command("TRACe:POINts", least=1, most=2)
    def _resize(self, size: str, name: str = '"defbuffer1"') -> None:
        buffer = self._buffer(name)
        buffer.capacity, buffer.rows = int(number(size, SMALLEST, CAPACITY)), np.empty((0, 5))

    @command("TRACe:POINts?", most=1)
    def _size(self, name: str = '"defbuffer1"') -> str:
        return str(self._buffer(name).capacity)

    @command("TRACe:FILL:MODE", least=1, most=2)
    def _fill_mode(self, mode: str, name: str = '"defbuffer1"') -> None:
        buffer = self._buffer(name)
        buffer.continuous, buffer.rows = choice(mode, "CONTinuous", "ONCE") == "CONTinuous", np.empty((0, 5))

    @command("TRACe:ACTual?", most=1)
    def _actual(self, name: str = '"defbuffer1"') -> str:
        return str(len(self._buffer(name).rows))

    @command("TRACe:ACTual:STARt?", most=1)
    def _first(self, name: str = '"defbuffer1"') -> str:
        return str(int(len(self._buffer(name).rows) > 0))

    @command("TRACe:ACTual:END?", most=1)
    def _last(self, name: str = '"defbuffer1"') -> str:
        return str(len(self._buffer(name).rows))

    @command("TRACe:DATA?", least=2, most=17)
    def _data(self, first: str, last: str, name: str = '"defbuffer1"', *elements: str) -> str | bytes:
        rows = self._buffer(name).rows
        begin, end = int(number(first, 1, len(rows))), int(number(last, 1, len(rows)))
        if end < begin:
            raise Refused(-222)
        part = rows[begin - 1 : end]
        columns = [self._column(choice(one, *ELEMENTS), part, rows) for one in elements or ("READ",)]
        table = np.stack(columns, axis=1)
        if self.format == "ASCii":  # how many digits of a time stamp is unverified
            forms = [FORMS.get(choice(one, *ELEMENTS), "%.6E") for one in elements or ("READ",)]
            return ",".join(",".join(form % value for form, value in zip(forms, row, strict=True)) for row in table)
        kind = ("<" if self.order == "SWAPped" else ">") + ("f8" if self.format == "REAL" else "f4")
        return block(table.ravel(), kind, definite=False)  # #0, and the data at once: unverified

    def _column(self, element: str, part: np.ndarray, rows: np.ndarray) -> np.ndarray:
        if element in ("UNIT", "SOURUNIT"):
            raise Refused(-224)
        place = {"READing": 1, "SOURce": 2, "STATus": 3, "SOURSTATus": 4}
        if element in place:
            return part[:, place[element]]
        if element == "RELative":  # from the buffer's first reading on
            return part[:, 0] - rows[0, 0]
        whole = np.floor(part[:, 0])
        return whole + EPOCH_S if element == "SEConds" else part[:, 0] - whole
