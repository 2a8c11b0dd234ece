"""Debug probes without a USB serial number, by the port at which they are plugged in.

pyOCD makes up an id for such a probe from its USB address, which changes whenever the probe is plugged in or the
computer starts. The bus and the chain of ports do not: `usb:1-2.3` is port 3 of the hub at port 2 of bus 1, as Linux
names it (/sys/bus/usb/devices).
"""

from __future__ import annotations

import re
from pathlib import Path

from hil.targets.uf2_drives import USB, line_of

PREFIX = "usb:"  # of a probe in rig.toml that is named by its place
MADE_UP = re.compile(r"[A-Z2-7]{32}")  # SHA-1 in base 32 (pyOCD, generate_device_unique_id)


def made_up_ids(root: Path = USB) -> dict[str, str]:
    """Return the USB places of attached devices without a serial number, by the id that pyOCD makes up for each.

    Empty on systems other than Linux.
    """
    from pyocd.probe.pydapaccess.interface.common import generate_device_unique_id  # slow, and only probes need it

    found = {}
    for folder in (each.parent for each in sorted(root.glob("*/idVendor"))):
        bus, address = line_of(folder / "busnum"), line_of(folder / "devnum")
        if line_of(folder / "serial") or not (bus.isdecimal() and address.isdecimal()):
            continue
        vendor, product = (int(line_of(folder / name), 16) for name in ("idVendor", "idProduct"))
        found[generate_device_unique_id(product, vendor, int(bus), int(address))] = folder.name  # in pyOCD's order
    return found


def pyocd_id(probe: str) -> str:
    """Return pyOCD's id of a probe of rig.toml; empty if no device without a serial number is at its place."""
    if not probe.startswith(PREFIX):
        return probe
    return next((made_up for made_up, place in made_up_ids().items() if place == probe.removeprefix(PREFIX)), "")
