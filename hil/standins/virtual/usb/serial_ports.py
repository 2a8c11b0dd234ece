"""USB serial ports of this computer as links in a folder, named like those that udev makes below /dev/serial."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from hil.standins.virtual.usb.enumeration import Device
from hil.standins.virtual.usb.terminal import PtyTerminal

BY_PATH = "by-path/usb-0:1:1.0"
_NO_NAME = re.compile(r"[^0-9A-Za-z#+.:=@_-]")  # udev replaces these characters


class SerialPorts:
    """The ports, at most one of them.

    Args:
        folder: for the links: `by-path/...`, which has the same name for every device at this socket, and `by-id/...`,
            with maker, product and serial number. It is made if it is missing.
        on_change: see `PtyTerminal`.
        report: called with the record of each port that appears, and with None when it is gone.
    """

    def __init__(
        self, folder: Path, on_change: Callable[[], None], report: Callable[[dict[str, object] | None], None]
    ) -> None:
        self._folder, self._on_change, self._report = folder, on_change, report
        self._terminal: PtyTerminal | None = None
        self._links: list[Path] = []
        self._taken: int | None = None  # keeps the name of the last terminal in use: the next one has another
        self.by_path = folder / BY_PATH
        self.remove_links()

    def appear(self, device: Device) -> PtyTerminal:
        """Make a serial port for a device."""
        terminal = PtyTerminal(self._on_change)
        if self._taken is not None:
            os.close(self._taken)
            self._taken = None
        name = _NO_NAME.sub("_", "_".join(device.strings))
        self._links = [self.by_path, self._folder / "by-id" / f"usb-{name}-if00"]
        for link in self._links:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(terminal.path)
        terminal.start()
        self._terminal = terminal
        self._report({
            "port": terminal.path, "by_path": str(self.by_path), "by_id": str(self._links[1]),
            "vendor": f"{device.descriptor.vendor:04x}", "product": f"{device.descriptor.product:04x}",
            "serial_number": device.strings[2],
        })  # fmt: skip
        return terminal

    def vanish(self) -> None:
        """Remove the port."""
        self.remove_links()
        if self._terminal is not None:
            with contextlib.suppress(OSError):
                self._taken = os.open(self._terminal.path, os.O_RDWR | os.O_NOCTTY)
            self._terminal.close()
            self._terminal = None
        self._report(None)

    def remove_links(self) -> None:
        """Remove the links, also those of an earlier process."""
        old = [self.by_path, *self._folder.glob("by-id/usb-*")]
        for link in {*old, *self._links}:
            if link.is_symlink():
                link.unlink()
        self._links = []
