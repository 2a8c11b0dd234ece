"""Start the built-in virtual board as a process of its own."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import Image
from hil.standins.process import StandIn

NEEDS = ("unicorn", "numba")


def start_virtual(
    board: Board, image: Image, log: Path, inject: tuple[str, ...] = (), meter: str | None = None
) -> StandIn:
    """Start `hil bench-server` for a board and return it with its endpoints.

    Args:
        board: catalogue entry.
        image: only for the names of symbols in messages about faults; the virtual board flashes nothing by itself.
        log: file for its log.
        inject: faults to inject in the project's own fault tests (`--inject` of `hil bench-server`).
        meter: its power meter, by the key of the data sheet (`--meter` of `hil bench-server`, which has a default).

    Raises:
        Blocked: the extra `virtual` is not installed, or the process did not come up.
    """
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise Blocked(
            "bench",
            f"the virtual board needs {' and '.join(missing)}: pip install 'trainrig[virtual]', "
            "or attach the board and name it in rig.toml.",
        )
    command = [
        sys.executable,
        "-m",
        "hil.standins.virtual",
        "--board",
        board.name,
        "--elf",
        str(image.path),
        "--leashed",
    ]
    for fault in inject:
        command += ["--inject", fault]
    if meter is not None:
        command += ["--meter", meter]
    return StandIn(command, _announced, log, f"virtual {board.name}")


def _announced(line: str) -> Endpoints | None:
    said = json.loads(line)
    return Endpoints(
        said["board"], said["reality"], said["probe"], said["serial"], said["meter"], meter_model=said["meter_model"]
    )


def chip_fault(stand_in: StandIn) -> str | None:
    """Return the first fault that the virtual chip has reported, as one sentence, or None."""
    for line in stand_in.lines():
        if line.startswith("{"):
            fault = json.loads(line).get("fault")
            if fault:
                return str(fault["message"])
    return None
