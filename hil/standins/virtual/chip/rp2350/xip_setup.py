"""The routine that the RP2350's boot ROM leaves in the boot RAM: it sets QMI up for reading again (data sheet, 5.4.8).

Programs copy its 256 bytes to RAM and call them there after they have programmed the flash.
"""

from __future__ import annotations

import struct

SIZE = 256
_QMI = 0x400D0000
# Position independent:
#     adr r3, table
#     1: ldmia r3!, {r1, r2}
#     cbz r1, 2f
#     str r2, [r1]
#     b 1b
#     2: bx lr
_CODE = (0xA302, 0xCB06, 0xB109, 0x600A, 0xE7FB, 0x4770)


def xip_setup(command: int, divider: int) -> bytes:
    """Return the routine, which selects the window's read by a quad (0xEB) or serial command and divides SCK."""
    wide, suffix, dummies = (0x2A8, 2, 4) if command == 0xEB else (0, 0, 0)
    timing = divider | 2 << 8 | 7 << 12 | 2 << 28 | 1 << 30
    words = (
        _QMI, divider << 22, _QMI + 0x0C, timing, _QMI + 0x10, wide | 1 << 12 | suffix << 14 | dummies << 16,
        _QMI + 0x14, command, 0, 0,
    )  # fmt: skip
    return struct.pack(f"<{len(_CODE)}H", *_CODE) + struct.pack(f"<{len(words)}I", *words)
