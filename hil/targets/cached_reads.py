"""Reads of memory behind a data cache: what pyOCD and a probe must be able to, or weights would be read as they were.

The access port reads what the core sees only if its accesses are cacheable (CSW.HPROT bit 3, ARM DDI 0489, AHBD).
pyOCD sets that from 0.38 on (its issue 1323). An ST-LINK sends it from V2J32 and V3J2 on, and older firmware ignores it
without a word (pyOCD, stlink.py).
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

from pyocd.probe.debug_probe import DebugProbe
from pyocd.probe.stlink.stlink import STLink
from pyocd.probe.stlink_probe import StlinkProbe

from hil.errors import Blocked

FLOOR = "0.38"  # of pyOCD, as in pyproject.toml; from it on, its cores say whether they have a cache
CORTEX_M7 = 0xC27  # part number in CPUID; it has caches on every board of the catalogue


def check(probe: DebugProbe, core: Any) -> None:
    """Check that what a probe reads of a core's memory is what the core sees. It asks neither of them anything.

    A probe of another computer is not known here: there, `pyocd server` talks to it.

    Args:
        probe: connected.
        core: pyOCD's, as found at the connection.

    Raises:
        Blocked: pyOCD or the firmware of the probe is too old for a core with a data cache.
    """
    if core.core_type == CORTEX_M7 and not hasattr(core, "has_cache"):
        raise Blocked(
            "connect",
            f"pyOCD {metadata.version('pyocd')} reads the memory of a Cortex-M7 past its data cache: "
            f"pip install 'pyocd>={FLOOR}'.",
        )
    if not getattr(core, "has_cache", False) or not isinstance(probe, StlinkProbe):
        return
    link = probe._link  # pyOCD shows the version of its firmware nowhere else
    least = STLink.MIN_JTAG_VERSION_MEM_CSW.get(link.hw_version, 0)
    if link.jtag_version < least:
        raise Blocked(
            "connect",
            f"the ST-LINK {probe.unique_id} has firmware {link.version_str}, which reads the memory of the chip past "
            f"its data cache: update it to V{link.hw_version}J{least} or later (ST's STSW-LINK007, or "
            "STM32CubeProgrammer), and run again.",
        )
