"""A board for the firmware of this project: the device under test of trials, checkpoints and benchmarks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from hil.boards import Board
from hil.dut import UNPAINTED, Dut, opened
from hil.errors import RigError
from hil.images import Image
from hil.rig import Rig


@contextlib.contextmanager
def opened_board(
    rig: Rig, board: Board, image: Image, folder: Path, tell: Callable[[str], None] = lambda sentence: None,
    inject: tuple[str, ...] = (),
) -> Iterator[Dut]:  # fmt: skip
    """Reserve a board for a `with` block, as `hil.dut.opened`, at the rate of the catalogue and without a serial log.

    Raises:
        RigError: the board is a command, which cannot train.
        Blocked: the board is not to be had.
    """
    with opened(rig, board, image, folder, board.baud, tell=tell, serial_log=False, inject=inject) as dut:
        if dut.record.command:
            raise RigError(
                f"{board.name} is a command in rig.toml, and no trial can run on it: test it with hil_dut, or name "
                "a board of the catalogue."
            )
        dut.stack_fill = UNPAINTED  # the firmware of this project paints its stack itself: a check of its peak sees it
        yield dut
