"""The boards that can run as virtual boards, one file each: chip, debug ports and currents.

The file has the board's name, with underscores for dashes, and defines `MODEL`; a new one is found by that (docs/new-board.md).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from hil.errors import RigError, close_matches
from hil.standins.virtual.chip.chip import Chip
from hil.standins.virtual.chip_memory import ChipMemory
from hil.standins.virtual.debug_port import DebugPort, PortId
from hil.standins.virtual.meter.supply import Currents
from hil.standins.virtual.runner import Runner

Send = Callable[[int], None]
OnPin = Callable[[str, int, int, int], None]
Log = Callable[[str], None]


@dataclass(frozen=True)
class BoardModel:
    """One board.

    Args:
        build: makes the chip from a random generator, a taker of sent bytes, one of pin edges, and a log.
        ports: its debug ports.
        reset_line: whether the probe can reset the chip by a wire.
        pin: format of a pin's name from `port` and `pin`, as the catalogue writes it.
        currents: what the board draws; assumptions, not measurements.
    """

    build: Callable[[np.random.Generator, Send, OnPin, Log], Chip]
    ports: Callable[[Runner], list[DebugPort]]
    reset_line: bool
    pin: str
    currents: Currents


def one_port(identity: PortId) -> Callable[[Runner], list[DebugPort]]:
    """Return the `ports` of a board whose chip has one debug port that reaches all of its memory."""
    return lambda runner: [DebugPort(ChipMemory(runner), identity)]


def load(board: str) -> BoardModel:
    """Return the model of a board.

    Raises:
        RigError: there is none.
    """
    module, modelled = board.replace("-", "_"), [file.name for file in pkgutil.iter_modules(__path__)]
    if module not in modelled:
        raise RigError(f"there is no virtual board {board}; {close_matches(module, modelled)}")
    model: BoardModel = import_module(f"{__name__}.{module}").MODEL
    return model
