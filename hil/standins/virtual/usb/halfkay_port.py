"""HalfKay, the boot loader of a Teensy, as a program of this computer reaches it: a line of hex digits is a HID report.

HID devices cannot be made without rights on this computer, so that a loopback port takes their place. A client sends a
report of HalfKay in hex digits, and gets `ok`, or why it was not taken.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.errors import RigError
from hil.standins.virtual.meter.server import InstrumentServer

_VENDOR, _PRODUCT, _USAGE = 0x16C0, 0x0478, 0x24  # of a Teensy 4.0 (PJRC's teensy_loader_cli; TyTools, class_teensy.c)


class HalfKayPort:
    """The port, while the board waits in HalfKay.

    Args:
        take: takes a report; raises RigError if there is nobody for it. Called on a thread of the port.
        report: called with the record of the device when it appears, and with None when it is gone.
        log: receives one line for each refused connection.
    """

    def __init__(
        self, take: Callable[[bytes], None], report: Callable[[dict[str, object] | None], None],
        log: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._take, self._report, self._log = take, report, log
        self._server: InstrumentServer | None = None
        self._here = False

    def show(self, waits: bool) -> bool:
        """Let the device be there while the board waits in HalfKay; return whether that has changed."""
        if waits == self._here:
            return False
        self._here = waits
        if waits:
            self._appear()
        else:
            self._report(None)
        return True

    def _appear(self) -> None:
        if self._server is None:
            self._server = InstrumentServer(self, self._log)
            self._server.start()
        self._report({
            "server": f"127.0.0.1:{self._server.port}", "vendor": f"{_VENDOR:04x}", "product": f"{_PRODUCT:04x}",
            "usage": _USAGE,
        })  # fmt: skip

    def execute(self, line: str) -> str:
        """Take a report (`Instrument`)."""
        try:
            self._take(bytes.fromhex(line))
        except (RigError, ValueError) as error:
            return str(error)
        return "ok"

    def remove(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.close()
            self._server = None
