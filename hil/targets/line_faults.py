"""Serial ports of debug probes that are known to damage bytes, recognised by what Linux says of their USB device."""

from __future__ import annotations

import os
from pathlib import Path

from hil.targets.uf2_drives import line_of

SYSFS = Path("/sys")
SEGGER, MASS_STORAGE = "1366", "08"  # USB vendor; class of an interface
# USB ids of Raspberry Pi's Debug Probe, and of a Pico with its firmware. Its bcdDevice is the version: 0x0222 is 2.2.2
# (debugprobe, usb_descriptors.c). YAPicoprobe has the same ids, and versions of its own.
DEBUG_PROBE, SOUND, OTHER_FIRMWARE = ("2e8a", "000c"), 0x0222, "YAPicoprobe"


def line_faults(port: str, sysfs: Path = SYSFS) -> list[str]:
    """Return a sentence with the cure for each known fault of a serial port; empty on systems other than Linux.

    Args:
        port: path of the port.
        sysfs: where Linux shows its devices.
    """
    place = sysfs / "class/tty" / Path(os.path.realpath(port)).name / "device"
    device = next((each for each in place.resolve().parents if (each / "idVendor").is_file()), None)
    if device is None:
        return []
    return [said for said in (_debug_probe(device, port), _j_link(device, port)) if said is not None]


def _debug_probe(device: Path, port: str) -> str | None:
    """Return what is wrong with a Debug Probe before 2.2.2 (debugprobe, pull request 165 and commit 3d58384)."""
    ids, version = (line_of(device / "idVendor"), line_of(device / "idProduct")), line_of(device / "bcdDevice")
    if ids != DEBUG_PROBE or OTHER_FIRMWARE in line_of(device / "product") or int(version or "0", 16) >= SOUND:
        return None
    major, minor = int(version[:2] or "0"), ".".join(version[2:])
    return (
        f"the Debug Probe at {port} has firmware {major}.{minor}, which damages bytes to the board at high rates: put "
        "2.2.2 or later on it (github.com/raspberrypi/debugprobe/releases)."
    )


def _j_link(device: Path, port: str) -> str | None:
    """Return what is wrong with a J-Link that also is a drive (Zephyr, nordic_segger.rst)."""
    classes = [line_of(each / "bInterfaceClass") for each in device.glob(f"{device.name}:*")]
    if line_of(device / "idVendor") != SEGGER or MASS_STORAGE not in classes:
        return None
    return (
        f"the J-Link at {port} is also a drive, and then damages or drops serial data of more than 64 bytes: enter "
        "MSDDisable in JLinkExe (J-Link Commander), and plug the board in again."
    )
