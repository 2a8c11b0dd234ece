"""Power-cycle a board and wait until its devices are back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from hil.boards import Board
from hil.endpoints import Endpoints, Power, SupplyOutput
from hil.errors import Blocked
from hil.rig.locks import Locks
from hil.steady_clock import steady_s
from hil.targets.power import cycle, open_power
from hil.targets.probe_process import Failed, ProbeEnded, ProbeProcess, TimedOut
from hil.targets.serial_port import come_back

BACK_WITHIN_S = 15.0  # for USB devices to enumerate
LOOK_S = 10.0  # for listing the attached probes once
SHARED_WITHIN_S = 60.0  # for another session that switches another output of the same supply
POLL_S = 0.5
REMOTE = "remote:"  # a remote probe does not enumerate on this computer


def power_cycle(board: Board, endpoints: Endpoints, process: ProbeProcess) -> str:
    """Switch the power of a board off and on, and wait until its probe and its serial port are back.

    The caller must have closed both. Returns what was switched, for messages.

    Raises:
        Blocked: rig.toml names no switch, the power cannot be switched, or a device did not come back.
    """
    if endpoints.power is None:
        raise Blocked(
            "power",
            f"rig.toml names no power switch for {board.name}: add `power` to its table, or switch its power by hand.",
        )
    with _supply_locked(board, endpoints.power), open_power(endpoints.power) as switch:
        cycle(switch)
        name = switch.name
    if endpoints.probe is not None and not endpoints.probe.startswith(REMOTE):
        _await_probe(endpoints.probe, process)
    come_back(endpoints, board.baud, "its power was switched", BACK_WITHIN_S).close()
    return name


@contextlib.contextmanager
def _supply_locked(board: Board, power: Power) -> Iterator[None]:
    """Lock a supply against other sessions, because an output is selected and then switched in two steps."""
    locks = Locks(SHARED_WITHIN_S)
    locks.hold(board.name, [power.supply] if isinstance(power, SupplyOutput) else [])
    try:
        yield
    finally:
        locks.release()


def _await_probe(unique_id: str, process: ProbeProcess) -> None:
    until = steady_s() + BACK_WITHIN_S
    while not _attached(unique_id, process):
        if steady_s() > until:
            raise Blocked(
                "power",
                f"the probe {unique_id} did not come back within {BACK_WITHIN_S:.0f} s after its power was switched: "
                "unplug it and plug it in again.",
            )
        time.sleep(POLL_S)


def _attached(unique_id: str, process: ProbeProcess) -> bool:
    try:
        return bool(process.ask(LOOK_S, "attached", unique_id))
    except (TimedOut, ProbeEnded, Failed):  # a device that is enumerating; the next attempt uses a new process
        return False
