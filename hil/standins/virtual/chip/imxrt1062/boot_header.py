"""Checks of the headers that the boot ROM of i.MX RT1062 needs in a serial NOR flash (IMXRT1060RM, System Boot).

The headers are the FlexSPI configuration block, the image vector table and the boot data. Checked is what the ROM or
the flash would notice. Offsets and codes: NXP's public driver (flexspi_nor_config_t, ivt, BOOT_DATA_T). Which words the
real ROM checks is `unverified`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from hil.standins.virtual.chip.w25q import FAST_HZ, READ_HZ

FLASH, IVT, FLASH_SIZE = 0x60000000, 0x60001000, 0x200000  # W25Q16JV
CONFIG_SIZE = 512
TAG = 0x42464346  # "FCFB"
_CLOCK_HZ = {1: 30e6, 2: 50e6, 3: 60e6, 4: 75e6, 5: 80e6, 6: 100e6, 7: 120e6, 8: 133e6, 9: 166e6}
_STOP, _COMMAND, _ADDRESS, _MODE, _READ, _DUMMY, _JUMP = 0x00, 0x01, 0x02, 0x07, 0x09, 0x0C, 0x1F
_PADS = {0: 1, 1: 2, 2: 4, 3: 8}
_RAM = ((0x00000000, 0x80000), (0x20000000, 0x80000), (0x20200000, 0x100000))
Memory = Callable[[int, int], bytes]


class BootRefused(Exception):
    """The ROM does not boot from these headers."""


def _sequence(config: bytes) -> list[tuple[int, int, int]]:
    """Return the read sequence of the look-up table as (opcode, pads, operand), up to its end."""
    out = []
    for half in struct.unpack_from("<8H", config, 0x80):
        opcode = half >> 10
        if opcode in (_STOP, _JUMP):
            break
        out.append((opcode, _PADS[half >> 8 & 3], half & 0xFF))
    return out


def check_config(config: bytes) -> None:
    """Check a FlexSPI configuration block, and that the flash supports its read sequence.

    Raises:
        Refused: a check failed.
    """
    tag, version = struct.unpack_from("<2I", config)
    if tag != TAG:
        raise BootRefused(f"no FlexSPI configuration block: its tag is 0x{tag:08X}, not 0x{TAG:08X}")
    if version >> 24 != 0x56:
        raise BootRefused(f"the FlexSPI configuration block has version 0x{version:08X}, not 0x56......")
    kind, pads, clock = config[0x44], config[0x45], config[0x46]
    (size,) = struct.unpack_from("<I", config, 0x50)
    if kind != 1 or pads not in (1, 2, 4) or clock not in _CLOCK_HZ or not size:
        raise BootRefused(
            f"the FlexSPI configuration block names device type {kind}, {pads} pads, clock {clock}, "
            f"{size} bytes of flash"
        )
    _check_read(_sequence(config), pads, _CLOCK_HZ[clock])


def _check_read(sequence: list[tuple[int, int, int]], pads: int, hz: float) -> None:
    command = sequence[0][2] if sequence and sequence[0][0] == _COMMAND else None
    if any(p > pads for _, p, _ in sequence):
        raise BootRefused(f"the read sequence uses more pads than the {pads} of the configuration block")
    if command == 0x03 and [s[:2] for s in sequence] == [(_COMMAND, 1), (_ADDRESS, 1), (_READ, 1)]:
        limit = READ_HZ
    elif command == 0xEB and _is_quad(sequence[1:]):
        limit = FAST_HZ
    else:
        raise BootRefused(f"the read sequence {sequence} is not one that this flash supports (03h, EBh)")
    if sequence[1][2] != 24:
        raise BootRefused(f"the read sequence sends {sequence[1][2]} address bits, the flash takes 24")
    if hz > limit:
        raise BootRefused(f"the flash would be clocked at {hz:.0f} Hz, command {command:02X}h allows {limit} Hz")


def _is_quad(behind: list[tuple[int, int, int]]) -> bool:
    """Return whether a sequence after EBh is a quad read.

    That is: address and mode on four lines, then four dummy clocks; or six dummy clocks while the mode lines float
    high.
    """
    kinds = [s[:2] for s in behind]
    if kinds == [(_ADDRESS, 4), (_MODE, 4), (_DUMMY, 4), (_READ, 4)]:
        return behind[2][2] == 4
    return kinds == [(_ADDRESS, 4), (_DUMMY, 4), (_READ, 4)] and behind[1][2] == 6


def check_boot(table: bytes, memory: Memory) -> tuple[int | None, int]:
    """Check image vector table and boot data.

    Returns:
        The stack pointer, or None if the entry is not a vector table, and the address of the first instruction.

    Raises:
        Refused: a check failed.
    """
    header, entry, _, device_configuration, data, self_, _, _ = struct.unpack_from("<8I", table)
    if header & 0xF0FFFFFF != 0x402000D1:
        raise BootRefused(f"no image vector table at 0x{IVT:08X}: its header is 0x{header:08X}, not 0x4.2000D1")
    if self_ != IVT:
        raise BootRefused(f"the image vector table gives its address as 0x{self_:08X}, but is at 0x{IVT:08X}")
    if device_configuration:
        raise BootRefused("the image vector table names device configuration data, which this model does not have")
    if not FLASH <= data <= FLASH + FLASH_SIZE - 12:
        raise BootRefused(f"the boot data are at 0x{data:08X}, outside the flash")
    start, length, plugin = struct.unpack("<3I", memory(data, 12))
    if start != FLASH or not IVT - FLASH < length <= FLASH_SIZE or plugin:
        raise BootRefused(f"the boot data give {length} bytes from 0x{start:08X}, plug-in {plugin}")
    return _entry(entry, start + length, memory)


def _entry(entry: int, end: int, memory: Memory) -> tuple[int | None, int]:
    """Return stack pointer and first instruction of an entry.

    An even entry is a vector table, as in NXP's own images. An odd entry is the first instruction, as in the manual.
    """
    if not FLASH <= entry < end - 8:
        raise BootRefused(f"the entry 0x{entry:08X} is outside the image")
    if entry & 1:
        return None, entry
    stack, address = struct.unpack("<2I", memory(entry, 8))
    if not any(base < stack <= base + size for base, size in _RAM) or stack % 4:
        raise BootRefused(
            f"the vector table at 0x{entry:08X} sets the stack pointer to 0x{stack:08X}, where there is no memory"
        )
    if not address & 1 or not FLASH <= address < end:
        raise BootRefused(
            f"the vector table at 0x{entry:08X} begins at 0x{address:08X}, which is not an instruction of the image"
        )
    return stack, address


def default_config() -> bytes:
    """Return the configuration block that flexspi_nor_get_config makes for this flash: read by EBh at 100 MHz."""
    config = bytearray(CONFIG_SIZE)
    struct.pack_into("<2I", config, 0, TAG, 0x56010000)
    config[0x44:0x47] = bytes((1, 4, 6))
    struct.pack_into("<I", config, 0x50, FLASH_SIZE)
    struct.pack_into("<3I", config, 0x80, 0x0A1804EB, 0x26043206, 0)
    struct.pack_into("<2I", config, 0x1C0, 256, 4096)
    struct.pack_into("<I", config, 0x1D0, 0x10000)
    return bytes(config)
