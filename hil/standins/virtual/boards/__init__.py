"""The boards that can run as virtual boards, one file each: chip, debug ports and currents.

A file is named like its board, with underscores for dashes, and defines `MODEL`. A new file is found by its name
(docs/new-board.md).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from hil.errors import RigError, close_matches
from hil.standins.virtual.access_port import MemoryPort
from hil.standins.virtual.chip.machine import Chip
from hil.standins.virtual.chip_memory import ChipMemory
from hil.standins.virtual.debug_port import DebugPort, PortId
from hil.standins.virtual.meter.supply import Currents
from hil.standins.virtual.runner import ChipRunner

Send = Callable[[int], None]
OnPin = Callable[[str, int, int, int], None]
Log = Callable[[str], None]


@dataclass(frozen=True)
class BoardModel:
    """Model of one board.

    Args:
        build: makes the chip from a random generator and callbacks for sent bytes, pin edges and log lines.
        ports: returns the debug ports of the chip.
        reset_line: whether the reset output of the probe is wired to the chip.
        pin: format of a pin name from `port` and `pin`, as in the catalogue.
        currents: currents that the board draws; assumptions, not measurements.
    """

    build: Callable[[np.random.Generator, Send, OnPin, Log], Chip]
    ports: Callable[[ChipRunner], list[DebugPort]]
    reset_line: bool
    pin: str
    currents: Currents


def one_port(identity: PortId, idr: int, rom_table: int) -> Callable[[ChipRunner], list[DebugPort]]:
    """Return the `ports` function of a board whose chip has one debug port with one access port, to all memory.

    Args:
        identity: of the debug port.
        idr, rom_table: IDR and BASE of access port 0.
    """
    return lambda runner: [DebugPort(identity, {0: MemoryPort(ChipMemory(runner), idr, rom_table)})]


def load(board: str) -> BoardModel:
    """Return the model of a board.

    Raises:
        RigError: the board has no model.
    """
    module, modelled = board.replace("-", "_"), [file.name for file in pkgutil.iter_modules(__path__)]
    if module not in modelled:
        raise RigError(f"there is no virtual board {board}; {close_matches(module, modelled)}")
    model: BoardModel = import_module(f"{__name__}.{module}").MODEL
    return model
