"""Flash an RP2040 or an RP2350 through its USB boot ROM: a UF2 file on its drive, or picotool if that is not mounted.

Sources: Microsoft, USB Flashing Format (UF2), "File format"; RP2040 data sheet, 2.8.4 (USB mass storage; 2.8.4.2: what
it accepts) and 2.8.5 (PICOBOOT, used by picotool); the source of the RP2350's boot ROM (nsboot); `picotool help load`.
In the boot ROM, every RP2040 has the same USB serial number, so two of them cannot be distinguished; that of an RP2350
is not used. Never run on a Pico.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hil.boards import Board
from hil.errors import Blocked
from hil.images import Image
from hil.steady_clock import steady_s
from hil.targets import uf2_drives
from hil.targets.flash_route import by_boot_loader
from hil.targets.uf2_drives import Drive

MAGIC, MAGIC_2, MAGIC_END = 0x0A324655, 0x9E5D5157, 0x0AB16F30
FAMILY_IS_PRESENT = 0x2000
PAYLOAD, DATA = 256, 476  # bytes used of a block's data field, and the size of that field
SECTOR = 4096  # whole sectors are sent: a partly filled one may be erased again after its first pages (RP2040-E14)
FILE = "TRAINRIG.UF2"
GONE_S = 20.0  # the drive disappears when the boot ROM has programmed the last block
PICOTOOL_S = 60.0
POLL_S = 0.05


@dataclass(frozen=True)
class BootRom:
    """How the USB boot ROM of a chip presents itself.

    Attributes:
        chip: the beginning of the chip's order code.
        family: UF2 family id of a program for it (of an RP2350: for its Arm cores, in the Secure state).
        board_id: `Board-ID` in INFO_UF2.TXT of its drive.
        usb: USB vendor and product.
    """

    chip: str
    family: int
    board_id: str
    usb: tuple[str, str]


# RP2040 data sheet, 2.8.4; RP2350: pico-bootrom-rp2350, nsboot; families: Pico SDK, boot/uf2.h
BOOT_ROMS = (
    BootRom("RP2040", 0xE48BFF56, "RPI-RP2", ("2e8a", "0003")),
    BootRom("RP2350", 0xE48BFF59, "RP2350", ("2e8a", "000f")),
)


class Uf2:
    """The boot ROM of one RP2040 or RP2350.

    Args:
        board: catalogue entry.
        serial_number: must be None, because an RP2040 has no unique serial number in its boot ROM.
        mounts, usb: paths at which Linux lists mounted drives and attached USB devices.

    Raises:
        Blocked: rig.toml names a boot loader by its serial number, or the board's chip has no such boot ROM.
    """

    name = "uf2"
    button = "hold BOOTSEL while you plug its USB cable in"

    def __init__(
        self,
        board: Board,
        serial_number: str | None = None,
        mounts: Path = uf2_drives.MOUNTS,
        usb: Path = uf2_drives.USB,
    ) -> None:
        if serial_number is not None:
            raise Blocked(
                "bench",
                f"rig.toml names a boot loader for {board.name}, but the flash route uf2 knows no serial numbers, "
                "which RP2040s do not have in their boot ROM: remove `loader` from its table.",
            )
        self._rom = _boot_rom_of(board)
        self._board, self._mounts, self._usb = board, mounts, usb

    def waits(self) -> bool:
        """Return whether the board waits in its boot ROM and can be flashed. Raises Blocked if two of its kind wait."""
        found = self._drives()
        count = max(len(found), uf2_drives.waiting(self._rom.usb, self._usb))
        if count > 1:
            raise Blocked(
                "flash",
                f"{count} {self._rom.chip}s wait in their boot ROM, where the rig cannot distinguish them: "
                f"leave only {self._board.name} in it.",
            )
        return bool(found) or (count == 1 and shutil.which("picotool") is not None)

    def _drives(self) -> list[Drive]:
        return [drive for drive in uf2_drives.drives(self._mounts) if drive.board_id == self._rom.board_id]

    def program(self, image: Image) -> None:
        """Program the image; the boot ROM starts it. Raises Blocked if it does not fit, or is not accepted."""
        flash = next(region for region in self._board.memory if region.name == "flash")
        blocks = uf2_of(image, self._rom.family, flash.start, flash.size)
        found = self._drives()
        if found:
            self._copy(found[0].place, blocks)
        else:
            _picotool(image)

    def _copy(self, place: Path, blocks: bytes) -> None:
        try:
            with (place / FILE).open("wb") as file:
                file.write(blocks)
                file.flush()
                os.fsync(file.fileno())
        except PermissionError as error:
            raise Blocked(
                "flash",
                f"the drive {place} cannot be written ({error.strerror}): "
                "mount it for your user with `udisksctl mount`.",
            ) from error
        except OSError:
            pass  # the drive may disappear before the last write is acknowledged; its disappearance is checked below
        until = steady_s() + GONE_S
        while any(drive.place == place for drive in self._drives()):
            if steady_s() > until:
                raise Blocked(
                    "flash",
                    f"the drive {place} is still mounted {GONE_S:.0f} s after it was written: "
                    f"{self.button}, and run again.",
                )
            time.sleep(POLL_S)


def _boot_rom_of(board: Board) -> BootRom:
    for rom in BOOT_ROMS:
        if board.chip.startswith(rom.chip):
            return rom
    raise Blocked(
        "bench",
        f"the flash route uf2 does not know the boot ROM of the {board.chip} of {board.name}, but those of "
        f"{' and '.join(rom.chip for rom in BOOT_ROMS)}: remove `uf2` from `routes` in the board's file.",
    )


def _picotool(image: Image) -> None:
    """Load, verify and execute an ELF file."""
    command = ["picotool", "load", "-v", "-x", str(image.path), "-t", "elf"]
    try:
        subprocess.run(command, capture_output=True, text=True, timeout=PICOTOOL_S, check=True)
    except subprocess.TimeoutExpired:
        raise Blocked(
            "flash",
            f"picotool did not finish within {PICOTOOL_S:.0f} s: "
            "unplug the Pico, plug it in with BOOTSEL held, and run again.",
        ) from None
    except (OSError, subprocess.CalledProcessError) as error:
        text = (getattr(error, "stderr", None) or getattr(error, "stdout", None) or str(error)).strip().splitlines()[-1]
        raise Blocked(
            "flash", f"picotool could not load {image.path.name} ({text}): run `picotool info` to see what it lacks."
        ) from error


route = partial(by_boot_loader, Uf2)  # the flash route `uf2`


def uf2_of(image: Image, family: int, start: int, size: int) -> bytes:
    """Return the UF2 blocks of an image, 512 bytes each, in order of addresses. Unused bytes of a sector are 0xFF.

    Args:
        image: the firmware.
        family: UF2 family id of the chip.
        start, size: address and bytes of the flash.

    Raises:
        Blocked: the image lies outside the flash.
    """
    pages = [
        (sector + offset, data[offset : offset + PAYLOAD])
        for sector, data in image.pages(start, size, SECTOR).items()
        for offset in range(0, SECTOR, PAYLOAD)
    ]
    return b"".join(_block(address, data, number, len(pages), family) for number, (address, data) in enumerate(pages))


def _block(address: int, data: bytes, number: int, total: int, family: int) -> bytes:
    head = struct.pack("<8I", MAGIC, MAGIC_2, FAMILY_IS_PRESENT, address, PAYLOAD, number, total, family)
    return head + data.ljust(DATA, b"\0") + struct.pack("<I", MAGIC_END)
