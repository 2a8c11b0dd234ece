"""The drive of a boot ROM as a folder: a UF2 file that is copied there is programmed, and the program starts.

Sources: Microsoft, USB Flashing Format (UF2); RP2040 data sheet, 2.8.4. A folder is no mounted drive, so a file that
reads like /proc/mounts lists it beside the links of the serial ports, and another folder reads like that of USB devices
in /sys.
"""

from __future__ import annotations

import contextlib
import shutil
import struct
import threading
from collections.abc import Callable
from pathlib import Path

MAGIC, MAGIC_2, MAGIC_END = 0x0A324655, 0x9E5D5157, 0x0AB16F30
NOT_FLASH, HAS_FAMILY = 1, 0x2000
BLOCK, PAYLOAD = 512, 256
RP2040_FAMILY = 0xE48BFF56
_NOTE_FILE = "INFO_UF2.TXT"
_NOTE = "UF2 Bootloader v2.0\r\nModel: Raspberry Pi RP2\r\nBoard-ID: RPI-RP2\r\n"
_IDS = {"idVendor": "2e8a", "idProduct": "0003"}
_LOOK_S = 0.05


def blocks_of(data: bytes, family: int) -> dict[int, bytes] | None:
    """Return the pages of a UF2 file for a chip by their address; None while it is not whole.

    Blocks for another family or not for the flash do not count, as in the boot ROM (RP2040 data sheet, 2.8.4.2).
    """
    pages: dict[int, bytes] = {}
    numbers: set[int] = set()
    wanted = 0
    for start in range(0, len(data) - BLOCK + 1, BLOCK):
        first, second, flags, address, size, number, total, of = struct.unpack_from("<8I", data, start)
        end = int.from_bytes(data[start + BLOCK - 4 : start + BLOCK], "little")
        if (first, second, end) != (MAGIC, MAGIC_2, MAGIC_END) or flags & NOT_FLASH or size != PAYLOAD:
            continue
        if not flags & HAS_FAMILY or of != family:
            continue
        pages[address] = data[start + 32 : start + 32 + PAYLOAD]
        numbers.add(number)
        wanted = total
    return pages if wanted and numbers >= set(range(wanted)) else None


class BootDrive:
    """The drive, while the chip waits in its boot ROM.

    Args:
        folder: gets `RPI-RP2`, `mounts` and `devices` while the drive is there.
        program: programs pages by their address, and starts the chip; called on the drive's thread.
        report: called with the record of the drive when it appears, and with None when it is gone.
    """

    def __init__(
        self, folder: Path, program: Callable[[dict[int, bytes]], None],
        report: Callable[[dict[str, object] | None], None],
    ) -> None:  # fmt: skip
        self._place, self._mounts, self._devices = folder / "RPI-RP2", folder / "mounts", folder / "devices"
        self._program, self._report = program, report
        self._gone = threading.Event()
        self._here = False
        self.remove()

    def show(self, waits: bool) -> None:
        """Let the drive be there while the chip waits for it."""
        if waits and not self._here:
            self._appear()
        elif self._here and not waits:
            self._here = False
            self._gone.set()
            self.remove()
            self._report(None)

    def _appear(self) -> None:
        self._here = True
        self._place.mkdir(parents=True, exist_ok=True)
        (self._place / _NOTE_FILE).write_text(_NOTE, newline="")
        device = self._devices / "1-1"
        device.mkdir(parents=True, exist_ok=True)
        for name, text in _IDS.items():
            (device / name).write_text(f"{text}\n")
        escaped = str(self._place).replace("\\", r"\134").replace(" ", r"\040")
        self._mounts.write_text(f"/dev/sda1 {escaped} vfat rw 0 0\n")
        self._gone = threading.Event()
        threading.Thread(target=self._watch, args=(self._gone,), name="boot drive", daemon=True).start()
        self._report({"place": str(self._place), "mounts": str(self._mounts), "devices": str(self._devices)})

    def remove(self) -> None:
        """Remove the drive, also that of an earlier process, and nothing else that may be in the folder."""
        if not (self._place / _NOTE_FILE).is_file():
            return
        shutil.rmtree(self._place, ignore_errors=True)
        self._mounts.unlink(missing_ok=True)
        device = self._devices / "1-1"
        for name in _IDS:
            (device / name).unlink(missing_ok=True)
        for place in (device, self._devices):
            with contextlib.suppress(OSError):  # something else is there
                place.rmdir()

    def _watch(self, gone: threading.Event) -> None:
        """Wait for a whole UF2 file."""
        while not gone.wait(_LOOK_S):
            for file in [one for one in self._place.glob("*") if one.suffix.upper() == ".UF2"]:
                with contextlib.suppress(OSError):
                    pages = blocks_of(file.read_bytes(), RP2040_FAMILY)
                    if pages is not None:
                        self._program(pages)
                        return
