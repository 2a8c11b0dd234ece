"""System control of Cortex-M7 that its data cache and MPU need (ARM DDI 0489; ARM DDI 0403E.e, B2.2.7, B3.2, B3.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hil.standins.virtual.chip.count import SETS_FAULTMASK, Slot
from hil.standins.virtual.chip.data_cache import LINE, CachedMemory, CacheShape, DataCache
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.memory_attributes import ENABLE, HFNMIENA, NOT_ATTRIBUTES, kinds
from hil.standins.virtual.chip.scb import SystemControlBlock

if TYPE_CHECKING:
    from hil.standins.virtual.chip.machine import Machine

DC, IC = 1 << 16, 1 << 17  # CCR
# Maintenance registers: whether they clean, and whether they invalidate.
_BY_ADDRESS = {"DCIMVAC": (False, True), "DCCMVAU": (True, False), "DCCMVAC": (True, False), "DCCIMVAC": (True, True)}
_BY_SET = {"DCISW": (False, True), "DCCSW": (True, False), "DCCISW": (True, True)}


@dataclass(frozen=True)
class M7Features:
    """What a chip has of the options of Cortex-M7.

    Attributes:
        cpuid: CPUID.
        data_cache, instruction_cache: CCSIDR values.
        mpu_regions: number of regions of the MPU.
        tcms: (base, size) of the tightly coupled memories, which never go through the data cache.
        fixed: reset values of further registers by name.
    """

    cpuid: int
    data_cache: int
    instruction_cache: int
    mpu_regions: int
    tcms: tuple[tuple[int, int], ...]
    fixed: Mapping[str, int] = field(default_factory=dict)


class SystemControlBlockM7(SystemControlBlock):
    """SCB, MPU and FPU registers, with a data cache whose lines have the attributes that these registers give them.

    While the execution priority is negative (NMI, HardFault, FAULTMASK), the MPU acts only with MPU_CTRL.HFNMIENA;
    otherwise the default memory map holds (B3.5.4). The MPU's access permissions are stored but not enforced.

    Args:
        machine: machine with this core.
        features: what the chip has of the core's options.
    """

    def __init__(self, machine: Machine, features: M7Features) -> None:
        self._machine = machine
        self._tcms = features.tcms
        core = machine.core
        behind = [
            CachedMemory(m.base, core.bytes[m.name], m.writable)
            for m in core.memories
            if not m.alias and not any(base <= m.base and m.base + m.size <= base + size for base, size in self._tcms)
        ]
        core.cache = self.cache = DataCache(behind, CacheShape.from_ccsidr(features.data_cache), machine.hazards.report)
        self._instructions_invalidated = False
        super().__init__(
            machine, features.cpuid, features.data_cache, features.instruction_cache, features.mpu_regions,
            dict(features.fixed),
        )  # fmt: skip
        for name, (clean, invalidate) in _BY_ADDRESS.items():
            self._writers[name] = lambda _old, _new, at, c=clean, i=invalidate: self._maintain(at, c, i)
        for name, (clean, invalidate) in _BY_SET.items():
            self._writers[name] = lambda _old, _new, at, c=clean, i=invalidate: self.cache.by_set(at, c, i)

    def reset(self) -> None:
        super().reset()
        self.cache.begin()
        self._instructions_invalidated = False
        self._attributes_changed()

    def power_on(self) -> None:
        """Power-on reset: the cache holds nothing that any memory had."""
        for memory in self.cache.memories:
            memory.forget()

    # attributes

    def _kinds(self, memory: CachedMemory, control: int) -> np.ndarray:
        if not self.value["CCR"] & DC:
            return np.zeros_like(memory.kinds)
        found = kinds(memory.base, memory.kinds.size, control, self._regions, self.value["CACR"])
        for base, size in self._tcms:
            found[max(base - memory.base, 0) // LINE : max(base + size - memory.base, 0) // LINE] = 0
        return found

    def _attributes_changed(self) -> None:
        control = self.value["MPU_CTRL"]
        self._usual = [self._kinds(memory, control) for memory in self.cache.memories]
        self._unprotected = self._usual
        if control & ENABLE and not control & HFNMIENA:
            self._unprotected = [self._kinds(memory, 0) for memory in self.cache.memories]
        same = all(np.array_equal(a, b) for a, b in zip(self._usual, self._unprotected, strict=True))
        self._machine.core.always_watched = 0 if same else SETS_FAULTMASK
        self._machine.core.state[Slot.WATCH] |= self._machine.core.always_watched
        self._negative = not same and self._machine.exceptions.priority() < 0
        self._show()

    def priority_changed(self) -> None:
        """Let the attributes hold that the present execution priority gives, before the core runs."""
        if self._machine.core.always_watched:
            negative = self._machine.exceptions.priority() < 0
            if negative != self._negative:
                self._negative = negative
                self._show()

    def _show(self) -> None:
        changed = False
        for memory, new in zip(
            self.cache.memories, self._unprotected if self._negative else self._usual, strict=True
        ):  # fmt: skip
            changed |= memory.change(new)
        if changed:
            self._machine.core.code_changed()

    # registers

    def _maintain(self, address: int, clean: bool, invalidate: bool) -> None:
        self.cache.by_address(address, clean, invalidate)

    def write_iciallu(self, _old: int, _new: int, _acting: int) -> None:
        self._instructions_invalidated = True

    def write_ccr(self, old: int, new: int, _acting: int) -> None:
        if new & ~old & DC and not self.cache.invalidated:
            raise ModelFault(
                "SCB_CCR.DC is set before every set and way of the data cache was invalidated since the reset: its "
                "lines are undefined; write SCB_DCISW first (ARM DDI 0489, L1 caches)"
            )
        if new & ~old & IC and not self._instructions_invalidated:
            raise ModelFault(
                "SCB_CCR.IC is set before the instruction cache was invalidated since the reset: its lines are "
                "undefined; write SCB_ICIALLU first (ARM DDI 0489, L1 caches)"
            )
        self.value["CCR"] = new
        if (old ^ new) & DC:
            self._attributes_changed()

    def write_cacr(self, _old: int, new: int, _acting: int) -> None:
        self.value["CACR"] = new
        self._attributes_changed()

    def write_mpu_ctrl(self, _old: int, new: int, _acting: int) -> None:
        self.value["MPU_CTRL"] = new
        self._attributes_changed()

    def write_mpu_rbar(self, old: int, new: int, acting: int) -> None:
        super().write_mpu_rbar(old, new, acting)
        self._region_changed(0)

    def write_mpu_rasr(self, old: int, new: int, acting: int) -> None:
        before = self._regions[self.value["MPU_RNR"]][1]
        super().write_mpu_rasr(old, new, acting)
        self._region_changed(NOT_ATTRIBUTES if (before ^ new) & ~NOT_ATTRIBUTES == 0 else 0)

    def _region_changed(self, unimportant: int) -> None:
        if self.value["MPU_CTRL"] & ENABLE and not unimportant:
            self._attributes_changed()
