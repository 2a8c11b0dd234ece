"""A probe that is let go before energy is measured: what it leaves in the chip, and how it comes back."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from pyocd.coresight import dap
from pyocd.coresight.cortex_m import CortexM

from hil import boards
from hil.endpoints import Endpoints
from hil.targets import connect_options
from hil.targets.probe import Probe
from hil.targets.probe_process import ProbeProcess
from hil.targets.pyocd_session import ERRORS, PyocdSession
from hil.targets.session_delegate import ACKNOWLEDGED, REQUESTS, powered_down

VirtualEndpoints = Callable[[str], Endpoints]
WITH_PROBE = [name for name in boards.names() if "pyocd" in boards.load(name).routes]


class OnTheWire:
    """Speaks pyOCD's protocol of remote probes, below its sessions: it switches no power on to look."""

    def __init__(self, unique_id: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", int(unique_id.rpartition(":")[2])), 10.0)
        self._said = self._socket.makefile("rb")
        self.ask("hello", 1)

    def ask(self, request: str, *arguments: int) -> Any:
        self._socket.sendall(json.dumps({"id": 0, "request": request, "arguments": arguments}).encode() + b"\n")
        answer = json.loads(self._said.readline())
        assert answer["status"] == 0, answer
        return answer.get("result")

    def control_status(self) -> int:
        self.ask("write_dp", dap.DP_SELECT, 0)
        return int(self.ask("read_dp", dap.DP_CTRL_STAT))

    def close(self) -> None:
        self._said.close()
        self._socket.close()


def control_status(unique_id: str) -> int:
    wire = OnTheWire(unique_id)
    try:
        return wire.control_status()
    finally:
        wire.close()


@pytest.mark.parametrize("name", WITH_PROBE)
def test_a_debug_port_that_is_let_go_keeps_no_power(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess, name: str
) -> None:
    unique_id = str(virtual_endpoints(name).probe)
    probe = Probe(boards.load(name), unique_id, process=process)
    try:
        assert control_status(unique_id) & REQUESTS == REQUESTS  # so the test sees what it is about
        assert probe.detach()
        assert not control_status(unique_id) & (REQUESTS | ACKNOWLEDGED)
        probe.attach()
        assert control_status(unique_id) & REQUESTS == REQUESTS
    finally:
        probe.close()
    assert not control_status(unique_id) & (REQUESTS | ACKNOWLEDGED)


def test_power_goes_after_the_last_access_to_memory_and_system_power_first(virtual_endpoints: VirtualEndpoints) -> None:
    board = boards.load("stm32h7b3")
    session = PyocdSession()
    session.connect(str(virtual_endpoints(board.name).probe), board.pyocd_target, connect_options.options(board))
    link, seen = session._session.probe, []
    for name in ("write_dp", "write_ap", "read_ap", "get_memory_interface_for_ap"):
        made = getattr(link, name)

        def noted(address: Any, *more: Any, name: str = name, made: Any = made, **named: Any) -> Any:
            seen.append((name, address, *more))
            return made(address, *more, **named)

        setattr(link, name, noted)
    memory = session._target.selected_core_or_raise.ap
    write_memory = memory.write_memory
    memory.write_memory = lambda at, value, bits=32: (seen.append(("memory", at, value)), write_memory(at, value, bits))
    assert session.rest()
    powers = [at for at, each in enumerate(seen) if each[:2] == ("write_dp", dap.DP_CTRL_STAT)]
    assert powers == list(range(len(seen) - len(powers), len(seen)))  # nothing else after the first
    assert [seen[at][2] & REQUESTS for at in powers] == [dap.CDBGPWRUPREQ, 0]
    written = {address: value for kind, address, *value in seen if kind == "memory"}
    assert written[CortexM.DHCSR] == [CortexM.DBGKEY]
    assert list(written)[-1] == 0x5C00_1004  # DBG_SLEEP is the last: a core that sleeps then answers no access


class NoAcknowledgement:
    """A debug port whose chip keeps the power that it gave."""

    def __init__(self, keeps: int) -> None:
        self.control, self._keeps = REQUESTS, keeps

    def power_down_debug(self) -> bool:
        return False  # as pyOCD after its deadline, before it withdraws the second request

    def write_reg(self, address: int, value: int) -> None:
        assert address == dap.DP_CTRL_STAT
        self.control = value

    def read_reg(self, address: int) -> int:
        return self.control | self._keeps


@pytest.mark.parametrize(("keeps", "off"), [(dap.CSYSPWRUPACK, False), (ACKNOWLEDGED, False), (0, True)])
def test_a_chip_that_keeps_the_power_is_told_from_one_that_is_slow(keeps: int, off: bool) -> None:
    port = NoAcknowledgement(keeps)
    assert powered_down(port) is off and not port.control & REQUESTS


def test_a_connection_that_fails_leaves_no_power_on(virtual_endpoints: VirtualEndpoints) -> None:
    unique_id, board, session = str(virtual_endpoints("stm32h7b3").probe), boards.load("nrf52840"), PyocdSession()
    with pytest.raises(ERRORS):
        session.connect(unique_id, board.pyocd_target, connect_options.options(board))
    assert not control_status(unique_id) & (REQUESTS | ACKNOWLEDGED)
