"""Find the direction in which the serial line is cut, from byte counts at both ends.

The board's counters are those of its queues (firmware/ports/common/serial.c): `head` of `rx` counts received bytes, its
`tail` those that the agent read, `tail` of `tx` those that were sent. They run freely modulo 2^32.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

from hil.errors import Blocked
from hil.images import Image
from hil.port_errors import PORT_ERRORS
from hil.steady_clock import steady_s
from hil.targets.core_probe import CoreProbe
from hil.targets.serial_port import SerialPort

# frames too short to be valid: the agent answers each with a `nak` (docs/link.md, "Frame")
SHORT_FRAMES = b"\0" + b"\1\1\0" * 8
ANSWER_S = 2.0  # long enough for 9,600 baud, and for a stand-in on a busy computer
LOOK_S = 0.05
QUEUE = struct.Struct("<II")  # head, tail
MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class LineTest:
    """Byte counts of one test of the line.

    Attributes:
        sent: by this computer.
        reached: received by the board.
        taken: read by its agent.
        answered: sent by the board since then.
        came: received here since then.
    """

    sent: int
    reached: int
    taken: int
    answered: int
    came: int

    def sentence(self) -> str:
        """Return a sentence about the line from the counts, for an agent that reads bytes or waits for them."""
        if not self.reached:
            return (
                f"the line from this computer to the board is cut: {self.sent} bytes were sent, none reached it, "
                "and its core waits for bytes."
            )
        board = f"the firmware reads and answers ({self.taken} of {self.sent} bytes taken, {self.answered} sent)"
        if self.answered and not self.came:
            return f"{board}, and nothing came here: the line from the board to this computer is cut."
        return f"{board}, and {self.came} bytes came here: check the line, it damages bytes."


def count_line_bytes(probe: CoreProbe, port: SerialPort, image: Image) -> LineTest | None:
    """Send bytes that every agent answers, and count them at both ends; None without counters in the image.

    Call it after the session: the answers belong to no request.
    """
    if any(sum(symbol.name == name for symbol in image.table) != 1 for name in ("rx", "tx")):
        return None
    try:
        port.reset_input_buffer()
        before = _counters(probe, image)
        port.write(SHORT_FRAMES)
        came, until = 0, steady_s() + ANSWER_S
        while True:
            came += len(port.read(max(1, port.in_waiting)))
            reached, taken, answered = (
                (now - then) & MASK for now, then in zip(_counters(probe, image), before, strict=True)
            )
            if (came and came >= answered and taken >= len(SHORT_FRAMES)) or steady_s() > until:
                return LineTest(len(SHORT_FRAMES), reached, taken, answered, came)
            time.sleep(LOOK_S)
    except Blocked:
        return None
    except PORT_ERRORS:
        return None


def _counters(probe: CoreProbe, image: Image) -> tuple[int, int, int]:
    """Return the bytes that the board received, read and sent since its start."""
    came, taken = QUEUE.unpack(probe.read(image.symbols["rx"], QUEUE.size))
    _, sent = QUEUE.unpack(probe.read(image.symbols["tx"], QUEUE.size))
    return came, taken, sent
