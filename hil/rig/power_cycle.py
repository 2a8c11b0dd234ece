"""Switch a board's power off and on, and wait for its devices to come back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from hil.boards import Board
from hil.endpoints import Endpoints, Power, SupplyOutput
from hil.errors import Blocked
from hil.rig.locks import Locks
from hil.targets.power import cycle, open_power
from hil.targets.probe_process import Ended, Failed, ProbeProcess, TimedOut
from hil.targets.serial_port import come_back

BACK_WITHIN_S = 15.0  # for USB devices to enumerate
LOOK_S = 10.0  # for one look at what is attached
SHARED_WITHIN_S = 60.0  # for another session to be done with another output of the same supply
POLL_S = 0.5
REMOTE = "remote:"  # a probe that another program offers does not enumerate here


def power_cycle(board: Board, endpoints: Endpoints, process: ProbeProcess) -> str:
    """Switch the power of a board off and on, and return when its probe and its port are there again. Its port and its probe must be let go of before.

    Args:
        board: catalogue entry.
        endpoints: what the bench has of it, with `power`.
        process: looks for the probe.

    Returns:
        What was switched, for a sentence.

    Raises:
        Blocked: rig.toml names nothing, it cannot be switched, or a device did not come back.
    """
    if endpoints.power is None:
        raise Blocked(
            "power", f"rig.toml names nothing that feeds {board.name}: add `power` to its table, or switch it by hand."
        )
    with _alone(board, endpoints.power), open_power(endpoints.power) as switch:
        cycle(switch)
        name = switch.name
    if endpoints.probe is not None and not endpoints.probe.startswith(REMOTE):
        _await_probe(endpoints.probe, process)
    come_back(endpoints, board.baud, "its power was switched", BACK_WITHIN_S).close()
    return name


@contextlib.contextmanager
def _alone(board: Board, power: Power) -> Iterator[None]:
    """Keep other sessions from the same supply meanwhile: an output is selected first and switched then."""
    locks = Locks(SHARED_WITHIN_S)
    locks.hold(board.name, [power.supply] if isinstance(power, SupplyOutput) else [])
    try:
        yield
    finally:
        locks.release()


def _await_probe(unique_id: str, process: ProbeProcess) -> None:
    until = time.monotonic() + BACK_WITHIN_S
    while not _attached(unique_id, process):
        if time.monotonic() > until:
            raise Blocked(
                "power",
                f"the probe {unique_id} has not come back within {BACK_WITHIN_S:.0f} s after its power was switched: plug it out and in.",
            )
        time.sleep(POLL_S)


def _attached(unique_id: str, process: ProbeProcess) -> bool:
    try:
        return bool(process.ask(LOOK_S, "attached", unique_id))
    except (TimedOut, Ended, Failed):  # a device in the middle of enumerating: the next look is by a new process
        return False
