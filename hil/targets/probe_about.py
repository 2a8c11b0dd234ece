"""What a debug probe says of itself: vendor, product and the version of its firmware."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

# Where pyOCD 0.46 keeps the version after it has opened a probe: STLinkProbe, CMSISDAPProbe, JLinkProbe.
VERSIONS = ("_link.version_str", "_link.firmware_version")


@dataclass(frozen=True)
class ProbeAbout:
    """A probe in its own words; `firmware` is empty if it does not say its version."""

    vendor: str
    product: str
    firmware: str = ""

    def __str__(self) -> str:
        version = f"firmware {self.firmware}" if self.firmware else "which does not say the version of its firmware"
        return f"{self.vendor} {self.product}, {version}"


def about(probe: Any) -> ProbeAbout:
    """Open a probe of pyOCD, read its version, and close it. The chip is not touched."""
    probe.open()
    try:
        return ProbeAbout(str(probe.vendor_name), str(probe.product_name), _version(probe))
    finally:
        probe.close()


def _version(probe: Any) -> str:
    for path in VERSIONS:
        found = probe
        for name in path.split("."):
            with contextlib.suppress(Exception):  # an attribute that asks a probe, which may not know the request
                found = getattr(found, name, None)
        if isinstance(found, str) and found:
            return found
    return ""
