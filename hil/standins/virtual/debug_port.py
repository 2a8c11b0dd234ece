"""Registers of a debug port, and its access ports (ARM IHI 0031, B2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyocd.core import exceptions

from hil.standins.virtual.access_port import AccessPort, MemoryPort

_POWER_REQUESTS = 0x50000000  # CSYSPWRUPREQ, CDBGPWRUPREQ
_DEBUG_POWER = 0x10000000  # CDBGPWRUPREQ


@dataclass(frozen=True)
class PortId:
    """Identification registers of a debug port.

    Attributes:
        dpidr: DPIDR.
        target: TARGETID if several ports share a wire; bits 31:28 are the instance, which DLPIDR repeats.
    """

    dpidr: int
    target: int | None = None


class DebugPort:
    """A debug port and its access ports, as registers.

    An access port answers only while the debug port requests power (CTRL/STAT.CDBGPWRUPREQ; ARM IHI 0031, B2.2.2).

    Args:
        identity: identification registers.
        ports: access ports by their number; the IDR of any other reads as 0.

    Attributes:
        on_power: called with whether the debug port requests power, when that changes.
    """

    def __init__(self, identity: PortId, ports: Mapping[int, AccessPort]) -> None:
        self.identity = identity
        self.ports = dict(ports)
        self.on_power: Callable[[bool], None] = lambda requested: None
        self._select = self._control = self._buffer = 0

    def line_reset(self) -> None:
        """Clear SELECT after a line reset or a protocol switch."""
        self._select = 0

    def read_dp(self, address: int) -> int:
        bank = self._select & 0xF
        if address == 0x0:
            return self.identity.dpidr
        if address == 0x4:
            target = self.identity.target or 0
            return {0: self._control_status(), 2: target, 3: target & 0xF0000000 | 1}.get(bank, 0)
        return self._buffer if address == 0xC else 0

    def _control_status(self) -> int:
        acknowledged = self._control >> 1 & 1 << 29 | self._control << 1 & 1 << 31 | self._control << 1 & 1 << 29
        return self._control & 0x54000F22 | acknowledged & 0xA0000000

    def write_dp(self, address: int, data: int) -> None:
        if address == 0x4 and self._select & 0xF == 0:
            before, self._control = self._control, data
            if bool(before & _POWER_REQUESTS) != bool(data & _POWER_REQUESTS):
                self.on_power(bool(data & _POWER_REQUESTS))
        elif address == 0x8:
            self._select = data

    def _selected(self, address: int) -> tuple[AccessPort | None, int]:
        """Return the selected access port, and the register in it; raise TransferFaultError without power."""
        if not self._control & _DEBUG_POWER:
            raise exceptions.TransferFaultError("the debug port has not requested power (CTRL/STAT.CDBGPWRUPREQ)")
        return self._place(address)

    def _place(self, address: int) -> tuple[AccessPort | None, int]:
        """Return the access port that SELECT names, and the register in it."""
        return self.ports.get(self._select >> 24), self._select & 0xF0 | address & 0xC

    def read_ap(self, address: int) -> int:
        port, register = self._selected(address)
        self._buffer = 0 if port is None else port.read(register)
        return self._buffer

    def write_ap(self, address: int, data: int) -> None:
        port, register = self._selected(address)
        if port is not None:
            port.write(register, data)

    def read_ap_multiple(self, address: int, count: int) -> list[int]:
        port, register = self._selected(address)
        if isinstance(port, MemoryPort):
            return port.read_multiple(register, count)
        return [self.read_ap(address) for _ in range(count)]

    def write_ap_multiple(self, address: int, values: Sequence[int]) -> None:
        port, register = self._selected(address)
        if isinstance(port, MemoryPort):
            port.write_multiple(register, values)
            return
        for value in values:
            self.write_ap(address, value)
