"""Start the virtual board in a process of its own."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from hil.boards import Board, load
from hil.child_process import module_command
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import Image
from hil.images.stack_area import overflow_of
from hil.standins.kinds import StandInKind
from hil.standins.process import StandIn

NEEDS = ("unicorn", "llvmlite")


class VirtualBoardProcess(StandIn):
    """A virtual board. Arguments: the image whose symbols it knows, and those of `StandIn`."""

    ends_with_parent = True

    def __init__(self, image: Image, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._known = image.path

    def chip_fault(self, image: Image) -> str | None:
        """Return the first fault that the virtual chip reported, as one sentence, or None."""
        for line in self.lines():
            if line.startswith("{"):
                fault = json.loads(line).get("fault")
                if fault:
                    board, sp = load(self.endpoints.board), int(fault["sp"], 16)
                    overflow = overflow_of(image, board, sp, main=fault["main_stack"])
                    return f"{fault['message'].removesuffix('.')}{overflow}."
        return None

    def serves(self, board: Board, image: Image) -> bool:
        """Return whether it is this board, with the symbols of this image; it keeps its flash."""
        self.alive()
        return (self.endpoints.board, self._known) == (board.name, image.path)


def start_virtual(
    board: Board, image: Image, log: Path, inject: tuple[str, ...] = (), meter: str | None = None
) -> StandIn:
    """Start `hil bench-server` for a board and return it with its endpoints.

    Args:
        board: catalogue entry.
        image: gives the names of symbols in fault messages; it is not flashed.
        log: file for the log of the virtual board.
        inject: faults to inject, for the project's own tests (`--inject` of `hil bench-server`).
        meter: power meter, as the key of its data sheet (`--meter` of `hil bench-server`); None for the default.

    Raises:
        Blocked: the extra `virtual` is not installed, or the process did not start.
    """
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise Blocked(
            "bench",
            f"the virtual board needs {' and '.join(missing)}: pip install 'trainrig[virtual]', "
            "or attach the board and name it in rig.toml.",
        )
    command = module_command("hil.standins.virtual", "--board", board.name, "--elf", str(image.path), "--leashed")
    for fault in inject:
        command += ["--inject", fault]
    if meter is not None:
        command += ["--meter", meter]
    return VirtualBoardProcess(image, command, _announced, log, f"virtual {board.name}")


def _announced(line: str) -> Endpoints | None:
    announcement = json.loads(line)
    return Endpoints(
        announcement["board"],
        announcement["reality"],
        announcement["probe"],
        announcement["serial"],
        announcement["meter"],
        meter_model=announcement["meter_model"],
        coverage=announcement["coverage"],
    )


VIRTUAL = StandInKind(start_virtual, kept=True)
