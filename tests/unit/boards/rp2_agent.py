"""The committed images of rp2040 and rp2350 on their emulated chips, without a virtual board around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hil import boards
from hil.images import image_of
from hil.link.frames import LinkFrame, parse
from hil.link.messages import decode, description, encode
from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.rp2040.chip import Rp2040
from hil.standins.virtual.chip.rp2350.chip import Rp2350


class Pico:
    """The emulated chip with the committed image in its flash."""

    chip: Rp2040 | Rp2350

    def __init__(self, board: str = "rp2040") -> None:
        self.sent = bytearray()
        self.log: list[str] = []
        kind = {"rp2040": Rp2040, "rp2350": Rp2350}[board]
        self.chip = kind(
            np.random.default_rng(1),
            self.sent.append,
            lambda *_: None,
            self.log.append,
            boards.load(board).baud,
        )
        self.chip.flash.array[:] = 0xFF
        for address, data in image_of(board).segments:
            start = address - 0x1000_0000
            self.chip.flash.array[start : start + len(data)] = np.frombuffer(data, np.uint8)
        self.chip.core.code_changed()
        self.chip.power_on()
        self.rest()

    def rest(self) -> None:
        """Run until the program waits."""
        for _ in range(3000):
            if self.chip.advance() is Pace.WAIT:
                return
        pytest.fail("the program does not come to rest")

    def write(self, address: int, value: int) -> None:
        """Write a word, as an earlier program would have."""
        self.chip.bus.write(address, 4, value)

    def reset_core(self) -> None:
        """Reset the processor core alone, as a debugger does by SYSRESETREQ."""
        self.chip.request_reset()
        self.rest()

    def hello(self) -> dict[str, Any]:
        """Greet the agent and return its reply."""
        messages = description()
        request = messages.requests["hello"]
        body = encode(request.request, {"nonce": 0x5EED_0042, "protocol": messages.protocol})
        self.sent.clear()
        self.chip.uart0.feed(LinkFrame(request.id, 0x42, 0, body).encode())
        self.rest()
        *noise, reply, behind = bytes(self.sent).split(b"\0")
        assert not any(noise) and not behind, self.log
        frame = parse(reply)
        assert frame is not None
        return decode(request.reply, frame.body)
