"""Probes and versions of pyOCD that read memory past the data cache of a Cortex-M7."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyocd.probe.stlink.constants import Commands
from pyocd.probe.stlink.stlink import STLink
from pyocd.probe.stlink_probe import StlinkProbe

from hil.errors import Blocked
from hil.targets import cached_reads

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CACHED = SimpleNamespace(core_type=0xC27, has_cache=True)
PLAIN = SimpleNamespace(core_type=0xC24, has_cache=False)


class Usb:
    """Answers what an ST-LINK answers about its version (pyOCD, stlink.py; ST's UM2448 names the parts)."""

    serial_number, vendor_name, product_name = "066DFF30", "STMicroelectronics", "ST-LINK"

    def __init__(self, hardware: int, jtag: int) -> None:
        self._hardware, self._jtag = hardware, jtag

    def transfer(self, command: list[int], readSize: int) -> bytes:  # noqa: N803 (pyOCD's name)
        if command == [Commands.GET_VERSION]:
            jtag = self._jtag if self._hardware < 3 else 0
            return struct.pack(">H", self._hardware << 12 | jtag << 6 | 7).ljust(readSize, b"\0")
        assert command == [Commands.GET_VERSION_EXT]
        return bytes([self._hardware, 0, self._jtag, 7, 0, 0]).ljust(readSize, b"\0")


def st_link(hardware: int, jtag: int) -> StlinkProbe:
    probe: Any = object.__new__(StlinkProbe)
    probe._link = STLink(Usb(hardware, jtag))
    probe._link.get_version()  # pyOCD's own reading of the answer
    return probe


@given(hardware=st.sampled_from([2, 3]), jtag=st.integers(24, 45))
def test_firmware_below_v2j32_and_v3j2_is_blocked_on_a_core_with_a_cache(hardware: int, jtag: int) -> None:
    jtag = jtag if hardware == 2 else jtag - 23
    probe = st_link(hardware, jtag)
    cached_reads.check(probe, PLAIN)
    if jtag >= {2: 32, 3: 2}[hardware]:
        cached_reads.check(probe, CACHED)
        return
    with pytest.raises(Blocked) as seen:
        cached_reads.check(probe, CACHED)
    assert f"the ST-LINK 066DFF30 has firmware V{hardware}J{jtag}" in seen.value.reason
    assert f"update it to V{hardware}J{ {2: 32, 3: 2}[hardware] } or later" in seen.value.reason


def test_hardware_that_pyocd_does_not_know_yet_passes() -> None:
    probe: Any = object.__new__(StlinkProbe)
    probe._link = SimpleNamespace(hw_version=9, jtag_version=1, version_str="V9J1")
    cached_reads.check(probe, CACHED)


def test_a_pyocd_that_knows_no_cache_is_blocked_on_a_cortex_m7_only() -> None:
    """pyOCD 0.37.0 has no attribute of a core that says it, 0.38.0 has."""
    old = SimpleNamespace(core_type=0xC27)
    with pytest.raises(Blocked, match=r"pyOCD [\d.]+ reads the memory of a Cortex-M7 past its data cache: pip install"):
        cached_reads.check(SimpleNamespace(), old)
    cached_reads.check(SimpleNamespace(), SimpleNamespace(core_type=0xC24))


def test_the_floor_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    floors = [each for each in project["dependencies"] if re.match(r"pyocd\b", each)]
    assert floors == [f"pyocd>={cached_reads.FLOOR}"]
