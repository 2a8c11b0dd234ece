"""A device under test at endpoints that no rig has given out."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hil.boards import Board
from hil.dut import Dut
from hil.endpoints import Endpoints
from hil.images import Image, image_of
from hil.rig import Taken
from hil.targets.probe_process import ProbeProcess


@contextlib.contextmanager
def device_at(
    board: Board, endpoints: Endpoints, process: ProbeProcess | None = None, image: Image | None = None
) -> Iterator[Dut]:
    """Give a device for a `with` block; by default with the prebuilt image, and a process of its own for its probe."""
    own = process or ProbeProcess()
    try:
        with tempfile.TemporaryDirectory() as folder:
            dut = Dut(Taken(board, endpoints, own), image or image_of(board.name), Path(folder), serial_log=False)
            with contextlib.closing(dut):
                yield dut
    finally:
        if process is None:
            own.stop()
