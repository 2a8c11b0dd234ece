"""The SWD wire: who answers after which sequence."""

from __future__ import annotations

import pytest
from pyocd.core import exceptions
from pyocd.probe.swj import SWJSequenceSender

from hil.standins.virtual.debug_port import DebugPort, PortId
from hil.standins.virtual.wire import SwdWire

CORE_0, CORE_1 = 0x01002927, 0x11002927


class _Probe:
    """Hands pyOCD's own sequences to a wire."""

    def __init__(self, wire: SwdWire) -> None:
        self.swj_sequence = wire.sequence


def shared() -> tuple[SwdWire, SWJSequenceSender]:
    wire = SwdWire([DebugPort(PortId(0x0BC12477, target), {}) for target in (CORE_0, CORE_1)])
    return wire, SWJSequenceSender(_Probe(wire), True)


def select(wire: SwdWire, target: int, wrong_parity: bool = False) -> None:
    parity = bin(target).count("1") & 1 ^ wrong_parity
    wire.packets([(8, 0x99), (5,), (33, target | parity << 32), (2, 0)])


def test_several_ports_start_dormant_and_are_selected_one_at_a_time() -> None:
    wire, sender = shared()
    with pytest.raises(exceptions.TransferError, match="dormant"):
        _ = wire.port
    select(wire, CORE_0)
    with pytest.raises(exceptions.TransferError, match="dormant"):
        _ = wire.port
    sender.dormant_to_swd()
    with pytest.raises(exceptions.TransferError, match="TARGETSEL"):
        _ = wire.port
    for target, dlpidr in ((CORE_0, 0x00000001), (CORE_1, 0x10000001)):
        sender.line_reset()
        select(wire, target)
        assert wire.port.read_dp(0) == 0x0BC12477
        wire.port.write_dp(8, 2)
        assert wire.port.read_dp(4) == target
        wire.port.write_dp(8, 3)
        assert wire.port.read_dp(4) == dlpidr


@pytest.mark.parametrize("wrong", ["target", "parity", "line reset", "dormant"])
def test_nobody_answers(wrong: str) -> None:
    wire, sender = shared()
    sender.dormant_to_swd()
    select(wire, 0xF1002927 if wrong == "target" else CORE_0, wrong_parity=wrong == "parity")
    if wrong == "line reset":
        sender.line_reset()
    if wrong == "dormant":
        sender.swd_to_dormant()
    with pytest.raises(exceptions.TransferError):
        _ = wire.port


def test_a_single_port_always_answers() -> None:
    wire = SwdWire([DebugPort(PortId(0x6BA02477), {})])
    SWJSequenceSender(_Probe(wire), False).switch_to_swd()
    assert wire.port.read_dp(0) == 0x6BA02477
