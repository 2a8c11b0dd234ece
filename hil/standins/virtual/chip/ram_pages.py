"""Which pages of RAM hold code, for fast stores to all others (`page_hook`)."""

from __future__ import annotations

import ctypes

import numpy as np
import unicorn
from unicorn.unicorn_py3.unicorn import uclib

from hil.standins.virtual.chip import page_hook
from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.page_hook import PAGE_BITS, PageSlot


class RamPages:
    """The pages of the memories that the core may change.

    Args:
        uc: Unicorn engine, before its first run.
        rams: these memories.
        limit: address of `Slot.LIMIT`.
    """

    def __init__(self, uc: unicorn.Uc, rams: tuple[PhysicalMemory, ...], limit: int) -> None:
        self._uc = uc
        self._has_code = np.zeros(sum(ram.size for ram in rams) >> PAGE_BITS, np.uint8)
        register_write = ctypes.cast(uclib.uc_reg_write, ctypes.c_void_p).value or 0
        slots, index = [], 0
        for ram in rams:
            slots.append((ram.base, ram.base + ram.size, index))
            index += ram.size >> PAGE_BITS
        words = page_hook.initial_state(limit, self._has_code.ctypes.data, register_write, slots)
        self._state = np.array(words, np.int64)
        uc.ctl_set_tlb_mode(unicorn.UC_TLB_VIRTUAL)  # type: ignore[attr-defined] # made at run time
        handle = ctypes.c_size_t()
        uclib.uc_hook_add(
            uc._uch, ctypes.byref(handle), unicorn.UC_HOOK_TLB_FILL, ctypes.c_void_p(page_hook.address),
            ctypes.c_void_p(self._state.ctypes.data), ctypes.c_uint64(1), ctypes.c_uint64(0),
        )  # fmt: skip

    @property
    def new_code(self) -> bool:
        """Whether the core has fetched from a page for the first time, so that `forget_rights` is due."""
        return bool(self._state[PageSlot.NEW_CODE])

    def forget_rights(self) -> None:
        """Let Unicorn ask again for the rights of every page, between two runs."""
        self._state[PageSlot.NEW_CODE] = 0
        self._uc.ctl(unicorn.UC_CTL_TLB_FLUSH, unicorn.UC_CTL_IO_WRITE)

    def forget_code(self) -> None:
        """No page holds translated code any more."""
        self._has_code[:] = 0
        self.forget_rights()
