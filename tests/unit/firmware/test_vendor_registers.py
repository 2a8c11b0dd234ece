"""Every register, bit field and interrupt that the headers of the ports define, against what the chips' vendors publish of them.

`vendors/BOARD.toml` has the vendor's name of each. Its numbers are written beside it where no package carries the vendor's file, and
read in the file where pyOCD carries it.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from port_headers import Header, header
from pyocd.debug.svd.parser import SVDParser

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

VENDORS = Path(__file__).parent / "vendors"
BOARDS = sorted(one.stem for one in VENDORS.glob("*.toml"))


@dataclass(frozen=True)
class Published:
    """What a vendor's SVD file says: addresses of registers, masks of their fields, numbers of interrupts; all by name."""

    addresses: dict[str, int]
    fields: dict[str, int]
    interrupts: dict[str, int]


@cache
def published(board: str) -> Published:
    archive = zipfile.ZipFile(io.BytesIO((resources.files("pyocd.debug.svd") / "svd_data.zip").read_bytes()))
    device = SVDParser.for_xml_file(io.BytesIO(archive.read(table(board)["svd"]))).get_device()
    every = [(p, r, f"{p.name}.{re.sub(r'[][]', '', r.name)}") for p in device.peripherals for r in p.registers]
    return Published(
        {name: p.base_address + r.address_offset for p, r, name in every},
        {f"{name} {f.name}": (1 << f.bit_width) - 1 << f.bit_offset for _, r, name in every for f in r.fields},
        {i.name: i.value for p in device.peripherals for i in p.interrupts or ()},
    )


@cache
def defined(board: str) -> Header:
    """Return what all headers of a board's chip define."""
    every = [header(path, board) for path in table(board)["headers"]]
    return Header(
        {name: one for each in every for name, one in each.registers.items()},
        {name: one for each in every for name, one in each.constants.items()},
    )


@cache
def table(board: str) -> dict[str, Any]:
    return tomllib.loads((VENDORS / f"{board}.toml").read_text())


def addresses(board: str, entry: Any) -> list[int]:
    """Return the vendor's address of a register, or of its first two instances."""
    if "svd" in table(board):
        return [published(board).addresses[name] for name in ([entry] if isinstance(entry, str) else entry)]
    return [address for _, address in entry]


def mask(board: str, entry: Any) -> int:
    """Return the vendor's mask of one field, or of several of a register."""
    if "svd" not in table(board):
        return int(entry[1])
    register, fields = entry.split(" ")
    return sum(published(board).fields[f"{register} {field}"] for field in fields.split("|"))


@pytest.mark.parametrize("board", BOARDS)
def test_the_table_names_all_that_the_headers_define_and_nothing_else(board: str) -> None:
    names, ours = table(board), defined(board)
    listed = [*names["registers"], *names["fields"], *names["numbers"], *names["else"]["names"]]
    assert len(listed) == len(set(listed))
    assert set(listed) == {*ours.registers, *(name for name in ours.constants if not name.endswith(" of 1"))}


@pytest.mark.parametrize("board", BOARDS)
def test_every_register_is_at_the_vendor_s_address(board: str) -> None:
    """A macro may give an offset: from a base that the same header has."""
    ours = defined(board)
    for name, entry in table(board)["registers"].items():
        here = ours.registers.get(name, (ours.constants.get(name, 0),))
        for one, there in zip(here, addresses(board, entry), strict=False):
            base = there - one
            assert base == 0 or base in ours.constants.values(), f"{name}: 0x{one:08X}, {entry} 0x{there:08X}"


@pytest.mark.parametrize("board", BOARDS)
def test_every_field_is_where_the_vendor_has_it(board: str) -> None:
    """A bit is that bit, a mask is the whole field, a value lies within it, and what is made of an argument begins where it begins."""
    constants = defined(board).constants
    for name, entry in table(board)["fields"].items():
        field, value = mask(board, entry), constants[name]
        if (of_1 := constants.get(f"{name} of 1")) is not None:
            assert of_1 - value & 0xFFFFFFFF in (0, field & -field), f"{name}: steps of {of_1 - value:#x}, {entry}"
        elif (field & field - 1 == 0 and value != 0) or name.endswith("_MASK"):
            assert value == field, f"{name}: {value:#x}, {entry} {field:#x}"
        else:
            assert value & ~field == 0, f"{name}: {value:#x} is not within {entry} {field:#x}"


@pytest.mark.parametrize("board", BOARDS)
def test_every_number_of_an_interrupt_or_a_request_is_the_vendor_s(board: str) -> None:
    for name, there in table(board)["numbers"].items():
        assert defined(board).constants[name] == (
            published(board).interrupts[there] if isinstance(there, str) else there
        ), name
