"""HalfKay, the boot loader of a Teensy: USB HID reports, through the package `hidapi` (extra `teensy`).

Sources: PJRC's teensy_loader_cli (ids; a report is 3 bytes of address in a header of 64 bytes, then 1024 bytes of data;
the first block erases; each block is repeated while HalfKay is busy; address 0xFFFFFF starts the program) and Koromix's
TyTools, class_teensy.c (HID usages by model, flash limits). No code was copied. Never run on a Teensy.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from functools import partial
from typing import Any

from hil.boards import Board
from hil.errors import Blocked
from hil.images import Image
from hil.steady_clock import steady_s
from hil.targets.flash_route import by_boot_loader

VENDOR, PRODUCT = 0x16C0, 0x0478
# An operating system that does not report the usage gives 0.
USAGE_PAGE, TEENSY_4 = 0xFF9C, {0x24: "Teensy 4.0", 0x25: "Teensy 4.1", 0x26: "Teensy MicroMod"}
BASE, LIMIT = 0x6000_0000, 0x1F_0000  # bytes free for programs on the smallest of the three, the Teensy 4.0
BLOCK, HEADER = 1024, 64
START = 0xFF_FFFF
# The erase goes on behind the first blocks: teensy_loader_cli gives each of the first five that it sends 45 s (commit
# 7c75c60), because the third was seen to take 12 s and more (issue 75). A later one has 0.5 s there.
EARLY, EARLY_S, LATER_S, RETRY_S = 5, 45.0, 5.0, 0.02


class HalfKay:
    """The boot loader of one Teensy 4.

    Args:
        board: catalogue entry.
        serial_number: USB serial number of the Teensy in its boot loader (`loader` in rig.toml); None if only one
            Teensy is attached.
        hid: module of hidapi; None to import it on first use.
    """

    name = "halfkay"
    button = "press the Teensy's button"

    def __init__(self, board: Board, serial_number: str | None, hid: Any = None) -> None:
        self._board, self._serial, self._hid = board, serial_number, hid

    def waits(self) -> bool:
        """Return whether the board waits in its boot loader; raise `Blocked` as `_find` does."""
        return self._find() is not None

    def _find(self) -> dict[str, Any] | None:
        """Return the waiting Teensy as hidapi describes it, None if there is none.

        Raises:
            Blocked: two Teensys wait and rig.toml does not name one, it is another model, or hidapi is missing.
        """
        self._hid = self._hid or _hidapi()
        found: list[dict[str, Any]] = self._hid.enumerate(VENDOR, PRODUCT)
        if self._serial is not None:
            found = [each for each in found if each.get("serial_number") == self._serial]
        if len(found) > 1:
            numbers = " and ".join(sorted(each.get("serial_number") or "no number" for each in found))
            raise Blocked(
                "flash",
                f"{len(found)} Teensys wait in their boot loader ({numbers}): "
                f"name the one of {self._board.name} in rig.toml (`loader = ...`).",
            )
        if not found:
            return None
        usage = found[0].get("usage") if found[0].get("usage_page") == USAGE_PAGE else None
        if usage and usage not in TEENSY_4:
            raise Blocked(
                "identity",
                f"the Teensy that waits in its boot loader is not a Teensy 4 (usage 0x{usage:02X}): "
                f"attach {self._board.title}; nothing was flashed.",
            )
        return found[0]

    def program(self, image: Image) -> None:
        """Program the image and start it; raise `Blocked` if it does not fit, or the Teensy does not accept it."""
        blocks = {BASE: b"\xff" * BLOCK} | image.pages(BASE, LIMIT, BLOCK)
        found = self._find()
        if found is None:
            raise Blocked("flash", f"{self._board.name} has left its boot loader: {self.button}, and run again.")
        device = self._hid.device()
        try:
            device.open_path(found["path"])
        except OSError as error:
            raise Blocked(
                "flash",
                f"the Teensy's boot loader cannot be opened ({error}): install PJRC's udev rule 00-teensy.rules, "
                "then unplug the Teensy and plug it in again.",
            ) from error
        with contextlib.closing(device):
            sent = 0
            for address, data in blocks.items():
                if address == BASE or data.count(0xFF) < BLOCK:  # the first one makes HalfKay erase the flash
                    _write(device, report(address - BASE, data), EARLY_S if sent < EARLY else LATER_S)
                    sent += 1
            _write(device, report(START, b""), LATER_S)


def report(offset: int, data: bytes) -> bytes:
    """Return one output report, preceded by the report number 0 that hidapi expects."""
    return b"\0" + offset.to_bytes(3, "little").ljust(HEADER, b"\0") + data.ljust(BLOCK, b"\0")


def _write(device: Any, data: bytes, deadline_s: float) -> None:
    """Send a report; retry while HalfKay is busy with the previous one."""
    until, problem = steady_s() + deadline_s, "no bytes were accepted"
    while True:
        try:
            if device.write(data) == len(data):
                return
        except OSError as error:
            problem = str(error)
        if steady_s() > until:
            raise Blocked(
                "flash",
                f"the Teensy's boot loader did not accept a block within {deadline_s:.0f} s ({problem}): "
                "press its button, and run again.",
            )
        time.sleep(RETRY_S)


def _hidapi() -> Any:
    try:
        return importlib.import_module("hid")
    except ImportError as error:
        raise Blocked(
            "flash", "a Teensy is flashed through hidapi, which is not installed: pip install 'trainrig[teensy]'."
        ) from error


route = partial(by_boot_loader, HalfKay)  # the flash route `halfkay`
