"""A debug port of ADIv6 with its access ports, which lie at addresses (ARM IHI 0074E, B2.2, C1.1 and C2.6)."""

from __future__ import annotations

from collections.abc import Mapping

from hil.standins.virtual.access_port import AccessPort, MemoryPort
from hil.standins.virtual.chip.debug import component_ids
from hil.standins.virtual.chip_memory import ChipMemory
from hil.standins.virtual.debug_port import DebugPort, PortId

PAGE = 0x1000
_CONTROL, _CONTROL_END = 0xD00, 0xE00  # the registers of ADIv5's memory access port, 0xD00 further
_ARM_PRESENT = 0x477 << 20 | 1 << 20  # DEVARCH
_MEM_AP, _ROM_TABLE = 0x0A17, 0x0AF7
_BASE_VALID = 1


class MemoryPortV6(MemoryPort):
    """A memory access port with the identification registers of a CoreSight component.

    Args:
        memory: what it accesses.
        idr: IDR.
        rom_table: BASE.
        part: number of the part.
    """

    def __init__(self, memory: ChipMemory, idr: int, rom_table: int, part: int) -> None:
        super().__init__(memory, idr, rom_table)
        self._ids = component_ids(part, 0x9, _ARM_PRESENT | _MEM_AP)

    def read(self, register: int) -> int:
        if _CONTROL <= register < _CONTROL_END:
            return super().read(register - _CONTROL)
        return self._ids.get(register, 0)

    def write(self, register: int, value: int) -> None:
        if _CONTROL <= register < _CONTROL_END:
            super().write(register - _CONTROL, value)

    def _words(self, register: int, count: int) -> int:
        return super()._words(register - _CONTROL, count)


class PortTable:
    """The ROM table at the debug port's base address, which lists the access ports (access_port.AccessPort).

    Args:
        places: addresses of the access ports.
        part: number of the part.
    """

    def __init__(self, places: tuple[int, ...], part: int) -> None:
        self._words = component_ids(part, 0x9, _ARM_PRESENT | _ROM_TABLE)
        self._words |= {4 * i: place | 3 for i, place in enumerate(places)}

    def read(self, register: int) -> int:
        return self._words.get(register, 0)

    def write(self, register: int, value: int) -> None:
        """Do nothing: the table is read only."""


class DebugPortV6(DebugPort):
    """A debug port of version 3.

    Args:
        identity: identification registers.
        address_bits: width of the addresses of access ports.
        ports: access ports by their address; the table that lists them is at 0. Other addresses read as 0.
    """

    def __init__(self, identity: PortId, address_bits: int, ports: Mapping[int, AccessPort]) -> None:
        super().__init__(identity, ports)
        self._address_bits = address_bits

    def read_dp(self, address: int) -> int:
        if address == 0x0:
            banks = (self.identity.dpidr, self._address_bits, _BASE_VALID, 0)  # DPIDR, DPIDR1, BASEPTR0, BASEPTR1
            bank = self._select & 0xF
            return banks[bank] if bank < len(banks) else 0
        return super().read_dp(address)

    def _place(self, address: int) -> tuple[AccessPort | None, int]:
        place = self._select & ~0xF | address & 0xC
        return self.ports.get(place & -PAGE), place & PAGE - 1
