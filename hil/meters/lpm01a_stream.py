"""Parse what the X-NUCLEO-LPM01A sends during an acquisition (UM2269; formats as MLPerf Tiny's runner reads them).

    6409-07                            a reading: 6409 x 10^-7 joules or amperes
    TimeStamp: 001s 000ms, buff 00%    its own time, and how full its buffer is
    event 1 ris                        an edge on D7
    anything else                      a message

Readings have no time: reading k begins k / frequency after the start if none is missing, which the time stamps show.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

READING = re.compile(r"(\d{4})([+-]\d{2})")
STAMP = re.compile(r"TimeStamp:\s*[><]?\s*(\d+)s\s+(\d+)ms, buff\s+(\d+)%")
EVENT = re.compile(r"event (\d+) (?:ris|fal)\w*")


@dataclass
class Stream:
    """Collects the received lines.

    Attributes:
        readings: in joules or amperes.
        stamps: (seconds, number of readings before it).
        events: (number of the event, number of readings before it).
        messages: other lines, oldest first.
        garbled: lines that begin like a reading but are not one.
        fullest: highest level of the instrument's buffer, in percent.
    """

    readings: list[float] = field(default_factory=list)
    stamps: list[tuple[float, int]] = field(default_factory=list)
    events: list[tuple[int, int]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    garbled: int = 0
    fullest: int = 0
    _rest: str = ""

    def feed(self, data: bytes) -> None:
        """Process received bytes; an incomplete line is kept until its end arrives."""
        *lines, self._rest = (self._rest + data.decode("ascii", "replace")).split("\n")
        for line in lines:
            self._line(line.strip("\r\0 "))

    def _line(self, line: str) -> None:
        if found := READING.fullmatch(line):
            self.readings.append(int(found[1]) * 10.0 ** int(found[2]))
        elif found := STAMP.match(line):
            self.stamps.append((int(found[1]) + int(found[2]) / 1000, len(self.readings)))
            self.fullest = max(self.fullest, int(found[3]))
        elif found := EVENT.match(line):
            self.events.append((int(found[1]), len(self.readings)))
        elif line[:1].isdigit():
            self.garbled += 1
        elif line:
            self.messages.append(line)

    def lost(self, frequency: float) -> int | None:
        """Return how many readings are missing between the time stamps; None with fewer than two of them.

        Time stamps have a resolution of a millisecond.
        """
        if len(self.stamps) < 2:
            return None
        slack = 0.002 * frequency
        missing = 0.0
        for (begin, before), (end, after) in zip(self.stamps, self.stamps[1:], strict=False):
            gap = (end - begin) * frequency - (after - before)
            missing += gap if gap > max(slack, 0.5) else 0.0
        return round(missing)
