"""The cycle counter of a core with a DWT, as a debug probe sees it (ARM DDI 0403E.e, C1.6.5, C1.8.7 and C1.8.8)."""

from __future__ import annotations

from collections.abc import Callable

DEMCR, TRCENA, DWT_CTRL, CYCCNTENA, DWT_CYCCNT = 0xE000EDFC, 1 << 24, 0xE0001000, 1, 0xE0001004
DWT_LAR, UNLOCK = 0xE0001FB0, 0xC5ACCE55  # lock access of a Cortex-M7 (ARM DDI 0489F, CoreSight components)


def counts(word: Callable[[int], int]) -> bool:
    """Return whether the counter is on; `word` reads 32 bits. Without TRCENA the registers of the DWT say nothing."""
    return bool(word(DEMCR) & TRCENA and word(DWT_CTRL) & CYCCNTENA)
