"""Attributes of memory by the MPU and by the default memory map of Armv7-M (ARM DDI 0403E.e, B3.1 and B3.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.standins.virtual.chip.data_cache import LINE, UNCACHED, WRITE_BACK, WRITE_THROUGH

ENABLE, HFNMIENA, PRIVDEFENA = 1, 2, 4  # MPU_CTRL
SIWT, FORCEWT = 1, 4  # CACR (ARM DDI 0489, system control)
# B3.1: cacheability of the address space in steps of 512 MB: code, SRAM, peripherals, RAM, RAM, devices, system.
_DEFAULT = (WRITE_THROUGH, WRITE_BACK, UNCACHED, WRITE_BACK, WRITE_THROUGH, UNCACHED, UNCACHED, UNCACHED)
_BY_CB = (UNCACHED, WRITE_BACK, WRITE_THROUGH, WRITE_BACK)  # B3.5.7: inner cacheability by TEX = 0b1xx, and C:B
_SMALLEST_WITH_SUBREGIONS = 256
# Bits of RASR that are not about attributes: AP and XN.
NOT_ATTRIBUTES = 7 << 24 | 1 << 28


def kind_of(rasr: int, cacr: int) -> int:
    """Return how the data cache treats a region (B3.5.7; shareable memory: ARM DDI 0489, CACR.SIWT)."""
    tex, shareable, cacheable_bufferable = rasr >> 19 & 7, rasr >> 18 & 1, rasr >> 16 & 3
    if tex >= 4:
        kind = _BY_CB[cacheable_bufferable]
    elif tex == 0:
        kind = (UNCACHED, UNCACHED, WRITE_THROUGH, WRITE_BACK)[cacheable_bufferable]
    else:
        kind = WRITE_BACK if tex == 1 and cacheable_bufferable == 3 else UNCACHED
    if kind != UNCACHED and shareable:
        return WRITE_THROUGH if cacr & SIWT else UNCACHED
    return WRITE_THROUGH if kind == WRITE_BACK and cacr & FORCEWT else kind


def kinds(base: int, lines: int, control: int, regions: Sequence[tuple[int, int]], cacr: int) -> np.ndarray:
    """Return how the data cache treats a memory, uint8[lines].

    Args:
        base: address of the memory; it lies inside one 512 MB of the default map.
        lines: its size in lines.
        control: MPU_CTRL; 0 if the MPU does not act.
        regions: RBAR without its region number, and RASR, of each region; the last that matches holds (B3.5.3).
        cacr: CACR.
    """
    default = _DEFAULT[base >> 29]
    if default == WRITE_BACK and cacr & FORCEWT:
        default = WRITE_THROUGH
    acts = bool(control & ENABLE)
    found = np.full(lines, UNCACHED if acts and not control & PRIVDEFENA else default, np.uint8)
    for rbar, rasr in regions if acts else ():
        if rasr & 1:
            _apply(found, base, rbar, rasr, kind_of(rasr, cacr))
    return found


def _apply(found: np.ndarray, base: int, rbar: int, rasr: int, kind: int) -> None:
    """Let a region hold in its lines, but in its disabled subregions (B3.5.3)."""
    size = 2 << (rasr >> 1 & 0x1F)
    start = rbar & -size
    parts = 8 if size >= _SMALLEST_WITH_SUBREGIONS and rasr >> 8 & 0xFF else 1
    for part in range(parts):
        if parts == 8 and rasr >> 8 + part & 1:
            continue
        first, end = start + part * size // parts - base, start + (part + 1) * size // parts - base
        # A subregion of 32 bytes or more has whole lines.
        found[max(first, 0) // LINE : max(end, 0) // LINE] = kind
