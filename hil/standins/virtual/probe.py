"""A debug probe for pyOCD, connected to the emulated chip.

Sources: ARM IHI 0031 (ADIv5), pyOCD's `DebugProbe` interface.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from pyocd.core.memory_interface import MemoryInterface
from pyocd.probe.debug_probe import DebugProbe

from hil.standins.virtual.access_port import MemoryPort
from hil.standins.virtual.debug_port import DebugPort
from hil.standins.virtual.runner import ChipRunner
from hil.standins.virtual.wire import SwdWire


class VirtualProbe(DebugProbe):  # type: ignore[misc]  # pyOCD comes without types
    """A debug probe of pyOCD, connected to the emulated chip.

    Args:
        runner: runs the chip.
        unique_id: serial number that the probe reports.
        ports: debug ports of the chip.
        reset_line: whether the reset output of the probe is wired to the chip; if not, asserting it does nothing.
    """

    def __init__(self, runner: ChipRunner, unique_id: str, ports: Sequence[DebugPort], reset_line: bool) -> None:
        super().__init__()
        self._runner = runner
        self._id = unique_id
        self._wire = SwdWire(ports, lambda: runner.dead)
        self._reset_line = reset_line
        self._open = False
        self._protocol: DebugProbe.Protocol | None = None
        self._reset = False

    vendor_name = property(lambda self: "trainrig")
    product_name = property(lambda self: "virtual probe")
    unique_id = property(lambda self: self._id)
    wire_protocol = property(lambda self: self._protocol)
    is_open = property(lambda self: self._open)
    capabilities = property(lambda self: {self.Capability.SWJ_SEQUENCE, self.Capability.SWD_SEQUENCE,
                                          self.Capability.BANKED_DP_REGISTERS,
                                          self.Capability.APv2_ADDRESSES})  # fmt: skip

    @property
    def supported_wire_protocols(self) -> Collection[DebugProbe.Protocol]:
        return [DebugProbe.Protocol.DEFAULT, DebugProbe.Protocol.SWD]

    def open(self) -> None:
        self._open = True

    def close(self) -> None:
        self._open = False

    def connect(self, protocol: DebugProbe.Protocol | None = None) -> None:
        self._protocol = DebugProbe.Protocol.SWD

    def disconnect(self) -> None:
        self._protocol = None

    def swj_sequence(self, length: int, bits: int) -> None:
        self._wire.sequence(length, bits)

    def swd_sequence(self, sequences: Sequence[Sequence[int]]) -> tuple[int, list[list[int]]]:
        # Lists of integers, not bytes: the probe server sends the answer as JSON.
        return self._wire.packets(sequences)

    def set_clock(self, frequency: float) -> None:
        """Do nothing: the virtual wire has no speed."""

    def reset(self) -> None:
        self.assert_reset(True)
        self.assert_reset(False)

    def assert_reset(self, asserted: bool) -> None:
        self._reset = bool(asserted)
        if self._reset_line:
            with self._runner.paused() as machine:
                machine.hold_reset(self._reset)

    def is_reset_asserted(self) -> bool:
        return self._reset

    def read_dp(self, addr: int, now: bool = True) -> int | Callable[[], int]:
        value = self._wire.port.read_dp(addr)
        return value if now else lambda: value

    def write_dp(self, addr: int, data: int) -> None:
        self._wire.port.write_dp(addr, data)

    def read_ap(self, addr: int, now: bool = True) -> int | Callable[[], int]:
        value = self._wire.port.read_ap(addr)
        return value if now else lambda: value

    def write_ap(self, addr: int, data: int) -> None:
        self._wire.port.write_ap(addr, data)

    def read_ap_multiple(self, addr: int, count: int = 1, now: bool = True) -> list[int] | Callable[[], list[int]]:
        values = self._wire.port.read_ap_multiple(addr, count)
        return values if now else lambda: values

    def write_ap_multiple(self, addr: int, values: Sequence[int]) -> None:
        self._wire.port.write_ap_multiple(addr, values)

    def get_memory_interface_for_ap(self, ap_address: object) -> MemoryInterface | None:
        """Return the memory of access port 0, for block transfers instead of word accesses through DRW.

        Not of a core with a data cache: over the network, block transfers of pyOCD (0.46) do not carry CSW, which says
        whether an access looks into the cache.
        """
        port = self._wire.port.ports.get(0)
        if not isinstance(port, MemoryPort) or getattr(ap_address, "apsel", None) != 0 or port.memory.is_cached:
            return None
        return port.memory
